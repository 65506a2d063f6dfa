// What the random tests check of one layout: its laws, and those of what is made of it.
#pragma once

#include "../broken.hpp"
#include "random.hpp"

#include <seqpar/conformance/layout.hpp>
#include <seqpar/layout/contiguous.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <string>

namespace test {

using namespace seqpar;
using namespace seqpar::conformance;

inline std::string text(const List& list) {
    std::ostringstream out;
    for (std::int64_t value : list) {
        out << value << ' ';
    }
    return out.str();
}

// What is wrong as a line, else nothing.
inline std::string broken(const Status& status) { return status.ok() ? std::string() : describe(status); }

template <Layout L>
void check_laws(const L& layout) {
    REQUIRE(broken(check(layout)) == "");
    REQUIRE(broken(check_layout(layout)) == "");
}

// Layouts made of `layout`: cut into parts, padded, and both ways round.
template <Layout L, OffsetInteger I>
void check_compositions(Random& random, const L& layout, Offsets<I> padded_offsets) {
    const int parts = static_cast<int>(random.between(1, 5));
    check_laws(nested(layout, UnevenContiguous{}, parts));
    REQUIRE(broken(nested_is_its_parts(layout, UnevenContiguous{}, parts)) == "");
    const int fewer = static_cast<int>(random.between(1, 3));
    check_laws(nested(nested(layout, UnevenContiguous{}, parts), UnevenContiguous{}, fewer));

    List cu;
    for (std::int64_t i = 0; i < padded_offsets.count(); ++i) {
        cu.push_back(padded_offsets[i]);
    }
    const List real = random_real_offsets(random, cu);
    const std::vector<std::int32_t> narrow = as<std::int32_t>(real);
    CAPTURE(text(real));
    const auto with_pads = padded(layout, real, padded_offsets, real.back());
    check_laws(with_pads);
    REQUIRE(broken(padded_is_its_base(layout, offsets(narrow), padded_offsets, real.back())) == "");
    check_laws(nested(with_pads, UnevenContiguous{}, parts));
    check_laws(padded(nested(layout, UnevenContiguous{}, parts), narrow, padded_offsets, real.back()));
    if (check(nested(layout, Contiguous{}, parts)).ok()) {
        check_laws(nested(with_pads, Contiguous{}, parts));
        check_laws(nested(nested(with_pads, Contiguous{}, parts), UnevenContiguous{}, fewer));
    }
}

inline int random_ranks(Random& random) {
    return static_cast<int>(random.once_in(8) ? random.between(9, 17) : random.between(1, 8));
}

// Formula E with its width.
struct FormulaE {
    std::int64_t width;
    List operator()(std::int64_t S, std::int64_t P, std::int64_t r) const { return formula_e(S, P, r, width); }
};

}  // namespace test
