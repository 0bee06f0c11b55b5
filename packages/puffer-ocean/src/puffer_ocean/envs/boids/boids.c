/* Boids: birds that fly at one speed learn to flock: together, the same way, not too close.
 *
 * Lengths in pixels, y grows downwards. The world is a square of `size` whose opposite edges are
 * one. In each step all boids turn, by at most `max_turn` radians, and then fly on. A boid sees the
 * others within `radius`. Observation, 8 numbers in [-1, 1] as the flyer sees them, 0 where it sees
 * nobody: how far ahead the mean of the others is and how far to the right / `radius`; the mean of
 * their headings, likewise; how far ahead and to the right the mean of those within twice
 * `separation` is / that; how many it sees / (2 `company`), at most 1; 1 if one is within
 * `separation`. Actions: turn by -1, -1/2, 0, 1/2 or 1 times `max_turn`; with `continuous` by any
 * share between. The quality of a step is the mean cosine between the own heading and that of each
 * other that it sees, times the share of `company` that it sees, at most 1; 0 if one is within
 * `separation`. Reward: quality times `reward_flock`; `reward_crowd` if one is within `separation`.
 * score: sum of qualities. perf: their mean, at least 0. */
#include "puffer_env.h"

#include <math.h>
#include <string.h>

#define MAX_BOIDS 256
#define OBS 8

enum {
    SIZE,
    NUM_BOIDS,
    SPEED,
    MAX_TURN,
    RADIUS,
    SEPARATION,
    COMPANY,
    CONTINUOUS,
    MAX_STEPS,
    REWARD_FLOCK,
    REWARD_CROWD
};

