// dense.h: what follows and precedes the matrix product of a Linear layer.
#pragma once

#include "gpu.h"

namespace puffer {

// y += b on every row.
inline void add_bias(Stream stream, int64_t rows, int64_t n, const float *bias, float *y) {
    for_rows(stream, rows, n,
             [=] PUFFER_KERNEL(int64_t row, int64_t j) { y[row * n + j] += bias[j]; });
}

// y = max(y + b, 0) on every row; a NaN stays one.
inline void bias_relu(Stream stream, int64_t rows, int64_t n, const float *bias, float *y) {
    for_rows(stream, rows, n, [=] PUFFER_KERNEL(int64_t row, int64_t j) {
        const float x = y[row * n + j] + bias[j];
        y[row * n + j] = x < 0 ? 0 : x;
    });
}

// dy = 0 where y is not positive: the gradient before a ReLU whose output is y.
inline void relu_backward(Stream stream, int64_t n, const float *y, float *dy) {
    for_each(stream, n, [=] PUFFER_KERNEL(int64_t i) { dy[i] = y[i] > 0 ? dy[i] : 0; });
}

// sums[chunk, j] += the sum of x[row, j] over the rows of each chunk: the gradient of a bias.
inline void column_sums(Stream stream, int64_t rows, int64_t n, int64_t chunks, const float *x,
                        float *sums) {
    for_blocks(stream, chunks, n, [=] PUFFER_KERNEL(Block block, int64_t chunk) {
        float *sum = sums + chunk * n;
        for (int64_t row = rows * chunk / chunks; row < rows * (chunk + 1) / chunks; row++)
            block.each(n, [&](int64_t j) { sum[j] += x[row * n + j]; });
    });
}

// sums[j] += the sum of x[row, j] over all rows, in `chunks` parts whose sums, `partial` (chunks,
// n), are added in order.
inline void add_column_sums(Stream stream, int64_t rows, int64_t n, int64_t chunks, const float *x,
                            float *partial, float *sums) {
    if (chunks == 1) return column_sums(stream, rows, n, 1, x, sums);
    for_each(stream, chunks * n, [=] PUFFER_KERNEL(int64_t i) { partial[i] = 0; });
    column_sums(stream, rows, n, chunks, x, partial);
    column_sums(stream, chunks, n, 1, partial, sums);
}

}  // namespace puffer
