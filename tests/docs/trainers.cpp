// The code of docs/trainers.md is regions of this file: what the page shows is what runs here, and every spelling in the
// page's tables is in one of them.
#include "layout/lists.hpp"

#include <seqpar/exchange/plans.hpp>
#include <seqpar/index/halo.hpp>
#include <seqpar/index/roll.hpp>
#include <seqpar/seqpar.hpp>

#include <doctest/doctest.h>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace sp = seqpar;
using test::List;
using test::Lists;
using test::shards;

// The worked examples of docs/design.md: documents of 8 and 4 over 2 ranks.
TEST_CASE("whole sequences, documents and nesting as docs/trainers.md spells them") {
    constexpr int cp = 2;
    constexpr int tp = 2;
    constexpr int ring = 2;
    constexpr int ulysses = 2;
    constexpr std::int64_t S = 16;
    constexpr std::int64_t n = 15;
    constexpr std::int64_t width = 2;
    const List cu = {0, 8, 16};

    // [layouts]
    const auto zigzag = sp::ZigZag{}(S, cp);                     // A
    const auto thd = sp::packed(sp::ZigZag{}, cu, S, cp);        // B: cu global and padded
    const auto striped = sp::Striped{width}(S, cp);              // E
    const auto contiguous = sp::Contiguous{}(S, cp);             // F
    const auto uneven = sp::UnevenContiguous{}(n, cp);           // F for any length
    const auto parts = sp::packed(sp::Contiguous{}, cu, S, cp);  // G

    const auto usp = sp::nested(sp::ZigZag{}(S, ring), sp::Contiguous{}, ulysses);  // H
    const auto usp_thd =
        sp::nested(sp::packed(sp::ZigZag{}, cu, S, ring), sp::Contiguous{}, ulysses);       // H over documents
    const auto usp_strip = sp::nested(sp::Striped{1}(S, ring), sp::Contiguous{}, ulysses);  // I
    const auto tp_sp = sp::nested(thd, sp::Contiguous{}, tp);                               // B+M
    // [layouts]

    CHECK(shards(zigzag) == Lists{{0, 1, 2, 3, 12, 13, 14, 15}, {4, 5, 6, 7, 8, 9, 10, 11}});
    CHECK(shards(thd) == Lists{{0, 1, 6, 7, 8, 9, 14, 15}, {2, 3, 4, 5, 10, 11, 12, 13}});
    CHECK(shards(striped)[0] == List{0, 1, 4, 5, 8, 9, 12, 13});
    CHECK(shards(contiguous)[1] == test::range(8, 16));
    CHECK(shards(uneven) == Lists{test::range(0, 8), test::range(8, 15)});
    CHECK(shards(parts)[0] == List{0, 1, 2, 3, 8, 9, 10, 11});
    CHECK(shards(usp) == Lists{{0, 1, 2, 3}, {12, 13, 14, 15}, {4, 5, 6, 7}, {8, 9, 10, 11}});
    CHECK(shards(usp_thd) == Lists{{0, 1, 6, 7}, {8, 9, 14, 15}, {2, 3, 4, 5}, {10, 11, 12, 13}});
    CHECK(shards(usp_strip) == Lists{{0, 2, 4, 6}, {8, 10, 12, 14}, {1, 3, 5, 7}, {9, 11, 13, 15}});
    CHECK(shards(tp_sp) == Lists{{0, 1, 6, 7}, {8, 9, 14, 15}, {2, 3, 4, 5}, {10, 11, 12, 13}});
}

