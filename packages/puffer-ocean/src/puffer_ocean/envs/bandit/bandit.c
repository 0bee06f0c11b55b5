/* Bandit: one lever of `arms` pays better than the others.
 *
 * A pull of the good arm pays 1 with probability `chance`, of another one with probability
 * (1 - chance) / 2. The good arm is the last one; with `shuffled`, every episode draws it anew, so
 * that a policy must remember what it tried. An episode is `pulls` pulls. Observation: 1 in the
 * first step of an episode, else 0; the last payment; then one number per arm (1: pulled last).
 * Action: the arm. score: payments. perf: share of pulls of the good arm. */
#include "puffer_env.h"

enum { ARMS, PULLS, CHANCE, SHUFFLED };

static const puffer_arg ARGS[] = {
    PUFFER_INT("arms", 10, 2, 64, "levers"),
    PUFFER_INT("pulls", 32, 1, 10000, "pulls of an episode"),
    PUFFER_FLOAT("chance", 0.9, 0.5, 1, "probability that the good arm pays"),
    PUFFER_BOOL("shuffled", false, "every episode has another good arm"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    int32_t good;
    int32_t last; /* -1 before the first pull */
    int32_t pulls;
    int32_t payments;
    int32_t good_pulls;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, 0, 1);
    spec->obs_shape[0] = 2 + (int32_t)args[ARMS];
    puffer_discrete(spec, (int32_t)args[ARMS]);
    spec->render_size = 4;
    return NULL;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t arms = (int32_t)env->args[ARMS];
    float *obs = (float *)env->observations;
    for (int32_t i = 0; i < 2 + arms; i++) obs[i] = 0;
    obs[0] = 1;
    s->good = env->args[SHUFFLED] != 0 ? puffer_randint(&env->rng, arms) : arms - 1;
    s->last = -1;
    s->pulls = s->payments = s->good_pulls = 0;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    float *obs = (float *)env->observations;
    const int32_t arm = *(const int32_t *)env->actions;
    const float good = (float)env->args[CHANCE];
    const float chance = arm == s->good ? good : (1 - good) / 2;
    const bool paid = puffer_uniform(&env->rng, 0, 1) < chance;
    obs[0] = 0;
    obs[1] = paid;
    if (s->last >= 0) obs[2 + s->last] = 0;
    obs[2 + arm] = 1;
    s->last = arm;
    s->pulls++;
    s->payments += paid;
    s->good_pulls += arm == s->good;
    env->rewards[0] = paid;
    if (s->pulls < (int32_t)env->args[PULLS]) return;
    env->terminals[0] = true;
    double *log = puffer_log(env, 0);
    log[0] = s->payments;
    log[1] = (double)s->good_pulls / s->pulls;
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    out[0] = (float)s->good;
    out[1] = (float)s->last;
    out[2] = (float)s->pulls;
    out[3] = (float)s->payments;
}

#define PUFFER_NAME "bandit"
#include "puffer_harness.h"
