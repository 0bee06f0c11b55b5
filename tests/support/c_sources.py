"""Small C environments that the tests of the contract compile."""

HEAD = r"""
#include "puffer_env.h"
#include <string.h>
"""

# Agents 0..2 live as long as their argument says; rewards 1 for each step; observations count.
LIVES = r"""
enum { FIRST, SECOND, THIRD, MAX_STEPS };
static const puffer_arg ARGS[] = {
    PUFFER_INT("first", 2, 1, 100, "steps of agent 0"),
    PUFFER_INT("second", 3, 1, 100, "steps of agent 1"),
    PUFFER_INT("third", 5, 1, 100, "steps of agent 2"),
    PUFFER_INT("max_steps", 0, 0, 100, "truncation"),
};
static const char *const LOG_FIELDS[] = {"ticks", "perf"};
typedef struct { int32_t tick; int32_t age[3]; int32_t resets; } State;
static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_I32, 0, 0);
    spec->num_agents = 3;
    spec->obs_shape[0] = 2;
    puffer_discrete(spec, 2);
    puffer_discrete(spec, 3);
    spec->action_masks = true;
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 1;
    return NULL;
}
PUFFER_FN void observe(puffer_env *env, State *s, int32_t a) {
    int32_t *obs = (int32_t *)env->observations + 2 * a;
    obs[0] = 100 * s->resets + s->tick;
    obs[1] = 10 * (a + 1) + s->age[a];
    memset(env->action_masks + 5 * a, 1, 5);
    env->action_masks[5 * a + 2 + s->age[a] % 3] = false;
}
PUFFER_FN void reset(puffer_env *env, State *s) {
    s->resets++;
    s->tick = 0;
    for (int32_t a = 0; a < 3; a++) {
        s->age[a] = 0;
        observe(env, s, a);
    }
}
#ifdef PUFFER_RESET_AGENT
PUFFER_FN void reset_agent(puffer_env *env, State *s, int32_t agent) {
    s->age[agent] = 0;
    observe(env, s, agent);
}
#endif
PUFFER_FN void step(puffer_env *env, State *s) {
    s->tick++;
    for (int32_t a = 0; a < 3; a++) {
        s->age[a]++;
        observe(env, s, a);
        env->rewards[a] = 1;
        env->terminals[a] = s->age[a] == (int32_t)env->args[a];
        puffer_log(env, a)[0] = s->tick;
        puffer_log(env, a)[1] = 1;
    }
}
static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    out[0] = (float)s->tick;
}
#define PUFFER_NAME "lives"
#include "puffer_harness.h"
"""
DYING = HEAD + LIVES
REBORN = HEAD + "#define PUFFER_RESET_AGENT\n" + LIVES

# Agent 1 is there from the argument's step on. Nobody ends before step 4.
BORN = (
    HEAD
    + r"""
enum { BIRTH };
static const puffer_arg ARGS[] = {PUFFER_INT("birth", 2, 1, 100, "first step of agent 1")};
static const char *const LOG_FIELDS[] = {"perf"};
typedef struct { int32_t tick; } State;
static const char *describe(const double *args, puffer_spec *spec) {
    (void)args;
    puffer_observation(spec, PUFFER_U8, 0, 0);
    spec->num_agents = 2;
    spec->obs_shape[0] = 1;
    puffer_continuous(spec, 1, -1, 1);
    return NULL;
}
PUFFER_FN void observe(puffer_env *env, State *s) {
    uint8_t *obs = (uint8_t *)env->observations;
    obs[0] = (uint8_t)(10 + s->tick);
    obs[1] = s->tick + 1 < (int32_t)env->args[BIRTH] ? 0 : (uint8_t)(20 + s->tick);
}
PUFFER_FN void reset(puffer_env *env, State *s) { s->tick = 0; observe(env, s); }
PUFFER_FN void step(puffer_env *env, State *s) {
    s->tick++;
    observe(env, s);
    env->masks[1] = s->tick >= (int32_t)env->args[BIRTH];
    for (int32_t a = 0; a < 2; a++) {
        env->rewards[a] = 1;
        env->terminals[a] = s->tick == 4;
        puffer_log(env, a)[0] = 0;
    }
}
static void render(const puffer_env *env, const State *s, float *out) {
    (void)env; (void)s; (void)out;
}
#define PUFFER_NAME "born"
#include "puffer_harness.h"
"""
)

# Every type of argument; observes them. DTYPE and CTYPE are replaced.
TYPED = (
    HEAD
    + r"""
#define PUFFER_INIT
enum { LENGTH, SCALE, LOUD, LEVEL, MAP, SIZE };
static const puffer_arg ARGS[] = {
    PUFFER_INT("length", 3, 1, 50, "steps of an episode"),
    PUFFER_FLOAT("scale", 0.5, -2, 2, "of the reward"),
    PUFFER_BOOL("loud", true, "observe 1"),
    PUFFER_ENUM("level", 1, "easy|normal|hard", "observe the position"),
    PUFFER_TEXT("map", "home", "observe its length; no more than eight letters"),
    PUFFER_INT("size", 6, 6, 9, "of the observation"),
};
static const char *const LOG_FIELDS[] = {"perf"};
typedef struct { int32_t tick; int32_t letters; int32_t inits; } State;
static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, DTYPE, 0, 0);
    spec->obs_shape[0] = (int32_t)args[SIZE];
    puffer_discrete(spec, 2);
    return args[SCALE] == 1.25 ? "scale must not be 1.25" : NULL;
}
static const char *init(puffer_env *env, State *s) {
    s->letters = (int32_t)strlen(env->texts[MAP]);
    s->inits++;
    return s->letters > 8 ? "map has more than eight letters" : NULL;
}
PUFFER_FN void observe(puffer_env *env, State *s) {
    CTYPE *obs = (CTYPE *)env->observations;
    obs[0] = (CTYPE)s->tick;
    obs[1] = (CTYPE)(env->args[LOUD] != 0);
    obs[2] = (CTYPE)env->args[LEVEL];
    obs[3] = (CTYPE)s->letters;
    obs[4] = (CTYPE)s->inits;
    obs[5] = (CTYPE)100;
}
PUFFER_FN void reset(puffer_env *env, State *s) { s->tick = 0; observe(env, s); }
PUFFER_FN void step(puffer_env *env, State *s) {
    s->tick++;
    observe(env, s);
    env->rewards[0] = (float)env->args[SCALE];
    env->terminals[0] = s->tick == (int32_t)env->args[LENGTH];
    puffer_log(env, 0)[0] = env->args[LEVEL];
}
static void render(const puffer_env *env, const State *s, float *out) {
    (void)env; (void)s; (void)out;
}
#define PUFFER_NAME "typed"
#include "puffer_harness.h"
"""
)


def typed(dtype: str = "PUFFER_U8", ctype: str = "uint8_t") -> str:
    """TYPED with observations of this dtype."""
    return TYPED.replace("DTYPE", dtype).replace("CTYPE", ctype)
