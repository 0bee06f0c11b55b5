/* Hex: two players lay stones on a rhombus of hexagons; who joins both own sides wins.
 *
 * Cell (row, column) touches its neighbours in row and column and those at (row - 1, column + 1)
 * and (row + 1, column - 1). The first player joins top and bottom, the other left and right; one
 * of them always does. There is no swap. `opponent = scripted`: one agent against a script that
 * takes the cells on which the shortest ways of both players are shortest together; `strength` is
 * the share of its moves that it thinks about, the others are random. A coin says who begins.
 * `opponent = self`: two agents, turn by turn; who is not on turn can only wait.
 *
 * Observation of an agent: size x size numbers for its stones (1: there), as many for the other's,
 * then 1 if it is on turn; rows and columns as it sees them, so that its own sides are the first
 * and the last row. Actions: a cell in that order, or the number size x size to wait, with action
 * masks; a forbidden one stands for the next free cell. Rewards at the end, for both: 1 won, -1
 * lost. score = perf: 1 won, 0 lost. */
#include "puffer_env.h"

#include <string.h>

#define MAX_SIZE 11
#define MAX_CELLS (MAX_SIZE * MAX_SIZE)
#define PITCH (MAX_SIZE + 2)
#define PLACES (PITCH * PITCH)
#define FAR 120

enum { OPPONENT, STRENGTH, SIZE };
enum { AGENT, SCRIPT, FREE, BORDER };

