// The ownership picture, from the outside in: a sheet holds panels, a panel has a strip (who holds which position),
// vision marks, a lane for each rank, and on the right the rank's bar of attention work in line with its lane.
#include "picture.hpp"

#include <cairo-svg.h>
#include <cairo.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "bad_input.hpp"
#include "pen.hpp"
#include "picture_columns.hpp"
#include "picture_labels.hpp"

namespace example {
namespace {

constexpr double margin = 34;
constexpr double sheet_width = 1140;
constexpr double strip_left = margin + 52;
constexpr double strip_width = 720;
constexpr double bars_left = strip_left + strip_width + 34;
constexpr double figures_right = sheet_width - margin;
constexpr double bars_width = figures_right - 38 - bars_left;
constexpr double strip_height = 38;
constexpr double marks_height = 7;
constexpr double marks_gap = 4;
constexpr double lanes_gap = 8;
constexpr double tier_height = 14;
constexpr double panels_gap = 34;

double lane_pitch(int ranks) { return std::clamp(std::floor(2 * 224.0 / std::max(ranks, 1)) / 2, 2.0, 20.0); }

double lane_height(int ranks) {
    const double pitch = lane_pitch(ranks);
    return pitch - (pitch >= 14 ? 3 : pitch >= 7 ? 1.5 : pitch >= 3.5 ? 0.5 : 0);
}

bool same_documents(const OwnershipPanel& a, const OwnershipPanel& b) {
    return std::equal(a.documents.begin(), a.documents.end(), b.documents.begin(), b.documents.end(),
                      [](const DocumentBand& one, const DocumentBand& other) { return one.name == other.name; });
}

class Sheet {
public:
    Sheet(Pen& pen, const OwnershipPicture& picture) : pen_(pen), picture_(picture) {
        std::int64_t longest = 1;
        for (const OwnershipPanel& panel : picture.panels) {
            longest = std::max(longest, panel.length);
            for (const double share : panel.work) {
                most_work_ = std::max(most_work_, share * panel.ranks);
            }
        }
        scale_ = strip_width / static_cast<double>(longest);
    }

    /// Draws everything and returns the height of the sheet.
    double draw() {
        y_ = margin + title_font.size - 4;
        pen_.write(margin, y_, pen_.fit(picture_.title, title_font, sheet_width - 2 * margin), title_font, ink);
        if (!picture_.subtitle.empty()) {
            y_ += 19;
            pen_.write(margin, y_, pen_.fit(picture_.subtitle, body_font, sheet_width - 2 * margin), body_font, quiet);
        }
        const OwnershipPanel* former = nullptr;
        for (const OwnershipPanel& panel : picture_.panels) {
            y_ += panels_gap;
            draw_panel(panel, former == nullptr || !same_documents(*former, panel));
            former = &panel;
        }
        draw_axis();
        draw_legend();
        return y_ + margin - 6;
    }

private:
    [[nodiscard]] double x_of(std::int64_t position) const {
        return strip_left + static_cast<double>(position) * scale_;
    }

    void draw_panel(const OwnershipPanel& panel, bool with_labels) {
        const auto labels = with_labels ? place_labels(pen_, panel.documents, strip_left, scale_, margin, figures_right)
                                        : std::vector<Label>{};
        draw_heading(panel, labels.size());
        y_ += 12;
        draw_labels(labels);
        const double strip_top = y_;
        const Columns columns = make_columns(panel, scale_);
        draw_figure(panel);
        draw_strip(panel, columns);
        draw_marks(panel);
        draw_lanes(panel, columns);
        draw_borders(panel, strip_top);
    }

