// What is wrong with data on the device: reporting() finds it, of the worst kind and place, and no access leaves its array.
#include "device/device.hpp"

using namespace seqpar;
using test::counted_from;
using test::DeviceArray;

namespace {

using List = std::vector<std::int64_t>;

Status reported(const DeviceArray<Status>& status) { return status.get()[0]; }

// What a shard over these offsets reports; the arrays hold exactly their elements.
Status of_offsets(const List& cu, std::int64_t total, int ranks) {
    const test::Stream stream;
    const DeviceArray<std::int64_t> offsets(cu);
    const DeviceArray<std::int32_t> in(test::counted_from<std::int32_t>(total * 8));
    const DeviceArray<std::int32_t> out(total / ranks * 8, -7);
    const DeviceArray<Status> status(1);
    const auto layout = packed(ZigZag{}, test::offsets_on(offsets), total, ranks);
    for (int rank = 0; rank < ranks; ++rank)
        shard(reporting(stream.exec(), status.data()), layout, rank, in.tensor(total, 8), axis<0>,
              out.tensor(total / ranks, 8));
    const DeviceArray<std::int32_t> back(total * 8, -7);
    unshard(reporting(stream.exec(), status.data()), layout, shards([&](int) { return out.tensor(total / ranks, 8); }),
            axis<0>, back.tensor(total, 8));
    stream.wait();
    return reported(status);
}

}  // namespace

TEST_CASE("legal offsets report nothing; illegal ones their kind, document and numbers") {
    CHECK(of_offsets({0, 8, 8, 24}, 24, 2).ok());
    CHECK(of_offsets({0, 8, 8, 23}, 24, 2) == make_status(Kind::offsets_total, 0, 0, 24, 23));
    CHECK(of_offsets({4, 8, 8, 24}, 24, 2).kind() == Kind::offsets_first);
    CHECK(of_offsets({0, 8, 8, 28}, 24, 2) == make_status(Kind::offsets_total, 0, 0, 24, 28));
    CHECK(of_offsets({0, 8, 10, 24}, 24, 2) == make_status(Kind::document_multiple, 0, 1, 4, 2));
    CHECK(of_offsets({0, 16, 8, 24}, 24, 2) == make_status(Kind::offsets_order, 0, 1, 16, 8));
}

TEST_CASE("offsets that are nonsense move nothing outside the arrays, and are reported") {
    const std::int64_t most = INT64_MAX;
    for (const List& cu : {List{0, most, 24}, List{0, -most, 24}, List{most, most, most}, List{-5, -4, -3, -2},
                           List{24, 16, 8, 0}, List{0, 1, 2, 3, 4, 24}}) {
        for (const int ranks : {2, 3, 4})
            CHECK_FALSE(of_offsets(cu, 24, ranks).ok());
    }
}

TEST_CASE("real offsets longer than the padded ones are reported, and pad slots still get the fill") {
    const test::Stream stream;
    const DeviceArray<std::int64_t> padded_cu(List{0, 8, 24});
    const DeviceArray<std::int32_t> real(std::vector<std::int32_t>{0, 9, 20});
    const DeviceArray<std::int64_t> in(test::counted_from<std::int64_t>(20));
    const DeviceArray<std::int64_t> out(12, -7);
    const DeviceArray<Status> status(1);
    const auto layout = padded(packed(ZigZag{}, test::offsets_on(padded_cu), 24, 2), test::offsets_on(real),
                               test::offsets_on(padded_cu), 20);
    shard(reporting(stream.exec(), status.data()), layout, 0, in.tensor(20), axis<0>, out.tensor(12), -100);
    stream.wait();
    CHECK(reported(status) == make_status(Kind::offsets_real, 0, 0, 8, 9));
}

