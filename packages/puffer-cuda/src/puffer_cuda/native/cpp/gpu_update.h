// gpu_update.h: one epoch of minibatches on a GPU.
//
// A minibatch is two graphs: estimate advantages and draw segments; learn from them. Whatever
// changes from one to the next - rates, counters, whether the last was finite - lies in the GPU's
// memory, so the host waits once an epoch, for the figures.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "advantage.h"
#include "api.h"
#include "clock.h"
#include "environments.h"
#include "optimizer.h"
#include "policy.h"
#include "ranges.h"
#include "segments.h"

namespace puffer {

// What a graph reads and counts.
struct Progress {
    double learning_rate, prio_beta;  // of the epoch
    float ent_coef;
    int32_t max_skipped, stopped;
    uint64_t draw;  // of segments
    int64_t skipped_updates, skipped_in_a_row, updates;
    double sums[FIGURES], grad_norm;  // over the updates
    double moments[5];                // of what the explained variance is made of
};

// What is learnt and what learning needs from one minibatch to the next.
struct LearnerArrays {
    float *weights, *gradients, *momentum, *square, *ratios, *advantages;
    int64_t *adamw_steps;

    void plan(Arena &arena, const Layout &p, int64_t agents, int64_t horizon) {
        arena.add(&weights, "weights", {p.total});
        arena.add(&gradients, "gradients", {p.total});
        arena.add(&momentum, "momentum", {p.total});  // of matrices; AdamW's mean elsewhere
        arena.add(&square, "square", {p.total});
        arena.add(&adamw_steps, "adamw_steps", {1});
        arena.add(&ratios, "rollout/ratios", {agents, horizon});
        arena.add(&advantages, "rollout/advantages", {agents, horizon});
    }
};

// to[row] = from[chosen[row / time], row % time] as floats.
template <class T>
void gather_cast(Stream stream, int64_t rows, int64_t time, int64_t size, const int64_t *chosen,
                 const T *from, float *to) {
    for_rows(stream, rows, size, [=] PUFFER_KERNEL(int64_t row, int64_t j) {
        const int64_t at = chosen[row / time] * time + row % time;
        to[row * size + j] = (float)from[at * size + j];
    });
}

class GpuLearner {
   public:
    GpuLearner(const puffer_native_config &c, const Layout &p, const RolloutArrays &rollout)
        : c(c),
          p(p),
          r(rollout),
          gemm(make_gemm(c, stream)),
          world(c),
          agents((int64_t)c.num_envs * c.agents_per_env),
          rows((int64_t)c.minibatch_segments * c.horizon) {
        group_parameters();
        on_gpu.plan(named, p, agents, c.horizon);
        on_host.plan(mirror, p, agents, c.horizon);
        plan();
        for (Arena *arena : {&named, &mirror, &scratch, &pinned}) arena->allocate();
    }

    // All minibatches of an epoch.
    void update(const puffer_native_epoch &epoch, puffer_native_counters &counters,
                puffer_native_figures &figures) {
        const Range range("update");
        const double start = seconds_now();
        const uint64_t draw = (uint64_t)counters.draws++;
        begin(epoch, counters, draw << 32);
        fill_with_ones(agents * c.horizon, on_gpu.ratios);
        fill_with_ones(c.minibatch_segments, segment_weights);
        if (c.prio_alpha == 0) shuffle_passes(epoch.minibatches, draw);
        for (int64_t k = 0; k < epoch.minibatches; k++) {
            if (c.prio_alpha == 0)
                copy(stream, chosen, (const int64_t *)passes.data() + k * c.minibatch_segments,
                     c.minibatch_segments);
            const Range minibatch("minibatch");
            choice.run(stream, [&] { choose(); });
            lesson.run(stream, [&] { learn_chosen(); });
        }
        explained_variance();
        end(counters, figures);
        figures.learn_seconds += seconds_now() - start;
    }

    // One minibatch of given segments, with the ratios of the last one.
    void learn(const puffer_native_epoch &epoch, const int64_t *segments, const float *weights,
               puffer_native_counters &counters, puffer_native_figures &figures) {
        begin(epoch, counters, 0);
        copy(stream, chosen, segments, c.minibatch_segments);
        copy(stream, segment_weights, weights, c.minibatch_segments);
        estimate();
        learn_chosen();
        end(counters, figures);
    }

    void to_host(bool all) {
        if (all)
            mirror.copy_from(stream, named);
        else
            copy(stream, on_host.weights, (const float *)on_gpu.weights, p.total);
        synchronize(stream);
    }

