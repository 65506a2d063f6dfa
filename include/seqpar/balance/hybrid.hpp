// Hybrid (dynamic) context parallelism (layout K): how many ranks each sample of a step gets, which ranks run it in which micro
// batch, and what they hold of it. Pure functions of lengths. Not here: plans over one sequence; see plans.hpp.
// Every function here: Synchronises: never. Allocates: the result. Launches: none. Reads offsets on: none.
#pragma once

#include <seqpar/balance/plans.hpp>

#include <bit>

namespace seqpar {

// The least ranks for a sample: max(1, 2^ceil(log2(length / max_tokens_per_rank))). Inside its group the sample is dealt by
// ZigZag. Error: more than `ranks`, where Status::index is `sample`.
[[nodiscard]] inline int ranks_needed(std::int64_t length, std::int64_t max_tokens_per_rank, int ranks,
                                      std::int64_t sample = 0) {
    if (length < 0) throw_if_bad(make_status(Kind::length, 0, sample, 0, length));
    if (max_tokens_per_rank < 1) throw_if_bad(make_status(Kind::policy, 0, 0, 1, max_tokens_per_rank));
    std::int64_t needed = 1;
    while (detail::saturating_product(needed, max_tokens_per_rank) < length)
        needed *= 2;
    if (needed > ranks) throw_if_bad(make_status(Kind::ranks, 0, sample, needed, ranks));
    return static_cast<int>(needed);
}

namespace detail {

struct HybridSample {
    std::int64_t number;
    std::int64_t length;
    int ranks;                                                                 // needed
    double work;                                                               // of each of them
    bool operator<(const HybridSample& b) const { return length > b.length; }  // the longest first
};

// Neighbouring ranks that run the same samples, and the work of each.
struct SampleGroup {
    int ranks;
    double load;
    std::vector<HybridSample> samples;
};

// A micro batch that is being filled: groups from rank 0 on, then idle ranks.
struct HybridFill {
    int ranks;
    int idle;
    std::vector<SampleGroup> groups;

    std::size_t least_loaded(int size) const {
        std::size_t best = groups.size();
        for (std::size_t g = 0; g < groups.size(); ++g) {
            if (groups[g].ranks == size && (best == groups.size() || groups[g].load < groups[best].load)) best = g;
        }
        return best;
    }
    bool takes(const HybridSample& s) const { return idle >= s.ranks || least_loaded(s.ranks) < groups.size(); }
    // To a new group while there are idle ranks, else to the least loaded one of the sample's size.
    void add(const HybridSample& s) {
        std::size_t group = least_loaded(s.ranks);
        if (idle >= s.ranks && (group == groups.size() || groups[group].load > 0)) {
            group = groups.size();
            groups.push_back({s.ranks, 0, {}});
            idle -= s.ranks;
        }
        groups[group].load += s.work;
        groups[group].samples.push_back(s);
    }
    double most() const {
        double load = 0;
        for (const SampleGroup& group : groups)
            load = (std::max)(load, group.load);
        return load;
    }
    double slack() const {
        double least = idle > 0 ? 0 : most();
        for (const SampleGroup& group : groups)
            least = (std::min)(least, group.load);
        return most() - least;
    }
    bool even() const { return slack() <= 0.05 * most(); }

    // Where no rank is idle: takes the last sample of the most loaded group away while that lessens the slack.
    void trim(std::vector<HybridSample>& rest) {
        while (idle == 0 && !even() && slack() < most()) {
            std::size_t top = 0;
            while (groups[top].load < most())
                ++top;
            SampleGroup& group = groups[top];
            if (group.samples.size() < 2) return;
            const double before = group.load;
            const double slack_before = slack();
            group.load -= group.samples.back().work;
            if (slack() >= slack_before) {
                group.load = before;
                return;
            }
            rest.push_back(group.samples.back());
            group.samples.pop_back();
        }
    }
    // Doubles the smallest group, of equal ones the first, until no rank is idle.
    void widen() {
        while (idle > 0) {
            std::size_t least = 0;
            for (std::size_t g = 1; g < groups.size(); ++g) {
                if (groups[g].ranks < groups[least].ranks) least = g;
            }
            const int more = (std::min)(groups[least].ranks, ranks - groups[least].ranks);
            if (more > idle) throw_if_bad(make_status(Kind::ranks, 0, 0, std::int64_t{ranks} - idle + more, ranks));
            groups[least].ranks += more;
            idle -= more;
        }
    }
};

// Cuts samples into stretches of about equal work, as many as there are sizes: where each begins and, last, their number.
inline std::vector<std::size_t> equal_work(std::span<const HybridSample> samples) {
    unsigned seen = 0;  // the sizes, each a power of 2
    double total = 0;
    for (const HybridSample& s : samples) {
        seen |= static_cast<unsigned>(s.ranks);
        total += s.work;
    }
    const auto sizes = static_cast<std::size_t>(std::popcount(seen));
    const double most = total / static_cast<double>(sizes) * 1.1;
    std::vector<std::size_t> ends{0};
    double sum = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        // Each stretch that is closed counts twice against the rest: so the scheduler does.
        if (i > ends.back() && (sum + samples[i].work > most || samples.size() - i + 2 * (ends.size() - 1) <= sizes)) {
            ends.push_back(i);
            sum = 0;
        }
        sum += samples[i].work;
    }
    ends.push_back(samples.size());
    return ends;
}

}  // namespace detail

