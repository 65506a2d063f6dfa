// The answers to every kind of request but `layout`, a function for each; see kinds.cpp. Not here: layouts and errors.
#pragma once

#include "request.hpp"

namespace inspect {

// groups (D) or partitions (J) from work and ranks.
json plan(const json& request);

// By the beginning of `function`; see README.md.
json offsets(const json& request);

// rows: of each placeholder's bank, from the ids of a whole stream; counts: how many.
json rows(const json& request);

// undo, redo: to the order of the sequence from the shards joined in order of ranks, and back.
json undo_redo(const json& request);

// shards, outputs: what each slot holds after the roll.
json roll(const json& request);

// shards, halos.
json halo(const json& request);

// shards, target_shards, per_rank.
json relayout(const json& request);

}  // namespace inspect
