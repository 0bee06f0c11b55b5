"""Every operation of the native trainer against a few lines of float64, on odd shapes.

A case returns pairs (got, expected, bound): the bound is on |got - expected| relative to 1 + the
largest |expected|, in units of float32's 2^-24. Each case also runs in several orders of its
independent parts, which must not change a bit, with sentinels behind every array it writes.
"""

import itertools

import numpy as np
import pytest
import scipy.special
import scipy.stats
from native_ops import ON_GPU, Double, Ops, guarded

EPS = 2.0**-24
SIZES = [1, 3, 31, 32, 33, 65]
ROWS = [1, 2, 17, 64]


@pytest.fixture(scope="module")
def release():
    return Ops("-O3", "-fno-math-errno", "-fno-trapping-math")


@pytest.fixture(scope="module")
def ordered():
    return Ops("-O1", "-DPUFFER_ORDER")


class Call:
    """Random inputs of one case, and arrays with sentinels."""

    def __init__(self, ops, seed=0):
        self.ops, self.random, self.guards = ops, np.random.default_rng(seed), []

    def normal(self, *shape, scale=1.0):
        return self.array(self.random.normal(0, scale, shape).astype(np.float32))

    def flags(self, *shape, p=0.2):
        return self.array((self.random.random(shape) < p).astype(np.uint8))

    def array(self, values):
        view, check = guarded(self.ops, values)
        self.guards.append(check)
        return view

    def empty(self, *shape, dtype=np.float32):
        fill = np.nan if np.dtype(dtype).kind == "f" else 77
        return self.array(np.full(shape, fill, dtype))

    def zeros(self, *shape, dtype=np.float32):
        return self.array(np.zeros(shape, dtype))


def double(x):
    return np.asarray(x, np.float64)


def sigmoid(x):
    return scipy.special.expit(double(x))


def differences(function, *arrays, step=1e-5):
    """Gradients of a scalar function of float64 arrays by central differences."""
    arrays = [double(array).copy() for array in arrays]
    gradients = [np.zeros(array.shape) for array in arrays]
    for array, gradient in zip(arrays, gradients, strict=True):
        for index in np.ndindex(array.shape):
            value = array[index]
            array[index] = value + step
            above = function(*arrays)
            array[index] = value - step
            gradient[index] = (above - function(*arrays)) / (2 * step)
            array[index] = value
    return gradients


# --- mathematics ---


def exp(call):
    x = call.array(
        np.concatenate((np.linspace(-87, 88, 10_001), [0, -1e-20, 1e-8])).astype(np.float32)
    )
    y = call.empty(len(x))
    call.ops.exp(len(x), x, y)
    return [(y / np.exp(double(x)), np.ones(len(x)), 2.5)]


def log(call):
    x = call.array(np.concatenate((np.geomspace(1e-37, 3e38, 10_001), [1, 2, 0.5])).astype("f4"))
    y = call.empty(len(x))
    call.ops.log(len(x), x, y)
    reference = np.log(double(x))
    near_one = np.abs(reference) < 0.5  # relative there, too
    return [(y, reference, 1.5), (y[near_one], reference[near_one], 1.0)]


def sigmoids(call):
    x = call.normal(3, 4001, scale=8)
    x[0, :5] = [0, -200, 200, 29, -29]
    y = call.empty(3, 4001)
    call.ops.sigmoids(4001, x, y)
    return [(y, sigmoid(x), 6)]


def encode(call):
    checks = []
    for code, dtype in enumerate((np.uint8, np.int8, np.int16, np.int32, np.float32)):
        limits = np.iinfo(dtype) if np.dtype(dtype).kind != "f" else np.finfo(np.float16)
        x = call.array(call.random.uniform(limits.min, limits.max, 37).astype(dtype))
        y = call.empty(37)
        call.ops.encode(code, 37, x, y)
        checks.append((y, x.astype(np.float32), 0))
    return checks


# --- dense layers ---


