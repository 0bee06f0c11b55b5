/* Tetris: seven pieces fall into a well of 10 x 20 cells; full rows vanish.
 *
 * Pieces come from a bag of all seven, shuffled anew when it is empty. `control = placement`: an
 * action drops the piece whole, action = 10 rotation + column of its left edge; rotations are
 * quarters clockwise, action masks leave out those that repeat another and columns that are too far
 * right (a forbidden one is moved inwards). `control = moves`: an action is one of nothing, left,
 * right, rotate clockwise, rotate back, down, drop; a piece also falls a row every `gravity` steps
 * and locks where it cannot fall; a rotation keeps its lower left corner, moved inwards at the
 * edges. The episode ends when a piece does not fit below the top, and is truncated after `pieces`.
 * Observation, signed bytes: 200 cells row by row from the lowest, 1 filled, -1 the falling piece
 * (moves only); 9 differences of heights from each column to the next, within +-4; one-hot the
 * piece and the next one, of I O T S Z J L; with moves also its rotation (4) and column (10).
 * Reward: `reward_points` times the points of 1 to 4 rows at once, 100, 300, 500, 800;
 * `reward_piece` for each piece; `reward_hole` for each empty cell that is covered, given back when
 * it is open again; `reward_loss` at the end. score: points. perf: rows / rows that all `pieces`
 * fill. */
#include "puffer_env.h"

#include <string.h>

#define COLUMNS 10
#define ROWS 20
#define CELLS (ROWS * COLUMNS)
#define KINDS 7
#define ROTATIONS 4
#define SURFACE CELLS
#define PIECE (SURFACE + COLUMNS - 1)
#define NEXT (PIECE + KINDS)
#define ROTATION (NEXT + KINDS)
#define COLUMN (ROTATION + ROTATIONS)
#define STEEPEST 4

enum { CONTROL, PIECES, GRAVITY, REWARD_POINTS, REWARD_PIECE, REWARD_HOLE, REWARD_LOSS };
enum { NOTHING, LEFT, RIGHT, CLOCKWISE, BACK, DOWN, DROP, NUM_MOVES };

static const puffer_arg ARGS[] = {
    PUFFER_ENUM("control", 0, "placement|moves", "what an action does"),
    PUFFER_INT("pieces", 250, 5, 1e6, "truncate an episode after so many pieces"),
    PUFFER_INT("gravity", 4, 1, 100, "steps in which a piece falls one row; of moves"),
    PUFFER_FLOAT("reward_points", 0.00125, 0, 0.1, "reward for a point of score"),
    PUFFER_FLOAT("reward_piece", 0.05, 0, 1, "reward for each piece that comes to rest"),
    PUFFER_FLOAT("reward_hole", -0.02, -1, 0, "reward for each covered empty cell"),
    PUFFER_FLOAT("reward_loss", -1, -1, 0, "reward for a piece that does not fit"),
};

static const char *const LOG_FIELDS[] = {"score", "perf", "lines", "pieces"};

/* Rows from the lowest (bit 0: its left column); of each column, empty cells below and height. */
typedef struct {
    int8_t width;
    int8_t height;
    uint8_t rows[4];
    int8_t gaps[4];
    int8_t tops[4];
} Shape;

