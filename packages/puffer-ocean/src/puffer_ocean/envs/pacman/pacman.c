/* Pac-Man: eat all pellets of a maze, away from four ghosts, or after them.
 *
 * Mazes have 17 x 17 cells and a tunnel from left to right. In a step Pac-Man goes one cell in the
 * direction of the action, or straight on where a wall is there. A ghost then goes one cell, in a
 * share `ghost_speed` of the steps; it never turns back, and at a fork takes the cell that is
 * nearest to its target: in a phase of `scatter` steps its own corner, in one of `chase` steps
 * Pac-Man's cell (the first ghost), the fourth cell ahead of him (the second), the first ghost's
 * cell mirrored at the second cell ahead (the third), or Pac-Man beyond 8 cells, else its corner
 * (the fourth). They leave the pen one after the other, every `release` steps. A power pellet
 * frightens them for `fright` steps: they turn at random, half as often, and can be eaten; one that
 * was eaten waits 8 steps in the pen. A ghost that meets Pac-Man otherwise costs a life, and all
 * start anew. The episode ends without lives or without pellets. Observation, signed bytes: two
 * squares of 11 x 11 cells round Pac-Man, -1 wall, 0 empty, 1 pellet, 2 power pellet, and 0, -1
 * ghost, 1 frightened ghost; one-hot his direction; how many pellets are above, below, left, right
 * of him, at most 4; 1 to 4: how much fright is left; 1: ghosts chase. Actions: up, down, left,
 * right. Points: pellet 10, power pellet 50, ghosts 200, 400, 800, 1600 in one fright. Reward:
 * `reward_pellet` for either pellet, `reward_ghost`, `reward_death`, `reward_win`. score: points.
 * perf: the square of the share of pellets that is eaten, since the last ones are the hardest. */
#include "puffer_env.h"

#include <string.h>

#define SIDE 17
#define VISION 5
#define VIEW (2 * VISION + 1)
#define STRIDE 32 /* of the board's rows, at least SIDE + 2 VISION */
#define GHOSTS 4
#define SHY 8
#define WAIT 8
#define HEADING (2 * VIEW * VIEW)
#define COMPASS (HEADING + 4)
#define FEAR (COMPASS + 4)
#define CHASING (FEAR + 1)
#define OBS (CHASING + 1)

enum {
    MAZE,
    LIVES,
    GHOST_SPEED,
    SCATTER,
    CHASE,
    RELEASE,
    FRIGHT,
    MAX_STEPS,
    REWARD_PELLET,
    REWARD_GHOST,
    REWARD_DEATH,
    REWARD_WIN
};
enum { WALL = -1, EMPTY, PELLET, POWER };
enum { UP, DOWN, LEFT, RIGHT };

static const puffer_arg ARGS[] = {
    PUFFER_ENUM("maze", 0, "classic|rings", "the map"),
    PUFFER_INT("lives", 3, 1, 10, "lives of an episode"),
    PUFFER_FLOAT("ghost_speed", 0.8, 0.1, 1, "share of the steps in which ghosts move"),
    PUFFER_INT("scatter", 15, 0, 1000, "steps in which ghosts go to their corners"),
    PUFFER_INT("chase", 40, 1, 1000, "steps in which they go after Pac-Man"),
    PUFFER_INT("release", 10, 0, 100, "steps between the ghosts' starts"),
    PUFFER_INT("fright", 25, 0, 200, "steps in which ghosts are frightened"),
    PUFFER_INT("max_steps", 1000, 1, 1e9, "truncate an episode of so many steps"),
    PUFFER_FLOAT("reward_pellet", 0.1, 0, 1, "reward for a pellet"),
    PUFFER_FLOAT("reward_ghost", 0.2, 0, 1, "reward for a frightened ghost"),
    PUFFER_FLOAT("reward_death", -1, -1, 0, "reward for a lost life"),
    PUFFER_FLOAT("reward_win", 1, 0, 1, "reward for the last pellet"),
};

static const char *const LOG_FIELDS[] = {"score", "perf", "pellets"};

