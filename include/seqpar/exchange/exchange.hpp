// exchange(): moves the rows of an array between ranks by a plan. Not here: plans (plans.hpp), communicators.
#pragma once

#include <seqpar/exchange/communicator.hpp>
#include <seqpar/exchange/plan.hpp>
#include <seqpar/index/detail/index_array.hpp>
#include <seqpar/move/detail/gather.hpp>
#include <seqpar/move/shard.hpp>
#include <seqpar/scratch.hpp>

#include <memory>

namespace seqpar {

namespace detail {

// Rows of an array in the order of an exchange's buffer, as a layout for moves of one array (no bijection: a row may be named
// twice or never). The own part is taken out of its place among the ranks and put last or first.
class PlanRows {
public:
    PlanRows() = default;
    PlanRows(Offsets<std::int64_t> rows, std::int64_t of, const std::vector<std::int64_t>& splits, int own,
             bool own_first)
        : rows_(rows), of_(of) {
        const std::int64_t stays = splits[static_cast<std::size_t>(own)];
        std::int64_t before = 0;
        for (int r = 0; r < own; ++r)
            before += splits[static_cast<std::size_t>(r)];
        if (own_first) {
            ends_[0] = stays;
            ends_[1] = stays + before;
            shifts_[0] = before;
            shifts_[1] = -stays;
        } else {
            ends_[0] = before;
            ends_[1] = rows.count() - stays;
            shifts_[1] = stays;
            shifts_[2] = before - ends_[1];
        }
    }

    SEQPAR_HD constexpr std::int64_t size() const { return of_; }
    SEQPAR_HD constexpr std::int64_t source_size() const { return of_; }
    SEQPAR_HD constexpr int ranks() const { return 1; }
    SEQPAR_HD constexpr std::int64_t slots(int) const { return rows_.count(); }
    SEQPAR_HD constexpr std::int64_t position(int, std::int64_t slot) const { return rows_[slot + shift(slot)]; }
    SEQPAR_HD constexpr Place place(std::int64_t position) const { return {0, position}; }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return position; }
    SEQPAR_HD constexpr Run run_at(int, std::int64_t slot) const {
        const std::int64_t first = position(0, slot);
        const std::int64_t end = slot < ends_[0] ? ends_[0] : slot < ends_[1] ? ends_[1] : rows_.count();
        const std::int64_t most = end - slot < 256 ? end - slot : 256;
        std::int64_t length = 1;
        while (length < most && rows_[slot + length + shift(slot)] == first + length)
            ++length;
        return {first, slot, length};
    }

    // The slot of an entry of the list, where the own part is first.
    SEQPAR_HD constexpr std::int64_t slot_of(std::int64_t entry) const {
        const std::int64_t before = shifts_[0];
        return entry < before ? entry + ends_[0] : entry < before + ends_[0] ? entry - before : entry;
    }

private:
    SEQPAR_HD constexpr std::int64_t shift(std::int64_t slot) const {
        return slot < ends_[0] ? shifts_[0] : slot < ends_[1] ? shifts_[1] : shifts_[2];
    }

    Offsets<std::int64_t> rows_{};
    std::int64_t of_ = 0;
    std::int64_t ends_[2] = {};    // of the first two of three stretches of slots
    std::int64_t shifts_[3] = {};  // from a slot of each to its entry in the list
};

// Adds rows of the buffer to those of the array, each row's in order of rank.
template <class T>
struct AddReceived {
    static constexpr const char* operation = "seqpar::exchange";
    SlotCopy copy;   // whole: the array; shard: the buffer
    PlanRows slots;  // own part first
    const std::int64_t* rows;
    const std::int64_t* order;  // entries of rows in order of row; null: none comes twice
    std::int64_t entries;
    std::int64_t total;  // elements

    SEQPAR_HD std::int64_t entry(std::int64_t i) const { return order == nullptr ? i : order[i]; }

