// A small vision-language model with its gradients by hand: token embeddings, an encoder of two banks with two DeepStack levels,
// decoder layers (causal attention inside documents with three-axis rotary positions, MLP), the loss over the vocabulary. Its parts
// work on some of the tokens, heads and columns, and ask Peers for the rest. Not here: the step of one process (one_process.hpp)
// and of many ranks (step.hpp).
#pragma once

#include "layout/random.hpp"

#include <Eigen/Core>

#include <array>
#include <cmath>

namespace parity {

using Index = std::int64_t;
using List = std::vector<Index>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Block = Eigen::Ref<Matrix, 0, Eigen::OuterStride<>>;

constexpr Index vocabulary = 24, width = 12, head_width = 6, inner = 16, patch = 5;
constexpr std::size_t layers = 3, levels = 2, banks = 2;
constexpr Index image = 22, video = 23, ignore = -100;

// whole: in place of what rounds stands something alike that keeps whole numbers whole, so that sums are exact in any order.
enum class Numbers { real, whole };

inline std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// --- weights ----------------------------------------------------------------------------------------------------------
struct LayerWeights {
    Matrix norm_attention, query, key, value, out, norm_mlp, up, down;
};
using BankMatrices = std::array<std::array<Matrix, banks>, 1 + levels>;  // of the banks, then of each level

struct Weights {
    Matrix embedding, norm, head;
    std::array<LayerWeights, layers> layer;
    BankMatrices encoder;

    std::vector<Matrix*> of_decoder() {
        std::vector<Matrix*> all{&embedding, &norm, &head};
        for (LayerWeights& l : layer)
            all.insert(all.end(), {&l.norm_attention, &l.query, &l.key, &l.value, &l.out, &l.norm_mlp, &l.up, &l.down});
        return all;
    }
    std::vector<Matrix*> of_encoder() {
        std::vector<Matrix*> all;
        for (auto& level : encoder) {
            for (Matrix& matrix : level)
                all.push_back(&matrix);
        }
        return all;
    }
};

inline Weights zero_weights() {
    Weights w;
    w.embedding = Matrix::Zero(vocabulary, width);
    w.head = Matrix::Zero(width, vocabulary);
    w.norm = Matrix::Zero(1, width);
    for (LayerWeights& l : w.layer) {
        for (Matrix* const square : {&l.query, &l.key, &l.value, &l.out})
            *square = Matrix::Zero(width, width);
        l.norm_attention = l.norm_mlp = w.norm;
        l.up = Matrix::Zero(width, inner);
        l.down = Matrix::Zero(inner, width);
    }
    for (Matrix* const matrix : w.of_encoder())
        *matrix = Matrix::Zero(patch, width);
    return w;
}

// Real: in [-1, 1], scaled. Whole: -1, 0 or 1.
inline void fill(test::Random& random, Numbers numbers, double scale, Matrix& matrix) {
    for (double& x : matrix.reshaped()) {
        x = numbers == Numbers::real ? scale * static_cast<double>(random.between(-1000, 1000)) / 1000
                                     : static_cast<double>(random.between(-1, 1));
    }
}

inline Weights random_weights(test::Random& random, Numbers numbers) {
    Weights w = zero_weights();
    for (Matrix* const matrix : w.of_decoder())
        fill(random, numbers, 0.6, *matrix);
    for (Matrix* const matrix : w.of_encoder())
        fill(random, numbers, 1, *matrix);
    return w;
}

// --- tokens, and other ranks ------------------------------------------------------------------------------------------
// Those whose attention a rank computes. Numbers of tokens are those of the unpadded sequence; a pad slot has -1.
struct Tokens {
    List source, begin;  // of each, and of the first of its document
    List turns;          // [3, tokens]: its place on the three axes
    List labels;         // the token that comes next, or `ignore`
    List key_source;     // of each key that Peers give
};

// What a rank asks of others. Alone it has all tokens, heads and columns itself.
struct Peers {
    Index part = 0, parts = 1;  // which of the heads and columns of matrices are computed here

