// advantage.h: generalised advantage estimation with clipped importance ratios, as
// puffer_cuda/advantage.py says it:
//
//     delta_t = rho_t (r_t + gamma V'_t - V_t)
//     A_t     = delta_t + gamma lambda c_t n_t A_{t+1},        A_H = 0
//
// V'_t is 0 if terminal, V(final observation) if truncated, else V_{t+1}; n_t is 0 on either end.
#pragma once

#include "collective.h"
#include "gpu.h"
#include "maths.h"
#include "reduce.h"

namespace puffer {

struct AdvantageSettings {
    float gamma, gae_lambda, rho_clip, c_clip;
};

// One rollout: (segments, time), values (segments, time + 1).
struct Estimated {
    const float *rewards;
    const uint8_t *terminals, *truncations;
    const float *values, *final_values, *ratios;
};

inline void advantages(Stream stream, int64_t segments, int64_t time, Estimated r,
                       AdvantageSettings s, float *advantages) {
    for_each(stream, segments, [=] PUFFER_KERNEL(int64_t segment) {
        const float *value = r.values + segment * (time + 1);
        const int64_t row = segment * time;
        float following = 0;
        for (int64_t t = time - 1; t >= 0; t--) {
            const bool terminal = r.terminals[row + t], truncated = r.truncations[row + t];
            const float after = truncated ? r.final_values[row + t] : value[t + 1];
            const float ratio = r.ratios[row + t];
            const float delta = smaller(ratio, s.rho_clip) *
                                (r.rewards[row + t] + s.gamma * (terminal ? 0 : after) - value[t]);
            const float trace = s.gamma * s.gae_lambda * smaller(ratio, s.c_clip);
            following = delta + (terminal || truncated ? 0 : trace * following);
            advantages[row + t] = following;
        }
    });
}

// What the loss needs of a minibatch: {mean, 1 / (deviation + 1e-8), 1 / samples} of the advantages
// of unmasked samples of the chosen segments, of all processes together, summed in `chunks` parts.
// `partial` has room for 2 x LANES numbers a chunk.
inline void advantage_statistics(Stream stream, int64_t chosen_segments, int64_t time,
                                 int64_t chunks, const int64_t *chosen, const float *advantages,
                                 const uint8_t *masks, const Collective &world, double *partial,
                                 float *statistics) {
    const int64_t rows = chosen_segments * time;
    double *counts = partial, *sums = partial + chunks * LANES;
    double *moments = counts + 1;  // samples, their sum and that of squares, in free lanes
    const auto place = [=] PUFFER_KERNEL(int64_t i) { return chosen[i / time] * time + i % time; };
    chunk_sums(stream, rows, chunks, counts,
               [=] PUFFER_KERNEL(int64_t i) { return (double)masks[place(i)]; });
    chunk_sums(stream, rows, chunks, sums, [=] PUFFER_KERNEL(int64_t i) {
        return masks[place(i)] ? (double)advantages[place(i)] : 0.0;
    });
    for_each(stream, 1, [=] PUFFER_KERNEL(int64_t) {
        moments[0] = total_of(chunks, counts);
        moments[1] = total_of(chunks, sums);
    });
    world.sum(stream, moments, 2);
    for_each(stream, 1, [=] PUFFER_KERNEL(int64_t) {
        const double samples = moments[0] > 1 ? moments[0] : 1;
        statistics[0] = (float)(moments[1] / samples);
        statistics[2] = (float)(1.0 / samples);
    });
    chunk_sums(stream, rows, chunks, sums, [=] PUFFER_KERNEL(int64_t i) {
        const double centred = (double)advantages[place(i)] - (double)statistics[0];
        return masks[place(i)] ? centred * centred : 0.0;
    });
    for_each(stream, 1, [=] PUFFER_KERNEL(int64_t) { moments[2] = total_of(chunks, sums); });
    world.sum(stream, moments + 2, 1);
    for_each(stream, 1, [=] PUFFER_KERNEL(int64_t) {
        const double variance = moments[2] / (moments[0] > 2 ? moments[0] - 1 : 1);
        statistics[1] = (float)(1.0 / (sqrt(variance) + 1e-8));
    });
}

}  // namespace puffer
