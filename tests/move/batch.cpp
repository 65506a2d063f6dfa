// shard_batch: fields of different types, axes and fills, some with a layout of their own, in one call; all or nothing.
#include "exec.hpp"
#include "move/values.hpp"

#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/shard.hpp>
#include <seqpar/tensor/half.hpp>

#include <thrust/execution_policy.h>
#include <array>

using namespace seqpar;
using test::check_status;
using test::counted;
using test::error_of;
using test::List;

namespace {

const List batch_cu{0, 16, 24};
const List batch_real{0, 13, 20};
const auto batch_cp = padded(packed(ZigZag{}, batch_cu, 24, 2), batch_real, batch_cu, 20);
const auto batch_tp_sp = nested(batch_cp, Contiguous{}, 2);

template <class T>
std::vector<T> expected_shard(const auto& layout, int rank, const std::vector<T>& x, T fill) {
    std::vector<T> out;
    for (std::int64_t slot = 0; slot < layout.slots(rank); ++slot) {
        const std::int64_t source = layout.source(layout.position(rank, slot));
        out.push_back(source < 0 ? fill : x[static_cast<std::size_t>(source)]);
    }
    return out;
}

}  // namespace

TEST_CASE("a batch of fields gives what one shard a field gives: axes, types and fills of their own") {
    const List ids = counted(20, 100);
    const std::vector<std::int32_t> position_ids = counted<std::int32_t>(60);  // [3,S]
    const std::vector<float> loss_mask = counted<float>(20, 1);
    std::vector<bf16> hidden;  // [S,4]
    for (int i = 0; i < 80; ++i)
        hidden.push_back(bf16(i));
    for (int rank = 0; rank < 4; ++rank) {
        List local_ids(6);
        std::vector<std::int32_t> local_positions(18);
        std::vector<float> local_mask(6);
        std::vector<bf16> local_hidden(24);
        shard_batch(test::main_exec, batch_tp_sp, rank, field(ids, axis<0>, local_ids).fill(151643),
                    field(tensor(position_ids.data(), 3, 20), axis<1>, tensor(local_positions.data(), 3, 6)).fill(-1),
                    field(loss_mask, axis<-1>, local_mask).fill(0),
                    field(tensor(hidden.data(), 20, 4), axis<0>, tensor(local_hidden.data(), 6, 4)).fill(0));
        CHECK((local_ids == expected_shard<std::int64_t>(batch_tp_sp, rank, ids, 151643)));
        CHECK((local_mask == expected_shard<float>(batch_tp_sp, rank, loss_mask, 0)));
        for (std::size_t k = 0; k < 3; ++k) {
            const std::vector<std::int32_t> in(position_ids.begin() + static_cast<int>(k) * 20,
                                               position_ids.begin() + static_cast<int>(k + 1) * 20);
            const std::vector<std::int32_t> got(local_positions.begin() + static_cast<int>(k) * 6,
                                                local_positions.begin() + static_cast<int>(k + 1) * 6);
            CHECK((got == expected_shard<std::int32_t>(batch_tp_sp, rank, in, -1)));
        }
        std::vector<bf16> alone(24);
        shard(test::main_exec, batch_tp_sp, rank, tensor(hidden.data(), 20, 4), axis<0>, tensor(alone.data(), 6, 4), 0);
        CHECK((alone == local_hidden));
        for (std::int64_t slot = 0; slot < 6; ++slot) {
            const std::int64_t source = batch_tp_sp.source(batch_tp_sp.position(rank, slot));
            CHECK((local_hidden[static_cast<std::size_t>(4 * slot + 1)] ==
                   (source < 0 ? bf16(0) : bf16(4 * source + 1))));
        }
    }
}

TEST_CASE("a field with a layout of its own is split by that: labels are not split over TP") {
    const List ids = counted(20);
    const List labels = counted(20, 1);
    for (int rank = 0; rank < 4; ++rank) {
        List local_ids(6);
        List local_labels(12);
        shard_batch(test::main_exec, batch_tp_sp, rank, field(ids, axis<0>, local_ids).fill(0),
                    field(labels, axis<0>, local_labels).with(batch_tp_sp.outer(), rank / 2).fill(-100));
        CHECK((local_ids == expected_shard<std::int64_t>(batch_tp_sp, rank, ids, 0)));
        CHECK((local_labels == expected_shard<std::int64_t>(batch_cp, rank / 2, labels, -100)));
        List other_way(12);
        shard_batch(test::main_exec, batch_tp_sp, rank,
                    field(labels, axis<0>, other_way).fill(-100).with(batch_cp, rank / 2));
        CHECK(other_way == local_labels);
    }
}

