// Exchanges between GPUs give what the same exchanges between threads give: packed and unpacked by kernels, sent by NCCL, ordered by
// one stream alone.
#include <seqpar/cuda.hpp>

#include "exchange/ranks.hpp"
#include "nccl/world.hpp"

#include <seqpar/exchange/plans.hpp>
#include <seqpar/exchange/reduce.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <utility>

using namespace seqpar;

namespace {

using List = std::vector<std::int64_t>;
constexpr std::int64_t length = 48, bank_rows = 20, width = 3;

// Memory that exec reaches.
struct OnHost {
    template <class T>
    T* put(const std::vector<T>& values) {
        auto copy = std::make_shared<std::vector<T>>(values);
        kept.push_back(copy);
        return copy->data();
    }
    template <class T>
    std::vector<T> get(const T* data, std::size_t count) const {
        return {data, data + count};
    }
    std::vector<std::shared_ptr<void>> kept{};
};
struct OnDevice {
    template <class T>
    T* put(const std::vector<T>& values) {
        std::vector<std::byte> bytes((std::max)(values.size() * sizeof(T), sizeof(T)));
        std::memcpy(bytes.data(), values.data(), values.size() * sizeof(T));
        return static_cast<T*>(buffers.make(bytes, stream));
    }
    template <class T>
    std::vector<T> get(const T* data, std::size_t count) {
        comm.engine().wait(stream);
        std::vector<std::byte> bytes(count * sizeof(T));
        buffers.read(bytes, data, stream);
        std::vector<T> values(count);
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }
    const Nccl& comm;
    cudaStream_t stream;
    test::DeviceBuffers buffers{};
};

template <class T>
auto matrix(T* data, std::int64_t rows) {
    return tensor(data, rows, width);
}
std::size_t size_of(std::int64_t rows) { return static_cast<std::size_t>(rows * width); }

// Values that no other rank has.
template <class T>
std::vector<T> values_of(int rank, std::int64_t rows) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < rows * width; ++i)
        values.push_back(static_cast<T>(1000 * rank + i));
    return values;
}

