// What takes scratch: build_rows, compact, and backwards that sum. From the exec's allocator, at most what …_scratch_bytes says,
// with the launches documented, and the numbers that the host gives.
#include "device/device.hpp"

using namespace seqpar;
using test::counted_from;
using test::DeviceArray;
using test::kernels_of;

namespace {

// Scratch of just the size that is said, at the end of its allocation.
struct Memory {
    DeviceArray<char> bytes;
    ScratchSpan scratch;
    explicit Memory(std::int64_t size) : bytes(size), scratch(bytes.data(), size) {}
    auto exec(const test::Stream& stream) { return thrust::cuda::par_nosync(scratch).on(stream); }
};

template <class Id>
std::vector<Id> stream_of_ids(std::int64_t count, int banks) {
    std::vector<Id> ids;
    for (std::int64_t i = 0; i < count; ++i)
        ids.push_back(static_cast<Id>(i / 7 % 3 == 1 ? -500 - i / 50 % banks : i));
    return ids;
}
PlaceholderRules rules_of(int banks) {
    PlaceholderRules rules;
    for (int bank = 0; bank < banks; ++bank)
        rules = rules.with(-500 - bank, bank);
    return rules;
}

template <class Id>
void rows_are_the_hosts(std::int64_t samples, std::int64_t length, int banks) {
    CAPTURE(length);
    CAPTURE(banks);
    const test::Stream stream;
    const std::int64_t count = samples * length;
    const auto size = static_cast<std::size_t>(count);
    const std::vector<Id> ids = stream_of_ids<Id>(count, banks);
    std::vector<std::int32_t> rows(size), numbers(size);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(banks));
    build_rows(thrust::seq, tensor(ids.data(), samples, length), rules_of(banks), tensor(rows.data(), samples, length),
               tensor(numbers.data(), samples, length), counts);
    const DeviceArray<Id> d_ids(ids);
    const DeviceArray<std::int32_t> d_rows(count), d_numbers(count);
    const DeviceArray<std::int64_t> d_counts(banks, -7);
    Memory memory(build_rows_scratch_bytes(count, banks));
    const auto run = [&] {
        build_rows(memory.exec(stream), d_ids.tensor(samples, length), rules_of(banks), d_rows.tensor(samples, length),
                   d_numbers.tensor(samples, length), d_counts.tensor(banks));
    };
    if (count > 0) CHECK(kernels_of(stream, run) == 2);
    run();
    stream.wait();
    CHECK(memory.scratch.used() == 0);
    CHECK((d_rows.get() == rows));
    CHECK((d_numbers.get() == numbers));
    CHECK((d_counts.get() == counts));
}

}  // namespace

TEST_CASE("build_rows: two launches, in the scratch that is said, the rows, banks and counts of the host") {
    for (const std::int64_t length : {0, 1, 31, 128, 1000, 4097}) {
        for (const int banks : {1, 2, 8}) {
            rows_are_the_hosts<std::int64_t>(1, length, banks);
            rows_are_the_hosts<std::int32_t>(3, length, banks);
        }
    }
    rows_are_the_hosts<std::int64_t>(1, 70000, 1);
}

TEST_CASE("scratch that is too small is refused before anything is launched") {
    const test::Stream stream;
    const DeviceArray<std::int64_t> ids(stream_of_ids<std::int64_t>(1000, 1));
    const DeviceArray<std::int32_t> rows(1000, -7);
    Memory memory(256);
    const Status status =
        status_of([&] { build_rows(memory.exec(stream), ids.tensor(1000), rules_of(1), rows.tensor(1000)); });
    CHECK(status.kind() == Kind::scratch);
    CHECK(status.expected > 256);
    CHECK(status.expected <= build_rows_scratch_bytes(1000, 1));
    CHECK(status.got == 256);
    stream.wait();
    CHECK((rows.get() == std::vector<std::int32_t>(1000, -7)));
    const DeviceArray<std::int32_t> tokens(std::vector<std::int32_t>(1000, 3)), kept(1000, -7);
    CHECK(status_of([&] {
              compact(memory.exec(stream), tokens.tensor(1000), all_banks, no_array, kept.tensor(1000));
          }).kind() == Kind::scratch);
    stream.wait();
    CHECK((kept.get() == std::vector<std::int32_t>(1000, -7)));
    const DeviceArray<float> d_out(1000 * 4, 1), d_bank(8 * 4, 5);
    CHECK(status_of([&] {
              VisionGather{}.backward(memory.exec(stream), d_out.tensor(1000, 4), tokens.tensor(1000), no_gradient,
                                      d_bank.tensor(8, 4), Summed<Store>{});
          }).kind() == Kind::scratch);
    CHECK(test::kernels_of(stream, [&] {
              static_cast<void>(status_of([&] {
                  VisionGather{}.backward(memory.exec(stream), d_out.tensor(1000, 4), tokens.tensor(1000), no_gradient,
                                          d_bank.tensor(8, 4), Summed<Store>{});
              }));
          }) == 0);
}

