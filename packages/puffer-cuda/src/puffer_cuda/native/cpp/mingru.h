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

// One element of one row back: gates (h, z, p) become dL/d(u, g, p) and *dx is set; `out` is dL/dy
// and `following` what the next row asks of the state. Returns what this row asks of the last one.
PUFFER_FN float mingru_back(float *u, int64_t n, int64_t j, float keep, float before, float state,
                            float in, float out, float following, float *dx) {
    const float h = u[j], z = u[n + j], p = u[2 * n + j];
    const float ds = following + out * p, dh = ds * z;
    u[j] = h >= 0.5f ? dh : dh * h * (1.0f - h);
    u[n + j] = dh * (h - keep * before) * (1.0f - z);
    u[2 * n + j] = out * (state - in) * p * (1.0f - p);
    *dx = out * (1.0f - p);
    return ds * (1.0f - z) * keep;
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
                following[j] = mingru_back(u, n, j, keep, before[j], state[j], in[j], from[j],
                                           following[j], to + j);
            });
        }
    });
}

// mingru_forward with time cut into `pieces` that run side by side, for when segments are few:
// each piece starts from 0, the true starts are chained from the pieces' ends, and what they add
// decays along each piece. ends and decays (segments, pieces, n) are scratch.
inline void mingru_scan(Stream stream, int64_t segments, int64_t time, int64_t n, int64_t pieces,
                        float *gates, const float *x, const uint8_t *starts, int64_t stride,
                        const float *initial, float *states, float *y, float *ends, float *decays) {
    for_blocks(stream, segments, pieces * n, [=] PUFFER_KERNEL(Block block, int64_t segment) {
        float *end = ends + segment * pieces * n, *decay = decays + segment * pieces * n;
        block.each(pieces * n, [&](int64_t i) {
            const int64_t piece = i / n, j = i % n;
            float state = 0, share = 1;
            for (int64_t t = time * piece / pieces; t < time * (piece + 1) / pieces; t++) {
                const int64_t row = segment * time + t;
                float *u = gates + row * 3 * n;
                const Three s = sigmoids(u[j], u[n + j], u[2 * n + j]);
                const float h = u[j] >= 0 ? u[j] + 0.5f : s.a, keep = starts[row] ? 0.0f : 1.0f;
                u[j] = h;
                u[n + j] = s.b;
                u[2 * n + j] = s.c;
                const float old = keep * state;
                state = old + s.b * (h - old);
                share *= keep * (1.0f - s.b);
                states[row * n + j] = state;
            }
            end[i] = state;
            decay[i] = share;
        });
        block.sync();
        block.each(n, [&](int64_t j) {  // end[piece] becomes the true state before the piece
            float before = initial[segment * stride + j];
            for (int64_t piece = 0; piece < pieces; piece++) {
                const int64_t i = piece * n + j;
                const float after = end[i] + decay[i] * before;
                end[i] = before;
                before = after;
            }
        });
        block.sync();
        block.each(pieces * n, [&](int64_t i) {
            const int64_t piece = i / n, j = i % n;
            float rest = end[i];
            for (int64_t t = time * piece / pieces; t < time * (piece + 1) / pieces; t++) {
                const int64_t row = segment * time + t, at = row * n + j;
                const float *u = gates + row * 3 * n;
                rest *= starts[row] ? 0.0f : 1.0f - u[n + j];
                const float state = states[at] + rest;
                states[at] = state;
                y[at] = x[at] + u[2 * n + j] * (state - x[at]);
            }
        });
    });
}

// mingru_backward in pieces likewise: what the future asks of a state flows back through time.
inline void mingru_scan_backward(Stream stream, int64_t segments, int64_t time, int64_t n,
                                 int64_t pieces, float *gates, const float *x,
                                 const uint8_t *starts, int64_t stride, const float *initial,
                                 const float *states, const float *dy, float *dx, float *ends,
                                 float *decays) {
    for_blocks(stream, segments, pieces * n, [=] PUFFER_KERNEL(Block block, int64_t segment) {
        float *end = ends + segment * pieces * n, *decay = decays + segment * pieces * n;
        block.each(pieces * n, [&](int64_t i) {
            const int64_t piece = i / n, j = i % n;
            float following = 0, share = 1;
            for (int64_t t = time * (piece + 1) / pieces - 1; t >= time * piece / pieces; t--) {
                const int64_t row = segment * time + t;
                const float *u = gates + row * 3 * n;
                const float passed = starts[row] ? 0.0f : 1.0f - u[n + j];
                following = (following + dy[row * n + j] * u[2 * n + j]) * passed;
                share *= passed;
            }
            end[i] = following;
            decay[i] = share;
        });
        block.sync();
        block.each(n, [&](int64_t j) {  // end[piece] becomes what comes from behind the piece
            float behind = 0;
            for (int64_t piece = pieces - 1; piece >= 0; piece--) {
                const int64_t i = piece * n + j;
                const float before = end[i] + decay[i] * behind;
                end[i] = behind;
                behind = before;
            }
        });
        block.sync();
        block.each(pieces * n, [&](int64_t i) {
            const int64_t piece = i / n, j = i % n;
            float following = end[i];
            for (int64_t t = time * (piece + 1) / pieces - 1; t >= time * piece / pieces; t--) {
                const int64_t row = segment * time + t, at = row * n + j;
                float *u = gates + row * 3 * n;
                const float *before = t > 0 ? states + at - n : initial + segment * stride + j;
                following = mingru_back(u, n, j, starts[row] ? 0.0f : 1.0f, *before, states[at],
                                        x[at], dy[at], following, dx + at);
            }
        });
    });
}

}  // namespace puffer
