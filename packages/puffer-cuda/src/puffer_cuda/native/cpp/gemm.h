// gemm.h: the one seam to matrix products. All matrices are row-major.
//
//     nt: C = A B^T      forward, x W^T
//     nn: C = A B        back to the input, dy W
//     tn: C = A^T B      to the weights, dy^T x
//
// `beta` 0 replaces C, 1 adds to it. On the CPU they are sgemm of a BLAS that the caller of the
// library hands over, used from many threads, one thread each.
#pragma once

#include <cstdint>

#include "gpu.h"

namespace puffer {

// cblas_sgemm: order, transposes, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc.
typedef void (*Sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                      float, float *, int);

struct Gemm {
    Sgemm sgemm;

    void nt(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0) const {
        call(NO, YES, m, n, k, a, k, b, k, beta, c, n);
    }
    void nn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0) const {
        call(NO, NO, m, n, k, a, k, b, n, beta, c, n);
    }
    void tn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0) const {
        call(YES, NO, m, n, k, a, m, b, n, beta, c, n);
    }

   private:
    enum { ROW_MAJOR = 101, NO = 111, YES = 112 };

    void call(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, const float *a,
              int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc) const {
        sgemm(ROW_MAJOR, transpose_a, transpose_b, (int)m, (int)n, (int)k, 1.0f, a, (int)lda, b,
              (int)ldb, beta, c, (int)ldc);
    }
};

}  // namespace puffer
