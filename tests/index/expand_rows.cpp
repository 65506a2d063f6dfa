// expand_rows against a plain loop over random streams, under every exec, what follows its sources, and its mistakes.
#include "exec.hpp"
#include "support.hpp"

#include <seqpar/index/expand_rows.hpp>
#include <seqpar/index/labels.hpp>
#include <seqpar/layout/indexed.hpp>
#include <seqpar/move/shard.hpp>

using namespace test;

namespace {

using Ints = std::vector<std::int32_t>;
using Infos = std::vector<sp::BankInfo>;

template <class Id>
struct Expanded {
    std::vector<Id> ids;
    Ints rows, banks;
    List sources, begins;  // begins: where each token of the stream begins, and the end

    friend bool operator==(const Expanded&, const Expanded&) = default;
};

// Banks 0 (placeholder 100) and 1 (-200) expand where `items` has offsets; bank 2 (300) never.
template <class Id>
Expanded<Id> naive(const std::vector<Id>& ids, const std::vector<char>& valid, const Lists& items, const List& base) {
    Expanded<Id> e;
    List next(3, 0);
    for (std::size_t i = 0; i < ids.size(); ++i) {
        e.begins.push_back(static_cast<std::int64_t>(e.ids.size()));
        const int bank = valid[i] == 0 ? -1 : ids[i] == 100 ? 0 : ids[i] == -200 ? 1 : ids[i] == 300 ? 2 : -1;
        const auto b = static_cast<std::size_t>(std::max(bank, 0));
        const std::int64_t k = bank < 0 ? 0 : next[b]++;
        const bool grows = bank >= 0 && !items[b].empty();
        const std::int64_t first = grows ? items[b][static_cast<std::size_t>(k)] : k;
        const std::int64_t last = grows ? items[b][static_cast<std::size_t>(k) + 1] : k + 1;
        for (std::int64_t row = first; row < last; ++row) {
            e.ids.push_back(ids[i]);
            e.rows.push_back(bank < 0 ? -1 : static_cast<std::int32_t>(base[b] + row));
            e.banks.push_back(bank);
            e.sources.push_back(grows ? -1 : static_cast<std::int64_t>(i));
        }
    }
    e.begins.push_back(static_cast<std::int64_t>(e.ids.size()));
    return e;
}

Infos infos(const Lists& items) {
    Infos info;
    for (const List& offsets : items) {
        const bool none = offsets.empty();
        info.push_back({none ? 0 : offsets.back(), none ? sp::Offsets<std::int64_t>{} : sp::offsets(offsets), false});
    }
    return info;
}

const auto three = sp::placeholders({{100, 0}, {-200, 1}, {300, 2}});

template <class Id, class Exec>
void check_expansion(const Exec& exec, Random& random, std::int64_t length) {
    std::vector<Id> ids;
    std::vector<char> valid;
    List counts(3, 0);
    for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t kind = random.between(0, 5);
        ids.push_back(static_cast<Id>(kind == 0 ? 100 : kind == 1 ? -200 : kind == 2 ? 300 : random.between(1, 90)));
        valid.push_back(random.once_in(9) ? 0 : 1);
        if (kind < 3 && valid.back() != 0) ++counts[static_cast<std::size_t>(kind)];
    }
    Lists items(3);
    for (std::size_t b = 0; b < 2; ++b) {
        if (b == 1 && random.once_in(3)) continue;  // its placeholders stand for one row
        items[b].push_back(0);
        for (std::int64_t k = 0; k < counts[b]; ++k)
            items[b].push_back(items[b].back() + random.between(0, 5));
    }
    const List base{7, 0, 40};
    const auto rules = three.base({7, 0, 40});
    const Expanded<Id> expected = naive(ids, valid, items, base);
    const Infos info = infos(items);
    Expanded<Id> got;
    got.begins.resize(ids.size() + 1);
    const List places = range(0, length + 1);
    sp::expanded_offsets(exec, sp::masked(ids, valid), rules, info, places, got.begins);
    const auto size = static_cast<std::size_t>(got.begins.back());
    got.ids.assign(size, -9);
    got.rows.assign(size, -9);
    got.banks.assign(size, -9);
    got.sources.assign(size, -9);
    sp::expand_rows(exec, sp::masked(ids, valid), rules, info, got.ids, got.rows, got.banks, got.sources);
    REQUIRE(got == expected);
    // Fewer outputs; [B, S] is one stream.
    Ints rows(size, -9);
    List sources(size, -9);
    const auto matrix = [&](auto& memory) { return sp::tensor(memory.data(), 1, length); };
    sp::expand_rows(exec, sp::masked(matrix(ids), matrix(valid)), rules, info, got.ids, rows, sp::no_array, sources);
    REQUIRE(rows == expected.rows);
    REQUIRE(sources == expected.sources);
}

}  // namespace

TEST_CASE("expand_rows and expanded_offsets are the plain loop, the same under every exec") {
    Random random(41);
    for_each_exec([&](const auto& exec) {
        for (const std::int64_t length :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{9}, std::int64_t{200}, std::int64_t{40000}}) {
            check_expansion<std::int32_t>(exec, random, length);
            check_expansion<std::int64_t>(exec, random, length);
        }
    });
}

