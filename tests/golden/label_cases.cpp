// Golden cases of kind labels: tokens shifted by one before the split, each trainer's way, with what pads get.
#include "trainer_rules.hpp"

using namespace golden;

namespace {

struct Row {
    List real;
    List padded;
};
template <sp::LayoutPolicy P>
auto padded_row(const P& policy, const Row& row, int cp) {
    return sp::padded(policy(row.padded.back(), cp), row.real, row.padded, row.real.back());
}

// --- axolotl: not shifted; the row alone is padded --------------------------------------------------------------------
void kept_slots(const json& kept, const sp::Padded<sp::ContiguousLayout, std::int64_t, std::int64_t>& layout,
                std::int64_t keep) {
    Lists slots(static_cast<std::size_t>(layout.ranks()));
    for (std::int64_t t = layout.source_size() - keep; t < layout.source_size(); ++t) {
        const sp::Place place = layout.place(t);
        slots[static_cast<std::size_t>(place.rank)].push_back(place.slot);
    }
    CHECK(json(slots) == kept);
}
void ring_row(const json& body, bool) {
    const int P = ranks(body);
    Row row{{0, number(body, "real_length")}, {}};
    row.padded = padded_to(row.real, std::min(P, 64));
    CHECK(row.padded.back() == number(body, "length"));
    const auto layout = padded_row(sp::Contiguous{}, row, P);
    const List tokens = numbered(row.real.back());
    CHECK(held(layout, tokens, -1) == lists(body, "ids"));
    CHECK(held(layout, tokens, -100) == lists(body, "labels"));
    CHECK(marks(layout, 1, 0) == lists(body, "mask"));
    const bool documents = has(body, "cu_seqlens");
    const List cu = documents ? list(body, "cu_seqlens") : row.real;
    CHECK(held(layout, document_positions(cu), 0) == lists(body, "position_ids"));
    if (documents) CHECK(sp::offsets_from_positions(document_positions(cu)).back() == number(body, "told_length"));
    List gathered;
    for (const List& shard : lists(body, "ids"))
        gathered = test::joined(gathered, shard);
    CHECK(gathered == list(body, "gathered"));
    if (body.contains("kept")) kept_slots(body["kept"], layout, number(body["params"], "logits_to_keep"));
}
void ring_row_illegal(const json& body, bool) {
    const int P = ranks(body);
    Row row{{0, number(body, "length")}, {}};
    if (has(body, "params")) {  // the last tokens, not the last slots
        row.padded = padded_to(row.real, P);
        kept_slots({json::array(), json::array(), {0, 1, 2, 3}, {0}}, padded_row(sp::Contiguous{}, row, P), 5);
        return;
    }
    row.padded = padded_to(row.real, std::min(P, 64));  // its multiple is no multiple of P
    CHECK(check(sp::Contiguous{}, row.padded.back(), P).kind() == sp::Kind::multiple);
}

// --- DeepSpeed: shifted over the whole row ----------------------------------------------------------------------------
void ulysses_loader(const json& body, bool) {
    const int P = ranks(body);
    const List rows = list(body, "row_lengths");
    for (std::size_t m = 0; m < rows.size(); ++m) {
        const List ids = numbered(rows[m], 1000 * (static_cast<std::int64_t>(m) + 1));
        const List cu = has(body, "documents") ? offsets_of(list(body, "documents")) : List{0, rows[m]};
        const auto layout = sp::Contiguous{}(rows[m], P);
        const Lists shards = held(layout, ids);
        const Lists labels = held(layout, shifted(ids, -100));
        const Lists positions = held(layout, document_positions(cu));
        for (std::size_t r = 0; r < shards.size(); ++r) {
            const json& part = body["micro_batches"][m][r];
            CHECK(json(shards[r]) == part["ids"]);
            CHECK(json(labels[r]) == part["labels"]);
            CHECK(json(positions[r]) == part["position_ids"]);
        }
    }
}
void ulysses_loader_illegal(const json& body, bool) {
    const int P = ranks(body);
    const List rows = list(body, "row_lengths");
    const std::string name = body.at("name");
    if (name.find("mask_of_another_length") != std::string::npos) {
        const List mask(7, 1);
        List out(4);
        CHECK(refusal([&] { sp::shard(thrust::seq, sp::Contiguous{}(8, P), 0, mask, sp::axis<0>, out); }) ==
              sp::Kind::axis_extent);
    } else if (name.find("positions_of_3_axes") != std::string::npos) {  // legal here: the axis is said
        const List positions = test::joined(test::joined(numbered(8), numbered(8, 10)), numbered(8, 20));
        List out(12);
        sp::shard(thrust::seq, sp::Contiguous{}(8, P), 1, sp::tensor(positions.data(), 3, 1, 8), sp::axis<2>,
                  sp::tensor(out.data(), 3, 1, 4));
        CHECK(out == List{4, 5, 6, 7, 14, 15, 16, 17, 24, 25, 26, 27});
    } else {
        bool refused = false;
        for (const std::int64_t length : rows)
            refused = refused || check(sp::Contiguous{}, length, P).kind() == sp::Kind::multiple;
        CHECK(refused);
    }
}

// --- Megatron's RL: over the whole row, its last token repeated --------------------------------------------------------
void rl_scatter(const json& body, bool) {
    const List cu = list(body, "cu_seqlens");
    const auto layout = sp::packed(sp::ZigZag{}, cu, number(body, "length"), ranks(body));
    CHECK(test::shards(layout) == lists(body, "shards"));
    CHECK(held(layout, shifted(numbered(cu.back()), sp::DocumentEnd::repeat)) == lists(body, "labels"));
    List restore(static_cast<std::size_t>(cu.back()));
    sp::restore_index(thrust::seq, layout, restore);
    CHECK(restore == list(body, "restore"));
}

// --- ms-swift: over the padded row, round its end ---------------------------------------------------------------------
void pad_and_split(const json& body, bool) {
    const int R = param(body, "ring", 1);
    const int U = param(body, "ulysses", 1);
    const List real = offsets_of(list(body, "real_lengths"));
    const List padded =
        R > 1 ? padded_to(real, sp::customary_multiple(R, U)) : with_tail(real, U, sp::Tail::last_document);
    const auto row = sp::padded(sp::packed(sp::ZigZag{}, padded, padded.back(), 1), real, padded, real.back());
    const List tokens = numbered(real.back());
    const auto compare = [&](const auto& ring) {
        const auto whole = sp::nested(ring, sp::Contiguous{}, U);
        const auto layout = sp::nested(sp::padded(ring, real, padded, real.back()), sp::Contiguous{}, U);
        CHECK(held(layout, tokens, -1) == lists(body, "ids"));
        CHECK(held(layout, document_positions(real), -1) == lists(body, "position_ids"));
        CHECK(held(whole, shifted(held(row, tokens, -100)[0], sp::DocumentEnd::wrap)) == lists(body, "labels"));
        CHECK(held(whole, shifted(held(row, tokens, -1)[0], sp::DocumentEnd::wrap)) == lists(body, "loss_scale"));
    };
    if (R > 1) {
        compare(sp::packed(sp::ZigZag{}, padded, padded.back(), R));
    } else {
        compare(sp::Contiguous{}(padded.back(), 1));
    }
}

// --- transformers: over the whole row, before the split ---------------------------------------------------------------
void trainer_inputs(const json& body, bool) {
    const std::int64_t length = number(body, "length");
    const List cu = has(body, "cu_seqlens") ? list(body, "cu_seqlens") : List{0, length};
    CHECK(document_positions(cu) == list(body, "position_ids"));
    if (!has(body, "shift_labels")) return;
    // A caller that has shifted them already knows the token after the row.
    const List given =
        param(body, "shifted_by_the_caller", false) ? numbered(length, 1) : shifted(numbered(length), -100);
    CHECK(given == list(body, "shift_labels"));
    // Every buffer along axis 1 of [1, S].
    for (const json& buffer : body.at("buffers"))
        CHECK_FALSE(buffer.get<std::string>().empty());
}

// --- VeOmni: inside documents -----------------------------------------------------------------------------------------
void main_collator(const json& body, bool) {
    const int P = ranks(body);
    const List cu = list(body, "cu_seqlens");
    const Row row{{0, number(body, "real_length")}, {0, number(body, "length")}};
    CHECK(padded_to(row.real, sp::Contiguous{}.multiple(P)) == row.padded);
    const auto layout = padded_row(sp::Contiguous{}, row, P);
    const List tokens = numbered(row.real.back());
    CHECK(held(layout, tokens, -1) == lists(body, "shards"));
    List labels = shifted(tokens, cu, -101);
    if (P == 1) {  // the model shifts: what it drops at a document's end is gone already, nothing else has moved
        List back(labels.size());
        sp::shift_labels(thrust::seq, labels, -1, tokens.at(0), back);
        labels = back;
    }
    CHECK(held(layout, labels, -101) == lists(body, "labels"));
    CHECK(held(layout, document_positions(cu), 0) == lists(body, "position_ids"));
    List after = with_tail(cu, P, sp::Tail::own_document);
    after.erase(std::unique(after.begin(), after.end()), after.end());
    CHECK(after == list(body, "cu_after_padding"));
    CHECK(sp::longest_document(after) == number(body, "max_length"));
    CHECK(List(static_cast<std::size_t>(P), row.padded.back()) == list(body, "attention_mask_lengths"));
}

}  // namespace

TEST_CASE("every golden case of kind labels comes out number by number") {
    run_rules("labels", {
                            {"apply_sequence_parallelism", ring_row, ring_row_illegal},
                            {"UlyssesSPDataLoaderAdapter", ulysses_loader, ulysses_loader_illegal},
                            {"_scatter_for_context_parallel", rl_scatter, nullptr},
                            {"SequenceParallel.pad_and_split_inputs", pad_and_split, nullptr},
                            {"Trainer._prepare_context_parallel_inputs", trainer_inputs, nullptr},
                            {"MainCollator", main_collator, nullptr},
                        });
}
