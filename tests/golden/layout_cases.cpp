// Every golden case of kind layout, through the code of examples/inspect: recorded lists must come out number by number,
// illegal input must be refused, or, where only the peer refuses it, be answered with the list that docs/design.md gives. Prints
// how many cases of every kind and layout ran and how many are not served yet: none is left out in silence.
#include "cases.hpp"
#include "reference.hpp"

#include "inspect/answer.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <map>
#include <set>

using golden::Case;
using golden::json;

namespace {

// What must be served; more may be.
const std::set<std::string> served_layouts{"A", "B", "C", "D", "E",     "F",   "G",
                                           "H", "I", "J", "K", "whole", "A+M", "B+M"};

const std::vector<std::string> outputs{"shards", "restore",         "positions", "position_ids", "keys",
                                       "parts",  "forward_restore", "outcome",   "illegal",      "cu_seqlens_by_rank"};

struct Count {
    int equal = 0;       // recorded lists that came out
    int refused = 0;     // illegal input, an error
    int right = 0;       // illegal for the peer alone: the list of docs/design.md
    int exceptions = 0;  // the peer breaks the rules
    int not_served = 0;
    int elsewhere = 0;  // of other kinds
    int wrong = 0;
};

bool serves(const Case& c) { return c.kind() == "layout" && served_layouts.count(c.layout()) != 0; }

std::string error_kind(const json& answer) {
    return answer.contains("error") ? answer["error"].at("kind").get<std::string>() : std::string();
}

// Whether the answer has the lists of the case.
bool agrees(const Case& c, const json& answer) {
    if (answer.contains("error")) return false;
    if (answer.at("shards") != c.body.at("shards")) return false;
    return !c.body.contains("restore") || answer.at("restore") == c.body["restore"];
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
    if (c.kind() != "layout") {  // see other_kinds.cpp and the tests of the library
        if (golden::Exception* const exception = exception_of(exceptions, c)) exception->met = true;
        ++count.elsewhere;
        return;
    }
    const json answer = inspect::answer(golden::request(c, outputs));
    CAPTURE(answer.dump());
    if (error_kind(answer) == "unsupported") {
        CHECK(!serves(c));
        ++count.not_served;
        return;
    }
    const golden::Reference reference = golden::reference(c.body);
    const bool as_reference = answer.contains("error")
                                  ? !reference.legal
                                  : reference.legal && answer.at("shards") == json(reference.shards) &&
                                        answer.at("restore") == json(reference.restore);
    CHECK(as_reference);
    if (c.illegal()) {
        ++(!as_reference ? count.wrong : answer.contains("error") ? count.refused : count.right);
        return;
    }
    if (golden::Exception* const exception = exception_of(exceptions, c)) {
        exception->met = true;
        CHECK_MESSAGE(!agrees(c, answer), "an exception that is none");
        ++count.exceptions;
        return;
    }
    const bool equal = agrees(c, answer);
    CHECK(equal);
    ++(equal ? count.equal : count.wrong);
}

void print(const std::map<std::pair<std::string, std::string>, Count>& counts) {
    std::printf("golden cases in %s\n", (golden::folder() / "layouts").c_str());
    std::printf("%-10s %-6s %6s %8s %6s %10s %6s %11s\n", "kind", "layout", "equal", "refused", "right", "exceptions",
                "wrong", "not served");
    Count all;
    for (const auto& [key, count] : counts) {
        if (count.elsewhere != 0) continue;
        std::printf("%-10s %-6s %6d %8d %6d %10d %6d %11d\n", key.first.c_str(), key.second.c_str(), count.equal,
                    count.refused, count.right, count.exceptions, count.wrong, count.not_served);
        all.equal += count.equal;
        all.refused += count.refused;
        all.right += count.right;
        all.exceptions += count.exceptions;
        all.wrong += count.wrong;
        all.not_served += count.not_served;
    }
    std::printf("%-10s %-6s %6d %8d %6d %10d %6d %11d\n", "all", "", all.equal, all.refused, all.right, all.exceptions,
                all.wrong, all.not_served);
    std::printf(
        "equal: as recorded; refused: illegal input, an error; right: refused by the peer alone, as docs/design.md "
        "says\n");
}

}  // namespace

TEST_CASE("every golden layout comes out number by number, and illegal input is refused") {
    std::vector<golden::Exception> exceptions = golden::exceptions();
    std::map<std::pair<std::string, std::string>, Count> counts;
    std::size_t cases = 0;
    for (const Case& c : golden::cases("layouts")) {
        count_case(c, exceptions, counts[{c.kind(), c.layout()}]);
        ++cases;
    }
    print(counts);
    CHECK(cases > 0);
    if (std::getenv("SEQPAR_GOLDEN") == nullptr) {
        for (const std::string& layout : served_layouts) {
            CAPTURE(layout);
            CHECK((layout == "B+M" || counts[{"layout", layout}].equal > 0));  // B+M occurs in other kinds only
        }
    }
    int counted = 0;
    for (const auto& [key, count] : counts) {
        counted += count.equal + count.refused + count.right + count.exceptions + count.wrong + count.not_served +
                   count.elsewhere;
    }
    CHECK(counted == static_cast<int>(cases));
    for (const golden::Exception& exception : exceptions) {
        const std::string name = exception.file + " / " + exception.name;
        CHECK_MESSAGE(exception.met, name, " of exceptions.json is no case that ran");
        CHECK_MESSAGE(!exception.reason.empty(), name, " has no reason");
    }
}

TEST_CASE("a recorded list that is changed in one place is found") {
    int changed = 0;
    for (Case c : golden::cases("layouts")) {
        if (!serves(c) || c.illegal() || c.body["length"] < 2) continue;
        const json answer = inspect::answer(golden::request(c, outputs));
        if (!agrees(c, answer)) continue;  // an exception
        json& first = c.body["shards"][0];
        if (first.empty()) continue;
        first[0] = first[0].get<std::int64_t>() + 1;
        REQUIRE(!agrees(c, answer));
        ++changed;
    }
    MESSAGE(changed, " lists changed");
}

// Cases of kind relayout hold two lists of a layout each, +M among them. (Where a peer deals a document that B cannot, by a
// rule of its own, the request is refused: miles, for its pads.)
TEST_CASE("the lists before and after a relayout are those of the layouts") {
    std::map<std::string, int> equal;
    for (const Case& c : golden::cases("layouts")) {
        if (c.kind() != "relayout" || c.illegal()) continue;
        for (const auto& [layout, shards] : {std::pair{"layout", "shards"}, std::pair{"target", "target_shards"}}) {
            if (!c.body.contains(layout) || !c.body.contains(shards)) continue;
            json request = {{"kind", "layout"}, {"layout", c.body[layout]}, {"params", json::object()}};
            for (const char* key : {"ranks", "length", "cu_seqlens"})
                request[key] = c.body.value(key, json());
            for (const char* key : {"cp", "tp"}) {
                if (c.body.contains("params") && c.body["params"].contains(key))
                    request["params"][key] = c.body["params"][key];
            }
            const std::string name = c.name();
            CAPTURE(name);
            const json answer = inspect::answer(request);
            const bool legal = golden::reference(request).legal;
            CHECK(answer.contains("error") == !legal);
            if (!legal) continue;
            CHECK(answer.at("shards") == c.body[shards]);
            ++equal[c.body[layout]];
        }
    }
    if (std::getenv("SEQPAR_GOLDEN") == nullptr) {
        for (const char* layout : {"A", "B", "F", "G", "A+M", "B+M", "F+M"}) {
            CAPTURE(layout);
            CHECK(equal[layout] > 0);
        }
    }
}
