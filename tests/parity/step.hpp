// The training step of one rank of CP x TP-SP x PP. Which token, label, position, row and gradient is where, and how it gets there, is
// the library's; the arithmetic is the model's. Not here: the ranks themselves, and what their results must be (training_step.cpp).
#pragma once

#include "one_process.hpp"

#include <seqpar/exchange/in_process.hpp>
#include <seqpar/exchange/plans.hpp>
#include <seqpar/exchange/reduce.hpp>
#include <seqpar/seqpar.hpp>

#include <thrust/execution_policy.h>

#include <limits>

namespace parity {

namespace sp = seqpar;

// What the ranks of CP hold of the banks.
enum class Encoder {
    frozen,      // as replicated, without a gradient
    replicated,  // each encodes all of them, for itself
    invariant,   // each encodes all of them, as one value
    gathered,    // each encodes its items; all get all rows
    routed,      // each encodes its items; rows go to the ranks of their tokens
};

struct Run {
    int cp = 1, tp = 1, pp = 1;
    Encoder encoder = Encoder::replicated;
    sp::BankState over_tp = sp::BankState::invariant;
    bool ring = false;  // keys and values travel in a ring; else they are gathered
    Numbers numbers = Numbers::real;

    bool sharded() const { return encoder == Encoder::gathered || encoder == Encoder::routed; }
};

// This rank in each of its groups.
struct Ranks {
    const sp::VirtualRank& world;
    sp::VirtualRank cp, tp, pp;
};

inline auto tensor(Matrix& m) { return sp::tensor(m.data(), m.rows(), m.cols()); }

template <class F>
void together(const sp::VirtualRank& comm, const F& calls) {
    auto group = comm.group();
    calls(group);
    group.close();
}
constexpr sp::DataType f64 = sp::DataType::float64;
inline void all_reduce(const sp::VirtualRank& comm, Matrix& m, sp::Reduction reduction) {
    together(comm, [&](auto& g) { comm.all_reduce(g, m.data(), m.data(), m.size(), f64, reduction, {}); });
}

// --- what a rank holds of the batch -----------------------------------------------------------------------------------
struct Shard {
    Tokens tokens;                               // of the CP shard: labels and positions are not split over TP
    List ids;                                    // of its part whose vectors are kept here
    std::vector<std::int32_t> rows, bank;        // of the same; rows are numbered as they are known here
    std::array<Index, banks> begin, end, known;  // of each bank: the rows encoded here, and how many are known here
    std::array<sp::ExchangePlan, banks> plan;    // by which they come from where they are encoded

