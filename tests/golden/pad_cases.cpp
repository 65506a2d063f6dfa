// Golden cases of kind pad: how trainers pad documents and sequences, who owns the tail, and where real tokens end up.
// Each rule here is one trainer's, spelled with this library's functions.
#include "trainer_rules.hpp"

using namespace golden;

namespace {

// f(layout) for the padded layout of a case: B inside documents, anything else over the whole row.
template <class F>
void with_layout(const json& body, const List& real, const List& padded, F f) {
    const int P = ranks(body);
    if (body.value("layout", "B") == "B") {
        f(sp::padded(sp::packed(sp::ZigZag{}, padded, padded.back(), P), real, padded, real.back()));
    } else {
        f(sp::padded(sp::Contiguous{}(padded.back(), P), real, padded, real.back()));
    }
}

// Real token numbers of zigzag inside padded documents, in plain loops.
Lists plain_zigzag(const List& real, const List& padded, int P) {
    Lists shards;
    for (int r = 0; r < P; ++r) {
        List& shard = shards.emplace_back();
        for (std::size_t d = 0; d + 1 < padded.size(); ++d) {
            for (const std::int64_t at : test::formula_a(padded[d + 1] - padded[d], P, r)) {
                shard.push_back(at < real[d + 1] - real[d] ? real[d] + at : -1);
            }
        }
    }
    return shards;
}

// --- Automodel --------------------------------------------------------------------------------------------------------
struct Rows {
    List real{0};
    List padded{0};
    std::int64_t total = 0;  // rows times the longest row
};
Rows rows_of(const json& where) {
    List real, padded;
    std::int64_t width = 0;
    const Lists padded_rows = lists(where, "rows_padded");
    for (const List& row : lists(where, "rows_real"))
        real.insert(real.end(), row.begin(), row.end());
    for (const List& row : padded_rows) {
        padded.insert(padded.end(), row.begin(), row.end());
        width = std::max(width, std::accumulate(row.begin(), row.end(), std::int64_t{0}));
    }
    return {offsets_of(real), offsets_of(padded), width * static_cast<std::int64_t>(padded_rows.size())};
}
void te_batch(const json& body, bool) {
    const Rows rows = rows_of(body);
    const auto layout = sp::packed(sp::ZigZag{}, rows.padded, rows.total, ranks(body));
    const auto with_pads = sp::padded(layout, rows.real, rows.padded, rows.real.back());
    CHECK(tokens_of(with_pads) == lists(body, "shards"));
    CHECK(test::shards(layout) == lists(body, "positions"));
    CHECK(held(layout, document_positions(rows.padded)) == lists(body, "position_ids"));
    CHECK(marks(with_pads, 0, 1) == lists(body, "padding_mask"));
    CHECK(rows.padded == list(body, "cu_seqlens"));
    CHECK(sp::longest_document(rows.padded) == number(body, "max_seqlen"));
}
void te_batch_illegal(const json& body, bool) {
    const Rows rows = rows_of(body.at("params"));
    const sp::Status status = check(sp::packed(sp::ZigZag{}, rows.padded, rows.total, ranks(body)));
    CHECK((status.kind() == sp::Kind::document_multiple || status.kind() == sp::Kind::offsets_total));
}

// --- DeepSpeed --------------------------------------------------------------------------------------------------------
std::int64_t placeholder_count(const json& body) {
    return static_cast<std::int64_t>(list(body["params"], "placeholders").size());
}

// The fused row: one placeholder becomes an equal part of the vision rows (Llava), or each gets the next row (InternVL).
List fused(const json& body) {
    const List places = list(body["params"], "placeholders");
    const bool llava = param<std::string>(body, "splice", "") == "LlavaFusionAdapter";
    const std::int64_t share = places.empty() ? 0
                               : llava        ? number(body["params"], "vision") / placeholder_count(body)
                                              : 1;
    List row;
    std::int64_t next = 100000;
    for (std::int64_t t = 0; t < number(body["params"], "text"); ++t) {
        if (std::find(places.begin(), places.end(), t) == places.end()) {
            row.push_back(t);
        } else {
            for (std::int64_t i = 0; i < share; ++i)
                row.push_back(next++);
        }
    }
    return row;
}
void fusion(const json& body, bool) {
    const List row = fused(body);
    const List real{0, static_cast<std::int64_t>(row.size())};
    const List padded = padded_to(real, sp::pad_multiple(sp::Contiguous{}, ranks(body)));
    const auto layout = sp::padded(sp::Contiguous{}(padded.back(), ranks(body)), real, padded, real.back());
    const Lists shards = held(layout, row, -1);
    for (std::size_t r = 0; r < shards.size(); ++r)
        CHECK(json(shards[r]) == body["shards"][r][0]);
}
void fusion_illegal(const json& body, bool) {  // vision rows that the placeholders do not name once each
    List ids(static_cast<std::size_t>(number(body["params"], "text")), 0);
    for (const std::int64_t t : list(body["params"], "placeholders"))
        ids[static_cast<std::size_t>(t)] = -200;
    std::vector<std::int32_t> rows(ids.size());
    List counts(1);
    sp::build_rows(thrust::seq, ids, sp::placeholders({{-200, 0}}), rows, sp::no_array, counts);
    CHECK(counts[0] == placeholder_count(body));
    CHECK(counts[0] != number(body["params"], "vision"));
}

// --- offsets that trainers keep ---------------------------------------------------------------------------------------
void sentinel(const json& body, bool) {
    const List filled = list(body, "cu_filled");
    const auto cu = sp::until_sentinel(filled);
    CHECK(List(cu.data(), cu.data() + cu.count()) == list(body, "cu_seqlens"));
}
void sentinel_illegal(const json& body, bool) {  // no negative entry: all of it
    const List filled = list(body, "cu_filled");
    const auto cu = sp::until_sentinel(filled);
    CHECK(cu.count() == static_cast<std::int64_t>(filled.size()));
    CHECK(check(cu, filled.back()).ok());
}

void merged(const json& body, bool broken) {
    const Lists rows = lists(body, "rows");
    const std::int64_t length = number(body, "length");
    List flat;
    for (const List& row : rows)
        flat.insert(flat.end(), row.begin(), row.end());
    const auto array =
        sp::tensor(flat.data(), static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size()));
    List out(rows.size() * (rows[0].size() - 1) + 1);
    if (broken) {
        CHECK(sp::status_of([&] { sp::merged_offsets(sp::check_only, array, length, out); }).kind() ==
              sp::Kind::offsets_total);
        return;
    }
    sp::merged_offsets(thrust::seq, array, length, out);
    out.erase(std::unique(out.begin(), out.end()), out.end());  // the trainer drops empty documents
    CHECK(out == list(body, "merged"));
    CHECK(List{1, out.back()} == list(body, "shape"));
}

