// Offsets: a borrowed array of document offsets (cu_seqlens), and the search for the document of a position.
#pragma once

#include <seqpar/layout/concepts.hpp>
#include <seqpar/layout/detail/search.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace seqpar {

// An integer type that offsets are stored in.
template <class T>
concept OffsetInteger = std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

// `count` offsets that belong to somebody else: D documents are D+1 offsets, the first 0, none smaller than the one before,
// the last the total. Documents may be empty and the last offset may repeat. Making one reads nothing, so the memory may be
// a device's; it is read where the layout over it is used. Out of a container only while the container stays: a temporary
// that owns its memory does not compile.
template <OffsetInteger Int>
class Offsets {
public:
    Offsets() = default;
    SEQPAR_HD constexpr Offsets(const Int* data, std::int64_t count) : data_(data), count_(count) {}

    SEQPAR_HD constexpr const Int* data() const { return data_; }
    SEQPAR_HD constexpr std::int64_t count() const { return count_; }
    SEQPAR_HD constexpr std::int64_t documents() const { return count_ - 1; }
    SEQPAR_HD constexpr std::int64_t operator[](std::int64_t document) const { return data_[document]; }

    // The last offset, or 0 where there is none: then check() says so.
    SEQPAR_HD constexpr std::int64_t last() const { return count_ < 1 ? 0 : data_[count_ - 1]; }

    // The document, never an empty one, that holds `position`, which lies in [0, last offset). Logarithmic in documents.
    SEQPAR_HD constexpr std::int64_t document_of(std::int64_t position) const {
        return detail::last_at_most(Key{data_}, 0, documents(), position);
    }

private:
    struct Key {
        const Int* data;
        SEQPAR_HD constexpr std::int64_t operator()(std::int64_t i) const { return data[i]; }
    };

    const Int* data_ = nullptr;
    std::int64_t count_ = 0;
};

namespace detail {

template <class R>
using offset_element = std::remove_cvref_t<decltype(*std::declval<R&>().data())>;

template <class R>
concept OffsetRange = requires(R& range) {
    requires OffsetInteger<offset_element<R>>;
    { range.size() } -> std::convertible_to<std::size_t>;
};

template <class R>
concept BorrowedOffsetRange =
    OffsetRange<std::remove_reference_t<R>> &&
    (std::is_lvalue_reference_v<R> || std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>);

}  // namespace detail

// The offsets of a contiguous container or a span of int32 or int64.
template <detail::BorrowedOffsetRange R>
[[nodiscard]] constexpr auto offsets(R&& range) {
    return Offsets<detail::offset_element<std::remove_reference_t<R>>>{range.data(),
                                                                       static_cast<std::int64_t>(range.size())};
}
template <OffsetInteger Int, std::size_t N>
[[nodiscard]] constexpr Offsets<Int> offsets(const Int (&array)[N]) {
    return {array, static_cast<std::int64_t>(N)};
}
template <OffsetInteger Int>
[[nodiscard]] constexpr Offsets<Int> offsets(Offsets<Int> borrowed) {
    return borrowed;
}

namespace detail {

// The parts of check(…) below, for whatever has count() entries: whether there are enough, which reads none; what entry `i`
// shows; and all.
template <class Entries>
SEQPAR_HD constexpr Status check_offset_count(const Entries& cu_seqlens, std::int64_t total, int array = 0) {
    const std::int64_t count = cu_seqlens.count();
    return count < 1 || (count == 1 && total != 0) ? make_status(Kind::offsets_count, array, 0, 2, count) : Status{};
}
template <class Entries>
SEQPAR_HD constexpr Status check_offset(const Entries& cu_seqlens, std::int64_t total, std::int64_t i, int array = 0) {
    if (i == 0 && cu_seqlens[0] != 0) return make_status(Kind::offsets_first, array, 0, 0, cu_seqlens[0]);
    if (i > 0 && cu_seqlens[i] < cu_seqlens[i - 1]) {
        return make_status(Kind::offsets_order, array, i - 1, cu_seqlens[i - 1], cu_seqlens[i]);
    }
    if (i == cu_seqlens.count() - 1 && cu_seqlens[i] != total) {
        return make_status(Kind::offsets_total, array, 0, total, cu_seqlens[i]);
    }
    return {};
}
template <class Entries>
SEQPAR_HD constexpr Status check_entries(const Entries& cu_seqlens, std::int64_t total, int array) {
    Status status = check_offset_count(cu_seqlens, total, array);
    for (std::int64_t i = 0; status.ok() && i < cu_seqlens.count(); ++i)
        status = check_offset(cu_seqlens, total, i, array);
    return status;
}

}  // namespace detail

// Whether `cu_seqlens` begin at 0, never decrease and end at `total`. Reads them once. `array` is what the Status names.
template <OffsetInteger Int>
[[nodiscard]] SEQPAR_HD constexpr Status check(Offsets<Int> cu_seqlens, std::int64_t total, int array = 0) {
    return detail::check_entries(cu_seqlens, total, array);
}

}  // namespace seqpar
