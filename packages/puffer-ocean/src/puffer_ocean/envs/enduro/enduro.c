/* Enduro: overtake so many cars a day on a winding road.
 *
 * Lengths in pixels, time in ticks; a step is `frameskip` ticks. The road is 120 wide, x = 0 its
 * middle; cars are 16 by 24. The driver's speed goes up by 0.04 a tick with the throttle, to 10,
 * and down by 0.2 with the brake; at full speed steering moves 2 a tick, and a curve of -1 to 1,
 * drawn anew every 100 to 300 ticks, pushes outwards by 1.5; both in proportion to the speed. At
 * the edge, x = +-52, a tick costs 3 % of the speed. The others drive at `traffic_speed` in three
 * lanes, one behind the other, 0.6 to 1.4 `spacing` apart; one that comes from behind changes its
 * lane. A driver who runs into one is left with a quarter of its speed and without control for 16
 * ticks. A day has `day_steps` steps and a quota: `quota` cars on the first, `quota_growth` more on
 * each next; being overtaken counts against it. The episode ends when a quota is missed, and after
 * `days`. Observation, 19 numbers in [-1, 1]: x / 60, speed / 10, curve, the curve that it turns
 * into, share of the day left, share of the quota left, share of the days left, and of the next 6
 * cars (from one that is alongside on) x from the driver's / 120 and 1 - distance / 800. Actions:
 * steering (none, left, right) + 3 pedal (none, throttle, brake). Reward: `reward_pass` for a car
 * overtaken, its negative for the reverse, `reward_crash`, `reward_day` for a quota at the day's
 * end, `reward_miss`. score: cars overtaken. perf: cars within the quotas / quotas of all days. */
#include "puffer_env.h"

#define CARS 8 /* a power of two */
#define SEEN 6
#define SCALARS 7
#define ROAD 60.0f /* half of it */
#define EDGE 52.0f
#define LANE 36.0f
#define CAR 16.0f
#define CAR_LENGTH 24.0f
#define TOP_SPEED 10.0f
#define THROTTLE 0.04f
#define BRAKE 0.2f
#define STEERING 2.0f
#define PUSH 1.5f
#define GRASS 0.97f
#define STUN 16
#define BEHIND 40.0f
#define SIGHT 800.0f
#define LAP 720.0f

enum {
    FRAMESKIP,
    DAYS,
    DAY_STEPS,
    QUOTA,
    QUOTA_GROWTH,
    TRAFFIC,
    SPACING,
    CURVES,
    REWARD_PASS,
    REWARD_CRASH,
    REWARD_DAY,
    REWARD_MISS
};

static const puffer_arg ARGS[] = {
    PUFFER_INT("frameskip", 4, 1, 16, "ticks in one step"),
    PUFFER_INT("days", 5, 1, 100, "days to win"),
    PUFFER_INT("day_steps", 250, 10, 1e6, "steps of a day"),
    PUFFER_INT("quota", 24, 1, 10000, "cars to overtake on the first day"),
    PUFFER_INT("quota_growth", 4, 0, 1000, "more on each next day"),
    PUFFER_FLOAT("traffic_speed", 4, 1, 8, "of the other cars, pixels a tick"),
    PUFFER_FLOAT("spacing", 100, 60, 300, "mean distance of the other cars"),
    PUFFER_FLOAT("curves", 1, 0, 1, "the sharpest curve"),
    PUFFER_FLOAT("reward_pass", 0.1, 0, 1, "reward for a car overtaken"),
    PUFFER_FLOAT("reward_crash", -0.2, -1, 0, "reward for running into a car"),
    PUFFER_FLOAT("reward_day", 0.5, 0, 1, "reward for a quota at the end of a day"),
    PUFFER_FLOAT("reward_miss", -1, -1, 0, "reward for a missed quota"),
};

static const char *const LOG_FIELDS[] = {"score", "perf", "days", "crashes"};

