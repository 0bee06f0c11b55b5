/* Asteroids: turn, thrust and shoot among drifting rocks that split when they are hit.
 *
 * Lengths in pixels, y downwards, time in ticks; a step is `frameskip` ticks. The field is 512 by
 * 512; what leaves it comes back on the other side. The ship, a disc of radius 8, turns 1/64 a
 * tick, thrust adds 0.1 a tick along its nose, 1 % of its speed is lost a tick. Up to 4 shots fly 8
 * a tick along the nose for 36 ticks; a new one comes 6 ticks after the last. A wave has `rocks`
 * large rocks (radius 40, speed 0.8 `rock_speed`), at least 128 from the ship; a hit makes two of
 * medium size (20, 1.2) of one, two small ones (10, 1.8) of a medium one, and ends a small one. A
 * rock on the ship costs a life: it starts anew in the middle, and rocks pass through it for 90
 * ticks. The episode ends without lives, and after `waves`. Observation, 49 numbers in [-1, 1]: the
 * ship's speed along its nose and to its right / 8; share of shots ready; share of ticks in which
 * rocks pass through; lives left; x and y / 256 - 1; then of the 6 rocks whose edges are nearest
 * (zeros: fewer), seen from the ship: ahead and to the right / 256, its speed from the ship's,
 * ahead and to the right / 8, radius / 40, distance to the edge / 512, and by how much the nose
 * misses the middle, as the sine of the angle. Actions: turn (no, left, right) + 3 thrust + 6 fire.
 * Reward: `reward_points` times the points of a rock (large 20, medium 50, small 100), `reward_hit`
 * for a life. score: points. perf: score / points of all waves. */
#include "puffer_env.h"

#include <string.h>

#define FIELD 512.0f
#define TURN 64
#define SHIP 8.0f
#define THRUST 0.1f
#define DRAG 0.99f
#define SHOTS 4
#define SHOT_SPEED 8.0f
#define SHOT_TICKS 36
#define RELOAD 6
#define GHOST 90
#define CLEARANCE 128.0f
#define MAX_ROCKS 8
#define SLOTS (4 * MAX_ROCKS)
#define SCALARS 7
#define NEAREST 6
#define FEATURES 7
#define SPEED 8.0f /* scale of speeds in observations */

enum { FRAMESKIP, LIVES, WAVES, ROCKS, ROCK_SPEED, MAX_STEPS, REWARD_POINTS, REWARD_HIT };
enum { SMALL, MEDIUM, LARGE };

static const puffer_arg ARGS[] = {
    PUFFER_INT("frameskip", 4, 1, 16, "ticks in one step"),
    PUFFER_INT("lives", 3, 1, 10, "lives of an episode"),
    PUFFER_INT("waves", 4, 1, 20, "waves to win"),
    PUFFER_INT("rocks", 4, 1, MAX_ROCKS, "large rocks of a wave"),
    PUFFER_FLOAT("rock_speed", 1.5, 0, 3, "factor on the speed of rocks"),
    PUFFER_INT("max_steps", 2000, 1, 1e9, "truncate an episode of so many steps"),
    PUFFER_FLOAT("reward_points", 0.005, 0, 1, "reward for a point of score"),
    PUFFER_FLOAT("reward_hit", -1, -1, 0, "reward for a lost life"),
};

static const char *const LOG_FIELDS[] = {"score", "perf", "waves"};

typedef struct {
    float x, y, vx, vy;
    int32_t ticks; /* that it flies on */
} Shot;

typedef struct {
    float xs[SLOTS], ys[SLOTS], vxs[SLOTS], vys[SLOTS], radii[SLOTS]; /* of num_rocks rocks */
    int8_t sizes[SLOTS];
    Shot shots[SHOTS]; /* the first num_shots of them, oldest first */
    int32_t num_rocks, num_shots;
    float x, y, vx, vy;
    int32_t nose;  /* 0 to the right, then clockwise on the screen */
    int32_t ghost; /* ticks in which rocks pass through */
    bool thrusts;
    int32_t reload;
    int32_t lives;
    int32_t wave; /* waves done */
    int32_t score;
} State;

