// One packed training batch as a trainer hands it over: unpadded, labels not shifted, on no rank yet. Reading it
// checks every fact that splitting relies on. It knows no layouts and no ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "safetensors.hpp"

namespace example {

enum class VisionKind : std::uint8_t { image, video };

/// Size of an image or video in patches: steps in time, height, width.
struct Grid {
    std::int64_t t = 0;
    std::int64_t h = 0;
    std::int64_t w = 0;
};

/// The output of the vision encoder for all items of one kind, one row a placeholder token, in stream order.
struct Bank {
    std::vector<std::uint8_t> bytes;  ///< [rows, width]
    std::int64_t rows = 0;
    std::int64_t width = 0;
    std::vector<Grid> grids;         ///< one an item
    std::vector<std::string> names;  ///< one an item
};

/// A run of placeholder tokens: one whole image, or one step in time of a video.
struct VisionSpan {
    VisionKind kind = VisionKind::image;
    std::int64_t document = 0;
    std::int64_t item = 0;       ///< which image or video
    std::int64_t step = 0;       ///< which step of the video; 0 in an image
    std::int64_t begin = 0;      ///< first token
    std::int64_t end = 0;        ///< one past the last token
    std::int64_t first_row = 0;  ///< bank row of the first token; the others follow
};

struct TokenIds {
    std::int64_t image = 0;
    std::int64_t video = 0;
    std::int64_t pad = 0;
    std::int64_t vision_start = 0;
    std::int64_t vision_end = 0;
    std::int64_t ignore_index = 0;  ///< the label of tokens that are not trained, -100
};

struct PatchSizes {
    std::int64_t patch = 0;     ///< pixels along one side of a patch
    std::int64_t merge = 0;     ///< patches along one side of a token
    std::int64_t temporal = 0;  ///< frames in a step in time

    /// Pixels along one side of a token.
    [[nodiscard]] std::int64_t block() const { return patch * merge; }
};

/// S tokens in D documents. Spans and names are in stream order.
struct Batch {
    std::string file;
    std::vector<std::int64_t> input_ids;     ///< [S]
    std::vector<std::int64_t> labels;        ///< [S] the id itself where the token is trained, else -100
    std::vector<std::int32_t> cu_seqlens;    ///< [D + 1]
    std::vector<std::int32_t> position_ids;  ///< [3, S]: time, height, width
    Bank image;
    Bank video;
    std::vector<VisionSpan> spans;
    std::vector<std::string> documents;  ///< [D] names
    TokenIds token;
    PatchSizes sizes;

    [[nodiscard]] std::int64_t tokens() const { return static_cast<std::int64_t>(input_ids.size()); }
    [[nodiscard]] const Bank& bank(VisionKind kind) const { return kind == VisionKind::image ? image : video; }
};

/// Reads a batch and checks it, or refuses (BadInput) with the first fault: the eight arrays with their dtypes and
/// shapes and no others; the metadata; offsets from 0 to S that do not decrease (an empty document is legal); ids and
/// positions that are not negative; labels that equal the id or -100; banks, grids and placeholders that agree in
/// number; items that are whole, in order, between vision start and end, and inside one document.
Batch load_batch(const std::filesystem::path& path);
Batch to_batch(const TensorFile& contents);

/// Where one byte of a picture lies in its item's rows.
struct RowByte {
    std::int64_t row = 0;   ///< counted from the first row of the picture (an image, or one step of a video)
    std::int64_t byte = 0;  ///< inside the row

    friend bool operator==(const RowByte&, const RowByte&) = default;
};

/// The place of channel c of pixel (y, x): rows are row-major over the merged grid, a row holds the pixels of a block
/// as [block, block, 3]. `grid_width` counts patches.
RowByte locate_pixel(std::int64_t grid_width, PatchSizes sizes, std::int64_t y, std::int64_t x, std::int64_t c);

/// An RGB picture, 8 bits a channel: [height, width, 3].
struct Photo {
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::vector<std::uint8_t> rgb;
};

/// Puts together the image, or the step of a video, that `span` stands for, out of a whole bank [rows, width] of its
/// kind: the batch's own, or one that was gathered from ranks.
Photo rebuild_photo(const Batch& batch, const VisionSpan& span, std::span<const std::uint8_t> bank);

}  // namespace example
