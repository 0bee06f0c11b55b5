/* Connect Four: stones fall into 7 columns of 6 cells; four in a row win, in any direction.
 *
 * `opponent = scripted`: one agent against a script that wins at once if it can, else stops a win
 * of the agent, else gives it none; `strength` is the share of its moves that it thinks about, the
 * others are random. A coin says who begins. `opponent = self`: two agents, turn by turn; who is
 * not on turn can only wait. Observation of an agent: 42 numbers for its stones (1: there), row by
 * row from the top, 42 for the other's, then 1 if it is on turn. Actions: the column, 0 to 6, or 7
 * to wait, with action masks; a forbidden one plays the next column that has room. Rewards at the
 * end, for both: 1 won, 0 drawn, -1 lost. score = perf: 1 won, 1/2 drawn, 0 lost. */
#include "puffer_env.h"

#include <string.h>

#define ROWS 6
#define COLUMNS 7
#define CELLS (ROWS * COLUMNS)
#define OBS (2 * CELLS + 1)
#define WAIT COLUMNS
#define CHOICES (COLUMNS + 1)

enum { OPPONENT, STRENGTH };
enum { NOBODY = -1, AGENT, SCRIPT };

static const puffer_arg ARGS[] = {
    PUFFER_ENUM("opponent", 0, "scripted|self", "who plays the other colour"),
    PUFFER_FLOAT("strength", 1, 0, 1, "share of its moves that the script thinks about"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    uint64_t stones[2];      /* of each player; bit 7 column + height, bit 6 of a column is free */
    uint8_t height[COLUMNS]; /* stones in it */
    int32_t mover;
    int32_t plies;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    spec->num_agents = args[OPPONENT] != 0 ? 2 : 1;
    puffer_observation(spec, PUFFER_U8, 0, 1);
    spec->obs_shape[0] = OBS;
    puffer_discrete(spec, CHOICES);
    spec->action_masks = true;
    spec->render_size = CELLS;
    return NULL;
}

/* Pairs of neighbours in each direction, and pairs of such pairs two steps apart. */
PUFFER_FN bool four(uint64_t stones) {
    const uint64_t up = stones & stones >> 1, level = stones & stones >> 7;
    const uint64_t fall = stones & stones >> 6, rise = stones & stones >> 8;
    return ((up & up >> 2) | (level & level >> 14) | (fall & fall >> 12) | (rise & rise >> 16)) !=
           0;
}

PUFFER_FN uint64_t bit(const State *s, int32_t column) {
    return (uint64_t)1 << (7 * column + s->height[column]);
}

PUFFER_FN void drop(const puffer_env *env, State *s, int32_t player, int32_t column) {
    const int32_t cell = (ROWS - 1 - s->height[column]) * COLUMNS + column;
    s->stones[player] |= bit(s, column);
    s->height[column]++;
    s->plies++;
    s->mover = 1 - player;
    uint8_t *obs = (uint8_t *)env->observations;
    for (int32_t a = 0; a < env->spec->num_agents; a++)
        obs[a * OBS + (a == player ? 0 : CELLS) + cell] = 1;
}

/* A random column of those in `allowed` (a bit each; not empty). */
PUFFER_FN int32_t draw_column(puffer_env *env, uint32_t allowed) {
    int32_t count = 0, columns[COLUMNS];
    for (int32_t c = 0; c < COLUMNS; c++) {
        columns[count] = c;
        count += (int32_t)(allowed >> c & 1);
    }
    return columns[puffer_randint(&env->rng, count)];
}

PUFFER_FN int32_t script_move(puffer_env *env, const State *s) {
    const uint64_t mine = s->stones[SCRIPT], theirs = s->stones[AGENT];
    const bool thinks = puffer_uniform(&env->rng, 0, 1) < (float)env->args[STRENGTH];
    uint32_t room = 0, wins = 0, stops = 0, safe = 0;
    for (int32_t c = 0; c < COLUMNS; c++) {
        if (s->height[c] == ROWS) continue;
        const uint64_t stone = bit(s, c);
        room |= 1u << c;
        wins |= (uint32_t)four(mine | stone) << c;
        stops |= (uint32_t)four(theirs | stone) << c;
        const bool gift = s->height[c] < ROWS - 1 && four(theirs | stone << 1);
        safe |= (uint32_t)!gift << c;
    }
    return draw_column(env, !thinks ? room : wins ? wins : stops ? stops : safe ? safe : room);
}

/* Whose turn it is, and what that allows. */
PUFFER_FN void show_turn(const puffer_env *env, const State *s) {
    for (int32_t a = 0; a < env->spec->num_agents; a++) {
        bool *allowed = env->action_masks + a * CHOICES;
        const bool on_turn = s->mover == a;
        for (int32_t c = 0; c < COLUMNS; c++) allowed[c] = on_turn && s->height[c] < ROWS;
        allowed[WAIT] = !on_turn;
        ((uint8_t *)env->observations)[a * OBS + OBS - 1] = on_turn;
    }
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    memset(env->observations, 0, (size_t)env->spec->num_agents * OBS);
    memset(s, 0, sizeof *s);
    s->mover = puffer_randint(&env->rng, 2);
    if (env->spec->num_agents == 1 && s->mover == SCRIPT) drop(env, s, SCRIPT, script_move(env, s));
    show_turn(env, s);
}

PUFFER_FN void finish(puffer_env *env, int32_t winner) {
    for (int32_t a = 0; a < env->spec->num_agents; a++) {
        const float result = winner == NOBODY ? 0.0f : winner == a ? 1.0f : -1.0f;
        env->rewards[a] = result;
        env->terminals[a] = true;
        double *log = puffer_log(env, a);
        log[0] = log[1] = 0.5 + 0.5 * (double)result;
    }
}

/* One move; true when it ends the game. */
PUFFER_FN bool move(puffer_env *env, State *s, int32_t player, int32_t column) {
    drop(env, s, player, column);
    const bool won = four(s->stones[player]);
    if (won || s->plies == CELLS) finish(env, won ? player : NOBODY);
    return won || s->plies == CELLS;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    int32_t column = ((const int32_t *)env->actions)[s->mover] % COLUMNS;
    while (s->height[column] == ROWS) column = (column + 1) % COLUMNS;
    if (!move(env, s, s->mover, column) && env->spec->num_agents == 1)
        move(env, s, SCRIPT, script_move(env, s));
    show_turn(env, s);
}

/* Row by row from the top: 0 empty, 1 the first agent's, 2 the other's. */
static void render(const puffer_env *env, const State *s, float *out) {
    (void)env;
    for (int32_t cell = 0; cell < CELLS; cell++) {
        const int32_t at = 7 * (cell % COLUMNS) + ROWS - 1 - cell / COLUMNS;
        out[cell] = (float)((s->stones[0] >> at & 1) + 2 * (s->stones[1] >> at & 1));
    }
}

#define PUFFER_NAME "connect4"
#include "puffer_harness.h"
