// shard(): what a rank holds of an array, along any axis; shard_batch(): of many arrays in one call; and shard's adjoint.
// Not here: putting shards back together; see unshard.hpp.
#pragma once

#include <seqpar/move/detail/host_move.hpp>
#include <seqpar/move/field.hpp>

#include <array>
#include <tuple>
#include <utility>

namespace seqpar {

namespace detail {

// The field with the batch's layout and rank, where it has none of its own.
template <class In, class Out, Layout L, class F>
Field<In, Out, L, F> bind(const Field<In, Out, BatchLayout, F>& field, const L& layout, int rank) {
    return {field.in, field.out, field.axis, layout, rank, field.fill_value};
}
template <class In, class Out, Layout M, class F, Layout L>
const Field<In, Out, M, F>& bind(const Field<In, Out, M, F>& field, const L&, int) {
    return field;
}

template <class D, class In, class Out, class L, class F>
Status check_own_layout(const Field<In, Out, L, F>& field) {
    if constexpr (Layout<L>) return check_for<D>(field.layout);
    return {};
}

// The move that a bound field asks for; throws what is wrong with it. `array` is the number of the field in its batch, `index` the
// rank where the fields are the shards of all.
template <Direction To, class In, class Out, Layout L, class F>
SlotMove<L> checked_move(const Field<In, Out, L, F>& field, int array, int index = 0) {
    constexpr bool to_shard = To == Direction::to_shard;
    throw_if_bad(check_rank(field.layout, field.rank));
    const ArrayRef& whole = to_shard ? field.in : field.out;
    const ArrayRef& part = to_shard ? field.out : field.in;
    const Status s = check_arrays(field.layout, field.rank, whole, part, field.axis, to_shard, array);
    if (!s.ok()) raise(make_status(s.kind(), array, index, s.expected, s.got, s.field));
    SlotMove<L> move{field.layout, field.rank, slot_copy(whole, part, field.axis), {}};
    if constexpr (to_shard) {
        static_assert(is_padded<L> || std::is_void_v<F>, "a fill is given, but the layout has no pad slots");
        static_assert(!is_padded<L> || !std::is_void_v<F>, "the layout has pad slots: say what they get with a fill");
        if constexpr (is_padded<L>) {
            using Element = typename Field<In, Out, L, F>::element;
            move.fill = fill_as<std::conditional_t<std::is_void_v<Element>, F, Element>>(field.fill_value, array);
            if (move.fill.size != whole.element_bytes) {
                throw_if_bad(make_status(Kind::element, array, 0, whole.element_bytes, move.fill.size));
            }
        }
    }
    return move;
}

// Whether no field of a batch writes what another one reads or writes: a device moves them all at once.
template <std::size_t N>
Status check_fields_apart(const std::array<ArrayRef, N>& in, const std::array<ArrayRef, N>& out) {
    ByteSpan read[N], written[N];
    for (std::size_t j = 0; j < N; ++j) {
        read[j] = byte_span(in[j]);
        written[j] = byte_span(out[j]);
        for (std::size_t i = 0; i < j; ++i) {
            if ((meets(written[i], written[j]) && shares_memory(out[i], out[j])) ||
                (meets(written[i], read[j]) && shares_memory(out[i], in[j])) ||
                (meets(read[i], written[j]) && shares_memory(in[i], out[j])))
                return make_status(Kind::overlap, static_cast<int>(j), 0, 0, 1);
        }
    }
    return {};
}

template <Layout L>
std::int64_t bytes_of(const SlotMove<L>& move) {
    return move.layout.slots(move.rank) * move.copy.part * move.copy.loop_count;
}

// Runs the moves of a batch on a host exec, one field after the other.
template <Direction To, HostExec D, Layout... Ls>
void run_moves(Dispatch tag, const D& exec, const SlotMove<Ls>&... moves) {
    const std::int64_t bytes = (bytes_of(moves) + ... + 0);
    (move_slots<To>(tag, exec, bytes, moves), ...);
}
template <Direction To, class D, class... Rest>
void run_moves(NoBackend, const D&, const Rest&...) {
    no_backend<D>();
}

template <Direction To, class D, Layout L, std::size_t... Int, class... Fields>
void move_batch(const D& exec, const L& layout, [[maybe_unused]] int rank, std::index_sequence<Int...>,
                const Fields&... fields) {
    throw_if_bad(check_for<D>(layout));
    (throw_if_bad(check_own_layout<D>(fields)), ...);
    // Braces evaluate in order, and every field is checked before the first byte moves: a throw leaves all outputs alone.
    const std::tuple moves{checked_move<To>(bind(fields, layout, rank), static_cast<int>(Int))...};
    if constexpr (sizeof...(Int) > 1) throw_if_bad(check_fields_apart<sizeof...(Int)>({fields.in...}, {fields.out...}));
    run_moves<To>(Dispatch{}, exec, std::get<Int>(moves)...);
}

}  // namespace detail

// What `rank` holds of every field, each along its own axis and, where it says so with .with(layout, rank), by its own layout
// (labels are not split over TP). Fields of a padded layout need .fill(value); nothing else may have one.
// Errors, before anything is written: an illegal layout, a rank outside the group, a sequence axis that is not source_size()
// (or slots(rank) in the output), shapes that differ elsewhere, a fill that does not convert exactly, overlap, of fields too.
// On CUDA offsets and tables are checked in the same launch, under reporting(); illegal ones move nothing outside the arrays.
// Synchronises: never (thrust::cuda::par: once, as Thrust does). Allocates: never. Launches: on CUDA 1 for up to 16 fields, none
// for empty work. Reads offsets on: exec's device.
template <class D, Layout L, class... Fields>
void shard_batch(const detail::ExecBase<D>& exec, const L& layout, int rank, const Fields&... fields) {
    detail::move_batch<detail::Direction::to_shard>(thrust::detail::derived_cast(exec), layout, rank,
                                                    std::index_sequence_for<Fields...>{}, fields...);
}

// What `rank` holds of `in` along `axis`, in slot order: out[…, t, …] = in[…, source(position(rank, t)), …].
// Shapes: in […, source_size(), …], out […, slots(rank), …]. Errors and contract line: as shard_batch.
template <class D, Layout L, MovableTensor In, AnyAxis A, MovableTensor Out>
void shard(const detail::ExecBase<D>& exec, const L& layout, int rank, In&& in, A axis, Out&& out) {
    shard_batch(exec, layout, rank, field(in, axis, out));
}

// The same over a padded layout: pad slots get `fill`, which must convert to the element type exactly.
template <class D, Layout L, MovableTensor In, AnyAxis A, MovableTensor Out, class F>
void shard(const detail::ExecBase<D>& exec, const L& layout, int rank, In&& in, A axis, Out&& out, const F& fill) {
    shard_batch(exec, layout, rank, field(in, axis, out).fill(fill));
}

// The adjoint of shard for one rank: d_in[…, source, …] = d_out[…, slot, …] for every slot of `rank` that is no pad slot.
// Nothing else of d_in is written: the caller zeroes it, or lets every rank's adjoint write its part (their sources are
// disjoint). By an index array (Indexed): defined only where it names no entry twice. Shapes: d_out […, slots(rank), …], d_in
// […, source_size(), …]. Errors and contract line: as shard_batch.
template <class D, Layout L, MovableTensor In, AnyAxis A, MovableTensor Out>
void shard_adjoint(const detail::ExecBase<D>& exec, const L& layout, int rank, In&& d_out, A axis, Out&& d_in) {
    detail::move_batch<detail::Direction::to_whole>(thrust::detail::derived_cast(exec), layout, rank,
                                                    std::index_sequence<0>{}, field(d_out, axis, d_in));
}

}  // namespace seqpar
