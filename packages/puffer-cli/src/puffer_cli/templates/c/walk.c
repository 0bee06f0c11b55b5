/* Walk: find the way to the goal at one end of a line of cells.
 *
 * Observation: the agent's place from -1 (left end) to 1 (right end), and the side of the goal, -1
 * or 1. Actions: left, right. Reward 1 at the goal, -1 at the other end; both end the episode. */
#include "puffer_env.h"

enum { SIZE, MAX_STEPS };

static const puffer_arg ARGS[] = {
    PUFFER_INT("size", 11, 3, 1001, "cells of the line"),
    PUFFER_INT("max_steps", 100, 1, 1e9, "truncate an episode of so many steps"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    int32_t cell;
    int32_t goal; /* -1 or 1 */
    int32_t tick;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = 2;
    puffer_discrete(spec, 2);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 2;
    return NULL;
}

PUFFER_FN void observe(puffer_env *env, const State *s) {
    float *obs = (float *)env->observations;
    const int32_t last = (int32_t)env->args[SIZE] - 1;
    obs[0] = (float)(2 * s->cell - last) / (float)last;
    obs[1] = (float)s->goal;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->cell = (int32_t)env->args[SIZE] / 2;
    s->goal = puffer_randint(&env->rng, 2) ? 1 : -1;
    s->tick = 0;
    observe(env, s);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t action = *(const int32_t *)env->actions;
    const int32_t last = (int32_t)env->args[SIZE] - 1, start = (last + 1) / 2;
    s->tick++;
    s->cell += action ? 1 : -1;
    if (s->cell == 0 || s->cell == last) {
        env->rewards[0] = (s->cell == 0) == (s->goal < 0) ? 1.0f : -1.0f;
        env->terminals[0] = true;
    }
    /* perf: 1 for the straight way, less for detours, 0 without the goal */
    const int32_t straight = s->goal < 0 ? start : last - start;
    double *log = puffer_log(env, 0);
    log[0] = (double)env->rewards[0];
    log[1] = env->rewards[0] > 0 ? (double)straight / s->tick : 0;
    observe(env, s);
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    out[0] = (float)s->cell;
    out[1] = (float)s->goal;
}

#define PUFFER_NAME "walk"
#include "puffer_harness.h"
