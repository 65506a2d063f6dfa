// Token vectors, banks and row arrays of random strides and bits, and VisionGather written out one element at a time.
#pragma once

#include "layout/random.hpp"

#include <seqpar/tensor/half.hpp>
#include <seqpar/tensor/traits.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <vector>

namespace test {

// An array [..., H] that owns its memory; its last axis is contiguous, all else may have gaps and run backwards.
template <class T, std::size_t N>
struct Vectors {
    std::vector<T> memory;
    std::array<std::int64_t, N> extents{};
    std::array<std::int64_t, N> strides{};
    std::int64_t first = 0;

    seqpar::StridedView<T, N> view() { return view_of<T>(memory.data()); }
    seqpar::StridedView<const T, N> view() const { return view_of<const T>(memory.data()); }
    T* at(const List& token) {
        std::int64_t offset = first;
        for (std::size_t i = 0; i < token.size(); ++i)
            offset += token[i] * strides[i];
        return memory.data() + offset;
    }
    const T* at(const List& token) const { return const_cast<Vectors*>(this)->at(token); }

private:
    template <class E>
    seqpar::StridedView<E, N> view_of(E* data) const {
        std::int64_t e[N];
        std::int64_t s[N];
        for (std::size_t i = 0; i < N; ++i) {
            e[i] = extents[i];
            s[i] = strides[i];
        }
        return seqpar::tensor(data + first, e, s);
    }
};

template <class T>
void fill_random(Random& random, std::vector<T>& values) {
    for (T& value : values) {
        const std::uint64_t bits =
            static_cast<std::uint64_t>(random.between(0, 0xFFFFFFFF) << 32 | random.between(0, 0xFFFFFFFF));
        std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));  // any bits: NaN, infinities and subnormals too
    }
}

template <class T, std::size_t N>
Vectors<T, N> random_vectors(Random& random, std::array<std::int64_t, N> shape, bool last_contiguous = true) {
    Vectors<T, N> v;
    v.extents = shape;
    std::array<std::size_t, N> order{};
    for (std::size_t i = 0; i < N; ++i)
        order[i] = i;
    const std::size_t free = last_contiguous ? N - 1 : N;
    if (free > 1 && random.once_in(2)) std::swap(order[0], order[free - 1]);
    std::int64_t stride = last_contiguous ? 1 : random.between(1, 3);
    for (std::size_t i = N; i-- > 0;) {
        const std::size_t axis = order[i];
        const bool backwards = axis < free && random.once_in(4);
        v.strides[axis] = backwards ? -stride : stride;
        if (backwards && shape[axis] > 0) v.first += (shape[axis] - 1) * stride;
        stride *= shape[axis] > 0 ? shape[axis] : 1;
        if (random.once_in(3)) stride += random.between(1, 5);
    }
    const std::int64_t margin = random.between(1, 9);
    v.first += margin;
    v.memory.resize(static_cast<std::size_t>(stride + 2 * margin));
    fill_random(random, v.memory);
    return v;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
template <class T>
void require_same_bits(const std::vector<T>& got, const std::vector<T>& expected) {
    REQUIRE(same_bits(got, expected));
}

// Calls f(token) for every index of the first axes of `shape`, in row-major order.
template <std::size_t M, class F>
void for_each_token(const std::array<std::int64_t, M>& shape, F f) {
    std::int64_t count = 1;
    for (std::int64_t extent : shape)
        count *= extent;
    for (std::int64_t number = 0; number < count; ++number) {
        List token(M);
        std::int64_t rest = number;
        for (std::size_t i = M; i-- > 0;) {
            token[i] = rest % shape[i];
            rest /= shape[i];
        }
        f(token);
    }
}

// Rows and banks of every token of a shape. Injective: each row of a bank once at most.
template <std::size_t M>
struct Rows {
    Vectors<std::int32_t, M> row;
    Vectors<std::int32_t, M> bank;
};
template <std::size_t M>
Rows<M> random_rows(Random& random, const std::array<std::int64_t, M>& shape, const List& bank_rows, bool injective) {
    Rows<M> rows{random_vectors<std::int32_t, M>(random, shape, false),
                 random_vectors<std::int32_t, M>(random, shape, false)};
    List next(bank_rows.size());
    for (std::size_t b = 0; b < next.size(); ++b)
        next[b] = bank_rows[b] > 0 ? random.between(0, bank_rows[b] / 2) : 0;
    const std::int64_t text_in = random.between(1, 4);
    for_each_token(shape, [&](const List& token) {
        const auto bank = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(bank_rows.size()) - 1));
        std::int64_t row = -1;
        if (!random.once_in(text_in) && bank_rows[bank] > 0) {
            if (!injective && random.once_in(3)) {
                row = random.between(0, bank_rows[bank] - 1);
            } else if (next[bank] < bank_rows[bank]) {
                row = next[bank]++;
                if (injective && random.once_in(6)) ++next[bank];
            }
        }
        *rows.row.at(token) = static_cast<std::int32_t>(row);
        *rows.bank.at(token) = row < 0 ? -1 : static_cast<std::int32_t>(bank);
    });
    return rows;
}