/* # wall, = pen, . pellet, o power pellet, - empty, P where Pac-Man starts. */
PUFFER_TABLE char MAZES[2][SIDE][SIDE + 1] = {
    {"#################", "#o......#......o#", "#.##.##.#.##.##.#", "#...............#",
     "#.##.#.###.#.##.#", "#....#..#..#....#", "####.##.#.##.####", "####.-------.####",
     "-----##===##-----", "####.-------.####", "####.#.###.#.####", "#.......#.......#",
     "#.##.##.#.##.##.#", "#o.#....P....#.o#", "##.#.#.###.#.#.##", "##.............##",
     "#################"},
    {"#################", "#...............#", "#.#####.#.#####.#", "#o#...........#o#",
     "#.#.####.####.#.#", "#.#.#.......#.#.#", "#...#.#####.#...#", "###.---------.###",
     "----###===###----", "###.---------.###", "#...#.#####.#...#", "#.#.#...P...#.#.#",
     "#.#.####.####.#.#", "#o#...........#o#", "#.#####.#.#####.#", "#...............#",
     "#################"},
};
PUFFER_TABLE int32_t MOVES[] = {-STRIDE, STRIDE, -1, 1};
PUFFER_TABLE int8_t BACK[] = {DOWN, UP, RIGHT, LEFT};
#define CELL(row, column) (((row) + VISION) * STRIDE + (column) + VISION)
#define EXIT CELL(7, 8) /* above the pen */

typedef struct {
    int32_t row, column; /* perhaps outside */
} Place;

PUFFER_TABLE Place CORNERS[GHOSTS] = {{0, SIDE - 1}, {0, 0}, {SIDE - 1, SIDE - 1}, {SIDE - 1, 0}};

typedef struct {
    int8_t board[(SIDE + 2 * VISION) * STRIDE];
    int8_t in_row[SIDE], in_column[SIDE]; /* pellets */
    int16_t cell;                         /* of Pac-Man */
    int16_t ghosts[GHOSTS];               /* cells; those in the pen wait at its exit, unseen */
    int8_t directions[GHOSTS];
    int16_t waits[GHOSTS]; /* steps in the pen */
    bool afraid[GHOSTS];
    int8_t direction;
    int16_t start;
    int32_t fright;       /* steps left */
    int32_t phase;        /* steps since the last scatter began */
    int32_t all, pellets; /* of the maze; left */
    int32_t above, left;  /* pellets there, seen from Pac-Man */
    int32_t lives;
    int32_t score;
    int32_t bounty; /* points of the next ghost */
    float way;      /* of the ghosts, in cells, below 1 */
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    puffer_observation(spec, PUFFER_I8, -1, 4);
    spec->obs_shape[0] = OBS;
    puffer_discrete(spec, 4);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = SIDE * SIDE + 3 + 4 * GHOSTS + 2;
    return NULL;
}

PUFFER_FN int32_t row_of(int32_t cell) {
    return (int32_t)((uint32_t)cell / STRIDE) - VISION;
}

PUFFER_FN int32_t column_of(int32_t cell) {
    return (int32_t)((uint32_t)cell % STRIDE) - VISION;
}

/* Pac-Man is in this cell now. */
PUFFER_FN void put(State *s, int32_t cell) {
    s->cell = (int16_t)cell;
    s->above = s->left = 0;
    for (int32_t i = 0; i < row_of(cell); i++) s->above += s->in_row[i];
    for (int32_t i = 0; i < column_of(cell); i++) s->left += s->in_column[i];
}

PUFFER_FN void observe(const puffer_env *env, const State *s) {
    int8_t *obs = (int8_t *)env->observations, *seen = obs + VIEW * VIEW;
    const int8_t *corner = s->board + s->cell - VISION * (STRIDE + 1);
    for (int row = 0; row < VIEW; row++) memcpy(obs + row * VIEW, corner + row * STRIDE, VIEW);
    memset(seen, 0, OBS - VIEW * VIEW);
    const int32_t row = row_of(s->cell), column = column_of(s->cell);
    for (int i = 0; i < GHOSTS; i++) {
        if (s->waits[i]) continue;
        const int32_t down = row_of(s->ghosts[i]) - row + VISION;
        const int32_t right = column_of(s->ghosts[i]) - column + VISION;
        if ((uint32_t)down >= VIEW || (uint32_t)right >= VIEW) continue;
        int8_t *at = &seen[down * VIEW + right];
        if (*at >= 0) *at = s->afraid[i] ? 1 : -1;
    }
    obs[HEADING + s->direction] = 1;
    const int32_t around[] = {s->above, s->pellets - s->above - s->in_row[row], s->left,
                              s->pellets - s->left - s->in_column[column]};
    for (int i = 0; i < 4; i++) obs[COMPASS + i] = (int8_t)(around[i] < 4 ? around[i] : 4);
    if (s->fright) obs[FEAR] = (int8_t)(1 + 4 * (s->fright - 1) / (int32_t)env->args[FRIGHT]);
    obs[CHASING] = s->phase >= (int32_t)env->args[SCATTER];
}

