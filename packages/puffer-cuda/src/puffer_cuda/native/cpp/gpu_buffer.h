// gpu_buffer.h: the agents of some environments, and a step of the policy for all of them.
#pragma once

#include "environments.h"

namespace puffer {

// The step that a graph is at; in the GPU's memory, since a graph repeats what it recorded.
struct Clock {
    int64_t t;      // of the rollout
    uint64_t step;  // of the run
};

// from (rows, size) goes to row t of each agent of to (rows, time, size).
template <class T>
void store(Stream stream, int64_t rows, int64_t size, int64_t time, const Clock *clock,
           const T *from, T *to) {
    for_rows(stream, rows, size, [=] PUFFER_KERNEL(int64_t row, int64_t j) {
        to[(row * time + clock->t) * size + j] = from[row * size + j];
    });
}

// The same for bytes, in words where sizes and places allow it.
inline void store_bytes(Stream stream, int64_t rows, int64_t bytes, int64_t time,
                        const Clock *clock, const char *from, char *to) {
    if (bytes % 4 == 0)
        store(stream, rows, bytes / 4, time, clock, (const int32_t *)(const void *)from,
              (int32_t *)(void *)to);
    else
        store(stream, rows, bytes, time, clock, from, to);
}

struct Buffer {
    const puffer_native_config &c;
    const Layout &p;
    const Environments &env;
    const int64_t first_env, last_env, first, rows, state_size;
    OwnedStream stream;
    Gemm gemm;
    Graph graph;
    StepScratch s;
    Clock *clock;

    // on the GPU
    char *observations, *actions;
    uint8_t *action_masks;
    float *log_probs, *values;

    // truncated episodes: final observations, whose they are, and the states that led there
    char *final_observations;
    int64_t *final_agents;
    float *final_state;
    uint8_t *final_begins;  // zeros

    Buffer(int64_t first_env, int64_t last_env, const puffer_native_config &c, const Layout &p,
           const Environments &env)
        : c(c),
          p(p),
          env(env),
          first_env(first_env),
          last_env(last_env),
          first(first_env * c.agents_per_env),
          rows((last_env - first_env) * c.agents_per_env),
          state_size(p.network == MINGRU ? p.layers * p.hidden : 0),
          gemm(make_gemm(c, stream)) {}

    void plan(Arena &device) {
        s.plan(device, p, rows);
        device.add(&clock, 1);
        device.add(&observations, rows * env.obs_bytes);
        device.add(&actions, rows * env.action_bytes);
        device.add(&action_masks, rows * env.outputs);
        device.add(&log_probs, rows);
        device.add(&values, rows);
        device.add(&final_observations, rows * env.obs_bytes);
        device.add(&final_agents, rows);
        device.add(&final_state, rows * state_size);
        device.add(&final_begins, rows);
    }

    // Choose actions for the observations, and keep both as step t of the rollout.
    void act(const RolloutArrays &rollout, const float *weights) {
        const int64_t h = c.horizon;
        float *state = rollout.state + first * state_size;
        store_bytes(stream, rows, env.obs_bytes, h, clock, observations,
                    rollout.observations + first * h * env.obs_bytes);
        if (rollout.action_masks)
            store(stream, rows, env.outputs, h, clock, (const uint8_t *)action_masks,
                  rollout.action_masks + first * h * env.outputs);
        policy_step(stream, gemm, p, weights, rows, c.obs_dtype, observations,
                    rollout.begins + first, state, state, s);
        sample(stream, rows, p.heads, s.decoded, rollout.action_masks ? action_masks : nullptr,
               weights + p.log_std, c.seed, &clock->step, first, 1, 1, actions, log_probs, values);
        store_bytes(stream, rows, env.action_bytes, h, clock, actions,
                    rollout.actions + first * h * env.action_bytes);
        store(stream, rows, 1, h, clock, (const float *)log_probs, rollout.log_probs + first * h);
        store(stream, rows, 1, h + 1, clock, (const float *)values,
              rollout.values + first * (h + 1));
    }

    // The clock goes on by a step.
    void tick() {
        Clock *const now = clock;
        for_each(stream, 1, [=] PUFFER_KERNEL(int64_t) { now->t++, now->step++; });
    }

    // V of the first `count` final observations, to s.decoded.
    void value_final(const float *weights, int64_t count) {
        policy_step(stream, gemm, p, weights, count, c.obs_dtype, final_observations, final_begins,
                    final_state, nullptr, s);
    }

    // V of the observation after the last step.
    void bootstrap(const RolloutArrays &rollout, const float *weights) {
        policy_step(stream, gemm, p, weights, rows, c.obs_dtype, observations,
                    rollout.begins + first, rollout.state + first * state_size, nullptr, s);
        const int64_t h = c.horizon, width = p.width();
        const float *decoded = s.decoded;
        float *to = rollout.values + first * (h + 1);
        for_each(stream, rows, [=] PUFFER_KERNEL(int64_t i) {
            to[i * (h + 1) + h] = decoded[(i + 1) * width - 1];
        });
    }
};

}  // namespace puffer
