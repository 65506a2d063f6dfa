// The answers to every kind of request but `layout`; see kinds.hpp.
#include "kinds.hpp"

#include "layouts.hpp"

#include <seqpar/balance/plans.hpp>
#include <seqpar/exchange/plans.hpp>
#include <seqpar/index/attention_offsets.hpp>
#include <seqpar/index/gather.hpp>
#include <seqpar/index/halo.hpp>
#include <seqpar/index/roll.hpp>
#include <seqpar/index/rows.hpp>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <array>

namespace inspect {

namespace sp = seqpar;

namespace {

using List = std::vector<std::int64_t>;

// The keys of a case that say what it is about, and those that come back.
const std::vector<std::string> of_a_layout{"layout",     "ranks",  "length", "real_length",
                                           "cu_seqlens", "params", "shards"};

void check_keys(const json& request, const std::vector<std::string>& more) {
    std::vector<std::string> known = of_a_layout;
    known.insert(known.end(), more.begin(), more.end());
    only_known_keys(request, known);
}

// A layout that deals, for kinds that have no meaning for an array that stays whole.
Asked read_dealt(const json& request) {
    Asked asked = read_layout(request);
    if (asked.letter == "whole") throw Refusal("unsupported", "an array that stays whole has no such lists");
    return asked;
}

// for every rank, of(rank).
template <class Of>
json per_rank(int ranks, const Of& of) {
    json lists = json::array();
    for (int rank = 0; rank < ranks; ++rank)
        lists.push_back(of(rank));
    return lists;
}

template <sp::Layout L>
json shards_of(const L& layout) {
    return per_rank(layout.ranks(), [&](int rank) {
        List shard(static_cast<std::size_t>(layout.slots(rank)));
        sp::sources(thrust::seq, layout, rank, shard);
        return shard;
    });
}

int ranks_in(const json& request) {
    const std::int64_t ranks = integer(required(request, "ranks"), "ranks");
    if (ranks < 1) sp::throw_if_bad(sp::make_status(sp::Kind::ranks, 0, 0, 1, ranks));
    if (ranks > most_ranks) throw Refusal("too_large", "more ranks than " + std::to_string(most_ranks));
    return static_cast<int>(ranks);
}

std::int64_t length_in(const json& request) {
    const std::int64_t length = integer(required(request, "length"), "length");
    if (length > most_positions) throw Refusal("too_large", "a length of more than " + std::to_string(most_positions));
    return length;
}

const json* param(const json& request, const char* key) {
    const json* params = find(request, "params");
    return params == nullptr ? nullptr : find(*params, key);
}

// Offsets with at least one entry, so that the last one can be read.
List offsets_in(const json& request, const char* key) {
    List cu_seqlens = integers(required(request, key), key);
    if (cu_seqlens.empty()) sp::throw_if_bad(sp::make_status(sp::Kind::offsets_count, 0, 0, 2, 0));
    return cu_seqlens;
}

json llama3(const json& request) {
    const List cu_seqlens = offsets_in(request, "cu_seqlens");
    const json* causal = param(request, "causal");
    if (causal == nullptr) throw Refusal("missing", "causal is missing");
    const int ranks = ranks_in(request);
    const std::int64_t length = length_in(request);
    return {{"per_rank", per_rank(ranks, [&](int rank) -> json {
                 const auto o =
                     sp::query_key_offsets(sp::offsets(cu_seqlens), length, ranks, rank, causal->get<bool>());
                 return {{"cu_q", o.cu_q},
                         {"cu_k", o.cu_k},
                         {"max_q", o.longest_q},
                         {"max_k", o.longest_k},
                         {"keys", {o.keys_begin, o.keys_end}}};
             })}};
}

json valid(const json& request) {
    const List real = offsets_in(request, "cu_seqlens");
    const int ranks = ranks_in(request);
    List padded;
    if (find(request, "cu_seqlens_padded") != nullptr) {
        padded = offsets_in(request, "cu_seqlens_padded");
    } else {
        padded = offsets_in(request, "local_cu_seqlens_padded");
        for (std::int64_t& offset : padded) {
            if (offset < 0 || offset > most_positions) throw Refusal("too_large", "a local offset is out of range");
            offset *= ranks;
        }
    }
    return {{"per_rank", per_rank(ranks, [&](int rank) -> json {
                 const auto half = [&](sp::Half which) {
                     return sp::valid_offsets(sp::offsets(real), sp::offsets(padded), ranks, rank, which);
                 };
                 return {{"first", half(sp::Half::first)},
                         {"second", half(sp::Half::second)},
                         {"both", half(sp::Half::both)}};
             })}};
}

json halves(const json& request) {
    const List local = offsets_in(request, "local_cu_seqlens");
    if (local.back() > most_positions) throw Refusal("too_large", "more slots than " + std::to_string(most_positions));
    return {{"first", sp::half_slots(sp::offsets(local), sp::Half::first)},
            {"second", sp::half_slots(sp::offsets(local), sp::Half::second)}};
}

json clipped(const json& request) {
    const List cu_seqlens = offsets_in(request, "cu_seqlens");
    const int ranks = ranks_in(request);
    const std::int64_t length = length_in(request);
    return {{"per_rank", per_rank(ranks, [&](int rank) -> json {
                 const auto o = sp::shard_offsets(sp::offsets(cu_seqlens), length, ranks, rank);
                 return {{"cu", o.cu}, {"max", o.longest}};
             })}};
}

struct OffsetsFunction {
    const char* begin;  // of the name that a head gives
    json (*answer)(const json& request);
};

constexpr std::array<OffsetsFunction, 6> offsets_functions{{
    {"llama3_flash_attn_prepare_cu_seqlens", llama3},
    {"get_cu_seqlens_on_cp_rank", valid},
    {"thd_read_half_tensor", halves},
    {"get_half_index", halves},
    {"get_cp_cu_seqlens", clipped},
    {"shard_position_ids_for_cp, get_cu_seqlens_from_position_ids", clipped},
}};

// The same layout as a table: one type whatever the layout, so that pairs are not as many as their kinds squared.
template <sp::Layout L>
sp::RunTable table_of(const L& layout) {
    std::vector<std::vector<sp::Run>> lists;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        lists.emplace_back();
        auto cursor = sp::runs(layout, rank, 0, layout.slots(rank));
        for (sp::Run run; cursor.next(run);)
            lists.back().push_back(run);
    }
    return {lists, layout.size()};
}

struct Target {
    sp::RunTable table;
    json shards;
};
Target read_target(const Asked& asked) {
    return with_layout(asked, [](const auto& layout) -> Target {
        sp::throw_if_bad(sp::check(layout));
        return {table_of(layout), shards_of(layout)};
    });
}

}  // namespace

