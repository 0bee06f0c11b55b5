/* Minesweeper: open every cell without a mine, on a square of `size` x `size` cells.
 *
 * An open cell shows how many of its eight neighbours hold mines; where these are none, the
 * neighbours open too, and so on. The mines are laid at the first opening, beside it and its
 * neighbours, `density` of the cells (at least one). Observation: ten numbers for each cell, row by
 * row, one of them 1: closed, or open with 0, 1, ... 8 mines around. Action: the cell to open, with
 * action masks; an open one stands for the next closed cell in reading order. Reward: the share of
 * the free cells that was opened; a mine costs `mine_cost` and ends the episode, as does the last
 * free cell. score: share of free cells opened. perf: 1 if all are, else 0. */
#include "puffer_env.h"

#include <string.h>

#define MAX_SIZE 16
#define MAX_CELLS (MAX_SIZE * MAX_SIZE)
#define PITCH (MAX_SIZE + 2) /* the board has a border, open and without mines */
#define KINDS 10             /* closed, 0 ... 8 */

enum { SIZE, DENSITY, MINE_COST };

static const puffer_arg ARGS[] = {
    PUFFER_INT("size", 6, 4, MAX_SIZE, "side of the board in cells"),
    PUFFER_FLOAT("density", 0.12, 0.02, 0.3, "share of the cells with mines"),
    PUFFER_FLOAT("mine_cost", 0.5, 0, 10, "what opening a mine costs"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    bool mine[PITCH * PITCH];
    bool open[PITCH * PITCH];
    uint8_t around[PITCH * PITCH]; /* mines */
    int32_t free_cells;
    int32_t opened;
    bool laid;
} State;

PUFFER_TABLE int32_t NEIGHBOURS[8] = {-PITCH - 1, -PITCH,    -PITCH + 1, -1,
                                      1,          PITCH - 1, PITCH,      PITCH + 1};

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t cells = (int32_t)args[SIZE] * (int32_t)args[SIZE];
    puffer_observation(spec, PUFFER_U8, 0, 1);
    spec->obs_shape[0] = cells * KINDS;
    puffer_discrete(spec, cells);
    spec->action_masks = true;
    spec->render_size = cells;
    return NULL;
}

/* The place of a cell on the board with border. */
PUFFER_FN int32_t place(int32_t cell, int32_t size) {
    return (cell / size + 1) * PITCH + cell % size + 1;
}

PUFFER_FN int32_t number_of_mines(const puffer_env *env) {
    const int32_t mines = (int32_t)(env->args[DENSITY] * env->args[SIZE] * env->args[SIZE] + 0.5);
    return mines < 1 ? 1 : mines;
}

/* Mines at random on cells that do not touch the first one: the front of a shuffled list. */
PUFFER_FN void lay_mines(puffer_env *env, State *s, int32_t first) {
    const int32_t size = (int32_t)env->args[SIZE], mines = number_of_mines(env);
    const int32_t row = first / size, column = first % size;
    uint16_t cells[MAX_CELLS];
    int32_t count = 0;
    for (int32_t r = 0; r < size; r++)
        for (int32_t c = 0; c < size; c++) {
            cells[count] = (uint16_t)((r + 1) * PITCH + c + 1);
            count += r < row - 1 || r > row + 1 || c < column - 1 || c > column + 1;
        }
    for (int32_t i = 0; i < mines; i++) {
        const int32_t j = i + puffer_randint(&env->rng, count - i);
        const int32_t at = cells[j];
        cells[j] = cells[i];
        s->mine[at] = true;
        for (int32_t k = 0; k < 8; k++) s->around[at + NEIGHBOURS[k]]++;
    }
    s->laid = true;
}

PUFFER_FN void show(const puffer_env *env, State *s, int32_t at) {
    const int32_t size = (int32_t)env->args[SIZE];
    const int32_t cell = (at / PITCH - 1) * size + at % PITCH - 1;
    uint8_t *kinds = (uint8_t *)env->observations + cell * KINDS;
    kinds[0] = 0;
    kinds[1 + s->around[at]] = 1;
    env->action_masks[cell] = false;
    s->open[at] = true;
}

/* Open a free cell and what follows from it; returns how many. */
PUFFER_FN int32_t open_cell(const puffer_env *env, State *s, int32_t at) {
    uint16_t waiting[MAX_CELLS];
    int32_t count = 1, opened = 0;
    waiting[0] = (uint16_t)at;
    show(env, s, at);
    while (count) {
        at = waiting[--count];
        opened++;
        if (s->around[at]) continue;
        for (int32_t k = 0; k < 8; k++) {
            const int32_t next = at + NEIGHBOURS[k];
            if (s->open[next]) continue;
            show(env, s, next);
            waiting[count++] = (uint16_t)next;
        }
    }
    return opened;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t size = (int32_t)env->args[SIZE], cells = size * size;
    uint8_t *obs = (uint8_t *)env->observations;
    memset(s, 0, sizeof *s);
    memset(s->open, true, sizeof s->open);
    for (int32_t row = 1; row <= size; row++)
        memset(s->open + row * PITCH + 1, false, (size_t)size);
    s->free_cells = cells - number_of_mines(env);
    memset(obs, 0, (size_t)(cells * KINDS));
    for (int32_t cell = 0; cell < cells; cell++) obs[cell * KINDS] = 1;
    memset(env->action_masks, true, (size_t)cells);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t size = (int32_t)env->args[SIZE], cells = size * size;
    int32_t cell = *(const int32_t *)env->actions;
    while (s->open[place(cell, size)]) cell = (cell + 1) % cells;
    if (!s->laid) lay_mines(env, s, cell);
    const int32_t at = place(cell, size);
    if (s->mine[at]) {
        s->open[at] = true;
        env->rewards[0] = -(float)env->args[MINE_COST];
    } else {
        const int32_t opened = open_cell(env, s, at);
        s->opened += opened;
        env->rewards[0] = (float)opened / (float)s->free_cells;
    }
    env->terminals[0] = s->mine[at] || s->opened == s->free_cells;
    double *log = puffer_log(env, 0);
    log[0] = (double)s->opened / s->free_cells;
    log[1] = s->opened == s->free_cells;
}

/* Row by row: -1 closed, -2 a mine that was opened, else the mines around. */
static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t size = (int32_t)env->args[SIZE];
    for (int32_t cell = 0; cell < size * size; cell++) {
        const int32_t at = place(cell, size);
        out[cell] = !s->open[at] ? -1.0f : s->mine[at] ? -2.0f : (float)s->around[at];
    }
}

#define PUFFER_NAME "minesweeper"
#include "puffer_harness.h"
