// exchange() on a device: packed and unpacked by kernels, rows and buffers from the exec's allocator, all on one stream that a graph
// can capture. The ranks are called one after the other, by a communicator that delivers in the second round what was sent in the first.
#include "device/device.hpp"

using namespace seqpar;
using test::counted_from;
using test::DeviceArray;

namespace test {

// Parts from each rank to each, of at most `most` bytes.
class Mail {
public:
    Mail(int ranks, std::int64_t most) : ranks_(ranks), most_(most), memory_(ranks * ranks * most) {}
    std::byte* part(int from, int to) const { return memory_.data() + (from * ranks_ + to) * most_; }
    int ranks() const { return ranks_; }

private:
    int ranks_;
    std::int64_t most_;
    DeviceArray<std::byte> memory_;
};

class MailRank {
public:
    using Stream = cudaStream_t;
    struct Group {
        void close() {}
    };

    MailRank(const Mail& mail, int rank) : mail_(&mail), rank_(rank) {}
    int rank() const { return rank_; }
    int size() const { return mail_->ranks(); }
    Group group() const { return {}; }

    void all_to_all_v(Group&, const void* from, std::span<const std::int64_t> send_counts, void* to,
                      std::span<const std::int64_t> receive_counts, DataType type, cudaStream_t stream) const {
        const auto* out = static_cast<const std::byte*>(from);
        auto* in = static_cast<std::byte*>(to);
        for (int peer = 0; peer < size(); ++peer) {
            const auto sends = static_cast<std::size_t>(send_counts[static_cast<std::size_t>(peer)] * bytes_of(type));
            const auto receives =
                static_cast<std::size_t>(receive_counts[static_cast<std::size_t>(peer)] * bytes_of(type));
            if (sends > 0)
                test::must(cudaMemcpyAsync(mail_->part(rank_, peer), out, sends, cudaMemcpyDeviceToDevice, stream));
            if (receives > 0)
                test::must(cudaMemcpyAsync(in, mail_->part(peer, rank_), receives, cudaMemcpyDeviceToDevice, stream));
            out += sends;
            in += receives;
        }
    }

    template <class... X>
    void send(Group&, X...) const {}
    template <class... X>
    void recv(Group&, X...) const {}
    template <class... X>
    void all_gather(Group&, X...) const {}
    template <class... X>
    void all_gather_v(Group&, X...) const {}
    template <class... X>
    void reduce_scatter(Group&, X...) const {}
    template <class... X>
    void reduce_scatter_v(Group&, X...) const {}
    template <class... X>
    void all_reduce(Group&, X...) const {}

private:
    const Mail* mail_;
    int rank_;
};

}  // namespace test

namespace {

// Runs each plan from ins[r] to outs[r], [rows, width] of T, with scratch of just the size that is said.
template <class Mode, class T>
std::vector<std::vector<T>> run(const std::vector<ExchangePlan>& plans, const std::vector<std::vector<T>>& ins,
                                std::int64_t width, T before) {
    const test::Stream stream;
    const test::Mail mail(static_cast<int>(plans.size()), 64 * width * static_cast<std::int64_t>(sizeof(T)));
    std::vector<std::vector<T>> outs(plans.size());
    for (int round = 0; round < 2; ++round) {
        for (std::size_t r = 0; r < plans.size(); ++r) {
            const ExchangePlan& plan = plans[r];
            const DeviceArray<T> in(ins[r]);
            const DeviceArray<T> out(plan.rows_out * width, before);
            const std::int64_t bytes = exchange_scratch_bytes(plan, width * static_cast<std::int64_t>(sizeof(T)));
            const DeviceArray<char> memory(bytes);
            ScratchSpan scratch(memory.data(), bytes);
            const test::Graph graph(stream, [&] {
                exchange(thrust::cuda::par_nosync(scratch).on(stream), test::MailRank(mail, plan.rank), plan,
                         in.tensor(plan.rows_in, width), axis<0>, out.tensor(plan.rows_out, width), Mode{});
            });
            // One packs, unless nothing is sent, and one unpacks, unless nothing comes.
            CHECK(graph.nodes(cudaGraphNodeTypeKernel) ==
                  (plan.send_rows.empty() ? 0 : 1) + (plan.receive_rows.empty() ? 0 : 1));
            graph.launch(stream);
            CHECK(scratch.used() == 0);
            outs[r] = out.get();
        }
    }
    return outs;
}

template <class T, Layout L>
std::vector<T> shard_on_host(const L& layout, int rank, std::int64_t width) {
    const std::vector<T> whole = counted_from<T>(layout.size() * width);
    std::vector<T> part(static_cast<std::size_t>(layout.slots(rank) * width));
    shard(thrust::seq, layout, rank, tensor(whole.data(), layout.size(), width), axis<0>,
          tensor(part.data(), layout.slots(rank), width));
    return part;
}

template <class T>
void relayout_is_the_shards(std::int64_t width) {
    const std::vector<std::int64_t> cu{0, 16, 40};
    const auto from = packed(ZigZag{}, cu, 40, 4);
    const auto to = UnevenContiguous{}(40, 4);
    std::vector<ExchangePlan> plans;
    std::vector<std::vector<T>> ins;
    for (int rank = 0; rank < 4; ++rank) {
        plans.push_back(relayout(from, to, rank));
        ins.push_back(shard_on_host<T>(from, rank, width));
    }
    const auto outs = run<Store>(plans, ins, width, T{});
    for (int rank = 0; rank < 4; ++rank)
        CHECK((outs[static_cast<std::size_t>(rank)] == shard_on_host<T>(to, rank, width)));
}

}  // namespace

TEST_CASE("a relayout of rows of any width is the shards under the other layout") {
    relayout_is_the_shards<std::int32_t>(1);
    relayout_is_the_shards<std::int16_t>(3);
    relayout_is_the_shards<double>(130);
}

TEST_CASE("the adjoint of a halo adds each row as often as it is named") {
    const auto layout = ZigZag{}(24, 3);
    constexpr std::int64_t width = 5;
    std::vector<ExchangePlan> plans;
    std::vector<std::vector<float>> ins;
    std::vector<float> named(24);
    for (int rank = 0; rank < 3; ++rank) {
        plans.push_back(reversed(plan_halo(layout, rank, Side::left, 6)));
        for (const std::int64_t p : halo_positions(layout, rank, Side::left, 6))
            if (p >= 0) named[static_cast<std::size_t>(p)] += 1;
        ins.emplace_back(static_cast<std::size_t>(plans.back().rows_in * width), 1.0f);
    }
    const auto outs = run<Add>(plans, ins, width, 0.5f);
    for (int rank = 0; rank < 3; ++rank) {
        for (std::int64_t i = 0; i < layout.slots(rank) * width; ++i)
            CHECK(outs[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)] ==
                  0.5f + named[static_cast<std::size_t>(layout.position(rank, i / width))]);
    }
}
