// check_rows against a plain loop over random streams with mistakes in them, each rule by itself, and safe cuts.
#include "support.hpp"

#include <seqpar/index/check_rows.hpp>

using namespace test;

namespace {

using Ints = std::vector<std::int32_t>;
using Infos = std::vector<sp::BankInfo>;

// A stream of items with text between some of them, and its rows. Lengths of items are those of `items`.
struct Stream {
    Ints rows, banks;
    List cu{0};
    Lists lengths = Lists(2);  // of the items of each bank
    Lists items = Lists(2);    // their offsets

    Infos info() {
        Infos result;
        for (std::size_t b = 0; b < 2; ++b) {
            items[b] = List(1, 0);
            for (const std::int64_t length : lengths[b])
                items[b].push_back(items[b].back() + length);
            result.push_back({items[b].back(), sp::offsets(items[b]), false});
        }
        return result;
    }
};

Stream random_stream(Random& random) {
    Stream s;
    std::int32_t next[2] = {0, 0};
    const std::int64_t documents = random.between(1, 4);
    for (std::int64_t d = 0; d < documents; ++d) {
        for (std::int64_t parts = random.between(0, 5); parts > 0; --parts) {
            if (random.once_in(2)) {
                s.rows.insert(s.rows.end(), static_cast<std::size_t>(random.between(1, 3)), -1);
            } else {
                const auto bank = static_cast<std::int32_t>(random.between(0, 1));
                const std::int64_t length = random.between(1, 4);
                s.lengths[static_cast<std::size_t>(bank)].push_back(length);
                s.banks.resize(s.rows.size(), -1);
                for (std::int64_t i = 0; i < length; ++i) {
                    s.rows.push_back(next[bank]++);
                    s.banks.push_back(bank);
                }
            }
            s.banks.resize(s.rows.size(), -1);
        }
        s.cu.push_back(static_cast<std::int64_t>(s.rows.size()));
    }
    return s;
}

// The rules, each as its words say it.
bool legal(const Stream& s, const Infos& info) {
    List uses[2] = {List(static_cast<std::size_t>(info[0].rows), 0), List(static_cast<std::size_t>(info[1].rows), 0)};
    for (std::size_t i = 0; i < s.rows.size(); ++i) {
        if (s.rows[i] == -1 && s.banks[i] == -1) continue;
        if (s.banks[i] < 0 || s.banks[i] > 1) return false;
        const auto b = static_cast<std::size_t>(s.banks[i]);
        if (s.rows[i] < 0 || s.rows[i] >= info[b].rows) return false;
        if (++uses[b][static_cast<std::size_t>(s.rows[i])] > 1) return false;
    }
    for (std::size_t b = 0; b < 2; ++b) {
        const bool all = std::count(uses[b].begin(), uses[b].end(), 0) == 0;
        if (!all && !info[b].surplus) return false;
        for (std::size_t k = 0; k + 1 < s.items[b].size(); ++k) {  // each used item is one stretch of one document
            std::int64_t first = -1, seen = 0;
            for (std::size_t i = 0; i < s.rows.size(); ++i) {
                if (s.rows[i] < s.items[b][k] || s.rows[i] >= s.items[b][k + 1] || s.rows[i] == -1) continue;
                if (static_cast<std::size_t>(s.banks[i]) != b) continue;
                if (first < 0) first = static_cast<std::int64_t>(i);
                if (static_cast<std::int64_t>(i) != first + seen || s.rows[i] != s.items[b][k] + seen) return false;
                ++seen;
            }
            if (seen == 0) continue;
            if (seen != s.items[b][k + 1] - s.items[b][k]) return false;
            for (const std::int64_t border : s.cu)
                if (border > first && border < first + seen) return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("check_rows lets pass what its rules allow and nothing else") {
    Random random(31);
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
        Stream s = random_stream(random);
        Infos info = s.info();
        REQUIRE(sp::check_rows(s.rows, s.banks, info, sp::no_array, s.cu).ok());
        if (s.rows.empty()) continue;
        const auto token = [&] {
            return static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(s.rows.size()) - 1));
        };
        switch (random.between(0, 5)) {
            case 0: s.rows[token()] = static_cast<std::int32_t>(random.between(-2, 6)); break;
            case 1: s.banks[token()] = static_cast<std::int32_t>(random.between(-1, 2)); break;
            case 2: std::swap(s.rows[token()], s.rows[token()]); break;
            case 3:
                s.rows.erase(s.rows.begin() + static_cast<std::ptrdiff_t>(token()));
                s.banks.resize(s.rows.size());
                s.cu = {0, static_cast<std::int64_t>(s.rows.size())};
                break;
            case 4: s.cu.insert(s.cu.begin() + 1, random.between(0, s.cu[1])); break;
            default: s.rows[token()] = -1; info[0].surplus = info[1].surplus = true;
        }
        const sp::Status status = sp::check_rows(s.rows, s.banks, info, sp::no_array, s.cu);
        CAPTURE(describe(status));
        REQUIRE(status.ok() == legal(s, info));
        refused += status.ok() ? 0 : 1;
    }
    CHECK(refused > 1000);
}

TEST_CASE("each rule names bank, item, position, expected and got") {
    const Ints whole{-1, 0, 1, 2, 3, -1};
    const List two{0, 2, 4};
    const auto one_bank = [](const Ints& rows, const sp::BankInfo& info, const auto&... more) {
        return sp::check_rows(rows, sp::no_array, std::span(&info, 1), more...);
    };
    CHECK(one_bank(whole, {4, sp::offsets(two)}).ok());
    CHECK(one_bank(whole, {4}).ok());
    CHECK(one_bank(whole, {3}) == sp::make_status(sp::Kind::row_count, 0, 4, 3, 4));
    CHECK(describe(one_bank(whole, {3})) ==
          "placeholders and bank rows differ in number: bank 0, position 4, item 0, expected rows 3, got 4");
    CHECK(one_bank(whole, {6}) == sp::make_status(sp::Kind::row_count, 0, 6, 6, 4));
    CHECK(one_bank(whole, {6, {}, true}).ok());
    CHECK(one_bank({-1, 0, 2, 1}, {3}).ok());  // no rule for items
    CHECK(one_bank({-1, 0, 2, 2}, {3}) == sp::make_status(sp::Kind::row_reused, 0, 3, 2, 3));
    CHECK(one_bank({-1, 0, -2, 1}, {3}) == sp::make_status(sp::Kind::row_range, 0, 2, 3, -2));
    // Two items that touch are one stretch; text inside an item cuts it.
    CHECK(one_bank({0, 1, -1, 2, 3}, {4, sp::offsets(two)}).ok());
    CHECK(one_bank({0, -1, 1, 2, 3}, {4, sp::offsets(two)}) == sp::make_status(sp::Kind::item_cut, 0, 0, 2, 1, 0));
    CHECK(one_bank({0, 1, 2, -1, 3}, {4, sp::offsets(two)}) == sp::make_status(sp::Kind::item_cut, 0, 2, 2, 1, 1));
    CHECK(one_bank({2, 3, 0, 1}, {4, sp::offsets(two)}).ok());
    // A document's border inside an item; beside it.
    CHECK(one_bank(whole, {4, sp::offsets(two)}, sp::no_array, List{0, 3, 6}).ok());
    CHECK(one_bank(whole, {4, sp::offsets(two)}, sp::no_array, List{0, 2, 6}) ==
          sp::make_status(sp::Kind::item_cut, 0, 1, 2, 1, 0));
    // Outside of a mask, and in a document's padding.
    const std::vector<std::uint8_t> valid{1, 1, 1, 0, 1, 1};
    CHECK(one_bank(whole, {4}, valid) == sp::make_status(sp::Kind::row_forbidden, 0, 3, -1, 2));
    CHECK(one_bank(whole, {4}, sp::no_array, List{0, 4, 6}, List{0, 3, 5}) ==
          sp::make_status(sp::Kind::row_forbidden, 0, 3, -1, 2));
    CHECK(one_bank(whole, {4}, sp::no_array, List{0, 2, 6}, List{0, 2, 5}).ok());
    CHECK(one_bank(whole, {4}, sp::no_array, List{0, 2, 6}, List{0, 3, 5}).kind() == sp::Kind::offsets_real);
    CHECK(one_bank(whole, {4}, sp::no_array, List{0, 2, 5}).kind() == sp::Kind::offsets_total);
    CHECK(one_bank(whole, {5, sp::offsets(two)}).kind() == sp::Kind::offsets_total);
    CHECK(one_bank(whole, {-1}).kind() == sp::Kind::length);
    // A bank without a row, and a row without a bank.
    const sp::BankInfo three{3, {}, true};
    CHECK(sp::check_rows(Ints{0, -1}, Ints{0, 0}, std::span(&three, 1)) ==
          sp::make_status(sp::Kind::row_range, 0, 1, 3, -1));
    CHECK(sp::check_rows(Ints{0, 1}, Ints{0, -1}, std::span(&three, 1)).kind() == sp::Kind::bank_range);
    CHECK(sp::check_rows(Ints{0, -1}, Ints{0, -1}, std::span(&three, 1)).ok());
    // Samples follow each other; an item does not go on from one to the next.
    const auto matrix = [](const Ints& memory) { return sp::tensor(memory.data(), 2, 2); };
    const Ints across{-1, 0, 1, -1};
    const List one{0, 2};
    const sp::BankInfo items{2, sp::offsets(one)};
    CHECK(sp::check_rows(matrix(across), sp::no_array, std::span(&items, 1)) ==
          sp::make_status(sp::Kind::item_cut, 0, 1, 2, 1, 0));
    const Ints inside{-1, -1, 0, 1};
    CHECK(sp::check_rows(matrix(inside), sp::no_array, std::span(&items, 1)).ok());
    // Banks of unlike number, and no bank of that number.
    CHECK(sp::check_rows(inside, Ints{-1, -1, 0, 1}, std::span(&items, 1)).kind() == sp::Kind::bank_range);
    CHECK(sp::check_rows(inside, Ints{-1, 0, 0}, std::span(&items, 1)).kind() == sp::Kind::extent);
    CHECK(sp::check_rows(Ints{}, sp::no_array, Infos{}).ok());
    // Lazily split rows can be looked at too; that is a shard, of which the bank is not.
    CHECK(one_bank({0, 1}, {4}).kind() == sp::Kind::row_count);
}

TEST_CASE("the_pad_id_is_no_placeholder") {
    const auto rules = sp::placeholders({{151655, 0}, {-200, 1}});
    CHECK(sp::check_pad_id(rules, 151643).ok());
    CHECK(sp::check_pad_id(rules, -200) == sp::make_status(sp::Kind::pad_id, 1, 1, -200, -200));
}

TEST_CASE("a safe cut keeps whole items, the most that fit the budget") {
    Random random(32);
    for (int round = 0; round < 500; ++round) {
        Stream s = random_stream(random);
        const Infos info = s.info();
        std::vector<sp::TokenSpan> spans;
        for (int bank = 0; bank < 2; ++bank) {
            for (const sp::TokenSpan& span :
                 sp::item_spans(s.rows, s.banks, bank, info[static_cast<std::size_t>(bank)].items))
                spans.push_back(span);
        }
        for (std::int64_t budget = 0; budget <= static_cast<std::int64_t>(s.rows.size()); ++budget) {
            const std::int64_t cut = sp::safe_cut(budget, spans);
            const auto inside = [&](std::int64_t at) {
                return std::any_of(spans.begin(), spans.end(),
                                   [&](const sp::TokenSpan& span) { return span.begin < at && at < span.end; });
            };
            REQUIRE(cut <= budget);
            REQUIRE(!inside(cut));
            for (std::int64_t more = cut + 1; more <= budget; ++more)
                REQUIRE(inside(more));
            // Of each bank: the items all of whose rows stand before the cut.
            for (std::size_t bank = 0; bank < 2; ++bank) {
                std::int64_t rows_left = 0;
                for (std::size_t i = 0; i < static_cast<std::size_t>(cut); ++i)
                    rows_left += s.banks[i] == static_cast<std::int32_t>(bank) ? 1 : 0;
                std::int64_t whole = 0;
                while (whole + 1 < std::ssize(s.items[bank]) &&
                       s.items[bank][static_cast<std::size_t>(whole) + 1] <= rows_left)
                    ++whole;
                REQUIRE(sp::items_kept(
                            cut, sp::item_spans(s.rows, s.banks, static_cast<int>(bank), info[bank].items)) == whole);
            }
        }
        // What is left of the stream passes with a surplus.
        const std::int64_t cut = sp::safe_cut(random.between(0, static_cast<std::int64_t>(s.rows.size())), spans);
        Infos left = info;
        left[0].surplus = left[1].surplus = true;
        CHECK(sp::check_rows(Ints(s.rows.begin(), s.rows.begin() + cut), Ints(s.banks.begin(), s.banks.begin() + cut),
                             left)
                  .ok());
    }
    constexpr sp::TokenSpan spans[] = {{3, 9}, {19, 24}};
    static_assert(sp::safe_cut(20, spans) == 19 && sp::items_kept(19, spans) == 1);
    static_assert(sp::safe_cut(5, spans) == 3 && sp::safe_cut(9, spans) == 9 && sp::safe_cut(30, spans) == 30);
    // An item without a row is not kept, nor is one after the first that goes.
    constexpr sp::TokenSpan absent[] = {{0, 4}, {4, 8}, {0, 0}};
    static_assert(sp::items_kept(4, absent) == 1 && sp::items_kept(8, absent) == 2);
    constexpr sp::TokenSpan turned[] = {{4, 8}, {0, 4}};
    static_assert(sp::items_kept(4, turned) == 0);
    // A cut that leaves one span must not be inside another.
    constexpr sp::TokenSpan chain[] = {{4, 10}, {2, 6}, {0, 1}};
    static_assert(sp::safe_cut(8, chain) == 2 && sp::safe_cut(5, chain) == 2);
    // A video of two frames with text between is one span; an item without rows is nowhere.
    CHECK(sp::item_spans(Ints{-1, 0, -1, 1, 2}, sp::no_array, 0, List{0, 2, 2, 3}) ==
          std::vector<sp::TokenSpan>{{1, 4}, {0, 0}, {4, 5}});
    CHECK(thrown([] {
              static_cast<void>(sp::item_spans(Ints{3}, sp::no_array, 0, List{0, 2}));
          }).kind() == sp::Kind::row_range);
}

TEST_CASE("the worst status over ranks is the same whatever rank found it") {
    // Every rank looks at the whole sequence, so that all find the same; one that was given another bank does not hang the rest.
    const Ints rows{0, 1, -1, 2};
    std::uint64_t worst = 0;
    for (const std::int64_t bank_rows : {3, 3, 2, 3}) {
        const sp::BankInfo info{bank_rows};
        worst = std::max(worst, sp::check_rows(rows, sp::no_array, std::span(&info, 1)).code);
    }
    const sp::Status agreed{worst};
    CHECK(agreed.kind() == sp::Kind::row_count);
    CHECK(agreed.index() == 3);
}