/* All go to where they start. */
PUFFER_FN void start_life(const puffer_env *env, State *s) {
    put(s, s->start);
    s->direction = LEFT;
    s->fright = 0;
    s->phase = 0;
    s->way = 0;
    for (int i = 0; i < GHOSTS; i++) {
        s->ghosts[i] = EXIT;
        s->directions[i] = i % 2 ? RIGHT : LEFT;
        s->waits[i] = (int16_t)(i * (int32_t)env->args[RELEASE]);
        s->afraid[i] = false;
    }
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t maze = (int32_t)env->args[MAZE];
    memset(s, 0, sizeof *s);
    memset(s->board, WALL, sizeof s->board);
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            const char symbol = MAZES[maze][row][column];
            const int8_t content = symbol == '.' ? PELLET : symbol == 'o' ? POWER : EMPTY;
            if (symbol == '#' || symbol == '=') continue;
            s->board[CELL(row, column)] = content;
            s->in_row[row] = (int8_t)(s->in_row[row] + (content != EMPTY));
            s->in_column[column] = (int8_t)(s->in_column[column] + (content != EMPTY));
            if (symbol == 'P') s->start = (int16_t)CELL(row, column);
        }
    s->board[CELL(SIDE / 2, -1)] = s->board[CELL(SIDE / 2, SIDE)] = EMPTY; /* the tunnel's ends */
    for (int row = 0; row < SIDE; row++) s->all += s->in_row[row];
    s->pellets = s->all;
    s->lives = (int32_t)env->args[LIVES];
    start_life(env, s);
    observe(env, s);
}

/* The next cell in this direction, through the tunnel if need be. */
PUFFER_FN int32_t next_cell(int32_t cell, int32_t direction) {
    const int32_t next = cell + MOVES[direction], column = column_of(next);
    return column < 0 ? next + SIDE : column >= SIDE ? next - SIDE : next;
}

PUFFER_FN Place place_of(int32_t cell) {
    Place place;
    place.row = row_of(cell);
    place.column = column_of(cell);
    return place;
}

PUFFER_FN int32_t distance(Place a, Place b) { /* squared */
    const int32_t down = a.row - b.row, right = a.column - b.column;
    return down * down + right * right;
}

PUFFER_TABLE Place AHEAD[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};

PUFFER_FN Place target_of(const puffer_env *env, const State *s, int i) {
    if (s->phase < (int32_t)env->args[SCATTER]) return CORNERS[i];
    const Place him = place_of(s->cell), ahead = AHEAD[s->direction];
    const Place first = place_of(s->ghosts[0]);
    Place target = him;
    if (i == 1) {
        target.row += 4 * ahead.row;
        target.column += 4 * ahead.column;
    } else if (i == 2) {
        target.row = 2 * (him.row + 2 * ahead.row) - first.row;
        target.column = 2 * (him.column + 2 * ahead.column) - first.column;
    } else if (i == 3 && distance(place_of(s->ghosts[i]), him) <= SHY * SHY) {
        target = CORNERS[i];
    }
    return target;
}

/* Where a ghost goes: any way but back; at a fork to its target, or anywhere when it is afraid. */
PUFFER_FN void steer(puffer_env *env, State *s, int i) {
    const int32_t cell = s->ghosts[i];
    int8_t ways[4];
    int32_t count = 0;
    for (int8_t d = 0; d < 4; d++) {
        ways[count] = d;
        count += s->board[cell + MOVES[d]] != WALL && d != BACK[s->directions[i]];
    }
    int32_t choice = 0;
    if (count > 1 && s->afraid[i]) choice = puffer_randint(&env->rng, count);
    if (count > 1 && !s->afraid[i]) {
        const Place target = target_of(env, s, i);
        int32_t nearest = INT32_MAX;
        for (int32_t k = 0; k < count; k++) {
            const int32_t far = distance(place_of(cell + MOVES[ways[k]]), target);
            if (far >= nearest) continue;
            nearest = far;
            choice = k;
        }
    }
    s->directions[i] = ways[choice];
    s->ghosts[i] = (int16_t)next_cell(cell, ways[choice]);
}

PUFFER_FN void haunt(puffer_env *env, State *s) {
    for (int i = 0; i < GHOSTS; i++) s->waits[i] = (int16_t)(s->waits[i] - (s->waits[i] > 0));
    s->way += (float)env->args[GHOST_SPEED];
    if (s->way < 1) return;
    s->way -= 1;
    for (int i = 0; i < GHOSTS; i++)
        if (!s->waits[i] && !(s->afraid[i] && s->fright % 2)) steer(env, s, i);
}

