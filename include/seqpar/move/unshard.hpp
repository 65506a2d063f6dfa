// unshard(): the whole array from the shards of all ranks, given one by one, stacked or joined; and its adjoint.
#pragma once

#include <seqpar/move/shard.hpp>

#include <array>

namespace seqpar {

namespace detail {

// One tensor a rank, in order of rank.
template <class Element, std::size_t N>
struct ShardList {
    using element = Element;
    std::array<ArrayRef, N> tensors;

    Status check(int ranks) const {
        if (static_cast<std::size_t>(ranks) != N)
            return make_status(Kind::shard_count, 0, 0, ranks, static_cast<std::int64_t>(N));
        return {};
    }
    template <Layout L>
    ArrayRef shard(const L&, int rank, int) const {
        return tensors[static_cast<std::size_t>(rank)];
    }
};

// A callable that gives the tensor of a rank.
template <class Call>
struct ShardCall {
    using element = typename element_or_void<std::remove_reference_t<std::invoke_result_t<const Call&, int>>>::type;
    Call call;

    Status check(int) const { return {}; }
    template <Layout L>
    ArrayRef shard(const L&, int rank, int) const {
        auto&& tensor = call(rank);
        return array_ref(tensor);
    }
};

// A tensor with a leading axis of ranks.
template <class Element>
struct Stacked {
    using element = Element;
    ArrayRef tensor;

    Status check(int ranks) const {
        if (tensor.axes < 2) return make_status(Kind::axes, 0, 0, 2, tensor.axes);
        if (tensor.extents[0] != ranks) return make_status(Kind::shard_count, 0, 0, ranks, tensor.extents[0]);
        return {};
    }
    template <Layout L>
    ArrayRef shard(const L&, int rank, int) const {
        ArrayRef one = tensor;
        one.axes = tensor.axes - 1;
        one.data = static_cast<std::byte*>(tensor.data) + rank * tensor.strides[0] * tensor.element_bytes;
        for (int i = 0; i < one.axes; ++i) {
            one.extents[i] = tensor.extents[i + 1];
            one.strides[i] = tensor.strides[i + 1];
        }
        return one;
    }
};

// A tensor with the shards one after the other along the sequence axis.
template <class Element>
struct Joined {
    using element = Element;
    ArrayRef tensor;

    Status check(int) const { return {}; }
    template <Layout L>
    ArrayRef shard(const L& layout, int rank, int axis) const {
        ArrayRef one = tensor;
        const int k = axis_index(axis, tensor.axes);
        if (k < 0) return one;  // check_arrays names it
        std::int64_t before = 0;
        for (int r = 0; r < rank; ++r)
            before += layout.slots(r);
        if (rank + 1 == layout.ranks() && before + layout.slots(rank) != tensor.extents[k]) {
            throw_if_bad(make_status(Kind::axis_extent, 0, 0, before + layout.slots(rank), tensor.extents[k], k));
        }
        one.data = static_cast<std::byte*>(tensor.data) + before * tensor.strides[k] * tensor.element_bytes;
        one.extents[k] = layout.slots(rank);
        return one;
    }
};

template <class T>
using element_or_void_t = typename element_or_void<std::remove_reference_t<T>>::type;

}  // namespace detail

// What unshard reads. A bare tensor does not compile there, because stacked and joined shards differ silently.
// shards(p0, p1, …): one tensor a rank, in order.
template <MovableTensor First, MovableTensor... Rest>
[[nodiscard]] auto shards(First&& first, Rest&&... rest) {
    static_assert((std::same_as<detail::element_or_void_t<First>, detail::element_or_void_t<Rest>> && ...),
                  "the shards of one array have one element type");
    return detail::ShardList<detail::element_or_void_t<First>, 1 + sizeof...(Rest)>{
        {array_ref(first), array_ref(rest)...}};
}
// shards(callable): the tensor of a rank is callable(rank). Called in order of rank, once to check and once to move, so what it
// gives must stay: a container by value does not compile.
template <class Call>
    requires requires(const Call& call) {
        { call(0) } -> MovableTensor;
    }
[[nodiscard]] auto shards(Call call) {
    using Result = decltype(std::declval<const Call&>()(0));
    static_assert(RuntimeTensor<Result> || BorrowedTensor<Result>,
                  "a callable that gives shards must not give containers by value");
    return detail::ShardCall<Call>{call};
}
// stacked(t): a leading axis of ranks, as an all-gather gives it: [P, …, slots, …]. All shards equally long.
template <MovableTensor T>
[[nodiscard]] auto stacked(T&& tensor) {
    return detail::Stacked<detail::element_or_void_t<T>>{array_ref(tensor)};
}
// joined(t): the shards one after the other along the sequence axis: […, sum of slots, …].
template <MovableTensor T>
[[nodiscard]] auto joined(T&& tensor) {
    return detail::Joined<detail::element_or_void_t<T>>{array_ref(tensor)};
}

namespace detail {

template <class S>
concept ShardSource = requires(const S& source) {
    typename S::element;
    { source.check(1) } -> std::same_as<Status>;
};

// The move of one rank's shard into the whole; throws what is wrong with it.
template <Layout L, class S>
struct MoveOfRank {
    L layout;
    const S& source;
    int axis;
    ArrayRef whole;

