// RunTable: the owner of the run table that a Permuted borrows, built from what each rank is to hold. Not here:
// planners, which decide that.
#pragma once

#include <seqpar/layout/permuted.hpp>

#include <algorithm>
#include <ranges>
#include <vector>

namespace seqpar {

namespace detail {

template <class R>
concept PositionLists = std::ranges::input_range<R> && std::ranges::input_range<std::ranges::range_reference_t<R>> &&
                        std::integral<std::ranges::range_value_t<std::ranges::range_reference_t<R>>>;
template <class R>
concept RunLists = std::ranges::input_range<R> && std::ranges::input_range<std::ranges::range_reference_t<R>> &&
                   std::same_as<std::ranges::range_value_t<std::ranges::range_reference_t<R>>, Run>;

}  // namespace detail

// A table over positions [0, length). Neighbours that join are one run; ranks may hold nothing and differ in size.
// Host only; it owns its memory, so it must outlive the layouts that layout() gave, and may be moved under them.
// Errors: Kind::table, naming run and rank, unless every position is held exactly once. Allocates: 24 bytes a run and 8
// more for its place in the order of positions, 16 a rank, and as much again in passing. Cost: linear in positions or runs given,
// and a sort of the runs.
class RunTable {
public:
    // lists: for each rank what it holds in slot order, a range of ranges: of positions (integers), or of Run, whose `slot`
    // is not read. Runs of length 0 are left out.
    template <class R>
        requires(detail::PositionLists<R> || detail::RunLists<R>)
    RunTable(const R& lists, std::int64_t length) : length_(length) {
        if (length < 0) throw_if_bad(make_status(Kind::length, 0, 0, 0, length));
        rank_runs_.push_back(0);
        for (auto&& list : lists) {
            for (const auto& item : list) {
                if constexpr (detail::RunLists<R>) {
                    add(item.position, item.length);
                } else {
                    add(static_cast<std::int64_t>(item), 1);
                }
            }
            rank_runs_.push_back(next_run());
        }
        finish();
    }

    [[nodiscard]] std::int64_t length() const { return length_; }
    [[nodiscard]] int ranks() const { return static_cast<int>(rank_runs_.size()) - 1; }
    [[nodiscard]] std::int64_t run_count() const { return rank_runs_.back(); }

    // The table as a layout, which borrows it.
    [[nodiscard]] Permuted layout() const& { return Permuted(view()); }
    Permuted layout() && = delete;
    [[nodiscard]] RunTableView view() const& {
        return {runs_.data(), rank_runs_.data(), by_position_.data(), next_run(), length_, ranks()};
    }
    RunTableView view() && = delete;
    // The same table where its three arrays were copied to, a device's memory say; the slots of a rank are still read here.
    [[nodiscard]] RunTableView view(const Run* runs, const std::int64_t* rank_runs,
                                    const std::int64_t* by_position) const& {
        return {runs, rank_runs, by_position, next_run(), length_, ranks(), slots_.data()};
    }
    RunTableView view(const Run*, const std::int64_t*, const std::int64_t*) && = delete;

private:
    struct ByPosition {
        const Run* runs;
        bool operator()(std::int64_t a, std::int64_t b) const { return runs[a].position < runs[b].position; }
    };

    // Number of the run that comes next, and the rank that is being filled.
    std::int64_t next_run() const { return static_cast<std::int64_t>(runs_.size()); }
    int rank() const { return static_cast<int>(rank_runs_.size()) - 1; }

    void add(std::int64_t position, std::int64_t run_length) {
        if (run_length == 0) return;
        if (run_length < 0) throw_if_bad(make_status(Kind::table, 0, next_run(), 0, run_length, rank()));
        if (position < 0 || position >= length_)
            throw_if_bad(make_status(Kind::table, 0, next_run(), length_ - 1, position, rank()));
        if (run_length > length_ - position) {
            throw_if_bad(make_status(Kind::table, 0, next_run(), length_ - position, run_length, rank()));
        }
        const bool first = next_run() == rank_runs_.back();
        if (!first && runs_.back().position + runs_.back().length == position) {
            runs_.back().length += run_length;
        } else {
            runs_.push_back({position, first ? 0 : runs_.back().slot + runs_.back().length, run_length});
        }
        // More slots than positions: something is held twice. Found here so that no sum of slots overflows.
        const Run& last = runs_.back();
        if (last.slot > length_ - last.length) {
            throw_if_bad(make_status(Kind::table, 0, next_run() - 1, length_ - last.length, last.slot, rank()));
        }
    }

    void finish() {
        if (ranks() < 1) throw_if_bad(make_status(Kind::ranks, 0, 0, 1, ranks()));
        by_position_.resize(runs_.size());
        for (std::size_t i = 0; i < by_position_.size(); ++i)
            by_position_[i] = static_cast<std::int64_t>(i);
        std::stable_sort(by_position_.begin(), by_position_.end(), ByPosition{runs_.data()});
        throw_if_bad(check(Permuted(view())));
        for (int rank = 0; rank < ranks(); ++rank)
            slots_.push_back(Permuted(view()).slots(rank));
    }

    std::vector<Run> runs_;
    std::vector<std::int64_t> rank_runs_;
    std::vector<std::int64_t> by_position_;
    std::vector<std::int64_t> slots_;
    std::int64_t length_ = 0;
};

}  // namespace seqpar
