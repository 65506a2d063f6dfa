// Every golden case of kinds undo_redo, roll, plan, offsets, relayout and halo, through the code of examples/inspect: what
// was recorded must come out number by number. Illegal input must be refused, or, where only the peer refuses it, be
// answered with what docs/design.md gives, worked out here in plain loops. Prints how many cases of every kind ran.
// Not here: kind layout (layout_cases.cpp), and the kinds whose meaning belongs to a function (tests of the library).
#include "cases.hpp"
#include "reference.hpp"

#include "inspect/answer.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <map>
#include <optional>

using golden::Case;
using golden::json;
using test::List;
using test::Lists;

namespace {

const std::vector<std::string> outputs{
    "undo",    "redo",       "undo_redo",  "outputs",      "windows",
    "groups",  "partitions", "per_rank",   "halos",        "shards",
    "first",   "second",     "key_ranges", "sequence_ids", "target_shards",
    "outcome", "illegal",    "copied",     "cu",           "per_rank_cuq_cuk_maxq_maxk_keys"};

struct Count {
    int equal = 0;
    int refused = 0;      // illegal input, an error
    int right = 0;        // illegal for the peer alone: what docs/design.md says
    int exceptions = 0;   // the peer breaks the rules
    int unsupported = 0;  // offsets of functions that inspect does not serve
    int wrong = 0;
};

// The functions of kind offsets that are served, and which of the recorded keys of a rank.
bool serves_offsets(const Case& c) {
    const std::string function = c.head.at("function");
    for (const char* begin :
         {"llama3_flash_attn_prepare_cu_seqlens", "get_cu_seqlens_on_cp_rank", "thd_read_half_tensor", "get_half_index",
          "get_cp_cu_seqlens", "shard_position_ids_for_cp"}) {
        if (function.rfind(begin, 0) == 0) return true;
    }
    return false;
}

// Every key that both have, and null of the peer's is no statement. `compared` counts what was held against each other.
bool agrees(const json& recorded, const json& answer, int& compared) {
    if (recorded.is_null()) return true;
    if (recorded.is_object() && answer.is_object()) {
        for (const auto& [key, value] : answer.items()) {
            if (recorded.contains(key) && !agrees(recorded[key], value, compared)) return false;
        }
        return true;
    }
    if (recorded.is_array() && answer.is_array()) {
        if (recorded.size() != answer.size()) return false;
        for (std::size_t i = 0; i < answer.size(); ++i) {
            if (!agrees(recorded[i], answer[i], compared)) return false;
        }
        ++compared;
        return true;
    }
    ++compared;
    return recorded == answer;
}

List documents_of(const json& body) {
    const bool given = body.contains("cu_seqlens") && !body["cu_seqlens"].is_null();
    return given ? body["cu_seqlens"].get<List>() : List{0, body.at("length").get<std::int64_t>()};
}

// The document of a position, [first, last); what comes after the offsets is one more.
std::pair<std::int64_t, std::int64_t> document(const List& cu, std::int64_t position, std::int64_t length) {
    for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
        if (position >= cu[d] && position < cu[d + 1]) return {cu[d], cu[d + 1]};
    }
    return {cu.back(), length};
}

// The runs of a shard: consecutive positions, which a chunk's end cuts too under zigzag.
std::vector<std::pair<std::int64_t, std::int64_t>> runs_of(const List& shard, std::int64_t chunk) {
    std::vector<std::pair<std::int64_t, std::int64_t>> runs;
    for (std::size_t t = 0; t < shard.size(); ++t) {
        const bool cut = chunk > 0 && static_cast<std::int64_t>(t) % chunk == 0;
        if (t == 0 || cut || shard[t] != shard[t - 1] + 1) runs.emplace_back(shard[t], shard[t]);
        runs.back().second = shard[t] + 1;
    }
    return runs;
}