    virtual ~Peers() = default;
    // Between the tokens whose vectors this rank keeps and Tokens (TP-SP): the second, which adds up parts, is the first's adjoint.
    virtual Matrix gather_tokens(const Matrix& kept) const { return kept; }
    virtual Matrix reduce_tokens(const Matrix& partial) const { return partial; }
    // Between the keys and values of Tokens and those of all that they may look at (CP), and its adjoint.
    virtual Matrix gather_keys(const Matrix& own) const { return own; }
    virtual Matrix reduce_keys(const Matrix& all) const { return all; }
    // Over the parts of the vocabulary.
    virtual void sum(Matrix&) const {}
    virtual void max(Matrix&) const {}
};

// --- parts of a layer -------------------------------------------------------------------------------------------------
// Divided by the root mean square, or what remains of 5, from -2 to 2; then scaled. [tokens, width]
inline double remains(double x) { return std::remainder(x, 5); }

inline Matrix norm(const Matrix& x, const Matrix& scale, Numbers numbers) {
    Matrix y = x;
    for (auto row : y.rowwise()) {
        if (numbers == Numbers::real) row /= std::sqrt(row.squaredNorm() / width + 1e-6);
        if (numbers == Numbers::whole) row = row.unaryExpr(&remains).eval();
        row.array() *= scale.row(0).array();
    }
    return y;
}
inline Matrix norm_backward(const Matrix& x, const Matrix& scale, const Matrix& d_y, Matrix& d_scale, Numbers numbers) {
    Matrix d_x(x.rows(), x.cols());
    for (Index t = 0; t < x.rows(); ++t) {
        const Eigen::Array<double, 1, Eigen::Dynamic> row = x.row(t), d_row = d_y.row(t).array() * scale.row(0).array();
        if (numbers == Numbers::real) {
            const double r = std::sqrt(row.matrix().squaredNorm() / width + 1e-6);
            d_scale.array().row(0) += d_y.row(t).array() * row / r;
            d_x.row(t) = d_row / r - row * (d_row * row).sum() / (width * r * r * r);
        } else {
            d_scale.array().row(0) += d_y.row(t).array() * row.unaryExpr(&remains);
            d_x.row(t) = d_row;
        }
    }
    return d_x;
}

// Turns the pair of each axis in each head by the token's place there; sense -1: back, which is the adjoint.
inline void turn(Block x, const Tokens& tokens, int sense, Numbers numbers) {
    const Index count = x.rows();
    for (Index t = 0; t < count; ++t) {
        for (Index pair = 0; pair < x.cols() / 2; ++pair) {
            const Index axis = pair % 3, place = sense * tokens.turns[at(axis * count + t)];
            const double angle = static_cast<double>(place) * (axis == 0 ? 0.7 : axis == 1 ? 0.31 : 0.13);
            const auto quarter = (place % 4 + 4) % 4;
            const double c = numbers == Numbers::real ? std::cos(angle) : quarter == 0 ? 1 : quarter == 2 ? -1 : 0;
            const double s = numbers == Numbers::real ? std::sin(angle) : quarter == 1 ? 1 : quarter == 3 ? -1 : 0;
            const double a = x(t, 2 * pair), b = x(t, 2 * pair + 1);
            x(t, 2 * pair) = c * a - s * b;
            x(t, 2 * pair + 1) = s * a + c * b;
        }
    }
}

inline double activation(double x, Numbers numbers) {
    return numbers == Numbers::real ? std::tanh(x) : std::fmax(x, 0);
}
inline double activation_slope(double x, Numbers numbers) {
    if (numbers == Numbers::whole) return x > 0 ? 1 : 0;
    return 1 - std::tanh(x) * std::tanh(x);
}

// 1 where a token sees a key: of its document, and not after it. [tokens, keys]
inline Matrix visible_keys(const Tokens& tokens) {
    Matrix visible(static_cast<Index>(tokens.source.size()), static_cast<Index>(tokens.key_source.size()));
    for (Index t = 0; t < visible.rows(); ++t) {
        for (Index k = 0; k < visible.cols(); ++k) {
            const Index key = tokens.key_source[at(k)];
            visible(t, k) = key >= 0 && key >= tokens.begin[at(t)] && key <= tokens.source[at(t)] ? 1 : 0;
        }
    }
    return visible;
}

// How much a token takes of each key: the softmax of its scores, or the scores themselves. A pad slot takes nothing.
inline Matrix attention_shares(const Matrix& scores, const Matrix& visible, Numbers numbers) {
    if (numbers == Numbers::whole) return scores.cwiseProduct(visible);
    Matrix shares = (visible.array() != 0).select(scores, -INFINITY);
    for (Index t = 0; t < shares.rows(); ++t) {
        const bool none = visible.row(t).isZero();
        shares.row(t) = none ? visible.row(t) : Matrix((shares.row(t).array() - shares.row(t).maxCoeff()).exp());
        if (!none) shares.row(t) /= shares.row(t).sum();
    }
    return shares;
}

// --- a decoder layer --------------------------------------------------------------------------------------------------
class Layer {
public:
    explicit Layer(Numbers numbers) : numbers_(numbers) {}

