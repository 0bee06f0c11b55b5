// heads.h: actions from the decoder's output: drawn, and judged (log-probability and entropy).
//
// A row of the decoder is logits of all heads side by side, or means, and last the value.
#pragma once

#include "gpu.h"
#include "maths.h"

namespace puffer {

enum { MAX_HEADS = 16 };

// Discrete heads, or `dims` continuous dimensions with a free log standard deviation.
struct Heads {
    int32_t count;
    int32_t sizes[MAX_HEADS];
    int32_t dims;

    PUFFER_FN int32_t outputs() const {
        int32_t total = dims;
        for (int32_t k = 0; k < count; k++) total += sizes[k];
        return total;
    }
    // Entries of an action: one a head, or one a dimension.
    PUFFER_FN int32_t entries() const {
        return dims ? dims : count;
    }
};

constexpr float LOG_STD_LOW = -5.0f, LOG_STD_HIGH = 2.0f;
constexpr float HALF_LOG_2_PI = 0.918938533204672742f;

// A head's logits, and which choices are allowed; null: all.
struct Head {
    const float *logits;
    const uint8_t *allowed;
    int32_t n;

    PUFFER_FN bool may(int32_t j) const {
        return !allowed || allowed[j];
    }
};

// log sum exp of the allowed logits, in two parts: the largest, and the log of `rest`, the sum of
// e^(x - largest).
struct LogSum {
    float largest, log_rest, rest;