    SEQPAR_HD void operator()(std::int64_t first, std::int64_t last) const {
        const std::int64_t part = copy.part / static_cast<std::int64_t>(sizeof(T));
        while (first < last) {
            const std::int64_t piece = first / part;
            const std::int64_t at = first - piece * part;
            const std::int64_t count = part - at < last - first ? part - at : last - first;
            add(piece / copy.loop_count, piece % copy.loop_count, at, count);
            first += count;
        }
    }

private:
    SEQPAR_HD void add(std::int64_t i, std::int64_t loop, std::int64_t at, std::int64_t count) const {
        const std::int64_t row = rows[entry(i)];
        if (i > 0 && rows[entry(i - 1)] == row) return;  // done with the first of them
        std::byte* whole = copy.whole.data + row * copy.whole.stride;
        const std::byte* buffer = copy.shard.data;
        for (int k = copy.loops - 1; k >= 0; --k) {
            const std::int64_t index = loop % copy.extents[k];
            loop /= copy.extents[k];
            whole += index * copy.whole.strides[k];
            buffer += index * copy.shard.strides[k];
        }
        T* const to = reinterpret_cast<T*>(whole) + at;
        for (; i < entries && rows[entry(i)] == row; ++i) {
            const T* const from = reinterpret_cast<const T*>(buffer + slots.slot_of(entry(i)) * copy.shard.stride) + at;
            for (std::int64_t c = 0; c < count; ++c)
                add_value(to[c], from[c]);
        }
    }
};

// An array like `a` with `rows` entries along axis k, which is the slowest in memory.
inline ArrayRef buffer_like(ArrayRef a, int k, void* data, std::int64_t rows) {
    a.data = data;
    a.read_only = false;
    a.extents[k] = rows;
    std::int64_t stride = 1;
    for (int i = a.axes - 1; i >= 0; --i) {
        if (i == k) continue;
        a.strides[i] = stride;
        stride *= a.extents[i];
    }
    a.strides[k] = stride;
    return a;
}

// Memory for the buffers of an exchange, and the plan's arrays where exec can read them.
struct HostExchange {
    std::unique_ptr<std::byte[]> memory;

    std::byte* data() { return memory.get(); }
    Offsets<std::int64_t> rows(const std::vector<std::int64_t>& rows) { return offsets(rows); }
};
template <HostExec D>
HostExchange exchange_memory(Dispatch, const D&, const ExchangePlan&, std::int64_t bytes) {
    return {std::unique_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(bytes)])};
}

// The stream for a communicator's verbs, so that they come after what exec did before, and what it does next after them.
template <HostExec D, class Stream>
Stream exchange_stream(Dispatch, const D&, std::type_identity<Stream>) {
    static_assert(std::is_empty_v<Stream>, "this communicator moves memory of a device: exchange with a CUDA exec");
    return {};
}

// The bytes of a row of an array along axis k.
inline std::int64_t row_bytes_of(const ArrayRef& array, int k) {
    return buffer_like(array, k, nullptr, 0).strides[k] * array.element_bytes;
}

// What the fields of an exchange share: the plan's rows where exec can read them, and a buffer for one field after the other.
template <class Memory>
struct ExchangeBuffers {
    std::unique_ptr<Memory> memory;
    Offsets<std::int64_t> send, receive, repeats;

    ExchangeBuffers(std::unique_ptr<Memory> taken, const ExchangePlan& plan)
        : memory(std::move(taken)),
          send(memory->rows(plan.send_rows)),
          receive(memory->rows(plan.receive_rows)),
          repeats(memory->rows(plan.repeats)) {}
};