PUFFER_TABLE Shape SHAPES[KINDS][ROTATIONS] = {
    {{4, 1, {15, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}}, /* I */
     {1, 4, {1, 1, 1, 1}, {0, 0, 0, 0}, {4, 0, 0, 0}},
     {4, 1, {15, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}},
     {1, 4, {1, 1, 1, 1}, {0, 0, 0, 0}, {4, 0, 0, 0}}},
    {{2, 2, {3, 3, 0, 0}, {0, 0, 0, 0}, {2, 2, 0, 0}}, /* O */
     {2, 2, {3, 3, 0, 0}, {0, 0, 0, 0}, {2, 2, 0, 0}},
     {2, 2, {3, 3, 0, 0}, {0, 0, 0, 0}, {2, 2, 0, 0}},
     {2, 2, {3, 3, 0, 0}, {0, 0, 0, 0}, {2, 2, 0, 0}}},
    {{3, 2, {7, 2, 0, 0}, {0, 0, 0, 0}, {1, 2, 1, 0}}, /* T */
     {2, 3, {1, 3, 1, 0}, {0, 1, 0, 0}, {3, 2, 0, 0}},
     {3, 2, {2, 7, 0, 0}, {1, 0, 1, 0}, {2, 2, 2, 0}},
     {2, 3, {2, 3, 2, 0}, {1, 0, 0, 0}, {2, 3, 0, 0}}},
    {{3, 2, {3, 6, 0, 0}, {0, 0, 1, 0}, {1, 2, 2, 0}}, /* S */
     {2, 3, {2, 3, 1, 0}, {1, 0, 0, 0}, {3, 2, 0, 0}},
     {3, 2, {3, 6, 0, 0}, {0, 0, 1, 0}, {1, 2, 2, 0}},
     {2, 3, {2, 3, 1, 0}, {1, 0, 0, 0}, {3, 2, 0, 0}}},
    {{3, 2, {6, 3, 0, 0}, {1, 0, 0, 0}, {2, 2, 1, 0}}, /* Z */
     {2, 3, {1, 3, 2, 0}, {0, 1, 0, 0}, {2, 3, 0, 0}},
     {3, 2, {6, 3, 0, 0}, {1, 0, 0, 0}, {2, 2, 1, 0}},
     {2, 3, {1, 3, 2, 0}, {0, 1, 0, 0}, {2, 3, 0, 0}}},
    {{3, 2, {7, 1, 0, 0}, {0, 0, 0, 0}, {2, 1, 1, 0}}, /* J */
     {2, 3, {1, 1, 3, 0}, {0, 2, 0, 0}, {3, 3, 0, 0}},
     {3, 2, {4, 7, 0, 0}, {1, 1, 0, 0}, {2, 2, 2, 0}},
     {2, 3, {3, 2, 2, 0}, {0, 0, 0, 0}, {1, 3, 0, 0}}},
    {{3, 2, {7, 4, 0, 0}, {0, 0, 0, 0}, {1, 1, 2, 0}}, /* L */
     {2, 3, {3, 1, 1, 0}, {0, 0, 0, 0}, {3, 1, 0, 0}},
     {3, 2, {1, 7, 0, 0}, {0, 1, 1, 0}, {2, 2, 2, 0}},
     {2, 3, {2, 2, 3, 0}, {2, 0, 0, 0}, {3, 3, 0, 0}}},
};
PUFFER_TABLE int8_t DISTINCT[KINDS] = {2, 1, 4, 2, 2, 4, 4}; /* rotations that differ */

typedef struct {
    int32_t score;
    int32_t lines;
    int32_t pieces;      /* that came to rest */
    int32_t filled;      /* cells */
    int32_t holes;       /* empty cells with a filled one above them */
    uint16_t rows[ROWS]; /* from the lowest; bit: column */
    uint8_t heights[COLUMNS];
    uint8_t bag[KINDS];
    uint8_t in_bag;
    uint8_t kind;
    uint8_t next;
    int8_t rotation, x, y; /* of the falling piece, its lower left corner */
    uint8_t ticks;         /* since it fell by a row */
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    const bool moves = args[CONTROL] != 0;
    puffer_observation(spec, PUFFER_I8, -STEEPEST, STEEPEST);
    spec->obs_shape[0] = moves ? COLUMN + COLUMNS : ROTATION;
    puffer_discrete(spec, moves ? NUM_MOVES : ROTATIONS * COLUMNS);
    spec->action_masks = !moves;
    spec->render_size = CELLS + 9;
    return NULL;
}

PUFFER_FN uint8_t draw_piece(puffer_env *env, State *s) {
    if (s->in_bag == 0)
        for (; s->in_bag < KINDS; s->in_bag++) s->bag[s->in_bag] = s->in_bag;
    const int32_t i = puffer_randint(&env->rng, s->in_bag--);
    const uint8_t kind = s->bag[i];
    s->bag[i] = s->bag[s->in_bag];
    return kind;
}

PUFFER_FN const Shape *shape_of(const State *s) {
    return &SHAPES[s->kind][s->rotation];
}

/* Each rotation's line of ten choices is a piece of this one: so many that fit, then the others. */
PUFFER_TABLE bool FITTING[2 * COLUMNS] = {true, true, true, true, true,
                                          true, true, true, true, true};

PUFFER_FN void show_choices(const puffer_env *env, const State *s) {
    for (int r = 0; r < ROTATIONS; r++) {
        const int fitting = r < DISTINCT[s->kind] ? COLUMNS - SHAPES[s->kind][r].width + 1 : 0;
        memcpy(env->action_masks + COLUMNS * r, FITTING + COLUMNS - fitting, COLUMNS);
    }
}

