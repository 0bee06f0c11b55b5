/* Drone: quadrotors hover at points in the air, or race through gates.
 *
 * SI units; x and y level, z up; a step is 1/50 s. A drone is a rigid body with four motors at the
 * corners of a square: 0 front right, 1 front left, 2 rear left, 3 rear right, the front being its
 * x axis, the left its y axis. A motor's thrust follows its command with the time constant
 * `motor_lag`; unequal thrusts turn the drone, the drag of air slows it. Drones do not touch each
 * other. One that leaves |x|, |y| <= 12, 0 <= z <= 12 has crashed and begins again at once, while
 * the others fly on. `task = hover`: each drone has a point of its own. `task = race`: the world
 * has one ring of `num_gates` gates; a drone begins before any of them and flies through each in
 * their order, in the direction of the ring, which finishes its episode.
 *
 * Observation, all in the drone's own axes: way to the target (point or gate) / 5, velocity / 5,
 * the direction up, angular velocity / 10, axis of the gate (0 without), way to the target after
 * it / 5 (the same point in hover), thrusts of the motors from 0 to 1. Actions: four floats, the
 * commands of the motors, -1 off to 1 full. Reward: `reward_progress` times the metres that the
 * target came nearer, `reward_crash`; hover: `reward_hover` / (1 + (2 x distance)^2); race:
 * `reward_gate` for each. score: seconds within 0.3 m of the point, or gates passed. perf: hover:
 * share of the second half of `max_steps` spent there; race: share of the gates passed. */
#include "puffer_env.h"

#include <math.h>
#include <string.h>

#define STEP 0.02f
#define GRAVITY 9.81f
#define SIDE 12.0f /* of the space: |x|, |y| at most */
#define CEILING 12.0f
#define NEAR 0.3f
#define SPIN_DRAG 3.0f /* of angular velocity, 1 / s */
#define YAW 0.25f      /* share of `agility` */
#define GYRO 0.8f      /* inertia about z less that about x and y, as a share of the latter */
#define MAX_DRONES 64
#define MAX_GATES 16
#define LANES 8 /* drones that are computed side by side */
#define OBS 22
#define TWO_PI 6.2831853f

enum {
    TASK,
    NUM_DRONES,
    NUM_GATES,
    GATE_RADIUS,
    THRUST_TO_WEIGHT,
    AGILITY,
    MOTOR_LAG,
    DRAG,
    MAX_STEPS,
    REWARD_PROGRESS,
    REWARD_CRASH,
    REWARD_HOVER,
    REWARD_GATE
};
enum { HOVER, RACE };

static const puffer_arg ARGS[] = {
    PUFFER_ENUM("task", 1, "hover|race", "stay at a point, or fly through gates"),
    PUFFER_INT("num_drones", 16, 1, MAX_DRONES, "agents"),
    PUFFER_INT("num_gates", 10, 4, MAX_GATES, "of a race"),
    PUFFER_FLOAT("gate_radius", 0.8, 0.2, 2, "metres"),
    PUFFER_FLOAT("thrust_to_weight", 2, 1.2, 5, "thrust of all motors in weights of the drone"),
    PUFFER_FLOAT("agility", 25, 5, 100, "angular acceleration of two motors against two, 1 / s^2"),
    PUFFER_FLOAT("motor_lag", 0.05, 0.02, 0.5, "seconds"),
    PUFFER_FLOAT("drag", 0.3, 0, 2, "deceleration for each metre a second, 1 / s"),
    PUFFER_INT("max_steps", 600, 2, 1e9, "truncate an episode of so many steps"),
    PUFFER_FLOAT("reward_progress", 0.2, 0, 10, "reward for a metre nearer to the target"),
    PUFFER_FLOAT("reward_crash", -1, -10, 0, "reward for leaving the space"),
    PUFFER_FLOAT("reward_hover", 0.05, 0, 1, "reward for a step at the point"),
    PUFFER_FLOAT("reward_gate", 0.5, 0, 10, "reward for a gate"),
};

static const char *const LOG_FIELDS[] = {"score", "perf", "crashed"};

typedef struct {
    float x, y, z;    /* of the middle */
    float nx, ny, nz; /* axis, in the direction of flight */
} Gate;