    SlotMove<L> operator()(int rank) const {
        using F = Field<typename S::element, typename S::element, L, void>;
        return checked_move<Direction::to_whole>(F{source.shard(layout, rank, axis), whole, axis, layout, rank, {}}, 0,
                                                 rank);
    }
};

// Moves the shards of all ranks on a host exec, one after the other. `bytes`: of all.
template <HostExec D, Layout L, class S>
void move_ranks(Dispatch tag, const D& exec, std::int64_t bytes, int ranks, const MoveOfRank<L, S>& move_of) {
    for (int rank = 0; rank < ranks; ++rank)
        move_slots<Direction::to_whole>(tag, exec, bytes, move_of(rank));
}
template <class D, class... Rest>
void move_ranks(NoBackend, const D&, const Rest&...) {
    no_backend<D>();
}

template <class D, Layout L, ShardSource S>
void unshard(const D& exec, const L& layout, const S& source, int axis, const ArrayRef& whole) {
    throw_if_bad(check_for<D>(layout));
    throw_if_bad(source.check(layout.ranks()));
    const MoveOfRank<L, S> move_of{layout, source, axis, whole};
    std::int64_t bytes = 0;
    for (int rank = 0; rank < layout.ranks(); ++rank)
        bytes += bytes_of(move_of(rank));
    move_ranks(Dispatch{}, exec, bytes, layout.ranks(), move_of);
}

}  // namespace detail

// The whole array from all shards: out[…, source, …] = shard of its rank[…, slot, …]; pad slots are skipped. So
// unshard(shard(x)) is x. source: shards(…), stacked(t) or joined(t). Shapes: a shard […, slots(rank), …], out
// […, source_size(), …]. Errors, before anything is written: as shard_batch, where index is the rank, and a wrong number of
// shards. Contract line: as shard_batch, with a launch for up to 16 ranks.
template <class D, Layout L, detail::ShardSource S, AnyAxis A, MovableTensor Out>
void unshard(const detail::ExecBase<D>& exec, const L& layout, const S& source, A axis, Out&& out) {
    using O = detail::element_or_void_t<Out>;
    using E = typename S::element;
    static_assert(is_bijective<L>, "unshard needs a layout that holds every entry once");
    static_assert(RuntimeTensor<Out> || WritableTensor<Out>, "the output is read-only");
    static_assert(std::is_void_v<O> || std::is_void_v<E> || std::same_as<O, E>,
                  "shards and output must have the same element type");
    static_assert(RuntimeTensor<Out> || AxisOf<A, Out> || std::same_as<A, RuntimeAxis>, "the output has no such axis");
    detail::unshard(thrust::detail::derived_cast(exec), layout, source, axis.value, array_ref(out));
}

// The adjoint of unshard for one rank: d_shard[…, slot, …] = d_out[…, source, …], and 0 in pad slots.
// Shapes, errors and contract line: as shard_batch.
template <class D, Layout L, StridedTensor In, AnyAxis A, StridedTensor Out>
void unshard_adjoint(const detail::ExecBase<D>& exec, const L& layout, int rank, In&& d_out, A axis, Out&& d_shard) {
    if constexpr (is_padded<L>) {
        shard(exec, layout, rank, d_out, axis, d_shard, element_of<Out>{});
    } else {
        shard(exec, layout, rank, d_out, axis, d_shard);
    }
}

}  // namespace seqpar
