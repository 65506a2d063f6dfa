// The inner loop of build_rows on a host: row numbers of a stretch of contiguous token ids, in blocks by SSE2 (x86 always has it)
// and else one by one. Not here: what a rule or a stream is; see ../rows.hpp.
#pragma once

#include <seqpar/detail/config.hpp>

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

namespace seqpar::detail {

inline constexpr int max_rules = 8;
inline constexpr int max_banks = 8;

// The rules in the type of the ids, in order of their banks. Id `ids[r]` is a placeholder of bank `banks[r]`.
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

#if defined(__SSE2__)

// Counts of 32 bits go modulo 2^32 here: rows fit int32, but not all that is one past.
template <class Id>
__m128i load_lanes(const Id* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
inline void store_lanes(std::int32_t* to, __m128i lanes) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), lanes); }

// All bits of a lane are set where that one of 4 ids is `id`, which fills a vector. SSE2 compares no 64 bits: both halves, then
// each id's two results side by side in 32 bits.
template <class Id>
__m128i equal_lanes(const Id* ids, __m128i id) {
    const __m128i equal = _mm_cmpeq_epi32(load_lanes(ids), id);
    if constexpr (sizeof(Id) == 4) {
        return equal;
    } else {
        const __m128i others = _mm_cmpeq_epi32(load_lanes(ids + 2), id);
        return _mm_cmpeq_epi32(_mm_packs_epi32(equal, others), _mm_set1_epi32(-1));
    }
}

// Asks for the 16 ids that come 256 after these, so that a mispredicted branch is no wait for memory as well.
template <class Id>
void fetch_ids(const Id* ids) {
    const auto from = reinterpret_cast<std::uintptr_t>(ids) + 256 * sizeof(Id);
    for (std::size_t at = 0; at < 16 * sizeof(Id); at += 64)
        _mm_prefetch(reinterpret_cast<const char*>(from + at), _MM_HINT_T0);
}

// The low halves of 4 ids.
template <class Id>
__m128i low_lanes(const Id* ids) {
    if constexpr (sizeof(Id) == 4) {
        return load_lanes(ids);
    } else {
        return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(load_lanes(ids)),
                                               _mm_castsi128_ps(load_lanes(ids + 2)), _MM_SHUFFLE(2, 0, 2, 0)));
    }
}

