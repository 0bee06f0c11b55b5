// Every operation of the native trainer with a C signature, for test_ops.py.
#include "advantage.h"
#include "dense.h"
#include "encode.h"
#include "heads.h"
#include "loss.h"
#include "maths.h"
#include "mingru.h"
#include "optimizer.h"
#include "segments.h"

using namespace puffer;

namespace {

#ifndef __CUDACC__
void naive_sgemm(int, int ta, int tb, int m, int n, int k, float, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++)
                sum += (double)(ta == 112 ? a[l * lda + i] : a[i * lda + l]) *
                       (double)(tb == 112 ? b[j * ldb + l] : b[l * ldb + j]);
            c[i * ldc + j] = (float)(sum + (beta != 0 ? (double)beta * (double)c[i * ldc + j] : 0));
        }
}
#endif

// Memory that host and kernels share.
void *allocate(size_t bytes) {
#ifdef __CUDACC__
    void *memory = nullptr;
    check(cudaMallocManaged(&memory, bytes), "cudaMallocManaged");
    return memory;
#else
    return std::malloc(bytes);
#endif
}

template <class T>
T *shared() {
    static T *const memory = (T *)allocate(sizeof(T));
    return memory;
}

Heads heads_of(int count, const int *sizes, int dims) {
    Heads heads = {count, {}, dims};
    for (int k = 0; k < count; k++) heads.sizes[k] = sizes[k];
    return heads;
}

#ifdef __CUDACC__
const Gemm &gemm() {
    static const Gemm made;
    return made;
}
#else
const Gemm &gemm() {
    static const Gemm made = {naive_sgemm};
    return made;
}
#endif

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void op_order(uint64_t value) {
#ifdef PUFFER_ORDER
    order = value;
#else
    (void)value;
#endif
}

void op_allocate(uint64_t bytes, void **out) {
    *out = allocate(bytes);
}

void op_sync() {
#ifdef __CUDACC__
    check(cudaDeviceSynchronize(), "op_sync");
#endif
}

void op_exp(int64_t n, const float *x, float *y) {
    for_each({}, n, [=] PUFFER_KERNEL(int64_t i) { y[i] = fast_exp(x[i]); });
}

void op_log(int64_t n, const float *x, float *y) {
    for_each({}, n, [=] PUFFER_KERNEL(int64_t i) { y[i] = fast_log(x[i]); });
}

void op_sigmoids(int64_t n, const float *x, float *y) {
    for_each({}, n, [=] PUFFER_KERNEL(int64_t i) {
        const Three s = sigmoids(x[i], x[n + i], x[2 * n + i]);
        y[i] = s.a, y[n + i] = s.b, y[2 * n + i] = s.c;
    });
}

void op_philox(uint64_t key, uint64_t high, uint64_t low, uint32_t *out) {
    const Four four = philox(key, high, low);
    for (int i = 0; i < 4; i++) out[i] = four.x[i];
}

void op_gaussian(int64_t n, uint64_t seed, float *out) {
    for (int64_t i = 0; i < n; i++) {
        const Four w = random_words(seed, SAMPLE_ACTIONS, 0, (uint64_t)i);
        out[2 * i] = gaussian(w.x[0], w.x[1], false),
                out[2 * i + 1] = gaussian(w.x[0], w.x[1], true);
    }
}

void op_encode(int dtype, int64_t n, const void *from, float *to) {
    encode({}, dtype, n, from, to);
}

void op_gemm(int kind, int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
             float beta) {
    if (kind == 0) gemm().nt(m, n, k, a, b, c, beta);
    if (kind == 1) gemm().nn(m, n, k, a, b, c, beta);
    if (kind == 2) gemm().tn(m, n, k, a, b, c, beta);
}

void op_add_bias(int64_t rows, int64_t n, const float *bias, float *y) {
    add_bias({}, rows, n, bias, y);
}

void op_bias_relu(int64_t rows, int64_t n, const float *bias, float *y) {
    bias_relu({}, rows, n, bias, y);
}

void op_relu_backward(int64_t n, const float *y, float *dy) {
    relu_backward({}, n, y, dy);
}

void op_add_column_sums(int64_t rows, int64_t n, int64_t chunks, const float *x, float *partial,
                        float *sums) {
    add_column_sums({}, rows, n, chunks, x, partial, sums);
}

void op_column_sums(int64_t rows, int64_t n, int64_t chunks, const float *x, float *sums) {
    column_sums({}, rows, n, chunks, x, sums);
}

void op_mingru_step(int64_t rows, int64_t n, const float *gates, const float *x,
                    const uint8_t *begins, int64_t stride, const float *from, float *to, float *y) {
    mingru_step({}, rows, n, gates, x, begins, stride, from, to, y);
}

void op_mingru_forward(int64_t segments, int64_t time, int64_t n, float *gates, const float *x,
                       const uint8_t *starts, int64_t stride, const float *initial, float *states,
                       float *y) {
    mingru_forward({}, segments, time, n, gates, x, starts, stride, initial, states, y);
}

void op_mingru_backward(int64_t segments, int64_t time, int64_t n, float *gates, const float *x,
                        const uint8_t *starts, int64_t stride, const float *initial,
                        const float *states, const float *dy, float *dx, float *carry) {
    mingru_backward({}, segments, time, n, gates, x, starts, stride, initial, states, dy, dx,
                    carry);
}

