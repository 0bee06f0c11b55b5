/* Maze: find the goal in a new maze every episode.
 *
 * `size` x `size` rooms, joined by a depth-first walk to a tree; then a share `loops` of the other
 * inner walls opens. On a grid of 2 size + 1 cells a side, rooms lie on odd rows and columns. Start
 * and goal are different rooms at random. Observation: the cells around the agent, up to `view`
 * away, row by row: 0 wall, 1 open and visited, 2 open, 3 the goal; then four numbers 0 or 1: the
 * goal lies above, below, left, right. Actions: up, down, left, right, one cell; a wall stops.
 * Reward: 1 at the goal, which ends the episode, less `step_cost` for each step. score: 1 if the
 * goal was found. perf: length of the shortest way / steps, 0 without the goal. */
#include "puffer_env.h"

#include <string.h>

#define MAX_ROOMS 20
#define MAX_VIEW 7
#define MAX_PITCH (2 * MAX_ROOMS + 1 + 2 * (MAX_VIEW - 1))

enum { SIZE, LOOPS, VIEW, STEP_COST, MAX_STEPS };
enum { WALL, VISITED, OPEN, GOAL };

static const puffer_arg ARGS[] = {
    PUFFER_INT("size", 5, 2, MAX_ROOMS, "rooms on a side"),
    PUFFER_FLOAT("loops", 0.1, 0, 1, "share of the walls between rooms that is opened at the end"),
    PUFFER_INT("view", 4, 1, MAX_VIEW, "how many cells far the agent sees in each direction"),
    PUFFER_FLOAT("step_cost", 0.01, 0, 1, "what a step costs"),
    PUFFER_INT("max_steps", 200, 1, 1e9, "truncate an episode of so many steps"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

/* Cells with a border of view - 1 walls, so that what the agent sees always exists. */
typedef struct {
    uint8_t cells[MAX_PITCH * MAX_PITCH];
    int32_t pitch;
    int32_t agent;
    int32_t goal;
    int32_t shortest; /* steps from the start to the goal */
    int32_t steps;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t seen = 2 * (int32_t)args[VIEW] + 1, side = 2 * (int32_t)args[SIZE] + 1;
    puffer_observation(spec, PUFFER_U8, 0, 3);
    spec->obs_shape[0] = seen * seen + 4;
    puffer_discrete(spec, 4);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = side * side + 1;
    return NULL;
}

PUFFER_FN int32_t direction(const State *s, int32_t action) {
    const int32_t way = action < 2 ? s->pitch : 1;
    return action & 1 ? way : -way;
}

/* Place of row and column of the grid. */
PUFFER_FN int32_t place(const puffer_env *env, const State *s, int32_t row, int32_t column) {
    const int32_t border = (int32_t)env->args[VIEW] - 1;
    return (row + border) * s->pitch + column + border;
}

PUFFER_FN int32_t random_room(puffer_env *env, const State *s) {
    const int32_t size = (int32_t)env->args[SIZE];
    const int32_t room = puffer_randint(&env->rng, size * size);
    return place(env, s, 2 * (room / size) + 1, 2 * (room % size) + 1);
}

/* Walk from room to unseen room, and back where there is none. Unseen rooms are walls, and a step
 * out of the grid is told by the row and the column. */
PUFFER_FN void carve(puffer_env *env, State *s) {
    const int32_t size = (int32_t)env->args[SIZE];
    uint16_t path[MAX_ROOMS * MAX_ROOMS];
    int32_t length = 1;
    path[0] = 0;
    s->cells[place(env, s, 1, 1)] = OPEN;
    while (length) {
        const int32_t row = path[length - 1] / size, column = path[length - 1] % size;
        int32_t count = 0, ways[4];
        for (int32_t k = 0; k < 4; k++) {
            const int32_t r = row + (k == 1) - (k == 0), c = column + (k == 3) - (k == 2);
            const bool inside = r >= 0 && r < size && c >= 0 && c < size;
            ways[count] = k;
            count += inside && s->cells[place(env, s, 2 * r + 1, 2 * c + 1)] == WALL;
        }
        if (!count) {
            length--;
            continue;
        }
        const int32_t k = ways[puffer_randint(&env->rng, count)];
        const int32_t from = place(env, s, 2 * row + 1, 2 * column + 1), way = direction(s, k);
        s->cells[from + way] = s->cells[from + 2 * way] = OPEN;
        path[length] =
            (uint16_t)((row + (k == 1) - (k == 0)) * size + column + (k == 3) - (k == 2));
        length++;
    }
}

/* Walls between two rooms lie where one of row and column is even. */
PUFFER_FN void open_loops(puffer_env *env, State *s) {
    const int32_t last = 2 * (int32_t)env->args[SIZE];
    const float loops = (float)env->args[LOOPS];
    if (loops == 0) return;
    for (int32_t row = 1; row < last; row++)
        for (int32_t column = 1 + row % 2; column < last; column += 2) {
            uint8_t *cell = &s->cells[place(env, s, row, column)];
            if (*cell == WALL && puffer_uniform(&env->rng, 0, 1) < loops) *cell = OPEN;
        }
}

/* Breadth first from the agent to the goal. */
PUFFER_FN int32_t shortest_way(const State *s) {
    uint16_t queue[MAX_PITCH * MAX_PITCH];
    bool seen[MAX_PITCH * MAX_PITCH];
    memset(seen, false, (size_t)(s->pitch * s->pitch));
    int32_t first = 0, count = 1, distance = 0;
    queue[0] = (uint16_t)s->agent;
    seen[s->agent] = true;
    for (;;) {
        for (const int32_t end = count; first < end; first++) {
            if (queue[first] == s->goal) return distance;
            for (int32_t k = 0; k < 4; k++) {
                const int32_t next = queue[first] + direction(s, k);
                if (seen[next] || s->cells[next] == WALL) continue;
                seen[next] = true;
                queue[count++] = (uint16_t)next;
            }
        }
        distance++;
    }
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    const int32_t view = (int32_t)env->args[VIEW], seen = 2 * view + 1, pitch = s->pitch;
    uint8_t *obs = (uint8_t *)env->observations;
    const uint8_t *from = s->cells + s->agent - view * (pitch + 1);
    if (view == 4) /* a fixed size is faster */
        for (int32_t row = 0; row < 9; row++) memcpy(obs + row * 9, from + row * pitch, 9);
    else
        for (int32_t row = 0; row < seen; row++)
            memcpy(obs + row * seen, from + row * pitch, (size_t)seen);
    obs += seen * seen;
    const int32_t rows = s->goal / pitch - s->agent / pitch;
    const int32_t columns = s->goal - s->agent - rows * pitch;
    obs[0] = rows < 0;
    obs[1] = rows > 0;
    obs[2] = columns < 0;
    obs[3] = columns > 0;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    s->pitch = 2 * (int32_t)env->args[SIZE] + 1 + 2 * ((int32_t)env->args[VIEW] - 1);
    memset(s->cells, WALL, (size_t)(s->pitch * s->pitch));
    carve(env, s);
    open_loops(env, s);
    s->agent = random_room(env, s);
    do s->goal = random_room(env, s);
    while (s->goal == s->agent);
    s->cells[s->agent] = VISITED;
    s->cells[s->goal] = GOAL;
    s->shortest = shortest_way(s);
    s->steps = 0;
    observe(env, s);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t next = s->agent + direction(s, *(const int32_t *)env->actions);
    if (s->cells[next] != WALL) s->agent = next;
    s->steps++;
    const bool found = s->agent == s->goal;
    if (!found) s->cells[s->agent] = VISITED;
    env->rewards[0] = (found ? 1.0f : 0.0f) - (float)env->args[STEP_COST];
    env->terminals[0] = found;
    double *log = puffer_log(env, 0);
    log[0] = found;
    log[1] = found ? (double)s->shortest / s->steps : 0;
    observe(env, s);
}

/* The grid row by row, then the agent's cell in it. */
static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t side = 2 * (int32_t)env->args[SIZE] + 1;
    for (int32_t cell = 0; cell < side * side; cell++) {
        const int32_t at = place(env, s, cell / side, cell % side);
        out[cell] = (float)s->cells[at];
        if (at == s->agent) out[side * side] = (float)cell;
    }
}

#define PUFFER_NAME "maze"
#include "puffer_harness.h"
