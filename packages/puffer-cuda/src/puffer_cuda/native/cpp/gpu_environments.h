// gpu_environments.h: how a GPU collects a rollout from environments that step on it.
//
// The CPU's library creates and resets them; a copy of all that they remember goes to the GPU and
// is stepped there (environment.cc). The whole rollout is one graph, and the host waits for its
// end.
//
// V of a truncated episode's final observation waits until an agent could be truncated again, so
// that one pass of the policy serves all agents.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gpu_collector.h"

namespace puffer {

class GpuStepped : public GpuCollector {
   public:
    GpuStepped(const puffer_native_config &c, const Layout &p)
        : GpuCollector(c, p), table(*c.on_gpu), bytes(table.bytes(c.vec)) {
        cut(1);
        const int64_t agents = env.agents;
        scratch.add(&environments, bytes);
        pinned.add(&packed, bytes);
        scratch.add((char **)&rows.final_observations, agents * env.obs_bytes);
        scratch.add(&rows.rewards, agents);
        scratch.add(&rows.terminals, agents);
        scratch.add(&rows.truncations, agents);
        scratch.add(&rows.masks, agents);
        scratch.add(&rows.logs, agents * c.log_width);
        scratch.add(&counts, agents * width());
        scratch.add(&sums, width() * LANES);
        pinned.add(&host_sums, width() * LANES);
        allocate();
        rows.observations = buffers[0]->observations;
        rows.actions = buffers[0]->actions;
        rows.action_masks = c.action_masks ? buffers[0]->action_masks : nullptr;
        upload_environments();
    }

    double collect(Pool &, const float *weights, puffer_native_counters &counters) override {
        const Range range("rollout");
        Buffer &b = *buffers[0];
        begin(0, counters);
        b.graph.run(b.stream, [&] { roll_out(weights); });
        copy(b.stream, host_sums, (const double *)sums, width() * LANES);
        synchronize(b.stream);
        counters.vector_steps += c.horizon;
        take_counts(counters);
        return 0;  // environments and policy are one piece of work
    }

    void to_host() override {
        const Stream stream = buffers[0]->stream;
        copy(stream, packed, (const char *)environments, bytes);
        copy_rows(stream, false);
        GpuCollector::to_host();
        table.unpack(c.vec, packed);
    }

    void to_device() override {
        upload_environments();
        GpuCollector::to_device();
    }

   private:
    // What is counted of every agent; the columns of the log follow.
    enum { STEPS, CLIPPED, EPISODES, BAD_REWARDS, CUT_TWICE, COUNTS };

    int64_t width() const {
        return COUNTS + c.log_width;
    }

    void upload_environments() {
        const Stream stream = buffers[0]->stream;
        if (const char *reason = table.pack(c.vec, &rows, environments, packed))
            throw Error(std::string("the environments cannot step on the GPU: ") + reason + ".");
        copy(stream, environments, (const char *)packed, bytes);
        copy_rows(stream, true);
        synchronize(stream);
    }

    // What steps leave for the next one or for their caller, to the GPU or from it.
    void copy_rows(Stream stream, bool to_gpu) {
        const int64_t agents = env.agents, obs = agents * env.obs_bytes;
        const auto move = [&](void *gpu, const void *cpu, int64_t size) {
            if (to_gpu)
                copy_bytes(stream, gpu, cpu, size);
            else
                copy_bytes(stream, (void *)cpu, gpu, size);
        };
        move(rows.observations, c.observations, obs);
        move(rows.final_observations, c.final_observations, obs);
        move(buffers[0]->actions, c.actions, agents * env.action_bytes);
        move(rows.rewards, c.rewards, agents * (int64_t)sizeof(float));
        move(rows.terminals, c.terminals, agents);
        move(rows.truncations, c.truncations, agents);
        move(rows.masks, c.masks, agents);
        if (c.action_masks) move(rows.action_masks, c.action_masks, agents * env.outputs);
        move(rows.logs, c.logs, agents * c.log_width * (int64_t)sizeof(double));
    }

    // Everything from the first observation to the last value: what the graph records.
    void roll_out(const float *weights) {
        Buffer &b = *buffers[0];
        const int64_t limit = c.max_steps ? std::min(c.max_steps, c.horizon) : c.horizon;
        clear_bytes(b.stream, counts, env.agents * width() * (int64_t)sizeof(double));
        forget_final();
        for (int64_t t = 0; t < c.horizon; t++) {
            b.act(rollout, weights);
            clip_actions();
            table.step(handle_of(b.stream), environments, c.num_envs);
            receive_step();
            b.tick();
            if ((t + 1) % limit == 0 || t + 1 == c.horizon) value_final(weights);
        }
        b.bootstrap(rollout, weights);
        sum_counts();
    }

