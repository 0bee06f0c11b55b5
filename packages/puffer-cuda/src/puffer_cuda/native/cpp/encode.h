// encode.h: observations in the environment's own dtype to the floats that the encoder multiplies.
#pragma once

#include "arena.h"
#include "gpu.h"

namespace puffer {

template <class T>
void cast(Stream stream, int64_t n, const T *from, float *to) {
    for_each(stream, n, [=] PUFFER_KERNEL(int64_t i) { to[i] = (float)from[i]; });
}

// Call f with `from` as a pointer to elements of `dtype`, one of those that observations have.
template <class F>
void with_elements(int32_t dtype, const void *from, F f) {
    switch (dtype) {
    case U8:
        return f((const uint8_t *)from);
    case I8:
        return f((const int8_t *)from);
    case I16:
        return f((const int16_t *)from);
    case I32:
        return f((const int32_t *)from);
    default:
        return f((const float *)from);
    }
}

// `n` observations' elements of `dtype` as floats.
inline void encode(Stream stream, int32_t dtype, int64_t n, const void *from, float *to) {
    with_elements(dtype, from, [&](auto *elements) { cast(stream, n, elements, to); });
}

}  // namespace puffer
