// maths.h: exp, log and what is built of them, the same on both machines, in straight lines that a
// compiler vectorises; and random numbers that are a function of their coordinates.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "gpu.h"

namespace puffer {

PUFFER_FN float as_float(int32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

PUFFER_FN int32_t as_int(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

PUFFER_FN float smaller(float a, float b) {
    return a < b ? a : b;
}

PUFFER_FN float larger(float a, float b) {
    return a > b ? a : b;
}

PUFFER_FN float clamp(float x, float low, float high) {
    return smaller(larger(x, low), high);
}

// e^x within 2 ulp on [-87, 88]; beyond, the value at the nearer end. A NaN stays one.
//
// x = n log 2 + r with |r| <= log(2) / 2; e^r is a polynomial of degree 6 that interpolates at
// Chebyshev points, 2^n goes into the exponent's bits.
PUFFER_FN float fast_exp(float x) {
    const float bounded = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    const float shifted = bounded * 1.44269504088896341f + 12582912.0f;  // rounds: 1.5 x 2^23
    const float n = shifted - 12582912.0f;
    const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;  // log 2 in two parts
    float p = 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p * as_float((int32_t)(((uint32_t)as_int(shifted) - 0x4b400000u + 127u) << 23));
}

// log x of a normal positive float within 2 ulp, by x = 2^n m, m in [sqrt(1/2), sqrt(2)), and
// log m = 2 artanh(s), s = (m - 1) / (m + 1).
PUFFER_FN float fast_log(float x) {
    const int32_t bits = as_int(x) - 0x3f3504f3;  // sqrt(1/2)
    const float n = (float)(bits >> 23);
    const float m = as_float((bits & 0x007fffff) + 0x3f3504f3);
    const float f = m - 1.0f, s = f / (m + 1.0f), z = s * s;
    const float tail = z * (0.666666667f + z * (0.4f + z * (0.285714286f + z * 0.222222222f)));
    const float half = 0.5f * f * f;  // log m = f - f^2/2 + s (f^2/2 + tail)
    return n * 0.693359375f + (f - (half - (s * (half + tail) + n * -2.12194440e-4f)));
}

PUFFER_FN float sigmoid(float x) {
    return 1.0f / (1.0f + fast_exp(-x));
}

struct Three {
    float a, b, c;
};

// Three sigmoids with one division; arguments beyond 29 count as 29, an error below 3e-13.
PUFFER_FN Three sigmoids(float a, float b, float c) {
    const float x = 1.0f + fast_exp(-clamp(a, -29.0f, 29.0f));
    const float y = 1.0f + fast_exp(-clamp(b, -29.0f, 29.0f));
    const float z = 1.0f + fast_exp(-clamp(c, -29.0f, 29.0f));
    const float inverse = 1.0f / (x * y * z);
    return {y * z * inverse, x * z * inverse, x * y * inverse};
}

struct Four {
    uint32_t x[4];
};

// Philox 4x32-10 (Salmon et al. 2011): random bits as a function of a counter and a key.
PUFFER_FN Four philox(uint64_t key, uint64_t high, uint64_t low) {
    Four c = {{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)}};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p = (uint64_t)0xd2511f53u * c.x[0], q = (uint64_t)0xcd9e8d57u * c.x[2];
        c = {{(uint32_t)(q >> 32) ^ c.x[1] ^ k0, (uint32_t)q, (uint32_t)(p >> 32) ^ c.x[3] ^ k1,
              (uint32_t)p}};
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return c;
}

// A float in [0, 1).
PUFFER_FN float uniform(uint32_t bits) {
    return (float)(bits >> 8) * 0x1p-24f;
}

// Independent streams of one seed.
enum Purpose : uint64_t { SAMPLE_ACTIONS = 1, SHUFFLE_SEGMENTS = 2, DRAW_SEGMENTS = 3 };

// Four words for item `index` at time `step`; a resumed run only needs to know the step.
PUFFER_FN Four random_words(uint64_t seed, Purpose purpose, uint64_t step, uint64_t index) {
    return philox(seed + 0x9e3779b97f4a7c15u * (uint64_t)purpose, step, index);
}

}  // namespace puffer
