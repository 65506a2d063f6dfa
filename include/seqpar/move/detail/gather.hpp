// The host's side of VisionGather: checks on rows and shapes, and what is done with a stretch of text or vision tokens.
#pragma once

#include <seqpar/move/detail/host_copy.hpp>
#include <seqpar/move/detail/tokens.hpp>
#include <seqpar/tensor/half.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace seqpar {

// How backward writes the gradient of a bank: Store writes the rows that tokens refer to and leaves all others alone; Add adds
// to what is there, with one rounding a value.
struct Store {};
struct Add {};

namespace detail {

template <class T, std::size_t N>
struct BankList {
    std::array<VectorArray<T>, N> bank;
};

// Shape of token vectors against the row array's. `array` is what the Status names.
template <class Tokens, class T>
Status check_tokens(const Tokens& tokens, const VectorArray<T>& vectors, std::int64_t width, int array) {
    for (int i = 0; i < vectors.axes; ++i) {
        if (vectors.extents[i] != tokens.rows.extent(i))
            return make_status(Kind::extent, array, 0, tokens.rows.extent(i), vectors.extents[i], i);
    }
    if (vectors.width != width) return make_status(Kind::extent, array, 0, width, vectors.width, vectors.axes);
    return {};
}

// How many rows each bank has, or -1 where there is no such bank.
template <std::size_t N>
struct BankRows {
    std::array<std::int64_t, N> rows;

    std::int64_t operator()(std::int64_t bank) const {
        return bank < 0 || bank >= banks() ? -1 : rows[static_cast<std::size_t>(bank)];
    }
    static constexpr std::int64_t banks() { return static_cast<std::int64_t>(N); }
};

// Banks of which nothing is known, as where their gradient is not wanted.
struct AnyBankRows {
    std::int64_t operator()(std::int64_t bank) const { return bank < 0 ? -1 : INT64_MAX; }
    static constexpr std::int64_t banks() { return 256; }
};

// Looks for a bank or row that is not there and, where rows must be injective, for a row that comes twice. The worst of them,
// and of equal ones the first in the order in which `tokens` are walked.
template <class Tokens, class Rows>
Status check_row_numbers(const Tokens& tokens, const Rows& bank_rows, bool injective) {
    std::vector<std::vector<bool>> seen;
    for (std::int64_t b = 0; b < bank_rows.banks() && injective; ++b)
        seen.emplace_back(static_cast<std::size_t>(bank_rows(b)));
    Status worst;
    RowBlock block;
    for (std::int64_t loop = 0; loop < tokens.loops(); ++loop) {
        TokenIndex index = tokens.index(loop);
        for (std::int64_t begin = 0; begin < tokens.length(); begin += RowBlock::size) {
            index.at[tokens.inner] = begin;
            tokens.read(index, (std::min)(RowBlock::size, tokens.length() - begin), block);
            for (std::int64_t i = 0; i < block.count; ++i, ++index.at[tokens.inner]) {
                const std::int64_t row = block.row[i];
                if (row == -1) continue;
                const std::int64_t bank = block.bank == nullptr ? 0 : block.bank[i];
                const std::int64_t rows = bank_rows(bank);
                if (rows < 0) {
                    worst = worse(worst, make_status(Kind::bank_range, 0, tokens.flat(index), bank_rows.banks(), bank));
                } else if (row < 0 || row >= rows) {
                    worst = worse(worst,
                                  make_status(Kind::row_range, static_cast<int>(bank), tokens.flat(index), rows, row));
                } else if (injective) {
                    auto seen_row = seen[static_cast<std::size_t>(bank)][static_cast<std::size_t>(row)];
                    if (seen_row)
                        worst = worse(worst, make_status(Kind::row_reused, static_cast<int>(bank), tokens.flat(index),
                                                         0, 0, row));
                    seen_row = true;
                }
            }
        }
    }
    return worst;
}

// The first token that refers to a row, of which there is one.
template <class Tokens>
std::int64_t first_use(const Tokens& tokens, std::int64_t bank, std::int64_t row) {
    RowBlock block;
    for (std::int64_t loop = 0;; ++loop) {
        TokenIndex index = tokens.index(loop);
        for (; index.at[tokens.inner] < tokens.length(); ++index.at[tokens.inner]) {
            tokens.read(index, 1, block);
            if (block.row[0] == row && (block.bank == nullptr || block.bank[0] == bank)) return tokens.flat(index);
        }
    }
}

// The same, of equal ones the first in row-major order: what a Status names.
template <class Tokens, class Rows>
Status check_rows_in_order(const Tokens& tokens, const Rows& bank_rows, bool injective) {
    Status worst = check_row_numbers(tokens, bank_rows, injective);
    if (worst.ok()) return worst;
    Tokens in_order = tokens;
    in_order.inner = decltype(in_order.rows)::axes - 1;
    if (in_order.inner != tokens.inner) worst = check_row_numbers(in_order, bank_rows, injective);
    if (worst.kind() == Kind::row_reused) {
        worst.expected = first_use(in_order, worst.array(), worst.field);
        worst.got = worst.index();
    }
    return worst;
}

template <class Tokens, class T, std::size_t N>
Status check_rows_in_banks(const Tokens& tokens, const BankList<T, N>& list, bool injective) {
    BankRows<N> rows{};
    for (std::size_t b = 0; b < N; ++b)
        rows.rows[b] = list.bank[b].extents[0];
    return check_rows_in_order(tokens, rows, injective);
}

template <class To, class From>
void convert_vector(To* to, const From* from, std::int64_t width) {
    for (std::int64_t i = 0; i < width; ++i)
        to[i] = convert<To>(from[i]);
}

template <class T>
void zero_vectors(T* to, std::int64_t stride, std::int64_t count, std::int64_t width, bool past_cache) {
    if (stride == width) {
        width *= count;
        count = 1;
    }
    for (std::int64_t i = 0; i < count; ++i, to += stride) {
        if constexpr (is_number<T>) {
            zero_bytes(reinterpret_cast<std::byte*>(to), static_cast<std::size_t>(width) * sizeof(T), past_cache);
        } else {
            std::fill_n(to, width, T{});
        }
    }
}

// Vectors of `count` tokens, from one array to another, by bytes where the types are the same.
template <class To, class From>
void put_vectors(Copies& copies, To* to, std::int64_t to_stride, const From* from, std::int64_t from_stride,
                 std::int64_t count, std::int64_t width) {
    if (std::is_same_v<To, From> && to_stride == width && from_stride == width) {
        width *= count;
        count = 1;
    }
    for (std::int64_t i = 0; i < count; ++i, to += to_stride, from += from_stride) {
        if constexpr (std::is_same_v<To, From>) {
            copies.add(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from),
                       static_cast<std::size_t>(width) * sizeof(To));
        } else {
            convert_vector(to, from, width);
        }
    }
}

