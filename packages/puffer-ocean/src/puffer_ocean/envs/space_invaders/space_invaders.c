/* Space Invaders: shoot the marching grid before it lands, behind shields that wear away.
 *
 * Lengths in pixels, y upwards, time in ticks; a step is `frameskip` ticks. The field is 200 by
 * 180. The grid has 8 columns and `rows` rows of invaders, 12 by 8, every 16 by 14; it marches
 * sideways at `march_speed` times 1 to 5 (the fewer are left, the faster) and at an edge goes down
 * by 8 and back. The ship, 14 by 8, stands on the ground, moves 2 a tick and has one shot in the
 * air at a time, which flies 4. In a tick an invader that is the lowest of its column lets a bomb
 * fall with probability `bomb_rate`, 6 at most; bombs fall 1.5. Shots and bombs eat cells, 4 by 4,
 * of four shields of 6 x 3. A bomb on the ship costs a life; bombs and shot vanish then, the ship
 * starts in the middle. The next wave begins 8 lower. The episode ends without lives, when the grid
 * reaches the shields, and after `waves`. Observation, 102 numbers in [-1, 1]: the ship's x, lives
 * left, shot in the air, its height, its x from the ship's, direction of the march, share of the
 * wave that is shot, phase of the grid (x from the ship's modulo 8), height of the lowest invader;
 * then in 31 strips, 8 wide, the middle one round the ship: how low the lowest invader of a column
 * is, how low the lowest bomb is (0: none, 1: on the ground), 1 where a shield is. Actions:
 * nothing, left, right, and the same with fire. Reward: `reward_points` times the points of an
 * invader (from the lowest row 10, 10, 20, 20, 30), `reward_hit` for a life, `reward_landing` when
 * the grid gets there. score: points. perf: score / points of all waves. */
#include "puffer_env.h"

#include <string.h>

#define WIDTH 200.0f
#define HEIGHT 180.0f
#define COLUMNS 8
#define MAX_ROWS 5
#define INVADER 12.0f
#define INVADER_HEIGHT 8.0f
#define ACROSS 16.0f
#define UP 14.0f
#define START 104.0f
#define DESCENT 8.0f
#define SHIP 14.0f
#define SHIP_HEIGHT 8.0f
#define SHIP_SPEED 2.0f
#define SHOT_SPEED 4.0f
#define BOMB_SPEED 1.5f
#define MAX_BOMBS 6
#define SHIELDS 4
#define SHIELD_COLUMNS 6
#define SHIELD_ROWS 3
#define SHIELD_BOTTOM 28.0f
#define SHIELD_TOP 40.0f
#define CELL 4.0f
#define STRIPS 31
#define STRIP 8.0f
#define SCALARS 9

enum { FRAMESKIP, LIVES, WAVES, ROWS, MARCH, BOMB_RATE, REWARD_POINTS, REWARD_HIT, REWARD_LANDING };

static const puffer_arg ARGS[] = {
    PUFFER_INT("frameskip", 3, 1, 16, "ticks in one step"),
    PUFFER_INT("lives", 3, 1, 10, "lives of an episode"),
    PUFFER_INT("waves", 3, 1, 8, "waves to win"),
    PUFFER_INT("rows", 5, 1, MAX_ROWS, "rows of invaders"),
    PUFFER_FLOAT("march_speed", 0.25, 0.05, 2, "of a whole grid, pixels a tick"),
    PUFFER_FLOAT("bomb_rate", 0.06, 0, 1, "probability of a bomb in a tick"),
    PUFFER_FLOAT("reward_points", 0.01, 0, 1, "reward for a point of score"),
    PUFFER_FLOAT("reward_hit", -0.5, -1, 0, "reward for a lost life"),
    PUFFER_FLOAT("reward_landing", -1, -1, 0, "reward when the grid reaches the shields"),
};

static const char *const LOG_FIELDS[] = {"score", "perf", "waves"};

