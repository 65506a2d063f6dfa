// The conformance suite for communicators: virtual ranks pass, and a communicator that breaks a law is told which.
#include "broken.hpp"
#include "exchange/ranks.hpp"

#include <seqpar/conformance/communicator.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace seqpar;
using namespace seqpar::conformance;
using test::broken;

namespace {

enum class Fault {
    none,
    message_elsewhere,
    gather_shifted,
    transpose_missing,
    scatter_missing,
    sum_not_in_place,
    maximum_with_zero,
    writes_past_the_end,
    maxima_of_this_rank,
};

// A virtual rank whose last one gets one thing wrong, in its own memory alone, so that nobody hangs.
struct Faulty {
    using Stream = NoStream;
    using Group = VirtualRank::Group;
    using Counts = std::span<const std::int64_t>;

    const VirtualRank& comm;
    Fault fault;

    int rank() const { return comm.rank(); }
    int size() const { return comm.size(); }
    Group group() const { return comm.group(); }
    bool is(Fault f) const { return f == fault && rank() == size() - 1; }

    void send(Group& g, const void* from, std::int64_t count, DataType type, int peer, Stream s) const {
        comm.send(g, from, count, type, peer, s);
    }
    void recv(Group& g, void* to, std::int64_t count, DataType type, int peer, Stream s) const {
        comm.recv(g, is(Fault::message_elsewhere) && count > 1 ? nowhere_ : to, count, type, peer, s);
    }
    void all_gather(Group& g, const void* from, void* to, std::int64_t count, DataType type, Stream s) const {
        comm.all_gather(g, from, to, count, type, s);
    }
    void all_gather_v(Group& g, const void* from, void* to, Counts counts, DataType type, Stream s) const {
        const auto* const end = static_cast<std::byte*>(to) + 10 * size() * bytes_of(type);
        const bool in_place = from >= to && from < end;  // other ranks would read what is written there
        const bool shifts = is(Fault::gather_shifted) && counts[0] > 0 && !in_place;
        comm.all_gather_v(g, from, shifts ? static_cast<std::byte*>(to) + bytes_of(type) : to, counts, type, s);
    }
    void reduce_scatter(Group& g, const void* from, void* to, std::int64_t count, DataType type, Reduction reduction,
                        Stream s) const {
        comm.reduce_scatter(g, from, to, count, type, reduction, s);
    }
    void reduce_scatter_v(Group& g, const void* from, void* to, Counts counts, DataType type, Reduction reduction,
                          Stream s) const {
        comm.reduce_scatter_v(g, from, is(Fault::scatter_missing) ? nowhere_ : to, counts, type, reduction, s);
    }
    void all_to_all_v(Group& g, const void* from, Counts send_counts, void* to, Counts receive_counts, DataType type,
                      Stream s) const {
        comm.all_to_all_v(g, from, send_counts, is(Fault::transpose_missing) ? nowhere_ : to, receive_counts, type, s);
    }
    void all_reduce(Group& g, const void* from, void* to, std::int64_t count, DataType type, Reduction reduction,
                    Stream s) const {
        if (is(Fault::maximum_with_zero) && reduction == Reduction::max && type == DataType::int32) {
            auto* const raised = reinterpret_cast<std::int32_t*>(nowhere_ + 2000) + used_;  // which all others see
            for (std::int64_t i = 0; i < count; ++i)
                raised[i] = (std::max)(static_cast<const std::int32_t*>(from)[i], 0);
            from = raised;
            used_ += count;
        }
        comm.all_reduce(g, from, is(Fault::sum_not_in_place) && from == to ? nowhere_ : to, count, type, reduction, s);
        if (is(Fault::writes_past_the_end)) static_cast<std::byte*>(to)[count * bytes_of(type)] = std::byte{7};
    }
    void max_of_host(std::span<std::int64_t> values, Stream) const {
        values[0] = size() - 1;
        if (!is(Fault::maxima_of_this_rank)) values[1] = 0;
    }

    std::byte* nowhere_ = nullptr;
    mutable std::int64_t used_ = 0;
};
static_assert(Communicator<VirtualRank> && Communicator<Faulty>);

struct WithoutClose : Faulty {
    struct Group {};
};
static_assert(!Communicator<WithoutClose>);

}  // namespace

TEST_CASE("virtual ranks keep every law") {
    for (const int ranks : {1, 2, 3, 4, 8}) {
        CAPTURE(ranks);
        std::vector<std::string> found(static_cast<std::size_t>(ranks));
        const auto thrown = test::run_ranks(VirtualRanks(ranks), ranks, [&](const VirtualRank& comm) {
            found[static_cast<std::size_t>(comm.rank())] = broken(check_communicator(comm));
        });
        for (const auto& exception : thrown)
            CHECK(test::text_of<std::exception>(exception) == "");
        for (const std::string& text : found)
            CHECK(text == "");
    }
}

TEST_CASE("a communicator that breaks a law is told which, on the rank that sees it") {
    struct Case {
        Fault fault;
        Law law;
    };
    for (const Case& c :
         {Case{Fault::none, Law::none}, Case{Fault::message_elsewhere, Law::messages_arrive},
          Case{Fault::gather_shifted, Law::all_gather_joins}, Case{Fault::scatter_missing, Law::reduce_scatter_reduces},
          Case{Fault::transpose_missing, Law::all_to_all_v_transposes},
          Case{Fault::sum_not_in_place, Law::all_reduce_reduces},
          Case{Fault::maximum_with_zero, Law::all_reduce_reduces},
          Case{Fault::writes_past_the_end, Law::all_reduce_reduces},
          Case{Fault::maxima_of_this_rank, Law::maxima_reach_hosts}}) {
        CAPTURE(static_cast<int>(c.fault));
        std::array<Law, 3> found = {};
        const auto thrown = test::run_ranks(VirtualRanks(3), 3, [&](const VirtualRank& comm) {
            std::vector<std::byte> nowhere(4000);
            found[static_cast<std::size_t>(comm.rank())] =
                check_communicator(Faulty{comm, c.fault, nowhere.data()}).law;
        });
        for (const auto& exception : thrown)
            CHECK(test::text_of<std::exception>(exception) == "");
        const Law elsewhere = c.fault == Fault::maximum_with_zero ? c.law : Law::none;
        CHECK(found == std::array{elsewhere, elsewhere, c.law});
    }
}