typedef struct {
    float ways[CARS];  /* how far ahead; a ring, farther and farther from `rear` on */
    float xs[CARS];    /* middles */
    float lanes[CARS]; /* middles of the lanes that they are in or change to */
    float x, speed;
    float curve, next_curve;
    float driven; /* modulo LAP, for the picture */
    int32_t rear;
    int32_t curve_ticks; /* until the next one is drawn */
    int32_t stun;        /* ticks left */
    int32_t day;         /* days done */
    int32_t steps;       /* of this day */
    int32_t passed;      /* cars on this day */
    int32_t quota;       /* of this day */
    int32_t counted;     /* cars within the quotas of the days before */
    int32_t score;
    int32_t crashes;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    (void)args;
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = SCALARS + 2 * SEEN;
    puffer_discrete(spec, 9);
    spec->render_size = 10 + 2 * CARS;
    return NULL;
}

PUFFER_FN float clip(float x) {
    return puffer_clamp(x, -1, 1);
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    float *obs = (float *)env->observations;
    obs[0] = s->x / ROAD;
    obs[1] = s->speed / TOP_SPEED;
    obs[2] = s->curve;
    obs[3] = s->next_curve;
    obs[4] = 1 - (float)s->steps / (float)env->args[DAY_STEPS];
    obs[5] = clip(1 - (float)s->passed / (float)s->quota);
    obs[6] = 1 - (float)s->day / (float)env->args[DAYS];
    int32_t first = s->rear;
    for (int k = 0; k < CARS - SEEN; k++) first += s->ways[first & (CARS - 1)] <= -CAR_LENGTH;
    for (int32_t k = 0; k < SEEN; k++) {
        const int32_t i = (first + k) & (CARS - 1);
        obs[SCALARS + 2 * k] = (s->xs[i] - s->x) / (2 * ROAD);
        obs[SCALARS + 2 * k + 1] = clip(1 - s->ways[i] / SIGHT);
    }
}

/* Car i joins the others at a place, in any lane. */
PUFFER_FN void join(puffer_env *env, State *s, int32_t i, float way) {
    s->ways[i] = way;
    s->xs[i] = s->lanes[i] = LANE * (float)(puffer_randint(&env->rng, 3) - 1);
}

PUFFER_FN float gap(puffer_env *env) {
    return (float)env->args[SPACING] * puffer_uniform(&env->rng, 0.6f, 1.4f);
}

PUFFER_FN void start_day(const puffer_env *env, State *s) {
    s->steps = 0;
    s->passed = 0;
    s->quota = (int32_t)(env->args[QUOTA] + s->day * env->args[QUOTA_GROWTH]);
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->x = s->speed = s->curve = s->next_curve = s->driven = 0;
    s->rear = s->curve_ticks = s->stun = s->day = s->counted = s->score = s->crashes = 0;
    start_day(env, s);
    float way = -2 * BEHIND;
    for (int32_t i = 0; i < CARS; i++) {
        join(env, s, i, way);
        way = (i ? way : BEHIND) + gap(env); /* the driver starts in a gap */
    }
    observe(env, s);
}

/* The last car goes to the front when it is out of sight behind, and the reverse. */
PUFFER_FN void circulate(puffer_env *env, State *s) {
    const int32_t rear = s->rear, front = (rear + CARS - 1) & (CARS - 1);
    if (s->ways[(rear + 1) & (CARS - 1)] < -BEHIND) {
        join(env, s, rear, s->ways[front] + gap(env));
        s->rear = (rear + 1) & (CARS - 1);
    } else if (s->ways[rear] > -BEHIND) {
        join(env, s, front, s->ways[rear] - gap(env));
        s->rear = front;
    }
}

PUFFER_FN void wind(puffer_env *env, State *s) {
    if (s->curve_ticks-- == 0) {
        const float sharpest = (float)env->args[CURVES];
        s->next_curve = puffer_uniform(&env->rng, -sharpest, sharpest);
        s->curve_ticks = 100 + puffer_randint(&env->rng, 201);
    }
    s->curve += 0.02f * (s->next_curve - s->curve);
}

PUFFER_TABLE float WHEEL[] = {0, -STEERING, STEERING};
PUFFER_TABLE float PEDALS[] = {0, THROTTLE, -BRAKE};

