/* Breakout: a paddle, a ball and a wall of 6 x 18 bricks.
 *
 * Lengths in pixels, y grows downwards, time in ticks of 1/60 s. Rows are worth 7, 7, 4, 4, 1, 1
 * points from the top; the wall is rebuilt once, so that 864 points are the maximum. An agent step
 * is `frameskip` ticks. Observation: ten numbers on paddle, ball and counters, then one per brick
 * (1: standing). Actions: stay, left, right; or, continuous, the speed in [-1, 1]. */
#include "puffer_env.h"

#include <math.h>

#define PI 3.14159265358979f
#define WIDTH 576.0f
#define HEIGHT 330.0f
#define TICK (1.0f / 60.0f)
#define PADDLE_WIDTH 62.0f
#define PADDLE_SPEED 620.0f
#define PADDLE_Y (HEIGHT - 8.0f - 10.0f)
#define BALL 32.0f
#define BALL_SPEED 256.0f
#define BALL_SPEED_STEP 64.0f
#define BALL_SPEED_MAX 448.0f
#define ROWS 6
#define COLUMNS 18
#define BRICKS (ROWS * COLUMNS)
#define BRICK_WIDTH 32.0f
#define BRICK_HEIGHT 12.0f
#define WALL_TOP 50.0f
#define WALL_BOTTOM (WALL_TOP + ROWS * BRICK_HEIGHT)
#define WALL_POINTS (COLUMNS * 2 * (7 + 4 + 1))
#define SPARE_BALLS 5
#define SCALARS 10

enum { FRAMESKIP, CONTINUOUS, MAX_STEPS };

