// What a conformance suite's report says where a law is broken, and nothing where all are kept.
#pragma once

#include <seqpar/conformance/report.hpp>

#include <string>

namespace test {

inline std::string broken(const seqpar::conformance::Report& report) {
    return report.ok() ? std::string() : describe(report);
}

}  // namespace test