    Index encoded(std::size_t b) const { return end[b] - begin[b]; }
};

template <sp::Layout L>
Shard shard_of(const Batch& batch, const L& layout, const Run& run, int cp_rank, int tp_rank) {
    // On the whole batch, before it is split. A vision token is no target.
    const std::size_t size = batch.ids.size();
    std::vector<std::int32_t> rows(size), bank(size);
    sp::build_rows(thrust::seq, batch.ids, sp::placeholders({{image, 0}, {video, 1}}), rows, bank);
    std::array<List, banks> items;
    std::vector<sp::BankInfo> info;
    for (std::size_t b = 0; b < banks; ++b) {
        items[b] = sp::row_offsets(batch.items[b], 1);
        info.push_back({items[b].back(), sp::offsets(items[b])});
    }
    sp::throw_if_bad(sp::check_rows(rows, bank, info, sp::no_array, batch.cu_seqlens));
    List targets = batch.ids, labels(size), places(size), turns;
    for (Index& target : targets)
        target = target >= image ? ignore : target;
    sp::shift_labels(thrust::seq, targets, batch.cu_seqlens, 1, ignore, labels);
    sp::document_positions(thrust::seq, batch.cu_seqlens, places);
    for (const List& axis : batch.turns)
        turns.insert(turns.end(), axis.begin(), axis.end());

    // This rank's part.
    const auto tp_sp = sp::nested(layout, sp::Contiguous{}, run.tp);
    const int rank = cp_rank * run.tp + tp_rank;
    const Index slots = layout.slots(cp_rank);
    Shard shard;
    Tokens& tokens = shard.tokens;
    shard.ids.resize(at(tp_sp.slots(rank)));
    shard.rows.resize(shard.ids.size());
    shard.bank.resize(shard.ids.size());
    tokens.source.resize(at(slots));
    tokens.begin.resize(at(slots));
    tokens.labels.resize(at(slots));
    tokens.turns.resize(at(3 * slots));
    const auto filled = [](const auto& field, auto value) {
        if constexpr (sp::is_padded<L>) {
            return field.fill(value);
        } else {
            static_cast<void>(value);
            return field;
        }
    };
    sp::shard_batch(
        thrust::seq, tp_sp, rank, filled(sp::field(batch.ids, sp::axis<0>, shard.ids), 0),
        filled(sp::field(rows, sp::axis<0>, shard.rows), -1), filled(sp::field(bank, sp::axis<0>, shard.bank), -1),
        filled(sp::field(labels, sp::axis<-1>, tokens.labels).with(layout, cp_rank), ignore),
        filled(sp::field(places, sp::axis<-1>, tokens.begin).with(layout, cp_rank), 0),
        filled(
            sp::field(sp::tensor(turns.data(), 3, batch.size()), sp::axis<1>, sp::tensor(tokens.turns.data(), 3, slots))
                .with(layout, cp_rank),
            0));
    sp::sources(thrust::seq, layout, cp_rank, tokens.source);
    for (std::size_t t = 0; t < tokens.begin.size(); ++t)
        tokens.begin[t] = tokens.source[t] - tokens.begin[t];

    std::vector<std::int32_t> routed(at(slots), -1);
    for (std::size_t b = 0; b < banks; ++b) {
        const auto ranks = run.sharded() ? run.cp : 1;
        List cuts = sp::cuts_by_count(static_cast<Index>(batch.items[b].size()), ranks);
        for (Index& cut : cuts)
            cut = items[b][at(cut)];
        shard.begin[b] = cuts[at(run.sharded() ? cp_rank : 0)];
        shard.end[b] = cuts[at(run.sharded() ? cp_rank + 1 : 1)];
        if (run.encoder == Encoder::gathered) shard.plan[b] = sp::plan_all_gather_v(cuts, cp_rank);
        if (run.encoder == Encoder::routed)
            shard.plan[b] =
                sp::plan_owned(layout, cp_rank, sp::row_array(rows, bank), static_cast<int>(b), cuts, routed);
        shard.known[b] = run.sharded() ? shard.plan[b].rows_out : cuts.back();
    }
    if (run.encoder == Encoder::routed)
        sp::shard(thrust::seq, sp::Contiguous{}(slots, run.tp), tp_rank, routed, sp::axis<0>, shard.rows);
    return shard;
}

// --- what a layer asks of other ranks ---------------------------------------------------------------------------------
template <sp::Layout L>
class Split final : public Peers {
public:
    Split(const L& layout, const Ranks& ranks, bool ring) : layout_(layout), cp_(ranks.cp), tp_(ranks.tp), ring_(ring) {
        part = tp_.rank();
        parts = tp_.size();
    }

