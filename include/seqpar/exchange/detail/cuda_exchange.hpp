// Exchanges on CUDA: buffers and the plan's rows in memory from exec's allocator, and the order of exec and communicator.
// Compiles under nvcc alone.
#pragma once

#include <seqpar/exchange/exchange.hpp>
#include <seqpar/index/detail/cuda_index.hpp>
#include <seqpar/index/detail/cuda_scan.hpp>

namespace seqpar::detail {

template <CudaExec D>
class DeviceExchange {
public:
    DeviceExchange(const D& exec, const ExchangePlan& plan, std::int64_t bytes)
        : scratch_(exec,
                   static_cast<std::size_t>(rounded(bytes) + rounded(rows_of(plan.send_rows)) +
                                            rounded(rows_of(plan.receive_rows)) + rounded(rows_of(plan.repeats)))),
          next_(data() + rounded(bytes)),
          stream_(stream_of(exec)) {}

    std::byte* data() { return static_cast<std::byte*>(scratch_.data()); }

    // A copy of an array of the plan, which may be asked for once.
    Offsets<std::int64_t> rows(const std::vector<std::int64_t>& rows) {
        const auto* const copy = reinterpret_cast<const std::int64_t*>(next_);
        if (!rows.empty())
            throw_if_cuda_failed(cudaMemcpyAsync(next_, rows.data(), rows.size() * sizeof(std::int64_t),
                                                 cudaMemcpyHostToDevice, stream_),
                                 "seqpar::exchange");
        next_ += rounded(rows_of(rows));
        return {copy, static_cast<std::int64_t>(rows.size())};
    }

private:
    static std::int64_t rounded(std::int64_t bytes) { return cuda::round_up(bytes, ScratchSpan::unit); }
    static std::int64_t rows_of(const std::vector<std::int64_t>& rows) {
        return static_cast<std::int64_t>(rows.size() * sizeof(std::int64_t));
    }

    Scratch<D> scratch_;
    std::byte* next_;
    cudaStream_t stream_;
};

template <CudaExec D>
DeviceExchange<D> exchange_memory(Dispatch, const D& exec, const ExchangePlan& plan, std::int64_t bytes) {
    return DeviceExchange<D>(exec, plan, bytes);
}

// A communicator without a stream works when it is called: what exec did before has to be done.
template <CudaExec D, class Stream>
Stream exchange_stream(Dispatch, const D& exec, std::type_identity<Stream>) {
    if constexpr (std::is_empty_v<Stream>) {
        throw_if_cuda_failed(cudaStreamSynchronize(stream_of(exec)), "seqpar::exchange");
        return {};
    } else {
        return Stream(stream_of(exec));
    }
}

}  // namespace seqpar::detail
