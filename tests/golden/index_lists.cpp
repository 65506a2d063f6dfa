// The recorded lists of layouts A, B, E, F and G, number by number out of the library's index arrays, on the device as well: shards
// by sources, position by position, and joined, and the index that undoes them. Not here: other layouts, and illegal input.
#include "cases.hpp"
#include "exec.hpp"
#include "reference.hpp"

#include <seqpar/seqpar.hpp>

#include <doctest/doctest.h>

#include <map>

namespace sp = seqpar;
using test::List;
using test::Lists;

namespace {

template <class L>
void check_lists(const L& layout, const List& cu, std::int64_t real_total, const Lists& shards, const List& restore) {
    List real;
    for (const std::int64_t offset : cu)
        real.push_back(std::min(offset, real_total));
    const auto with_pads = sp::padded(layout, real, cu, real_total);
    List all;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        List by_source(static_cast<std::size_t>(layout.slots(rank)), -9);
        List by_position = by_source;
        sp::sources(test::main_exec, with_pads, rank, by_source);
        sp::positions(test::main_exec, layout, rank, by_position);
        const List& recorded = shards[static_cast<std::size_t>(rank)];
        CHECK(by_source == recorded);
        for (std::int64_t& position : by_position)
            position = position < real_total ? position : -1;
        CHECK(by_position == recorded);
        all = test::joined(all, recorded);
    }
    List gathered(all.size(), -9);
    sp::gather_index(test::main_exec, with_pads, gathered);
    CHECK(gathered == all);
    List undo(all.size(), -9);
    sp::restore_index(test::main_exec, layout, undo);
    CHECK(undo == restore);
}

}  // namespace

TEST_CASE("every recorded list of these layouts comes out of the index arrays") {
    std::map<char, int> equal;
    const std::vector<golden::Exception> exceptions = golden::exceptions();
    for (const golden::Case& c : golden::cases("layouts")) {
        const std::string letters = c.layout();
        if (c.kind() != "layout" || c.illegal() || letters.size() != 1) continue;
        if (std::any_of(exceptions.begin(), exceptions.end(), [&](const auto& e) { return e.is(c); })) continue;
        const auto params = c.body.contains("params") ? c.body["params"] : golden::json::object();
        if (params.value("mixed", false)) continue;  // two policies in one
        const std::string name = c.name();
        CAPTURE(name);
        const golden::Reference reference = golden::reference(c.body);
        REQUIRE(reference.legal);
        const auto length = c.body.at("length").get<std::int64_t>();
        const auto ranks = c.body.at("ranks").get<int>();
        const std::int64_t real = c.body.value("real_length", length);
        const List whole{0, length};
        const auto check = [&](const auto& layout, const List& cu) {
            check_lists(layout, cu, real, c.body.at("shards").get<Lists>(), reference.restore);
            ++equal[letters[0]];
        };
        const auto documents = [&] { return c.body.at("cu_seqlens").get<List>(); };
        switch (letters[0]) {
            case 'A': check(sp::ZigZag{}(length, ranks), whole); break;
            case 'E': check(sp::Striped{params.value("stripe", std::int64_t{1})}(length, ranks), whole); break;
            case 'F':
                if (params.value("uneven", false)) {
                    check(sp::UnevenContiguous{}(length, ranks), whole);
                } else {
                    check(sp::Contiguous{}(length, ranks), whole);
                }
                break;
            case 'B': {
                const List cu = documents();
                check(sp::packed(sp::ZigZag{}, cu, length, ranks), cu);
                break;
            }
            case 'G': {
                const List cu = documents();
                check(sp::packed(sp::Contiguous{}, cu, length, ranks), cu);
                break;
            }
            default: break;
        }
    }
    if (std::getenv("SEQPAR_GOLDEN") == nullptr) {
        for (const char letter : {'A', 'B', 'E', 'F', 'G'})
            CHECK(equal[letter] > 0);
        MESSAGE("lists: A ", equal['A'], ", B ", equal['B'], ", E ", equal['E'], ", F ", equal['F'], ", G ",
                equal['G']);
    }
}
