// The laws that every communicator keeps, as a function: run it on one of your own, on all ranks at once, in a test of any
// framework. Not here: any communicator, and what happens when ranks do not call alike.
//
//     const auto report = seqpar::conformance::check_communicator(comm);   // host memory; else: …(comm, buffers, stream)
//     if (!report.ok()) std::puts(seqpar::conformance::describe(report).c_str());
//
// Each rank reports what it saw itself. Every verb is called with all data types, equal and unequal counts, none among them, each
// in a group of its own and all in one. Values are small integers, also below 0, exact in every type for up to 50 ranks.
#pragma once

#include <seqpar/conformance/report.hpp>
#include <seqpar/exchange/detail/steps.hpp>
#include <seqpar/exchange/errors.hpp>

#include <algorithm>
#include <list>
#include <optional>
#include <vector>

namespace seqpar::conformance {

// Memory that the communicator reaches, until this is destroyed; for devices write one with the same members.
class HostBuffers {
public:
    // New memory that holds these bytes. Aligned for every number.
    template <class Stream>
    void* make(const std::vector<std::byte>& bytes, Stream) {
        return buffers_.emplace_back(bytes).data();
    }
    // Waits for the stream, and copies what is at `from`.
    template <class Stream>
    void read(std::vector<std::byte>& bytes, const void* from, Stream) {
        std::memcpy(bytes.data(), from, bytes.size());
    }

private:
    std::list<std::vector<std::byte>> buffers_;
};

namespace detail {

using Values = std::vector<std::int64_t>;

// Values as elements of a type, or back.
struct Transcode {
    Values* values;
    std::byte* bytes;
    bool back;

    template <class T>
    void operator()() const {
        std::byte* at = bytes;
        for (std::int64_t& value : *values) {
            T element = convert<T>(back ? std::int64_t{0} : value);
            back ? std::memcpy(&element, at, sizeof(T)) : std::memcpy(at, &element, sizeof(T));
            value = convert<std::int64_t>(element);
            at += sizeof(T);
        }
    }
};

template <Communicator C, class Buffers>
class CommunicatorSuite {
public:
    using Stream = typename C::Stream;

    CommunicatorSuite(const C& comm, Buffers& buffers, Stream stream, bool one_group)
        : comm_(comm),
          buffers_(buffers),
          stream_(stream),
          one_group_(one_group),
          modulus_((std::clamp)(100 / comm.size(), 2, 13)) {}

    Report run() {
        if (comm_.rank() < 0 || comm_.rank() >= comm_.size())
            return {Law::ranks_agree, "rank below", -1, comm_.size(), comm_.rank(), -1, -1, comm_.size(), comm_.rank()};
        guarded_.emplace(comm_);
        for (int type = 0; type <= static_cast<int>(DataType::float64); ++type) {
            type_ = static_cast<DataType>(type);
            messages();
            all_to_all();
            for (const std::int64_t first : {0, 3}) {
                gathers(first);
                if (type_ == DataType::bytes) continue;
                reductions(first, Reduction::sum);
                reductions(first, Reduction::max);
            }
        }
        group().close();
        group().close();  // which has nothing left to do
        for (const Expected& expected : expected_)
            compare(expected);
        if (!one_group_) maxima();
        return report_;
    }

private:
    struct Expected {
        Law law;
        DataType type;
        const void* at;
        Values values;
    };
    static constexpr std::int64_t unwritten = 101;

    struct Guarded {
        explicit Guarded(const C& comm) : group(comm.group()) {}
        typename C::Group group;
    };
    typename C::Group& group() { return guarded_->group; }
    // After each verb: the next one gets a group of its own, or not.
    void next() {
        if (one_group_) return;
        group().close();
        guarded_.emplace(comm_);
    }

