// Random offsets, paddings and run tables for property tests, from fixed seeds, the same on every machine.
#pragma once

#include "lists.hpp"

#include <seqpar/layout/permuted.hpp>

#include <random>

namespace test {

// std::mt19937_64 is the same everywhere, the standard distributions are not.
class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    // In [low, high].
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool once_in(std::int64_t n) { return between(1, n) == 1; }

private:
    std::mt19937_64 engine_;
};

// Offsets of documents whose lengths are multiples of `multiple`: empty ones inside, at both ends, and the last offset
// repeated, as fixed-capacity arrays do. At times no document at all.
inline List random_offsets(Random& random, std::int64_t multiple, std::int64_t most_documents,
                           std::int64_t most_units) {
    List cu(1, 0);
    const std::int64_t documents = random.between(0, most_documents);
    for (std::int64_t d = 0; d < documents; ++d) {
        cu.push_back(cu.back() + (random.once_in(4) ? 0 : random.between(0, most_units) * multiple));
    }
    for (std::int64_t repeats = random.once_in(3) ? random.between(1, 3) : 0; repeats > 0; --repeats) {
        cu.push_back(cu.back());
    }
    return cu;
}

// Real offsets to padded ones: each document loses up to all of its tokens, often none.
inline List random_real_offsets(Random& random, const List& padded) {
    List real(1, 0);
    for (std::size_t d = 0; d + 1 < padded.size(); ++d) {
        const std::int64_t room = padded[d + 1] - padded[d];
        real.push_back(real.back() + (random.once_in(3) ? room : random.between(0, room)));
    }
    return real;
}

template <class I>
std::vector<I> as(const List& list) {
    std::vector<I> out;
    for (std::int64_t value : list) {
        out.push_back(static_cast<I>(value));
    }
    return out;
}

// A run table that owns its memory. The sequence is cut into runs, which are dealt to ranks in any order; neighbours on
// purpose too (a run need not be the longest), and ranks may hold nothing.
struct Table {
    std::vector<seqpar::Run> runs;
    List rank_runs;
    List by_position;
    std::int64_t length = 0;
    int ranks = 1;

    seqpar::RunTableView view() const {
        return {runs.data(), rank_runs.data(), by_position.data(), static_cast<std::int64_t>(runs.size()), length,
                ranks};
    }
};

inline Table random_table(Random& random, int ranks, std::int64_t length) {
    std::vector<std::vector<seqpar::Run>> dealt(static_cast<std::size_t>(ranks));
    for (std::int64_t position = 0; position < length;) {
        const std::int64_t take = random.between(1, length - position < 5 ? length - position : 5);
        auto& rank = dealt[static_cast<std::size_t>(random.between(0, ranks - 1))];
        rank.insert(rank.begin() + random.between(0, static_cast<std::int64_t>(rank.size())), {position, 0, take});
        position += take;
    }
    Table table;
    table.length = length;
    table.ranks = ranks;
    table.rank_runs.push_back(0);
    for (auto& rank : dealt) {
        std::int64_t slot = 0;
        for (seqpar::Run& run : rank) {
            run.slot = slot;
            slot += run.length;
            table.runs.push_back(run);
        }
        table.rank_runs.push_back(static_cast<std::int64_t>(table.runs.size()));
    }
    // By position: runs do not overlap, so insertion at the right place is enough.
    for (std::int64_t number = 0; number < static_cast<std::int64_t>(table.runs.size()); ++number) {
        auto at = table.by_position.begin();
        while (at != table.by_position.end() && table.runs[static_cast<std::size_t>(*at)].position <
                                                    table.runs[static_cast<std::size_t>(number)].position) {
            ++at;
        }
        table.by_position.insert(at, number);
    }
    return table;
}

}  // namespace test
