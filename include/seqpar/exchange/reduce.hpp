// The sums of gradients that a GradientState says are due, each done over a communicator and noted in the state that follows.
// Not here: what is due (move/gradient_state.hpp), plans.
#pragma once

#include <seqpar/exchange/exchange.hpp>
#include <seqpar/move/gradient_state.hpp>

namespace seqpar {

namespace detail {

template <Communicator C>
void require_group(const C& comm, const GradientState& state) {
    if (comm.size() != state.ranks()) throw_if_bad(make_status(Kind::shard_count, 0, 0, state.ranks(), comm.size()));
}

template <class D, Communicator C, WritableTensor... X>
void sum_in_place(const D& exec, const C& comm, const GradientState& state, X&... gradients) {
    static_assert(((data_type_of<element_of<X>> != DataType::bytes) && ...), "communicators cannot add this type");
    require_group(comm, state);
    const ArrayRef arrays[] = {array_ref(gradients)...};
    int number = 0;
    for (const ArrayRef& array : arrays) {
        std::int64_t elements = 1;
        for (int i = array.axes - 1; i >= 0; --i) {
            if (array.extents[i] > 1 && array.strides[i] != elements)
                throw_if_bad(make_status(Kind::extent, number, 0, elements, array.strides[i], i));
            elements *= array.extents[i];
        }
        for (int before = 0; before < number; ++before) {
            if (shares_memory(arrays[before], array)) throw_if_bad(make_status(Kind::overlap, number, 0, 0, 1));
        }
        ++number;
    }
    if constexpr (!std::is_same_v<D, CheckOnly>) {
        const auto stream = exchange_stream(Dispatch{}, exec, std::type_identity<typename C::Stream>{});
        auto group = comm.group();
        (comm.all_reduce(group, view(gradients).data_handle(), view(gradients).data_handle(),
                         static_cast<std::int64_t>(view(gradients).size()), data_type_of<element_of<X>>, Reduction::sum,
                         stream),
         ...);
        group.close();
    }
}

}  // namespace detail

// Sums the gradient of a bank that is one value on all ranks, in place, and notes it in `state`; of several levels in one group of
// calls. A collective. Errors, before anything is sent: not due, as a second time (an Error that names the axis), another group, a
// tensor that is not contiguous or given twice. Shapes: any. Synchronises: as the communicator does. Allocates: never. Launches:
// those of the communicator. Reads offsets on: none.
template <class D, Communicator C, WritableTensor... X>
    requires(sizeof...(X) >= 1)
void sum_bank(const detail::ExecBase<D>& exec, const C& comm, GradientState& state, X&&... d_banks) {
    const GradientState next = state.after_bank_sum(BankSum::all_reduce);
    detail::sum_in_place(thrust::detail::derived_cast(exec), comm, state, d_banks...);
    if constexpr (!std::is_same_v<D, detail::CheckOnly>) state = next;
}

// Brings the gradients of the rows that this rank's tokens refer to back to the ranks that encoded them, where they are added to what
// is there: exchanges by the reverse of `plan`, by which the rows came (plan_owned, plan_all_gather_v). Fields: of the bank and of
// its levels, field(d_rows, axis<0>, d_bank) each: [rows_out, …] to [rows_in, …]. Errors and contract line: as exchange, and not due,
// another group than the state's. In a graph use exchange() and a reversed plan that stays as long; this one's goes at the end.
template <class D, Communicator C, class... Fields>
    requires(sizeof...(Fields) >= 1)
void sum_bank_rows(const detail::ExecBase<D>& exec, const C& comm, GradientState& state, const ExchangePlan& plan,
                   const Fields&... fields) {
    const GradientState next = state.after_bank_sum(BankSum::reduce_scatter);
    detail::require_group(comm, state);
    detail::exchange_fields<Add>(thrust::detail::derived_cast(exec), comm, reversed(plan), fields...);
    if constexpr (!std::is_same_v<D, detail::CheckOnly>) state = next;
}

// Sums the gradients of the encoder's weights over the group, in place, in one group of calls. Errors and contract line: as sum_bank;
// not due too while the bank's sum is.
template <class D, Communicator C, WritableTensor... X>
    requires(sizeof...(X) >= 1)
void sum_weights(const detail::ExecBase<D>& exec, const C& comm, GradientState& state, X&&... d_weights) {
    const GradientState next = state.after_weights_sum();
    detail::sum_in_place(thrust::detail::derived_cast(exec), comm, state, d_weights...);
    if constexpr (!std::is_same_v<D, detail::CheckOnly>) state = next;
}

}  // namespace seqpar
