// The table, the rank files and the pictures of split_batch.
#include "report.hpp"

#include "support/picture.hpp"
#include "support/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace example {

namespace {

double share(std::int64_t work, const std::vector<std::int64_t>& all) {
    const std::int64_t sum = std::accumulate(all.begin(), all.end(), std::int64_t{0});
    return sum > 0 ? static_cast<double>(work) / static_cast<double>(sum) : 0.0;
}

long long count(std::ptrdiff_t n) { return static_cast<long long>(n); }

OwnershipPanel panel(const Batch& batch, std::string name, int ranks, const Ownership& ownership) {
    OwnershipPanel result;
    result.name = std::move(name);
    result.ranks = ranks;
    result.length = ownership.cu_seqlens.back();
    for (const auto& segment : ownership.segments)
        result.segments.push_back({segment.begin, segment.length, segment.rank});
    const auto shift = [&](std::int64_t document) {  // from a token of the batch to its padded position
        const std::size_t d = static_cast<std::size_t>(document);
        return std::int64_t{ownership.cu_seqlens[d]} - batch.cu_seqlens[d];
    };
    for (std::size_t d = 0; d < batch.documents.size(); ++d) {
        const std::int64_t moved = shift(static_cast<std::int64_t>(d));
        result.documents.push_back({batch.documents[d], ownership.cu_seqlens[d], ownership.cu_seqlens[d + 1],
                                    batch.cu_seqlens[d + 1] + moved});
    }
    for (const VisionSpan& span : batch.spans) {
        const std::int64_t moved = shift(span.document);
        result.vision.push_back({span.begin + moved, span.end + moved, span.kind == VisionKind::video});
    }
    for (const std::int64_t work : ownership.work)
        result.work.push_back(share(work, ownership.work));
    result.imbalance = ownership.imbalance;
    return result;
}

}  // namespace

std::string rank_file_name(int number) { return text("rank-", number, ".safetensors"); }

void print_table(const Batch& batch, const Options& options, const SplitResult& result, const Ownership& contiguous) {
    std::printf("%s: %lld tokens in %zu documents, %lld image rows, %lld video rows of %lld bytes\n",
                batch.file.c_str(), static_cast<long long>(batch.tokens()), batch.documents.size(),
                static_cast<long long>(batch.image.rows), static_cast<long long>(batch.video.rows),
                static_cast<long long>(batch.image.width));
    std::printf("layout %s over %d x %d ranks (CP x TP-SP), padded to %d positions\n\n", options.layout.c_str(),
                options.cp, options.tp, result.ownership.cu_seqlens.back());
    std::printf("rank  tokens    real     pad   image   video  labels  attention work   share\n");
    for (std::size_t r = 0; r < result.ranks.size(); ++r) {
        const RankData& rank = result.ranks[r];
        const auto real = std::ranges::count_if(rank.source, [](std::int64_t s) { return s >= 0; });
        std::printf(
            "%4zu %7lld %7lld %7lld %7lld %7lld %7lld %15lld %6.2f%%\n", r, static_cast<long long>(rank.slots()),
            count(real), static_cast<long long>(rank.slots()) - count(real), count(std::ranges::count(rank.bank, 0)),
            count(std::ranges::count(rank.bank, 1)),
            count(std::ranges::count_if(rank.labels, [&](std::int64_t l) { return l != batch.token.ignore_index; })),
            static_cast<long long>(rank.work), 100.0 * share(rank.work, result.ownership.work));
    }
    if (options.tp > 1)
        std::printf("      (labels are not split over TP: each rank counts those of its whole CP shard)\n");
    std::printf("\nimbalance (greatest work over the mean): %.3f here, %.3f for the contiguous layout\n\nverified:\n",
                result.ownership.imbalance, contiguous.imbalance);
    for (const std::string& claim : result.verified)
        std::printf("  %s\n", claim.c_str());
}

void write_rank_file(const Batch& batch, const Options& options, const std::vector<std::int32_t>& cu_seqlens,
                     int number, const RankData& rank, const std::filesystem::path& path) {
    const std::int64_t slots = rank.slots();
    TensorFile file;
    file.metadata = {{"layout", options.layout},
                     {"cp", std::to_string(options.cp)},
                     {"tp", std::to_string(options.tp)},
                     {"cp_rank", std::to_string(number / options.tp)},
                     {"tp_rank", std::to_string(number % options.tp)},
                     {"cu_seqlens", nlohmann::json(cu_seqlens).dump()}};
    file.add<std::int64_t>("position", {slots}, rank.position);
    file.add<std::int64_t>("source", {slots}, rank.source);
    file.add<std::int64_t>("input_ids", {slots}, rank.input_ids);
    file.add<std::int64_t>("labels", {static_cast<std::int64_t>(rank.labels.size())}, rank.labels);
    file.add<std::int32_t>("position_ids", {3, slots}, rank.position_ids);
    file.add<std::int32_t>("bank", {slots}, rank.bank);
    file.add<std::int32_t>("row", {slots}, rank.row);
    file.add<seqpar::bf16>("embeddings", {slots, batch.image.width}, rank.embeddings);
    write_tensors(file, path);
}

void write_rank_files(const Batch& batch, const Options& options, const SplitResult& result, OutputFolder& folder) {
    for (std::size_t r = 0; r < result.ranks.size(); ++r) {
        write_rank_file(batch, options, result.ownership.cu_seqlens, static_cast<int>(r), result.ranks[r],
                        folder.file(rank_file_name(static_cast<int>(r))));
    }
}

void draw_ownership(const Batch& batch, const Options& options, const SplitResult& result, const Ownership& contiguous,
                    OutputFolder& folder) {
    const int ranks = options.cp * options.tp;
    OwnershipPicture picture;
    picture.title = text(batch.documents.size(), " documents, ", batch.tokens(), " tokens, ", ranks,
                         ranks == 1 ? " rank" : " ranks", ": who holds what");
    picture.panels.push_back(panel(batch, options.layout, ranks, result.ownership));
    if (options.kind != LayoutKind::contiguous) picture.panels.push_back(panel(batch, "contiguous", ranks, contiguous));
    draw_ownership_png(picture, folder.file("ownership.png"));
    draw_ownership_svg(picture, folder.file("ownership.svg"));
}

void write_photos(const Batch& batch, const SplitResult& result, OutputFolder& folder) {
    int photos = 0;
    int frames = 0;
    for (const VisionSpan& span : batch.spans) {
        const bool video = span.kind == VisionKind::video;
        const Photo photo = rebuild_photo(batch, span, video ? result.video_bank : result.image_bank);
        const std::string name = video ? text("frame-", frames++, ".png") : text("photo-", photos++, ".png");
        write_rgb_png(folder.file(name), photo.width, photo.height, photo.rgb);
    }
}

}  // namespace example