    Matrix gather_tokens(const Matrix& kept) const override {
        Matrix all(kept.rows() * parts, kept.cols());
        together(tp_, [&](auto& g) { tp_.all_gather(g, kept.data(), all.data(), kept.size(), f64, {}); });
        return all;
    }
    Matrix reduce_tokens(const Matrix& partial) const override {
        Matrix kept(partial.rows() / parts, partial.cols());
        together(tp_, [&](auto& g) {
            tp_.reduce_scatter(g, partial.data(), kept.data(), kept.size(), f64, sp::Reduction::sum, {});
        });
        return kept;
    }
    Matrix gather_keys(const Matrix& own) const override {
        Matrix block = own, all(layout_.source_size(), own.cols());
        if (ring_) {
            for (int step = 0; step < cp_.size(); ++step) {
                if (step > 0) block = pass_on(block, layout_.slots(from(step)));
                sp::shard_adjoint(thrust::seq, layout_, from(step), tensor(block), sp::axis<0>, tensor(all));
            }
        } else {
            Matrix joined(layout_.size(), own.cols());
            together(cp_,
                     [&](auto& g) { cp_.all_gather_v(g, own.data(), joined.data(), counts(own.cols()), f64, {}); });
            sp::unshard(thrust::seq, layout_, sp::joined(tensor(joined)), sp::axis<0>, tensor(all));
        }
        return all;
    }
    Matrix reduce_keys(const Matrix& d_all) const override {
        Matrix d_whole = d_all, sum;
        const auto part_of = [&](int rank) {
            Matrix shard(layout_.slots(rank), d_all.cols());
            sp::unshard_adjoint(thrust::seq, layout_, rank, tensor(d_whole), sp::axis<0>, tensor(shard));
            return shard;
        };
        if (ring_) {  // each block's gradient goes round once, and ends where the block began
            sum = part_of(from(1));
            for (int step = 2; step <= cp_.size(); ++step)
                sum = pass_on(sum, layout_.slots(from(step))) + part_of(from(step));
        } else {
            Matrix joined(0, d_all.cols());
            for (int r = 0; r < cp_.size(); ++r)
                joined = (Matrix(joined.rows() + layout_.slots(r), d_all.cols()) << joined, part_of(r)).finished();
            sum.resize(layout_.slots(cp_.rank()), d_all.cols());
            together(cp_, [&](auto& g) {
                cp_.reduce_scatter_v(g, joined.data(), sum.data(), counts(d_all.cols()), f64, sp::Reduction::sum, {});
            });
        }
        return sum;
    }
    void sum(Matrix& m) const override { all_reduce(tp_, m, sp::Reduction::sum); }
    void max(Matrix& m) const override { all_reduce(tp_, m, sp::Reduction::max); }

private:
    // The rank whose block is here after as many steps of the ring, and a step.
    int from(int step) const { return (cp_.rank() - step + cp_.size()) % cp_.size(); }
    Matrix pass_on(const Matrix& block, Index rows) const {
        Matrix next(rows, block.cols());
        together(cp_, [&](auto& g) {
            cp_.send(g, block.data(), block.size(), f64, from(cp_.size() - 1), {});
            cp_.recv(g, next.data(), next.size(), f64, from(1), {});
        });
        return next;
    }
    List counts(Index columns) const {
        List all;
        for (int r = 0; r < cp_.size(); ++r)
            all.push_back(layout_.slots(r) * columns);
        return all;
    }

    L layout_;
    const sp::VirtualRank &cp_, &tp_;
    bool ring_;
};

// --- the encoder ------------------------------------------------------------------------------------------------------
inline auto rows_of(Matrix& in, Matrix& out) { return sp::field(tensor(in), sp::axis<0>, tensor(out)); }

// On the first stage. A rank without items encodes a filler, which no bank ever holds.
class EncoderOfRank {
public:
    EncoderOfRank(const Weights& w, const Batch& batch, const Shard& shard, const Run& run, const Ranks& ranks)
        : shard_(shard), run_(run), ranks_(ranks) {
        for (std::size_t b = 0; b < banks; ++b) {
            input_[b] = has_filler(b) ? Matrix(Matrix::Constant(1, patch, 7))
                                      : Matrix(batch.patches[b].middleRows(shard.begin[b], shard.encoded(b)));
            for (std::size_t k = 0; k <= levels; ++k)
                output_[b][k] = encode(input_[b], w.encoder[b][k], run.numbers);
        }
    }

