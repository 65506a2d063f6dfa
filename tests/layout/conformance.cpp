// The conformance suite against layouts and policies that break one law each: it must name that law. And against a user's
// layout without run_at, which is fine. Without this file the suite could pass everything.
#include "lists.hpp"

#include <seqpar/conformance/layout.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace seqpar;
using namespace seqpar::conformance;

namespace {

enum class Defect {
    none,
    no_ranks,
    slot_too_many,  // rank 0 claims one more
    slot_too_few,   // rank 0 claims one less
    outside,        // a position past the end
    doubled,        // a position twice, another nowhere
    place_rank,     // place names a neighbour
    place_slot,     // place is off by one
    run_too_long,   // run_at crosses the end of a chunk
    run_empty,
    run_past_shard,
    run_slot,  // a run that says it begins elsewhere
    run_position,
    cursor_skips,    // leaves out a slot
    cursor_stops,    // ends early
    cursor_empty,    // gives an empty run
    cursor_goes_on,  // gives a run after the end
    cursor_position,
    source_moved,  // a layout without pads whose source is not its position
};

// Zigzag over 12 positions and 2 ranks, 0 1 2 9 10 11 and 3 4 5 6 7 8, with one defect.
struct Broken {
    Defect defect = Defect::none;

    static ZigZagLayout good() { return ZigZag{}(12, 2); }

    std::int64_t size() const { return 12; }
    std::int64_t source_size() const { return 12; }
    int ranks() const { return defect == Defect::no_ranks ? 0 : 2; }
    std::int64_t slots(int rank) const {
        const int more = defect == Defect::slot_too_many ? 1 : defect == Defect::slot_too_few ? -1 : 0;
        return 6 + (rank == 0 ? more : 0);
    }
    std::int64_t position(int rank, std::int64_t slot) const {
        if (defect == Defect::outside && rank == 0 && slot == 5) {
            return 12;
        }
        if (defect == Defect::doubled && rank == 1 && slot == 0) {
            return 2;
        }
        return good().position(rank, slot);
    }
    Place place(std::int64_t position) const {
        const Place place = good().place(position);
        if (defect == Defect::place_rank && position == 7) {
            return {0, place.slot};
        }
        if (defect == Defect::place_slot && position == 7) {
            return {place.rank, place.slot - 1};
        }
        return place;
    }
    std::int64_t source(std::int64_t position) const {
        return defect == Defect::source_moved ? 11 - position : position;
    }
    Run run_at(int rank, std::int64_t slot) const {
        Run run = good().run_at(rank, slot);
        if (rank == 0 && slot == 1) {
            run.length += defect == Defect::run_too_long ? 1 : 0;
            run.length += defect == Defect::run_past_shard ? 5 : 0;
            run.length = defect == Defect::run_empty ? 0 : run.length;
            run.slot += defect == Defect::run_slot ? 1 : 0;
            run.position += defect == Defect::run_position ? 1 : 0;
        }
        return run;
    }

    struct Cursor {
        Defect defect;
        RunCursor<ZigZagLayout> good;
        bool ended = false;

        bool next(Run& run) {
            if (!good.next(run)) {  // cursor_goes_on: ends once, and then begins again
                const bool again = ended && defect == Defect::cursor_goes_on;
                ended = true;
                run = {0, 0, 1};
                return again;
            }
            if (defect == Defect::cursor_stops && run.slot == 3) {
                return false;
            }
            if (defect == Defect::cursor_skips && run.slot == 0) {
                ++run.slot;
                ++run.position;
                --run.length;
            }
            run.length = defect == Defect::cursor_empty ? 0 : run.length;
            run.position += defect == Defect::cursor_position ? 1 : 0;
            return true;
        }
    };
    Cursor runs(int rank, std::int64_t first, std::int64_t last) const { return {defect, {good(), rank, first, last}}; }
};
static_assert(RunLayout<Broken>);

// Names the law that is broken, and that the report says something about it.
std::string law_of(const Report& report) {
    CHECK(describe(report).find(report.ok() ? "every law" : name(report.law)) != std::string::npos);
    return name(report.law);
}
std::string law_of(Defect defect) { return law_of(check_layout(Broken{defect})); }

// 12 positions of which 2 are pads, with a defect in the sources: 12 means none.
struct BrokenSources {
    static constexpr bool padded = true;
    std::int64_t at = 12;      // this position
    std::int64_t source_ = 0;  // has this source
    std::int64_t real = 10;

    std::int64_t size() const { return 12; }
    std::int64_t source_size() const { return real; }
    int ranks() const { return 2; }
    std::int64_t slots(int) const { return 6; }
    std::int64_t position(int rank, std::int64_t slot) const { return rank * std::int64_t{6} + slot; }
    Place place(std::int64_t position) const { return {static_cast<int>(position / 6), position % 6}; }
    std::int64_t source(std::int64_t position) const {
        return position == at ? source_ : position < 10 ? position : -1;
    }
    // One stretch a position: no less legal than the longest.
    Run source_run(std::int64_t position, std::int64_t&) const { return {source(position), position, 1}; }
};

struct BrokenPolicy {
    static constexpr bool equal_shards = true;
    enum What { multiple_of_one, no_multiple, other_length, other_ranks, unequal, silent } what;