template <class T, class B, std::size_t N>
struct Forward {
    VectorArray<const T> embeddings;
    BankList<const B, N> banks;
    VectorArray<T> out;
    bool in_place = false;

    struct Visit {
        const Forward& op;
        int inner;
        Copies copies;

        void text(const TokenIndex& index, std::int64_t count) {
            if (op.in_place) return;
            put_vectors(copies, op.out.vector(index), op.out.strides[inner], op.embeddings.vector(index),
                        op.embeddings.strides[inner], count, op.out.width);
        }
        void vision(const TokenIndex& index, std::int64_t count, std::int64_t bank, std::int64_t row) {
            const auto& from = op.banks.bank[static_cast<std::size_t>(bank)];
            put_vectors(copies, op.out.vector(index), op.out.strides[inner], from.data + row * from.strides[0],
                        from.strides[0], count, op.out.width);
        }
        void finish() { copies.finish(); }
    };
    Visit visit(int inner, bool past_cache) const { return {*this, inner, Copies(past_cache)}; }
};

// a + b with the last bit set where bits are lost: rounded on to a shorter type, it is the exact sum rounded once.
inline double add_sticky(double a, double b) {
    const double sum = a + b;
    const double of_b = sum - a;
    const double lost = (a - (sum - of_b)) + (b - of_b);
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
    if (lost != lost || lost == 0 || (bits & 1) != 0) return sum;
    return std::bit_cast<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// The type that a gradient is added in: then rounded once to the bank's, with the result of exact addition rounded once.
template <class A, class B>
using sum_type = std::conditional_t<std::is_same_v<A, B>, std::conditional_t<is_half<A>, float, A>, double>;

template <class G, class E, class B, std::size_t N, class Mode>
struct Backward {
    VectorArray<const G> d_out;
    VectorArray<E> d_embeddings;
    BankList<B, N> d_banks;
    bool in_place = false;
    bool want_embeddings = true;
    bool want_banks = true;

    struct Visit {
        const Backward& op;
        int inner;
        Copies copies;

        void text(const TokenIndex& index, std::int64_t count) {
            if (op.in_place || !op.want_embeddings) return;
            put_vectors(copies, op.d_embeddings.vector(index), op.d_embeddings.strides[inner], op.d_out.vector(index),
                        op.d_out.strides[inner], count, op.d_out.width);
        }
        void vision(const TokenIndex& index, std::int64_t count, std::int64_t bank, std::int64_t row) {
            const G* const from = op.d_out.vector(index);
            const std::int64_t from_stride = op.d_out.strides[inner];
            if (op.want_banks) {
                const auto& into = op.d_banks.bank[static_cast<std::size_t>(bank)];
                B* const to = into.data + row * into.strides[0];
                if constexpr (std::is_same_v<Mode, Store>) {
                    put_vectors(copies, to, into.strides[0], from, from_stride, count, op.d_out.width);
                } else {
                    for (std::int64_t i = 0; i < count; ++i)
                        add_vector(to + i * into.strides[0], from + i * from_stride, op.d_out.width);
                }
            }
            if (op.want_embeddings) {
                if (op.in_place && op.want_banks && std::is_same_v<Mode, Store>)
                    copies.finish();  // the copies read what is zeroed now
                zero_vectors(op.d_embeddings.vector(index), op.d_embeddings.strides[inner], count, op.d_out.width,
                             copies.past_cache());
            }
        }
        void finish() { copies.finish(); }

        static void add_vector(B* to, const G* from, std::int64_t width) {
            using Sum = sum_type<B, G>;
            for (std::int64_t i = 0; i < width; ++i) {
                if constexpr (std::is_same_v<Sum, double> && !std::is_same_v<B, double>) {
                    to[i] = convert<B>(add_sticky(convert<double>(to[i]), convert<double>(from[i])));
                } else {
                    to[i] = convert<B>(convert<Sum>(to[i]) + convert<Sum>(from[i]));
                }
            }
        }
    };
    Visit visit(int inner, bool past_cache) const { return {*this, inner, Copies(past_cache)}; }
};

// The work of one exec item: a stretch of tokens of one loop.
template <class Tokens, class Op>
class HostGather {
public:
    HostGather(const Tokens& tokens, const Op& op, std::int64_t vector_bytes) : tokens_(tokens), op_(op) {
        past_cache_ = writes_past_cache(tokens.length() * tokens.loops() * vector_bytes);
        chunk_ = (std::max<std::int64_t>)(1, (std::int64_t{1} << 20) / (std::max<std::int64_t>)(vector_bytes, 1));
        chunks_ = (tokens.length() + chunk_ - 1) / chunk_;
    }

    std::int64_t items() const { return chunks_ * tokens_.loops(); }

    void operator()(std::int64_t item) const {
        const std::int64_t loop = item / chunks_;
        const std::int64_t first = (item - loop * chunks_) * chunk_;
        auto visit = op_.visit(tokens_.inner, past_cache_);
        tokens_.walk(tokens_.index(loop), first, (std::min)(first + chunk_, tokens_.length()), visit);
        visit.finish();
    }

private:
    Tokens tokens_;
    Op op_;
    std::int64_t chunk_;
    std::int64_t chunks_;
    bool past_cache_;
};

template <HostExec D, class Tokens, class Op>
void gather_rows(Dispatch, const D& exec, const Tokens& tokens, const Op& op, std::int64_t vector_bytes) {
    const HostGather<Tokens, Op> work(tokens, op, vector_bytes);
    for_each_index(exec, work.items(), work);
}
template <class D, class Tokens, class Op>
void gather_rows(NoBackend, const D&, const Tokens&, const Op&, std::int64_t) {
    static_assert(is_host_exec<D>,
                  "this execution policy runs on no host: a CUDA one needs #include <seqpar/cuda.hpp>");
}

// Token vectors as an array, to compare memory.
template <class T>
ArrayRef array_of(const VectorArray<T>& v) {
    ArrayRef a;
    a.data = const_cast<std::remove_cv_t<T>*>(v.data);
    a.element_bytes = sizeof(T);
    a.axes = v.axes + 1;
    for (int i = 0; i < v.axes; ++i) {
        a.extents[i] = v.extents[i];
        a.strides[i] = v.strides[i];
    }
    a.extents[v.axes] = v.width;
    a.strides[v.axes] = 1;
    return a;
}

// Whether `out` is the same memory as `in` in the same order. Bad if they meet otherwise or out has a value in two places.
template <class A, class B>
Status check_in_place(const VectorArray<A>& in, const VectorArray<B>& out, bool& in_place, int array) {
    const ArrayRef x = array_of(in);
    const ArrayRef y = array_of(out);
    in_place = std::is_same_v<std::remove_const_t<A>, std::remove_const_t<B>> && x.data == y.data && x.axes == y.axes;
    for (int i = 0; in_place && i < x.axes; ++i)
        in_place = x.extents[i] == y.extents[i] && x.strides[i] == y.strides[i];
    if (repeats_memory(y) || (!in_place && shares_memory(x, y))) return make_status(Kind::overlap, array, 0, 0, 1);
    return {};
}

// Whether no bank meets `vectors`; for banks that are written also that they have no value in two places and meet no other.
template <class B, std::size_t N, class T>
Status check_apart(const BankList<B, N>& list, const VectorArray<T>& vectors) {
    const ArrayRef other = array_of(vectors);
    for (std::size_t b = 0; b < N; ++b) {
        const ArrayRef bank = array_of(list.bank[b]);
        bool bad = shares_memory(bank, other);
        if constexpr (!std::is_const_v<B>) {
            bad = bad || repeats_memory(bank);
            for (std::size_t c = 0; c < b; ++c)
                bad = bad || shares_memory(bank, array_of(list.bank[c]));
        }
        if (bad) return make_status(Kind::overlap, static_cast<int>(b), 0, 0, 1);
    }
    return {};
}

template <class B, std::size_t N>
Status check_banks(const BankList<B, N>& list, std::int64_t width) {
    for (std::size_t b = 0; b < N; ++b) {
        const auto& bank = list.bank[b];
        if (bank.width != width) return make_status(Kind::extent, static_cast<int>(b), 0, width, bank.width, 1);
    }
    return {};
}

}  // namespace detail
}  // namespace seqpar