    Matrix forward(const LayerWeights& w, const Matrix& x, const Tokens& tokens, const Peers& peers) {
        x_ = x;
        const Index columns = width / peers.parts, first = peers.part * columns;
        normed_ = peers.gather_tokens(norm(x_, w.norm_attention, numbers_));
        query_ = normed_ * w.query.middleCols(first, columns);
        Matrix own(normed_.rows(), 2 * columns);
        own << normed_ * w.key.middleCols(first, columns), normed_ * w.value.middleCols(first, columns);
        turn(query_, tokens, 1, numbers_);
        turn(own.leftCols(columns), tokens, 1, numbers_);
        keys_ = peers.gather_keys(own);
        mixed_.resize(normed_.rows(), columns);
        visible_ = visible_keys(tokens);
        shares_.clear();
        for (Index h = 0; h < columns; h += head_width) {
            const Matrix scores = scale() * query_.middleCols(h, head_width) * key(h).transpose();
            shares_.push_back(attention_shares(scores, visible_, numbers_));
            mixed_.middleCols(h, head_width) = shares_.back() * value(h);
        }
        middle_ = x_ + peers.reduce_tokens(mixed_ * w.out.middleRows(first, columns));

        const Index some = inner / peers.parts;
        normed_middle_ = peers.gather_tokens(norm(middle_, w.norm_mlp, numbers_));
        up_ = normed_middle_ * w.up.middleCols(peers.part * some, some);
        return middle_ + peers.reduce_tokens(activated() * w.down.middleRows(peers.part * some, some));
    }

    // Adds to the gradients of the weights.
    Matrix backward(const LayerWeights& w, LayerWeights& d_w, const Matrix& d_y, const Tokens& tokens,
                    const Peers& peers) const {
        const Index some = inner / peers.parts, part = peers.part * some;
        Matrix d = peers.gather_tokens(d_y);
        d_w.down.middleRows(part, some) += activated().transpose() * d;
        Matrix d_up = d * w.down.middleRows(part, some).transpose();
        d_up.array() *= up_.unaryExpr([this](double x) { return activation_slope(x, numbers_); }).array();
        d_w.up.middleCols(part, some) += normed_middle_.transpose() * d_up;
        d = peers.reduce_tokens(d_up * w.up.middleCols(part, some).transpose());
        const Matrix d_middle = d_y + norm_backward(middle_, w.norm_mlp, d, d_w.norm_mlp, numbers_);

        const Index columns = width / peers.parts, first = peers.part * columns;
        d = peers.gather_tokens(d_middle);
        d_w.out.middleRows(first, columns) += mixed_.transpose() * d;
        const Matrix d_mixed = d * w.out.middleRows(first, columns).transpose();
        Matrix d_query(query_.rows(), columns), d_keys(keys_.rows(), 2 * columns);
        for (Index h = 0; h < columns; h += head_width) {
            const Matrix& shares = shares_[at(h / head_width)];
            const auto d_head = d_mixed.middleCols(h, head_width);
            Matrix d_scores = d_head * value(h).transpose();
            if (numbers_ == Numbers::real) {
                const Eigen::VectorXd means = (d_scores.array() * shares.array()).rowwise().sum();
                d_scores = shares.array() * (d_scores.colwise() - means).array();
            } else {
                d_scores.array() *= visible_.array();
            }
            d_scores *= scale();
            d_query.middleCols(h, head_width) = d_scores * key(h);
            d_keys.middleCols(h, head_width) = d_scores.transpose() * query_.middleCols(h, head_width);
            d_keys.middleCols(columns + h, head_width) = shares.transpose() * d_head;
        }
        Matrix d_own = peers.reduce_keys(d_keys);
        turn(d_query, tokens, -1, numbers_);
        turn(d_own.leftCols(columns), tokens, -1, numbers_);
        d_w.query.middleCols(first, columns) += normed_.transpose() * d_query;
        d_w.key.middleCols(first, columns) += normed_.transpose() * d_own.leftCols(columns);
        d_w.value.middleCols(first, columns) += normed_.transpose() * d_own.rightCols(columns);
        d = peers.reduce_tokens(d_query * w.query.middleCols(first, columns).transpose() +
                                d_own.leftCols(columns) * w.key.middleCols(first, columns).transpose() +
                                d_own.rightCols(columns) * w.value.middleCols(first, columns).transpose());
        return d_middle + norm_backward(x_, w.norm_attention, d, d_w.norm_attention, numbers_);
    }

private:
    double scale() const { return numbers_ == Numbers::real ? 1 / std::sqrt(double{head_width}) : 1; }
    Matrix activated() const {
        return up_.unaryExpr([this](double x) { return activation(x, numbers_); });
    }
    Matrix key(Index head) const { return keys_.middleCols(head, head_width); }
    Matrix value(Index head) const { return keys_.middleCols(keys_.cols() / 2 + head, head_width); }

