// A training step's data path inside a CUDA graph: captured once, replayed for every batch in the same buffers, however its
// documents are cut. Not here: how each operation works; see docs/design.md.
#include <seqpar/cuda.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace sp = seqpar;

namespace {

void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    std::exit(1);
}

template <class T>
T* on_device(std::int64_t count) {
    void* data = nullptr;
    must(cudaMalloc(&data, static_cast<std::size_t>(count) * sizeof(T)));
    must(cudaMemset(data, 0, static_cast<std::size_t>(count) * sizeof(T)));
    must(cudaDeviceSynchronize());  // the stream of the step does not wait for the default one
    return static_cast<T*>(data);
}
template <class T>
void put(T* to, const std::vector<T>& from) {
    must(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    must(cudaDeviceSynchronize());
}

}  // namespace

int main() {
    constexpr std::int64_t tokens = 16, local = 8, width = 8, bank_rows = 4;
    constexpr int cp = 2, rank = 1, most_documents = 4;
    constexpr std::int64_t image = 151655;

    // The buffers of a step. cu_seqlens has room for four documents: a batch of fewer repeats its last offset.
    auto* const cu = on_device<std::int32_t>(most_documents + 1);
    auto* const ids = on_device<std::int64_t>(tokens);
    auto* const local_ids = on_device<std::int64_t>(local);
    auto* const rows = on_device<std::int32_t>(tokens);
    auto* const embeddings = on_device<sp::bf16>(tokens * width);
    auto* const h = on_device<sp::bf16>(local * width);
    auto* const bank = on_device<sp::bf16>(bank_rows * width);
    auto* const status = on_device<sp::Status>(1);  // zeroed: good
    constexpr std::int64_t scratch_bytes = sp::build_rows_scratch_bytes(tokens, 1);
    sp::ScratchSpan scratch(on_device<char>(scratch_bytes), scratch_bytes);
    put(bank, std::vector<sp::bf16>(bank_rows * width, sp::bf16(1)));

    cudaStream_t stream = nullptr;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const auto exec = sp::reporting(thrust::cuda::par_nosync(scratch).on(stream), status);
    const auto layout = sp::packed(sp::ZigZag{}, sp::Offsets<std::int32_t>(cu, most_documents + 1), tokens, cp);

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t step = nullptr;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    sp::build_rows(exec, sp::tensor(ids, tokens), sp::placeholders({{image, 0}}), sp::tensor(rows, tokens));
    sp::shard_batch(exec, layout, rank, sp::field(sp::tensor(ids, tokens), sp::axis<0>, sp::tensor(local_ids, local)),
                    sp::field(sp::tensor(embeddings, tokens, width), sp::axis<0>, sp::tensor(h, local, width)));
    sp::VisionGather{}(exec, sp::tensor(h, local, width),
                       sp::sharded(sp::tensor(rows, tokens), layout, rank, sp::axis<0>),
                       sp::tensor(bank, bank_rows, width), sp::tensor(h, local, width));
    must(cudaStreamEndCapture(stream, &graph));
    must(cudaGraphInstantiate(&step, graph, 0));

    // Batches with documents of their own, the last of them illegal: 6 is no multiple of 2 * cp.
    const std::vector<std::vector<std::int32_t>> batches{{0, 16, 16, 16, 16}, {0, 4, 12, 16, 16}, {0, 6, 16, 16, 16}};
    for (const std::vector<std::int32_t>& documents : batches) {
        std::vector<std::int64_t> batch_ids;
        for (std::int64_t i = 0; i < tokens; ++i)
            batch_ids.push_back(i % 5 == 2 ? image : i);
        put(cu, documents);
        put(ids, batch_ids);
        must(cudaGraphLaunch(step, stream));
        must(cudaStreamSynchronize(stream));
        sp::Status found;
        std::vector<std::int64_t> got(local);
        must(cudaMemcpy(&found, status, sizeof(found), cudaMemcpyDeviceToHost));
        must(cudaMemcpy(got.data(), local_ids, local * sizeof(std::int64_t), cudaMemcpyDeviceToHost));
        if (!found.ok()) {
            std::printf("%s\n", sp::describe(found).c_str());
            continue;
        }
        std::printf("rank %d holds", rank);
        for (const std::int64_t id : got)
            std::printf(" %lld", static_cast<long long>(id));
        std::printf("\n");
    }
    return 0;
}
