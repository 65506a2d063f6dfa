// What walking the runs of a layout costs, with nothing done about them. There is no copy beside it: nothing is written.
#include "harness.hpp"

#include <seqpar/seqpar.hpp>

#include <memory>

namespace bench {

namespace {

namespace sp = seqpar;

// Walks the runs of all ranks; gives how many there are.
template <class L>
std::int64_t walk(const L& layout) {
    std::int64_t count = 0;
    std::int64_t sum = 0;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        auto cursor = sp::source_runs(layout, rank, 0, layout.slots(rank));
        sp::Run run;
        while (cursor.next(run)) {
            sum += run.position ^ run.length;
            ++count;
        }
    }
    benchmark::DoNotOptimize(sum);
    return count;
}

// `bind` gives a layout over offsets that stay where they are.
template <class Bind>
void add_walk(const std::string& name, const std::string& text, const Sizes& sizes, std::int64_t documents, int ranks,
              const Target& target, const Bind& bind) {
    const std::int64_t total = sizes.walk;
    add({"walk/" + name + "/documents:" + std::to_string(documents),
         text + " " + shape({total}) + ", " + count(ranks, "rank"), "run", 0, target},
        [=]() -> Work {
            const auto cu_seqlens =
                std::make_shared<std::vector<std::int64_t>>(equal_documents(total, documents, 2 * std::int64_t{ranks}));
            const auto layout = bind(*cu_seqlens);
            return {[=] {
                        benchmark::DoNotOptimize(cu_seqlens->data());
                        walk(layout);
                    },
                    nullptr, walk(layout)};
        });
}

}  // namespace

void add_walks(const Sizes& sizes) {
    for (const std::int64_t documents : sizes.walk_documents) {
        const int ranks = ranks_for(sizes.walk, documents, sizes.ranks);
        const std::int64_t total = sizes.walk;
        Target target;  // nanoseconds a run, of which many documents may take twice as many as few
        if (total == Sizes{}.walk && sizes.walk_documents == Sizes{}.walk_documents)
            target = {0, 10, documents == sizes.walk_documents.front() ? 0.0 : 2.0};
        add_walk("packed", "zigzag", sizes, documents, ranks, target, [=](const std::vector<std::int64_t>& cu_seqlens) {
            return sp::packed(sp::ZigZag{}, cu_seqlens, total, ranks);
        });
        if (ranks % 2 != 0) continue;
        // TP-SP of two in each shard.
        add_walk("nested", "zigzag, contiguous in 2", sizes, documents, ranks, target,
                 [=](const std::vector<std::int64_t>& cu_seqlens) {
                     return sp::nested(sp::packed(sp::ZigZag{}, cu_seqlens, total, ranks / 2), sp::Contiguous{}, 2);
                 });
    }
}

}  // namespace bench
