// The contract of every operation on a stream: launches as documented, nothing allocated, nothing synchronised, no copies, and
// launches on the given stream alone. Found by capturing each into a graph, which allows nothing else.
#include "device/device.hpp"

using namespace seqpar;
using test::DeviceArray;
using test::kernels_of;

namespace {

struct Fixture {
    test::Stream stream;
    DeviceArray<std::int64_t> cu{std::vector<std::int64_t>{0, 32, 48, 48, 64}};
    DeviceArray<bf16> hidden{64 * 32};
    DeviceArray<bf16> local{32 * 32};
    DeviceArray<std::int64_t> ids{64}, local_ids{32};
    DeviceArray<std::int32_t> rows{64, -1};
    DeviceArray<bf16> bank{8 * 32};

    auto exec() const { return stream.exec(); }
    auto layout() const { return packed(ZigZag{}, test::offsets_on(cu), 64, 2); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "moves: one launch, none for empty work") {
    CHECK(kernels_of(stream,
                     [&] { shard(exec(), layout(), 0, hidden.tensor(64, 32), axis<0>, local.tensor(32, 32)); }) == 1);
    CHECK(kernels_of(stream, [&] {
              shard_adjoint(exec(), layout(), 0, local.tensor(32, 32), axis<0>, hidden.tensor(64, 32));
          }) == 1);
    CHECK(kernels_of(stream, [&] {
              unshard(exec(), layout(), stacked(hidden.tensor(2, 32, 16)), axis<0>, local.tensor(64, 16));
          }) == 1);
    CHECK(kernels_of(stream, [&] {
              unshard_adjoint(exec(), layout(), 1, hidden.tensor(64, 32), axis<0>, local.tensor(32, 32));
          }) == 1);
    CHECK(kernels_of(stream, [&] {
              shard(exec(), layout(), 0, hidden.tensor(64, 0), axis<0>, local.tensor(32, 0));
              shard(exec(), ZigZag{}(0, 2), 1, hidden.tensor(0, 32), axis<0>, local.tensor(0, 32));
              shard_batch(exec(), layout(), 0);
          }) == 0);
}

TEST_CASE_FIXTURE(Fixture, "a batch of up to 16 fields is one launch, of 17 two, whatever their layouts") {
    const auto tp_sp = nested(layout(), Contiguous{}, 2);
    const DeviceArray<std::int64_t> to_ids(9 * 32);
    const DeviceArray<bf16> to_hidden(8 * 16 * 32);
    const auto id = [&](int k) { return field(ids.tensor(64), axis<0>, tensor(to_ids.data() + k * 32, 32)); };
    const auto h = [&](int k) {
        return field(hidden.tensor(64, 32), axis<0>, tensor(to_hidden.data() + k * 16 * 32, 16, 32)).with(tp_sp, 1);
    };
    CHECK(kernels_of(stream, [&] { shard_batch(exec(), layout(), 0, id(0), h(0), id(1)); }) == 1);
    CHECK(kernels_of(stream, [&] {
              shard_batch(exec(), layout(), 0, id(0), h(0), id(1), h(1), id(2), h(2), id(3), h(3), id(4), h(4), id(5),
                          h(5), id(6), h(6), id(7), h(7));
          }) == 1);
    CHECK(kernels_of(stream, [&] {
              shard_batch(exec(), layout(), 0, id(0), h(0), id(1), h(1), id(2), h(2), id(3), h(3), id(4), h(4), id(5),
                          h(5), id(6), h(6), id(7), h(7), id(8));
          }) == 2);
}

TEST_CASE_FIXTURE(Fixture,
                  "a failure of CUDA is a system_error that names the operation, and an older one is not ours") {
    void* none = nullptr;
    CHECK(cudaMalloc(&none, std::size_t{1} << 60) != cudaSuccess);  // the caller knows, and goes on
    CHECK_NOTHROW(shard(exec(), layout(), 0, ids.tensor(64), axis<0>, local_ids.tensor(32)));
    stream.wait();
    static_cast<void>(cudaGetLastError());
    std::string text;
    try {  // thrust::cuda::par waits, which a capture forbids
        test::Graph(stream, [&] {
            shard(thrust::cuda::par.on(stream), layout(), 0, ids.tensor(64), axis<0>, local_ids.tensor(32));
        });
    } catch (const thrust::system_error& error) {
        text = error.what();
    }
    CHECK(text.find("seqpar::shard_batch") != std::string::npos);
    CHECK(cudaGetLastError() == cudaSuccess);  // it was told once
    cudaGraph_t graph = nullptr;
    static_cast<void>(cudaStreamEndCapture(stream, &graph));
    static_cast<void>(cudaGetLastError());
}

TEST_CASE_FIXTURE(Fixture, "unshard over more than 16 ranks is a launch for every 16") {
    const auto many = Contiguous{}(64, 32);
    const DeviceArray<std::int64_t> other(64);
    CHECK(kernels_of(stream, [&] { unshard(exec(), many, stacked(other.tensor(32, 2)), axis<0>, ids.tensor(64)); }) ==
          2);
}

TEST_CASE_FIXTURE(Fixture, "VisionGather and levels, forward and backward: one launch each, none without tokens") {
    const auto tokens = rows.tensor(64);
    const auto b = bank.tensor(8, 32);
    const auto h = hidden.tensor(64, 32);
    const DeviceArray<bf16> other(8 * 32);
    const auto l = other.tensor(8, 32);
    CHECK(kernels_of(stream, [&] { VisionGather{}(exec(), h, tokens, b, h); }) == 1);
    CHECK(kernels_of(stream, [&] { VisionGather{}.backward(exec(), h, tokens, h, b, Store{}); }) == 1);
    CHECK(kernels_of(stream, [&] { VisionGather{}.backward(exec(), h, tokens, no_gradient, b, Add{}); }) == 1);
    CHECK(kernels_of(stream, [&] { add_rows(exec(), h, tokens, levels(b, l)); }) == 1);
    CHECK(kernels_of(stream, [&] { add_rows_backward(exec(), h, tokens, levels(b, l), Store{}); }) == 1);
    CHECK(kernels_of(stream, [&] { select(exec(), b, tokens, h); }) == 1);
    CHECK(kernels_of(stream, [&] { select_backward(exec(), h, tokens, b, Store{}); }) == 1);
    CHECK(kernels_of(stream, [&] {
              VisionGather{}(exec(), hidden.tensor(0, 32), rows.tensor(0), b, hidden.tensor(0, 32));
          }) == 0);
}

TEST_CASE_FIXTURE(Fixture, "a backward that sums: one radix sort and four launches more, none without tokens") {
    const auto many_tokens = std::int64_t{20000}, many_rows = std::int64_t{300};
    const DeviceArray<std::int32_t> many(many_tokens, 7);
    const DeviceArray<bf16> d_out(many_tokens * 8), d_bank(many_rows * 8);
    DeviceArray<char> memory(summed_scratch_bytes(many_tokens, many_rows));
    ScratchSpan scratch(memory.data(), memory.count());
    const auto with_scratch = thrust::cuda::par_nosync(scratch).on(stream);
    const auto h = hidden.tensor(64, 32);
    const auto b = bank.tensor(8, 32);
    // Few tokens are sorted by one launch.
    CHECK(kernels_of(stream, [&] {
              VisionGather{}.backward(with_scratch, h, rows.tensor(64), h, b, Summed<Store>{});
          }) == 4 + 1);
    CHECK(kernels_of(stream, [&] {
              VisionGather{}.backward(with_scratch, h, rows.tensor(64), no_gradient, b, Summed<Store>{});
          }) == 3 + 1);
    CHECK(kernels_of(stream, [&] {
              VisionGather{}.backward(with_scratch, hidden.tensor(0, 32), rows.tensor(0), no_gradient, b,
                                      Summed<Add>{});
          }) == 0);
    // Many: two and two memsets, and one of each for every 8 bits of the number of rows.
    const test::Graph graph(stream, [&] {
        const auto vectors = d_out.tensor(many_tokens, 8);
        VisionGather{}.backward(with_scratch, vectors, many.tensor(many_tokens), vectors, d_bank.tensor(many_rows, 8),
                                Summed<Add>{});
    });
    CHECK(graph.nodes(cudaGraphNodeTypeKernel) == 4 + 2 + 2);
    CHECK(graph.nodes(cudaGraphNodeTypeMemset) == 2 + 2);
    CHECK(graph.nodes() == (4 + 2 + 2) + (2 + 2));
}
