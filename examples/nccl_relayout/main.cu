// A relayout between GPUs: a tensor split zigzag inside documents (B), as attention wants it, becomes contiguous (F), as a layer
// that walks the sequence in order wants it, and comes back. Each process is one rank with a GPU of its own, and plans alone.
#include <seqpar/cuda.hpp>

#include <seqpar/exchange/errors.hpp>
#include <seqpar/exchange/exchange.hpp>
#include <seqpar/exchange/nccl.hpp>
#include <seqpar/exchange/plans.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace sp = seqpar;

namespace {

void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    std::exit(1);
}
void must(ncclResult_t result) {
    if (result == ncclSuccess) return;
    std::fprintf(stderr, "NCCL: %s\n", ncclGetErrorString(result));
    std::exit(1);
}

int from_environment(const char* variable, int otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : std::atoi(text);
}

using Rows = std::vector<float>;  // [rows, width]
constexpr std::int64_t length = 32, width = 4;

float* on_device(const Rows& rows) {
    void* data = nullptr;
    must(cudaMalloc(&data, rows.size() * sizeof(float)));
    must(cudaMemcpy(data, rows.data(), rows.size() * sizeof(float), cudaMemcpyHostToDevice));
    return static_cast<float*>(data);
}
Rows on_host(const float* data, std::size_t elements) {
    Rows rows(elements);
    must(cudaMemcpy(rows.data(), data, elements * sizeof(float), cudaMemcpyDeviceToHost));
    return rows;
}

// The first column: row p of the whole tensor has p there.
std::string positions(const Rows& rows) {
    std::string text;
    for (std::size_t i = 0; i < rows.size(); i += width)
        text += " " + std::to_string(static_cast<int>(rows[i]));
    return text;
}

// Returns whether every row was where it should be, and came back.
bool run(const sp::Nccl& comm, cudaStream_t stream) {
    const int rank = comm.rank();
    const std::vector<std::int32_t> cu_seqlens{0, 16, 32};
    const auto zigzag = sp::packed(sp::ZigZag{}, cu_seqlens, length, comm.size());
    const auto contiguous = sp::Contiguous{}(length, comm.size());
    // First what can be wrong on one rank alone, which sends nothing: it is an Error on all of them, and none waits for another.
    sp::ExchangePlan there, back;
    const sp::Status planned = sp::status_of([&] {
        there = sp::relayout(zigzag, contiguous, rank);
        back = sp::relayout(contiguous, zigzag, rank);
    });
    sp::throw_together(comm, planned, sp::Agreement().layout(zigzag).layout(contiguous), stream);

    const auto rows_of = [&](const auto& layout) {
        Rows rows;
        for (std::int64_t slot = 0; slot < layout.slots(rank); ++slot) {
            for (std::int64_t column = 0; column < width; ++column)
                rows.push_back(static_cast<float>(layout.position(rank, slot) + 100 * column));
        }
        return rows;
    };
    const Rows before = rows_of(zigzag);
    const Rows expected = rows_of(contiguous);
    float* const mine = on_device(before);
    float* const moved = on_device(Rows(expected.size()));
    float* const returned = on_device(Rows(before.size()));
    const auto view = [](float* data, const Rows& rows) {
        return sp::tensor(data, static_cast<std::int64_t>(rows.size()) / width, width);
    };

    constexpr std::int64_t row_bytes = width * sizeof(float);
    const std::int64_t scratch_bytes =
        std::max(sp::exchange_scratch_bytes(there, row_bytes), sp::exchange_scratch_bytes(back, row_bytes));
    void* scratch_memory = nullptr;
    must(cudaMalloc(&scratch_memory, static_cast<std::size_t>(scratch_bytes)));
    sp::ScratchSpan scratch(static_cast<char*>(scratch_memory), scratch_bytes);
    const auto exec = thrust::cuda::par_nosync(scratch).on(stream);
    const auto relayouts = [&](const auto& with) {
        sp::exchange(with, comm, there, view(mine, before), sp::axis<0>, view(moved, expected));
        sp::exchange(with, comm, back, view(moved, expected), sp::axis<0>, view(returned, before));
    };
    sp::throw_together(comm, sp::status_of([&] { relayouts(sp::check_only); }), stream);
    relayouts(exec);
    comm.engine().wait(stream);  // throws if another process dies, instead of waiting for it

    const Rows got = on_host(moved, expected.size());
    const std::string name = "rank " + std::to_string(rank) + " of " + std::to_string(comm.size());
    const std::string text =
        name + ", zigzag:" + positions(before) + "\n" + name + ", contiguous:" + positions(got) + "\n";
    std::fputs(text.c_str(), stdout);  // at once, so that ranks do not mix
    const bool same = got == expected && on_host(returned, before.size()) == before;
    for (float* const data : {mine, moved, returned})
        must(cudaFree(data));
    must(cudaFree(scratch_memory));
    return same;
}

}  // namespace

int main() {
    const int rank = from_environment("RANK", 0);
    const int ranks = from_environment("WORLD_SIZE", 1);
    int devices = 0;
    must(cudaGetDeviceCount(&devices));
    must(cudaSetDevice(devices > 1 ? from_environment("LOCAL_RANK", rank) : 0));
    cudaStream_t stream = nullptr;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    // The same id in every process, as NCCL_COMM_ID sees to; a trainer sends rank 0's to the others.
    ncclUniqueId id;
    must(ncclGetUniqueId(&id));
    ncclComm_t nccl = nullptr;
    must(ncclCommInitRank(&nccl, ranks, id, rank));
    bool same = false;
    try {
        const sp::Nccl comm(nccl);
        same = run(comm, stream);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        return 1;  // the communicator may be aborted
    }
    must(ncclCommDestroy(nccl));
    must(cudaStreamDestroy(stream));
    if (!same) std::fprintf(stderr, "rank %d: rows are not where they should be\n", rank);
    return same ? 0 : 1;
}
