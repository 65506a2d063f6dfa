// An exec that reports already: one of the two would be told nothing.
// expect-error: this execution policy reports already
#include <seqpar/cuda.hpp>

namespace sp = seqpar;

auto f(sp::Status* first, [[maybe_unused]] sp::Status* second, cudaStream_t stream) {
    const auto exec = sp::reporting(thrust::cuda::par_nosync.on(stream), first);
#ifdef SEQPAR_TEST_POSITIVE
    return exec;
#else
    return sp::reporting(exec, second);
#endif
}
