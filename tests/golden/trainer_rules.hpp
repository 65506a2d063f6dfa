// What the tests of the trainers' own rules share: a table from the head's `function` to a test of one case, counts, and
// short names for what the library does with whole arrays. Not here: any rule.
#pragma once

#include "cases.hpp"

#include "layout/lists.hpp"

#include <seqpar/seqpar.hpp>

#include <doctest/doctest.h>

#include <thrust/execution_policy.h>

#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace golden {

namespace sp = seqpar;
using test::List;
using test::Lists;

// --- what a case says -------------------------------------------------------------------------------------------------
inline List list(const json& body, const char* key) { return body.at(key).get<List>(); }
inline Lists lists(const json& body, const char* key) { return body.at(key).get<Lists>(); }
inline std::int64_t number(const json& body, const char* key) { return body.at(key).get<std::int64_t>(); }
inline int ranks(const json& body) { return body.at("ranks").get<int>(); }
inline bool has(const json& body, const char* key) { return body.contains(key) && !body[key].is_null(); }
template <class T>
T param(const json& body, const char* key, T otherwise) {
    return body.contains("params") && has(body["params"], key) ? body["params"][key].get<T>() : otherwise;
}

// --- what the library makes of it -------------------------------------------------------------------------------------
inline List offsets_of(const List& lengths) {
    List cu(1, 0);
    for (const std::int64_t length : lengths)
        cu.push_back(cu.back() + length);
    return cu;
}
inline List numbered(std::int64_t count, std::int64_t first = 0) { return test::range(first, first + count); }

// Offsets with every document padded, and with a tail.
inline List padded_to(const List& cu, std::int64_t multiple) {
    List out(cu.size());
    sp::padded_offsets(thrust::seq, cu, multiple, out);
    return out;
}
inline List with_tail(const List& cu, std::int64_t multiple, sp::Tail tail) {
    List out(cu.size() + (tail == sp::Tail::own_document ? 1 : 0));
    sp::padded_offsets(thrust::seq, cu, multiple, tail, out);
    return out;
}
inline List document_positions(const List& cu) {
    List out(static_cast<std::size_t>(cu.back()));
    sp::document_positions(thrust::seq, cu, out);
    return out;
}
inline List document_positions(const List& cu, std::int64_t length, sp::Tail tail) {
    List out(static_cast<std::size_t>(length));
    sp::document_positions(thrust::seq, cu, tail, out);
    return out;
}
template <class F>
List shifted(const List& in, const List& cu, const F& edge) {
    List out(in.size());
    sp::shift_labels(thrust::seq, in, cu, 1, edge, out);
    return out;
}
template <class F>
List shifted(const List& in, const F& edge) {
    List out(in.size());
    sp::shift_labels(thrust::seq, in, 1, edge, out);
    return out;
}
template <sp::Layout L>
Lists held(const L& layout, const List& whole) {
    Lists shards;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        List& out = shards.emplace_back(static_cast<std::size_t>(layout.slots(rank)));
        sp::shard(thrust::seq, layout, rank, whole, sp::axis<0>, out);
    }
    return shards;
}
template <sp::Layout L>
Lists held(const L& layout, const List& whole, std::int64_t fill) {
    Lists shards;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        List& out = shards.emplace_back(static_cast<std::size_t>(layout.slots(rank)));
        sp::shard(thrust::seq, layout, rank, whole, sp::axis<0>, out, fill);
    }
    return shards;
}
// Numbers of the real tokens that the ranks hold, with -1 for pads; and 1 at pads, or at tokens.
template <sp::Layout L>
Lists tokens_of(const L& layout) {
    return held(layout, numbered(layout.source_size()), -1);
}
template <sp::Layout L>
Lists marks(const L& layout, std::int64_t at_tokens, std::int64_t at_pads) {
    return held(layout, List(static_cast<std::size_t>(layout.source_size()), at_tokens), at_pads);
}
// The Kind that a call throws; ok where it throws nothing.
template <class F>
sp::Kind refusal(F call) {
    try {
        call();
    } catch (const sp::Error& error) {
        return error.status().kind();
    }
    return sp::Kind::ok;
}

// --- which case is whose ----------------------------------------------------------------------------------------------
struct Outcome {
    int checked = 0;     // must be as recorded
    int illegal = 0;     // illegal for the trainer: refused here, or answered with the right list
    int exceptions = 0;  // the trainer breaks the rules
    int unknown = 0;     // no rule here for this function
};

// A rule gets a case and CHECKs it. `broken`: the case is listed in exceptions.json, and what the trainer breaks must differ.
using Rule = void (*)(const json& body, bool broken);
struct Rules {
    std::string function;  // the head's function begins with it
    Rule legal;
    Rule illegal;  // null: none was recorded
};

inline void run_rules(const std::string& kind, const std::vector<Rules>& rules) {
    std::map<std::string, Outcome> outcomes;
    std::vector<Exception> listed = exceptions();
    int cases_seen = 0;
    int files_unknown = 0;
    for (const Case& c : cases("layouts")) {
        if (c.kind() != kind) continue;
        ++cases_seen;
        const std::string function = c.head.value("function", std::string());
        Outcome& outcome = outcomes[function];
        const std::string name = c.name();
        CAPTURE(name);
        const Rules* rule = nullptr;
        for (const Rules& r : rules) {
            if (function.rfind(r.function, 0) == 0) rule = &r;
        }
        const Rule test = rule == nullptr ? nullptr : c.illegal() ? rule->illegal : rule->legal;
        if (test == nullptr) {
            ++outcome.unknown;
            ++files_unknown;
            continue;
        }
        bool broken = false;
        for (Exception& exception : listed) {
            if (!exception.is(c)) continue;
            broken = true;
            CHECK_FALSE(exception.reason.empty());
        }
        try {
            test(c.body, broken);
        } catch (const std::exception& error) {
            FAIL_CHECK(error.what());
        }
        ++(broken ? outcome.exceptions : c.illegal() ? outcome.illegal : outcome.checked);
    }
    std::printf("%-10s %-62s %7s %8s %10s %8s\n", "kind", "function", "checked", "illegal", "exceptions", "unknown");
    for (const auto& [function, o] : outcomes) {
        std::printf("%-10s %-62.62s %7d %8d %10d %8d\n", kind.c_str(), function.c_str(), o.checked, o.illegal,
                    o.exceptions, o.unknown);
    }
    if (std::getenv("SEQPAR_GOLDEN") == nullptr) {
        CHECK(cases_seen > 0);
        CHECK_MESSAGE(files_unknown == 0, files_unknown, " cases of functions that have no rule here");
    }
}

}  // namespace golden
