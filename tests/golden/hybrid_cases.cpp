// Golden cases of kind hybrid: how many ranks a sample needs at least, Megatron-Core's plan of a step, and that what any
// scheduler gives a group of ranks can be dealt to it. Not here: the other schedulers; the library has one.
#include "trainer_rules.hpp"

using namespace golden;

namespace {

// Where a sample runs: one group (micro batch), neighbouring ranks.
struct Stretch {
    std::size_t group = 0;
    int first = 0;
    int ranks = 0;
};

std::vector<Stretch> stretches(const json& body) {
    std::vector<Stretch> all(list(body, "lengths").size());
    const auto groups = body.at("groups").get<std::vector<Lists>>();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        CHECK(static_cast<int>(groups[g].size()) == ranks(body));
        for (std::size_t r = 0; r < groups[g].size(); ++r) {
            for (const std::int64_t sample : groups[g][r]) {
                Stretch& s = all.at(static_cast<std::size_t>(sample));
                const bool goes_on = s.group == g && s.first + s.ranks == static_cast<int>(r);
                CHECK((s.ranks == 0 || goes_on));
                s = {g, s.ranks == 0 ? static_cast<int>(r) : s.first, s.ranks + 1};
            }
        }
    }
    return all;
}

// Inside its ranks a sample, padded to what zigzag needs, is dealt whole: every token once.
void check_dealt(std::int64_t length, int P) {
    const List real{0, length};
    const List padded = padded_to(real, sp::pad_multiple(sp::ZigZag{}, P));
    List tokens;
    for (const List& shard : tokens_of(sp::padded(sp::ZigZag{}(padded.back(), P), real, padded, length))) {
        for (const std::int64_t token : shard) {
            if (token >= 0) tokens.push_back(token);
        }
    }
    std::sort(tokens.begin(), tokens.end());
    CHECK(tokens == numbered(length));
}

std::int64_t least_ranks(const json& body, std::int64_t length) {
    const int needed = sp::ranks_needed(length, number(body["params"], "max_tokens_per_rank"), ranks(body));
    return std::max(needed, param(body, "min_ranks", 1));
}

void dynamic_sizes(const json& body, bool) {
    const List lengths = list(body, "lengths");
    List sizes;
    for (const std::int64_t length : lengths)
        sizes.push_back(least_ranks(body, length));
    CHECK(sizes == list(body, "sizes"));
    const std::vector<Stretch> where = stretches(body);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        CHECK(where[i].ranks >= sizes[i]);
        check_dealt(lengths[i], where[i].ranks);
    }
}
// The plan of a step list by list, and each of its micro batches a layout.
void planned(const json& body, bool illegal) {
    dynamic_sizes(body, illegal);
    List lengths = list(body, "lengths");
    const auto plan = sp::hybrid_parts(lengths, number(body["params"], "max_tokens_per_rank"), ranks(body));
    CHECK(plan == body.at("groups").get<std::vector<Lists>>());
    const std::vector<Stretch> where = stretches(body);
    for (std::size_t i = 0; i < lengths.size(); ++i)
        lengths[i] = sp::round_up(lengths[i], sp::pad_multiple(sp::ZigZag{}, where[i].ranks));
    for (std::size_t g = 0; g < plan.size(); ++g) {
        const sp::HybridBatch batch = sp::hybrid_batch(plan[g], lengths);
        const sp::RunTable table(batch.runs, batch.cu_seqlens.back());
        CHECK(table.ranks() == ranks(body));
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            CHECK((batch.ranks[i] == (where[i].group == g ? where[i].ranks : 0)));
            CHECK((where[i].group != g || batch.first_rank[i] == where[i].first));
        }
    }
}
void dynamic_sizes_illegal(const json& body,
                           bool) {  // a sample for more ranks than there are; what else is refused is legal here
    bool too_long = false;
    for (const std::int64_t length : list(body, "lengths")) {
        const bool fits = (length + number(body["params"], "max_tokens_per_rank") - 1) /
                              number(body["params"], "max_tokens_per_rank") <=
                          ranks(body);
        const sp::Kind kind = refusal([&] { static_cast<void>(least_ranks(body, length)); });
        CHECK(kind == (fits ? sp::Kind::ok : sp::Kind::ranks));
        too_long = too_long || !fits;
    }
    const std::string name = body.at("name");
    CHECK(too_long == (name.find("needs_more") == 0 || name.find("too_long") == 0));
}

void data_parallel_packs(const json& body, bool) {
    const List lengths = list(body, "lengths");
    const int cp = param(body, "cp", 1);
    const std::vector<Stretch> where = stretches(body);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        CHECK(where[i].ranks == cp);
        CHECK(where[i].first % cp == 0);
    }
    for (const Lists& group : body.at("groups").get<std::vector<Lists>>()) {
        for (std::size_t r = 0; r < group.size(); r += static_cast<std::size_t>(cp)) {
            List pack;  // what one CP group runs: dealt zigzag inside its documents
            for (const std::int64_t sample : group[r])
                pack.push_back(lengths[static_cast<std::size_t>(sample)]);
            const List real = offsets_of(pack);
            const List padded = padded_to(real, sp::pad_multiple(sp::ZigZag{}, cp));
            const auto layout = sp::packed(sp::ZigZag{}, padded, padded.back(), cp);
            CHECK(check(sp::padded(layout, real, padded, real.back())).ok());
        }
    }
}
void data_parallel_packs_illegal(const json& body,
                                 bool) {  // no packer here: the samples themselves are legal documents
    for (const std::int64_t length : list(body, "lengths"))
        check_dealt(length, param(body, "cp", 1));
}

}  // namespace

TEST_CASE("every golden case of kind hybrid: least sizes as recorded, samples whole within one group") {
    run_rules("hybrid", {
                            {"BalancedCPScheduler", planned, dynamic_sizes_illegal},
                            {"DefaultDynamicCPScheduler", dynamic_sizes, dynamic_sizes_illegal},
                            {"DpBalancedScheduler", data_parallel_packs, data_parallel_packs_illegal},
                        });
}
