/* Boxoban: push all boxes of a small warehouse onto targets, as in Sokoban.
 *
 * `size` x `size` cells with walls all round; of those inside a share `walls` is wall, and what is
 * then cut off. The agent walks one cell up, down, left or right; a box in its way goes one cell on
 * if that one is free, else nothing moves. Every episode has a new level that can be solved: it
 * begins with each box on a target and is played backwards by pulling boxes, up to `pulls` times;
 * one that leaves no box on a target is preferred.
 * Observation: three planes of (2 `view` + 1) x (2 `view` + 1) bytes 0 or 1 with the agent in the
 * middle: walls (and all beyond them), boxes, targets. Actions: up, down, left, right. Reward:
 * `reward_box` for a box that comes onto a target, the same less for one that leaves it, 1 when all
 * are there, which ends the episode, less `step_cost` for each step. score: share of the boxes on
 * targets at the end. perf: 1 if all are, else 0. */
#include "puffer_env.h"

#include <string.h>

#define MAX_SIZE 10
#define MAX_VIEW 6
#define BORDER (MAX_VIEW - 1) /* cells beyond the outer walls that may be seen */
#define PITCH (MAX_SIZE + 2 * BORDER)
#define CELLS (PITCH * PITCH)
#define MAX_BOXES 6

enum { SIZE, BOXES, WALLS, PULLS, VIEW, MAX_STEPS, REWARD_BOX, STEP_COST };
enum { WALL, BOX, TARGET, PLANES };

static const puffer_arg ARGS[] = {
    PUFFER_INT("size", 7, 6, MAX_SIZE, "side of the warehouse with its outer walls, in cells"),
    PUFFER_INT("boxes", 2, 1, MAX_BOXES, "boxes and targets"),
    PUFFER_FLOAT("walls", 0.15, 0, 0.4, "share of the inner cells that are walls"),
    PUFFER_INT("pulls", 20, 1, 200, "pulls that make a level, at most"),
    PUFFER_INT("view", 4, 1, MAX_VIEW, "how many cells far the agent sees in each direction"),
    PUFFER_INT("max_steps", 80, 1, 1e9, "truncate an episode of so many steps"),
    PUFFER_FLOAT("reward_box", 0.3, 0, 1, "reward for a box that comes onto a target"),
    PUFFER_FLOAT("step_cost", 0.01, 0, 1, "what a step costs"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    uint8_t planes[PLANES][CELLS];
    int32_t agent; /* its cell */
    int32_t there; /* boxes on targets */
} State;

PUFFER_TABLE int32_t MOVES[4] = {-PITCH, PITCH, -1, 1}; /* up, down, left, right */

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t side = 2 * (int32_t)args[VIEW] + 1, size = (int32_t)args[SIZE];
    puffer_observation(spec, PUFFER_U8, 0, 1);
    spec->obs_shape[0] = PLANES;
    spec->obs_shape[1] = side;
    spec->obs_shape[2] = side;
    puffer_discrete(spec, 4);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = size * size + 1;
    return NULL;
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    const int32_t view = (int32_t)env->args[VIEW], side = 2 * view + 1;
    const int32_t corner = s->agent - view * (PITCH + 1);
    uint8_t *obs = (uint8_t *)env->observations;
    for (int32_t plane = 0; plane < PLANES; plane++)
        for (int32_t row = 0; row < side; row++, obs += side) {
            const uint8_t *cells = s->planes[plane] + corner + row * PITCH;
            if (view == 4) /* a fixed size is faster */
                memcpy(obs, cells, 9);
            else
                memcpy(obs, cells, (size_t)side);
        }
}

PUFFER_FN int32_t place(int32_t row, int32_t column) {
    return (row + BORDER) * PITCH + column + BORDER;
}

PUFFER_FN bool is_free(const State *s, int32_t cell) {
    return !(s->planes[WALL][cell] | s->planes[BOX][cell]);
}

/* Cells that hang together, each once. */
typedef struct {
    uint16_t cells[MAX_SIZE * MAX_SIZE];
    int32_t count;
    bool has[CELLS];
} Region;

/* All that the agent reaches from a free cell without a push. */
PUFFER_FN void explore(const State *s, int32_t from, Region *region) {
    memset(region->has, 0, sizeof region->has);
    region->cells[0] = (uint16_t)from;
    region->count = 1;
    region->has[from] = true;
    for (int32_t k = 0; k < region->count; k++)
        for (int32_t i = 0; i < 4; i++) {
            const int32_t next = region->cells[k] + MOVES[i];
            if (region->has[next] || !is_free(s, next)) continue;
            region->has[next] = true;
            region->cells[region->count++] = (uint16_t)next;
        }
}

