// environments.h: the environments that are trained on, and the N segments of H transitions that
// they fill, one row an agent.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "api.h"
#include "arena.h"
#include "policy.h"

namespace puffer {

// The products of one stream.
inline Gemm make_gemm(const puffer_native_config &c, Stream stream) {
#ifdef __CUDACC__
    return Gemm(stream, (Precision)c.precision);
#else
    return Gemm{(Sgemm)c.sgemm, stream};
#endif
}

// The environments, as the caller of the library handed them over.
struct Environments {
    const puffer_native_config &c;
    int64_t agents, obs_bytes, action_bytes, outputs;

    Environments(const puffer_native_config &c, const Heads &heads)
        : c(c),
          agents((int64_t)c.num_envs * c.agents_per_env),
          obs_bytes((int64_t)c.obs_size * itemsize(c.obs_dtype)),
          action_bytes(4 * (int64_t)heads.entries()),
          outputs(heads.outputs()) {}

    const char *observations(int64_t agent) const {
        return (const char *)c.observations + agent * obs_bytes;
    }
    const char *final_observations(int64_t agent) const {
        return (const char *)c.final_observations + agent * obs_bytes;
    }
    char *actions(int64_t agent) const {
        return (char *)c.actions + agent * action_bytes;
    }
    const uint8_t *action_masks(int64_t agent) const {
        return c.action_masks ? c.action_masks + agent * outputs : nullptr;
    }
};

// (agents, horizon) each; observations in the environment's dtype, values (agents, horizon + 1).
// `starts`: the observation is an episode's first. `final_values`: V of the final observation where
// truncated. State and `begins` (of the next observation) live on between rollouts.
struct RolloutArrays {
    char *observations, *actions;
    float *log_probs, *values, *rewards, *final_values, *state, *initial_state;
    uint8_t *terminals, *truncations, *masks, *starts, *action_masks = nullptr, *begins;

    void plan(Arena &arena, const Layout &p, const puffer_native_config &c) {
        const int64_t n = (int64_t)c.num_envs * c.agents_per_env, h = c.horizon;
        const int64_t recurrent = p.network == MINGRU ? p.layers : 0;
        const std::vector<int64_t> shape = {n, h};
        arena.add((void **)&observations, "rollout/observations", (Dtype)c.obs_dtype,
                  {n, h, c.obs_size});
        arena.add((void **)&actions, "rollout/actions", p.heads.dims ? F32 : I32,
                  {n, h, p.heads.entries()});
        arena.add(&log_probs, "rollout/log_probs", shape);
        arena.add(&values, "rollout/values", {n, h + 1});
        arena.add(&rewards, "rollout/rewards", shape);
        arena.add(&final_values, "rollout/final_values", shape);
        arena.add(&terminals, "rollout/terminals", shape);
        arena.add(&truncations, "rollout/truncations", shape);
        arena.add(&masks, "rollout/masks", shape);
        arena.add(&starts, "rollout/starts", shape);
        if (c.action_masks)
            arena.add(&action_masks, "rollout/action_masks", {n, h, p.heads.outputs()});
        arena.add(&begins, "begins", {n});
        arena.add(&state, "state", {n, recurrent, p.hidden});
        arena.add(&initial_state, "rollout/initial_state", {n, recurrent, p.hidden});
    }
};

// What a slice of the environments counted in one rollout.
struct Tally {
    int64_t steps = 0, clipped = 0, episodes = 0;
    double env_seconds = 0;
    std::vector<double> sums;

    void clear(int32_t log_width) {
        steps = clipped = episodes = 0;
        env_seconds = 0;
        sums.assign((size_t)log_width, 0.0);
    }
};

// What all slices counted, added in the order of slices, whoever ran them.
struct Statistics {
    int64_t episodes = 0;
    std::vector<double> sums;

    // Returns the seconds that environments took, of all threads together.
    double add(const std::vector<Tally> &tallies, puffer_native_counters &counters) {
        double seconds = 0;
        for (const Tally &tally : tallies) {
            counters.steps += tally.steps;
            counters.clipped_rewards += tally.clipped;
            episodes += tally.episodes;
            for (size_t k = 0; k < sums.size(); k++) sums[k] += tally.sums[k];
            seconds += tally.env_seconds;
        }
        return seconds;
    }

    int64_t take(double *out) {
        const int64_t count = episodes;
        std::copy(sums.begin(), sums.end(), out);
        std::fill(sums.begin(), sums.end(), 0.0);
        episodes = 0;
        return count;
    }
};

// What an agent's step gave, beside what went to the rollout.
struct Outcome {
    bool finite, acted, clipped, ended;  // finite: the reward was
};

// What environments write, wherever they step.
struct Outputs {
    const float *rewards;
    const uint8_t *terminals, *truncations, *masks;
    float scale, clip;  // of rewards

    Outputs(const puffer_native_config &c, const float *rewards, const uint8_t *terminals,
            const uint8_t *truncations, const uint8_t *masks)
        : rewards(rewards),
          terminals(terminals),
          truncations(truncations),
          masks(masks),
          scale((float)c.reward_scale),
          clip((float)c.reward_clip) {}

    // Agent's row becomes entry `to` of the rollout.
    PUFFER_FN Outcome take_in(int64_t agent, int64_t to, const RolloutArrays &rollout) const {
        const bool terminal = terminals[agent], truncated = truncations[agent];
        const bool acted = masks[agent];
        float reward = rewards[agent];
        const bool finite = reward - reward == 0;
        reward *= scale;
        const bool clipped = clip > 0 && (reward > clip || reward < -clip);
        if (clipped) reward = reward > 0 ? clip : -clip;
        rollout.rewards[to] = reward;
        rollout.masks[to] = acted;
        rollout.terminals[to] = terminal;
        rollout.truncations[to] = truncated && !terminal;
        // An agent that did not act is dead or just born: its next action begins an episode.
        rollout.begins[agent] = terminal || truncated || !acted;
        return {finite, acted, clipped, terminal || truncated};
    }
};

inline Error bad_reward(float reward, int64_t agent, int64_t t) {
    return Error("the environment returned reward " + std::to_string(reward) + " for agent " +
                 std::to_string(agent) + " in step " + std::to_string(t) + " of the rollout.");
}

// Take in what a step of agents [first, first + rows) gave, as step t of the rollout.
inline void receive(const puffer_native_config &c, const RolloutArrays &rollout, int64_t first,
                    int64_t rows, int64_t t, Tally &tally) {
    const Outputs outputs(c, c.rewards, c.terminals, c.truncations, c.masks);
    for (int64_t agent = first; agent < first + rows; agent++) {
        const Outcome o = outputs.take_in(agent, agent * c.horizon + t, rollout);
        if (!o.finite) throw bad_reward(c.rewards[agent], agent, t);
        tally.clipped += o.clipped;
        tally.steps += o.acted;
        if (o.ended) {
            tally.episodes++;
            const double *log = c.logs + agent * c.log_width;
            for (size_t k = 0; k < tally.sums.size(); k++) tally.sums[k] += log[k];
        }
    }
}

}  // namespace puffer
