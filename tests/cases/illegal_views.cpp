// Tokens read through sharded() by an illegal layout: whoever takes such a view says so, as a move would, and writes nothing.
#include <seqpar/seqpar.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace seqpar;

namespace {

using Rows = std::vector<std::int32_t>;
using List = std::vector<std::int64_t>;

// Documents that ZigZag cannot deal out to two ranks.
const List cu{0, 6, 12};
const auto broken = packed(ZigZag{}, cu, 12, 2);

template <class T>
void untouched(const std::vector<T>& out) {
    CHECK(out == std::vector<T>(out.size(), T(9)));
}

// That call(exec) is refused for the layout, and `outs` stay as they are.
template <class Call, class... Outs>
void refused(Call call, const Outs&... outs) {
    const Status status = status_of([&] { call(check_only); });
    CHECK(status == check(broken));
    CHECK(status_of([&] { call(thrust::seq); }) == status);
    (untouched(outs), ...);
}

}  // namespace

TEST_CASE("row arrays through an illegal layout: gathers and levels refuse them instead of doubling and losing rows") {
    const Rows rows{-1, 0, 1, 2, -1, -1, -1, -1, 3, 4, 5, -1};
    const std::vector<float> memory(12, 1);
    const auto from = tensor(memory.data(), 6, 2);
    const auto bank = tensor(memory.data(), 6, 2);
    std::vector<float> out(12, 9);
    std::vector<float> d_bank(12, 9);
    Rows kept(6, 9);
    const auto to = tensor(out.data(), 6, 2);
    const auto to_bank = tensor(d_bank.data(), 6, 2);
    const auto all = [&](const auto& local) {
        refused([&](auto& exec) { VisionGather{}(exec, from, local, bank, to); }, out);
        refused([&](auto& exec) { UncheckedVisionGather{}(exec, from, local, bank, to); }, out);
        refused([&](auto& exec) { VisionGather{}.backward(exec, from, local, to, to_bank, Store{}); }, out, d_bank);
        refused([&](auto& exec) { add_rows(exec, to, local, bank); }, out);
        refused([&](auto& exec) { add_rows_backward(exec, from, local, to_bank, Add{}); }, d_bank);
        refused([&](auto& exec) { select(exec, bank, local, to); }, out);
        refused([&](auto& exec) { compact(exec, local, all_banks, no_array, kept); }, kept);
    };
    const auto local = sharded(rows, broken, 1, axis<0>);
    all(local);
    all(sharded(sharded(rows, ZigZag{}(12, 1), 0, axis<0>), broken, 1, axis<0>));
    const Rows legal(6, 0);
    all(row_array(local, legal));
    all(row_array(legal, local));
    // The illegal one below a legal one, of half as many tokens.
    const auto below = sharded(local, Striped{}(6, 2), 0, axis<0>);
    refused([&](auto& exec) { add_rows(exec, tensor(out.data(), 3, 4), below, tensor(memory.data(), 3, 4)); }, out);
}

TEST_CASE("tokens, masks, labels and offsets through an illegal layout are refused") {
    const PlaceholderRules rules = placeholders({{7, 0}});
    const List tokens{1, 7, 7, 2, 1, 1, 7, 1, 1, 7, 7, 7};
    const List plain(6, 1);
    const auto local = sharded(tokens, broken, 0, axis<0>);
    const List item{0, 1, 2, 3};
    const std::vector<BankInfo> info{{3, offsets(item)}};
    const auto layout = ZigZag{}(12, 2);
    const List one{0, 6};
    List out(6, 9);
    List two(2, 9);
    Rows rows(6, 9);
    const auto all = [&](const auto& ids) {
        refused([&](auto& exec) { build_rows(exec, ids, rules, rows); }, rows);
        refused([&](auto& exec) { expand_rows(exec, ids, rules, info, out, rows); }, out, rows);
        refused([&](auto& exec) { expanded_offsets(exec, ids, rules, info, one, two); }, two);
        refused([&](auto& exec) { chunk_counts(exec, layout, 0, ids, rules, two); }, two);
        refused([&](auto& exec) { rows_from_counts(exec, layout, 0, ids, rules, List(4, 0), rows); }, rows);
    };
    all(local);
    all(masked(local, plain));
    all(masked(plain, local));
    refused([&](auto& exec) { shift_labels(exec, local, 1, -100, out); }, out);
    refused([&](auto& exec) { shift_labels(exec, local, one, 1, -100, out); }, out);
    refused([&](auto&) { (void)count_targets(local, -100); });
    refused([&](auto&) { (void)offsets_from_positions(local); });
    const auto offset_rows = sharded(tensor(tokens.data(), 1, 12), broken, 0, axis<1>);
    refused([&](auto& exec) { merged_offsets(exec, offset_rows, 12, out); }, out);
    const Rows all_rows(12, -1);
    const auto numbers = sharded(all_rows, broken, 0, axis<0>);
    const Rows text(6, -1);
    refused([&](auto&) { throw_if_bad(check_rows(numbers, no_array, info)); });
    refused([&](auto&) { throw_if_bad(check_rows(text, numbers, info)); });
    refused([&](auto&) { throw_if_bad(check_rows(text, no_array, info, local)); });
    refused([&](auto&) { (void)item_spans(numbers, no_array, 0, item); });
    refused([&](auto&) { (void)item_spans(text, numbers, 0, item); });
}