PUFFER_TABLE float RADII[] = {10, 20, 40};
PUFFER_TABLE float SPEEDS[] = {1.8f, 1.2f, 0.8f};
PUFFER_TABLE int32_t POINTS[] = {100, 50, 20};
#define POINTS_OF_LARGE (20 + 2 * 50 + 4 * 100) /* with all that becomes of it */

/* sin(2 pi i / TURN) */
PUFFER_TABLE float SINES[TURN] = {
    0.0000000f,  0.0980171f,  0.1950903f,  0.2902847f,  0.3826834f,  0.4713967f,  0.5555702f,
    0.6343933f,  0.7071068f,  0.7730105f,  0.8314696f,  0.8819213f,  0.9238795f,  0.9569403f,
    0.9807853f,  0.9951847f,  1.0000000f,  0.9951847f,  0.9807853f,  0.9569403f,  0.9238795f,
    0.8819213f,  0.8314696f,  0.7730105f,  0.7071068f,  0.6343933f,  0.5555702f,  0.4713967f,
    0.3826834f,  0.2902847f,  0.1950903f,  0.0980171f,  0.0000000f,  -0.0980171f, -0.1950903f,
    -0.2902847f, -0.3826834f, -0.4713967f, -0.5555702f, -0.6343933f, -0.7071068f, -0.7730105f,
    -0.8314696f, -0.8819213f, -0.9238795f, -0.9569403f, -0.9807853f, -0.9951847f, -1.0000000f,
    -0.9951847f, -0.9807853f, -0.9569403f, -0.9238795f, -0.8819213f, -0.8314696f, -0.7730105f,
    -0.7071068f, -0.6343933f, -0.5555702f, -0.4713967f, -0.3826834f, -0.2902847f, -0.1950903f,
    -0.0980171f};

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = SCALARS + NEAREST * FEATURES;
    puffer_discrete(spec, 12);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 7 + 4 * SLOTS + 2 * SHOTS;
    return NULL;
}

PUFFER_FN float sine(int32_t direction) {
    return SINES[direction & (TURN - 1)];
}

PUFFER_FN float cosine(int32_t direction) {
    return SINES[(direction + TURN / 4) & (TURN - 1)];
}

/* These two have no branches, so that loops over rocks take four at a time.
 * A coordinate that left the field by less than its size. */
PUFFER_FN float wrap(float x) {
    x += FIELD * (float)(x < 0);
    return x - FIELD * (float)(x >= FIELD);
}

/* The short way round. */
PUFFER_FN float apart(float a, float b) {
    const float d = a - b;
    return d - FIELD * (float)((d > FIELD / 2) - (d < -FIELD / 2));
}

/* The square root to 6 digits, without a call. */
PUFFER_FN float root(float square) {
    int32_t bits;
    float x;
    memcpy(&bits, &square, sizeof bits);
    bits = (bits >> 1) + 0x1fbd1df5;
    memcpy(&x, &bits, sizeof x);
    x = 0.5f * (x + square / x);
    return 0.5f * (x + square / x);
}

