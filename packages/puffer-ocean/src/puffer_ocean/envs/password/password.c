/* Password: one of 2^length sequences opens the door, and nothing says how close another one is.
 *
 * The password is always the same: the lowest `length` bits of a hash of `secret`. Observation: one
 * number per position (1: this one is next). Action: the bit. The reward comes with the last bit: 1
 * if all are right, else 0. score: share of right bits. perf: 1 if all are right, else 0. */
#include "puffer_env.h"

enum { LENGTH, SECRET };

static const puffer_arg ARGS[] = {
    PUFFER_INT("length", 5, 1, 62, "bits of the password"),
    PUFFER_INT("secret", 1, 0, 1e9, "which password"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    uint64_t password; /* bit i is the i-th */
    uint64_t typed;
    int32_t position;
    int32_t right;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, 0, 1);
    spec->obs_shape[0] = (int32_t)args[LENGTH];
    puffer_discrete(spec, 2);
    spec->render_size = 2 + 2 * (int32_t)args[LENGTH];
    return NULL;
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    const int32_t length = (int32_t)env->args[LENGTH];
    float *obs = (float *)env->observations;
    for (int32_t i = 0; i < length; i++) obs[i] = i == s->position;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->password = puffer_mix((uint64_t)env->args[SECRET] + 0x9e3779b97f4a7c15u);
    s->typed = 0;
    s->position = s->right = 0;
    observe(env, s);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t length = (int32_t)env->args[LENGTH];
    const uint64_t bit = (uint64_t)*(const int32_t *)env->actions;
    s->typed |= bit << s->position;
    s->right += bit == (s->password >> s->position & 1);
    s->position++;
    if (s->position == length) {
        const bool open = s->right == length;
        env->rewards[0] = open;
        env->terminals[0] = true;
        double *log = puffer_log(env, 0);
        log[0] = (double)s->right / length;
        log[1] = open;
    }
    observe(env, s);
}

static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t length = (int32_t)env->args[LENGTH];
    out[0] = (float)length;
    out[1] = (float)s->position;
    for (int32_t i = 0; i < length; i++) {
        out[2 + i] = (float)(s->password >> i & 1);
        out[2 + length + i] = (float)(s->typed >> i & 1);
    }
}

#define PUFFER_NAME "password"
#include "puffer_harness.h"
