// gpu_trainer.h: the trainer whose policy lives and learns on a GPU; the same interface as that of
// cpu_trainer.h.
#pragma once

#include "gpu_environments.h"
#include "gpu_rollout.h"
#include "gpu_update.h"

namespace puffer {

struct Trainer {
    struct Device {
        explicit Device(int index) {
            use_device(index);
        }
    };

    const puffer_native_config &c;
    Device device;
    const std::unique_ptr<GpuCollector> collector;
    GpuLearner learner;

    Trainer(const puffer_native_config &c, const Layout &layout)
        : c(c),
          device(c.device),
          collector(make_collector(c, layout)),
          learner(c, layout, collector->rollout) {}

    static std::unique_ptr<GpuCollector> make_collector(const puffer_native_config &c,
                                                        const Layout &layout) {
        if (c.on_gpu) return std::make_unique<GpuStepped>(c, layout);
        return std::make_unique<CpuStepped>(c, layout);
    }

    Statistics &statistics() {
        return collector->statistics;
    }
    void list(std::vector<Named> &learners, std::vector<Named> &rollouts) const {
        learner.mirror.list(learners);
        collector->mirror.list(rollouts);
    }

    double collect(Pool &pool, puffer_native_counters &counters, double *value_sum) {
        use_device(c.device);
        const double seconds = collector->collect(pool, learner.on_gpu.weights, counters);
        *value_sum = collector->sum_values();
        return seconds;
    }
    void update(Pool &, const puffer_native_epoch &epoch, puffer_native_counters &counters,
                puffer_native_figures &figures) {
        use_device(c.device);
        learner.update(epoch, counters, figures);
    }
    void learn(Pool &, const puffer_native_epoch &epoch, const int64_t *segments,
               const float *weights, puffer_native_counters &counters,
               puffer_native_figures &figures) {
        use_device(c.device);
        learner.learn(epoch, segments, weights, counters, figures);
    }

    void to_host(int32_t part) {
        use_device(c.device);
        if (part == PUFFER_NATIVE_ROLLOUT) collector->to_host();
        learner.to_host(part != PUFFER_NATIVE_WEIGHTS);
    }
    void to_device() {
        use_device(c.device);
        collector->to_device();
        learner.to_device();
    }
};

}  // namespace puffer
