// The inner loop of build_rows on a host: row numbers of a stretch of contiguous token ids, 16 at a time.
// Not here: what a rule or a stream is; see ../rows.hpp.
#pragma once

#include <seqpar/detail/config.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

namespace seqpar::detail {

inline constexpr int max_rules = 8;
inline constexpr int max_banks = 8;

// The rules in the type of the ids. Id `ids[r]` is a placeholder of bank `banks[r]`.
template <class Id>
struct RowRules {
    Id ids[max_rules] = {};
    std::int32_t banks[max_rules] = {};
    int count = 0;

    int find(Id id) const {
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

// One id after the other, without a branch on what it is. rows[i], and with WithBanks banks[i]: -1 for text. Rows fit
// int32: the caller has seen to it.
template <bool WithBanks, class Id>
void scan_rows_plain(const RowRules<Id>& rules, const Id* ids, std::int64_t count, std::int32_t* rows,
                     std::int32_t* banks, NextRows& next) {
    if (rules.count == 1) {
        std::int64_t row = next.bank[rules.banks[0]];
        for (std::int64_t i = 0; i < count; ++i) {
            const bool found = ids[i] == rules.ids[0];
            rows[i] = found ? static_cast<std::int32_t>(row) : -1;
            if constexpr (WithBanks) banks[i] = found ? rules.banks[0] : -1;
            row += found;
        }
        next.bank[rules.banks[0]] = row;
        return;
    }
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

// 16 ids, compared by their low halves first: a 64-bit compare is no instruction of SSE2. Of a 32-bit id both halves
// are it.
struct IdChunk {
    static constexpr std::int64_t length = 16;
    static constexpr unsigned every = 0xFFFF;  // one bit an id

    static __m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
    template <int Half>
    static __m128i half(const std::int64_t* ids) {
        const __m128 a = _mm_castsi128_ps(load(ids));
        const __m128 b = _mm_castsi128_ps(load(ids + 2));
        return _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(2 + Half, Half, 2 + Half, Half)));
    }
    template <int>
    static __m128i half(const std::int32_t* ids) {
        return load(ids);
    }
    template <class Id>
    static __m128i low_of(Id id) {
        return _mm_set1_epi32(static_cast<int>(id));
    }
    static __m128i high_of(std::int64_t id) { return _mm_set1_epi32(static_cast<int>(id >> 32)); }
    static __m128i high_of(std::int32_t id) { return _mm_set1_epi32(id); }
    static __m128i all_of(std::int64_t id) { return _mm_set1_epi64x(id); }
    static __m128i all_of(std::int32_t id) { return _mm_set1_epi32(id); }

    // Whether every id is `id`.
    template <class Id>
    static bool all_are(const Id* ids, Id id) {
        constexpr std::int64_t lanes = 16 / std::int64_t{sizeof(Id)};
        const __m128i one = all_of(id);
        __m128i differs = _mm_xor_si128(load(ids), one);
        for (std::int64_t k = lanes; k < length; k += lanes)
            differs = _mm_or_si128(differs, _mm_xor_si128(load(ids + k), one));
        return _mm_movemask_epi8(_mm_cmpeq_epi32(differs, _mm_setzero_si128())) == 0xFFFF;
    }
};

// Which of 16 ids are one of some: all ones or zeros an id in four parts.
struct IdMask {
    __m128i part[4];

    // Those whose low half is the low half of a rule's id: all placeholders, and at times another id.
    template <std::size_t Rules, class Id>
    static IdMask of_rules(const Id* ids, const __m128i (&lows)[Rules]) {
        __m128i low[4];
        IdMask mask;
        for (int k = 0; k < 4; ++k) {
            low[k] = IdChunk::half<0>(ids + 4 * k);
            mask.part[k] = _mm_cmpeq_epi32(low[k], lows[0]);
        }
        for (std::size_t r = 1; r < Rules; ++r) {
            for (int k = 0; k < 4; ++k)
                mask.part[k] = _mm_or_si128(mask.part[k], _mm_cmpeq_epi32(low[k], lows[r]));
        }
        return mask;
    }
    template <class Id>
    static IdMask of(const Id* ids, Id id) {
        const __m128i low[1] = {IdChunk::low_of(id)};
        IdMask mask = of_rules(ids, low);
        if constexpr (sizeof(Id) == 8) {
            const __m128i high = IdChunk::high_of(id);
            for (int k = 0; k < 4; ++k) {
                mask.part[k] = _mm_and_si128(mask.part[k], _mm_cmpeq_epi32(IdChunk::half<1>(ids + 4 * k), high));
            }
        }
        return mask;
    }

    bool any() const {
        return _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(part[0], part[1]), _mm_or_si128(part[2], part[3]))) != 0;
    }
    unsigned bits() const {
        const __m128i lower = _mm_packs_epi32(part[0], part[1]);
        const __m128i upper = _mm_packs_epi32(part[2], part[3]);
        return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(lower, upper)));
    }
};

inline void store(std::int32_t* to, __m128i value) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value); }
inline __m128i rows_from(std::int32_t first, int part) {
    return _mm_add_epi32(_mm_add_epi32(_mm_set1_epi32(first), _mm_set_epi32(3, 2, 1, 0)), _mm_set1_epi32(4 * part));
}

