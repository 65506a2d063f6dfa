// Golden cases of vision/ that are lists: rows and what follows them through a split, expanded streams, positions, labels, cuts of
// items, and input that is wrong; of whole models only those. Not here: the values of vectors (vision_values.cpp).
#include "trainer_rules.hpp"

#include "inspect/answer.hpp"
#include "support/safetensors.hpp"

#include <cstring>

using namespace golden;

namespace {

constexpr std::int64_t no_token = INT64_MIN;

List flat(const json& lists) {
    if (lists.empty() || !lists[0].is_array()) return lists.get<List>();
    List all;
    for (const json& row : lists)
        all = test::joined(all, row.get<List>());
    return all;
}
json with_null(const List& list) {
    json out = json::array();
    for (const std::int64_t value : list)
        out.push_back(value == no_token ? json() : json(value));
    return out;
}

// --- rows of a whole stream -------------------------------------------------------------------------------------------
struct Rows {
    sp::PlaceholderRules rules;
    std::vector<std::int32_t> rows, banks;
    List counts;

    // As files show a row: with several banks that each count from 0, the bank in millions.
    std::int64_t shown(std::size_t i) const { return rows[i] + 1000000 * std::int64_t{std::max(banks[i], 0)}; }
};

// bank_order: own, concat (the second bank begins where the first ends), or shared by all.
Rows rows_of(const json& body, const List& ids, std::int64_t samples) {
    const List placeholders = list(body, "placeholders");
    const std::string order = body.value("bank_order", "shared");
    Rows r;
    for (std::size_t k = 0; k < placeholders.size(); ++k)
        r.rules = r.rules.with(placeholders[k], order == "own" ? static_cast<int>(k) : 0);
    if (order == "concat") {  // two runs of one counter, so each needs its own and a base
        const List begins = offsets_of(body.value("V", List(2, 0)));
        r.rules = sp::placeholders({{placeholders[0], 0}, {placeholders[1], 1}}).base({begins[0], begins[1]});
    }
    r.rows.resize(ids.size());
    r.banks.resize(ids.size());
    r.counts.resize(static_cast<std::size_t>(r.rules.banks()));
    const auto length = static_cast<std::int64_t>(ids.size()) / samples;
    sp::build_rows(thrust::seq, sp::tensor(ids.data(), samples, length), r.rules,
                   sp::tensor(r.rows.data(), samples, length), sp::tensor(r.banks.data(), samples, length), r.counts);
    if (order == "concat") {
        for (std::int32_t& bank : r.banks)
            bank = std::min(bank, 0);
    }
    return r;
}

// --- a split ----------------------------------------------------------------------------------------------------------
// What each rank holds of values [samples, S].
template <sp::Layout L>
Lists held_of(const L& layout, const List& values, std::int64_t samples, std::int64_t fill) {
    Lists all(static_cast<std::size_t>(layout.ranks()));
    const auto length = static_cast<std::ptrdiff_t>(layout.source_size());
    for (std::int64_t b = 0; b < samples; ++b) {
        const auto begin = values.begin() + b * length;
        const Lists shards = held(layout, List(begin, begin + length), fill);
        for (std::size_t r = 0; r < shards.size(); ++r)
            all[r] = test::joined(all[r], shards[r]);
    }
    return all;
}

// Back from what the ranks hold, one sample.
template <sp::Layout L>
List put_back(const L& layout, const Lists& shards) {
    List whole(static_cast<std::size_t>(layout.source_size()), no_token);
    List gathered;
    for (const List& shard : shards)
        gathered = test::joined(gathered, shard);
    sp::unshard(thrust::seq, layout, sp::joined(gathered), sp::axis<0>, whole);
    return whole;
}

// visit(CP layout, TP layout): documents `real`, each padded to what its policy needs (A and F: the whole row).
template <class Visit>
void with_split(const std::string& letter, const List& real, int cp, int tp, std::int64_t multiple,
                const Visit& visit) {
    const List row{0, real.back()};
    const List& from = letter == "B" ? real : row;
    const List padded = padded_to(from, multiple);
    const auto both = [&](const auto& base) {
        const auto layout = sp::padded(base, from, padded, from.back());
        visit(layout, sp::nested(layout, sp::Contiguous{}, tp));
    };
    if (letter == "A") return both(sp::ZigZag{}(padded.back(), cp));
    if (letter == "F") return both(sp::Contiguous{}(padded.back(), cp));
    REQUIRE(letter == "B");
    both(sp::packed(sp::ZigZag{}, padded, padded.back(), cp));
}

// The local form gives the same rows from what the ranks hold alone.
template <sp::Layout L>
void check_local_rows(const L& layout, const List& ids, const Rows& rows, std::int64_t samples) {
    const Lists local = held_of(layout, ids, samples, 0);
    const auto matrix = [&](auto& memory) {
        return sp::tensor(memory.data(), samples, static_cast<std::int64_t>(memory.size()) / samples);
    };
    List counts;
    for (int r = 0; r < layout.ranks(); ++r) {
        List own(static_cast<std::size_t>(samples * sp::count_chunks(layout, r) * rows.rules.banks()));
        sp::chunk_counts(thrust::seq, layout, r, matrix(local[static_cast<std::size_t>(r)]), rows.rules, own);
        counts = test::joined(counts, own);
    }
    const Lists expected = held_of(layout, List(rows.rows.begin(), rows.rows.end()), samples, -1);
    for (std::size_t r = 0; r < local.size(); ++r) {
        std::vector<std::int32_t> out(local[r].size()), banks(out);
        sp::rows_from_counts(thrust::seq, layout, static_cast<int>(r), matrix(local[r]), rows.rules, counts,
                             matrix(out), matrix(banks));
        CHECK(List(out.begin(), out.end()) == expected[r]);
    }
}

// Positions of one stream are the same whatever the ranks: what they were put back to, by file and tokens.
using Positions = std::map<std::string, json>;

struct Split {
    List ids;  // [samples, S], without what a ragged sample lacks
    List real;
    std::int64_t samples = 1;
};
Split split_of(const json& body) {
    Split s{flat(body["ids"]), {}, body.value("B", std::int64_t{1})};
    const auto length = static_cast<std::int64_t>(s.ids.size()) / s.samples;
    s.real = has(body, "cu") ? list(body, "cu") : List{0, length};
    if (!body.contains("valid")) return s;
    const List padded = s.ids;  // one document a sample
    s.real = offsets_of(list(body, "valid"));
    s.ids.clear();
    for (std::int64_t b = 0; b < s.samples; ++b) {
        const auto begin = padded.begin() + b * length;
        s.ids.insert(s.ids.end(), begin, begin + list(body, "valid")[static_cast<std::size_t>(b)]);
    }
    s.samples = 1;
    return s;
}

struct Found {
    int equal = 0;
    int different = 0;
    void note(const json& recorded, const json& mine, bool fault) {
        if (recorded.is_null()) return;
        if (!fault) CHECK(recorded == mine);
        ++(recorded == mine ? equal : different);
    }
};

void check_rank(const json& recorded, bool tensor_parallel, const List& cp_merged, const List& merged,
                const List& cp_ids, const List& levels, bool fault, Found& found) {
    // Some show the merged tokens of the CP shard, before TP-SP cuts it.
    const bool whole = tensor_parallel && recorded.contains("merged") && recorded["merged"].size() == cp_merged.size();
    if (recorded.contains("merged")) found.note(recorded["merged"], with_null(whole ? cp_merged : merged), fault);
    if (has(recorded, "ids")) found.note(recorded["ids"], cp_ids, fault);
    List mask, rows;
    for (std::size_t i = 0; i < merged.size(); ++i) {
        const bool level = merged[i] >= 0 && std::count(levels.begin(), levels.end(), merged[i] / 1000000) > 0;
        mask.push_back(level ? 1 : 0);
        if (level) rows.push_back(merged[i]);
    }
    if (has(recorded, "mask")) found.note(recorded["mask"], mask, fault);
    if (has(recorded, "rows") &&
        !(has(recorded, "rows") && !recorded["rows"].empty() && recorded["rows"][0].is_array()))
        found.note(recorded["rows"], rows, fault);
}

void split(const Case& c) {
    const json& body = c.body;
    const bool fault = body.contains("fault");
    const Split s = split_of(body);
    const int cp = body.at("P").get<int>();
    const int tp = body.value("tp", 1);
    const Rows rows = rows_of(body, s.ids, s.samples);
    const List levels = body.value("level_banks", test::range(0, 8));
    List merged;
    for (std::size_t i = 0; i < s.ids.size(); ++i)
        merged.push_back(rows.rows[i] < 0 ? -s.ids[i] : rows.shown(i));
    if (body.contains("V") && !fault) {
        const List V = list(body, "V");
        std::vector<sp::BankInfo> info;
        for (const std::int64_t count : body["bank_order"] == "concat" ? List{offsets_of(V).back()} : V)
            info.push_back({count, {}, body.value("surplus", 0) > 0});
        CHECK(describe(sp::check_rows(rows.rows, rows.banks, info)) == "nothing is wrong");
    }
    const std::string letter = body.at("layout");
    const std::int64_t part = letter == "F" ? cp : cp == 1 ? 1 : 2 * cp;
    Found found;
    static Positions positions;
    with_split(letter, s.real, cp, tp, sp::common_multiple(part, std::int64_t{cp} * tp),
               [&](const auto& layout, const auto& nested) {
                   check_local_rows(layout, s.ids, rows, s.samples);
                   check_local_rows(nested, s.ids, rows, s.samples);
                   if (!body.contains("ranks")) return;  // raised
                   const Lists on_cp = held_of(layout, merged, s.samples, no_token);
                   const Lists on_tp = held_of(nested, merged, s.samples, no_token);
                   const Lists ids = held_of(layout, s.ids, s.samples, 0);
                   Lists pos[3];
                   for (std::size_t r = 0; r < on_cp.size(); ++r) {
                       for (std::size_t t = 0; t < static_cast<std::size_t>(tp); ++t) {
                           const json& recorded = tp > 1 ? body["ranks"][r][t] : body["ranks"][r];
                           check_rank(recorded, tp > 1, on_cp[r], on_tp[r * static_cast<std::size_t>(tp) + t], ids[r],
                                      levels, fault, found);
                           // One row array for each placeholder, as torchtitan has them.
                           for (std::size_t k = 0; has(recorded, "rows") && body["bank_order"] == "own" &&
                                                   k < recorded["rows"].size() && recorded["rows"][k].is_array();
                                ++k) {
                               List of_bank;
                               for (std::size_t i = 0; i < s.ids.size(); ++i)
                                   of_bank.push_back(rows.banks[i] == static_cast<int>(k) ? rows.rows[i] : -1);
                               found.note(recorded["rows"][k], held_of(layout, of_bank, s.samples, -1)[r], fault);
                           }
                           if (t > 0 || !has(recorded, "pos") || s.samples > 1) continue;
                           for (std::size_t a = 0; a < 3; ++a)
                               pos[a].push_back(recorded["pos"][a].get<List>());
                       }
                   }
                   if (pos[0].size() != on_cp.size()) return;
                   const json whole{put_back(layout, pos[0]), put_back(layout, pos[1]), put_back(layout, pos[2])};
                   const auto [before, first] =
                       positions.emplace(c.file + json(s.ids).dump() + json(s.real).dump(), whole);
                   if (!first) CHECK(before->second == whole);
               });
    if (fault) CHECK((found.different > 0 || body.contains("raises")));
}

// Layout H, every document padded, or the row.
void split_nested(const Case& c) {
    const json& body = c.body;
    const int R = body.at("R").get<int>();
    const int U = body.at("U").get<int>();
    const bool fault = body.contains("fault");  // of mask and rows
    const List real = offsets_of(list(body, "lens"));
    const List ids = list(body, "ids");
    const Rows rows = rows_of(body, ids, 1);
    const std::int64_t pad = number(body, "pad_id");
    CHECK(sp::check_pad_id(rows.rules, pad).ok());
    with_split(R > 1 ? "B" : "F", real, R, U, R > 1 ? sp::customary_multiple(R, U) : U,
               [&](const auto&, const auto& layout) {
                   const Lists local_ids = held(layout, ids, pad);
                   const Lists labels = held(layout, shifted(list(body, "labels"), real, -100), -100);
                   const Lists of_rows = held(layout, List(rows.rows.begin(), rows.rows.end()), -1);
                   const Lists places = held(layout, document_positions(real), -1);
                   for (std::size_t r = 0; r < local_ids.size(); ++r) {
                       const json& recorded = body["ranks"][r];
                       CHECK(recorded["ids"] == json(local_ids[r]));
                       CHECK(recorded["labels"] == json(labels[r]));
                       for (std::int64_t a = 0; a < 3; ++a) {
                           List axis;
                           for (const std::int64_t place : places[r])
                               axis.push_back(place < 0 ? -1 : place + 100 * a);
                           CHECK(recorded["pos"][static_cast<std::size_t>(a)] == json(axis));
                       }
                       if (fault) continue;
                       List mask, kept;
                       for (const std::int64_t row : of_rows[r]) {
                           mask.push_back(row >= 0 ? 1 : 0);
                           if (row >= 0) kept.push_back(row);
                       }
                       CHECK(recorded["mask"] == json(mask));
                       CHECK(recorded["rows"] == json(kept));
                   }
                   check_local_rows(layout, ids, rows, 1);
               });
}

void rows(const Case& c) {
    const json request = golden::request(c, {"rows"});
    const json answer = inspect::answer(request);
    CAPTURE(answer.dump());
    CHECK(answer.value("rows", json()) == c.body["rows"]);
}

// Two items in one run are legal here: the lengths say where the second begins.
void spans(const Case& c) {
    const List ids = list(c.body, "ids");
    const List items = offsets_of(list(c.body, "item_len"));
    std::vector<std::int32_t> rows(ids.size());
    sp::build_rows(thrust::seq, ids, sp::placeholders({{number(c.body, "placeholder"), 0}}), rows);
    const sp::BankInfo info{items.back(), sp::offsets(items)};
    CHECK(describe(sp::check_rows(rows, sp::no_array, std::span(&info, 1))) == "nothing is wrong");
    if (!c.body.contains("spans")) return;
    json mine = json::array();
    for (const sp::TokenSpan& span : sp::item_spans(rows, sp::no_array, 0, items))
        mine.push_back({mine.size(), span.begin, span.end - span.begin});
    CHECK(mine == c.body["spans"]);
}

// --- LLaVA: one placeholder an image ----------------------------------------------------------------------------------
struct Expansion {
    List ids, shown, labels, mask;
    List real;  // offsets of the samples
};
// Labels arrive shifted (labels[k] follows token k): the label of a token is that of the one before it.
Expansion expanded(const json& body) {
    const json& samples = body["ids"];
    const List ids = flat(samples);
    const auto length = static_cast<std::int64_t>(samples[0].size());
    const auto count = static_cast<std::int64_t>(samples.size());
    const List items = offsets_of(list(body, "item_len"));
    const List none{0};
    std::vector<sp::BankInfo> info{{items.back(), sp::offsets(items)}};
    sp::PlaceholderRules rules = sp::placeholders({{number(body, "placeholder"), 0}});
    if (body.contains("sound_placeholder")) rules = rules.with(number(body, "sound_placeholder"), 1);
    List cu;
    for (std::int64_t b = 0; b <= count; ++b)
        cu.push_back(b * length);
    Expansion e;
    e.real.resize(cu.size());
    sp::expanded_offsets(thrust::seq, ids, rules, info, cu, e.real);
    const auto size = static_cast<std::size_t>(e.real.back());
    std::vector<std::int32_t> rows(size), banks(size);
    List sources(size);
    e.ids.resize(size);
    sp::expand_rows(thrust::seq, sp::tensor(ids.data(), count, length), rules, info, e.ids, rows, banks, sources);
    for (std::size_t i = 0; i < size; ++i)
        e.shown.push_back(rows[i] < 0 ? -e.ids[i] : rows[i] + 1000000 * std::int64_t{banks[i]});
    const auto follow = [&](const List& values, std::int64_t fill) {
        List out(size);
        sp::shard(thrust::seq, sp::indexed(sources, static_cast<std::int64_t>(values.size())), 0, values, sp::axis<0>,
                  out, fill);
        return out;
    };
    if (has(body, "labels")) {
        const List given = flat(body["labels"]);
        List unshifted(given.size());
        sp::shift_labels(thrust::seq, given, cu, -1, no_token, unshifted);
        e.labels = shifted(follow(unshifted, -100), e.real, no_token);
        for (std::size_t b = 1; b < cu.size(); ++b)  // what follows a sample's end is known
            e.labels[static_cast<std::size_t>(e.real[b]) - 1] = given[static_cast<std::size_t>(cu[b]) - 1];
        if (has(body, "loss_mask")) e.mask = follow(flat(body["loss_mask"]), 0);
        for (std::size_t i = 0; i + 1 < size && !e.mask.empty(); ++i) {  // nobody learns to predict an image
            const auto next = static_cast<std::int64_t>(i) + 1;
            if (sources[i + 1] < 0 && std::count(e.real.begin(), e.real.end(), next) == 0) e.mask[i] = 0;
        }
    }
    return e;
}

// Samples in rows of `length`, cut or filled up.
json in_rows(const List& values, const List& real, std::int64_t length, std::int64_t fill) {
    json rows = json::array();
    for (std::size_t b = 0; b + 1 < real.size(); ++b) {
        List row(values.begin() + real[b], values.begin() + std::min(real[b + 1], real[b] + length));
        row.resize(static_cast<std::size_t>(length), fill);
        rows.push_back(with_null(row));
    }
    return rows;
}

void expand(const Case& c) {
    const json& body = c.body;
    const Expansion e = expanded(body);
    const std::int64_t longest = sp::longest_document(e.real);
    const std::int64_t limit = has(body, "limit") ? number(body, "limit") : longest;
    const std::int64_t length = body.value("pad_to_limit", false) ? limit : std::min(limit, longest);
    if (has(body, "out_len")) CHECK(body["out_len"] == length);
    if (has(body, "merged")) CHECK(body["merged"] == in_rows(e.shown, e.real, length, no_token));
    if (has(body, "out_labels")) CHECK(body["out_labels"] == in_rows(e.labels, e.real, length, -100));
    if (has(body, "out_loss_mask")) CHECK(body["out_loss_mask"] == in_rows(e.mask, e.real, length, 0));
}

// Then layout A, and TP-SP of the merged tokens alone.
void expand_split(const Case& c) {
    const json& body = c.body;
    const Expansion e = expanded(body);
    const int cp = body.at("P").get<int>();
    const int tp = body.at("tp").get<int>();
    const std::int64_t longest = sp::longest_document(e.real);
    with_split("A", {0, longest}, cp, tp, cp == 1 ? tp : 2 * cp * tp, [&](const auto& layout, const auto& nested) {
        for (std::size_t b = 0; b + 1 < e.real.size(); ++b) {
            const auto sample = [&](const List& values, std::int64_t fill) {
                List row(values.begin() + e.real[b], values.begin() + e.real[b + 1]);
                row.resize(static_cast<std::size_t>(longest), fill);
                return row;
            };
            const Lists merged = held(nested, sample(e.shown, no_token), no_token);
            const Lists labels = held(layout, sample(e.labels, -100), -100);
            const Lists mask = held(layout, sample(e.mask, 0), 0);
            for (std::size_t r = 0; r < labels.size(); ++r) {
                for (std::size_t t = 0; t < static_cast<std::size_t>(tp); ++t) {
                    const json& recorded = body["ranks"][r][t];
                    CHECK(recorded["merged"][b] == with_null(merged[r * static_cast<std::size_t>(tp) + t]));
                    if (has(recorded, "labels")) CHECK(recorded["labels"][b] == json(labels[r]));
                    if (has(recorded, "loss_mask")) CHECK(recorded["loss_mask"][b] == json(mask[r]));
                }
            }
        }
    });
}

// --- labels -----------------------------------------------------------------------------------------------------------
void labels(const Case& c) {
    const json& body = c.body;
    const List cu = list(body, "cu");
    const std::int64_t ignore = number(body, "ignore");
    List unshifted;
    if (body.contains("labels")) {
        unshifted = list(body, "labels");
    } else {  // tokens of the assistant, but for some
        const List skipped = list(body, "skipped");
        const List mask = list(body, "mask");
        for (std::size_t i = 0; i < mask.size(); ++i) {
            const std::int64_t id = list(body, "ids")[i];
            unshifted.push_back(mask[i] == 0 || std::count(skipped.begin(), skipped.end(), id) > 0 ? ignore : id);
        }
    }
    List out(unshifted.size());
    sp::shift_labels(thrust::seq, unshifted, cu, number(body, "by"), ignore, out);
    Found found;
    const bool fault = body.contains("fault");
    if (body.contains("out")) found.note(body["out"], out, fault);
    if (body.contains("out_mask")) {
        List mask;
        for (const std::int64_t label : out)
            mask.push_back(label == ignore ? 0 : 1);
        found.note(body["out_mask"], mask, fault);
    }
    if (body.contains("ranks")) {
        const int cp = body.at("P").get<int>();
        const bool by_documents = has(body, "split_cu");
        const std::string letter = body.value("layout", by_documents ? "B" : "A");
        with_split(letter, by_documents ? list(body, "split_cu") : List{0, cu.back()}, cp, 1,
                   letter == "F" ? cp
                   : cp == 1     ? 1
                                 : 2 * cp,
                   [&](const auto& layout, const auto&) {
                       const Lists local = held(layout, out, ignore);
                       const Lists places = held(layout, document_positions(cu), 0);
                       for (std::size_t r = 0; r < local.size(); ++r) {
                           const json& recorded = body["ranks"][r];
                           found.note(recorded["labels"], local[r], fault);
                           if (recorded.contains("positions")) CHECK(recorded["positions"] == json(places[r]));
                           for (std::size_t a = 0; recorded.contains("pos") && a < 3; ++a) {
                               CHECK(recorded["pos"][a] == json(held(layout, body["pos"][a].get<List>(), 0)[r]));
                           }
                       }
                   });
    }
    if (fault) CHECK(found.different > 0);
}

// --- positions, split along their axis for every layout and put back ----------------------------------------------------
void split_and_put_back(const std::vector<double>& whole, std::int64_t axes, std::int64_t samples,
                        std::int64_t length) {
    const List row{0, length};
    const auto check = [&](const auto& base, const List& real, const List& padded) {
        const auto layout = sp::padded(base, real, padded, real.back());
        std::vector<std::vector<double>> shards;
        for (int r = 0; r < layout.ranks(); ++r) {
            const std::int64_t slots = layout.slots(r);
            auto& shard = shards.emplace_back(static_cast<std::size_t>(axes * samples * slots));
            sp::shard(thrust::seq, layout, r, sp::tensor(whole.data(), axes, samples, length), sp::axis<2>,
                      sp::tensor(shard.data(), axes, samples, slots), 0);
            for (std::int64_t k = 0; k < axes * samples; ++k) {
                for (std::int64_t slot = 0; slot < slots; ++slot) {
                    const std::int64_t source = layout.source(layout.position(r, slot));
                    REQUIRE(shard[static_cast<std::size_t>(k * slots + slot)] ==
                            (source < 0 ? 0 : whole[static_cast<std::size_t>(k * length + source)]));
                }
            }
        }
        std::vector<double> back(whole.size(), -1);
        const auto local = [&](int r) {
            return sp::tensor(shards[static_cast<std::size_t>(r)].data(), axes, samples, layout.slots(r));
        };
        sp::unshard(thrust::seq, layout, sp::shards(local), sp::axis<2>,
                    sp::tensor(back.data(), axes, samples, length));
        CHECK(back == whole);
    };
    for (const int ranks : {1, 2, 4}) {
        const List padded = padded_to(row, 12 * ranks);
        const List documents{0, length / 3, length};
        const List padded_documents = padded_to(documents, 12 * ranks);
        const std::int64_t S = padded.back();
        check(sp::ZigZag{}(S, ranks), row, padded);
        check(sp::Contiguous{}(S, ranks), row, padded);
        check(sp::UnevenContiguous{}(length, ranks), row, row);
        check(sp::Striped{3}(S, ranks), row, padded);
        check(sp::packed(sp::ZigZag{}, padded_documents, padded_documents.back(), ranks), documents, padded_documents);
        check(sp::packed(sp::Contiguous{}, padded_documents, padded_documents.back(), ranks), documents,
              padded_documents);
        check(sp::nested(sp::ZigZag{}(S, ranks), sp::Contiguous{}, 2), row, padded);
        check(sp::nested(sp::Striped{}(S, ranks), sp::Contiguous{}, 3), row, padded);
        const auto plan = [&](const std::vector<std::vector<sp::Run>>& runs, const List& real, const List& all) {
            const sp::RunTable table(runs, all.back());
            check(table.layout(), real, all);
        };
        plan(sp::per_document_runs(sp::offsets(padded_documents), padded_documents.back(), ranks), documents,
             padded_documents);
        plan(sp::block_runs(sp::ptrr_parts(sp::key_blocks(sp::offsets(padded), S, 3), ranks), 3, S), row, padded);
        const List chunk_work = sp::chunk_work(sp::offsets(row), S, 3, sp::Mask::causal);
        plan(sp::block_runs(sp::sorted_parts(sp::min_heap_parts(chunk_work, ranks)), 3, S), row, padded);
    }
}

void positions(const Case& c) {
    const json& given = c.body["position_ids"];
    std::vector<double> whole;
    for (const json& axis : given) {
        for (const json& sample : axis)
            whole.insert(whole.end(), sample.begin(), sample.end());
    }
    split_and_put_back(whole, static_cast<std::int64_t>(given.size()), static_cast<std::int64_t>(given[0].size()),
                       static_cast<std::int64_t>(given[0][0].size()));
}

// The arrays of a case, in the file beside it.
template <class T>
std::vector<T> tensor_of(const Case& c, const std::string& name, const std::string& dtype) {
    static std::map<std::string, example::TensorFile> files;
    const auto [file, first] = files.try_emplace(c.file);
    if (first) file->second = example::read_tensors(folder() / "vision" / (c.file + ".safetensors"));
    const auto tensor = file->second.tensors.find(c.body.at("name").get<std::string>() + "." + name);
    if (tensor == file->second.tensors.end() || tensor->second.dtype != dtype) return {};
    std::vector<T> values(tensor->second.bytes.size() / sizeof(T));
    std::memcpy(values.data(), tensor->second.bytes.data(), tensor->second.bytes.size());
    return values;
}

// Of whole models and merges here only which tokens are vision tokens, and the positions; some of those are fractions.
void lists_of_models(const Case& c) {
    const json& body = c.body;
    const List ids = flat(body["ids"]);
    const std::int64_t samples = number(body, "B");
    const std::int64_t length = number(body, "S");
    const std::vector<std::uint8_t> mask = tensor_of<std::uint8_t>(c, "visual_pos_masks", "U8");
    if (!mask.empty()) {
        const List valid = has(body, "attention_mask") ? flat(body["attention_mask"]) : List(ids.size(), 1);
        sp::PlaceholderRules rules;
        for (const std::int64_t id : list(body, "placeholders"))
            rules = rules.with(id, rules.count());
        std::vector<std::int32_t> rows(ids.size()), banks(ids.size());
        sp::build_rows(thrust::seq, sp::masked(ids, valid), rules, rows, banks);
        for (std::size_t i = 0; i < rows.size(); ++i)
            CHECK((banks[i] == 0 || banks[i] == 1 ? 1 : 0) == mask[i]);  // audio is no vision token
    }
    const std::vector<std::int32_t> whole = tensor_of<std::int32_t>(c, "position_ids", "I32");
    const std::vector<float> fractions = tensor_of<float>(c, "position_ids", "F32");
    if (!whole.empty()) split_and_put_back({whole.begin(), whole.end()}, 3, samples, length);
    if (!fractions.empty()) split_and_put_back({fractions.begin(), fractions.end()}, 3, samples, length);
}

// --- cuts of vision items -----------------------------------------------------------------------------------------------
void partition(const Case& c) {
    const json& body = c.body;
    const int ranks = body.at("P").get<int>();
    const std::string rule = body.at("rule");
    List cuts;
    if (rule == "cost") {
        std::vector<sp::Grid> grids;
        for (const std::int64_t patches : list(body, "patches"))
            grids.push_back({1, 1, patches});
        cuts = sp::cuts_by_cost(sp::piece_costs(grids, number(body, "alpha")), ranks);
    } else if (rule == "tubelet") {
        cuts = sp::cuts_by_tubelet(list(body, "frames"), number(body, "tubelet"), ranks);
    } else {
        REQUIRE(rule == "count");
        cuts = sp::cuts_by_count(number(body, "units"), ranks);
    }
    CHECK((cuts.empty() ? json() : json(cuts)) == body["cuts"]);
}

// Frames cut by count: what each rank encodes, and the bank rows that these are.
void exchange(const Case& c) {
    const json& body = c.body;
    std::vector<sp::Grid> grids;
    for (const json& grid : body["grid"])
        grids.push_back({grid[0], grid[1], grid[2]});
    const auto frames = sp::pieces(grids, 1);
    const List cuts = sp::cuts_by_count(static_cast<std::int64_t>(frames.size()), body.at("P").get<int>());
    const List rows = sp::row_offsets(frames, number(body, "merge"));
    List row_cuts, counts;
    for (std::size_t r = 0; r < cuts.size(); ++r) {
        row_cuts.push_back(rows[static_cast<std::size_t>(cuts[r])]);
        if (r > 0) counts.push_back(cuts[r] - cuts[r - 1]);
    }
    CHECK(body["cuts"] == json(row_cuts));
    CHECK(body["frames"] == json(counts));
    for (const int r : sp::ranks_without_items(cuts))
        CHECK(body["grids_of_rank"][static_cast<std::size_t>(r)].empty());
}

// --- input that is wrong -----------------------------------------------------------------------------------------------
sp::Status status_of(const List& ids, std::int64_t placeholder, const sp::BankInfo& info, std::int64_t base = 0,
                     const std::vector<char>& valid = {}) {
    std::vector<std::int32_t> rows(ids.size());
    const auto rules = sp::placeholders({{placeholder, 0}}).base({base});
    if (valid.empty()) {
        sp::build_rows(thrust::seq, ids, rules, rows);
    } else {
        sp::build_rows(thrust::seq, sp::masked(ids, valid), rules, rows);
    }
    return sp::check_rows(rows, sp::no_array, std::span(&info, 1));
}

// A merge: legal if and only if the stretches of placeholders, read in order, hold whole items, and all of them.
void illegal_merge(const json& body) {
    const List ids = list(body, "ids");
    const std::int64_t placeholder = number(body, "placeholder");
    const List items = offsets_of(list(body, "item_len"));
    const std::int64_t V = number(body, "V");
    std::set<std::int64_t> borders{0};
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        seen += ids[i] == placeholder ? 1 : 0;
        if (i + 1 == ids.size() || ids[i + 1] != placeholder) borders.insert(seen);
    }
    bool legal = seen == V;
    for (const std::int64_t border : borders)
        legal = legal && std::count(items.begin(), items.end(), border) > 0;
    const sp::Status status = status_of(ids, placeholder, {V, sp::offsets(items)});
    CAPTURE(describe(status));
    CHECK(status.ok() == legal);
    CHECK((seen == V || status.kind() == sp::Kind::row_count));
    const std::string situation = body.value("situation", "");
    if (situation == "one_row_too_few") CHECK(status == sp::make_status(sp::Kind::row_count, 0, 8, 5, 6, 0));
    if (situation == "one_row_too_many" || situation == "no_placeholder")
        CHECK(status_of(ids, placeholder, {V, {}, true}).ok());
    if (situation == "swapped_lengths") {
        CHECK(status == sp::make_status(sp::Kind::item_cut, 0, 5, 5, 3, 0));
        CHECK(status_of(ids, placeholder, {V}).ok());
    }
    if (situation == "cut_right_inside_image") {
        const std::vector<sp::TokenSpan> whole{{3, 9}, {19, 24}};
        const std::int64_t cut = sp::safe_cut(body["cut"][1].get<std::int64_t>(), whole);
        CHECK(cut == 19);
        CHECK(sp::items_kept(cut, whole) == 1);
        const List kept(ids.begin(), ids.begin() + cut);
        CHECK(status_of(kept, placeholder, {V, sp::offsets(items), true}).ok());
        CHECK(status_of(ids, placeholder, {V, sp::offsets(items), true}).kind() == sp::Kind::item_cut);
    }
    if (situation == "cut_left_inside_image" || situation == "left_cut_whole_image") {
        const std::int64_t base = V - seen;  // what stood before the cut
        CHECK(status_of(ids, placeholder, {V, {}, true}, base).ok());
        const sp::Status with_items = status_of(ids, placeholder, {V, sp::offsets(items), true}, base);
        CHECK(with_items.kind() == (situation == "left_cut_whole_image" ? sp::Kind::ok : sp::Kind::item_cut));
    }
    if (situation == "placeholder_in_padding" || situation == "generated_placeholder") {
        std::vector<char> valid(ids.size(), 1);
        for (std::size_t i = 10; i < ids.size(); ++i)
            valid[i] = ids[i] == placeholder ? 0 : 1;
        CHECK(status_of(ids, placeholder, {V, sp::offsets(items)}, 0, valid).ok());
    }
}