    Numbers numbers_;
    Matrix x_, normed_, query_, keys_, mixed_, middle_, normed_middle_, up_, visible_;
    std::vector<Matrix> shares_;  // of each head: [tokens, keys]
};

// --- both ends --------------------------------------------------------------------------------------------------------
inline Matrix look_up(const Matrix& embedding, const List& ids) {
    Matrix x(static_cast<Index>(ids.size()), width);
    for (Index t = 0; t < x.rows(); ++t)
        x.row(t) = embedding.row(ids[at(t)]);
    return x;
}
inline void look_up_backward(const Matrix& d_x, const List& ids, Matrix& d_embedding) {
    for (Index t = 0; t < d_x.rows(); ++t)
        d_embedding.row(ids[at(t)]) += d_x.row(t);
}

// Bank rows from patches; levels are made from the same patches.
inline Matrix encode(const Matrix& patches, const Matrix& w, Numbers numbers) {
    const Matrix y = patches * w;
    return numbers == Numbers::real ? Matrix(y.array().tanh()) : y;
}
inline void encode_backward(const Matrix& patches, const Matrix& bank, const Matrix& d_bank, Matrix& d_w,
                            Numbers numbers) {
    d_w += patches.transpose() *
           (numbers == Numbers::real ? Matrix(d_bank.array() * (1 - bank.array().square())) : d_bank);
}

// The sum of the losses of Tokens, each times `weight`: cross entropy, or squares. Writes x's gradient, adds to those of weights.
inline double loss(const Weights& w, Weights& d_w, const Matrix& x, Matrix& d_x, const Tokens& tokens,
                   const Peers& peers, double weight, Numbers numbers) {
    const Index columns = vocabulary / peers.parts, first = peers.part * columns;
    const Matrix normed = peers.gather_tokens(norm(x, w.norm, numbers));
    Matrix logits = normed * w.head.middleCols(first, columns);  // and then their gradient
    Matrix most = logits.rowwise().maxCoeff(),
           sums(logits.rows(), 2);  // of exponentials or squares; of the label's logit
    peers.max(most);
    if (numbers == Numbers::whole) most.setZero();
    for (Index t = 0; t < logits.rows(); ++t) {
        const Index label = tokens.labels[at(t)] - first;
        const bool mine = label >= 0 && label < columns;
        sums(t, 1) = mine ? logits(t, label) : 0;
        if (numbers == Numbers::real) logits.row(t) = (logits.row(t).array() - most(t)).exp();
        if (numbers == Numbers::whole && mine) logits(t, label) -= 1;
        sums(t, 0) = numbers == Numbers::real ? logits.row(t).sum() : logits.row(t).squaredNorm();
    }
    peers.sum(sums);
    double total = 0;
    for (Index t = 0; t < logits.rows(); ++t) {
        const Index label = tokens.labels[at(t)] - first;
        const bool trained = tokens.labels[at(t)] != ignore;
        if (trained) total += numbers == Numbers::real ? std::log(sums(t, 0)) + most(t) - sums(t, 1) : sums(t, 0);
        logits.row(t) *= !trained ? 0 : numbers == Numbers::real ? weight / sums(t, 0) : 2 * weight;
        if (numbers == Numbers::real && label >= 0 && label < columns) logits(t, label) -= weight;
    }
    d_w.head.middleCols(first, columns) += normed.transpose() * logits;
    const Matrix d = peers.reduce_tokens(logits * w.head.middleCols(first, columns).transpose());
    d_x = norm_backward(x, w.norm, d, d_w.norm, numbers);
    return total * weight;
}

}  // namespace parity
