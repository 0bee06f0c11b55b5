/* Lander: a craft with two legs must come to rest on a pad between hills.
 *
 * Metres, seconds, kilograms; x to the right, y up, angles counterclockwise; a step is 1/20 s. The
 * craft is a rigid body of 1 kg: a hull of 1 m x 0.8 m and feet 0.7 m below and 0.8 m beside its
 * centre, which are springs with friction against the ground. The ground is a line over 11 points
 * 2 m apart from x = -10 on; the middle three are the pad, at height 0. The main engine pushes
 * along the craft's axis, the side engine across it and turns it. A steady wind is drawn each
 * episode. The episode ends when the hull touches the ground, a foot hits it faster than
 * `max_impact`, the craft leaves |x| <= 10 or y <= 14 (a crash, all of them), or when it has rested
 * on both feet for a quarter of a second. Observation: position / 10, velocity / 10, sine and
 * cosine of the angle, angular velocity / 5, left and right foot on the ground (0 or 1), height of
 * the centre above the ground below it / 10, wind / 5; all cut to [-2, 2]. Actions: 4 choices:
 * none, turn left, main engine, turn right; or, `actions = continuous`, two floats: main engine
 * from 0 to 1 (off below 0), side engine from -1 to 1 (turns right). Reward: `reward_shaping` times
 * the decrease of distance from the pad / 10 + speed / 5 + tilt - 0.2 for each foot on the ground,
 * less `fuel_cost` for each second of full thrust of the main engine (a quarter of it for the side
 * engine), `reward_crash`, and `reward_landing` for rest with both feet on the pad. score: 1 for
 * that, less 1/20 for each second of full thrust, at least 0; 0 for all else. perf: 1 for rest on
 * the pad, else 0. */
#include "puffer_env.h"

#include <math.h>

#define STEP 0.05f
#define EDGE 10.0f /* of the field to each side */
#define CEILING 14.0f
#define POINTS 11
#define SPACING 2.0f
#define PAD 2.0f /* half its width */
#define HALF_HULL 0.5f
#define HULL_TOP 0.5f
#define HULL_BOTTOM (-0.3f)
#define FOOT_X 0.8f
#define FOOT_Y (-0.7f)
#define INERTIA 0.4f    /* kg m^2 */
#define STIFFNESS 100.f /* N / m, of a foot */
#define DAMPING 6.0f    /* N s / m */
#define DRAG 2.0f       /* N s / m, of a foot along the ground */
#define FRICTION 0.8f   /* of the pressure: the highest drag */
#define MAX_SPIN 5.0f
#define CALM 0.3f /* speed and angular velocity of a craft at rest, at most */
#define REST 5    /* steps */
#define OBS 11

enum {
    ACTIONS,
    GRAVITY,
    MAIN_THRUST,
    SIDE_THRUST,
    ROUGHNESS,
    WIND,
    START_SPEED,
    MAX_IMPACT,
    MAX_STEPS,
    REWARD_LANDING,
    REWARD_CRASH,
    REWARD_SHAPING,
    FUEL_COST
};

static const puffer_arg ARGS[] = {
    PUFFER_ENUM("actions", 0, "discrete|continuous", "four choices, or two throttles"),
    PUFFER_FLOAT("gravity", 3, 0.5, 10, "metres a second squared"),
    PUFFER_FLOAT("main_thrust", 8, 1, 30, "of the main engine, newtons"),
    PUFFER_FLOAT("side_thrust", 1, 0.1, 5, "of the side engine, newtons, 0.6 m above the centre"),
    PUFFER_FLOAT("roughness", 1.5, 0, 4, "height of the highest hills, metres"),
    PUFFER_FLOAT("wind", 0.5, 0, 5, "strongest push of the wind to either side, newtons"),
    PUFFER_FLOAT("start_speed", 2, 0, 5, "highest at the start in x and y, metres a second"),
    PUFFER_FLOAT("max_impact", 2.5, 0.5, 10, "of a foot on the ground, metres a second"),
    PUFFER_INT("max_steps", 400, 1, 1e9, "truncate an episode of so many steps"),
    PUFFER_FLOAT("reward_landing", 1, 0, 10, "reward for rest on the pad"),
    PUFFER_FLOAT("reward_crash", -0.5, -10, 0, "reward for a crash"),
    PUFFER_FLOAT("reward_shaping", 1, 0, 10, "reward for coming near, slow and upright"),
    PUFFER_FLOAT("fuel_cost", 0.1, 0, 1, "reward that a second of full thrust costs"),
};

static const char *const LOG_FIELDS[] = {"score", "perf", "crashed", "fuel"};

