// The host's side of VisionGather and of levels: checks on rows and shapes, and what is done with a stretch of text or vision
// tokens. Not here: the public operations.
#pragma once

#include <seqpar/move/detail/host_copy.hpp>
#include <seqpar/move/detail/tokens.hpp>
#include <seqpar/tensor/half.hpp>

#include <algorithm>
#include <vector>

namespace seqpar {

// How backward writes the gradient of a bank: Store writes the rows that tokens refer to and leaves all others alone; Add adds
// to what is there, with one rounding a value. Both for rows that one token at most refers to. Summed<Store> and Summed<Add> are
// for rows that several may refer to: their gradients are added in slot order, in Sum (by default the wider of f32 and the
// gradient's type), and then written once.
struct Store {};
struct Add {};
template <class Mode, class Sum = void>
struct Summed {};

namespace detail {

template <class Mode>
inline constexpr bool is_mode = std::is_same_v<Mode, Store> || std::is_same_v<Mode, Add>;
template <class Mode, class Sum>
inline constexpr bool is_mode<Summed<Mode, Sum>> = is_mode<Mode>;
template <class Mode>
inline constexpr bool is_summed = false;
template <class Mode, class Sum>
inline constexpr bool is_summed<Summed<Mode, Sum>> = true;

// In the place of a number of rows where none is known, as where there is no such level or gradient.
inline constexpr std::int64_t any_rows = INT64_MAX;

// A bank without axes stands for none: tokens that refer to it are passed over.
template <class T, std::size_t N>
struct BankList {
    using element = std::remove_const_t<T>;

    VectorArray<T> bank[N];

    SEQPAR_HD static constexpr std::int64_t count() { return static_cast<std::int64_t>(N); }
    SEQPAR_HD std::int64_t rows(std::int64_t b) const { return bank[b].axes == 0 ? any_rows : bank[b].extents[0]; }
};

// Banks of which nothing is known, as where their gradient is not wanted.
struct AnyBanks {
    SEQPAR_HD static constexpr std::int64_t count() { return 256; }
    SEQPAR_HD static constexpr std::int64_t rows(std::int64_t) { return any_rows; }
};

// Whether the bank and row number of a token, text or not, are there.
template <class Banks>
SEQPAR_HD Status check_row_number(const Banks& banks, std::int64_t token, std::int64_t bank, std::int64_t row) {
    if (row == -1) return {};
    if (bank < 0 || bank >= banks.count()) return make_status(Kind::bank_range, 0, token, banks.count(), bank);
    const std::int64_t rows = banks.rows(bank);
    if (row < 0 || row >= rows) return make_status(Kind::row_range, static_cast<int>(bank), token, rows, row);
    return {};
}

// The banks of L levels: one row array serves them all.
template <class T, std::size_t N, std::size_t L>
struct LevelList {
    using element = std::remove_const_t<T>;
    using written = T;
    static constexpr std::size_t banks = N;

