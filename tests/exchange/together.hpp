// One rank of a group has something wrong: the error that all get. For every communicator.
#pragma once

#include <seqpar/exchange/errors.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/shard.hpp>
#include <seqpar/move/vision_gather.hpp>

#include <string>
#include <vector>

namespace test {

enum class Mistake { none, row, length, bank_type, two_ranks, two_kinds };
inline constexpr Mistake mistakes[] = {Mistake::none,      Mistake::row,       Mistake::length,
                                       Mistake::bank_type, Mistake::two_ranks, Mistake::two_kinds};

// What a step of a trainer would check on each rank; all is right but on the ranks that have the mistake.
inline seqpar::Status checked(int rank, int size, Mistake mistake) {
    using namespace seqpar;
    const std::int64_t total = std::int64_t{6} * size;
    const bool bad = rank == size / 2;
    const bool bad_too = rank == size - 1;
    std::vector<float> bank(12), vectors(16), out(16);
    std::vector<std::int32_t> rows = {-1, 2, 0, -1};
    std::vector<std::int64_t> cu_seqlens = {0, total / 3, total};
    std::vector<std::byte> typed(96);
    if (mistake == Mistake::row && bad) rows[2] = 3;
    if (mistake == Mistake::length && bad) cu_seqlens[1] -= 1;
    if (mistake == Mistake::two_ranks && (bad || bad_too)) rows[bad ? 2 : 1] = 3 + rank;
    if (mistake == Mistake::two_kinds && bad_too) rows[1] = 3 + rank;
    if (mistake == Mistake::two_kinds && bad) cu_seqlens[1] -= 1;
    ArrayRef bank_ref = array_ref(bank);
    if (mistake == Mistake::bank_type && bad) {
        bank_ref.data = typed.data();
        bank_ref.element_bytes = 8;
    }
    std::vector<float> bank_part(12);
    const auto layout = packed(ZigZag{}, cu_seqlens, total, size);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(total)), local(6);
    Status status = status_of([&] { shard(check_only, layout, rank, ids, axis<0>, local); });
    status = worse(status, status_of([&] {
                       VisionGather{}(check_only, tensor(vectors.data(), 4, 4), rows, tensor(bank.data(), 3, 4),
                                      tensor(out.data(), 4, 4));
                   }));
    return worse(status, status_of([&] { shard(check_only, Contiguous{}(12, 1), 0, bank_ref, axis<0>, bank_part); }));
}

// The error that every rank must get.
inline std::string expected_text(int size, Mistake mistake) {
    seqpar::Status worst;
    for (int rank = 0; rank < size; ++rank)
        worst = worse(worst, checked(rank, size, mistake));
    return worst.ok() ? "" : describe(worst);
}

// What this rank gets, followed by what the next collective of all gives: the number of ranks, if all have come there.
template <class C>
std::string caught(const C& comm, Mistake mistake, typename C::Stream stream = {}) {
    std::string text;
    try {
        seqpar::throw_together(comm, checked(comm.rank(), comm.size(), mistake), stream);
    } catch (const seqpar::Error& error) {
        text = error.what();
    }
    std::int64_t last[1] = {comm.rank() + 1};
    seqpar::detail::max_over_ranks(comm, last, stream);
    return last[0] == comm.size() ? text : "not all came";
}

}  // namespace test
