// What the tests of device code share: arrays in device memory, a stream, and what an operation puts on it.
#pragma once

#include <seqpar/cuda.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

inline void must(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

// An array that fills an allocation of its own to the last byte, so that a checker sees every access outside it.
template <class T>
class DeviceArray {
public:
    explicit DeviceArray(std::int64_t count, const T& value = {})
        : DeviceArray(std::vector<T>(static_cast<std::size_t>(count), value)) {}
    explicit DeviceArray(const std::vector<T>& values) : count_(static_cast<std::int64_t>(values.size())) {
        if (count_ > 0) must(cudaMalloc(reinterpret_cast<void**>(&data_), values.size() * sizeof(T)));
        set(values);
    }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    ~DeviceArray() { cudaFree(data_); }

    void set(const std::vector<T>& values) {
        must(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
        must(cudaDeviceSynchronize());  // streams of the tests do not wait for the default one
    }
    std::vector<T> get() const {
        std::vector<T> values(static_cast<std::size_t>(count_));
        must(cudaMemcpy(values.data(), data_, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }
    T* data() const { return data_; }
    std::int64_t count() const { return count_; }
    template <class... Extents>
    auto tensor(Extents... extents) const {
        return seqpar::tensor(data_, extents...);
    }

private:
    T* data_ = nullptr;
    std::int64_t count_ = 0;
};

template <class Int>
seqpar::Offsets<Int> offsets_on(const DeviceArray<Int>& array) {
    return {array.data(), array.count()};
}

class Stream {
public:
    Stream() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { cudaStreamDestroy(stream_); }

    operator cudaStream_t() const { return stream_; }
    auto exec() const { return thrust::cuda::par_nosync.on(stream_); }
    void wait() const { must(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
};

// A CUDA graph of what `work` puts on the stream. Whatever a capture forbids (allocating, synchronising, another stream) fails.
class Graph {
public:
    template <class Work>
    Graph(const Stream& stream, const Work& work) {
        must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        work();
        must(cudaStreamEndCapture(stream, &graph_));
        must(cudaGraphInstantiate(&executable_, graph_, 0));
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() {
        cudaGraphExecDestroy(executable_);
        cudaGraphDestroy(graph_);
    }

    void launch(const Stream& stream) const {
        must(cudaGraphLaunch(executable_, stream));
        stream.wait();
    }
    // How many of its nodes are of a type, or of any.
    int nodes(std::optional<cudaGraphNodeType> wanted = {}) const {
        std::size_t count = 0;
        must(cudaGraphGetNodes(graph_, nullptr, &count));
        std::vector<cudaGraphNode_t> all(count);
        if (count > 0) must(cudaGraphGetNodes(graph_, all.data(), &count));
        int found = 0;
        for (const cudaGraphNode_t node : all) {
            cudaGraphNodeType type{};
            must(cudaGraphNodeGetType(node, &type));
            found += !wanted || type == *wanted ? 1 : 0;
        }
        return found;
    }
    // How many kernels it launches, or -1 if it does anything else.
    int kernels() const {
        const int count = nodes(cudaGraphNodeTypeKernel);
        return count == nodes() ? count : -1;
    }

private:
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
};

// The kernels that `work` launches on the stream.
template <class Work>
int kernels_of(const Stream& stream, const Work& work) {
    return Graph(stream, work).kernels();
}

template <class T>
std::vector<T> counted_from(std::int64_t count, std::int64_t first = 0) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(static_cast<T>(first + i));
    return values;
}

}  // namespace test