    BankList<T, N> level[L];
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

// Looks for a bank or row that is not there and, where rows must be injective, for a row that comes twice. The worst of them,
// and of equal ones the first in the order in which `tokens` are walked.
template <class Tokens, class Banks>
Status check_row_numbers(const Tokens& tokens, const Banks& banks, bool injective) {
    std::vector<std::vector<bool>> seen;
    for (std::int64_t b = 0; b < banks.count() && injective; ++b)
        seen.emplace_back(static_cast<std::size_t>(banks.rows(b) == any_rows ? 0 : banks.rows(b)));
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
                if (!check_row_number(banks, 0, bank, row).ok()) {
                    worst = worse(worst, check_row_number(banks, tokens.flat(index), bank, row));
                } else if (injective && banks.rows(bank) != any_rows) {
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
template <class Tokens, class Banks>
Status check_rows_in_banks(const Tokens& tokens, const Banks& banks, bool injective) {
    Status worst = check_row_numbers(tokens, banks, injective);
    if (worst.ok()) return worst;
    Tokens in_order = tokens;
    in_order.inner = decltype(in_order.rows)::axes - 1;
    if (in_order.inner != tokens.inner) worst = check_row_numbers(in_order, banks, injective);
    if (worst.kind() == Kind::row_reused) {
        worst.expected = first_use(in_order, worst.array(), worst.field);
        worst.got = worst.index();
    }
    return worst;
}

// By blocks apart from both arrays, so that the loop becomes vector code and what it gives can go past the cache.
template <class To, class From>
void convert_vector(To* to, const From* from, std::int64_t width, bool past_cache) {
    if constexpr (is_number<To>) {
        constexpr std::int64_t most = 1024;
        To block[most];
        for (; width > 0; width -= most, to += most, from += most) {
            const std::int64_t part = (std::min)(width, most);
            std::int64_t done = 0;
            if constexpr (std::is_same_v<To, bf16> && std::is_same_v<From, float>) {
                done = round_to_bf16(&block[0].bits, from, part);
            }
            for (std::int64_t i = done; i < part; ++i)
                block[i] = convert<To>(from[i]);
            const auto* const bytes = reinterpret_cast<const std::byte*>(block);
            const std::size_t count = static_cast<std::size_t>(part) * sizeof(To);
            if (past_cache) {
                stream_bytes(reinterpret_cast<std::byte*>(to), bytes, count, nullptr, 0);
            } else {
                std::memcpy(to, bytes, count);
            }
        }
    } else {
        for (std::int64_t i = 0; i < width; ++i)
            to[i] = convert<To>(from[i]);
    }
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
            convert_vector(to, from, width, copies.past_cache());
        }
    }
}

// What a gather does, or a level or a backward. For a launch each says what it is called (operation), how many bytes its widest element has (widest), how many
// elements a vector (width()), which arrays addresses are made of (each_array(f)), and what is wrong with a token's numbers.
template <class T, class B, std::size_t N>
struct Forward {
    VectorArray<const T> embeddings;
    BankList<const B, N> banks;
    VectorArray<T> out;
    bool in_place = false;
    bool zero_text = false;  // instead of copying embeddings

    static constexpr const char* operation = "seqpar::VisionGather";
    static constexpr std::size_t widest = (std::max)(sizeof(T), sizeof(B));
    std::int64_t width() const { return out.width; }
    template <class F>
    void each_array(F& f) const {
        f(out);
        f(embeddings);
        f(banks);
    }
    SEQPAR_HD Status check_token(std::int64_t token, std::int64_t bank, std::int64_t row) const {
        return check_row_number(banks, token, bank, row);
    }

    struct Visit {
        const Forward& op;
        int inner;
        Copies copies;