// What docs/design.md gives for a case that the peer refuses or gets wrong; none where it is no legal input.
std::optional<json> expected(const Case& c) {
    static const std::set<std::string> of_the_kind{
        "shift", "window", "side", "stops_at_documents", "kernel", "csa_window", "ratio", "ratios", "causal"};
    const json& body = c.body;
    if (!body.contains("layout") || !body.contains("ranks") || body["ranks"] < 1) return std::nullopt;
    if (c.kind() == "plan") {
        if (body["layout"] == "D" && body["work"].size() % body["ranks"].get<std::size_t>() != 0) return std::nullopt;
        return body["layout"] == "D" ? json{{"groups", golden::dealt_d(body["work"], body["ranks"])}}
                                     : json{{"partitions", golden::dealt_j(body["work"], body["ranks"])}};
    }
    if (!body.contains("length") || !body["length"].is_number()) return std::nullopt;
    const std::int64_t length = body["length"];
    const golden::Reference from = golden::reference(body, of_the_kind);
    if (!from.legal) return std::nullopt;
    const json params = body.contains("params") ? body["params"] : json::object();
    const List cu = documents_of(body);
    json answer = json::object();
    if (c.kind() == "undo_redo") {
        List redo;
        for (const List& shard : from.shards)
            redo = test::joined(redo, shard);
        answer = {{"undo", from.restore}, {"redo", redo}};
    } else if (c.kind() == "roll") {
        Lists all;
        for (List shard : from.shards) {
            for (std::int64_t& p : shard) {
                if (params.contains("shift")) {
                    p = ((p - params["shift"].get<std::int64_t>()) % length + length) % length;
                } else {
                    p = p < cu.back() && p + 1 < document(cu, p, length).second ? p + 1 : -1;
                }
            }
            all.push_back(shard);
        }
        answer = {{"outputs", all}};
    } else if (c.kind() == "halo") {
        if (!params.contains("window")) return std::nullopt;
        const std::int64_t window = params["window"];
        const bool right = params.value("side", "left") == "right";
        const bool stops = params.value("stops_at_documents", true);
        Lists all;
        for (const List& shard : from.shards) {
            const bool chunks = body["layout"] == "A" && from.shards.size() > 1;
            List halo;
            for (const auto& [first, last] : runs_of(shard, chunks ? static_cast<std::int64_t>(shard.size()) / 2 : 0)) {
                const auto inside =
                    stops ? document(cu, right ? last - 1 : first, length) : std::pair{std::int64_t{0}, length};
                for (std::int64_t p = right ? last : first - window; p < (right ? last + window : first); ++p)
                    halo.push_back(p >= inside.first && p < inside.second ? p : -1);
            }
            all.push_back(halo);
        }
        answer = {{"halos", all}};
    } else if (c.kind() == "relayout") {
        json other = body;
        other["layout"] = body["target"];
        const golden::Reference to = golden::reference(other, of_the_kind);
        if (!to.legal) return std::nullopt;
        answer = {{"shards", from.shards}, {"target_shards", to.shards}};
    }
    return answer;
}

// Of illegal offsets there is what was recorded, where it came back and the offsets break no rule of docs/design.md.
std::optional<json> expected_offsets(const Case& c) {
    const std::string recorded = "per_rank_cuq_cuk_maxq_maxk_keys";
    if (!c.body.contains(recorded)) return std::nullopt;
    json ranks = json::array();
    for (const json& r : c.body[recorded])
        ranks.push_back({{"cu_q", r[0]}, {"cu_k", r[1]}, {"max_q", r[2]}, {"max_k", r[3]}, {"keys", r[4]}});
    return json{{"per_rank", ranks}};
}

golden::Exception* exception_of(std::vector<golden::Exception>& all, const Case& c) {
    for (golden::Exception& exception : all) {
        if (exception.is(c)) return &exception;
    }
    return nullptr;
}

