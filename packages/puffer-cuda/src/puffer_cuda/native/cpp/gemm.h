// gemm.h: the one seam to matrix products. All matrices are row-major.
//
//     nt: C = A B^T      forward, x W^T
//     nn: C = A B        back to the input, dy W
//     tn: C = A^T B      to the weights, dy^T x
//
// `beta` 0 replaces C, 1 adds to it. On the CPU they are sgemm of a BLAS that the caller of the
// library hands over, used from many threads, one thread each; on the GPU cuBLASLt, on one stream.
#pragma once

#include <cstdint>

#include "gpu.h"

#ifdef __CUDACC__
#include <cublasLt.h>
#endif

namespace puffer {

#ifdef __CUDACC__

inline void check(cublasStatus_t status, const char *what) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw Error(std::string(what) + ": " + cublasLtGetStatusString(status));
}

class Gemm {
   public:
    explicit Gemm(Stream stream = {}) : stream(stream) {
        check(cublasLtCreate(&handle), "cublasLtCreate");
        check(cudaMalloc(&workspace, WORKSPACE), "workspace of cuBLASLt");
    }
    Gemm(const Gemm &) = delete;
    Gemm &operator=(const Gemm &) = delete;
    ~Gemm() {
        cublasLtDestroy(handle);
        cudaFree(workspace);
    }

    void nt(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0) const {
        call(CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, a, b, c, beta);
    }
    void nn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0) const {
        call(CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, a, b, c, beta);
    }
    void tn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0) const {
        call(CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, a, b, c, beta);
    }

   private:
    enum : size_t { WORKSPACE = 32u << 20 };

    struct Matrix {  // row-major
        cublasLtMatrixLayout_t layout;

        Matrix(int64_t rows, int64_t columns) {
            check(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, (uint64_t)rows, (uint64_t)columns,
                                             columns),
                  "layout of a matrix");
            const cublasLtOrder_t order = CUBLASLT_ORDER_ROW;
            check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order,
                                                   sizeof order),
                  "order of a matrix");
        }
        Matrix(const Matrix &) = delete;
        Matrix &operator=(const Matrix &) = delete;
        ~Matrix() {
            cublasLtMatrixLayoutDestroy(layout);
        }
    };

    struct Product {
        cublasLtMatmulDesc_t description;

        Product(cublasOperation_t a, cublasOperation_t b) {
            check(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                  "description of a product");
            check(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_TRANSA, &a,
                                                 sizeof a),
                  "transpose of A");
            check(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_TRANSB, &b,
                                                 sizeof b),
                  "transpose of B");
        }
        Product(const Product &) = delete;
        Product &operator=(const Product &) = delete;
        ~Product() {
            cublasLtMatmulDescDestroy(description);
        }
    };

    void call(cublasOperation_t op_a, cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
              const float *a, const float *b, float *c, float beta) const {
        const Product product(op_a, op_b);
        const Matrix left = op_a == CUBLAS_OP_N ? Matrix(m, k) : Matrix(k, m);
        const Matrix right = op_b == CUBLAS_OP_N ? Matrix(k, n) : Matrix(n, k);
        const Matrix result(m, n);
        const float alpha = 1;
        check(cublasLtMatmul(handle, product.description, &alpha, a, left.layout, b, right.layout,
                             &beta, c, result.layout, c, result.layout, nullptr, workspace,
                             WORKSPACE, stream.cuda),
              "cublasLtMatmul");
    }

    Stream stream;
    cublasLtHandle_t handle;
    void *workspace;
};

#else

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

#endif

}  // namespace puffer
