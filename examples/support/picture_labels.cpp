// The search for a place for every name.
#include "picture_labels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace example {
namespace {

constexpr int most_tiers = 6;
constexpr double widest_name = 190;

bool clash(const Label& a, const Label& b) {
    constexpr double between_texts = 9;
    constexpr double beside_pole = 3;
    const auto crosses = [](const Label& high, const Label& low) {
        return high.pole > low.left - beside_pole && high.pole < low.right + beside_pole;
    };
    if (a.tier == b.tier) {
        return a.left < b.right + between_texts && b.left < a.right + between_texts;
    }
    return std::abs(a.pole - b.pole) < beside_pole || (a.tier > b.tier ? crosses(a, b) : crosses(b, a));
}

/// Puts flags, from right to left, on the lowest tier where they touch nothing: a staircase in which no pole crosses a
/// text. False if one finds no place.
bool place_flags(std::vector<Label>& flags, double left_end, double right_end) {
    std::sort(flags.begin(), flags.end(), [](const Label& a, const Label& b) { return a.pole > b.pole; });
    for (auto flag = flags.begin(); flag != flags.end(); ++flag) {
        const double width = flag->right - flag->left;
        const auto fits = [&](int tier, double left) {
            flag->tier = tier;
            flag->left = left;
            flag->right = left + width;
            return flag->right <= right_end && left >= left_end &&
                   std::none_of(flags.begin(), flag, [&](const Label& placed) { return clash(*flag, placed); });
        };
        constexpr double beside_pole = 4;
        bool found = false;
        for (const double left : {flag->pole + beside_pole, flag->pole - beside_pole - width}) {
            for (int tier = 1; tier <= most_tiers && !found; ++tier) {
                found = fits(tier, left);
            }
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::vector<Label> place_labels(Pen& pen, const std::vector<DocumentBand>& documents, double origin, double scale,
                                double left_end, double right_end) {
    constexpr std::size_t most_candidates = 60;
    constexpr double inner_margin = 4;
    std::vector<Label> inside;
    std::vector<std::pair<std::int64_t, Label>> candidates;
    for (const DocumentBand& document : documents) {
        const double begin = origin + static_cast<double>(document.begin) * scale;
        const double end = origin + static_cast<double>(document.end) * scale;
        Label label{pen.fit(document.name, label_font, widest_name), grouped(document.real_end - document.begin),
                    (begin + end) / 2};
        const double name = pen.width(label.name + " ", label_font);
        const double both = name + pen.width(label.tokens, small_font);
        const bool fits = name + 2 * inner_margin <= end - begin;
        if (fits && both + 2 * inner_margin > end - begin) {
            label.tokens.clear();
        }
        const double width = label.tokens.empty() ? name : both;
        label.left = label.pole - width / 2;
        label.right = label.pole + width / 2;
        if (fits) {
            inside.push_back(label);
        } else if (document.real_end > document.begin) {
            candidates.emplace_back(document.end - document.begin, label);
        }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    candidates.resize(std::min(candidates.size(), most_candidates));

    std::vector<Label> flags;
    for (const auto& [length, label] : candidates) {
        std::vector<Label> more = flags;
        more.push_back(label);
        if (place_flags(more, left_end, right_end)) {
            flags = std::move(more);
        }
    }
    inside.insert(inside.end(), flags.begin(), flags.end());
    return inside;
}

}  // namespace example