void count_case(const Case& c, std::vector<golden::Exception>& exceptions, Count& count) {
    const std::string name = c.name();
    CAPTURE(name);
    json request = golden::request(c, outputs);
    const json answer = inspect::answer(request);
    CAPTURE(answer.dump());
    const bool refused = answer.contains("error");
    if (refused && answer["error"]["kind"] == "unsupported") {
        CHECK((c.kind() == "offsets" && !serves_offsets(c)));
        ++count.unsupported;
        return;
    }
    int compared = 0;
    const std::optional<json> right = c.kind() == "offsets" ? expected_offsets(c) : expected(c);
    const bool as_reference = right ? !refused && agrees(*right, answer, compared) && compared > 0 : refused;
    if (c.kind() != "offsets" || c.illegal()) CHECK(as_reference);
    if (c.illegal()) {
        ++(!as_reference ? count.wrong : refused ? count.refused : count.right);
        return;
    }
    compared = 0;
    const bool equal = !refused && agrees(c.body, answer, compared) && compared > 0;
    if (golden::Exception* const exception = exception_of(exceptions, c)) {
        exception->met = true;
        CHECK_MESSAGE(!equal, "an exception that is none");
        ++count.exceptions;
        return;
    }
    CHECK(equal);
    ++(equal ? count.equal : count.wrong);
}

const std::set<std::string> kinds{"undo_redo", "roll", "plan", "offsets", "relayout", "halo"};

// The first integer in `value`, in depth; null where there is none.
json* first_number(json& value) {
    if (value.is_number_integer()) return &value;
    if (!value.is_structured()) return nullptr;
    for (json& entry : value) {
        if (json* found = first_number(entry)) return found;
    }
    return nullptr;
}

}  // namespace

TEST_CASE("golden cases of the kinds that say what is done with a layout come out number by number") {
    std::vector<golden::Exception> exceptions = golden::exceptions();
    std::map<std::string, Count> counts;
    int cases = 0;
    for (const Case& c : golden::cases("layouts")) {
        if (kinds.count(c.kind()) == 0) continue;
        count_case(c, exceptions, counts[c.kind()]);
        ++cases;
    }
    std::printf("%-10s %6s %8s %6s %10s %12s %6s\n", "kind", "equal", "refused", "right", "exceptions", "unsupported",
                "wrong");
    int counted = 0;
    for (const auto& [kind, n] : counts) {
        std::printf("%-10s %6d %8d %6d %10d %12d %6d\n", kind.c_str(), n.equal, n.refused, n.right, n.exceptions,
                    n.unsupported, n.wrong);
        counted += n.equal + n.refused + n.right + n.exceptions + n.unsupported + n.wrong;
    }
    CHECK(counted == cases);
    if (std::getenv("SEQPAR_GOLDEN") != nullptr) return;
    for (const std::string& kind : kinds) {
        CAPTURE(kind);
        CHECK(counts[kind].equal > 0);
    }
}

TEST_CASE("a recorded number of any kind that is changed is found") {
    std::map<std::string, int> changed;
    for (const Case& c : golden::cases("layouts")) {
        if (kinds.count(c.kind()) == 0 || c.illegal()) continue;
        const json answer = inspect::answer(golden::request(c, outputs));
        int compared = 0;
        if (answer.contains("error") || !agrees(c.body, answer, compared)) continue;
        for (const auto& [key, value] : answer.items()) {
            json body = c.body;
            json* const number = body.contains(key) ? first_number(body[key]) : nullptr;
            if (number == nullptr) continue;
            *number = number->get<std::int64_t>() + 1;
            const std::string name = c.name() + " / " + key;
            CAPTURE(name);
            // Of a rank's offsets only some keys are served.
            if (c.kind() == "offsets" && key == "per_rank" && !answer[key][0].contains(body[key][0].begin().key()))
                continue;
            REQUIRE(!agrees(body, answer, compared));
            ++changed[c.kind()];
        }
    }
    if (std::getenv("SEQPAR_GOLDEN") != nullptr) return;
    for (const std::string& kind : kinds) {
        CAPTURE(kind);
        CHECK(changed[kind] > 0);
    }
}
