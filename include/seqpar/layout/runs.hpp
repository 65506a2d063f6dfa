// Cursors: the runs of a stretch of a shard, one after the other, by position (`runs`) or by source (`source_runs`).
#pragma once

#include <seqpar/layout/concepts.hpp>

namespace seqpar {

// Walks slots [first, last) of a rank by run_at, or slot by slot where the layout has no run_at.
template <Layout L>
class RunCursor {
public:
    SEQPAR_HD constexpr RunCursor(const L& layout, int rank, std::int64_t first, std::int64_t last)
        : layout_(layout), slot_(first), last_(last), rank_(rank) {}

    SEQPAR_HD constexpr bool next(Run& run) {
        if (slot_ >= last_) return false;
        if constexpr (RunLayout<L>) {
            run = layout_.run_at(rank_, slot_);
            if (run.length > last_ - slot_) run.length = last_ - slot_;
        } else {
            run = {layout_.position(rank_, slot_), slot_, 1};
        }
        slot_ += run.length;
        return true;
    }

private:
    L layout_;
    std::int64_t slot_;
    std::int64_t last_;
    int rank_;
};

// A cursor over slots [first, last) of `rank`: while (cursor.next(run)) …. A layout that walks faster than by run_at has a
// member runs(rank, first, last).
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr auto runs(const L& layout, int rank, std::int64_t first, std::int64_t last) {
    if constexpr (requires { layout.runs(rank, first, last); }) {
        return layout.runs(rank, first, last);
    } else {
        return RunCursor<L>(layout, rank, first, last);
    }
}

// Cuts the runs of a padded layout where sources stop being consecutive: `position` of a run is its first source, or -1 for
// pad slots. The layout's member source_run(position, hint) gives one stretch; `hint` is its own memory between calls.
template <Layout L>
class SourceCursor {
public:
    SEQPAR_HD constexpr SourceCursor(const L& layout, int rank, std::int64_t first, std::int64_t last)
        : layout_(layout), cursor_(seqpar::runs(layout, rank, first, last)) {}

    SEQPAR_HD constexpr bool next(Run& run) {
        if (rest_.length == 0 && !cursor_.next(rest_)) return false;
        const Run stretch = layout_.source_run(rest_.position, hint_);
        const std::int64_t length = stretch.length < rest_.length ? stretch.length : rest_.length;
        run = {stretch.position, rest_.slot, length};
        rest_ = {rest_.position + length, rest_.slot + length, rest_.length - length};
        return true;
    }

private:
    L layout_;
    decltype(seqpar::runs(std::declval<const L&>(), 0, 0, 0)) cursor_;
    Run rest_{};
    std::int64_t hint_ = 0;
};

// A cursor over slots [first, last) of `rank` whose runs are stretches of consecutive sources, or of pad slots (-1).
template <Layout L>
[[nodiscard]] SEQPAR_HD constexpr auto source_runs(const L& layout, int rank, std::int64_t first, std::int64_t last) {
    if constexpr (is_padded<L>) {
        return SourceCursor<L>(layout, rank, first, last);
    } else {
        return seqpar::runs(layout, rank, first, last);
    }
}

}  // namespace seqpar
