// The data path of a trainer, and what it gives: padding, positions, labels, rows, the split, the gather and the way back.
// Not here: files, pictures, the table.
#pragma once

#include "options.hpp"
#include "support/batch.hpp"

#include <seqpar/tensor/half.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace example {

// What one rank holds, T slots of width H.
struct RankData {
    std::vector<std::int64_t> position;      // [T] on the padded sequence axis
    std::vector<std::int64_t> source;        // [T] in the unpadded batch, or -1
    std::vector<std::int64_t> input_ids;     // [T]
    std::vector<std::int64_t> labels;        // [T of the CP shard] shifted; TP does not split them
    std::vector<std::int32_t> position_ids;  // [3, T]
    std::vector<std::int32_t> bank;          // [T] -1 text, 0 image, 1 video
    std::vector<std::int32_t> row;           // [T] in its bank, or -1
    std::vector<seqpar::bf16> embeddings;    // [T, H]
    std::int64_t work = 0;                   // causal attention work of its real tokens

    [[nodiscard]] std::int64_t slots() const { return static_cast<std::int64_t>(input_ids.size()); }
};

// Who holds what, as far as a picture of it needs to know.
struct Ownership {
    std::vector<std::int32_t> cu_seqlens;  // padded, [D + 1]
    struct Segment {
        std::int64_t begin;
        std::int64_t length;
        int rank;
    };
    std::vector<Segment> segments;   // in order of position
    std::vector<std::int64_t> work;  // of each rank
    double imbalance = 1.0;          // the greatest work over the mean
};

struct SplitResult {
    std::vector<RankData> ranks;  // rank cp_rank * tp + tp_rank
    Ownership ownership;
    std::vector<std::uint8_t> image_bank;  // rebuilt from the embeddings that the ranks hold
    std::vector<std::uint8_t> video_bank;
    std::vector<std::string> verified;  // what was proved, a line each
};

// Splits the batch over options.cp * options.tp virtual ranks. Everything that it claims in `verified` was compared bit for bit;
// a difference is a std::logic_error. A layout that the batch does not allow throws seqpar::Error.
SplitResult split(const Batch& batch, const Options& options);

// The same in two steps, for ranks that are processes: what one rank makes alone, and the proofs over what all of them hold.
RankData split_one(const Batch& batch, const Options& options, int rank);
SplitResult put_together(const Batch& batch, const Options& options, std::vector<RankData> ranks);

// Who would hold what under the options' layout, without splitting anything.
Ownership ownership(const Batch& batch, const Options& options);

}  // namespace example