/* Write `value` where the falling piece is. */
PUFFER_FN void paint(int8_t *obs, const State *s, int8_t value) {
    const Shape *shape = shape_of(s);
    for (int r = 0; r < shape->height; r++)
        for (int c = 0; c < shape->width; c++)
            if (shape->rows[r] >> c & 1) obs[(s->y + r) * COLUMNS + s->x + c] = value;
}

PUFFER_FN bool fits(const State *s, const Shape *shape, int32_t x, int32_t y) {
    if (x < 0 || x + shape->width > COLUMNS || y < 0 || y + shape->height > ROWS) return false;
    for (int r = 0; r < shape->height; r++)
        if (shape->rows[r] << x & s->rows[y + r]) return false;
    return true;
}

/* Show the falling piece of `moves`, or take it away. */
PUFFER_FN void show_piece(const puffer_env *env, const State *s, bool there) {
    int8_t *obs = (int8_t *)env->observations;
    paint(obs, s, there ? -1 : 0);
    obs[ROTATION + s->rotation] = there;
    obs[COLUMN + s->x] = there;
}

/* The next piece comes; false where it has no room. */
PUFFER_FN bool spawn(puffer_env *env, State *s) {
    int8_t *obs = (int8_t *)env->observations;
    obs[PIECE + s->kind] = 0;
    obs[NEXT + s->next] = 0;
    s->kind = s->next;
    s->next = draw_piece(env, s);
    obs[PIECE + s->kind] = 1;
    obs[NEXT + s->next] = 1;
    if (env->action_masks) {
        show_choices(env, s);
        return true;
    }
    s->rotation = 0;
    s->ticks = 0;
    s->x = (int8_t)((COLUMNS - shape_of(s)->width) / 2);
    s->y = (int8_t)(ROWS - shape_of(s)->height);
    if (!fits(s, shape_of(s), s->x, s->y)) return false;
    show_piece(env, s, true);
    return true;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    memset(env->observations, 0, (size_t)env->spec->obs_shape[0]);
    memset(s, 0, sizeof *s);
    s->next = draw_piece(env, s);
    spawn(env, s);
}

/* Remove the full ones of `count` rows from y on; how many. */
PUFFER_FN int32_t clear_rows(int8_t *obs, State *s, int32_t y, int32_t count) {
    int32_t cleared = 0;
    for (int32_t row = y + count - 1; row >= y; row--) {
        if (s->rows[row] != (1 << COLUMNS) - 1) continue;
        const size_t above = (size_t)(ROWS - 1 - row);
        memmove(s->rows + row, s->rows + row + 1, above * sizeof s->rows[0]);
        memmove(obs + row * COLUMNS, obs + (row + 1) * COLUMNS, above * COLUMNS);
        s->rows[ROWS - 1] = 0;
        memset(obs + (ROWS - 1) * COLUMNS, 0, COLUMNS);
        cleared++;
    }
    for (int c = 0; c < COLUMNS && cleared; c++) {
        int height = s->heights[c] - cleared;
        while (height > 0 && !(s->rows[height - 1] >> c & 1)) height--;
        s->heights[c] = (uint8_t)height;
    }
    return cleared;
}

PUFFER_FN void show_surface(int8_t *obs, const State *s) {
    for (int c = 0; c < COLUMNS - 1; c++) {
        const int by = s->heights[c + 1] - s->heights[c];
        obs[SURFACE + c] = (int8_t)(by > STEEPEST ? STEEPEST : by < -STEEPEST ? -STEEPEST : by);
    }
}

PUFFER_TABLE int32_t POINTS[] = {0, 100, 300, 500, 800};

/* The falling piece becomes part of the well; what that pays. */
PUFFER_FN float lock(puffer_env *env, State *s) {
    int8_t *obs = (int8_t *)env->observations;
    const Shape *shape = shape_of(s);
    paint(obs, s, 1);
    for (int r = 0; r < shape->height; r++)
        s->rows[s->y + r] = (uint16_t)(s->rows[s->y + r] | shape->rows[r] << s->x);
    for (int c = 0; c < shape->width; c++) {
        const uint8_t top = (uint8_t)(s->y + shape->tops[c]);
        if (top > s->heights[s->x + c]) s->heights[s->x + c] = top;
    }
    const int32_t cleared = clear_rows(obs, s, s->y, shape->height);
    show_surface(obs, s);
    s->pieces++;
    s->lines += cleared;
    s->score += POINTS[cleared];
    s->filled += 4 - COLUMNS * cleared;
    int32_t holes = -s->filled;
    for (int c = 0; c < COLUMNS; c++) holes += s->heights[c];
    const int32_t more = holes - s->holes;
    s->holes = holes;
    return (float)(env->args[REWARD_POINTS] * POINTS[cleared] + env->args[REWARD_PIECE] +
                   env->args[REWARD_HOLE] * more);
}

