// sharded(): what a rank holds of a tensor, as a lazy view: an mdspan whose mapping goes through the layout.
#pragma once

#include <seqpar/layout/concepts.hpp>
#include <seqpar/tensor/detail/fill.hpp>
#include <seqpar/tensor/traits.hpp>

namespace seqpar {

namespace detail {

// The offset that stands for a pad slot; those of a padded shard of a padded shard are the ones after it. Not -1, which a
// negative stride can give.
inline constexpr std::size_t pad_offset = std::size_t{1} << 63;

// How many padded shards a mapping or an accessor is of: each has its own pads, and its own fill.
template <class X>
inline constexpr std::size_t pad_depth = 0;

// The mdspan mapping of a shard: axis `SequenceAxis` of the base mapping is indexed through `L`.
template <class BaseMapping, Layout L, std::size_t SequenceAxis, class Extents>
class sharded_layout_mapping;

template <class BaseMapping, Layout L, std::size_t SequenceAxis>
struct layout_sharded {
    template <class Extents>
    using mapping = sharded_layout_mapping<BaseMapping, L, SequenceAxis, Extents>;
};

template <class BaseMapping, Layout L, std::size_t SequenceAxis, class Extents>
class sharded_layout_mapping {
public:
    using extents_type = Extents;
    using index_type = typename Extents::index_type;
    using size_type = typename Extents::size_type;
    using rank_type = typename Extents::rank_type;
    using layout_type = layout_sharded<BaseMapping, L, SequenceAxis>;

    sharded_layout_mapping() = default;
    SEQPAR_HD constexpr sharded_layout_mapping(const Extents& extents, const BaseMapping& base, const L& layout,
                                               int rank)
        : extents_(extents), base_(base), layout_(layout), rank_(rank) {}

    SEQPAR_HD constexpr const Extents& extents() const { return extents_; }
    SEQPAR_HD constexpr const BaseMapping& base() const { return base_; }
    SEQPAR_HD constexpr const L& layout() const { return layout_; }
    SEQPAR_HD constexpr int rank() const { return rank_; }
    SEQPAR_HD constexpr std::size_t required_span_size() const {
        return static_cast<std::size_t>(base_.required_span_size());
    }

    template <class... Indices>
        requires(sizeof...(Indices) == Extents::rank())
    SEQPAR_HD constexpr std::size_t operator()(Indices... indices) const {
        index_type index[Extents::rank()] = {static_cast<index_type>(indices)...};
        const std::int64_t source = layout_.source(layout_.position(rank_, index[SequenceAxis]));
#if defined(__CUDA_ARCH__)
        const bool inside = source >= 0 && source < layout_.source_size();  // illegal offsets may name any entry
#else
        const bool inside = !is_padded<L> || source >= 0;
#endif
        if (is_padded<L> && !inside) return pad_offset + pad_depth<BaseMapping>;
        index[SequenceAxis] = inside ? source : 0;
        return apply(index, std::make_index_sequence<Extents::rank()>{});
    }

    SEQPAR_HD static constexpr bool is_always_unique() { return BaseMapping::is_always_unique() && !is_padded<L>; }
    SEQPAR_HD static constexpr bool is_always_exhaustive() { return false; }
    SEQPAR_HD static constexpr bool is_always_strided() { return false; }
    SEQPAR_HD constexpr bool is_unique() const { return is_always_unique(); }
    SEQPAR_HD constexpr bool is_exhaustive() const { return false; }
    SEQPAR_HD constexpr bool is_strided() const { return false; }

private:
    template <std::size_t... Int>
    SEQPAR_HD constexpr std::size_t apply(const index_type (&index)[Extents::rank()],
                                          std::index_sequence<Int...>) const {
        return static_cast<std::size_t>(base_(index[Int]...));
    }

    Extents extents_{};
    BaseMapping base_{};
    L layout_{};
    int rank_ = 0;
};

template <class BaseMapping, Layout L, std::size_t SequenceAxis, class Extents>
inline constexpr std::size_t pad_depth<sharded_layout_mapping<BaseMapping, L, SequenceAxis, Extents>> =
    pad_depth<BaseMapping> + (is_padded<L> ? 1 : 0);

template <class Base>
struct FillAccessor;
template <class Base>
inline constexpr std::size_t pad_depth<FillAccessor<Base>> = pad_depth<Base> + 1;

// The base's accessor where the slot is real, or a pad of the base, the fill, by value, where it is a pad slot of its own.
template <class Base>
struct FillAccessor {
    using offset_policy = FillAccessor;
    using element_type = const typename Base::element_type;
    using reference = std::remove_cv_t<element_type>;
    using data_handle_type = typename Base::data_handle_type;

