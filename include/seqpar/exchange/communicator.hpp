// What a communicator is: the verbs that move memory between the ranks of a group. Not here: any communicator; see
// in_process.hpp, mpi.hpp and nccl.hpp. A type of your own is one when it has these members; conformance/communicator.hpp tests it.
#pragma once

#include <seqpar/layout/status.hpp>
#include <seqpar/tensor/half.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>

namespace seqpar {

// What the elements of a message are. Bytes carry any other type, but cannot be reduced.
enum class DataType : unsigned char {
    bytes,
    int8,
    uint8,
    int32,
    uint32,
    int64,
    uint64,
    float16,
    bfloat16,
    float32,
    float64  //
};

enum class Reduction : unsigned char { sum, max };

namespace detail {

struct DataTypeFacts {
    const char* name;
    int bytes;
};
SEQPAR_HD constexpr DataTypeFacts facts_of(DataType type) {
    constexpr DataTypeFacts facts[] = {{"bytes", 1},    {"int8", 1},    {"uint8", 1},  {"int32", 4},
                                       {"uint32", 4},   {"int64", 8},   {"uint64", 8}, {"float16", 2},
                                       {"bfloat16", 2}, {"float32", 4}, {"float64", 8}};
    return facts[static_cast<int>(type)];
}

template <class T>
constexpr DataType number_type() {
    if constexpr (std::is_same_v<T, bf16>) {
        return DataType::bfloat16;
    } else if constexpr (std::is_same_v<T, f16>) {
        return DataType::float16;
    } else if constexpr (std::is_floating_point_v<T> && sizeof(T) <= 8) {
        return sizeof(T) == 8 ? DataType::float64 : DataType::float32;
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) == 1) {
        return std::is_signed_v<T> ? DataType::int8 : DataType::uint8;
    } else if constexpr (std::is_integral_v<T> && sizeof(T) == 4) {
        return std::is_signed_v<T> ? DataType::int32 : DataType::uint32;
    } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
        return std::is_signed_v<T> ? DataType::int64 : DataType::uint64;
    } else {
        return DataType::bytes;
    }
}

}  // namespace detail

[[nodiscard]] SEQPAR_HD constexpr std::int64_t bytes_of(DataType type) { return detail::facts_of(type).bytes; }
[[nodiscard]] SEQPAR_HD constexpr const char* name(DataType type) { return detail::facts_of(type).name; }

// The DataType of a number, or bytes where there is none (std::byte, 16-bit integers, types of other libraries, void).
template <class T>
inline constexpr DataType data_type_of = detail::number_type<std::remove_cv_t<T>>();
template <>
inline constexpr DataType data_type_of<void> = DataType::bytes;

// The engine failed, or the ranks did not call what belongs together: a rank that died or never came, a message of another
// length. Other ranks get one too; the communicator is of no further use. (A caller's own mistake is an Error.)
class CommunicationError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The stream of communicators that move host memory.
struct NoStream {};

// A value that stands for this rank's place in a group. Its verbs are collectives of the group (send and recv: of two ranks).
//
//     auto group = comm.group();
//     comm.send(group, mine, count, DataType::float32, next, stream);
//     comm.recv(group, theirs, count, DataType::float32, previous, stream);
//     group.close();
//
// - What is called with a group guard runs together, when close() is called: the order of verbs between guards is free of
//   deadlock, and no result may be read, no buffer freed or overwritten before (with a stream: before the stream has come there).
//   close() throws; a guard destroyed without it drops its verbs, and other ranks may get an error for it.
// - Where a close() that throws may leave buffers in the engine's hands, `static constexpr bool keeps_buffers = true` says so.
// - send and recv may name the own rank, received in the same group. Counts are in elements of the type and may be 0, but a message
//   of no elements is received as well. Buffers are contiguous.
// - Messages between two ranks match in the order of the calls, collectives among them; counts and types agree on both sides.
// - all_gather: `to` has `count` elements from each rank, in their order; of the _v form, counts[r] from rank r. `from` may be the
//   caller's own part of `to`. all_to_all_v: part r of `from`, of send_counts[r] elements, goes to rank r, and of
//   receive_counts[r] comes from it. reduce_scatter: `from` has a part for each rank, as `to` of all_gather; `to` gets the own
//   part reduced over ranks. all_reduce: `from` may be `to`. Other overlaps are illegal. Sums and maxima are made in the type.
// - Spans of counts have size() entries and are read in the call. The order in which floats are added is the engine's.
// - A communicator that cannot reduce host memory has also max_of_host(std::span<std::int64_t>, Stream), a collective that
//   replaces each value by its maximum over ranks and waits for it; throw_together (errors.hpp) calls it.
template <class C>
concept Communicator =
    requires(const C& c, typename C::Group& group, typename C::Stream stream, const void* from, void* to,
             std::int64_t count, std::span<const std::int64_t> counts, DataType type, Reduction reduction, int peer) {
        { c.rank() } -> std::same_as<int>;
        { c.size() } -> std::same_as<int>;
        { c.group() } -> std::same_as<typename C::Group>;
        group.close();
        c.send(group, from, count, type, peer, stream);
        c.recv(group, to, count, type, peer, stream);
        c.all_gather(group, from, to, count, type, stream);
        c.all_gather_v(group, from, to, counts, type, stream);
        c.reduce_scatter(group, from, to, count, type, reduction, stream);
        c.reduce_scatter_v(group, from, to, counts, type, reduction, stream);
        c.all_to_all_v(group, from, counts, to, counts, type, stream);
        c.all_reduce(group, from, to, count, type, reduction, stream);
    };

namespace detail {

// group.close(); where that fails and the engine may still write into what its verbs were given, `buffer` stays for ever.
template <Communicator C, class Buffer>
void close_or_keep(typename C::Group& group, Buffer& buffer) {
    try {
        group.close();
    } catch (const CommunicationError&) {
        if constexpr (requires { requires C::keeps_buffers; }) static_cast<void>(buffer.release());
        throw;
    }
}

}  // namespace detail

}  // namespace seqpar
