// Tokens and their rows: reading row arrays of any kind, and walking a stretch of tokens as text and vision stretches.
// Not here: what is done with a stretch; see vision_gather.hpp.
#pragma once

#include <seqpar/detail/exec.hpp>
#include <seqpar/layout/runs.hpp>
#include <seqpar/move/detail/slot_copy.hpp>
#include <seqpar/tensor/sharded.hpp>

#include <cstring>

namespace seqpar::detail {

// Coordinates of a token: one of each axis but the last of [..., H].
struct TokenIndex {
    std::int64_t at[ArrayRef::max_axes] = {};
};

// Vectors of `width` contiguous elements, one a token: an array [..., H] whose last axis is contiguous.
template <class T>
struct VectorArray {
    T* data = nullptr;
    std::int64_t width = 0;
    int axes = 0;  // of tokens
    std::int64_t extents[ArrayRef::max_axes] = {};
    std::int64_t strides[ArrayRef::max_axes] = {};  // elements

    SEQPAR_HD T* vector(const TokenIndex& index) const {
        std::int64_t offset = 0;
        for (int i = 0; i < axes; ++i)
            offset += index.at[i] * strides[i];
        return data + offset;
    }
    // The same where the number of axes is known: nothing is indexed by a variable, which a kernel would need memory for.
    template <int Axes>
    SEQPAR_HD T* vector_of(const TokenIndex& index) const {
        std::int64_t offset = index.at[0] * strides[0];
        if constexpr (Axes > 1) offset += index.at[1] * strides[1];
        if constexpr (Axes > 2) offset += index.at[2] * strides[2];
        if constexpr (Axes > 3) {
            for (int i = 3; i < Axes; ++i)
                offset += index.at[i] * strides[i];
        }
        return data + offset;
    }
    template <class U>
        requires(std::is_same_v<U, const T> && !std::is_const_v<T>)
    operator VectorArray<U>() const {
        VectorArray<const T> result{data, width, axes};
        for (int i = 0; i < axes; ++i) {
            result.extents[i] = extents[i];
            result.strides[i] = strides[i];
        }
        return result;
    }
};

// One element a token.
template <int Axes, StridedTensor X>
VectorArray<typename view_of<X>::element_type> token_array(X& x) {
    const auto v = view(x);
    VectorArray<typename view_of<X>::element_type> result;
    result.data = v.data_handle();
    result.width = 1;
    result.axes = Axes;
    for (int i = 0; i < result.axes; ++i) {
        result.extents[i] = static_cast<std::int64_t>(v.extent(static_cast<std::size_t>(i)));
        result.strides[i] = static_cast<std::int64_t>(v.stride(static_cast<std::size_t>(i)));
    }
    return result;
}

template <StridedTensor X>
VectorArray<typename view_of<X>::element_type> vector_array(X& x, int array) {
    static_assert(axes_of<X> >= 2, "token vectors and banks have a last axis of width H");
    const auto v = view(x);
    auto result = token_array<axes_of<X> - 1>(x);
    const std::size_t last = static_cast<std::size_t>(result.axes);
    result.width = static_cast<std::int64_t>(v.extent(last));
    if (result.width > 1 && v.stride(last) != 1) {
        throw_if_bad(make_status(Kind::extent, array, 0, 1, static_cast<std::int64_t>(v.stride(last)), result.axes));
    }
    return result;
}

// Whether elements lie where the handle points, or are a fill.
template <class Accessor>
inline constexpr bool is_plain_accessor = false;
template <class T>
inline constexpr bool is_plain_accessor<cuda::std::default_accessor<T>> = true;
template <class Base>
inline constexpr bool is_plain_accessor<FillAccessor<Base>> = is_plain_accessor<Base>;

// How an mdspan is split, where it is a shard of a strided tensor.
template <class Mapping, class Accessor>
struct sharded_mapping_of {
    static constexpr bool is_sharded = false;
};
template <class BaseMapping, Layout L, std::size_t K, class Extents, class Accessor>
    requires(BaseMapping::is_always_strided() && is_plain_accessor<Accessor>)
struct sharded_mapping_of<sharded_layout_mapping<BaseMapping, L, K, Extents>, Accessor> {
    static constexpr bool is_sharded = true;
    static constexpr int axis = static_cast<int>(K);
};

// Row numbers (or bank numbers) of tokens: an int32 tensor, strided, sharded or any other.
template <class View>
class RowReader {
public:
    static constexpr int axes = static_cast<int>(View::rank());
    static_assert(std::same_as<typename View::value_type, std::int32_t>, "row and bank numbers are int32");

