/* Squared: walk from the centre of a grid to a target.
 *
 * Observation: size x size bytes, 0 empty, 1 agent, 2 target. Actions: stay, down, up, left, right.
 * Reaching the target gives +1 and ends the episode; leaving the grid or taking more than
 * 3 * size steps gives -1 and ends it. */
#include "puffer_env.h"

#include <string.h>

enum { SIZE };

static const puffer_arg ARGS[] = {
    PUFFER_INT("size", 11, 2, 256, "side of the grid"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

enum { EMPTY, AGENT, TARGET };

/* What the actions do to row and column. */
PUFFER_TABLE int32_t DOWN[] = {0, 1, -1, 0, 0};
PUFFER_TABLE int32_t RIGHT[] = {0, 0, 0, -1, 1};

typedef struct {
    int32_t size;
    int32_t row;
    int32_t column;
    int32_t target; /* cell: row * size + column */
    int32_t tick;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t size = (int32_t)args[SIZE];
    puffer_observation(spec, PUFFER_U8, EMPTY, TARGET);
    spec->obs_shape[0] = size * size;
    puffer_discrete(spec, 5);
    spec->render_size = size * size;
    return NULL;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    uint8_t *grid = (uint8_t *)env->observations;
    s->size = (int32_t)env->args[SIZE];
    const int32_t cells = s->size * s->size, centre = s->size / 2 * s->size + s->size / 2;
    const int32_t cell = puffer_randint(&env->rng, cells - 1);
    s->row = s->column = s->size / 2;
    s->target = cell < centre ? cell : cell + 1; /* anywhere but the centre */
    s->tick = 0;
    memset(grid, EMPTY, (size_t)cells);
    grid[centre] = AGENT;
    grid[s->target] = TARGET;
}

PUFFER_FN void finish(puffer_env *env, float reward) {
    env->rewards[0] = reward;
    env->terminals[0] = true;
    double *log = puffer_log(env, 0);
    log[0] = reward;
    log[1] = reward > 0;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t action = *(const int32_t *)env->actions;
    uint8_t *grid = (uint8_t *)env->observations;
    const int32_t row = s->row + DOWN[action], column = s->column + RIGHT[action];
    const bool outside = row < 0 || row >= s->size || column < 0 || column >= s->size;
    s->tick++;
    if (outside || s->tick > 3 * s->size) {
        finish(env, -1);
        return;
    }
    grid[s->row * s->size + s->column] = EMPTY;
    s->row = row;
    s->column = column;
    grid[row * s->size + column] = AGENT;
    if (row * s->size + column == s->target) finish(env, 1);
}

static void render(const puffer_env *env, const State *s, float *out) {
    const uint8_t *grid = (const uint8_t *)env->observations;
    for (int32_t i = 0; i < s->size * s->size; i++) out[i] = grid[i];
}

#define PUFFER_NAME "squared"
#include "puffer_harness.h"
