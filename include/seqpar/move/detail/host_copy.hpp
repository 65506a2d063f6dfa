// Copies of bytes on the host: short ones inline, long ones past the cache. The only other instructions: index/detail/row_scan.hpp.
#pragma once

#include <seqpar/detail/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

namespace seqpar::detail {

// The bytes of one instance of the third-level cache as Linux tells it, at most 32 MiB: a greater one many cores share.
// (sysconf adds up all sockets.)
inline std::int64_t last_cache_bytes() {
    long kib = 0;
    if (std::FILE* file = std::fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r")) {
        if (std::fscanf(file, "%ldK", &kib) != 1) kib = 0;
        std::fclose(file);
    }
    constexpr std::int64_t most = std::int64_t{32} << 20;
    return kib > 0 && kib < (most >> 10) ? std::int64_t{kib} << 10 : most;
}

// Whether an operation that writes `bytes` in all, and so reads as many, should write past the cache: when both together are
// more than half of the last level.
inline bool writes_past_cache(std::int64_t bytes) {
    static const std::int64_t cache = last_cache_bytes();
    return bytes > cache / 4;
}

// Asks for the memory at `from`, which is read soon.
inline void prefetch(const std::byte* from) {
#if defined(__SSE2__)
    _mm_prefetch(reinterpret_cast<const char*>(from), _MM_HINT_T0);
#else
    (void)from;
#endif
}

// memcpy that does not call for up to 64 bytes, so that a short run costs a few nanoseconds.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes > 64) {
        std::memcpy(to, from, bytes);
    } else if (bytes >= 16) {
        // Two or four overlapping stretches of 16 bytes; all loads come before the first store.
        std::byte first[16], second[16], third[16], last[16];
        const std::size_t middle = bytes > 32 ? 16 : 0;
        std::memcpy(first, from, 16);
        std::memcpy(second, from + middle, 16);
        std::memcpy(third, from + (bytes - 16 - middle), 16);
        std::memcpy(last, from + (bytes - 16), 16);
        std::memcpy(to, first, 16);
        std::memcpy(to + middle, second, 16);
        std::memcpy(to + (bytes - 16 - middle), third, 16);
        std::memcpy(to + (bytes - 16), last, 16);
    } else if (bytes >= 8) {
        std::uint64_t first, last;
        std::memcpy(&first, from, 8);
        std::memcpy(&last, from + (bytes - 8), 8);
        std::memcpy(to, &first, 8);
        std::memcpy(to + (bytes - 8), &last, 8);
    } else if (bytes >= 4) {
        std::uint32_t first, last;
        std::memcpy(&first, from, 4);
        std::memcpy(&last, from + (bytes - 4), 4);
        std::memcpy(to, &first, 4);
        std::memcpy(to + (bytes - 4), &last, 4);
    } else {
        for (std::size_t i = 0; i < bytes; ++i)
            to[i] = from[i];
    }
}

// Copies past the cache, and meanwhile fetches up to as much of what comes later (`next`, `next_bytes`; null and 0: nothing).
// End a series of them with `fence_writes`.
inline void stream_bytes(std::byte* to, const std::byte* from, std::size_t bytes, const std::byte* next,
                         std::size_t next_bytes) {
#if defined(__SSE2__)
    constexpr std::size_t line = 64;
    if (bytes < 4 * line) return copy_bytes(to, from, bytes);
    const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
    copy_bytes(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= line; bytes -= line, to += line, from += line) {
        if (next_bytes >= line) {
            prefetch(next);
            next += line;
            next_bytes -= line;
        }
        const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16));
        const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 32));
        const __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 48));
        _mm_stream_si128(reinterpret_cast<__m128i*>(to), a);
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + 16), b);
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + 32), c);
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + 48), d);
    }
    copy_bytes(to, from, bytes);
#else
    (void)next;
    (void)next_bytes;
    std::memcpy(to, from, bytes);
#endif
}

// Zeroes, past the cache where told so; then `fence_writes` ends it.
inline void zero_bytes(std::byte* to, std::size_t bytes, bool past_cache) {
#if defined(__SSE2__)
    constexpr std::size_t line = 64;
    if (past_cache && bytes >= 8 * line) {
        const std::size_t head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
        std::memset(to, 0, head);
        to += head;
        bytes -= head;
        for (; bytes >= line; bytes -= line, to += line) {
            for (std::size_t i = 0; i < line; i += 16)
                _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_setzero_si128());
        }
    }
#else
    (void)past_cache;
