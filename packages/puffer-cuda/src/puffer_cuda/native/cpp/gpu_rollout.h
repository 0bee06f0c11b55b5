// gpu_rollout.h: how a GPU collects a rollout from environments that the CPU steps.
//
// Agents are cut into buffers of whole environments, each with a stream of its own: while threads
// step the environments of one, the GPU runs the policy of the others. A step of the policy, with
// its copies to and from the GPU, is one graph, and the host waits once for each: for its actions.
// What the environments return stays on the host until the end of the rollout.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "clock.h"
#include "environments.h"
#include "pool.h"
#include "reduce.h"

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

// The agents of some environments, and everything that is theirs alone.
struct Buffer {
    int64_t first_env, last_env, first, rows;
    OwnedStream stream;
    Gemm gemm;
    Graph step;
    StepScratch s;
    Clock *clock;

    // on the GPU, and what is copied there or from there, pinned
    char *observations, *host_observations, *actions, *host_actions;
    uint8_t *action_masks, *host_action_masks;
    float *log_probs, *values;

    // truncated episodes: final observations, whose they are, and the states that led there
    char *final_observations, *host_final_observations;
    int64_t *final_agents, *host_final_agents;
    float *final_state;
    uint8_t *final_begins;

    Buffer(int64_t first_env, int64_t last_env, const puffer_native_config &c)
        : first_env(first_env),
          last_env(last_env),
          first(first_env * c.agents_per_env),
          rows((last_env - first_env) * c.agents_per_env),
          gemm(make_gemm(c, stream)) {}

    void plan(Arena &device, Arena &pinned, const Layout &p, const Environments &env) {
        s.plan(device, p, rows);
        device.add(&clock, 1);
        device.add(&observations, rows * env.obs_bytes);
        pinned.add(&host_observations, rows * env.obs_bytes);
        device.add(&actions, rows * env.action_bytes);
        pinned.add(&host_actions, rows * env.action_bytes);
        device.add(&action_masks, rows * env.outputs);
        pinned.add(&host_action_masks, rows * env.outputs);
        device.add(&log_probs, rows);
        device.add(&values, rows);
        device.add(&final_observations, rows * env.obs_bytes);
        pinned.add(&host_final_observations, rows * env.obs_bytes);
        device.add(&final_agents, rows);
        pinned.add(&host_final_agents, rows);
        device.add(&final_state, p.network == MINGRU ? rows * p.layers * p.hidden : 0);
        device.add(&final_begins, rows);
    }
};

class GpuCollector {
   public:
    GpuCollector(const puffer_native_config &c, const Layout &p)
        : c(c), p(p), env(c, p.heads), state_size(p.network == MINGRU ? p.layers * p.hidden : 0) {
        const int64_t wanted = std::min(c.buffers, c.num_envs);
        for (int64_t i = 0; i < wanted; i++) {
            const int64_t first = c.num_envs * i / wanted, last = c.num_envs * (i + 1) / wanted;
            buffers.push_back(std::make_unique<Buffer>(first, last, c));
            buffers.back()->plan(scratch, pinned, p, env);
        }
        rollout.plan(named, p, c);
        host.plan(mirror, p, c);
        scratch.add(&lanes, CHUNKS * LANES);
        pinned.add(&host_lanes, CHUNKS * LANES);
        pinned.add(&clocks, wanted);
        for (Arena *arena : {&scratch, &pinned, &named, &mirror}) arena->allocate();
        for (auto &buffer : buffers)
            clear_bytes(buffer->stream, buffer->final_begins, buffer->rows);
        std::memset(host.begins, 1, (size_t)env.agents);
        statistics.sums.assign((size_t)c.log_width, 0.0);
    }