/* Pac-Man goes one cell. */
PUFFER_FN void walk(State *s) {
    const int32_t next = s->cell + MOVES[s->direction], inside = next_cell(s->cell, s->direction);
    if (next != inside) {
        put(s, inside);
        return;
    }
    const int32_t row = row_of(s->cell), column = column_of(s->cell);
    if (s->direction == UP) s->above -= s->in_row[row - 1];
    if (s->direction == DOWN) s->above += s->in_row[row];
    if (s->direction == LEFT) s->left -= s->in_column[column - 1];
    if (s->direction == RIGHT) s->left += s->in_column[column];
    s->cell = (int16_t)next;
}

/* Pac-Man eats what lies in his cell. */
PUFFER_FN void eat(puffer_env *env, State *s) {
    const int8_t content = s->board[s->cell];
    if (content == EMPTY) return;
    s->board[s->cell] = EMPTY;
    s->in_row[row_of(s->cell)]--;
    s->in_column[column_of(s->cell)]--;
    s->pellets--;
    s->score += content == POWER ? 50 : 10;
    env->rewards[0] += (float)env->args[REWARD_PELLET];
    if (content == PELLET) return;
    s->fright = (int32_t)env->args[FRIGHT];
    s->bounty = 200;
    for (int i = 0; i < GHOSTS; i++) s->afraid[i] = s->fright > 0 && !s->waits[i];
}

/* Pac-Man and the ghosts in his cell; true when one of them has him. */
PUFFER_FN bool meet(puffer_env *env, State *s) {
    for (int i = 0; i < GHOSTS; i++) {
        if (s->ghosts[i] != s->cell || s->waits[i]) continue;
        if (!s->afraid[i]) return true;
        s->score += s->bounty;
        s->bounty *= 2;
        env->rewards[0] += (float)env->args[REWARD_GHOST];
        s->ghosts[i] = EXIT;
        s->waits[i] = WAIT;
        s->afraid[i] = false;
    }
    return false;
}

PUFFER_FN void pass_time(const puffer_env *env, State *s) {
    const int32_t period = (int32_t)(env->args[SCATTER] + env->args[CHASE]);
    if (s->fright == 0) {
        s->phase = s->phase + 1 == period ? 0 : s->phase + 1;
        return;
    }
    if (--s->fright == 0) memset(s->afraid, 0, sizeof s->afraid);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t action = *(const int32_t *)env->actions;
    if (s->board[s->cell + MOVES[action]] != WALL) s->direction = (int8_t)action;
    if (s->board[s->cell + MOVES[s->direction]] != WALL) walk(s);
    eat(env, s);
    pass_time(env, s);
    bool caught = meet(env, s);
    if (!caught) {
        haunt(env, s);
        caught = meet(env, s);
    }
    if (s->pellets == 0) {
        env->rewards[0] += (float)env->args[REWARD_WIN];
        env->terminals[0] = true;
    } else if (caught) {
        env->rewards[0] += (float)env->args[REWARD_DEATH];
        env->terminals[0] = --s->lives == 0;
        start_life(env, s);
    }
    const double eaten = 1 - (double)s->pellets / s->all;
    double *log = puffer_log(env, 0);
    log[0] = s->score;
    log[1] = eaten * eaten;
    log[2] = s->all - s->pellets;
    observe(env, s);
}

/* Cells row by row (-2: pen); Pac-Man's row, column, direction; of each ghost row, column, steps in
 * the pen, 1 if afraid; fright left, lives. */
static void render(const puffer_env *env, const State *s, float *out) {
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            const bool pen = MAZES[(int32_t)env->args[MAZE]][row][column] == '=';
            *out++ = pen ? -2.0f : (float)s->board[CELL(row, column)];
        }
    *out++ = (float)row_of(s->cell);
    *out++ = (float)column_of(s->cell);
    *out++ = s->direction;
    for (int i = 0; i < GHOSTS; i++) {
        *out++ = (float)row_of(s->ghosts[i]);
        *out++ = (float)column_of(s->ghosts[i]);
        *out++ = s->waits[i];
        *out++ = s->afraid[i];
    }
    *out++ = (float)s->fright;
    *out++ = (float)s->lives;
}

#define PUFFER_NAME "pacman"
#include "puffer_harness.h"
