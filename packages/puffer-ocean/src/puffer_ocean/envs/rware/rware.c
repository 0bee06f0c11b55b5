/* Robotic warehouse: robots fetch the shelves that are asked for, and bring them back.
 *
 * Blocks of 2 x `block` shelves stand between aisles, `columns` x `rows` of them; stations are in
 * the last row of cells. Robots move one cell a step, one after the other in the order of their
 * numbers; the edge and other robots are in the way, shelves as well if the robot carries one, else
 * it drives beneath them. It lifts the shelf above it, and puts it down in the place that this came
 * from, nowhere else. Always `num_requests` shelves are asked for: one that comes to a station is
 * delivered, and another one that stands in its place is asked for.
 *
 * Observation, signed bytes: the square of 2 `vision` + 1 cells round the robot, -1 edge or robot,
 * 0 free, 1 shelf, 2 shelf that is asked for, the lowest row last; the middle is what stands above
 * the robot. Then 1 if it carries a shelf; 1 if that is asked for; and the way to go: -1 up, 1
 * down, and -1 left, 1 right, else 0: to the nearest shelf that is asked for, with that to the
 * nearest station, else back, first to the aisle beside the place. Actions: up, down, left, right,
 * lift or put down. Reward: `reward_lift` for a shelf that is asked for, taken back if it is put
 * down undelivered; `reward_deliver`; `reward_return` when a delivered shelf is back. score:
 * deliveries. perf: score / ways from a mean shelf to its station and back in that time, at most
 * 1. */
#include "puffer_env.h"

#include <string.h>

#define MAX_BLOCKS 6 /* in each direction */
#define MAX_BLOCK 6
#define MAX_AISLE 3
#define MAX_ROBOTS 32
#define MAX_REQUESTS 32
#define MAX_STATIONS 4
#define MAX_VISION 3
#define MAX_WIDTH (MAX_BLOCKS * (2 + MAX_AISLE) + MAX_AISLE + 2 * MAX_VISION)
#define MAX_HEIGHT (MAX_BLOCKS * (MAX_BLOCK + MAX_AISLE) + MAX_AISLE + 1 + 2 * MAX_VISION)
#define FAR 1024 /* row of a request that is on its way */
#define OWN 4    /* numbers behind the square */

enum {
    COLUMNS,
    ROWS,
    BLOCK,
    AISLE,
    NUM_ROBOTS,
    NUM_REQUESTS,
    NUM_STATIONS,
    VISION,
    MAX_STEPS,
    REWARD_LIFT,
    REWARD_DELIVER,
    REWARD_RETURN
};