    // Fill the rollout with the policy of `weights`, on the GPU; returns the seconds of an average
    // thread that environments took. Sets the sum of all values, which tells whether one is not
    // finite.
    double collect(Pool &pool, const float *weights, puffer_native_counters &counters,
                   double *value_sum) {
        double seconds = 0;
        for (size_t i = 0; i < buffers.size(); i++) {
            Buffer &b = *buffers[i];
            clocks[i] = {0, (uint64_t)counters.vector_steps};
            copy(b.stream, b.clock, clocks + i, 1);
            copy(b.stream, rollout.initial_state + b.first * state_size,
                 rollout.state + b.first * state_size, b.rows * state_size);
            stage(b, b.first, b.rows);
            b.step.run(b.stream, [&] { run_policy(b, weights); });
        }
        for (int64_t t = 0; t < c.horizon; t++)
            for (auto &buffer : buffers) {
                Buffer &b = *buffer;
                synchronize(b.stream);
                seconds += step_environments(pool, b, t, counters);
                value_final(b, t, weights);
                if (t + 1 < c.horizon)
                    b.step.run(b.stream, [&] { run_policy(b, weights); });
                else
                    bootstrap(b, weights);
            }
        counters.vector_steps += c.horizon;
        upload();
        *value_sum = sum_values();
        return seconds;
    }

    void to_host() {
        const Stream stream = buffers[0]->stream;
        mirror.copy_from(stream, named);
        synchronize(stream);
    }

    void to_device() {
        const Stream stream = buffers[0]->stream;
        named.copy_from(stream, mirror);
        synchronize(stream);
    }

    RolloutArrays rollout;  // on the GPU
    RolloutArrays host;
    Statistics statistics;
    Arena named{Arena::ZEROS, DEVICE}, mirror{Arena::ZEROS, PINNED};

   private:
    enum { CHUNKS = 64, TASK_AGENTS = 64 };

    // From the environments' memory to that which copies start from.
    void stage(Buffer &b, int64_t first, int64_t rows) const {
        std::memcpy(b.host_observations + (first - b.first) * env.obs_bytes,
                    env.observations(first), (size_t)(rows * env.obs_bytes));
        if (rollout.action_masks)
            std::memcpy(b.host_action_masks + (first - b.first) * env.outputs,
                        env.action_masks(first), (size_t)(rows * env.outputs));
    }

    // The observations of a step to their copies on the GPU.
    void send(Buffer &b) {
        copy(b.stream, b.observations, b.host_observations, b.rows * env.obs_bytes);
        copy(b.stream, rollout.begins + b.first, host.begins + b.first, b.rows);
        if (rollout.action_masks)
            copy(b.stream, b.action_masks, b.host_action_masks, b.rows * env.outputs);
    }

    // What follows launches kernels: public, since nvcc takes none from private functions.
   public:
    // Everything between two steps of the environments: what the graph records.
    void run_policy(Buffer &b, const float *weights) {
        const int64_t h = c.horizon;
        float *state = rollout.state + b.first * state_size;
        send(b);
        store_bytes(b.stream, b.rows, env.obs_bytes, h, b.clock, b.observations,
                    rollout.observations + b.first * h * env.obs_bytes);
        if (rollout.action_masks)
            store(b.stream, b.rows, env.outputs, h, b.clock, (const uint8_t *)b.action_masks,
                  rollout.action_masks + b.first * h * env.outputs);
        policy_step(b.stream, b.gemm, p, weights, b.rows, c.obs_dtype, b.observations,
                    rollout.begins + b.first, state, state, b.s);
        sample(b.stream, b.rows, p.heads, b.s.decoded,
               rollout.action_masks ? b.action_masks : nullptr, weights + p.log_std, c.seed,
               &b.clock->step, b.first, 1, 1, b.actions, b.log_probs, b.values);
        store_bytes(b.stream, b.rows, env.action_bytes, h, b.clock, b.actions,
                    rollout.actions + b.first * h * env.action_bytes);
        store(b.stream, b.rows, 1, h, b.clock, (const float *)b.log_probs,
              rollout.log_probs + b.first * h);
        store(b.stream, b.rows, 1, h + 1, b.clock, (const float *)b.values,
              rollout.values + b.first * (h + 1));
        copy(b.stream, b.host_actions, (const char *)b.actions, b.rows * env.action_bytes);
        Clock *const clock = b.clock;
        for_each(b.stream, 1, [=] PUFFER_KERNEL(int64_t) { clock->t++, clock->step++; });
    }