// Single functions: each case says by its keys what it is about, and `want` says ok or not.
void illegal_other(const json& body) {
    const bool legal = body.at("want").get<std::string>().rfind("error", 0) != 0;
    const int P = body.value("P", 1);
    if (body.contains("row")) {  // rows of a bank
        std::vector<std::int32_t> rows;
        for (const std::int64_t row : list(body, "row"))
            rows.push_back(static_cast<std::int32_t>(row));
        const sp::BankInfo info{number(body, "V"), {}, true};
        const sp::Status status = sp::check_rows(rows, sp::no_array, std::span(&info, 1));
        CAPTURE(describe(status));
        CHECK(status.ok() == legal);
        if (body["name"] == "row_past_bank") CHECK(status == sp::make_status(sp::Kind::row_range, 0, 1, 3, 3));
    } else if (body.contains("shape")) {  // an array split along one axis
        const List shape = list(body, "shape");
        const std::int64_t axis = number(body, "axis");
        const std::int64_t size = *std::max_element(shape.begin(), shape.end());
        CHECK((shape[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)] == size) == legal);
        const List values = numbered(shape[0] * shape[1] * shape[2]);
        List part(values.size() / static_cast<std::size_t>(P));
        const auto cut = [&](auto along) {
            List out_shape = shape;
            std::int64_t& extent = out_shape[static_cast<std::size_t>(axis < 0 ? axis + 3 : axis)];
            extent /= P;
            sp::shard(thrust::seq, sp::ZigZag{}(size, P), body.at("rank").get<int>(),
                      sp::tensor(values.data(), shape[0], shape[1], shape[2]), along,
                      sp::tensor(part.data(), out_shape[0], out_shape[1], out_shape[2]));
        };
        const sp::Kind kind = refusal([&] {
            if (axis == 0) return cut(sp::axis<0>);
            if (axis == 1) return cut(sp::axis<1>);
            cut(sp::axis<-1>);
        });
        CHECK(kind == (legal ? sp::Kind::ok : sp::Kind::axis_extent));
        if (legal) CHECK(body["result"] == json(part));
    } else if (body.contains("lens")) {  // samples shorter than a part of the split
        const List real = offsets_of(list(body, "lens"));
        List ids;
        for (std::size_t d = 0; d + 1 < real.size(); ++d)
            ids = test::joined(ids, numbered(real[d + 1] - real[d], 100 * static_cast<std::int64_t>(d + 1)));
        const int rank = body.at("rank").get<int>();
        List expected;  // by formula; the peer raises in some cases
        for (std::size_t d = 0; d + 1 < real.size(); ++d) {
            const std::int64_t length = real[d + 1] - real[d];
            const std::int64_t padded = sp::round_up(length, P == 1 ? 1 : 2 * P);
            for (const std::int64_t at : test::formula_a(padded, P, rank))
                expected.push_back(at < length ? 100 * static_cast<std::int64_t>(d + 1) + at : 0);
        }
        with_split("B", real, P, 1, P == 1 ? 1 : 2 * P, [&](const auto& layout, const auto&) {
            const List mine = held(layout, ids, 0)[static_cast<std::size_t>(rank)];
            CHECK(mine == expected);
            if (has(body, "result")) CHECK(body["result"]["ids"] == json(mine));
        });
    } else if (body.contains("cu") || body.contains("S")) {  // lengths
        const List cu = body.contains("cu") ? list(body, "cu") : List{0, number(body, "S")};
        const std::int64_t S = body.value("S", cu.back());
        const sp::Kind kind = refusal([&] {
            const auto layout = sp::packed(sp::ZigZag{}, cu, S, P);
            sp::throw_if_bad(sp::check(sp::nested(layout, sp::Contiguous{}, body.value("tp", 1))));
        });
        CHECK((kind == sp::Kind::ok) == legal);
    } else if (body.contains("item_len")) {  // one placeholder an image
        const List items = offsets_of(list(body, "item_len"));
        const std::vector<sp::BankInfo> info{{number(body, "V"), sp::offsets(items)}};
        const List ids = list(body, "ids");
        const auto rules = sp::placeholders({{-200, 0}});
        List cu(2);
        sp::Kind kind = refusal([&] {
            sp::expanded_offsets(thrust::seq, ids, rules, info, List{0, static_cast<std::int64_t>(ids.size())}, cu);
        });
        if (kind == sp::Kind::ok) {
            List out(static_cast<std::size_t>(cu.back()));
            std::vector<std::int32_t> rows(out.size());
            sp::expand_rows(thrust::seq, ids, rules, info, out, rows);
            const sp::BankInfo bank{number(body, "V")};
            kind = sp::check_rows(rows, sp::no_array, std::span(&bank, 1)).kind();
        }
        CHECK(kind == sp::Kind::row_count);
    } else if (body.contains("placeholder")) {
        const List ids = list(body, "ids");
        if (has(body, "result")) {
            std::vector<std::int32_t> rows(ids.size());
            sp::build_rows(thrust::seq, ids, sp::placeholders({{number(body, "placeholder"), 0}}), rows);
            CHECK(body["result"] == json(rows));
        } else {  // a shard against the whole bank: what a check there would say, and why it is not asked
            CHECK(status_of(ids, number(body, "placeholder"), {number(body, "V")}).kind() == sp::Kind::row_count);
        }
    } else if (body.contains("ids")) {  // what a placeholder's id is in an embedding table does not matter
        const List ids = list(body, "ids");
        std::vector<std::int32_t> rows(ids.size());
        sp::build_rows(thrust::seq, ids, sp::placeholders({{-200, 0}}), rows);
        std::vector<float> bank(ids.size(), 7.0f), merged(ids.size());
        for (std::size_t i = 0; i < ids.size(); ++i)
            merged[i] = static_cast<float>(ids[i]);
        const auto count = static_cast<std::int64_t>(ids.size());
        const auto vectors = sp::tensor(merged.data(), count, 1);
        sp::VisionGather{}(thrust::seq, vectors, rows, sp::tensor(bank.data(), count, 1), vectors);
        CHECK(std::count(ids.begin(), ids.end(), -200) > 0);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            CHECK((rows[i] >= 0) == (ids[i] == -200));
            CHECK(merged[i] == (ids[i] == -200 ? 7.0f : static_cast<float>(ids[i])));
        }
    } else {  // a gradient that was given is read only
        REQUIRE(body["name"] == "gradient_overwritten");
        std::vector<float> sum(2);
        const std::vector<std::int32_t> row{0};
        for (const float value : {1.0f, 10.0f}) {
            const std::vector<float> given(2, value);
            sp::VisionGather{}.backward(thrust::seq, sp::tensor(given.data(), 1, 2), row, sp::no_gradient,
                                        sp::tensor(sum.data(), 1, 2), sp::Add{});
            CHECK(given == std::vector<float>(2, value));
        }
        CHECK(body["result"] == json(std::vector<std::vector<float>>(2, sum)));
    }
}
void illegal(const Case& c) { c.body.contains("situation") ? illegal_merge(c.body) : illegal_other(c.body); }

}  // namespace