// The plan of a step: hybrid_parts(…)[g][r] are the samples that rank r runs in micro batch g, in order. Samples are taken by
// length, the longest first; the ranks of a sample are neighbours, at least ranks_needed, and more of them (twice as many, and
// again) where ranks would idle. The work of a sample is length^2 / ranks. Source: Megatron-Core's BalancedCPScheduler, whose
// lists it gives. Errors: a sample for more ranks than there are; ranks that cannot all be used by doubling (no power of 2).
[[nodiscard]] inline std::vector<BlockParts> hybrid_parts(std::span<const std::int64_t> lengths,
                                                          std::int64_t max_tokens_per_rank, int ranks) {
    std::vector<detail::HybridSample> rest;
    for (const std::int64_t length : lengths) {
        const auto number = static_cast<std::int64_t>(rest.size());
        const int needed = ranks_needed(length, max_tokens_per_rank, ranks, number);
        rest.push_back({number, length, needed, static_cast<double>(length) * static_cast<double>(length) / needed});
    }
    std::stable_sort(rest.begin(), rest.end());
    std::vector<BlockParts> plan;
    while (!rest.empty()) {
        const std::vector<std::size_t> ends = detail::equal_work(rest);
        std::vector<std::size_t> heads(ends.begin(), ends.end() - 1);
        detail::HybridFill fill{ranks, ranks, {}};
        bool smaller = false;  // a sample of fewer ranks than the first was placed: from then on even loads are enough
        std::size_t placed = 0;
        while (placed < rest.size() && !(smaller && fill.even())) {
            std::size_t s = 0;
            while (s < heads.size() && (heads[s] == ends[s + 1] || !fill.takes(rest[heads[s]])))
                ++s;
            if (s == heads.size()) break;
            fill.add(rest[heads[s]]);
            smaller = smaller || rest[heads[s]].ranks < rest.front().ranks;
            ++heads[s];
            ++placed;
        }
        std::vector<detail::HybridSample> left;
        for (std::size_t s = 0; s < heads.size(); ++s) {
            for (std::size_t i = heads[s]; i < ends[s + 1]; ++i)
                left.push_back(rest[i]);
        }
        fill.trim(left);
        fill.widen();
        rest = std::move(left);
        BlockParts& parts = plan.emplace_back();
        for (const detail::SampleGroup& group : fill.groups) {
            std::vector<std::int64_t> numbers;
            for (const detail::HybridSample& s : group.samples)
                numbers.push_back(s.number);
            parts.insert(parts.end(), static_cast<std::size_t>(group.ranks), numbers);
        }
    }
    return plan;
}

// A micro batch of samples as one sequence, in order of number; samples that are not in it are empty documents.
struct HybridBatch {
    std::vector<std::int64_t> cu_seqlens;  // [samples + 1]
    std::vector<int> first_rank;           // [samples] of the group that runs a sample, or -1
    std::vector<int> ranks;                // [samples] of that group: its layout is ZigZag{}(length, ranks), or 0
    std::vector<std::vector<Run>> runs;    // of each rank, sample after sample as the plan says: for a RunTable
};

// What every rank holds in a micro batch of a plan (its entry [g], or one of your own). lengths: of all samples, as they will be
// dealt: padded to a multiple of 2 ranks each, see pad_multiple. Errors: such a length that is none (document_multiple, the
// document is the sample), a sample that is not one of `lengths` or whose ranks are not neighbours (plan).
[[nodiscard]] inline HybridBatch hybrid_batch(const BlockParts& parts, std::span<const std::int64_t> lengths) {
    HybridBatch batch{{0}, std::vector<int>(lengths.size(), -1), std::vector<int>(lengths.size()), {}};
    for (int rank = 0; rank < static_cast<int>(parts.size()); ++rank) {
        for (const std::int64_t sample : parts[static_cast<std::size_t>(rank)]) {
            const auto samples = static_cast<std::int64_t>(lengths.size());
            if (sample < 0 || sample >= samples)
                throw_if_bad(make_status(Kind::plan, 0, sample, samples - 1, sample, rank));
            int& first = batch.first_rank[static_cast<std::size_t>(sample)];
            int& ranks = batch.ranks[static_cast<std::size_t>(sample)];
            if (ranks == 0) first = rank;
            if (first + ranks != rank) throw_if_bad(make_status(Kind::plan, 0, sample, first + ranks, rank, rank));
            ++ranks;
        }
    }
    for (std::size_t s = 0; s < lengths.size(); ++s) {
        std::int64_t end = batch.cu_seqlens.back();
        if (batch.ranks[s] > 0) {
            const Status status = check(ZigZag{}, lengths[s], batch.ranks[s]);
            const auto document = static_cast<std::int64_t>(s);
            if (status.kind() == Kind::multiple)
                throw_if_bad(make_status(Kind::document_multiple, 0, document, status.expected, status.got));
            throw_if_bad(status);
            if (__builtin_add_overflow(end, lengths[s], &end))
                throw_if_bad(make_status(Kind::length, 0, document, 0, -1));
        }
        batch.cu_seqlens.push_back(end);
    }
    for (int rank = 0; rank < static_cast<int>(parts.size()); ++rank) {
        std::vector<Run>& own = batch.runs.emplace_back();
        for (const std::int64_t sample : parts[static_cast<std::size_t>(rank)]) {
            const auto s = static_cast<std::size_t>(sample);
            const auto layout = ZigZag{}(lengths[s], batch.ranks[s]);
            auto cursor = runs(layout, rank - batch.first_rank[s], 0, layout.slots(0));
            for (Run run; cursor.next(run);)
                own.push_back({batch.cu_seqlens[s] + run.position, 0, run.length});
        }
    }
    return batch;
}

}  // namespace seqpar
