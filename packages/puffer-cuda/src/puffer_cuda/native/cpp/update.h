// update.h: one epoch of minibatches from a rollout.
//
// A minibatch is cut into slices that fit a core's cache; a slice goes from its observations to its
// gradient in one go. Neighbouring slices form lanes, each with a gradient of its own, and these
// are summed in order. Slices and lanes follow from the sizes alone, so the result does not depend
// on the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "advantage.h"
#include "api.h"
#include "clock.h"
#include "optimizer.h"
#include "policy.h"
#include "pool.h"
#include "rollout.h"
#include "segments.h"

namespace puffer {

class Learner {
   public:
    enum { SLICE_ROWS = 256, LANE_ROWS = 1024 };

    Learner(const puffer_native_config &c, const Layout &p, const Gemm &gemm,
            const RolloutArrays &rollout, int threads)
        : c(c),
          p(p),
          gemm(gemm),
          r(rollout),
          world(c),
          agents((int64_t)c.num_envs * c.agents_per_env) {
        slice_segments = std::max(1, SLICE_ROWS / c.horizon);
        slices = (c.minibatch_segments + slice_segments - 1) / slice_segments;
        const int64_t rows = (int64_t)c.minibatch_segments * c.horizon;
        lanes = (int)std::clamp<int64_t>(rows / LANE_ROWS, 1, std::min(slices, 64));
        for (const Parameter &parameter : p.parameters)
            by_size.push_back({parameter, is_matrix(parameter)});
        std::stable_sort(by_size.begin(), by_size.end(), [](const Item &a, const Item &b) {
            return a.parameter.count() > b.parameter.count();
        });
        plan(threads);
    }

    // All minibatches of an epoch.
    void update(Pool &pool, const puffer_native_epoch &epoch, puffer_native_counters &counters,
                puffer_native_figures &figures) {
        std::fill(ratios, ratios + agents * c.horizon, 1.0f);
        std::fill(segment_weights, segment_weights + c.minibatch_segments, 1.0f);
        const uint64_t draw = (uint64_t)counters.draws++;
        int64_t taken = agents;  // of the current shuffled pass
        uint64_t passes = 0;
        for (int k = 0; k < epoch.minibatches; k++) {
            double start = seconds_now();
            estimate(pool);
            if (c.prio_alpha > 0) {
                priorities(agents, c.horizon, advantage, r.masks, c.prio_alpha, probabilities,
                           cumulative);
                draw_segments(agents, c.minibatch_segments, c.seed, draw << 32 | (uint32_t)k,
                              epoch.prio_beta, probabilities, cumulative, chosen, segment_weights);
            } else {
                for (int64_t i = 0; i < c.minibatch_segments; i++) {
                    if (taken == agents) {
                        shuffle(agents, c.seed, draw << 32 | passes++, order);
                        taken = 0;
                    }
                    chosen[i] = order[taken++];
                }
            }
            figures.advantage_seconds += seconds_now() - start;
            learn_chosen(pool, epoch, counters, figures);
            if (counters.skipped_in_a_row >= epoch.max_skipped) return;
        }
        figures.explained_variance = explained_variance();
    }

    // One minibatch of given segments.
    void learn(Pool &pool, const puffer_native_epoch &epoch, const int64_t *segments,
               const float *weights, puffer_native_counters &counters,
               puffer_native_figures &figures) {
        std::copy(segments, segments + c.minibatch_segments, chosen);
        std::copy(weights, weights + c.minibatch_segments, segment_weights);
        estimate(pool);
        learn_chosen(pool, epoch, counters, figures);
    }

    Arena named{Arena::ZEROS};
    float *weights;

   private:
    struct Item {
        Parameter parameter;
        bool matrix;
    };

    bool is_matrix(const Parameter &parameter) const {
        return c.optimizer == PUFFER_NATIVE_MUON && parameter.columns;
    }

