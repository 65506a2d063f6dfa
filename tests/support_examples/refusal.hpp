// What a call is refused with.
#pragma once

#include <string>

#include "support/bad_input.hpp"

/// The line of the BadInput that f() throws; "accepted" if it throws nothing.
template <class F>
std::string refusal(F f) {
    try {
        f();
    } catch (const example::BadInput& error) {
        return error.what();
    }
    return "accepted";
}

inline bool contains(const std::string& line, const std::string& part) { return line.find(part) != std::string::npos; }
