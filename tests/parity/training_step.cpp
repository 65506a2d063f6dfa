// A vision-language training step split over CP x TP-SP x PP gives the loss and the gradients of one process.
#include "step.hpp"

#include "exchange/ranks.hpp"

#include <doctest/doctest.h>

#include <cstring>

using namespace parity;

namespace {

const std::string letters[] = {"A", "B", "E", "F", "nested", "padded B"};

// f(layout over the batch's tokens).
template <class F>
void with_layout(const std::string& letter, const Batch& batch, int cp, int tp, F f) {
    const Index size = batch.size();
    const List& cu = batch.cu_seqlens;
    if (letter == "A") return f(sp::ZigZag{}(size, cp));
    if (letter == "B") return f(sp::packed(sp::ZigZag{}, cu, size, cp));
    if (letter == "E") return f(sp::Striped{2}(size, cp));
    if (letter == "F") return f(sp::Contiguous{}(size, cp));
    if (letter == "nested") return f(sp::nested(sp::packed(sp::ZigZag{}, cu, size, cp / 2), sp::Striped{2}, 2));
    List padded(cu.size());
    const Index total = sp::padded_offsets(thrust::seq, cu, std::lcm(2 * cp, cp * tp), padded);
    f(sp::padded(sp::packed(sp::ZigZag{}, padded, total, cp), cu, padded, size));
}

// Documents of 24, 8, 0, 16 and 16 tokens, the last without images; or of 21, 5, 0 and 15, to be padded.
Batch mixed_batch(Numbers numbers, bool to_pad) {
    BatchMaker maker(5, numbers);
    maker.text(3).item(image, {1, 2, 3}).text(2).item(image, {1, 2, 2}).item(video, {2, 2, 2});
    if (!to_pad) maker.text(1);
    maker.end_document().text(to_pad ? 5 : 8).end_document().end_document();
    maker.text(3).item(image, {1, 1, 4}).text(to_pad ? 8 : 9).end_document();
    if (!to_pad) maker.text(16).end_document();
    return maker.done();
}
Batch text_batch(Numbers numbers) {
    return BatchMaker(6, numbers).text(16).end_document().text(8).end_document().text(40).end_document().done();
}

std::vector<Result> run_all(const Weights& w, const Batch& batch, const std::string& letter, const Run& run) {
    const int size = run.cp * run.tp * run.pp;
    const sp::VirtualRanks world(size);
    std::vector<sp::VirtualRanks> cp_groups, tp_groups, pp_groups;
    for (int i = 0; i < size / run.cp; ++i)
        cp_groups.emplace_back(run.cp);
    for (int i = 0; i < size / run.tp; ++i)
        tp_groups.emplace_back(run.tp);
    for (int i = 0; i < size / run.pp; ++i)
        pp_groups.emplace_back(run.pp);
    std::vector<Result> results(at(size));
    const auto thrown = test::run_ranks(world, size, [&](const sp::VirtualRank& comm) {
        const int tp = comm.rank() % run.tp, cp = comm.rank() / run.tp % run.cp, stage = comm.rank() / run.tp / run.cp;
        const Ranks ranks{comm, cp_groups[at(stage * run.tp + tp)].join(cp),
                          tp_groups[at(stage * run.cp + cp)].join(tp), pp_groups[at(cp * run.tp + tp)].join(stage)};
        with_layout(letter, batch, run.cp, run.tp, [&](const auto& layout) {
            const Shard shard = shard_of(batch, layout, run, cp, tp);
            const Split peers(layout, ranks, run.ring);
            results[at(comm.rank())] = step(w, batch, shard, peers, run, ranks);
        });
    });
    for (const auto& exception : thrown) {
        if (exception) std::rethrow_exception(exception);
    }
    return results;
}

// Whole numbers: bit for bit. Real ones: each gradient to 1e-10 of itself, and what is nearly 0 beside others of its matrix to
// 1e-13 of the greatest.
void check_same(Matrix& got, Matrix& expected, Numbers numbers) {
    REQUIRE(got.size() == expected.size());
    if (numbers == Numbers::whole) {
        CHECK(std::memcmp(got.data(), expected.data(), sizeof(double) * at(got.size())) == 0);
    } else {
        const auto allowed = 1e-10 * expected.array().abs() + 1e-13 * expected.cwiseAbs().maxCoeff();
        CHECK(((got - expected).array().abs() <= allowed).all());
    }
}

// What one process gives, for all runs over one batch.
struct Expected {
    Batch batch;
    Weights w;
    Result trained, frozen;