TEST_CASE("of several faults the worst is kept, whole, and a later operation adds to the same Status") {
    const test::Stream stream;
    const DeviceArray<Status> status(1);
    std::vector<std::int32_t> numbers(1000, -1);
    for (std::size_t i = 0; i < numbers.size(); i += 3)
        numbers[i] = static_cast<std::int32_t>(i % 2 == 0 ? i : 0);  // most are no rows
    const DeviceArray<std::int32_t> rows(numbers);
    const DeviceArray<float> bank(10 * 4, 1);
    const DeviceArray<float> h(1000 * 4, 2);
    const auto exec = reporting(stream.exec(), status.data());
    VisionGather{}(exec, h.tensor(1000, 4), rows.tensor(1000), bank.tensor(10, 4), h.tensor(1000, 4));
    stream.wait();
    CHECK(reported(status) == make_status(Kind::row_range, 0, 12, 10, 12));
    CHECK(h.get()[6 * 4] == 1);
    CHECK(h.get()[12 * 4] == 2);  // named no row: left as it was

    const DeviceArray<std::int64_t> cu(List{0, 6, 16});
    const DeviceArray<std::int64_t> in(16), out(8);
    shard(exec, packed(ZigZag{}, test::offsets_on(cu), 16, 2), 0, in.tensor(16), axis<0>, out.tensor(8));
    stream.wait();
    CHECK(reported(status) == make_status(Kind::document_multiple, 0, 0, 4, 6));
}

TEST_CASE("a bank number without a bank is reported by its token") {
    const test::Stream stream;
    const DeviceArray<Status> status(1);
    const DeviceArray<std::int32_t> rows(std::vector<std::int32_t>{-1, 0, 1, 2});
    const DeviceArray<std::int32_t> bank_numbers(std::vector<std::int32_t>{-1, 0, 1, 7});
    const DeviceArray<bf16> a(3 * 16), b(3 * 16), h(4 * 16);
    VisionGather{}(reporting(stream.exec(), status.data()), h.tensor(4, 16),
                   row_array(rows.tensor(4), bank_numbers.tensor(4)), banks(a.tensor(3, 16), b.tensor(3, 16)),
                   h.tensor(4, 16));
    stream.wait();
    CHECK(reported(status) == make_status(Kind::bank_range, 0, 3, 2, 7));
}

namespace {

// What operations on a row array report that is split by these offsets: sharded once, and a shard of it sharded again. The offsets
// are read for nothing else.
std::vector<Status> of_row_shards(const List& cu, std::int64_t total, int ranks) {
    const test::Stream stream;
    const DeviceArray<std::int64_t> offsets(cu);
    const DeviceArray<std::int32_t> rows(std::vector<std::int32_t>(static_cast<std::size_t>(total), 0));
    const std::int64_t half = total / ranks / 2;
    const DeviceArray<bf16> bank(16), h(2 * half * 16), d_bank(16);
    const DeviceArray<std::int32_t> kept(2 * half), kept_again(half);
    const DeviceArray<char> scratch(1 << 20);
    const auto layout = packed(ZigZag{}, test::offsets_on(offsets), total, ranks);
    const auto local = sharded(rows.tensor(total), layout, 0, axis<0>);
    const auto again = sharded(local, Contiguous{}(2 * half, 2), 1, axis<0>);
    const DeviceArray<Status> status(6);
    ScratchSpan memory(scratch.data(), scratch.count());
    const auto exec = [&](int i) { return reporting(thrust::cuda::par_nosync(memory).on(stream), status.data() + i); };
    VisionGather{}(exec(0), h.tensor(2 * half, 16), local, bank.tensor(1, 16), h.tensor(2 * half, 16));
    VisionGather{}.backward(exec(1), h.tensor(2 * half, 16), local, no_gradient, d_bank.tensor(1, 16), Summed<Store>{});
    compact(exec(2), local, all_banks, no_array, kept.tensor(2 * half));
    VisionGather{}(exec(3), h.tensor(half, 16), again, bank.tensor(1, 16), h.tensor(half, 16));
    VisionGather{}.backward(exec(4), h.tensor(half, 16), again, no_gradient, d_bank.tensor(1, 16), Summed<Store>{});
    compact(exec(5), again, all_banks, no_array, kept_again.tensor(half));
    stream.wait();
    return status.get();
}

}  // namespace