TEST_CASE("an allocator that the exec holds by value serves as well") {
    const test::Stream stream;
    const std::int64_t tokens = 3000, rows = 40;
    std::vector<std::int32_t> numbers;
    for (std::int64_t i = 0; i < tokens; ++i)
        numbers.push_back(static_cast<std::int32_t>(i * 7 % rows));
    const std::vector<float> d_out = counted_from<float>(tokens * 4);
    std::vector<float> expected(static_cast<std::size_t>(rows * 4));
    VisionGather{}.backward(thrust::seq, tensor(d_out.data(), tokens, 4), numbers, no_gradient,
                            tensor(expected.data(), rows, 4), Summed<Store>{});
    const std::int64_t bytes = summed_scratch_bytes(tokens, rows);
    const DeviceArray<char> memory(bytes);
    const DeviceArray<float> from(d_out), to(rows * 4);
    const DeviceArray<std::int32_t> d_numbers(numbers);
    VisionGather{}.backward(thrust::cuda::par_nosync(ScratchSpan(memory.data(), bytes)).on(stream),
                            from.tensor(tokens, 4), d_numbers.tensor(tokens), no_gradient, to.tensor(rows, 4),
                            Summed<Store>{});
    stream.wait();
    CHECK((to.get() == expected));
}

TEST_CASE("scratch_comes_from_the_caller_and_nothing_is_allocated_in_a_capture") {  // case 100
    const test::Stream stream;
    std::vector<std::int64_t> ids = counted_from<std::int64_t>(40);
    for (std::size_t i = 8; i < 20; ++i)
        ids[i] = -500;
    std::vector<std::int32_t> rows(40), kept(40, -7);
    build_rows(thrust::seq, ids, rules_of(1), rows);
    compact(thrust::seq, rows, all_banks, no_array, kept);
    const std::vector<float> bank = counted_from<float>(12 * 8, 1000);
    std::vector<float> h(40 * 8, -1);
    VisionGather{}(thrust::seq, tensor(h.data(), 40, 8), rows, tensor(bank.data(), 12, 8), tensor(h.data(), 40, 8));

    const std::int64_t bytes = (std::max)(build_rows_scratch_bytes(40, 1), compact_scratch_bytes(40));
    Memory memory(bytes);
    const DeviceArray<std::int64_t> d_ids(ids);
    const DeviceArray<std::int32_t> d_rows(40), d_kept(40);
    const DeviceArray<float> d_bank(bank), d_h(40 * 8, -1);
    const test::Graph graph(stream, [&] {
        build_rows(memory.exec(stream), d_ids.tensor(40), rules_of(1), d_rows.tensor(40));
        compact(memory.exec(stream), d_rows.tensor(40), all_banks, no_array, d_kept.tensor(40));
        VisionGather{}(stream.exec(), d_h.tensor(40, 8), d_rows.tensor(40), d_bank.tensor(12, 8), d_h.tensor(40, 8));
    });
    CHECK(graph.kernels() == 2 + 3 + 1);  // and no node of another kind
    graph.launch(stream);
    CHECK((d_rows.get() == rows));
    CHECK((d_kept.get() == kept));
    CHECK((d_h.get() == h));
}

