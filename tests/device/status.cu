// What is wrong with data on the device: reporting() finds it, of the worst kind and place, and no access leaves its array.
#include "device/device.hpp"

using namespace seqpar;
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

TEST_CASE("what a host can see is thrown before anything is launched") {
    const test::Stream stream;
    const DeviceArray<std::int64_t> cu(List{0, 8, 16});
    const DeviceArray<std::int64_t> in(16), out(8);
    const auto layout = packed(ZigZag{}, test::offsets_on(cu), 16, 2);
    CHECK_THROWS_AS(shard(stream.exec(), layout, 2, in.tensor(16), axis<0>, out.tensor(8)), Error);
    CHECK_THROWS_AS(shard(stream.exec(), layout, 0, in.tensor(15), axis<0>, out.tensor(8)), Error);
    CHECK_THROWS_AS(shard(stream.exec(), layout, 0, in.tensor(16), axis<0>, out.tensor(7)), Error);
    const auto none = packed(ZigZag{}, Offsets<std::int64_t>(cu.data(), 0), 16, 2);
    CHECK_THROWS_AS(shard(stream.exec(), none, 0, in.tensor(16), axis<0>, out.tensor(8)), Error);
}
