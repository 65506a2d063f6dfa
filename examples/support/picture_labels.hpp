// Where the names of documents go: inside the width of the document where they fit, else on flags above it. It places
// labels and draws nothing.
#pragma once

#include <string>
#include <vector>

#include "pen.hpp"
#include "picture.hpp"

namespace example {

struct Label {
    std::string name;
    std::string tokens;
    double pole = 0;  ///< the middle of the document
    double left = 0;  ///< of the text
    double right = 0;
    int tier = 0;  ///< 0: right above the strip, without a pole
};

/// Labels that touch neither each other nor each other's poles. Names stay between `left_end` and `right_end`; a position's
/// x is origin + position * scale. Where there is no room for all names, longer documents come first.
std::vector<Label> place_labels(Pen& pen, const std::vector<DocumentBand>& documents, double origin, double scale,
                                double left_end, double right_end);

}  // namespace example
