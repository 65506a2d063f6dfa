// The MPI communicator: every law of the suite, also where messages go in pieces and in a group of its own; and what it does when
// ranks do not do their part.
#include "broken.hpp"
#include "exchange/together.hpp"
#include "mpi/world.hpp"

#include <seqpar/conformance/communicator.hpp>

using namespace seqpar;
using test::broken;
using test::error_of;

REGISTER_LISTENER("mpi", 1, test::MpiForAllTests);

static_assert(Communicator<Mpi>);

namespace {

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

// Two ranks in the group: this one and its neighbour, or itself alone.
MPI_Comm pairs() {
    MPI_Comm pair = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank() / 2, -world_rank(), &pair);
    return pair;
}

}  // namespace

TEST_CASE("MPI keeps every law") {
    const Mpi comm(MPI_COMM_WORLD, test::time_limit);
    CHECK(comm.rank() == world_rank());
    CHECK(broken(conformance::check_communicator(comm)) == "");
}

TEST_CASE("messages cut into pieces, as those of more than an int of elements are, keep every law") {
    const Mpi comm(MPI_COMM_WORLD, test::time_limit, 2);
    CHECK(broken(conformance::check_communicator(comm)) == "");
}

TEST_CASE("two groups of ranks, one of them part of the other, do not mix") {
    MPI_Comm pair_comm = pairs();
    {
        const Mpi all(MPI_COMM_WORLD, test::time_limit);
        const Mpi pair(pair_comm, test::time_limit);
        CHECK(broken(conformance::check_communicator(pair)) == "");
        std::int64_t sums[2] = {1, 1};
        auto of_all = all.group();
        auto of_pair = pair.group();
        all.all_reduce(of_all, &sums[0], &sums[0], 1, DataType::int64, Reduction::sum, {});
        pair.all_reduce(of_pair, &sums[1], &sums[1], 1, DataType::int64, Reduction::sum, {});
        of_pair.close();
        of_all.close();
        CHECK(sums[0] == all.size());
        CHECK(sums[1] == pair.size());
    }
    MPI_Comm_free(&pair_comm);
}

TEST_CASE("short floats are summed as such, rounded to nearest even") {
    const Mpi comm(MPI_COMM_WORLD, test::time_limit);
    // One rank has 256 and the others 1, which bfloat16 adds to 256 only where ones were added to each other before.
    const float mine = comm.rank() == 0 ? 256.0f : comm.rank() == 1 ? 3.0f : 0.0f;
    const bf16 in[1] = {bf16(mine)};
    const f16 short_in[1] = {f16(mine * 8)};
    bf16 sum[1] = {};
    f16 short_sum[1] = {};
    auto group = comm.group();
    comm.all_reduce(group, in, sum, 1, DataType::bfloat16, Reduction::sum, {});
    comm.all_reduce(group, short_in, short_sum, 1, DataType::float16, Reduction::sum, {});
    group.close();
    CHECK(static_cast<float>(sum[0]) == 260.0f);         // 259 lies in the middle of 258 and 260
    CHECK(static_cast<float>(short_sum[0]) == 2072.0f);  // exact
}

TEST_CASE("one rank's mistake, or what it alone was given, is the same Error on all") {
    const Mpi comm(MPI_COMM_WORLD, test::time_limit);
    for (const test::Mistake mistake : test::mistakes)
        CHECK(test::caught(comm, mistake) == test::expected_status(comm.size(), mistake));
}

TEST_CASE(
    "a message of another length is an error where it arrives, after which the communicator refuses further use") {
    for (const std::int64_t sent : {3, 5}) {
        const Mpi comm(MPI_COMM_WORLD, test::time_limit);
        float memory[8] = {};
        const std::string text = error_of([&] {
            auto group = comm.group();
            if (comm.rank() == 0) comm.send(group, memory, sent, DataType::float32, 1, {});
            if (comm.rank() == 1) comm.recv(group, memory, 4, DataType::float32, 0, {});
            group.close();
        });
        CHECK(text.empty() == (comm.rank() != 1));
        if (comm.rank() != 1) continue;
        if (sent == 3) CHECK(text == "rank 1 expects 4 float32 from rank 0, got 3");
        const std::string refused = "the MPI communicator is of no use: " + text;
        CHECK(error_of([&] { throw_together(comm, {}); }) == refused);
        CHECK(error_of([&] { throw_together(comm, {}); }) == refused);
    }
}

TEST_CASE("a group of calls that is dropped sends nothing") {
    const Mpi comm(MPI_COMM_WORLD, test::time_limit);
    float memory[1] = {};
    {
        auto group = comm.group();
        comm.send(group, memory, 1, DataType::float32, (comm.rank() + 1) % comm.size(), {});
    }
    CHECK(broken(conformance::check_communicator(comm)) == "");
}

TEST_CASE("a rank that does not come is an error on the others when the time is over") {
    const Mpi comm(MPI_COMM_WORLD, std::chrono::milliseconds(100));
    static float sum[1] = {};  // MPI has it until the end
    const std::string text = error_of([&] {
        auto group = comm.group();
        if (comm.rank() != 0) comm.recv(group, sum, 1, DataType::float32, 0, {});
        group.close();
    });
    CHECK(text == (comm.rank() == 0
                       ? std::string()
                       : "rank " + std::to_string(comm.rank()) + " waits for others for longer than 100 ms"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm.rank() == 0) {  // and comes after all, so that MPI can end
        auto group = comm.group();
        for (int peer = 1; peer < comm.size(); ++peer)
            comm.send(group, sum, 1, DataType::float32, peer, {});
        group.close();
    }
}

TEST_CASE("ranks that waited too long for one that throws together get an error, and lose no memory to MPI") {
    const Mpi comm(MPI_COMM_WORLD, std::chrono::milliseconds(100));
    std::string text;
    if (comm.rank() != 0) text = error_of([&] { throw_together(comm, {}); });
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm.rank() == 0) {  // too late: MPI writes into what the others gave it
        CHECK(error_of([&] { throw_together(comm, {}); }) == "");
    } else {
        CHECK(text.find("waits for others for longer than 100 ms") != std::string::npos);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}
