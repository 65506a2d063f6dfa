// The table "what is split along which axis": each row by its shape and axis, compared element by element; and put back.
#include "move/values.hpp"

#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/zigzag.hpp>
#include <seqpar/move/unshard.hpp>
#include <seqpar/tensor/half.hpp>

#include <thrust/execution_policy.h>

using namespace seqpar;
using test::counted;
using test::error_of;
using test::List;

namespace {

// Two documents of different length, so that layouts do not coincide; 9 real tokens in 12 slots a stream.
const List cu{0, 8, 12};
const List real{0, 6, 9};
const auto layout = padded(packed(ZigZag{}, cu, 12, 2), real, cu, 9);
const List sources[2]{{0, 1, -1, -1, 6, -1}, {2, 3, 4, 5, 7, 8}};

template <class T, std::size_t N>
DenseView<T, N> dense(std::vector<T>& values, const cuda::std::array<std::int64_t, N>& shape) {
    return DenseView<T, N>(values.data(), typename DenseView<T, N>::extents_type(shape));
}

// Splits an array of the given shape along its axis A and compares each element, by its number in row-major order.
template <class T, int A, class F, std::integral... Extents>
void check_row(Axis<A> axis, const F& fill, Extents... extents) {
    const cuda::std::array<std::int64_t, sizeof...(Extents)> shape{extents...};
    constexpr int k = axis_index(A, sizeof...(Extents));
    REQUIRE(shape[static_cast<std::size_t>(k)] == 9);
    std::int64_t before = 1;
    std::int64_t after = 1;
    for (int i = 0; i < static_cast<int>(sizeof...(Extents)); ++i) {
        if (i != k) (i < k ? before : after) *= shape[static_cast<std::size_t>(i)];
    }
    std::vector<T> x;
    for (std::int64_t i = 0; i < before * 9 * after; ++i)
        x.push_back(T(i % 127));
    auto shard_shape = shape;
    shard_shape[k] = 6;
    std::vector<T> part[2];
    for (int rank = 0; rank < 2; ++rank) {
        part[rank].assign(static_cast<std::size_t>(before * 6 * after), T(101));
        shard(thrust::seq, layout, rank, dense(x, shape), axis, dense(part[rank], shard_shape), fill);
        std::size_t number = 0;
        for (std::int64_t b = 0; b < before; ++b) {
            for (std::int64_t source : sources[rank]) {
                for (std::int64_t a = 0; a < after; ++a, ++number) {
                    const T expected =
                        source < 0 ? convert<T>(fill) : x[static_cast<std::size_t>((b * 9 + source) * after + a)];
                    if (!(part[rank][number] == expected)) FAIL("rank ", rank, ", element ", number);
                }
            }
        }
    }
    std::vector<T> back(x.size(), T(101));
    unshard(thrust::seq, layout, shards(dense(part[0], shard_shape), dense(part[1], shard_shape)), axis,
            dense(back, shape));
    CHECK((back == x));
}

}  // namespace

TEST_CASE("input ids [B,S] and [S], last axis, pad id") {
    check_row<std::int64_t>(axis<-1>, 151643, 2, 9);
    check_row<std::int32_t>(axis<1>, 0, 3, 9);
    check_row<std::int64_t>(axis<-1>, 151643, 9);
}
TEST_CASE("labels [B,S] and [S], last axis, -100") {
    check_row<std::int64_t>(axis<-1>, -100, 2, 9);
    check_row<std::int64_t>(axis<0>, -100, 9);
}
TEST_CASE("loss mask and loss scale [B,S], last axis, 0") {
    check_row<float>(axis<-1>, 0, 2, 9);
    check_row<bf16>(axis<-1>, 0.0, 2, 9);
}
TEST_CASE("position ids [B,S] 1, [3,B,S] 2, [4,B,S] 2, [S,3] 0, [B,3,S] 2") {
    check_row<std::int32_t>(axis<1>, -1, 2, 9);
    check_row<std::int32_t>(axis<2>, -1, 3, 2, 9);
    check_row<std::int64_t>(axis<2>, 0, 4, 2, 9);
    check_row<std::int32_t>(axis<0>, -1, 9, 3);
    check_row<std::int32_t>(axis<2>, -1, 2, 3, 9);
}
TEST_CASE("a dense attention mask [B,1,Sq,Sk] by its query axis 2; keys stay whole") {
    check_row<std::uint8_t>(axis<2>, false, 2, 1, 9, 9);
}
TEST_CASE("decoder input [S,B,H] 0 and [B,S,H] 1, 0") {
    check_row<bf16>(axis<0>, 0, 9, 2, 5);
    check_row<f16>(axis<1>, 0, 2, 9, 5);
}
TEST_CASE("a rotary table [S,1,1,D] by axis 0") { check_row<float>(axis<0>, 0, 9, 1, 1, 4); }
TEST_CASE("a row array [S] and [B,S], last axis, -1") {
    check_row<std::int32_t>(axis<0>, -1, 9);
    check_row<std::int32_t>(axis<-1>, -1, 2, 9);
}
TEST_CASE("a DeepStack canvas [B,S,H] by axis 1, 0") { check_row<bf16>(axis<1>, 0, 2, 9, 5); }
TEST_CASE("routed experts [B,S,K] by axis 1, a fill that is given") { check_row<std::int32_t>(axis<1>, 63, 2, 9, 2); }

TEST_CASE("cu_seqlens and other metadata: an error, never a split") {
    List out(2, -7);
    const List metadata{0, 8, 12, 12, 12};
    const Status status = error_of([&] { shard(thrust::seq, layout, 0, metadata, axis<0>, out, 0); });
    test::check_status(status, Kind::axis_extent, 0, 9, 5);
    CHECK(out == List(2, -7));
}