/* LANES drones by columns, so that the compiler computes them side by side. */
typedef struct {
    float x[LANES], y[LANES], z[LANES];
    float vx[LANES], vy[LANES], vz[LANES];
    float qw[LANES], qx[LANES], qy[LANES], qz[LANES]; /* from own axes */
    float wx[LANES], wy[LANES], wz[LANES];            /* angular velocity, own axes */
    float motors[4][LANES];                           /* thrusts, 0 to 1 */
    float tx[LANES], ty[LANES], tz[LANES];            /* target */
    float nx[LANES], ny[LANES], nz[LANES];            /* its axis */
    float ux[LANES], uy[LANES], uz[LANES];            /* the target after it */
    float distance[LANES];                            /* to the target */
    float ahead[LANES];                               /* of the gate's plane; negative: before */
    int32_t ticks[LANES];
    int32_t passed[LANES]; /* gates, or steps near the point */
    int32_t late[LANES];   /* steps near the point in the second half */
    int32_t gate[LANES];   /* number of the next */
} Flock;

typedef struct {
    Flock flocks[MAX_DRONES / LANES];
    Gate gates[MAX_GATES];
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, 0, 0);
    spec->obs_shape[0] = OBS;
    spec->num_agents = (int32_t)args[NUM_DRONES];
    puffer_continuous(spec, 4, -1, 1);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 6 * MAX_GATES + 10 * (int32_t)args[NUM_DRONES];
    return NULL;
}

/* Observations of the flock whose drones are `first` and the next, as far as they exist. */
PUFFER_FN void observe(const puffer_env *env, const State *s, int32_t first) {
    const Flock *f = &s->flocks[first / LANES];
    float columns[OBS][LANES];
    for (int32_t lane = 0; lane < LANES; lane++) {
        const float w = f->qw[lane], x = f->qx[lane], y = f->qy[lane], z = f->qz[lane];
        /* rows: the own axes in the world */
        const float fx = 1 - 2 * (y * y + z * z), fy = 2 * (x * y + w * z),
                    fz = 2 * (x * z - w * y);
        const float lx = 2 * (x * y - w * z), ly = 1 - 2 * (x * x + z * z),
                    lz = 2 * (y * z + w * x);
        const float rx = 2 * (x * z + w * y), ry = 2 * (y * z - w * x),
                    rz = 1 - 2 * (x * x + y * y);
        const float dx = 0.2f * (f->tx[lane] - f->x[lane]), dy = 0.2f * (f->ty[lane] - f->y[lane]);
        const float dz = 0.2f * (f->tz[lane] - f->z[lane]);
        const float ex = 0.2f * (f->ux[lane] - f->x[lane]), ey = 0.2f * (f->uy[lane] - f->y[lane]);
        const float ez = 0.2f * (f->uz[lane] - f->z[lane]);
        const float vx = 0.2f * f->vx[lane], vy = 0.2f * f->vy[lane], vz = 0.2f * f->vz[lane];
        const float nx = f->nx[lane], ny = f->ny[lane], nz = f->nz[lane];
        columns[0][lane] = fx * dx + fy * dy + fz * dz;
        columns[1][lane] = lx * dx + ly * dy + lz * dz;
        columns[2][lane] = rx * dx + ry * dy + rz * dz;
        columns[3][lane] = fx * vx + fy * vy + fz * vz;
        columns[4][lane] = lx * vx + ly * vy + lz * vz;
        columns[5][lane] = rx * vx + ry * vy + rz * vz;
        columns[6][lane] = fz;
        columns[7][lane] = lz;
        columns[8][lane] = rz;
        columns[9][lane] = 0.1f * f->wx[lane];
        columns[10][lane] = 0.1f * f->wy[lane];
        columns[11][lane] = 0.1f * f->wz[lane];
        columns[12][lane] = fx * nx + fy * ny + fz * nz;
        columns[13][lane] = lx * nx + ly * ny + lz * nz;
        columns[14][lane] = rx * nx + ry * ny + rz * nz;
        columns[15][lane] = fx * ex + fy * ey + fz * ez;
        columns[16][lane] = lx * ex + ly * ey + lz * ez;
        columns[17][lane] = rx * ex + ry * ey + rz * ez;
        columns[18][lane] = f->motors[0][lane];
        columns[19][lane] = f->motors[1][lane];
        columns[20][lane] = f->motors[2][lane];
        columns[21][lane] = f->motors[3][lane];
    }
    float *obs = (float *)env->observations + (int64_t)first * OBS;
    const int32_t rest = env->spec->num_agents - first, count = rest < LANES ? rest : LANES;
    for (int32_t lane = 0; lane < count; lane++)
        for (int32_t k = 0; k < OBS; k++) obs[lane * OBS + k] = columns[k][lane];
}

