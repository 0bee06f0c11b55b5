// gpu_rollout.h: how a GPU collects a rollout from environments that the CPU steps.
//
// Each buffer has a stream of its own: while threads step the environments of one, the GPU runs the
// policy of the others. A step of the policy, with its copies to and from the GPU, is one graph,
// and the host waits once for each: for its actions. What the environments return stays on the host
// until the end of the rollout.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "gpu_collector.h"

namespace puffer {

// What is copied to a buffer or from it, pinned.
struct Staging {
    char *observations, *actions, *final_observations;
    uint8_t *action_masks;
    int64_t *final_agents;

    void plan(Arena &pinned, const Environments &env, int64_t rows) {
        pinned.add(&observations, rows * env.obs_bytes);
        pinned.add(&actions, rows * env.action_bytes);
        pinned.add(&final_observations, rows * env.obs_bytes);
        pinned.add(&action_masks, rows * env.outputs);
        pinned.add(&final_agents, rows);
    }
};

class CpuStepped : public GpuCollector {
   public:
    CpuStepped(const puffer_native_config &c, const Layout &p) : GpuCollector(c, p) {
        cut(std::min(c.buffers, c.num_envs));
        staging.resize(buffers.size());
        for (size_t i = 0; i < buffers.size(); i++) staging[i].plan(pinned, env, buffers[i]->rows);
        allocate();
    }

    double collect(Pool &pool, const float *weights, puffer_native_counters &counters) override {
        double seconds = 0;
        for (size_t i = 0; i < buffers.size(); i++) {
            Buffer &b = *buffers[i];
            begin(i, counters);
            stage(i, b.first, b.rows);
            b.graph.run(b.stream, [&] { run_policy(i, weights); });
        }
        for (int64_t t = 0; t < c.horizon; t++)
            for (size_t i = 0; i < buffers.size(); i++) {
                Buffer &b = *buffers[i];
                synchronize(b.stream);
                seconds += step_environments(pool, i, t, counters);
                value_final(i, t, weights);
                if (t + 1 < c.horizon) {
                    b.graph.run(b.stream, [&] { run_policy(i, weights); });
                } else {
                    send(i);
                    b.bootstrap(rollout, weights);
                }
            }
        counters.vector_steps += c.horizon;
        upload();
        return seconds;
    }

   private:
    enum { TASK_AGENTS = 64 };

    // From the environments' memory to that which copies start from.
    void stage(size_t index, int64_t first, int64_t rows) const {
        const Staging &from = staging[index];
        const int64_t row = first - buffers[index]->first;
        std::memcpy(from.observations + row * env.obs_bytes, env.observations(first),
                    (size_t)(rows * env.obs_bytes));
        if (rollout.action_masks)
            std::memcpy(from.action_masks + row * env.outputs, env.action_masks(first),
                        (size_t)(rows * env.outputs));
    }

    // The observations of a step to their copies on the GPU.
    void send(size_t index) {
        Buffer &b = *buffers[index];
        const Staging &from = staging[index];
        copy(b.stream, b.observations, (const char *)from.observations, b.rows * env.obs_bytes);
        copy(b.stream, rollout.begins + b.first, host.begins + b.first, b.rows);
        if (rollout.action_masks)
            copy(b.stream, b.action_masks, (const uint8_t *)from.action_masks,
                 b.rows * env.outputs);
    }

    // Everything between two steps of the environments: what the graph records.
    void run_policy(size_t index, const float *weights) {
        Buffer &b = *buffers[index];
        send(index);
        b.act(rollout, weights);
        copy(b.stream, staging[index].actions, (const char *)b.actions, b.rows * env.action_bytes);
        b.tick();
    }

    double step_environments(Pool &pool, size_t index, int64_t t,
                             puffer_native_counters &counters) {
        const Range range("environments");
        const Buffer &b = *buffers[index];
        const int64_t share = std::max<int64_t>(1, TASK_AGENTS / c.agents_per_env);
        const int64_t envs = b.last_env - b.first_env, tasks = (envs + share - 1) / share;
        tallies.resize((size_t)tasks);
        pool.run((int)tasks, [&](int task, int) {
            const int64_t first_env = b.first_env + task * share;
            const int64_t last_env = std::min(first_env + share, b.last_env);
            step_slice(index, first_env, last_env, t, tallies[(size_t)task]);
        });
        const double seconds = statistics.add(tallies, counters);
        return seconds / (double)std::min<int64_t>(pool.threads(), tasks);
    }

    void step_slice(size_t index, int64_t first_env, int64_t last_env, int64_t t, Tally &tally) {
        const int64_t first = first_env * c.agents_per_env;
        const int64_t rows = (last_env - first_env) * c.agents_per_env;
        const int64_t row = first - buffers[index]->first;
        tally.clear(c.log_width);
        std::memcpy(env.actions(first), staging[index].actions + row * env.action_bytes,
                    (size_t)(rows * env.action_bytes));
        float *actions = (float *)(void *)env.actions(first);
        for (int64_t i = 0; i < rows * p.heads.dims; i++)
            actions[i] = clamp(actions[i], (float)c.action_low, (float)c.action_high);
        for (int64_t agent = first; agent < first + rows; agent++)
            host.starts[agent * c.horizon + t] = host.begins[agent];
        const double start = seconds_now();
        c.step(c.vec, (int32_t)first_env, (int32_t)last_env);
        tally.env_seconds = seconds_now() - start;
        receive(c, host, first, rows, t, tally);
        stage(index, first, rows);
    }

    // What follows launches kernels: public, since nvcc takes none from private functions.
   public:
    // V of the final observations of truncated episodes, with the state that led there.
    void value_final(size_t index, int64_t t, const float *weights) {
        Buffer &b = *buffers[index];
        const Staging &from = staging[index];
        int64_t count = 0;
        for (int64_t agent = b.first; agent < b.first + b.rows; agent++) {
            if (!host.truncations[agent * c.horizon + t]) continue;
            std::memcpy(from.final_observations + count * env.obs_bytes,
                        env.final_observations(agent), (size_t)env.obs_bytes);
            from.final_agents[count++] = agent;
        }
        if (count == 0) return;
        copy(b.stream, b.final_observations, (const char *)from.final_observations,
             count * env.obs_bytes);
        copy(b.stream, b.final_agents, (const int64_t *)from.final_agents, count);
        const int64_t size = state_size, h = c.horizon, width = p.width();
        const int64_t *agents = b.final_agents;
        const float *states = rollout.state, *decoded = b.s.decoded;
        float *to = b.final_state, *values = rollout.final_values;
        if (size)
            for_rows(b.stream, count, size, [=] PUFFER_KERNEL(int64_t i, int64_t j) {
                to[i * size + j] = states[agents[i] * size + j];
            });
        b.value_final(weights, count);
        for_each(b.stream, count, [=] PUFFER_KERNEL(int64_t i) {
            values[agents[i] * h + t] = decoded[(i + 1) * width - 1];
        });
    }

   private:
    // What the environments returned, for learning.
    void upload() {
        const Stream stream = buffers[0]->stream;
        const int64_t n = env.agents * c.horizon;
        copy(stream, rollout.rewards, host.rewards, n);
        copy(stream, rollout.terminals, host.terminals, n);
        copy(stream, rollout.truncations, host.truncations, n);
        copy(stream, rollout.masks, host.masks, n);
        copy(stream, rollout.starts, host.starts, n);
        copy(stream, rollout.begins, host.begins, env.agents);
    }

    std::vector<Staging> staging;
    std::vector<Tally> tallies;
};

}  // namespace puffer
