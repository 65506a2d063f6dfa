// What virtual ranks do when one of them does not do its part: all get an error, soon, and nobody hangs.
#include "exchange/ranks.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace seqpar;
using namespace std::chrono_literals;

namespace {

constexpr auto long_limit = 60s;  // far longer than the test may take

// A ring of one exchange, as everybody's part.
void exchange(const VirtualRank& comm, std::int64_t count = 4, DataType type = DataType::int32) {
    const std::vector<std::int64_t> from(8, comm.rank());
    std::vector<std::int64_t> to(8);
    auto group = comm.group();
    comm.send(group, from.data(), count, type, (comm.rank() + 1) % comm.size(), {});
    comm.recv(group, to.data(), count, type, (comm.rank() + comm.size() - 1) % comm.size(), {});
    group.close();
}

std::vector<std::string> errors_of(const std::vector<std::exception_ptr>& thrown) {
    std::vector<std::string> texts;
    texts.reserve(thrown.size());
    for (const auto& one : thrown)
        texts.push_back(test::text_of<CommunicationError>(one));
    return texts;
}

void check_all_say(const std::vector<std::exception_ptr>& thrown, const std::string& text) {
    for (const std::string& error : errors_of(thrown))
        CHECK(error == text);
}

}  // namespace

TEST_CASE("a rank that throws is an error on all the others") {
    const auto thrown = test::run_ranks(VirtualRanks(4, long_limit), 4, [](const VirtualRank& comm) {
        exchange(comm);
        if (comm.rank() == 2) throw std::runtime_error("out of memory");
        for (int i = 0; i < 1000; ++i)
            exchange(comm);
    });
    CHECK(test::text_of<std::runtime_error>(thrown[2]) == "out of memory");
    for (const std::size_t rank : {0u, 1u, 3u})
        CHECK(errors_of(thrown)[rank].ends_with("waits for rank 2, which has left"));
}

TEST_CASE("a rank that ends early is an error on those that go on") {
    const auto thrown = test::run_ranks(VirtualRanks(2, long_limit), 2, [](const VirtualRank& comm) {
        exchange(comm);
        if (comm.rank() == 0) exchange(comm);
    });
    CHECK(errors_of(thrown) == std::vector<std::string>{"rank 0 waits for rank 1, which has left", ""});
}

TEST_CASE("a rank that never comes is an error when the time is over") {
    const VirtualRanks group(3, 50ms);
    check_all_say(test::run_ranks(group, 2, [](const VirtualRank& comm) { exchange(comm); }),
                  "rank 0 waits for rank 2 for longer than 50 ms");
}

TEST_CASE("a group of calls that is dropped is an error on all") {
    const auto thrown = test::run_ranks(VirtualRanks(3, long_limit), 3, [](const VirtualRank& comm) {
        auto group = comm.group();
        comm.all_reduce(group, nullptr, nullptr, 0, DataType::float32, Reduction::sum, {});
        if (comm.rank() == 1) throw_if_bad(make_status(Kind::row_range, 0, 5, 7, 9));
        group.close();
    });
    CHECK(test::text_of<Error>(thrown[1]) != "");
    CHECK(errors_of(thrown)[0] == "rank 1 left a group of calls unfinished");
    CHECK(errors_of(thrown)[2] == "rank 1 left a group of calls unfinished");
}