TEST_CASE("a mistake in the last field: its number is named, and no field is written") {
    const List x = counted(16);
    const auto layout = ZigZag{}(16, 2);
    std::array<List, 17> out;
    out.fill(List(8, -7));
    const auto good = [&](std::size_t i) { return field(x, axis<0>, out[i]); };
    const auto batch = [&](const auto& last) {
        return error_of([&] {
            shard_batch(test::main_exec, layout, 1, good(0), good(1), good(2), good(3), good(4), good(5), good(6),
                        good(7), good(8), good(9), good(10), good(11), good(12), good(13), good(14), good(15), last);
        });
    };
    check_status(batch(field(x, axis<0>, tensor(out[16].data(), 7))), Kind::axis_extent, 16, 8, 7);
    check_status(batch(field(tensor(x.data(), 15), axis<0>, out[16])), Kind::axis_extent, 16, 16, 15);
    check_status(batch(good(16).with(layout, 2)), Kind::rank, 0, 1, 2);
#if !defined(__CUDACC__)  // a device reads its offsets itself: device/status.cu
    const List bad_offsets{0, 12, 10, 16};
    check_status(batch(good(16).with(packed(ZigZag{}, bad_offsets, 16, 2), 0)), Kind::offsets_order, 0, 12, 10, 0, 1);
#endif
    const List one{0, 16};
    const List shorter{0, 16};
    check_status(
        batch(field(tensor(x.data(), 16), axis<0>, out[16]).with(padded(layout, shorter, one, 16), 0).fill(0.25)),
        Kind::value_lost, 16, 0, 0);
    // All move at once on a device, so none may write what another reads or writes.
    check_status(batch(good(3)), Kind::overlap, 16, 0, 1);
    check_status(batch(field(tensor(out[2].data(), 8), axis<0>, tensor(out[16].data(), 4)).with(ZigZag{}(8, 2), 0)),
                 Kind::overlap, 16, 0, 1);
    for (const List& untouched : out)
        CHECK(untouched == List(8, -7));
    CHECK(batch(good(16)).ok());  // more than 16 fields are legal
    for (const List& written : out)
        CHECK(written == List{4, 5, 6, 7, 8, 9, 10, 11});
}

TEST_CASE("fields of strided and of run-time tensors in one batch") {
    const List x = counted(16);
    List interleaved(16, -7);
    List plain(8);
    ArrayRef in;
    in.data = const_cast<std::int64_t*>(x.data());
    in.element_bytes = 8;
    in.axes = 1;
    in.read_only = true;
    in.extents[0] = 16;
    in.strides[0] = 1;
    shard_batch(test::main_exec, ZigZag{}(16, 2), 0, field(in, RuntimeAxis{0}, tensor(interleaved.data(), {8}, {2})),
                field(x, axis<0>, array_ref(plain)));
    CHECK(plain == List{0, 1, 2, 3, 12, 13, 14, 15});
    CHECK(interleaved == List{0, -7, 1, -7, 2, -7, 3, -7, 12, -7, 13, -7, 14, -7, 15, -7});
}

TEST_CASE("the fill of run-time tensors is a value of their element's size, else an error") {
    const List one{0, 4};
    const List three{0, 3};
    const auto layout = padded(ZigZag{}(4, 2), three, one, 3);
    const List x{1, 2, 3};
    List out(2, -7);
    check_status(error_of([&] { shard(test::main_exec, layout, 0, array_ref(x), axis<0>, array_ref(out), 0); }),
                 Kind::element, 0, 8, 4);
    CHECK(out == List(2, -7));
    shard(test::main_exec, layout, 0, array_ref(x), axis<0>, array_ref(out), std::int64_t{-1});
    CHECK(out == List{1, -1});
}
