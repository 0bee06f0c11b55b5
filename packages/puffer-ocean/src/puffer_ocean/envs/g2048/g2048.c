/* 2048: slide tiles on a 4 x 4 board; equal ones that meet merge into their sum.
 *
 * A move slides all tiles to one side; each pair of equal neighbours, from that side on, becomes
 * one tile of twice the value, once a move. A move that changes the board is followed by a new tile
 * on a random empty cell: 2, or 4 with probability 0.1. The episode ends when no move changes the
 * board. Observation: bytes (16, 16): cell row by row, then one-hot the exponent of its tile, 0:
 * empty, 1: 2, ..., 15: 32768 and more. Actions: up, down, left, right; one that changes nothing
 * costs `reward_invalid`. Reward: `reward_points` times the values of the tiles that merges made.
 * score: sum of these values. perf: log(score / 1,000) / log 20, as much for each doubling: 0 at
 * 1,000 points, about what random moves make, 1 at 20,000, about what a 2048 tile takes. */
#include "puffer_env.h"

#include <math.h>
#include <string.h>

#define CELLS 16
#define PLANES 16
#define RANDOM 1000.0 /* points */
#define SOLVED 20000.0

enum { REWARD_POINTS, REWARD_INVALID, MAX_STEPS };

static const puffer_arg ARGS[] = {
    PUFFER_FLOAT("reward_points", 0.001, 0, 1, "reward for a point of score"),
    PUFFER_FLOAT("reward_invalid", -0.05, -1, 0, "reward for a move that changes nothing"),
    PUFFER_INT("max_steps", 10000, 0, 1e9, "truncate an episode of so many steps; 0: never"),
};

static const char *const LOG_FIELDS[] = {"score", "perf", "highest_tile"};

typedef struct {
    uint8_t board[CELLS]; /* exponents */
    int32_t score;
    int32_t steps;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_U8, 0, 1);
    spec->obs_shape[0] = CELLS;
    spec->obs_shape[1] = PLANES;
    puffer_discrete(spec, 4);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = CELLS + 1;
    return NULL;
}

PUFFER_FN void put(const puffer_env *env, State *s, int cell, uint8_t tile) {
    uint8_t *obs = (uint8_t *)env->observations + cell * PLANES;
    obs[s->board[cell] < PLANES ? s->board[cell] : PLANES - 1] = 0;
    obs[tile < PLANES ? tile : PLANES - 1] = 1;
    s->board[cell] = tile;
}

PUFFER_FN void add_tile(puffer_env *env, State *s) {
    uint8_t empty[CELLS];
    int count = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        empty[count] = (uint8_t)cell;
        count += s->board[cell] == 0;
    }
    const int cell = empty[puffer_randint(&env->rng, count)];
    put(env, s, cell, puffer_randint(&env->rng, 10) ? 1 : 2);
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    uint8_t *obs = (uint8_t *)env->observations;
    memset(obs, 0, CELLS * PLANES);
    memset(s->board, 0, CELLS);
    for (int cell = 0; cell < CELLS; cell++) obs[cell * PLANES] = 1;
    s->score = s->steps = 0;
    add_tile(env, s);
    add_tile(env, s);
}

/* The first cell of lines 0..3 in steps of `across`, and the way along a line from the side that
 * tiles slide to. */
typedef struct {
    int8_t start;
    int8_t across;
    int8_t along;
} Direction;

PUFFER_TABLE Direction DIRECTIONS[] = {{0, 1, 4}, {12, 1, -4}, {0, 4, 1}, {3, 4, -1}};

/* Slide one line of four; the points, or -1 where nothing changed. */
PUFFER_FN int32_t slide_line(const puffer_env *env, State *s, int start, int along) {
    uint8_t line[5] = {0};
    int length = 0;
    bool open = false; /* the last tile may still merge */
    int32_t points = 0;
    for (int i = 0; i < 4; i++) {
        const uint8_t tile = s->board[start + i * along];
        if (!tile) continue;
        if (open && line[length - 1] == tile) {
            line[length - 1]++;
            points += 1 << (tile + 1);
            open = false;
        } else {
            line[length++] = tile;
            open = true;
        }
    }
    bool changed = false;
    for (int i = 0; i < 4; i++) {
        const int cell = start + i * along;
        if (s->board[cell] == line[i]) continue;
        put(env, s, cell, line[i]);
        changed = true;
    }
    return changed ? points : -1;
}

/* Slide the board; the points, or -1 where nothing changed. */
PUFFER_FN int32_t slide(const puffer_env *env, State *s, int action) {
    const Direction d = DIRECTIONS[action];
    int32_t total = -1;
    for (int line = 0; line < 4; line++) {
        const int32_t points = slide_line(env, s, d.start + line * d.across, d.along);
        if (points >= 0) total = (total < 0 ? 0 : total) + points;
    }
    return total;
}

/* No move changes the board: it is full, and no neighbours are equal. */
PUFFER_FN bool stuck(const State *s) {
    if (memchr(s->board, 0, CELLS)) return false;
    for (int i = 0; i < CELLS; i++) {
        if (i % 4 < 3 && s->board[i] == s->board[i + 1]) return false;
        if (i < 12 && s->board[i] == s->board[i + 4]) return false;
    }
    return true;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t points = slide(env, s, *(const int32_t *)env->actions);
    if (points < 0) {
        env->rewards[0] = (float)env->args[REWARD_INVALID];
    } else {
        s->score += points;
        env->rewards[0] = (float)env->args[REWARD_POINTS] * (float)points;
        add_tile(env, s);
        env->terminals[0] = stuck(s);
    }
    s->steps++;
    if (!env->terminals[0] && s->steps != env->max_steps) return;
    uint8_t highest = 0;
    for (int i = 0; i < CELLS; i++) highest = s->board[i] > highest ? s->board[i] : highest;
    double *out = puffer_log(env, 0);
    out[0] = s->score;
    out[1] = fmax(0, fmin(1, log(fmax(s->score, 1) / RANDOM) / log(SOLVED / RANDOM)));
    out[2] = 1 << highest;
}

static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    for (int i = 0; i < CELLS; i++) out[i] = s->board[i];
    out[CELLS] = (float)s->score;
}

#define PUFFER_NAME "g2048"
#include "puffer_harness.h"
