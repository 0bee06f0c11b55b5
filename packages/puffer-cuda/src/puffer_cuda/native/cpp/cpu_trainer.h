// cpu_trainer.h: the trainer whose policy lives and learns on the CPU.
#pragma once

#include "rollout.h"
#include "update.h"

namespace puffer {

struct Trainer {
    const Layout &layout;
    Gemm gemm;
    Collector collector;
    Learner learner;

    Trainer(const puffer_native_config &c, const Layout &layout)
        : layout(layout),
          gemm(make_gemm(c, {})),
          collector(c, layout, gemm, c.threads),
          learner(c, layout, gemm, collector.rollout, c.threads) {}

    Statistics &statistics() {
        return collector.statistics;
    }
    void list(std::vector<Named> &learners, std::vector<Named> &rollouts) const {
        learner.named.list(learners);
        collector.named.list(rollouts);
    }

    double collect(Pool &pool, puffer_native_counters &counters, double *value_sum) {
        const double seconds = collector.collect(pool, learner.weights, counters);
        *value_sum = collector.sum_values();
        return seconds;
    }
    void update(Pool &pool, const puffer_native_epoch &epoch, puffer_native_counters &counters,
                puffer_native_figures &figures) {
        learner.update(pool, epoch, counters, figures);
    }
    void learn(Pool &pool, const puffer_native_epoch &epoch, const int64_t *segments,
               const float *weights, puffer_native_counters &counters,
               puffer_native_figures &figures) {
        learner.learn(pool, epoch, segments, weights, counters, figures);
    }

    void to_host(int32_t) {}
    void to_device() {}
};

}  // namespace puffer