PUFFER_FN float clip(float x) {
    return puffer_clamp(x, -1, 1);
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    float *obs = (float *)env->observations;
    const float ahead_x = cosine(s->nose), ahead_y = sine(s->nose);
    memset(obs, 0, sizeof(float) * (SCALARS + NEAREST * FEATURES));
    obs[0] = clip((s->vx * ahead_x + s->vy * ahead_y) / SPEED);
    obs[1] = clip((s->vy * ahead_x - s->vx * ahead_y) / SPEED);
    obs[2] = 1 - (float)s->num_shots / SHOTS;
    obs[3] = (float)s->ghost / GHOST;
    obs[4] = (float)s->lives / (float)env->args[LIVES];
    obs[5] = 2 * s->x / FIELD - 1;
    obs[6] = 2 * s->y / FIELD - 1;
    float all[SLOTS], edges[NEAREST + 1];
    int32_t nearest[NEAREST + 1], count = 0;
    for (int32_t i = 0; i < s->num_rocks; i++) {
        const float dx = apart(s->xs[i], s->x), dy = apart(s->ys[i], s->y);
        all[i] = root(dx * dx + dy * dy) - s->radii[i];
    }
    for (int32_t i = 0; i < s->num_rocks; i++) {
        const float edge = all[i];
        if (count == NEAREST && edge >= edges[NEAREST - 1]) continue;
        int32_t k = count;
        for (; k > 0 && edges[k - 1] > edge; k--) {
            edges[k] = edges[k - 1];
            nearest[k] = nearest[k - 1];
        }
        edges[k] = edge;
        nearest[k] = i;
        count += count < NEAREST;
    }
    for (int32_t k = 0; k < count; k++) {
        const int32_t i = nearest[k];
        const float dx = apart(s->xs[i], s->x), dy = apart(s->ys[i], s->y);
        const float vx = s->vxs[i] - s->vx, vy = s->vys[i] - s->vy;
        const float ahead = dx * ahead_x + dy * ahead_y, right = dy * ahead_x - dx * ahead_y;
        float *row = obs + SCALARS + k * FEATURES;
        row[0] = clip(ahead / (FIELD / 2));
        row[1] = clip(right / (FIELD / 2));
        row[2] = clip((vx * ahead_x + vy * ahead_y) / SPEED);
        row[3] = clip((vy * ahead_x - vx * ahead_y) / SPEED);
        row[4] = s->radii[i] / RADII[LARGE];
        row[5] = clip(edges[k] / FIELD);
        row[6] = clip(right / (edges[k] + s->radii[i] + 1e-6f));
    }
}

PUFFER_FN void add_rock(puffer_env *env, State *s, float x, float y, int32_t size) {
    const int32_t direction = puffer_randint(&env->rng, TURN);
    const float speed = SPEEDS[size] * (float)env->args[ROCK_SPEED];
    const int32_t i = s->num_rocks++;
    s->xs[i] = x;
    s->ys[i] = y;
    s->vxs[i] = speed * cosine(direction);
    s->vys[i] = speed * sine(direction);
    s->radii[i] = RADII[size];
    s->sizes[i] = (int8_t)size;
}

PUFFER_FN void start_wave(puffer_env *env, State *s) {
    for (int32_t i = 0; i < (int32_t)env->args[ROCKS]; i++) {
        const float far = puffer_uniform(&env->rng, CLEARANCE, FIELD - CLEARANCE);
        const float any = puffer_uniform(&env->rng, 0, FIELD);
        const bool across = puffer_randint(&env->rng, 2) != 0;
        add_rock(env, s, wrap(s->x + (across ? far : any)), wrap(s->y + (across ? any : far)),
                 LARGE);
    }
}

PUFFER_FN void start_life(State *s) {
    s->x = s->y = FIELD / 2;
    s->vx = s->vy = 0;
    s->nose = 3 * TURN / 4; /* upwards */
    s->ghost = GHOST;
    s->thrusts = false;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->num_rocks = s->num_shots = 0;
    s->reload = 0;
    s->wave = 0;
    s->score = 0;
    s->lives = (int32_t)env->args[LIVES];
    start_life(s);
    start_wave(env, s);
    observe(env, s);
}

PUFFER_FN void steer(State *s, int32_t action) {
    const int32_t turn = action % 3;
    s->nose = (s->nose + (turn == 2) - (turn == 1) + TURN) & (TURN - 1);
    s->thrusts = action / 3 % 2;
    const float thrust = s->thrusts ? THRUST : 0;
    s->vx = DRAG * s->vx + thrust * cosine(s->nose);
    s->vy = DRAG * s->vy + thrust * sine(s->nose);
    s->x = wrap(s->x + s->vx);
    s->y = wrap(s->y + s->vy);
    s->ghost -= s->ghost > 0;
    s->reload -= s->reload > 0;
    if (action < 6 || s->reload || s->num_shots == SHOTS) return;
    Shot *shot = &s->shots[s->num_shots++];
    shot->vx = SHOT_SPEED * cosine(s->nose);
    shot->vy = SHOT_SPEED * sine(s->nose);
    shot->x = s->x;
    shot->y = s->y;
    shot->ticks = SHOT_TICKS;
    s->reload = RELOAD;
}

