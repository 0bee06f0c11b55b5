// optimizer.h: norms and clipping; Muon (Jordan et al. 2024) for matrices, AdamW for the rest, as
// puffer_cuda/muon.py says them.
#pragma once

#include <cmath>

#include "gemm.h"
#include "gpu.h"
#include "maths.h"

namespace puffer {

// The sum of squares in a fixed order: 256 interleaved sums, then their sum. `partial` has 256.
inline void sum_of_squares(Stream stream, int64_t n, const float *x, double *partial,
                           double *result) {
    constexpr int64_t LANES = 256;
    for_blocks(stream, 1, LANES, [=] PUFFER_KERNEL(Block block, int64_t) {
        block.each(LANES, [&](int64_t lane) { partial[lane] = 0; });
        for (int64_t from = 0; from < n; from += LANES)
            block.each(n - from < LANES ? n - from : LANES, [&](int64_t lane) {
                partial[lane] += (double)x[from + lane] * (double)x[from + lane];
            });
        block.sync();
        block.each(1, [&](int64_t) {
            double total = 0;
            for (int lane = 0; lane < LANES; lane++) total += partial[lane];
            *result = total;
        });
    });
}

// What an update multiplies with; in memory, so that a captured graph reads new values.
struct StepSize {
    float learning_rate, gradient_scale;
    float bias1, bias2;  // 1 - beta^step of AdamW
};

struct OptimizerSettings {
    float beta1, beta2, eps, weight_decay;  // beta1: the momentum of matrices under Muon
    float vector_ratio;                     // learning rate of AdamW's arrays, as a share
};

// One AdamW step of n numbers.
inline void adamw(Stream stream, int64_t n, const StepSize *step, OptimizerSettings s,
                  const float *gradients, float *mean, float *square, float *weights) {
    for_each(stream, n, [=] PUFFER_KERNEL(int64_t i) {
        const float rate = step->learning_rate * s.vector_ratio;
        const float g = gradients[i] * step->gradient_scale;
        mean[i] += (g - mean[i]) * (1.0f - s.beta1);
        square[i] += (g * g - square[i]) * (1.0f - s.beta2);
        const float scale = sqrtf(square[i] / step->bias2) + s.eps;
        weights[i] =
            weights[i] * (1.0f - rate * s.weight_decay) - rate / step->bias1 * (mean[i] / scale);
    });
}

struct Coefficients {
    float a, b, c;
};

// Of the five Newton-Schulz steps X <- a X + (b G + c G^2) X, G = X X^T.
constexpr Coefficients NEWTON_SCHULZ[] = {
    {4.0848f, -6.8946f, 2.9270f}, {3.9505f, -6.3029f, 2.6377f}, {3.7418f, -5.5913f, 2.3037f},
    {2.8769f, -3.1427f, 1.2046f}, {2.8366f, -3.0525f, 1.2012f},
};

// Room for the largest matrix: x and y rows x columns, gram and square side x side of the shorter.
struct MuonScratch {
    float *x, *y, *gram, *square;
    double *partial, *norm;  // 256 and 1
};

// m <- mu m + g;  x = (g + mu m) / its norm. Entries too small to matter become 0: their products
// would be denormal numbers.
inline void nesterov(Stream stream, int64_t n, float mu, const StepSize *step,
                     const float *gradients, float *momentum, MuonScratch t) {
    float *x = t.x;
    for_each(stream, n, [=] PUFFER_KERNEL(int64_t i) {
        const float g = gradients[i] * step->gradient_scale, m = mu * momentum[i] + g;
        momentum[i] = fabsf(m) > 1e-30f ? m : 0;
        x[i] = g + mu * momentum[i];
    });
    sum_of_squares(stream, n, x, t.partial, t.norm);
    const double *norm = t.norm;
    for_each(stream, n, [=] PUFFER_KERNEL(int64_t i) {
        const float unit = x[i] / larger(sqrtf((float)*norm), 1e-7f);
        x[i] = fabsf(unit) > 1e-12f ? unit : 0;
    });
}

// The nearly orthogonal factor of t.x (rows, columns), whose norm is 1; returns where it lies. Tall
// matrices take G = X^T X and X Q instead of Q X, so that nothing is turned round.
inline const float *orthogonalize(Stream stream, const Gemm &gemm, int64_t rows, int64_t columns,
                                  MuonScratch t) {
    const bool wide = rows <= columns;
    const int64_t side = wide ? rows : columns;
    float *x = t.x, *y = t.y, *gram = t.gram, *square = t.square;
    for (const Coefficients &k : NEWTON_SCHULZ) {
        if (wide)
            gemm.nt(side, side, columns, x, x, gram);
        else
            gemm.tn(side, side, rows, x, x, gram);
        gemm.nt(side, side, side, gram, gram, square);  // symmetric: G G^T = G^2
        for_rows(stream, side, side, [=] PUFFER_KERNEL(int64_t row, int64_t column) {
            const int64_t i = row * side + column;
            square[i] = k.b * gram[i] + k.c * square[i] + (row == column ? k.a : 0);
        });
        if (wide)
            gemm.nn(side, columns, side, square, x, y);
        else
            gemm.nn(rows, side, side, x, square, y);
        float *const swap = x;
        x = y, y = swap;
    }
    return x;
}

// One Muon step of a matrix (rows, columns).
inline void muon(Stream stream, const Gemm &gemm, int64_t rows, int64_t columns,
                 const StepSize *step, OptimizerSettings s, const float *gradients, float *momentum,
                 float *weights, MuonScratch scratch) {
    nesterov(stream, rows * columns, s.beta1, step, gradients, momentum, scratch);
    const float *x = orthogonalize(stream, gemm, rows, columns, scratch);
    const float scale = sqrtf(rows > columns ? (float)rows / (float)columns : 1.0f);
    for_each(stream, rows * columns, [=] PUFFER_KERNEL(int64_t i) {
        const float rate = step->learning_rate;
        weights[i] = weights[i] * (1.0f - rate * s.weight_decay) - rate * scale * x[i];
    });
}

}  // namespace puffer