static const puffer_arg ARGS[] = {
    PUFFER_FLOAT("size", 512, 128, 4096, "edge of the world in pixels"),
    PUFFER_INT("num_boids", 64, 2, MAX_BOIDS, "agents"),
    PUFFER_FLOAT("speed", 4, 0.5, 16, "pixels a step"),
    PUFFER_FLOAT("max_turn", 0.3, 0.05, 0.6, "radians a step"),
    PUFFER_FLOAT("radius", 80, 16, 512, "how far a boid sees, pixels"),
    PUFFER_FLOAT("separation", 10, 0, 64, "how near is too near, pixels"),
    PUFFER_INT("company", 12, 1, MAX_BOIDS, "how many others a boid wants to see"),
    PUFFER_BOOL("continuous", false, "turn by any angle"),
    PUFFER_INT("max_steps", 512, 1, 1e6, "steps of an episode"),
    PUFFER_FLOAT("reward_flock", 0.1, 0, 1, "reward for a step of quality 1"),
    PUFFER_FLOAT("reward_crowd", -0.1, -1, 0, "reward for a step with another too near"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

/* Places are whole numbers, the world is 2^32 wide: differences wrap by themselves. */
typedef struct {
    uint32_t x[MAX_BOIDS];
    uint32_t y[MAX_BOIDS];
    float heading_x[MAX_BOIDS];
    float heading_y[MAX_BOIDS];
    float scores[MAX_BOIDS];
    int32_t tick;
} State;

/* Sums over what each boid sees, itself included: it is at no distance. */
typedef struct {
    float count[MAX_BOIDS];
    float x[MAX_BOIDS];
    float y[MAX_BOIDS];
    float heading_x[MAX_BOIDS];
    float heading_y[MAX_BOIDS];
    float near_count[MAX_BOIDS]; /* within 2 separation */
    float near_x[MAX_BOIDS];
    float near_y[MAX_BOIDS];
    float crowd[MAX_BOIDS]; /* within separation */
} Sums;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = OBS;
    spec->num_agents = (int32_t)args[NUM_BOIDS];
    if (args[CONTINUOUS] != 0)
        puffer_continuous(spec, 1, -1, 1);
    else
        puffer_discrete(spec, 5);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 4 * spec->num_agents;
    return NULL;
}

/* What each boid sees. The inner loops run over those who see, so that they need no sum across, and
 * each does one thing, so that compilers make vector code of all. */
PUFFER_FN void look(const puffer_env *env, const State *s, Sums *sums) {
    const int32_t boids = env->spec->num_agents;
    const float pixel = (float)env->args[SIZE] * 0x1p-32f;
    const float radius = (float)env->args[RADIUS], separation = (float)env->args[SEPARATION];
    const float far = radius * radius, close = separation * separation, near = 4 * close;
    float dx[MAX_BOIDS], dy[MAX_BOIDS], square[MAX_BOIDS], seen[MAX_BOIDS], by[MAX_BOIDS];
    memset(sums, 0, sizeof *sums);
    for (int32_t k = 0; k < boids; k++) {
        const uint32_t x = s->x[k], y = s->y[k];
        const float heading_x = s->heading_x[k], heading_y = s->heading_y[k];
        for (int32_t i = 0; i < boids; i++) {
            dx[i] = pixel * (float)(int32_t)(x - s->x[i]);
            dy[i] = pixel * (float)(int32_t)(y - s->y[i]);
            square[i] = dx[i] * dx[i] + dy[i] * dy[i];
        }
        for (int32_t i = 0; i < boids; i++) seen[i] = (float)(square[i] < far);
        for (int32_t i = 0; i < boids; i++) by[i] = (float)(square[i] < near);
        for (int32_t i = 0; i < boids; i++) {
            sums->count[i] += seen[i];
            sums->x[i] += seen[i] * dx[i];
            sums->y[i] += seen[i] * dy[i];
            sums->heading_x[i] += seen[i] * heading_x;
            sums->heading_y[i] += seen[i] * heading_y;
            sums->near_count[i] += by[i];
            sums->near_x[i] += by[i] * dx[i];
            sums->near_y[i] += by[i] * dy[i];
        }
        for (int32_t i = 0; i < boids; i++) sums->crowd[i] += (float)(square[i] < close);
    }
}

PUFFER_FN float clip(float value) {
    return puffer_clamp(value, -1, 1);
}

/* A vector (x, y) in the frame of boid i, times `scale`: ahead, to the right. */
PUFFER_FN void turn_in(const State *s, int32_t i, float x, float y, float scale, float *out) {
    const float ahead = s->heading_x[i], right = s->heading_y[i];
    out[0] = clip(scale * (x * ahead + y * right));
    out[1] = clip(scale * (y * ahead - x * right));
}

/* Writes the observation, returns the quality; *crowded: another one is too near. */
PUFFER_FN float observe(const puffer_env *env, const State *s, const Sums *sums, int32_t i,
                        bool *crowded) {
    const float radius = (float)env->args[RADIUS], near = 2 * (float)env->args[SEPARATION];
    const float others = sums->count[i] - 1, close = sums->near_count[i] - 1;
    const float per_other = others > 0 ? 1 / others : 0;
    const float per_close = close > 0 ? 1 / (close * near) : 0;
    const float share = others / (float)env->args[COMPANY];
    float *obs = (float *)env->observations + i * OBS;
    *crowded = sums->crowd[i] > 1;
    turn_in(s, i, sums->x[i], sums->y[i], per_other / radius, obs);
    turn_in(s, i, sums->heading_x[i] - s->heading_x[i], sums->heading_y[i] - s->heading_y[i],
            per_other, obs + 2);
    turn_in(s, i, sums->near_x[i], sums->near_y[i], per_close, obs + 4);
    obs[6] = share < 2 ? share / 2 : 1;
    obs[7] = *crowded;
    return *crowded ? 0 : obs[2] * (share < 1 ? share : 1);
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t boids = env->spec->num_agents;
    Sums sums;
    for (int32_t i = 0; i < boids; i++) {
        const float angle = puffer_uniform(&env->rng, 0, 6.2831853f);
        s->x[i] = (uint32_t)(puffer_random(&env->rng) >> 32);
        s->y[i] = (uint32_t)(puffer_random(&env->rng) >> 32);
        s->heading_x[i] = cosf(angle);
        s->heading_y[i] = sinf(angle);
        s->scores[i] = 0;
    }
    s->tick = 0;
    look(env, s, &sums);
    bool crowded;
    for (int32_t i = 0; i < boids; i++) observe(env, s, &sums, i, &crowded);
}

/* Turn boid i by `angle`, at most 0.6, and fly on. Power series, then one Newton step to length 1:
 * the error is below 1e-6. */
PUFFER_FN void fly(State *s, int32_t i, float angle, float step) {
    const float square = angle * angle;
    const float cosine = 1 - square * (0.5f - square * (1 / 24.0f - square / 720));
    const float sine = angle * (1 - square * (1 / 6.0f - square * (1 / 120.0f - square / 5040)));
    const float x = s->heading_x[i] * cosine - s->heading_y[i] * sine;
    const float y = s->heading_y[i] * cosine + s->heading_x[i] * sine;
    const float scale = 1.5f - 0.5f * (x * x + y * y);
    s->heading_x[i] = x * scale;
    s->heading_y[i] = y * scale;
    s->x[i] += (uint32_t)(int32_t)(step * s->heading_x[i]);
    s->y[i] += (uint32_t)(int32_t)(step * s->heading_y[i]);
}

PUFFER_FN void report(const puffer_env *env, const State *s) {
    for (int32_t i = 0; i < env->spec->num_agents; i++) {
        double *log = puffer_log(env, i);
        const double mean = (double)s->scores[i] / s->tick;
        log[0] = (double)s->scores[i];
        log[1] = mean < 0 ? 0 : mean > 1 ? 1 : mean;
    }
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t boids = env->spec->num_agents;
    const float far = (float)(env->args[SPEED] / env->args[SIZE]) * 0x1p32f;
    const float most = (float)env->args[MAX_TURN];
    const bool continuous = env->args[CONTINUOUS] != 0;
    Sums sums;
    for (int32_t i = 0; i < boids; i++) {
        const float turn = continuous ? clip(((const float *)env->actions)[i])
                                      : 0.5f * (float)(((const int32_t *)env->actions)[i] - 2);
        fly(s, i, turn * most, far);
    }
    look(env, s, &sums);
    for (int32_t i = 0; i < boids; i++) {
        bool crowded;
        const float quality = observe(env, s, &sums, i, &crowded);
        s->scores[i] += quality;
        env->rewards[i] = quality * (float)env->args[REWARD_FLOCK] +
                          (crowded ? (float)env->args[REWARD_CROWD] : 0);
    }
    if (++s->tick == env->max_steps) report(env, s);
}

/* x, y and the heading of each boid. */
static void render(const puffer_env *env, const State *s, float *out) {
    const float pixel = (float)env->args[SIZE] * 0x1p-32f;
    for (int32_t i = 0; i < env->spec->num_agents; i++) {
        *out++ = pixel * (float)s->x[i];
        *out++ = pixel * (float)s->y[i];
        *out++ = s->heading_x[i];
        *out++ = s->heading_y[i];
    }
}

#define PUFFER_NAME "boids"
#include "puffer_harness.h"
