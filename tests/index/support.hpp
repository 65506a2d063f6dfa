// What the tests of index arrays share: every host exec, or the device's, random layouts of every kind, and index arrays as plain loops
// make them. Not here: any case.
#pragma once

#include "../exec.hpp"
#include "../layout/lists.hpp"
#include "../layout/random.hpp"

#include <seqpar/index/positions.hpp>
#include <seqpar/index/run_table.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <doctest/doctest.h>

#include <thrust/execution_policy.h>
#include <thrust/system/cpp/execution_policy.h>
#if defined(SEQPAR_TEST_OMP)
#    include <thrust/system/omp/execution_policy.h>
#endif
#if defined(SEQPAR_TEST_TBB)
#    include <thrust/system/tbb/execution_policy.h>
#endif

#include <memory>

namespace test {

namespace sp = seqpar;

// f(exec) under each host exec, all of which must do the same, or the device's where nvcc compiles.
template <class F>
void for_each_exec(F f) {
#if defined(__CUDACC__)
    f(main_exec);
#else
    const auto under = [&](const char* name, const auto& exec) {
        INFO(name);
        f(exec);
    };
    under("thrust::seq", thrust::seq);
    under("thrust::host", thrust::host);
    under("thrust::cpp::par", thrust::cpp::par);
    under("thrust::seq with an allocator", thrust::seq(std::allocator<char>{}));
#    if defined(SEQPAR_TEST_OMP)
    under("thrust::omp::par", thrust::omp::par);
#    endif
#    if defined(SEQPAR_TEST_TBB)
    under("thrust::tbb::par", thrust::tbb::par);
#    endif
#endif
}

// f(layout) for a layout over random padded offsets: as it is, nested, padded, and nested padded.
template <class L, class F>
void with_compositions(Random& random, const L& layout, const List& cu, F f) {
    f(layout);
    const List real = random_real_offsets(random, cu);
    const auto with_pads = sp::padded(layout, real, cu, real.back());
    f(with_pads);
    f(sp::nested(layout, sp::UnevenContiguous{}, static_cast<int>(random.between(1, 3))));
    f(sp::nested(with_pads, sp::UnevenContiguous{}, static_cast<int>(random.between(2, 3))));
}

// f(layout) for one random layout of each kind over `ranks` ranks. Documents of up to `units` multiples.
template <class F>
void for_each_layout(Random& random, int ranks, std::int64_t documents, std::int64_t units, F f) {
    const List cu = random_offsets(random, 6 * ranks, documents, units);
    const std::int64_t total = cu.back();
    with_compositions(random, sp::Contiguous{}(total, ranks), cu, f);
    with_compositions(random, sp::ZigZag{}(total, ranks), cu, f);
    with_compositions(random, sp::Striped{3}(total, ranks), cu, f);
    with_compositions(random, sp::packed(sp::ZigZag{}, cu, total, ranks), cu, f);
    with_compositions(random, sp::packed(sp::Contiguous{}, cu, total, ranks), cu, f);
    with_compositions(random, sp::packed(sp::Striped{2}, cu, total, ranks), cu, f);
    const Table table = random_table(random, ranks, total);
    with_compositions(random, sp::Permuted(table.view()), cu, f);
    f(sp::UnevenContiguous{}(random.between(0, total + 5), ranks));
}

// Array `values` read through an index, -1 giving `fill`.
template <class I, class J>
List gathered(const std::vector<J>& values, const std::vector<I>& index, std::int64_t fill = -7) {
    List out;
    for (const I i : index)
        out.push_back(i < 0 ? fill : values[static_cast<std::size_t>(i)]);
    return out;
}

// What call() reports.
template <class F>
sp::Status thrown(F call) {
    return sp::status_of(call);
}

// What call(exec) reports, the same under an exec that checks only and under one that works.
template <class F>
sp::Status refused(F call) {
    const sp::Status status = sp::status_of([&] { call(sp::check_only); });
    CHECK(sp::status_of([&] { call(thrust::seq); }) == status);
    return status;
}

}  // namespace test
