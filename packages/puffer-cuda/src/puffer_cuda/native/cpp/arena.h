// arena.h: memory is planned first, then allocated once, zeroed and aligned; nothing grows later.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "gpu.h"

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
// was given are set by `allocate`.
class Arena {
   public:
    enum { ALIGNMENT = 64 };

    Arena() = default;
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;
    ~Arena() {
        std::free(base);
    }

    template <class T>
    void add(T **pointer, int64_t count) {
        plans.push_back({(void **)(void *)pointer, bytes});
        bytes += (count * (int64_t)sizeof(T) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
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
        const size_t size = (size_t)(bytes > 0 ? bytes : (int64_t)ALIGNMENT);
        base = std::aligned_alloc(ALIGNMENT, size);
        if (!base) throw std::bad_alloc();
        std::memset(base, 0, size);
        for (const Plan &plan : plans) {
            const void *const piece = (char *)base + plan.offset;
            std::memcpy(plan.pointer, &piece, sizeof piece);
        }
        for (auto &entry : names) std::memcpy(&entry.first.data, entry.second, sizeof(void *));
    }

    void list(std::vector<Named> &all) const {
        for (const auto &entry : names) all.push_back(entry.first);
    }

   private:
    struct Plan {
        void **pointer;
        int64_t offset;
    };
    std::vector<Plan> plans;
    std::vector<std::pair<Named, void **>> names;
    int64_t bytes = 0;
    void *base = nullptr;
};

}  // namespace puffer
