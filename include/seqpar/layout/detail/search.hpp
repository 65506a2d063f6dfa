// The one binary search of the library, over anything that is ordered by a key.
#pragma once

#include <seqpar/detail/config.hpp>

#include <cstdint>

namespace seqpar::detail {

// The last i in [first, first + count) with key(i) <= value, or `first` if there is none. Keys do not decrease.
// Never leaves its range, also where they do.
template <class Key>
SEQPAR_HD constexpr std::int64_t last_at_most(const Key& key, std::int64_t first, std::int64_t count,
                                              std::int64_t value) {
    while (count > 1) {
        const std::int64_t half = count / 2;
        if (key(first + half) <= value) first += half;
        count -= half;
    }
    return first;
}

}  // namespace seqpar::detail
