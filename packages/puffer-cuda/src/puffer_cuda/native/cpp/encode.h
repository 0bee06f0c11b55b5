// encode.h: observations in the environment's own dtype to the floats that the encoder multiplies.
#pragma once

#include "arena.h"
#include "gpu.h"

namespace puffer {

template <class T>
void cast(Stream stream, int64_t n, const T *from, float *to) {
    for_each(stream, n, [=] PUFFER_KERNEL(int64_t i) { to[i] = (float)from[i]; });
}

// `n` observations' elements of `dtype` as floats.
inline void encode(Stream stream, int32_t dtype, int64_t n, const void *from, float *to) {
    switch (dtype) {
    case U8:
        return cast(stream, n, (const uint8_t *)from, to);
    case I8:
        return cast(stream, n, (const int8_t *)from, to);
    case I16:
        return cast(stream, n, (const int16_t *)from, to);
    case I32:
        return cast(stream, n, (const int32_t *)from, to);
    default:
        return cast(stream, n, (const float *)from, to);
    }
}

}  // namespace puffer
