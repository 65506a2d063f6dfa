// An operation that takes scratch, under an exec without an allocator.
// expect-error: this operation needs scratch: give the execution policy an allocator
#include <seqpar/cuda.hpp>

namespace sp = seqpar;

void f(std::int64_t* ids, std::int32_t* rows, void* memory, cudaStream_t stream) {
#ifdef SEQPAR_TEST_POSITIVE
    sp::ScratchSpan scratch(memory, sp::build_rows_scratch_bytes(40, 1));
    const auto exec = thrust::cuda::par_nosync(scratch).on(stream);
#else
    static_cast<void>(memory);
    const auto exec = thrust::cuda::par_nosync.on(stream);
#endif
    sp::build_rows(exec, sp::tensor(ids, 40), sp::placeholders({{9, 0}}), sp::tensor(rows, 40));
}