TEST_CASE("plans as docs/trainers.md spells them") {
    constexpr int cp = 2;
    constexpr std::int64_t S = 12;
    constexpr std::int64_t width = 1;
    constexpr std::int64_t max_tokens_per_rank = 8;
    const List cu = {0, 8, 12};
    const List odd_cu = {0, 6, 12};
    const List lengths = {12, 3};
    const List padded_lengths = {12, 4};

    // [plans]
    const auto offsets = sp::offsets(cu);
    const auto blocks = sp::key_blocks(offsets, S, width);  // PTRR: kv blocks that each q block sees
    const sp::RunTable ptrr(sp::block_runs(sp::ptrr_parts(blocks, cp), width, S), S);  // D

    const std::int64_t chunk = sp::magi_chunk(S, cp);
    const auto areas = sp::chunk_work(offsets, S, chunk, sp::Mask::causal);
    const sp::RunTable magi(sp::block_runs(sp::sorted_parts(sp::min_heap_parts(areas, cp)), chunk, S), S);  // J
    const sp::RunTable magi_uneven(sp::block_runs(sp::sequential_parts(S / chunk, cp), chunk, S), S);

    const sp::RunTable old_torch(sp::per_document_runs(offsets, S, cp), S);   // C
    const sp::RunTable miles(sp::mixed_runs(sp::offsets(odd_cu), S, cp), S);  // B, and G where it must

    const int group = sp::ranks_needed(S, max_tokens_per_rank, cp);  // K, one sample: then zigzag inside the group
    const auto sample = sp::ZigZag{}(S, group);
    const auto plan = sp::hybrid_parts(lengths, max_tokens_per_rank, cp);  // K, a step: samples of each rank
    const auto batch = sp::hybrid_batch(plan[1], padded_lengths);          // its micro batch 1
    const sp::RunTable hybrid(batch.runs, batch.cu_seqlens.back());

    const auto layout = ptrr.layout();  // a layout like any other; it borrows the table
    // [plans]

    CHECK(shards(layout) == Lists{{1, 3, 4, 7, 8, 10}, {0, 2, 5, 6, 9, 11}});
    CHECK(shards(magi.layout()) == Lists{{4, 7, 8, 9, 10, 11}, {0, 1, 2, 3, 5, 6}});
    CHECK(shards(magi_uneven.layout()) == Lists{test::range(0, 6), test::range(6, 12)});
    CHECK(shards(old_torch.layout()) == Lists{{0, 1, 6, 7, 2, 3}, {4, 5, 8, 11, 9, 10}});
    CHECK(shards(miles.layout()) == Lists{{0, 1, 2, 6, 7, 8}, {3, 4, 5, 9, 10, 11}});
    CHECK(group == 2);
    CHECK(shards(sample)[0] == List{0, 1, 2, 9, 10, 11});
    CHECK(plan == std::vector<Lists>{{{0}, {0}}, {{1}, {1}}});
    CHECK(shards(hybrid.layout()) == Lists{{0, 3}, {1, 2}});
}

TEST_CASE("padding as docs/trainers.md spells it") {
    constexpr int cp = 2;
    constexpr int tp = 1;
    const List real = {0, 7, 10};
    List cu(3);
    List extended(3);
    List own(4);
    List nobody(3);
    List fixed(8);
    const List filled = {0, 8, 12, -1, -1};
    const List positions = {0, 1, 2, 3, 4, 5, 6, 0, 1, 2};
    const List stacked = {0, 3, 8, 0, 5, 8};
    const auto rows = sp::tensor(stacked.data(), 2, 3);
    List merged(5);

    // [padding]
    const std::int64_t least = sp::pad_multiple(sp::ZigZag{}, cp, tp);  // lcm(2 cp, cp tp)
    const std::int64_t usual = sp::customary_multiple(cp, tp);          // 2 cp tp
    const std::int64_t fp8 = sp::block_multiple(cp, tp, 16, sp::MatrixInput::cp_shard);

    const std::int64_t S = sp::padded_offsets(thrust::seq, real, usual, cu);       // every document
    sp::extended_offsets(thrust::seq, cu, 24, sp::Tail::last_document, extended);  // the sequence, to a length
    sp::padded_offsets(thrust::seq, cu, 16, sp::Tail::last_document, extended);    // the sequence, at its end
    sp::padded_offsets(thrust::seq, cu, 16, sp::Tail::own_document, own);
    sp::padded_offsets(thrust::seq, cu, 16, sp::Tail::nobody, nobody);
    sp::fixed_offsets(thrust::seq, cu, fixed);  // CUDA graphs: the last repeats
    const auto layout = sp::padded(sp::packed(sp::ZigZag{}, cu, S, cp), real, cu, real.back());  // pads have source -1

    const auto counted = sp::until_sentinel(filled);           // cu_seqlens with a fill of -1
    const auto found = sp::offsets_from_positions(positions);  // cu_seqlens from position ids
    sp::merged_offsets(thrust::seq, rows, 8, merged);          // one array a row of [B, S], here S = 8
    // [padding]

    CHECK(least == 4);
    CHECK(usual == 4);
    CHECK(fp8 == 32);
    CHECK(cu == List{0, 8, 12});
    CHECK(extended == List{0, 8, 16});
    CHECK(own == List{0, 8, 12, 16});
    CHECK(nobody == List{0, 8, 12});
    CHECK(fixed == List{0, 8, 12, 12, 12, 12, 12, 12});
    CHECK(test::sources(layout, 0) == List{0, 1, 6, -1, 7, -1});
    CHECK(counted.count() == 3);
    CHECK(found == real);
    CHECK(merged == List{0, 3, 8, 13, 16});
}

