// Strokes and words on a Cairo surface.
#include "pen.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include "bad_input.hpp"

namespace example {
namespace {

/// Up to eight ranks: colours after Okabe and Ito, told apart with every common form of colour blindness.
constexpr std::array<Color, 8> few_ranks{hex(0x1f77b4), hex(0xf0a30a), hex(0x0f9d76), hex(0xcc6fa5),
                                         hex(0x64b8ea), hex(0xd3550f), hex(0xeadf4a), hex(0x46505e)};

/// More ranks: the order counts more than the single rank, so a ramp from dark to light (viridis).
constexpr std::array<Color, 9> ramp{hex(0x440154), hex(0x472d7b), hex(0x3b528b), hex(0x2c728e), hex(0x21918c),
                                    hex(0x28ae80), hex(0x5ec962), hex(0xaddc30), hex(0xfde725)};

/// Bytes of the UTF-8 character at the begin of `words`; 0 if there is none, or one that Cairo refuses to write.
std::size_t character_size(std::string_view words) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(words[i]); };
    const std::size_t size = byte(0) < 0x80 ? 1 : byte(0) < 0xc0 ? 0 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    if (size <= 1 || size > words.size()) {
        return size == 1 ? 1 : 0;
    }
    std::uint32_t code = byte(0) & (0x7fU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) {
            return 0;
        }
        code = code << 6U | (byte(i) & 0x3fU);
    }
    constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    const bool no_character = (code >= 0xfdd0 && code < 0xfdf0) || (code & 0xfffeU) == 0xfffe;
    return code < least[size] || code > 0x10ffff || byte(0) >= 0xf8 || surrogate || no_character ? 0 : size;
}

std::string printable(std::string_view words) {
    std::string result;
    while (!words.empty()) {
        const std::size_t size = character_size(words);
        const auto first = static_cast<unsigned char>(words.front());
        if (size == 0) {
            result += '?';
        } else if (first < 0x20 || first == 0x7f) {
            result += ' ';
        } else {
            result += words.substr(0, size);
        }
        words.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return result;
}

/// At most `size` bytes of `words`, whole characters.
std::string_view beginning(std::string_view words, std::size_t size) {
    while (size > 0 && size < words.size() && (static_cast<unsigned char>(words[size]) & 0xc0U) == 0x80U) {
        --size;
    }
    return words.substr(0, size);
}

}  // namespace

Color rank_color(int rank, int ranks) {
    if (ranks <= static_cast<int>(few_ranks.size())) {
        return few_ranks[static_cast<std::size_t>(rank)];
    }
    const double place = static_cast<double>(rank) / (ranks - 1) * static_cast<double>(ramp.size() - 1);
    const auto below = std::min(static_cast<std::size_t>(place), ramp.size() - 2);
    return mix(ramp[below], ramp[below + 1], place - static_cast<double>(below));
}

Color readable_on(Color ground) {
    return 0.299 * ground.red + 0.587 * ground.green + 0.114 * ground.blue > 0.6 ? ink : white;
}

std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    return digits;
}

std::string decimals(double number) {
    std::array<char, 40> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.2f", number);
    return buffer.data();
}

std::string plural(std::int64_t number, std::string_view one) {
    return text(grouped(number), " ", one, number == 1 ? "" : "s");
}

void check_written(cairo_status_t status, const std::filesystem::path& path) {
    if (status != CAIRO_STATUS_SUCCESS) {
        throw std::runtime_error(text("cannot write ", quote(path.string()), ": ", cairo_status_to_string(status)));
    }
}

Pen::Pen(cairo_surface_t* surface) : cairo_(cairo_create(surface), &cairo_destroy) {
    cairo_font_options_t* options = cairo_font_options_create();  // so that text has the same size on all surfaces
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(cairo_.get(), options);
    cairo_font_options_destroy(options);
}

void Pen::scale(double factor) { cairo_scale(cairo_.get(), factor, factor); }

void Pen::rectangle(double x, double y, double width, double height, Color color, double opacity) {
    cairo_set_source_rgba(cairo_.get(), color.red, color.green, color.blue, opacity);
    cairo_rectangle(cairo_.get(), x, y, width, height);
    cairo_fill(cairo_.get());
}

void Pen::line(double x0, double y0, double x1, double y1, double width, Color color, bool dashed) {
    const std::array<double, 2> dash{2.5, 2.5};
    cairo_set_dash(cairo_.get(), dash.data(), dashed ? 2 : 0, 0);
    cairo_set_source_rgb(cairo_.get(), color.red, color.green, color.blue);
    cairo_set_line_width(cairo_.get(), width);
    cairo_move_to(cairo_.get(), x0, y0);
    cairo_line_to(cairo_.get(), x1, y1);
    cairo_stroke(cairo_.get());
}

void Pen::hatch(double x, double y, double width, double height) {
    rectangle(x, y, width, height, white, 0.72);
    if (width < 4) {
        return;
    }
    constexpr double gap = 4;
    cairo_save(cairo_.get());
    cairo_rectangle(cairo_.get(), x, y, width, height);
    cairo_clip(cairo_.get());
    const auto strokes = static_cast<int>(std::ceil((width + height) / gap));
    for (int stroke = 0; stroke < strokes; ++stroke) {
        const double foot = x - height + gap * stroke;
        line(foot, y + height, foot + height, y, 0.8, quiet);
    }
    cairo_restore(cairo_.get());
}

double Pen::width(const std::string& words, Font font) {
    select(font);
    cairo_text_extents_t extents{};
    cairo_text_extents(cairo_.get(), words.c_str(), &extents);
    return extents.x_advance;
}

double Pen::write(double x, double y, const std::string& words, Font font, Color color, Align align) {
    const double advance = width(words, font);
    const double left = align == Align::left ? x : align == Align::right ? x - advance : x - advance / 2;
    cairo_set_source_rgb(cairo_.get(), color.red, color.green, color.blue);
    cairo_move_to(cairo_.get(), left, y);
    cairo_show_text(cairo_.get(), words.c_str());
    cairo_new_path(cairo_.get());
    return left + advance;
}

void Pen::select(Font font) {
    cairo_select_font_face(cairo_.get(), "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           font.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo_.get(), font.size);
}

std::string Pen::fit(const std::string& words, Font font, double most) {
    std::string whole = printable(words);
    if (width(whole, font) <= most) {
        return whole;
    }
    const auto cut = [&](std::size_t size) { return text(beginning(whole, size), "…"); };
    std::size_t fits = 0;
    std::size_t too_long = whole.size();
    while (fits + 1 < too_long) {
        const std::size_t middle = (fits + too_long) / 2;
        (width(cut(middle), font) <= most ? fits : too_long) = middle;
    }
    return cut(fits);
}

cairo_status_t Pen::status() const { return cairo_status(cairo_.get()); }

}  // namespace example

// Fontconfig keeps its caches until the process ends, behind pointers that the leak checker does not see.
#if defined(__SANITIZE_ADDRESS__)
#    define EXAMPLE_LEAK_CHECK
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define EXAMPLE_LEAK_CHECK
#    endif
#endif
#ifdef EXAMPLE_LEAK_CHECK
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier): the checker's name
    return "leak:libfontconfig\n";
}
extern "C" const char* __lsan_default_options() {  // NOLINT(bugprone-reserved-identifier): as above
    return "print_suppressions=0";
}
#endif