typedef struct {
    float x, y; /* of the centre */
    float vx, vy;
    float sine, cosine; /* of the angle */
    float spin;         /* radians a second */
    float wind;
    float fuel;      /* seconds of full thrust */
    float potential; /* what the shaping reward lowers */
    float main, side;
    float ground[POINTS];
    int32_t rest;    /* steps */
    uint8_t feet[2]; /* on the ground */
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, -2, 2);
    spec->obs_shape[0] = OBS;
    if (args[ACTIONS] != 0)
        puffer_continuous(spec, 2, -1, 1);
    else
        puffer_discrete(spec, 4);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 9 + POINTS;
    return NULL;
}

/* Height of the ground at x. */
PUFFER_FN float ground_at(const State *s, float x) {
    const float at = puffer_clamp((x + EDGE) / SPACING, 0, POINTS - 1.001f);
    const int32_t i = (int32_t)at;
    return s->ground[i] + (at - (float)i) * (s->ground[i + 1] - s->ground[i]);
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    float *obs = (float *)env->observations;
    const float values[OBS] = {s->x / 10,         s->y / 10,
                               s->vx / 10,        s->vy / 10,
                               s->sine,           s->cosine,
                               s->spin / 5,       (float)s->feet[0],
                               (float)s->feet[1], (s->y - ground_at(s, s->x)) / 10,
                               s->wind / 5};
    for (int i = 0; i < OBS; i++) obs[i] = puffer_clamp(values[i], -2, 2);
}

/* The tilt is the sine of half the angle. */
PUFFER_FN float potential(const State *s) {
    const float height = s->y + FOOT_Y; /* upright on the pad: 0 */
    return sqrtf(s->x * s->x + height * height) / 10 + sqrtf(s->vx * s->vx + s->vy * s->vy) / 5 +
           sqrtf(fmaxf(0, (1 - s->cosine) / 2)) - 0.2f * (float)(s->feet[0] + s->feet[1]);
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const float speed = (float)env->args[START_SPEED], wind = (float)env->args[WIND];
    for (int i = 0; i < POINTS; i++) {
        const bool pad = i >= POINTS / 2 - 1 && i <= POINTS / 2 + 1;
        s->ground[i] = pad ? 0 : puffer_uniform(&env->rng, 0, (float)env->args[ROUGHNESS]);
    }
    s->x = puffer_uniform(&env->rng, -6, 6);
    s->y = puffer_uniform(&env->rng, 9, 11);
    s->vx = puffer_uniform(&env->rng, -speed, speed);
    s->vy = puffer_uniform(&env->rng, -speed, 0);
    s->sine = puffer_uniform(&env->rng, -0.3f, 0.3f);
    s->cosine = sqrtf(1 - s->sine * s->sine);
    s->spin = puffer_uniform(&env->rng, -0.5f, 0.5f);
    s->wind = puffer_uniform(&env->rng, -wind, wind);
    s->fuel = s->main = s->side = 0;
    s->rest = s->feet[0] = s->feet[1] = 0;
    s->potential = potential(s);
    observe(env, s);
}

/* Forces on the craft, and their torque about its centre. */
typedef struct {
    float x, y, torque;
} Forces;

/* Turn a point of the craft into the world, relative to its centre. */
PUFFER_FN float turned_x(const State *s, float x, float y) {
    return s->cosine * x - s->sine * y;
}

PUFFER_FN float turned_y(const State *s, float x, float y) {
    return s->sine * x + s->cosine * y;
}

PUFFER_FN void read_engines(const puffer_env *env, State *s) {
    if (env->spec->num_heads) {
        const int32_t action = *(const int32_t *)env->actions;
        s->main = action == 2 ? 1.0f : 0.0f;
        s->side = (float)((action == 3) - (action == 1));
    } else {
        const float *action = (const float *)env->actions;
        s->main = puffer_clamp(action[0], 0, 1);
        s->side = puffer_clamp(action[1], -1, 1);
    }
    s->fuel += STEP * (s->main + fabsf(s->side) / 4);
}

/* A foot's spring pushes up, its friction against its sliding; false: it came down too fast. */
PUFFER_FN bool stand(const puffer_env *env, State *s, int32_t foot, Forces *forces) {
    const float side = foot ? FOOT_X : -FOOT_X;
    const float rx = turned_x(s, side, FOOT_Y), ry = turned_y(s, side, FOOT_Y);
    const float depth = ground_at(s, s->x + rx) - (s->y + ry);
    s->feet[foot] = depth > 0;
    if (depth <= 0) return true;
    const float vx = s->vx - s->spin * ry, vy = s->vy + s->spin * rx;
    const float push = fmaxf(0, STIFFNESS * depth - DAMPING * vy);
    const float rub = puffer_clamp(-DRAG * vx, -FRICTION * push, FRICTION * push);
    forces->x += rub;
    forces->y += push;
    forces->torque += rx * push - ry * rub;
    return vy >= -(float)env->args[MAX_IMPACT];
}

