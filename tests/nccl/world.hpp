// One process of several that share an NCCL communicator: rank and number from the environment (RANK, WORLD_SIZE), as torchrun and
// cmake/run_on_gpus.sh set them. All processes get the same id from ncclGetUniqueId, as NCCL_COMM_ID and stand-ins for NCCL see to.
#pragma once

#include <seqpar/exchange/nccl.hpp>

#include <dlfcn.h>
#include <cstdlib>
#include <vector>

namespace test {

inline int from_environment(const char* variable) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? -1 : std::atoi(text);
}

// Whether mistakes are found and no call waits for ever: with a stand-in for NCCL that checks, not with NCCL itself.
inline bool nccl_checks() { return dlsym(RTLD_DEFAULT, "noc_counter") != nullptr; }

struct World {
    int rank = from_environment("RANK");
    int size = from_environment("WORLD_SIZE");
    ncclComm_t comm = nullptr;
    cudaStream_t stream = nullptr;

    explicit World(bool blocking = true) {
        int devices = 0;
        cudaGetDeviceCount(&devices);
        cudaSetDevice(devices > 1 ? from_environment("LOCAL_RANK") : 0);
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        ncclUniqueId id;
        ncclGetUniqueId(&id);
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = blocking ? 1 : 0;
        ncclCommInitRankConfig(&comm, size, id, rank, &config);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    // A communicator that failed has been aborted already.
    void destroy(const seqpar::Nccl& used) const {
        if (!used.engine().aborted()) {
            ncclResult_t state = ncclCommFinalize(comm);
            while (state == ncclInProgress && ncclCommGetAsyncError(comm, &state) == ncclSuccess) {
            }
            ncclCommDestroy(comm);
        }
        cudaStreamDestroy(stream);
    }
};

// Device memory for the conformance suite.
class DeviceBuffers {
public:
    DeviceBuffers() = default;
    DeviceBuffers(const DeviceBuffers&) = delete;
    DeviceBuffers& operator=(const DeviceBuffers&) = delete;
    ~DeviceBuffers() {
        for (void* const buffer : buffers_)
            cudaFree(buffer);
    }

    void* make(const std::vector<std::byte>& bytes, cudaStream_t stream) {
        void* buffer = nullptr;
        cudaMalloc(&buffer, bytes.size());
        buffers_.push_back(buffer);
        cudaMemcpyAsync(buffer, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream);
        cudaStreamSynchronize(stream);  // `bytes` is gone after this
        return buffer;
    }
    void read(std::vector<std::byte>& bytes, const void* from, cudaStream_t stream) const {
        cudaMemcpyAsync(bytes.data(), from, bytes.size(), cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
    }

private:
    std::vector<void*> buffers_;
};

}  // namespace test