/* Distance from the target, and how far the drone is beyond its plane. */
PUFFER_FN void measure(Flock *f, int32_t lane) {
    const float dx = f->x[lane] - f->tx[lane], dy = f->y[lane] - f->ty[lane],
                dz = f->z[lane] - f->tz[lane];
    f->distance[lane] = sqrtf(dx * dx + dy * dy + dz * dz);
    f->ahead[lane] = dx * f->nx[lane] + dy * f->ny[lane] + dz * f->nz[lane];
}

PUFFER_FN void aim_at_gate(const puffer_env *env, const State *s, Flock *f, int32_t lane) {
    const Gate *gate = &s->gates[f->gate[lane]];
    const Gate *next = &s->gates[(f->gate[lane] + 1) % (int32_t)env->args[NUM_GATES]];
    f->tx[lane] = gate->x, f->ty[lane] = gate->y, f->tz[lane] = gate->z;
    f->nx[lane] = gate->nx, f->ny[lane] = gate->ny, f->nz[lane] = gate->nz;
    f->ux[lane] = next->x, f->uy[lane] = next->y, f->uz[lane] = next->z;
    measure(f, lane);
}

PUFFER_FN void spawn(puffer_env *env, State *s, int32_t i) {
    Flock *f = &s->flocks[i / LANES];
    const int32_t lane = i % LANES;
    uint64_t *rng = &env->rng;
    if ((int32_t)env->args[TASK] == RACE) {
        f->gate[lane] = puffer_randint(rng, (int32_t)env->args[NUM_GATES]);
        const Gate *gate = &s->gates[f->gate[lane]];
        const float way = puffer_uniform(rng, 1.5f, 3);
        f->x[lane] = gate->x - way * gate->nx + puffer_uniform(rng, -0.5f, 0.5f);
        f->y[lane] = gate->y - way * gate->ny + puffer_uniform(rng, -0.5f, 0.5f);
        f->z[lane] = gate->z + puffer_uniform(rng, -0.5f, 0.5f);
        aim_at_gate(env, s, f, lane);
    } else {
        f->x[lane] = puffer_uniform(rng, -5, 5), f->y[lane] = puffer_uniform(rng, -5, 5);
        f->z[lane] = puffer_uniform(rng, 3, 9);
        f->tx[lane] = f->ux[lane] = f->x[lane] + puffer_uniform(rng, -2, 2);
        f->ty[lane] = f->uy[lane] = f->y[lane] + puffer_uniform(rng, -2, 2);
        f->tz[lane] = f->uz[lane] = f->z[lane] + puffer_uniform(rng, -2, 2);
        f->nx[lane] = f->ny[lane] = f->nz[lane] = 0;
        measure(f, lane);
    }
    f->vx[lane] = puffer_uniform(rng, -0.5f, 0.5f), f->vy[lane] = puffer_uniform(rng, -0.5f, 0.5f);
    f->vz[lane] = puffer_uniform(rng, -0.5f, 0.5f);
    f->wx[lane] = f->wy[lane] = f->wz[lane] = 0;
    /* any heading, a small tilt */
    const float heading = puffer_uniform(rng, 0, TWO_PI / 2);
    const float w = cosf(heading), z = sinf(heading);
    const float x = puffer_uniform(rng, -0.1f, 0.1f), y = puffer_uniform(rng, -0.1f, 0.1f);
    const float scale = 1 / sqrtf(1 + x * x + y * y);
    f->qw[lane] = scale * w, f->qx[lane] = scale * x, f->qy[lane] = scale * y,
    f->qz[lane] = scale * z;
    for (int32_t m = 0; m < 4; m++) f->motors[m][lane] = 1 / (float)env->args[THRUST_TO_WEIGHT];
    f->ticks[lane] = f->passed[lane] = f->late[lane] = 0;
}

