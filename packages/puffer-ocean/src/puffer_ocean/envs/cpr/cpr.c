/* Common-pool resource: harvesters share plants that grow again only where ripe ones are left.
 *
 * Patches of 13 places, all within 2 steps of the patch's middle, lie in rows, `spacing` cells
 * apart. A place is bare, green or ripe; at the start it is ripe or bare by chance. Agents move one
 * cell a step, one after the other in the order of their numbers; the edge and other agents are in
 * the way. Who enters a ripe place harvests it, who enters a green one tramples it; both leave it
 * bare. Then all places grow: a green one ripens with probability `ripening`; a bare one without
 * an agent turns green with probability `growth` n / 12, n being the ripe places within 2 steps.
 * So harvest for harvest's sake ruins the commons. The episode ends when nothing is green or ripe.
 *
 * Observation, signed bytes: the square of 2 `vision` + 1 cells round the agent, 2 ripe, -1 green,
 * -2 edge or agent, else 0, the lowest row last. Actions: stay, up, down, left, right. Reward:
 * `reward_fruit` for a fruit, of which a share `shared` is divided evenly among all agents;
 * `reward_trample`. score: fruits of the agent. perf: fruits of all / what patches would yield in
 * `max_steps` whose shares of ripe and bare places are those that grow fastest, at most 1. */
#include "puffer_env.h"

#include <math.h>
#include <string.h>

#define MAX_SIDE 64
#define MAX_AGENTS 32
#define MAX_VISION 7
#define MIN_SPACING 5
#define PATCH 13
#define MAX_PATCHES ((MAX_SIDE / MIN_SPACING) * (MAX_SIDE / MIN_SPACING))
#define BORDER MAX_VISION
#define MAX_PITCH (MAX_SIDE + 2 * BORDER)

enum {
    WIDTH,
    HEIGHT,
    SPACING,
    NUM_AGENTS,
    GROWTH,
    RIPENING,
    VISION,
    MAX_STEPS,
    REWARD_FRUIT,
    REWARD_TRAMPLE,
    SHARED
};

