// The CUDA paths: with it, thrust::cuda::par and par_nosync (on a stream, with an allocator) are execs of all operations.
// Compiles under nvcc alone; seqpar/seqpar.hpp does not include it.
#pragma once

#include <seqpar/detail/cuda_exec.hpp>
#include <seqpar/exchange/detail/cuda_exchange.hpp>
#include <seqpar/index/detail/cuda_check_rows.hpp>
#include <seqpar/index/detail/cuda_index.hpp>
#include <seqpar/index/detail/cuda_scan.hpp>
#include <seqpar/move/detail/cuda_gather.hpp>
#include <seqpar/move/detail/cuda_move.hpp>
#include <seqpar/move/detail/cuda_rows.hpp>
#include <seqpar/seqpar.hpp>