    void draw_heading(const OwnershipPanel& panel, std::size_t labels) {
        std::int64_t pads = 0;
        for (const DocumentBand& document : panel.documents) {
            pads += document.end - document.real_end;
        }
        const std::string name = pen_.fit(panel.name, panel_font, strip_width / 2);
        const double after = pen_.write(margin, y_, name, panel_font, ink);
        std::string facts = text(plural(panel.length, "slot"), ", ", grouped(pads), " of them padding");
        if (labels > 0 && labels < panel.documents.size()) {
            facts += text("; ", labels, " of ", grouped(std::ssize(panel.documents)), " documents are named");
        }
        pen_.write(after + 12, y_, facts, body_font, quiet);
    }

    /// Beside the strip: how much the busiest rank has to do, over the mean.
    void draw_figure(const OwnershipPanel& panel) {
        const double middle = y_ + strip_height / 2;
        const double after =
            pen_.write(bars_left, middle + 9, text(decimals(panel.imbalance), "×"), figure_font, ink) + 12;
        pen_.write(after, middle - 3, "attention work of the", body_font, quiet);
        pen_.write(after, middle + 11, "busiest rank, over the mean", body_font, quiet);
    }

    /// Moves on to the top of the strip.
    void draw_labels(const std::vector<Label>& labels) {
        if (labels.empty()) {
            return;
        }
        int tiers = 0;
        for (const Label& label : labels) {
            tiers = std::max(tiers, label.tier);
        }
        y_ += tier_height * (tiers + 1);
        for (const Label& label : labels) {
            const double base = y_ - 5 - tier_height * label.tier;
            if (label.tier > 0) {
                pen_.line(label.pole, base - 8, label.pole, y_, 0.75, quiet);
            }
            const double after = pen_.write(label.left, base, label.name, label_font, ink);
            if (!label.tokens.empty()) {
                pen_.write(after + 4, base, label.tokens, small_font, quiet);
            }
        }
    }

    void draw_strip(const OwnershipPanel& panel, const Columns& columns) {
        paint_columns(
            strip_left, columns.count, [&](std::size_t c) { return stack(columns, c); },
            [&](std::size_t c, double x, double width) {
                double top = 0;
                for (const auto& [rank, bottom] : stack(columns, c)) {
                    pen_.rectangle(x, y_ + top, width, bottom - top, rank_color(rank, panel.ranks));
                    top = bottom;
                }
            });
        mixed_ =
            mixed_ || std::count(columns.mixed.begin(), columns.mixed.end(), true) * 10 > std::ssize(columns.mixed);
        draw_rank_numbers(panel);
        for (const DocumentBand& document : panel.documents) {
            draw_padding(document, y_, strip_height);
        }
        y_ += strip_height;
    }

    /// The ranks of a column from the top, each with the height at which it ends.
    static std::vector<std::pair<int, double>> stack(const Columns& columns, std::size_t c) {
        std::vector<std::pair<int, double>> parts;
        double sum = 0;
        double top = 0;
        for (std::size_t rank = 0; rank < columns.share.size(); ++rank) {
            sum += columns.share[rank][c];
            const double bottom = std::round(2 * sum * strip_height) / 2;
            if (bottom > top) {
                parts.emplace_back(static_cast<int>(rank), bottom);
                top = bottom;
            }
        }
        return parts;
    }

    /// In every stretch of one rank that is wide enough.
    void draw_rank_numbers(const OwnershipPanel& panel) {
        constexpr double room = 8;
        const auto& segments = panel.segments;
        for (std::size_t i = 0; i < segments.size();) {
            const std::int64_t begin = segments[i].begin;
            std::int64_t end = begin;
            const int rank = segments[i].rank;
            const std::int64_t border = document_end(panel, begin);
            while (i < segments.size() && segments[i].rank == rank && segments[i].begin < border) {
                end = segments[i].begin + segments[i].length;
                ++i;
            }
            end = std::min(end, border);
            const std::string number = std::to_string(rank);
            if (x_of(end) - x_of(begin) >= room + pen_.width(number, small_font)) {
                pen_.write((x_of(begin) + x_of(end)) / 2, y_ + strip_height / 2 + 4, number, body_font,
                           readable_on(rank_color(rank, panel.ranks)), Align::center);
            }
        }
    }

