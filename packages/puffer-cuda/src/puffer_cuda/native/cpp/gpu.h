// gpu.h: the vocabulary in which every kernel is written, once, for g++ and for nvcc.
//
// A kernel is a lambda marked PUFFER_KERNEL, in one of two forms:
//
//     for_each(stream, n, f)          flat: f(i) for i in [0, n)
//     for_rows(stream, rows, n, f)    flat: f(row, column)
//     for_blocks(stream, blocks, threads, f)
//                                     phases: f(block, index); inside, block.each(n, g) runs g(i)
//                                     for i in [0, n), and block.sync() ends a phase
//
// PUFFER_FN marks a function for both machines, PUFFER_BLOCK_FN one that syncs a block.
//
// The calls of a flat kernel, and those of one phase, are independent of each other: on the CPU
// they are a loop that the compiler vectorises, on the GPU they are threads. In a phase kernel the
// same thread always gets the same i, so what only i touches needs no sync between phases.
//
// PUFFER_ORDER makes a checking build: the loops run in the order that `puffer::order` asks for. A
// result that depends on it is a race or a missing sync.
//
// PUFFER_GPU with g++ builds the GPU's trainer for the CPU, to test it: a stream is a queue whose
// kernels wait until somebody waits for them, see device.h.
#pragma once

#include <cstdint>
#ifdef PUFFER_GPU
#include <deque>
#include <functional>
#include <utility>
#endif
#include <stdexcept>
#include <string>

namespace puffer {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace puffer

#ifdef __CUDACC__

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#define PUFFER_FN __host__ __device__ __forceinline__
#define PUFFER_BLOCK_FN __device__ __forceinline__
#define PUFFER_KERNEL __device__

namespace puffer {

inline void check(cudaError_t status, const char *what) {
    if (status != cudaSuccess) throw Error(std::string(what) + ": " + cudaGetErrorString(status));
}

struct Stream {
    cudaStream_t cuda = nullptr;
};

// A stream on its way through C, to another library.
inline void *handle_of(Stream stream) {
    return stream.cuda;
}
inline Stream stream_of(void *handle) {
    return {(cudaStream_t)handle};
}

struct Block {
    template <class F>
    __device__ __forceinline__ void each(int64_t n, F f) const {
        for (int64_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
    }
    __device__ __forceinline__ void sync() const {
        __syncthreads();
    }
};

enum { THREADS = 256, BLOCK_THREADS = 512 };  // of a flat kernel, and at most of a phase kernel

template <class F>
__global__ void __launch_bounds__(THREADS) flat_kernel(int64_t n, F f) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) f(i);
}

template <class F>
__global__ void __launch_bounds__(BLOCK_THREADS) block_kernel(F f) {
    f(Block{}, (int64_t)blockIdx.x);
}

template <class F>
void for_each(Stream stream, int64_t n, F f) {
    if (n == 0) return;
    flat_kernel<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, stream.cuda>>>(n, f);
    check(cudaGetLastError(), "launch");
}

template <class F>
void for_rows(Stream stream, int64_t rows, int64_t columns, F f) {
    if (rows * columns <= INT32_MAX)  // a division of 32 bits takes a fifth of the time
        for_each(stream, rows * columns, [=] __device__(int64_t i) {
            const uint32_t k = (uint32_t)i, n = (uint32_t)columns;
            f((int64_t)(k / n), (int64_t)(k % n));
        });
    else
        for_each(stream, rows * columns,
                 [=] __device__(int64_t i) { f(i / columns, i % columns); });
}

template <class F>
void for_blocks(Stream stream, int64_t blocks, int64_t threads, F f) {
    if (blocks == 0) return;
    int64_t size = (threads + 31) / 32 * 32;  // whole warps
    if (size < 32) size = 32;
    if (size > BLOCK_THREADS) size = BLOCK_THREADS;
    block_kernel<<<(unsigned)blocks, (unsigned)size, 0, stream.cuda>>>(f);
    check(cudaGetLastError(), "launch");
}

}  // namespace puffer

#else  // the CPU

#define PUFFER_FN inline __attribute__((always_inline))
#define PUFFER_BLOCK_FN PUFFER_FN
#define PUFFER_KERNEL __attribute__((always_inline))

namespace puffer {

#ifdef PUFFER_GPU

// What was submitted to a stream; the first `done` of `submitted` have run.
struct Queue {
    std::deque<std::function<void()>> waiting;
    uint64_t submitted = 0, done = 0;

    void push(std::function<void()> work) {
        waiting.push_back(std::move(work));
        submitted++;
    }
    void run(uint64_t until) {
        while (done < until) {
            const std::function<void()> work = std::move(waiting.front());
            waiting.pop_front();
            done++;
            work();
        }
    }
};

struct Stream {
    Queue *queue = nullptr;
};

inline void *handle_of(Stream stream) {
    return stream.queue;
}
inline Stream stream_of(void *handle) {
    return {(Queue *)handle};
}

// Runs at once without a queue.
template <class F>
void submit(Stream stream, F f) {
    if (stream.queue)
        stream.queue->push(f);
    else
        f();
}

#else

struct Stream {};

template <class F>
PUFFER_FN void submit(Stream, F f) {
    f();
}

#endif

#ifdef PUFFER_ORDER

// 0: forward; 1: backward; more: a permutation of that seed.
inline uint64_t order = 0;

template <class F>
void in_order(int64_t n, F f) {
    if (n == 0) return;
    uint64_t stride = 1, start = 0;
    if (order == 1) stride = (uint64_t)n - 1, start = (uint64_t)n - 1;
    if (order > 1) {
        const uint64_t count = (uint64_t)n;
        const auto coprime = [count](uint64_t a) {
            uint64_t b = count;
            while (b) {
                const uint64_t rest = a % b;
                a = b, b = rest;
            }
            return a == 1;
        };
        stride = order * 2654435761u % count, start = order * 40503u % count;
        while (!coprime(stride)) stride++;
    }
    for (uint64_t k = 0; k < (uint64_t)n; k++)
        f((int64_t)((start + k % (uint64_t)n * (stride % (uint64_t)n)) % (uint64_t)n));
}

#else

template <class F>
PUFFER_FN void in_order(int64_t n, F f) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (int64_t i = 0; i < n; i++) f(i);
}

#endif

struct Block {
    template <class F>
    PUFFER_FN void each(int64_t n, F f) const {
        in_order(n, f);
    }
    PUFFER_FN void sync() const {}
};

template <class F>
PUFFER_FN void for_each(Stream stream, int64_t n, F f) {
    submit(stream, [=]() PUFFER_KERNEL { in_order(n, f); });
}

template <class F>
PUFFER_FN void for_rows(Stream stream, int64_t rows, int64_t columns, F f) {
    submit(stream, [=]() PUFFER_KERNEL {
        for (int64_t row = 0; row < rows; row++)
            in_order(columns,
                     [&](int64_t column) __attribute__((always_inline)) { f(row, column); });
    });
}

template <class F>
PUFFER_FN void for_blocks(Stream stream, int64_t blocks, int64_t, F f) {
    submit(stream, [=]() PUFFER_KERNEL {
        in_order(blocks, [&](int64_t index) __attribute__((always_inline)) { f(Block{}, index); });
    });
}

}  // namespace puffer

#endif
