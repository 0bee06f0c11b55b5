// gemm.h: the one seam to matrix products. All matrices are row-major.
//
//     nt: C = A B^T      forward, x W^T
//     nn: C = A B        back to the input, dy W
//     tn: C = A^T B      to the weights, dy^T x
//
// `beta` 0 replaces C, 1 adds to it. A batch repeats the product, each time so many elements
// further. On the CPU they are sgemm of a BLAS that the caller of the library hands over, used from
// many threads, one thread each; on the GPU cuBLASLt, on one stream.
#pragma once

#include <cstdint>

#include "device.h"

#ifdef __CUDACC__
#include <cublasLt.h>

#include <map>
#include <tuple>
#endif

namespace puffer {

// How often, and how far the next A, B and C are.
struct Batch {
    int64_t count = 1, a = 0, b = 0, c = 0;
};

// Of the factors of a product on the GPU; sums are float32 in either case.
enum Precision : int32_t { FLOAT32, BFLOAT16 };

#ifdef __CUDACC__

inline void check(cublasStatus_t status, const char *what) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw Error(std::string(what) + ": " + cublasLtGetStatusString(status));
}

class Gemm {
   public:
    explicit Gemm(Stream stream = {}, Precision precision = FLOAT32)
        : stream(stream),
          compute(precision == BFLOAT16 ? CUBLAS_COMPUTE_32F_FAST_16BF : CUBLAS_COMPUTE_32F) {
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
            float beta = 0, Batch batch = {}) const {
        call(CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, a, b, c, beta, batch);
    }
    void nn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0, Batch batch = {}) const {
        call(CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, a, b, c, beta, batch);
    }
    void tn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0, Batch batch = {}) const {
        call(CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, a, b, c, beta, batch);
    }

   private:
    enum : size_t { WORKSPACE = 32u << 20 };

    struct Matrix {  // column-major
        cublasLtMatrixLayout_t layout;

        Matrix(int64_t rows, int64_t columns, Batch batch, int64_t stride) {
            check(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, (uint64_t)rows, (uint64_t)columns,
                                             rows),
                  "layout of a matrix");
            const int32_t count = (int32_t)batch.count;
            check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                   &count, sizeof count),
                  "size of a batch");
            check(cublasLtMatrixLayoutSetAttribute(
                      layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
                  "stride of a batch");
        }
        Matrix(const Matrix &) = delete;
        Matrix &operator=(const Matrix &) = delete;
        ~Matrix() {
            cublasLtMatrixLayoutDestroy(layout);
        }
    };

    struct Product {
        cublasLtMatmulDesc_t description;

        Product(cublasComputeType_t compute, cublasOperation_t a, cublasOperation_t b) {
            check(cublasLtMatmulDescCreate(&description, compute, CUDA_R_32F),
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

    struct Preference {
        cublasLtMatmulPreference_t preference;

        explicit Preference(uint32_t alignment) {
            check(cublasLtMatmulPreferenceCreate(&preference), "preferences of a product");
            const size_t bytes = WORKSPACE;
            set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, bytes);
            set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
            set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
            set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
            set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
        }
        Preference(const Preference &) = delete;
        Preference &operator=(const Preference &) = delete;
        ~Preference() {
            cublasLtMatmulPreferenceDestroy(preference);
        }

       private:
        template <class T>
        void set(cublasLtMatmulPreferenceAttributes_t attribute, const T &value) {
            check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
                  "preference of a product");
        }
    };

    // What all pointers are multiples of, in bytes.
    static uint32_t alignment_of(const void *a, const void *b, const void *c) {
        const uintptr_t bits = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | 256;
        return (uint32_t)(bits & ~(bits - 1));
    }

    // cuBLASLt is column-major: there a row-major C = A B is C^T = B^T A^T, with the same memory.
    void call(cublasOperation_t op_a, cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
              const float *a, const float *b, float *c, float beta, Batch batch) const {
        const Product product(compute, op_b, op_a);
        const bool plain_a = op_a == CUBLAS_OP_N, plain_b = op_b == CUBLAS_OP_N;
        const Matrix first(plain_b ? n : k, plain_b ? k : n, batch, batch.b);
        const Matrix second(plain_a ? k : m, plain_a ? m : k, batch, batch.a);
        const Matrix result(n, m, batch, batch.c);
        const uint32_t alignment = alignment_of(a, b, c);
        const Key key = {op_a, op_b, m, n, k, batch.count, alignment};
        auto found = algorithms.find(key);
        if (found == algorithms.end()) {
            const Preference preference(alignment);
            cublasLtMatmulHeuristicResult_t best;
            int count = 0;
            check(cublasLtMatmulAlgoGetHeuristic(handle, product.description, first.layout,
                                                 second.layout, result.layout, result.layout,
                                                 preference.preference, 1, &best, &count),
                  "choice of an algorithm");
            if (count == 0) throw Error("cuBLASLt has no algorithm for a product of the policy");
            found = algorithms.emplace(key, best.algo).first;
        }
        const float alpha = 1;
        check(cublasLtMatmul(handle, product.description, &alpha, b, first.layout, a, second.layout,
                             &beta, c, result.layout, c, result.layout, &found->second, workspace,
                             WORKSPACE, stream.cuda),
              "cublasLtMatmul");
    }

    using Key = std::tuple<int, int, int64_t, int64_t, int64_t, int64_t, uint32_t>;

    Stream stream;
    cublasComputeType_t compute;
    cublasLtHandle_t handle;
    void *workspace;
    mutable std::map<Key, cublasLtMatmulAlgo_t> algorithms;
};

#else

// cblas_sgemm: order, transposes, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc.
typedef void (*Sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                      float, float *, int);

struct Gemm {
    Sgemm sgemm;
    Stream stream = {};

    void nt(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0, Batch batch = {}) const {
        call(NO, YES, m, n, k, a, k, b, k, beta, c, n, batch);
    }
    void nn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0, Batch batch = {}) const {
        call(NO, NO, m, n, k, a, k, b, n, beta, c, n, batch);
    }
    void tn(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
            float beta = 0, Batch batch = {}) const {
        call(YES, NO, m, n, k, a, m, b, n, beta, c, n, batch);
    }

   private:
    enum { ROW_MAJOR = 101, NO = 111, YES = 112 };

    void call(int transpose_a, int transpose_b, int64_t m, int64_t n, int64_t k, const float *a,
              int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc,
              Batch batch) const {
        const Sgemm multiply = sgemm;
        submit(stream, [=] {
            for (int64_t i = 0; i < batch.count; i++)
                multiply(ROW_MAJOR, transpose_a, transpose_b, (int)m, (int)n, (int)k, 1.0f,
                         a + i * batch.a, (int)lda, b + i * batch.b, (int)ldb, beta,
                         c + i * batch.c, (int)ldc);
        });
    }
};

#endif

}  // namespace puffer