TEST_CASE("illegal offsets of a sharded row array alone are reported, and lead to no entry outside it") {
    for (const Status& status : of_row_shards({0, 8, 8, 24}, 24, 2))
        CHECK(status.ok());
    for (const Status& status : of_row_shards({0, 8, 10, 24}, 24, 2))
        CHECK(status == make_status(Kind::document_multiple, 0, 1, 4, 2));
    for (const List& cu : {List{0, INT64_MAX, 24}, List{-500, -400, -300, -200}, List{2400, 1600, 800, 0}}) {
        for (const Status& status : of_row_shards(cu, 24, 2))
            CHECK_FALSE(status.ok());
    }
}

TEST_CASE("illegal offsets of sharded inputs of index operations are reported") {
    const test::Stream stream;
    const DeviceArray<std::int64_t> cu(List{0, 8, 10, 24}), ids(24, 7), out(12);
    const DeviceArray<std::int32_t> rows(12), row_numbers(24, -1);
    const DeviceArray<char> scratch(1 << 16);
    const DeviceArray<Status> status(3);
    ScratchSpan memory(scratch.data(), scratch.count());
    const auto layout = packed(ZigZag{}, test::offsets_on(cu), 24, 2);
    const auto local = sharded(ids.tensor(24), layout, 0, axis<0>);
    const auto exec = [&](int i) { return reporting(thrust::cuda::par_nosync(memory).on(stream), status.data() + i); };
    build_rows(exec(0), local, placeholders({{7, 0}}), rows.tensor(12));
    shift_labels(exec(1), local, -1, -100, out.tensor(12));
    const std::vector<BankInfo> info{{0}};
    check_rows(exec(2), sharded(row_numbers.tensor(24), layout, 1, axis<0>), no_array, info);
    stream.wait();
    for (const Status& found : status.get())
        CHECK(found == make_status(Kind::document_multiple, 0, 1, 4, 2));
}

TEST_CASE("tables of runs and index arrays that are nonsense lead nowhere outside, and are reported") {
    const test::Stream stream;
    const std::vector<Run> good{{4, 0, 3}, {0, 3, 1}, {1, 0, 3}};
    const DeviceArray<std::int32_t> in(counted_from<std::int32_t>(7)), out(4);
    const List slots{4, 3};
    const auto of_table = [&](const std::vector<Run>& runs, const List& rank_runs, const List& by_position) {
        const DeviceArray<Run> d_runs(runs);
        const DeviceArray<std::int64_t> d_rank_runs(rank_runs), d_by_position(by_position);
        const DeviceArray<Status> status(1);
        const Permuted layout(RunTableView{d_runs.data(), d_rank_runs.data(), d_by_position.data(),
                                           static_cast<std::int64_t>(runs.size()), 7, 2, slots.data()});
        const DeviceArray<std::int64_t> restore(7);
        shard(reporting(stream.exec(), status.data()), layout, 0, in.tensor(7), axis<0>, out.tensor(4));
        restore_index(reporting(stream.exec(), status.data()), layout, restore.tensor(7));
        stream.wait();
        return reported(status);
    };
    CHECK(of_table(good, {0, 2, 3}, {1, 2, 0}).ok());
    CHECK((out.get() == std::vector<std::int32_t>{4, 5, 6, 0}));
    const std::int64_t far = std::int64_t{1} << 40;
    for (const List& rank_runs : {List{0, far, 3}, List{0, 2, far}, List{far, 2, 3}, List{0, -far, 3}, List{-1, 2, 3}})
        CHECK(of_table(good, rank_runs, {1, 2, 0}).kind() == Kind::table);
    for (const List& by_position : {List{far, 2, 0}, List{1, -far, 0}, List{1, 2, INT64_MAX}})
        CHECK(of_table(good, {0, 2, 3}, by_position).kind() == Kind::table);
    CHECK(of_table({{far, 0, 3}, {0, 3, 1}, {1, 0, 3}}, {0, 2, 3}, {1, 2, 0}).kind() == Kind::table);
    CHECK(of_table({{4, 0, far}, {0, 3, 1}, {1, 0, 3}}, {0, 2, 3}, {1, 2, 0}).kind() == Kind::table);

    const DeviceArray<std::int64_t> index(List{3, -1, far, 2});
    const DeviceArray<Status> status(1);
    shard(reporting(stream.exec(), status.data()), indexed(test::offsets_on(index), 7), 0, in.tensor(7), axis<0>,
          out.tensor(4), -5);
    stream.wait();
    CHECK(reported(status) == make_status(Kind::index_range, 0, 2, 6, far));
}