/* Semi-implicit Euler; the turn is exact in length: (1 + it) / (1 - it) with t half the angle. */
PUFFER_FN void move(State *s, const Forces *forces) {
    s->vx += STEP * forces->x;
    s->vy += STEP * forces->y;
    s->spin = puffer_clamp(s->spin + STEP * forces->torque / INERTIA, -MAX_SPIN, MAX_SPIN);
    s->x += STEP * s->vx;
    s->y += STEP * s->vy;
    const float t = STEP * s->spin / 2, scale = 1 / (1 + t * t);
    const float c = (1 - t * t) * scale, n = 2 * t * scale, cosine = s->cosine;
    s->cosine = c * cosine - n * s->sine;
    s->sine = c * s->sine + n * cosine;
    /* rounding must not add up: one step of Newton's towards length 1 */
    const float length = 1.5f - (s->cosine * s->cosine + s->sine * s->sine) / 2;
    s->cosine *= length;
    s->sine *= length;
}

/* Out of the field, or a corner of the hull in the ground. */
PUFFER_FN bool wrecked(const puffer_env *env, const State *s) {
    if (fabsf(s->x) > EDGE || s->y > CEILING) return true;
    if (s->y > (float)env->args[ROUGHNESS] + 1) return false;
    for (int corner = 0; corner < 4; corner++) {
        const float x = corner & 1 ? HALF_HULL : -HALF_HULL,
                    y = corner & 2 ? HULL_TOP : HULL_BOTTOM;
        if (s->y + turned_y(s, x, y) < ground_at(s, s->x + turned_x(s, x, y))) return true;
    }
    return false;
}

PUFFER_FN bool rests(State *s) {
    const bool calm = s->feet[0] && s->feet[1] && fabsf(s->vx) < CALM && fabsf(s->vy) < CALM &&
                      fabsf(s->spin) < CALM;
    s->rest = calm ? s->rest + 1 : 0;
    return s->rest >= REST;
}

PUFFER_FN void finish(puffer_env *env, const State *s, bool crashed) {
    const float reach = fabsf(s->x) + fabsf(turned_x(s, FOOT_X, 0)) + fabsf(turned_x(s, 0, FOOT_Y));
    const bool landed = !crashed && reach <= PAD;
    env->terminals[0] = true;
    if (crashed) env->rewards[0] += (float)env->args[REWARD_CRASH];
    if (landed) env->rewards[0] += (float)env->args[REWARD_LANDING];
    double *log = puffer_log(env, 0);
    log[0] = landed ? fmax(0, 1 - (double)s->fuel / 20) : 0;
    log[1] = landed;
    log[2] = crashed;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const float burnt = s->fuel, before = s->potential;
    const float thrust = (float)env->args[MAIN_THRUST], turn = (float)env->args[SIDE_THRUST];
    double *log = puffer_log(env, 0);
    read_engines(env, s);
    Forces forces = {s->wind, -(float)env->args[GRAVITY], 0};
    forces.x += turned_x(s, turn * s->side, thrust * s->main);
    forces.y += turned_y(s, turn * s->side, thrust * s->main);
    forces.torque -= 0.6f * turn * s->side;
    bool crashed = false;
    for (int32_t foot = 0; foot < 2; foot++) crashed |= !stand(env, s, foot, &forces);
    move(s, &forces);
    crashed |= wrecked(env, s);
    s->potential = potential(s);
    env->rewards[0] = (float)env->args[REWARD_SHAPING] * (before - s->potential) -
                      (float)env->args[FUEL_COST] * (s->fuel - burnt);
    log[0] = log[1] = log[2] = 0;
    log[3] = (double)s->fuel;
    if (crashed || rests(s)) finish(env, s, crashed);
    observe(env, s);
}

/* Centre, angle, engines, feet, whether it touches, and the ground. */
static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    const float values[9] = {s->x,    s->y,    s->sine,           s->cosine,        s->main,
                             s->side, s->wind, (float)s->feet[0], (float)s->feet[1]};
    for (int i = 0; i < 9; i++) out[i] = values[i];
    for (int i = 0; i < POINTS; i++) out[9 + i] = s->ground[i];
}

#define PUFFER_NAME "lander"
#include "puffer_harness.h"