    // What the host makes of the sums: lanes[0] of each.
    void take_counts(puffer_native_counters &counters) {
        const auto sum = [&](int64_t k) { return host_sums[k * LANES]; };
        if (sum(BAD_REWARDS) > 0) {
            to_host();
            for (int64_t i = 0; i < env.agents * c.horizon; i++)
                if (!std::isfinite(host.rewards[i]))
                    throw bad_reward(host.rewards[i], i / c.horizon, i % c.horizon);
        }
        if (sum(CUT_TWICE) > 0)
            throw Error(
                "an agent was truncated by its environment twice within " +
                std::to_string(c.horizon) +
                " steps, and on the GPU once is the limit: use vec.device = cpu, or a horizon "
                "below the shortest episode.");
        counters.steps += (int64_t)sum(STEPS);
        counters.clipped_rewards += (int64_t)sum(CLIPPED);
        statistics.episodes += (int64_t)sum(EPISODES);
        for (size_t k = 0; k < statistics.sums.size(); k++)
            statistics.sums[k] += sum(COUNTS + (int64_t)k);
    }

    // What follows launches kernels: public, since nvcc takes none from private functions.
   public:
    void forget_final() {
        int64_t *const steps = buffers[0]->final_agents;
        for_each(buffers[0]->stream, env.agents, [=] PUFFER_KERNEL(int64_t i) { steps[i] = -1; });
    }

    // The rollout has what was drawn; the environments get it within their bounds.
    void clip_actions() {
        float *const actions = (float *)(void *)buffers[0]->actions;
        const float low = (float)c.action_low, high = (float)c.action_high;
        for_each(buffers[0]->stream, env.agents * p.heads.dims,
                 [=] PUFFER_KERNEL(int64_t i) { actions[i] = clamp(actions[i], low, high); });
    }

    // As `receive` of environments.h; and final observations of truncated episodes are kept, with
    // the states that led there.
    void receive_step() {
        Buffer &b = *buffers[0];
        const Outputs outputs(c, rows.rewards, rows.terminals, rows.truncations, rows.masks);
        const RolloutArrays to = rollout;
        const Clock *clock = b.clock;
        const int64_t h = c.horizon, logs = c.log_width, fields = width();
        const int64_t size = state_size, obs = env.obs_bytes;
        const double *log = rows.logs;
        double *count = counts;
        const char *final_rows = (const char *)rows.final_observations;
        char *kept = b.final_observations;
        float *kept_state = b.final_state;
        int64_t *kept_step = b.final_agents;
        for_each(b.stream, env.agents, [=] PUFFER_KERNEL(int64_t agent) {
            const int64_t t = clock->t, at = agent * h + t;
            double *const mine = count + agent * fields;
            to.starts[at] = to.begins[agent];
            const Outcome o = outputs.take_in(agent, at, to);
            mine[STEPS] += o.acted;
            mine[CLIPPED] += o.clipped;
            mine[BAD_REWARDS] += !o.finite;
            if (!o.ended) return;
            mine[EPISODES] += 1;
            for (int64_t k = 0; k < logs; k++) mine[COUNTS + k] += log[agent * logs + k];
            if (!to.truncations[at]) return;
            mine[CUT_TWICE] += kept_step[agent] >= 0;
            kept_step[agent] = t;
            for (int64_t k = 0; k < obs; k++) kept[agent * obs + k] = final_rows[agent * obs + k];
            for (int64_t k = 0; k < size; k++)
                kept_state[agent * size + k] = to.state[agent * size + k];
        });
    }

    // V of the final observations that were kept since the last time.
    void value_final(const float *weights) {
        Buffer &b = *buffers[0];
        b.value_final(weights, b.rows);
        const int64_t h = c.horizon, width = p.width();
        const float *decoded = b.s.decoded;
        int64_t *steps = b.final_agents;
        float *values = rollout.final_values;
        for_each(b.stream, env.agents, [=] PUFFER_KERNEL(int64_t i) {
            if (steps[i] >= 0) values[i * h + steps[i]] = decoded[(i + 1) * width - 1];
            steps[i] = -1;
        });
    }

    void sum_counts() {
        const int64_t agents = env.agents, fields = width();
        const double *count = counts;
        double *lanes = sums;
        for_blocks(buffers[0]->stream, fields, LANES, [=] PUFFER_KERNEL(Block block, int64_t k) {
            block_sum(block, 0, agents, lanes + k * LANES,
                      [=](int64_t agent) { return count[agent * fields + k]; });
        });
    }

   private:
    const puffer_native_environment &table;
    const int64_t bytes;
    puffer_native_rows rows = {};
    char *environments, *packed;
    double *counts, *sums, *host_sums;
};

}  // namespace puffer
