// VisionGather and levels, forward and backward. The copy beside them: the forward's output in one memcpy; in place, the vision
// vectors; of several levels in one pass, as many passes.
#include "harness.hpp"

#include <seqpar/seqpar.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

namespace bench {

namespace {

namespace sp = seqpar;

enum class Order { spans, shuffled };

// Half of the tokens are vision tokens, or as many as the bank has rows.
struct Vision {
    std::int64_t tokens;
    std::int64_t width;
    std::int64_t bank_rows;
    std::int64_t vision_tokens = 0;
    std::int32_t* rows;
    sp::bf16* embeddings;
    sp::bf16* out;

    auto tensor_of(sp::bf16* data) const { return sp::tensor(data, tokens, width); }
    auto row_tensor() const { return sp::tensor(static_cast<const std::int32_t*>(rows), tokens); }
    std::size_t bytes() const { return static_cast<std::size_t>(tokens * width) * sizeof(sp::bf16); }
    std::size_t vision_bytes() const { return static_cast<std::size_t>(vision_tokens * width) * sizeof(sp::bf16); }
};

std::shared_ptr<Vision> make_vision(const Sizes& sizes, Order order) {
    auto vision = std::make_shared<Vision>();
    vision->tokens = sizes.vision_tokens;
    vision->width = sizes.vision_width;
    vision->bank_rows = sizes.bank_rows;
    vision->rows = array<std::int32_t>(2, vision->tokens);
    vision->embeddings = array<sp::bf16>(0, vision->tokens * vision->width);
    vision->out = array<sp::bf16>(1, vision->tokens * vision->width);
    for (std::int64_t i = 0; i < vision->tokens; ++i) {
        const bool is_vision = i / sizes.span % 2 == 1 && vision->vision_tokens < vision->bank_rows;
        vision->rows[i] = is_vision ? static_cast<std::int32_t>(vision->vision_tokens++) : -1;
    }
    if (order == Order::shuffled) {
        for (std::int64_t i = vision->tokens - 1; i > 0; --i) {
            const auto other =
                static_cast<std::int64_t>(scramble(static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(i + 1));
            std::swap(vision->rows[i], vision->rows[other]);
        }
    }
    return vision;
}

template <class Bank>
Work forward_work(const std::shared_ptr<Vision>& vision) {
    Bank* const bank = array<Bank>(3, vision->bank_rows * vision->width);
    std::fill_n(bank, vision->bank_rows * vision->width, Bank(1.0f));
    return {[vision, bank] {
                sp::VisionGather{}(thrust::seq, vision->tensor_of(vision->embeddings), vision->row_tensor(),
                                   sp::tensor(bank, vision->bank_rows, vision->width), vision->tensor_of(vision->out));
            },
            [vision] { std::memcpy(vision->out, vision->embeddings, vision->bytes()); }};
}

Work in_place_work(const std::shared_ptr<Vision>& vision) {
    auto* const bank = array<sp::bf16>(3, vision->bank_rows * vision->width);
    return {[vision, bank] {
                sp::VisionGather{}(thrust::seq, vision->tensor_of(vision->out), vision->row_tensor(),
                                   sp::tensor(bank, vision->bank_rows, vision->width), vision->tensor_of(vision->out));
            },
            [vision, bank] { std::memcpy(vision->out, bank, vision->vision_bytes()); }};
}

// What one rank does: its tokens, the row array of the whole sequence read through the layout.
Work sharded_work(const std::shared_ptr<Vision>& vision, int ranks, std::int64_t documents) {
    auto cu_seqlens = std::make_shared<std::vector<std::int64_t>>(
        equal_documents(vision->tokens, documents, 2 * std::int64_t{ranks}));
    auto* const bank = array<sp::bf16>(3, vision->bank_rows * vision->width);
    return {[=] {
                const auto layout = sp::packed(sp::ZigZag{}, *cu_seqlens, vision->tokens, ranks);
                const std::int64_t part = vision->tokens / ranks;
                for (int rank = 0; rank < ranks; ++rank) {
                    const std::int64_t first = rank * part * vision->width;
                    sp::VisionGather{}(thrust::seq, sp::tensor(vision->embeddings + first, part, vision->width),
                                       sp::sharded(vision->row_tensor(), layout, rank, sp::axis<0>),
                                       sp::tensor(bank, vision->bank_rows, vision->width),
                                       sp::tensor(vision->out + first, part, vision->width));
                }
            },
            [vision] { std::memcpy(vision->out, vision->embeddings, vision->bytes()); }};
}

Work backward_work(const std::shared_ptr<Vision>& vision, bool in_place) {
    auto* const d_bank = array<sp::bf16>(3, vision->bank_rows * vision->width);
    auto* const d_embeddings = in_place ? vision->embeddings : vision->out;
    return {[=] {
                sp::VisionGather{}.backward(thrust::seq, vision->tensor_of(vision->embeddings), vision->row_tensor(),
                                            vision->tensor_of(d_embeddings),
                                            sp::tensor(d_bank, vision->bank_rows, vision->width), sp::Store{});
            },
            [vision] { std::memcpy(vision->out, vision->embeddings, vision->bytes()); }};
}

// Rows of another order each, as many as the bank has, each used about twice.
Work summed_work(const std::shared_ptr<Vision>& vision) {
    auto* const d_bank = array<sp::bf16>(3, vision->bank_rows * vision->width);
    for (std::int64_t i = 0; i < vision->tokens; ++i)
        vision->rows[i] /= 2;
    return {[=] {
                sp::VisionGather{}.backward(thrust::seq, vision->tensor_of(vision->embeddings), vision->row_tensor(),
                                            vision->tensor_of(vision->out),
                                            sp::tensor(d_bank, vision->bank_rows, vision->width),
                                            sp::Summed<sp::Store>{});
            },
            [vision] { std::memcpy(vision->out, vision->embeddings, vision->bytes()); }};
}

// Four levels: one pass over h beside the memory that it writes, or beside four passes.
Work levels_work(const std::shared_ptr<Vision>& vision, bool backward, bool beside_passes) {
    const std::int64_t size = vision->bank_rows * vision->width;
    auto* const memory = array<sp::bf16>(3, 4 * size);
    std::fill_n(memory, 4 * size, sp::bf16(0.0f));
    const auto level = [=](int l) { return sp::tensor(memory + l * size, vision->bank_rows, vision->width); };
    const auto run = [=](const auto& list) {
        if (backward) {
            sp::add_rows_backward(thrust::seq, vision->tensor_of(vision->out), vision->row_tensor(), list, sp::Store{});
        } else {
            sp::add_rows(thrust::seq, vision->tensor_of(vision->out), vision->row_tensor(), list);
        }
    };
    const auto passes = [=] {
        for (int l = 0; l < 4; ++l)
            run(level(l));
    };
    const auto copy = [=] { std::memcpy(vision->out, memory, vision->vision_bytes()); };
    return {[=] { run(sp::levels(level(0), level(1), level(2), level(3))); },
            beside_passes ? Call(passes) : Call(copy)};
}

}  // namespace

void add_vision(const Sizes& sizes) {
    const Sizes standard;
    const bool is_default = sizes.vision_tokens == standard.vision_tokens &&
                            sizes.vision_width == standard.vision_width && sizes.bank_rows == standard.bank_rows &&
                            sizes.span == standard.span;
    const std::string text =
        "bf16 " + shape({sizes.vision_tokens, sizes.vision_width}) + ", bank of " + std::to_string(sizes.bank_rows);
    const std::int64_t tokens = sizes.vision_tokens;
    const auto ratio = [=](double value) { return Target{is_default ? value : 0, 0}; };
    const std::string spans = "spans_of_" + std::to_string(sizes.span);
    add({"vision_forward/" + spans, text, "token", tokens, ratio(1.0)},
        [=] { return forward_work<sp::bf16>(make_vision(sizes, Order::spans)); });
    add({"vision_forward/shuffled", text, "token", tokens, ratio(0.85)},
        [=] { return forward_work<sp::bf16>(make_vision(sizes, Order::shuffled)); });
    add({"vision_forward/in_place", text, "token", tokens, ratio(0.95)},
        [=] { return in_place_work(make_vision(sizes, Order::spans)); });
    add({"vision_forward/f32_bank", text + ", f32", "token", tokens, ratio(0.5)},
        [=] { return forward_work<float>(make_vision(sizes, Order::spans)); });
    add({"vision_forward/sharded_rows",
         text + ", " + count(sizes.ranks, "rank") + ", 64 documents",
         "token",
         tokens,
         {}},
        [=] { return sharded_work(make_vision(sizes, Order::spans), sizes.ranks, 64); });
    add({"vision_backward/" + spans, text, "token", tokens, ratio(0.9)},
        [=] { return backward_work(make_vision(sizes, Order::spans), false); });
    add({"vision_backward/shuffled", text, "token", tokens, {}},
        [=] { return backward_work(make_vision(sizes, Order::shuffled), false); });
    add({"vision_backward/in_place", text, "token", tokens, {}},
        [=] { return backward_work(make_vision(sizes, Order::spans), true); });
    add({"vision_backward/summed", text, "token", tokens, {}},
        [=] { return summed_work(make_vision(sizes, Order::spans)); });
    const std::string levels = text + ", four levels";
    add({"levels/one_pass", levels, "token", tokens, {}},
        [=] { return levels_work(make_vision(sizes, Order::spans), false, false); });
    add({"levels/one_pass_beside_four", levels, "token", tokens, ratio(1.0)},
        [=] { return levels_work(make_vision(sizes, Order::spans), false, true); });
    add({"levels/backward_beside_four", levels, "token", tokens, {}},
        [=] { return levels_work(make_vision(sizes, Order::spans), true, true); });
}

}  // namespace bench