// --- Megatron-Bridge and verl: documents padded to 2 cp tp -------------------------------------------------------------
List packed_padding(const json& body, const List& cu) {
    const int P = ranks(body);
    const int T = param(body, "tp", 1);
    const std::int64_t multiple = sp::customary_multiple(P, T);
    if (!param(body, "fp8", false)) return padded_to(cu, multiple);
    return with_tail(padded_to(cu, sp::common_multiple(16, multiple)), 128 * multiple, sp::Tail::last_document);
}
void packed_seqs(const json& body, bool) {
    const List real = offsets_of(list(body, "real_lengths"));
    const List padded = packed_padding(body, real);
    CHECK(padded == list(body, "cu_seqlens_padded"));
    if (body.contains("max_seqlen")) CHECK(sp::longest_document(padded) == number(body, "max_seqlen"));
    with_layout(body, real, padded, [&](const auto& layout) { CHECK(tokens_of(layout) == lists(body, "shards")); });
}
void packed_seqs_illegal(const json& body, bool) {  // short and empty documents: legal here
    const List real = offsets_of(list(body, "real_lengths"));
    const List padded = packed_padding(body, real);
    const auto layout = sp::packed(sp::ZigZag{}, padded, padded.back(), ranks(body));
    CHECK(tokens_of(sp::padded(layout, real, padded, real.back())) == plain_zigzag(real, padded, ranks(body)));
}