    void plan(int threads) {
        const int64_t n = agents, h = c.horizon;
        named.add(&weights, "weights", {p.total});
        named.add(&gradients, "gradients", {p.total});
        named.add(&momentum, "momentum", {p.total});  // of matrices; AdamW's mean elsewhere
        named.add(&square, "square", {p.total});
        named.add(&adamw_steps, "adamw_steps", {1});
        named.add(&ratios, "rollout/ratios", {n, h});
        named.add(&advantage, "rollout/advantages", {n, h});
        named.allocate();

        int64_t largest = 0, side = 0;
        for (const Item &item : by_size)
            if (item.matrix) {
                largest = std::max(largest, item.parameter.count());
                side = std::max(side, std::min(item.parameter.rows, item.parameter.columns));
            }
        learn_scratch.resize((size_t)threads);
        muon_scratch.resize((size_t)threads);
        for (size_t i = 0; i < (size_t)threads; i++) {
            learn_scratch[i].plan(arena, p, slice_segments, h);
            MuonScratch &m = muon_scratch[i];
            arena.add(&m.x, largest);
            arena.add(&m.y, largest);
            arena.add(&m.gram, side * side);
            arena.add(&m.square, side * side);
            arena.add(&m.norms, LANES);
        }
        arena.add(&lane_gradients, lanes * p.total);
        arena.add(&lane_sums, lanes * FIGURES);
        arena.add(&partial, 2 * LANES);
        arena.add(&statistics, 3);
        arena.add(&order, n);
        arena.add(&probabilities, n);
        arena.add(&cumulative, n);
        arena.add(&chosen, c.minibatch_segments);
        arena.add(&segment_weights, c.minibatch_segments);
        arena.add(&new_ratios, c.minibatch_segments * h);
        arena.allocate();
    }

    void estimate(Pool &pool) {
        const AdvantageSettings s = {(float)c.gamma, (float)c.gae_lambda, (float)c.rho_clip,
                                     (float)c.c_clip};
        const int64_t h = c.horizon, share = 64;
        pool.run((int)((agents + share - 1) / share), [&](int index, int) {
            const int64_t first = index * share, row = first * h;
            const Estimated e = {r.rewards + row,      r.terminals + row,
                                 r.truncations + row,  r.values + first * (h + 1),
                                 r.final_values + row, ratios + row};
            advantages({}, std::min(share, agents - first), h, e, s, advantage + row);
        });
    }

    void learn_chosen(Pool &pool, const puffer_native_epoch &epoch,
                      puffer_native_counters &counters, puffer_native_figures &figures) {
        double start = seconds_now();
        advantage_statistics({}, c.minibatch_segments, c.horizon, 1, chosen, advantage, r.masks,
                             world, partial, statistics);
        pool.run(lanes, [&](int lane, int thread) { learn_lane(lane, thread, epoch); });
        const int64_t pieces = (p.total + PIECE - 1) / PIECE;
        pool.run((int)pieces, [&](int piece, int) { sum_lanes(piece * (int64_t)PIECE); });
        double sums[FIGURES] = {};
        for (int64_t i = 0; i < lanes * FIGURES; i++) sums[i % FIGURES] += lane_sums[i];
        world.sum({}, gradients, p.total);
        world.sum({}, sums, (int64_t)FIGURES);
        sums_of_squares({}, p.total, 1, gradients, partial);
        const double norm = std::sqrt(partial[0]);
        figures.learn_seconds += seconds_now() - start;
        const double loss =
            sums[POLICY_LOSS] + c.vf_coef * sums[VALUE_LOSS] - epoch.ent_coef * sums[ENTROPY];
        if (!std::isfinite(loss + norm)) {
            counters.skipped_updates++;
            counters.skipped_in_a_row++;
            return;
        }
        counters.skipped_in_a_row = 0;
        start = seconds_now();
        optimize(pool, epoch, norm);
        for (int64_t i = 0; i < c.minibatch_segments; i++)
            std::copy_n(new_ratios + i * c.horizon, c.horizon, ratios + chosen[i] * c.horizon);
        figures.optimizer_seconds += seconds_now() - start;
        double *const totals[FIGURES] = {&figures.policy_loss, &figures.value_loss,
                                         &figures.entropy,     &figures.old_approx_kl,
                                         &figures.approx_kl,   &figures.clipfrac};
        for (int k = 0; k < FIGURES; k++) *totals[k] += sums[k];
        figures.grad_norm += norm;
        figures.updates++;
    }

    void learn_lane(int lane, int thread, const puffer_native_epoch &epoch) {
        LearnScratch &s = learn_scratch[(size_t)thread];
        float *gradient = lane_gradients + lane * p.total;
        double *sums = lane_sums + lane * FIGURES;
        std::fill(gradient, gradient + p.total, 0.0f);
        std::fill(sums, sums + FIGURES, 0.0);
        const float ent_coef = (float)epoch.ent_coef;
        const LossSettings settings = {(float)c.clip_coef, (float)c.vf_coef, (float)c.vf_clip_coef,
                                       &ent_coef};
        const Stored stored = {r.actions, r.log_probs, r.values,
                               advantage, r.masks,     r.action_masks};
        for (int slice = slices * lane / lanes; slice < slices * (lane + 1) / lanes; slice++) {
            const int64_t first = (int64_t)slice * slice_segments, h = c.horizon;
            const int64_t count = std::min<int64_t>(slice_segments, c.minibatch_segments - first);
            gather(chosen + first, count, s);
            policy_forward({}, gemm, p, weights, count, h, s);
            ppo_loss({}, count * h, h, chosen + first, segment_weights + first, p.heads,
                     weights + p.log_std, stored, statistics, settings, s.decoded, s.d_log_std,
                     new_ratios + first * h, s.terms);
            sum_terms({}, count * h, 1, s.terms, sums);
            policy_backward({}, gemm, p, weights, count, h, s, gradient);
        }
    }

