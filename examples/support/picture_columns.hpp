// Which ranks share each narrow column of a strip. A column that many segments share has no colour of its own; shares
// say what to draw there. It computes and draws nothing.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "picture.hpp"

namespace example {

/// Width of a column, in points.
inline constexpr double column = 0.5;

struct Columns {
    std::size_t count = 0;
    std::vector<std::vector<double>> share;  ///< [rank][column]
    std::vector<bool> mixed;                 ///< segments are too fine to be told apart
};

/// The columns of a panel of which a position is `scale` points wide.
Columns make_columns(const OwnershipPanel& panel, double scale);

/// Calls paint(column, x, width) where what `look` tells of the columns changes. The width reaches to the right end,
/// and the next call covers the rest: so no viewer shows a seam between columns.
template <class Look, class Paint>
void paint_columns(double left, std::size_t count, Look look, Paint paint) {
    decltype(look(0)) before{};
    for (std::size_t c = 0; c < count; ++c) {
        auto now = look(c);
        if (c == 0 || now != before) {
            const double from = static_cast<double>(c) * column;
            paint(c, left + from, static_cast<double>(count) * column - from);
            before = std::move(now);
        }
    }
}

}  // namespace example
