// Every allocation of a device test's own code in memory that host and device share, so that the tests of the host run on the
// device as they are: what a std::vector holds is what a kernel reads. Libraries, CUDA's among them, keep to the heap.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

extern "C" const char __executable_start, etext;  // the linker's: the program's own code

namespace {

// Before each block: what kind it is of.
struct alignas(64) Header {
    void* memory;
    bool managed;
};

void* allocate(std::size_t bytes, const void* caller) {
    void* memory = nullptr;
    const std::size_t all = bytes + sizeof(Header);
    const bool managed = caller >= &__executable_start && caller < &etext;
    if (managed) {
        if (cudaMallocManaged(&memory, all) != cudaSuccess) memory = nullptr;
    } else {
        memory = std::aligned_alloc(alignof(Header), (all + alignof(Header) - 1) / alignof(Header) * alignof(Header));
    }
    if (memory == nullptr) throw std::bad_alloc();
    return new (memory) Header{memory, managed} + 1;
}

void release(void* block) {
    if (block == nullptr) return;
    const Header header = static_cast<Header*>(block)[-1];
    if (header.managed) {
        cudaFree(header.memory);
    } else {
        std::free(header.memory);
    }
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return allocate(bytes, __builtin_return_address(0)); }
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }
