// MPI for a doctest program: initialised before the first test, finalised after the last. A test is a collective of all processes,
// so tests CHECK, and never REQUIRE.
#pragma once

#include <seqpar/exchange/mpi.hpp>

#include <doctest/doctest.h>

namespace test {

constexpr auto time_limit = std::chrono::seconds(60);  // so that what would hang fails

struct MpiForAllTests : doctest::IReporter {
    explicit MpiForAllTests(const doctest::ContextOptions&) {}
    void test_run_start() override { MPI_Init(nullptr, nullptr); }
    void test_run_end(const doctest::TestRunStats&) override { MPI_Finalize(); }
    void report_query(const doctest::QueryData&) override {}
    void test_case_start(const doctest::TestCaseData&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_end(const doctest::CurrentTestCaseStats&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};

}  // namespace test