    PUFFER_FN float log_prob(float logit) const {
        return logit - largest - log_rest;
    }
};

PUFFER_FN LogSum log_sum_exp(Head head) {
    float largest = -3.4e38f, rest = 0;
    for (int32_t j = 0; j < head.n; j++)
        if (head.may(j)) largest = larger(largest, head.logits[j]);
    for (int32_t j = 0; j < head.n; j++)
        if (head.may(j)) rest += fast_exp(head.logits[j] - largest);
    return {largest, fast_log(rest), rest};
}

// The allowed choice at which the cumulative distribution passes `u`; never one past the last.
PUFFER_FN int32_t draw(Head head, const LogSum &sum, float u) {
    float cumulative = 0;
    int32_t choice = 0;
    bool passed = false;
    for (int32_t j = 0; j < head.n; j++)
        if (!passed && head.may(j)) {
            cumulative += fast_exp(head.logits[j] - sum.largest);
            choice = j;
            passed = u * sum.rest < cumulative;
        }
    return choice;
}

PUFFER_FN float head_entropy(Head head, const LogSum &sum) {
    float entropy = 0;
    for (int32_t j = 0; j < head.n; j++)
        if (head.may(j)) {
            const float log_p = sum.log_prob(head.logits[j]);
            entropy -= fast_exp(log_p) * log_p;
        }
    return entropy;
}

PUFFER_FN float gaussian(uint32_t a, uint32_t b, bool second) {
    const float radius = sqrtf(-2.0f * fast_log(1.0f - uniform(a)));
    const float angle = 6.28318530717958648f * uniform(b);
    return radius * (second ? sinf(angle) : cosf(angle));
}

// Draw an action for each row. Row i belongs to agent first + i; random numbers are a function of
// (seed, *step, agent). decoded: (rows, outputs + 1). actions: int32 (rows, heads) or float (rows,
// dims). allowed: (rows, outputs) or null. log_probs of row i go to i * stride, values to i *
// value_stride.
inline void sample(Stream stream, int64_t rows, Heads heads, const float *decoded,
                   const uint8_t *allowed, const float *log_std, uint64_t seed,
                   const uint64_t *step, int64_t first, int64_t stride, int64_t value_stride,
                   void *actions, float *log_probs, float *values) {
    const int32_t outputs = heads.outputs();
    for_each(stream, rows, [=] PUFFER_KERNEL(int64_t i) {
        const float *row = decoded + i * (outputs + 1);
        const uint8_t *may = allowed ? allowed + i * outputs : nullptr;
        const uint64_t blocks = ((uint64_t)heads.entries() + 3) / 4;
        float log_prob = 0;
        Four words = {};
        for (int32_t k = 0; k < heads.count; k++) {
            if (k % 4 == 0)
                words = random_words(seed, SAMPLE_ACTIONS, *step,
                                     (uint64_t)(first + i) * blocks + (uint64_t)k / 4);
            const Head head = {row, may, heads.sizes[k]};
            const LogSum sum = log_sum_exp(head);
            const int32_t choice = draw(head, sum, uniform(words.x[k % 4]));
            ((int32_t *)actions)[i * heads.count + k] = choice;
            log_prob += sum.log_prob(row[choice]);
            row += head.n;
            if (may) may += head.n;
        }
        for (int32_t k = 0; k < heads.dims; k++) {
            if (k % 4 == 0)
                words = random_words(seed, SAMPLE_ACTIONS, *step,
                                     (uint64_t)(first + i) * blocks + (uint64_t)k / 4);
            const float noise = gaussian(words.x[k % 4 & 2], words.x[(k % 4 & 2) + 1], k & 1);
            const float deviation = clamp(log_std[k], LOG_STD_LOW, LOG_STD_HIGH);
            const float std = fast_exp(deviation), action = row[k] + std * noise;
            const float scaled = (action - row[k]) / std;
            ((float *)actions)[i * heads.dims + k] = action;
            log_prob += -0.5f * scaled * scaled - deviation - HALF_LOG_2_PI;
        }
        log_probs[i * stride] = log_prob;
        values[i * value_stride] = decoded[i * (outputs + 1) + outputs];
    });
}

struct Judged {
    float log_prob, entropy;
};

// Log-probability of an action and entropy, summed over heads or dimensions.
PUFFER_FN Judged judge(const Heads &heads, const float *row, const uint8_t *allowed,
                       const float *log_std, const void *action) {
    Judged judged = {0, 0};
    for (int32_t k = 0; k < heads.count; k++) {
        const Head head = {row, allowed, heads.sizes[k]};
        const LogSum sum = log_sum_exp(head);
        judged.entropy += head_entropy(head, sum);
        judged.log_prob += sum.log_prob(row[((const int32_t *)action)[k]]);
        row += head.n;
        if (allowed) allowed += head.n;
    }
    for (int32_t k = 0; k < heads.dims; k++) {
        const float deviation = clamp(log_std[k], LOG_STD_LOW, LOG_STD_HIGH);
        const float scaled = (((const float *)action)[k] - row[k]) / fast_exp(deviation);
        judged.log_prob += -0.5f * scaled * scaled - deviation - HALF_LOG_2_PI;
        judged.entropy += 0.5f + HALF_LOG_2_PI + deviation;
    }
    return judged;
}

// The row becomes dL/drow, given dL/d(log-probability) and dL/d(entropy); the value's entry is the
// caller's. d_log_std (dims) is set.
PUFFER_FN void judge_backward(const Heads &heads, float *row, const uint8_t *allowed,
                              const float *log_std, const void *action, float d_log_prob,
                              float d_entropy, float *d_log_std) {
    for (int32_t k = 0; k < heads.count; k++) {
        const Head head = {row, allowed, heads.sizes[k]};
        const int32_t chosen = ((const int32_t *)action)[k];
        const LogSum sum = log_sum_exp(head);
        const float entropy = head_entropy(head, sum);
        for (int32_t j = 0; j < head.n; j++) {
            const float log_p = sum.log_prob(row[j]), p = head.may(j) ? fast_exp(log_p) : 0;
            const float d_entropy_j = p > 0 ? p * (log_p + entropy) : 0;
            row[j] = d_log_prob * ((j == chosen ? 1.0f : 0.0f) - p) - d_entropy * d_entropy_j;
        }
        row += head.n;
        if (allowed) allowed += head.n;
    }
    for (int32_t k = 0; k < heads.dims; k++) {
        const float deviation = clamp(log_std[k], LOG_STD_LOW, LOG_STD_HIGH);
        const float inverse = fast_exp(-deviation);
        const float scaled = (((const float *)action)[k] - row[k]) * inverse;
        const bool inside = log_std[k] >= LOG_STD_LOW && log_std[k] <= LOG_STD_HIGH;
        d_log_std[k] = inside ? d_log_prob * (scaled * scaled - 1.0f) + d_entropy : 0;
        row[k] = d_log_prob * scaled * inverse;
    }
}

}  // namespace puffer