    double step_environments(Pool &pool, Buffer &b, int64_t t, puffer_native_counters &counters) {
        const int64_t share = std::max<int64_t>(1, TASK_AGENTS / c.agents_per_env);
        const int64_t envs = b.last_env - b.first_env, tasks = (envs + share - 1) / share;
        tallies.resize((size_t)tasks);
        pool.run((int)tasks, [&](int task, int) {
            const int64_t first_env = b.first_env + task * share;
            const int64_t last_env = std::min(first_env + share, b.last_env);
            step_slice(b, first_env, last_env, t, tallies[(size_t)task]);
        });
        const double seconds = statistics.add(tallies, counters);
        return seconds / (double)std::min<int64_t>(pool.threads(), tasks);
    }

    void step_slice(Buffer &b, int64_t first_env, int64_t last_env, int64_t t, Tally &tally) {
        const int64_t first = first_env * c.agents_per_env;
        const int64_t rows = (last_env - first_env) * c.agents_per_env;
        tally.clear(c.log_width);
        std::memcpy(env.actions(first), b.host_actions + (first - b.first) * env.action_bytes,
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
        stage(b, first, rows);
    }

    // V of the final observations of truncated episodes, with the state that led there.
    void value_final(Buffer &b, int64_t t, const float *weights) {
        int64_t count = 0;
        for (int64_t agent = b.first; agent < b.first + b.rows; agent++) {
            if (!host.truncations[agent * c.horizon + t]) continue;
            std::memcpy(b.host_final_observations + count * env.obs_bytes,
                        env.final_observations(agent), (size_t)env.obs_bytes);
            b.host_final_agents[count++] = agent;
        }
        if (count == 0) return;
        copy(b.stream, b.final_observations, b.host_final_observations, count * env.obs_bytes);
        copy(b.stream, b.final_agents, b.host_final_agents, count);
        const int64_t size = state_size, h = c.horizon, width = p.width();
        const int64_t *agents = b.final_agents;
        const float *from = rollout.state, *decoded = b.s.decoded;
        float *state = b.final_state, *values = rollout.final_values;
        if (size)
            for_rows(b.stream, count, size, [=] PUFFER_KERNEL(int64_t i, int64_t j) {
                state[i * size + j] = from[agents[i] * size + j];
            });
        policy_step(b.stream, b.gemm, p, weights, count, c.obs_dtype, b.final_observations,
                    b.final_begins, state, nullptr, b.s);
        for_each(b.stream, count, [=] PUFFER_KERNEL(int64_t i) {
            values[agents[i] * h + t] = decoded[(i + 1) * width - 1];
        });
    }

    // V of the observation after the last step.
    void bootstrap(Buffer &b, const float *weights) {
        send(b);
        policy_step(b.stream, b.gemm, p, weights, b.rows, c.obs_dtype, b.observations,
                    rollout.begins + b.first, rollout.state + b.first * state_size, nullptr, b.s);
        const int64_t h = c.horizon, width = p.width();
        const float *decoded = b.s.decoded;
        float *values = rollout.values + b.first * (h + 1);
        for_each(b.stream, b.rows, [=] PUFFER_KERNEL(int64_t i) {
            values[i * (h + 1) + h] = decoded[(i + 1) * width - 1];
        });
    }

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

    double sum_values() {
        for (auto &buffer : buffers) synchronize(buffer->stream);
        const Stream stream = buffers[0]->stream;
        const float *values = rollout.values;
        chunk_sums(stream, env.agents * (c.horizon + 1), CHUNKS, lanes,
                   [=] PUFFER_KERNEL(int64_t i) { return (double)values[i]; });
        copy(stream, host_lanes, (const double *)lanes, CHUNKS * LANES);
        synchronize(stream);
        return total_of(CHUNKS, host_lanes);
    }

   private:
    const puffer_native_config &c;
    const Layout &p;
    const Environments env;
    const int64_t state_size;
    Arena scratch{Arena::SCRATCH, DEVICE}, pinned{Arena::SCRATCH, PINNED};
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Tally> tallies;
    double *lanes, *host_lanes;
    Clock *clocks;
};

}  // namespace puffer
