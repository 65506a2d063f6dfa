// The example of the README is a region of this file: what the README shows is what runs here.
#include <seqpar/seqpar.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

TEST_CASE("the README's example splits, gathers and puts back") {
    constexpr int cp = 2;
    constexpr std::int64_t image = 9;
    constexpr std::int64_t hidden_size = 4;
    // Two documents of 8 and 4 tokens; tokens 2 to 4 and 9 stand for the rows of an image bank.
    const std::vector<std::int64_t> ids = {1, 2, 9, 9, 9, 3, 4, 5, 6, 9, 7, 8};
    const std::vector<std::int32_t> cu_seqlens = {0, 8, 12};
    const std::int64_t total = 12;
    const std::int64_t part = total / cp;
    std::vector<float> bank_values = {10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33, 40, 41, 42, 43};
    const auto bank = seqpar::tensor(bank_values.data(), 4, hidden_size);
    std::vector<std::int32_t> rows(ids.size());
    std::vector<std::int64_t> shards(ids.size());
    std::vector<std::int64_t> whole(ids.size());
    std::vector<float> embedding_values(ids.size() * hidden_size, -1.0F);
    const auto embeddings = seqpar::tensor(embedding_values.data(), cp, part, hidden_size);

    // [readme]
    namespace sp = seqpar;

    // Documents of 8 and 4 tokens, each dealt zigzag to cp ranks. Any policy, any nesting: the calls below stay the same.
    const auto layout = sp::packed(sp::ZigZag{}, cu_seqlens, total, cp);

    // Once, from the unsplit tokens: which bank row does each token want? (-1: text)
    sp::build_rows(thrust::seq, ids, sp::placeholders({{image, 0}}), rows);

    for (int rank = 0; rank < cp; ++rank) {
        const auto local_ids = sp::tensor(shards.data() + rank * part, part);
        const auto hidden = sp::tensor(&embeddings(rank, 0, 0), part, hidden_size);

        sp::shard(thrust::seq, layout, rank, ids, sp::axis<0>, local_ids);
        // Vision rows land in embeddings that are already split; the row array is read through the layout.
        sp::VisionGather{}(thrust::seq, hidden, sp::sharded(rows, layout, rank, sp::axis<0>), bank, hidden);
    }

    // Back again, from what an all-gather returns.
    sp::unshard(thrust::seq, layout, sp::stacked(sp::tensor(shards.data(), cp, part)), sp::axis<0>, whole);
    // [readme]

    CHECK(whole == ids);
    CHECK(shards == std::vector<std::int64_t>{1, 2, 4, 5, 6, 8, 9, 9, 9, 3, 9, 7});
    CHECK(rows == std::vector<std::int32_t>{-1, -1, 0, 1, 2, -1, -1, -1, -1, 3, -1, -1});
    CHECK(embeddings(1, 0, 0) == 10);
    CHECK(embeddings(1, 2, 3) == 33);
    CHECK(embeddings(1, 4, 0) == 40);
    CHECK(embeddings(0, 0, 0) == -1);
}

namespace {

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE_MESSAGE(file.good(), path);
    std::ostringstream contents;
    contents << file.rdbuf();
    return contents.str();
}

// The lines between the two `[readme]` marks, without the indentation of a function.
std::string region(const std::string& source) {
    const std::string mark = "    // [" + std::string("readme]\n");
    const std::size_t begin = source.find(mark) + mark.size();
    std::istringstream lines(source.substr(begin, source.find(mark, begin) - begin));
    std::string text;
    for (std::string line; std::getline(lines, line);)
        text += (line.starts_with("    ") ? line.substr(4) : line) + "\n";
    return text;
}

}  // namespace

TEST_CASE("the README shows the region that is compiled here") {
    const std::string example = region(read(__FILE__));
    REQUIRE(example.size() > 100);
    const std::string readme = read(SEQPAR_EXAMPLE_DATA "/../../README.md");
    CHECK(readme.find("```cpp\n" + example + "```\n") != std::string::npos);
}