typedef struct {
    float ship;                /* its middle */
    float shot_x, shot_y;      /* shot_y < 0: none */
    float grid_x, grid_y;      /* left lower corner */
    float way;                 /* of the march, -1 or 1 */
    float bombs[MAX_BOMBS];    /* x */
    float falls[MAX_BOMBS];    /* y; negative: none */
    uint32_t shields[SHIELDS]; /* bits: row from the lowest * SHIELD_COLUMNS + column */
    uint8_t columns[COLUMNS];  /* bits: rows from the lowest */
    int32_t alive;
    int32_t wave; /* waves done */
    int32_t lives;
    int32_t score;
} State;

PUFFER_TABLE int32_t POINTS[MAX_ROWS] = {10, 10, 20, 20, 30};
PUFFER_TABLE float SHIELD_LEFT[SHIELDS] = {22, 66, 110, 154};

static const char *describe(const double *args, puffer_spec *spec) {
    (void)args;
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = SCALARS + 3 * STRIPS;
    puffer_discrete(spec, 6);
    spec->render_size = 9 + 2 * MAX_BOMBS + COLUMNS + SHIELDS;
    return NULL;
}

PUFFER_FN int32_t lowest(uint8_t column) {
    int32_t row = 0;
    while (!(column >> row & 1)) row++;
    return row;
}

/* The strip in which x is, or one beyond the last. */
PUFFER_FN uint32_t strip_of(const State *s, float x) {
    const float strip = (x - s->ship) / STRIP + (float)STRIPS / 2;
    return strip < 0 || strip >= STRIPS ? STRIPS : (uint32_t)strip;
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    float *obs = (float *)env->observations, *strips = obs + SCALARS;
    memset(strips, 0, sizeof(float) * 3 * STRIPS);
    float bottom = HEIGHT;
    for (int c = 0; c < COLUMNS; c++) {
        if (!s->columns[c]) continue;
        const float y = s->grid_y + UP * (float)lowest(s->columns[c]);
        const uint32_t strip = strip_of(s, s->grid_x + ACROSS * (float)c + INVADER / 2);
        bottom = y < bottom ? y : bottom;
        if (strip < STRIPS) strips[strip] = 1 - y / HEIGHT;
    }
    for (int i = 0; i < MAX_BOMBS; i++) {
        const uint32_t strip = strip_of(s, s->bombs[i]);
        if (s->falls[i] < 0 || strip == STRIPS) continue;
        float *nearest = &strips[STRIPS + strip];
        const float near = 1 - s->falls[i] / HEIGHT;
        *nearest = near > *nearest ? near : *nearest;
    }
    for (int i = 0; i < SHIELDS; i++)
        for (int c = 0; c < SHIELD_COLUMNS; c++) {
            const uint32_t strip = strip_of(s, SHIELD_LEFT[i] + CELL * ((float)c + 0.5f));
            const uint32_t cells = s->shields[i] >> c & 0x1041u; /* one column of three rows */
            if (cells && strip < STRIPS) strips[2 * STRIPS + strip] = 1;
        }
    const bool flies = s->shot_y >= 0;
    const int32_t all = COLUMNS * (int32_t)env->args[ROWS];
    const float phase = (s->grid_x - s->ship) / STRIP + 2 * STRIPS;
    obs[0] = 2 * s->ship / WIDTH - 1;
    obs[1] = (float)s->lives / (float)env->args[LIVES];
    obs[2] = flies;
    obs[3] = flies ? s->shot_y / HEIGHT : 0;
    obs[4] = flies ? (s->shot_x - s->ship) / WIDTH : 0;
    obs[5] = s->way;
    obs[6] = 1 - (float)s->alive / (float)all;
    obs[7] = phase - (float)(int32_t)phase;
    obs[8] = bottom / HEIGHT;
}