/* Gates on a ring, each towards the one after it. */
PUFFER_FN void build_course(puffer_env *env, State *s) {
    const int32_t count = (int32_t)env->args[NUM_GATES];
    for (int32_t k = 0; k < count; k++) {
        const float angle = TWO_PI * (float)k / (float)count;
        const float radius = puffer_uniform(&env->rng, 4, 8);
        s->gates[k].x = radius * cosf(angle);
        s->gates[k].y = radius * sinf(angle);
        s->gates[k].z = puffer_uniform(&env->rng, 3, 7);
    }
    for (int32_t k = 0; k < count; k++) {
        Gate *gate = &s->gates[k];
        const Gate *last = &s->gates[(k + count - 1) % count], *next = &s->gates[(k + 1) % count];
        const float x = next->x - last->x, y = next->y - last->y;
        const float length = sqrtf(x * x + y * y); /* at least 4: two sides of a ring */
        gate->nx = x / length, gate->ny = y / length, gate->nz = 0;
    }
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    memset(s, 0, sizeof *s);
    for (int32_t i = 0; i < MAX_DRONES; i++) /* lanes without a drone, too */
        s->flocks[i / LANES].qw[i % LANES] = 1;
    if ((int32_t)env->args[TASK] == RACE) build_course(env, s);
    const int32_t drones = env->spec->num_agents;
    for (int32_t i = 0; i < drones; i++) spawn(env, s, i);
    for (int32_t first = 0; first < drones; first += LANES) observe(env, s, first);
}

PUFFER_FN void reset_agent(puffer_env *env, State *s, int32_t i) {
    spawn(env, s, i);
    observe(env, s, i - i % LANES);
}

/* Semi-implicit Euler of a flock; commands from 0 to 1. */
PUFFER_FN void fly(const puffer_env *env, Flock *f, float command[4][LANES]) {
    const float follow = STEP / (float)env->args[MOTOR_LAG];
    const float lift = STEP * GRAVITY * (float)env->args[THRUST_TO_WEIGHT] / 4;
    const float turn = STEP * (float)env->args[AGILITY] / 2;
    const float slow = 1 - STEP * (float)env->args[DRAG], spin = 1 - STEP * SPIN_DRAG;
    for (int32_t lane = 0; lane < LANES; lane++) {
        const float a = f->motors[0][lane] + follow * (command[0][lane] - f->motors[0][lane]);
        const float b = f->motors[1][lane] + follow * (command[1][lane] - f->motors[1][lane]);
        const float c = f->motors[2][lane] + follow * (command[2][lane] - f->motors[2][lane]);
        const float d = f->motors[3][lane] + follow * (command[3][lane] - f->motors[3][lane]);
        f->motors[0][lane] = a, f->motors[1][lane] = b, f->motors[2][lane] = c,
        f->motors[3][lane] = d;
        const float ox = f->wx[lane], oy = f->wy[lane], oz = f->wz[lane];
        const float wx = spin * ox + turn * (b + c - a - d) - STEP * GYRO * oy * oz;
        const float wy = spin * oy + turn * (c + d - a - b) + STEP * GYRO * ox * oz;
        const float wz = spin * oz + YAW * turn * (a + c - b - d);
        f->wx[lane] = wx, f->wy[lane] = wy, f->wz[lane] = wz;
        /* q + q (0, w) STEP / 2, brought back to length 1 */
        const float hx = STEP / 2 * wx, hy = STEP / 2 * wy, hz = STEP / 2 * wz;
        const float pw = f->qw[lane], px = f->qx[lane], py = f->qy[lane], pz = f->qz[lane];
        const float w = pw - px * hx - py * hy - pz * hz, x = px + pw * hx + py * hz - pz * hy;
        const float y = py + pw * hy + pz * hx - px * hz, z = pz + pw * hz + px * hy - py * hx;
        const float scale = 1 / sqrtf(w * w + x * x + y * y + z * z);
        f->qw[lane] = scale * w, f->qx[lane] = scale * x, f->qy[lane] = scale * y,
        f->qz[lane] = scale * z;
        const float push = lift * (a + b + c + d) * scale * scale;
        f->vx[lane] = slow * f->vx[lane] + push * 2 * (x * z + w * y);
        f->vy[lane] = slow * f->vy[lane] + push * 2 * (y * z - w * x);
        f->vz[lane] = slow * f->vz[lane] + push * (w * w - x * x - y * y + z * z) - STEP * GRAVITY;
        f->x[lane] += STEP * f->vx[lane];
        f->y[lane] += STEP * f->vy[lane];
        f->z[lane] += STEP * f->vz[lane];
    }
}

PUFFER_FN void report(const puffer_env *env, const Flock *f, int32_t lane, double *log) {
    if ((int32_t)env->args[TASK] == RACE) {
        log[0] = f->passed[lane];
        log[1] = f->passed[lane] / env->args[NUM_GATES];
    } else {
        log[0] = f->passed[lane] * (double)STEP;
        log[1] = (double)f->late[lane] / (env->max_steps / 2);
    }
}

