/* Pong: two paddles and a ball; the agent plays on the right against a scripted opponent.
 *
 * Lengths in pixels, y grows downwards, time in ticks; a step is `frameskip` ticks. Field 640 x
 * 480; paddles are 80 high, their faces at x = 30 and x = 610. The ball is a square of 12 pixels.
 * It is served from the middle at 5 pixels a tick towards whom lost the last point (the first one:
 * at random), at a random angle within 30 degrees. A paddle sends it back at up to 45 degrees, by
 * the place of the hit, and 5 % faster up to twice the first speed; walls above and below reflect
 * it. The opponent follows the ball while it comes. `goal` points win and end the episode.
 * Observation: eight numbers in [-1, 1]: own paddle, the other's, ball x and y (middles: from -1 at
 * the left or upper edge to 1), ball speed x and y / 10, own points and the other's / goal.
 * Actions: stay, up, down. Reward 1 for a point won, -1 for one lost.
 * score: points won minus points lost. perf: score / goal, 0 if negative. */
#include "puffer_env.h"

#include <math.h>

#define PI 3.14159265358979f
#define WIDTH 640.0f
#define HEIGHT 480.0f
#define BALL 12.0f
#define PADDLE 80.0f
#define FACE 30.0f /* of a paddle, from its side of the field */
#define PADDLE_SPEED 4.0f
#define SERVE_SPEED 5.0f
#define FASTER 1.05f
#define MAX_SPEED (2 * SERVE_SPEED)
/* Limits of the middle of the ball. */
#define LEFT (FACE + BALL / 2)
#define RIGHT (WIDTH - LEFT)
#define TOP (BALL / 2)
#define BOTTOM (HEIGHT - TOP)

enum { FRAMESKIP, GOAL, OPPONENT_SPEED, MAX_STEPS };

