// The wording of refusals. No checks are here.
#include "bad_input.hpp"

namespace example {
namespace {

std::string one_line(std::string_view line) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string result;
    for (const char c : line) {
        const auto code = static_cast<unsigned char>(c);
        if (code < 0x20 || code == 0x7f) {
            result += "\\x";
            result += digits[code / 16U];
            result += digits[code % 16U];
        } else {
            result += c;
        }
    }
    return result;
}

}  // namespace

BadInput::BadInput(std::string_view line) : std::runtime_error(one_line(line)) {}

void refuse(std::string_view source, std::string_view where, std::string_view expected, std::string_view got) {
    throw BadInput(text(source, where.empty() ? "" : ": ", where, ": expected ", expected, ", got ", got));
}

std::string quote(std::string_view name) {
    constexpr std::size_t longest = 80;
    if (name.size() <= longest) {
        return text('"', name, '"');
    }
    std::size_t cut = longest;
    while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xc0U) == 0x80U) {
        --cut;  // not inside a UTF-8 character
    }
    return text('"', name.substr(0, cut), "...\"");
}

}  // namespace example