TEST_CASE("rows that leave int32 are reported on the device") {
    const test::Stream stream;
    const DeviceArray<std::int64_t> ids(stream_of_ids<std::int64_t>(100, 1));
    const DeviceArray<std::int32_t> rows(100);
    const DeviceArray<Status> status(1);
    Memory memory(build_rows_scratch_bytes(100, 1));
    build_rows(reporting(memory.exec(stream), status.data()), ids.tensor(100), rules_of(1).base({INT32_MAX - 2}),
               rows.tensor(100));
    stream.wait();
    CHECK(status.get()[0] == make_status(Kind::value_lost, 0, 10, INT32_MAX, std::int64_t{INT32_MAX} + 1));
    CHECK(rows.get()[9] == INT32_MAX);
    CHECK(rows.get()[10] == -1);
}

TEST_CASE("compact: three launches, the rows, mask and count of the host; too many rows are reported") {
    const test::Stream stream;
    const DeviceArray<std::int64_t> ids(stream_of_ids<std::int64_t>(2000, 2));
    std::vector<std::int32_t> rows(2000), numbers(2000), out(900), out_banks(900);
    std::vector<std::uint8_t> mask(2000);
    std::vector<std::int64_t> count(1);
    build_rows(thrust::seq, stream_of_ids<std::int64_t>(2000, 2), rules_of(2), rows, numbers);
    compact(thrust::seq, row_array(rows, numbers), only_banks({1}), mask, out, out_banks, count);
    const DeviceArray<std::int32_t> d_rows(rows), d_numbers(numbers), d_out(900), d_banks(900), d_few(10);
    const DeviceArray<std::uint8_t> d_mask(2000);
    const DeviceArray<std::int64_t> d_count(1);
    const DeviceArray<Status> status(1);
    Memory memory(compact_scratch_bytes(2000));
    const auto from = row_array(d_rows.tensor(2000), d_numbers.tensor(2000));
    const auto run = [&] {
        compact(memory.exec(stream), from, only_banks({1}), d_mask.tensor(2000), d_out.tensor(900), d_banks.tensor(900),
                d_count.tensor(1));
    };
    CHECK(kernels_of(stream, run) == 3);
    run();
    stream.wait();
    CHECK((d_out.get() == out));
    CHECK((d_banks.get() == out_banks));
    CHECK((d_mask.get() == mask));
    CHECK((d_count.get() == count));
    compact(reporting(memory.exec(stream), status.data()), from, all_banks, no_array, d_few.tensor(10));
    stream.wait();
    CHECK(status.get()[0].kind() == Kind::extent);
    CHECK(status.get()[0].got == 10);
}

TEST_CASE("a backward that sums duplicate rows gives the bits of the host, in the scratch that is said") {
    const test::Stream stream;
    for (const std::int64_t tokens : {1, 777, 5000, 20000}) {
        const std::int64_t width = 40, rows = tokens < 20000 ? 50 : 300;  // 300: the sort takes two passes
        std::vector<std::int32_t> numbers;
        std::vector<float> d_out;
        for (std::int64_t i = 0; i < tokens; ++i)
            numbers.push_back(static_cast<std::int32_t>(i % 3 == 0 ? i * 7 % rows : -1));
        for (std::int64_t i = 0; i < tokens * width; ++i)
            d_out.push_back(1.0f / static_cast<float>(1 + i % 97));
        std::vector<float> d_bank(static_cast<std::size_t>(rows * width), -5), d_h(d_out.size());
        VisionGather{}.backward(thrust::seq, tensor(d_out.data(), tokens, width), numbers,
                                tensor(d_h.data(), tokens, width), tensor(d_bank.data(), rows, width), Summed<Add>{});
        const DeviceArray<std::int32_t> d_numbers(numbers);
        const DeviceArray<float> from(d_out), to(rows * width, -5), h(tokens * width);
        Memory memory(summed_scratch_bytes(tokens, rows));
        VisionGather{}.backward(memory.exec(stream), from.tensor(tokens, width), d_numbers.tensor(tokens),
                                h.tensor(tokens, width), to.tensor(rows, width), Summed<Add>{});
        stream.wait();
        CHECK((to.get() == d_bank));
        CHECK((h.get() == d_h));
    }
}
