// arena.h: memory is planned first, then allocated once, zeroed and aligned; nothing grows later.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "device.h"

namespace puffer {

// Element types, in the order of the C ABI.
enum Dtype : int32_t { U8, I8, I16, I32, F32, I64, F64 };

inline int64_t itemsize(int32_t dtype) {
    static const int64_t sizes[] = {1, 1, 2, 4, 4, 8, 8};
    return sizes[dtype];
}

template <class T>
struct DtypeOf;
template <>
struct DtypeOf<uint8_t> {
    static constexpr Dtype value = U8;
};
template <>
struct DtypeOf<int32_t> {
    static constexpr Dtype value = I32;
};
template <>
struct DtypeOf<float> {
    static constexpr Dtype value = F32;
};
template <>
struct DtypeOf<int64_t> {
    static constexpr Dtype value = I64;
};
template <>
struct DtypeOf<double> {
    static constexpr Dtype value = F64;
};

// A named array, seen from outside. A matrix has rows and columns, a vector one dimension.
struct Named {
    std::string name;
    Dtype dtype;
    std::vector<int64_t> shape;
    void *data;

    int64_t count() const {
        int64_t n = 1;
        for (const int64_t size : shape) n *= size;
        return n;
    }
};

// Gives out aligned pieces of one allocation. `add` before `allocate` plans; the pointers that it
// was given are set by `allocate`. Scratch need not be zeroed: nobody reads it before it is
// written.
//
// The memory may be the GPU's. Arenas of the same plan at two places are copied whole.
//
// PUFFER_CHECK makes a checking build: every piece is an allocation of its own, so that a sanitizer
// sees a step beyond it, and scratch is filled with NaN.
class Arena {
   public:
    enum { ALIGNMENT = 64 };
    enum Content { ZEROS, SCRATCH };

    explicit Arena(Content content, Place place = HOST) : content(content), place(place) {}
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;
    ~Arena() {
        for (const Piece &block : blocks) release(place, block.memory);
    }

    template <class T>
    void add(T **pointer, int64_t count) {
        plans.push_back({(void **)(void *)pointer, count * (int64_t)sizeof(T)});
    }

    // `add`, and a name under which the array is seen from outside.
    template <class T>
    void add(T **pointer, const std::string &name, const std::vector<int64_t> &shape) {
        Named entry{name, DtypeOf<T>::value, shape, nullptr};
        add(pointer, entry.count());
        names.push_back({entry, (void **)(void *)pointer});
    }

    // The same for elements of a dtype that is known at run time.
    void add(void **pointer, const std::string &name, Dtype dtype,
             const std::vector<int64_t> &shape) {
        Named entry{name, dtype, shape, nullptr};
        add((char **)(void *)pointer, entry.count() * itemsize(dtype));
        names.push_back({entry, pointer});
    }

    void allocate() {
#ifdef PUFFER_CHECK
        for (const Plan &plan : plans) set(plan, block(plan.bytes));
#else
        int64_t total = 0;
        for (const Plan &plan : plans) total += padded(plan.bytes);
        char *piece = block(padded(total));
        for (const Plan &plan : plans) {
            set(plan, piece);
            piece += padded(plan.bytes);
        }
#endif
        for (auto &entry : names) std::memcpy(&entry.first.data, entry.second, sizeof(void *));
    }

    void list(std::vector<Named> &all) const {
        for (const auto &entry : names) all.push_back(entry.first);
    }

#if defined(__CUDACC__) || defined(PUFFER_GPU)
    // Copy everything from an arena of the same plan at another place.
    void copy_from(Stream stream, const Arena &other) {
        for (size_t i = 0; i < blocks.size(); i++)
            copy_bytes(stream, blocks[i].memory, other.blocks[i].memory, blocks[i].bytes);
    }
#endif

   private:
    struct Plan {
        void **pointer;
        int64_t bytes;
    };

    static int64_t padded(int64_t bytes) {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    static void set(const Plan &plan, const void *piece) {
        std::memcpy(plan.pointer, &piece, sizeof piece);
    }

    char *block(int64_t bytes) {
        void *const memory = puffer::allocate(place, bytes);
        blocks.push_back({memory, bytes});
#ifdef PUFFER_CHECK
        fill_bytes(place, memory, content == SCRATCH ? 0xff : 0, bytes);
#else
        fill_bytes(place, memory, 0, bytes);
#endif
        return (char *)memory;
    }

    struct Piece {
        void *memory;
        int64_t bytes;
    };

    const Content content;
    const Place place;
    std::vector<Plan> plans;
    std::vector<std::pair<Named, void **>> names;
    std::vector<Piece> blocks;
};

}  // namespace puffer