    explicit RowReader(const View& view) : view_(view) {}

    SEQPAR_HD const View& view() const { return view_; }

    // The axis along which reading is quickest, or -1 where that does not matter.
    static constexpr int best_axis() {
        if constexpr (Sharded::is_sharded) {
            return Sharded::axis;
        } else {
            return -1;
        }
    }

    SEQPAR_HD std::int64_t extent(int i) const {
        return static_cast<std::int64_t>(view_.extent(static_cast<std::size_t>(i)));
    }

    SEQPAR_HD std::int32_t number(const TokenIndex& index) const {
        return at(index, std::make_index_sequence<View::rank()>{});
    }

    // Numbers of `count` tokens from `index` on along axis `inner`: where they lie, if they lie so, or copied to `buffer`.
    const std::int32_t* read(TokenIndex index, int inner, std::int64_t count, std::int32_t* buffer) const {
        if constexpr (StridedTensor<View>) {
            const std::int64_t stride = static_cast<std::int64_t>(view_.stride(static_cast<std::size_t>(inner)));
            const std::int32_t* from = &at(index, std::make_index_sequence<View::rank()>{});
            if (stride == 1) return from;
            for (std::int64_t i = 0; i < count; ++i)
                buffer[i] = from[i * stride];
        } else if constexpr (Sharded::is_sharded) {
            if (inner == best_axis()) {
                read_runs(index, count, buffer);
                return buffer;
            }
            read_each(index, inner, count, buffer);
        } else {
            read_each(index, inner, count, buffer);
        }
        return buffer;
    }

private:
    using Sharded = sharded_mapping_of<typename View::mapping_type, typename View::accessor_type>;

    template <std::size_t... Int>
    SEQPAR_HD decltype(auto) at(const TokenIndex& index, std::index_sequence<Int...>) const {
        return view_(index.at[Int]...);
    }

    void read_each(TokenIndex index, int inner, std::int64_t count, std::int32_t* buffer) const {
        for (std::int64_t i = 0; i < count; ++i, ++index.at[inner])
            buffer[i] = at(index, std::make_index_sequence<View::rank()>{});
    }

    // Along the sequence axis of a shard: a run is one step, not a search a token.
    void read_runs(const TokenIndex& index, std::int64_t count, std::int32_t* buffer) const {
        const auto& mapping = view_.mapping();
        const std::int64_t first = index.at[best_axis()];
        auto cursor = source_runs(mapping.layout(), mapping.rank(), first, first + count);
        const std::int64_t stride =
            static_cast<std::int64_t>(mapping.base().stride(static_cast<std::size_t>(best_axis())));
        Run run;
        while (cursor.next(run)) {
            TokenIndex token = index;
            token.at[best_axis()] = run.slot;
            std::int32_t* to = buffer + (run.slot - first);
            if (run.position < 0) {
                const std::int32_t fill = at(token, std::make_index_sequence<View::rank()>{});
                for (std::int64_t i = 0; i < run.length; ++i)
                    to[i] = fill;
            } else {
                const std::int32_t* from = view_.data_handle() + static_cast<std::ptrdiff_t>(offset(
                                                                     token, std::make_index_sequence<View::rank()>{}));
                for (std::int64_t i = 0; i < run.length; ++i)
                    to[i] = from[i * stride];
            }
        }
    }
    template <std::size_t... Int>
    std::size_t offset(const TokenIndex& index, std::index_sequence<Int...>) const {
        return view_.mapping()(index.at[Int]...);
    }

