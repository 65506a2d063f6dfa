// From the letters of the golden files (A to K, each also with +M, and `whole`) to layouts of the library. Not here: what is
// asked about a layout; see answer.cpp.
#pragma once

#include "request.hpp"

#include <seqpar/index/run_table.hpp>
#include <seqpar/layout/contiguous.hpp>
#include <seqpar/layout/nested.hpp>
#include <seqpar/layout/packed.hpp>
#include <seqpar/layout/padded.hpp>
#include <seqpar/layout/striped.hpp>
#include <seqpar/layout/zigzag.hpp>

#include <optional>
#include <string>
#include <vector>

namespace inspect {

// A layout as a request describes it: read, of the right types, and consistent in itself. Whether the library can deal its
// length out is not decided here.
struct Asked {
    std::string letter;  // without +M
    int ranks = 1;       // of the letter's layout; all of them are ranks * tp
    int tp = 1;          // parts of every shard (+M), else 1
    int ring = 1;        // H, I: ring * ulysses are the ranks
    int ulysses = 1;
    std::int64_t stripe = 1;
    bool uneven = false;
    bool planned = false;    // C, D, J, and B with params.mixed: the layout is a table
    Params params;           // as they came, for plans
    bool documents = false;  // whether there are offsets
    std::int64_t length = 0;
    std::optional<std::int64_t> real_length;
    std::vector<std::int64_t> cu_seqlens;
};

Asked read_layout(const json& request);

// Offsets that a layout over the whole sequence does not use are legal all the same; those of F may end early.
void check_unused_offsets(const Asked& asked);

// The table of a planned layout.
seqpar::RunTable table(const Asked& asked);

// visit(layout) for the layout of the letter alone, whose offsets lie in `asked`. Throws seqpar::Error for a length that the
// policy cannot deal out; what lies in the offsets is for seqpar::check.
template <class Visit>
auto with_letter(const Asked& asked, const Visit& visit) {
    namespace sp = seqpar;
    if (asked.planned) {
        const sp::RunTable plan = table(asked);
        return visit(plan.layout());
    }
    if (asked.letter == "whole") return visit(sp::Contiguous{}(asked.length, 1));  // what every rank holds
    if (asked.letter == "B") return visit(sp::packed(sp::ZigZag{}, asked.cu_seqlens, asked.length, asked.ranks));
    if (asked.letter == "G") return visit(sp::packed(sp::Contiguous{}, asked.cu_seqlens, asked.length, asked.ranks));
    if (asked.letter == "H" && asked.documents) {
        return visit(sp::nested(sp::packed(sp::ZigZag{}, asked.cu_seqlens, asked.length, asked.ring), sp::Contiguous{},
                                asked.ulysses));
    }
    if (asked.letter == "H")
        return visit(sp::nested(sp::ZigZag{}(asked.length, asked.ring), sp::Contiguous{}, asked.ulysses));
    if (asked.letter == "I")
        return visit(sp::nested(sp::Striped{}(asked.length, asked.ring), sp::Contiguous{}, asked.ulysses));
    if (asked.letter == "E") return visit(sp::Striped{asked.stripe}(asked.length, asked.ranks));
    if (asked.letter == "F" && asked.uneven) return visit(sp::UnevenContiguous{}(asked.length, asked.ranks));
    if (asked.letter == "F") return visit(sp::Contiguous{}(asked.length, asked.ranks));
    return visit(sp::ZigZag{}(asked.length, asked.ranks));  // A, and K inside a sample's group
}

// The same with +M.
template <class Visit>
auto with_parts(const Asked& asked, const Visit& visit) {
    return with_letter(asked, [&](const auto& layout) {
        if (asked.tp == 1) return visit(layout);
        return visit(seqpar::nested(layout, seqpar::Contiguous{}, asked.tp));
    });
}

// The same with the pads that real_length leaves: visit(layout) for all that `asked` says.
template <class Visit>
auto with_layout(const Asked& asked, const Visit& visit) {
    check_unused_offsets(asked);
    return with_parts(asked, [&](const auto& layout) {
        if (!asked.real_length || asked.letter == "J") return visit(layout);  // J: pads keep their positions
        const std::int64_t real[] = {0, *asked.real_length};
        const std::int64_t padded[] = {0, asked.length};
        return visit(seqpar::padded(layout, real, padded, *asked.real_length));
    });
}

}  // namespace inspect