    // The rows known here; x is made to depend on a filler.
    OfBanks forward(Matrix& x) {
        OfBanks known;
        for (std::size_t b = 0; b < banks; ++b) {
            if (has_filler(b)) sp::ZeroDependency{}(thrust::seq, tensor(x), tensor(x));
            OfLevels own;
            for (std::size_t k = 0; k <= levels; ++k) {
                own[k] = has_filler(b) ? Matrix(0, width) : output_[b][k];
                known[b][k] = run_.sharded() ? Matrix(shard_.known[b], width) : own[k];
            }
            if (run_.sharded())
                sp::exchange_batch(thrust::seq, ranks_.cp, shard_.plan[b], rows_of(own[0], known[b][0]),
                                   rows_of(own[1], known[b][1]), rows_of(own[2], known[b][2]));
        }
        return known;
    }

    // Makes of what this rank's tokens give the gradient of the weights, the same on all ranks, by the sums that are due.
    void backward(OfBanks& d_known, Matrix& d_x, Weights& d_w) {
        for (std::size_t b = 0; b < banks; ++b) {
            sp::GradientState tp(run_.over_tp, run_.tp), cp(over_cp(), run_.cp);
            OfLevels &d = d_known[b], &d_weights = d_w.encoder[b], own;
            for (const auto& [group, state] : {std::pair{&ranks_.tp, &tp}, {&ranks_.cp, &cp}}) {
                if (state->bank_sum() == sp::BankSum::all_reduce)
                    sp::sum_bank(thrust::seq, *group, *state, tensor(d[0]), tensor(d[1]), tensor(d[2]));
            }
            if (cp.bank_sum() == sp::BankSum::reduce_scatter) {
                own.fill(Matrix::Zero(shard_.encoded(b), width));
                sp::sum_bank_rows(thrust::seq, ranks_.cp, cp, shard_.plan[b], rows_of(d[0], own[0]),
                                  rows_of(d[1], own[1]), rows_of(d[2], own[2]));
            } else {
                own = d;
            }
            for (std::size_t k = 0; k <= levels; ++k) {
                if (has_filler(b)) {
                    own[k] = Matrix::Constant(1, width, std::numeric_limits<double>::quiet_NaN());
                    sp::ZeroDependency{}.backward(thrust::seq, tensor(d_x), tensor(d_x), tensor(own[k]));
                }
                encode_backward(input_[b], output_[b][k], own[k], d_weights[k], run_.numbers);
            }
            for (const auto& [group, state] : {std::pair{&ranks_.tp, &tp}, {&ranks_.cp, &cp}}) {
                if (state->weights_sum())
                    sp::sum_weights(thrust::seq, *group, *state, tensor(d_weights[0]), tensor(d_weights[1]),
                                    tensor(d_weights[2]));
                if (!state->done()) throw std::logic_error("a sum is left");
            }
        }
    }

private:
    bool has_filler(std::size_t b) const { return shard_.encoded(b) == 0; }
    sp::BankState over_cp() const {
        if (run_.sharded()) return sp::BankState::sharded;
        return run_.encoder == Encoder::invariant ? sp::BankState::invariant : sp::BankState::replicated;
    }

