// Golden requests with bytes and values changed at random, from a fixed seed: whatever comes, the answer is one line of JSON
// with lists or an error, and lists are a permutation. SEQPAR_MUTATIONS sets how many (20,000). Run it under sanitizers.
#include "cases.hpp"

#include "layout/random.hpp"

#include "inspect/answer.hpp"

#include <doctest/doctest.h>

#include <set>

using golden::json;
using test::Random;

namespace {

std::string random_token(Random& random) {
    static const std::vector<std::string> tokens{"0",
                                                 "-1",
                                                 "1",
                                                 "2",
                                                 "3",
                                                 "8",
                                                 "13",
                                                 "4611686018427387904",
                                                 "9223372036854775807",
                                                 "-9223372036854775808",
                                                 "1e9",
                                                 "0.5",
                                                 "[]",
                                                 "{}",
                                                 "null",
                                                 "\"",
                                                 "true",
                                                 "18446744073709551616",
                                                 "NaN",
                                                 "[0,8,12]",
                                                 "\"B\"",
                                                 "\"A+M\"",
                                                 "\"H\"",
                                                 "[",
                                                 "]",
                                                 "{",
                                                 "}",
                                                 ",",
                                                 ":",
                                                 "\xff",
                                                 "\"tp\":2",
                                                 "\"ring\":2",
                                                 "\"ulysses\":2",
                                                 "\"uneven\":true",
                                                 "\"stripe\":3",
                                                 "\"real_length\":5",
                                                 "\\u0000",
                                                 "[0,0,0]"};
    return tokens[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(tokens.size()) - 1))];
}

// Replaces the number or word that begins near `at`, or some bytes.
void mutate_text(Random& random, std::string& line) {
    const auto at = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(line.size()) - 1));
    switch (random.between(0, 4)) {
        case 0: line[at] = static_cast<char>(random.between(1, 255)); break;
        case 1: line.erase(at, static_cast<std::size_t>(random.between(1, 5))); break;
        case 2: line.insert(at, random_token(random)); break;
        case 3: line.insert(at, line.substr(at, static_cast<std::size_t>(random.between(1, 20)))); break;
        default: {
            const std::size_t begin = line.find_first_of("0123456789", at);
            if (begin == std::string::npos) break;
            const std::size_t end = line.find_first_not_of("0123456789", begin);
            line.replace(begin, end == std::string::npos ? end : end - begin, random_token(random));
        }
    }
    if (line.empty()) line = "{";
}

// Changes one value of the request, which stays JSON: reaches further than bytes do.
void mutate_value(Random& random, json& request) {
    static const std::vector<std::string> keys{"ranks", "length", "real_length", "layout", "cu_seqlens",
                                               "kind",  "params", "target",      "work",   "local_cu_seqlens"};
    static const std::vector<std::string> params{
        "stripe", "ring",  "ulysses",     "cp",         "tp",   "uneven", "axis",  "shape",  "pad_scale", "block",
        "work",   "chunk", "given_chunk", "partitions", "mask", "mixed",  "shift", "window", "side"};
    static const std::vector<json> values{0,
                                          1,
                                          2,
                                          3,
                                          4,
                                          6,
                                          8,
                                          12,
                                          16,
                                          300,
                                          5000,
                                          -1,
                                          INT64_MAX,
                                          INT64_MIN,
                                          4194305,
                                          true,
                                          nullptr,
                                          "A",
                                          "B",
                                          "C",
                                          "D",
                                          "J",
                                          "full",
                                          "right",
                                          "roll",
                                          "halo",
                                          "undo_redo",
                                          json::array({json::array({0, 1}), json::array({1, 2})}),
                                          "E+M",
                                          "F",
                                          "G+M",
                                          "H",
                                          "H+M",
                                          "I",
                                          "layout",
                                          0.0,
                                          json::array(),
                                          json::array({0, 8}),
                                          json::array({0, 4, 4, 12}),
                                          json::array({8}),
                                          json::object()};
    const json& value =
        values[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(values.size()) - 1))];
    if (random.once_in(2)) {
        request[keys[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(keys.size()) - 1))]] = value;
    } else {
        json& object = request["params"];
        if (!object.is_object()) object = json::object();
        object[params[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(params.size()) - 1))]] =
            value;
    }
}

// Whether every position is on one rank, once, and restore leads back to it.
bool is_permutation(const json& answer) {
    std::vector<std::int64_t> gathered;
    for (const json& shard : answer.at("shards")) {
        for (const json& position : shard)
            gathered.push_back(position.get<std::int64_t>());
    }
    const auto restore = answer.at("restore").get<std::vector<std::int64_t>>();
    if (restore.size() != gathered.size()) return false;
    for (std::size_t j = 0; j < restore.size(); ++j) {
        const std::int64_t position = gathered.at(static_cast<std::size_t>(restore[j]));
        if (position != static_cast<std::int64_t>(j) && position != -1) return false;
    }
    return true;
}

const std::set<std::string> kinds{"layout", "undo_redo", "roll", "plan", "offsets", "relayout", "halo"};

}  // namespace

TEST_CASE("no change of a request ends the program or gives lists that are none") {
    std::vector<json> requests;
    for (const golden::Case& c : golden::cases("layouts")) {
        const bool served = kinds.count(c.kind()) != 0 && c.layout() != "whole";  // whose lists are copies
        if (served) {
            requests.push_back(golden::request(c, {"shards", "restore", "positions", "position_ids", "target_shards",
                                                   "per_rank", "undo", "redo", "outputs", "halos"}));
        }
    }
    REQUIRE(!requests.empty());
    const char* const wanted = std::getenv("SEQPAR_MUTATIONS");
    const int mutations = wanted != nullptr ? std::atoi(wanted) : 20000;
    Random random(31);
    int lists = 0;
    for (int i = 0; i < mutations; ++i) {
        json request =
            requests[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(requests.size()) - 1))];
        const bool values = random.once_in(2);
        if (values) {
            for (std::int64_t n = random.once_in(3) ? 3 : 1; n > 0; --n)
                mutate_value(random, request);
        }
        std::string line = request.dump();
        if (!values) {
            for (std::int64_t n = random.once_in(3) ? 3 : 1; n > 0; --n)
                mutate_text(random, line);
        }
        const std::string answer = inspect::answer_line(line);
        const json parsed = json::parse(answer, nullptr, false);
        const bool one_of_both =
            parsed.is_object() && (parsed.contains("error") ? parsed["error"].at("kind").is_string()
                                                            : !parsed.contains("restore") || is_permutation(parsed));
        if (!one_of_both || answer.find('\n') != std::string::npos) {
            CAPTURE(line);
            CAPTURE(answer.substr(0, 1000));
            REQUIRE(one_of_both);
        }
        lists += parsed.contains("error") ? 0 : 1;
    }
    CHECK(lists > mutations / 50);  // else the changes are too wild to reach the layouts
    CHECK(lists < mutations);
    MESSAGE(mutations, " requests, ", lists, " answered with lists");
}
