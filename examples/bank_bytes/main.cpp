// How many bytes a bank of vision rows costs between ranks: gathered whole on every rank, against only the rows that each rank's own
// tokens refer to. Counted at the communicator, which is one that counts and moves nothing, so that each rank can run alone.
#include <seqpar/exchange/exchange.hpp>
#include <seqpar/exchange/plans.hpp>

#include <seqpar/balance/items.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <thrust/execution_policy.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

namespace sp = seqpar;

struct Bytes {
    std::int64_t sent = 0;
    std::int64_t received = 0;
};

// A communicator of one's own: exchanges need all_to_all_v, and nothing else is counted.
class CountingRank {
public:
    using Stream = sp::NoStream;
    struct Group {
        void close() {}
    };

    CountingRank(int rank, int ranks, Bytes& bytes) : rank_(rank), ranks_(ranks), bytes_(&bytes) {}

    int rank() const { return rank_; }
    int size() const { return ranks_; }
    Group group() const { return {}; }

    void all_to_all_v(Group&, const void*, std::span<const std::int64_t> send_counts, void*,
                      std::span<const std::int64_t> receive_counts, sp::DataType type, Stream) const {
        for (int peer = 0; peer < ranks_; ++peer) {
            bytes_->sent += send_counts[static_cast<std::size_t>(peer)] * sp::bytes_of(type);
            bytes_->received += receive_counts[static_cast<std::size_t>(peer)] * sp::bytes_of(type);
        }
    }

    template <class... X>
    void send(Group&, X...) const {
        not_counted();
    }
    template <class... X>
    void recv(Group&, X...) const {
        not_counted();
    }
    template <class... X>
    void all_gather(Group&, X...) const {
        not_counted();
    }
    template <class... X>
    void all_gather_v(Group&, X...) const {
        not_counted();
    }
    template <class... X>
    void reduce_scatter(Group&, X...) const {
        not_counted();
    }
    template <class... X>
    void reduce_scatter_v(Group&, X...) const {
        not_counted();
    }
    template <class... X>
    void all_reduce(Group&, X...) const {
        not_counted();
    }

private:
    [[noreturn]] static void not_counted() { throw std::logic_error("only exchanges are counted"); }

    int rank_;
    int ranks_;
    Bytes* bytes_;
};

// Bytes that `rank` sends and receives for a bank or one level of it: bf16, `width` values a row.
Bytes count(const sp::ExchangePlan& plan, std::int64_t width) {
    Bytes bytes;
    const CountingRank comm(plan.rank, plan.ranks(), bytes);
    const auto memory = [&](std::int64_t rows) {
        return std::unique_ptr<sp::bf16[]>(new sp::bf16[static_cast<std::size_t>(rows * width)]);
    };
    const auto mine = memory(plan.rows_in);
    const auto bank = memory(plan.rows_out);
    sp::exchange(thrust::seq, comm, plan, sp::tensor(mine.get(), plan.rows_in, width), sp::axis<0>,
                 sp::tensor(bank.get(), plan.rows_out, width));
    return bytes;
}

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

int main() {
    // 16 documents of 8,192 tokens, seven images of 256 rows in each: S = 131,072 and a bank of V = 28,672 rows of H = 4,096.
    constexpr std::int64_t documents = 16, length = 8192, images = 7, image = 256, width = 4096;
    constexpr std::int64_t S = documents * length, V = documents * images * image;
    std::vector<std::int64_t> cu_seqlens{0};
    std::vector<std::int32_t> rows(S, -1);
    std::int32_t row = 0;
    for (std::int64_t d = 0; d < documents; ++d) {
        cu_seqlens.push_back((d + 1) * length);
        // Somewhere else in each document, so that no rank has more of them than others for long.
        const std::int64_t first = d * 577 % (length / images - image);
        for (std::int64_t i = 0; i < images * image; ++i)
            rows[static_cast<std::size_t>(d * length + first + i / image * (length / images) + i % image)] = row++;
    }
    std::printf("a bank of %.0f MiB, zigzag inside documents; MiB that a rank receives, of all ranks the most\n\n",
                mib(V * width * 2));
    std::printf("ranks  whole bank  owned rows  ratio  sent, all ranks: whole     owned  ratio\n");
    bool as_promised = true;
    for (const int c : {2, 4, 8}) {
        const auto layout = sp::packed(sp::ZigZag{}, cu_seqlens, S, c);
        const std::vector<std::int64_t> cuts = sp::cuts_by_count(V, c);
        Bytes most_whole, most_owned, all_whole, all_owned;
        for (int rank = 0; rank < c; ++rank) {
            std::vector<std::int32_t> local_rows(static_cast<std::size_t>(S / c));
            const Bytes whole = count(sp::plan_all_gather_v(cuts, rank), width);
            const Bytes owned = count(sp::plan_owned(layout, rank, rows, cuts, local_rows), width);
            most_whole.received = std::max(most_whole.received, whole.received);
            most_owned.received = std::max(most_owned.received, owned.received);
            all_whole.sent += whole.sent;
            all_owned.sent += owned.sent;
        }
        const double received = mib(most_whole.received) / mib(most_owned.received);
        const double sent = mib(all_whole.sent) / mib(all_owned.sent);
        std::printf("%5d  %10.1f  %10.1f  %5.2f  %22.1f  %8.1f  %5.2f\n", c, mib(most_whole.received),
                    mib(most_owned.received), received, mib(all_whole.sent), mib(all_owned.sent), sent);
        as_promised = as_promised && sent > 0.99 * c;
    }
    return as_promised ? 0 : 1;
}
