// mingru.h: the part of a MinGRU layer behind its matrix product. With (u, g, p) = W x:
//
//     z = sigmoid(g),   h = u + 1/2 if u >= 0 else sigmoid(u)
//     s_t = (1 - z) s_{t-1} + z h,   y = sigmoid(p) s_t + (1 - sigmoid(p)) x
//
// Rows are ordered by segment, then time. A start clears the state before its row.
#pragma once

#include "gpu.h"
#include "maths.h"

namespace puffer {

// One step of many agents. gates: (rows, 3n) = W x. The states of an agent are `stride` apart;
// where `begins` is set, the old one counts as 0. `to` may be `from`, or null: keep no new states.
inline void mingru_step(Stream stream, int64_t rows, int64_t n, const float *gates, const float *x,
                        const uint8_t *begins, int64_t stride, const float *from, float *to,
                        float *y) {
    for_blocks(stream, rows, n, [=] PUFFER_KERNEL(Block block, int64_t row) {
        const float *u = gates + row * 3 * n, *old = from + row * stride, *in = x + row * n;
        float *out = y + row * n, *next = to ? to + row * stride : nullptr;
        const float keep = begins[row] ? 0.0f : 1.0f;
        block.each(n, [&](int64_t j) {
            const Three s = sigmoids(u[j], u[n + j], u[2 * n + j]);
            const float h = u[j] >= 0 ? u[j] + 0.5f : s.a;
            const float before = keep * old[j];
            const float state = before + s.b * (h - before);
            if (next) next[j] = state;
            out[j] = in[j] + s.c * (state - in[j]);
        });
    });
}

// Whole segments. In: gates (rows, 3n) = W x; x (rows, n); starts (rows); initial states, one a
// segment, `stride` apart. Out: gates become (h, z, sigmoid(p)); states and y (rows, n).
inline void mingru_forward(Stream stream, int64_t segments, int64_t time, int64_t n, float *gates,
                           const float *x, const uint8_t *starts, int64_t stride,
                           const float *initial, float *states, float *y) {
    for_blocks(stream, segments, n, [=] PUFFER_KERNEL(Block block, int64_t segment) {
        const float *before = initial + segment * stride;
        for (int64_t row = segment * time; row < (segment + 1) * time; row++) {
            float *u = gates + row * 3 * n, *state = states + row * n, *out = y + row * n;
            const float *in = x + row * n;
            const float keep = starts[row] ? 0.0f : 1.0f;
            block.each(n, [&](int64_t j) {
                const Three s = sigmoids(u[j], u[n + j], u[2 * n + j]);
                const float h = u[j] >= 0 ? u[j] + 0.5f : s.a;
                const float old = keep * before[j];
                const float next = old + s.b * (h - old);
                u[j] = h;
                u[n + j] = s.b;
                u[2 * n + j] = s.c;
                state[j] = next;
                out[j] = in[j] + s.c * (next - in[j]);
            });
            before = state;
        }
    });
}

// Back through whole segments. In: what mingru_forward wrote, and dy (rows, n). Out: gates become
// dL/d(u, g, p); dx (rows, n) the part of dL/dx that goes around the matrix product. carry
// (segments, n) is scratch. dy and dx may be the same memory.
inline void mingru_backward(Stream stream, int64_t segments, int64_t time, int64_t n, float *gates,
                            const float *x, const uint8_t *starts, int64_t stride,
                            const float *initial, const float *states, const float *dy, float *dx,
                            float *carry) {
    for_blocks(stream, segments, n, [=] PUFFER_KERNEL(Block block, int64_t segment) {
        float *following = carry + segment * n;
        block.each(n, [&](int64_t j) { following[j] = 0; });
        for (int64_t row = (segment + 1) * time - 1; row >= segment * time; row--) {
            float *u = gates + row * 3 * n, *to = dx + row * n;
            const float *in = x + row * n, *state = states + row * n, *from = dy + row * n;
            const float *before = row > segment * time ? state - n : initial + segment * stride;
            const float keep = starts[row] ? 0.0f : 1.0f;
            block.each(n, [&](int64_t j) {
                const float h = u[j], z = u[n + j], p = u[2 * n + j];
                const float old = keep * before[j], out = from[j];
                const float ds = following[j] + out * p, dh = ds * z;
                following[j] = ds * (1.0f - z) * keep;
                u[j] = h >= 0.5f ? dh : dh * h * (1.0f - h);
                u[n + j] = dh * (h - old) * (1.0f - z);
                u[2 * n + j] = out * (state[j] - in[j]) * p * (1.0f - p);
                to[j] = out * (1.0f - p);
            });
        }
    });
}

}  // namespace puffer