TEST_CASE("every golden list of vision rows comes out number by number") {
    const std::map<std::string, void (*)(const Case&)> tests{
        {"rows", rows},
        {"spans", spans},
        {"split", split},
        {"split_nested", split_nested},
        {"expand", expand},
        {"expand_split", expand_split},
        {"labels", labels},
        {"positions", positions},
        {"partition", partition},
        {"exchange", exchange},
        {"illegal", illegal},
        {"e2e", lists_of_models},
        {"merge", lists_of_models},
    };
    struct Count {
        int checked = 0;
        int faults = 0;
    };
    std::map<std::string, Count> counts;
    std::map<std::string, int> others;
    for (const Case& c : cases("vision")) {
        const std::string name = c.name();
        CAPTURE(name);
        const auto test = tests.find(c.kind());
        if (test == tests.end()) {
            ++others[c.kind()];
            continue;
        }
        try {
            test->second(c);
        } catch (const std::exception& error) {
            FAIL_CHECK(std::string(error.what()));
        }
        ++(c.body.contains("fault") || c.body.contains("raises") ? counts[c.kind()].faults : counts[c.kind()].checked);
    }
    std::printf("%-14s %7s %16s\n", "vision kind", "checked", "peer's mistakes");
    for (const auto& [kind, count] : counts)
        std::printf("%-14s %7d %16d\n", kind.c_str(), count.checked, count.faults);
    for (const auto& [kind, count] : others)
        std::printf("%-14s %7d cases, see the tests of values\n", kind.c_str(), count);
    if (std::getenv("SEQPAR_GOLDEN") == nullptr) CHECK(counts.size() == tests.size());
}