TEST_CASE("positions, labels and masks as docs/trainers.md spells them") {
    constexpr int cp = 2;
    constexpr std::int64_t S = 12;
    const List real = {0, 7, 10};
    const List cu = {0, 8, 12};
    const List ids = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13};
    const auto layout = sp::padded(sp::packed(sp::ZigZag{}, cu, S, cp), real, cu, real.back());
    List position_ids(10);
    List labels(10);
    List rolled(10);
    List wrapped(10);
    List repeated(10);
    List own_positions(6);
    List own_labels(6);
    List own_mask(6);
    const List ones(10, 1);

    // [labels]
    sp::document_positions(thrust::seq, real, position_ids);    // from 0 in every document
    sp::shift_labels(thrust::seq, ids, real, 1, -100, labels);  // next tokens inside documents, on the whole sequence
    sp::shift_labels(thrust::seq, ids, 1, -100, rolled);        // trainers that shift across documents
    sp::shift_labels(thrust::seq, ids, real, 1, sp::DocumentEnd::wrap, wrapped);  // that wrap round a document's end
    sp::shift_labels(thrust::seq, ids, 1, sp::DocumentEnd::repeat, repeated);     // that repeat the last token

    // Then the split, each array with the fill of its pads.
    sp::shard(thrust::seq, layout, 0, position_ids, sp::axis<0>, own_positions, 0);
    sp::shard(thrust::seq, layout, 0, labels, sp::axis<0>, own_labels, -100);
    sp::shard(thrust::seq, layout, 0, ones, sp::axis<0>, own_mask, 0);  // 1 at tokens, 0 at pads
    // [labels]

    CHECK(labels == List{2, 3, 4, 5, 6, 7, -100, 12, 13, -100});
    CHECK(rolled == List{2, 3, 4, 5, 6, 7, 11, 12, 13, -100});
    CHECK(wrapped == List{2, 3, 4, 5, 6, 7, 1, 12, 13, 11});
    CHECK(repeated == List{2, 3, 4, 5, 6, 7, 11, 12, 13, 13});
    CHECK(own_positions == List{0, 1, 6, 0, 0, 0});
    CHECK(own_labels == List{2, 3, -100, -100, 12, -100});
    CHECK(own_mask == List{1, 1, 1, 0, 1, 0});
}

TEST_CASE("offsets for attention kernels as docs/trainers.md spells them") {
    constexpr int cp = 2;
    constexpr std::int64_t S = 12;
    const List real_cu = {0, 7, 10};
    const List padded_cu = {0, 8, 12};
    List local(3);

    // [offsets]
    const auto real = sp::offsets(real_cu);
    const auto cu = sp::offsets(padded_cu);
    sp::local_offsets(thrust::seq, sp::packed(sp::ZigZag{}, cu, S, cp), local);  // cu / cp
    const auto valid = sp::valid_offsets(real, cu, cp, 0, sp::Half::both);       // real tokens of rank 0
    const auto halves = sp::half_slots(sp::offsets(local), sp::Half::second);    // of local offsets
    const auto llama3 = sp::query_key_offsets(cu, S, cp, 1, true);               // queries and keys of rank 1
    const auto shard = sp::shard_offsets(cu, S, cp, 1);                          // F on packed
    const bool goes_on = shard.begins_inside_document;
    const std::int64_t max_seqlen = sp::longest_document(cu);
    // [offsets]

    CHECK(local == List{0, 4, 6});
    CHECK(valid == List{0, 3, 4});
    CHECK(halves == List{2, 3, 5});
    CHECK(llama3.cu_q == List{0, 2, 6});
    CHECK(llama3.cu_k == List{0, 8, 12});
    CHECK(shard.cu == List{0, 2, 6});
    CHECK(goes_on);
    CHECK(max_seqlen == 8);
}