#endif
    if (bytes > 0) std::memset(to, 0, bytes);
}

// Rounds floats to bf16, given as bits, and fetches ahead; returns how many: all but the last few, or none. Compilers make less of
// it (baseline x86-64 packs 32 bits into 16 by shuffles).
inline std::int64_t round_to_bf16(std::uint16_t* to, const float* from, std::int64_t count) {
    std::int64_t done = 0;
#if defined(__SSE2__)
    const __m128i last = _mm_set1_epi32(1);
    const __m128i half = _mm_set1_epi32(0x7FFF);
    const __m128i quiet = _mm_set1_epi32(0x400000);
    for (; done + 16 <= count; done += 16) {
        prefetch(reinterpret_cast<const std::byte*>(from + done) + 4096);
        for (std::int64_t at = done; at < done + 16; at += 8) {
            __m128i upper[2];
            for (int i = 0; i < 2; ++i) {
                const __m128 value = _mm_loadu_ps(from + at + 4 * i);
                const __m128i bits = _mm_castps_si128(value);
                const __m128i nan = _mm_castps_si128(_mm_cmpunord_ps(value, value));
                const __m128i odd = _mm_and_si128(_mm_srli_epi32(bits, 16), last);
                const __m128i rounded = _mm_add_epi32(bits, _mm_add_epi32(half, odd));
                upper[i] = _mm_srai_epi32(
                    _mm_or_si128(_mm_and_si128(nan, _mm_or_si128(bits, quiet)), _mm_andnot_si128(nan, rounded)), 16);
            }
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), _mm_packs_epi32(upper[0], upper[1]));
        }
    }
#else
    (void)to;
    (void)from;
    (void)count;
#endif
    return done;
}

// Makes streamed bytes visible to other threads.
inline void fence_writes() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

// Copies that wait until some more are known, so that what they read can be fetched together: the processor foresees no run,
// and reads on beyond a short one, for nothing, where its lines are asked for in order.
class Copies {
public:
    explicit Copies(bool past_cache) : past_cache_(past_cache) {}

    bool past_cache() const { return past_cache_; }

    void add(std::byte* to, const std::byte* from, std::size_t bytes) {
        if (!past_cache_) {
            if (count_ == 8) copy_all();
            prefetch(from);
        } else if (count_ == most || bytes_ + weight(bytes) > most_bytes) {
            stream_all(from, bytes);
        }
        Copy& copy = copies_[count_++];
        copy.to = to;
        copy.from = from;
        copy.bytes = bytes;
        bytes_ += weight(bytes);
    }

    // Does what is left. Copies of memory that is written otherwise come before that.
    void finish() {
        if (past_cache_) {
            stream_all(nullptr, 0);
            fence_writes();
        } else {
            copy_all();
        }
    }

private:
    static constexpr int most = 32;
    static constexpr std::size_t most_bytes = 16384;
    static constexpr std::size_t ahead = 4096;
    static constexpr std::size_t line = 64;
    struct Copy {
        std::byte* to;
        const std::byte* from;
        std::size_t bytes;
    };

    // A long copy waits alone.
    static std::size_t weight(std::size_t bytes) { return bytes > ahead ? most_bytes : bytes; }

    void copy_all() {
        for (int i = 0; i < count_; ++i)
            copy_bytes(copies_[i].to, copies_[i].from, copies_[i].bytes);
        count_ = 0;
    }

    // `next`, `next_bytes`: what the copy after these reads.
    void stream_all(const std::byte* next, std::size_t next_bytes) {
        if (count_ == 1 && copies_[0].bytes > ahead) {
            const Copy& copy = copies_[0];
            const std::size_t first = copy.bytes - ahead;
            stream_bytes(copy.to, copy.from, first, copy.from + ahead, first);
            stream_bytes(copy.to + first, copy.from + first, ahead, next, next_bytes);
        } else {
            // The first line of each, then the second of each, and so on.
            bool more = true;
            for (std::size_t at = 0; more; at += line) {
                more = false;
                for (int i = 0; i < count_; ++i) {
                    if (at >= copies_[i].bytes) continue;
                    prefetch(copies_[i].from + at);
                    more = true;
                }
            }
            for (int i = 0; i < count_; ++i)
                stream_bytes(copies_[i].to, copies_[i].from, copies_[i].bytes, nullptr, 0);
        }
        count_ = 0;
        bytes_ = 0;
    }

    bool past_cache_;
    int count_ = 0;
    std::size_t bytes_ = 0;
    Copy copies_[most];
};

}  // namespace seqpar::detail