    void to_device() {
        named.copy_from(stream, mirror);
        synchronize(stream);
    }

    LearnerArrays on_gpu, on_host;
    Arena named{Arena::ZEROS, DEVICE}, mirror{Arena::ZEROS, PINNED};

   private:
    enum { CHUNKS = 64, PIECE_STEPS = 8 };

    // Parameters that one rule updates in one go: a vector, or matrices of one shape.
    struct Group {
        int64_t offset;
        Matrices matrices;  // of a vector, columns is 0

        // Take a matrix of the same shape, as far from the last as that is from the one before.
        bool join(const Parameter &q) {
            Matrices &m = matrices;
            const int64_t stride = q.offset - offset - (m.count - 1) * m.stride;
            const bool fits = m.rows == q.rows && m.columns == q.columns;
            if (!fits || (m.count > 1 && stride != m.stride)) return false;
            m.stride = stride, m.count++;
            return true;
        }
    };

    void group_parameters() {
        for (const Parameter &q : p.parameters) {
            const bool matrix = c.optimizer == PUFFER_NATIVE_MUON && q.columns;
            if (!matrix) {
                groups.push_back({q.offset, {q.count(), 0}});
                continue;
            }
            const bool joined = std::any_of(groups.begin(), groups.end(),
                                            [&](Group &group) { return group.join(q); });
            if (!joined) groups.push_back({q.offset, {q.rows, q.columns}});
        }
    }

