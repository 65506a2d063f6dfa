// The answers, a function for each kind of case; see answer.hpp. To serve another kind, add a line to `kinds`.
#include "answer.hpp"

#include "kinds.hpp"
#include "layouts.hpp"

#include <array>
#include <new>

namespace inspect {

namespace sp = seqpar;

namespace {

// shards: the positions of every rank in slot order, -1 for pads. restore: full[j] = gathered[restore[j]], rank-major.
template <sp::Layout L>
json lists(const L& layout) {
    sp::throw_if_bad(sp::check(layout));
    json shards = json::array();
    std::vector<std::int64_t> restore(static_cast<std::size_t>(layout.size()));
    std::int64_t gathered = 0;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        std::vector<std::int64_t> shard;
        shard.reserve(static_cast<std::size_t>(layout.slots(rank)));
        auto cursor = sp::runs(layout, rank, 0, layout.slots(rank));
        for (sp::Run run; cursor.next(run);) {
            for (std::int64_t position = run.position; position < run.position + run.length; ++position) {
                shard.push_back(layout.source(position));
                restore[static_cast<std::size_t>(position)] = gathered++;
            }
        }
        shards.push_back(std::move(shard));
    }
    return {{"shards", std::move(shards)}, {"restore", std::move(restore)}};
}

json layout(const json& request) {
    only_known_keys(request, {"layout", "ranks", "length", "real_length", "cu_seqlens", "params",
                              // What a case says about its peer.
                              "shards", "restore", "positions", "position_ids", "keys", "parts", "forward_restore",
                              "cu_seqlens_by_rank"});
    const Asked asked = read_layout(request);
    json answer = with_layout(asked, [](const auto& dealt) { return lists(dealt); });
    if (asked.letter != "whole") return answer;
    if (asked.length > most_positions / asked.ranks) throw Refusal("too_large", "as many copies take too much memory");
    answer["shards"] = json(static_cast<std::size_t>(asked.ranks), answer["shards"][0]);
    return answer;
}

struct KindOfCase {
    const char* name;
    json (*answer)(const json& request);
};

constexpr std::array<KindOfCase, 8> kinds{{
    {"layout", layout},
    {"undo_redo", undo_redo},
    {"roll", roll},
    {"plan", plan},
    {"offsets", offsets},
    {"relayout", relayout},
    {"halo", halo},
    {"rows", rows},
}};

json served(const json& request) {
    if (!request.is_object()) throw Refusal("malformed", "a request is a JSON object");
    const std::string name = text(required(request, "kind"), "kind");
    for (const KindOfCase& kind : kinds) {
        if (name == kind.name) return kind.answer(request);
    }
    throw Refusal("unsupported", "cases of kind " + quoted(name) + " are not served");
}

json error(const std::string& kind, const std::string& message) {
    return {{"error", {{"kind", kind}, {"message", message}}}};
}

// What `call` gives, or the error it throws.
template <class Call>
json answer_of(const Call& call) {
    try {
        return call();
    } catch (const sp::Error& mistake) {
        return error(sp::name(mistake.status().kind()), mistake.what());
    } catch (const Refusal& refusal) {
        return error(refusal.kind(), refusal.what());
    } catch (const json::exception& malformed) {
        return error("malformed", malformed.what());
    } catch (const std::bad_alloc&) {
        return error("too_large", "the request takes more memory than there is");
    }
}

}  // namespace

json answer(const json& request) {
    return answer_of([&] { return served(request); });
}

std::string answer_line(const std::string& line) {
    const json reply = answer_of([&] { return served(parse(line)); });
    // Text of the caller's may not be UTF-8.
    return reply.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace inspect
