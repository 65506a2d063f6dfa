// Permuted: a layout given by a table of runs, for planners and for layouts without a formula (layout C, D, J, K).
// Not here: building the table; see index/run_table.hpp.
#pragma once

#include <seqpar/layout/detail/search.hpp>
#include <seqpar/layout/runs.hpp>

namespace seqpar {

// The borrowed table. runs: of rank 0 in slot order, then of rank 1, …; rank_runs: where each rank's runs begin and, last,
// their number (ranks + 1 entries); by_position: the numbers of the runs in order of position. Empty runs do not occur. The
// three may lie on a device; host_slots, the slots of every rank, is then what a host reads (null: the host reads the table).
struct RunTableView {
    const Run* runs = nullptr;
    const std::int64_t* rank_runs = nullptr;
    const std::int64_t* by_position = nullptr;
    std::int64_t length = 0;
    int ranks = 1;
    const std::int64_t* host_slots = nullptr;
};

// Binary search over the runs of a rank for `position`, over all runs for `place`. Shards may differ in size and be empty.
class Permuted {
public:
    Permuted() = default;
    SEQPAR_HD constexpr explicit Permuted(RunTableView table) : table_(table) {}

    SEQPAR_HD constexpr std::int64_t size() const { return table_.length; }
    SEQPAR_HD constexpr std::int64_t source_size() const { return table_.length; }
    SEQPAR_HD constexpr int ranks() const { return table_.ranks; }
    SEQPAR_HD constexpr std::int64_t slots(int rank) const {
#if !defined(__CUDA_ARCH__)
        if (table_.host_slots != nullptr) return table_.host_slots[rank];
#endif
        const std::int64_t end = table_.rank_runs[rank + 1];
        return end == table_.rank_runs[rank] ? 0 : table_.runs[end - 1].slot + table_.runs[end - 1].length;
    }
    SEQPAR_HD constexpr std::int64_t position(int rank, std::int64_t slot) const { return run_at(rank, slot).position; }
    SEQPAR_HD constexpr Place place(std::int64_t position) const {
        const std::int64_t count = table_.rank_runs[table_.ranks];
        const std::int64_t number = table_.by_position[detail::last_at_most(PositionKey{table_}, 0, count, position)];
        const Run run = table_.runs[number];
        return {rank_of(number), run.slot + (position - run.position)};
    }
    SEQPAR_HD constexpr std::int64_t source(std::int64_t position) const { return position; }
    SEQPAR_HD constexpr Run run_at(int rank, std::int64_t slot) const {
        const Run run = table_.runs[run_of(rank, slot)];
        const std::int64_t skip = slot - run.slot;
        return {run.position + skip, slot, run.length - skip};
    }

    class Cursor {
    public:
        SEQPAR_HD constexpr Cursor(const Permuted& layout, int rank, std::int64_t first, std::int64_t last)
            : run_(first < last ? layout.table_.runs + layout.run_of(rank, first) : nullptr),
              slot_(first),
              last_(last) {}

        SEQPAR_HD constexpr bool next(Run& run) {
            if (slot_ >= last_) return false;
            const std::int64_t skip = slot_ - run_->slot;
            const std::int64_t rest = run_->length - skip;
            run = {run_->position + skip, slot_, rest < last_ - slot_ ? rest : last_ - slot_};
            slot_ += run.length;
            ++run_;
            return true;
        }

    private:
        const Run* run_;
        std::int64_t slot_;
        std::int64_t last_;
    };

    SEQPAR_HD constexpr Cursor runs(int rank, std::int64_t first, std::int64_t last) const {
        return {*this, rank, first, last};
    }

    // The runs of each rank join to its shard, and the runs by position join to the sequence. Names run and rank.
    [[nodiscard]] SEQPAR_HD constexpr Status check() const {
        if (table_.rank_runs[0] != 0) return make_status(Kind::table, 0, 0, 0, table_.rank_runs[0]);
        for (int rank = 0; rank < table_.ranks; ++rank) {
            if (table_.rank_runs[rank + 1] < table_.rank_runs[rank]) {
                return make_status(Kind::table, 0, 0, table_.rank_runs[rank], table_.rank_runs[rank + 1], rank);
            }
            std::int64_t slot = 0;
            for (std::int64_t i = table_.rank_runs[rank]; i < table_.rank_runs[rank + 1]; ++i) {
                if (table_.runs[i].slot != slot) return make_status(Kind::table, 0, i, slot, table_.runs[i].slot, rank);
                if (table_.runs[i].length < 1) return make_status(Kind::table, 0, i, 1, table_.runs[i].length, rank);
                if (table_.runs[i].length > table_.length - slot) {  // before sums can overflow
                    return make_status(Kind::table, 0, i, table_.length - slot, table_.runs[i].length, rank);
                }
                slot += table_.runs[i].length;
            }
        }
        const std::int64_t count = table_.rank_runs[table_.ranks];
        std::int64_t position = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t number = table_.by_position[i];
            if (number < 0 || number >= count) return make_status(Kind::table, 0, i, count - 1, number, -1);
            const Run run = table_.runs[number];
            if (run.position != position)
                return make_status(Kind::table, 0, number, position, run.position, rank_of(number));
            if (run.length > table_.length - position) {
                return make_status(Kind::table, 0, number, table_.length - position, run.length, rank_of(number));
            }
            position += run.length;
        }
        if (position != table_.length) return make_status(Kind::table, 0, count, table_.length, position, -1);
        return {};
    }

private:
    struct PositionKey {
        RunTableView table;
        SEQPAR_HD constexpr std::int64_t operator()(std::int64_t i) const {
            return table.runs[table.by_position[i]].position;
        }
    };
    struct SlotKey {
        const Run* runs;
        SEQPAR_HD constexpr std::int64_t operator()(std::int64_t i) const { return runs[i].slot; }
    };
    struct RankKey {
        const std::int64_t* rank_runs;
        SEQPAR_HD constexpr std::int64_t operator()(std::int64_t i) const { return rank_runs[i]; }
    };

    // The run of `rank` that holds `slot`, and the rank that holds run `number`.
    SEQPAR_HD constexpr std::int64_t run_of(int rank, std::int64_t slot) const {
        const std::int64_t first = table_.rank_runs[rank];
        return detail::last_at_most(SlotKey{table_.runs}, first, table_.rank_runs[rank + 1] - first, slot);
    }
    SEQPAR_HD constexpr int rank_of(std::int64_t number) const {
        return static_cast<int>(detail::last_at_most(RankKey{table_.rank_runs}, 0, table_.ranks, number));
    }

    RunTableView table_{};
};

}  // namespace seqpar
