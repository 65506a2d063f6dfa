// Faults reported in public projects, as small inputs with the right answer: those about moving arrays.
#include "move/values.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/permuted.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <seqpar/tensor/half.hpp>

#include <thrust/execution_policy.h>

#include <sys/mman.h>

using namespace seqpar;
using test::check_status;
using test::counted;
using test::error_of;
using test::List;

TEST_CASE("fault 5: the remainder chunk is not dropped, and unshard has the real length") {
    const List real{0, 56700};
    const List cu{0, 56704};
    const auto layout = padded(Contiguous{}(56704, 8), real, cu, 56700);
    const List x = counted(56700);
    List gathered(56704);
    for (int rank = 0; rank < 8; ++rank) {
        REQUIRE(layout.slots(rank) == 7088);
        shard(thrust::seq, layout, rank, x, axis<0>, tensor(gathered.data() + rank * 7088, 7088), -1);
    }
    CHECK(gathered[56699] == 56699);
    CHECK(List(gathered.end() - 4, gathered.end()) == List(4, -1));
    List back(56700, -7);
    unshard(thrust::seq, layout, joined(gathered), axis<0>, back);
    CHECK(back == x);
}

TEST_CASE("fault 8: cu_seqlens in the batch are no sequence array: an error, not chunks of length 0") {
    const auto layout = ZigZag{}(256, 32);
    const List tokens = counted(256);
    List local(8, -7);
    shard(thrust::seq, layout, 31, tensor(tokens.data(), 1, 256), axis<1>, tensor(local.data(), 1, 8));
    CHECK(local == List{124, 125, 126, 127, 128, 129, 130, 131});
    const List metadata{0, 64, 128, 192, 256};
    List none;
    check_status(error_of([&] { shard(thrust::seq, layout, 0, metadata, axis<0>, none); }), Kind::axis_extent, 0, 256,
                 5);
}

TEST_CASE("fault 9: uneven shards are gathered by their own sizes, or refused") {
    CHECK_THROWS_AS(static_cast<void>(Contiguous{}(3, 2)), Error);
    const auto layout = UnevenContiguous{}(3, 2);
    const List p0{10, 11};
    const List p1{12};
    List whole(3, -7);
    unshard(thrust::seq, layout, shards(p0, p1), axis<0>, whole);
    CHECK(whole == List{10, 11, 12});
    // What rank 0 would expect if all were as long as its own, and rank 1 likewise.
    whole.assign(3, -7);
    check_status(error_of([&] { unshard(thrust::seq, layout, joined(counted(4)), axis<0>, whole); }), Kind::axis_extent,
                 0, 3, 4);
    check_status(error_of([&] { unshard(thrust::seq, layout, joined(counted(2)), axis<0>, whole); }), Kind::axis_extent,
                 0, 3, 2);
    CHECK(whole == List(3, -7));
}

TEST_CASE("fault 32: statistics of two and of three axes give the same columns; another number of axes is an error") {
    const List cu{0, 4, 8};
    const auto layout = packed(ZigZag{}, cu, 8, 2);
    std::vector<float> packed_lse;       // [heads, tokens], value 100 head + token
    std::vector<float> by_document(16);  // [docs, heads, longest]
    for (int head = 0; head < 2; ++head) {
        for (int token = 0; token < 8; ++token) {
            packed_lse.push_back(static_cast<float>(100 * head + token));
            by_document[static_cast<std::size_t>((token / 4 * 2 + head) * 4 + token % 4)] = packed_lse.back();
        }
    }
    std::vector<float> a(8);
    shard(thrust::seq, layout, 0, tensor(packed_lse.data(), 2, 8), axis<1>, tensor(a.data(), 2, 4));
    CHECK((a == std::vector<float>{0, 3, 4, 7, 100, 103, 104, 107}));
    std::vector<float> b(8);  // [docs, heads, 2]
    shard(thrust::seq, ZigZag{}(4, 2), 0, tensor(by_document.data(), 2, 2, 4), axis<2>, tensor(b.data(), 2, 2, 2));
    CHECK((b == std::vector<float>{0, 3, 100, 103, 4, 7, 104, 107}));
    const auto two = tensor(packed_lse.data(), 2, 8);
    const auto three = tensor(a.data(), 1, 2, 4);
    check_status(error_of([&] { shard(thrust::seq, layout, 0, array_ref(two), RuntimeAxis{1}, array_ref(three)); }),
                 Kind::axes, 0, 2, 3);
}

