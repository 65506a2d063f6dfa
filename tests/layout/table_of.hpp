// A run table from written lists, and what a test has to break in it.
#pragma once

#include "random.hpp"

namespace test {

// The table whose shards are `lists`: the longest runs, in slot order.
inline Table table_of(const Lists& lists) {
    Table table;
    table.ranks = static_cast<int>(lists.size());
    table.rank_runs.push_back(0);
    for (const List& list : lists) {
        for (std::size_t slot = 0; slot < list.size(); ++slot) {
            if (slot > 0 && list[slot] == list[slot - 1] + 1) {
                ++table.runs.back().length;
            } else {
                table.runs.push_back({list[slot], static_cast<std::int64_t>(slot), 1});
            }
        }
        table.length += static_cast<std::int64_t>(list.size());
        table.rank_runs.push_back(static_cast<std::int64_t>(table.runs.size()));
    }
    for (std::int64_t position = 0; position < table.length;) {
        const std::int64_t before = position;
        for (std::size_t number = 0; number < table.runs.size(); ++number) {
            if (table.runs[number].position == position) {
                table.by_position.push_back(static_cast<std::int64_t>(number));
                position += table.runs[number].length;
                break;
            }
        }
        if (position == before) {
            break;  // lists that are no permutation: check() of the layout says so
        }
    }
    table.by_position.resize(table.runs.size(), 0);
    return table;
}

}  // namespace test
