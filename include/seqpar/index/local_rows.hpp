// Rows of tokens that arrive already split: every rank counts the placeholders of its own chunks, the counts are gathered, and
// each rank numbers its rows from them. Not here: the all-gather, which is the caller's; rows of whole streams (rows.hpp).
#pragma once

#include <seqpar/index/rows.hpp>
#include <seqpar/layout/runs.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace seqpar {

namespace detail {

// The stretches of consecutive sources that a rank holds, in slot order; of pad slots too where `pads`.
template <Layout L>
std::vector<Run> chunk_runs(const L& layout, int rank, bool pads) {
    static_assert(is_bijective<L>, "rows are counted over layouts that hold every token once");
    std::vector<Run> chunks;
    auto cursor = source_runs(layout, rank, 0, layout.slots(rank));
    for (Run run; cursor.next(run);) {
        if (pads || run.position >= 0) chunks.push_back(run);
    }
    return chunks;
}

// Counts of chunk `i`: those of the first sample come first.
template <class Job>
struct ChunkCounts {
    Job job;
    const Run* chunks;
    std::int64_t chunk_count;
    int banks;
    Line<std::int64_t> counts;
    std::int64_t total;  // chunks of all samples

    void operator()(std::int64_t first, std::int64_t last) const {
        for (std::int64_t i = first; i < last; ++i) {
            const Run& chunk = chunks[i % chunk_count];
            const std::int64_t token = i / chunk_count * job.length() + chunk.slot;
            NextRows next;
            job.count(token, token + chunk.length, next);
            for (int b = 0; b < banks; ++b)
                counts[i * banks + b] = next.bank[b];
        }
    }
};

// Rows of stretch `i`, from the next rows of its chunk on; pads get -1.
template <class Job>
struct ChunkRows {
    Job job;
    const Run* runs;
    std::int64_t run_count;
    const NextRows* begins;  // of each stretch; what is there for pads is not read
    std::int64_t total;      // stretches of all samples

    void operator()(std::int64_t first, std::int64_t last) const {
        for (std::int64_t i = first; i < last; ++i) {
            const Run& run = runs[i % run_count];
            const std::int64_t sample = i / run_count;
            if (run.position < 0) {
                write_value(sample_line(job.rows, sample), run.slot, run.length, std::int32_t{-1});
                if constexpr (Job::with_banks)
                    write_value(sample_line(job.banks, sample), run.slot, run.length, std::int32_t{-1});
            } else {
                NextRows next = begins[i];
                const std::int64_t token = sample * job.length() + run.slot;
                job.write(token, token + run.length, next);
            }
        }
    }
};

// {sample, source, number} of the chunks of all ranks, in the order of the stream; their numbers are those of joined counts.
template <Layout L>
std::vector<std::array<std::int64_t, 3>> chunks_in_order(const L& layout, std::int64_t samples) {
    std::vector<std::array<std::int64_t, 3>> chunks;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const std::vector<Run> of_rank = chunk_runs(layout, rank, false);
        for (std::int64_t sample = 0; sample < samples; ++sample) {
            for (const Run& chunk : of_rank)
                chunks.push_back({sample, chunk.position, static_cast<std::int64_t>(chunks.size())});
        }
    }
    std::sort(chunks.begin(), chunks.end());
    return chunks;
}

template <Layout L, class V, class M>
Status check_local_ids(const L& layout, int rank, const MaskedIds<V, M>& stream) {
    const V& ids = stream.ids;
    if (const Status status = check(layout); !status.ok()) return status;
    if (const Status status = check_rank(layout, rank); !status.ok()) return status;
    if (length_of(ids) != layout.slots(rank))
        return make_status(Kind::axis_extent, 0, 0, layout.slots(rank), length_of(ids), V::rank() - 1);
    return check_stream(stream);
}

}  // namespace detail

// How many chunks a rank has: the runs of its shard without pads. ZigZag inside documents gives two a document. Errors: an
// illegal layout, the rank.
// Synchronises: never. Allocates: the rank's runs. Launches: none. Reads offsets on: the host.
template <Layout L>
[[nodiscard]] std::int64_t count_chunks(const L& layout, int rank) {
    throw_if_bad(check(layout));
    throw_if_bad(check_rank(layout, rank));
    return static_cast<std::int64_t>(detail::chunk_runs(layout, rank, false).size());
}

// The placeholders of each bank in each chunk of what a rank holds: counts[(b * chunks + k) * banks + bank] for sample b and chunk
// k in slot order. Join the counts of all ranks, in order of ranks (an all-gather; ranks may have unlike numbers of chunks), and
// give them to rows_from_counts: 2 integers a document and bank travel for zigzag layouts, and no ids. For every layout; one whose runs
// are single tokens has as many chunks. ids: [slots] or [B, slots], or masked; what pads hold is not looked at. counts: int64
// [B * count_chunks(layout, rank) * rules.banks()]. Errors, before anything is written: an illegal layout, rank or rule, lengths
// (Status::array: 0 ids, 1 counts, 3 valid). Host execs only: which chunks there are is a list that is made here, from the layout, and the
// counts are for the host's collectives. Synchronises: never. Allocates: the rank's runs. Launches: none. Reads offsets on: the host.
template <class D, Layout L, class Ids, IndexArray Counts>
    requires TokenStream<Ids>
