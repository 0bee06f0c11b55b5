/* Overcooked: cooks share a small kitchen and serve onion soups, as many as they can.
 *
 * In each step the cooks act one after the other, in the order of their numbers. A move turns the
 * cook and takes it one cell on if that is floor without a cook. `use` works on the cell that it
 * faces: empty hands take an onion or a dish from its box, or what lies on a counter; full hands
 * lay it on an empty counter. A pot takes three onions and then cooks for `cook_time` steps; a dish
 * takes the soup when that is done, and the window takes the soup.
 *
 * Observation, 37 + 5 for each other cook numbers in [-1, 1]: 1 where it faces up, down, left,
 * right; where the next cell is free, likewise; 1 if it holds an onion, a dish, a soup; x, y from
 * the left upper corner / 8; of what it faces: 1 for onions, dishes, a pot, the window, an empty
 * counter, a counter with an onion, a dish, a soup. Then how far to the right and below / 8 are the
 * nearest onions, dishes, window; of the two pots how far, likewise, onions / 3, share of the
 * cooking time that is left, 1 if a soup is done; then of each other cook, from the next number on,
 * how far it is, and what it holds, as above. Onions and dishes on counters count as boxes.
 *
 * Actions: stay, up, down, left, right, use. Reward: `reward_onion` for an onion into a pot,
 * `reward_soup` for a soup into a dish, and for all cooks `reward_serve` for a soup at the window.
 * score: soups of all. perf: score / (steps of all cooks / 40), at most 1: a cook alone in the
 * galley needs some 40 steps for a soup. */
#include "puffer_env.h"

#include <string.h>

#define WIDTH 7
#define HEIGHT 6
#define CELLS (WIDTH * HEIGHT)
#define MAX_COOKS 4
#define POTS 2
#define ONIONS 3 /* in a soup */
#define WORK 40
#define OWN 37
#define OTHER 5

enum { KITCHEN, NUM_COOKS, COOK_TIME, MAX_STEPS, REWARD_ONION, REWARD_SOUP, REWARD_SERVE };

static const puffer_arg ARGS[] = {
    PUFFER_ENUM("kitchen", 0, "galley|island|divided", "plan of the kitchen"),
    PUFFER_INT("num_cooks", 2, 2, MAX_COOKS, "agents"),
    PUFFER_INT("cook_time", 20, 1, 100, "steps that a soup cooks"),
    PUFFER_INT("max_steps", 400, 1, 1e6, "steps of an episode"),
    PUFFER_FLOAT("reward_onion", 0.1, 0, 1, "reward for an onion into a pot"),
    PUFFER_FLOAT("reward_soup", 0.3, 0, 1, "reward for a soup into a dish"),
    PUFFER_FLOAT("reward_serve", 1, 0, 1, "reward of each cook for a soup at the window"),
};

static const char *const LOG_FIELDS[] = {"score", "perf"};

/* # counter, O onions, D dishes, P pot, S window; 1 to 4 where cooks begin */
PUFFER_TABLE char KITCHENS[3][CELLS + 1] = {
    "##O#D##"
    "#1   3#"
    "P     S"
    "#4   2#"
    "###P###"
    "#######",
    "##O#P##"
    "#1   3#"
    "D ### S"
    "# ### #"
    "#4   2#"
    "##O#P##",
    "##O#P##"
    "#1 # 2#"
    "O  #  P"
    "#  #  S"
    "#3 # 4#"
    "##D####"};

enum { NO_ITEM = -1, NONE, ONION, DISH, SOUP };
enum { UP, DOWN, LEFT, RIGHT };
enum { USE = 5 };

typedef struct {
    int32_t cell;
    int32_t facing;
    int32_t holds;
} Cook;

typedef struct {
    int32_t cell;
    int32_t onions;
    int32_t left; /* steps of cooking */
} Pot;

typedef struct {
    char plan[CELLS];     /* # O D P S, or space for floor */
    int8_t items[CELLS];  /* on counters */
    bool occupied[CELLS]; /* by a cook */
    Cook cooks[MAX_COOKS];
    Pot pots[POTS];
    int32_t score;
    int32_t tick;
} State;

