/* Memory: look at a row of symbols, wait, then repeat it.
 *
 * `length` steps show one symbol each, `delay` steps show nothing, and in `length` more steps the
 * action must be the symbol that was shown `length` + `delay` steps before. Without memory the
 * answers are guesses. Observation: one number per symbol (1: this one is shown), then 1 when an
 * answer is wanted. Action: the symbol; it counts only when it is wanted. Reward: 1 / length for
 * each right answer. score: share of right answers. perf: 1 if all are right, else 0. */
#include "puffer_env.h"

#define MAX_LENGTH 64

enum { LENGTH, DELAY, SYMBOLS };

static const puffer_arg ARGS[] = {
    PUFFER_INT("length", 1, 1, MAX_LENGTH, "symbols to remember"),
    PUFFER_INT("delay", 2, 0, 10000, "steps between the last symbol and the first answer"),
    PUFFER_INT("symbols", 8, 2, 32, "different symbols"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    uint8_t shown[MAX_LENGTH];
    uint8_t answers[MAX_LENGTH];
    int32_t step;
    int32_t right;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, 0, 1);
    spec->obs_shape[0] = (int32_t)args[SYMBOLS] + 1;
    puffer_discrete(spec, (int32_t)args[SYMBOLS]);
    spec->render_size = 4 + 2 * (int32_t)args[LENGTH];
    return NULL;
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    const int32_t length = (int32_t)env->args[LENGTH], symbols = (int32_t)env->args[SYMBOLS];
    float *obs = (float *)env->observations;
    for (int32_t i = 0; i < symbols; i++) obs[i] = 0;
    if (s->step < length) obs[s->shown[s->step]] = 1;
    obs[symbols] = s->step >= length + (int32_t)env->args[DELAY];
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t length = (int32_t)env->args[LENGTH], symbols = (int32_t)env->args[SYMBOLS];
    for (int32_t i = 0; i < length; i++) s->shown[i] = (uint8_t)puffer_randint(&env->rng, symbols);
    s->step = s->right = 0;
    observe(env, s);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t length = (int32_t)env->args[LENGTH];
    const int32_t asked = s->step - length - (int32_t)env->args[DELAY];
    if (asked >= 0) {
        s->answers[asked] = (uint8_t)*(const int32_t *)env->actions;
        const bool right = s->answers[asked] == s->shown[asked];
        s->right += right;
        env->rewards[0] = right ? 1.0f / (float)length : 0;
    }
    s->step++;
    if (asked == length - 1) {
        env->terminals[0] = true;
        double *log = puffer_log(env, 0);
        log[0] = (double)s->right / length;
        log[1] = s->right == length;
    }
    observe(env, s);
}

static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t length = (int32_t)env->args[LENGTH];
    out[0] = (float)length;
    out[1] = (float)env->args[DELAY];
    out[2] = (float)env->args[SYMBOLS];
    out[3] = (float)s->step;
    for (int32_t i = 0; i < length; i++) {
        out[4 + i] = s->shown[i];
        out[4 + length + i] = s->answers[i];
    }
}

#define PUFFER_NAME "memory"
#include "puffer_harness.h"