        void text(const TokenIndex& index, std::int64_t count) {
            if (op.zero_text)
                return zero_vectors(op.out.vector(index), op.out.strides[inner], count, op.out.width,
                                    copies.past_cache());
            if (op.in_place) return;
            put_vectors(copies, op.out.vector(index), op.out.strides[inner], op.embeddings.vector(index),
                        op.embeddings.strides[inner], count, op.out.width);
        }
        void vision(const TokenIndex& index, std::int64_t count, std::int64_t bank, std::int64_t row) {
            const auto& from = op.banks.bank[bank];
            if (from.axes == 0) return text(index, count);
            put_vectors(copies, op.out.vector(index), op.out.strides[inner], from.data + row * from.strides[0],
                        from.strides[0], count, op.out.width);
        }
        void finish() { copies.finish(); }
    };
    Visit visit(int inner, bool past_cache) const { return {*this, inner, Copies(past_cache)}; }
};

// a + b with the last bit set where bits are lost: rounded on to a shorter type, it is the exact sum rounded once.
SEQPAR_HD inline double add_sticky(double a, double b) {
    const double sum = a + b;
    const double of_b = sum - a;
    const double lost = (a - (sum - of_b)) + (b - of_b);
    const std::uint64_t bits = cuda::std::bit_cast<std::uint64_t>(sum);
    if (lost != lost || lost == 0 || (bits & 1) != 0) return sum;
    return cuda::std::bit_cast<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// A value added to what is there, with the result of exact addition rounded once.
template <class B, class G>
SEQPAR_HD void add_value(B& to, const G& from) {
    // A float of B's own that holds every G: its sum is the exact one rounded.
    constexpr bool holds =
        std::is_floating_point_v<B> && (is_short_float<G> || (std::is_floating_point_v<G> && sizeof(G) < sizeof(B)));
    using Sum = std::conditional_t<std::is_same_v<B, G> || holds, arithmetic_of<B>, double>;
    if constexpr (std::is_same_v<Sum, double> && !std::is_same_v<B, double>) {
        to = convert<B>(add_sticky(convert<double>(to), convert<double>(from)));
    } else {
        to = convert<B>(static_cast<Sum>(convert<Sum>(to) + convert<Sum>(from)));
    }
}

// a + b as a T would be, where both are T's values.
template <class T>
SEQPAR_HD arithmetic_of<T> add_as(arithmetic_of<T> a, arithmetic_of<T> b) {
    const auto sum = static_cast<arithmetic_of<T>>(a + b);
#if !defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<T, bf16>) {  // a NaN made of two bf16 has no bit to round (but CUDA's has)
        const std::uint32_t bits = cuda::std::bit_cast<std::uint32_t>(sum);
        return cuda::std::bit_cast<float>((bits + 0x7FFFu + ((bits >> 16) & 1u)) & 0xFFFF0000u);
    }
#endif
    return convert<arithmetic_of<T>>(convert<T>(sum));
}
// A sum of them as a T: nothing is left to round.
template <class T>
SEQPAR_HD T sum_as(arithmetic_of<T> sum) {
    if constexpr (std::is_same_v<T, bf16>) {
        return bf16::from_bits(static_cast<std::uint16_t>(cuda::std::bit_cast<std::uint32_t>(sum) >> 16));
    } else {
        return convert<T>(sum);
    }
}
template <class T, class From>
SEQPAR_HD arithmetic_of<T> value_as(const From& from) {
    return convert<arithmetic_of<T>>(convert<T>(from));
}

template <class G, class E, class B, std::size_t N, std::size_t L, class Mode>
struct Backward {
    VectorArray<const G> d_out;
    VectorArray<E> d_embeddings;
    LevelList<B, N, L> d_banks;
    bool in_place = false;
    bool want_embeddings = true;
    bool want_banks = true;

    static constexpr const char* operation = "seqpar, a backward of VisionGather or levels";
    static constexpr std::size_t widest = (std::max)({sizeof(G), sizeof(E), sizeof(B)});
    std::int64_t width() const { return d_out.width; }
    template <class F>
    void each_array(F& f) const {
        f(d_out);
        if (want_embeddings) f(d_embeddings);
        if (want_banks) f(d_banks);
    }
    SEQPAR_HD Status check_token(std::int64_t token, std::int64_t bank, std::int64_t row) const {
        return want_banks ? check_row_number(d_banks.level[0], token, bank, row)
                          : check_row_number(AnyBanks{}, token, bank, row);
    }

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
            for (std::size_t level = 0; level < L && op.want_banks; ++level) {
                const auto& into = op.d_banks.level[level].bank[bank];
                if (into.axes == 0) break;
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
            for (std::int64_t i = 0; i < width; ++i)
                add_value(to[i], from[i]);
        }
    };
    Visit visit(int inner, bool past_cache) const { return {*this, inner, Copies(past_cache)}; }
};

// Values added up in blocks of this many.
inline constexpr std::int64_t sum_block = 64;

// sum[k] += from[k], each as a T would be.
template <class T, class B>
SEQPAR_APART SEQPAR_HD void add_block(arithmetic_of<T>* sum, const B* from, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k)
        sum[k] = add_as<T>(sum[k], value_as<T>(from[k]));
}

// h[i] += level[row[i]] for all levels, a vector of h read and written once. Each addition rounds to h's type.
template <class T, class B, std::size_t N, std::size_t L>
struct AddRows {
    VectorArray<T> h;
    LevelList<const B, N, L> levels;

    static constexpr const char* operation = "seqpar::add_rows";
    static constexpr std::size_t widest = (std::max)(sizeof(T), sizeof(B));
    std::int64_t width() const { return h.width; }
    template <class F>
    void each_array(F& f) const {
        f(h);
        f(levels);
    }
    SEQPAR_HD Status check_token(std::int64_t token, std::int64_t bank, std::int64_t row) const {
        return check_row_number(levels.level[0], token, bank, row);
    }

