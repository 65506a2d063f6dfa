// The multiples that lengths are padded to (docs/design.md). Not here: padding itself; see index/padding.hpp.
#pragma once

#include <seqpar/layout/concepts.hpp>

#include <cuda/std/numeric>

namespace seqpar {

// n rounded up to a multiple of m. n >= 0, m >= 1, and the result fits 64 bits.
[[nodiscard]] SEQPAR_HD constexpr std::int64_t round_up(std::int64_t n, std::int64_t m) {
    return n % m == 0 ? n : n + (m - n % m);
}

// The least common multiple, both at least 1; an Error where it does not fit 64 bits.
[[nodiscard]] SEQPAR_HD constexpr std::int64_t common_multiple(std::int64_t a, std::int64_t b) {
    if (a < 1 || b < 1) detail::raise(make_status(Kind::policy, 0, 0, 1, a < b ? a : b));
    const std::int64_t multiple = detail::saturating_product(a / cuda::std::gcd(a, b), b);
    if (multiple % a != 0 || multiple % b != 0) detail::raise(make_status(Kind::length, 0, 0, 0, -1));
    return multiple;
}

// What a length (or, for Packed, each document) must be a multiple of so that `policy` deals it to `cp` ranks and TP-SP cuts
// each shard once more into `tp` equal parts: lcm(multiple(cp), cp * tp), and the policy's own multiple for tp = 1.
template <LayoutPolicy P>
[[nodiscard]] SEQPAR_HD constexpr std::int64_t pad_multiple(const P& policy, int cp, int tp = 1) {
    if (cp < 1 || tp < 1) detail::raise(make_status(Kind::ranks, 0, 0, 1, cp < tp ? cp : tp));
    const std::int64_t multiple = policy.multiple(cp);
    return tp == 1 ? multiple : common_multiple(multiple, std::int64_t{cp} * tp);
}

}  // namespace seqpar