    void gather(const int64_t *segments, int64_t count, LearnScratch &s) const {
        const int64_t h = c.horizon, size = h * p.obs, bytes = size * itemsize(c.obs_dtype);
        const int64_t state = p.network == MINGRU ? p.layers * p.hidden : 0;
        for (int64_t i = 0; i < count; i++) {
            encode({}, c.obs_dtype, size, r.observations + segments[i] * bytes,
                   s.observations + i * size);
            std::copy_n(r.starts + segments[i] * h, h, s.starts + i * h);
            std::copy_n(r.initial_state + segments[i] * state, state, s.initial + i * state);
        }
    }

    void sum_lanes(int64_t first) const {
        const int64_t n = std::min<int64_t>(PIECE, p.total - first);
        std::copy_n(lane_gradients + first, n, gradients + first);
        for (int64_t lane = 1; lane < lanes; lane++) {
            const float *from = lane_gradients + lane * p.total + first;
            float *to = gradients + first;
            for_each({}, n, [=] PUFFER_KERNEL(int64_t i) { to[i] += from[i]; });
        }
    }

    void optimize(Pool &pool, const puffer_native_epoch &epoch, double norm) {
        const double steps = (double)++*adamw_steps;
        const bool muon_rule = c.optimizer == PUFFER_NATIVE_MUON;
        const double beta1 = muon_rule ? 0.9 : c.beta1;  // of AdamW, not Muon's momentum
        const StepSize size = {
            (float)epoch.learning_rate, (float)std::min(1.0, c.max_grad_norm / (norm + 1e-6)),
            (float)(1 - std::pow(beta1, steps)), (float)(1 - std::pow(c.beta2, steps)), 0};
        const OptimizerSettings matrices = {(float)c.beta1, (float)c.beta2, (float)c.eps,
                                            (float)c.weight_decay, 1.0f};
        const OptimizerSettings arrays = {(float)beta1, (float)c.beta2, (float)c.eps,
                                          muon_rule ? 0.0f : (float)c.weight_decay,
                                          muon_rule ? (float)c.adamw_ratio : 1.0f};
        pool.run((int)by_size.size(), [&](int index, int thread) {
            const Item &item = by_size[(size_t)index];
            const Parameter &q = item.parameter;
            if (item.matrix)
                muon({}, gemm, {q.rows, q.columns}, &size, matrices, gradients + q.offset,
                     momentum + q.offset, weights + q.offset, muon_scratch[(size_t)thread]);
            else
                adamw({}, q.count(), &size, arrays, gradients + q.offset, momentum + q.offset,
                      square + q.offset, weights + q.offset);
        });
    }

    // 1 - Var(A) / Var(A + V) over unmasked samples; 0 where returns do not vary.
    double explained_variance() const {
        double n = 0, a = 0, a2 = 0, b = 0, b2 = 0;
        for (int64_t i = 0; i < agents * c.horizon; i++)
            if (r.masks[i]) {
                const double x = (double)advantage[i];
                const double y = x + (double)r.values[i + i / c.horizon];
                n++, a += x, a2 += x * x, b += y, b2 += y * y;
            }
        const double returns = b2 - b * b / n;
        return n < 2 || !(returns > 0) ? 0.0 : 1 - (a2 - a * a / n) / returns;
    }

    enum { PIECE = 4096 };

    const puffer_native_config &c;
    const Layout &p;
    const Gemm &gemm;
    const RolloutArrays &r;
    const Collective world;
    const int64_t agents;
    int slice_segments, slices, lanes;
    std::vector<Item> by_size;
    Arena arena{Arena::SCRATCH};
    std::vector<LearnScratch> learn_scratch;
    std::vector<MuonScratch> muon_scratch;
    float *gradients, *momentum, *square, *ratios, *advantage, *lane_gradients, *statistics;
    float *segment_weights, *new_ratios;
    double *lane_sums, *partial, *probabilities, *cumulative;
    int64_t *adamw_steps, *order, *chosen;
};

}  // namespace puffer
