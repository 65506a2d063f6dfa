// What a case of kind layout must be answered with, worked out from LAYOUTS.md alone in plain loops that share nothing with
// the library: whether it is legal, and then the lists. It decides the illegal cases, and the recorded ones check it.
#pragma once

#include "layout/lists.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <set>
#include <string>

namespace golden {

struct Reference {
    bool legal = false;
    test::Lists shards{};
    test::List restore{};
};

inline Reference reference(const nlohmann::json& body) {
    using test::List;
    const std::string name = body.at("layout");
    const char letter = name.at(0);
    const auto ranks = body.at("ranks").get<std::int64_t>();
    const auto length = body.at("length").get<std::int64_t>();
    const auto real = body.value("real_length", length);
    const nlohmann::json params = body.contains("params") ? body["params"] : nlohmann::json::object();
    const auto param = [&](const char* key, std::int64_t otherwise) { return params.value(key, otherwise); };

    // Params that are known, and consistent.
    static const std::set<std::string> known{"stripe",
                                             "ring",
                                             "ulysses",
                                             "cp",
                                             "tp",
                                             "uneven",
                                             "axis",
                                             "shape",
                                             "pad_multiple",
                                             "pad_scale",
                                             "key",
                                             "row",
                                             "caller_buffer_after",
                                             "cu_seqlens_real"};
    for (const auto& item : params.items()) {
        if (known.count(item.key()) == 0) return {};
    }
    if (params.contains("shape")) {
        const List shape = params["shape"];
        const auto axes = static_cast<std::int64_t>(shape.size());
        const std::int64_t axis = params.at("axis");
        if (axis < -axes || axis >= axes) return {};
        if (shape[static_cast<std::size_t>(axis < 0 ? axis + axes : axis)] != real) return {};
    }

    // Documents: from 0, never decreasing, to the length; F alone may end early.
    const bool documents = body.contains("cu_seqlens") && !body["cu_seqlens"].is_null();
    const List cu = documents ? body["cu_seqlens"].get<List>() : List{0, length};
    if (!documents && (letter == 'B' || letter == 'G')) return {};
    if (cu.empty() || cu.front() != 0 || !std::is_sorted(cu.begin(), cu.end())) return {};
    if (letter == 'F' ? cu.back() > length : cu.back() != length) return {};

    const std::int64_t T = name.size() > 1 ? param("tp", 1) : 1;
    const std::int64_t P = ranks / T;
    const std::int64_t U = letter == 'H' || letter == 'I' ? param("ulysses", 1) : 1;
    const std::int64_t R = P / U;
    if (R * U * T != ranks || (params.contains("ring") && param("ring", 1) * param("ulysses", 1) != P)) return {};

    // The letter's own rule over R ranks: how it deals n tokens, and what n must be a multiple of.
    const std::int64_t w = letter == 'E' ? param("stripe", 1) : 1;
    const bool uneven = letter == 'F' && params.value("uneven", false);
    std::int64_t multiple = R;
    std::function<List(std::int64_t, std::int64_t, std::int64_t)> formula = test::formula_f;
    if (letter == 'A' || letter == 'B' || letter == 'H') {
        multiple = R == 1 ? 1 : 2 * R;
        formula = test::formula_a;
    } else if (letter == 'E' || letter == 'I') {
        multiple = R == 1 ? 1 : R * w;
        formula = [w](std::int64_t S, std::int64_t ring, std::int64_t r) { return test::formula_e(S, ring, r, w); };
    } else if (uneven) {
        multiple = 1;
        formula = test::formula_f_even;
    }
    const bool inside = letter == 'B' || letter == 'G' || (letter == 'H' && documents);
    const List lengths = inside ? cu : List{0, length};
    for (std::size_t d = 0; d + 1 < lengths.size(); ++d) {
        if ((lengths[d + 1] - lengths[d]) % multiple != 0) return {};
    }

    Reference answer;
    answer.restore.resize(static_cast<std::size_t>(length), -1);
    std::int64_t gathered = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const List outer = test::formula_inside(lengths, R, rank / (U * T), formula);
        const auto n = static_cast<std::int64_t>(outer.size());
        if (n % U != 0 || n / U % T != 0) return {};
        List shard = test::part_of(test::part_of(outer, rank / T % U, U), rank % T, T);
        for (std::int64_t& position : shard) {
            answer.restore.at(static_cast<std::size_t>(position)) = gathered++;
            if (position >= real) position = -1;
        }
        answer.shards.push_back(shard);
    }
    answer.legal = true;
    return answer;
}

}  // namespace golden
