// Golden cases of kind positions: position ids and masks made on the whole sequence and split with it, and the places of a
// response's values. Each rule here is one trainer's, spelled with this library's functions.
#include "trainer_rules.hpp"

using namespace golden;

namespace {

// The row of `real_length` tokens, padded to `length`.
struct Row {
    List real;
    List padded;
};
Row row_of(const json& body) { return {{0, number(body, "real_length")}, {0, number(body, "length")}}; }
template <sp::LayoutPolicy P>
auto padded_row(const P& policy, const Row& row, int cp) {
    return sp::padded(policy(row.padded.back(), cp), row.real, row.padded, row.real.back());
}

// --- Automodel --------------------------------------------------------------------------------------------------------
void contiguous_batch(const json& body, bool) {
    const Row row = row_of(body);
    const int P = ranks(body);
    // Padded as if it were zigzag, on one rank as well.
    const std::int64_t multiple =
        sp::common_multiple(2 * std::int64_t{P}, param<std::int64_t>(body, "pad_multiple", 1));
    CHECK(padded_to(row.real, multiple) == row.padded);
    const auto layout = padded_row(sp::Contiguous{}, row, P);
    CHECK(tokens_of(layout) == lists(body, "shards"));
    CHECK(held(layout, numbered(row.real.back()), -100) == lists(body, "labels"));
    CHECK(held(layout.base(), numbered(row.padded.back())) ==
          lists(body, "position_ids"));  // they run on through the pads
    CHECK(marks(layout, 0, 1) == lists(body, "padding_mask"));
}
void balanced_batch(const json& body, bool) {
    const Row row = row_of(body);
    const auto layout = padded_row(sp::ZigZag{}, row, ranks(body));
    const List tokens = numbered(row.real.back());
    CHECK(held(layout, tokens, 0) == lists(body, "shards"));
    CHECK(held(layout, tokens, -100) == lists(body, "labels"));
    CHECK(held(layout, tokens, 0) == lists(body, "position_ids"));
}

// --- Megatron ---------------------------------------------------------------------------------------------------------
void left_to_right(const json& body, bool) {
    const List cu = list(body, "cu_seqlens");
    const auto layout = sp::ZigZag{}(number(body, "length"), ranks(body));
    const bool reset = param(body, "reset_position_ids", true);
    CHECK(held(layout, reset ? document_positions(cu) : numbered(cu.back())) == lists(body, "position_ids"));
    // 0 where a document ends, since there is no label: ones, shifted inside documents.
    const List ones(static_cast<std::size_t>(cu.back()), 1);
    CHECK(held(layout, shifted(ones, cu, 0)) == lists(body, "loss_mask"));
}
void contiguous_positions(const json& body, bool) {
    const List cu = list(body, "cu_seqlens");
    const std::int64_t length = number(body, "length");
    CHECK(held(sp::Contiguous{}(length, ranks(body)), document_positions(cu, length, sp::Tail::nobody)) ==
          lists(body, "position_ids"));
}

// --- slime and miles --------------------------------------------------------------------------------------------------
// A sample's response ends it; value i of it is computed where the token before it lies.
template <sp::Layout L>
Lists response_values(const L& layout, std::int64_t begin, std::int64_t total, std::int64_t response) {
    const std::int64_t first = begin + total - response - 1;
    Lists values;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        List sources(static_cast<std::size_t>(layout.slots(rank)));
        sp::sources(thrust::seq, layout, rank, sources);
        List& mine = values.emplace_back();
        for (const std::int64_t source : sources) {
            if (source >= first && source < first + response) mine.push_back(source - first);
        }
    }
    return values;
}
Lists zigzag_response(std::int64_t total, std::int64_t response, int P) {
    const List real{0, total};
    const List padded = padded_to(real, sp::pad_multiple(sp::ZigZag{}, P));
    return response_values(sp::padded(sp::ZigZag{}(padded.back(), P), real, padded, total), 0, total, response);
}
void log_probs(const json& body, bool) {
    const std::int64_t response = number(body["params"], "response");
    const Lists values = zigzag_response(number(body, "real_length"), response, ranks(body));
    CHECK(values == lists(body, "shards"));
    List all;
    for (const List& rank : values)
        all.insert(all.end(), rank.begin(), rank.end());
    std::sort(all.begin(), all.end());
    CHECK(all == list(body, "gathered"));
}
void redistributed(const json& body, bool) {
    const List lengths = list(body, "real_lengths");
    const List responses = list(body["params"], "responses");
    const List begin = offsets_of(lengths);
    const List padded{0, number(body, "length")};
    const List real{0, begin.back()};
    const int P = ranks(body);
    const auto row = sp::padded(sp::Contiguous{}(padded.back(), P), real, padded, real.back());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        const Lists before = response_values(row, begin[i], lengths[i], responses[i]);
        const Lists after = zigzag_response(lengths[i], responses[i], P);
        for (std::size_t r = 0; r < before.size(); ++r) {
            CHECK(json(before[r]) == body["before"][r][i]);
            CHECK(json(after[r]) == body["after"][r][i]);
        }
    }
}

// --- verl -------------------------------------------------------------------------------------------------------------
void ulysses_slice(const json& body, bool) {
    const Row row = row_of(body);
    const int P = ranks(body);
    CHECK(padded_to(row.real, sp::Contiguous{}.multiple(P)) == row.padded);
    const auto layout = padded_row(sp::Contiguous{}, row, P);
    CHECK(tokens_of(layout) == lists(body, "shards"));
    const List positions = document_positions(list(body, "cu_seqlens"), row.padded.back(), sp::Tail::own_document);
    CHECK(held(layout.base(), positions) == lists(body, "position_ids"));  // the tail counts from 0
}
void ulysses_slice_illegal(const json& body, bool) {
    const std::int64_t length = number(body, "length");
    const int P = ranks(body);
    if (!has(body, "params")) {  // not padded
        CHECK(check(sp::Contiguous{}, length, P).kind() == sp::Kind::multiple);
        return;
    }
    // Positions of [3, 1, S]: the sequence is the last axis.
    const List shape = list(body["params"], "shape");
    const List real{0, shape[2]};
    const List padded{0, length};
    const auto layout = sp::padded(sp::Contiguous{}(length, P), real, padded, real.back());
    List whole;
    for (int axis = 0; axis < 3; ++axis)
        whole = test::joined(whole, numbered(shape[2], 100 * axis));
    for (int rank = 0; rank < P; ++rank) {
        List out(static_cast<std::size_t>(3 * layout.slots(rank)));
        sp::shard(thrust::seq, layout, rank, sp::tensor(whole.data(), 3, 1, shape[2]), sp::axis<2>,
                  sp::tensor(out.data(), 3, 1, layout.slots(rank)), 0);
        const Lists one = held(layout, numbered(shape[2], 200), 0);
        CHECK(List(out.end() - layout.slots(rank), out.end()) == one[static_cast<std::size_t>(rank)]);
    }
}

}  // namespace

TEST_CASE("every golden case of kind positions comes out number by number") {
    run_rules("positions", {
                               {"shard_batch_contiguous", contiguous_batch, nullptr},
                               {"shard_batch_load_balanced", balanced_batch, nullptr},
                               {"_get_ltor_masks_and_position_ids", left_to_right, nullptr},
                               {"_thd_cp_position_ids", contiguous_positions, nullptr},
                               {"slice_log_prob_with_cp", log_probs, nullptr},
                               {"allgather_cp_redistribute", redistributed, nullptr},
                               {"ulysses_pad_and_slice_inputs", ulysses_slice, ulysses_slice_illegal},
                           });
}
