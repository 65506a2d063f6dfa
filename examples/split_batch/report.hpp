// What split_batch shows: the table on standard output, the files of each rank, the pictures.
#pragma once

#include "options.hpp"
#include "split.hpp"
#include "support/batch.hpp"
#include "support/output_folder.hpp"

namespace example {

// For each rank what it holds and its share of the attention work; the imbalance beside that of the contiguous layout.
void print_table(const Batch& batch, const Options& options, const SplitResult& result, const Ownership& contiguous);

// rank-<number>.safetensors: of one rank, at `path`; of all, in the folder.
std::string rank_file_name(int number);
void write_rank_file(const Batch& batch, const Options& options, const std::vector<std::int32_t>& cu_seqlens,
                     int number, const RankData& rank, const std::filesystem::path& path);
void write_rank_files(const Batch& batch, const Options& options, const SplitResult& result, OutputFolder& folder);
void draw_ownership(const Batch& batch, const Options& options, const SplitResult& result, const Ownership& contiguous,
                    OutputFolder& folder);
void write_photos(const Batch& batch, const SplitResult& result, OutputFolder& folder);

}  // namespace example
