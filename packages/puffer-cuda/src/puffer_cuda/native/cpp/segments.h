// segments.h: which segments a minibatch takes, and how much each weighs, as
// puffer_cuda/segments.py says it. On the CPU straight functions: it is work of a few microseconds.
// On the GPU the advantages stay where they are, and so the same steps are kernels.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

#include "maths.h"
#include "reduce.h"

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

// (sum over unmasked time of |A|)^alpha; 0 if that is no number.
PUFFER_FN double segment_score(int64_t segment, int64_t time, const float *advantages,
                               const uint8_t *masks, double alpha) {
    double score = 0;
    for (int64_t k = segment * time; k < (segment + 1) * time; k++)
        score += masks[k] ? fabs((double)advantages[k]) : 0.0;
    return score <= DBL_MAX ? pow(score, alpha) : 0.0;
}

// What every score gets on top: a thousandth of the mean.
PUFFER_FN double score_floor(int64_t segments, double total) {
    return 1e-3 * total / (double)segments + (double)FLT_MIN;
}

// A double in [0, 1) for draw k.
PUFFER_FN double draw_uniform(uint64_t seed, uint64_t index, int64_t k) {
    const Four words = random_words(seed, DRAW_SEGMENTS, index, (uint64_t)k);
    return ((double)(words.x[1] >> 5) * 67108864.0 + (double)(words.x[0] >> 6)) * 0x1p-53;
}

// The first segment whose cumulative probability exceeds u; never one past the last.
PUFFER_FN int64_t find_segment(int64_t segments, const double *cumulative, double u) {
    int64_t low = 0, high = segments - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (cumulative[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// Probability of each segment, proportional to its score, with a floor; `cumulative` ends with 1.
inline void priorities(int64_t segments, int64_t time, const float *advantages,
                       const uint8_t *masks, double alpha, double *probabilities,
                       double *cumulative) {
    double total = 0;
    for (int64_t i = 0; i < segments; i++)
        total += probabilities[i] = segment_score(i, time, advantages, masks, alpha);
    const double floor = score_floor(segments, total);
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
        const double u = draw_uniform(seed, index, k) * cumulative[segments - 1];
        chosen[k] = find_segment(segments, cumulative, u);
        largest = std::max(largest, std::pow((double)segments * probabilities[chosen[k]], -beta));
    }
    for (int64_t k = 0; k < count; k++)
        weights[k] =
            (float)(std::pow((double)segments * probabilities[chosen[k]], -beta) / largest);
}

// `priorities` as kernels. lanes: LANES numbers.
inline void priorities_on(Stream stream, int64_t segments, int64_t time, const float *advantages,
                          const uint8_t *masks, double alpha, double *probabilities,
                          double *cumulative, double *lanes) {
    for_each(stream, segments, [=] PUFFER_KERNEL(int64_t i) {
        probabilities[i] = segment_score(i, time, advantages, masks, alpha);
    });
    chunk_sums(stream, segments, 1, lanes,
               [=] PUFFER_KERNEL(int64_t i) { return probabilities[i]; });
    for_each(stream, segments, [=] PUFFER_KERNEL(int64_t i) {
        const double floor = score_floor(segments, lanes[0]);
        probabilities[i] = (probabilities[i] + floor) / (lanes[0] + floor * (double)segments);
    });
    // each lane adds up a run of segments, from what the runs before it hold
    for_blocks(stream, 1, LANES, [=] PUFFER_KERNEL(Block block, int64_t) {
        block.each(LANES, [&](int64_t lane) {
            double sum = 0;
            for (int64_t i = segments * lane / LANES; i < segments * (lane + 1) / LANES; i++)
                sum += probabilities[i];
            lanes[lane] = sum;
        });
        block.sync();
        block.each(1, [&](int64_t) {
            double reached = 0;
            for (int64_t lane = 0; lane < LANES; lane++) {
                const double sum = lanes[lane];
                lanes[lane] = reached;
                reached += sum;
            }
        });
        block.sync();
        block.each(LANES, [&](int64_t lane) {
            double reached = lanes[lane];
            for (int64_t i = segments * lane / LANES; i < segments * (lane + 1) / LANES; i++)
                cumulative[i] = reached += probabilities[i];
        });
    });
}

// `draw_segments` as kernels; the number of the draw and beta are read from memory. lanes: LANES
// numbers.
inline void draw_segments_on(Stream stream, int64_t segments, int64_t count, uint64_t seed,
                             const uint64_t *index, const double *beta, const double *probabilities,
                             const double *cumulative, double *lanes, int64_t *chosen,
                             float *weights) {
    for_each(stream, count, [=] PUFFER_KERNEL(int64_t k) {
        const double u = draw_uniform(seed, *index, k) * cumulative[segments - 1];
        chosen[k] = find_segment(segments, cumulative, u);
    });
    // the largest weight is that of the smallest probability, as beta is not negative
    for_blocks(stream, 1, LANES, [=] PUFFER_KERNEL(Block block, int64_t) {
        block.each(LANES, [&](int64_t lane) {
            double smallest = DBL_MAX;
            for (int64_t k = lane; k < count; k += LANES)
                smallest = fmin(smallest, probabilities[chosen[k]]);
            lanes[lane] = smallest;
        });
        block.sync();
        block.each(1, [&](int64_t) {
            for (int64_t lane = 1; lane < LANES; lane++) lanes[0] = fmin(lanes[0], lanes[lane]);
        });
    });
    for_each(stream, count, [=] PUFFER_KERNEL(int64_t k) {
        weights[k] = (float)pow(probabilities[chosen[k]] / lanes[0], -*beta);
    });
}

}  // namespace puffer