TEST_CASE("without items to expand, expand_rows is build_rows") {
    Random random(42);
    std::vector<std::int64_t> ids;
    for (int i = 0; i < 300; ++i)
        ids.push_back(random.once_in(2) ? 100 : random.once_in(2) ? 300 : 1);
    Ints rows(300), banks(300), more_rows(300), more_banks(300);
    std::vector<std::int64_t> same(300);
    sp::build_rows(thrust::seq, ids, three, rows, banks);
    sp::expand_rows(thrust::seq, ids, three, {}, same, more_rows, more_banks);
    CHECK(same == ids);
    CHECK(more_rows == rows);
    CHECK(more_banks == banks);
}

TEST_CASE("labels and masks follow the sources of an expanded stream") {
    const std::vector<std::int64_t> ids{5, 100, 6, 7};
    const List items{0, 3};
    const sp::BankInfo info{3, sp::offsets(items)};
    const auto rules = sp::placeholders({{100, 0}});
    std::vector<std::int64_t> out(6);
    Ints rows(6);
    List sources(6), labels(6), mask(6);
    sp::expand_rows(thrust::seq, ids, rules, std::span(&info, 1), out, rows, sp::no_array, sources);
    CHECK(out == List{5, 100, 100, 100, 6, 7});
    const auto follow = [&](const List& values, std::int64_t fill, List& to) {
        sp::shard(thrust::seq, sp::indexed(sources, 4), 0, values, sp::axis<0>, to, fill);
    };
    follow({5, 100, 6, 7}, -100, labels);
    CHECK(labels == List{5, -100, -100, -100, 6, 7});
    sp::shift_labels(thrust::seq, List(labels), 1, -100, labels);
    CHECK(labels == List{-100, -100, -100, 6, 7, -100});  // the item's last row predicts the text after it
    follow({1, 1, 0, 1}, 0, mask);
    CHECK(mask == List{1, 0, 0, 0, 0, 1});
    // A cut inside the item is told by check_rows, and one after it needs a surplus only where items are left out.
    CHECK(sp::check_rows(Ints(rows.begin(), rows.begin() + 3), sp::no_array, Infos{{3, sp::offsets(items), true}})
              .kind() == sp::Kind::item_cut);
    CHECK(sp::check_rows(Ints(rows.begin(), rows.begin() + 4), sp::no_array, Infos{{3, sp::offsets(items)}}).ok());
}

TEST_CASE("nothing is written after a mistake in expand_rows") {
    const std::vector<std::int64_t> ids{5, 100, 6, 100};
    const auto rules = sp::placeholders({{100, 0}});
    const List items{0, 3, 4};
    const Infos info{{4, sp::offsets(items)}};
    std::vector<std::int64_t> out(6, -9), five(5);
    Ints rows(6, -9), banks(6, -9);
    List sources(6, -9);
    const auto expect = [&](const sp::Status& status, auto call) {
        CHECK(thrown(call) == status);
        CHECK(out == List(6, -9));
        CHECK(rows == Ints(6, -9));
        CHECK(sources == List(6, -9));
    };
    for (const List& wrong : {List{0, 4}, List{0, 1, 2, 4}, List{0}}) {  // case llava_tiles_missing and its like
        const Infos other{{4, sp::offsets(wrong)}};
        expect(sp::make_status(sp::Kind::row_count, 0, 4, static_cast<std::int64_t>(wrong.size()) - 1, 2),
               [&] { sp::expand_rows(thrust::seq, ids, rules, other, out, rows); });
        List cu(2);
        CHECK(thrown([&] {
                  sp::expanded_offsets(thrust::seq, ids, rules, other, List{0, 4}, cu);
              }).kind() == sp::Kind::row_count);
    }
    expect(sp::make_status(sp::Kind::extent, 1, 0, 6, 5),
           [&] { sp::expand_rows(thrust::seq, ids, rules, info, five, rows); });
    expect(sp::make_status(sp::Kind::overlap, 2, 0, 0, 1),
           [&] { sp::expand_rows(thrust::seq, ids, rules, info, out, rows, rows); });
    expect(sp::make_status(sp::Kind::value_lost, 0, 0, INT32_MAX, INT32_MAX + std::int64_t{1}),
           [&] { sp::expand_rows(thrust::seq, ids, rules.base({INT32_MAX - 2}), info, out, rows); });
    expect(sp::make_status(sp::Kind::bank_range, 0, 0, 1, 1),
           [&] { sp::expand_rows(thrust::seq, ids, rules.with(7, 1), info, out, rows); });
    const List down{0, 3, 2};
    expect(sp::make_status(sp::Kind::offsets_order, 0, 1, 3, 2), [&] {
        sp::expand_rows(thrust::seq, ids, rules, Infos{{4, sp::offsets(down)}}, out, rows);
    });
    List cu(3);
    sp::expanded_offsets(thrust::seq, ids, rules, info, List{0, 2, 4}, cu);
    CHECK(cu == List{0, 4, 6});
    CHECK(thrown([&] {
              sp::expanded_offsets(thrust::seq, ids, rules, info, List{0, 2, 5}, cu);
          }).kind() == sp::Kind::offsets_total);
    // No item at all, and a stream without tokens.
    const List none{0};
    CHECK(thrown([&] {
              sp::expanded_offsets(thrust::seq, ids, rules, Infos{{0, sp::offsets(none)}}, List{0, 2, 4}, cu);
          }).kind() == sp::Kind::row_count);
    sp::expanded_offsets(thrust::seq, std::vector<std::int64_t>{}, rules, Infos{{0, sp::offsets(none)}}, List{0, 0, 0},
                         cu);
    CHECK(cu == List(3, 0));
}
