// A policy of your own (snake.hpp) put through the laws that every policy keeps, then inside documents, over TP-SP and with
// pads like any other, and through a batch's way: split, bank rows gathered in, put together again. Not here: data; see
// examples/split_batch.
#include "snake.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/move/unshard.hpp>
#include <seqpar/move/vision_gather.hpp>

#include <thrust/execution_policy.h>

#include <cstdio>
#include <vector>

namespace {

int broken_laws = 0;

void report(const char* what, const sp::conformance::Report& report) {
    std::printf("%-44s %s\n", what, sp::conformance::describe(report).c_str());
    if (!report.ok()) ++broken_laws;
}

template <sp::Layout L>
void print(const char* what, const L& layout) {
    std::printf("\n%s\n", what);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        std::printf("  rank %d:", rank);
        for (std::int64_t slot = 0; slot < layout.slots(rank); ++slot) {
            const std::int64_t source = layout.source(layout.position(rank, slot));
            source < 0 ? std::printf("  pad") : std::printf(" %4d", static_cast<int>(source));
        }
        std::printf("\n");
    }
}

}  // namespace

int main() {
    const std::vector<std::int32_t> cu_seqlens{0, 5, 5, 12};         // documents of 5, 0 and 7 tokens ...
    const std::vector<std::int32_t> padded_cu_seqlens{0, 6, 6, 14};  // ... padded to a multiple of 2
    const auto documents = sp::packed(Snake{}, padded_cu_seqlens, 14, 2);
    const auto pads = sp::padded(documents, cu_seqlens, padded_cu_seqlens, 12);
    const auto parts = sp::nested(pads, sp::UnevenContiguous{}, 2);

    report("Snake over 1 to 8 ranks", sp::conformance::check_policy(Snake{}));
    report("its refusals", sp::conformance::check_refusals(Snake{}));
    report("inside documents", sp::conformance::check_layout(documents));
    report("... is Snake in each of them",
           sp::conformance::packed_is_its_documents(Snake{}, sp::offsets(padded_cu_seqlens), 14, 2));
    report("with pads", sp::conformance::check_layout(pads));
    report("each shard in two parts", sp::conformance::check_layout(parts));

    print("Snake over 8 tokens and 2 ranks", Snake{}(8, 2));
    print("documents of 5, 0 and 7 tokens, padded, over 2 ranks", pads);
    print("the same, each shard in 2 parts", parts);

    // 12 tokens of one value each, and a bank whose 3 rows belong to tokens 1, 2 and 9.
    std::vector<float> tokens(12);
    std::vector<std::int32_t> rows(12, -1);
    for (std::size_t i = 0; i < 12; ++i)
        tokens[i] = static_cast<float>(i);
    rows[1] = 0, rows[2] = 1, rows[9] = 2;
    const std::vector<float> bank{100, 101, 102};
    std::vector<std::vector<float>> shards;
    for (int rank = 0; rank < parts.ranks(); ++rank) {
        std::vector<float>& own = shards.emplace_back(parts.slots(rank));
        sp::shard(thrust::seq, parts, rank, tokens, sp::axis<0>, own, 0.0F);
        const auto of_rank = [](auto& x) { return sp::tensor(x.data(), std::ssize(x), 1); };
        sp::VisionGather{}(thrust::seq, of_rank(own), sp::sharded(rows, parts, rank, sp::axis<0>, -1), of_rank(bank),
                           of_rank(own));
    }
    const auto shard_of = [&](int rank) -> auto& { return shards[static_cast<std::size_t>(rank)]; };
    sp::unshard(thrust::seq, parts, sp::shards(shard_of), sp::axis<0>, tokens);
    std::printf("\nsplit in 4, bank rows gathered in, together again:\n ");
    for (const float token : tokens)
        std::printf(" %4g", static_cast<double>(token));
    std::printf("\n");

    try {
        static_cast<void>(Snake{}(7, 2));
    } catch (const sp::Error& error) {
        std::printf("\n7 tokens over 2 ranks: %s\n", error.what());
    }
    return broken_laws;
}