template <class Mode, class Element, class D, Communicator C, class Memory>
void run_exchange(const D& exec, const C& comm, const ExchangePlan& plan, ExchangeBuffers<Memory>& buffers,
                  const ArrayRef& in, const ArrayRef& out, int k) {
    const std::int64_t row_bytes = row_bytes_of(in, k);
    const auto sends = static_cast<std::int64_t>(plan.send_rows.size());
    const auto receives = static_cast<std::int64_t>(plan.receive_rows.size());
    // In the buffer: what goes to other ranks, what stays, what comes from other ranks.
    const std::int64_t sent = sends - plan.stays();
    std::byte* const buffer = buffers.memory->data();

    const PlanRows from(buffers.send, plan.rows_in, plan.send_splits, plan.rank, false);
    shard(exec, from, 0, in, RuntimeAxis{k}, buffer_like(in, k, buffer, sends));

    constexpr DataType type = data_type_of<Element>;
    const std::int64_t scale = row_bytes / bytes_of(type);
    std::vector<std::int64_t> send_counts = plan.send_splits;
    std::vector<std::int64_t> receive_counts = plan.receive_splits;
    for (std::vector<std::int64_t>* counts : {&send_counts, &receive_counts}) {
        (*counts)[static_cast<std::size_t>(plan.rank)] = 0;
        for (std::int64_t& count : *counts)
            count *= scale;
    }
    const auto stream = exchange_stream(Dispatch{}, exec, std::type_identity<typename C::Stream>{});
    auto group = comm.group();
    comm.all_to_all_v(group, buffer, send_counts, buffer + sends * row_bytes, receive_counts, type, stream);
    close_or_keep<C>(group, buffers.memory);

    const PlanRows to(buffers.receive, plan.rows_out, plan.receive_splits, plan.rank, true);
    const ArrayRef received = buffer_like(in, k, buffer + sent * row_bytes, receives);
    if constexpr (std::is_same_v<Mode, Store>) {
        shard_adjoint(exec, to, 0, received, RuntimeAxis{k}, out);
    } else {
        run_index_work(Dispatch{}, exec,
                       AddReceived<Element>{slot_copy(out, received, k), to, buffers.receive.data(),
                                            buffers.repeats.count() == 0 ? nullptr : buffers.repeats.data(), receives,
                                            receives * (row_bytes / static_cast<std::int64_t>(sizeof(Element)))});
    }
}

// What is wrong with a plan for a communicator, and with one array of an exchange.
template <class Mode, Communicator C>
Status check_plan(const C& comm, const ExchangePlan& plan) {
    const Status status = check(plan);
    if (!status.ok()) return status;
    if (comm.size() != plan.ranks()) return make_status(Kind::shard_count, 0, 0, plan.ranks(), comm.size());
    if (comm.rank() != plan.rank) return make_status(Kind::rank, 0, 0, plan.rank, comm.rank());
    if (std::is_same_v<Mode, Store> && !plan.repeats.empty())
        return make_status(Kind::row_reused, 0, plan.repeats[1], plan.repeats[0], plan.repeats[1]);
    return {};
}
template <class In, class Out>
Status check_field(const ExchangePlan& plan, const Field<In, Out, BatchLayout, void>& field, int array) {
    // As a whole of rows_in entries and its shard of rows_out would be.
    const PlanRows shape(Offsets<std::int64_t>(nullptr, plan.rows_out), plan.rows_in, plan.send_splits, plan.rank,
                         true);
    return check_arrays(shape, 0, field.in, field.out, field.axis, true, array);
}