    // Elements [start, start + count) of what a rank sends, and of what all ranks send reduced. Where there is a sign every other
    // element is below 0 on all ranks, so that no maximum is what a buffer of zeros holds.
    [[nodiscard]] Values of_rank(int rank, std::int64_t start, std::int64_t count) const {
        const bool has_sign = type_ != DataType::bytes && type_ != DataType::uint8 && type_ != DataType::uint32 &&
                              type_ != DataType::uint64;
        Values values;
        for (std::int64_t i = start; i < start + count; ++i)
            values.push_back((std::int64_t{rank} * 3 + i * 5) % modulus_ - (has_sign && i % 2 == 0 ? modulus_ : 0));
        return values;
    }
    [[nodiscard]] Values of_all(std::int64_t start, std::int64_t count, Reduction reduction) const {
        Values all = of_rank(0, start, count);
        for (int r = 1; r < comm_.size(); ++r) {
            const Values one = of_rank(r, start, count);
            for (std::size_t i = 0; i < all.size(); ++i)
                all[i] = reduction == Reduction::sum ? all[i] + one[i] : (std::max)(all[i], one[i]);
        }
        return all;
    }
    // How many elements go from one rank to another, and how many a rank gives to all; 0 for some.
    [[nodiscard]] std::int64_t between(int from, int to) const { return (std::int64_t{from} * 2 + to * 3) % 4; }
    [[nodiscard]] Values parts(std::int64_t first, bool equal) const {
        Values counts(static_cast<std::size_t>(comm_.size()), first);
        for (std::size_t r = 0; r < counts.size() && !equal; ++r)
            counts[r] = (static_cast<std::int64_t>(r) * 2 + first) % 5;
        return counts;
    }
    static std::int64_t sum(const Values& values, std::size_t count) {
        std::int64_t total = 0;
        for (std::size_t i = 0; i < count; ++i)
            total += values[i];
        return total;
    }
    static void append(Values& values, const Values& more) { values.insert(values.end(), more.begin(), more.end()); }

    // Memory with these values, and one element more that nobody may write.
    void* make(Values values) {
        values.push_back(unwritten);
        std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(bytes_of(type_)));
        seqpar::detail::with_number(type_, Transcode{&values, bytes.data(), false});
        return buffers_.make(bytes, stream_);
    }
    void* room(std::size_t count) { return make(Values(count, unwritten)); }
    void* expect(Law law, void* at, const Values& values) {
        expected_.push_back({law, type_, at, values});
        return at;
    }
    void compare(const Expected& expected) {
        Values got(expected.values.size() + 1);
        std::vector<std::byte> bytes(got.size() * static_cast<std::size_t>(bytes_of(expected.type)));
        buffers_.read(bytes, expected.at, stream_);
        seqpar::detail::with_number(expected.type, Transcode{&got, bytes.data(), true});
        for (std::size_t i = 0; i < got.size() && report_.ok(); ++i) {
            const std::int64_t value = i < expected.values.size() ? expected.values[i] : unwritten;
            if (got[i] != value) differ(expected.law, name(expected.type), i, value, got[i]);
        }
    }
    void differ(Law law, const char* what, std::size_t element, std::int64_t expected, std::int64_t got) {
        report_ = {
            law, what, -1, comm_.size(), comm_.rank(), -1, -1, expected, got, -1, static_cast<std::int64_t>(element)};
    }

