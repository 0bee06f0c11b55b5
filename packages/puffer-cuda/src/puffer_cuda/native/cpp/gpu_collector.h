// gpu_collector.h: a rollout in the GPU's memory. Who steps the environments is up to those who
// derive from it: gpu_rollout.h leaves it to the CPU, gpu_environments.h has them on the GPU.
#pragma once

#include "clock.h"
#include "gpu_buffer.h"
#include "pool.h"
#include "ranges.h"
#include "reduce.h"

namespace puffer {

class GpuCollector {
   public:
    GpuCollector(const puffer_native_config &c, const Layout &p)
        : c(c), p(p), env(c, p.heads), state_size(p.network == MINGRU ? p.layers * p.hidden : 0) {
        rollout.plan(named, p, c);
        host.plan(mirror, p, c);
        scratch.add(&lanes, CHUNKS * LANES);
        pinned.add(&host_lanes, CHUNKS * LANES);
        statistics.sums.assign((size_t)c.log_width, 0.0);
    }
    virtual ~GpuCollector() = default;

    // Fill the rollout with the policy of `weights`, on the GPU; returns the seconds of an average
    // thread that environments took.
    virtual double collect(Pool &pool, const float *weights, puffer_native_counters &counters) = 0;

    // Bring `host` up to date, or the GPU, and likewise what else the host has copies of.
    virtual void to_host() {
        const Stream stream = buffers[0]->stream;
        mirror.copy_from(stream, named);
        synchronize(stream);
    }
    virtual void to_device() {
        const Stream stream = buffers[0]->stream;
        named.copy_from(stream, mirror);
        synchronize(stream);
    }

    // Tells whether a value is not finite. Waits for the GPU.
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

    RolloutArrays rollout;  // on the GPU
    RolloutArrays host;
    Statistics statistics;
    Arena named{Arena::ZEROS, DEVICE}, mirror{Arena::ZEROS, PINNED};

   protected:
    enum { CHUNKS = 64 };

    // Cut the agents into `count` buffers of whole environments.
    void cut(int64_t count) {
        for (int64_t i = 0; i < count; i++) {
            const int64_t first = c.num_envs * i / count, last = c.num_envs * (i + 1) / count;
            buffers.push_back(std::make_unique<Buffer>(first, last, c, p, env));
            buffers.back()->plan(scratch);
        }
        pinned.add(&clocks, count);
    }

    // After everything was planned.
    void allocate() {
        for (Arena *arena : {&scratch, &pinned, &named, &mirror}) arena->allocate();
        for (auto &buffer : buffers)
            clear_bytes(buffer->stream, buffer->final_begins, buffer->rows);
        std::memset(host.begins, 1, (size_t)env.agents);
    }

    // The clock and the first states of a rollout.
    void begin(size_t index, const puffer_native_counters &counters) {
        Buffer &b = *buffers[index];
        clocks[index] = {0, (uint64_t)counters.vector_steps};
        copy(b.stream, b.clock, clocks + index, 1);
        copy(b.stream, rollout.initial_state + b.first * state_size,
             rollout.state + b.first * state_size, b.rows * state_size);
    }

    const puffer_native_config &c;
    const Layout &p;
    const Environments env;
    const int64_t state_size;
    Arena scratch{Arena::SCRATCH, DEVICE}, pinned{Arena::SCRATCH, PINNED};
    std::vector<std::unique_ptr<Buffer>> buffers;

   private:
    double *lanes, *host_lanes;
    Clock *clocks;
};

}  // namespace puffer
