/* Benchmark: an environment of a chosen cost, to measure what is around it.
 *
 * Every step draws `compute` random numbers and writes `bytes` bytes of observation: the first one
 * is 0 or 255: action 0 or 1 pays 1; the others are one random byte repeated. An episode
 * lasts `steps` steps. score: right actions. perf: twice the share of right actions less 1, at
 * least 0. */
#include "puffer_env.h"

#include <string.h>

enum { COMPUTE, BYTES, STEPS };

static const puffer_arg ARGS[] = {
    PUFFER_INT("compute", 0, 0, 1e9, "random numbers of a step; about a nanosecond each"),
    PUFFER_INT("bytes", 128, 1, 1e8, "bytes of an observation"),
    PUFFER_INT("steps", 128, 1, 1e9, "steps of an episode"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    uint64_t work; /* the sum of the numbers, so that they must be drawn */
    int32_t step;
    int32_t right;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_U8, 0, 255);
    spec->obs_shape[0] = (int32_t)args[BYTES];
    puffer_discrete(spec, 2);
    spec->render_size = 3;
    return NULL;
}

PUFFER_FN void observe(puffer_env *env) {
    uint8_t *obs = (uint8_t *)env->observations;
    const uint64_t bits = puffer_random(&env->rng);
    obs[0] = bits & 1 ? 255 : 0;
    memset(obs + 1, (int)(bits >> 8 & 255), (size_t)env->args[BYTES] - 1);
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->step = s->right = 0;
    observe(env);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t compute = (int32_t)env->args[COMPUTE];
    for (int32_t i = 0; i < compute; i++) s->work += puffer_random(&env->rng);
    const bool right = *(const int32_t *)env->actions == (*(const uint8_t *)env->observations > 0);
    s->step++;
    s->right += right;
    env->rewards[0] = right;
    if (s->step == (int32_t)env->args[STEPS]) {
        env->terminals[0] = true;
        double *log = puffer_log(env, 0);
        const double perf = 2.0 * s->right / s->step - 1;
        log[0] = s->right;
        log[1] = perf > 0 ? perf : 0;
    }
    observe(env);
}

static void render(const puffer_env *env, const State *s, float *out) {
    out[0] = *(const uint8_t *)env->observations > 0;
    out[1] = (float)(s->step / env->args[STEPS]);
    out[2] = s->step ? (float)s->right / (float)s->step : 0;
}

#define PUFFER_NAME "benchmark"
#include "puffer_harness.h"