// 16 times one value; 16 rows from `first` on; and both with -1 where the mask is not set.
inline void store_value(std::int32_t* to, std::int32_t value) {
    for (int k = 0; k < 4; ++k)
        store(to + 4 * k, _mm_set1_epi32(value));
}
inline void store_rows(std::int32_t* to, std::int32_t first) {
    for (int k = 0; k < 4; ++k)
        store(to + 4 * k, rows_from(first, k));
}
inline void store_value(std::int32_t* to, std::int32_t value, const IdMask& mask) {
    const __m128i all = _mm_set1_epi32(-1);
    for (int k = 0; k < 4; ++k)
        store(to + 4 * k, _mm_or_si128(_mm_set1_epi32(value), _mm_xor_si128(mask.part[k], all)));
}
inline void store_rows(std::int32_t* to, std::int32_t first, const IdMask& mask) {
    const __m128i all = _mm_set1_epi32(-1);
    for (int k = 0; k < 4; ++k)
        store(to + 4 * k, _mm_or_si128(rows_from(first, k), _mm_xor_si128(mask.part[k], all)));
}

// 16 ids of any kind: one stretch of one placeholder between text by masks, anything else one by one.
template <bool WithBanks, std::size_t Rules, class Id>
inline void scan_chunk(const RowRules<Id>& rules, const __m128i (&lows)[Rules], const Id* ids, std::int32_t* rows,
                       std::int32_t* banks, NextRows& next) {
    int rule = 0;
    unsigned found = 0;
    if constexpr (Rules > 1) {
        found = IdMask::of_rules(ids, lows).bits();
        if (found != 0) rule = rules.find(ids[static_cast<std::size_t>(std::countr_zero(found))]);
    }
    if (rule >= 0) {
        const IdMask mask = IdMask::of(ids, rules.ids[rule]);
        const unsigned bits = mask.bits();
        const int before = std::countr_zero(bits | (IdChunk::every + 1));
        const unsigned stretch = bits >> before;
        if ((stretch & (stretch + 1)) == 0 && (Rules == 1 || bits == found)) {
            const std::int32_t bank = rules.banks[rule];
            store_rows(rows, static_cast<std::int32_t>(next.bank[bank] - before), mask);
            if constexpr (WithBanks) store_value(banks, bank, mask);
            next.bank[bank] += std::countr_one(stretch);
            return;
        }
    }
    scan_rows_plain<WithBanks>(rules, ids, IdChunk::length, rows, banks, next);
}

// As scan_rows_plain, 16 ids at a time: chunks of text, chunks of one placeholder, and what lies between them. Each of
// the two loops has one branch that goes wrong once a stretch. Rules: at least as many as there are.
template <bool WithBanks, std::size_t Rules, class Id>
void scan_rows_chunks(const RowRules<Id>& rules, const Id* ids, std::int64_t count, std::int32_t* rows,
                      std::int32_t* banks, NextRows& next) {
    constexpr std::int64_t step = IdChunk::length;
    __m128i lows[Rules];
    for (std::size_t r = 0; r < Rules; ++r)
        lows[r] = IdChunk::low_of(rules.ids[static_cast<int>(r) < rules.count ? r : 0]);
    int rule = -1;  // what the next chunk is expected to be all of; -1: text
    std::int64_t i = 0;
    while (i + step <= count) {
        if (rule < 0) {
            for (; i + step <= count && !IdMask::of_rules(ids + i, lows).any(); i += step) {
                store_value(rows + i, -1);
                if constexpr (WithBanks) store_value(banks + i, -1);
            }
        } else {
            const Id id = rules.ids[rule];
            const std::int32_t bank = rules.banks[rule];
            std::int64_t row = next.bank[bank];
            for (; i + step <= count && IdChunk::all_are(ids + i, id); i += step) {
                store_rows(rows + i, static_cast<std::int32_t>(row));
                if constexpr (WithBanks) store_value(banks + i, bank);
                row += step;
            }
            next.bank[bank] = row;
        }
        if (i + step > count) break;
        scan_chunk<WithBanks>(rules, lows, ids + i, rows + i, WithBanks ? banks + i : nullptr, next);
        i += step;
        rule = Rules > 1 ? rules.find(ids[i - 1]) : rule < 0 ? 0 : -1;
    }
    scan_rows_plain<WithBanks>(rules, ids + i, count - i, rows + i, WithBanks ? banks + i : nullptr, next);
}

#endif

// Row (and bank) of each of `count` ids, from the next row of each bank on; leaves the next rows after them.
template <bool WithBanks, class Id>
void scan_rows(const RowRules<Id>& rules, const Id* ids, std::int64_t count, std::int32_t* rows, std::int32_t* banks,
               NextRows& next) {
#if defined(__SSE2__)
    if (rules.count == 1) return scan_rows_chunks<WithBanks, 1>(rules, ids, count, rows, banks, next);
    if (rules.count > 3) return scan_rows_chunks<WithBanks, max_rules>(rules, ids, count, rows, banks, next);
    if (rules.count > 1) return scan_rows_chunks<WithBanks, 3>(rules, ids, count, rows, banks, next);
#endif
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
