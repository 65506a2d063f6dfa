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
using OfLevels = std::array<Matrix, 1 + levels>;  // for a bank itself, then for its levels
using OfBanks = std::array<OfLevels, banks>;

struct Weights {
    Matrix embedding, norm, head;
    std::array<LayerWeights, layers> layer;
    OfBanks encoder;

    std::vector<Matrix*> of_decoder() {
        std::vector<Matrix*> all{&embedding, &norm, &head};
        for (LayerWeights& l : layer)
            all.insert(all.end(), {&l.norm_attention, &l.query, &l.key, &l.value, &l.out, &l.norm_mlp, &l.up, &l.down});
        return all;
    }
    std::vector<Matrix*> of_encoder() {
        std::vector<Matrix*> all;
        for (OfLevels& bank : encoder) {
            for (Matrix& matrix : bank)
                all.push_back(&matrix);
        }
        return all;
    }
    std::vector<Matrix*> all() {
        std::vector<Matrix*> all = of_decoder();
        for (Matrix* const matrix : of_encoder())
            all.push_back(matrix);
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
// Those whose attention a rank computes, by their numbers in the unpadded sequence. A pad slot has -1.
struct Tokens {
    List source, begin;  // of each, and of the first of its document
    List turns;          // [3, tokens]: its place on the three axes
    List labels;         // the token that comes next, or `ignore`
};

// What a rank asks of others. Alone it has all tokens, heads and columns itself.
struct Peers {
    Index part = 0, parts = 1;  // which of the heads and columns of matrices are computed here

    virtual ~Peers() = default;
    // From the tokens whose vectors this rank keeps to Tokens (TP-SP), and the adjoint, which adds up what all parts give.
    virtual Matrix gather_tokens(const Matrix& kept) const { return kept; }
    virtual Matrix reduce_tokens(const Matrix& partial) const { return partial; }
    // From keys and values of Tokens to those of the sequence in its order (CP), and the adjoint.
    virtual Matrix gather_keys(const Matrix& own) const { return own; }
    virtual Matrix reduce_keys(const Matrix& all) const { return all; }
    // Over the parts of the vocabulary.
    virtual void sum(Matrix&) const {}
    virtual void max(Matrix&) const {}

    template <class M>
    auto columns(M& m) const {
        return m.middleCols(part * (m.cols() / parts), m.cols() / parts);
    }
    template <class M>
    auto rows(M& m) const {
        return m.middleRows(part * (m.rows() / parts), m.rows() / parts);
    }
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
inline Matrix visible_keys(const Tokens& tokens, Index keys) {
    Matrix visible = Matrix::Zero(static_cast<Index>(tokens.source.size()), keys);
    for (Index t = 0; t < visible.rows(); ++t) {
        for (Index k = tokens.begin[at(t)]; k >= 0 && k <= tokens.source[at(t)]; ++k)
            visible(t, k) = 1;
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
        normed_ = peers.gather_tokens(norm(x_, w.norm_attention, numbers_));
        query_ = normed_ * peers.columns(w.query);
        const Index columns = query_.cols();
        Matrix own(normed_.rows(), 2 * columns);
        own << normed_ * peers.columns(w.key), normed_ * peers.columns(w.value);
        turn(query_, tokens, 1, numbers_);
        turn(own.leftCols(columns), tokens, 1, numbers_);
        keys_ = peers.gather_keys(own);
        visible_ = visible_keys(tokens, keys_.rows());
        mixed_.resize(normed_.rows(), columns);
        shares_.clear();
        for (Index h = 0; h < columns; h += head_width) {
            const Matrix scores = scale() * query_.middleCols(h, head_width) * key(h).transpose();
            shares_.push_back(attention_shares(scores, visible_, numbers_));
            mixed_.middleCols(h, head_width) = shares_.back() * value(h);
        }
        middle_ = x_ + peers.reduce_tokens(mixed_ * peers.rows(w.out));
        normed_middle_ = peers.gather_tokens(norm(middle_, w.norm_mlp, numbers_));
        up_ = normed_middle_ * peers.columns(w.up);
        return middle_ + peers.reduce_tokens(activated() * peers.rows(w.down));
    }

    // Adds to the gradients of the weights.
    Matrix backward(const LayerWeights& w, LayerWeights& d_w, const Matrix& d_y, const Tokens& tokens,
                    const Peers& peers) const {
        Matrix d = peers.gather_tokens(d_y);
        peers.rows(d_w.down) += activated().transpose() * d;
        Matrix d_up = d * peers.rows(w.down).transpose();
        d_up.array() *= up_.unaryExpr([this](double x) { return activation_slope(x, numbers_); }).array();
        peers.columns(d_w.up) += normed_middle_.transpose() * d_up;
        d = peers.reduce_tokens(d_up * peers.columns(w.up).transpose());
        const Matrix d_middle = d_y + norm_backward(middle_, w.norm_mlp, d, d_w.norm_mlp, numbers_);

        d = peers.gather_tokens(d_middle);
        peers.rows(d_w.out) += mixed_.transpose() * d;
        const Matrix d_mixed = d * peers.rows(w.out).transpose();
        const Index columns = query_.cols();
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
        turn(d_query, tokens, -1, numbers_);
        Matrix d_own = peers.reduce_keys(d_keys);
        turn(d_own.leftCols(columns), tokens, -1, numbers_);
        const Matrix d_key = d_own.leftCols(columns), d_value = d_own.rightCols(columns);
        peers.columns(d_w.query) += normed_.transpose() * d_query;
        peers.columns(d_w.key) += normed_.transpose() * d_key;
        peers.columns(d_w.value) += normed_.transpose() * d_value;
        d = peers.reduce_tokens(d_query * peers.columns(w.query).transpose() +
                                d_key * peers.columns(w.key).transpose() +
                                d_value * peers.columns(w.value).transpose());
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
    const bool real = numbers == Numbers::real;
    const Matrix normed = peers.gather_tokens(norm(x, w.norm, numbers));
    Matrix logits = normed * peers.columns(w.head);  // and then their gradient
    Matrix most = logits.rowwise().maxCoeff();
    peers.max(most);
    Matrix sums = Matrix::Zero(logits.rows(), 2);  // of exponentials, or squares; the label's logit
    const auto label = [&](Index t) {              // among the columns here, or -1
        const Index here = tokens.labels[at(t)] - peers.part * logits.cols();
        return here < logits.cols() ? here : -1;
    };
    for (Index t = 0; t < logits.rows(); ++t) {
        if (label(t) >= 0) sums(t, 1) = logits(t, label(t));
        if (label(t) >= 0 && !real) logits(t, label(t)) -= 1;
        if (real) logits.row(t) = (logits.row(t).array() - most(t)).exp();
        sums(t, 0) = real ? logits.row(t).sum() : logits.row(t).squaredNorm();
    }
    peers.sum(sums);
    double total = 0;
    for (Index t = 0; t < logits.rows(); ++t) {
        const bool target = tokens.labels[at(t)] != ignore;
        if (target) total += real ? std::log(sums(t, 0)) + most(t) - sums(t, 1) : sums(t, 0);
        logits.row(t) *= !target ? 0 : real ? weight / sums(t, 0) : 2 * weight;
        if (real && label(t) >= 0) logits(t, label(t)) -= weight;
    }
    peers.columns(d_w.head) += normed.transpose() * logits;
    const Matrix d = peers.reduce_tokens(logits * peers.columns(w.head).transpose());
    d_x = norm_backward(x, w.norm, d, d_w.norm, numbers);
    return total * weight;
}

}  // namespace parity