// As scan_rows_plain, for as many whole blocks of 16 ids as there are; gives how many ids that were. Blocks of text alone and of
// one placeholder alone are quick, others take no branch on what they hold. Rules: how many there are; 0: any number.
template <bool WithBanks, int Rules, class Id>
std::int64_t scan_rows_blocks(const RowRules<Id>& rules, const Id* ids, std::int64_t count, std::int32_t* rows,
                              std::int32_t* banks, NextRows& next) {
    constexpr std::int64_t block = 16;
    constexpr std::size_t most = Rules > 0 ? Rules : max_rules;
    const int rule_count = Rules > 0 ? Rules : rules.count;
    __m128i wanted[most];
    __m128i next_row[most];  // of the rule's bank; kept for the first rule of each
    int first_rule[most];    // of the rule's bank
    for (int r = 0; r < rule_count; ++r) {
        wanted[r] = sizeof(Id) == 4 ? _mm_set1_epi32(static_cast<std::int32_t>(rules.ids[r]))
                                    : _mm_set1_epi64x(static_cast<long long>(rules.ids[r]));
        next_row[r] = _mm_set1_epi32(static_cast<std::int32_t>(next.bank[rules.banks[r]]));
        first_rule[r] = r > 0 && rules.banks[r] == rules.banks[r - 1] ? first_rule[r - 1] : r;
    }
    const __m128i minus_one = _mm_set1_epi32(-1);
    int rule = -1;  // of the id before; -1: text
    std::int64_t i = 0;
    while (i + block <= count) {
        if (rule < 0) {
            for (; i + block <= count; i += block) {
                fetch_ids(ids + i);
                __m128i hits = _mm_setzero_si128();  // the low half is that of a placeholder
                for (std::int64_t k = 0; k < block; k += 4) {
                    const __m128i low = low_lanes(ids + i + k);
                    for (int r = 0; r < rule_count; ++r)
                        hits = _mm_or_si128(hits, _mm_cmpeq_epi32(low, _mm_shuffle_epi32(wanted[r], 0)));
                }
                if (_mm_movemask_epi8(hits) != 0) break;
                for (std::int64_t k = 0; k < block; k += 4) {
                    store_lanes(rows + i + k, minus_one);
                    if constexpr (WithBanks) store_lanes(banks + i + k, minus_one);
                }
            }
        } else {
            constexpr std::int64_t step = 16 / sizeof(Id);
            const __m128i bank = _mm_set1_epi32(rules.banks[rule]);
            __m128i row = next_row[first_rule[rule]];
            for (; i + block <= count; i += block) {
                fetch_ids(ids + i);
                __m128i all = minus_one;
                for (std::int64_t k = 0; k < block; k += step)
                    all = _mm_and_si128(all, _mm_cmpeq_epi32(load_lanes(ids + i + k), wanted[rule]));
                if (_mm_movemask_epi8(all) != 0xFFFF) break;
                for (std::int32_t k = 0; k < block; k += 4) {
                    store_lanes(rows + i + k, _mm_add_epi32(row, _mm_setr_epi32(k, k + 1, k + 2, k + 3)));
                    if constexpr (WithBanks) store_lanes(banks + i + k, bank);
                }
                row = _mm_add_epi32(row, _mm_set1_epi32(block));
            }
            next_row[first_rule[rule]] = row;
        }
        if (i + block > count) break;
        for (std::int64_t k = 0; k < block; k += 4, i += 4) {
            __m128i row = _mm_setzero_si128();  // plus one, as the bank is, so that 0 is text
            __m128i bank = _mm_setzero_si128();
            for (int r = 0; r < rule_count;) {
                const int first = r;
                __m128i hits = equal_lanes(ids + i, wanted[r]);
                for (++r; Rules != 1 && r < rule_count && first_rule[r] == first; ++r)
                    hits = _mm_or_si128(hits, equal_lanes(ids + i, wanted[r]));
                // Minus the number of hits up to each lane, it included.
                __m128i before = _mm_add_epi32(hits, _mm_slli_si128(hits, 4));
                before = _mm_add_epi32(before, _mm_slli_si128(before, 8));
                row = _mm_or_si128(row, _mm_and_si128(_mm_sub_epi32(next_row[first], before), hits));
                next_row[first] = _mm_sub_epi32(next_row[first], _mm_shuffle_epi32(before, 0xFF));
                if constexpr (WithBanks)
                    bank = _mm_or_si128(bank, _mm_and_si128(_mm_set1_epi32(rules.banks[first] + 1), hits));
            }
            store_lanes(rows + i, _mm_add_epi32(row, minus_one));
            if constexpr (WithBanks) store_lanes(banks + i, _mm_add_epi32(bank, minus_one));
        }
        rule = rules.find(ids[i - 1]);
    }
    for (int r = 0; r < rule_count; ++r) {
        if (first_rule[r] != r) continue;
        std::int64_t& row = next.bank[rules.banks[r]];
        row += static_cast<std::uint32_t>(_mm_cvtsi128_si32(next_row[r])) - static_cast<std::uint32_t>(row);
    }
    return i;
}

#endif

// Row (and bank) of each of `count` ids, from the next row of each bank on; leaves the next rows after them. -1: text.
// Rows fit int32: the caller has seen to it.
template <bool WithBanks, class Id>
void scan_rows(const RowRules<Id>& rules, const Id* ids, std::int64_t count, std::int32_t* rows, std::int32_t* banks,
               NextRows& next) {
    std::int64_t done = 0;
#if defined(__SSE2__)
    done = rules.count == 1 ? scan_rows_blocks<WithBanks, 1>(rules, ids, count, rows, banks, next)
                            : scan_rows_blocks<WithBanks, 0>(rules, ids, count, rows, banks, next);
#endif
    scan_rows_plain<WithBanks>(rules, ids + done, count - done, rows + done, WithBanks ? banks + done : nullptr, next);
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
