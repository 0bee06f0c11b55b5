/* Chain: a small reward is near, a large one is far away (Osband et al. 2016).
 *
 * `length` states in a row; an episode begins in the second one and lasts length + 9 steps.
 * Actions: left, right. Being in the first state pays 0.001, being in the last one 1, so the best
 * return is
 * 12. Observation: one number per state, 1 up to the present one. score: steps in the last
 * state. perf: score / 12. */
#include "puffer_env.h"

#define SPARE 9
#define BEST (SPARE + 3)
#define NEAR 0.001f

enum { LENGTH };

static const puffer_arg ARGS[] = {
    PUFFER_INT("length", 8, 3, 1000, "states"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    int32_t at;
    int32_t step;
    int32_t far_steps;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, 0, 1);
    spec->obs_shape[0] = (int32_t)args[LENGTH];
    puffer_discrete(spec, 2);
    spec->render_size = 2;
    return NULL;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    float *obs = (float *)env->observations;
    for (int32_t i = 0; i < (int32_t)env->args[LENGTH]; i++) obs[i] = i <= 1;
    s->at = 1;
    s->step = s->far_steps = 0;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t length = (int32_t)env->args[LENGTH];
    float *obs = (float *)env->observations;
    if (*(const int32_t *)env->actions) {
        if (s->at < length - 1) obs[++s->at] = 1;
    } else if (s->at > 0) {
        obs[s->at--] = 0;
    }
    s->step++;
    s->far_steps += s->at == length - 1;
    env->rewards[0] = s->at == length - 1 ? 1 : s->at == 0 ? NEAR : 0;
    env->terminals[0] = s->step == length + SPARE;
    double *log = puffer_log(env, 0);
    log[0] = s->far_steps;
    log[1] = (double)s->far_steps / BEST;
}

static void render(const puffer_env *env, const State *s, float *out) {
    out[0] = (float)s->at;
    out[1] = (float)env->args[LENGTH];
}

#define PUFFER_NAME "chain_mdp"
#include "puffer_harness.h"