static const puffer_arg ARGS[] = {
    PUFFER_INT("columns", 3, 2, MAX_BLOCKS, "blocks of shelves side by side"),
    PUFFER_INT("rows", 2, 1, MAX_BLOCKS, "blocks of shelves one below the other"),
    PUFFER_INT("block", 4, 2, MAX_BLOCK, "rows of shelves in a block"),
    PUFFER_INT("aisle", 2, 1, MAX_AISLE, "cells between blocks"),
    PUFFER_INT("num_robots", 8, 1, MAX_ROBOTS, "agents"),
    PUFFER_INT("num_requests", 8, 1, MAX_REQUESTS, "shelves that are asked for at any time"),
    PUFFER_INT("num_stations", 2, 1, MAX_STATIONS, "cells that shelves are brought to"),
    PUFFER_INT("vision", 2, 1, MAX_VISION, "cells seen to each side"),
    PUFFER_INT("max_steps", 512, 1, 1e6, "steps of an episode"),
    PUFFER_FLOAT("reward_lift", 0.2, 0, 1, "reward for lifting a shelf that is asked for"),
    PUFFER_FLOAT("reward_deliver", 1, 0, 1, "reward for a delivery"),
    PUFFER_FLOAT("reward_return", 0.2, 0, 1, "reward for a delivered shelf in its place"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

enum { TAKEN = -1, FREE, SHELF, REQUESTED };
enum { LIFT = 4 };
enum { NOTHING = -1 };

typedef struct {
    int32_t row;
    int32_t column;
    int32_t load;    /* cell that its shelf comes from, or NOTHING */
    int32_t request; /* that it carries, or NOTHING */
    bool delivered;  /* the shelf that it carries */
    int32_t score;
} Robot;

/* Cells are numbered row by row, with `vision` taken cells round the warehouse; rows and columns
 * count from the corner of that. */
typedef struct {
    int8_t board[MAX_WIDTH * MAX_HEIGHT];   /* what robots see */
    int8_t shelves[MAX_WIDTH * MAX_HEIGHT]; /* FREE, SHELF or REQUESTED; also above a robot */
    int32_t pitch;
    int32_t height; /* rows of the warehouse */
    int32_t rows[MAX_REQUESTS];
    int32_t columns[MAX_REQUESTS];
    int32_t stations[MAX_STATIONS]; /* columns */
    Robot robots[MAX_ROBOTS];
    int32_t tick;
} State;

PUFFER_FN int32_t width_of(const double *args) {
    return (int32_t)(args[COLUMNS] * (2 + args[AISLE]) + args[AISLE]);
}

PUFFER_FN int32_t height_of(const double *args) {
    return (int32_t)(args[ROWS] * (args[BLOCK] + args[AISLE]) + args[AISLE] + 1);
}

PUFFER_FN int32_t shelves_of(const double *args) {
    return (int32_t)(args[COLUMNS] * args[ROWS] * args[BLOCK] * 2);
}

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t view = 2 * (int32_t)args[VISION] + 1;
    if (args[NUM_REQUESTS] + args[NUM_ROBOTS] >= shelves_of(args))
        return "num_requests and num_robots together must be less than the number of shelves, 2 x "
               "columns x rows x block; choose fewer, or more shelves";
    puffer_observation(spec, PUFFER_I8, -1, 2);
    spec->obs_shape[0] = view * view + OWN;
    spec->num_agents = (int32_t)args[NUM_ROBOTS];
    puffer_discrete(spec, 5);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = width_of(args) * height_of(args) + 3 * spec->num_agents;
    return NULL;
}

PUFFER_FN int32_t sign(int32_t value) {
    return (value > 0) - (value < 0);
}

PUFFER_FN int32_t distance(int32_t rows, int32_t columns) {
    return (rows < 0 ? -rows : rows) + (columns < 0 ? -columns : columns);
}

/* The column of the nearest station. */
PUFFER_FN int32_t nearest_station(const puffer_env *env, const State *s, int32_t column) {
    int32_t nearest = s->stations[0];
    for (int32_t k = 1; k < (int32_t)env->args[NUM_STATIONS]; k++)
        if (distance(0, s->stations[k] - column) < distance(0, nearest - column))
            nearest = s->stations[k];
    return nearest;
}

/* The column of the aisle beside a shelf's place: blocks are two shelves wide. */
PUFFER_FN int32_t aisle_beside(const puffer_env *env, int32_t column) {
    const int32_t aisle = (int32_t)env->args[AISLE], vision = (int32_t)env->args[VISION];
    return (column - vision - aisle) % (2 + aisle) == 0 ? column - 1 : column + 1;
}

PUFFER_FN void point(const puffer_env *env, const State *s, const Robot *robot, int8_t *out) {
    int32_t row = robot->row, column = robot->column;
    if (robot->request != NOTHING) {
        row = s->height - 1 + (int32_t)env->args[VISION];
        column = nearest_station(env, s, column);
    } else if (robot->load != NOTHING) {
        row = robot->load / s->pitch;
        column = robot->load - row * s->pitch;
        if (row != robot->row) column = aisle_beside(env, column);
    } else {
        const int32_t requests = (int32_t)env->args[NUM_REQUESTS];
        int32_t least = FAR * MAX_REQUESTS; /* distance, and which in the lower bits */
        for (int32_t k = 0; k < requests; k++) {
            const int32_t way = distance(s->rows[k] - robot->row, s->columns[k] - robot->column);
            const int32_t key = way * MAX_REQUESTS + k;
            least = key < least ? key : least;
        }
        const int32_t k = least % MAX_REQUESTS;
        if (least < FAR / 2 * MAX_REQUESTS) row = s->rows[k], column = s->columns[k];
    }
    out[0] = (int8_t)sign(row - robot->row);
    out[1] = (int8_t)sign(column - robot->column);
}

PUFFER_FN void observe(const puffer_env *env, const State *s, int32_t i) {
    const int32_t vision = (int32_t)env->args[VISION], view = 2 * vision + 1, pitch = s->pitch;
    const Robot *robot = &s->robots[i];
    const int32_t cell = robot->row * pitch + robot->column;
    int8_t *obs = (int8_t *)env->observations + i * (view * view + OWN);
    const int8_t *corner = s->board + cell - vision * (pitch + 1);
    if (vision == 2) { /* a fixed size is faster */
        for (int row = 0; row < 5; row++) memcpy(obs + row * 5, corner + row * pitch, 5);
    } else {
        for (int row = 0; row < view; row++)
            memcpy(obs + row * view, corner + row * pitch, (size_t)view);
    }
    obs[view * view / 2] = s->shelves[cell];
    obs += view * view;
    obs[0] = robot->load != NOTHING;
    obs[1] = robot->request != NOTHING;
    point(env, s, robot, obs + 2);
}

/* The cell of a shelf's place. */
PUFFER_FN int32_t place(const puffer_env *env, const State *s, int32_t shelf) {
    const int32_t columns = (int32_t)env->args[COLUMNS], block = (int32_t)env->args[BLOCK];
    const int32_t aisle = (int32_t)env->args[AISLE], vision = (int32_t)env->args[VISION];
    const int32_t row = shelf / (2 * columns), column = shelf % (2 * columns);
    return (vision + aisle + row / block * (block + aisle) + row % block) * s->pitch + vision +
           aisle + column / 2 * (2 + aisle) + column % 2;
}

/* Ask for the first shelf from a random one on that stands in its place unasked. */
PUFFER_FN void ask(puffer_env *env, State *s, int32_t k) {
    const int32_t count = shelves_of(env->args);
    int32_t shelf = puffer_randint(&env->rng, count);
    while (s->shelves[place(env, s, shelf)] != SHELF) shelf = (shelf + 1) % count;
    const int32_t cell = place(env, s, shelf);
    s->shelves[cell] = REQUESTED;
    if (s->board[cell] != TAKEN) s->board[cell] = REQUESTED;
    s->rows[k] = cell / s->pitch;
    s->columns[k] = cell % s->pitch;
}

PUFFER_FN void put_robot(puffer_env *env, State *s, Robot *robot) {
    const int32_t vision = (int32_t)env->args[VISION];
    do {
        robot->row = vision + puffer_randint(&env->rng, s->height);
        robot->column = vision + puffer_randint(&env->rng, width_of(env->args));
    } while (s->board[robot->row * s->pitch + robot->column] == TAKEN);
    s->board[robot->row * s->pitch + robot->column] = TAKEN;
    robot->load = robot->request = NOTHING;
    robot->delivered = false;
    robot->score = 0;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t vision = (int32_t)env->args[VISION], robots = env->spec->num_agents;
    const int32_t width = width_of(env->args), stations = (int32_t)env->args[NUM_STATIONS];
    s->height = height_of(env->args);
    s->pitch = width + 2 * vision;
    const size_t cells = (size_t)(s->pitch * (s->height + 2 * vision));
    memset(s->board, TAKEN, cells);
    memset(s->shelves, FREE, cells);
    for (int32_t row = 0; row < s->height; row++)
        memset(s->board + (row + vision) * s->pitch + vision, FREE, (size_t)width);
    for (int32_t shelf = 0; shelf < shelves_of(env->args); shelf++) {
        const int32_t cell = place(env, s, shelf);
        s->board[cell] = s->shelves[cell] = SHELF;
    }
    for (int32_t k = 0; k < stations; k++)
        s->stations[k] = vision + (2 * k + 1) * width / (2 * stations);
    for (int32_t k = 0; k < (int32_t)env->args[NUM_REQUESTS]; k++) ask(env, s, k);
    for (int32_t i = 0; i < robots; i++) put_robot(env, s, &s->robots[i]);
    s->tick = 0;
    for (int32_t i = 0; i < robots; i++) observe(env, s, i);
}

PUFFER_FN void lift(puffer_env *env, State *s, Robot *robot, float *reward) {
    const int32_t cell = robot->row * s->pitch + robot->column;
    if (s->shelves[cell] == FREE) return;
    robot->load = cell;
    robot->delivered = false;
    if (s->shelves[cell] == REQUESTED) {
        int32_t k = 0;
        while (s->rows[k] != robot->row || s->columns[k] != robot->column) k++;
        s->rows[k] = FAR;
        robot->request = k;
        *reward = (float)env->args[REWARD_LIFT];
    }
    s->shelves[cell] = FREE;
}

PUFFER_FN void put_down(puffer_env *env, State *s, Robot *robot, float *reward) {
    const int32_t cell = robot->row * s->pitch + robot->column;
    if (cell != robot->load) return;
    s->shelves[cell] = SHELF;
    if (robot->request != NOTHING) {
        s->shelves[cell] = REQUESTED;
        s->rows[robot->request] = robot->row;
        *reward = -(float)env->args[REWARD_LIFT];
    } else if (robot->delivered) {
        *reward = (float)env->args[REWARD_RETURN];
    }
    robot->load = robot->request = NOTHING;
}

PUFFER_FN void deliver(puffer_env *env, State *s, Robot *robot, float *reward) {
    if (robot->row != s->height - 1 + (int32_t)env->args[VISION] ||
        robot->column != nearest_station(env, s, robot->column))
        return;
    ask(env, s, robot->request);
    robot->request = NOTHING;
    robot->delivered = true;
    robot->score++;
    *reward = (float)env->args[REWARD_DELIVER];
}

PUFFER_FN void act(puffer_env *env, State *s, int32_t i, int32_t action) {
    Robot *robot = &s->robots[i];
    if (action == LIFT && robot->load == NOTHING) {
        lift(env, s, robot, &env->rewards[i]);
        return;
    }
    if (action == LIFT) {
        put_down(env, s, robot, &env->rewards[i]);
        return;
    }
    const int32_t down = (action == 1) - (action == 0), right = (action == 3) - (action == 2);
    const int32_t from = robot->row * s->pitch + robot->column, to = from + down * s->pitch + right;
    const bool loaded = robot->load != NOTHING;
    if (s->board[to] == TAKEN || (loaded && s->board[to] != FREE)) return;
    s->board[from] = s->shelves[from];
    s->board[to] = TAKEN;
    robot->row += down;
    robot->column += right;
    if (robot->request != NOTHING) deliver(env, s, robot, &env->rewards[i]);
}

PUFFER_FN void report(const puffer_env *env, const State *s) {
    const int32_t last = s->height - 1 + (int32_t)env->args[VISION], count = shelves_of(env->args);
    double ways = 0;
    for (int32_t shelf = 0; shelf < count; shelf++) {
        const int32_t cell = place(env, s, shelf), column = cell % s->pitch;
        ways += 2 * distance(last - cell / s->pitch, nearest_station(env, s, column) - column);
    }
    const double par = (double)env->max_steps * count / ways;
    for (int32_t i = 0; i < env->spec->num_agents; i++) {
        double *log = puffer_log(env, i);
        log[0] = s->robots[i].score;
        log[1] = log[0] < par ? log[0] / par : 1;
    }
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t *actions = (const int32_t *)env->actions;
    const int32_t robots = env->spec->num_agents;
    for (int32_t i = 0; i < robots; i++) act(env, s, i, actions[i]);
    for (int32_t i = 0; i < robots; i++) observe(env, s, i);
    if (++s->tick == env->max_steps) report(env, s);
}

/* The warehouse row by row: 1 shelf, 2 shelf that is asked for, 3 station, else 0; then of each
 * robot its cell, 0 unloaded, 1 loaded, 2 with a shelf that is asked for, and its deliveries. */
static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t vision = (int32_t)env->args[VISION], width = width_of(env->args);
    float *last = out + (s->height - 1) * width - vision;
    for (int32_t row = 0; row < s->height; row++)
        for (int32_t column = 0; column < width; column++)
            *out++ = s->shelves[(row + vision) * s->pitch + column + vision];
    for (int32_t k = 0; k < (int32_t)env->args[NUM_STATIONS]; k++) last[s->stations[k]] = 3;
    for (int32_t i = 0; i < env->spec->num_agents; i++) {
        const Robot *robot = &s->robots[i];
        *out++ = (float)((robot->row - vision) * width + robot->column - vision);
        *out++ = (float)((robot->load != NOTHING) + (robot->request != NOTHING));
        *out++ = (float)robot->score;
    }
}

#define PUFFER_NAME "rware"
#include "puffer_harness.h"