    void messages() {
        const int me = comm_.rank();
        for (int p = 0; p < comm_.size(); ++p) {  // all receives before any send
            const Values first = of_rank(p, me, between(p, me));
            comm_.recv(group(), expect(Law::messages_arrive, room(first.size()), first), between(p, me), type_, p,
                       stream_);
            comm_.recv(group(), expect(Law::messages_arrive, room(2), of_rank(p, 9, 2)), 2, type_, p, stream_);
        }
        for (int p = comm_.size() - 1; p >= 0; --p) {
            comm_.send(group(), make(of_rank(me, p, between(me, p))), between(me, p), type_, p, stream_);
            comm_.send(group(), make(of_rank(me, 9, 2)), 2, type_, p, stream_);
        }
        next();
    }
    void all_to_all() {
        const int me = comm_.rank();
        Values sent, received, send_counts, receive_counts;
        for (int p = 0; p < comm_.size(); ++p) {
            send_counts.push_back(between(me, p));
            receive_counts.push_back(between(p, me));
            append(sent, of_rank(me, p, between(me, p)));
            append(received, of_rank(p, me, between(p, me)));
        }
        comm_.all_to_all_v(group(), make(sent), send_counts,
                           expect(Law::all_to_all_v_transposes, room(received.size()), received), receive_counts, type_,
                           stream_);
        next();
    }
    void gathers(std::int64_t first) {
        const auto me = static_cast<std::size_t>(comm_.rank());
        for (const bool equal : {false, true}) {
            const Values counts = parts(first, equal);
            const Values mine = of_rank(comm_.rank(), 0, counts[me]);
            Values joined;
            for (int r = 0; r < comm_.size(); ++r)
                append(joined, of_rank(r, 0, counts[static_cast<std::size_t>(r)]));
            Values own_part(joined.size(), unwritten);
            std::copy(mine.begin(), mine.end(), own_part.begin() + sum(counts, me));
            for (const bool in_place : {false, true}) {
                void* const to = expect(Law::all_gather_joins, in_place ? make(own_part) : room(joined.size()), joined);
                const void* const from = in_place ? seqpar::detail::offset_by(to, sum(counts, me), type_) : make(mine);
                if (equal) {
                    comm_.all_gather(group(), from, to, first, type_, stream_);
                } else {
                    comm_.all_gather_v(group(), from, to, counts, type_, stream_);
                }
                next();
            }
        }
    }
    void reductions(std::int64_t first, Reduction reduction) {
        const auto me = static_cast<std::size_t>(comm_.rank());
        for (const bool equal : {false, true}) {
            const Values counts = parts(first, equal);
            const std::int64_t total = sum(counts, counts.size());
            const Values mine = of_rank(comm_.rank(), 0, total);
            const Values part = of_all(sum(counts, me), counts[me], reduction);
            void* const to = expect(Law::reduce_scatter_reduces, room(part.size()), part);
            if (equal) {
                comm_.reduce_scatter(group(), make(mine), to, first, type_, reduction, stream_);
            } else {
                comm_.reduce_scatter_v(group(), make(mine), to, counts, type_, reduction, stream_);
            }
            next();
            void* const all = make(equal ? mine : Values(mine.size(), unwritten));
            expect(Law::all_reduce_reduces, all, of_all(0, total, reduction));
            comm_.all_reduce(group(), equal ? all : make(mine), all, total, type_, reduction, stream_);
            next();
        }
    }
    void maxima() {
        constexpr std::int64_t least = (std::numeric_limits<std::int64_t>::min)();
        Values values = {comm_.rank(), -comm_.rank(), least};
        const Values expected = {comm_.size() - 1, 0, least};
        seqpar::detail::max_over_ranks(comm_, values, stream_);
        for (std::size_t i = 0; i < values.size() && report_.ok(); ++i) {
            if (values[i] != expected[i]) differ(Law::maxima_reach_hosts, "int64", i, expected[i], values[i]);
        }
    }

    const C& comm_;
    Buffers& buffers_;
    Stream stream_;
    bool one_group_;
    std::int64_t modulus_;
    DataType type_ = DataType::bytes;
    std::optional<Guarded> guarded_;
    std::vector<Expected> expected_;
    Report report_;
};

}  // namespace detail

// Collective. The first law that this rank saw broken.
template <Communicator C, class Buffers>
[[nodiscard]] Report check_communicator(const C& comm, Buffers& buffers, typename C::Stream stream) {
    const Report apart = detail::CommunicatorSuite<C, Buffers>(comm, buffers, stream, false).run();
    const Report together = detail::CommunicatorSuite<C, Buffers>(comm, buffers, stream, true).run();
    return apart.ok() ? together : apart;
}
template <Communicator C>
[[nodiscard]] Report check_communicator(const C& comm) {
    HostBuffers buffers;
    return check_communicator(comm, buffers, typename C::Stream{});
}

}  // namespace seqpar::conformance