    static std::int64_t document_end(const OwnershipPanel& panel, std::int64_t position) {
        const auto found =
            std::upper_bound(panel.documents.begin(), panel.documents.end(), position,
                             [](std::int64_t at, const DocumentBand& document) { return at < document.end; });
        return found == panel.documents.end() ? panel.length : found->end;
    }

    void draw_padding(const DocumentBand& document, double top, double height) {
        constexpr double wide_document = 8;
        const bool wide = x_of(document.end) - x_of(document.begin) >= wide_document;
        const double exact = x_of(document.end) - x_of(document.real_end);
        const double width = wide ? std::max(1.0, exact) : exact;  // a single pad slot is still seen
        if (document.real_end < document.end) {
            padding_ = true;
            pen_.hatch(x_of(document.end) - width, top, width, height);
        }
    }

    void draw_marks(const OwnershipPanel& panel) {
        y_ += marks_gap;
        for (const VisionMark& mark : panel.vision) {
            const double width = std::max(1.0, x_of(mark.end) - x_of(mark.begin));
            draw_mark(x_of(mark.begin), y_, width, mark.video);
            (mark.video ? videos_ : images_) = true;
        }
        y_ += marks_height + lanes_gap;
    }

    void draw_mark(double x, double y, double width, bool video) {
        pen_.rectangle(x, y, width, marks_height, video ? video_color : image_color);
    }

    void draw_lanes(const OwnershipPanel& panel, const Columns& columns) {
        const double pitch = lane_pitch(panel.ranks);
        const double height = lane_height(panel.ranks);
        const double top = y_;
        constexpr double shades = 24;
        for (int rank = 0; rank < panel.ranks; ++rank) {
            const Color color = rank_color(rank, panel.ranks);
            const auto& lane = columns.share[static_cast<std::size_t>(rank)];
            const auto tint = [&](std::size_t c) { return std::min(1.0, std::round(lane[c] * shades) / shades); };
            paint_columns(strip_left, columns.count, tint, [&](std::size_t c, double x, double width) {
                pen_.rectangle(x, y_, width, height, mix(lane_ground, color, tint(c)));
            });
            draw_bar(panel, rank, height);
            y_ += pitch;
        }
        y_ = top + pitch * panel.ranks - (pitch - height);
        for (const DocumentBand& document : panel.documents) {
            if (document.real_end < document.end) {
                const double width = x_of(document.end) - x_of(document.real_end);
                pen_.rectangle(x_of(document.real_end), top, width, y_ - top, white, 0.5);
            }
        }
        const double mean = bars_left + bars_width / most_work_;
        pen_.line(mean, top - 3, mean, y_ + 3, 1, ink, true);
        pen_.write(mean, top - 6, "mean", small_font, quiet, Align::center);
    }

    void draw_bar(const OwnershipPanel& panel, int rank, double height) {
        const double share = panel.work[static_cast<std::size_t>(rank)] * panel.ranks;
        pen_.rectangle(bars_left, y_, bars_width, height, lane_ground);
        pen_.rectangle(bars_left, y_, bars_width * share / most_work_, height, rank_color(rank, panel.ranks));

        const bool every_rank = lane_pitch(panel.ranks) >= 9;
        const bool round_number = rank % (panel.ranks > 64 ? 16 : 8) == 0 || rank == panel.ranks - 1;
        const Font font = height >= 12 ? label_font : every_rank ? Font{8.5} : small_font;
        const double base = y_ + height / 2 + font.size * 0.36;
        if (every_rank || round_number) {
            pen_.write(strip_left - 8, base, text("rank ", rank), font, quiet, Align::right);
        }
        const bool busiest = rank == std::max_element(panel.work.begin(), panel.work.end()) - panel.work.begin();
        if (every_rank || busiest) {
            pen_.write(figures_right, base, decimals(share), font, ink, Align::right);
        }
    }

