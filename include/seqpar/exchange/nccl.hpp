// Nccl: the communicator on NCCL, for device memory and streams. Not here: making an ncclComm_t, sending its id round.
#pragma once

#include <seqpar/exchange/detail/steps.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include <nccl.h>

namespace seqpar {

namespace detail {

class NcclEngine {
public:
    using Stream = cudaStream_t;
    using Steps = std::vector<Step<cudaStream_t>>;
    static constexpr bool native_equal = true;
    static constexpr bool keeps_buffers = false;

    explicit NcclEngine(ncclComm_t comm, std::chrono::milliseconds time_limit = std::chrono::minutes(10))
        : comm_(comm), time_limit_(time_limit) {
        settle(ncclInProgress, "ncclCommInit");
        settle(ncclCommUserRank(comm, &rank_), "ncclCommUserRank");
        settle(ncclCommCount(comm, &size_), "ncclCommCount");
        require_cuda(cudaMalloc(&scratch_, most_values * sizeof(std::int64_t)), "cudaMalloc");
    }
    NcclEngine(const NcclEngine&) = delete;
    NcclEngine& operator=(const NcclEngine&) = delete;
    ~NcclEngine() { cudaFree(scratch_); }

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    // Whether a failure has made this object call ncclCommAbort: the owner of the ncclComm_t must not use or destroy it then.
    [[nodiscard]] bool aborted() const { return aborted_; }
    void drop() const {}

    void run(const Steps& steps) const {
        require_working();
        ncclResult_t result = ncclGroupStart();
        if (result == ncclSuccess) {
            for (std::size_t i = 0; i < steps.size() && (result == ncclSuccess || result == ncclInProgress); ++i)
                result = issue(steps[i]);
            const ncclResult_t end = ncclGroupEnd();  // also after a failure: groups are balanced
            if (result == ncclSuccess || result == ncclInProgress) result = end;
        }
        settle(result, steps.front().verb);
    }

    // Waits for what is in the stream, and looks meanwhile whether the communicator has failed or the time is over: then it is
    // aborted, which frees the stream, and CommunicationError is thrown.
    void wait(cudaStream_t stream) const {
        require_working();
        const auto until = std::chrono::steady_clock::now() + time_limit_;
        cudaError_t state = cudaStreamQuery(stream);
        for (; state == cudaErrorNotReady; state = cudaStreamQuery(stream)) {
            require_working();
            if (std::chrono::steady_clock::now() > until) fail("waiting for other ranks: the time limit is over");
            std::this_thread::yield();
        }
        require_cuda(state, "cudaStreamQuery");
        require_working();
    }

    void max_of_host(std::span<std::int64_t> values, cudaStream_t stream) const {
        for (std::size_t at = 0; at < values.size(); at += most_values) {
            const std::span<std::int64_t> part = values.subspan(at, (std::min)(most_values, values.size() - at));
            require_cuda(cudaMemcpyAsync(scratch_, part.data(), part.size_bytes(), cudaMemcpyHostToDevice, stream),
                         "cudaMemcpyAsync");
            run({{StepKind::all_reduce, Reduction::max, DataType::int64, 0, scratch_, scratch_,
                  static_cast<std::int64_t>(part.size()), "all_reduce", stream}});
            wait(stream);  // before the copy, which may block and watches nothing
            require_cuda(cudaMemcpyAsync(part.data(), scratch_, part.size_bytes(), cudaMemcpyDeviceToHost, stream),
                         "cudaMemcpyAsync");
            wait(stream);
        }
    }

private:
    static constexpr std::size_t most_values = 64;

