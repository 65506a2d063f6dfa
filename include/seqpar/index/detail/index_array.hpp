// What index operations write to, the checks on it, and how their work is cut into blocks. Not here: any operation.
#pragma once

#include <seqpar/detail/exec.hpp>
#include <seqpar/layout/offsets.hpp>
#include <seqpar/tensor/detail/memory.hpp>
#include <seqpar/tensor/traits.hpp>

#include <limits>

namespace seqpar {

// A signed integer type that index arrays are written in: 32 or 64 bits.
template <class T>
concept IndexInteger = std::signed_integral<T> && requires { requires(sizeof(T) == 4 || sizeof(T) == 8); };

// An index array that can be written: a strided tensor of one axis.
template <class T>
concept IndexArray = WritableTensor<T> && requires {
    requires(axes_of<T> == 1);
    requires IndexInteger<element_of<T>>;
};

// Offsets that are only read during the call: Offsets, or a container or span of int32 or int64.
template <class R>
concept OffsetArray = requires(std::remove_reference_t<R>& cu_seqlens) { seqpar::offsets(cu_seqlens); };

// Offsets that exec may still read when the call is over: no temporary that owns its memory.
template <class R>
concept BorrowedOffsets = OffsetArray<R> && requires(R&& cu_seqlens) { seqpar::offsets(static_cast<R&&>(cu_seqlens)); };

// Stands for an array that an operation can do without.
struct NoArray {};
inline constexpr NoArray no_array{};

namespace detail {

// Entries of one axis of an array.
template <class T>
struct Line {
    T* data = nullptr;
    std::int64_t stride = 1;

    SEQPAR_HD constexpr T& operator[](std::int64_t i) const { return data[i * stride]; }
};

template <StridedTensor X>
    requires(axes_of<X> == 1)
constexpr Line<typename view_of<X>::element_type> line(X& x) {
    const auto v = view(x);
    return {v.data_handle(), static_cast<std::int64_t>(v.stride(0))};
}

// to[i] = first + i for i in [0, count), contiguous. By blocks, each counted from its own first number: g++ 12 makes them
// additions of constants, one store for 16 bytes (a block of up to 16 it unrolls before it tries).
template <class T>
SEQPAR_HD constexpr void write_count(T* to, std::int64_t count, T first) {
    using Number = std::make_unsigned_t<T>;  // one past the last may not be a T
    constexpr int block = 32;
    Number next = static_cast<Number>(first);
    for (; count >= block; count -= block, to += block, next += block) {
        for (int k = 0; k < block; ++k)
            to[k] = static_cast<T>(next + static_cast<Number>(k));
    }
    for (; count > 0; --count)
        *to++ = static_cast<T>(next++);
}

// out[at + i] = first + i, and out[at + i] = value, for i in [0, count).
template <class T>
SEQPAR_HD constexpr void write_count(const Line<T>& out, std::int64_t at, std::int64_t count, std::int64_t first) {
    if (out.stride == 1) {
        write_count(out.data + at, count, static_cast<T>(first));
    } else {
        for (std::int64_t i = 0; i < count; ++i)
            out[at + i] = static_cast<T>(first + i);
    }
}
template <class T>
SEQPAR_HD constexpr void write_value(const Line<T>& out, std::int64_t at, std::int64_t count, T value) {
    if (out.stride == 1) {
        T* const to = out.data + at;
        for (std::int64_t i = 0; i < count; ++i)
            to[i] = value;
    } else {
        for (std::int64_t i = 0; i < count; ++i)
            out[at + i] = value;
    }
}

template <IndexInteger T>
inline constexpr std::int64_t greatest_of = (std::numeric_limits<T>::max)();

// Whether values up to `greatest` can be written as T.
template <IndexInteger T>
SEQPAR_HD constexpr Status check_fits(std::int64_t greatest, int array = 0) {
    constexpr std::int64_t most = greatest_of<T>;
    return greatest > most ? make_status(Kind::value_lost, array, 0, most, greatest) : Status{};
}

// Whether `out` has `length` entries, no two of which are one, and can hold values up to `greatest`.
template <IndexArray Out>
Status check_index_array(Out& out, std::int64_t length, std::int64_t greatest, int array = 0) {
    const std::int64_t extent = view(out).extent(0);
    if (extent != length) return make_status(Kind::axis_extent, array, 0, length, extent, 0);
    if (repeats_memory(array_ref(out))) return make_status(Kind::overlap, array, 0, 0, 1);
    return length == 0 ? Status{} : check_fits<element_of<Out>>(greatest, array);
}

// Whether an output is apart from the offsets that it is computed from.
template <StridedTensor Out, OffsetInteger Int>
Status check_apart(Out& out, Offsets<Int> cu_seqlens, int array = 0) {
    const auto offsets_array = seqpar::tensor(cu_seqlens.data(), cu_seqlens.count());
    return shares_memory(array_ref(out), array_ref(offsets_array)) ? make_status(Kind::overlap, array, 0, 0, 1)
                                                                   : Status{};
}

// Offsets that are read during the call where exec is a host's, and maybe later where it is not.
template <class R, class D>
concept OffsetsFor = BorrowedOffsets<R> || (OffsetArray<R> && HostExec<D>);

// What can be checked of offsets before an operation under an exec: on a host all, else whether there are enough of them.
template <class D, class Entries>
Status check_for(const Entries& cu_seqlens, std::int64_t total, int array = 0) {
    return is_host_exec<D> ? check_entries(cu_seqlens, total, array) : check_offset_count(cu_seqlens, total, array);
}

// Consecutive parts of [0, total).
struct Blocks {
    static constexpr std::int64_t most = 256;

    std::int64_t total = 0;
    std::int64_t length = 1;

    SEQPAR_HD constexpr std::int64_t count() const { return (total + length - 1) / length; }
    SEQPAR_HD constexpr std::int64_t first(std::int64_t block) const { return block * length; }
    SEQPAR_HD constexpr std::int64_t last(std::int64_t block) const {
        return total - block * length < length ? total : (block + 1) * length;
    }
};

// One block where the exec has one thread, else up to 256 of at least `least` entries.
template <HostExec D>
constexpr Blocks blocks_for(const D&, std::int64_t total, std::int64_t least = 16384) {
    if (total <= least || is_sequential_exec<D>) return {total, total > 0 ? total : 1};
    const std::int64_t share = (total - 1) / Blocks::most + 1;
    return {total, share > least ? share : least};
}

// Runs `work`, a function object with `total` (the number of entries that it writes) and operator()(first, last), which
// writes a stretch of them, on a host exec. The CUDA overload (cuda_index.hpp) gives each entry to a thread: by operator()(i)
// where there is one, which stays in the arrays also where offsets are illegal, as has to the other one where there is none; the
// member `operation` names what a failure is told of.
// It looks at the layouts that the work reads through (check_layouts) and at what check_offset(i) sees for i in [0, offset_count()).
template <class Work>
struct BlockWork {
    Work work;
    Blocks blocks;

    void operator()(std::int64_t block) const { work(blocks.first(block), blocks.last(block)); }
};
template <HostExec D, class Work>
void run_index_work(Dispatch, const D& exec, const Work& work) {
    const Blocks blocks = blocks_for(exec, work.total);
    for_each_index(exec, blocks.count(), BlockWork<Work>{work, blocks});
}
template <class D, class... Rest>
void run_index_work(NoBackend, const D&, const Rest&...) {
    no_backend<D>();
}

}  // namespace detail

}  // namespace seqpar