json plan(const json& request) {
    only_known_keys(request, {"layout", "ranks", "work", "params", "groups", "partitions"});
    const std::string layout = text(required(request, "layout"), "layout");
    const List work = integers(required(request, "work"), "work");
    for (const std::int64_t load : work) {
        if (load < 0 || load > (std::int64_t{1} << 40)) throw Refusal("too_large", "an entry of work is out of range");
    }
    if (layout == "D") return {{"groups", sp::ptrr_parts(work, ranks_in(request))}};
    if (layout == "J") return {{"partitions", sp::min_heap_parts(work, ranks_in(request))}};
    throw Refusal("unsupported", "layout " + quoted(layout) + " has no plan");
}

json offsets(const json& request) {
    only_known_keys(request, {"layout", "ranks", "length", "real_length", "cu_seqlens", "cu_seqlens_padded", "params",
                              "local_cu_seqlens", "local_cu_seqlens_padded", "cu_valid", "lengths", "per_rank", "first",
                              "second", "copied"});
    const std::string function = text(required(request, "function"), "function");
    for (const OffsetsFunction& known : offsets_functions) {
        if (function.rfind(known.begin, 0) != 0) continue;
        read_params(request);
        return known.answer(request);
    }
    throw Refusal("unsupported", "offsets of " + quoted(function) + " are not served");
}

json rows(const json& request) {
    only_known_keys(request, {"ids", "placeholders", "dtype", "valid", "base", "rows"});
    const List ids = integers(required(request, "ids"), "ids");
    const List placeholders = integers(required(request, "placeholders"), "placeholders");
    const List base =
        find(request, "base") != nullptr ? integers(request["base"], "base") : List(placeholders.size(), 0);
    if (base.size() != placeholders.size()) throw Refusal("param", "base has not one entry a placeholder");
    const std::string dtype = find(request, "dtype") != nullptr ? text(request["dtype"], "dtype") : "int64";
    sp::PlaceholderRules rules;
    for (const std::int64_t id : placeholders)
        rules = rules.with(id, rules.count());
    List all(sp::PlaceholderRules::max_banks, 0);
    std::copy(base.begin(), base.end(), all.begin());
    rules = rules.base({all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7]});
    const List valid = find(request, "valid") != nullptr ? integers(request["valid"], "valid") : List(ids.size(), 1);
    std::vector<std::int32_t> row(ids.size());
    std::vector<std::int32_t> bank(ids.size());
    List counts(placeholders.size());
    if (dtype == "int64") {
        sp::build_rows(thrust::seq, sp::masked(ids, valid), rules, row, bank, counts);
    } else if (dtype == "int32") {
        std::vector<std::int32_t> narrow;
        for (const std::int64_t id : ids) {
            if (id != static_cast<std::int32_t>(id)) throw Refusal("param", "an id is no int32");
            narrow.push_back(static_cast<std::int32_t>(id));
        }
        sp::build_rows(thrust::seq, sp::masked(narrow, valid), rules, row, bank, counts);
    } else {
        throw Refusal("param", "no ids are of type " + quoted(dtype));
    }
    json of_banks = json::array();
    for (std::size_t k = 0; k < placeholders.size(); ++k) {
        List own(ids.size(), -1);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (bank[i] == static_cast<std::int32_t>(k)) own[i] = row[i];
        }
        of_banks.push_back(std::move(own));
    }
    return {{"rows", std::move(of_banks)}, {"counts", std::move(counts)}};
}