// --- Megatron dev -----------------------------------------------------------------------------------------------------
// The tokens of one rank after it is padded.
std::int64_t rank_target(const json& body, std::int64_t of_rank) {
    if (has(body["params"], "target")) return number(body["params"], "target");
    return sp::round_up(of_rank, number(body["params"], "alignment"));
}
void extended(const json& body, bool) {
    const List cu = list(body, "cu_seqlens");
    const int P = ranks(body);
    const std::int64_t total = has(body["params"], "target")
                                   ? P * number(body["params"], "target")
                                   : sp::round_up(cu.back(), P * number(body["params"], "alignment"));
    const List padded = with_tail(cu, total, sp::Tail::last_document);
    CHECK(padded == list(body, "cu_seqlens_padded"));
    CHECK(padded.back() == number(body, "length"));
    CHECK(sp::longest_document(padded) == number(body, "max_seqlen"));
    with_layout(body, cu, padded, [&](const auto& layout) { CHECK(check(layout).ok()); });
}
void extended_illegal(const json& body, bool) {
    const List cu = list(body, "cu_seqlens");
    const int P = ranks(body);
    if (has(body["params"], "target")) {
        CHECK(check(sp::packed(sp::ZigZag{}, cu, P * number(body["params"], "target"), P)).kind() ==
              sp::Kind::offsets_total);
    } else {
        const List padded = with_tail(cu, P * number(body["params"], "alignment"), sp::Tail::last_document);
        CHECK(check(sp::packed(sp::ZigZag{}, padded, padded.back(), P)).kind() == sp::Kind::document_multiple);
    }
}

void padded_total(const json& body, bool) {
    const List cu = list(body, "cu_seqlens");
    const std::int64_t length = number(body, "length");
    CHECK(with_tail(cu, length, sp::Tail::nobody) == list(body, "cu_seqlens_after"));
    const List real{0, number(body, "real_length")};
    const List padded{0, length};
    const auto layout = sp::padded(sp::Contiguous{}(length, ranks(body)), real, padded, real.back());
    CHECK(tokens_of(layout) == lists(body, "shards"));
    CHECK(marks(layout, 0, 1) == lists(body, "mask"));
}

