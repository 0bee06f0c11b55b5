/* Snake: many snakes eat and grow on one board.
 *
 * All snakes move one cell a step, one after the other in the order of their numbers. A snake that
 * enters a cell with food grows by one; one that meets the edge or any snake, also itself, dies:
 * its body becomes food, one cell in two, and it begins again at once on a random cell, its
 * length 1. One that reaches `max_length` has won, and begins again too; its body vanishes. A cell
 * that a tail leaves is free for who moves later. Food that was eaten grows elsewhere while there
 * is less than `num_food`. Observation: the square of 2 `vision` + 1 cells round the head, signed
 * bytes: 1 food, 0 empty, -1 edge or snake; the middle is the head, the last row of cells is the
 * lowest on the board. Actions: up, down, left, right; the opposite of the last move goes straight
 * on. Reward: `reward_food`, `reward_death`. score: length. perf: (length - 1) / (`max_length` -
 * 1). */
#include "puffer_env.h"

#include <string.h>

#define MAX_SIDE 128
#define MAX_SNAKES 64
#define MAX_LENGTH 128 /* a power of two */
#define MAX_VISION 7
#define SIDE (MAX_SIDE + 2 * MAX_VISION)
#define TRIES 16 /* to find an empty cell for food in a step */

enum { WIDTH, HEIGHT, NUM_SNAKES, NUM_FOOD, VISION, MAX_LEN, MAX_STEPS, REWARD_FOOD, REWARD_DEATH };