static const puffer_arg ARGS[] = {
    PUFFER_INT("width", 24, 16, MAX_SIDE, "columns of the field"),
    PUFFER_INT("height", 24, 16, MAX_SIDE, "rows of the field"),
    PUFFER_INT("spacing", 8, MIN_SPACING, 16, "cells from one patch to the next"),
    PUFFER_INT("num_agents", 4, 1, MAX_AGENTS, "agents"),
    PUFFER_FLOAT("growth", 0.2, 0, 1, "probability that a bare place in a ripe patch turns green"),
    PUFFER_FLOAT("ripening", 0.05, 0.001, 1, "probability that a green place ripens"),
    PUFFER_INT("vision", 4, 1, MAX_VISION, "cells seen to each side"),
    PUFFER_INT("max_steps", 512, 1, 1e6, "truncate an episode of so many steps"),
    PUFFER_FLOAT("reward_fruit", 1, 0, 1, "reward for a fruit"),
    PUFFER_FLOAT("reward_trample", -0.1, -1, 0, "reward for trampling a green plant"),
    PUFFER_FLOAT("shared", 1, 0, 1, "share of the reward for a fruit that all get"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

enum { RIPE = 2, BARE = 0, GREEN = -1, TAKEN = -2 };

/* Cells are numbered row by row, with BORDER taken cells round the field. */
typedef struct {
    int8_t board[MAX_PITCH * MAX_PITCH]; /* an agent's place is taken, and bare below it */
    uint16_t places[MAX_PATCHES * PATCH];
    int32_t num_places;
    int32_t plants; /* green or ripe */
    int32_t pitch;
    int32_t agents[MAX_AGENTS];
    int32_t scores[MAX_AGENTS];
    int32_t total;
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t view = 2 * (int32_t)args[VISION] + 1;
    puffer_observation(spec, PUFFER_I8, TAKEN, RIPE);
    spec->obs_shape[0] = view;
    spec->obs_shape[1] = view;
    spec->num_agents = (int32_t)args[NUM_AGENTS];
    puffer_discrete(spec, 5);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = (int32_t)(args[WIDTH] * args[HEIGHT]) + 2 * spec->num_agents;
    return NULL;
}

PUFFER_FN void observe(const puffer_env *env, const State *s, int32_t i) {
    const int32_t vision = (int32_t)env->args[VISION], view = 2 * vision + 1, pitch = s->pitch;
    int8_t *obs = (int8_t *)env->observations + i * view * view;
    const int8_t *corner = s->board + s->agents[i] - vision * (pitch + 1);
    if (vision == 4) { /* a fixed size is faster */
        for (int row = 0; row < 9; row++) memcpy(obs + row * 9, corner + row * pitch, 9);
        return;
    }
    for (int row = 0; row < view; row++)
        memcpy(obs + row * view, corner + row * pitch, (size_t)view);
}

/* Ripe and bare places by chance, at least the first ripe. */
PUFFER_FN void plant(puffer_env *env, State *s) {
    const int32_t spacing = (int32_t)env->args[SPACING];
    const int32_t rows = (int32_t)env->args[HEIGHT] / spacing;
    const int32_t columns = (int32_t)env->args[WIDTH] / spacing;
    s->num_places = s->plants = 0;
    for (int32_t patch = 0; patch < rows * columns; patch++)
        for (int32_t down = -2; down <= 2; down++) {
            const int32_t wide = down < 0 ? 2 + down : 2 - down;
            const int32_t row = BORDER + patch / columns * spacing + spacing / 2 + down;
            for (int32_t right = -wide; right <= wide; right++) {
                const int32_t column = BORDER + patch % columns * spacing + spacing / 2 + right;
                const int32_t cell = row * s->pitch + column;
                const bool ripe = s->num_places == 0 || puffer_randint(&env->rng, 2);
                s->places[s->num_places++] = (uint16_t)cell;
                s->board[cell] = ripe ? RIPE : BARE;
                s->plants += ripe;
            }
        }
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t width = (int32_t)env->args[WIDTH], height = (int32_t)env->args[HEIGHT];
    const int32_t agents = env->spec->num_agents;
    s->pitch = width + 2 * BORDER;
    const int32_t cells = s->pitch * (height + 2 * BORDER);
    memset(s->board, TAKEN, (size_t)cells);
    for (int32_t row = 0; row < height; row++)
        memset(s->board + (row + BORDER) * s->pitch + BORDER, BARE, (size_t)width);
    plant(env, s);
    for (int32_t i = 0; i < agents; i++) {
        int32_t cell = (BORDER + puffer_randint(&env->rng, height)) * s->pitch + BORDER +
                       puffer_randint(&env->rng, width);
        while (s->board[cell] != BARE) cell = (cell + 1) % cells;
        s->board[cell] = TAKEN;
        s->agents[i] = cell;
        s->scores[i] = 0;
    }
    s->total = 0;
    for (int32_t i = 0; i < agents; i++) observe(env, s, i);
}

/* Ripe places within 2 steps of a bare cell. */
PUFFER_FN int32_t count_ripe(const State *s, int32_t cell) {
    const int8_t *at = s->board + cell;
    const int32_t down = s->pitch;
    return (at[-2 * down] == RIPE) + (at[-down - 1] == RIPE) + (at[-down] == RIPE) +
           (at[-down + 1] == RIPE) + (at[-2] == RIPE) + (at[-1] == RIPE) + (at[1] == RIPE) +
           (at[2] == RIPE) + (at[down - 1] == RIPE) + (at[down] == RIPE) + (at[down + 1] == RIPE) +
           (at[2 * down] == RIPE);
}

/* All places grow, one after the other, by 16 random bits each. */
PUFFER_FN void grow(puffer_env *env, State *s) {
    const int32_t growth = (int32_t)(env->args[GROWTH] * 0x1p16);
    const int32_t ripening = (int32_t)(env->args[RIPENING] * 0x1p16);
    const int32_t highest = growth > ripening ? growth : ripening;
    uint64_t bits = 0;
    for (int32_t k = 0; k < s->num_places; k++) {
        bits = k % 4 ? bits >> 16 : puffer_random(&env->rng);
        const int32_t draw = (int32_t)(bits & 0xffff);
        if (draw >= highest) continue; /* mostly */
        int8_t *place = &s->board[s->places[k]];
        if (*place == GREEN && draw < ripening) {
            *place = RIPE;
        } else if (*place == BARE && draw * 12 < growth * count_ripe(s, s->places[k])) {
            *place = GREEN;
            s->plants++;
        }
    }
}

PUFFER_FN void move(puffer_env *env, State *s, int32_t i, int32_t action, int32_t *fruits) {
    const int32_t ways[5] = {0, -s->pitch, s->pitch, -1, 1};
    const int32_t cell = s->agents[i] + ways[action];
    if (s->board[cell] == TAKEN) return;
    if (s->board[cell] == RIPE) {
        s->scores[i]++;
        ++*fruits;
        env->rewards[i] = (float)(env->args[REWARD_FRUIT] * (1 - env->args[SHARED]));
    } else if (s->board[cell] == GREEN) {
        env->rewards[i] = (float)env->args[REWARD_TRAMPLE];
    }
    s->plants -= s->board[cell] != BARE;
    s->board[s->agents[i]] = BARE;
    s->board[cell] = TAKEN;
    s->agents[i] = cell;
}

/* The ripe share r and the bare share b of a patch yield growth r b 13 fruits a step, which are
 * green for 1 / ripening steps: r + b + r b growth / ripening = 1. That is most where r = b. */
PUFFER_FN void report(const puffer_env *env, const State *s) {
    const double ratio = env->args[GROWTH] / env->args[RIPENING];
    const double share = ratio > 0 ? (sqrt(1 + ratio) - 1) / ratio : 0;
    const double yield = env->args[GROWTH] * share * share * s->num_places * env->max_steps;
    for (int32_t i = 0; i < env->spec->num_agents; i++) {
        double *log = puffer_log(env, i);
        log[0] = s->scores[i];
        log[1] = s->total < yield ? s->total / yield : 1;
    }
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t *actions = (const int32_t *)env->actions;
    const int32_t agents = env->spec->num_agents;
    int32_t fruits = 0;
    for (int32_t i = 0; i < agents; i++) move(env, s, i, actions[i], &fruits);
    s->total += fruits;
    grow(env, s);
    const double all = env->args[REWARD_FRUIT] * env->args[SHARED] * fruits / agents;
    for (int32_t i = 0; i < agents; i++) {
        env->rewards[i] += (float)all;
        env->terminals[i] = s->plants == 0;
        observe(env, s, i);
    }
    report(env, s);
}

/* The field row by row: 2 ripe, -1 green, 1 a bare place, else 0; then the cell and the fruits of
 * each agent. */
static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t width = (int32_t)env->args[WIDTH], height = (int32_t)env->args[HEIGHT];
    for (int32_t k = 0; k < width * height; k++) out[k] = 0;
    for (int32_t k = 0; k < s->num_places; k++) {
        const int32_t row = s->places[k] / s->pitch - BORDER;
        const int8_t kind = s->board[s->places[k]];
        out[row * width + s->places[k] % s->pitch - BORDER] =
            kind == RIPE || kind == GREEN ? kind : 1;
    }
    out += width * height;
    for (int32_t i = 0; i < env->spec->num_agents; i++) {
        const int32_t row = s->agents[i] / s->pitch - BORDER;
        *out++ = (float)(row * width + s->agents[i] % s->pitch - BORDER);
        *out++ = (float)s->scores[i];
    }
}

#define PUFFER_NAME "cpr"
#include "puffer_harness.h"
