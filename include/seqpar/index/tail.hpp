// Tail: who owns what a packed sequence holds after its last document. Not here: any arithmetic; see padding.hpp.
#pragma once

#include <seqpar/layout/offsets.hpp>

namespace seqpar {

// Trainers differ, so nothing here has a default.
enum class Tail : unsigned char {
    last_document,  // the last document that is not empty goes on to the end of the sequence
    own_document,   // the tail is one more document
    nobody,         // the tail is in no document: offsets stay as they are
};

namespace detail {

// What a check of offsets gave, where the last offset may be less than the total.
SEQPAR_HD constexpr Status allow_tail(const Status& status, std::int64_t total) {
    return status.kind() == Kind::offsets_total && status.got < total ? Status{} : status;
}

}  // namespace detail

}  // namespace seqpar
