// What a case of kind layout must be answered with, worked out from docs/design.md alone in plain loops that share nothing with
// the library: whether it is legal, and then the lists. It decides the illegal cases, and the recorded ones check it.
#pragma once

#include "layout/lists.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

namespace golden {

struct Reference {
    bool legal = false;
    test::Lists shards{};
    test::List restore{};
};

inline Reference lists_of(const test::Lists& shards, std::int64_t length) {
    Reference answer{true, shards, test::List(static_cast<std::size_t>(length), -1)};
    std::int64_t gathered = 0;
    for (const test::List& shard : shards) {
        for (const std::int64_t position : shard) {
            std::int64_t& at = answer.restore.at(static_cast<std::size_t>(position));
            if (at < 0) at = gathered;  // of an array that every rank holds, the first
            ++gathered;
        }
    }
    return answer;
}

// C: every document dealt by A, the shards joined over ranks, then over documents; that list cut into equal parts.
inline Reference reference_c(const test::List& cu, std::int64_t ranks, std::int64_t length) {
    test::List all;
    for (std::size_t d = 0; d + 1 < cu.size(); ++d) {
        const std::int64_t n = cu[d + 1] - cu[d];
        if (ranks > 1 && n % (2 * ranks) != 0) return {};
        for (std::int64_t r = 0; r < ranks; ++r)
            all = test::joined(all, test::moved(test::formula_a(n, ranks, r), cu[d]));
    }
    test::Lists shards;
    for (std::int64_t r = 0; r < ranks; ++r)
        shards.push_back(test::part_of(all, r, ranks));
    return lists_of(shards, length);
}

// The positions of each rank's blocks; the last block may be short.
inline Reference of_blocks(test::Lists parts, std::int64_t width, std::int64_t length) {
    test::Lists shards;
    for (test::List& part : parts) {
        std::sort(part.begin(), part.end());
        test::List shard;
        for (const std::int64_t b : part)
            shard = test::joined(shard, test::range(b * width, std::min(length, (b + 1) * width)));
        shards.push_back(shard);
    }
    return lists_of(shards, length);
}

inline std::size_t document_of(const test::List& cu, std::int64_t position) {
    return static_cast<std::size_t>(std::upper_bound(cu.begin(), cu.end(), position) - cu.begin()) - 1;
}

// D: blocks by work, dealt in rows of ranks, odd rows reversed. Without work: the blocks of keys of a causal mask.
inline test::Lists dealt_d(const test::List& work, std::int64_t ranks) {
    test::List order = test::range(0, static_cast<std::int64_t>(work.size()));
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return work[static_cast<std::size_t>(a)] > work[static_cast<std::size_t>(b)];
    });
    test::Lists parts(static_cast<std::size_t>(ranks));
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(order.size()); ++i) {
        const std::int64_t column = i / ranks % 2 == 0 ? i % ranks : ranks - 1 - i % ranks;
        parts[static_cast<std::size_t>(column)].push_back(order[static_cast<std::size_t>(i)]);
    }
    for (test::List& part : parts)
        std::sort(part.begin(), part.end());
    return parts;
}
inline Reference reference_d(const nlohmann::json& params, const test::List& cu, std::int64_t ranks,
                             std::int64_t length) {
    const std::int64_t block = params.value("block", std::int64_t{0});
    if (block < 1 || length % block != 0 || length / block % ranks != 0) return {};
    test::List work;
    for (std::int64_t q = 0; q < length; q += block)
        work.push_back(q / block - cu[document_of(cu, q)] / block + 1);
    if (params.contains("work") && params["work"].is_array()) work = params["work"].get<test::List>();
    if (static_cast<std::int64_t>(work.size()) != length / block) return {};
    return of_blocks(dealt_d(work, ranks), block, length);
}