    View view_;
};

// Row and bank numbers of some neighbouring tokens; `bank` is null where there is one bank.
struct RowBlock {
    static constexpr std::int64_t size = 512;

    const std::int32_t* row = nullptr;
    const std::int32_t* bank = nullptr;
    std::int64_t count = 0;
    std::int32_t row_buffer[size];
    std::int32_t bank_buffer[size];
};

// Stands for the bank numbers where there is one bank.
struct OneBank {
    const std::int32_t* read(const TokenIndex&, int, std::int64_t, std::int32_t*) const { return nullptr; }
    SEQPAR_HD std::int32_t number(const TokenIndex&) const { return 0; }
};

// The tokens of a row array, as loops over all axes but one and stretches along that one.
template <class Rows, class Banks>
struct TokenRows {
    static constexpr int axes = Rows::axes;

    Rows rows;
    Banks banks;
    int inner = 0;

    TokenRows(const Rows& row_reader, const Banks& bank_reader) : rows(row_reader), banks(bank_reader) {
        if (Rows::best_axis() >= 0) {
            inner = Rows::best_axis();
        } else {
            for (int i = 1; i < Rows::axes; ++i) {
                if (rows.extent(i) >= rows.extent(inner)) inner = i;
            }
        }
    }

    std::int64_t length() const { return rows.extent(inner); }
    std::int64_t loops() const {
        std::int64_t count = 1;
        for (int i = 0; i < Rows::axes; ++i)
            count *= i == inner ? 1 : rows.extent(i);
        return count;
    }
    // The first token of loop `loop`.
    TokenIndex index(std::int64_t loop) const {
        TokenIndex result;
        for (int i = Rows::axes - 1; i >= 0; --i) {
            if (i == inner) continue;
            result.at[i] = loop % rows.extent(i);
            loop /= rows.extent(i);
        }
        return result;
    }
    // The number of a token in row-major order: what a Status names.
    std::int64_t flat(const TokenIndex& index) const {
        std::int64_t number = 0;
        for (int i = 0; i < Rows::axes; ++i)
            number = number * rows.extent(i) + index.at[i];
        return number;
    }

    // The numbers of `count` tokens, at most RowBlock::size, from `index` on.
    void read(const TokenIndex& index, std::int64_t count, RowBlock& block) const {
        block.row = rows.read(index, inner, count, block.row_buffer);
        block.bank = banks.read(index, inner, count, block.bank_buffer);
        block.count = count;
    }

    // Calls visit.text(index, count) and visit.vision(index, count, bank, row) for the stretches of tokens [first, last) of a
    // loop, in order. A vision stretch is of consecutive rows of one bank. Any negative row is text.
    template <class Visit>
    void walk(TokenIndex index, std::int64_t first, std::int64_t last, Visit& visit) const {
        RowBlock block;
        for (std::int64_t begin = first; begin < last; begin += RowBlock::size) {
            index.at[inner] = begin;
            read(index, last - begin < RowBlock::size ? last - begin : RowBlock::size, block);
            const std::int32_t* const row = block.row;
            const std::int32_t* const bank = block.bank;
            std::int64_t i = 0;
            while (i < block.count) {
                const std::int64_t start = i++;
                index.at[inner] = begin + start;
                if (row[start] < 0) {
                    while (i < block.count && row[i] < 0)
                        ++i;
                    visit.text(index, i - start);
                } else {
                    const std::int32_t number = bank == nullptr ? 0 : bank[start];
                    while (i < block.count && row[i] - row[start] == i - start &&
                           (bank == nullptr || bank[i] == number))
                        ++i;
                    visit.vision(index, i - start, number, std::int64_t{row[start]});
                }
            }
        }
    }
};

}  // namespace seqpar::detail