// out[i] = row[i] < 0 ? embeddings[i] : convert(bank[row[i]]).
template <class T, class B, std::size_t M>
void naive_forward(const Vectors<T, M + 1>& embeddings, const Rows<M>& rows, const std::vector<Vectors<B, 2>>& banks,
                   Vectors<T, M + 1>& out) {
    for_each_token(rows.row.extents, [&](const List& token) {
        const std::int32_t row = *rows.row.at(token);
        for (std::int64_t h = 0; h < out.extents[M]; ++h) {
            out.at(token)[h] =
                row < 0 ? embeddings.at(token)[h]
                        : seqpar::convert<T>(banks[static_cast<std::size_t>(*rows.bank.at(token))].at({row})[h]);
        }
    });
}

// d_embeddings[i] = row[i] < 0 ? convert(d_out[i]) : 0; the bank's row gets `put(what is there, d_out[i])`.
template <class G, class E, class B, std::size_t M, class Put>
void naive_backward(const Vectors<G, M + 1>& d_out, const Rows<M>& rows, Vectors<E, M + 1>* d_embeddings,
                    std::vector<Vectors<B, 2>>* d_banks, Put put) {
    for_each_token(rows.row.extents, [&](const List& token) {
        const std::int32_t row = *rows.row.at(token);
        for (std::int64_t h = 0; h < d_out.extents[M]; ++h) {
            const G g = d_out.at(token)[h];
            if (row >= 0 && d_banks != nullptr) {
                B& into = (*d_banks)[static_cast<std::size_t>(*rows.bank.at(token))].at({row})[h];
                into = put(into, g);
            }
            if (d_embeddings != nullptr) d_embeddings->at(token)[h] = row < 0 ? seqpar::convert<E>(g) : E{};
        }
    });
}

template <std::size_t M>
std::array<std::int64_t, M> random_tokens(Random& random) {
    std::array<std::int64_t, M> shape{};
    for (auto& extent : shape)
        extent = random.once_in(20) ? 0 : random.between(1, M == 1 ? 40 : 9);
    return shape;
}

template <class T>
struct Banks {
    std::vector<Vectors<T, 2>> list;
    List rows;

    Banks(Random& random, std::size_t count, std::int64_t width) {
        for (std::size_t b = 0; b < count; ++b) {
            rows.push_back(random.once_in(5) ? 0 : random.between(1, 30));
            list.push_back(random_vectors<T, 2>(random, {rows.back(), width}));
        }
    }
};

template <std::size_t M>
std::array<std::int64_t, M + 1> with_width(const std::array<std::int64_t, M>& tokens, std::int64_t width) {
    std::array<std::int64_t, M + 1> shape{};
    for (std::size_t i = 0; i < M; ++i)
        shape[i] = tokens[i];
    shape[M] = width;
    return shape;
}

}  // namespace test
