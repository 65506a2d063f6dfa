// A policy of your own: a rule that the library does not know, in some twenty lines, put through the laws that every policy
// keeps, and then inside documents, over TP-SP and with pads like any other. Not here: data; see examples/split_batch.
#include <seqpar/conformance/layout.hpp>
#include <seqpar/layout/contiguous.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace sp = seqpar;

// --- the policy -----------------------------------------------------------------------------------------------------------

// Tokens are dealt like cards, one a rank, to ranks 0, 1, .., P-1 and back, P-1, .., 1, 0. SEQPAR_HD makes it callable in
// kernels. There is no run_at: runs are one token long anyway.
struct SnakeLayout {
    std::int64_t length = 0;
    int group = 1;

    SEQPAR_HD constexpr std::int64_t size() const { return length; }
    SEQPAR_HD constexpr std::int64_t source_size() const { return length; }
    SEQPAR_HD constexpr int ranks() const { return group; }
    SEQPAR_HD constexpr std::int64_t slots(int) const { return length / group; }
    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const {
        return slot * group + (slot % 2 == 0 ? rank : group - 1 - rank);
    }
    SEQPAR_HD constexpr sp::Place place(std::int64_t position) const {
        const std::int64_t slot = position / group;
        const int turn = static_cast<int>(position - slot * group);
        return {slot % 2 == 0 ? turn : group - 1 - turn, slot};
    }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return position; }
};

struct Snake {
    static constexpr bool equal_shards = true;  // so Packed takes it

    SEQPAR_HD constexpr std::int64_t multiple(int ranks) const { return ranks; }
    SEQPAR_HD constexpr SnakeLayout operator()(std::int64_t length, int ranks) const {
        sp::throw_if_bad(sp::check(*this, length, ranks));  // an Error that names length and multiple
        return {length, ranks};
    }
};

static_assert(sp::LayoutPolicy<Snake>);
static_assert(sp::conformance::check_policy(Snake{}, 4, 2).ok());  // at compile time too

// --- what it is good for ------------------------------------------------------------------------------------------------------

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

    try {
        static_cast<void>(Snake{}(7, 2));
    } catch (const sp::Error& error) {
        std::printf("\n7 tokens over 2 ranks: %s\n", error.what());
    }
    return broken_laws;
}