    [[noreturn]] void fail(const std::string& why) const {
        const std::string text = why + " (" + ncclGetLastError(comm_) + ")";
        aborted_ = true;
        ncclCommAbort(comm_);
        throw CommunicationError(text);
    }
    [[noreturn]] void fail(const char* what, ncclResult_t result) const {
        fail(std::string(what) + ": " + ncclGetErrorString(result));
    }
    void require_cuda(cudaError_t error, const char* what) const {
        if (error != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(error));
    }
    // Throws if an earlier call has failed, at once or since then.
    void require_working() const {
        if (aborted_) throw CommunicationError("the NCCL communicator was aborted");
        ncclResult_t state = ncclSuccess;
        const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
        if (asked != ncclSuccess) fail("ncclCommGetAsyncError", asked);
        if (state != ncclSuccess && state != ncclInProgress) fail("an earlier call", state);
    }
    // A communicator that does not block answers ncclInProgress, and tells later.
    void settle(ncclResult_t result, const char* what) const {
        const auto until = std::chrono::steady_clock::now() + time_limit_;
        while (result == ncclInProgress) {
            const ncclResult_t asked = ncclCommGetAsyncError(comm_, &result);
            if (asked != ncclSuccess) result = asked;
            if (result != ncclInProgress) break;
            if (std::chrono::steady_clock::now() > until) break;
            std::this_thread::yield();
        }
        if (result == ncclInProgress) fail(std::string(what) + ": the time limit is over");
        if (result != ncclSuccess) fail(what, result);
    }
    static ncclDataType_t type_of(DataType type) {
        constexpr ncclDataType_t types[] = {ncclUint8,  ncclInt8,    ncclUint8,    ncclInt32,   ncclUint32, ncclInt64,
                                            ncclUint64, ncclFloat16, ncclBfloat16, ncclFloat32, ncclFloat64};
        return types[static_cast<int>(type)];
    }
    [[nodiscard]] ncclResult_t issue(const Step<cudaStream_t>& step) const {
        const auto count = static_cast<std::size_t>(step.count);
        const ncclDataType_t type = type_of(step.type);
        const ncclRedOp_t op = step.reduction == Reduction::sum ? ncclSum : ncclMax;
        switch (step.kind) {
            case StepKind::send: return ncclSend(step.from, count, type, step.peer, comm_, step.stream);
            case StepKind::receive: return ncclRecv(step.to, count, type, step.peer, comm_, step.stream);
            case StepKind::reduce:
                return ncclReduce(step.from, step.to, count, type, op, step.peer, comm_, step.stream);
            case StepKind::all_reduce: return ncclAllReduce(step.from, step.to, count, type, op, comm_, step.stream);
            case StepKind::all_gather: return ncclAllGather(step.from, step.to, count, type, comm_, step.stream);
            case StepKind::reduce_scatter:
                return ncclReduceScatter(step.from, step.to, count, type, op, comm_, step.stream);
        }
        return ncclInvalidUsage;
    }

    ncclComm_t comm_;
    std::chrono::milliseconds time_limit_;
    int rank_ = 0;
    int size_ = 0;
    void* scratch_ = nullptr;
    mutable bool aborted_ = false;
};

}  // namespace detail

// Nccl(comm, time_limit): on an ncclComm_t that the caller made, owns and destroys later; its device is current where one is made
// or used. Buffers are device memory, of any allocator: nothing is registered. close() issues one NCCL group, which runs in the
// streams of its verbs and can be captured; inside a group of the caller's own (ncclGroupStart) it runs when
// that ends: bare verbs may stand there, but no exchange, sum or throw_together, which use what they receive.
// What fails, a call of CUDA's too (at once, or seen by ncclCommGetAsyncError before the next group or in engine().wait(stream)), or
// takes longer than time_limit where the host waits, aborts the communicator, so that no rank hangs, and throws CommunicationError;
// engine().aborted() tells, and where the constructor throws it is aborted as well. Where peers may never come, give a communicator that does not block (ncclConfig_t::blocking = 0): only then can close()
// itself keep the limit. Allocates: 512 bytes of device memory at the start, for max_of_host.
using Nccl = detail::EngineCommunicator<detail::NcclEngine>;

}  // namespace seqpar
