// policy.h: the policy as puffer_cuda.policy.Policy is: Linear and ReLU, then MLP or MinGRU layers,
// then actor and critic. Its parameters have Torch's names and shapes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "arena.h"
#include "dense.h"
#include "encode.h"
#include "gemm.h"
#include "heads.h"
#include "loss.h"
#include "mingru.h"

namespace puffer {

enum Network : int32_t { MLP, MINGRU };

struct Parameter {
    std::string name;
    int64_t offset, rows, columns;  // of a vector, columns is 0

    int64_t count() const {
        return columns ? rows * columns : rows;
    }
};

// Where everything stands among the parameters, and likewise among gradients and momenta. Actor and
// critic are neighbours, so that one matrix product gives logits and value.
struct Layout {
    Network network;
    int64_t obs, hidden, layers;
    Heads heads;

    std::vector<Parameter> parameters;  // in Torch's order
    int64_t total = 0;
    int64_t encoder, encoder_bias, decoder, decoder_bias, log_std = 0;
    std::vector<int64_t> layer, layer_bias;

    Layout(Network network, int64_t obs, int64_t hidden, int64_t layers, const Heads &heads)
        : network(network), obs(obs), hidden(hidden), layers(layers), heads(heads) {
        encoder = add("encoder.linear.weight", hidden, obs);
        encoder_bias = add("encoder.linear.bias", hidden);
        for (int64_t i = 0; i < layers; i++) {
            const std::string name = "network.layers." + std::to_string(i);
            if (network == MLP) {
                layer.push_back(add(name + ".weight", hidden, hidden));
                layer_bias.push_back(add(name + ".bias", hidden));
            } else {
                layer.push_back(add(name + ".linear.weight", 3 * hidden, hidden));
            }
        }
        const int64_t outputs = heads.outputs();
        if (heads.dims) log_std = add("decoder.log_std", heads.dims);
        align();
        decoder = total;
        decoder_bias = decoder + (outputs + 1) * hidden;
        place("decoder.actor.weight", decoder, outputs, hidden);
        place("decoder.actor.bias", decoder_bias, outputs, 0);
        place("decoder.critic.weight", decoder + outputs * hidden, 1, hidden);
        place("decoder.critic.bias", decoder_bias + outputs, 1, 0);
        total = decoder_bias + outputs + 1;
        align();
    }

    int64_t width() const {
        return heads.outputs() + 1;
    }

   private:
    void align() {
        total = (total + 15) / 16 * 16;
    }
    void place(const std::string &name, int64_t offset, int64_t rows, int64_t columns) {
        parameters.push_back({name, offset, rows, columns});
    }
    int64_t add(const std::string &name, int64_t rows, int64_t columns = 0) {
        align();
        const int64_t offset = total;
        place(name, offset, rows, columns);
        total += parameters.back().count();
        return offset;
    }
};

// Scratch of one step of many agents.
struct StepScratch {
    float *observations, *hidden, *next, *gates, *decoded;

    void plan(Arena &arena, const Layout &p, int64_t rows) {
        arena.add(&observations, rows * p.obs);
        arena.add(&hidden, rows * p.hidden);
        arena.add(&next, rows * p.hidden);
        arena.add(&gates, p.network == MINGRU ? rows * 3 * p.hidden : 0);
        arena.add(&decoded, rows * p.width());
    }
};

// One step: observations of `dtype` to s.decoded. The state of an agent is (layers, hidden); where
// `begins` is set the old one counts as 0; new ones go to `to` unless that is null.
inline void policy_step(Stream stream, const Gemm &gemm, const Layout &p, const float *weights,
                        int64_t rows, int32_t dtype, const void *observations,
                        const uint8_t *begins, const float *from, float *to, StepScratch &s) {
    const int64_t n = p.hidden, stride = p.layers * n;
    const float *input = (const float *)observations;
    if (dtype != F32) {
        encode(stream, dtype, rows * p.obs, observations, s.observations);
        input = s.observations;
    }
    float *x = s.hidden, *y = s.next;
    gemm.nt(rows, n, p.obs, input, weights + p.encoder, x);
    bias_relu(stream, rows, n, weights + p.encoder_bias, x);
    for (size_t i = 0; i < (size_t)p.layers; i++) {
        if (p.network == MLP) {
            gemm.nt(rows, n, n, x, weights + p.layer[i], y);
            bias_relu(stream, rows, n, weights + p.layer_bias[i], y);
        } else {
            const int64_t at = (int64_t)i * n;
            gemm.nt(rows, 3 * n, n, x, weights + p.layer[i], s.gates);
            mingru_step(stream, rows, n, s.gates, x, begins, stride, from + at,
                        to ? to + at : nullptr, y);
        }
        float *const swap = x;
        x = y, y = swap;
    }
    gemm.nt(rows, p.width(), n, x, weights + p.decoder, s.decoded);
    add_bias(stream, rows, p.width(), weights + p.decoder_bias, s.decoded);
}

// Scratch of learning from segments: what the forward pass keeps, and gradients. `pieces` of time
// and `chunks` of rows run side by side; a thread of the CPU has one of each.
struct LearnScratch {
    int64_t pieces = 1, chunks = 1;
    float *ends, *decays, *partial;
    float *observations, *hidden, *gates, *states;  // hidden: layers + 1 of (rows, hidden)
    float *decoded, *d_log_std, *terms, *d_hidden, *d_other, *carry, *initial;
    uint8_t *starts;

