// Pictures: who holds which part of a sequence and how much attention work that is, and plain RGB pictures. It draws
// what it is told and computes no layout. Cairo does the drawing; the font is DejaVu Sans, which fontconfig brings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace example {

/// Positions begin to begin + length - 1 are held by `rank`.
struct OwnedSegment {
    std::int64_t begin = 0;
    std::int64_t length = 0;
    int rank = 0;
};

/// A document on the padded sequence: its tokens are [begin, real_end), its pad slots [real_end, end).
struct DocumentBand {
    std::string name;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t real_end = 0;
};

/// One image, or one step of a video.
struct VisionMark {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool video = false;
};

/// One layout. Segments, documents and marks are in the order of their positions; segments cover 0..length once.
struct OwnershipPanel {
    std::string name;
    int ranks = 0;
    std::int64_t length = 0;  ///< padded
    std::vector<OwnedSegment> segments;
    std::vector<DocumentBand> documents;
    std::vector<VisionMark> vision;
    std::vector<double> work;  ///< each rank's share of the attention work; the sum is 1, or 0 without a token
    double imbalance = 1.0;    ///< the largest share over the mean share
};

/// The panels stand under each other on one scale. Documents are named over the first panel, and over a later one
/// only if its documents are others.
struct OwnershipPicture {
    std::string title;
    std::string subtitle;  ///< may be empty
    std::vector<OwnershipPanel> panels;
};

/// The same picture gives the same bytes (with the same Cairo and fonts). A rank out of range or a share missing is a
/// std::logic_error, a file that cannot be written a std::runtime_error.
void draw_ownership_png(const OwnershipPicture& picture, const std::filesystem::path& path);
void draw_ownership_svg(const OwnershipPicture& picture, const std::filesystem::path& path);

/// `rgb` is [height, width, 3], rows from the top. The pixels come back exactly from any PNG reader.
void write_rgb_png(const std::filesystem::path& path, std::int64_t width, std::int64_t height,
                   std::span<const std::uint8_t> rgb);

}  // namespace example