template <class Mode, class D, Communicator C, class... In, class... Out>
void exchange_fields(const D& exec, const C& comm, const ExchangePlan& plan,
                     const Field<In, Out, BatchLayout, void>&... fields) {
    static_assert(is_mode<Mode> && !is_summed<Mode>, "an exchange writes by Store or by Add");
    static_assert(
        std::is_same_v<Mode, Store> || !(std::is_void_v<typename Field<In, Out, BatchLayout, void>::element> || ...),
        "what is added needs an element type: give a run-time tensor as<T, N>()");
    throw_if_bad(check_plan<Mode>(comm, plan));
    int array = 0;
    (throw_if_bad(check_field(plan, fields, array++)), ...);
    if constexpr (sizeof...(fields) > 1)
        throw_if_bad(check_fields_apart<sizeof...(fields)>({fields.in...}, {fields.out...}));
    if constexpr (!std::is_same_v<D, CheckOnly> && sizeof...(fields) > 0) {
        // All memory is taken and the plan is copied before the first message: then nothing fails on one rank alone, and no copy
        // waits for others.
        const auto rows = static_cast<std::int64_t>(plan.send_rows.size() + plan.receive_rows.size());
        const std::int64_t widest = (std::max)({row_bytes_of(fields.in, axis_index(fields.axis, fields.in.axes))...});
        using Memory = decltype(exchange_memory(Dispatch{}, exec, plan, rows * widest));
        std::unique_ptr<Memory> memory(new Memory(exchange_memory(Dispatch{}, exec, plan, rows * widest)));
        ExchangeBuffers<Memory> buffers(std::move(memory), plan);
        (run_exchange<Mode, typename Field<In, Out, BatchLayout, void>::element>(
             exec, comm, plan, buffers, fields.in, fields.out, axis_index(fields.axis, fields.in.axes)),
         ...);
    }
}

}  // namespace detail

// The bytes that an exchange takes whose widest field has rows of `row_bytes` bytes, buffers and (on a device) the plan's rows: an
// upper bound.
[[nodiscard]] inline std::int64_t exchange_scratch_bytes(const ExchangePlan& plan, std::int64_t row_bytes) {
    const auto rows = static_cast<std::int64_t>(plan.send_rows.size() + plan.receive_rows.size());
    return rows * (row_bytes + 16) + 5 * ScratchSpan::unit;
}

// Moves rows of `in` along `axis` to rows of `out`, on this rank and on others, as the plans of all ranks say: packed, one
// all-to-all, unpacked. A collective. Store (the default) writes the rows of `out` that the plan names and leaves all others alone;
// Add adds to them, what stayed and what came in order of rank, one rounding each. The adjoint of an exchange by Store is one by
// reversed(plan), which where a row went to many has to be an Add. Shapes: in […, rows_in, …], out […, rows_out, …], else
// alike; strided tensors of one element type, of any strides, or run-time tensors (Store alone). Errors, before anything is
// written, on the ranks where they are (throw_together): a communicator of other ranks than the plan's, an illegal plan, a Store of
// rows that come twice, shapes, overlap, also of fields; and too little scratch, which check_only does not see. Other ranks' failures:
// CommunicationError.
// Synchronises: as the communicator does; a device whose communicator moves host memory, once. Allocates: exchange_scratch_bytes,
// on a device through exec's allocator. Launches: two, and on a device two or three copies of the plan's rows, which the plan has
// to keep until they are made (in a graph, as long as the graph). Reads offsets on: none.
template <class D, Communicator C, MovableTensor In, AnyAxis A, MovableTensor Out, class Mode = Store>
void exchange(const detail::ExecBase<D>& exec, const C& comm, const ExchangePlan& plan, In&& in, A axis, Out&& out,
              Mode = {}) {
    detail::exchange_fields<Mode>(thrust::detail::derived_cast(exec), comm, plan, field(in, axis, out));
}

// The same of many arrays, one after the other: field(in, axis, out) each, a bank and its levels. All are checked before the first
// moves, and none may write what another reads or writes. Errors and contract line: as exchange, with two launches a field; scratch
// is that of the widest, and the plan's rows are copied once.
template <class D, Communicator C, class... Fields>
void exchange_batch(const detail::ExecBase<D>& exec, const C& comm, const ExchangePlan& plan, const Fields&... fields) {
    detail::exchange_fields<Store>(thrust::detail::derived_cast(exec), comm, plan, fields...);
}

}  // namespace seqpar
