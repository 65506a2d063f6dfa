// From the letters of the golden files to layouts; see layouts.hpp.
#include "layouts.hpp"

#include <seqpar/balance/plans.hpp>

#include <algorithm>
#include <array>

namespace inspect {

namespace sp = seqpar;

namespace {

constexpr std::array letters{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "whole"};

bool is_one_of(const std::string& letter, const char* some) {
    return std::string(some).find(letter) != std::string::npos;
}

// A number of ranks; what is no number of ranks at all is the library's error.
int ranks_of(std::int64_t value, const char* key) {
    if (value < 1) sp::throw_if_bad(sp::make_status(sp::Kind::ranks, 0, 0, 1, value));
    if (value > most_ranks) {
        throw Refusal("too_large",
                      std::string(key) + " is more than " + std::to_string(most_ranks) + ", the limit here");
    }
    return static_cast<int>(value);
}

void need_product(const char* name, std::int64_t value, const char* parts, std::int64_t product) {
    if (value == product) return;
    throw Refusal("group", std::string(name) + " is " + std::to_string(value) + ", but " + parts + " is " +
                               std::to_string(product));
}

// Two sizes whose product is `ranks`; one may be left out, or both where there is a default.
struct Pair {
    int outer;
    int inner;
};
Pair factors(int ranks, std::optional<std::int64_t> outer, std::optional<std::int64_t> inner, const char* outer_name,
             const char* inner_name) {
    if (!outer && !inner) throw Refusal("missing", std::string(outer_name) + " and " + inner_name + " are missing");
    const int given = outer ? ranks_of(*outer, outer_name) : ranks_of(*inner, inner_name);
    const int other = outer && inner ? ranks_of(*inner, inner_name) : ranks / given;
    const std::string parts = std::string(outer_name) + " * " + inner_name;
    need_product("ranks", ranks, parts.c_str(), std::int64_t{given} * other);
    return outer ? Pair{given, other} : Pair{other, given};
}

void read_groups(const Params& params, bool with_tp, int all_ranks, Asked& asked) {
    asked.ranks = all_ranks;
    if (with_tp) {
        const Pair pair = factors(all_ranks, params.cp, params.tp, "cp", "tp");
        asked.ranks = pair.outer;
        asked.tp = pair.inner;
    } else if (params.cp) {
        need_product("ranks", all_ranks, "cp", *params.cp);
    }
    const bool of_parts = is_one_of(asked.letter, "HI");
    if (of_parts || params.ring || params.ulysses) {
        const Pair pair = factors(asked.ranks, params.ring, params.ulysses, "ring", "ulysses");
        asked.ring = pair.outer;
        asked.ulysses = pair.inner;
    }
    // Contiguous over a ring and contiguous inside is contiguous; the others have no Ulysses form but H and I.
    if (asked.ulysses != 1 && !of_parts && asked.letter != "F") {
        throw Refusal("param", "layout " + asked.letter + " has no Ulysses parts: those are layouts H and I");
    }
}

void check_shape(const Params& params, std::int64_t length) {
    if (!params.shape) return;
    if (!params.axis) throw Refusal("missing", "shape is given, but axis is missing");
    const auto axes = static_cast<std::int64_t>(params.shape->size());
    if (*params.axis < -axes || *params.axis >= axes) {
        throw Refusal("axis", "axis " + std::to_string(*params.axis) + " is none of an array of " +
                                  std::to_string(axes) + " axes");
    }
    const std::int64_t axis = *params.axis < 0 ? *params.axis + axes : *params.axis;
    const std::int64_t extent = (*params.shape)[static_cast<std::size_t>(axis)];
    if (extent != length) sp::throw_if_bad(sp::make_status(sp::Kind::axis_extent, 0, 0, length, extent, axis));
}

void read_plan(const Params& params, Asked& asked) {
    asked.params = params;
    asked.planned = is_one_of(asked.letter, "CDJ") || (asked.letter == "B" && params.mixed);
    if (asked.letter == "D" && !params.block) throw Refusal("missing", "layout D deals blocks, but block is missing");
    // The group of one sample is all that there is.
    if (asked.letter == "K" && params.local_cp_size) {
        need_product("ranks", asked.ranks, "local_cp_size", *params.local_cp_size);
    }
    const auto only = [&](const char* key, bool given, const char* some) {
        if (given && !is_one_of(asked.letter, some)) {
            throw Refusal("unknown_param", "layout " + asked.letter + " has no use for " + key);
        }
    };
    only("local_cp_size", params.local_cp_size.has_value(), "K");
    only("block", params.block.has_value(), "D");
    only("work", params.work.has_value(), "DJ");
    only("given_chunk", params.chooses_chunk, "J");
    only("chunk", params.chunk.has_value(), "J");
    only("mask", params.mask.has_value(), "J");
    only("algorithm", params.algorithm.has_value(), "J");
    only("partitions", params.partitions.has_value(), "J");
}

}  // namespace

Asked read_layout(const json& request) {
    Asked asked;
    asked.letter = text(required(request, "layout"), "layout");
    const bool with_tp = asked.letter.size() > 2 && asked.letter.compare(asked.letter.size() - 2, 2, "+M") == 0;
    const std::string name = asked.letter;
    if (with_tp) asked.letter.resize(asked.letter.size() - 2);
    if (std::find(letters.begin(), letters.end(), asked.letter) == letters.end()) {
        throw Refusal("unsupported", "layout " + quoted(name) + " is not served");
    }

    const Params params = read_params(request);
    read_groups(params, with_tp, ranks_of(integer(required(request, "ranks"), "ranks"), "ranks"), asked);
    if (params.stripe && *params.stripe != 1 && asked.letter != "E") {
        throw Refusal("param", "layout " + asked.letter + " has no stripes of another width than 1");
    }
    asked.stripe = params.stripe.value_or(1);
    if (params.uneven && !is_one_of(asked.letter, "FJ"))
        throw Refusal("param", "layout " + asked.letter + " has no uneven form");
    asked.uneven = params.uneven;
    read_plan(params, asked);

    asked.length = integer(required(request, "length"), "length");
    if (asked.length < 0) sp::throw_if_bad(sp::make_status(sp::Kind::length, 0, 0, 0, asked.length));
    if (asked.length > most_positions) {
        throw Refusal("too_large", "length is more than " + std::to_string(most_positions) + ", the limit here");
    }
    asked.real_length = optional_integer(request, "real_length");
    if (asked.real_length && *asked.real_length < 0) {
        sp::throw_if_bad(sp::make_status(sp::Kind::length, 0, 0, 0, *asked.real_length));
    }
    check_shape(params, asked.real_length.value_or(asked.length));

    if (const json* cu_seqlens = find(request, "cu_seqlens")) {
        asked.documents = true;
        asked.cu_seqlens = integers(*cu_seqlens, "cu_seqlens");
    } else if (is_one_of(asked.letter, "BCG")) {
        throw Refusal("missing", "layout " + asked.letter + " deals inside documents, but cu_seqlens is missing");
    }
    return asked;
}

void check_unused_offsets(const Asked& asked) {
    const bool used = is_one_of(asked.letter, "BCGHJ");
    if (used || !asked.documents) return;
    const sp::Offsets<std::int64_t> cu_seqlens = sp::offsets(asked.cu_seqlens);
    const bool may_end_early =
        asked.letter == "F" && !asked.cu_seqlens.empty() && asked.cu_seqlens.back() < asked.length;
    // From 0 and never decreasing, the last is no less than 0.
    sp::throw_if_bad(sp::check(cu_seqlens, may_end_early ? asked.cu_seqlens.back() : asked.length));
}

namespace {

// D: the work is that of a causal mask inside the documents where it is not given.
std::vector<std::vector<sp::Run>> ptrr_runs(const Asked& asked) {
    const std::int64_t block = *asked.params.block;
    const std::vector<std::int64_t> one{0, asked.length};
    const std::vector<std::int64_t> work =
        asked.params.work ? *asked.params.work
                          : sp::key_blocks(sp::offsets(asked.documents ? asked.cu_seqlens : one), asked.length, block);
    if (block < 1) sp::throw_if_bad(sp::make_status(sp::Kind::policy, 0, 0, 1, block));
    if (asked.length % block != 0) sp::throw_if_bad(sp::make_status(sp::Kind::multiple, 0, 0, block, asked.length));
    need_product("the number of blocks", asked.length / block, "the number of entries of work",
                 static_cast<std::int64_t>(work.size()));
    return sp::block_runs(sp::ptrr_parts(work, asked.ranks), block, asked.length);
}

// J. `given_chunk`, null for the default, decides the chunk, and the solver and the mask the plan; without it `chunk` and
// `partitions` are taken as they come. Pads follow the real tokens and see nothing.
std::vector<std::vector<sp::Run>> magi_runs(const Asked& asked) {
    const Params& params = asked.params;
    const std::int64_t real = asked.real_length.value_or(asked.length);
    if (real > asked.length) sp::throw_if_bad(sp::make_status(sp::Kind::offsets_real, 0, 0, asked.length, real));
    std::vector<std::int64_t> one{0, real};
    const sp::Offsets<std::int64_t> cu_seqlens = sp::offsets(asked.documents ? asked.cu_seqlens : one);
    sp::throw_if_bad(sp::check(cu_seqlens, real));
    const bool given = params.chunk && !params.chooses_chunk;
    const std::int64_t chunk = given                ? *params.chunk
                               : params.given_chunk ? sp::magi_chunk(real, asked.ranks, *params.given_chunk)
                                                    : sp::magi_chunk(real, asked.ranks);
    if (chunk < 1) sp::throw_if_bad(sp::make_status(sp::Kind::policy, 0, 0, 1, chunk));
    if (asked.uneven) {
        if (real != asked.length) throw Refusal("param", "uneven shards of layout J have no pads");
    } else {
        const sp::Contiguous equal;
        const std::int64_t chunks = asked.length / chunk;
        sp::throw_if_bad(asked.length % chunk != 0 ? sp::make_status(sp::Kind::multiple, 0, 0, chunk, asked.length)
                                                   : sp::check(equal, chunks, asked.ranks));
    }
    const std::string mask = params.mask.value_or("causal");
    if (mask != "causal" && mask != "full") throw Refusal("param", "no mask is called " + quoted(mask));
    const std::string algorithm = params.algorithm.value_or("min_heap");
    const auto solve = [&]() -> sp::BlockParts {
        if (given && params.partitions) {
            need_product("the number of partitions", static_cast<std::int64_t>(params.partitions->size()), "ranks",
                         asked.ranks);
            return *params.partitions;
        }
        if (algorithm == "min_heap") {
            const sp::Mask seen = mask == "full" ? sp::Mask::full : sp::Mask::causal;
            return sp::min_heap_parts(sp::chunk_work(cu_seqlens, asked.length, chunk, seen), asked.ranks);
        }
        if (algorithm == "sequential") {
            const std::int64_t chunks = asked.length / chunk + (asked.length % chunk != 0 ? 1 : 0);
            return sp::sequential_parts(chunks, asked.ranks);
        }
        throw Refusal("unsupported", "no solver is called " + quoted(algorithm));
    };
    return sp::block_runs(sp::sorted_parts(solve()), chunk, asked.length);
}

}  // namespace

sp::RunTable table(const Asked& asked) {
    const auto runs = [&] {
        if (asked.letter == "B") return sp::mixed_runs(sp::offsets(asked.cu_seqlens), asked.length, asked.ranks);
        if (asked.letter == "C") return sp::per_document_runs(sp::offsets(asked.cu_seqlens), asked.length, asked.ranks);
        return asked.letter == "D" ? ptrr_runs(asked) : magi_runs(asked);
    };
    return sp::RunTable(runs(), asked.length);
}

}  // namespace inspect