PUFFER_FN void start_wave(const puffer_env *env, State *s) {
    const int32_t rows = (int32_t)env->args[ROWS];
    memset(s->columns, (1 << rows) - 1, COLUMNS);
    s->alive = COLUMNS * rows;
    s->grid_x = (WIDTH - (COLUMNS - 1) * ACROSS - INVADER) / 2;
    s->grid_y = START - DESCENT * (float)(s->wave < 6 ? s->wave : 6);
    s->way = 1;
}

PUFFER_FN void start_life(State *s) {
    s->ship = WIDTH / 2;
    s->shot_y = -1;
    for (int i = 0; i < MAX_BOMBS; i++) s->falls[i] = -1;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->wave = 0;
    s->score = 0;
    s->lives = (int32_t)env->args[LIVES];
    for (int i = 0; i < SHIELDS; i++) s->shields[i] = (1u << SHIELD_COLUMNS * SHIELD_ROWS) - 1;
    start_wave(env, s);
    start_life(s);
    s->way = puffer_randint(&env->rng, 2) ? 1.0f : -1.0f;
    observe(env, s);
}

/* Shot or bomb at (x, y): does it eat a cell of a shield? */
PUFFER_FN bool eats_shield(State *s, float x, float y) {
    if (y < SHIELD_BOTTOM || y >= SHIELD_TOP) return false;
    for (int i = 0; i < SHIELDS; i++) {
        const float column = (x - SHIELD_LEFT[i]) / CELL;
        if (column < 0 || column >= SHIELD_COLUMNS) continue;
        const int32_t row = (int32_t)((y - SHIELD_BOTTOM) / CELL);
        const uint32_t cell = 1u << (row * SHIELD_COLUMNS + (int32_t)column);
        const bool there = (s->shields[i] & cell) != 0;
        s->shields[i] &= ~cell;
        return there;
    }
    return false;
}

/* The points of the invader that the shot hits, who is gone then; 0: none. */
PUFFER_FN int32_t shoot_invader(State *s) {
    const float x = s->shot_x - s->grid_x, y = s->shot_y - s->grid_y;
    if (x < 0 || x >= ACROSS * COLUMNS || y < 0 || y >= UP * MAX_ROWS) return 0;
    const int32_t c = (int32_t)(x / ACROSS), row = (int32_t)(y / UP);
    if (x - ACROSS * (float)c >= INVADER || y - UP * (float)row >= INVADER_HEIGHT) return 0;
    if (!(s->columns[c] >> row & 1)) return 0;
    s->columns[c] = (uint8_t)(s->columns[c] & ~(1 << row));
    s->alive--;
    return POINTS[row];
}

PUFFER_FN void fly(puffer_env *env, State *s) {
    if (s->shot_y < 0) return;
    s->shot_y += SHOT_SPEED;
    const int32_t points = shoot_invader(s);
    s->score += points;
    env->rewards[0] += (float)env->args[REWARD_POINTS] * (float)points;
    if (points || s->shot_y >= HEIGHT || eats_shield(s, s->shot_x, s->shot_y)) s->shot_y = -1;
}

/* One tick of the march; true when the grid has reached the shields. */
PUFFER_FN bool march(const puffer_env *env, State *s) {
    const float all = COLUMNS * (float)env->args[ROWS];
    const float speed = (float)env->args[MARCH] * (5 - 4 * (float)s->alive / all);
    int32_t left = 0, right = COLUMNS - 1;
    while (!s->columns[left]) left++;
    while (!s->columns[right]) right--;
    s->grid_x += s->way * speed;
    const float first = s->grid_x + ACROSS * (float)left;
    const float last = s->grid_x + ACROSS * (float)right + INVADER;
    if (s->way > 0 ? last <= WIDTH : first >= 0) return false;
    s->grid_x -= s->way * speed;
    s->way = -s->way;
    s->grid_y -= DESCENT;
    uint8_t any = 0;
    for (int c = 0; c < COLUMNS; c++) any |= s->columns[c];
    return s->grid_y + UP * (float)lowest(any) < SHIELD_TOP;
}