/* Put the piece on the surface; false where it stands out at the top. */
PUFFER_FN bool place(State *s, int32_t action) {
    s->rotation = (int8_t)(action / COLUMNS);
    const Shape *shape = shape_of(s);
    const int x = action % COLUMNS, last = COLUMNS - shape->width;
    s->x = (int8_t)(x < last ? x : last);
    int y = 0;
    for (int c = 0; c < shape->width; c++) {
        const int rest = s->heights[s->x + c] - shape->gaps[c];
        y = rest > y ? rest : y;
    }
    s->y = (int8_t)y;
    return y + shape->height <= ROWS;
}

/* Turn or shift the falling piece if there is room. */
PUFFER_FN void shift(State *s, int32_t action) {
    const int turn = action == CLOCKWISE ? 1 : action == BACK ? 3 : 0;
    const int8_t rotation = (int8_t)((s->rotation + turn) % ROTATIONS);
    const Shape *shape = &SHAPES[s->kind][rotation];
    int x = s->x + (action == RIGHT) - (action == LEFT), y = s->y;
    if (turn && x + shape->width > COLUMNS) x = COLUMNS - shape->width;
    if (turn && y + shape->height > ROWS) y = ROWS - shape->height;
    if (!fits(s, shape, x, y)) return;
    s->rotation = rotation;
    s->x = (int8_t)x;
    s->y = (int8_t)y;
}

/* One step of `moves`; true when the piece has come to rest. */
PUFFER_FN bool move(const puffer_env *env, State *s, int32_t action) {
    show_piece(env, s, false);
    if (action >= LEFT && action <= BACK) shift(s, action);
    const bool falls = ++s->ticks >= (uint8_t)env->args[GRAVITY];
    if (falls) s->ticks = 0;
    int rows = action == DROP ? ROWS : (action == DOWN) + falls;
    for (; rows > 0 && fits(s, shape_of(s), s->x, s->y - 1); rows--) s->y--;
    if (rows == 0) show_piece(env, s, true);
    return rows > 0;
}

PUFFER_FN void report(const puffer_env *env, const State *s) {
    const int32_t possible = (int32_t)(env->args[PIECES] * 4 / COLUMNS);
    double *log = puffer_log(env, 0);
    log[0] = s->score;
    log[1] = (double)s->lines / possible;
    log[2] = s->lines;
    log[3] = s->pieces;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t action = *(const int32_t *)env->actions;
    const bool placement = env->action_masks != NULL;
    bool lost = placement && !place(s, action);
    if (!placement && !move(env, s, action)) return;
    if (!lost) {
        env->rewards[0] = lock(env, s);
        env->truncations[0] = s->pieces >= (int32_t)env->args[PIECES];
        lost = !spawn(env, s);
    }
    if (lost) {
        env->terminals[0] = true;
        env->truncations[0] = false;
        env->rewards[0] += (float)env->args[REWARD_LOSS];
    }
    if (env->terminals[0] | env->truncations[0]) report(env, s);
}

/* Cells row by row from the lowest, 1 filled, -1 the falling piece, 2 where it would rest; then
 * the piece, its rotation, column and row, the next piece, score, lines, pieces, 1: moves. */
static void render(const puffer_env *env, const State *s, float *out) {
    const bool moves = env->action_masks == NULL;
    for (int cell = 0; cell < CELLS; cell++)
        out[cell] = (float)(s->rows[cell / COLUMNS] >> cell % COLUMNS & 1);
    out[CELLS] = s->kind;
    out[CELLS + 1] = s->rotation;
    out[CELLS + 2] = s->x;
    out[CELLS + 3] = s->y;
    out[CELLS + 4] = s->next;
    out[CELLS + 5] = (float)s->score;
    out[CELLS + 6] = (float)s->lines;
    out[CELLS + 7] = (float)s->pieces;
    out[CELLS + 8] = moves;
}

#define PUFFER_NAME "tetris"
#include "puffer_harness.h"