static const puffer_arg ARGS[] = {
    PUFFER_INT("frameskip", 8, 1, 16, "ticks in one step"),
    PUFFER_INT("goal", 21, 1, 1000, "points that win"),
    PUFFER_FLOAT("opponent_speed", 2.5, 0, 8, "pixels a tick; the agent's paddle makes 4"),
    PUFFER_INT("max_steps", 10000, 0, 1e9, "truncate an episode of so many steps; 0: never"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

enum { OPPONENT, AGENT };

typedef struct {
    float paddles[2]; /* y of their middles: opponent, agent */
    float x;          /* middle of the ball */
    float y;
    float vx; /* pixels a tick */
    float vy;
    float speed;
    int32_t points[2];
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = 8;
    puffer_discrete(spec, 3);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 6;
    return NULL;
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    const float share = 1 / (float)env->args[GOAL];
    float *obs = (float *)env->observations;
    obs[0] = s->paddles[AGENT] * (2 / HEIGHT) - 1;
    obs[1] = s->paddles[OPPONENT] * (2 / HEIGHT) - 1;
    obs[2] = puffer_clamp(s->x * (2 / WIDTH) - 1, -1, 1);
    obs[3] = s->y * (2 / HEIGHT) - 1;
    obs[4] = s->vx * (1 / MAX_SPEED);
    obs[5] = s->vy * (1 / MAX_SPEED);
    obs[6] = (float)s->points[AGENT] * share;
    obs[7] = (float)s->points[OPPONENT] * share;
}

PUFFER_FN void launch(State *s, float direction, float angle) {
    s->vx = direction * s->speed * puffer_cosine(angle);
    s->vy = s->speed * puffer_sine(angle);
}

PUFFER_FN void serve(puffer_env *env, State *s, float direction) {
    s->x = WIDTH / 2;
    s->y = HEIGHT / 2;
    s->speed = SERVE_SPEED;
    launch(s, direction, puffer_uniform(&env->rng, -PI / 6, PI / 6));
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->paddles[OPPONENT] = s->paddles[AGENT] = HEIGHT / 2;
    s->points[OPPONENT] = s->points[AGENT] = 0;
    serve(env, s, puffer_randint(&env->rng, 2) ? 1.0f : -1.0f);
    observe(env, s);
}

/* Height of the ball's middle, folded back at the upper and the lower wall. */
PUFFER_FN float reflect(float y) {
    const float below = y > 2 * TOP - y ? y : 2 * TOP - y;
    return below < 2 * BOTTOM - below ? below : 2 * BOTTOM - below;
}

PUFFER_FN float in_field(float paddle) {
    return puffer_clamp(paddle, PADDLE / 2, HEIGHT - PADDLE / 2);
}

/* The paddles in `ticks` ticks. The opponent follows where the ball was before each of them. */
PUFFER_FN void move_paddles(State *s, float move, float limit, int ticks) {
    const float reach = s->vx < 0 ? limit : 0;
    float opponent = s->paddles[OPPONENT];
    for (int k = 0; k < ticks; k++) {
        const float aim = in_field(reflect(s->y + (float)k * s->vy));
        opponent = puffer_clamp(aim, opponent - reach, opponent + reach);
    }
    s->paddles[OPPONENT] = opponent;
    s->paddles[AGENT] = in_field(s->paddles[AGENT] + (float)ticks * move);
}

/* Where the ball meets something next: the line of a paddle or, behind it, the edge. */
PUFFER_FN float next_line(const State *s) {
    if (s->vx > 0) return s->x <= RIGHT ? RIGHT : WIDTH;
    return s->x >= LEFT ? LEFT : 0;
}

/* So many ticks of free flight. */
PUFFER_FN void fly(State *s, float line, int ticks) {
    const float x = s->x + (float)ticks * s->vx, y = s->y + (float)ticks * s->vy;
    s->x = (x - line) * s->vx > 0 ? line : x; /* not beyond by rounding */
    s->y = reflect(y);
    if (s->y != y) s->vy = -s->vy;
}

/* The ball reached the line of a paddle at height y: back it goes, if the paddle is there. */
PUFFER_FN bool hit(State *s, int side, float y) {
    const float reach = (PADDLE + BALL) / 2, offset = y - s->paddles[side];
    if (fabsf(offset) >= reach) return false;
    s->x = side == AGENT ? RIGHT : LEFT;
    s->y = y;
    s->speed = s->speed * FASTER < MAX_SPEED ? s->speed * FASTER : MAX_SPEED;
    launch(s, side == AGENT ? -1.0f : 1.0f, offset / reach * (PI / 4));
    return true;
}

PUFFER_FN void point(puffer_env *env, State *s, int winner) {
    s->points[winner]++;
    env->rewards[0] += winner == AGENT ? 1.0f : -1.0f;
    if (s->points[winner] >= (int32_t)env->args[GOAL])
        env->terminals[0] = true;
    else
        serve(env, s, winner == AGENT ? -1.0f : 1.0f);
}

/* The tick in which the ball reaches that line, after `time` of it. */
PUFFER_FN void meet(puffer_env *env, State *s, float line, float time) {
    const int side = s->vx > 0 ? AGENT : OPPONENT;
    const bool edge = line == 0 || line == WIDTH;
    if (!edge && hit(s, side, reflect(s->y + time * s->vy))) return;
    fly(s, s->vx * INFINITY, 1);
    if (edge) point(env, s, 1 - side);
}

PUFFER_TABLE float MOVES[] = {0, -PADDLE_SPEED, PADDLE_SPEED}; /* stay, up, down */

PUFFER_FN void step(puffer_env *env, State *s) {
    const float move = MOVES[*(const int32_t *)env->actions];
    const float limit = (float)env->args[OPPONENT_SPEED];
    int left = (int)env->args[FRAMESKIP];
    while (left > 0 && !env->terminals[0]) {
        const float line = next_line(s), time = (line - s->x) / s->vx;
        const int ticks = time < (float)left ? (int)time : left; /* before the one that meets it */
        if (ticks) {
            move_paddles(s, move, limit, ticks);
            fly(s, line, ticks);
            left -= ticks;
        } else {
            move_paddles(s, move, limit, 1);
            meet(env, s, line, time);
            left--;
        }
    }
    observe(env, s);
    const int32_t score = s->points[AGENT] - s->points[OPPONENT];
    double *log = puffer_log(env, 0);
    log[0] = score;
    log[1] = score > 0 ? score / env->args[GOAL] : 0;
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    out[0] = s->paddles[OPPONENT];
    out[1] = s->paddles[AGENT];
    out[2] = s->x;
    out[3] = s->y;
    out[4] = (float)s->points[OPPONENT];
    out[5] = (float)s->points[AGENT];
}

#define PUFFER_NAME "pong"
#include "puffer_harness.h"