TEST_CASE("fault 33: a negative axis is the same axis") {
    const List x = counted(16);
    List by_1(8);
    List by_minus_1(8);
    const auto layout = ZigZag{}(8, 2);
    shard(thrust::seq, layout, 0, tensor(x.data(), 2, 8), axis<1>, tensor(by_1.data(), 2, 4));
    shard(thrust::seq, layout, 0, tensor(x.data(), 2, 8), axis<-1>, tensor(by_minus_1.data(), 2, 4));
    CHECK(by_1 == List{0, 1, 6, 7, 8, 9, 14, 15});
    CHECK(by_minus_1 == by_1);
}

TEST_CASE("fault 36: a strided column is collected by its stride") {
    List base{0, 10, 1, 11};  // column 0 is 0, 1
    const auto column = tensor(base.data(), {2}, {2});
    List other{2, 20, 3, 30};
    List whole(4, -7);
    unshard(thrust::seq, Contiguous{}(4, 2), shards(column, tensor(other.data(), {2}, {2})), axis<0>, whole);
    CHECK(whole == List{0, 1, 2, 3});
    // And written by its stride: what lies between stays.
    shard(thrust::seq, Contiguous{}(4, 2), 1, whole, axis<0>, column);
    CHECK(base == List{2, 10, 3, 11});
}

TEST_CASE("fault 39: a byte offset of 4 GiB does not wrap") {
    // An array of 2^30 + 2 elements of 4 bytes, of which the system gives only the pages that are touched.
    const std::int64_t far = std::int64_t{1} << 30;
    const std::size_t bytes = static_cast<std::size_t>((far + 2) * 4);
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    auto* const x = static_cast<std::int32_t*>(memory);
    x[0] = 1;
    x[1] = 2;
    x[far] = 3;
    x[far + 1] = 4;
    const Run runs[]{{far, 0, 2}, {0, 0, far}};
    const std::int64_t rank_runs[]{0, 1, 2};
    const std::int64_t by_position[]{1, 0};
    const Permuted layout(RunTableView{runs, rank_runs, by_position, 2, far + 2, 2});
    std::vector<std::int32_t> out(2);
    shard(thrust::seq, layout, 0, tensor(x, far + 2), axis<0>, out);
    CHECK((out == std::vector<std::int32_t>{3, 4}));
    out = {7, 8};
    shard_adjoint(thrust::seq, layout, 0, out, axis<0>, tensor(x, far + 2));
    CHECK(x[far] == 7);
    CHECK(x[far + 1] == 8);
    CHECK(x[0] == 1);
    CHECK(x[1] == 2);
    // By stride: two rows of 2^30 elements and one column of each.
    std::vector<std::int32_t> column(1);
    shard(thrust::seq, Contiguous{}(2, 2), 1, tensor(x, {1, 2}, {1, far}), axis<1>, tensor(column.data(), 1, 1));
    CHECK(column[0] == 7);
    munmap(memory, bytes);
}

TEST_CASE("fault 48: a rotary table is cut on axis 0, and its group is an argument") {
    std::vector<float> table = counted<float>(32);  // [8,1,1,4]
    std::vector<float> local(16);
    shard(thrust::seq, ZigZag{}(8, 2), 0, tensor(table.data(), 8, 1, 1, 4), axis<0>, tensor(local.data(), 4, 1, 1, 4));
    for (std::size_t i = 0; i < 16; ++i)
        CHECK(local[i] == table[i < 8 ? i : i + 16]);
    // The whole table, as one rank would hold it, does not fit what one of two ranks holds.
    check_status(error_of([&] {
                     shard(thrust::seq, ZigZag{}(8, 1), 0, tensor(table.data(), 8, 1, 1, 4), axis<0>,
                           tensor(local.data(), 4, 1, 1, 4));
                 }),
                 Kind::axis_extent, 0, 8, 4, 0);
}

TEST_CASE("fault 49: a mask is cut by queries alone and keeps its rule") {
    std::vector<std::uint8_t> mask;  // [1,1,8,8], a window of 2
    for (int q = 0; q < 8; ++q) {
        for (int k = 0; k < 8; ++k)
            mask.push_back(q - 2 < k && k <= q);
    }
    std::vector<std::uint8_t> local(32);
    shard(thrust::seq, ZigZag{}(8, 2), 0, tensor(mask.data(), 1, 1, 8, 8), axis<2>, tensor(local.data(), 1, 1, 4, 8));
    List entries;
    for (std::size_t i = 0; i < 32; ++i) {
        if (local[i] != 0) entries.push_back(static_cast<std::int64_t>(i % 8));
    }
    CHECK(entries == List{0, 0, 1, 5, 6, 6, 7});
}