// J: the greatest work first, of equal ones the last chunk, each to the least loaded rank with room.
inline test::Lists dealt_j(const test::List& work, std::int64_t ranks) {
    test::List order = test::range(0, static_cast<std::int64_t>(work.size()));
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        const std::int64_t x = work[static_cast<std::size_t>(a)];
        const std::int64_t y = work[static_cast<std::size_t>(b)];
        return x != y ? x > y : a > b;
    });
    const std::size_t most = (work.size() + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
    test::Lists parts(static_cast<std::size_t>(ranks));
    test::List load(parts.size());
    for (const std::int64_t chunk : order) {
        std::size_t least = parts.size();
        for (std::size_t r = 0; r < parts.size(); ++r) {
            if (parts[r].size() < most && (least == parts.size() || load[r] < load[least])) least = r;
        }
        parts[least].push_back(chunk);
        load[least] += work[static_cast<std::size_t>(chunk)];
    }
    return parts;
}
inline Reference reference_j(const nlohmann::json& params, const test::List& cu, std::int64_t ranks,
                             std::int64_t length, std::int64_t real) {
    if (length < 1 || real < 1 || real > length) return {};
    const bool taken = !params.contains("given_chunk") && params.contains("chunk");
    std::int64_t chunk = (real + 8 * ranks - 1) / (8 * ranks);
    if (params.contains("given_chunk") && params["given_chunk"].is_number())
        chunk = std::min(chunk, params["given_chunk"].get<std::int64_t>());
    if (taken) chunk = params["chunk"];
    if (chunk < 1) return {};
    const bool uneven = params.value("uneven", false);
    if (uneven ? real != length : length % (chunk * ranks) != 0) return {};
    if (taken && params.contains("partitions"))
        return of_blocks(params["partitions"].get<test::Lists>(), chunk, length);
    const std::int64_t chunks = (length + chunk - 1) / chunk;
    if (params.value("algorithm", std::string("min_heap")) == "sequential") {
        test::Lists parts;
        for (std::int64_t r = 0; r < ranks; ++r)
            parts.push_back(test::formula_f_even(chunks, ranks, r));
        return of_blocks(parts, chunk, length);
    }
    test::List work(static_cast<std::size_t>(chunks));
    const bool full = params.value("mask", std::string("causal")) == "full";
    for (std::int64_t p = 0; p < real; ++p) {
        const std::size_t d = document_of(cu, p);
        work[static_cast<std::size_t>(p / chunk)] += full ? cu[d + 1] - cu[d] : p - cu[d] + 1;
    }
    return of_blocks(dealt_j(work, ranks), chunk, length);
}

// `of_the_kind`: params that cases of another kind than layout have besides.
inline Reference reference(const nlohmann::json& body, const std::set<std::string>& of_the_kind = {}) {
    using test::List;
    const std::string name = body.at("layout");
    const char letter = name.at(0);
    const auto ranks = body.at("ranks").get<std::int64_t>();
    const auto length = body.at("length").get<std::int64_t>();
    const auto real = body.value("real_length", length);
    const nlohmann::json params = body.contains("params") ? body["params"] : nlohmann::json::object();
    const auto param = [&](const char* key, std::int64_t otherwise) { return params.value(key, otherwise); };
    if (ranks < 1) return {};

    // Params that are known, and consistent.
    static const std::set<std::string> known{"stripe",
                                             "ring",
                                             "ulysses",
                                             "cp",
                                             "tp",
                                             "uneven",
                                             "block",
                                             "work",
                                             "given_chunk",
                                             "chunk",
                                             "mask",
                                             "algorithm",
                                             "partitions",
                                             "local_cp_size",
                                             "mixed",
                                             "axis",
                                             "shape",
                                             "pad_multiple",
                                             "pad_scale",
                                             "key",
                                             "row",
                                             "caller_buffer_after",
                                             "cu_seqlens_real"};
    for (const auto& item : params.items()) {
        if (known.count(item.key()) == 0 && of_the_kind.count(item.key()) == 0) return {};
    }
    // Those of plans have one layout, work two.
    static const std::vector<std::pair<const char*, std::string>> of_plans{
        {"local_cp_size", "K"}, {"block", "D"}, {"work", "DJ"},     {"given_chunk", "J"},
        {"chunk", "J"},         {"mask", "J"},  {"algorithm", "J"}, {"partitions", "J"}};
    for (const auto& [key, some] : of_plans) {
        if (params.contains(key) && some.find(letter) == std::string::npos) return {};
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
    if (!documents && (letter == 'B' || letter == 'C' || letter == 'G')) return {};
    if (cu.empty() || cu.front() != 0 || !std::is_sorted(cu.begin(), cu.end())) return {};
    if (letter == 'F' ? cu.back() > length : cu.back() != (letter == 'J' ? real : length)) return {};

    if (name == "whole") return lists_of(test::Lists(static_cast<std::size_t>(ranks), test::range(0, length)), length);
    if (letter == 'J') return reference_j(params, cu, ranks, length, real);
    if (letter == 'D') return reference_d(params, cu, ranks, length);
    if (letter == 'C') return reference_c(cu, ranks, length);
    if (letter == 'K' && param("local_cp_size", ranks) != ranks) return {};

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
    if (std::string("ABHK").find(letter) != std::string::npos) {
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
    if (letter == 'B' && params.value("mixed", false)) {
        multiple = R;
        formula = [](std::int64_t S, std::int64_t ring, std::int64_t r) {
            return S % (2 * ring) == 0 ? test::formula_a(S, ring, r) : test::formula_f(S, ring, r);
        };
    }
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
