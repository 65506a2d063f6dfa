// VisionGather forward over thousands of random token shapes, strides, banks and row arrays, against the naive
// one: bit for bit, NaN payloads and -0 too, and nothing else of the outputs' memory written.
#include "exec.hpp"
#include "move/vectors.hpp"

#include <seqpar/move/vision_gather.hpp>

#include <thrust/execution_policy.h>

using namespace seqpar;
using test::Banks;
using test::Random;
using test::random_rows;
using test::random_tokens;
using test::random_vectors;
using test::require_same_bits;
using test::Rows;
using test::Vectors;
using test::with_width;

namespace {

// With one bank (`Many` false) the row array is the tensor itself.
template <bool Many, class T, std::size_t M>
void check_forward(Random& random) {
    const auto tokens = random_tokens<M>(random);
    const std::int64_t width = random.once_in(15) ? 0 : random.between(1, 20);
    const Banks<T> banks(random, Many ? 2 : 1, width);
    const Rows<M> rows = random_rows<M>(random, tokens, banks.rows, false);
    Vectors<T, M + 1> embeddings = random_vectors<T, M + 1>(random, with_width(tokens, width));
    Vectors<T, M + 1> out = random_vectors<T, M + 1>(random, with_width(tokens, width));
    Vectors<T, M + 1> expected = out;
    test::naive_forward(embeddings, rows, banks.list, expected);
    const auto gather = [&](auto from, auto to) {
        if constexpr (Many) {
            VisionGather{}(test::main_exec, from, row_array(rows.row.view(), rows.bank.view()),
                           seqpar::banks(banks.list[0].view(), banks.list[1].view()), to);
        } else {
            VisionGather{}(test::main_exec, from, rows.row.view(), banks.list[0].view(), to);
        }
    };
    const auto before = embeddings.memory;
    gather(embeddings.view(), out.view());
    require_same_bits(out.memory, expected.memory);
    require_same_bits(embeddings.memory, before);
    // In place: the same, and what is between and around the vectors stays.
    Vectors<T, M + 1> in_place = embeddings;
    test::naive_forward(embeddings, rows, banks.list, in_place);
    gather(embeddings.view(), embeddings.view());
    require_same_bits(embeddings.memory, in_place.memory);
}

}  // namespace

TEST_CASE("forward equals the naive gather: [T,H] and [S,B,H], in place or not, any bits, duplicates of a row") {
    Random random(501);
    for (int i = 0; i < 1500; ++i) {
        check_forward<false, float, 1>(random);
        check_forward<false, std::uint16_t, 2>(random);
    }
}

TEST_CASE("forward with two banks interleaved token by token equals the naive gather") {
    Random random(502);
    for (int i = 0; i < 1000; ++i)
        check_forward<true, bf16, 2>(random);
}