    const Shard& shard_;
    const Run& run_;
    const Ranks& ranks_;
    std::array<Matrix, banks> input_;
    OfBanks output_;
};

// --- the step ---------------------------------------------------------------------------------------------------------
// The loss and the gradients of the whole batch, on every rank; those of the encoder on the first stage.
inline Result step(const Weights& w, const Batch& batch, const Shard& shard, const Peers& peers, const Run& run,
                   const Ranks& ranks) {
    Result result;
    Weights& d_w = result.gradients;
    const Tokens& tokens = shard.tokens;
    const auto rows = sp::row_array(shard.rows, shard.bank);
    const auto level = [](OfBanks& all, std::size_t k) { return sp::banks(tensor(all[0][k]), tensor(all[1][k])); };
    const bool frozen = run.encoder == Encoder::frozen;
    const int stage = ranks.pp.rank();
    const auto first = at(stage) * layers / at(run.pp), last = at(stage + 1) * layers / at(run.pp);
    // Vectors, and the levels from layer `from` on, go to the next stage; their gradients come back.
    const auto pass = [&](bool sends, int peer, Matrix& vectors, OfBanks& all, std::size_t from) {
        std::vector<Matrix*> list{&vectors};
        for (std::size_t l = from; l < levels; ++l)
            list.insert(list.end(), {&all[0][1 + l], &all[1][1 + l]});
        together(ranks.pp, [&](auto& g) {
            for (Matrix* const m : list)
                sends ? ranks.pp.send(g, m->data(), m->size(), f64, peer, {})
                      : ranks.pp.recv(g, m->data(), m->size(), f64, peer, {});
        });
    };

    OfBanks bank, d_bank;
    for (std::size_t b = 0; b < banks; ++b) {
        bank[b].fill(Matrix::Zero(shard.known[b], width));
        d_bank[b] = bank[b];
    }
    Matrix x(static_cast<Index>(shard.ids.size()), width), d_x = x;
    EncoderOfRank encoder(w, batch, shard, run, ranks);
    if (stage == 0) {
        x = look_up(w.embedding, shard.ids);
        bank = encoder.forward(x);
        sp::VisionGather{}(thrust::seq, tensor(x), rows, level(bank, 0), tensor(x));
    } else {
        pass(false, stage - 1, x, bank, first);
    }
    std::vector<Layer> layer(layers, Layer(run.numbers));
    for (std::size_t l = first; l < last; ++l) {
        x = layer[l].forward(w.layer[l], x, tokens, peers);
        if (l < levels) sp::add_rows(thrust::seq, tensor(x), rows, level(bank, 1 + l));
    }

    Matrix total = Matrix::Zero(1, 1);
    if (stage + 1 == run.pp) {
        Matrix targets = Matrix::Constant(1, 1, static_cast<double>(sp::count_targets(tokens.labels, ignore)));
        all_reduce(ranks.cp, targets, sp::Reduction::sum);
        const double each = run.numbers == Numbers::real ? 1 / targets(0) : 1;
        total(0) = loss(w, d_w, x, d_x, tokens, peers, each, run.numbers);
        if (ranks.tp.rank() > 0) total(0) = 0;  // the same on all of TP
    } else {
        pass(true, stage + 1, x, bank, last);
        pass(false, stage + 1, d_x, d_bank, last);
    }

    for (std::size_t l = last; l-- > first;) {
        if (l < levels && !frozen)
            sp::add_rows_backward(thrust::seq, tensor(d_x), rows, level(d_bank, 1 + l), sp::Store{});
        d_x = layer[l].backward(w.layer[l], d_w.layer[l], d_x, tokens, peers);
    }
    if (stage > 0) {
        pass(true, stage - 1, d_x, d_bank, first);
    } else if (frozen) {
        sp::VisionGather{}.backward(thrust::seq, tensor(d_x), rows, tensor(d_x), sp::no_gradient, sp::Store{});
    } else {
        sp::VisionGather{}.backward(thrust::seq, tensor(d_x), rows, tensor(d_x), level(d_bank, 0), sp::Store{});
        encoder.backward(d_bank, d_x, d_w);
    }
    if (stage == 0) look_up_backward(d_x, shard.ids, d_w.embedding);

    // Of the decoder's weights each rank has a part of the sum: of its tokens, columns and layers.
    for (Matrix* const m : d_w.of_decoder())
        all_reduce(ranks.world, *m, sp::Reduction::sum);
    all_reduce(ranks.world, total, sp::Reduction::sum);
    result.loss = total(0);
    return result;
}

}  // namespace parity
