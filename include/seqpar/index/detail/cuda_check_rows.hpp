// check_rows on CUDA: a pass that counts and keeps the first use of each row, and one that judges. Compiles under nvcc alone.
#pragma once

#include <seqpar/index/check_rows.hpp>
#include <seqpar/index/detail/cuda_index.hpp>
#include <seqpar/index/detail/cuda_scan.hpp>

namespace seqpar {

namespace detail {

// In scratch: the first use of each row, bank after bank, then the placeholders of each bank, then how many offsets are illegal.
template <class Check>
struct RowTally {
    Check check;
    std::int64_t* words;
    std::int64_t start[max_banks + 1];  // of each bank's rows

    static constexpr std::int64_t counts = max_banks + 1;  // words after the first uses

    SEQPAR_HD std::int64_t rows() const { return start[max_banks]; }
    SEQPAR_HD std::int64_t* first_use(int bank) const { return words + start[bank]; }
    SEQPAR_HD std::int64_t* count(int bank) const { return words + rows() + bank; }
    SEQPAR_HD std::int64_t* illegal() const { return count(max_banks); }

    // The bank of a token, -1 for what names no row or no bank that there is; first: where the first use of its row stands, or null.
    SEQPAR_HD int use(std::int64_t token, std::int64_t*& first) const {
        const std::int64_t length = length_of(check.rows);
        const auto want = check.at(token / length, token % length);
        first = nullptr;
        if (want.row == -1 || want.bank < 0 || want.bank >= check.bank_count) return -1;
        const int bank = static_cast<int>(want.bank);
        if (want.row >= 0 && want.row < check.info[bank].rows) first = first_use(bank) + want.row;
        return bank;
    }
};

template <class Check>
struct ClearTally {
    static constexpr const char* operation = "seqpar::check_rows";
    RowTally<Check> tally;
    std::int64_t total;  // words
    __device__ void operator()(std::int64_t i) const { tally.words[i] = i < tally.rows() ? no_token : 0; }
};

inline __device__ void add_one(std::int64_t* to) { atomicAdd(reinterpret_cast<unsigned long long*>(to), 1ULL); }

template <class Check>
struct CountRows {
    static constexpr const char* operation = "seqpar::check_rows";
    RowTally<Check> tally;
    std::int64_t total;  // tokens, at least 1
    Status* status;

    __device__ void operator()(std::int64_t i) const {
        const Check& check = tally.check;
        if (status != nullptr) check_layouts(check, status, i, total);
        const auto layout = check.layout();
        for (std::int64_t k = i; k < entries(layout); k += total)
            look(check_entry(layout, k));
        for (std::int64_t k = i; k < check.documents.count(); k += total)
            look(check_offset(check.documents, length_of(check.rows), k));
        for (int bank = 0; bank < check.bank_count; ++bank) {
            const BankInfo& of = check.info[bank];
            for (std::int64_t k = i; k < of.items.count(); k += total)
                look(check_offset(of.items, of.rows, k));
        }
        if (i >= check.tokens()) return;
        report(status, check(i / length_of(check.rows), i % length_of(check.rows)));
        std::int64_t* first = nullptr;
        const int bank = tally.use(i, first);
        if (bank >= 0) add_one(tally.count(bank));
        if (first != nullptr) atomicMin(reinterpret_cast<long long*>(first), static_cast<long long>(i));
    }
    __device__ void look(const Status& offset) const {
        if (!offset.ok()) add_one(tally.illegal());
    }
};

// What is illegal is named by one thread, which walks as a host does.
template <class Check>
struct JudgeRows {
    static constexpr const char* operation = "seqpar::check_rows";
    RowTally<Check> tally;
    std::int64_t total;  // tokens, at least 1
    Status* status;

    __device__ void operator()(std::int64_t i) const {
        const Check& check = tally.check;
        if (i == 0 && *tally.illegal() > 0) report(status, check_row_offsets(check));
        for (std::int64_t b = i; b < check.bank_count; b += total) {
            const int bank = static_cast<int>(b);
            report(status, check.check_count(bank, *tally.count(bank), tally.first_use(bank)));
        }
        if (i >= check.tokens()) return;
        std::int64_t* first = nullptr;
        const int bank = tally.use(i, first);
        if (first != nullptr && *first < i) report(status, make_status(Kind::row_reused, bank, i, *first, i));
    }
};

template <CudaExec D, class Check>
void run_check_rows(Dispatch tag, const D& exec, const Check& check) {
    static_assert(is_reporting<D>, "a check on a device needs where to write: reporting(exec, status)");
    RowTally<Check> tally{check, nullptr, {}};
    for (int bank = 0; bank < max_banks; ++bank)
        tally.start[bank + 1] = tally.start[bank] + (bank < check.bank_count ? check.info[bank].rows : 0);
    const std::int64_t words = tally.rows() + RowTally<Check>::counts;
    Scratch<D> scratch(exec, static_cast<std::size_t>(words) * 8);
    tally.words = static_cast<std::int64_t*>(scratch.data());
    const std::int64_t total = check.tokens() > 0 ? check.tokens() : 1;
    launch_index_work(exec, ClearTally<Check>{tally, words});
    launch_index_work(exec, CountRows<Check>{tally, total, sink_of(exec)});
    run_index_work(tag, exec, JudgeRows<Check>{tally, total, sink_of(exec)});
}

}  // namespace detail

}  // namespace seqpar
