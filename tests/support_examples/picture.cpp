// Pictures come out the same each time, for every number of ranks, and an RGB picture keeps its pixels. How they look is
// for people to judge.
#include <doctest/doctest.h>

#include <cairo.h>

#include <algorithm>
#include <array>
#include <random>

#include "support/picture.hpp"
#include "temporary_folder.hpp"

namespace {

using example::OwnershipPanel;
using example::OwnershipPicture;

/// `documents` documents, each in 2 * ranks chunks, the last slot of each a pad slot.
OwnershipPanel panel(int ranks, std::int64_t documents, std::int64_t chunk) {
    OwnershipPanel result;
    result.name = "zigzag";
    result.ranks = ranks;
    for (std::int64_t d = 0; d < documents; ++d) {
        const std::int64_t begin = result.length;
        for (int c = 0; c < 2 * ranks; ++c) {
            result.segments.push_back({result.length, chunk, c < ranks ? c : 2 * ranks - 1 - c});
            result.length += chunk;
        }
        result.documents.push_back({"d" + std::to_string(d), begin, result.length, result.length - 1});
        result.vision.push_back({begin, begin + 1, d % 2 == 1});
    }
    result.work.assign(static_cast<std::size_t>(ranks), 1.0 / ranks);
    return result;
}

struct Pixels {
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> rgb;
};

using Pixel = std::array<std::uint8_t, 3>;

Pixel pixel_at(const Pixels& pixels, int y, int x) {
    const std::size_t first =
        3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(pixels.width) + static_cast<std::size_t>(x));
    return {pixels.rgb[first], pixels.rgb[first + 1], pixels.rgb[first + 2]};
}

Pixels read_png(const std::filesystem::path& path) {
    cairo_surface_t* surface = cairo_image_surface_create_from_png(path.c_str());
    REQUIRE(cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS);
    Pixels pixels{cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface), {}};
    const unsigned char* row = cairo_image_surface_get_data(surface);
    for (int y = 0; y < pixels.height; ++y, row += cairo_image_surface_get_stride(surface)) {
        const unsigned char* pixel = row;
        for (int x = 0; x < pixels.width; ++x, pixel += 4) {  // blue, green, red
            pixels.rgb.insert(pixels.rgb.end(), {pixel[2], pixel[1], pixel[0]});
        }
    }
    cairo_surface_destroy(surface);
    return pixels;
}

}  // namespace

TEST_CASE("an RGB picture keeps every pixel") {
    const TemporaryFolder folder;
    std::mt19937 random(1);
    std::vector<std::uint8_t> rgb(105);
    for (auto& byte : rgb) {
        byte = static_cast<std::uint8_t>(random());
    }
    example::write_rgb_png(folder / "x.png", 7, 5, rgb);
    const Pixels read = read_png(folder / "x.png");
    CHECK(read.width == 7);
    CHECK(read.height == 5);
    CHECK(read.rgb == rgb);
    CHECK_THROWS_AS(example::write_rgb_png(folder / "y.png", 7, 6, rgb), std::logic_error);
    CHECK_THROWS_AS(example::write_rgb_png(folder / "y.png", 0, 0, {}), std::logic_error);
    CHECK_THROWS_AS(example::write_rgb_png("/nowhere/x.png", 7, 5, rgb), std::runtime_error);
}

TEST_CASE("the ownership picture is the same each time") {
    const TemporaryFolder folder;
    for (const int ranks : {1, 2, 3, 8, 9, 64, 300}) {
        CAPTURE(ranks);
        const OwnershipPicture picture{"title", "subtitle", {panel(ranks, 5, 20), panel(ranks, 5, 19)}};
        example::draw_ownership_png(picture, folder / "a.png");
        example::draw_ownership_png(picture, folder / "b.png");
        example::draw_ownership_svg(picture, folder / "a.svg");
        example::draw_ownership_svg(picture, folder / "b.svg");
        CHECK(contents_of(folder / "a.png") == contents_of(folder / "b.png"));
        CHECK(contents_of(folder / "a.svg") == contents_of(folder / "b.svg"));
        CHECK(contents_of(folder / "a.svg").find("</svg>") != std::string::npos);
    }
}

TEST_CASE("the strip shows the ranks in their order") {
    const TemporaryFolder folder;
    example::draw_ownership_png({"", "", {panel(2, 1, 100)}}, folder / "x.png");
    const Pixels read = read_png(folder / "x.png");
    const Pixel first{0x1f, 0x77, 0xb4};
    const Pixel second{0xf0, 0xa3, 0x0a};
    bool found = false;  // a row of pixels with a quarter of rank 0, a half of rank 1, a quarter of rank 0
    for (int y = 0; y < read.height && !found; ++y) {
        const auto at = [&](int x) { return pixel_at(read, y, x); };
        const int left = 2 * 86;
        const int width = 2 * 720;
        found = at(left) == first && at(left + width / 4 - 1) == first && at(left + width / 4) == second &&
                at(left + 3 * width / 4 - 1) == second && at(left + 3 * width / 4) == first;
    }
    CHECK(found);
}

TEST_CASE("many documents, long names, an empty panel and no panel at all are drawn") {
    const TemporaryFolder folder;
    OwnershipPanel many = panel(8, 1500, 3);
    for (auto& document : many.documents) {
        document.name += std::string(500, 'x') + "\xc3\xa9";
    }
    many.name = std::string(500, 'y');
    OwnershipPanel empty;
    empty.ranks = 4;
    empty.work.assign(4, 0);
    CHECK_NOTHROW(example::draw_ownership_png({std::string(1000, 'z'), "", {many, empty}}, folder / "x.png"));
    CHECK_NOTHROW(example::draw_ownership_svg({"", "", {}}, folder / "x.svg"));
}

TEST_CASE("a panel that contradicts itself is a fault of the program, a path that cannot be written an error") {
    const TemporaryFolder folder;
    const auto draw = [&](const OwnershipPanel& bad) {
        example::draw_ownership_png({"", "", {bad}}, folder / "x.png");
    };
    OwnershipPanel bad = panel(2, 1, 4);
    bad.segments[0].rank = 2;
    CHECK_THROWS_AS(draw(bad), std::logic_error);
    bad = panel(2, 1, 4);
    bad.segments[0].length = 100;
    CHECK_THROWS_AS(draw(bad), std::logic_error);
    bad = panel(2, 1, 4);
    bad.work.pop_back();
    CHECK_THROWS_AS(draw(bad), std::logic_error);
    CHECK(folder.listing().empty());
    CHECK_THROWS_AS(example::draw_ownership_png({}, "/nowhere/x.png"), std::runtime_error);
    CHECK_THROWS_AS(example::draw_ownership_svg({}, "/nowhere/x.svg"), std::runtime_error);
}