    // Elements [first, first + count) of the vector at `to`.
    SEQPAR_HD void operator()(T* to, std::int64_t bank, std::int64_t row, std::int64_t first,
                              std::int64_t count) const {
        if (levels.level[0].bank[bank].axes == 0) return;
        arithmetic_of<T> sum[sum_block];  // apart from all arrays, so that the loops become vector code
        for (; count > 0; first += sum_block, count -= sum_block) {
            const std::int64_t part = count < sum_block ? count : sum_block;
            for (std::int64_t k = 0; k < part; ++k)
                sum[k] = convert<arithmetic_of<T>>(to[first + k]);
            for (const BankList<const B, N>& level : levels.level) {
                const VectorArray<const B>& of = level.bank[bank];
                add_block<T>(sum, of.data + row * of.strides[0] + first, part);
            }
            for (std::int64_t k = 0; k < part; ++k)
                to[first + k] = sum_as<T>(sum[k]);
        }
    }

    struct Visit {
        const AddRows& op;
        int inner;

        void text(const TokenIndex&, std::int64_t) {}
        void vision(const TokenIndex& index, std::int64_t count, std::int64_t bank, std::int64_t row) {
            for (std::int64_t i = 0; i < count; ++i)
                op(op.h.vector(index) + i * op.h.strides[inner], bank, row + i, 0, op.h.width);
        }
        void finish() {}
    };
    Visit visit(int inner, bool) const { return {*this, inner}; }
};

// The gradient of each bank row that tokens refer to: the sum of theirs, in order. `Sum` is the accumulator's type. Rows are
// numbered through all banks; row number e has the gradients at offsets uses[first[e]] to uses[first[e + 1]] of d_out.
template <class G, class B, std::size_t N, std::size_t L, class Mode, class Sum>
struct SumRows {
    const G* d_out;
    LevelList<B, N, L> d_banks;
    std::int64_t width;
    std::int64_t start[N + 1];  // number of each bank's first row
    const std::int64_t* first;
    const std::int64_t* uses;

    // Elements [at, at + count) of row `number`.
    SEQPAR_HD void operator()(std::int64_t number, std::int64_t at, std::int64_t count) const {
        const std::int64_t begin = first[number];
        const std::int64_t end = first[number + 1];
        if (begin == end) return;
        std::size_t bank = 0;
        while (number >= start[bank + 1])
            ++bank;
        arithmetic_of<Sum> sum[sum_block];
        for (; count > 0; at += sum_block, count -= sum_block) {
            const std::int64_t part = count < sum_block ? count : sum_block;
            for (std::int64_t k = 0; k < part; ++k)
                sum[k] = value_as<Sum>(d_out[uses[begin] + at + k]);
            for (std::int64_t use = begin + 1; use < end; ++use)
                add_block<Sum>(sum, d_out + uses[use] + at, part);
            for (std::size_t l = 0; l < L; ++l) {
                const VectorArray<B>& into = d_banks.level[l].bank[bank];
                B* const to = into.data + (number - start[bank]) * into.strides[0] + at;
                for (std::int64_t k = 0; k < part; ++k) {
                    if constexpr (std::is_same_v<Mode, Store>) {
                        to[k] = convert<B>(sum_as<Sum>(sum[k]));
                    } else {
                        add_value(to[k], sum_as<Sum>(sum[k]));
                    }
                }
            }
        }
    }
    void operator()(std::int64_t number) const { (*this)(number, 0, width); }
};

// Counts the tokens of each row, in first[number + 1], or writes where their gradients lie from next[number] on.
template <class T>
struct RowUses {
    const VectorArray<const T>& d_out;
    const std::int64_t* start;
    std::int64_t* next;
    std::int64_t* uses;
    int inner;