PUFFER_FN void drop_bomb(puffer_env *env, State *s) {
    if (puffer_uniform(&env->rng, 0, 1) >= (float)env->args[BOMB_RATE]) return;
    const int32_t c = puffer_randint(&env->rng, COLUMNS);
    for (int i = 0; i < MAX_BOMBS && s->columns[c]; i++) {
        if (s->falls[i] >= 0) continue;
        s->bombs[i] = s->grid_x + ACROSS * (float)c + INVADER / 2;
        s->falls[i] = s->grid_y + UP * (float)lowest(s->columns[c]);
        return;
    }
}

/* One tick of the bombs; true when one hits the ship. */
PUFFER_FN bool bomb(State *s) {
    bool hit = false;
    for (int i = 0; i < MAX_BOMBS; i++) {
        if (s->falls[i] < 0) continue;
        s->falls[i] -= BOMB_SPEED;
        const float from_ship = s->bombs[i] - s->ship;
        hit |= s->falls[i] < SHIP_HEIGHT && from_ship > -SHIP / 2 && from_ship < SHIP / 2;
        if (s->falls[i] < 0 || eats_shield(s, s->bombs[i], s->falls[i])) s->falls[i] = -1;
    }
    return hit;
}

PUFFER_TABLE float STEERING[] = {0, -SHIP_SPEED, SHIP_SPEED};

/* One tick; true when the episode is over. */
PUFFER_FN bool tick(puffer_env *env, State *s, int32_t action) {
    const float x = s->ship + STEERING[action % 3], edge = SHIP / 2;
    s->ship = x < edge ? edge : x > WIDTH - edge ? WIDTH - edge : x;
    fly(env, s);
    if (action >= 3 && s->shot_y < 0) {
        s->shot_x = s->ship;
        s->shot_y = SHIP_HEIGHT;
    }
    if (s->alive == 0) {
        if (++s->wave == (int32_t)env->args[WAVES]) return true;
        start_wave(env, s);
    }
    if (march(env, s)) {
        env->rewards[0] += (float)env->args[REWARD_LANDING];
        return true;
    }
    drop_bomb(env, s);
    if (!bomb(s)) return false;
    env->rewards[0] += (float)env->args[REWARD_HIT];
    start_life(s);
    return --s->lives == 0;
}

PUFFER_FN void report(const puffer_env *env, const State *s) {
    int32_t points = 0;
    for (int row = 0; row < (int)env->args[ROWS]; row++) points += COLUMNS * POINTS[row];
    double *log = puffer_log(env, 0);
    log[0] = s->score;
    log[1] = s->score / (points * env->args[WAVES]);
    log[2] = s->wave;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t action = *(const int32_t *)env->actions, frames = (int32_t)env->args[FRAMESKIP];
    for (int32_t frame = 0; frame < frames && !env->terminals[0]; frame++)
        env->terminals[0] = tick(env, s, action);
    if (env->terminals[0]) report(env, s);
    observe(env, s);
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    const float numbers[] = {s->ship, s->shot_x,       s->shot_y,       s->grid_x,     s->grid_y,
                             s->way,  (float)s->lives, (float)s->score, (float)s->wave};
    memcpy(out, numbers, sizeof numbers);
    float *rest = out + 9;
    for (int i = 0; i < MAX_BOMBS; i++) {
        rest[2 * i] = s->bombs[i];
        rest[2 * i + 1] = s->falls[i];
    }
    for (int c = 0; c < COLUMNS; c++) rest[2 * MAX_BOMBS + c] = s->columns[c];
    for (int i = 0; i < SHIELDS; i++) rest[2 * MAX_BOMBS + COLUMNS + i] = (float)s->shields[i];
}

#define PUFFER_NAME "space_invaders"
#include "puffer_harness.h"