def gemm(call):
    checks = []
    for m, n, k in ((1, 1, 1), (3, 5, 7), (33, 17, 31)):
        a, b = call.normal(m, k), call.normal(k, n)
        before = call.normal(m, n)
        for kind, left, right in ((0, a, b.T), (1, a, b), (2, a.T, b)):
            for beta in (0.0, 1.0):
                c = call.array(before)
                left_, right_ = call.array(left), call.array(right)
                call.ops.gemm(kind, m, n, k, left_, right_, c, beta)
                checks.append((c, double(a) @ double(b) + beta * double(before), 8))
    return checks


def dense(call):
    checks = []
    for rows in ROWS:
        for n in SIZES:
            bias, x = call.normal(n), call.normal(rows, n)
            plain, relu = call.array(x), call.array(x)
            call.ops.add_bias(rows, n, bias, plain)
            call.ops.bias_relu(rows, n, bias, relu)
            expected = double(x) + double(bias)
            checks += [(plain, expected, 1), (relu, np.maximum(expected, 0), 1)]
            gradient = call.normal(rows, n)
            through = call.array(gradient)
            call.ops.relu_backward(rows * n, relu, through)
            checks.append((through, gradient * (relu > 0), 0))
            for chunks in (1, 3):
                before = call.normal(chunks, n)
                sums = call.array(before)
                call.ops.column_sums(rows, n, chunks, gradient, sums)
                ends = [rows * k // chunks for k in range(chunks + 1)]
                parts = [double(gradient[a:b]).sum(0) for a, b in itertools.pairwise(ends)]
                checks.append((sums, double(before) + np.stack(parts), 2 * rows))
                whole = call.array(before[0])
                call.ops.add_column_sums(rows, n, chunks, gradient, call.empty(chunks, n), whole)
                expected = double(before[0]) + double(gradient).sum(0)
                checks.append((whole, expected, 2 * rows))
    return checks


# --- MinGRU ---


def reference_mingru(gates, x, starts, initial):
    """h, z, p and the states, y in float64; (segments, time, n)."""
    u, g, p = np.split(double(gates), 3, -1)
    h, z, p = np.where(u >= 0, u + 0.5, sigmoid(u)), sigmoid(g), sigmoid(p)
    state, states = double(initial), []
    for t in range(x.shape[1]):
        state = (1 - z[:, t]) * state * (1 - starts[:, t, None]) + z[:, t] * h[:, t]
        states.append(state)
    states = np.stack(states, 1)
    return h, z, p, states, p * states + (1 - p) * double(x)


def mingru_forward(call):
    checks = []
    for segments, time, n in ((1, 1, 1), (2, 3, 5), (3, 17, 33), (5, 64, 16)):
        gates, x = call.normal(segments, time, 3 * n, scale=2), call.normal(segments, time, n)
        starts, initial = call.flags(segments, time), call.normal(segments, n + 2)
        h, z, p, states, y = reference_mingru(gates, x, starts, initial[:, :n])
        got_states, got_y = call.empty(segments, time, n), call.empty(segments, time, n)
        call.ops.mingru_forward(
            segments, time, n, gates, x, starts, n + 2, initial, got_states, got_y
        )
        checks += [(gates, np.concatenate((h, z, p), -1), 6)]
        checks += [(got_states, states, 24), (got_y, y, 24)]
    return checks


def mingru_scan(call):
    """In pieces of time: the same as the reference, and as one piece to the last bits."""
    checks = []
    for segments, time, n, pieces in ((1, 1, 1, 1), (2, 3, 5, 5), (3, 17, 33, 4), (5, 64, 16, 8)):
        gates, x = call.normal(segments, time, 3 * n, scale=2), call.normal(segments, time, n)
        starts, initial = call.flags(segments, time), call.normal(segments, n + 2)
        dy = call.normal(segments, time, n)
        h, z, p, states, y = reference_mingru(gates, x, starts, initial[:, :n])
        one = call.array(gates)
        one_states, one_y = call.empty(segments, time, n), call.empty(segments, time, n)
        call.ops.mingru_forward(
            segments, time, n, one, x, starts, n + 2, initial, one_states, one_y
        )
        one_dx, carry = call.empty(segments, time, n), call.empty(segments, n)
        call.ops.mingru_backward(
            segments, time, n, one, x, starts, n + 2, initial, one_states, dy, one_dx, carry
        )
        got_states, got_y = call.empty(segments, time, n), call.empty(segments, time, n)
        scratch = [call.empty(segments, pieces, n) for _ in range(2)]
        call.ops.mingru_scan(
            segments, time, n, pieces, gates, x, starts, n + 2, initial, got_states, got_y, *scratch
        )
        checks += [(gates.copy(), np.concatenate((h, z, p), -1), 6)]
        checks += [(got_states, states, 24), (got_y, y, 24)]
        dx = call.empty(segments, time, n)
        call.ops.mingru_scan_backward(
            segments, time, n, pieces, gates, x, starts, n + 2, initial, got_states, dy, dx,
            *scratch,
        )  # fmt: skip
        checks += [(gates, one, 40), (dx, one_dx, 0)]
    return checks


def mingru_step(call):
    checks = []
    for rows in ROWS:
        for n in SIZES:
            gates, x = call.normal(rows, 3 * n), call.normal(rows, n)
            begins, state = call.flags(rows), call.normal(rows, 2 * n)
            args = gates[:, None], x[:, None], begins[:, None], state[:, :n]
            _, _, _, states, expected = reference_mingru(*args)
            kept = state[:, n:].copy()
            y, no_states = call.empty(rows, n), call.empty(rows, n)
            call.ops.mingru_step(rows, n, gates, x, begins, 2 * n, state, None, no_states)
            call.ops.mingru_step(rows, n, gates, x, begins, 2 * n, state, state, y)
            checks += [(state[:, :n], states[:, 0], 12), (y, expected[:, 0], 12)]
            checks += [(no_states, y, 0), (state[:, n:], kept, 0)]
    return checks


def mingru_backward(call):
    """Against central differences of the float64 forward pass."""
    checks = []
    for segments, time, n in ((1, 1, 1), (2, 4, 3), (3, 7, 5)):
        gates, x = call.normal(segments, time, 3 * n), call.normal(segments, time, n)
        starts, initial = call.flags(segments, time, p=0.3), call.normal(segments, n)
        dy = call.normal(segments, time, n)

        def loss(gates, x, starts=starts, initial=initial, dy=dy):
            return (reference_mingru(gates, x, starts, initial)[-1] * double(dy)).sum()

        d_gates, d_x = differences(loss, gates, x)
        states, y = call.empty(segments, time, n), call.empty(segments, time, n)
        call.ops.mingru_forward(segments, time, n, gates, x, starts, n, initial, states, y)
        dx, carry = call.empty(segments, time, n), call.empty(segments, n)
        call.ops.mingru_backward(
            segments, time, n, gates, x, starts, n, initial, states, dy, dx, carry
        )
        same = call.array(dy)  # in place
        checks += [(gates, d_gates, 40), (dx, d_x, 40)]
        checks.append((same, dy, 0))
    return checks


# --- advantages ---


def rollout(call, segments, time):
    ends = call.random.random((segments, time))
    return {
        "rewards": call.normal(segments, time),
        "terminals": call.array((ends < 0.1).astype(np.uint8)),
        "truncations": call.array(((ends >= 0.1) & (ends < 0.2)).astype(np.uint8)),
        "values": call.normal(segments, time + 1),
        "final_values": call.normal(segments, time),
        "ratios": call.array(np.exp(call.random.normal(0, 0.3, (segments, time))).astype("f4")),
    }


def advantages(call):
    checks = []
    for segments in (1, 3, 33):
        for time in (1, 2, 17, 64):
            r = rollout(call, segments, time)
            gamma, decay, rho, c = 0.97, 0.9, 1.1, 0.95
            expected, after = np.zeros((segments, time)), np.zeros(segments)
            for t in reversed(range(time)):
                following = np.where(
                    r["terminals"][:, t] == 1, 0,
                    np.where(r["truncations"][:, t] == 1, r["final_values"][:, t],
                             r["values"][:, t + 1]),
                )  # fmt: skip
                ratio = double(r["ratios"][:, t])
                delta = r["rewards"][:, t] + gamma * double(following) - r["values"][:, t]
                going_on = 1 - (r["terminals"][:, t] | r["truncations"][:, t])
                after = np.minimum(ratio, rho) * delta + (
                    gamma * decay * np.minimum(ratio, c) * going_on * after
                )
                expected[:, t] = after
            got = call.empty(segments, time)
            call.ops.advantages(segments, time, *r.values(), gamma, decay, rho, c, got)
            checks.append((got, expected, 16))
    return checks


def advantage_statistics(call):
    checks = []
    for segments, time, count in ((1, 1, 1), (5, 3, 4), (20, 33, 31)):
        advantage = call.normal(segments, time, scale=3)
        masks = call.flags(segments, time, p=0.7)
        chosen = call.array(call.random.integers(0, segments, count))
        advantage[masks == 0] = 1e30  # must not matter
        values = double(advantage[chosen])[masks[chosen] == 1]
        n = max(len(values), 1)
        mean = values.sum() / n
        deviation = np.sqrt(((values - mean) ** 2).sum() / max(n - 1, 1))
        inverse = 1 / (deviation + 1e-8)
        for chunks in (1, 3):
            partial, got = call.empty(512 * chunks, dtype=np.float64), call.empty(3)
            call.ops.advantage_statistics(
                count, time, chunks, chosen, advantage, masks, partial, got
            )
            checks.append((got[[0, 2]], np.array([mean, 1 / n]), 4))
            checks.append((got[1] / inverse, 1.0, 4))
    return checks


# --- heads and loss ---

HEADS = [([3], 0), ([5], 0), ([2, 7, 1], 0), ([], 1), ([], 3), ([2] * 16, 0)]


def head_inputs(call, rows, sizes, dims, masked):
    outputs = sum(sizes) + dims
    decoded = call.normal(rows, outputs + 1, scale=2)
    log_std = call.array(np.array([0.3, -6.0, 2.5][:dims], np.float32))
    allowed = None
    if masked and sizes:
        allowed = call.flags(rows, outputs, p=0.6)
        start = 0
        for n in sizes:  # at least one choice each
            choice = call.random.integers(0, n, rows)
            allowed[np.arange(rows), start + choice] = 1
            start += n
    return outputs, decoded, log_std, allowed, call.array(np.array(sizes, np.int32))


def reference_judge(decoded, sizes, dims, log_std, allowed, actions):
    """Log-probability and entropy of each row in float64."""
    log_prob, entropy, start = 0, 0, 0
    for k, n in enumerate(sizes):
        logits = double(decoded[:, start : start + n])
        if allowed is not None:
            logits = np.where(allowed[:, start : start + n], logits, -np.inf)
        log_p = logits - scipy.special.logsumexp(logits, -1, keepdims=True)
        log_prob = log_prob + np.take_along_axis(log_p, actions[:, k : k + 1], -1)[:, 0]
        entropy = entropy - scipy.special.xlogy(np.exp(log_p), np.exp(log_p)).sum(-1)
        start += n
    if dims:
        deviation = np.clip(double(log_std), -5, 2)
        scaled = (double(actions) - decoded[:, :dims]) / np.exp(deviation)
        terms = -0.5 * scaled**2 - deviation - 0.5 * np.log(2 * np.pi)
        log_prob = terms.sum(-1)
        entropy = (0.5 + 0.5 * np.log(2 * np.pi) + deviation).sum() * np.ones(len(decoded))
    return log_prob, entropy


def sample(call):
    checks = []
    for sizes, dims in HEADS:
        for masked in (False, True):
            rows, stride = 33, 3
            _, decoded, log_std, allowed, sizes_ = head_inputs(call, rows, sizes, dims, masked)
            entries, dtype = max(len(sizes), dims), np.float32 if dims else np.int32
            actions = call.empty(rows, entries, dtype=dtype)
            log_probs, values = call.zeros(rows, stride), call.zeros(rows, stride + 1)
            call.ops.sample(
                rows, len(sizes), sizes_, dims, decoded, allowed, log_std, 7, 11, 100, stride,
                actions, log_probs, values,
            )  # fmt: skip
            expected, _ = reference_judge(decoded, sizes, dims, log_std, allowed, actions)
            checks.append((log_probs[:, 0], expected, 40))
            checks.append((values[:, 0], decoded[:, -1], 0))
            checks.append((log_probs[:, 1:], np.zeros((rows, stride - 1)), 0))
            if sizes:
                inside = (actions >= 0) & (actions < np.array(sizes))
                checks.append((inside, np.ones_like(inside), 0))
                if allowed is not None:
                    starts = np.cumsum([0, *sizes[:-1]])
                    chosen = np.take_along_axis(allowed, actions + starts, -1)
                    checks.append((chosen, np.ones_like(chosen), 0))
            else:
                part = call.empty(10, entries)  # a slice of the rows draws the same
                call.ops.sample(
                    10, 0, sizes_, dims, call.array(decoded[20:30]), None, log_std, 7,
                    11, 120, stride, part, call.zeros(10, stride), call.zeros(10, stride + 1),
                )  # fmt: skip
                checks.append((part, actions[20:30], 0))
    return checks


def reference_loss(decoded, log_std, x):
    """The scalar loss and its terms of a minibatch in float64, as loss.py's docstring says it."""
    at = x["chosen"][:, None] * x["time"] + np.arange(x["time"])
    at = at.reshape(-1)
    old_values = double(x["values"][x["chosen"], :-1]).reshape(-1)
    log_prob, entropy = reference_judge(
        decoded, x["sizes"], x["dims"], log_std,
        None if x["allowed"] is None else x["allowed"][at], x["actions"][at],
    )  # fmt: skip
    mean, inverse, share = double(x["statistics"])
    clip, vf_coef, vf_clip, ent_coef = double(x["settings"])
    weight = np.repeat(double(x["weights"]), x["time"])
    advantage = double(x["advantages"]).reshape(-1)[at]
    scaled = weight * (advantage - mean) * inverse
    log_ratio = log_prob - double(x["log_probs"]).reshape(-1)[at]
    ratio = np.exp(log_ratio)
    surrogate = np.maximum(-scaled * ratio, -scaled * ratio.clip(1 - clip, 1 + clip))
    target, value = advantage + old_values, decoded[:, -1]
    bounded = old_values + (value - old_values).clip(-vf_clip, vf_clip)
    squared = np.maximum((value - target) ** 2, (bounded - target) ** 2)
    mask = x["masks"].reshape(-1)[at] * share
    terms = np.stack(
        [surrogate, 0.5 * squared, entropy, -log_ratio, ratio - 1 - log_ratio,
         np.abs(ratio - 1) > clip], -1,
    ) * mask[:, None]  # fmt: skip
    total = terms.sum(0)
    return total[0] + vf_coef * total[1] - ent_coef * total[2], terms, ratio


def ppo_loss(call):
    checks = []
    for sizes, dims in HEADS:
        for masked in (False, True):
            segments, time, count = 6, 3, 4
            rows = count * time
            outputs, stored, log_std, allowed, sizes_ = head_inputs(
                call, segments * time, sizes, dims, masked
            )
            decoded = call.normal(rows, outputs + 1)
            if dims:
                actions = call.normal(segments * time, dims)
            else:
                weights = np.ones(stored[:, :-1].shape) if allowed is None else allowed
                start, columns = 0, []
                for n in sizes:
                    p = weights[:, start : start + n] * call.random.random((segments * time, n))
                    columns.append(p.argmax(-1))
                    start += n
                actions = call.array(np.stack(columns, -1).astype(np.int32))
            x = {
                "time": time,
                "sizes": sizes,
                "dims": dims,
                "actions": actions,
                "chosen": call.array(call.random.permutation(segments)[:count]),
                "weights": call.array(call.random.random(count).astype(np.float32)),
                "values": call.normal(segments, time + 1),
                "advantages": call.normal(segments, time),
                "masks": call.flags(segments, time, p=0.8),
                "allowed": allowed,
                "statistics": call.array(np.array([0.2, 0.8, 1 / 9], np.float32)),
                "settings": call.array(np.array([0.3, 2.0, 0.4, 0.05], np.float32)),
            }
            at = (x["chosen"][:, None] * time + np.arange(time)).reshape(-1)
            if dims:  # near the mean, whatever the deviation
                noise = actions[at] * np.exp(log_std.clip(-5, 2))
                actions[at] = decoded[:, :dims] + noise
            log_prob, _ = reference_judge(
                decoded, sizes, dims, log_std, None if allowed is None else allowed[at],
                actions[at],
            )  # fmt: skip
            old = np.zeros(segments * time)  # ratios around 1, some beyond the clip
            old[at] = log_prob
            x["log_probs"] = call.array((old + call.random.normal(0, 0.3, old.shape)).astype("f4"))
            _, terms, ratio = reference_loss(double(decoded), log_std, x)
            gradient, d_log_std = differences(
                lambda decoded, log_std, x=x: reference_loss(decoded, log_std, x)[0],
                *(decoded, log_std), step=1e-6,
            )  # fmt: skip
            got_d_log_std, got_ratio = call.empty(rows, dims), call.empty(rows)
            got_terms, sums = call.empty(rows, 6), call.zeros(2, 6, dtype=np.float64)
            call.ops.ppo_loss(
                rows, time, x["chosen"], x["weights"], len(sizes), sizes_, dims, log_std, actions,
                x["log_probs"], x["values"], x["advantages"], x["masks"], allowed,
                x["statistics"], x["settings"], decoded, got_d_log_std, got_ratio, got_terms,
            )  # fmt: skip
            call.ops.sum_terms(rows, 2, got_terms, sums)
            checks += [(got_ratio, ratio, 60), (got_terms, terms, 60)]
            checks.append((sums.sum(0), terms.sum(0), 120))
            totals = call.empty(6, dtype=np.float64)
            call.ops.total_terms(2, sums, totals)
            checks.append((totals, sums.sum(0), 1e-6))
            checks.append((decoded, gradient, 60))
            checks.append((double(got_d_log_std).sum(0), d_log_std, 120))
    return checks


# --- optimizers ---


def sums_of_squares(call):
    checks = []
    for n in (1, 255, 256, 257, 4099):
        for chunks in (1, 3):
            x, lanes = call.normal(n), call.empty(chunks, 256, dtype=np.float64)
            call.ops.sums_of_squares(n, chunks, x, lanes)
            ends = [n * k // chunks for k in range(chunks + 1)]
            expected = [(double(x[a:b]) ** 2).sum() for a, b in itertools.pairwise(ends)]
            checks.append((lanes[:, 0], np.array(expected), 1e-6))
    return checks


def adamw(call):
    checks = []
    for n in SIZES:
        rate, scale, step = 0.01, 0.5, 3
        beta1, beta2, eps, decay, share = 0.9, 0.99, 1e-5, 0.1, 0.5
        gradient, weights, mean = call.normal(n), call.normal(n), call.normal(n)
        square = call.array(call.random.random(n).astype(np.float32))
        g = double(gradient) * scale
        m = beta1 * double(mean) + (1 - beta1) * g
        v = beta2 * double(square) + (1 - beta2) * g**2
        update = (m / (1 - beta1**step)) / (np.sqrt(v / (1 - beta2**step)) + eps)
        expected = double(weights) * (1 - rate * share * decay) - rate * share * update
        sizes = np.array([rate, scale, 1 - beta1**step, 1 - beta2**step, 0], np.float32)
        settings = np.array([beta1, beta2, eps, decay, share], np.float32)
        skip = np.append(sizes[:4], np.float32(1))
        kept = [call.array(array) for array in (mean, square, weights)]
        call.ops.adamw(n, skip, settings, gradient * np.float32(np.nan), *kept)
        checks += [(a, b.copy(), 0) for a, b in zip(kept, (mean, square, weights), strict=True)]
        call.ops.adamw(n, sizes, settings, gradient, mean, square, weights)
        checks += [(mean, m, 4), (square, v, 4), (weights, expected, 4)]
    return checks


COEFFICIENTS = (
    *((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037)),
    *((2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012)),
)


def muon(call):
    checks = []
    for rows, columns in ((1, 1), (1, 7), (5, 3), (3, 5), (33, 31), (16, 48), (48, 16)):
        for count, gap in ((1, 0), (3, 2)):  # a batch lies in one array, with gaps
            rate, scale, mu, decay = 0.02, 0.7, 0.9, 0.3
            n, side, stride = rows * columns, min(rows, columns), rows * columns + gap
            gradient, momentum, weights = (call.normal(count, stride) for _ in range(3))
            m, expected = double(momentum).copy(), double(weights).copy()
            for k in range(count):
                g = scale * double(gradient[k, :n])
                m[k, :n] = mu * m[k, :n] + g
                x = (g + mu * m[k, :n]).reshape(rows, columns)
                x = x / np.linalg.norm(x)
                for a, b, c in COEFFICIENTS:
                    gram = x @ x.T
                    x = a * x + (b * gram + c * gram @ gram) @ x
                step = rate * max(1, rows / columns) ** 0.5 * x.reshape(-1)
                expected[k, :n] = (1 - rate * decay) * expected[k, :n] - step
            scratch = [call.empty(count * size) for size in (n, n, side**2, side**2)]
            norms = call.empty(count, 256, dtype=np.float64)
            shape, numbers = (rows, columns, count, stride), (rate, scale, mu, decay)
            kept = [call.array(momentum), call.array(weights)]
            unused = call.array(gradient * np.float32(np.nan))
            call.ops.muon(*shape, *numbers, 0, gradient, momentum, weights, *scratch, norms)
            checks += [(momentum, m, 4), (weights, expected, 200)]
            before = [array.copy() for array in kept]
            call.ops.muon(*shape, *numbers, 1, unused, *kept, *scratch, norms)  # skipped
            checks += [(a, b, 0) for a, b in zip(kept, before, strict=True)]
    zero = call.zeros(3, 4)  # a gradient of nothing moves nothing, and gives no NaN
    momentum, weights = call.zeros(3, 4), call.normal(3, 4)
    before = weights.copy()
    scratch = [call.empty(12), call.empty(12), call.empty(9), call.empty(9)]
    call.ops.muon(
        3, 4, 1, 12, 0.1, 1.0, 0.9, 0.0, 0, zero, momentum, weights, *scratch,
        call.empty(256, dtype=np.float64),
    )  # fmt: skip
    return [*checks, (weights, before, 0)]


# --- segments ---


def priorities(call):
    checks = []
    for segments, time, alpha in ((1, 1, 0.5), (7, 3, 0.8), (33, 17, 1.0)):
        advantage, masks = call.normal(segments, time), call.flags(segments, time, p=0.8)
        if segments == 7:
            advantage[2], masks[2] = np.nan, 1
            advantage[3] = 0
        got, cumulative = (call.empty(segments, dtype=np.float64) for _ in range(2))
        call.ops.priorities(segments, time, advantage, masks, Double(alpha), got, cumulative)
        scores = np.nan_to_num(np.abs(np.where(masks, double(advantage), 0)).sum(1), nan=0) ** alpha
        floored = scores + 1e-3 * scores.mean() + np.finfo(np.float32).tiny
        expected = floored / floored.sum()
        checks += [(got, expected, 1e-6), (cumulative, np.cumsum(expected), 1e-6)]
        got, cumulative = (call.empty(segments, dtype=np.float64) for _ in range(2))
        call.ops.priorities_on(
            segments, time, advantage, masks, Double(alpha), got, cumulative,
            call.empty(256, dtype=np.float64),
        )  # fmt: skip
        checks += [(got, expected, 1e-6), (cumulative, np.cumsum(expected), 1e-6)]
    return checks


def draws(call):
    """As kernels and as functions of the host: the same segments, and the same weights."""
    checks = []
    for segments, count in ((1, 3), (7, 300), (400, 65)):
        p = call.random.random(segments) + 0.01
        p = call.array(p / p.sum())
        cumulative = call.array(np.cumsum(p))
        expected = np.empty(count, np.int64), np.empty(count, np.float32)
        call.ops.draw_segments(segments, count, 3, 9, Double(0.6), p, cumulative, *expected)
        chosen, weights = call.empty(count, dtype=np.int64), call.empty(count)
        lanes = call.empty(256, dtype=np.float64)
        call.ops.draw_segments_on(
            segments, count, 3, 9, Double(0.6), p, cumulative, lanes, chosen, weights
        )
        checks += [(chosen, expected[0], 0), (weights, expected[1], 2)]
    return checks


CASES = [
    *(exp, log, sigmoids, encode, gemm, dense, mingru_forward, mingru_step, mingru_backward),
    *(mingru_scan, advantages, advantage_statistics, sample, ppo_loss, sums_of_squares, adamw),
    *(muon, priorities, draws),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_operation(release, case):
    call = Call(release)
    for got, expected, bound in case(call):
        assert np.isfinite(got).all()
        error = np.abs(double(got) - double(expected)).max(initial=0)
        assert error <= bound * EPS * (1 + np.abs(expected).max(initial=0))
    assert all(intact() for intact in call.guards)


@pytest.mark.skipif(ON_GPU, reason="the order is the CPU's")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_order_changes_nothing(ordered, case):
    def outputs(order):
        ordered.order(order)
        call = Call(ordered)
        results = [np.asarray(got).tobytes() for got, _, _ in case(call)]
        assert all(intact() for intact in call.guards)
        return results

    try:
        assert outputs(0) == outputs(1) == outputs(5) == outputs(1234)
    finally:
        ordered.order(0)


@pytest.mark.skipif(ON_GPU, reason="a function of the host")
def test_philox_is_the_published_one(release):
    # known answers of Random123 for philox4x32-10
    ones, out = 2**64 - 1, np.zeros(4, np.uint32)
    release.philox(0, 0, 0, out)
    assert [hex(x) for x in out] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]
    release.philox(ones, ones, ones, out)
    assert [hex(x) for x in out] == ["0x408f276d", "0x41c83b0e", "0xa20bc7c6", "0x6d5451fd"]


def test_gaussian_numbers_are(release):
    out = np.zeros(200_000, np.float32)
    release.gaussian(100_000, 3, out)
    assert scipy.stats.kstest(out, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(out[::2], out[1::2])[0, 1]) < 0.02
    again = np.zeros(200_000, np.float32)
    release.gaussian(100_000, 4, again)
    assert abs(np.corrcoef(out, again)[0, 1]) < 0.01


def test_shuffles_are_uniform_permutations(release):
    order = np.zeros(5, np.int64)
    counts = np.zeros((5, 5))
    for index in range(2000):
        release.shuffle(5, 1, index, order)
        assert sorted(order) == [0, 1, 2, 3, 4]
        counts[np.arange(5), order] += 1
    assert scipy.stats.chisquare(counts.ravel()).pvalue > 1e-3


def test_segments_are_drawn_by_their_probabilities(release):
    p = np.array([0.5, 0.25, 0.125, 0.0625, 0.0625])
    chosen, weights = np.zeros(40_000, np.int64), np.zeros(40_000, np.float32)
    release.draw_segments(5, 40_000, 1, 0, Double(0.4), p, np.cumsum(p), chosen, weights)
    counts = np.bincount(chosen, minlength=5)
    assert scipy.stats.chisquare(counts, p * 40_000).pvalue > 1e-3
    expected = (5 * p) ** -0.4
    assert weights == pytest.approx((expected / expected.max())[chosen], rel=1e-6)


def test_a_nan_stays_one(release):
    x, y = np.array([np.nan, 1], np.float32), np.zeros(2, np.float32)
    release.exp(2, x, y)
    assert np.isnan(y[0])
    relu = np.array([[np.nan, -1]], np.float32)
    release.bias_relu(1, 2, np.zeros(2, np.float32), relu)
    assert np.isnan(relu[0, 0])
    assert relu[0, 1] == 0
