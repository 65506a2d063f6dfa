// All of the library that a plain host compiler builds. CUDA, NCCL, MPI and adapters to foreign tensors have headers of their own.
#pragma once

#include <seqpar/version.hpp>

#include <seqpar/layout/concepts.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/indexed.hpp>
#include <seqpar/layout/multiples.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/offsets.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/permuted.hpp>
#include <seqpar/layout/runs.hpp>
#include <seqpar/layout/status.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <seqpar/tensor/array_ref.hpp>
#include <seqpar/tensor/axis.hpp>
#include <seqpar/tensor/half.hpp>
#include <seqpar/tensor/sharded.hpp>
#include <seqpar/tensor/traits.hpp>

#include <seqpar/scratch.hpp>

#include <seqpar/index/attention_offsets.hpp>
#include <seqpar/index/check_rows.hpp>
#include <seqpar/index/expand_rows.hpp>
#include <seqpar/index/gather.hpp>
#include <seqpar/index/halo.hpp>
#include <seqpar/index/labels.hpp>
#include <seqpar/index/local_rows.hpp>
#include <seqpar/index/offsets.hpp>
#include <seqpar/index/padding.hpp>
#include <seqpar/index/positions.hpp>
#include <seqpar/index/roll.hpp>
#include <seqpar/index/rows.hpp>
#include <seqpar/index/run_table.hpp>

#include <seqpar/move/gradient_state.hpp>
#include <seqpar/move/levels.hpp>
#include <seqpar/move/shard.hpp>
#include <seqpar/move/unshard.hpp>
#include <seqpar/move/vision_gather.hpp>
#include <seqpar/move/zero_dependency.hpp>

#include <seqpar/balance/causal_work.hpp>
#include <seqpar/balance/hybrid.hpp>
#include <seqpar/balance/items.hpp>
#include <seqpar/balance/plans.hpp>

#include <seqpar/exchange/agreement.hpp>
#include <seqpar/exchange/communicator.hpp>
#include <seqpar/exchange/errors.hpp>
#include <seqpar/exchange/exchange.hpp>
#include <seqpar/exchange/plan.hpp>
#include <seqpar/exchange/plans.hpp>
#include <seqpar/exchange/reduce.hpp>
