// segments.h: which segments a minibatch takes, and how much each weighs, as
// puffer_cuda/segments.py says it. On the host: it is work of a few microseconds.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

#include "maths.h"

namespace puffer {

// order[0, n) becomes a permutation of 0..n-1; shuffle number `index` of `seed`.
inline void shuffle(int64_t n, uint64_t seed, uint64_t index, int64_t *order) {
    std::iota(order, order + n, (int64_t)0);
    for (int64_t i = n - 1; i > 0; i--) {
        const Four words = random_words(seed, SHUFFLE_SEGMENTS, index, (uint64_t)i);
        const uint64_t draw = (uint64_t)words.x[1] << 32 | words.x[0];
        const int64_t j = (int64_t)(((unsigned __int128)draw * (unsigned __int128)(i + 1)) >> 64);
        std::swap(order[i], order[j]);
    }
}

// Probability of each segment, proportional to (sum over unmasked time of |A|)^alpha, with a floor
// of a thousandth of the mean; `cumulative` ends with 1.
inline void priorities(int64_t segments, int64_t time, const float *advantages,
                       const uint8_t *masks, double alpha, double *probabilities,
                       double *cumulative) {
    double total = 0;
    for (int64_t i = 0; i < segments; i++) {
        double score = 0;
        for (int64_t k = i * time; k < (i + 1) * time; k++)
            score += masks[k] ? std::fabs((double)advantages[k]) : 0.0;
        probabilities[i] = std::isfinite(score) ? std::pow(score, alpha) : 0.0;
        total += probabilities[i];
    }
    const double floor = 1e-3 * total / (double)segments + (double)FLT_MIN;
    const double sum = total + floor * (double)segments;
    double reached = 0;
    for (int64_t i = 0; i < segments; i++) {
        probabilities[i] = (probabilities[i] + floor) / sum;
        cumulative[i] = reached += probabilities[i];
    }
}

// Draw `count` segments with replacement, and weigh them by (segments x p)^-beta over the largest.
inline void draw_segments(int64_t segments, int64_t count, uint64_t seed, uint64_t index,
                          double beta, const double *probabilities, const double *cumulative,
                          int64_t *chosen, float *weights) {
    double largest = 0;
    for (int64_t k = 0; k < count; k++) {
        const Four words = random_words(seed, DRAW_SEGMENTS, index, (uint64_t)k);
        const double u = ((double)(words.x[1] >> 5) * 67108864.0 + (double)(words.x[0] >> 6)) *
                         0x1p-53 * cumulative[segments - 1];
        const int64_t found = std::upper_bound(cumulative, cumulative + segments, u) - cumulative;
        chosen[k] = std::min(found, segments - 1);
        largest = std::max(largest, std::pow((double)segments * probabilities[chosen[k]], -beta));
    }
    for (int64_t k = 0; k < count; k++)
        weights[k] =
            (float)(std::pow((double)segments * probabilities[chosen[k]], -beta) / largest);
}

}  // namespace puffer
