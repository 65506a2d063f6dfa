// A whole training step's data path in one CUDA graph: rows, batch, VisionGather, levels and their backwards, captured once and
// replayed with other tokens and other documents in the same buffers (fixed-capacity offsets), against the host.
#include "device/device.hpp"
#include "layout/random.hpp"

using namespace seqpar;
using test::counted_from;
using test::DeviceArray;
using test::Random;

namespace {

constexpr std::int64_t tokens = 96, width = 16, bank_rows = 96;
constexpr int cp = 2, tp = 2, documents = 9;
constexpr std::int64_t image = 151655;

template <class T>
std::vector<T> random_values(Random& random, std::int64_t count) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(T(static_cast<float>(random.between(-8, 8)) / 4));
    return values;
}

// Documents of multiples of cp * tp * 2, some empty; the last offset repeats up to the capacity.
std::vector<std::int32_t> random_documents(Random& random) {
    std::vector<std::int32_t> cu{0};
    while (static_cast<int>(cu.size()) < documents) {
        const std::int64_t most = (tokens - cu.back()) / (2 * cp * tp);
        cu.push_back(cu.back() + static_cast<std::int32_t>(random.between(0, most) * 2 * cp * tp));
    }
    cu.back() = tokens;
    cu.push_back(tokens);
    return cu;
}

// The buffers of a step, for the host (std::vector) or the device (DeviceArray), and the step itself.
template <template <class...> class Array>
struct Step {
    Array<std::int32_t> cu;
    Array<std::int64_t> ids, labels;
    Array<std::int32_t> positions;
    Array<bf16> embeddings, bank, level_a, level_b;
    // By copy, not in braces: a vector would take the length for its only element.
    Array<std::int32_t> rows = Array<std::int32_t>(tokens);
    Array<std::int64_t> local_ids = Array<std::int64_t>(tokens / cp / tp);
    Array<std::int64_t> local_labels = Array<std::int64_t>(tokens / cp);
    Array<std::int32_t> local_positions = Array<std::int32_t>(3 * tokens / cp / tp);
    Array<bf16> h = Array<bf16>(tokens / cp / tp * width);
    Array<bf16> d_h = Array<bf16>(tokens / cp / tp * width);
    Array<bf16> d_bank = Array<bf16>(bank_rows * width);
    Array<bf16> d_level = Array<bf16>(bank_rows * width);

    template <class Exec>
    void run(const Exec& exec, int rank) {
        const auto of = [](auto& array, auto... extents) { return tensor(array.data(), extents...); };
        constexpr std::int64_t local = tokens / cp / tp;
        const Offsets<std::int32_t> offsets(cu.data(), documents + 1);
        const auto outer = packed(ZigZag{}, offsets, tokens, cp);
        const auto layout = nested(outer, Contiguous{}, tp);
        build_rows(exec, of(ids, tokens), placeholders({{image, 0}}), of(rows, tokens));
        shard_batch(exec, layout, rank, field(of(ids, tokens), axis<0>, of(local_ids, local)),
                    field(of(labels, tokens), axis<0>, of(local_labels, tokens / cp)).with(outer, rank / tp),
                    field(of(positions, 3, tokens), axis<-1>, of(local_positions, 3, local)),
                    field(of(embeddings, tokens, width), axis<0>, of(h, local, width)));
        const auto local_rows = sharded(of(rows, tokens), layout, rank, axis<0>);
        const auto vectors = of(h, local, width);
        VisionGather{}(exec, vectors, local_rows, of(bank, bank_rows, width), vectors);
        add_rows(exec, vectors, local_rows, levels(of(level_a, bank_rows, width), of(level_b, bank_rows, width)));
        add_rows_backward(exec, vectors, local_rows, of(d_level, bank_rows, width), Store{});
        VisionGather{}.backward(exec, vectors, local_rows, of(d_h, local, width), of(d_bank, bank_rows, width), Add{});
    }
};

template <class T>
using Host = std::vector<T>;
template <class T>
using Device = DeviceArray<T>;

}  // namespace

