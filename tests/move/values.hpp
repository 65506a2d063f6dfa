// Typed arrays for tests written by hand: distinct numbers, lists of what a rank holds, and errors with what they must say.
#pragma once

#include "layout/random.hpp"

#include <seqpar/layout/status.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

namespace test {

// first, first + 1, …: every element its own, so that an element in a wrong place shows.
template <class T = std::int64_t>
std::vector<T> counted(std::int64_t count, std::int64_t first = 0) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<T>(first + i));
    return values;
}

// The Status of the Error that `call` throws.
template <class F>
seqpar::Status error_of(F call) {
    try {
        call();
    } catch (const seqpar::Error& error) {
        CHECK(std::string(error.what()) == describe(error.status()));
        return error.status();
    }
    return {};
}

inline void check_status(const seqpar::Status& got, seqpar::Kind kind, int array, std::int64_t expected_value,
                         std::int64_t got_value, std::int64_t field = 0, std::int64_t index = 0) {
    CHECK(name(got.kind()) == name(kind));
    CHECK(got.array() == array);
    CHECK(got.index() == index);
    CHECK(got.expected == expected_value);
    CHECK(got.got == got_value);
    CHECK(got.field == field);
}

}  // namespace test