List without_empty_tail(List cu) {
    if (cu[cu.size() - 1] == cu[cu.size() - 2]) cu.pop_back();
    return cu;
}
List fixed(const List& cu, std::int64_t documents) {
    List out(static_cast<std::size_t>(documents) + 1);
    sp::fixed_offsets(thrust::seq, cu, out);
    return out;
}
// Every rank pads its own shard: one more document of pads, which any rule deals out in equal parts.
void padded_after_split(const json& body, bool) {
    const int P = ranks(body);
    List real = offsets_of(list(body, "real_lengths"));
    const List base = offsets_of(list(body, "padded_lengths"));
    const std::int64_t tail = P * rank_target(body, base.back() / P) - base.back();
    const std::int64_t total = base.back() + tail;
    const bool own = param<std::string>(body, "tail", "") == "append_dummy_seq";
    List padded = with_tail(base, total, own ? sp::Tail::own_document : sp::Tail::last_document);
    if (own) {
        padded = without_empty_tail(padded);
        if (tail > 0) real.push_back(real.back() + tail);  // the trainer's real offsets count its pads as a document
    }
    std::int64_t longest = sp::longest_document(padded);
    if (!own) longest = std::max(sp::longest_document(base), std::int64_t{0});
    if (const std::int64_t documents = param<std::int64_t>(body, "max_documents", 0); documents > 0) {
        real = fixed(real, documents);
        padded = fixed(padded, documents);
        longest = total;
    }
    CHECK(real == list(body, "cu_seqlens"));
    CHECK(padded == list(body, "cu_seqlens_padded"));
    CHECK(longest == number(body, "max_seqlen"));
    // Which slots are pads of this step: the tail alone.
    const List before{0, base.back()};
    const List parts{0, base.back(), total};
    const List before_and_tail{0, base.back(), base.back()};
    const bool zigzag = param<std::string>(body, "mode", "") == "zigzag";
    const auto compare = [&](const auto& layout) {
        CHECK(tokens_of(layout) == lists(body, "shards"));
        CHECK(marks(layout, 0, 1) == lists(body, "mask"));
    };
    if (zigzag && P > 1) {
        List real_parts = base;
        real_parts.push_back(base.back());
        const List padded_parts = with_tail(base, total, sp::Tail::own_document);
        compare(sp::padded(sp::packed(sp::ZigZag{}, padded_parts, total, P), real_parts, padded_parts, base.back()));
    } else {
        compare(sp::padded(sp::packed(sp::Contiguous{}, parts, total, P), before_and_tail, parts, base.back()));
    }
}
void padded_after_split_illegal(const json& body, bool) {
    const List cu = offsets_of(list(body, "real_lengths"));
    const int P = ranks(body);
    if (param<std::int64_t>(body, "max_documents", 0) > 0) {
        const List padded = with_tail(cu, P * rank_target(body, cu.back() / P), sp::Tail::own_document);
        CHECK(refusal([&] { fixed(padded, number(body["params"], "max_documents")); }) == sp::Kind::offsets_count);
    } else if (!has(body["params"], "target")) {  // a tail of an odd number of slots a rank
        const List padded = with_tail(cu, P * rank_target(body, cu.back() / P), sp::Tail::own_document);
        CHECK(check(sp::packed(sp::ZigZag{}, padded, padded.back(), P)).kind() == sp::Kind::document_multiple);
    } else if (!has(body["params"], "alignment")) {  // shorter than what is there
        CHECK(check(sp::packed(sp::ZigZag{}, cu, P * number(body["params"], "target"), P)).kind() ==
              sp::Kind::offsets_total);
    } else {  // both given: one argument here, so this cannot be said; either alone is legal
        CHECK(refusal([&] { with_tail(cu, P * number(body["params"], "target"), sp::Tail::own_document); }) ==
              sp::Kind::ok);
    }
}

void thd_mask(const json& body, bool) {
    const List real = list(body, "cu_seqlens");
    const List padded = list(body, "cu_seqlens_padded");
    const auto whole =
        sp::padded(sp::packed(sp::ZigZag{}, padded, number(body, "length"), 1), real, padded, real.back());
    CHECK(marks(whole, 0, 1)[0] == list(body, "mask"));
    with_layout(body, real, padded, [&](const auto& layout) { CHECK(marks(layout, 0, 1) == lists(body, "shards")); });
}

// --- slime ------------------------------------------------------------------------------------------------------------
// Expert ids of all tokens but a document's last; whatever is missing gets its number in the gap as a fill.
void routed_experts(const json& body, bool) {
    const int P = ranks(body);
    const int T = param(body, "tp", 1);
    const std::int64_t multiple = number(body["params"], "pad_multiple") * T;  // of the tokens of one rank
    const List real = offsets_of(list(body, "real_lengths"));
    const bool whole_row = param(body, "allgather_cp", false);
    const List padded = whole_row ? real : padded_to(real, sp::ZigZag{}.multiple(P));
    List values;
    for (std::size_t d = 0; d + 1 < real.size(); ++d) {
        const List kept = numbered(real[d + 1] - real[d] - 1, real[d]);
        values.insert(values.end(), kept.begin(), kept.end());
        values.push_back(0);
        const List pads = numbered(padded[d + 1] - padded[d] - (real[d + 1] - real[d]));
        values.insert(values.end(), pads.begin(), pads.end());
    }
    const std::int64_t end = padded.back();
    Lists shards;
    if (whole_row) {  // the row grows before the split
        const List pads = numbered(sp::round_up(end, multiple * P) - end);
        values.insert(values.end(), pads.begin(), pads.end());
        shards = held(sp::nested(sp::Contiguous{}(static_cast<std::int64_t>(values.size()), P), sp::Contiguous{}, T),
                      values);
    } else {  // every rank's shard grows: runs of its own behind those of the documents
        const std::int64_t tail = sp::round_up(end / P, multiple) - end / P;
        Lists positions = test::shards(sp::packed(sp::ZigZag{}, padded, end, P));
        for (int r = 0; r < P; ++r) {
            const List own = numbered(tail, end + r * tail);
            List& rank_positions = positions[static_cast<std::size_t>(r)];
            rank_positions.insert(rank_positions.end(), own.begin(), own.end());
            const List pads = numbered(tail);
            values.insert(values.end(), pads.begin(), pads.end());
        }
        const sp::RunTable table(positions, end + tail * P);
        shards = held(sp::nested(table.layout(), sp::Contiguous{}, T), values);
    }
    for (int r = 0; r < P; ++r) {
        for (int t = 0; t < T; ++t) {
            CHECK(json(shards[static_cast<std::size_t>(r * T + t)]) ==
                  body["shards"][static_cast<std::size_t>(r)][static_cast<std::size_t>(t)]);
        }
    }
}