    std::int64_t multiple(int ranks) const {
        if (what == no_multiple && ranks == 3) {
            return 0;
        }
        return what == multiple_of_one ? std::int64_t{2} * ranks : what == unequal ? 1 : ranks;
    }
    ContiguousLayout operator()(std::int64_t length, int ranks) const {
        return {what == other_length ? length + ranks : length, what == other_ranks && ranks > 1 ? ranks - 1 : ranks};
    }
};
static_assert(LayoutPolicy<BrokenPolicy>);

// A user's layout that knows nothing of runs: everything falls back to one slot at a time.
struct Reversed {
    std::int64_t length = 0;
    int ranks_ = 1;

    constexpr std::int64_t size() const { return length; }
    constexpr std::int64_t source_size() const { return length; }
    constexpr int ranks() const { return ranks_; }
    constexpr std::int64_t slots(int) const { return length / ranks_; }
    constexpr std::int64_t position(int rank, std::int64_t slot) const { return length - 1 - (slot * ranks_ + rank); }
    constexpr Place place(std::int64_t position) const {
        return {static_cast<int>((length - 1 - position) % ranks_), (length - 1 - position) / ranks_};
    }
    constexpr std::int64_t source(std::int64_t position) const { return position; }
};
static_assert(Layout<Reversed> && !RunLayout<Reversed>);
static_assert(check_layout(Reversed{12, 3}).ok());
static_assert(!one_rank_is_identity(Reversed{12, 1}).ok());

}  // namespace

TEST_CASE("the suite passes the layout without a defect") { CHECK(law_of(Defect::none) == "none"); }

TEST_CASE("a shard with a slot too many or too few breaks the partition") {
    CHECK(law_of(Defect::no_ranks) == "shards_partition");
    CHECK(law_of(Defect::slot_too_many) == "shards_partition");
    CHECK(law_of(Defect::slot_too_few) == "shards_partition");
    CHECK(law_of(Defect::outside) == "shards_partition");
}

TEST_CASE("a token on two ranks breaks the inverse") {
    CHECK(law_of(Defect::doubled) == "place_inverts_position");
    const Report report = check_layout(Broken{Defect::doubled});
    CHECK(report.rank == 1);
    CHECK(report.slot == 0);
}

TEST_CASE("a place that is elsewhere breaks both inverses") {
    for (const Defect defect : {Defect::place_rank, Defect::place_slot}) {
        CHECK(law_of(defect) == "place_inverts_position");
        CHECK(law_of(position_inverts_place(Broken{defect})) == "position_inverts_place");
    }
}

TEST_CASE("run_at that is empty, too long or elsewhere is found") {
    for (const Defect defect :
         {Defect::run_too_long, Defect::run_empty, Defect::run_past_shard, Defect::run_slot, Defect::run_position}) {
        CHECK(law_of(defect) == "run_at_agrees");
    }
}

TEST_CASE("a cursor that skips, stops, stands still, goes on or goes elsewhere is found") {
    for (const Defect defect : {Defect::cursor_skips, Defect::cursor_stops, Defect::cursor_empty,
                                Defect::cursor_goes_on, Defect::cursor_position}) {
        CHECK(law_of(defect) == "runs_join");
    }
}

TEST_CASE("a source that is lost, doubled, out of range or unasked for is found") {
    CHECK(law_of(check_layout(BrokenSources{})) == "none");
    CHECK(law_of(check_layout(BrokenSources{3, 2})) == "sources_once");   // 2 twice, 3 nowhere
    CHECK(law_of(check_layout(BrokenSources{3, -1})) == "sources_once");  // 3 nowhere
    CHECK(law_of(check_layout(BrokenSources{3, 10})) == "sources_once");
    CHECK(law_of(check_layout(BrokenSources{3, -2})) != "none");
    CHECK(law_of(check_layout(BrokenSources{11, 3})) == "sources_once");  // 3 twice, the second time out of order
    CHECK(law_of(check_layout(BrokenSources{12, 0, 13})) == "sources_once");
    CHECK(law_of(check_layout(BrokenSources{12, 0, 9})) == "sources_once");
    CHECK(law_of(sources_once(Broken{Defect::source_moved})) ==
          "sources_once");  // a layout without pads has none of its own
}

TEST_CASE("a policy that does not keep its word is found") {
    CHECK(law_of(check_policy(BrokenPolicy{BrokenPolicy::multiple_of_one})) == "one_rank_is_identity");
    CHECK(law_of(check_policy(BrokenPolicy{BrokenPolicy::no_multiple})) == "multiples_are_legal");
    CHECK(law_of(check_policy(BrokenPolicy{BrokenPolicy::other_length})) == "policy_gives_what_was_asked");
    CHECK(law_of(check_policy(BrokenPolicy{BrokenPolicy::other_ranks})) == "policy_gives_what_was_asked");
    CHECK(law_of(check_policy(BrokenPolicy{BrokenPolicy::unequal})) == "equal_shards_hold");
    CHECK(law_of(check_policy(BrokenPolicy{BrokenPolicy::silent})) == "none");
    CHECK(law_of(check_refusals(BrokenPolicy{BrokenPolicy::silent})) == "others_are_refused");
}

TEST_CASE("a layout without run_at nests, pads and walks") {
    const test::List cu{0, 5, 12};
    const test::List real{0, 3, 9};
    CHECK(check_layout(Reversed{12, 3}, 16).ok());
    CHECK(check_layout(nested(Reversed{12, 3}, Contiguous{}, 2), 16).ok());
    CHECK(nested_is_its_parts(Reversed{12, 3}, Contiguous{}, 2).ok());
    CHECK(check_layout(padded(Reversed{12, 3}, real, cu, 9), 16).ok());
    CHECK(check_layout(nested(padded(Reversed{12, 3}, real, cu, 9), Contiguous{}, 2), 16).ok());
}
