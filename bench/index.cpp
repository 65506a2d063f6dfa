// build_rows and the construction of index arrays. The copy beside them: as many bytes as they write, in one memcpy.
#include "harness.hpp"

#include <seqpar/seqpar.hpp>

#include <cstring>
#include <memory>

namespace bench {

namespace {

namespace sp = seqpar;

constexpr std::int64_t placeholder_ids[] = {151655, 151656, 151646};

// Spans of placeholders between stretches of text that are as long on average, the placeholders of `banks` banks in turn.
template <class Id>
Id* make_ids(const Sizes& sizes, std::int64_t banks) {
    Id* const ids = array<Id>(0, sizes.ids);
    const std::int64_t span = sizes.id_span;
    std::int64_t i = 0;
    for (std::int64_t number = 0; i < sizes.ids; ++number) {
        const auto text = span / 2 + static_cast<std::int64_t>(scramble(static_cast<std::uint64_t>(number)) %
                                                               static_cast<std::uint64_t>(span + 1));
        for (std::int64_t k = 0; k < text && i < sizes.ids; ++k, ++i)
            ids[i] = static_cast<Id>(scramble(static_cast<std::uint64_t>(i)) % 150000);
        for (std::int64_t k = 0; k < span && i < sizes.ids; ++k, ++i)
            ids[i] = static_cast<Id>(placeholder_ids[number % banks]);
    }
    return ids;
}

// A memcpy of `bytes` to where the operation writes, from elsewhere.
auto copy_to(void* to, std::int64_t bytes) {
    const std::byte* const from = memory(9, bytes);
    return [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); };
}

template <class Id>
Work one_bank_work(const Sizes& sizes) {
    const Id* const ids = make_ids<Id>(sizes, 1);
    std::int32_t* const rows = array<std::int32_t>(1, sizes.ids);
    const std::int64_t length = sizes.ids;
    return {[=] {
                sp::build_rows(thrust::seq, sp::tensor(ids, length), sp::placeholders({{placeholder_ids[0], 0}}),
                               sp::tensor(rows, length));
            },
            copy_to(rows, length * 4)};
}

template <class Id>
Work three_banks_work(const Sizes& sizes) {
    const Id* const ids = make_ids<Id>(sizes, 3);
    std::int32_t* const rows = array<std::int32_t>(1, 2 * sizes.ids);
    const std::int64_t length = sizes.ids;
    return {[=] {
                const auto rules =
                    sp::placeholders({{placeholder_ids[0], 0}, {placeholder_ids[1], 1}, {placeholder_ids[2], 2}});
                sp::build_rows(thrust::seq, sp::tensor(ids, length), rules, sp::tensor(rows, length),
                               sp::tensor(rows + length, length));
            },
            copy_to(rows, length * 8)};
}

using Layout = decltype(sp::packed(sp::ZigZag{}, sp::Offsets<std::int64_t>{}, 0, 1));
struct Packed {
    std::vector<std::int64_t> cu_seqlens;
    std::int64_t total;
    int ranks;
    Layout layout() const { return sp::packed(sp::ZigZag{}, cu_seqlens, total, ranks); }
};
std::shared_ptr<Packed> make_packed(std::int64_t total, std::int64_t documents, int ranks) {
    return std::make_shared<Packed>(Packed{equal_documents(total, documents, 2 * std::int64_t{ranks}), total, ranks});
}

// The index arrays: `make` fills out [S].
template <class T, class Make>
void add_index(const Sizes& sizes, const std::string& name, const std::string& type, std::int64_t documents,
               Target target, const Make& make) {
    const int ranks = ranks_for(sizes.ids, documents, sizes.ranks);
    add({name + "/" + type + "/documents:" + std::to_string(documents),
         shape({sizes.ids}) + ", " + count(ranks, "rank"), "token", sizes.ids, target},
        [=]() -> Work {
            const auto packed = make_packed(sizes.ids, documents, ranks);
            T* const out = array<T>(1, packed->total);
            return {[=] { make(*packed, out); }, copy_to(out, packed->total * static_cast<std::int64_t>(sizeof(T)))};
        });
}

}  // namespace

void add_rows(const Sizes& sizes) {
    const bool is_default = sizes.ids == Sizes{}.ids && sizes.id_span == Sizes{}.id_span;
    const std::string text = shape({sizes.ids}) + ", spans of " + std::to_string(sizes.id_span);
    add({"build_rows/one_bank", "i64 " + text, "token", sizes.ids, {is_default ? 0.6 : 0, 0}},
        [=] { return one_bank_work<std::int64_t>(sizes); });
    add({"build_rows/one_bank_i32", "i32 " + text, "token", sizes.ids, {}},
        [=] { return one_bank_work<std::int32_t>(sizes); });
    add({"build_rows/three_banks", "i64 " + text, "token", sizes.ids, {is_default ? 0.3 : 0, 0}},
        [=] { return three_banks_work<std::int64_t>(sizes); });
}

void add_indices(const Sizes& sizes) {
    const bool is_default = sizes.ids == Sizes{}.ids && sizes.ranks == Sizes{}.ranks;
    const auto gather = [](const Packed& packed, auto* out) {
        sp::gather_index(thrust::seq, packed.layout(), sp::tensor(out, packed.total));
    };
    const auto restore = [](const Packed& packed, auto* out) {
        sp::restore_index(thrust::seq, packed.layout(), sp::tensor(out, packed.total));
    };
    const auto ranks_positions = [](const Packed& packed, auto* out) {
        const std::int64_t part = packed.total / packed.ranks;
        for (int rank = 0; rank < packed.ranks; ++rank) {
            sp::positions(thrust::seq, packed.layout(), rank, sp::tensor(out + rank * part, part));
        }
    };
    const auto in_document = [](const Packed& packed, auto* out) {
        sp::document_positions(thrust::seq, packed.cu_seqlens, sp::tensor(out, packed.total));
    };
    for (const std::int64_t documents : sizes.id_documents) {
        const Target target{0, is_default && documents == 64 ? 0.12 : 0};
        add_index<std::int64_t>(sizes, "gather_index", "i64", documents, target, gather);
    }
    const std::int64_t documents = 64;
    add_index<std::int32_t>(sizes, "gather_index", "i32", documents, {0, is_default ? 0.12 : 0}, gather);
    add_index<std::int64_t>(sizes, "restore_index", "i64", documents, {}, restore);
    add_index<std::int64_t>(sizes, "positions", "i64", documents, {}, ranks_positions);
    add_index<std::int64_t>(sizes, "document_positions", "i64", documents, {}, in_document);
    const auto labels = [](const Packed& packed, std::int64_t* out) {
        const std::int64_t* const ids = array<std::int64_t>(0, packed.total);
        sp::shift_labels(thrust::seq, sp::tensor(ids, packed.total), packed.cu_seqlens, 1, -100,
                         sp::tensor(out, packed.total));
    };
    add_index<std::int64_t>(sizes, "shift_labels", "i64", documents, {}, labels);
}

}  // namespace bench