    Base base{};
    reference fill{};

    SEQPAR_HD constexpr reference access(const data_handle_type& data, std::size_t offset) const {
        return offset == pad_offset + pad_depth<Base> ? fill : static_cast<reference>(base.access(data, offset));
    }
    SEQPAR_HD constexpr data_handle_type offset(const data_handle_type& data, std::size_t) const { return data; }
};

template <class V, std::size_t K, class Int>
struct sharded_extents;
template <class V, std::size_t K, std::size_t... Int>
struct sharded_extents<V, K, std::index_sequence<Int...>> {
    using type = cuda::std::extents<std::int64_t, (Int == K ? cuda::std::dynamic_extent : V::static_extent(Int))...>;
};

template <class V, Layout L, int A>
struct sharded_types {
    static constexpr std::size_t axis = static_cast<std::size_t>(axis_index(A, static_cast<int>(V::rank())));
    using extents = typename sharded_extents<V, axis, std::make_index_sequence<V::rank()>>::type;
    using layout = layout_sharded<typename V::mapping_type, L, axis>;
    using mapping = typename layout::template mapping<extents>;
};

template <class M, class V, class L>
constexpr M sharded_mapping(const V& v, const L& layout, int rank, std::size_t axis) {
    require(check_rank(layout, rank));
    const std::int64_t length = static_cast<std::int64_t>(v.extent(axis));
    if (length != layout.source_size()) {
        require(make_status(Kind::axis_extent, 0, 0, layout.source_size(), length, static_cast<std::int64_t>(axis)));
    }
    using Extents = typename M::extents_type;
    cuda::std::array<std::int64_t, Extents::rank()> extents{};
    for (std::size_t i = 0; i < Extents::rank(); ++i) {
        extents[i] = i == axis ? layout.slots(rank) : static_cast<std::int64_t>(v.extent(i));
    }
    return M(Extents(extents), v.mapping(), layout, rank);
}

}  // namespace detail

// What `rank` holds of `tensor`, split along its axis A by `layout`: a view of shape […, slots(rank), …] that reads through
// the layout and copies nothing. A shard of a shard is again one. The offsets that the layout borrows are read where an
// element is; in a kernel illegal ones lead to some entry, never outside the tensor. Errors: a rank outside the group; an axis whose length is not source_size(). A padded layout needs a fill. Out of
// a container only while the container stays: a temporary that owns its elements does not compile.
template <BorrowedTensor T, Layout L, int A>
    requires(!is_padded<L>)
&&AxisOf<Axis<A>, T> [[nodiscard]] constexpr auto sharded(T&& tensor, const L& layout, int rank, Axis<A>) {
    const auto v = view(tensor);
    using V = view_of<T>;
    using Types = detail::sharded_types<V, L, A>;
    return cuda::std::mdspan<typename V::element_type, typename Types::extents, typename Types::layout,
                             typename V::accessor_type>(
        v.data_handle(), detail::sharded_mapping<typename Types::mapping>(v, layout, rank, Types::axis), v.accessor());
}

// The same over a padded layout: pad slots read as `fill`, which must convert to the element type exactly, and the view is
// read-only. Of a padded shard's padded shard each fills its own pads.
template <BorrowedTensor T, Layout L, int A, class F>
    requires is_padded<L> && AxisOf<Axis<A>, T>
[[nodiscard]] constexpr auto sharded(T&& tensor, const L& layout, int rank, Axis<A>, const F& fill) {
    const auto v = view(tensor);
    using V = view_of<T>;
    using Types = detail::sharded_types<V, L, A>;
    using Accessor = detail::FillAccessor<typename V::accessor_type>;
    return cuda::std::mdspan<typename Accessor::element_type, typename Types::extents, typename Types::layout,
                             Accessor>(v.data_handle(),
                                       detail::sharded_mapping<typename Types::mapping>(v, layout, rank, Types::axis),
                                       Accessor{v.accessor(), detail::fill_element<element_of<T>>(fill, 0)});
}

}  // namespace seqpar
