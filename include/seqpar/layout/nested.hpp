// Nested: a policy over every shard of a layout (TP-SP inside CP, Ulysses inside ring: layout H, I, M).
#pragma once

#include <seqpar/layout/runs.hpp>

namespace seqpar {

// Rank outer_rank * parts + part holds what part `part` of the inner policy holds of outer_rank's shard. The outer shards may
// differ in size, and the inner policy may deal them unequally. A Nested is a layout: it nests again.
template <Layout L, LayoutPolicy P>
class Nested {
public:
    static constexpr bool padded = is_padded<L>;
    static constexpr bool bijective = is_bijective<L>;

    Nested() = default;
    SEQPAR_HD constexpr Nested(L outer, P inner, int parts) : outer_(outer), parts_(parts), inner_(inner) {}

    SEQPAR_HD constexpr const L& outer() const { return outer_; }
    SEQPAR_HD constexpr int parts() const { return parts_; }

    SEQPAR_HD constexpr std::int64_t size() const { return outer_.size(); }
    SEQPAR_HD constexpr std::int64_t source_size() const { return outer_.source_size(); }
    SEQPAR_HD constexpr int ranks() const { return outer_.ranks() * parts_; }
    SEQPAR_HD constexpr std::int64_t slots(int rank) const { return part_layout(rank / parts_).slots(rank % parts_); }
    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const {
        const int outer_rank = rank / parts_;
        return outer_.position(outer_rank, part_layout(outer_rank).position(rank % parts_, slot));
    }
    SEQPAR_HD constexpr Place place(std::int64_t position) const {
        const Place outer = outer_.place(position);
        const Place inner = part_layout(outer.rank).place(outer.slot);
        return {outer.rank * parts_ + inner.rank, inner.slot};
    }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return outer_.source(position); }

    SEQPAR_HD constexpr Run source_run(std::int64_t position, std::int64_t& hint) const requires(padded) {
        return outer_.source_run(position, hint);
    }

    SEQPAR_HD constexpr Run run_at(int rank, std::int64_t slot) const requires(RunLayout<L>&& RunLayout<layout_of<P>>) {
        const int outer_rank = rank / parts_;
        const Run inner = part_layout(outer_rank).run_at(rank % parts_, slot);
        const Run outer = outer_.run_at(outer_rank, inner.position);
        return {outer.position, slot, inner.length < outer.length ? inner.length : outer.length};
    }

    // Walks the inner runs, and the outer runs inside each.
    class Cursor {
    public:
        SEQPAR_HD constexpr Cursor(const Nested& layout, int rank, std::int64_t first, std::int64_t last)
            : outer_layout_(layout.outer_),
              inner_(seqpar::runs(layout.part_layout(rank / layout.parts_), rank % layout.parts_, first, last)),
              outer_(seqpar::runs(layout.outer_, rank / layout.parts_, 0, 0)),
              outer_rank_(rank / layout.parts_) {}

        SEQPAR_HD constexpr bool next(Run& run) {
            while (!outer_.next(run)) {
                Run inner;
                if (!inner_.next(inner)) return false;
                outer_ = seqpar::runs(outer_layout_, outer_rank_, inner.position, inner.position + inner.length);
                to_slot_ = inner.slot - inner.position;
            }
            run.slot += to_slot_;
            return true;
        }

    private:
        L outer_layout_;
        decltype(seqpar::runs(std::declval<const layout_of<P>&>(), 0, 0, 0)) inner_;
        decltype(seqpar::runs(std::declval<const L&>(), 0, 0, 0)) outer_;
        std::int64_t to_slot_ = 0;
        int outer_rank_;
    };

    SEQPAR_HD constexpr Cursor runs(int rank, std::int64_t first, std::int64_t last) const {
        return {*this, rank, first, last};
    }

    [[nodiscard]] SEQPAR_HD constexpr Status check_unread() const {
        const Status outer = seqpar::check_unread(outer_);
        return outer.ok() ? check_parts() : outer;
    }

    // The outer layout legal, and every outer shard something that the inner policy can deal out.
    [[nodiscard]] SEQPAR_HD constexpr Status check() const {
        const Status outer = seqpar::check(outer_);
        return outer.ok() ? check_parts() : outer;
    }
    [[nodiscard]] SEQPAR_HD constexpr std::int64_t entries() const { return seqpar::entries(outer_); }
    [[nodiscard]] SEQPAR_HD constexpr Status check_entry(std::int64_t i) const {
        return seqpar::check_entry(outer_, i);
    }

private:
    SEQPAR_HD constexpr Status check_parts() const {
        for (int rank = 0; rank < outer_.ranks(); ++rank) {
            const Status inner = seqpar::check(inner_, outer_.slots(rank), parts_);
            if (!inner.ok()) return inner;
        }
        return {};
    }
    SEQPAR_HD constexpr layout_of<P> part_layout(int outer_rank) const {
        return detail::bind_checked(inner_, outer_.slots(outer_rank), parts_);
    }

    L outer_{};
    int parts_ = 1;
    P inner_{};
};

// `inner` over each shard of `outer`. For the inner policy's sake every outer shard must be a multiple of its multiple(parts).
// Throws Error for no part, and where ranks * parts is no int.
template <Layout L, LayoutPolicy P>
[[nodiscard]] SEQPAR_HD constexpr Nested<L, P> nested(L outer, P inner, int parts) {
    if (parts < 1) detail::raise(make_status(Kind::ranks, 0, 0, 1, parts));
    if (parts > 1 && outer.ranks() > INT32_MAX / parts) detail::raise(make_status(Kind::length, 0, 0, 0, -1));
    return {outer, inner, parts};
}

}  // namespace seqpar