/* The first rock that touches a disc, or -1. */
PUFFER_FN int32_t touching(const State *s, float x, float y, float radius) {
    int32_t count = 0;
    for (int32_t i = 0; i < s->num_rocks; i++) {
        const float dx = apart(s->xs[i], x), dy = apart(s->ys[i], y), reach = s->radii[i] + radius;
        count += dx * dx + dy * dy < reach * reach;
    }
    for (int32_t i = 0; i < s->num_rocks && count; i++) {
        const float dx = apart(s->xs[i], x), dy = apart(s->ys[i], y), reach = s->radii[i] + radius;
        if (dx * dx + dy * dy < reach * reach) return i;
    }
    return -1;
}

/* Rock i is hit: points, and what becomes of it. The last rock takes its slot. */
PUFFER_FN void split(puffer_env *env, State *s, int32_t i) {
    const float x = s->xs[i], y = s->ys[i];
    const int32_t size = s->sizes[i], last = --s->num_rocks;
    s->score += POINTS[size];
    env->rewards[0] += (float)env->args[REWARD_POINTS] * (float)POINTS[size];
    s->xs[i] = s->xs[last];
    s->ys[i] = s->ys[last];
    s->vxs[i] = s->vxs[last];
    s->vys[i] = s->vys[last];
    s->radii[i] = s->radii[last];
    s->sizes[i] = s->sizes[last];
    for (int k = 0; k < 2 && size > SMALL; k++) add_rock(env, s, x, y, size - 1);
}

/* One tick of a shot; false when it is gone. */
PUFFER_FN bool fly(puffer_env *env, State *s, Shot *shot) {
    shot->x = wrap(shot->x + shot->vx);
    shot->y = wrap(shot->y + shot->vy);
    const int32_t rock = touching(s, shot->x, shot->y, 0);
    if (rock >= 0) split(env, s, rock);
    return --shot->ticks > 0 && rock < 0;
}

PUFFER_FN void drift(State *s) {
    for (int32_t i = 0; i < s->num_rocks; i++) {
        s->xs[i] = wrap(s->xs[i] + s->vxs[i]);
        s->ys[i] = wrap(s->ys[i] + s->vys[i]);
    }
}

/* One tick; true when the episode is over. */
PUFFER_FN bool tick(puffer_env *env, State *s, int32_t action) {
    steer(s, action);
    drift(s);
    int32_t left = 0;
    for (int32_t i = 0; i < s->num_shots; i++)
        if (fly(env, s, &s->shots[i])) s->shots[left++] = s->shots[i];
    s->num_shots = left;
    if (s->num_rocks == 0) {
        if (++s->wave == (int32_t)env->args[WAVES]) return true;
        start_wave(env, s);
    }
    if (s->ghost || touching(s, s->x, s->y, SHIP) < 0) return false;
    env->rewards[0] += (float)env->args[REWARD_HIT];
    start_life(s);
    return --s->lives == 0;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t action = *(const int32_t *)env->actions, frames = (int32_t)env->args[FRAMESKIP];
    for (int32_t frame = 0; frame < frames && !env->terminals[0]; frame++)
        env->terminals[0] = tick(env, s, action);
    double *log = puffer_log(env, 0);
    log[0] = s->score;
    log[1] = s->score / (POINTS_OF_LARGE * env->args[ROCKS] * env->args[WAVES]);
    log[2] = s->wave;
    observe(env, s);
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    *out++ = s->x;
    *out++ = s->y;
    *out++ = (float)s->nose / TURN;
    *out++ = (float)s->ghost;
    *out++ = s->thrusts;
    *out++ = (float)s->lives;
    *out++ = (float)s->wave;
    for (int32_t i = 0; i < SLOTS; i++) {
        const bool there = i < s->num_rocks;
        *out++ = s->xs[i];
        *out++ = s->ys[i];
        *out++ = there ? s->radii[i] : 0;
        *out++ = s->vxs[i] + 7 * s->vys[i]; /* tells rocks apart */
    }
    for (int32_t i = 0; i < SHOTS; i++) {
        *out++ = i < s->num_shots ? s->shots[i].x : -1;
        *out++ = s->shots[i].y;
    }
}

#define PUFFER_NAME "asteroids"
#include "puffer_harness.h"
