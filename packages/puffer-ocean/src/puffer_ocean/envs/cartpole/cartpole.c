/* Cart-pole: keep a pole upright on a cart (Barto, Sutton, Anderson 1983).
 *
 * Units: metres, kilograms, seconds, radians. Observation: cart position and velocity, pole angle
 * and angular velocity. Actions: push left or right with 10 N; or, continuous, the force as a share
 * of 10 N in [-1, 1]. Reward 1 for each step; the episode ends when the cart leaves +-2.4 m or the
 * pole leans more than 12 degrees, and is cut after `max_steps`. */
#include "puffer_env.h"

#include <math.h>

#define PI 3.14159265358979
#define GRAVITY 9.8f
#define CART_MASS 1.0f
#define POLE_MASS 0.1f
#define TOTAL_MASS (CART_MASS + POLE_MASS)
#define POLE_HALF_LENGTH 0.5f
#define POLE_MOMENT (POLE_MASS * POLE_HALF_LENGTH)
#define FORCE 10.0f
#define STEP 0.02f
#define X_LIMIT 2.4f
#define ANGLE_LIMIT ((float)(12 * PI / 180))

enum { CONTINUOUS, MAX_STEPS };

static const puffer_arg ARGS[] = {
    PUFFER_BOOL("continuous", false, "the action is a share of 10 N in [-1, 1]"),
    PUFFER_INT("max_steps", 200, 1, 1e9, "truncate an episode of so many steps"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    float x;
    float x_velocity;
    float angle;
    float angular_velocity;
    int32_t tick;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, 0, 0);
    spec->obs_shape[0] = 4;
    if (args[CONTINUOUS] != 0)
        puffer_continuous(spec, 1, -1, 1);
    else
        puffer_discrete(spec, 2);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 2;
    return NULL;
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    float *obs = (float *)env->observations;
    obs[0] = s->x;
    obs[1] = s->x_velocity;
    obs[2] = s->angle;
    obs[3] = s->angular_velocity;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->x = puffer_uniform(&env->rng, -0.05f, 0.05f);
    s->x_velocity = puffer_uniform(&env->rng, -0.05f, 0.05f);
    s->angle = puffer_uniform(&env->rng, -0.05f, 0.05f);
    s->angular_velocity = puffer_uniform(&env->rng, -0.05f, 0.05f);
    s->tick = 0;
    observe(env, s);
}

PUFFER_FN float force(const puffer_env *env) {
    if (env->spec->num_heads) return FORCE * (float)(2 * *(const int32_t *)env->actions - 1);
    return FORCE * puffer_clamp(*(const float *)env->actions, -1, 1);
}

/* Equations of motion without friction (Florian 2007), one explicit Euler step. */
PUFFER_FN void integrate(State *s, float push) {
    const float sine = puffer_sine(s->angle), cosine = puffer_cosine(s->angle);
    const float swing = POLE_MOMENT * s->angular_velocity * s->angular_velocity;
    const float drive = (push + swing * sine) * (1 / TOTAL_MASS);
    const float angular_acceleration =
        (GRAVITY * sine - cosine * drive) /
        (POLE_HALF_LENGTH * 4.0f / 3.0f - POLE_MOMENT / TOTAL_MASS * cosine * cosine);
    const float acceleration = drive - POLE_MOMENT / TOTAL_MASS * angular_acceleration * cosine;
    s->x += STEP * s->x_velocity;
    s->x_velocity += STEP * acceleration;
    s->angle += STEP * s->angular_velocity;
    s->angular_velocity += STEP * angular_acceleration;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    integrate(s, force(env));
    s->tick++;
    env->rewards[0] = 1;
    env->terminals[0] = (fabsf(s->x) > X_LIMIT) | (fabsf(s->angle) > ANGLE_LIMIT);
    observe(env, s);
    if (env->terminals[0] | (s->tick >= env->max_steps)) {
        double *log = puffer_log(env, 0);
        log[0] = s->tick;
        log[1] = s->tick / env->args[MAX_STEPS];
    }
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    out[0] = s->x;
    out[1] = s->angle;
}

#define PUFFER_NAME "cartpole"
#include "puffer_harness.h"