void chunk_counts(const detail::ExecBase<D>& exec, const L& layout, int rank, Ids&& ids, const PlaceholderRules& rules,
                  Counts&& counts) {
    static_assert(std::same_as<element_of<Counts>, std::int64_t>, "counts are int64");
    static_assert(detail::is_host_exec<D>, "chunks are lists that the host makes: a host's execution policy is needed");
    const auto stream = detail::stream_of(ids);
    throw_if_bad(detail::check_local_ids(layout, rank, stream));
    const auto job = detail::row_job(stream, rules, NoArray{}, NoArray{});
    throw_if_bad(detail::check_rules<typename decltype(job)::Id>(rules, false));
    const std::vector<Run> chunks = detail::chunk_runs(layout, rank, false);
    const auto count = static_cast<std::int64_t>(chunks.size());
    const std::int64_t total = detail::samples_of(stream.ids) * count;
    throw_if_bad(detail::check_index_array(counts, total * rules.banks(), 0, 1));
    throw_if_bad(detail::check_overlap(view(counts), 1, stream.ids, stream.valid));
    using Work = detail::ChunkCounts<std::remove_const_t<decltype(job)>>;
    run_index_work(detail::Dispatch{}, thrust::detail::derived_cast(exec),
                   Work{job, chunks.data(), count, rules.banks(), detail::line(counts), total});
}

// The rows of what a rank holds, as build_rows of the whole stream, split, would give them; pads get -1. all_counts: int64, the
// counts of all ranks joined in order of ranks. rows, banks: int32 of the shape of ids. Errors, before anything is written: those of
// chunk_counts and build_rows (Status::array: 5 all_counts), a total that int32 does not hold. Host execs only, as chunk_counts.
// Synchronises: never. Allocates: the runs of all ranks. Launches: none. Reads offsets on: the host.
template <class D, Layout L, class Ids, Tensor Counts, class Rows, class Banks = NoArray>
    requires(RowsOf<Rows, Ids, Banks> && axes_of<Counts> == 1)
void rows_from_counts(const detail::ExecBase<D>& exec, const L& layout, int rank, Ids&& ids,
                      const PlaceholderRules& rules, Counts&& all_counts, Rows&& rows, Banks&& banks = Banks{}) {
    static_assert(std::same_as<element_of<Counts>, std::int64_t>, "counts are int64");
    static_assert(detail::is_host_exec<D>, "chunks are lists that the host makes: a host's execution policy is needed");
    const auto stream = detail::stream_of(ids);
    throw_if_bad(detail::check_local_ids(layout, rank, stream));
    throw_if_bad(detail::check_build_rows<D>(ids, rules, rows, banks, no_array));
    const auto counts = view(all_counts);
    throw_if_bad(detail::check_view<D>(counts));
    const std::int64_t samples = detail::samples_of(stream.ids);
    const auto chunks = detail::chunks_in_order(layout, samples);
    const std::int64_t expected = static_cast<std::int64_t>(chunks.size()) * rules.banks();
    if (counts.extent(0) != expected) throw_if_bad(make_status(Kind::extent, 5, 0, expected, counts.extent(0)));

    const std::vector<Run> runs = detail::chunk_runs(layout, rank, true);
    const auto run_count = static_cast<std::int64_t>(runs.size());
    std::int64_t first = 0;  // the rank's first chunk among all
    for (int r = 0; r < rank; ++r)
        first += samples * static_cast<std::int64_t>(detail::chunk_runs(layout, r, false).size());
    std::vector<std::int64_t> stretches;  // of the rank's chunks: pads have none
    for (std::int64_t i = 0; i < samples * run_count; ++i) {
        if (runs[static_cast<std::size_t>(i % run_count)].position >= 0) stretches.push_back(i);
    }
    std::vector<detail::NextRows> begins(static_cast<std::size_t>(samples * run_count));
    detail::NextRows next = detail::first_rows(rules);
    for (const auto& [sample, source, number] : chunks) {
        if (number >= first && number - first < static_cast<std::int64_t>(stretches.size()))
            begins[static_cast<std::size_t>(stretches[static_cast<std::size_t>(number - first)])] = next;
        for (int b = 0; b < rules.banks(); ++b) {
            constexpr std::int64_t most = (std::numeric_limits<std::int32_t>::max)();
            const std::int64_t count = counts(number * rules.banks() + b);
            if (count < 0) throw_if_bad(make_status(Kind::length, 5, number, 0, count));
            if (count > most + 1 - next.bank[b])
                throw_if_bad(make_status(Kind::value_lost, b, source, most, next.bank[b] + count - 1));
            next.bank[b] += count;
        }
    }
    const auto job = detail::row_job(stream, rules, view(rows), detail::view_or_none(banks));
    using Work = detail::ChunkRows<std::remove_const_t<decltype(job)>>;
    run_index_work(detail::Dispatch{}, thrust::detail::derived_cast(exec),
                   Work{job, runs.data(), run_count, begins.data(), samples * run_count});
}

}  // namespace seqpar
