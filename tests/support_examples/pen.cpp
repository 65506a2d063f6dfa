// Words and numbers of pictures: they fit, and they stay text whatever a user wrote.
#include "support/pen.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace {

using example::Pen;

Pen scratch() {
    static const example::Surface surface(cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1), &cairo_surface_destroy);
    return Pen(surface.get());
}

}  // namespace

TEST_CASE("words that fit stay, longer ones end in an ellipsis at the last character that fits") {
    Pen pen = scratch();
    const std::string words = "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 to the end";  // 1 to 4 bytes a character
    const double whole = pen.width(words, example::body_font);
    CHECK(pen.fit(words, example::body_font, whole) == words);
    for (int part = 15; part < 100; ++part) {
        const double most = whole * part / 100;
        CAPTURE(most);
        const std::string cut = pen.fit(words, example::body_font, most);
        CHECK(pen.width(cut, example::body_font) <= most);
        CHECK(cut.ends_with("\xe2\x80\xa6"));
        CHECK(words.starts_with(cut.substr(0, cut.size() - 3)));
    }
    CHECK(pen.status() == CAIRO_STATUS_SUCCESS);
}

TEST_CASE("bytes that are no UTF-8 become question marks, control characters spaces") {
    Pen pen = scratch();
    const auto shown = [&](const std::string& words) {
        std::string result = pen.fit(words, example::body_font, 1000);
        pen.write(0, 0, result, example::body_font, example::ink);
        CHECK(pen.status() == CAIRO_STATUS_SUCCESS);
        return result;
    };
    CHECK(shown("a\nb\x7f") == "a b ");
    CHECK(shown("\xff\xc3") == "??");
    CHECK(shown("\xc0\xaf") == "??");            // an overlong form
    CHECK(shown("\xe0\x80\x80") == "???");       // another
    CHECK(shown("\xed\xa0\x80") == "???");       // a surrogate
    CHECK(shown("\xf4\x90\x80\x80") == "????");  // past the last code
    CHECK(shown("\xf0\x9f\x98") == "???");       // cut
    CHECK(shown("\xf8\x90\x80\x80") == "????");
    CHECK(shown("\xef\xbf\xbf\xef\xb7\x90") == "??????");  // codes that are no characters
    CHECK(shown("\xed\x9f\xbf \xee\x80\x80 \xf4\x8f\xbf\xbd") == "\xed\x9f\xbf \xee\x80\x80 \xf4\x8f\xbf\xbd");
}

TEST_CASE("numbers are grouped by thousands") {
    CHECK(example::grouped(0) == "0");
    CHECK(example::grouped(999) == "999");
    CHECK(example::grouped(1000) == "1,000");
    CHECK(example::grouped(-123456) == "-123,456");
    CHECK(example::grouped(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
    CHECK(example::plural(1, "slot") == "1 slot");
    CHECK(example::plural(5120, "slot") == "5,120 slots");
    CHECK(example::decimals(2.206) == "2.21");
}

TEST_CASE("every rank has a colour, and up to eight have eight different ones") {
    for (const int ranks : {1, 8, 9, 64, 4096}) {
        for (int rank = 0; rank < ranks; ++rank) {
            const example::Color color = example::rank_color(rank, ranks);
            CHECK(color.red + color.green + color.blue > 0);
            if (rank > 0) {
                const example::Color before = example::rank_color(rank - 1, ranks);
                CHECK((color.red != before.red || color.green != before.green || color.blue != before.blue));
            }
        }
    }
}