/* A drone whose place may have ended something: it is out, or beyond its gate's plane. */
PUFFER_FN void judge(puffer_env *env, State *s, int32_t i, bool crashed, bool crossed) {
    Flock *f = &s->flocks[i / LANES];
    const int32_t lane = i % LANES;
    if (crashed) {
        env->terminals[i] = true;
        env->rewards[i] += (float)env->args[REWARD_CRASH];
    } else if (crossed && f->distance[lane] <= (float)env->args[GATE_RADIUS]) {
        env->rewards[i] += (float)env->args[REWARD_GATE];
        f->gate[lane] = (f->gate[lane] + 1) % (int32_t)env->args[NUM_GATES];
        env->terminals[i] = ++f->passed[lane] == (int32_t)env->args[NUM_GATES];
        aim_at_gate(env, s, f, lane);
    }
    double *log = puffer_log(env, i);
    report(env, f, lane, log);
    log[2] = crashed;
}

/* What the flock's new places bring. */
PUFFER_FN void score(puffer_env *env, State *s, int32_t first, int32_t count) {
    Flock *f = &s->flocks[first / LANES];
    const bool race = (int32_t)env->args[TASK] == RACE;
    const float progress = (float)env->args[REWARD_PROGRESS];
    const float hover = race ? 0 : (float)env->args[REWARD_HOVER];
    const int32_t last = env->max_steps, half = last - last / 2;
    float rewards[LANES];
    int32_t out[LANES], crossed[LANES];
    for (int32_t lane = 0; lane < LANES; lane++) {
        const float before = f->distance[lane], ahead = f->ahead[lane];
        measure(f, lane);
        const float now = f->distance[lane];
        rewards[lane] = progress * (before - now) + hover / (1 + 4 * now * now);
        const int32_t there = !race & (now <= NEAR);
        f->ticks[lane]++;
        f->passed[lane] += there;
        f->late[lane] += there & (f->ticks[lane] > half);
        out[lane] = (fabsf(f->x[lane]) > SIDE) | (fabsf(f->y[lane]) > SIDE) | (f->z[lane] < 0) |
                    (f->z[lane] > CEILING);
        crossed[lane] = race & (ahead < 0) & (f->ahead[lane] >= 0);
    }
    for (int32_t lane = 0; lane < count; lane++) {
        env->rewards[first + lane] = rewards[lane];
        if (out[lane] | crossed[lane] | (f->ticks[lane] >= last))
            judge(env, s, first + lane, out[lane] != 0, crossed[lane] != 0);
    }
}

/* Commands from 0 to 1, by motors; 1/2 in a lane without a drone. One bound a loop: the compiler
 * then needs no jumps. */
PUFFER_FN void read_commands(const float *actions, int32_t count, float command[4][LANES]) {
    float cut[4 * LANES] = {0};
    memcpy(cut, actions, (size_t)(4 * count) * sizeof(float));
    for (int32_t k = 0; k < 4 * LANES; k++) cut[k] = cut[k] < 1 ? cut[k] : 1;
    for (int32_t k = 0; k < 4 * LANES; k++) cut[k] = cut[k] > -1 ? cut[k] : -1;
    for (int32_t lane = 0; lane < LANES; lane++)
        for (int32_t m = 0; m < 4; m++) command[m][lane] = 0.5f + 0.5f * cut[4 * lane + m];
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t drones = env->spec->num_agents;
    for (int32_t first = 0; first < drones; first += LANES) {
        const int32_t count = drones - first < LANES ? drones - first : LANES;
        float command[4][LANES];
        read_commands((const float *)env->actions + 4 * first, count, command);
        fly(env, &s->flocks[first / LANES], command);
        score(env, s, first, count);
        observe(env, s, first);
    }
}

/* Gates (middle, axis; 0 where there is none), then of each drone place, quaternion, target. */
static void render(const puffer_env *env, const State *s, float *out) {
    memcpy(out, s->gates, sizeof s->gates);
    out += 6 * MAX_GATES;
    for (int32_t i = 0; i < env->spec->num_agents; i++, out += 10) {
        const Flock *f = &s->flocks[i / LANES];
        const int32_t lane = i % LANES;
        out[0] = f->x[lane], out[1] = f->y[lane], out[2] = f->z[lane];
        out[3] = f->qw[lane], out[4] = f->qx[lane], out[5] = f->qy[lane], out[6] = f->qz[lane];
        out[7] = f->tx[lane], out[8] = f->ty[lane], out[9] = f->tz[lane];
    }
}

#define PUFFER_RESET_AGENT
#define PUFFER_NAME "drone"
#include "puffer_harness.h"
