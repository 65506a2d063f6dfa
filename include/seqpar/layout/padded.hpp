// Padded: any layout over padded positions, with the source of each slot in the unpadded array.
#pragma once

#include <seqpar/layout/offsets.hpp>
#include <seqpar/layout/runs.hpp>

namespace seqpar {

// Document d has real length real[d+1] - real[d] and padded length padded[d+1] - padded[d]; its pad slots come last. size() is
// the padded length (the base layout's), source_size() the real one.
template <Layout L, OffsetInteger Int, OffsetInteger J>
class Padded {
public:
    static constexpr bool padded = true;
    static_assert(!is_padded<L>, "a layout is padded once: give the offsets of both paddings together");

    Padded() = default;
    SEQPAR_HD constexpr Padded(L base, Offsets<Int> real, Offsets<J> padded_offsets, std::int64_t real_total)
        : base_(base), real_(real), padded_(padded_offsets), real_total_(real_total) {}

    SEQPAR_HD constexpr const L& base() const { return base_; }

    SEQPAR_HD constexpr std::int64_t size() const { return base_.size(); }
    SEQPAR_HD constexpr std::int64_t source_size() const { return real_total_; }
    SEQPAR_HD constexpr int ranks() const { return base_.ranks(); }
    SEQPAR_HD constexpr std::int64_t slots(int rank) const { return base_.slots(rank); }
    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const { return base_.position(rank, slot); }
    SEQPAR_HD constexpr Place place(std::int64_t position) const { return base_.place(position); }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const {
        return source_of(position, padded_.document_of(position)).position;
    }

    SEQPAR_HD constexpr Run run_at(int rank, std::int64_t slot) const requires RunLayout<L> {
        return base_.run_at(rank, slot);
    }
    SEQPAR_HD constexpr auto runs(int rank, std::int64_t first, std::int64_t last) const {
        return seqpar::runs(base_, rank, first, last);
    }

    // The stretch of consecutive sources (or of pad slots, position -1) that begins at `position`. `hint` is a document near by.
    SEQPAR_HD constexpr Run source_run(std::int64_t position, std::int64_t& hint) const {
        if (hint + 2 < padded_.count() && position >= padded_[hint + 1]) ++hint;
        if (position < padded_[hint] || position >= padded_[hint + 1]) hint = padded_.document_of(position);
        return source_of(position, hint);
    }

    [[nodiscard]] SEQPAR_HD constexpr Status check_unread() const {
        Status status = seqpar::check_unread(base_);
        if (status.ok()) status = detail::check_offset_count(padded_, base_.size());
        if (status.ok()) status = detail::check_offset_count(real_, real_total_, 1);
        if (status.ok() && real_.count() != padded_.count())
            status = make_status(Kind::offsets_count, 1, 0, padded_.count(), real_.count());
        return status;
    }

    // Both offset arrays legal, and no document longer than its padded length.
    [[nodiscard]] SEQPAR_HD constexpr Status check() const {
        Status status = seqpar::check(base_);
        if (status.ok()) status = seqpar::check(padded_, base_.size());
        if (status.ok()) status = seqpar::check(real_, real_total_, 1);
        for (std::int64_t document = 0; status.ok() && document < padded_.documents(); ++document)
            status = check_document(document);
        return status;
    }
    [[nodiscard]] SEQPAR_HD constexpr std::int64_t entries() const { return seqpar::entries(base_) + padded_.count(); }
    [[nodiscard]] SEQPAR_HD constexpr Status check_entry(std::int64_t i) const {
        const std::int64_t of_base = seqpar::entries(base_);
        if (i < of_base) return seqpar::check_entry(base_, i);
        i -= of_base;
        Status status = detail::check_offset(padded_, base_.size(), i);
        if (status.ok()) status = detail::check_offset(real_, real_total_, i, 1);
        return status.ok() && i > 0 ? check_document(i - 1) : status;
    }

private:
    SEQPAR_HD constexpr Status check_document(std::int64_t document) const {
        const std::int64_t room = padded_[document + 1] - padded_[document];
        const std::int64_t length = real_[document + 1] - real_[document];
        return length > room ? make_status(Kind::offsets_real, 0, document, room, length) : Status{};
    }
    SEQPAR_HD constexpr Run source_of(std::int64_t position, std::int64_t document) const {
        const std::int64_t offset = position - padded_[document];
        const std::int64_t length = real_[document + 1] - real_[document];
        if (offset < length) return {real_[document] + offset, position, length - offset};
        return {-1, position, padded_[document + 1] - position};
    }

    L base_{};
    Offsets<Int> real_{};
    Offsets<J> padded_{};
    std::int64_t real_total_ = 0;
};

// `base` is over padded positions (its offsets, if it has any, are `padded_cu_seqlens` too). Both arrays are borrowed and have
// one entry a document and one more; nothing is read here. real_total: the last entry of `cu_seqlens`.
template <Layout L, OffsetInteger Int, OffsetInteger J>
[[nodiscard]] SEQPAR_HD constexpr auto padded(L base, Offsets<Int> cu_seqlens, Offsets<J> padded_cu_seqlens,
                                              std::int64_t real_total) {
    return Padded(base, cu_seqlens, padded_cu_seqlens, real_total);
}
template <Layout L, class R, class S>
[[nodiscard]] constexpr auto padded(L base, R&& cu_seqlens, S&& padded_cu_seqlens, std::int64_t real_total) {
    return padded(base, offsets(std::forward<R>(cu_seqlens)), offsets(std::forward<S>(padded_cu_seqlens)), real_total);
}

}  // namespace seqpar
