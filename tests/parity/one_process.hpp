// The batch, and the training step of one process, with nothing of the library: what the ranks' step must give.
#pragma once

#include "model.hpp"

#include <seqpar/balance/items.hpp>

namespace parity {

struct Batch {
    List ids, cu_seqlens{0};
    std::array<List, 3> turns;  // of each token on each axis, counted inside its document
    std::array<std::vector<seqpar::Grid>, banks> items;
    std::array<Matrix, banks> patches;  // [rows of the bank, patch]

    Index size() const { return static_cast<Index>(ids.size()); }
};

// Makes a batch piece by piece.
class BatchMaker {
public:
    BatchMaker(std::uint64_t seed, Numbers numbers) : random_(seed), numbers_(numbers) {}

    BatchMaker& text(Index count) {
        for (; count > 0; --count)
            token(random_.between(0, image - 1), 0, 0, 0), ++next_;
        return *this;
    }
    BatchMaker& item(Index placeholder, seqpar::Grid grid) {
        for (Index i = 0; i < grid.t * grid.h * grid.w; ++i)
            token(placeholder, i / (grid.h * grid.w), i / grid.w % grid.h, i % grid.w);
        next_ += (std::max)({grid.t, grid.h, grid.w});
        batch_.items[at(placeholder - image)].push_back(grid);
        return *this;
    }
    BatchMaker& end_document() {
        batch_.cu_seqlens.push_back(batch_.size());
        next_ = 0;
        return *this;
    }
    Batch done() {
        for (std::size_t b = 0; b < banks; ++b) {
            batch_.patches[b].resize(seqpar::row_offsets(batch_.items[b], 1).back(), patch);
            fill(random_, numbers_, 1, batch_.patches[b]);
        }
        return batch_;
    }

private:
    void token(Index id, Index t, Index h, Index w) {
        batch_.ids.push_back(id);
        batch_.turns[0].push_back(next_ + t);
        batch_.turns[1].push_back(next_ + h);
        batch_.turns[2].push_back(next_ + w);
    }

    test::Random random_;
    Numbers numbers_;
    Batch batch_;
    Index next_ = 0;
};

struct Result {
    double loss = 0;
    Weights gradients = zero_weights();
};

inline Result one_process(const Weights& w, const Batch& batch, Numbers numbers, bool frozen_encoder) {
    Result result;
    Weights& d_w = result.gradients;
    const Index tokens = batch.size();
    // Tokens: their documents, labels, and rows of banks.
    Tokens all;
    std::vector<std::pair<Index, Index>> row(at(tokens), {-1, -1});  // bank, row
    std::array<Index, banks> used{};
    Index targets = 0;
    for (const List& axis : batch.turns)
        all.turns.insert(all.turns.end(), axis.begin(), axis.end());
    for (std::size_t d = 0; d + 1 < batch.cu_seqlens.size(); ++d) {
        for (Index t = batch.cu_seqlens[d]; t < batch.cu_seqlens[d + 1]; ++t) {
            all.source.push_back(t);
            all.begin.push_back(batch.cu_seqlens[d]);
            const bool has_next = t + 1 < batch.cu_seqlens[d + 1] && batch.ids[at(t + 1)] < image;
            all.labels.push_back(has_next ? batch.ids[at(t + 1)] : ignore);
            targets += has_next ? 1 : 0;
            const Index bank = batch.ids[at(t)] - image;
            if (bank >= 0) row[at(t)] = {bank, used[at(bank)]++};
        }
    }
    all.key_source = all.source;
    const Peers alone;

    BankMatrices bank, d_bank;
    for (std::size_t k = 0; k <= levels; ++k) {
        for (std::size_t b = 0; b < banks; ++b) {
            bank[k][b] = encode(batch.patches[b], w.encoder[k][b], numbers);
            d_bank[k][b] = Matrix::Zero(bank[k][b].rows(), width);
        }
    }
    Matrix x = look_up(w.embedding, batch.ids), d_x;
    std::vector<Layer> layer(layers, Layer(numbers));
    for (Index t = 0; t < tokens; ++t) {
        const auto [b, r] = row[at(t)];
        if (b >= 0) x.row(t) = bank[0][at(b)].row(r);
    }
    for (std::size_t l = 0; l < layers; ++l) {
        x = layer[l].forward(w.layer[l], x, all, alone);
        for (Index t = 0; t < tokens && l < levels; ++t) {
            const auto [b, r] = row[at(t)];
            if (b >= 0) x.row(t) += bank[1 + l][at(b)].row(r);
        }
    }
    result.loss =
        loss(w, d_w, x, d_x, all, alone, numbers == Numbers::real ? 1 / static_cast<double>(targets) : 1, numbers);
    for (std::size_t l = layers; l-- > 0;) {
        for (Index t = 0; t < tokens && l < levels; ++t) {
            const auto [b, r] = row[at(t)];
            if (b >= 0) d_bank[1 + l][at(b)].row(r) = d_x.row(t);
        }
        d_x = layer[l].backward(w.layer[l], d_w.layer[l], d_x, all, alone);
    }
    for (Index t = 0; t < tokens; ++t) {
        const auto [b, r] = row[at(t)];
        if (b < 0) continue;
        d_bank[0][at(b)].row(r) = d_x.row(t);
        d_x.row(t).setZero();
    }
    look_up_backward(d_x, batch.ids, d_w.embedding);
    for (std::size_t k = 0; k <= levels && !frozen_encoder; ++k) {
        for (std::size_t b = 0; b < banks; ++b)
            encode_backward(batch.patches[b], bank[k][b], d_bank[k][b], d_w.encoder[k][b], numbers);
    }
    return result;
}

}  // namespace parity