// Everything that an exchange can do, and the values that come of it, as doubles.
template <class Exec, class Comm, class Memory>
std::vector<std::vector<double>> results(const Exec& exec, const Comm& comm, Memory memory) {
    std::vector<std::vector<double>> all;
    const auto keep = [&](const auto& values) { all.emplace_back(values.begin(), values.end()); };
    const int rank = comm.rank();
    const int c = comm.size();
    const List cu{0, 16, 16, 40, length};
    const auto zigzag = packed(ZigZag{}, cu, length, c);

    // There and back without a wait between, along another axis too.
    const auto there_and_back = [&](auto one, const auto& from, const auto& to, auto axis) {
        using T = decltype(one);
        const ExchangePlan there = relayout(from, to, rank);
        const ExchangePlan back = reversed(there);
        const auto view = [&](T* data, std::int64_t rows) {
            return decltype(axis)::value == 0 ? tensor(data, rows, std::int64_t{width}) : tensor(data, width, rows);
        };
        T* const before = memory.put(values_of<T>(rank, there.rows_in));
        T* const after = memory.put(std::vector<T>(size_of(there.rows_out)));
        T* const again = memory.put(std::vector<T>(size_of(there.rows_in)));
        exchange(exec, comm, there, view(before, there.rows_in), axis, view(after, there.rows_out));
        exchange(exec, comm, back, view(after, there.rows_out), axis, view(again, there.rows_in));
        CHECK(memory.get(again, size_of(there.rows_in)) == values_of<T>(rank, there.rows_in));
        keep(memory.get(after, size_of(there.rows_out)));
    };
    there_and_back(1.0f, zigzag, Contiguous{}(length, c), axis<0>);
    there_and_back(std::int16_t{1}, ZigZag{}(length, c), Striped{2}(length, c), axis<-1>);
    there_and_back(1.0, zigzag, UnevenContiguous{}(length, 1), axis<0>);  // all on one rank

    // Halo and roll, and the sums that their ways back make.
    for (const ExchangePlan& plan :
         {plan_halo(zigzag, rank, Side::left, 2, cu), plan_roll(zigzag, rank, -1, cu), plan_undo(zigzag, rank)}) {
        double* const in = memory.put(values_of<double>(rank, plan.rows_in));
        double* const out = memory.put(std::vector<double>(size_of(plan.rows_out), -1));
        double* const sums = memory.put(values_of<double>(-rank, plan.rows_in));
        const ExchangePlan back = reversed(plan);
        exchange(exec, comm, plan, matrix(in, plan.rows_in), axis<0>, matrix(out, plan.rows_out));
        exchange(exec, comm, back, matrix(out, plan.rows_out), axis<0>, matrix(sums, plan.rows_in), Add{});
        keep(memory.get(out, size_of(plan.rows_out)));
        keep(memory.get(sums, size_of(plan.rows_in)));
    }

    // The bank on every rank, or only what a rank's tokens name; with a level; and the sums of gradients.
    List cuts(static_cast<std::size_t>(c) + 1, bank_rows);
    for (int r = 0; r < c; ++r)
        cuts[static_cast<std::size_t>(r)] = r * (bank_rows / c - 1);
    std::vector<std::int32_t> rows(length, -1);
    for (std::int32_t row = 0; row < bank_rows; ++row)
        rows[static_cast<std::size_t>(row * 7 % length)] = row;
    std::vector<std::int32_t> local(static_cast<std::size_t>(zigzag.slots(rank)));
    for (const ExchangePlan& plan : {plan_all_gather_v(cuts, rank), plan_owned(zigzag, rank, rows, cuts, local)}) {
        float* const in = memory.put(values_of<float>(rank, plan.rows_in));
        double* const level = memory.put(values_of<double>(rank + 10, plan.rows_in));
        float* const bank = memory.put(std::vector<float>(size_of(plan.rows_out)));
        double* const of_level = memory.put(std::vector<double>(size_of(plan.rows_out)));
        float* const d_in = memory.put(values_of<float>(rank, plan.rows_in));
        double* const d_level = memory.put(values_of<double>(rank, plan.rows_in));
        exchange_batch(exec, comm, plan, field(matrix(in, plan.rows_in), axis<0>, matrix(bank, plan.rows_out)),
                       field(matrix(level, plan.rows_in), axis<0>, matrix(of_level, plan.rows_out)));
        GradientState state(BankState::sharded, c);
        sum_bank_rows(exec, comm, state, plan, field(matrix(bank, plan.rows_out), axis<0>, matrix(d_in, plan.rows_in)),
                      field(matrix(of_level, plan.rows_out), axis<0>, matrix(d_level, plan.rows_in)));
        double* const d_weights = memory.put(values_of<double>(rank, 2));
        sum_weights(exec, comm, state, matrix(d_weights, 2));
        CHECK(state.done());
        keep(memory.get(bank, size_of(plan.rows_out)));
        keep(memory.get(of_level, size_of(plan.rows_out)));
        keep(memory.get(d_in, size_of(plan.rows_in)));
        keep(memory.get(d_level, size_of(plan.rows_in)));
        keep(memory.get(d_weights, size_of(2)));
    }
    return all;
}

}  // namespace

TEST_CASE("exchanges over NCCL give what they give over threads, all in the order of one stream") {
    test::World world;
    const Nccl comm(world.comm);
    constexpr std::int64_t scratch_bytes = 1 << 16;
    void* scratch_memory = nullptr;
    CHECK(cudaMalloc(&scratch_memory, scratch_bytes) == cudaSuccess);
    ScratchSpan scratch(static_cast<char*>(scratch_memory), scratch_bytes);
    const auto got = results(thrust::cuda::par_nosync(scratch).on(world.stream), comm, OnDevice{comm, world.stream});

    std::vector<std::vector<double>> expected;
    const auto thrown = test::run_ranks(VirtualRanks(comm.size()), comm.size(), [&](const VirtualRank& virtual_comm) {
        auto of_rank = results(thrust::seq, virtual_comm, OnHost{});
        if (virtual_comm.rank() == comm.rank()) expected = std::move(of_rank);
    });
    for (const auto& exception : thrown)
        CHECK(test::text_of<std::exception>(exception) == "");
    CHECK(got.size() == 19);
    CHECK(got == expected);
    cudaFree(scratch_memory);
    world.destroy(comm);
}
