// Moves of one array on the host: walks the runs of a shard and copies each, chunk by chunk, under any host exec.
#pragma once

#include <seqpar/detail/exec.hpp>
#include <seqpar/layout/runs.hpp>
#include <seqpar/move/detail/host_copy.hpp>
#include <seqpar/move/detail/slot_copy.hpp>
#include <seqpar/move/field.hpp>

namespace seqpar::detail {

// To the shard: shard slots are written, pad slots with the fill. To the whole: pad slots are skipped.
enum class Direction { to_shard, to_whole };

template <Layout L>
struct SlotMove {
    L layout;
    int rank;
    SlotCopy copy;
    FillBytes fill;
};

// The work of one exec item: some units, each a stretch of slots of one index of the loop axes.
template <Direction To, Layout L>
class HostMove {
public:
    HostMove(const SlotMove<L>& move, std::int64_t bytes)
        : layout_(move.layout),
          copy_(move.copy),
          fill_(move.fill),
          rank_(move.rank),
          slots_(move.layout.slots(move.rank)) {
        const std::int64_t contiguous = copy_.part;
        contiguous_ = copy_.whole.stride == contiguous && copy_.shard.stride == contiguous;
        past_cache_ = writes_past_cache(bytes);
        unit_slots_ = chunk_bytes / copy_.part < 1 ? 1 : chunk_bytes / copy_.part;
        if (unit_slots_ > slots_) unit_slots_ = slots_ > 0 ? slots_ : 1;
        units_per_loop_ = (slots_ + unit_slots_ - 1) / unit_slots_;
        const std::int64_t unit_bytes = unit_slots_ * copy_.part;
        item_units_ = chunk_bytes / unit_bytes < 1 ? 1 : chunk_bytes / unit_bytes;
    }

    std::int64_t items() const {
        const std::int64_t units = copy_.loop_count * units_per_loop_;
        return (units + item_units_ - 1) / item_units_;
    }

    void operator()(std::int64_t item) const {
        const std::int64_t units = copy_.loop_count * units_per_loop_;
        const std::int64_t end = (item + 1) * item_units_ < units ? (item + 1) * item_units_ : units;
        for (std::int64_t unit = item * item_units_; unit < end; ++unit) {
            std::int64_t loop = unit / units_per_loop_;
            const std::int64_t first = (unit - loop * units_per_loop_) * unit_slots_;
            const std::int64_t last = first + unit_slots_ < slots_ ? first + unit_slots_ : slots_;
            std::byte* whole = copy_.whole.data;
            std::byte* shard = copy_.shard.data;
            for (int i = copy_.loops - 1; i >= 0; --i) {
                const std::int64_t index = loop % copy_.extents[i];
                loop /= copy_.extents[i];
                whole += index * copy_.whole.strides[i];
                shard += index * copy_.shard.strides[i];
            }
            if (contiguous_) {
                move_contiguous(whole, shard, first, last);
            } else {
                move_strided(whole, shard, first, last);
            }
        }
    }

private:
    static constexpr std::int64_t chunk_bytes = std::int64_t{1} << 20;

    // Slots that are contiguous on both sides: a run is one copy.
    void move_contiguous(std::byte* whole, std::byte* shard, std::int64_t first, std::int64_t last) const {
        Copies copies(past_cache_);
        auto cursor = source_runs(layout_, rank_, first, last);
        Run run;
        while (cursor.next(run)) {
            std::byte* const in_shard = shard + run.slot * copy_.part;
            if (is_padded<L> && run.position < 0) {
                if constexpr (To == Direction::to_shard) fill_bytes(in_shard, run.length * copy_.part);
                continue;
            }
            std::byte* const in_whole = whole + run.position * copy_.part;
            const auto bytes = static_cast<std::size_t>(run.length * copy_.part);
            if constexpr (To == Direction::to_shard) {
                copies.add(in_shard, in_whole, bytes);
            } else {
                copies.add(in_whole, in_shard, bytes);
            }
        }
        copies.finish();
    }

    // Any strides: a slot is one copy.
    void move_strided(std::byte* whole, std::byte* shard, std::int64_t first, std::int64_t last) const {
        auto cursor = source_runs(layout_, rank_, first, last);
        Run run;
        while (cursor.next(run)) {
            std::byte* in_shard = shard + run.slot * copy_.shard.stride;
            if (is_padded<L> && run.position < 0) {
                if constexpr (To == Direction::to_shard) {
                    for (std::int64_t i = 0; i < run.length; ++i)
                        fill_bytes(in_shard + i * copy_.shard.stride, copy_.part);
                }
                continue;
            }
            std::byte* in_whole = whole + run.position * copy_.whole.stride;
            for (std::int64_t i = 0; i < run.length; ++i) {
                std::byte* const to = To == Direction::to_shard ? in_shard : in_whole;
                const std::byte* const from = To == Direction::to_shard ? in_whole : in_shard;
                copy_bytes(to, from, static_cast<std::size_t>(copy_.part));
                in_shard += copy_.shard.stride;
                in_whole += copy_.whole.stride;
            }
        }
    }

    void fill_bytes(std::byte* to, std::int64_t bytes) const {
        for (std::int64_t i = 0; i < bytes; i += copy_.element_bytes) {
            std::memcpy(to + i, fill_.bytes, static_cast<std::size_t>(copy_.element_bytes));
        }
    }

    L layout_;
    SlotCopy copy_;
    FillBytes fill_;
    int rank_;
    bool contiguous_ = false;
    bool past_cache_ = false;
    std::int64_t slots_;
    std::int64_t unit_slots_ = 1;
    std::int64_t units_per_loop_ = 0;
    std::int64_t item_units_ = 1;
};

// One move. `bytes`: what the whole operation writes, of which this may be a part.
template <Direction To, HostExec D, Layout L>
void move_slots(Dispatch, const D& exec, std::int64_t bytes, const SlotMove<L>& move) {
    if (move.copy.loop_count == 0) return;
    const HostMove<To, L> work(move, bytes);
    for_each_index(exec, work.items(), work);
}
template <Direction To, class D, class... Rest>
void move_slots(NoBackend, const D&, const Rest&...) {
    no_backend<D>();
}

}  // namespace seqpar::detail