TEST_CASE("a device's Status is the host's: of a sample's offsets, and of a row below -1 of another bank") {
    const test::Stream stream;
    const DeviceArray<Status> status(2);
    const std::vector<std::int64_t> cu{0, 4, 8, 0, 9, 8};
    std::vector<std::int64_t> merged(5);
    const DeviceArray<std::int64_t> d_cu(cu), d_merged(5);
    merged_offsets(reporting(stream.exec(), status.data()), d_cu.tensor(2, 3), 8, d_merged.tensor(5));
    const std::vector<std::int32_t> rows{-1, 0, -5}, numbers{-1, 0, 1};
    const DeviceArray<std::int32_t> d_rows(rows), d_numbers(numbers);
    std::vector<float> h(3 * 4), a(2 * 4), b(2 * 4);
    const DeviceArray<float> d_h(h), d_a(a), d_b(b);
    VisionGather{}(reporting(stream.exec(), status.data() + 1), d_h.tensor(3, 4),
                   row_array(d_rows.tensor(3), d_numbers.tensor(3)), banks(d_a.tensor(2, 4), d_b.tensor(2, 4)),
                   d_h.tensor(3, 4));
    stream.wait();
    CHECK(status.get()[0] == status_of([&] { merged_offsets(thrust::seq, tensor(cu.data(), 2, 3), 8, merged); }));
    CHECK(status.get()[1] == status_of([&] {
              VisionGather{}(thrust::seq, tensor(h.data(), 3, 4), row_array(rows, numbers),
                             banks(tensor(a.data(), 2, 4), tensor(b.data(), 2, 4)), tensor(h.data(), 3, 4));
          }));
    CHECK(status.get()[1].array() == 1);
}

TEST_CASE("what a host can see is thrown before anything is launched") {
    const test::Stream stream;
    const DeviceArray<std::int64_t> cu(List{0, 8, 16});
    const DeviceArray<std::int64_t> in(16), out(8);
    const auto layout = packed(ZigZag{}, test::offsets_on(cu), 16, 2);
    CHECK_THROWS_AS(shard(stream.exec(), layout, 2, in.tensor(16), axis<0>, out.tensor(8)), Error);
    CHECK_THROWS_AS(shard(stream.exec(), layout, 0, in.tensor(15), axis<0>, out.tensor(8)), Error);
    CHECK_THROWS_AS(shard(stream.exec(), layout, 0, in.tensor(16), axis<0>, out.tensor(7)), Error);
    CHECK(status_of([&] {
              shard(stream.exec(), packed(ZigZag{}, test::offsets_on(cu), 14, 2), 0, in.tensor(14), axis<0>,
                    out.tensor(7));
          }) == make_status(Kind::multiple, 0, 0, 4, 14));
    CHECK(status_of([&] {
              shard(stream.exec(), nested(packed(Striped{0}, test::offsets_on(cu), 16, 2), Contiguous{}, 2), 0,
                    in.tensor(16), axis<0>, out.tensor(4));
          }).kind() == Kind::policy);
    const auto none = packed(ZigZag{}, Offsets<std::int64_t>(cu.data(), 0), 16, 2);
    CHECK_THROWS_AS(shard(stream.exec(), none, 0, in.tensor(16), axis<0>, out.tensor(8)), Error);
}
