// Packed: a policy inside every document of a packed (THD) sequence (layout B and G, by ZigZag and Contiguous).
#pragma once

#include <seqpar/layout/offsets.hpp>
#include <seqpar/layout/runs.hpp>

namespace seqpar {

// Document d occupies positions [cu[d], cu[d+1]) and slots [cu[d]/P, cu[d+1]/P) of every rank; inside, the policy deals.
// Finds a document by binary search; walking (`runs`) costs one step a document. Reads the offsets where it is used.
template <LayoutPolicy P, OffsetInteger Int>
    requires(P::equal_shards)
class Packed {
public:
    Packed() = default;
    SEQPAR_HD constexpr Packed(P policy, Offsets<Int> cu_seqlens, std::int64_t total, int ranks)
        : cu_seqlens_(cu_seqlens), total_(total), ranks_(ranks), policy_(policy) {}

    SEQPAR_HD constexpr std::int64_t size() const { return total_; }
    SEQPAR_HD constexpr std::int64_t source_size() const { return total_; }
    SEQPAR_HD constexpr int ranks() const { return ranks_; }
    SEQPAR_HD constexpr std::int64_t slots(int) const { return total_ / ranks_; }
    SEQPAR_HD constexpr Offsets<Int> cu_seqlens() const { return cu_seqlens_; }
    SEQPAR_HD constexpr const P& policy() const { return policy_; }

    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const {
        if (ranks_ == 1) return slot;
        const std::int64_t document = cu_seqlens_.document_of(slot * ranks_);
        return cu_seqlens_[document] + inside(document).position(rank, slot - cu_seqlens_[document] / ranks_);
    }
    SEQPAR_HD constexpr Place place(std::int64_t position) const {
        if (ranks_ == 1) return {0, position};
        const std::int64_t document = cu_seqlens_.document_of(position);
        const Place place = inside(document).place(position - cu_seqlens_[document]);
        return {place.rank, cu_seqlens_[document] / ranks_ + place.slot};
    }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return position; }

    SEQPAR_HD constexpr Run run_at(int rank, std::int64_t slot) const requires RunLayout<layout_of<P>> {
        if (ranks_ == 1) return {slot, slot, total_ - slot};
        const std::int64_t document = cu_seqlens_.document_of(slot * ranks_);
        const std::int64_t first_slot = cu_seqlens_[document] / ranks_;
        const Run run = inside(document).run_at(rank, slot - first_slot);
        return {cu_seqlens_[document] + run.position, slot, run.length};
    }

    // Walks document by document. Offsets that check() refuses give runs that are wrong.
    class Cursor {
    public:
        SEQPAR_HD constexpr Cursor(const Packed& layout, int rank, std::int64_t first, std::int64_t last)
            : layout_(layout), slot_(first), last_(last), rank_(rank) {
            if (layout_.ranks_ == 1 || first >= last) return;
            document_ = layout_.cu_seqlens_.document_of(first * layout_.ranks_);
            enter(layout_.cu_seqlens_[document_] / layout_.ranks_);
        }

        SEQPAR_HD constexpr bool next(Run& run) {
            if (slot_ >= last_) return false;
            if (layout_.ranks_ == 1) {
                run = {slot_, slot_, last_ - slot_};
            } else {
                while (slot_ >= document_end_) {
                    if (document_ + 2 >= layout_.cu_seqlens_.count()) return false;  // only illegal offsets come here
                    ++document_;
                    enter(document_end_);
                }
                if constexpr (RunLayout<layout_of<P>>) {
                    run = inside_.run_at(rank_, slot_ - document_slot_);
                } else {
                    run = {inside_.position(rank_, slot_ - document_slot_), slot_, 1};
                }
                run.position += layout_.cu_seqlens_[document_];
                run.slot = slot_;
                if (run.length > last_ - slot_) run.length = last_ - slot_;
            }
            slot_ += run.length;
            return true;
        }

    private:
        SEQPAR_HD constexpr void enter(std::int64_t first_slot) {
            inside_ = detail::bind_checked(layout_.policy_, layout_.length(document_), layout_.ranks_);
            document_slot_ = first_slot;
            document_end_ = first_slot + inside_.slots(rank_);
        }

        Packed layout_;
        layout_of<P> inside_{};
        std::int64_t slot_;
        std::int64_t last_;
        std::int64_t document_ = 0;
        std::int64_t document_slot_ = 0;
        std::int64_t document_end_ = 0;
        int rank_;
    };

    SEQPAR_HD constexpr Cursor runs(int rank, std::int64_t first, std::int64_t last) const {
        return {*this, rank, first, last};
    }

    [[nodiscard]] SEQPAR_HD constexpr Status check_unread() const {
        return detail::check_offset_count(cu_seqlens_, total_);
    }

    // Offsets legal, every document a multiple of what the policy deals out. Names the first document that is not.
    [[nodiscard]] SEQPAR_HD constexpr Status check() const {
        Status status = seqpar::check(cu_seqlens_, total_);
        for (std::int64_t document = 0; status.ok() && document < cu_seqlens_.documents(); ++document)
            status = check_document(document);
        return status;
    }
    [[nodiscard]] SEQPAR_HD constexpr std::int64_t entries() const { return cu_seqlens_.count(); }
    [[nodiscard]] SEQPAR_HD constexpr Status check_entry(std::int64_t i) const {
        const Status offset = detail::check_offset(cu_seqlens_, total_, i);
        return offset.ok() && i > 0 ? check_document(i - 1) : offset;
    }

private:
    SEQPAR_HD constexpr Status check_document(std::int64_t document) const {
        const Status status = seqpar::check(policy_, length(document), ranks_);
        return status.kind() == Kind::multiple
                   ? make_status(Kind::document_multiple, 0, document, status.expected, status.got)
                   : status;
    }
    SEQPAR_HD constexpr std::int64_t length(std::int64_t document) const {
        return cu_seqlens_[document + 1] - cu_seqlens_[document];
    }
    SEQPAR_HD constexpr layout_of<P> inside(std::int64_t document) const {
        return detail::bind_checked(policy_, length(document), ranks_);
    }

    Offsets<Int> cu_seqlens_{};
    std::int64_t total_ = 0;
    int ranks_ = 1;
    P policy_{};
};

// The layout of `policy` inside every document. cu_seqlens: a contiguous container, span or Offsets of int32 or int64,
// global and padded, borrowed; nothing is read here. total: the sequence's length, which the last offset must equal.
template <LayoutPolicy P, OffsetInteger Int>
[[nodiscard]] SEQPAR_HD constexpr auto packed(P policy, Offsets<Int> cu_seqlens, std::int64_t total, int ranks) {
    static_assert(P::equal_shards,
                  "Packed needs a policy with equal_shards: it finds documents by cu / P alone. "
                  "An unequal plan over documents is a Permuted.");
    if (ranks < 1) detail::raise(make_status(Kind::ranks, 0, 0, 1, ranks));
    return Packed(policy, cu_seqlens, total, ranks);
}
template <LayoutPolicy P, class R>
[[nodiscard]] constexpr auto packed(P policy, R&& cu_seqlens, std::int64_t total, int ranks) {
    return packed(policy, offsets(std::forward<R>(cu_seqlens)), total, ranks);
}

}  // namespace seqpar
