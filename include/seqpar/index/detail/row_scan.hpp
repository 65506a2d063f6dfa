// The inner loop of build_rows on a host: row numbers of a stretch of contiguous token ids, in blocks that compilers
// vectorise. Not here: what a rule or a stream is; see ../rows.hpp.
#pragma once

#include <seqpar/detail/config.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace seqpar::detail {

inline constexpr int max_rules = 8;
inline constexpr int max_banks = 8;

// The rules in the type of the ids. Id `ids[r]` is a placeholder of bank `banks[r]`.
template <class Id>
struct RowRules {
    Id ids[max_rules] = {};
    std::int32_t banks[max_rules] = {};
    int count = 0;

    SEQPAR_HD int find(Id id) const {
        for (int r = 0; r < count; ++r) {
            if (ids[r] == id) return r;
        }
        return -1;
    }
};

// The next row of each bank.
struct NextRows {
    std::int64_t bank[max_banks] = {};
};

// A block of ids. Compilers vectorise loops over it (g++ unrolls one of up to 16 before it tries). A multiple of 4.
inline constexpr std::int32_t row_block = 20;

// The bit that stands for each id of a block.
struct BlockBits {
    std::uint32_t of[row_block] = {};
    constexpr BlockBits() {
        for (std::int32_t k = 0; k < row_block; ++k)
            of[k] = std::uint32_t{1} << k;
    }
};
inline constexpr BlockBits block_bits{};

// Which ids have the low half of a rule's id: all placeholders, and at times another id. (SSE2 compares no 64 bits.)
template <std::size_t Rules, class Id>
std::uint32_t candidates(const Id* ids, const std::int32_t (&lows)[Rules]) {
    std::uint32_t bits = 0;
    for (std::int32_t k = 0; k < row_block; ++k) {
        const auto low = static_cast<std::int32_t>(ids[k]);
        bool hit = low == lows[0];
        for (std::size_t r = 1; r < Rules; ++r)
            hit |= low == lows[r];
        bits |= hit ? block_bits.of[k] : 0;
    }
    return bits;
}

template <class Id>
bool all_are(const Id* ids, Id id) {
    Id differs = 0;
    for (std::int32_t k = 0; k < row_block; ++k)
        differs |= ids[k] ^ id;
    return differs == 0;
}

// One id after the other, without a branch on what it is.
template <bool WithBanks, class Id>
void scan_rows_plain(const RowRules<Id>& rules, const Id* ids, std::int64_t count, std::int32_t* rows,
                     std::int32_t* banks, NextRows& next) {
    std::int64_t text = -1;  // the next row of text, as it were: it stays
    for (std::int64_t i = 0; i < count; ++i) {
        std::int32_t bank = -1;
        for (int r = 0; r < rules.count; ++r)
            bank = ids[i] == rules.ids[r] ? rules.banks[r] : bank;
        std::int64_t& row = bank < 0 ? text : next.bank[bank];
        rows[i] = static_cast<std::int32_t>(row);
        if constexpr (WithBanks) banks[i] = bank;
        row += bank >= 0;
    }
}

// As scan_rows_plain, for long stretches of text and of one placeholder: writes a block as if the stretch filled it, and goes
// on from where the stretch ends, over what was too much. Steps end on multiples of 4, where loads and stores are aligned if
// the arrays are. Rules: at least as many as there are.
template <bool WithBanks, std::size_t Rules, class Id>
void scan_rows_blocks(const RowRules<Id>& rules, const Id* ids, std::int64_t count, std::int32_t* rows,
                      std::int32_t* banks, NextRows& next) {
    std::int32_t lows[Rules];
    for (std::size_t r = 0; r < Rules; ++r)
        lows[r] = static_cast<std::int32_t>(rules.ids[static_cast<int>(r) < rules.count ? r : 0]);
    int rule = -1;  // of the stretch; -1: text
    std::int64_t i = 0;
    while (i + row_block <= count) {
        const std::int64_t start = i;
        if (rule < 0) {
            std::uint32_t found = 0;
            for (; i + row_block <= count; i += row_block - (i & 3)) {
                found = candidates(ids + i, lows);
                for (std::int32_t k = 0; k < row_block; ++k)
                    rows[i + k] = -1;
                for (std::int32_t k = 0; WithBanks && k < row_block; ++k)
                    banks[i + k] = -1;
                if (found != 0) break;
            }
            if (found == 0) break;
            i += std::countr_zero(found);
            rule = rules.find(ids[i]);
            if (rule < 0) ++i;  // it only looked like one
        } else {
            const Id id = rules.ids[rule];
            const std::int32_t bank = rules.banks[rule];
            const auto offset =
                static_cast<std::uint32_t>(next.bank[bank] - start);  // unsigned: what is too much may pass int32
            for (; i + row_block <= count; i += row_block - (i & 3)) {
                const bool all = all_are(ids + i, id);
                for (std::int32_t k = 0; k < row_block; ++k)
                    rows[i + k] = static_cast<std::int32_t>(static_cast<std::uint32_t>(i + k) + offset);
                for (std::int32_t k = 0; WithBanks && k < row_block; ++k)
                    banks[i + k] = bank;
                if (!all) break;
            }
            if (i + row_block <= count) {
                while (ids[i] == id)
                    ++i;
                rule = rules.find(ids[i]);
            }
            next.bank[bank] += i - start;
        }
        if (i - start < row_block / 2) {  // a short stretch: likely more come
            const std::int64_t some = count - i < 4 * row_block ? count - i : 4 * row_block;
            scan_rows_plain<WithBanks>(rules, ids + i, some, rows + i, WithBanks ? banks + i : nullptr, next);
            i += some;
            if (i < count) rule = rules.find(ids[i]);
        }
    }
    scan_rows_plain<WithBanks>(rules, ids + i, count - i, rows + i, WithBanks ? banks + i : nullptr, next);
}

// Row (and bank) of each of `count` ids, from the next row of each bank on; leaves the next rows after them. -1: text.
// Rows fit int32: the caller has seen to it.
template <bool WithBanks, class Id>
void scan_rows(const RowRules<Id>& rules, const Id* ids, std::int64_t count, std::int32_t* rows, std::int32_t* banks,
               NextRows& next) {
    if (rules.count == 1) return scan_rows_blocks<WithBanks, 1>(rules, ids, count, rows, banks, next);
    if (rules.count > 3) return scan_rows_blocks<WithBanks, max_rules>(rules, ids, count, rows, banks, next);
    if (rules.count > 1) return scan_rows_blocks<WithBanks, 3>(rules, ids, count, rows, banks, next);
    scan_rows_plain<WithBanks>(rules, ids, count, rows, banks, next);
}

// Adds the number of placeholders of each bank to `next`.
template <class Id>
void count_rows(const RowRules<Id>& rules, const Id* ids, std::int64_t count, NextRows& next) {
    constexpr std::int64_t step = 64;
    for (int r = 0; r < rules.count; ++r) {
        std::int64_t found = 0;
        std::int64_t i = 0;
        for (; i + step <= count; i += step) {
            Id part = 0;
            for (std::int64_t k = 0; k < step; ++k)
                part += static_cast<Id>(ids[i + k] == rules.ids[r]);
            found += part;
        }
        for (; i < count; ++i)
            found += ids[i] == rules.ids[r];
        next.bank[rules.banks[r]] += found;
    }
}

}  // namespace seqpar::detail