// --- TransformerEngine ------------------------------------------------------------------------------------------------
void te_pad(const json& body, bool) {
    const List real = list(body, "cu_seqlens");
    const List padded = padded_to(real, number(body, "multiple"));
    CHECK(padded == list(body, "cu_seqlens_padded"));
    const auto layout = sp::padded(sp::Contiguous{}(padded.back(), 1), real, padded, real.back());
    CHECK(held(layout, numbered(real.back()), -1)[0] == list(body, "ids"));
    CHECK(held(layout, numbered(real.back()), -2)[0] == list(body, "labels"));
    CHECK(document_positions(padded) == list(body, "position_ids"));  // they run on through the pads
}

// --- verl -------------------------------------------------------------------------------------------------------------
void bshd_engine(const json& body, bool) {
    const int P = ranks(body);
    const List lengths = list(body, "real_lengths");
    const std::int64_t length = sp::round_up(*std::max_element(lengths.begin(), lengths.end()),
                                             sp::customary_multiple(P, param(body, "tp", 1)));
    CHECK(length == number(body, "length"));
    const auto layout = sp::ZigZag{}(length, P);
    const List padded{0, length};
    for (std::size_t b = 0; b < lengths.size(); ++b) {
        const List real{0, lengths[b]};
        const auto row = sp::padded(layout, real, padded, real.back());
        Lists ids = tokens_of(row);
        if (param(body, "roll", false)) {  // over the padded row, round its end
            List values = numbered(lengths[b]);
            values.resize(static_cast<std::size_t>(length), -1);
            ids = held(layout, shifted(values, sp::DocumentEnd::wrap));
        }
        const Lists mask = marks(row, 1, 0);
        const Lists positions = held(layout, numbered(length));
        for (std::size_t r = 0; r < ids.size(); ++r) {
            CHECK(json(ids[r]) == body["ids"][r][b]);
            CHECK(json(mask[r]) == body["mask"][r][b]);
            CHECK(json(positions[r]) == body["position_ids"][r][b]);
        }
    }
}

