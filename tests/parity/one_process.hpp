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
    struct VisionToken {
        Index token;
        std::size_t bank;
        Index row;
    };
    std::vector<VisionToken> vision;
    std::array<Index, banks> used{};
    Tokens tokens;
    Index targets = 0;
    for (const List& axis : batch.turns)
        tokens.turns.insert(tokens.turns.end(), axis.begin(), axis.end());
    for (std::size_t d = 0; d + 1 < batch.cu_seqlens.size(); ++d) {
        for (Index t = batch.cu_seqlens[d]; t < batch.cu_seqlens[d + 1]; ++t) {
            tokens.source.push_back(t);
            tokens.begin.push_back(batch.cu_seqlens[d]);
            const bool target = t + 1 < batch.cu_seqlens[d + 1] && batch.ids[at(t + 1)] < image;
            tokens.labels.push_back(target ? batch.ids[at(t + 1)] : ignore);
            targets += target ? 1 : 0;
            const auto bank = at(batch.ids[at(t)] - image);
            if (batch.ids[at(t)] >= image) vision.push_back({t, bank, used[bank]++});
        }
    }
    OfBanks bank, d_bank;
    for (std::size_t b = 0; b < banks; ++b) {
        for (std::size_t k = 0; k <= levels; ++k) {
            bank[b][k] = encode(batch.patches[b], w.encoder[b][k], numbers);
            d_bank[b][k] = Matrix::Zero(bank[b][k].rows(), width);
        }
    }

    const Peers alone;
    Matrix x = look_up(w.embedding, batch.ids), d_x;
    for (const auto& [t, b, row] : vision)
        x.row(t) = bank[b][0].row(row);
    std::vector<Layer> layer(layers, Layer(numbers));
    for (std::size_t l = 0; l < layers; ++l) {
        x = layer[l].forward(w.layer[l], x, tokens, alone);
        for (const auto& [t, b, row] : vision) {
            if (l < levels) x.row(t) += bank[b][1 + l].row(row);
        }
    }
    const double each = numbers == Numbers::real ? 1 / static_cast<double>(targets) : 1;
    result.loss = loss(w, d_w, x, d_x, tokens, alone, each, numbers);
    for (std::size_t l = layers; l-- > 0;) {
        for (const auto& [t, b, row] : vision) {
            if (l < levels) d_bank[b][1 + l].row(row) = d_x.row(t);
        }
        d_x = layer[l].backward(w.layer[l], d_w.layer[l], d_x, tokens, alone);
    }
    for (const auto& [t, b, row] : vision) {
        d_bank[b][0].row(row) = d_x.row(t);
        d_x.row(t).setZero();
    }
    look_up_backward(d_x, batch.ids, d_w.embedding);
    for (std::size_t b = 0; b < banks && !frozen_encoder; ++b) {
        for (std::size_t k = 0; k <= levels; ++k)
            encode_backward(batch.patches[b], bank[b][k], d_bank[b][k], d_w.encoder[b][k], numbers);
    }
    return result;
}

}  // namespace parity
