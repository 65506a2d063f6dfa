// What the examples throw when a user's file, option or folder cannot be used. It is not for faults of the
// program itself (those are std::logic_error) nor for a disk that is full (std::system_error).
#pragma once

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace example {

/// One line that names where the fault is, what was expected and what was found. Control characters are
/// escaped, so whatever the input holds, it stays one line.
class BadInput : public std::runtime_error {
public:
    explicit BadInput(std::string_view line);
};

/// Throws BadInput("source: where: expected <expected>, got <got>"); an empty `where` is left out.
[[noreturn]] void refuse(std::string_view source, std::string_view where, std::string_view expected,
                         std::string_view got);

/// `name` in double quotes, clipped when it is very long.
std::string quote(std::string_view name);

/// Its arguments one after the other, each as `<<` prints it.
template <class... Parts>
std::string text(const Parts&... parts) {
    std::ostringstream stream;
    (stream << ... << parts);
    return stream.str();
}

}  // namespace example