TEST_CASE("a step captured once gives the host's bits for every batch that is put into its buffers") {
    Random random(606);
    for (int rank = 0; rank < cp * tp; ++rank) {
        const test::Stream stream;
        const auto text = [&] { return random_values<bf16>(random, tokens * width); };
        Step<Device> device{Device<std::int32_t>(documents + 1), Device<std::int64_t>(tokens),
                            Device<std::int64_t>(tokens),        Device<std::int32_t>(3 * tokens),
                            Device<bf16>(tokens * width),        Device<bf16>(bank_rows * width),
                            Device<bf16>(bank_rows * width),     Device<bf16>(bank_rows * width)};
        const DeviceArray<Status> status(1);
        const std::int64_t bytes = build_rows_scratch_bytes(tokens, 1);
        const DeviceArray<char> memory(bytes);
        ScratchSpan scratch(memory.data(), bytes);
        const auto exec = reporting(thrust::cuda::par_nosync(scratch).on(stream), status.data());
        const test::Graph graph(stream, [&] { device.run(exec, rank); });
        CHECK(graph.kernels() == 7);  // two of the scan, one each of the others
        for (int batch = 0; batch < 5; ++batch) {
            std::vector<std::int64_t> ids;
            for (std::int64_t i = 0; i < tokens; ++i)
                ids.push_back(random.once_in(3) ? image : i);
            Step<Host> host{random_documents(random),
                            ids,
                            counted_from<std::int64_t>(tokens, batch),
                            counted_from<std::int32_t>(3 * tokens, batch),
                            text(),
                            text(),
                            text(),
                            text()};
            device.cu.set(host.cu);
            device.ids.set(host.ids);
            device.labels.set(host.labels);
            device.positions.set(host.positions);
            device.embeddings.set(host.embeddings);
            device.bank.set(host.bank);
            device.level_a.set(host.level_a);
            device.level_b.set(host.level_b);
            host.d_bank = random_values<bf16>(random, bank_rows * width);
            host.d_level = host.d_bank;
            device.d_bank.set(host.d_bank);
            device.d_level.set(host.d_level);
            host.run(thrust::seq, rank);
            graph.launch(stream);
            CHECK((device.rows.get() == host.rows));
            CHECK((device.local_ids.get() == host.local_ids));
            CHECK((device.local_labels.get() == host.local_labels));
            CHECK((device.local_positions.get() == host.local_positions));
            CHECK((device.h.get() == host.h));
            CHECK((device.d_h.get() == host.d_h));
            CHECK((device.d_bank.get() == host.d_bank));
            CHECK((device.d_level.get() == host.d_level));
            CHECK(status.get()[0].ok());
        }
        device.cu.set({0, 8, 13, 96, 96, 96, 96, 96, 96, 96});  // a batch that is illegal is reported, and no access is
        graph.launch(stream);
        CHECK(status.get()[0] == make_status(Kind::document_multiple, 0, 1, 4, 5));
    }
}

TEST_CASE("local_offsets_labels_and_indices_are_captured_once_and_follow_the_offsets") {  // case 98
    const test::Stream stream;
    DeviceArray<std::int32_t> cu(std::vector<std::int32_t>{0, 16, 40, 40, 40});
    const DeviceArray<std::int32_t> local_cu(5), index(40);
    const DeviceArray<std::int64_t> labels(40), local_labels(20), ids(counted_from<std::int64_t>(40, 100));
    const auto all = test::offsets_on(cu);
    const auto layout = packed(ZigZag{}, all, 40, 2);
    const test::Graph graph(stream, [&] {
        gather_index(stream.exec(), layout, index.tensor(40));
        local_offsets(stream.exec(), layout, local_cu.tensor(5));
        shift_labels(stream.exec(), ids.tensor(40), all, 1, -100, labels.tensor(40));
        shard(stream.exec(), layout, 1, labels.tensor(40), axis<0>, local_labels.tensor(20));
    });
    CHECK(graph.kernels() == 4);  // nothing that waits, copies or allocates
    for (const std::vector<std::int32_t>& offsets :
         {std::vector<std::int32_t>{0, 16, 40, 40, 40}, {0, 8, 24, 40, 40}}) {
        cu.set(offsets);
        graph.launch(stream);
        const auto of = packed(ZigZag{}, offsets, 40, 2);
        std::vector<std::int32_t> host_cu(5), host_index(40);
        std::vector<std::int64_t> host_labels(40), host_local(20);
        gather_index(thrust::seq, of, host_index);
        local_offsets(thrust::seq, of, host_cu);
        shift_labels(thrust::seq, counted_from<std::int64_t>(40, 100), offsets, 1, -100, host_labels);
        shard(thrust::seq, of, 1, host_labels, axis<0>, host_local);
        CHECK((index.get() == host_index));
        CHECK((local_cu.get() == host_cu));
        CHECK((local_labels.get() == host_local));
    }
    CHECK((local_cu.get() == std::vector<std::int32_t>{0, 4, 12, 20, 20}));
}

TEST_CASE("operations on a stream run in its order, and touch no other stream") {
    const test::Stream first, second;
    const DeviceArray<std::int64_t> in(counted_from<std::int64_t>(64)), one(32), other(32), back(64, -7);
    const DeviceArray<std::int64_t> in_2(counted_from<std::int64_t>(64, 1000)), out_2(32);
    const auto layout = ZigZag{}(64, 2);
    shard(first.exec(), layout, 0, in.tensor(64), axis<0>, one.tensor(32));
    shard(second.exec(), layout, 1, in_2.tensor(64), axis<0>, out_2.tensor(32));
    shard(first.exec(), layout, 1, in.tensor(64), axis<0>, other.tensor(32));
    unshard(first.exec(), layout, shards(one.tensor(32), other.tensor(32)), axis<0>, back.tensor(64));
    first.wait();
    CHECK((back.get() == in.get()));
    second.wait();
    CHECK(out_2.get()[0] == 1016);
}