    void text(const TokenIndex&, std::int64_t) {}
    void vision(const TokenIndex& index, std::int64_t count, std::int64_t bank, std::int64_t row) {
        if (start[bank] == start[bank + 1]) return;  // no level
        for (std::int64_t i = 0; i < count; ++i) {
            std::int64_t& of_row = next[start[bank] + row + i];
            if (uses != nullptr) uses[of_row] = (d_out.vector(index) - d_out.data) + i * d_out.strides[inner];
            ++of_row;
        }
    }
};

// Without where the tokens of each row lie.
template <class G, class B, std::size_t N, std::size_t L, class Mode, class Sum>
auto sum_rows_work(const VectorArray<const G>& d_out, const LevelList<B, N, L>& d_banks, Summed<Mode, Sum>) {
    using Wider = std::conditional_t<std::is_integral_v<G>, std::int64_t,
                                     std::conditional_t<(sizeof(G) > sizeof(float)), G, float>>;
    using Accumulator = std::conditional_t<std::is_void_v<Sum>, Wider, Sum>;
    SumRows<G, B, N, L, Mode, Accumulator> work{d_out.data, d_banks, d_out.width, {}, nullptr, nullptr};
    for (std::size_t b = 0; b < N; ++b)
        work.start[b + 1] = work.start[b] + d_banks.level[0].bank[b].extents[0];
    return work;
}

// Sums by rows, so that threads share none: where the tokens of each row lie is found first, in row-major order. `last`: whether
// nothing comes after it in its operation.
template <HostExec D, class Tokens, class G, class B, std::size_t N, std::size_t L, class Mode, class Sum>
void sum_rows(Dispatch, const D& exec, const Tokens& tokens, const VectorArray<const G>& d_out,
              const LevelList<B, N, L>& d_banks, Summed<Mode, Sum> mode, bool /* last */) {
    if constexpr (std::is_same_v<D, CheckOnly>) return;
    auto work = sum_rows_work(d_out, d_banks, mode);
    Tokens in_order = tokens;
    in_order.inner = decltype(in_order.rows)::axes - 1;
    const std::int64_t rows = work.start[N];
    if (rows == 0) return;
    // Counts of row e stand at e + 2, then places of row e at e + 1, which the writing moves on to those of e + 1.
    std::vector<std::int64_t> first(static_cast<std::size_t>(rows + 2));
    std::vector<std::int64_t> uses;
    for (int pass = 0; pass < 2; ++pass) {
        RowUses<G> visit{d_out, work.start, first.data() + (pass == 0 ? 2 : 1), pass == 0 ? nullptr : uses.data(),
                         in_order.inner};
        for (std::int64_t loop = 0; loop < in_order.loops(); ++loop)
            in_order.walk(in_order.index(loop), 0, in_order.length(), visit);
        if (pass == 1) break;
        for (std::size_t e = 1; e < first.size(); ++e)
            first[e] += first[e - 1];
        uses.resize(static_cast<std::size_t>(first.back()));
    }
    work.first = first.data();
    work.uses = uses.data();
    for_each_index(exec, rows, work);
}
template <class D, class... Rest>
void sum_rows(NoBackend, const D&, const Rest&...) {
    no_backend<D>();
}

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
template <class D, class... Rest>
void gather_rows(NoBackend, const D&, const Rest&...) {
    no_backend<D>();
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

// Levels are as wide as the vectors and as long as one another, and a bank has all of them or none.
template <class B, std::size_t N, std::size_t L, class T>
Status check_levels(const LevelList<B, N, L>& list, const VectorArray<T>& vectors) {
    for (std::size_t l = 0; l < L; ++l) {
        for (std::size_t b = 0; b < N; ++b) {
            const auto& bank = list.level[l].bank[b];
            const auto& same = list.level[0].bank[b];
            const int number = static_cast<int>(b);
            if (bank.axes != same.axes) return make_status(Kind::axes, number, 0, same.axes, bank.axes);
            if (bank.axes == 0) continue;
            if (bank.width != vectors.width) return make_status(Kind::extent, number, 0, vectors.width, bank.width, 1);
            if (bank.extents[0] != same.extents[0])
                return make_status(Kind::extent, number, 0, same.extents[0], bank.extents[0], 0);
        }
        if (const Status status = check_apart(list.level[l], vectors); !status.ok()) return status;
        for (std::size_t m = 0; m < l && !std::is_const_v<B>; ++m) {
            for (const auto& other : list.level[m].bank) {
                if (const Status status = check_apart(list.level[l], other); !status.ok()) return status;
            }
        }
    }
    return {};
}

}  // namespace detail
}  // namespace seqpar
