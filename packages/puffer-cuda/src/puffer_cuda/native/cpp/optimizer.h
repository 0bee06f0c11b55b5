// optimizer.h: norms and clipping; Muon (Jordan et al. 2024) for matrices, AdamW for the rest, as
// puffer_cuda/muon.py says them.
#pragma once

#include <cmath>

#include "gemm.h"
#include "gpu.h"
#include "maths.h"
#include "reduce.h"

namespace puffer {

// lanes[chunk * LANES] = the sum of squares of each chunk of x.
inline void sums_of_squares(Stream stream, int64_t n, int64_t chunks, const float *x,
                            double *lanes) {
    chunk_sums(stream, n, chunks, lanes,
               [=] PUFFER_KERNEL(int64_t i) { return (double)x[i] * (double)x[i]; });
}

// What an update multiplies with; in memory, so that a captured graph reads new values.
struct StepSize {
    float learning_rate, gradient_scale;
    float bias1, bias2;  // 1 - beta^step of AdamW
    int32_t skip;        // the gradient is not finite: change nothing
};

struct OptimizerSettings {
    float beta1, beta2, eps, weight_decay;  // beta1: the momentum of matrices under Muon
    float vector_ratio;                     // learning rate of AdamW's arrays, as a share
};

// One AdamW step of n numbers.
inline void adamw(Stream stream, int64_t n, const StepSize *step, OptimizerSettings s,
                  const float *gradients, float *mean, float *square, float *weights) {
    for_each(stream, n, [=] PUFFER_KERNEL(int64_t i) {
        if (step->skip) return;
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

// Matrices of one shape, `stride` floats apart.
struct Matrices {
    int64_t rows, columns, count = 1, stride = 0;

    int64_t size() const {
        return rows * columns;
    }
    int64_t side() const {  // of the Gram matrix
        return rows < columns ? rows : columns;
    }
};

// Room for the largest matrices: x and y count x rows x columns, gram and square count x side x
// side.
struct MuonScratch {
    float *x, *y, *gram, *square;
    double *norms;  // LANES a matrix
};

// m <- mu m + g;  x = (g + mu m) / its norm. Entries too small to matter become 0: their products
// would be denormal numbers.
inline void nesterov(Stream stream, Matrices m, float mu, const StepSize *step,
                     const float *gradients, float *momentum, MuonScratch t) {
    float *x = t.x;
    const int64_t size = m.size(), stride = m.stride;
    for_rows(stream, m.count, size, [=] PUFFER_KERNEL(int64_t k, int64_t j) {
        if (step->skip) return;
        const int64_t i = k * stride + j;
        const float g = gradients[i] * step->gradient_scale, v = mu * momentum[i] + g;
        momentum[i] = fabsf(v) > 1e-30f ? v : 0;
        x[k * size + j] = g + mu * momentum[i];
    });
    sums_of_squares(stream, m.count * size, m.count, x, t.norms);
    const double *norms = t.norms;
    for_rows(stream, m.count, size, [=] PUFFER_KERNEL(int64_t k, int64_t j) {
        const float unit = x[k * size + j] / larger(sqrtf((float)norms[k * LANES]), 1e-7f);
        x[k * size + j] = fabsf(unit) > 1e-12f ? unit : 0;
    });
}

// The nearly orthogonal factors of the matrices t.x, whose norms are 1; returns where they lie.
// Tall matrices take G = X^T X and X Q instead of Q X, so that nothing is turned round.
inline const float *orthogonalize(Stream stream, const Gemm &gemm, Matrices m, MuonScratch t) {
    const bool wide = m.rows <= m.columns;
    const int64_t side = m.side(), square_size = side * side, size = m.size();
    float *x = t.x, *y = t.y, *gram = t.gram, *square = t.square;
    const Batch to_gram = {m.count, size, size, square_size};
    const Batch to_square = {m.count, square_size, square_size, square_size};
    for (const Coefficients &k : NEWTON_SCHULZ) {
        if (wide)
            gemm.nt(side, side, m.columns, x, x, gram, 0, to_gram);
        else
            gemm.tn(side, side, m.rows, x, x, gram, 0, to_gram);
        gemm.nt(side, side, side, gram, gram, square, 0, to_square);  // symmetric: G G^T = G^2
        for_rows(stream, m.count * side, side, [=] PUFFER_KERNEL(int64_t row, int64_t column) {
            const int64_t i = row * side + column;
            square[i] = k.b * gram[i] + k.c * square[i] + (row % side == column ? k.a : 0);
        });
        if (wide)
            gemm.nn(side, m.columns, side, square, x, y, 0, {m.count, square_size, size, size});
        else
            gemm.nn(m.rows, side, side, x, square, y, 0, {m.count, size, square_size, size});
        float *const swap = x;
        x = y, y = swap;
    }
    return x;
}

// One Muon step of matrices of one shape.
inline void muon(Stream stream, const Gemm &gemm, Matrices m, const StepSize *step,
                 OptimizerSettings s, const float *gradients, float *momentum, float *weights,
                 MuonScratch scratch) {
    nesterov(stream, m, s.beta1, step, gradients, momentum, scratch);
    const float *x = orthogonalize(stream, gemm, m, scratch);
    const float scale = sqrtf(m.rows > m.columns ? (float)m.rows / (float)m.columns : 1.0f);
    const int64_t size = m.size(), stride = m.stride;
    for_rows(stream, m.count, size, [=] PUFFER_KERNEL(int64_t k, int64_t j) {
        if (step->skip) return;
        const float rate = step->learning_rate;
        float *weight = weights + k * stride + j;
        *weight = *weight * (1.0f - rate * s.weight_decay) - rate * scale * x[k * size + j];
    });
}

}  // namespace puffer
