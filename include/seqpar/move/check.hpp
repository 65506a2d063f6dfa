// The checks of the moves, of VisionGather, of levels and of rows of local tokens as functions that return a Status, for code
// that must not throw: between collectives, say, where the worst code is found by a max-reduce first. Not here: the checks
// themselves.
#pragma once

#include <seqpar/index/local_rows.hpp>
#include <seqpar/move/levels.hpp>
#include <seqpar/move/unshard.hpp>

#include <utility>

namespace seqpar {

namespace detail {

struct CallShard {
    template <class... Args>
    void operator()(Args&&... args) const {
        shard(std::forward<Args>(args)...);
    }
};
struct CallShardBatch {
    template <class... Args>
    void operator()(Args&&... args) const {
        shard_batch(std::forward<Args>(args)...);
    }
};
struct CallShardAdjoint {
    template <class... Args>
    void operator()(Args&&... args) const {
        shard_adjoint(std::forward<Args>(args)...);
    }
};
struct CallUnshard {
    template <class... Args>
    void operator()(Args&&... args) const {
        seqpar::unshard(std::forward<Args>(args)...);
    }
};
struct CallUnshardAdjoint {
    template <class... Args>
    void operator()(Args&&... args) const {
        unshard_adjoint(std::forward<Args>(args)...);
    }
};
struct CallChunkCounts {
    template <class... Args>
    void operator()(Args&&... args) const {
        chunk_counts(std::forward<Args>(args)...);
    }
};
struct CallRowsFromCounts {
    template <class... Args>
    void operator()(Args&&... args) const {
        rows_from_counts(std::forward<Args>(args)...);
    }
};
struct CallBackward {
    template <class... Args>
    void operator()(Args&&... args) const {
        VisionGather{}.backward(std::forward<Args>(args)...);
    }
};
struct CallAddRows {
    template <class... Args>
    void operator()(Args&&... args) const {
        seqpar::add_rows(std::forward<Args>(args)...);
    }
};
struct CallAddRowsBackward {
    template <class... Args>
    void operator()(Args&&... args) const {
        seqpar::add_rows_backward(std::forward<Args>(args)...);
    }
};
struct CallCompact {
    template <class... Args>
    void operator()(Args&&... args) const {
        seqpar::compact(std::forward<Args>(args)...);
    }
};
struct CallSelect {
    template <class... Args>
    void operator()(Args&&... args) const {
        seqpar::select(std::forward<Args>(args)...);
    }
};

// What `call` would throw, under an exec that moves nothing.
template <class Call, class... Args>
Status status_of(const Call& call, Args&&... args) {
    try {
        call(CheckOnly{}, std::forward<Args>(args)...);
    } catch (const Error& error) {
        return error.status();
    }
    return {};
}

}  // namespace detail

// What the operation of that name would throw on a host, for the same arguments without exec; nothing is moved or written.
// Synchronises: never. Allocates: as the operation. Launches: none. Reads offsets on: the host.
template <class... Args>
[[nodiscard]] Status check_shard(Args&&... args) {
    return detail::status_of(detail::CallShard{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_shard_batch(Args&&... args) {
    return detail::status_of(detail::CallShardBatch{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_shard_adjoint(Args&&... args) {
    return detail::status_of(detail::CallShardAdjoint{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_unshard(Args&&... args) {
    return detail::status_of(detail::CallUnshard{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_unshard_adjoint(Args&&... args) {
    return detail::status_of(detail::CallUnshardAdjoint{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_chunk_counts(Args&&... args) {
    return detail::status_of(detail::CallChunkCounts{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_rows_from_counts(Args&&... args) {
    return detail::status_of(detail::CallRowsFromCounts{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_vision_gather(Args&&... args) {
    return detail::status_of(VisionGather{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_vision_gather_backward(Args&&... args) {
    return detail::status_of(detail::CallBackward{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_add_rows(Args&&... args) {
    return detail::status_of(detail::CallAddRows{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_add_rows_backward(Args&&... args) {
    return detail::status_of(detail::CallAddRowsBackward{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_compact(Args&&... args) {
    return detail::status_of(detail::CallCompact{}, std::forward<Args>(args)...);
}
template <class... Args>
[[nodiscard]] Status check_select(Args&&... args) {
    return detail::status_of(detail::CallSelect{}, std::forward<Args>(args)...);
}

}  // namespace seqpar