TEST_CASE("fault 64: shards are put together by the layout that cut them") {
    const List p0{0, 1, 2, 3};
    const List p1{4, 5, 6, 7};
    List whole(8);
    unshard(thrust::seq, Contiguous{}(8, 2), shards(p0, p1), axis<0>, whole);
    CHECK(whole == counted(8));
    // A layout of another group or length is an error.
    CHECK(error_of([&] { unshard(thrust::seq, ZigZag{}(8, 4), shards(p0, p1), axis<0>, whole); }).kind() ==
          Kind::shard_count);
    CHECK(error_of([&] { unshard(thrust::seq, ZigZag{}(16, 2), shards(p0, p1), axis<0>, whole); }).kind() ==
          Kind::axis_extent);
}

TEST_CASE("fault 66: shards are joined on the sequence axis, not on the batch") {
    const List rank0{0, 1, 2, 3, 8, 9, 10, 11};
    const List rank1{4, 5, 6, 7, 12, 13, 14, 15};
    List whole(16);
    unshard(thrust::seq, Contiguous{}(8, 2), shards(tensor(rank0.data(), 2, 4), tensor(rank1.data(), 2, 4)), axis<1>,
            tensor(whole.data(), 2, 8));
    CHECK(whole == counted(16));
    CHECK(error_of([&] {
              unshard(thrust::seq, Contiguous{}(8, 2), shards(tensor(rank0.data(), 2, 4), tensor(rank1.data(), 2, 4)),
                      axis<0>, tensor(whole.data(), 4, 4));
          }).kind() == Kind::axis_extent);
}

TEST_CASE("fault 71: two streams that share a layout have the same rows, with TP-SP and without") {
    const List x = counted(3904);
    const auto cp = Contiguous{}(3904, 2);
    const auto tp_sp = nested(cp, Contiguous{}, 2);
    List main_stream(976);
    List shadow_stream(976);
    shard(thrust::seq, tp_sp, 3, x, axis<0>, main_stream);
    List after_cp(1952);
    shard(thrust::seq, cp, 1, x, axis<0>, after_cp);
    shard(thrust::seq, Contiguous{}(1952, 2), 1, after_cp, axis<0>, shadow_stream);
    CHECK(main_stream == counted(976, 2928));
    CHECK(shadow_stream == main_stream);
    check_status(error_of([&] { shard(thrust::seq, tp_sp, 3, x, axis<0>, after_cp); }), Kind::axis_extent, 0, 976,
                 1952);
}

TEST_CASE("fault 72: a shard split once more by the whole sequence's layout is an error") {
    const List cu{0, 16};
    const auto layout = packed(ZigZag{}, cu, 16, 2);
    const List local{0, 1, 2, 3, 12, 13, 14, 15};
    List out(4, -7);
    check_status(error_of([&] { shard(thrust::seq, layout, 0, local, axis<0>, out); }), Kind::axis_extent, 0, 16, 8);
    CHECK(out == List(4, -7));
}

TEST_CASE("fault 95: 8-bit floats and NaN payloads are moved, not interpreted") {
    const std::vector<std::uint8_t> x{0x00, 0x80, 0x7F, 0xFF, 0x7E, 0x01, 0xF8, 0x81};
    const auto layout = ZigZag{}(8, 2);
    std::vector<std::uint8_t> p0(4);
    std::vector<std::uint8_t> p1(4);
    shard(thrust::seq, layout, 0, x, axis<0>, p0);
    shard(thrust::seq, layout, 1, x, axis<0>, p1);
    CHECK((p0 == std::vector<std::uint8_t>{0x00, 0x80, 0xF8, 0x81}));
    CHECK((p1 == std::vector<std::uint8_t>{0x7F, 0xFF, 0x7E, 0x01}));
    std::vector<std::uint8_t> back(8);
    unshard(thrust::seq, layout, shards(p0, p1), axis<0>, back);
    CHECK((back == x));
    const std::vector<bf16> nan(2, bf16::from_bits(0x7FC1));
    std::vector<bf16> out(1);
    shard(thrust::seq, Contiguous{}(2, 2), 1, nan, axis<0>, out);
    CHECK(out[0].bits == 0x7FC1);
}

TEST_CASE("fault 96: rows of 200 bytes move like any other") {
    std::vector<std::uint16_t> x = counted<std::uint16_t>(800);
    std::vector<std::uint16_t> out(402, 0xEEEE);
    shard(thrust::seq, ZigZag{}(8, 2), 1, tensor(x.data(), 8, 100), axis<0>, tensor(out.data() + 1, 4, 100));
    std::vector<std::uint16_t> expected = counted<std::uint16_t>(400, 200);  // rows 2 to 5
    CHECK((std::vector<std::uint16_t>(out.begin() + 1, out.end() - 1) == expected));
    CHECK(out.front() == 0xEEEE);
    CHECK(out.back() == 0xEEEE);
}