    void plan(Arena &arena, const Layout &p, int64_t segments, int64_t time) {
        const int64_t rows = segments * time, recurrent = p.network == MINGRU ? p.layers : 0;
        arena.add(&observations, rows * p.obs);
        arena.add(&hidden, (p.layers + 1) * rows * p.hidden);
        arena.add(&gates, recurrent * rows * 3 * p.hidden);
        arena.add(&states, recurrent * rows * p.hidden);
        arena.add(&decoded, rows * p.width());
        arena.add(&d_log_std, rows * p.heads.dims);
        arena.add(&terms, rows * FIGURES);
        arena.add(&d_hidden, rows * p.hidden);
        arena.add(&d_other, rows * p.hidden);
        arena.add(&carry, segments * p.hidden);
        arena.add(&initial, recurrent * segments * p.hidden);
        arena.add(&starts, rows);
        arena.add(&ends, pieces > 1 ? segments * pieces * p.hidden : 0);
        arena.add(&decays, pieces > 1 ? segments * pieces * p.hidden : 0);
        arena.add(&partial, chunks > 1 ? chunks * std::max(p.hidden, p.width()) : 0);
    }
};

// Segments forward: s.observations to s.decoded.
inline void policy_forward(Stream stream, const Gemm &gemm, const Layout &p, const float *weights,
                           int64_t segments, int64_t time, LearnScratch &s) {
    const int64_t n = p.hidden, rows = segments * time;
    float *x = s.hidden;
    gemm.nt(rows, n, p.obs, s.observations, weights + p.encoder, x);
    bias_relu(stream, rows, n, weights + p.encoder_bias, x);
    for (size_t i = 0; i < (size_t)p.layers; i++) {
        float *const y = x + rows * n;
        if (p.network == MLP) {
            gemm.nt(rows, n, n, x, weights + p.layer[i], y);
            bias_relu(stream, rows, n, weights + p.layer_bias[i], y);
        } else {
            float *gates = s.gates + (int64_t)i * rows * 3 * n;
            gemm.nt(rows, 3 * n, n, x, weights + p.layer[i], gates);
            const float *initial = s.initial + (int64_t)i * n;
            float *states = s.states + (int64_t)i * rows * n;
            if (s.pieces == 1)
                mingru_forward(stream, segments, time, n, gates, x, s.starts, p.layers * n, initial,
                               states, y);
            else
                mingru_scan(stream, segments, time, n, s.pieces, gates, x, s.starts, p.layers * n,
                            initial, states, y, s.ends, s.decays);
        }
        x = y;
    }
    gemm.nt(rows, p.width(), n, x, weights + p.decoder, s.decoded);
    add_bias(stream, rows, p.width(), weights + p.decoder_bias, s.decoded);
}

// Back from dL/ddecoded in s.decoded; adds to `gradients`, which have the parameters' layout.
inline void policy_backward(Stream stream, const Gemm &gemm, const Layout &p, const float *weights,
                            int64_t segments, int64_t time, LearnScratch &s, float *gradients) {
    const int64_t n = p.hidden, rows = segments * time, width = p.width();
    const float *x = s.hidden + p.layers * rows * n;
    float *dy = s.d_hidden, *dx = s.d_other;
    gemm.tn(width, n, rows, s.decoded, x, gradients + p.decoder, 1);
    add_column_sums(stream, rows, width, s.chunks, s.decoded, s.partial,
                    gradients + p.decoder_bias);
    if (p.heads.dims)
        add_column_sums(stream, rows, p.heads.dims, s.chunks, s.d_log_std, s.partial,
                        gradients + p.log_std);
    gemm.nn(rows, n, width, s.decoded, weights + p.decoder, dy);
    for (int64_t i = p.layers - 1; i >= 0; i--) {
        const float *w = weights + p.layer[(size_t)i];
        const float *const y = x;
        x -= rows * n;
        if (p.network == MLP) {
            relu_backward(stream, rows * n, y, dy);
            gemm.tn(n, n, rows, dy, x, gradients + p.layer[(size_t)i], 1);
            add_column_sums(stream, rows, n, s.chunks, dy, s.partial,
                            gradients + p.layer_bias[(size_t)i]);
            gemm.nn(rows, n, n, dy, w, dx);
        } else {
            float *gates = s.gates + i * rows * 3 * n;
            const float *initial = s.initial + i * n, *states = s.states + i * rows * n;
            if (s.pieces == 1)
                mingru_backward(stream, segments, time, n, gates, x, s.starts, p.layers * n,
                                initial, states, dy, dx, s.carry);
            else
                mingru_scan_backward(stream, segments, time, n, s.pieces, gates, x, s.starts,
                                     p.layers * n, initial, states, dy, dx, s.ends, s.decays);
            gemm.tn(3 * n, n, rows, gates, x, gradients + p.layer[(size_t)i], 1);
            gemm.nn(rows, n, 3 * n, gates, w, dx, 1);
        }
        float *const swap = dy;
        dy = dx, dx = swap;
    }
    relu_backward(stream, rows * n, x, dy);
    gemm.tn(n, p.obs, rows, dy, s.observations, gradients + p.encoder, 1);
    add_column_sums(stream, rows, n, s.chunks, dy, s.partial, gradients + p.encoder_bias);
}

}  // namespace puffer
