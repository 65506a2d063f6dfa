// From segments to shares of columns.
#include "picture_columns.hpp"

#include <algorithm>
#include <cmath>

namespace example {
namespace {

/// Calls f(column, share of the column) for the columns that a segment touches.
template <class F>
void for_columns(const OwnedSegment& segment, double columns_per_position, std::size_t columns, F f) {
    const double from = static_cast<double>(segment.begin) * columns_per_position;
    const double to = static_cast<double>(segment.begin + segment.length) * columns_per_position;
    for (auto c = static_cast<std::size_t>(from); c < columns && static_cast<double>(c) < to; ++c) {
        const auto at = static_cast<double>(c);
        f(c, std::min(to, at + 1) - std::max(from, at));
    }
}

/// Gives a column that is not mixed to the one rank that has most of it, so that edges stay sharp.
void sharpen(Columns& columns) {
    for (std::size_t c = 0; c < columns.count; ++c) {
        if (columns.mixed[c]) {
            continue;
        }
        auto owner = columns.share.begin();
        for (auto lane = columns.share.begin(); lane != columns.share.end(); ++lane) {
            owner = (*lane)[c] > (*owner)[c] ? lane : owner;
        }
        for (auto lane = columns.share.begin(); lane != columns.share.end(); ++lane) {
            (*lane)[c] = lane == owner ? 1 : 0;
        }
    }
}

/// Averages mixed columns with their mixed neighbours in the same document: stripes whose width is no multiple of a
/// column would beat against the columns.
void smooth(Columns& columns, const std::vector<std::size_t>& document) {
    constexpr std::size_t reach = 8;
    for (auto& lane : columns.share) {
        const std::vector<double> sharp = lane;
        for (std::size_t c = 0; c < columns.count; ++c) {
            double sum = 0;
            double weight = 0;
            const std::size_t last = std::min(c + reach, columns.count - 1);
            for (std::size_t near = c < reach ? 0 : c - reach; near <= last; ++near) {
                if (columns.mixed[near] && document[near] == document[c]) {
                    const double closeness = 1.0 + reach - std::abs(static_cast<double>(near) - static_cast<double>(c));
                    sum += closeness * sharp[near];
                    weight += closeness;
                }
            }
            lane[c] = columns.mixed[c] ? sum / weight : sharp[c];
        }
    }
}

/// The document in which each column begins.
std::vector<std::size_t> documents_of_columns(const OwnershipPanel& panel, std::size_t count, double per_position) {
    std::vector<std::size_t> documents(count);
    std::size_t document = 0;
    for (std::size_t c = 0; c < count; ++c) {
        while (document + 1 < panel.documents.size() &&
               static_cast<double>(panel.documents[document].end) * per_position <= static_cast<double>(c)) {
            ++document;
        }
        documents[c] = document;
    }
    return documents;
}

}  // namespace

Columns make_columns(const OwnershipPanel& panel, double scale) {
    const double per_position = scale / column;
    Columns columns;
    columns.count = static_cast<std::size_t>(std::lround(static_cast<double>(panel.length) * per_position));
    columns.share.assign(static_cast<std::size_t>(panel.ranks), std::vector<double>(columns.count));
    constexpr double finest = 0.65;
    std::vector<int> touching(columns.count);
    for (const OwnedSegment& segment : panel.segments) {
        auto& lane = columns.share[static_cast<std::size_t>(segment.rank)];
        const bool fine = static_cast<double>(segment.length) * scale < finest;
        for_columns(segment, per_position, columns.count, [&](std::size_t c, double share) {
            lane[c] += share;
            touching[c] += fine ? 2 : 1;
        });
    }
    for (const int segments : touching) {
        columns.mixed.push_back(segments > 2);
    }
    sharpen(columns);
    smooth(columns, documents_of_columns(panel, columns.count, per_position));
    return columns;
}

}  // namespace example
