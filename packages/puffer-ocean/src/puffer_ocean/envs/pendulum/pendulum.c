/* Pendulum: swing a rod up and hold it there with a weak motor; the dynamics of Gymnasium's
 * Pendulum-v1.
 *
 * Units: metres, kilograms, seconds, radians; the angle is 0 upright and grows counterclockwise.
 * Observation: cosine and sine of the angle, angular velocity. Action: the torque as a share of 2
 * newton metres in [-1, 1]; or, `discrete`, full torque clockwise, none, counterclockwise. Reward:
 * -(angle^2 + 0.1 velocity^2 + 0.001 torque^2). The harness truncates after `max_steps`. score: the
 * mean reward of a step. perf: 0 at -6 (about a random policy), 1 at -0.75 (about the best). */
#include "puffer_env.h"

#include <math.h>

#define PI 3.14159265358979
#define GRAVITY 10.0
#define MAX_TORQUE 2.0
#define MAX_SPEED 8.0
#define STEP 0.05
#define WORST (-6.0)
#define BEST (-0.75)

enum { DISCRETE, MAX_STEPS };

static const puffer_arg ARGS[] = {
    PUFFER_BOOL("discrete", false, "three actions in place of a torque"),
    PUFFER_INT("max_steps", 200, 1, 1e9, "truncate an episode of so many steps"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    double angle; /* in (-pi, pi] */
    double velocity;
    double torque; /* of the last step */
    double total;  /* reward */
    int32_t step;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, -MAX_SPEED, MAX_SPEED);
    spec->obs_shape[0] = 3;
    if (args[DISCRETE] != 0)
        puffer_discrete(spec, 3);
    else
        puffer_continuous(spec, 1, -1, 1);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 2;
    return NULL;
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    float *obs = (float *)env->observations;
    obs[0] = (float)cos(s->angle);
    obs[1] = (float)sin(s->angle);
    obs[2] = (float)s->velocity;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->angle = (double)puffer_uniform(&env->rng, -(float)PI, (float)PI);
    s->velocity = (double)puffer_uniform(&env->rng, -1, 1);
    s->torque = s->total = 0;
    s->step = 0;
    observe(env, s);
}

PUFFER_FN double torque(const puffer_env *env) {
    if (env->spec->num_heads) return MAX_TORQUE * (*(const int32_t *)env->actions - 1);
    return MAX_TORQUE * fmax(-1, fmin(1, (double)*(const float *)env->actions));
}

PUFFER_FN void step(puffer_env *env, State *s) {
    s->torque = torque(env);
    const double cost =
        s->angle * s->angle + 0.1 * s->velocity * s->velocity + 0.001 * s->torque * s->torque;
    const double acceleration = 1.5 * GRAVITY * sin(s->angle) + 3 * s->torque;
    s->velocity = fmax(-MAX_SPEED, fmin(MAX_SPEED, s->velocity + STEP * acceleration));
    s->angle += STEP * s->velocity;
    if (s->angle > PI) s->angle -= 2 * PI;
    if (s->angle <= -PI) s->angle += 2 * PI;
    s->step++;
    s->total -= cost;
    env->rewards[0] = (float)-cost;
    observe(env, s);
    double *log = puffer_log(env, 0);
    log[0] = s->total / s->step;
    log[1] = fmax(0, fmin(1, (log[0] - WORST) / (BEST - WORST)));
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    out[0] = (float)s->angle;
    out[1] = (float)(s->torque / MAX_TORQUE);
}

#define PUFFER_NAME "pendulum"
#include "puffer_harness.h"