    /// White lines between documents that are wide enough to be seen apart.
    void draw_borders(const OwnershipPanel& panel, double strip_top) {
        constexpr double narrowest = 3;
        for (std::size_t d = 1; d < panel.documents.size(); ++d) {
            const DocumentBand& before = panel.documents[d - 1];
            const DocumentBand& after = panel.documents[d];
            const double narrower =
                std::min(x_of(before.end) - x_of(before.begin), x_of(after.end) - x_of(after.begin));
            if (narrower < narrowest) {
                continue;
            }
            borders_ = true;
            const double width = std::min(narrower / 4, 1.6);
            const double x = x_of(after.begin);
            pen_.line(x, strip_top, x, strip_top + strip_height, width, white);
            pen_.line(x, strip_top + strip_height + marks_gap + marks_height + lanes_gap, x, y_, width, white);
        }
    }

    /// Positions, under the last panel.
    void draw_axis() {
        std::int64_t longest = 0;
        for (const OwnershipPanel& panel : picture_.panels) {
            longest = std::max(longest, panel.length);
        }
        std::int64_t step = 1;
        while (longest / step > 8) {
            const std::int64_t power = leading_power(step);
            step = step == power ? 2 * power : step == 2 * power ? 5 * power : 10 * power;
        }
        y_ += 8;
        pen_.line(strip_left, y_, x_of(longest), y_, 0.75, rule);
        for (std::int64_t position = 0; position <= longest; position += step) {
            pen_.line(x_of(position), y_, x_of(position), y_ + 4, 0.75, rule);
            pen_.write(x_of(position), y_ + 14, grouped(position), small_font, quiet, Align::center);
        }
        pen_.write(strip_left - 8, y_ + 14, "position", small_font, quiet, Align::right);
        pen_.write(bars_left, y_ + 14, "work of a token: position in its document + 1", small_font, quiet);
        y_ += 14;
    }

    static std::int64_t leading_power(std::int64_t number) {
        std::int64_t power = 1;
        while (number / power >= 10) {
            power *= 10;
        }
        return power;
    }

    void draw_legend() {
        constexpr double swatch = 16;
        y_ += 30;
        double x = strip_left;
        const auto entry = [&](const std::string& words) {
            x = pen_.write(x + swatch + 6, y_, words, body_font, quiet) + 22;
        };
        const double middle = y_ - 4;
        if (images_) {
            draw_mark(x, middle - marks_height / 2, swatch, false);
            entry("image tokens");
        }
        if (videos_) {
            for (const double step : {0.0, 6.0, 12.0}) {
                draw_mark(x + step, middle - marks_height / 2, 4, true);
            }
            entry("video tokens, a mark a step");
        }
        if (padding_) {
            pen_.rectangle(x, middle - 6, swatch, 12, neutral);
            pen_.hatch(x, middle - 6, swatch, 12);
            entry("padding");
        }
        if (borders_) {
            pen_.rectangle(x, middle - 6, swatch, 12, neutral);
            pen_.line(x + swatch / 2, middle - 6, x + swatch / 2, middle + 6, 1.6, white);
            entry("document border");
        }
        if (mixed_) {
            pen_.write(figures_right, y_, "finer than a column: stacked by share", body_font, quiet, Align::right);
        }
    }

    Pen& pen_;
    const OwnershipPicture& picture_;
    double y_ = 0;
    double scale_ = 1;
    double most_work_ = 1.2;  ///< in means; the bars end there