    void plan() {
        const int64_t h = c.horizon;
        // enough threads to hide the memory's latency, and a piece of at least PIECE_STEPS
        const int64_t wanted = 65536 / (c.minibatch_segments * p.hidden) + 1;
        s.pieces = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, h / PIECE_STEPS));
        s.chunks = std::clamp<int64_t>(rows / 64, 1, 256);
        s.plan(scratch, p, c.minibatch_segments, h);
        int64_t numbers = 0, squares = 0, matrices = 0;
        for (const Group &group : groups)
            if (group.matrices.columns) {
                const Matrices &m = group.matrices;
                numbers = std::max(numbers, m.count * m.size());
                squares = std::max(squares, m.count * m.side() * m.side());
                matrices = std::max(matrices, m.count);
            }
        scratch.add(&muon_scratch.x, numbers);
        scratch.add(&muon_scratch.y, numbers);
        scratch.add(&muon_scratch.gram, squares);
        scratch.add(&muon_scratch.square, squares);
        scratch.add(&muon_scratch.norms, matrices * LANES);
        scratch.add(&lanes, 2 * CHUNKS * LANES);
        scratch.add(&sums, s.chunks * FIGURES);
        scratch.add(&totals, FIGURES);
        scratch.add(&statistics, 3);
        scratch.add(&step_size, 1);
        scratch.add(&progress, 1);
        pinned.add(&host_progress, 1);
        scratch.add(&probabilities, agents);
        scratch.add(&cumulative, agents);
        scratch.add(&chosen, c.minibatch_segments);
        scratch.add(&segment_weights, c.minibatch_segments);
        scratch.add(&new_ratios, rows);
    }

    void begin(const puffer_native_epoch &epoch, const puffer_native_counters &counters,
               uint64_t draw) {
        *host_progress = {};
        host_progress->learning_rate = epoch.learning_rate;
        host_progress->prio_beta = epoch.prio_beta;
        host_progress->ent_coef = (float)epoch.ent_coef;
        host_progress->max_skipped = epoch.max_skipped;
        host_progress->draw = draw;
        host_progress->skipped_updates = counters.skipped_updates;
        host_progress->skipped_in_a_row = counters.skipped_in_a_row;
        copy(stream, progress, host_progress, 1);
    }

    void end(puffer_native_counters &counters, puffer_native_figures &figures) {
        copy(stream, host_progress, (const Progress *)progress, 1);
        synchronize(stream);
        const Progress &done = *host_progress;
        counters.skipped_updates = done.skipped_updates;
        counters.skipped_in_a_row = done.skipped_in_a_row;
        double *const to[FIGURES] = {&figures.policy_loss, &figures.value_loss,
                                     &figures.entropy,     &figures.old_approx_kl,
                                     &figures.approx_kl,   &figures.clipfrac};
        for (int k = 0; k < FIGURES; k++) *to[k] = done.sums[k];
        figures.grad_norm = done.grad_norm;
        figures.updates = done.updates;
        const double n = done.moments[0], a = done.moments[1], b = done.moments[3];
        const double returns = done.moments[4] - b * b / n;
        figures.explained_variance = n < 2 || done.stopped || !(returns > 0)
                                         ? 0.0
                                         : 1 - (done.moments[2] - a * a / n) / returns;
    }

    // The segments of all minibatches of an epoch, in shuffled passes.
    void shuffle_passes(int64_t minibatches, uint64_t draw) {
        order.resize((size_t)agents);
        passes.resize((size_t)(minibatches * c.minibatch_segments));
        size_t taken = order.size();
        uint64_t pass = 0;
        for (int64_t &segment : passes) {
            if (taken == order.size()) {
                shuffle(agents, c.seed, draw << 32 | pass++, order.data());
                taken = 0;
            }
            segment = order[taken++];
        }
    }

    // What follows launches kernels: public, since nvcc takes none from private functions.
   public:
    void fill_with_ones(int64_t n, float *array) {
        for_each(stream, n, [=] PUFFER_KERNEL(int64_t i) { array[i] = 1; });
    }

    void estimate() {
        const AdvantageSettings settings = {(float)c.gamma, (float)c.gae_lambda, (float)c.rho_clip,
                                            (float)c.c_clip};
        const Estimated estimated = {r.rewards, r.terminals,    r.truncations,
                                     r.values,  r.final_values, on_gpu.ratios};
        advantages(stream, agents, c.horizon, estimated, settings, on_gpu.advantages);
    }

    void choose() {
        estimate();
        if (c.prio_alpha == 0) return;
        Progress *const now = progress;
        priorities_on(stream, agents, c.horizon, on_gpu.advantages, r.masks, c.prio_alpha,
                      probabilities, cumulative, lanes);
        draw_segments_on(stream, agents, c.minibatch_segments, c.seed, &now->draw, &now->prio_beta,
                         probabilities, cumulative, lanes, chosen, segment_weights);
        for_each(stream, 1, [=] PUFFER_KERNEL(int64_t) { now->draw++; });
    }

    void learn_chosen() {
        const int64_t h = c.horizon, segments = c.minibatch_segments;
        const LossSettings settings = {(float)c.clip_coef, (float)c.vf_coef, (float)c.vf_clip_coef,
                                       &progress->ent_coef};
        const Stored stored = {r.actions,         r.log_probs, r.values,
                               on_gpu.advantages, r.masks,     r.action_masks};
        advantage_statistics(stream, segments, h, CHUNKS, chosen, on_gpu.advantages, r.masks, world,
                             lanes, statistics);
        gather();
        policy_forward(stream, gemm, p, on_gpu.weights, segments, h, s);
        ppo_loss(stream, rows, h, chosen, segment_weights, p.heads, on_gpu.weights + p.log_std,
                 stored, statistics, settings, s.decoded, s.d_log_std, new_ratios, s.terms);
        clear_bytes(stream, sums, s.chunks * FIGURES * (int64_t)sizeof(double));
        sum_terms(stream, rows, s.chunks, s.terms, sums);
        total_terms(stream, s.chunks, sums, totals);
        world.sum(stream, totals, (int64_t)FIGURES);
        clear_bytes(stream, on_gpu.gradients, p.total * (int64_t)sizeof(float));
        policy_backward(stream, gemm, p, on_gpu.weights, segments, h, s, on_gpu.gradients);
        world.sum(stream, on_gpu.gradients, p.total);
        sums_of_squares(stream, p.total, CHUNKS, on_gpu.gradients, lanes);
        decide();
        optimize();
        keep_ratios();
    }

    void gather() {
        const int64_t h = c.horizon, size = p.network == MINGRU ? p.layers * p.hidden : 0;
        const int64_t *segment = chosen;
        const uint8_t *starts = r.starts;
        const float *state = r.initial_state;
        uint8_t *to_starts = s.starts;
        float *to_state = s.initial;
        with_elements(c.obs_dtype, r.observations, [&](auto *elements) {
            gather_cast(stream, rows, h, p.obs, chosen, elements, s.observations);
        });
        for_each(stream, rows, [=] PUFFER_KERNEL(int64_t row) {
            to_starts[row] = starts[segment[row / h] * h + row % h];
        });
        if (size)
            for_rows(stream, c.minibatch_segments, size, [=] PUFFER_KERNEL(int64_t i, int64_t j) {
                to_state[i * size + j] = state[segment[i] * size + j];
            });
    }

    // Whether the loss and the gradient are finite; if so, the sizes of the step, and the figures.
    void decide() {
        const double *total = totals, *norms = lanes;
        const double max_grad_norm = c.max_grad_norm, vf_coef = c.vf_coef;
        const double beta1 = adamw_beta1(), beta2 = c.beta2;
        Progress *const now = progress;
        StepSize *const size = step_size;
        int64_t *const steps = on_gpu.adamw_steps;
        for_each(stream, 1, [=] PUFFER_KERNEL(int64_t) {
            const double norm = sqrt(total_of(CHUNKS, norms));
            const double loss = total[POLICY_LOSS] + vf_coef * total[VALUE_LOSS] -
                                (double)now->ent_coef * total[ENTROPY];
            const bool finite = loss + norm - (loss + norm) == 0;
            size->skip = !finite || now->stopped;
            if (now->stopped) return;
            if (!finite) {
                now->skipped_updates++;
                now->stopped = ++now->skipped_in_a_row >= now->max_skipped;
                return;
            }
            now->skipped_in_a_row = 0;
            now->updates++;
            now->grad_norm += norm;
            for (int k = 0; k < FIGURES; k++) now->sums[k] += total[k];
            const double count = (double)++*steps, clip = max_grad_norm / (norm + 1e-6);
            size->learning_rate = (float)now->learning_rate;
            size->gradient_scale = (float)(clip < 1 ? clip : 1);
            size->bias1 = (float)(1 - pow(beta1, count));
            size->bias2 = (float)(1 - pow(beta2, count));
        });
    }

    // Of AdamW, not Muon's momentum.
    double adamw_beta1() const {
        return c.optimizer == PUFFER_NATIVE_MUON ? 0.9 : c.beta1;
    }

    void optimize() {
        const bool muon_rule = c.optimizer == PUFFER_NATIVE_MUON;
        const OptimizerSettings matrices = {(float)c.beta1, (float)c.beta2, (float)c.eps,
                                            (float)c.weight_decay, 1.0f};
        const OptimizerSettings arrays = {(float)adamw_beta1(), (float)c.beta2, (float)c.eps,
                                          muon_rule ? 0.0f : (float)c.weight_decay,
                                          muon_rule ? (float)c.adamw_ratio : 1.0f};
        for (const Group &group : groups) {
            const int64_t at = group.offset;
            const float *gradients = on_gpu.gradients + at;
            float *weights = on_gpu.weights + at, *momentum = on_gpu.momentum + at;
            if (group.matrices.columns)
                muon(stream, gemm, group.matrices, step_size, matrices, gradients, momentum,
                     weights, muon_scratch);
            else
                adamw(stream, group.matrices.rows, step_size, arrays, gradients, momentum,
                      on_gpu.square + at, weights);
        }
    }

    // The policy's ratios of an applied update go to the rollout; a segment that was drawn twice
    // writes the same numbers twice.
    void keep_ratios() {
        const int64_t h = c.horizon;
        const int64_t *segment = chosen;
        const float *from = new_ratios;
        const StepSize *size = step_size;
        float *to = on_gpu.ratios;
        for_each(stream, rows, [=] PUFFER_KERNEL(int64_t row) {
            if (!size->skip) to[segment[row / h] * h + row % h] = from[row];
        });
    }

    // Sums over unmasked samples of 1, A, A^2, A + V and its square.
    void explained_variance() {
        const int64_t h = c.horizon;
        const uint8_t *masks = r.masks;
        const float *a = on_gpu.advantages, *values = r.values;
        const double *from = lanes;
        Progress *const now = progress;
        for (int moment = 0; moment < 5; moment++) {
            chunk_sums(stream, agents * h, CHUNKS, lanes, [=] PUFFER_KERNEL(int64_t i) {
                const double x = (double)a[i], y = x + (double)values[i + i / h];
                const double terms[] = {1, x, x * x, y, y * y};
                return masks[i] ? terms[moment] : 0.0;
            });
            for_each(stream, 1,
                     [=] PUFFER_KERNEL(int64_t) { now->moments[moment] = total_of(CHUNKS, from); });
        }
    }

   private:
    const puffer_native_config &c;
    const Layout &p;
    const RolloutArrays &r;
    OwnedStream stream;
    Gemm gemm;
    const Collective world;  // outlives the graphs
    const int64_t agents, rows;
    std::vector<Group> groups;
    Graph choice, lesson;
    Arena scratch{Arena::SCRATCH, DEVICE}, pinned{Arena::SCRATCH, PINNED};
    LearnScratch s;
    MuonScratch muon_scratch;
    StepSize *step_size;
    Progress *progress, *host_progress;
    std::vector<int64_t> order, passes;
    float *statistics, *segment_weights, *new_ratios;
    double *lanes, *sums, *totals, *probabilities, *cumulative;
    int64_t *chosen;
};

}  // namespace puffer
