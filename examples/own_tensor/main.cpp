// A tensor type that the library has never seen becomes a tensor by one small trait, and is then split, gathered into and put
// back like any other.
#include <seqpar/conformance/tensor.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <seqpar/move/vision_gather.hpp>

#include <thrust/execution_policy.h>

#include <cstdint>
#include <cstdio>
#include <vector>

// Somebody else's class: owns its floats, rows may be longer than they are wide (`pitch`), nothing of it is a std container.
class Image {
public:
    Image(std::int64_t rows, std::int64_t width, std::int64_t pitch)
        : rows_(rows), width_(width), pitch_(pitch), values_(static_cast<std::size_t>(rows * pitch)) {}

    std::int64_t rows() const { return rows_; }
    std::int64_t width() const { return width_; }
    std::int64_t pitch() const { return pitch_; }
    float* pixels() { return values_.data(); }
    const float* pixels() const { return values_.data(); }

private:
    std::int64_t rows_, width_, pitch_;
    std::vector<float> values_;
};

// All that the library needs to know.
template <>
struct seqpar::tensor_traits<Image> {
    static auto view(Image& x) { return tensor(x.pixels(), {x.rows(), x.width()}, {x.pitch(), 1}); }
    static auto view(const Image& x) { return tensor(x.pixels(), {x.rows(), x.width()}, {x.pitch(), 1}); }
};

namespace sp = seqpar;

namespace {

void print(const char* name, const Image& x) {
    std::printf("%-10s", name);
    for (std::int64_t i = 0; i < x.rows(); ++i)
        std::printf(" %4g", static_cast<double>(x.pixels()[i * x.pitch()]));
    std::printf("\n");
}

}  // namespace

int main() {
    // Twelve tokens in documents of 8 and 4, each a row of two values; tokens 2, 3 and 9 belong to an image.
    Image tokens(12, 2, 3);
    for (std::int64_t i = 0; i < 12; ++i)
        tokens.pixels()[i * 3] = static_cast<float>(i);
    const auto report = sp::conformance::check_owning_tensor(tokens);
    std::printf("conformance: %s\n", sp::conformance::describe(report).c_str());
    if (!report.ok()) return 1;

    const std::vector<std::int32_t> rows{-1, -1, 0, 1, -1, -1, -1, -1, -1, 2, -1, -1};
    Image bank(3, 2, 2);
    for (std::int64_t i = 0; i < 3; ++i)
        bank.pixels()[i * 2] = static_cast<float>(100 + i);

    const std::vector<std::int32_t> cu_seqlens{0, 8, 12};
    const auto layout = sp::packed(sp::ZigZag{}, cu_seqlens, 12, 2);
    std::vector<Image> shards(2, Image(6, 2, 5));
    print("tokens", tokens);
    for (int rank = 0; rank < 2; ++rank) {
        Image& local = shards[static_cast<std::size_t>(rank)];
        sp::shard(thrust::seq, layout, rank, tokens, sp::axis<0>, local);
        sp::VisionGather{}(thrust::seq, local, sp::sharded(rows, layout, rank, sp::axis<0>), bank, local);
        print(rank == 0 ? "rank 0" : "rank 1", local);
    }

    Image together(12, 2, 2);
    sp::unshard(thrust::seq, layout, sp::shards(shards[0], shards[1]), sp::axis<0>, together);
    print("together", together);

    // The same without splitting: gathering commutes with it.
    sp::VisionGather{}(thrust::seq, tokens, rows, bank, tokens);
    for (std::int64_t i = 0; i < 12; ++i) {
        if (together.pixels()[i * 2] != tokens.pixels()[i * 3]) return 1;
    }
    std::printf("equal to the gather without splitting\n");
    return 0;
}
