// device.h: memory of the GPU, copies, streams and graphs.
//
// Without nvcc the same names run on the CPU, for tests, and as late as the rules allow: a stream
// is a queue that runs when somebody waits for it, and a graph repeats what it recorded, arguments
// included. So a missing wait or a number that a graph must not freeze gives wrong results here
// too.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "gpu.h"

#if defined(PUFFER_GPU) && !defined(__CUDACC__)
#include <sys/mman.h>

#include <map>
#endif

namespace puffer {

// HOST: the CPU's memory. PINNED: the same, which copies to and from the GPU need to be
// asynchronous. DEVICE: the GPU's.
enum Place { HOST, PINNED, DEVICE };

#ifdef __CUDACC__

inline void use_device(int index) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
    if (index >= count)
        throw Error("no GPU " + std::to_string(index) + ": this machine has " +
                    std::to_string(count) + " that CUDA can use.");
    check(cudaSetDevice(index), "cudaSetDevice");
}

inline void *allocate(Place place, int64_t bytes) {
    void *memory = nullptr;
    if (place == DEVICE)
        check(cudaMalloc(&memory, (size_t)bytes), "memory of the GPU");
    else if (place == PINNED)
        check(cudaHostAlloc(&memory, (size_t)bytes, cudaHostAllocPortable), "pinned memory");
    else if (posix_memalign(&memory, 64, (size_t)bytes))
        throw std::bad_alloc();
    return memory;
}

inline void release(Place place, void *memory) {
    if (place == DEVICE)
        cudaFree(memory);
    else if (place == PINNED)
        cudaFreeHost(memory);
    else
        std::free(memory);
}

inline void fill_bytes(Place place, void *memory, int value, int64_t bytes) {
    if (place == DEVICE) {  // and wait: streams of their own do not
        check(cudaMemset(memory, value, (size_t)bytes), "cudaMemset");
        check(cudaDeviceSynchronize(), "cudaMemset");
    } else
        std::memset(memory, value, (size_t)bytes);
}

inline void copy_bytes(Stream stream, void *to, const void *from, int64_t bytes) {
    if (bytes)
        check(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault, stream.cuda), "copy");
}

inline void clear_bytes(Stream stream, void *memory, int64_t bytes) {
    check(cudaMemsetAsync(memory, 0, (size_t)bytes, stream.cuda), "cudaMemsetAsync");
}

inline void synchronize(Stream stream) {
    check(cudaStreamSynchronize(stream.cuda), "the GPU");
}

class OwnedStream {
   public:
    OwnedStream() {
        check(cudaStreamCreateWithFlags(&stream.cuda, cudaStreamNonBlocking), "stream");
    }
    OwnedStream(const OwnedStream &) = delete;
    OwnedStream &operator=(const OwnedStream &) = delete;
    ~OwnedStream() {
        cudaStreamDestroy(stream.cuda);
    }
    operator Stream() const {
        return stream;
    }

   private:
    Stream stream;
};

// Work that is launched as one. The first call runs it as it stands, so that libraries load what
// they need; the second records it; all later ones repeat the record.
class Graph {
   public:
    Graph() = default;
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;
    ~Graph() {
        if (graph) cudaGraphExecDestroy(graph);
    }

    template <class F>
    void run(Stream stream, F work) {
        if (!warm) {
            warm = true;
            return work();
        }
        if (!graph) record(stream, work);
        check(cudaGraphLaunch(graph, stream.cuda), "cudaGraphLaunch");
    }

   private:
    template <class F>
    void record(Stream stream, F work) {
        check(cudaStreamBeginCapture(stream.cuda, cudaStreamCaptureModeThreadLocal), "capture");
        work();
        cudaGraph_t recorded;
        check(cudaStreamEndCapture(stream.cuda, &recorded), "end of a capture");
        const cudaError_t status = cudaGraphInstantiate(&graph, recorded, 0);
        cudaGraphDestroy(recorded);
        check(status, "cudaGraphInstantiate");
    }

    bool warm = false;
    cudaGraphExec_t graph = nullptr;
};

#else

#ifdef PUFFER_GPU

// Memory that only kernels and copies may touch: without an Access, a host that does ends here.
class DeviceMemory {
   public:
    static DeviceMemory &get() {
        static DeviceMemory memory;
        return memory;
    }

    struct Access {
        Access() {
            get().protect(PROT_READ | PROT_WRITE);
        }
        ~Access() {
            get().protect(PROT_NONE);
        }
    };

    void *map(size_t bytes) {
        if (bytes == 0) return nullptr;
        void *const memory =
            mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        blocks[memory] = bytes;
        return memory;
    }
    void unmap(void *memory) {
        const auto found = blocks.find(memory);
        if (found == blocks.end()) return;
        munmap(memory, found->second);
        blocks.erase(found);
    }

   private:
    void protect(int access) {
        for (const auto &block : blocks) mprotect(block.first, block.second, access);
    }

    std::map<void *, size_t> blocks;
};

#endif

inline void *allocate(Place place, int64_t bytes) {
#if defined(PUFFER_GPU) && !defined(PUFFER_CHECK)  // a sanitizer looks after its own blocks
    if (place == DEVICE) return DeviceMemory::get().map((size_t)bytes);
#endif
    void *memory = nullptr;
    (void)place;
    if (posix_memalign(&memory, 64, (size_t)bytes)) throw std::bad_alloc();
    return memory;
}

inline void release(Place place, void *memory) {
#if defined(PUFFER_GPU) && !defined(PUFFER_CHECK)  // a sanitizer looks after its own blocks
    if (place == DEVICE) return DeviceMemory::get().unmap(memory);
#endif
    (void)place;
    std::free(memory);
}

inline void fill_bytes(Place, void *memory, int value, int64_t bytes) {
#ifdef PUFFER_GPU
    const DeviceMemory::Access access;
#endif
    std::memset(memory, value, (size_t)bytes);
}

#ifdef PUFFER_GPU

inline void use_device(int) {}

inline void copy_bytes(Stream stream, void *to, const void *from, int64_t bytes) {
    submit(stream, [=] { std::memcpy(to, from, (size_t)bytes); });
}

inline void clear_bytes(Stream stream, void *memory, int64_t bytes) {
    submit(stream, [=] { std::memset(memory, 0, (size_t)bytes); });
}

inline void synchronize(Stream stream) {
    const DeviceMemory::Access access;
    stream.queue->run(stream.queue->submitted);
}

class OwnedStream {
   public:
    OwnedStream() = default;
    OwnedStream(const OwnedStream &) = delete;
    OwnedStream &operator=(const OwnedStream &) = delete;
    operator Stream() const {
        return {&queue};
    }

   private:
    mutable Queue queue;
};

class Graph {
   public:
    template <class F>
    void run(Stream stream, F work) {
        if (!recorded) {
            Queue record;
            std::swap(*stream.queue, record);
            work();
            std::swap(*stream.queue, record);
            steps.assign(record.waiting.begin(), record.waiting.end());
            recorded = true;
        }
        for (const auto &step : steps) stream.queue->push(step);
    }

   private:
    bool recorded = false;
    std::vector<std::function<void()> > steps;
};

#endif
#endif

// Copy `count` elements between any two places.
template <class T>
void copy(Stream stream, T *to, const T *from, int64_t count) {
    copy_bytes(stream, to, from, count * (int64_t)sizeof(T));
}

}  // namespace puffer