static const puffer_arg ARGS[] = {
    PUFFER_INT("frameskip", 4, 1, 16, "ticks of 1/60 s in one step"),
    PUFFER_BOOL("continuous", false, "the action is the paddle's speed in [-1, 1]"),
    PUFFER_INT("max_steps", 20000, 0, 1e9, "truncate an episode of so many steps; 0: never"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

PUFFER_TABLE int POINTS[ROWS] = {7, 7, 4, 4, 1, 1};

typedef struct {
    float paddle_x; /* left edge */
    float paddle_width;
    float ball_x; /* left upper corner */
    float ball_y;
    float ball_vx; /* pixels a second */
    float ball_vy;
    float ball_speed;
    int32_t paddle_hits; /* of this ball */
    int32_t balls;       /* in reserve */
    int32_t score;
    bool launched;
    bool rebuilt; /* the second wall stands */
    bool bricks[BRICKS];
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = SCALARS + BRICKS;
    if (args[CONTINUOUS] != 0)
        puffer_continuous(spec, 1, -1, 1);
    else
        puffer_discrete(spec, 3);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 5 + BRICKS;
    return NULL;
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    float *obs = (float *)env->observations;
    const float paddle = s->paddle_x + s->paddle_width / 2, ball = s->ball_x + BALL / 2;
    obs[0] = 2 * paddle / WIDTH - 1;
    obs[1] = s->paddle_width / PADDLE_WIDTH;
    obs[2] = 2 * ball / WIDTH - 1;
    obs[3] = 2 * s->ball_y / HEIGHT - 1; /* upper edge: a lost ball sinks to HEIGHT */
    obs[4] = (ball - paddle) / WIDTH;
    obs[5] = s->ball_vx / 512;
    obs[6] = s->ball_vy / 512;
    obs[7] = (float)s->paddle_hits / 16 < 1 ? (float)s->paddle_hits / 16 : 1;
    obs[8] = (float)s->balls / SPARE_BALLS;
    obs[9] = (float)s->score / (2 * WALL_POINTS);
}

PUFFER_FN void build_wall(const puffer_env *env, State *s) {
    float *obs = (float *)env->observations + SCALARS;
    for (int i = 0; i < BRICKS; i++) {
        s->bricks[i] = true;
        obs[i] = 1;
    }
}

PUFFER_FN void begin_round(State *s) {
    s->paddle_width = PADDLE_WIDTH;
    s->paddle_x = (WIDTH - PADDLE_WIDTH) / 2;
    s->ball_x = (WIDTH - BALL) / 2;
    s->ball_y = HEIGHT / 2 - 30;
    s->ball_vx = 0;
    s->ball_vy = 0;
    s->ball_speed = BALL_SPEED;
    s->paddle_hits = 0;
    s->launched = false;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    build_wall(env, s);
    begin_round(s);
    s->balls = SPARE_BALLS;
    s->score = 0;
    s->rebuilt = false;
    observe(env, s);
}

PUFFER_FN void launch(puffer_env *env, State *s) {
    const float side = puffer_randint(&env->rng, 2) ? 1.0f : -1.0f;
    s->ball_vx = side * s->ball_speed * sinf(PI / 3.25f);
    s->ball_vy = s->ball_speed * cosf(PI / 3.25f);
    s->launched = true;
}

PUFFER_FN void move_paddle(State *s, float speed) {
    s->paddle_x =
        puffer_clamp(s->paddle_x + speed * PADDLE_SPEED * TICK, 0, WIDTH - s->paddle_width);
}

/* What the ball meets first in this tick. */
typedef enum { NOTHING, SIDE_WALL, BACK_WALL, PADDLE, BRICK_SIDE, BRICK_FACE } Obstacle;

typedef struct {
    Obstacle obstacle;
    float time; /* share of the tick, in [0, 1] */
    int brick;
} Contact;

PUFFER_FN void consider(Contact *first, Obstacle obstacle, float time, int brick) {
    if (time >= first->time) return;
    first->obstacle = obstacle;
    first->time = time;
    first->brick = brick;
}

/* Share of the tick after which a ball edge at `edge` moving by `delta` reaches `line`; the edge is
 * on the near side. INFINITY: not in this tick. */
PUFFER_FN float reach(float edge, float delta, float line) {
    const float gap = line - edge;
    if (delta == 0 || gap * delta < 0 || fabsf(gap) > fabsf(delta)) return INFINITY;
    return gap / delta;
}

PUFFER_FN void consider_brick(Contact *first, const State *s, float dx, float dy, int row,
                              int column) {
    const float left = (float)column * BRICK_WIDTH, right = left + BRICK_WIDTH;
    const float top = WALL_TOP + (float)row * BRICK_HEIGHT, bottom = top + BRICK_HEIGHT;
    const int brick = row * COLUMNS + column;
    const float tx = dx > 0 ? reach(s->ball_x + BALL, dx, left) : reach(s->ball_x, dx, right);
    const float y = s->ball_y + tx * dy;
    if (tx <= 1 && y + BALL > top && y < bottom) consider(first, BRICK_SIDE, tx, brick);
    const float ty = dy > 0 ? reach(s->ball_y + BALL, dy, top) : reach(s->ball_y, dy, bottom);
    const float x = s->ball_x + ty * dx;
    if (ty <= 1 && x + BALL > left && x < right) consider(first, BRICK_FACE, ty, brick);
}

PUFFER_FN int clamp(int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
}

PUFFER_FN Contact first_contact(const State *s, float dx, float dy) {
    Contact first = {NOTHING, INFINITY, -1};
    consider(&first, SIDE_WALL,
             dx > 0 ? reach(s->ball_x + BALL, dx, WIDTH) : reach(s->ball_x, dx, 0), -1);
    if (dy < 0) consider(&first, BACK_WALL, reach(s->ball_y, dy, 0), -1);
    if (dy > 0) {
        const float time = reach(s->ball_y + BALL, dy, PADDLE_Y);
        const float x = s->ball_x + time * dx;
        if (time <= 1 && x + BALL > s->paddle_x && x < s->paddle_x + s->paddle_width)
            consider(&first, PADDLE, time, -1);
    }
    const float top = s->ball_y + (dy < 0 ? dy : 0), bottom = s->ball_y + BALL + (dy > 0 ? dy : 0);
    if (top > WALL_BOTTOM || bottom < WALL_TOP) return first;
    const float left = s->ball_x + (dx < 0 ? dx : 0), right = s->ball_x + BALL + (dx > 0 ? dx : 0);
    const int row0 = clamp((int)((top - WALL_TOP) / BRICK_HEIGHT) - 1, 0, ROWS - 1);
    const int row1 = clamp((int)((bottom - WALL_TOP) / BRICK_HEIGHT), 0, ROWS - 1);
    const int column0 = clamp((int)(left / BRICK_WIDTH) - 1, 0, COLUMNS - 1);
    const int column1 = clamp((int)(right / BRICK_WIDTH), 0, COLUMNS - 1);
    for (int row = row0; row <= row1; row++)
        for (int column = column0; column <= column1; column++)
            if (s->bricks[row * COLUMNS + column]) consider_brick(&first, s, dx, dy, row, column);
    return first;
}

PUFFER_FN void hit_paddle(const puffer_env *env, State *s) {
    const float offset = (s->ball_x + BALL / 2) - (s->paddle_x + s->paddle_width / 2);
    const float angle = offset / ((s->paddle_width + BALL) / 2) * (PI / 4);
    s->paddle_hits++;
    if (s->paddle_hits % 4 == 0 && s->ball_speed < BALL_SPEED_MAX) s->ball_speed += BALL_SPEED_STEP;
    s->ball_vx = s->ball_speed * puffer_sine(angle);
    s->ball_vy = -s->ball_speed * puffer_cosine(angle);
    if (s->score == WALL_POINTS && !s->rebuilt) {
        build_wall(env, s);
        s->rebuilt = true;
    }
}

PUFFER_FN void hit_brick(const puffer_env *env, State *s, int brick) {
    const int row = brick / COLUMNS;
    s->bricks[brick] = false;
    ((float *)env->observations)[SCALARS + brick] = 0;
    s->score += POINTS[row];
    env->rewards[0] += (float)POINTS[row];
    if (row < 3 && s->ball_speed < BALL_SPEED_MAX) {
        const float faster = BALL_SPEED_MAX / s->ball_speed;
        s->ball_vx *= faster;
        s->ball_vy *= faster;
        s->ball_speed = BALL_SPEED_MAX;
    }
}

PUFFER_FN void shrink_paddle(State *s) {
    if (s->paddle_width < PADDLE_WIDTH) return;
    s->paddle_width = PADDLE_WIDTH / 2;
    s->paddle_x += PADDLE_WIDTH / 4;
}

/* At most one contact a tick: the ball stops there, and moves on in the next tick. */
PUFFER_FN void move_ball(const puffer_env *env, State *s) {
    const float dx = s->ball_vx * TICK, dy = s->ball_vy * TICK;
    const Contact contact = first_contact(s, dx, dy);
    const float time = contact.obstacle == NOTHING ? 1 : contact.time;
    s->ball_x += time * dx;
    s->ball_y += time * dy;
    switch (contact.obstacle) {
    case NOTHING:
        break;
    case SIDE_WALL:
        s->ball_vx = -s->ball_vx;
        break;
    case BACK_WALL:
        s->ball_vy = -s->ball_vy;
        shrink_paddle(s);
        break;
    case PADDLE:
        hit_paddle(env, s);
        break;
    case BRICK_SIDE:
        s->ball_vx = -s->ball_vx;
        hit_brick(env, s, contact.brick);
        break;
    case BRICK_FACE:
        s->ball_vy = -s->ball_vy;
        hit_brick(env, s, contact.brick);
        break;
    }
}

/* One tick; true when the episode is over. */
PUFFER_FN bool tick(puffer_env *env, State *s, float speed) {
    if (!s->launched) {
        launch(env, s);
        return false;
    }
    move_paddle(s, speed);
    move_ball(env, s);
    if (s->ball_y > HEIGHT) {
        s->balls--;
        begin_round(s);
    }
    return s->balls < 0 || s->score == 2 * WALL_POINTS;
}

PUFFER_TABLE float SPEEDS[] = {0, -1, 1}; /* stay, left, right */

PUFFER_FN float paddle_speed(const puffer_env *env) {
    if (env->spec->num_heads) return SPEEDS[((const int32_t *)env->actions)[0]];
    return puffer_clamp(((const float *)env->actions)[0], -1, 1);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const float speed = paddle_speed(env);
    const int frames = (int)env->args[FRAMESKIP];
    for (int frame = 0; frame < frames && !env->terminals[0]; frame++)
        env->terminals[0] = tick(env, s, speed);
    if (s->balls < 0) s->balls = 0;
    observe(env, s);
    double *log = puffer_log(env, 0);
    log[0] = s->score;
    log[1] = s->score / (2.0 * WALL_POINTS);
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    out[0] = s->paddle_x;
    out[1] = s->paddle_width;
    out[2] = s->ball_x;
    out[3] = s->ball_y;
    out[4] = (float)s->balls;
    for (int i = 0; i < BRICKS; i++) out[5 + i] = s->bricks[i];
}

#define PUFFER_NAME "breakout"
#include "puffer_harness.h"
