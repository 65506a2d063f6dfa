// See harness.hpp.
#include "harness.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>

namespace bench {

namespace {

// Seconds on one of two clocks. Time of the processor on this thread leaves out what other programs got meanwhile, but reading
// it costs a fraction of a microsecond: for what takes less than 100 it is the wall clock, and a sample that was
// interrupted is far from the median.
double now(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds(clockid_t clock, const Call& call, std::int64_t times) {
    const double start = now(clock);
    for (std::int64_t i = 0; i < times; ++i) {
        call();
        benchmark::ClobberMemory();
    }
    return (now(clock) - start) / static_cast<double>(times);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void run(benchmark::State& state, const Row& row, const std::function<Work()>& prepare) {
    Work work;
    try {
        work = prepare();
    } catch (const std::exception& error) {
        state.SkipWithError(error.what());
        return;
    }
    const std::int64_t each = row.each > 0 ? row.each : work.each;
    seconds(CLOCK_MONOTONIC, work.operation, 2);
    const double estimate = seconds(CLOCK_THREAD_CPUTIME_ID, work.operation, 1);
    const clockid_t clock = estimate < 1e-4 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    // One copy, one call, in turn: each finds the caches as the other left them. More only where the clock would be in it.
    const std::int64_t calls = std::max<std::int64_t>(1, static_cast<std::int64_t>(5e-6 / std::max(estimate, 1e-9)));
    std::vector<double> operation_times;
    std::vector<double> copy_times;
    while (state.KeepRunningBatch(calls)) {
        if (work.copy) copy_times.push_back(seconds(clock, work.copy, calls));
        operation_times.push_back(seconds(clock, work.operation, calls));
        state.SetIterationTime(operation_times.back() * static_cast<double>(calls));
    }
    const double time = median(operation_times);
    state.counters["median_ns"] = time * 1e9;
    state.counters["ns_per_" + row.unit] = time * 1e9 / static_cast<double>(each);
    if (work.copy) {
        state.counters["copy_ns"] = median(copy_times) * 1e9;
        state.counters["copy_ratio"] = median(copy_times) / time;
    }
    state.SetLabel(row.sizes);
}

struct Free {
    void operator()(std::byte* data) const { std::free(data); }
};
struct Memory {
    std::unique_ptr<std::byte, Free> data;
    std::int64_t bytes = 0;
};

}  // namespace

std::map<std::string, Target>& targets() {
    static std::map<std::string, Target> all;
    return all;
}

std::byte* memory(int id, std::int64_t bytes) {
    static std::map<int, Memory> all;
    Memory& one = all[id];
    if (one.bytes < bytes) {
        constexpr std::int64_t line = 64;
        const std::int64_t whole = (bytes + line - 1) / line * line;
        one.data.reset();
        one.data.reset(static_cast<std::byte*>(std::aligned_alloc(line, static_cast<std::size_t>(whole))));
        if (one.data == nullptr) throw std::bad_alloc();
        one.bytes = whole;
        std::memset(one.data.get(), 1, static_cast<std::size_t>(whole));
    }
    return one.data.get();
}

std::uint64_t scramble(std::uint64_t i) {  // splitmix64
    i += 0x9E3779B97F4A7C15u;
    i = (i ^ (i >> 30)) * 0xBF58476D1CE4E5B9u;
    i = (i ^ (i >> 27)) * 0x94D049BB133111EBu;
    return i ^ (i >> 31);
}

std::vector<std::int64_t> equal_documents(std::int64_t total, std::int64_t documents, std::int64_t multiple) {
    if (documents < 1 || total % multiple != 0) {
        throw std::invalid_argument(std::to_string(total) + " tokens in " + count(documents, "document") +
                                    ": not a multiple of " + std::to_string(multiple));
    }
    std::vector<std::int64_t> cu_seqlens;
    for (std::int64_t d = 0; d <= documents; ++d)
        cu_seqlens.push_back(total / multiple * d / documents * multiple);
    return cu_seqlens;
}

int ranks_for(std::int64_t total, std::int64_t documents, int ranks) {
    while (ranks > 1 && total / documents < 2 * std::int64_t{ranks})
        ranks /= 2;
    return ranks;
}

void add(const Row& row, std::function<Work()> prepare) {
    targets()[row.name] = row.target;
    benchmark::RegisterBenchmark(row.name.c_str(), [row, prepare = std::move(prepare)](benchmark::State& state) {
        run(state, row, prepare);
    })->UseManualTime();
}

std::string shape(const std::vector<std::int64_t>& extents) {
    std::string text = "[";
    for (const std::int64_t extent : extents)
        text += (text.size() > 1 ? "," : "") + std::to_string(extent);
    return text + "]";
}

std::string count(std::int64_t number, const std::string& word) {
    return std::to_string(number) + " " + word + (number == 1 ? "" : "s");
}

}  // namespace bench