PUFFER_TABLE int32_t WAYS[4] = {-WIDTH, WIDTH, -1, 1}; /* up, down, left, right */

static const char *describe(const double *args, puffer_spec *spec) {
    spec->num_agents = (int32_t)args[NUM_COOKS];
    puffer_observation(spec, PUFFER_F32, -1, 1);
    spec->obs_shape[0] = OWN + OTHER * (spec->num_agents - 1);
    puffer_discrete(spec, 6);
    spec->max_steps = (int32_t)args[MAX_STEPS];
    spec->render_size = 2 * CELLS + 2 * POTS + 3 * spec->num_agents + 1;
    return NULL;
}

PUFFER_FN bool done(const Pot *pot) {
    return pot->onions == ONIONS && pot->left == 0;
}

/* From one cell to another: to the right, below. */
PUFFER_FN float *point(float *obs, int32_t from, int32_t to) {
    *obs++ = (float)(to % WIDTH - from % WIDTH) / 8;
    *obs++ = (float)(to / WIDTH - from / WIDTH) / 8;
    return obs;
}

/* The nearest cell with this sign, or with this item on it. */
PUFFER_FN int32_t nearest(const State *s, int32_t from, char sign, int32_t item) {
    const int32_t own_row = from / WIDTH, own_column = from % WIDTH;
    int32_t found = from, least = WIDTH + HEIGHT, cell = 0;
    for (int32_t row = 0; row < HEIGHT; row++)
        for (int32_t column = 0; column < WIDTH; column++, cell++) {
            if (s->plan[cell] != sign && s->items[cell] != item) continue;
            const int32_t down = row < own_row ? own_row - row : row - own_row;
            const int32_t right = column < own_column ? own_column - column : column - own_column;
            if (down + right >= least) continue;
            least = down + right;
            found = cell;
        }
    return found;
}

PUFFER_FN float *show_item(float *obs, int32_t item) {
    for (int32_t k = ONION; k <= SOUP; k++) *obs++ = item == k;
    return obs;
}

PUFFER_FN void observe(const puffer_env *env, const State *s, int32_t i) {
    const int32_t cooks = env->spec->num_agents;
    const Cook *cook = &s->cooks[i];
    const int32_t ahead = cook->cell + WAYS[cook->facing];
    float *obs = (float *)env->observations + i * (OWN + OTHER * (cooks - 1));
    for (int32_t k = 0; k < 4; k++) *obs++ = cook->facing == k;
    for (int32_t k = 0; k < 4; k++) {
        const int32_t cell = cook->cell + WAYS[k];
        *obs++ = s->plan[cell] == ' ' && !s->occupied[cell];
    }
    obs = show_item(obs, cook->holds);
    obs = point(obs, 0, cook->cell);
    *obs++ = s->plan[ahead] == 'O';
    *obs++ = s->plan[ahead] == 'D';
    *obs++ = s->plan[ahead] == 'P';
    *obs++ = s->plan[ahead] == 'S';
    *obs++ = s->plan[ahead] == '#' && s->items[ahead] == NONE;
    obs = show_item(obs, s->items[ahead]);
    obs = point(obs, cook->cell, nearest(s, cook->cell, 'O', ONION));
    obs = point(obs, cook->cell, nearest(s, cook->cell, 'D', DISH));
    obs = point(obs, cook->cell, nearest(s, cook->cell, 'S', NO_ITEM));
    for (int32_t k = 0; k < POTS; k++) {
        obs = point(obs, cook->cell, s->pots[k].cell);
        *obs++ = (float)s->pots[k].onions / ONIONS;
        *obs++ = (float)s->pots[k].left / (float)env->args[COOK_TIME];
        *obs++ = done(&s->pots[k]);
    }
    for (int32_t k = 1; k < cooks; k++) {
        const Cook *other = &s->cooks[(i + k) % cooks];
        obs = point(obs, cook->cell, other->cell);
        obs = show_item(obs, other->holds);
    }
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t cooks = env->spec->num_agents;
    const char *plan = KITCHENS[(int32_t)env->args[KITCHEN]];
    int32_t pots = 0;
    memset(s, 0, sizeof *s);
    for (int32_t cell = 0; cell < CELLS; cell++) {
        const int32_t cook = plan[cell] - '1';
        s->plan[cell] = cook >= 0 && cook < MAX_COOKS ? ' ' : plan[cell];
        if (plan[cell] == 'P') s->pots[pots++].cell = cell;
        if (cook < 0 || cook >= cooks) continue;
        s->cooks[cook].cell = cell;
        s->cooks[cook].facing = puffer_randint(&env->rng, 4);
        s->occupied[cell] = true;
    }
    for (int32_t i = 0; i < cooks; i++) observe(env, s, i);
}