static const puffer_arg ARGS[] = {
    PUFFER_INT("width", 48, 32, MAX_SIDE, "columns of the board"),
    PUFFER_INT("height", 48, 32, MAX_SIDE, "rows of the board"),
    PUFFER_INT("num_snakes", 16, 1, MAX_SNAKES, "agents"),
    PUFFER_INT("num_food", 64, 1, 512, "cells with food, at least"),
    PUFFER_INT("vision", 5, 1, MAX_VISION, "cells seen to each side"),
    PUFFER_INT("max_length", 32, 2, MAX_LENGTH, "length that wins"),
    PUFFER_INT("max_steps", 1000, 0, 1e9, "truncate an episode of so many steps; 0: never"),
    PUFFER_FLOAT("reward_food", 0.5, 0, 1, "reward for a meal"),
    PUFFER_FLOAT("reward_death", -1, -1, 0, "reward for dying"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

enum { FOOD = 1, EMPTY = 0, OBSTACLE = -1 };

/* Cells are numbered row by row on a board with an edge of MAX_VISION obstacles. */
typedef struct {
    int8_t board[SIDE * SIDE];
    uint16_t bodies[MAX_SNAKES][MAX_LENGTH]; /* ring buffers of cells */
    uint32_t heads[MAX_SNAKES];              /* place of the head in its ring, modulo MAX_LENGTH */
    uint32_t lengths[MAX_SNAKES];            /* 0: its body is not on the board */
    int32_t directions[MAX_SNAKES];          /* last move, -1: none yet */
    int32_t food;                            /* cells with food */
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t view = 2 * (int32_t)args[VISION] + 1;
    if (args[NUM_SNAKES] * args[MAX_LEN] >= args[WIDTH] * args[HEIGHT])
        return "num_snakes times max_length must be less than width times height, so that there is "
               "room for all; choose fewer or shorter snakes or a larger board";
    puffer_observation(spec, PUFFER_I8, -1, 1);
    spec->obs_shape[0] = view;
    spec->obs_shape[1] = view;
    spec->num_agents = (int32_t)args[NUM_SNAKES];
    puffer_discrete(spec, 4);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = (int32_t)(args[WIDTH] * args[HEIGHT]);
    return NULL;
}

PUFFER_FN void observe(const puffer_env *env, const State *s, int32_t i) {
    const int32_t vision = (int32_t)env->args[VISION], view = 2 * vision + 1;
    int8_t *obs = (int8_t *)env->observations + (int64_t)i * view * view;
    const int8_t *corner = s->board + s->bodies[i][s->heads[i] % MAX_LENGTH] - vision * (SIDE + 1);
    if (vision == 5) { /* a fixed size is faster */
        for (int row = 0; row < 11; row++) memcpy(obs + row * 11, corner + row * SIDE, 11);
        return;
    }
    for (int row = 0; row < view; row++)
        memcpy(obs + row * view, corner + row * SIDE, (size_t)view);
}

PUFFER_FN int32_t random_cell(puffer_env *env) {
    const int32_t row = puffer_randint(&env->rng, (int32_t)env->args[HEIGHT]);
    const int32_t column = puffer_randint(&env->rng, (int32_t)env->args[WIDTH]);
    return (row + MAX_VISION) * SIDE + column + MAX_VISION;
}

PUFFER_FN void grow_food(puffer_env *env, State *s) {
    const int32_t wanted = (int32_t)env->args[NUM_FOOD];
    for (int i = 0; i < TRIES && s->food < wanted; i++) {
        const int32_t cell = random_cell(env);
        if (s->board[cell] != EMPTY) continue;
        s->board[cell] = FOOD;
        s->food++;
    }
}

/* A new snake on the first cell without a snake from a random one on; describe() has left room. */
PUFFER_FN void spawn(puffer_env *env, State *s, int32_t i) {
    int32_t cell = random_cell(env);
    while (s->board[cell] == OBSTACLE) cell = (cell + 1) % (SIDE * SIDE);
    s->food -= s->board[cell] == FOOD;
    s->board[cell] = OBSTACLE;
    s->heads[i] = 0;
    s->bodies[i][0] = (uint16_t)cell;
    s->lengths[i] = 1;
    s->directions[i] = -1;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t width = (int32_t)env->args[WIDTH], height = (int32_t)env->args[HEIGHT];
    const int32_t snakes = (int32_t)env->args[NUM_SNAKES];
    memset(s->board, OBSTACLE, sizeof(s->board));
    for (int32_t row = 0; row < height; row++)
        memset(s->board + (row + MAX_VISION) * SIDE + MAX_VISION, EMPTY, (size_t)width);
    s->food = 0;
    for (int32_t i = 0; i < snakes; i++) spawn(env, s, i);
    const int32_t wanted = (int32_t)env->args[NUM_FOOD];
    for (int32_t tries = 0; tries < 4 * wanted && s->food < wanted; tries++) grow_food(env, s);
    for (int32_t i = 0; i < snakes; i++) observe(env, s, i);
}

/* Take a body off the board; of a dead one every second cell becomes food. */
PUFFER_FN void vanish(State *s, int32_t i, bool dead) {
    for (uint32_t k = 0; k < s->lengths[i]; k++) {
        const bool food = dead && k % 2;
        s->board[s->bodies[i][(s->heads[i] - k) % MAX_LENGTH]] = food ? FOOD : EMPTY;
        s->food += food;
    }
    s->lengths[i] = 0;
}

PUFFER_FN void reset_agent(puffer_env *env, State *s, int32_t i) {
    vanish(s, i, false); /* one that was truncated is still there */
    spawn(env, s, i);
    observe(env, s, i);
}

PUFFER_FN void report(const puffer_env *env, const State *s, int32_t i) {
    double *log = puffer_log(env, i);
    log[0] = s->lengths[i];
    log[1] = (s->lengths[i] - 1.0) / (env->args[MAX_LEN] - 1);
}

PUFFER_TABLE int32_t MOVES[] = {-SIDE, SIDE, -1, 1}; /* up, down, left, right */

PUFFER_FN void move(puffer_env *env, State *s, int32_t i, int32_t action) {
    if (action == (s->directions[i] ^ 1) && s->directions[i] >= 0) action ^= 1;
    s->directions[i] = action;
    const int32_t cell = s->bodies[i][s->heads[i] % MAX_LENGTH] + MOVES[action];
    const bool eats = s->board[cell] == FOOD;
    if (!eats) /* the tail goes on first: its cell is free for the head */
        s->board[s->bodies[i][(s->heads[i] - s->lengths[i] + 1) % MAX_LENGTH]] = EMPTY;
    if (s->board[cell] == OBSTACLE) {
        env->terminals[i] = true;
        env->rewards[i] = (float)env->args[REWARD_DEATH];
        report(env, s, i);
        vanish(s, i, true);
        return;
    }
    s->board[cell] = OBSTACLE;
    s->bodies[i][++s->heads[i] % MAX_LENGTH] = (uint16_t)cell;
    if (eats) {
        s->food--;
        s->lengths[i]++;
        env->rewards[i] = (float)env->args[REWARD_FOOD];
    }
    report(env, s, i);
    if (s->lengths[i] < (uint32_t)env->args[MAX_LEN]) return;
    env->terminals[i] = true;
    vanish(s, i, false);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t *actions = (const int32_t *)env->actions;
    const int32_t snakes = (int32_t)env->args[NUM_SNAKES];
    for (int32_t i = 0; i < snakes; i++) move(env, s, i, actions[i]);
    grow_food(env, s);
    for (int32_t i = 0; i < snakes; i++) observe(env, s, i);
}

static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t width = (int32_t)env->args[WIDTH], height = (int32_t)env->args[HEIGHT];
    for (int32_t row = 0; row < height; row++)
        for (int32_t column = 0; column < width; column++)
            out[row * width + column] =
                s->board[(row + MAX_VISION) * SIDE + column + MAX_VISION] == FOOD ? -1 : 0;
    for (int32_t i = 0; i < (int32_t)env->args[NUM_SNAKES]; i++)
        for (uint32_t k = 0; k < s->lengths[i]; k++) {
            const int32_t cell = s->bodies[i][(s->heads[i] - k) % MAX_LENGTH];
            const int32_t row = cell / SIDE - MAX_VISION, column = cell % SIDE - MAX_VISION;
            out[row * width + column] = (float)(i + 1) + (k ? 0 : 0.5f);
        }
}

#define PUFFER_RESET_AGENT
#define PUFFER_NAME "snake"
#include "puffer_harness.h"