PUFFER_FN void drive(State *s, int32_t action) {
    const bool helpless = s->stun > 0;
    s->stun -= helpless;
    const float speed = s->speed + (helpless ? 0 : PEDALS[action / 3]);
    s->speed = speed < 0 ? 0 : speed > TOP_SPEED ? TOP_SPEED : speed;
    const float sideways = helpless ? 0 : WHEEL[action % 3] - PUSH * s->curve;
    const float x = s->x + sideways * s->speed / TOP_SPEED;
    s->x = x < -EDGE ? -EDGE : x > EDGE ? EDGE : x;
    if (x != s->x) s->speed *= GRASS;
    s->driven += s->driven + s->speed < LAP ? s->speed : s->speed - LAP;
}

/* Cars that come from behind leave the driver's way. */
PUFFER_FN void give_way(State *s) {
    for (int i = 0; i < CARS; i++) {
        const float dx = s->lanes[i] - s->x;
        if (s->ways[i] >= 0 || s->ways[i] < -4 * BEHIND || dx < -CAR || dx > CAR) continue;
        s->lanes[i] = s->lanes[i] != 0 ? 0 : s->x > 0 ? -LANE : LANE;
    }
}

/* The others, seen from the driver: how many are overtaken, less those that overtake. */
PUFFER_FN int32_t approach(State *s, float by) {
    int32_t passed = 0;
    for (int i = 0; i < CARS; i++) {
        const float way = s->ways[i] - by, aside = s->lanes[i] - s->xs[i];
        passed += (s->ways[i] >= 0) - (way >= 0);
        s->ways[i] = way;
        s->xs[i] += aside > 1 ? 1 : aside < -1 ? -1 : aside;
    }
    return passed;
}

PUFFER_FN bool runs_into(const State *s) {
    int32_t touching = 0;
    for (int i = 0; i < CARS; i++) {
        const float dx = s->xs[i] - s->x, way = s->ways[i];
        touching += (dx > -CAR) & (dx < CAR) & (way >= 0) & (way < CAR_LENGTH);
    }
    return touching > 0;
}

PUFFER_FN void tick(puffer_env *env, State *s, int32_t action) {
    const float traffic = (float)env->args[TRAFFIC];
    wind(env, s);
    drive(s, action);
    if (s->speed < traffic) give_way(s);
    const int32_t passed = approach(s, s->speed - traffic);
    s->passed += passed;
    s->score += passed;
    env->rewards[0] += (float)env->args[REWARD_PASS] * (float)passed;
    if (!s->stun && s->speed > traffic && runs_into(s)) {
        s->speed = traffic / 4;
        s->stun = STUN;
        s->crashes++;
        env->rewards[0] += (float)env->args[REWARD_CRASH];
    }
    circulate(env, s);
}

PUFFER_FN void report(const puffer_env *env, const State *s) {
    const double days = env->args[DAYS];
    const double all = days * (env->args[QUOTA] + env->args[QUOTA_GROWTH] * (days - 1) / 2);
    double *log = puffer_log(env, 0);
    log[0] = s->score;
    log[1] = s->counted / all;
    log[2] = s->day;
    log[3] = s->crashes;
}

PUFFER_FN void end_day(puffer_env *env, State *s) {
    const bool reached = s->passed >= s->quota;
    s->counted += reached ? s->quota : s->passed > 0 ? s->passed : 0;
    s->day += reached;
    env->rewards[0] += (float)env->args[reached ? REWARD_DAY : REWARD_MISS];
    env->terminals[0] = !reached || s->day == (int32_t)env->args[DAYS];
    if (env->terminals[0])
        report(env, s);
    else
        start_day(env, s);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t action = *(const int32_t *)env->actions, frames = (int32_t)env->args[FRAMESKIP];
    for (int32_t frame = 0; frame < frames; frame++) tick(env, s, action);
    if (++s->steps >= (int32_t)env->args[DAY_STEPS]) end_day(env, s);
    observe(env, s);
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    *out++ = s->x;
    *out++ = s->speed;
    *out++ = s->curve;
    *out++ = (float)s->stun;
    *out++ = (float)s->day;
    *out++ = (float)s->steps;
    *out++ = (float)s->passed;
    *out++ = (float)s->quota;
    *out++ = (float)s->score;
    *out++ = s->driven;
    for (int32_t i = 0; i < CARS; i++) {
        *out++ = s->xs[i];
        *out++ = s->ways[i];
    }
}

#define PUFFER_NAME "enduro"
#include "puffer_harness.h"