TEST_CASE("order conversions as docs/trainers.md spells them") {
    constexpr int cp = 2;
    constexpr std::int64_t S = 12;
    const List cu = {0, 8, 12};
    const auto layout = sp::packed(sp::ZigZag{}, cu, S, cp);
    List undo(12);
    List redo(12);
    List next(6);
    const List ids = test::range(100, 112);
    List next_ids(6);
    List circle(6);

    // [order]
    sp::restore_index(thrust::seq, layout, undo);                                    // whole[j] = gathered[undo[j]]
    sp::gather_index(thrust::seq, layout, redo);                                     // the way back, all ranks joined
    const sp::ExchangePlan plan = sp::relayout(layout, sp::Contiguous{}(S, cp), 0);  // one all-to-all: rows and splits
    sp::roll_index(thrust::seq, layout, 0, cu, -1, next);                            // MTP: whose value a slot gets
    sp::circular_roll_index(thrust::seq, layout, 0, -1, circle);                     // the same in a circle
    const auto halo = sp::halo_positions(layout, 0, sp::Side::left, 2, sp::offsets(cu));  // convolutions
    const auto crossing = sp::halo_positions(layout, 0, sp::Side::left, 2);               // the same across documents
    const auto after =
        sp::halo_positions(layout, 0, sp::Side::right, 1, sp::offsets(cu));  // all that a roll by -1 lacks

    // Each of these arrays is a move too, along any axis of any array: -1 gets the fill.
    sp::shard(thrust::seq, sp::indexed(next, S), 0, ids, sp::axis<0>, next_ids, -100);
    // [order]

    CHECK(undo == List{0, 1, 6, 7, 8, 9, 2, 3, 4, 10, 11, 5});
    CHECK(redo == List{0, 1, 6, 7, 8, 11, 2, 3, 4, 5, 9, 10});
    CHECK(plan.send_splits == List{2, 4});
    CHECK(next == List{1, 2, 7, -1, 9, -1});
    CHECK(circle == List{1, 2, 7, 8, 9, 0});
    CHECK(halo == List{-1, -1, 4, 5, -1, -1, 9, 10});
    CHECK(crossing == List{-1, -1, 4, 5, 6, 7, 9, 10});
    CHECK(after == List{2, -1, 9, -1});
    CHECK(next_ids == List{101, 102, 107, -100, 109, -100});
}

namespace {

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE_MESSAGE(file.good(), path.string());
    std::ostringstream contents;
    contents << file.rdbuf();
    return contents.str();
}
std::string page() {
    return read(std::filesystem::path(__FILE__).parent_path() / ".." / ".." / "docs" / "trainers.md");
}

// The lines between the two marks of `name`, without the indentation of a function.
std::string region(const std::string& name) {
    const std::string source = read(__FILE__);
    const std::string mark = "    // [" + name + "]\n";
    const std::size_t found = source.find(mark);
    REQUIRE(found != std::string::npos);
    const std::size_t begin = found + mark.size();
    std::istringstream lines(source.substr(begin, source.find(mark, begin) - begin));
    std::string text;
    for (std::string line; std::getline(lines, line);)
        text += (line.starts_with("    ") ? line.substr(4) : line) + "\n";
    return text;
}

const std::vector<std::string> regions = {"layouts", "plans", "padding", "labels", "offsets", "order"};

}  // namespace

TEST_CASE("docs/trainers.md shows the regions that are compiled here") {
    const std::string text = page();
    std::size_t blocks = 0;
    for (std::size_t at = text.find("```cpp\n"); at != std::string::npos; at = text.find("```cpp\n", at + 1))
        ++blocks;
    CHECK(blocks == regions.size());
    for (const std::string& name : regions) {
        CAPTURE(name);
        CHECK(text.find("```cpp\n" + region(name) + "```\n") != std::string::npos);
    }
}

TEST_CASE("every spelling in the tables of docs/trainers.md is compiled here") {
    std::string code;
    for (const std::string& name : regions)
        code += region(name);
    std::istringstream lines(page());
    std::set<std::string> trainers;
    int spellings = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("| ", 0) != 0 || line.rfind("| --", 0) == 0 || line.find("| here |") != std::string::npos)
            continue;
        const std::size_t last = line.rfind(" | ");
        REQUIRE(last != std::string::npos);
        const std::string cell = line.substr(last);
        const std::string trainer = line.substr(2, line.find(" |") - 2);
        trainers.insert(trainer);
        std::size_t in_cell = 0;
        for (std::size_t open = cell.find('`'); open != std::string::npos;) {
            const std::size_t close = cell.find('`', open + 1);
            REQUIRE(close != std::string::npos);
            const std::string spelling = cell.substr(open + 1, close - open - 1);
            CAPTURE(line);
            CHECK_MESSAGE(code.find(spelling) != std::string::npos, spelling);
            ++in_cell;
            open = cell.find('`', close + 1);
        }
        CHECK(in_cell > 0);
        spellings += static_cast<int>(in_cell);
    }
    CHECK(spellings > 80);
    for (const char* trainer : {"Megatron-Core",
                                "TransformerEngine",
                                "mcore-bridge",
                                "ms-swift",
                                "torch",
                                "torchtitan",
                                "accelerate",
                                "ring-flash-attention",
                                "yunchang",
                                "DeepSpeed",
                                "axolotl",
                                "prime-rl",
                                "AReaL",
                                "VeOmni",
                                "verl",
                                "slime",
                                "miles",
                                "diffusers",
                                "MaxText",
                                "Automodel",
                                "Megatron-Bridge",
                                "MagiAttention"}) {
        CAPTURE(trainer);
        CHECK(trainers.count(trainer) == 1);
    }
}
