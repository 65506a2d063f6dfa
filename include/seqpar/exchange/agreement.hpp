// Agreement: what every rank of a group has to be given alike (offsets, layouts, element types), as a list of numbers. Not here:
// comparing the lists; throw_together (errors.hpp) does, and says what differs.
#pragma once

#include <seqpar/exchange/communicator.hpp>
#include <seqpar/index/offsets.hpp>
#include <seqpar/layout/runs.hpp>
#include <seqpar/move/field.hpp>

#include <vector>

namespace seqpar {

// What is given is counted from 0, in an order that is the same on all ranks; a Status about it has that number as its array, the
// least of what ranks gave as expected, and the greatest as got:
//
// | given           | kind          | field                                                 |
// |-----------------|---------------|-------------------------------------------------------|
// | numbers, layout | agreement     | 0: how many (size), 1: the last (ranks), 2: the hash  |
// | fields          | element, axes |                                                       |
// |                 | extent        | the axis                                              |
// |                 | agreement     | 3: the DataType, 4: the axis that is exchanged        |
//
// Hashes of what is unlike are unlike, but for one pair in 2^63.
// Synchronises: never. Allocates: the list. Launches: none. Reads offsets on: the host.
class Agreement {
public:
    // Integers: offsets, cuts, rows. Equal ones of either type agree.
    template <OffsetArray R>
    Agreement& numbers(const R& array) {
        return summary(offsets_summary(array));
    }

    // A layout, by where it puts tokens. That one is illegal is for a Status to say; here it counts as one that holds nothing.
    // Cost: linear in the runs of all ranks.
    template <Layout L>
    Agreement& layout(const L& layout) {
        std::vector<std::int64_t> hashes;
        const int ranks = check(layout).ok() ? layout.ranks() : 0;
        for (int rank = 0; rank < ranks; ++rank) {
            std::vector<std::int64_t> tokens;
            auto cursor = source_runs(layout, rank, 0, layout.slots(rank));
            for (Run run; cursor.next(run);) {
                tokens.push_back(run.position);
                tokens.push_back(run.length);
            }
            hashes.push_back(offsets_summary(tokens)[2]);
        }
        return summary({layout.size(), layout.ranks(), offsets_summary(hashes)[2]});
    }

    // The fields of an exchange: element types, and the shapes of rows.
    template <class... In, class... Out>
    Agreement& fields(const detail::Field<In, Out, detail::BatchLayout, void>&... fields) {
        (one_field<typename detail::Field<In, Out, detail::BatchLayout, void>::element>(fields.in, fields.axis), ...);
        return *this;
    }

    // A Status for each number, which is what came.
    [[nodiscard]] const std::vector<Status>& entries() const { return entries_; }

private:
    Agreement& summary(const OffsetsSummary& summary) {
        for (std::size_t i = 0; i < summary.size(); ++i)
            add(Kind::agreement, summary[i], static_cast<std::int64_t>(i));
        ++given_;
        return *this;
    }
    template <class Element>
    void one_field(const ArrayRef& array, int axis) {
        axis = axis_index(axis, array.axes);
        add(Kind::element, array.element_bytes);
        add(Kind::agreement, static_cast<std::int64_t>(data_type_of<Element>), 3);
        add(Kind::axes, array.axes);
        add(Kind::agreement, axis, 4);
        for (int i = 0; i < array.axes && i < ArrayRef::max_axes; ++i) {
            if (i != axis) add(Kind::extent, array.extents[i], i);
        }
        ++given_;
    }
    void add(Kind kind, std::int64_t value, std::int64_t field = 0) {
        entries_.push_back(make_status(kind, given_, 0, 0, value, field));
    }

    std::vector<Status> entries_;
    int given_ = 0;
};

}  // namespace seqpar
