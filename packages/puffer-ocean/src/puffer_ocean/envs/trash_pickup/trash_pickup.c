/* Trash pickup: agents clean a yard together, piece by piece, into bins.
 *
 * Agents move one cell a step, one after the other in the order of their numbers; edge, bins and
 * other agents are in the way. An agent with free hands that enters a cell with trash picks it up;
 * one with full hands walks over it. Who walks against a bin with trash in hand has delivered it.
 * The episode ends when all trash is in bins. Observation, signed bytes: the square of 2 `vision` +
 * 1 cells round the agent, 1 trash, 0 empty, -1 edge, bin or agent, the lowest row last; then 1 if
 * it carries trash; then where the nearest bin is: -1 above, 1 below, and -1 left, 1 right, else 0.
 * Actions: up, down, left, right. Reward: `reward_pickup`, `reward_deliver`. score: pieces that the
 * agent delivered. perf: share of all trash that is in bins. */
#include "puffer_env.h"

#include <string.h>

#define MAX_SIDE 64
#define MAX_AGENTS 32
#define MAX_BINS 4
#define MAX_VISION 7
#define MAX_PITCH (MAX_SIDE + 2 * MAX_VISION)
#define OWN 3 /* numbers behind the square */

enum {
    WIDTH,
    HEIGHT,
    NUM_AGENTS,
    NUM_TRASH,
    NUM_BINS,
    VISION,
    MAX_STEPS,
    REWARD_PICKUP,
    REWARD_DELIVER
};

