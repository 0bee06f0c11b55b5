/* Flappy: a bird that falls, and rises by flapping, flies through gaps between pipes.
 *
 * Lengths in pixels, y grows downwards, a step is a tick. The bird is a square of 20 pixels; pipes
 * of width 50 come towards it every `spacing` pixels with a gap whose middle is random. Only the
 * next two pipes matter: they are kept by their distance, from the bird's left edge to the pipe's
 * right one, which is 0 when the pipe is passed. Touching a pipe, the ground or the ceiling ends
 * the episode; `goal` passed pipes truncate it. Observation: six numbers in [-1, 1]: height of the
 * bird, its speed / 12, distance of the next pipe / 512, the middle of its gap, that of the gap
 * behind it, bird minus gap; heights as 2 y / 400 - 1. Actions: fall, flap. Reward: `reward_pass`
 * for each pipe, `reward_crash` at the end. score: pipes passed. perf: score / goal. */
#include "puffer_env.h"

#include <math.h>

#define HEIGHT 400.0f
#define RADIUS 10.0f
#define PIPE 50.0f
#define MARGIN 100.0f /* of the middle of a gap from ceiling and ground */
#define FLAP (-7.0f)
#define MAX_SPEED 12.0f

enum { GAP, SPACING, SPEED, GRAVITY, GOAL, REWARD_PASS, REWARD_CRASH };

static const puffer_arg ARGS[] = {
    PUFFER_FLOAT("gap", 110, 50, 200, "height of a gap in pixels"),
    PUFFER_FLOAT("spacing", 160, 100, 400, "pixels between the right edges of two pipes"),
    PUFFER_FLOAT("speed", 4, 1, 8, "of the pipes, pixels a step"),
    PUFFER_FLOAT("gravity", 0.5, 0.1, 1, "pixels a step squared"),
    PUFFER_INT("goal", 50, 1, 1e6, "pipes after which an episode is cut"),
    PUFFER_FLOAT("reward_pass", 1, 0, 10, "reward for a pipe"),
    PUFFER_FLOAT("reward_crash", -1, -10, 0, "reward for the crash"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    float y;     /* middle of the bird */
    float speed; /* downwards */
    float distance;
    float gaps[3]; /* middles: of the pipe that was passed, the next, the one behind it */
    int32_t score;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    (void)args;
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = 6;
    puffer_discrete(spec, 2);
    spec->render_size = 7;
    return NULL;
}

PUFFER_FN float shown(float y) {
    return 2 * y / HEIGHT - 1;
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    float *obs = (float *)env->observations;
    obs[0] = puffer_clamp(shown(s->y), -1, 1);
    obs[1] = s->speed / MAX_SPEED;
    obs[2] = s->distance / 512;
    obs[3] = shown(s->gaps[1]);
    obs[4] = shown(s->gaps[2]);
    obs[5] = puffer_clamp((s->y - s->gaps[1]) / HEIGHT, -1, 1);
}

PUFFER_FN float new_gap(puffer_env *env) {
    return puffer_uniform(&env->rng, MARGIN, HEIGHT - MARGIN);
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->y = HEIGHT / 2;
    s->speed = 0;
    s->distance = (float)env->args[SPACING];
    for (int i = 0; i < 3; i++) s->gaps[i] = new_gap(env);
    s->score = 0;
    observe(env, s);
}

PUFFER_FN bool crashed(const puffer_env *env, const State *s) {
    if (s->y < RADIUS || s->y > HEIGHT - RADIUS) return true;
    if (s->distance >= PIPE + 2 * RADIUS) return false; /* the pipe is still ahead */
    return fabsf(s->y - s->gaps[1]) > (float)env->args[GAP] / 2 - RADIUS;
}

PUFFER_FN void pass(puffer_env *env, State *s) {
    s->score++;
    env->rewards[0] += (float)env->args[REWARD_PASS];
    s->distance += (float)env->args[SPACING];
    s->gaps[0] = s->gaps[1];
    s->gaps[1] = s->gaps[2];
    s->gaps[2] = new_gap(env);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const float fall = puffer_clamp(s->speed + (float)env->args[GRAVITY], -MAX_SPEED, MAX_SPEED);
    s->speed = *(const int32_t *)env->actions ? FLAP : fall;
    s->y += s->speed;
    s->distance -= (float)env->args[SPEED];
    if (s->distance <= 0) pass(env, s);
    if (crashed(env, s)) {
        env->terminals[0] = true;
        env->rewards[0] += (float)env->args[REWARD_CRASH];
    } else if (s->score >= (int32_t)env->args[GOAL]) {
        env->truncations[0] = true;
    }
    observe(env, s);
    double *log = puffer_log(env, 0);
    log[0] = s->score;
    log[1] = s->score / env->args[GOAL];
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    out[0] = s->y;
    out[1] = s->speed;
    out[2] = s->distance;
    for (int i = 0; i < 3; i++) out[3 + i] = s->gaps[i];
    out[6] = (float)s->score;
}

#define PUFFER_NAME "flappy"
#include "puffer_harness.h"