static const puffer_arg ARGS[] = {
    PUFFER_ENUM("opponent", 0, "scripted|self", "who plays the other colour"),
    PUFFER_FLOAT("strength", 0.3, 0, 1, "share of its moves that the script thinks about"),
    PUFFER_INT("size", 5, 3, MAX_SIZE, "side of the board in cells"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

typedef struct {
    uint8_t owner[PLACES];
    int32_t mover;
} State;

PUFFER_TABLE int32_t NEIGHBOURS[6] = {-PITCH, -PITCH + 1, -1, 1, PITCH - 1, PITCH};

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t cells = (int32_t)args[SIZE] * (int32_t)args[SIZE];
    spec->num_agents = args[OPPONENT] != 0 ? 2 : 1;
    puffer_observation(spec, PUFFER_U8, 0, 1);
    spec->obs_shape[0] = 2 * cells + 1;
    puffer_discrete(spec, cells + 1);
    spec->action_masks = true;
    spec->render_size = cells;
    return NULL;
}

/* The place of a cell as a player counts them: the second one sees rows as columns. */
PUFFER_FN int32_t place(int32_t cell, int32_t size, int32_t player) {
    const int32_t row = cell / size + 1, column = cell % size + 1;
    return player == 0 ? row * PITCH + column : column * PITCH + row;
}

PUFFER_FN int32_t cell_of(int32_t at, int32_t size, int32_t player) {
    const int32_t row = at / PITCH - 1, column = at % PITCH - 1;
    return player == 0 ? row * size + column : column * size + row;
}

PUFFER_FN void lay(const puffer_env *env, State *s, int32_t player, int32_t at) {
    const int32_t size = (int32_t)env->args[SIZE], cells = size * size;
    s->owner[at] = (uint8_t)player;
    s->mover = 1 - player;
    for (int32_t a = 0; a < env->spec->num_agents; a++) {
        uint8_t *obs = (uint8_t *)env->observations + a * (2 * cells + 1);
        obs[(a == player ? 0 : cells) + cell_of(at, size, a)] = 1;
    }
}

/* Whether the stones joined to this one reach both sides of their player. */
PUFFER_FN bool joined(const State *s, int32_t size, int32_t player, int32_t at) {
    bool seen[PLACES] = {false}, first = false, last = false;
    uint8_t waiting[MAX_CELLS];
    int32_t count = 1;
    waiting[0] = (uint8_t)at;
    seen[at] = true;
    while (count) {
        at = waiting[--count];
        const int32_t line = player == 0 ? at / PITCH : at % PITCH;
        first |= line == 1;
        last |= line == size;
        for (int32_t k = 0; k < 6; k++) {
            const int32_t next = at + NEIGHBOURS[k];
            if (seen[next] || s->owner[next] != player) continue;
            seen[next] = true;
            waiting[count++] = (uint8_t)next;
        }
    }
    return first && last;
}

/* Places at one distance, to be spread from; a place comes at most twice. */
typedef struct {
    uint8_t at[2 * MAX_CELLS];
    int32_t count;
} Places;

PUFFER_FN void reach(const State *s, int32_t player, int32_t at, int32_t distance, uint8_t *found,
                     Places *now, Places *later) {
    const bool pays = s->owner[at] == FREE;
    if ((!pays && s->owner[at] != player) || distance + pays >= found[at]) return;
    found[at] = (uint8_t)(distance + pays);
    Places *places = pays ? later : now;
    places->at[places->count++] = (uint8_t)at;
}

/* Stones that the player still needs from its first (or last) line to each place, this one too. */
PUFFER_FN void distances(const State *s, int32_t size, int32_t player, bool last, uint8_t *found) {
    Places places[2];
    Places *now = &places[0], *later = &places[1];
    now->count = later->count = 0;
    memset(found, FAR, PLACES);
    for (int32_t i = 0; i < size; i++)
        reach(s, player, place(last ? size * (size - 1) + i : i, size, player), 0, found, now,
              later);
    for (int32_t distance = 0; now->count || later->count; distance++) {
        while (now->count) {
            const int32_t at = now->at[--now->count];
            if (found[at] != distance) continue;
            for (int32_t k = 0; k < 6; k++)
                reach(s, player, at + NEIGHBOURS[k], distance, found, now, later);
        }
        Places *spread = now;
        now = later;
        later = spread;
    }
}

/* 1000: any free cell; more, for what is better. */
PUFFER_FN int32_t worth(int32_t mine, int32_t theirs) {
    if (mine == 1) return 3000;
    if (theirs == 1) return 2000;
    return 1000 - mine - theirs;
}

PUFFER_FN int32_t script_move(puffer_env *env, const State *s) {
    const int32_t size = (int32_t)env->args[SIZE];
    const bool thinks = puffer_uniform(&env->rng, 0, 1) < (float)env->args[STRENGTH];
    uint8_t found[2][2][PLACES];
    if (thinks)
        for (int32_t player = 0; player < 2; player++)
            for (int32_t last = 0; last < 2; last++)
                distances(s, size, player, last != 0, found[player][last]);
    int32_t best = 0, count = 0, places[MAX_CELLS];
    for (int32_t cell = 0; cell < size * size; cell++) {
        const int32_t at = place(cell, size, 0);
        if (s->owner[at] != FREE) continue;
        int32_t value = 1000;
        if (thinks) /* the cell itself counts twice */
            value = worth(found[SCRIPT][0][at] + found[SCRIPT][1][at] - 1,
                          found[AGENT][0][at] + found[AGENT][1][at] - 1);
        if (value > best) count = 0;
        if (value >= best) {
            best = value;
            places[count++] = at;
        }
    }
    return places[puffer_randint(&env->rng, count)];
}

/* Whose turn it is, and what that allows. */
PUFFER_FN void show_turn(const puffer_env *env, const State *s) {
    const int32_t size = (int32_t)env->args[SIZE], cells = size * size;
    for (int32_t a = 0; a < env->spec->num_agents; a++) {
        const bool on_turn = s->mover == a;
        bool *allowed = env->action_masks + a * (cells + 1);
        const uint8_t *obs = (const uint8_t *)env->observations + a * (2 * cells + 1);
        for (int32_t cell = 0; cell < cells; cell++)
            allowed[cell] = on_turn && !(obs[cell] | obs[cells + cell]);
        allowed[cells] = !on_turn;
        ((uint8_t *)env->observations)[a * (2 * cells + 1) + 2 * cells] = on_turn;
    }
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t size = (int32_t)env->args[SIZE];
    memset(env->observations, 0, (size_t)(env->spec->num_agents * env->spec->obs_shape[0]));
    memset(s->owner, BORDER, sizeof s->owner);
    for (int32_t row = 1; row <= size; row++)
        memset(s->owner + row * PITCH + 1, FREE, (size_t)size);
    s->mover = puffer_randint(&env->rng, 2);
    if (env->spec->num_agents == 1 && s->mover == SCRIPT) lay(env, s, SCRIPT, script_move(env, s));
    show_turn(env, s);
}

/* One move; true when it wins. */
PUFFER_FN bool move(puffer_env *env, State *s, int32_t player, int32_t at) {
    lay(env, s, player, at);
    if (!joined(s, (int32_t)env->args[SIZE], player, at)) return false;
    for (int32_t a = 0; a < env->spec->num_agents; a++) {
        env->rewards[a] = a == player ? 1.0f : -1.0f;
        env->terminals[a] = true;
        double *log = puffer_log(env, a);
        log[0] = log[1] = a == player;
    }
    return true;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t size = (int32_t)env->args[SIZE], cells = size * size;
    int32_t cell = ((const int32_t *)env->actions)[s->mover] % cells;
    while (s->owner[place(cell, size, s->mover)] != FREE) cell = (cell + 1) % cells;
    if (!move(env, s, s->mover, place(cell, size, s->mover)) && env->spec->num_agents == 1)
        move(env, s, SCRIPT, script_move(env, s));
    show_turn(env, s);
}

/* Row by row: 0 free, 1 the first player's, 2 the other's. */
static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t size = (int32_t)env->args[SIZE];
    for (int32_t cell = 0; cell < size * size; cell++) {
        const uint8_t owner = s->owner[place(cell, size, 0)];
        out[cell] = owner == FREE ? 0.0f : (float)owner + 1;
    }
}

#define PUFFER_NAME "hex"
#include "puffer_harness.h"