static const puffer_arg ARGS[] = {
    PUFFER_INT("width", 24, 8, MAX_SIDE, "columns of the yard"),
    PUFFER_INT("height", 24, 8, MAX_SIDE, "rows of the yard"),
    PUFFER_INT("num_agents", 8, 1, MAX_AGENTS, "agents"),
    PUFFER_INT("num_trash", 48, 1, 256, "pieces of trash"),
    PUFFER_INT("num_bins", 1, 1, MAX_BINS, "bins"),
    PUFFER_INT("vision", 5, 1, MAX_VISION, "cells seen to each side"),
    PUFFER_INT("max_steps", 256, 1, 1e6, "truncate an episode of so many steps"),
    PUFFER_FLOAT("reward_pickup", 0.2, 0, 1, "reward for a piece that is picked up"),
    PUFFER_FLOAT("reward_deliver", 1, 0, 1, "reward for a piece in a bin"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

enum { TRASH = 1, EMPTY = 0, OBSTACLE = -1 };

/* Cells are numbered row by row, with `vision` obstacles round the yard. */
typedef struct {
    int8_t board[MAX_PITCH * MAX_PITCH]; /* what agents see */
    bool trash[MAX_PITCH * MAX_PITCH];   /* lies there, also below an agent */
    int32_t pitch;
    int32_t bins[MAX_BINS];
    int32_t agents[MAX_AGENTS];
    bool carries[MAX_AGENTS];
    int32_t scores[MAX_AGENTS];
    int32_t delivered;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t view = 2 * (int32_t)args[VISION] + 1;
    if (args[NUM_AGENTS] + args[NUM_TRASH] + args[NUM_BINS] > args[WIDTH] * args[HEIGHT] / 2)
        return "num_agents, num_trash and num_bins must fill at most half of width times height; "
               "choose fewer or a larger yard";
    puffer_observation(spec, PUFFER_I8, -1, 1);
    spec->obs_shape[0] = view * view + OWN;
    spec->num_agents = (int32_t)args[NUM_AGENTS];
    puffer_discrete(spec, 4);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = (int32_t)(args[WIDTH] * args[HEIGHT] + 2 * args[NUM_AGENTS]);
    return NULL;
}

PUFFER_FN int32_t sign(int32_t value) {
    return (value > 0) - (value < 0);
}

PUFFER_FN int32_t row_of(const State *s, int32_t cell) {
    return (int32_t)((uint32_t)cell / (uint32_t)s->pitch);
}

/* Writes where the nearest bin is, by the steps to it. */
PUFFER_FN void point_to_bin(const puffer_env *env, const State *s, int32_t cell, int8_t *out) {
    const int32_t row = row_of(s, cell), column = cell - row * s->pitch;
    int32_t least = 2 * MAX_PITCH;
    for (int32_t k = 0; k < (int32_t)env->args[NUM_BINS]; k++) {
        const int32_t bin_row = row_of(s, s->bins[k]);
        const int32_t down = bin_row - row, right = s->bins[k] - bin_row * s->pitch - column;
        const int32_t distance = down * sign(down) + right * sign(right);
        if (distance >= least) continue;
        least = distance;
        out[0] = (int8_t)sign(down);
        out[1] = (int8_t)sign(right);
    }
}

PUFFER_FN void observe(const puffer_env *env, const State *s, int32_t i) {
    const int32_t vision = (int32_t)env->args[VISION], view = 2 * vision + 1, pitch = s->pitch;
    int8_t *obs = (int8_t *)env->observations + i * (view * view + OWN);
    const int8_t *corner = s->board + s->agents[i] - vision * (pitch + 1);
    if (vision == 5) { /* a fixed size is faster */
        for (int row = 0; row < 11; row++) memcpy(obs + row * 11, corner + row * pitch, 11);
    } else {
        for (int row = 0; row < view; row++)
            memcpy(obs + row * view, corner + row * pitch, (size_t)view);
    }
    obs[view * view] = s->carries[i];
    point_to_bin(env, s, s->agents[i], obs + view * view + 1);
}

/* An empty cell at least `margin` cells from the edge; describe() has left room. */
PUFFER_FN int32_t empty_cell(puffer_env *env, const State *s, int32_t margin) {
    const int32_t vision = (int32_t)env->args[VISION], edge = vision + margin;
    const int32_t rows = (int32_t)env->args[HEIGHT] - 2 * margin;
    const int32_t columns = (int32_t)env->args[WIDTH] - 2 * margin;
    int32_t cell;
    do {
        const int32_t row = puffer_randint(&env->rng, rows) + edge;
        cell = row * s->pitch + puffer_randint(&env->rng, columns) + edge;
    } while (s->board[cell] != EMPTY);
    return cell;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t vision = (int32_t)env->args[VISION], agents = env->spec->num_agents;
    const int32_t width = (int32_t)env->args[WIDTH], height = (int32_t)env->args[HEIGHT];
    s->pitch = width + 2 * vision;
    const size_t cells = (size_t)(s->pitch * (height + 2 * vision));
    memset(s->board, OBSTACLE, cells);
    memset(s->trash, false, cells);
    for (int32_t row = 0; row < height; row++)
        memset(s->board + (row + vision) * s->pitch + vision, EMPTY, (size_t)width);
    for (int32_t k = 0; k < (int32_t)env->args[NUM_BINS]; k++) {
        s->bins[k] = empty_cell(env, s, 2);
        s->board[s->bins[k]] = OBSTACLE;
    }
    for (int32_t k = 0; k < (int32_t)env->args[NUM_TRASH]; k++) {
        const int32_t cell = empty_cell(env, s, 0);
        s->board[cell] = TRASH;
        s->trash[cell] = true;
    }
    for (int32_t i = 0; i < agents; i++) {
        s->agents[i] = empty_cell(env, s, 0);
        s->board[s->agents[i]] = OBSTACLE;
        s->carries[i] = false;
        s->scores[i] = 0;
    }
    s->delivered = 0;
    for (int32_t i = 0; i < agents; i++) observe(env, s, i);
}

PUFFER_FN bool is_bin(const puffer_env *env, const State *s, int32_t cell) {
    for (int32_t k = 0; k < (int32_t)env->args[NUM_BINS]; k++)
        if (s->bins[k] == cell) return true;
    return false;
}

PUFFER_FN void move(puffer_env *env, State *s, int32_t i, int32_t action) {
    const int32_t way = action < 2 ? s->pitch : 1;
    const int32_t cell = s->agents[i] + (action & 1 ? way : -way);
    if (s->board[cell] == OBSTACLE) {
        if (!s->carries[i] || !is_bin(env, s, cell)) return;
        s->carries[i] = false;
        s->scores[i]++;
        s->delivered++;
        env->rewards[i] = (float)env->args[REWARD_DELIVER];
        return;
    }
    s->board[s->agents[i]] = s->trash[s->agents[i]] ? TRASH : EMPTY;
    s->board[cell] = OBSTACLE;
    s->agents[i] = cell;
    if (s->carries[i] || !s->trash[cell]) return;
    s->trash[cell] = false;
    s->carries[i] = true;
    env->rewards[i] = (float)env->args[REWARD_PICKUP];
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t *actions = (const int32_t *)env->actions;
    const int32_t agents = env->spec->num_agents, pieces = (int32_t)env->args[NUM_TRASH];
    for (int32_t i = 0; i < agents; i++) move(env, s, i, actions[i]);
    const double share = s->delivered / (double)pieces;
    for (int32_t i = 0; i < agents; i++) {
        observe(env, s, i);
        env->terminals[i] = s->delivered == pieces;
        double *log = puffer_log(env, i);
        log[0] = s->scores[i];
        log[1] = share;
    }
}

/* The yard row by row: 1 trash, 2 bin, else 0; then the cell of each agent in it, and what it
 * carries. */
static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t vision = (int32_t)env->args[VISION];
    const int32_t width = (int32_t)env->args[WIDTH], height = (int32_t)env->args[HEIGHT];
    for (int32_t row = 0; row < height; row++)
        for (int32_t column = 0; column < width; column++) {
            const int32_t cell = (row + vision) * s->pitch + column + vision;
            *out++ = is_bin(env, s, cell) ? 2 : s->trash[cell];
        }
    for (int32_t i = 0; i < env->spec->num_agents; i++) {
        const int32_t row = row_of(s, s->agents[i]), column = s->agents[i] - row * s->pitch;
        *out++ = (float)((row - vision) * width + column - vision);
        *out++ = (float)s->carries[i];
    }
}

#define PUFFER_NAME "trash_pickup"
#include "puffer_harness.h"
