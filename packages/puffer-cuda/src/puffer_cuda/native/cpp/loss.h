// loss.h: the PPO loss of a minibatch and its gradient, row by row, as puffer_cuda/loss.py says it:
// clipped surrogate + vf_coef x clipped value loss - ent_coef x entropy, averaged over unmasked
// samples.
#pragma once

#include "gpu.h"
#include "heads.h"
#include "maths.h"

namespace puffer {

struct LossSettings {
    float clip_coef, vf_coef, vf_clip_coef;
    const float *ent_coef;  // in memory, so that a recorded graph reads new values
};

// Figures that are summed over rows, each already divided by the number of samples.
enum Figure { POLICY_LOSS, VALUE_LOSS, ENTROPY, OLD_APPROX_KL, APPROX_KL, CLIP_FRACTION, FIGURES };

// What the rollout stored, (segments of the rollout, time); values (segments, time + 1).
struct Stored {
    const void *actions;  // int32 (heads) or float (dims) a row
    const float *log_probs, *values, *advantages;
    const uint8_t *masks, *action_masks;  // action_masks (outputs) a row, or null
};

// Rows are the time steps of the segments `chosen`, `weights` theirs. In: decoded (rows, outputs +
// 1). Out: decoded becomes dL/ddecoded, d_log_std (rows, dims) per row, ratios (rows), and terms
// (rows, FIGURES). `statistics` is what advantage_statistics gave.
inline void ppo_loss(Stream stream, int64_t rows, int64_t time, const int64_t *chosen,
                     const float *weights, Heads heads, const float *log_std, Stored stored,
                     const float *statistics, LossSettings s, float *decoded, float *d_log_std,
                     float *ratios, float *terms) {
    const int32_t outputs = heads.outputs(), entries = heads.entries();
    for_each(stream, rows, [=] PUFFER_KERNEL(int64_t i) {
        const int64_t segment = chosen[i / time], from = segment * time + i % time;
        const float share = stored.masks[from] ? statistics[2] : 0.0f;
        const float advantage = stored.advantages[from];
        const float old_value = stored.values[segment * (time + 1) + i % time];
        const void *action = (const char *)stored.actions + from * entries * 4;
        const uint8_t *allowed =
            stored.action_masks ? stored.action_masks + from * outputs : nullptr;
        float *row = decoded + i * (outputs + 1), *term = terms + i * FIGURES;
        const Judged now = judge(heads, row, allowed, log_std, action);
        const float value = row[outputs], log_ratio = now.log_prob - stored.log_probs[from];
        const float ratio = fast_exp(log_ratio);
        const float scaled = weights[i / time] * (advantage - statistics[0]) * statistics[1];

        const float low = 1.0f - s.clip_coef, high = 1.0f + s.clip_coef;
        const float plain = -scaled * ratio, clipped = -scaled * clamp(ratio, low, high);
        const bool moves = (ratio >= low && ratio <= high) || plain > clipped;
        const float target = advantage + old_value, change = value - old_value;
        const float error = value - target;
        const float bounded = old_value + clamp(change, -s.vf_clip_coef, s.vf_clip_coef) - target;
        const bool within = change >= -s.vf_clip_coef && change <= s.vf_clip_coef;
        const float squared = larger(error * error, bounded * bounded);
        const float d_value = within || error * error > bounded * bounded ? error : 0.0f;

        ratios[i] = ratio;
        term[POLICY_LOSS] = share * larger(plain, clipped);
        term[VALUE_LOSS] = share * 0.5f * squared;
        term[ENTROPY] = share * now.entropy;
        term[OLD_APPROX_KL] = share * -log_ratio;
        term[APPROX_KL] = share * (ratio - 1.0f - log_ratio);
        term[CLIP_FRACTION] = fabsf(ratio - 1.0f) > s.clip_coef ? share : 0.0f;
        judge_backward(heads, row, allowed, log_std, action, moves ? share * plain : 0.0f,
                       -*s.ent_coef * share, d_log_std + i * heads.dims);
        row[outputs] = s.vf_coef * share * d_value;
    });
}

// sums[chunk, j] += the sum of terms[row, j] over the rows of each chunk.
inline void sum_terms(Stream stream, int64_t rows, int64_t chunks, const float *terms,
                      double *sums) {
    for_blocks(stream, chunks, FIGURES, [=] PUFFER_KERNEL(Block block, int64_t chunk) {
        double *sum = sums + chunk * FIGURES;
        for (int64_t row = rows * chunk / chunks; row < rows * (chunk + 1) / chunks; row++)
            block.each(FIGURES, [&](int64_t j) { sum[j] += (double)terms[row * FIGURES + j]; });
    });
}

// totals[j] = the sum of sums[chunk, j], in order.
inline void total_terms(Stream stream, int64_t chunks, const double *sums, double *totals) {
    for_each(stream, FIGURES, [=] PUFFER_KERNEL(int64_t j) {
        double total = 0;
        for (int64_t chunk = 0; chunk < chunks; chunk++) total += sums[chunk * FIGURES + j];
        totals[j] = total;
    });
}

}  // namespace puffer
