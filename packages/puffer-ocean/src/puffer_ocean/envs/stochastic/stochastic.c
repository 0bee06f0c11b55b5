/* Stochastic: the best memoryless policy throws a loaded coin.
 *
 * In `steps` steps the action 1 must be taken with frequency `target`. There is nothing to see
 * (observation: one number, always 1), so that a deterministic policy without memory gets nothing.
 * The reward comes at the end: 1 - (miss / width)^2, at least 0, where miss is the distance of the
 * frequency from the target, and width the distance of the target from 1/2 or 1, whichever is
 * nearer. score: the frequency. perf: the reward. */
#include "puffer_env.h"

#include <math.h>

enum { STEPS, TARGET };

static const puffer_arg ARGS[] = {
    PUFFER_INT("steps", 64, 1, 10000, "steps of an episode"),
    PUFFER_FLOAT("target", 0.75, 0.55, 0.95, "frequency of action 1"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    int32_t step;
    int32_t ones;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    (void)args;
    puffer_observation(spec, PUFFER_F32, 0, 1);
    spec->obs_shape[0] = 1;
    puffer_discrete(spec, 2);
    spec->render_size = 2;
    return NULL;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    *(float *)env->observations = 1;
    s->step = s->ones = 0;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    s->ones += *(const int32_t *)env->actions;
    s->step++;
    if (s->step < (int32_t)env->args[STEPS]) return;
    const double target = env->args[TARGET], frequency = (double)s->ones / s->step;
    const double miss = (frequency - target) / fmin(target - 0.5, 1 - target);
    const double perf = fmax(0, 1 - miss * miss);
    env->rewards[0] = (float)perf;
    env->terminals[0] = true;
    double *log = puffer_log(env, 0);
    log[0] = frequency;
    log[1] = perf;
}

static void render(const puffer_env *env, const State *s, float *out) {
    out[0] = s->step ? (float)s->ones / (float)s->step : 0;
    out[1] = (float)(s->step / env->args[STEPS]);
}

#define PUFFER_NAME "stochastic"
#include "puffer_harness.h"
