// Colours, fonts and the few strokes that the pictures are made of: Cairo behind an interface of our own. It knows
// nothing of sequences. All lengths are points.
#pragma once

#include <cairo.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace example {

struct Color {
    double red = 0;
    double green = 0;
    double blue = 0;
};

constexpr Color hex(unsigned code) {
    return {((code >> 16U) & 255U) / 255.0, ((code >> 8U) & 255U) / 255.0, (code & 255U) / 255.0};
}

constexpr Color mix(Color from, Color to, double t) {
    return {from.red + (to.red - from.red) * t, from.green + (to.green - from.green) * t,
            from.blue + (to.blue - from.blue) * t};
}

inline constexpr Color white = hex(0xffffff);
inline constexpr Color ink = hex(0x1b2430);
inline constexpr Color quiet = hex(0x667282);
inline constexpr Color rule = hex(0xc3cad2);
inline constexpr Color lane_ground = hex(0xf0f2f5);
inline constexpr Color neutral = hex(0x8693a3);
inline constexpr Color image_color = hex(0x1b2430);
inline constexpr Color video_color = hex(0x98a2ae);

/// The colour of a rank among `ranks`: one of eight that are told apart, or a place on a ramp where there are more.
Color rank_color(int rank, int ranks);

/// Dark or white, whichever is easier to read on `ground`.
Color readable_on(Color ground);

/// 5120 as "5,120".
std::string grouped(std::int64_t number);

/// 1 and 5120 as "1 slot" and "5,120 slots".
std::string plural(std::int64_t number, std::string_view one);

/// With two digits after the point.
std::string decimals(double number);

enum class Align : std::uint8_t { left, center, right };

struct Font {
    double size = 10;
    bool bold = false;
};

inline constexpr Font title_font{19, true};
inline constexpr Font panel_font{14, true};
inline constexpr Font figure_font{26, true};
inline constexpr Font body_font{11, false};
inline constexpr Font label_font{10.5, false};
inline constexpr Font small_font{9.5, false};

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;

/// A std::runtime_error that names the file unless all is well.
void check_written(cairo_status_t status, const std::filesystem::path& path);

class Pen {
public:
    explicit Pen(cairo_surface_t* surface);

    void scale(double factor);
    void rectangle(double x, double y, double width, double height, Color color, double opacity = 1);
    void line(double x0, double y0, double x1, double y1, double width, Color color, bool dashed = false);

    /// Makes whatever is below pale, and hatches it where there is room.
    void hatch(double x, double y, double width, double height);

    double width(const std::string& words, Font font);

    /// Writes on the base line y and returns where the text ends.
    double write(double x, double y, const std::string& words, Font font, Color color, Align align = Align::left);

    /// What a user wrote, as it can be shown: on one line, broken UTF-8 as ?, cut with an ellipsis where it is wider than `most`.
    std::string fit(const std::string& words, Font font, double most);

    [[nodiscard]] cairo_status_t status() const;

private:
    void select(Font font);

    std::unique_ptr<cairo_t, decltype(&cairo_destroy)> cairo_;
};

}  // namespace example