void op_mingru_scan(int64_t segments, int64_t time, int64_t n, int64_t pieces, float *gates,
                    const float *x, const uint8_t *starts, int64_t stride, const float *initial,
                    float *states, float *y, float *ends, float *decays) {
    mingru_scan({}, segments, time, n, pieces, gates, x, starts, stride, initial, states, y, ends,
                decays);
}

void op_mingru_scan_backward(int64_t segments, int64_t time, int64_t n, int64_t pieces,
                             float *gates, const float *x, const uint8_t *starts, int64_t stride,
                             const float *initial, const float *states, const float *dy, float *dx,
                             float *ends, float *decays) {
    mingru_scan_backward({}, segments, time, n, pieces, gates, x, starts, stride, initial, states,
                         dy, dx, ends, decays);
}

void op_sample(int64_t rows, int heads, const int *sizes, int dims, const float *decoded,
               const uint8_t *allowed, const float *log_std, uint64_t seed, uint64_t step,
               int64_t first, int64_t stride, void *actions, float *log_probs, float *values) {
    uint64_t *now = shared<uint64_t>();
    *now = step;
    sample({}, rows, heads_of(heads, sizes, dims), decoded, allowed, log_std, seed, now, first,
           stride, stride + 1, actions, log_probs, values);
}

void op_advantages(int64_t segments, int64_t time, const float *rewards, const uint8_t *terminals,
                   const uint8_t *truncations, const float *values, const float *final_values,
                   const float *ratios, float gamma, float gae_lambda, float rho, float c,
                   float *out) {
    advantages({}, segments, time, {rewards, terminals, truncations, values, final_values, ratios},
               {gamma, gae_lambda, rho, c}, out);
}

void op_advantage_statistics(int64_t segments, int64_t time, int64_t chunks, const int64_t *chosen,
                             const float *advantage, const uint8_t *masks, double *partial,
                             float *statistics) {
    advantage_statistics({}, segments, time, chunks, chosen, advantage, masks, {}, partial,
                         statistics);
}

void op_ppo_loss(int64_t rows, int64_t time, const int64_t *chosen, const float *weights, int heads,
                 const int *sizes, int dims, const float *log_std, const void *actions,
                 const float *log_probs, const float *values, const float *advantage,
                 const uint8_t *masks, const uint8_t *allowed, const float *statistics,
                 const float *settings, float *decoded, float *d_log_std, float *ratios,
                 float *terms) {
    float *ent_coef = shared<float>();
    *ent_coef = settings[3];
    ppo_loss({}, rows, time, chosen, weights, heads_of(heads, sizes, dims), log_std,
             {actions, log_probs, values, advantage, masks, allowed}, statistics,
             {settings[0], settings[1], settings[2], ent_coef}, decoded, d_log_std, ratios, terms);
}

void op_sum_terms(int64_t rows, int64_t chunks, const float *terms, double *sums) {
    sum_terms({}, rows, chunks, terms, sums);
}

void op_total_terms(int64_t chunks, const double *sums, double *totals) {
    total_terms({}, chunks, sums, totals);
}

void op_sums_of_squares(int64_t n, int64_t chunks, const float *x, double *lanes) {
    sums_of_squares({}, n, chunks, x, lanes);
}

void op_adamw(int64_t n, const float *step, const float *settings, const float *gradients,
              float *mean, float *square, float *weights) {
    StepSize *size = shared<StepSize>();
    *size = {step[0], step[1], step[2], step[3], step[4] != 0};
    adamw({}, n, size, {settings[0], settings[1], settings[2], settings[3], settings[4]}, gradients,
          mean, square, weights);
}

void op_muon(int64_t rows, int64_t columns, int64_t count, int64_t stride, float rate,
             float gradient_scale, float momentum_factor, float decay, int skip,
             const float *gradients, float *momentum, float *weights, float *x, float *y,
             float *gram, float *square, double *norms) {
    StepSize *size = shared<StepSize>();
    *size = {rate, gradient_scale, 1, 1, skip};
    muon({}, gemm(), {rows, columns, count, stride}, size, {momentum_factor, 0, 0, decay, 1},
         gradients, momentum, weights, {x, y, gram, square, norms});
}

void op_shuffle(int64_t n, uint64_t seed, uint64_t index, int64_t *out) {
    shuffle(n, seed, index, out);
}

void op_priorities(int64_t segments, int64_t time, const float *advantage, const uint8_t *masks,
                   double alpha, double *probabilities, double *cumulative) {
    priorities(segments, time, advantage, masks, alpha, probabilities, cumulative);
}

void op_priorities_on(int64_t segments, int64_t time, const float *advantage, const uint8_t *masks,
                      double alpha, double *probabilities, double *cumulative, double *lanes) {
    priorities_on({}, segments, time, advantage, masks, alpha, probabilities, cumulative, lanes);
}

void op_draw_segments_on(int64_t segments, int64_t count, uint64_t seed, uint64_t index,
                         double beta, const double *probabilities, const double *cumulative,
                         double *lanes, int64_t *chosen, float *weights) {
    uint64_t *number = shared<uint64_t>();
    double *exponent = shared<double>();
    *number = index, *exponent = beta;
    draw_segments_on({}, segments, count, seed, number, exponent, probabilities, cumulative, lanes,
                     chosen, weights);
}

void op_draw_segments(int64_t segments, int64_t count, uint64_t seed, uint64_t index, double beta,
                      const double *probabilities, const double *cumulative, int64_t *chosen,
                      float *weights) {
    draw_segments(segments, count, seed, index, beta, probabilities, cumulative, chosen, weights);
}
}
#pragma GCC visibility pop
