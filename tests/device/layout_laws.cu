// The laws of every layout, run inside a kernel, where offsets and tables lie in device memory. The same laws run on the host in
// tests/layout.
#include <seqpar/conformance/layout.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/permuted.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace sp = seqpar;

namespace {

void must(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}

// An array in device memory, for as long as the program runs.
template <class T>
const T* on_device(const std::vector<T>& host) {
    void* data = nullptr;
    must(cudaMalloc(&data, host.size() * sizeof(T)), "cudaMalloc");
    must(cudaMemcpy(data, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    return static_cast<const T*>(data);
}

template <sp::Layout L>
__global__ void run_laws(L layout, sp::conformance::Report* report) {
    *report = sp::conformance::check_layout(layout);
}

int failures = 0;
int layouts = 0;

// The report holds pointers to names in device memory, so only its numbers are read here.
template <sp::Layout L>
void laws_hold(const char* name, const L& layout) {
    static sp::conformance::Report* const report = [] {
        void* data = nullptr;
        must(cudaMalloc(&data, sizeof(sp::conformance::Report)), "cudaMalloc");
        return static_cast<sp::conformance::Report*>(data);
    }();
    run_laws<<<1, 1>>>(layout, report);
    must(cudaGetLastError(), name);
    sp::conformance::Report got;
    must(cudaMemcpy(&got, report, sizeof(got), cudaMemcpyDeviceToHost), name);
    got.what = "";
    ++layouts;
    if (got.ok()) return;
    ++failures;
    std::printf("%s: %s\n", name, sp::conformance::describe(got).c_str());
}

}  // namespace

TEST_CASE("the laws of every layout hold inside a kernel, over offsets and tables in device memory") {
    for (const int ranks : {1, 2, 3, 4}) {
        const std::int64_t length = 24 * ranks;
        laws_hold("contiguous", sp::Contiguous{}(length, ranks));
        laws_hold("uneven contiguous", sp::UnevenContiguous{}(length + 1, ranks));
        laws_hold("zigzag", sp::ZigZag{}(length, ranks));
        laws_hold("striped", sp::Striped{3}(length, ranks));
        laws_hold("nested", sp::nested(sp::ZigZag{}(length, ranks), sp::Contiguous{}, 2));

        const std::int64_t unit = 2 * ranks;  // documents of 3, 0, 2, 1 units and a repeated last offset
        const std::vector<std::int64_t> cu = {0, 3 * unit, 3 * unit, 5 * unit, 6 * unit, 6 * unit};
        const std::vector<std::int32_t> real = {0,
                                                static_cast<std::int32_t>(3 * unit - 1),
                                                static_cast<std::int32_t>(3 * unit - 1),
                                                static_cast<std::int32_t>(4 * unit),
                                                static_cast<std::int32_t>(4 * unit + 1),
                                                static_cast<std::int32_t>(4 * unit + 1)};
        const sp::Offsets<std::int64_t> padded_offsets(on_device(cu), 6);
        const sp::Offsets<std::int32_t> real_offsets(on_device(real), 6);
        const auto packed = sp::packed(sp::ZigZag{}, padded_offsets, 6 * unit, ranks);
        const auto padded = sp::padded(packed, real_offsets, padded_offsets, 4 * unit + 1);
        laws_hold("packed zigzag", packed);
        laws_hold("packed striped", sp::packed(sp::Striped{2}, padded_offsets, 6 * unit, ranks));
        laws_hold("padded", padded);
        laws_hold("nested over padded", sp::nested(padded, sp::UnevenContiguous{}, 3));
    }
    // Rank 0 holds 4 5 6 0, rank 1 holds 1 2 3.
    const sp::RunTableView table{on_device(std::vector<sp::Run>{{4, 0, 3}, {0, 3, 1}, {1, 0, 3}}),
                                 on_device(std::vector<std::int64_t>{0, 2, 3}),
                                 on_device(std::vector<std::int64_t>{1, 2, 0}), 3, 7, 2};
    laws_hold("permuted", sp::Permuted(table));
    CHECK(layouts > 30);
    CHECK(failures == 0);
}
