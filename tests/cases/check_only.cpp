// Every operation under check_only: legal arguments are good, and no output gets a byte. Not here: what is refused.
#include <seqpar/seqpar.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace seqpar;

namespace {

constexpr int poison = 99;

template <class T>
std::vector<T> poisoned(std::size_t count) {
    return std::vector<T>(count, T(poison));
}

template <class T>
void untouched(const std::vector<T>& out) {
    CHECK(out == poisoned<T>(out.size()));
}

// call() is good and leaves `outs` as they are.
template <class Call, class... Outs>
void writes_nothing(Call call, const Outs&... outs) {
    CHECK(status_of(call) == Status{});
    (untouched(outs), ...);
}

const std::vector<std::int64_t> cu{0, 8, 12};

}  // namespace

TEST_CASE("moves under check_only write nothing") {
    const auto layout = packed(ZigZag{}, cu, 12, 2);
    const std::vector<float> x(12, 1);
    const std::vector<float> local(6, 2);
    auto part = poisoned<float>(6);
    auto whole = poisoned<float>(12);
    writes_nothing([&] { shard(check_only, layout, 1, x, axis<0>, part); }, part);
    writes_nothing([&] { shard_batch(check_only, layout, 1, field(x, axis<0>, part)); }, part);
    writes_nothing([&] { shard_adjoint(check_only, layout, 1, local, axis<0>, whole); }, whole);
    writes_nothing([&] { unshard(check_only, layout, joined(x), axis<0>, whole); }, whole);
    writes_nothing([&] { unshard_adjoint(check_only, layout, 1, x, axis<0>, part); }, part);
    const std::vector<std::int64_t> real{0, 7, 10};
    const std::vector<float> y(10, 1);
    writes_nothing([&] { shard(check_only, padded(layout, real, cu, 10), 1, y, axis<0>, part, -1); }, part);
}

TEST_CASE("gathers, levels and their adjoints under check_only write nothing") {
    const std::vector<std::int32_t> rows{-1, 2, 0, -1};
    const std::vector<float> memory(8, 1);
    const auto from = tensor(memory.data(), 4, 2);
    const auto bank = tensor(memory.data(), 3, 2);
    auto out = poisoned<float>(8);
    auto d_bank = poisoned<float>(6);
    const auto to = tensor(out.data(), 4, 2);
    const auto to_bank = tensor(d_bank.data(), 3, 2);
    writes_nothing([&] { VisionGather{}(check_only, from, rows, bank, to); }, out);
    writes_nothing([&] { add_rows(check_only, to, rows, bank); }, out);
    writes_nothing([&] { select(check_only, bank, rows, to); }, out);
    writes_nothing([&] { ZeroDependency{}(check_only, from, to); }, out);
    writes_nothing([&] { ZeroDependency{}.backward(check_only, from, to, to_bank); }, out, d_bank);
    const auto backward = [&](auto mode) {
        writes_nothing([&] { VisionGather{}.backward(check_only, from, rows, to, to_bank, mode); }, out, d_bank);
        writes_nothing([&] { add_rows_backward(check_only, from, rows, to_bank, mode); }, d_bank);
        writes_nothing([&] { select_backward(check_only, from, rows, to_bank, mode); }, d_bank);
    };
    backward(Store{});
    backward(Add{});
    backward(Summed<Store>{});
    backward(Summed<Add>{});
    auto mask = poisoned<std::uint8_t>(4);
    auto kept = poisoned<std::int32_t>(4);
    auto banks = poisoned<std::int32_t>(4);
    auto count = poisoned<std::int64_t>(1);
    writes_nothing([&] { compact(check_only, rows, all_banks, mask, kept, banks, count); }, mask, kept, banks, count);
}

TEST_CASE("index operations under check_only write nothing") {
    const auto layout = packed(ZigZag{}, cu, 12, 2);
    auto part = poisoned<std::int64_t>(6);
    auto whole = poisoned<std::int64_t>(12);
    auto offsets_out = poisoned<std::int64_t>(3);
    writes_nothing([&] { positions(check_only, layout, 1, part); }, part);
    writes_nothing([&] { sources(check_only, layout, 1, part); }, part);
    writes_nothing([&] { document_positions(check_only, cu, whole); }, whole);
    writes_nothing([&] { document_positions(check_only, cu, Tail::nobody, whole); }, whole);
    writes_nothing([&] { gather_index(check_only, layout, whole); }, whole);
    writes_nothing([&] { restore_index(check_only, layout, whole); }, whole);
    writes_nothing([&] { roll_index(check_only, layout, 1, cu, -1, part); }, part);
    writes_nothing([&] { roll_index(check_only, layout, 1, -1, part); }, part);
    writes_nothing([&] { circular_roll_index(check_only, layout, 1, -1, part); }, part);
    writes_nothing([&] { local_offsets(check_only, layout, offsets_out); }, offsets_out);
    const auto two = tensor(cu.data(), {2, 3}, {0, 1});
    auto merged = poisoned<std::int64_t>(5);
    writes_nothing([&] { merged_offsets(check_only, two, 12, merged); }, merged);
    writes_nothing([&] { padded_offsets(check_only, cu, 8, offsets_out); }, offsets_out);
    writes_nothing([&] { padded_offsets(check_only, cu, 8, Tail::last_document, offsets_out); }, offsets_out);
    writes_nothing([&] { extended_offsets(check_only, cu, 20, Tail::nobody, offsets_out); }, offsets_out);
    writes_nothing([&] { fixed_offsets(check_only, cu, merged); }, merged);
    const std::vector<std::int64_t> labels(12, 1);
    writes_nothing([&] { shift_labels(check_only, labels, cu, 1, -100, whole); }, whole);
    writes_nothing([&] { shift_labels(check_only, labels, 1, DocumentEnd::wrap, whole); }, whole);
}

TEST_CASE("rows under check_only: neither rows nor banks nor counts are written") {
    const PlaceholderRules rules = placeholders({{7, 0}});
    const std::vector<std::int64_t> ids{1, 7, 7, 2};
    auto rows = poisoned<std::int32_t>(4);
    auto banks = poisoned<std::int32_t>(4);
    auto counts = poisoned<std::int64_t>(1);
    writes_nothing([&] { build_rows(check_only, ids, rules, rows, banks, counts); }, rows, banks, counts);
    const std::vector<std::int64_t> item{0, 1, 2};
    const std::vector<BankInfo> info{{2, offsets(item)}};
    auto out = poisoned<std::int64_t>(4);
    auto sources = poisoned<std::int64_t>(4);
    writes_nothing([&] { expand_rows(check_only, ids, rules, info, out, rows, banks, sources); }, out, rows, banks,
                   sources);
    const std::vector<std::int64_t> one{0, 4};
    auto begins = poisoned<std::int64_t>(2);
    writes_nothing([&] { expanded_offsets(check_only, ids, rules, info, one, begins); }, begins);
    const auto layout = ZigZag{}(8, 2);
    auto chunks = poisoned<std::int64_t>(2);
    const std::vector<std::int64_t> all(4, 1);
    writes_nothing([&] { chunk_counts(check_only, layout, 1, ids, rules, chunks); }, chunks);
    writes_nothing([&] { rows_from_counts(check_only, layout, 1, ids, rules, all, rows, banks); }, rows, banks);
}