    Expected(const Batch& batch_, Numbers numbers) : batch(batch_) {
        test::Random random(4);
        w = random_weights(random, numbers);
        trained = one_process(w, batch, numbers, false);
        frozen = one_process(w, batch, numbers, true);
    }
};

void check_parity(Expected& one, const std::string& letter, const Run& run) {
    CAPTURE(letter);
    CAPTURE(run.cp);
    CAPTURE(run.tp);
    CAPTURE(run.pp);
    CAPTURE(static_cast<int>(run.encoder));
    CAPTURE(run.ring);
    Result& expected = run.encoder == Encoder::frozen ? one.frozen : one.trained;
    auto results = run_all(one.w, one.batch, letter, run);
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
        CAPTURE(rank);
        CHECK(std::abs(results[rank].loss - expected.loss) <= (run.numbers == Numbers::real ? 1e-12 : 0));
        Weights& got = results[rank].gradients;
        const bool encodes = rank < at(run.cp * run.tp);
        const auto all = encodes ? got.all() : got.of_decoder(), wanted = expected.gradients.all();
        for (std::size_t i = 0; i < all.size(); ++i) {
            CAPTURE(i);
            check_same(*all[i], *wanted[i], run.numbers);
        }
    }
}

constexpr Encoder ways[] = {Encoder::frozen, Encoder::replicated, Encoder::invariant, Encoder::gathered,
                            Encoder::routed};

void check_all(Numbers numbers, Batch (*make)(Numbers, bool)) {
    Expected one(make(numbers, false), numbers), to_pad(make(numbers, true), numbers);
    int count = 0;
    for (const std::string& letter : letters) {
        ++count;  // 20 ways a layout: without it each way would meet the same two choices in every layout
        for (const auto& [cp, tp, pp] : {std::array{2, 1, 1}, {4, 1, 1}, {2, 2, 1}, {2, 2, 2}}) {
            for (const Encoder encoder : ways) {
                ++count;  // what else there is, in turn
                const auto over_tp = count / 2 % 2 == 0 ? sp::BankState::invariant : sp::BankState::replicated;
                check_parity(letter == "padded B" ? to_pad : one, letter,
                             {cp, tp, pp, encoder, over_tp, count % 2 == 0, numbers});
            }
        }
    }
}

}  // namespace

TEST_CASE("every layout, shape and way of the encoder gives the loss and gradients of one process") {
    check_all(Numbers::real, mixed_batch);
}

TEST_CASE("with whole numbers they are the same bit for bit, since no sum is rounded") {
    check_all(Numbers::whole, mixed_batch);
}

TEST_CASE("a batch of text alone keeps every rank in the encoder's collectives, and gives it a gradient of zero") {
    Expected one(text_batch(Numbers::real), Numbers::real);
    for (Matrix* const m : one.trained.gradients.of_encoder())
        CHECK(m->isZero(0));
    for (const Encoder encoder : ways) {
        for (const bool ring : {false, true}) {
            check_parity(one, "B", {2, 2, 2, encoder, sp::BankState::invariant, ring});
            check_parity(one, "E", {4, 1, 1, encoder, sp::BankState::invariant, ring});
        }
    }
}

TEST_CASE("the mixed batch has ranks without images and ranks without vision tokens, and no gradient is zero") {
    const Batch batch = mixed_batch(Numbers::real, false);
    for (const Encoder encoder : {Encoder::gathered, Encoder::routed}) {
        const Run run{4, 1, 1, encoder};
        const Shard last = shard_of(batch, sp::Contiguous{}(batch.size(), 4), run, 3, 0);
        CHECK(std::count(last.rows.begin(), last.rows.end(), -1) == 16);
        CHECK(last.begin == last.end);
        CHECK(last.known[0] == (encoder == Encoder::gathered ? 14 : 0));
    }
    for (const Numbers numbers : {Numbers::real, Numbers::whole}) {
        Expected one(mixed_batch(numbers, false), numbers);
        for (Matrix* const m : one.trained.gradients.all()) {
            CHECK(!m->isZero(0));
            CHECK(m->cwiseAbs().maxCoeff() < 0x1p45);  // whole numbers are exact to 2^53
        }
    }
}