json undo_redo(const json& request) {
    check_keys(request, {"undo", "redo", "undo_redo"});
    return with_layout(read_dealt(request), [](const auto& layout) -> json {
        sp::throw_if_bad(sp::check(layout));
        List undo(static_cast<std::size_t>(layout.source_size()));
        List redo(static_cast<std::size_t>(layout.size()));
        sp::restore_index(thrust::seq, layout, undo);
        sp::gather_index(thrust::seq, layout, redo);
        return {{"undo", std::move(undo)}, {"redo", std::move(redo)}};
    });
}

json roll(const json& request) {
    check_keys(request, {"outputs", "windows"});
    const Asked asked = read_dealt(request);
    const json* const shift = param(request, "shift");
    return with_layout(asked, [&](const auto& layout) -> json {
        sp::throw_if_bad(sp::check(layout));
        json outputs = per_rank(layout.ranks(), [&](int rank) {
            List out(static_cast<std::size_t>(layout.slots(rank)));
            if (shift != nullptr) {
                sp::circular_roll_index(thrust::seq, layout, rank, integer(*shift, "shift"), out);
            } else if (asked.documents) {
                sp::roll_index(thrust::seq, layout, rank, asked.cu_seqlens, -1, out);
            } else {
                sp::roll_index(thrust::seq, layout, rank, -1, out);
            }
            return out;
        });
        return {{"shards", shards_of(layout)}, {"outputs", std::move(outputs)}};
    });
}

json halo(const json& request) {
    check_keys(request, {"halos", "key_ranges", "sequence_ids", "outputs"});
    const Asked asked = read_dealt(request);
    const json* const given = param(request, "window");
    if (given == nullptr) throw Refusal("missing", "window is missing");
    const std::int64_t window = integer(*given, "window");
    const std::string name = param(request, "side") != nullptr ? text(*param(request, "side"), "side") : "left";
    if (name != "left" && name != "right") throw Refusal("param", "no side is called " + quoted(name));
    const sp::Side side = name == "left" ? sp::Side::left : sp::Side::right;
    const json* const stops = param(request, "stops_at_documents");
    const bool inside = asked.documents && (stops == nullptr || stops->get<bool>());
    // No layout has more runs than positions.
    if (window > most_positions / (asked.length + 1)) throw Refusal("too_large", "the window is too long");
    return with_layout(asked, [&](const auto& layout) -> json {
        sp::throw_if_bad(sp::check(layout));
        return {{"shards", shards_of(layout)}, {"halos", per_rank(layout.ranks(), [&](int rank) {
                                                    return inside ? sp::halo_positions(layout, rank, side, window,
                                                                                       sp::offsets(asked.cu_seqlens))
                                                                  : sp::halo_positions(layout, rank, side, window);
                                                })}};
    });
}

json relayout(const json& request) {
    check_keys(request, {"target", "target_shards", "per_rank"});
    json other = request;
    other["layout"] = required(request, "target");
    const Target target = read_target(read_dealt(other));
    return with_layout(read_dealt(request), [&](const auto& from) -> json {
        sp::throw_if_bad(sp::check(from));
        const sp::Permuted to = target.table.layout();
        json plans = per_rank(std::max(from.ranks(), to.ranks()), [&](int rank) -> json {
            sp::ExchangePlan plan = sp::relayout(from, to, rank);
            return {{"send_rows", std::move(plan.send_rows)},
                    {"send_splits", std::move(plan.send_splits)},
                    {"receive_slots", std::move(plan.receive_rows)},
                    {"receive_splits", std::move(plan.receive_splits)}};
        });
        return {{"shards", shards_of(from)}, {"target_shards", target.shards}, {"per_rank", std::move(plans)}};
    });
}

}  // namespace inspect