/* Walls at random; false where what is left in one piece is too small. */
PUFFER_FN bool build(puffer_env *env, State *s, float walls, Region *region) {
    const int32_t size = (int32_t)env->args[SIZE], boxes = (int32_t)env->args[BOXES];
    memset(s->planes[WALL], 1, CELLS);
    memset(s->planes[BOX], 0, CELLS);
    memset(s->planes[TARGET], 0, CELLS);
    for (int32_t row = 1; row < size - 1; row++)
        for (int32_t column = 1; column < size - 1; column++)
            s->planes[WALL][place(row, column)] = puffer_uniform(&env->rng, 0, 1) < walls;
    const int32_t inside = size - 2;
    const int32_t start =
        place(1 + puffer_randint(&env->rng, inside), 1 + puffer_randint(&env->rng, inside));
    if (s->planes[WALL][start]) return false;
    explore(s, start, region);
    if (region->count < boxes + 4 || 2 * region->count < inside * inside) return false;
    for (int32_t cell = 0; cell < CELLS; cell++) s->planes[WALL][cell] = !region->has[cell];
    return true;
}

/* Pull the boxes from their targets, in turn, a way each; `region` is what the agent reaches. */
PUFFER_FN void play_backwards(puffer_env *env, State *s, int32_t *boxes, Region *region) {
    const int32_t count = (int32_t)env->args[BOXES], longest = (int32_t)env->args[SIZE] - 3;
    int32_t pulls = (int32_t)env->args[PULLS];
    for (int32_t tries = 0; tries < 8 * count && pulls; tries++) {
        int32_t *box = &boxes[tries % count];
        const int32_t way = MOVES[puffer_randint(&env->rng, 4)];
        int32_t cells = 1 + puffer_randint(&env->rng, longest);
        if (!region->has[*box + way]) continue;
        for (; cells && pulls && is_free(s, *box + 2 * way); cells--, pulls--) {
            s->planes[BOX][*box] = 0;
            *box += way;
            s->planes[BOX][*box] = 1;
            explore(s, *box + way, region);
        }
    }
}

/* False where the level came to nothing, or more boxes than `home` are on targets. */
PUFFER_FN bool make_level(puffer_env *env, State *s, float walls, int32_t home) {
    const int32_t count = (int32_t)env->args[BOXES];
    int32_t boxes[MAX_BOXES];
    Region region;
    if (!build(env, s, walls, &region)) return false;
    for (int32_t k = 0; k < count; k++) {
        const int32_t pick = k + puffer_randint(&env->rng, region.count - k);
        boxes[k] = region.cells[pick];
        region.cells[pick] = region.cells[k];
        region.cells[k] = (uint16_t)boxes[k];
        s->planes[BOX][boxes[k]] = s->planes[TARGET][boxes[k]] = 1;
    }
    explore(s, region.cells[count + puffer_randint(&env->rng, region.count - count)], &region);
    play_backwards(env, s, boxes, &region);
    s->agent = region.cells[puffer_randint(&env->rng, region.count)];
    s->there = 0;
    for (int32_t k = 0; k < count; k++) s->there += s->planes[TARGET][boxes[k]];
    return s->there <= home;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t most = (int32_t)env->args[BOXES] - 1;
    float walls = (float)env->args[WALLS];
    /* none at home if it can be; in the open a few tries are enough */
    for (int32_t tries = 0; !make_level(env, s, walls, tries < 8 ? 0 : most); tries++)
        walls *= 0.9f;
    observe(env, s);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t boxes = (int32_t)env->args[BOXES];
    const int32_t way = MOVES[*(const int32_t *)env->actions];
    const int32_t next = s->agent + way, beyond = next + way;
    env->rewards[0] = -(float)env->args[STEP_COST];
    if (s->planes[BOX][next] && is_free(s, beyond)) {
        const int32_t gain = s->planes[TARGET][beyond] - s->planes[TARGET][next];
        s->planes[BOX][next] = 0;
        s->planes[BOX][beyond] = 1;
        s->there += gain;
        env->rewards[0] += (float)env->args[REWARD_BOX] * (float)gain;
    }
    if (is_free(s, next)) s->agent = next;
    if (s->there == boxes) {
        env->rewards[0] += 1;
        env->terminals[0] = true;
    }
    double *log = puffer_log(env, 0);
    log[0] = (double)s->there / boxes;
    log[1] = s->there == boxes;
    observe(env, s);
}

/* Row by row: 1 wall, 2 box, 4 target, sums; then the number of the agent's cell. */
static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t size = (int32_t)env->args[SIZE];
    for (int32_t k = 0; k < size * size; k++) {
        const int32_t cell = place(k / size, k % size);
        out[k] =
            (float)(s->planes[WALL][cell] + 2 * s->planes[BOX][cell] + 4 * s->planes[TARGET][cell]);
        if (cell == s->agent) out[size * size] = (float)k;
    }
}

#define PUFFER_NAME "boxoban"
#include "puffer_harness.h"
