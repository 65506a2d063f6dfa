// The NCCL communicator: every law of the suite, in a graph too, and what it does when ranks do not do their part.
#include "broken.hpp"
#include "exchange/together.hpp"
#include "nccl/world.hpp"

#include <seqpar/conformance/communicator.hpp>

#include <doctest/doctest.h>

using namespace seqpar;
using test::broken;
using test::error_of;

static_assert(Communicator<Nccl>);

TEST_CASE("NCCL keeps every law, whether its calls block or not") {
    for (const bool blocking : {true, false}) {
        CAPTURE(blocking);
        test::World world(blocking);
        const Nccl comm(world.comm);
        CHECK(comm.rank() == world.rank);
        CHECK(comm.size() == world.size);
        {
            test::DeviceBuffers buffers;
            CHECK(broken(conformance::check_communicator(comm, buffers, world.stream)) == "");
        }
        world.destroy(comm);
    }
}

TEST_CASE("one rank's mistake, or what it alone was given, is the same Error on all") {
    test::World world;
    const Nccl comm(world.comm);
    for (const test::Mistake mistake : test::mistakes)
        CHECK(test::caught(comm, mistake, world.stream) == test::expected_status(comm.size(), mistake));
    world.destroy(comm);
}

TEST_CASE("more host values than there is device memory for are reduced in turns") {
    test::World world;
    const Nccl comm(world.comm);
    std::vector<std::int64_t> values(150);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] =
            static_cast<std::int64_t>(i) % comm.size() == comm.rank() ? 1000 - static_cast<std::int64_t>(i) : -1;
    comm.max_of_host(values, world.stream);
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 0; i < 150; ++i)
        expected.push_back(1000 - i);
    CHECK(values == expected);
    world.destroy(comm);
}

TEST_CASE("a group can be captured into a graph and replayed with other contents") {
    test::World world;
    const Nccl comm(world.comm);
    {
        test::DeviceBuffers buffers;
        std::vector<std::byte> bytes(sizeof(std::int64_t));
        void* const in = buffers.make(bytes, world.stream);
        void* const out = buffers.make(bytes, world.stream);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t exec = nullptr;
        cudaStreamBeginCapture(world.stream, cudaStreamCaptureModeThreadLocal);
        auto group = comm.group();
        comm.all_reduce(group, in, out, 1, DataType::int64, Reduction::sum, world.stream);
        group.close();
        CHECK(cudaStreamEndCapture(world.stream, &graph) == cudaSuccess);
        CHECK(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
        for (const std::int64_t value : {5, 7}) {
            std::int64_t mine = value + comm.rank();
            cudaMemcpyAsync(in, &mine, sizeof(mine), cudaMemcpyHostToDevice, world.stream);
            cudaGraphLaunch(exec, world.stream);
            comm.engine().wait(world.stream);
            buffers.read(bytes, out, world.stream);
            std::int64_t sum = 0;
            std::memcpy(&sum, bytes.data(), sizeof(sum));
            CHECK(sum == comm.size() * value + comm.size() * (comm.size() - 1) / 2);
        }
        cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
    }
    world.destroy(comm);
}

// The last rank does not do its part. With a stand-in only: NCCL itself finds no mismatch, and blocks.
TEST_CASE("a message of another length is an error, after which the communicator is aborted") {
    if (!test::nccl_checks() || test::from_environment("WORLD_SIZE") < 2) return;
    test::World world;
    const Nccl comm(world.comm, std::chrono::seconds(20));
    {
        test::DeviceBuffers buffers;
        void* const memory = buffers.make(std::vector<std::byte>(64), world.stream);
        const auto reduce = [&] {
            auto group = comm.group();
            const std::int64_t count = comm.rank() == comm.size() - 1 ? 3 : 4;
            comm.all_reduce(group, memory, memory, count, DataType::float32, Reduction::sum, world.stream);
            group.close();
            comm.engine().wait(world.stream);
        };
        CHECK(error_of(reduce) != "");
        CHECK(comm.engine().aborted());
        CHECK(error_of(reduce) == "the NCCL communicator was aborted");
        CHECK(error_of([&] { throw_together(comm, {}, world.stream); }) == "the NCCL communicator was aborted");
    }
    world.destroy(comm);
}

TEST_CASE("a call of CUDA that fails on one rank aborts the communicator, so that the others get an error") {
    if (!test::nccl_checks()) return;
    test::World world;
    const Nccl comm(world.comm, std::chrono::seconds(20));
    cudaStream_t stream = world.stream;
    const bool last = comm.rank() == comm.size() - 1;
    if (last) {
        cudaStreamCreate(&stream);
        cudaStreamDestroy(stream);
    }
    const std::string text = error_of([&] {
        throw_together(comm, {}, world.stream);  // all have come so far
        throw_together(comm, {}, stream);
    });
    CHECK(text != "");
    if (last) CHECK(text.find("cudaMemcpyAsync: ") == 0);
    CHECK(comm.engine().aborted());
    CHECK(error_of([&] { throw_together(comm, {}, world.stream); }) == "the NCCL communicator was aborted");
    cudaGetLastError();
    world.destroy(comm);
}

TEST_CASE("a rank that is gone is an error on the others") {
    if (!test::nccl_checks() || test::from_environment("WORLD_SIZE") < 2) return;
    test::World world;
    const Nccl comm(world.comm, std::chrono::seconds(20));
    const auto step = [&] { throw_together(comm, {}, world.stream); };
    const std::string first = error_of(step);
    if (comm.rank() == comm.size() - 1) {
        ncclCommAbort(world.comm);
        cudaStreamDestroy(world.stream);
    } else {
        CHECK(
            (!first.empty() || !error_of(step).empty()));  // the last rank may be gone before others look at the first
        CHECK(comm.engine().aborted());
        world.destroy(comm);
    }
}
