// What all benchmarks share: sizes from the command line, buffers, documents, and one operation timed beside a plain copy of
// the bytes that it writes. Not here: any operation of the library.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bench {

// Sizes that the command line may change; see main.cpp for what they mean and bench/README.md for what they do.
struct Sizes {
    std::int64_t ids = 131072;
    std::vector<std::int64_t> id_documents = {1, 64, 1024, 8192};
    std::vector<std::vector<std::int64_t>> hidden = {{1, 16384, 4096}, {4, 4096, 4096}};
    std::vector<std::int64_t> hidden_documents = {1, 64, 1024};
    int ranks = 8;
    std::int64_t vision_tokens = 16384;
    std::int64_t vision_width = 4096;
    std::int64_t bank_rows = 8192;
    std::int64_t span = 256;
    std::int64_t id_span = 200;
    std::int64_t walk = std::int64_t{1} << 20;
    std::vector<std::int64_t> walk_documents = {64, 65536};
    std::vector<std::int64_t> row_documents = {1, 64, 1024, 65536};
    std::int64_t row_bytes = 512;
};

// What is to be reached, by name of the benchmark: a ratio, nanoseconds a token or run, or a multiple of another row's time. Only where the sizes are the
// defaults. bench/README.md tells where the figures are from.
struct Target {
    double ratio = 0;
    double ns_each = 0;
    double times_first =
        0;  // the time of the first row of its kind, of those whose names differ in the documents alone
};
std::map<std::string, Target>& targets();

// Memory number `id`, of `bytes` bytes, all of them touched. Stays for the next benchmark, which may want more.
std::byte* memory(int id, std::int64_t bytes);
template <class T>
T* array(int id, std::int64_t count) {
    return reinterpret_cast<T*>(memory(id, count * static_cast<std::int64_t>(sizeof(T))));
}
// A number that looks random, the same in every run.
std::uint64_t scramble(std::uint64_t i);

// Offsets of `documents` documents over `total` tokens, of equal length but for rounding, each a multiple of `multiple`.
// Throws std::invalid_argument where `total` is none.
std::vector<std::int64_t> equal_documents(std::int64_t total, std::int64_t documents, std::int64_t multiple);
// The greatest number of ranks, at most `ranks`, halved as often as needed, with which zigzag deals documents out that are
// `total / documents` long.
int ranks_for(std::int64_t total, std::int64_t documents, int ranks);

// One row of the table. `sizes` is what stands beside the name; `each` how many tokens or runs (`unit`) one call works on;
// 0: its Work tells.
struct Row {
    std::string name;
    std::string sizes;
    std::string unit = "token";
    std::int64_t each = 0;
    Target target{};
};

using Call = std::function<void()>;
struct Work {
    Call operation;
    Call copy;              // the plain copy beside it; none: there is nothing to compare with
    std::int64_t each = 0;  // as Row's
};

// Registers a benchmark. `prepare` makes its arrays, just before it runs, and gives what is timed; what it throws is shown in
// the table.
void add(const Row& row, std::function<Work()> prepare);

void add_moves(const Sizes& sizes);
void add_vision(const Sizes& sizes);
void add_rows(const Sizes& sizes);
void add_indices(const Sizes& sizes);
void add_walks(const Sizes& sizes);

// The shape in brackets, as "[1,16384,4096]".
std::string shape(const std::vector<std::int64_t>& extents);
std::string count(std::int64_t number, const std::string& word);

}  // namespace bench
