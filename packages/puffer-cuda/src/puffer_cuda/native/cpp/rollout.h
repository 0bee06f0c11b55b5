// rollout.h: how the CPU collects a rollout.
//
// Agents are cut into fixed slices of whole environments. A slice goes through the horizon by
// itself: it steps its environments and runs the policy on their agents, whoever else is how far.
// Random numbers are functions of (seed, step, agent), so neither threads nor their timing matter.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "clock.h"
#include "environments.h"
#include "pool.h"

namespace puffer {

// Rows of the final observations of truncated episodes, and the state that led there.
struct FinalScratch {
    char *observations;
    float *state;
    uint8_t *begins;
    int64_t *agents;

    void plan(Arena &arena, const Layout &p, int64_t rows, int64_t obs_bytes) {
        arena.add(&observations, rows * obs_bytes);
        arena.add(&state, rows * p.layers * p.hidden);
        arena.add(&begins, rows);
        arena.add(&agents, rows);
    }
};

class Collector {
   public:
    Collector(const puffer_native_config &c, const Layout &p, const Gemm &gemm, int threads)
        : c(c), p(p), gemm(gemm), env(c, p.heads), state_size(p.network == MINGRU ? p.layers : 0) {
        state_size *= p.hidden;
        // about an eighth of the agents, 32 to 256: products of fewer rows are slow, more spill
        const int64_t wanted = std::clamp<int64_t>(env.agents / 8, 32, 256);
        envs_per_slice = std::max<int64_t>(1, wanted / c.agents_per_env);
        slices = (int)((c.num_envs + envs_per_slice - 1) / envs_per_slice);
        const int64_t rows = envs_per_slice * c.agents_per_env;
        scratch.resize((size_t)threads);
        final_scratch.resize((size_t)threads);
        for (size_t i = 0; i < (size_t)threads; i++) {
            scratch[i].plan(arena, p, rows);
            final_scratch[i].plan(arena, p, rows, env.obs_bytes);
        }
        rollout.plan(named, p, c);
        arena.allocate();
        named.allocate();
        std::memset(rollout.begins, 1, (size_t)env.agents);
        statistics.sums.assign((size_t)c.log_width, 0.0);
        tallies.resize((size_t)slices);
    }

    // Fill the rollout with the policy of `weights`; returns the seconds of an average thread that
    // environments took.
    double collect(Pool &pool, const float *weights, puffer_native_counters &counters) {
        const uint64_t step = (uint64_t)counters.vector_steps;
        pool.run(slices,
                 [&](int slice, int thread) { collect_slice(slice, thread, weights, step); });
        counters.vector_steps += c.horizon;
        return statistics.add(tallies, counters) / std::min(pool.threads(), slices);
    }

    double sum_values() const {
        const int64_t n = env.agents * (c.horizon + 1);
        double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += (double)rollout.values[i];
        return sum;
    }

    RolloutArrays rollout;
    Statistics statistics;
    Arena named{Arena::ZEROS};

   private:
    void collect_slice(int slice, int thread, const float *weights, uint64_t step) {
        const int64_t first_env = slice * envs_per_slice;
        const int64_t last_env = std::min<int64_t>(first_env + envs_per_slice, c.num_envs);
        const int64_t first = first_env * c.agents_per_env;
        const int64_t rows = (last_env - first_env) * c.agents_per_env;
        StepScratch &s = scratch[(size_t)thread];
        Tally &tally = tallies[(size_t)slice];
        tally.clear(c.log_width);
        float *state = rollout.state + first * state_size;
        std::memcpy(rollout.initial_state + first * state_size, state,
                    (size_t)(rows * state_size) * sizeof(float));
        for (int64_t t = 0; t < c.horizon; t++) {
            policy_step({}, gemm, p, weights, rows, c.obs_dtype, env.observations(first),
                        rollout.begins + first, state, state, s);
            const uint64_t now = step + (uint64_t)t;
            sample({}, rows, p.heads, s.decoded, env.action_masks(first), weights + p.log_std,
                   c.seed, &now, first, c.horizon, c.horizon + 1, env.actions(first),
                   rollout.log_probs + first * c.horizon + t,
                   rollout.values + first * (c.horizon + 1) + t);
            record(first, rows, t);
            const double start = seconds_now();
            c.step(c.vec, (int32_t)first_env, (int32_t)last_env);
            tally.env_seconds += seconds_now() - start;
            receive(c, rollout, first, rows, t, tally);
            value_final(first, rows, t, weights, thread);
        }
        policy_step({}, gemm, p, weights, rows, c.obs_dtype, env.observations(first),
                    rollout.begins + first, state, nullptr, s);
        for (int64_t i = 0; i < rows; i++)
            rollout.values[(first + i) * (c.horizon + 1) + c.horizon] =
                s.decoded[(i + 1) * p.width() - 1];
    }

    // What was seen and done; then floats are clipped for the environment.
    void record(int64_t first, int64_t rows, int64_t t) {
        for (int64_t agent = first; agent < first + rows; agent++) {
            const int64_t at = agent * c.horizon + t;
            std::memcpy(rollout.observations + at * env.obs_bytes, env.observations(agent),
                        (size_t)env.obs_bytes);
            std::memcpy(rollout.actions + at * env.action_bytes, env.actions(agent),
                        (size_t)env.action_bytes);
            if (rollout.action_masks)
                std::memcpy(rollout.action_masks + at * env.outputs, env.action_masks(agent),
                            (size_t)env.outputs);
            rollout.starts[at] = rollout.begins[agent];
        }
        float *actions = (float *)env.actions(first);
        for (int64_t i = 0; i < rows * p.heads.dims; i++)
            actions[i] = clamp(actions[i], (float)c.action_low, (float)c.action_high);
    }

    // V of the final observations of truncated episodes, with the state that led there.
    void value_final(int64_t first, int64_t rows, int64_t t, const float *weights, int thread) {
        FinalScratch &f = final_scratch[(size_t)thread];
        int64_t count = 0;
        for (int64_t agent = first; agent < first + rows; agent++) {
            if (!rollout.truncations[agent * c.horizon + t]) continue;
            std::memcpy(f.observations + count * env.obs_bytes, env.final_observations(agent),
                        (size_t)env.obs_bytes);
            std::memcpy(f.state + count * state_size, rollout.state + agent * state_size,
                        (size_t)state_size * sizeof(float));
            f.begins[count] = 0;
            f.agents[count++] = agent;
        }
        if (count == 0) return;
        StepScratch &s = scratch[(size_t)thread];
        policy_step({}, gemm, p, weights, count, c.obs_dtype, f.observations, f.begins, f.state,
                    nullptr, s);
        for (int64_t i = 0; i < count; i++)
            rollout.final_values[f.agents[i] * c.horizon + t] = s.decoded[(i + 1) * p.width() - 1];
    }

    const puffer_native_config &c;
    const Layout &p;
    const Gemm &gemm;
    const Environments env;
    int64_t state_size, envs_per_slice;
    int slices;
    Arena arena{Arena::SCRATCH};
    std::vector<StepScratch> scratch;
    std::vector<FinalScratch> final_scratch;
    std::vector<Tally> tallies;
};

}  // namespace puffer