TEST_CASE("a golden folder that is not there is an error, and so is a kind that no test knows") {
    const std::map<std::string, std::set<std::string>> known{
        {"layouts",
         {"layout", "undo_redo", "roll", "plan", "offsets", "relayout", "halo", "hybrid", "positions", "labels",
          "pad"}},
        {"vision",
         {"rows", "spans", "split", "split_nested", "expand", "expand_split", "labels", "positions", "partition",
          "exchange", "illegal", "gather", "merge", "e2e", "add_rows", "zero_dependency"}}};
    for (const auto& [subfolder, kinds] : known) {
        std::map<std::string, int> unknown;
        for (const Case& c : cases(subfolder)) {
            if (!kinds.contains(c.kind())) ++unknown[c.kind() + " (" + c.file + ")"];
        }
        for (const auto& [kind, count] : unknown) {
            const std::string line =
                subfolder + ": no test knows kind " + kind + ", " + std::to_string(count) + " cases";
            FAIL_CHECK(line);
        }
    }
    const char* const given = std::getenv("SEQPAR_GOLDEN");
    const std::string before = given == nullptr ? "" : given;
    setenv("SEQPAR_GOLDEN", (folder() / "no such folder").c_str(), 1);
    CHECK_THROWS_AS(cases("layouts"), std::runtime_error);
    given == nullptr ? unsetenv("SEQPAR_GOLDEN") : setenv("SEQPAR_GOLDEN", before.c_str(), 1);
}