PUFFER_FN void use_pot(puffer_env *env, State *s, int32_t i, Pot *pot) {
    Cook *cook = &s->cooks[i];
    if (cook->holds == ONION && pot->onions < ONIONS) {
        cook->holds = NONE;
        if (++pot->onions == ONIONS) pot->left = (int32_t)env->args[COOK_TIME];
        env->rewards[i] += (float)env->args[REWARD_ONION];
    } else if (cook->holds == DISH && done(pot)) {
        cook->holds = SOUP;
        pot->onions = 0;
        env->rewards[i] += (float)env->args[REWARD_SOUP];
    }
}

PUFFER_FN void use(puffer_env *env, State *s, int32_t i) {
    Cook *cook = &s->cooks[i];
    const int32_t ahead = cook->cell + WAYS[cook->facing];
    const char sign = s->plan[ahead];
    if (sign == 'P') {
        use_pot(env, s, i, &s->pots[s->pots[0].cell == ahead ? 0 : 1]);
    } else if (sign == 'S' && cook->holds == SOUP) {
        cook->holds = NONE;
        s->score++;
        for (int32_t k = 0; k < env->spec->num_agents; k++)
            env->rewards[k] += (float)env->args[REWARD_SERVE];
    } else if (sign == '#' && (cook->holds == NONE) != (s->items[ahead] == NONE)) {
        const int32_t item = s->items[ahead];
        s->items[ahead] = (int8_t)cook->holds;
        cook->holds = item;
    } else if (cook->holds == NONE && (sign == 'O' || sign == 'D')) {
        cook->holds = sign == 'O' ? ONION : DISH;
    }
}

PUFFER_FN void act(puffer_env *env, State *s, int32_t i, int32_t action) {
    Cook *cook = &s->cooks[i];
    if (action == USE) use(env, s, i);
    if (action == 0 || action == USE) return;
    cook->facing = action - 1;
    const int32_t cell = cook->cell + WAYS[cook->facing];
    if (s->plan[cell] != ' ' || s->occupied[cell]) return;
    s->occupied[cook->cell] = false;
    s->occupied[cell] = true;
    cook->cell = cell;
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t *actions = (const int32_t *)env->actions;
    const int32_t cooks = env->spec->num_agents;
    for (int32_t k = 0; k < POTS; k++) s->pots[k].left -= s->pots[k].left > 0;
    for (int32_t i = 0; i < cooks; i++) act(env, s, i, actions[i]);
    for (int32_t i = 0; i < cooks; i++) observe(env, s, i);
    if (++s->tick < env->max_steps) return;
    const double share = s->score / ((double)s->tick * cooks / WORK);
    for (int32_t i = 0; i < cooks; i++) {
        double *log = puffer_log(env, i);
        log[0] = s->score;
        log[1] = share < 1 ? share : 1;
    }
}

/* The plan as codes of its signs, the items on it; onions and steps left of each pot; cell, facing
 * and hands of each cook; the score. */
static void render(const puffer_env *env, const State *s, float *out) {
    for (int32_t cell = 0; cell < CELLS; cell++) *out++ = (float)s->plan[cell];
    for (int32_t cell = 0; cell < CELLS; cell++) *out++ = s->items[cell];
    for (int32_t k = 0; k < POTS; k++) {
        *out++ = (float)s->pots[k].onions;
        *out++ = (float)s->pots[k].left;
    }
    for (int32_t i = 0; i < env->spec->num_agents; i++) {
        *out++ = (float)s->cooks[i].cell;
        *out++ = (float)s->cooks[i].facing;
        *out++ = (float)s->cooks[i].holds;
    }
    *out = (float)s->score;
}

#define PUFFER_NAME "overcooked"
#include "puffer_harness.h"