TEST_CASE("what does not fit together is an error that names both sides") {
    const auto one_way = [](int receives, const auto& call) {
        return test::run_ranks(VirtualRanks(2, long_limit), 2, [&](const VirtualRank& comm) {
            std::int64_t memory[16] = {};
            auto group = comm.group();
            if (comm.rank() == receives) {
                comm.recv(group, memory, 4, DataType::int32, 1 - receives, {});
            } else {
                call(comm, group, memory);
            }
            group.close();
        });
    };
    check_all_say(one_way(0, [](const auto& comm, auto& g, auto* m) { comm.send(g, m, 3, DataType::int32, 0, {}); }),
                  "rank 1 calls send of 3 int32, rank 0 expects send of 4 int32");
    check_all_say(one_way(1, [](const auto& comm, auto& g, auto* m) { comm.send(g, m, 4, DataType::float32, 1, {}); }),
                  "rank 0 calls send of 4 float32, rank 1 expects send of 4 int32");
    // Either rank may look first.
    const auto both = [](const auto& call) {
        const std::vector<std::string> texts =
            errors_of(test::run_ranks(VirtualRanks(2, long_limit), 2, [&](const VirtualRank& comm) {
                const std::int64_t counts[] = {1, 1};
                std::int64_t from[2] = {};
                std::int64_t to[2] = {};
                auto group = comm.group();
                call(comm, group, from, to, counts);
                group.close();
            }));
        CHECK(texts[0] == texts[1]);
        return texts[0];
    };
    CHECK(both([](const VirtualRank& comm, auto& g, auto* from, auto* to, auto& counts) {
              if (comm.rank() == 0) comm.all_gather_v(g, from, to, counts, DataType::int64, {});
              if (comm.rank() == 1) comm.all_to_all_v(g, from, counts, to, counts, DataType::int64, {});
          }).find(" of 1 int64, rank ") != std::string::npos);
    CHECK(both([](const VirtualRank& comm, auto& g, auto* from, auto* to, auto&) {
              const auto reduction = comm.rank() == 0 ? Reduction::sum : Reduction::max;
              comm.all_reduce(g, from, to, 1, DataType::int64, reduction, {});
          }).find(" for the maximum") != std::string::npos);
}

TEST_CASE("after a failure the group is of no further use") {
    const VirtualRanks group(2, long_limit);
    const VirtualRank comm = group.join(0);
    { const VirtualRank other = group.join(1); }
    CHECK_THROWS_AS(exchange(comm), CommunicationError);
    CHECK_THROWS_WITH_AS(exchange(comm), "rank 0 waits for rank 1, which has left", CommunicationError);
}

TEST_CASE("what a caller gets wrong is an Error in the call itself") {
    const VirtualRanks group(1);
    CHECK_THROWS_AS((void)VirtualRanks(0), Error);
    CHECK_THROWS_AS((void)group.join(1), Error);
    CHECK_THROWS_AS((void)group.join(-1), Error);
    const VirtualRank comm = group.join(0);
    CHECK_THROWS_WITH_AS((void)group.join(0), "rank 0 joins its group twice", CommunicationError);
    auto g = comm.group();
    const std::int64_t counts[] = {1, 1};
    char memory[1] = {};
    const auto kind = [](const auto& call) { return status_of(call).kind(); };
    CHECK(kind([&] { comm.send(g, memory, -1, DataType::bytes, 0, {}); }) == Kind::length);
    CHECK(kind([&] { comm.send(g, memory, 1, DataType::bytes, 1, {}); }) == Kind::rank);
    CHECK(kind([&] { comm.recv(g, memory, 1, DataType::bytes, -1, {}); }) == Kind::rank);
    CHECK(kind([&] { comm.all_gather_v(g, memory, memory, counts, DataType::bytes, {}); }) == Kind::shard_count);
    CHECK(kind([&] { comm.all_reduce(g, memory, memory, 1, DataType::bytes, Reduction::max, {}); }) == Kind::element);
    g.close();  // nothing of it was kept
    const VirtualRanks two(2);
    const VirtualRank first = two.join(0);
    auto h = first.group();
    const std::int64_t good[] = {1, 1}, bad[] = {1, -1};
    CHECK(kind([&] { first.all_gather_v(h, memory, memory, bad, DataType::bytes, {}); }) == Kind::length);
    CHECK(kind([&] { first.all_to_all_v(h, memory, good, memory, bad, DataType::bytes, {}); }) == Kind::length);
    h.close();  // nor half a verb of two ranks, for which this one would wait
}

TEST_CASE("numbers have a data type, all else is bytes") {
    CHECK(data_type_of<const float> == DataType::float32);
    CHECK(data_type_of<long> == DataType::int64);
    CHECK(data_type_of<long long> == DataType::int64);
    CHECK(data_type_of<unsigned char> == DataType::uint8);
    CHECK(data_type_of<bf16> == DataType::bfloat16);
    CHECK(data_type_of<f16> == DataType::float16);
    CHECK(data_type_of<std::int16_t> == DataType::bytes);
    CHECK(data_type_of<bool> == DataType::bytes);
    CHECK(data_type_of<long double> == DataType::bytes);
}
