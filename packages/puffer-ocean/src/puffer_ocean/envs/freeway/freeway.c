/* Freeway: walk across ten lanes of cars, again and again, until the time is over.
 *
 * Lengths in pixels, time in ticks; a step is `frameskip` ticks. The road is 640 wide, its ten
 * lanes are 32 high. The walker, 16 by 16, starts on the pavement below (y = 0, upwards, its lower
 * edge; the lanes begin at 16) and walks 2 pixels a tick; at y = 336, above the lanes, it has
 * crossed and starts anew. One car, 48 by 24, drives in each lane, in the lower five to the right
 * and in the upper five to the left, and round again; its speed, between 1 and `max_speed`, is
 * drawn for each episode. A car that hits the walker throws it back by 40 pixels, for 16 ticks in
 * which it neither walks nor can be hit. Observation: 22 numbers in [-1, 1]: y / 336, 1 while it is
 * thrown back; then of each lane, from the lowest, how far the car's front is from the walker's
 * near side / 640 (negative: beyond it by so much, until the car is past), and its speed / 8.
 * Actions: stay, up, down. Reward 1 for a crossing, `reward_lane` for each lane that this crossing
 * enters first. score: crossings. perf: score / crossings that an empty road allows. */
#include "puffer_env.h"

#define LANES 10
#define LANE 32.0f
#define WIDTH 640.0f
#define CAR 48.0f
#define CAR_HEIGHT 24.0f
#define WALKER 16.0f
#define TOP (LANE * LANES + WALKER)
#define WALK 2.0f
#define THROW 40.0f
#define STUN 16
#define TOP_SPEED 8.0

enum { FRAMESKIP, MAX_SPEED, MAX_STEPS, REWARD_LANE };

static const puffer_arg ARGS[] = {
    PUFFER_INT("frameskip", 4, 1, 16, "ticks in one step"),
    PUFFER_FLOAT("max_speed", 5, 1, TOP_SPEED, "of the fastest cars, pixels a tick"),
    PUFFER_INT("max_steps", 512, 168, 1e6, "steps of an episode"),
    PUFFER_FLOAT("reward_lane", 0.05, 0, 1, "reward for each new lane"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    float y;
    float ways[LANES]; /* of each car's front to the walker, up to WIDTH; negative: beyond */
    float speeds[LANES];
    int32_t stun;  /* ticks left */
    int32_t lanes; /* entered in this crossing */
    int32_t score;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = 2 + 2 * LANES;
    puffer_discrete(spec, 3);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 3 + LANES;
    return NULL;
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    float *obs = (float *)env->observations;
    obs[0] = s->y / TOP;
    obs[1] = s->stun > 0;
    for (int i = 0; i < LANES; i++) obs[2 + 2 * i] = s->ways[i] / WIDTH;
}

PUFFER_FN void start_crossing(State *s) {
    s->y = 0;
    s->stun = 0;
    s->lanes = 0;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    float *obs = (float *)env->observations;
    start_crossing(s);
    s->score = 0;
    for (int i = 0; i < LANES; i++) {
        s->ways[i] = puffer_uniform(&env->rng, -(CAR + WALKER), WIDTH - CAR - WALKER);
        s->speeds[i] = puffer_uniform(&env->rng, 1, (float)env->args[MAX_SPEED]);
        obs[3 + 2 * i] = s->speeds[i] / (float)TOP_SPEED;
    }
    observe(env, s);
}

PUFFER_FN void drive(State *s) {
    for (int i = 0; i < LANES; i++) {
        const float way = s->ways[i] - s->speeds[i];
        s->ways[i] = way + (way <= -(CAR + WALKER) ? WIDTH : 0);
    }
}

/* The walker touches a car: in this lane or the one above, whose lower part its head is in. */
PUFFER_FN bool is_hit(const State *s) {
    const int lowest = (int)((s->y - WALKER + LANE) / LANE) - 1;
    for (int i = lowest < 0 ? 0 : lowest; i <= lowest + 1 && i < LANES; i++) {
        const float car = WALKER + LANE * (float)i + (LANE - CAR_HEIGHT) / 2; /* lower side */
        if (s->ways[i] < 0 && s->y < car + CAR_HEIGHT && s->y + WALKER > car) return true;
    }
    return false;
}

PUFFER_FN void throw_back(State *s) {
    s->y = s->y > THROW ? s->y - THROW : 0;
    s->stun = STUN;
}

PUFFER_FN void walk(puffer_env *env, State *s, float by) {
    s->y = s->y + by > 0 ? s->y + by : 0;
    const int32_t lane =
        (int32_t)((s->y + LANE - 1) / LANE); /* its head is above the lane's edge */
    if (lane > s->lanes && lane <= LANES) {
        s->lanes = lane;
        env->rewards[0] += (float)env->args[REWARD_LANE];
    }
    if (s->y < TOP) return;
    s->score++;
    env->rewards[0] += 1;
    start_crossing(s);
}

PUFFER_TABLE float WALKS[] = {0, WALK, -WALK}; /* stay, up, down */

PUFFER_FN void step(puffer_env *env, State *s) {
    const float by = WALKS[*(const int32_t *)env->actions];
    const int frames = (int)env->args[FRAMESKIP];
    for (int frame = 0; frame < frames; frame++) {
        drive(s);
        if (s->stun > 0) {
            s->stun--;
            continue;
        }
        walk(env, s, by);
        if (is_hit(s)) throw_back(s);
    }
    observe(env, s);
    const int32_t ticks = env->max_steps * frames, crossing = (int32_t)(TOP / WALK);
    double *log = puffer_log(env, 0);
    log[0] = s->score;
    log[1] = (double)s->score / (ticks / crossing);
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    out[0] = s->y;
    out[1] = (float)s->stun;
    out[2] = (float)s->score;
    for (int i = 0; i < LANES; i++) out[3 + i] = s->ways[i];
}

#define PUFFER_NAME "freeway"
#include "puffer_harness.h"