    // What the legend has to explain.
    bool images_ = false;
    bool videos_ = false;
    bool padding_ = false;
    bool borders_ = false;
    bool mixed_ = false;
};

void check_picture(const OwnershipPicture& picture) {
    for (const OwnershipPanel& panel : picture.panels) {
        const bool ranks_known =
            std::all_of(panel.segments.begin(), panel.segments.end(), [&](const OwnedSegment& segment) {
                return segment.rank >= 0 && segment.rank < panel.ranks && segment.begin >= 0 && segment.length >= 0 &&
                       segment.begin <= panel.length - segment.length;
            });
        const bool work_known = std::ssize(panel.work) == panel.ranks &&
                                std::all_of(panel.work.begin(), panel.work.end(),
                                            [](double share) { return std::isfinite(share) && share >= 0; });
        if (panel.ranks < 1 || !ranks_known || !work_known) {
            throw std::logic_error(
                text("panel ", quote(panel.name), ": segments or work do not fit its ", panel.ranks, " ranks"));
        }
    }
}

double measure(const OwnershipPicture& picture) {
    const Surface scratch(cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1), &cairo_surface_destroy);
    Pen pen(scratch.get());
    return std::ceil(Sheet(pen, picture).draw());
}

void draw_on(cairo_surface_t* surface, const OwnershipPicture& picture, double height, double scale,
             const std::filesystem::path& path) {
    Pen pen(surface);
    pen.scale(scale);
    pen.rectangle(0, 0, sheet_width, height, white);
    Sheet(pen, picture).draw();
    check_written(pen.status(), path);
}

cairo_status_t append(void* svg, const unsigned char* data, unsigned int length) {
    static_cast<std::string*>(svg)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
}

/// Cairo numbers the surfaces of a process and writes the number into the file; nothing refers to it. Without it, the
/// same picture gives the same bytes.
void name_surface(std::string& svg) {
    constexpr std::string_view before = "<g id=\"surface";
    if (const auto found = svg.find(before); found != std::string::npos) {
        const auto digits = found + before.size();
        svg.erase(digits, svg.find('"', digits) - digits);
    }
}

}  // namespace

void draw_ownership_png(const OwnershipPicture& picture, const std::filesystem::path& path) {
    constexpr int scale = 2;  // a column of 0.5 points is one pixel
    check_picture(picture);
    const double height = measure(picture);
    const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(sheet_width) * scale,
                                                     static_cast<int>(height) * scale),
                          &cairo_surface_destroy);
    draw_on(surface.get(), picture, height, scale, path);
    check_written(cairo_surface_write_to_png(surface.get(), path.c_str()), path);
}

void draw_ownership_svg(const OwnershipPicture& picture, const std::filesystem::path& path) {
    check_picture(picture);
    const double height = measure(picture);
    std::string svg;
    const Surface surface(cairo_svg_surface_create_for_stream(append, &svg, sheet_width, height),
                          &cairo_surface_destroy);
    draw_on(surface.get(), picture, height, 1, path);
    cairo_surface_finish(surface.get());
    check_written(cairo_surface_status(surface.get()), path);
    name_surface(svg);

    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream << svg;
    stream.close();
    if (!stream) {
        check_written(CAIRO_STATUS_WRITE_ERROR, path);
    }
}

void write_rgb_png(const std::filesystem::path& path, std::int64_t width, std::int64_t height,
                   std::span<const std::uint8_t> rgb) {
    constexpr std::int64_t most = 32767;  // Cairo's
    if (width < 1 || height < 1 || width > most || height > most || std::ssize(rgb) != width * height * 3) {
        throw std::logic_error(text("write_rgb_png: ", rgb.size(), " bytes are no picture of ", width, " x ", height));
    }
    const Surface surface(
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height)),
        &cairo_surface_destroy);
    check_written(cairo_surface_status(surface.get()), path);
    unsigned char* const data = cairo_image_surface_get_data(surface.get());
    const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
    const auto columns = static_cast<std::size_t>(width);
    for (std::size_t i = 0; i < rgb.size() / 3; ++i) {
        auto* const pixel = reinterpret_cast<std::uint32_t*>(data + i / columns * stride) + i % columns;
        *pixel = static_cast<std::uint32_t>(rgb[3 * i]) << 16U | static_cast<std::uint32_t>(rgb[3 * i + 1]) << 8U |
                 rgb[3 * i + 2];
    }
    cairo_surface_mark_dirty(surface.get());
    check_written(cairo_surface_write_to_png(surface.get(), path.c_str()), path);
}

}  // namespace example
