/* The forward pass of a policy, its actions, and its self-test. Everything above this line is the
 * policy: sizes, weights, and what it gave for the observations of policy_test_observations.
 *
 *   policy_state state;
 *   policy_begin(&state);                                        // an episode begins
 *   policy_act(&state, observation, NULL, &random, actions);     // each step
 *
 * No allocation, no globals that change: one policy_state for each agent, any number of threads. */
#include <stddef.h>
#include <string.h>

typedef struct {
    float memory[POLICY_RECURRENT ? POLICY_LAYERS * POLICY_HIDDEN : 1];
} policy_state;

/* Forget: to be called where an episode begins. */
void policy_begin(policy_state *state) {
    memset(state, 0, sizeof *state);
}

/* y = W x + b with W (rows, columns); b may be NULL. */
static void policy_linear(const float *w, const float *b, const float *x, float *y, int rows,
                          int columns) {
    for (int i = 0; i < rows; i++) {
        float sum = b ? b[i] : 0.0f;
        for (int j = 0; j < columns; j++) {
            sum += w[(ptrdiff_t)i * columns + j] * x[j];
        }
        y[i] = sum;
    }
}

static void policy_relu(float *x) {
    for (int i = 0; i < POLICY_HIDDEN; i++) {
        x[i] = x[i] > 0.0f ? x[i] : 0.0f;
    }
}

#if POLICY_RECURRENT
static float policy_sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}

/* MinGRU with a highway connection: (u, g, p) = W x, z = sigmoid(g), h = u + 1/2 if u >= 0 else
 * sigmoid(u), s = (1 - z) s + z h, y = sigmoid(p) s + (1 - sigmoid(p)) x. */
static void policy_layer(const float *w, float *memory, float *x) {
    float gates[3 * POLICY_HIDDEN];
    policy_linear(w, NULL, x, gates, 3 * POLICY_HIDDEN, POLICY_HIDDEN);
    for (int i = 0; i < POLICY_HIDDEN; i++) {
        float u = gates[i], z = policy_sigmoid(gates[POLICY_HIDDEN + i]);
        float p = policy_sigmoid(gates[2 * POLICY_HIDDEN + i]);
        float h = u >= 0.0f ? u + 0.5f : policy_sigmoid(u);
        memory[i] = (1.0f - z) * memory[i] + z * h;
        x[i] = p * memory[i] + (1.0f - p) * x[i];
    }
}
#endif

/* One step: outputs are POLICY_OUTPUTS logits, the heads side by side, or the means of continuous
 * actions; value may be NULL. */
void policy_forward(policy_state *state, const policy_observation *observation, float *outputs,
                    float *value) {
    float x[POLICY_OBSERVATIONS], hidden[POLICY_HIDDEN];
    for (int i = 0; i < POLICY_OBSERVATIONS; i++) {
        x[i] = (float)observation[i];
    }
    policy_linear(policy_encoder_weight, policy_encoder_bias, x, hidden, POLICY_HIDDEN,
                  POLICY_OBSERVATIONS);
    policy_relu(hidden);
    for (int layer = 0; layer < POLICY_LAYERS; layer++) {
#if POLICY_RECURRENT
        policy_layer(policy_layer_weights[layer], state->memory + layer * POLICY_HIDDEN, hidden);
#else
        float next[POLICY_HIDDEN];
        policy_linear(policy_layer_weights[layer], policy_layer_biases[layer], hidden, next,
                      POLICY_HIDDEN, POLICY_HIDDEN);
        policy_relu(next);
        memcpy(hidden, next, sizeof next);
#endif
    }
    (void)state;
    policy_linear(policy_actor_weight, policy_actor_bias, hidden, outputs, POLICY_OUTPUTS,
                  POLICY_HIDDEN);
    if (value) {
        policy_linear(policy_critic_weight, policy_critic_bias, hidden, value, 1, POLICY_HIDDEN);
    }
}

/* Uniform in (0, 1): splitmix64. */
static double policy_uniform(uint64_t *random) {
    uint64_t z = (*random += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

/* One step with actions: POLICY_HEADS choices counted from 0, or POLICY_OUTPUTS numbers within
 * their bounds. `allowed` has a byte for each choice of each head, 0 where it cannot be made; NULL
 * allows all. `random` is the state of the generator, any number; NULL takes the likeliest. */
void policy_act(policy_state *state, const policy_observation *observation,
                const unsigned char *allowed, uint64_t *random, policy_action *actions) {
    float outputs[POLICY_OUTPUTS];
    policy_forward(state, observation, outputs, NULL);
#if POLICY_HEADS
    int first = 0;
    for (int head = 0; head < POLICY_HEADS; first += policy_choices[head++]) {
        int best = -1, end = first + policy_choices[head];
        double total = 0.0;
        for (int i = first; i < end; i++) {
            if ((!allowed || allowed[i]) && (best < 0 || outputs[i] > outputs[best])) {
                best = i;
            }
        }
        actions[head] = best < 0 ? 0 : best - first; /* nothing is allowed: the agent is dead */
        if (!random || best < 0) {
            continue;
        }
        for (int i = first; i < end; i++) {
            total += !allowed || allowed[i] ? exp((double)outputs[i] - outputs[best]) : 0.0;
        }
        double left = policy_uniform(random) * total;
        for (int i = first; i < end && left >= 0.0; i++) {
            if (!allowed || allowed[i]) {
                actions[head] = i - first;
                left -= exp((double)outputs[i] - outputs[best]);
            }
        }
    }
#else
    (void)allowed;
    for (int i = 0; i < POLICY_OUTPUTS; i++) {
        double x = outputs[i];
        if (random) { /* Box and Muller 1958 */
            double radius = sqrt(-2.0 * log(policy_uniform(random)));
            x += policy_std[i] * radius * cos(6.283185307179586 * policy_uniform(random));
        }
        x = x < policy_low[i] ? policy_low[i] : x > policy_high[i] ? policy_high[i] : x;
        actions[i] = (policy_action)x;
    }
#endif
}

/* How far b is from a, in units of a where that is larger than 1. */
static float policy_distance(float a, float b) {
    return fabsf(b - a) / fmaxf(fabsf(a), 1.0f);
}

/* The largest distance from what the policy gave in training, on the stored steps of an episode:
 * below 1e-4, or compiler and flags change its arithmetic. */
float policy_self_test(void) {
    policy_state state;
    float outputs[POLICY_OUTPUTS], value, largest = 0.0f;
    for (int step = 0; step < POLICY_TEST_STEPS; step++) {
        if (policy_test_starts[step]) {
            policy_begin(&state);
        }
        policy_forward(&state, policy_test_observations[step], outputs, &value);
        for (int i = 0; i < POLICY_OUTPUTS; i++) {
            float distance = policy_distance(policy_test_outputs[step][i], outputs[i]);
            largest = fmaxf(largest, distance);
        }
        largest = fmaxf(largest, policy_distance(policy_test_values[step], value));
    }
    return largest;
}

#ifdef POLICY_MAIN /* cc -O3 -DPOLICY_MAIN policy.c -lm && ./a.out */
#include <stdio.h>
int main(void) {
    float difference = policy_self_test();
    printf("largest difference from the policy: %g\n", (double)difference);
    return difference < 1e-4f ? 0 : 1;
}
#endif
