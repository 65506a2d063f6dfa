// Walking the documents of a stretch of positions. Not here: what is done with them.
#pragma once

#include <seqpar/layout/offsets.hpp>

namespace seqpar::detail {

// The offsets {0, length} of a sequence that is one document.
struct OneDocument {
    std::int64_t length = 0;

    SEQPAR_HD constexpr std::int64_t count() const { return 2; }
    SEQPAR_HD constexpr std::int64_t documents() const { return 1; }
    SEQPAR_HD constexpr std::int64_t operator[](std::int64_t i) const { return i == 0 ? 0 : length; }
    SEQPAR_HD constexpr std::int64_t document_of(std::int64_t) const { return 0; }
};

// Positions [first, last) of the document [begin, end).
struct Stretch {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

// The documents that positions [first, last) meet, in order, each cut to them; empty ones are left out. One search,
// then a step a document. Documents: Offsets or OneDocument. Illegal offsets give stretches that are wrong, but in [first, last)
// and not empty, and begin in [0, stretch.first].
template <class Documents>
class DocumentCursor {
public:
    SEQPAR_HD constexpr DocumentCursor(const Documents& documents, std::int64_t first, std::int64_t last)
        : documents_(documents),
          document_(first < last ? documents.document_of(first) : 0),
          first_(first),
          last_(last) {}

    SEQPAR_HD constexpr bool next(Stretch& stretch) {
        while (first_ < last_ && document_ < documents_.documents()) {
            const std::int64_t begin = documents_[document_];
            const std::int64_t end = documents_[document_ + 1];
            ++document_;
            if (end <= first_) continue;
            stretch = {first_, end < last_ ? end : last_, begin < 0 ? 0 : begin < first_ ? begin : first_, end};
            first_ = stretch.last;
            return true;
        }
        return false;
    }

private:
    Documents documents_;
    std::int64_t document_;
    std::int64_t first_;
    std::int64_t last_;
};

}  // namespace seqpar::detail
