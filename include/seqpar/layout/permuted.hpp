// Permuted: a layout given by a table of runs, for planners and for layouts without a formula (layout C, D, J, K).
// Not here: building the table; see index/run_table.hpp.
#pragma once

#include <seqpar/layout/detail/search.hpp>
#include <seqpar/layout/runs.hpp>

namespace seqpar {

// The borrowed table. runs: of rank 0 in slot order, then of rank 1, …; rank_runs: where each rank's runs begin and, last,
// their number (ranks + 1 entries); by_position: the numbers of the runs in order of position; run_count: how many runs there are, the
// length of runs and by_position. Empty runs do not occur. The three may lie on a device; host_slots, the slots of every rank, is then what a host reads (null: the host reads the table).
struct RunTableView {
    const Run* runs = nullptr;
    const std::int64_t* rank_runs = nullptr;
    const std::int64_t* by_position = nullptr;
    std::int64_t run_count = 0;
    std::int64_t length = 0;
    int ranks = 1;
    const std::int64_t* host_slots = nullptr;

    // Run `number`. In a kernel, where nobody has looked at the table before, a number that there is not gives some run.
    SEQPAR_HD constexpr const Run& run(std::int64_t number) const {
#if defined(__CUDA_ARCH__)
        number = number < 0 ? 0 : number < run_count ? number : run_count - 1;
#endif
        return runs[number];
    }
};

// Binary search over the runs of a rank for `position`, over all runs for `place`. Shards may differ in size and be empty.
class Permuted {
public:
    Permuted() = default;
    SEQPAR_HD constexpr explicit Permuted(RunTableView table) : table_(table) {}

    SEQPAR_HD constexpr std::int64_t size() const { return table_.length; }
    SEQPAR_HD constexpr std::int64_t source_size() const { return table_.length; }
    SEQPAR_HD constexpr int ranks() const { return table_.ranks; }
    SEQPAR_HD constexpr std::int64_t slots(int rank) const {
#if !defined(__CUDA_ARCH__)
        if (table_.host_slots != nullptr) return table_.host_slots[rank];
#endif
        const std::int64_t end = table_.rank_runs[rank + 1];
        return end == table_.rank_runs[rank] ? 0 : end_slot(table_.run(end - 1));
    }
    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const { return run_at(rank, slot).position; }
    SEQPAR_HD constexpr Place place(std::int64_t position) const {
        const std::int64_t number =
            table_.by_position[detail::last_at_most(PositionKey{table_}, 0, table_.run_count, position)];
        const Run run = table_.run(number);
        return {rank_of(number), run.slot + (position - run.position)};
    }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return position; }
    SEQPAR_HD constexpr Run run_at(int rank, std::int64_t slot) const {
        const Run run = table_.run(run_of(rank, slot));
        const std::int64_t skip = slot - run.slot;
        return {run.position + skip, slot, run.length - skip};
    }

    class Cursor {
    public:
        SEQPAR_HD constexpr Cursor(const Permuted& layout, int rank, std::int64_t first, std::int64_t last)
            : table_(layout.table_),
              number_(first < last ? layout.run_of(rank, first) : 0),
              slot_(first),
              last_(last) {}

        SEQPAR_HD constexpr bool next(Run& run) {
            if (slot_ >= last_) return false;
            const Run& held = table_.run(number_++);
            const std::int64_t skip = slot_ - held.slot;
            const std::int64_t rest = held.length - skip;
            run = {held.position + skip, slot_, rest < last_ - slot_ ? rest : last_ - slot_};
            slot_ += run.length;
            return true;
        }

    private:
        RunTableView table_;
        std::int64_t number_;
        std::int64_t slot_;
        std::int64_t last_;
    };

    SEQPAR_HD constexpr Cursor runs(int rank, std::int64_t first, std::int64_t last) const {
        return {*this, rank, first, last};
    }