void thd_engine(const json& body, bool broken) {
    const int P = ranks(body);
    const int T = param(body, "tp", 1);
    const List real = offsets_of(list(body, "real_lengths"));
    const bool contiguous = param<std::string>(body, "cp_layout", "") == "contiguous";
    List padded = padded_to(real, contiguous ? sp::pad_multiple(sp::Contiguous{}, P, T) : sp::customary_multiple(P, T));
    if (const auto bucket = param<std::int64_t>(body, "pad_to_length_bucket", 0); bucket > 0)
        padded = with_tail(padded, bucket, sp::Tail::last_document);
    if (const auto rows = param<std::int64_t>(body, "min_local_rows", 0); rows * P > padded.back())
        padded = with_tail(padded, rows * P, sp::Tail::last_document);
    CHECK(padded == list(body, "cu_seqlens_padded"));

    // Positions of the pads are 0, but for those in the first half of a document that zigzag deals out.
    List numbered_lengths;
    for (std::size_t d = 0; d + 1 < real.size(); ++d) {
        const std::int64_t half = P > 1 && !contiguous ? (padded[d + 1] - padded[d]) / 2 : 0;
        numbered_lengths.push_back(std::max(real[d + 1] - real[d], half));
    }
    const List cu_numbered = offsets_of(numbered_lengths);
    List tokens;  // the padded row
    with_layout({{"ranks", 1}}, real, padded, [&](const auto& row) { tokens = tokens_of(row)[0]; });

    with_layout(body, real, padded, [&](const auto& layout) {
        const Lists shards = tokens_of(layout);
        if (param(body, "roll", false)) {
            List positions = document_positions(real);
            if (P == 1) {  // over the whole row, round its end
                CHECK(held(layout.base(), shifted(tokens, sp::DocumentEnd::wrap)) == lists(body, "shards"));
                CHECK(held(layout, shifted(positions, sp::DocumentEnd::wrap), 0) == lists(body, "position_ids"));
            } else if (contiguous) {  // inside real documents, round their ends
                CHECK(held(layout, shifted(numbered(real.back()), real, sp::DocumentEnd::wrap), -1) ==
                      lists(body, "shards"));
                CHECK(held(layout, shifted(positions, real, sp::DocumentEnd::wrap), 0) == lists(body, "position_ids"));
            } else {  // inside padded documents, round their ends
                CHECK(held(layout.base(), shifted(tokens, padded, sp::DocumentEnd::wrap)) == lists(body, "shards"));
                CHECK(broken);
                CHECK(held(layout, shifted(positions, real, sp::DocumentEnd::wrap), 0) != lists(body, "position_ids"));
                CHECK(held(layout, positions, 0) != lists(body, "position_ids"));
            }
            return;
        }
        CHECK(shards == lists(body, "shards"));
        List whole(static_cast<std::size_t>(real.back()));
        List flat;
        for (const List& shard : shards)
            flat.insert(flat.end(), shard.begin(), shard.end());
        sp::unshard(thrust::seq, layout, sp::joined(flat), sp::axis<0>, whole);
        List all;
        for (const List& document : lists(body, "gathered"))
            all.insert(all.end(), document.begin(), document.end());
        CHECK(whole == all);
    });
    if (param(body, "roll", false)) return;
    with_layout(body, cu_numbered, padded, [&](const auto& layout) {
        CHECK(held(layout, document_positions(cu_numbered), 0) == lists(body, "position_ids"));
    });
}
void thd_engine_illegal(const json& body, bool broken) {
    if (!param(body, "roll", false)) return packed_seqs_illegal(body, broken);
    // Rolled over the padded row: document 0's last label is a pad, and the row's is document 0's first token. Inside documents:
    const List real = offsets_of(list(body, "real_lengths"));
    CHECK(shifted(numbered(8), real, -100) == List{1, 2, 3, 4, -100, 6, 7, -100});
}

}  // namespace

TEST_CASE("every golden case of kind pad comes out number by number") {
    run_rules("pad", {
                         {"make_cp_batch_for_te", te_batch, te_batch_illegal},
                         {"LlavaFusionAdapter", fusion, fusion_illegal},
                         {"get_packed_seq_params", sentinel, sentinel_illegal},
                         {"flatten_batch_for_packed_sequences", merged, nullptr},
                         {"preprocess_packed_seqs", packed_seqs, packed_seqs_illegal},
                         {"extend_thd_padding_before_cp_slice", extended, extended_illegal},
                         {"get_cp_slice_for_thd", padded_total, nullptr},
                         {"pad_sequence_for_thd", padded_after_split, padded_after_split_illegal},
                         {"_build_thd_padding_mask", thd_mask, nullptr},
                         {"prepare_routed_experts_for_routing_replay", routed_experts, nullptr},
                         {"pad_thd_sequences_for_cp", te_pad, nullptr},
                         {"preprocess_bshd_engine", bshd_engine, nullptr},
                         {"preprocess_thd_engine", thd_engine, thd_engine_illegal},
                     });
}