    [[nodiscard]] SEQPAR_HD constexpr Status check_unread() const {
        const std::int64_t least = table_.length > 0 ? 1 : 0;
        if (table_.run_count >= least && table_.run_count <= table_.length) return {};
        return make_status(Kind::table, 0, 0, table_.run_count < least ? least : table_.length, table_.run_count, -1);
    }
    // The runs of each rank join to its shard, and the runs by position join to the sequence. Names run and rank.
    [[nodiscard]] SEQPAR_HD constexpr Status check() const {
        for (int rank = 0; rank <= table_.ranks; ++rank) {
            if (const Status status = check_rank(rank); !status.ok()) return status;
        }
        for (int rank = 0; rank < table_.ranks; ++rank) {
            for (std::int64_t i = table_.rank_runs[rank]; i < table_.rank_runs[rank + 1]; ++i) {
                if (const Status status = check_slot(i, rank); !status.ok()) return status;
            }
        }
        for (std::int64_t i = 0; i < table_.run_count; ++i) {
            if (const Status status = check_position(i); !status.ok()) return status;
        }
        return {};
    }
    [[nodiscard]] SEQPAR_HD constexpr std::int64_t entries() const { return table_.ranks + 1 + 2 * table_.run_count; }
    [[nodiscard]] SEQPAR_HD constexpr Status check_entry(std::int64_t i) const {
        if (i <= table_.ranks) return check_rank(static_cast<int>(i));
        i -= table_.ranks + 1;
        return i < table_.run_count ? check_slot(i, rank_of(i)) : check_position(i - table_.run_count);
    }

private:
    struct PositionKey {
        RunTableView table;
        SEQPAR_HD constexpr std::int64_t operator()(std::int64_t i) const {
            return table.run(table.by_position[i]).position;
        }
    };
    struct SlotKey {
        RunTableView table;
        SEQPAR_HD constexpr std::int64_t operator()(std::int64_t i) const { return table.run(i).slot; }
    };
    struct RankKey {
        const std::int64_t* rank_runs;
        SEQPAR_HD constexpr std::int64_t operator()(std::int64_t i) const { return rank_runs[i]; }
    };

    // The run of `rank` that holds `slot`, and the rank that holds run `number`.
    SEQPAR_HD constexpr std::int64_t run_of(int rank, std::int64_t slot) const {
        const std::int64_t first = table_.rank_runs[rank];
        return detail::last_at_most(SlotKey{table_}, first, table_.rank_runs[rank + 1] - first, slot);
    }
    SEQPAR_HD constexpr int rank_of(std::int64_t number) const {
        return static_cast<int>(detail::last_at_most(RankKey{table_.rank_runs}, 0, table_.ranks, number));
    }

    SEQPAR_HD static constexpr std::int64_t end_slot(const Run& run) { return run.slot + run.length; }

    // Where the runs of a rank begin, or end those of the last one.
    SEQPAR_HD constexpr Status check_rank(int rank) const {
        const std::int64_t begin = table_.rank_runs[rank];
        const std::int64_t least = rank == 0 ? 0 : table_.rank_runs[rank - 1];
        if (begin < least || (rank == 0 && begin != 0)) return make_status(Kind::table, 0, 0, least, begin, rank - 1);
        return rank < table_.ranks || begin == table_.run_count
                   ? Status{}
                   : make_status(Kind::table, 0, 0, table_.run_count, begin, rank - 1);
    }
    // Run `number` among those of its rank.
    SEQPAR_HD constexpr Status check_slot(std::int64_t number, int rank) const {
        const Run run = table_.run(number);
        const std::int64_t slot = number == table_.rank_runs[rank] ? 0 : end_slot(table_.run(number - 1));
        if (run.slot != slot) return make_status(Kind::table, 0, number, slot, run.slot, rank);
        if (run.length < 1) return make_status(Kind::table, 0, number, 1, run.length, rank);
        return run.length > table_.length - slot  // before sums can overflow
                   ? make_status(Kind::table, 0, number, table_.length - slot, run.length, rank)
                   : Status{};
    }
    // Run `i` in order of position, after the one before it.
    SEQPAR_HD constexpr Status check_position(std::int64_t i) const {
        const std::int64_t count = table_.run_count;
        const std::int64_t number = table_.by_position[i];
        if (number < 0 || number >= count) return make_status(Kind::table, 0, i, count - 1, number, -1);
        const Run run = table_.run(number);
        const Run before = i == 0 ? Run{} : table_.run(table_.by_position[i - 1]);
        const std::int64_t position = before.position + before.length;
        if (run.position != position)
            return make_status(Kind::table, 0, number, position, run.position, rank_of(number));
        const std::int64_t rest = table_.length - position;
        if (run.length > rest) return make_status(Kind::table, 0, number, rest, run.length, rank_of(number));
        return i < count - 1 || run.length == rest
                   ? Status{}
                   : make_status(Kind::table, 0, count, table_.length, position + run.length, -1);
    }

    RunTableView table_{};
};

}  // namespace seqpar
