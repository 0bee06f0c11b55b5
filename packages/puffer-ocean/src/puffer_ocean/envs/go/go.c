/* Go: two players surround area on a board of 7 x 7 or 9 x 9 points.
 *
 * Stones without a free point beside their chain are taken; a move that leaves its own chain so is
 * forbidden, and so is one that repeats any position of the game, whoever is to move (positional
 * superko; positions are compared by 64-bit hashes). Two passes in a row, or `max_moves` moves and
 * passes, end the game. Then each player has its stones and the free regions that touch its stones
 * only; all stones count as alive. Who moves second gets `komi` points. `opponent = scripted`: one
 * agent against a script that takes stones if it can, else saves some of its own, else plays beside
 * the agent's, without putting its own in danger; `strength` is the share of its moves that it
 * thinks about, the others are random. It fills no eyes, and passes when that is all that is left,
 * or to win after a pass. A coin says who begins. `opponent = self`:
 * two agents, turn by turn; who is not on turn can only pass, which means to wait.
 *
 * Observation of an agent: planes of size x size numbers 0 or 1: its stones, the other's, its
 * stones in chains with one liberty, the other's; then 1 each if it is on turn, if the last move
 * was a pass, if it has the first move of the game. Actions: a point row by row, or the number size
 * x size to pass, with action masks; a forbidden one stands for the next that is allowed. Rewards
 * at the end: 1 won, 0 drawn, -1 lost, plus `reward_margin` times the lead in points / points of
 * the board. score = perf: 1 won, 1/2 drawn, 0 lost. margin: the lead. */
#include "puffer_env.h"

#include <string.h>

#define MAX_SIZE 9
#define PITCH (MAX_SIZE + 1) /* a row of points, and one that is none */
#define MAX_MOVES 400
#define FILTER 8 /* words */

enum { OPPONENT, STRENGTH, SIZE, KOMI, MOVES, REWARD_MARGIN };
enum { AGENT, SCRIPT };
enum { PASS = -1 };

static const puffer_arg ARGS[] = {
    PUFFER_ENUM("opponent", 0, "scripted|self", "who plays the other colour"),
    PUFFER_FLOAT("strength", 0.5, 0, 1, "share of its moves that the script thinks about"),
    PUFFER_INT("size", 7, 5, MAX_SIZE, "side of the board in points"),
    PUFFER_FLOAT("komi", 6.5, -80, 80, "points for who moves second"),
    PUFFER_INT("max_moves", 120, 2, MAX_MOVES, "moves and passes of a game"),
    PUFFER_FLOAT("reward_margin", 0.5, 0, 1, "reward for a lead of the whole board"),
};

static const char *const LOG_FIELDS[] = {"score", "perf", "margin"};

/* A set of points: bit PITCH row + column. */
__extension__ typedef unsigned __int128 Points;

/* Sets as two words, the lower first; [player]. */
typedef struct {
    uint64_t board[2]; /* all points */
    uint64_t stones[2][2];
    uint64_t danger[2][2];           /* stones of chains with one liberty */
    uint64_t fallen[2][2];           /* where stones were taken in this game */
    uint64_t shown[2][5][2];         /* what each agent's planes and action masks say */
    uint64_t hash;                   /* of the position */
    uint64_t filter[FILTER];         /* bits of the hashes in the history */
    uint64_t history[MAX_MOVES + 1]; /* all positions of the game */
    int32_t positions;
    int32_t moves;
    int32_t passes; /* in a row */
    int32_t mover;
    int32_t first; /* who began */
} State;

static const char *describe(const double *args, puffer_spec *spec) {
    const int32_t cells = (int32_t)args[SIZE] * (int32_t)args[SIZE];
    spec->num_agents = args[OPPONENT] != 0 ? 2 : 1;
    puffer_observation(spec, PUFFER_U8, 0, 1);
    spec->obs_shape[0] = 4 * cells + 3;
    puffer_discrete(spec, cells + 1);
    spec->action_masks = true;
    spec->render_size = cells + 1;
    return NULL;
}

PUFFER_FN Points get(const uint64_t *words) {
    return (Points)words[1] << 64 | words[0];
}

PUFFER_FN void set(uint64_t *words, Points points) {
    words[0] = (uint64_t)points;
    words[1] = (uint64_t)(points >> 64);
}

PUFFER_FN Points point(int32_t at) {
    return (Points)1 << at;
}

PUFFER_FN int32_t place(int32_t cell, int32_t size) {
    return cell / size * PITCH + cell % size;
}

PUFFER_FN int32_t cell_of(int32_t at, int32_t size) {
    return at / PITCH * size + at % PITCH;
}

PUFFER_FN int32_t count_bits(uint64_t x) {
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    return (int32_t)(((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

PUFFER_FN int32_t count(Points points) {
    return count_bits((uint64_t)points) + count_bits((uint64_t)(points >> 64));
}

PUFFER_FN Points lowest(Points points) {
    return points & -points;
}

/* The place of a point. */
PUFFER_FN int32_t index_of(Points point) {
    const uint64_t low = (uint64_t)point;
    return low ? count_bits(low - 1) : 64 + count_bits((uint64_t)(point >> 64) - 1);
}

/* The points beside these, and places that are none. */
PUFFER_FN Points beside(Points points) {
    return points << 1 | points >> 1 | points << PITCH | points >> PITCH;
}

/* All that hangs together with these points within a set. */
PUFFER_FN Points flood(Points points, Points within) {
    for (;;) {
        const Points more = (points | beside(points)) & within;
        if (more == points) return points;
        points = more;
    }
}

PUFFER_FN Points free_points(const State *s) {
    return get(s->board) & ~(get(s->stones[0]) | get(s->stones[1]));
}

PUFFER_FN uint64_t stone_hash(int32_t player, int32_t at) {
    return puffer_mix((uint64_t)(2 * at + player + 1) * 0x9e3779b97f4a7c15u);
}

PUFFER_FN uint64_t stones_hash(int32_t player, Points stones) {
    uint64_t hash = 0;
    for (; stones; stones &= stones - 1) hash ^= stone_hash(player, index_of(lowest(stones)));
    return hash;
}

/* Find out anew whether the chains of these stones are in danger; returns those without liberty. */
PUFFER_FN Points examine(State *s, int32_t player, Points some) {
    const Points stones = get(s->stones[player]), open = free_points(s);
    Points danger = get(s->danger[player]), dead = 0;
    while (some) {
        const Points chain = flood(lowest(some), stones), liberties = beside(chain) & open;
        danger = liberties == lowest(liberties) ? danger | chain : danger & ~chain;
        if (!liberties) dead |= chain;
        some &= ~chain;
    }
    set(s->danger[player], danger);
    return dead;
}

/* A move that is allowed. */
PUFFER_FN void lay(State *s, int32_t player, int32_t at) {
    const Points stone = point(at), mine = get(s->stones[player]) | stone;
    const Points theirs = get(s->stones[1 - player]);
    set(s->stones[player], mine);
    s->hash ^= stone_hash(player, at);
    const Points taken = examine(s, 1 - player, beside(stone) & theirs);
    if (taken) {
        set(s->stones[1 - player], theirs & ~taken);
        set(s->danger[1 - player], get(s->danger[1 - player]) & ~taken);
        set(s->fallen[1 - player], get(s->fallen[1 - player]) | taken);
        s->hash ^= stones_hash(1 - player, taken);
        examine(s, player, beside(taken) & get(s->danger[player]));
    }
    examine(s, player, stone);
}

/* Whether the position after this move has been there before. */
PUFFER_FN bool repeats(const State *s, int32_t player, int32_t at) {
    const Points theirs = get(s->stones[1 - player]);
    const Points taken = flood(beside(point(at)) & get(s->danger[1 - player]), theirs);
    const uint64_t hash = s->hash ^ stone_hash(player, at) ^ stones_hash(1 - player, taken);
    if (!(s->filter[hash % FILTER] >> (hash >> 58) & 1)) return false;
    for (int32_t k = 0; k < s->positions; k++)
        if (s->history[k] == hash) return true;
    return false;
}

PUFFER_FN Points allowed(const State *s, int32_t player) {
    const Points open = free_points(s), danger = get(s->danger[player]);
    const Points lives = open | (get(s->stones[player]) & ~danger) | get(s->danger[1 - player]);
    Points moves = open & beside(lives);
    /* only a position with a stone that was taken there can come again */
    for (Points rest = moves & get(s->fallen[player]); rest; rest &= rest - 1)
        if (repeats(s, player, index_of(lowest(rest)))) moves &= ~lowest(rest);
    return moves;
}

PUFFER_FN void remember(State *s) {
    s->history[s->positions++] = s->hash;
    s->filter[s->hash % FILTER] |= (uint64_t)1 << (s->hash >> 58);
}

/* Lead of a player in points, with komi. */
PUFFER_FN double margin(const puffer_env *env, const State *s, int32_t player) {
    int32_t area[2] = {count(get(s->stones[0])), count(get(s->stones[1]))};
    Points open = free_points(s);
    while (open) {
        const Points region = flood(lowest(open), open), rim = beside(region);
        const bool touches[2] = {(rim & get(s->stones[0])) != 0, (rim & get(s->stones[1])) != 0};
        if (touches[0] != touches[1]) area[touches[1]] += count(region);
        open &= ~region;
    }
    const int32_t lead = area[player] - area[1 - player];
    return player == s->first ? lead - env->args[KOMI] : lead + env->args[KOMI];
}

/* What the script would like best of what it may do. */
PUFFER_FN Points prefer(const State *s, Points moves) {
    const Points open = free_points(s), danger = get(s->danger[SCRIPT]);
    const Points up = open << PITCH, down = open >> PITCH, right = open << 1, left = open >> 1;
    const Points two = (up & down) | (right & left) | ((up | down) & (right | left));
    const Points takes = moves & beside(get(s->danger[AGENT]));
    /* without danger: two free points beside it, or a chain that has a liberty to spare */
    const Points sound = moves & (two | beside(get(s->stones[SCRIPT]) & ~danger));
    const Points saves = sound & beside(danger), touches = sound & beside(get(s->stones[AGENT]));
    return takes ? takes : saves ? saves : touches ? touches : sound ? sound : moves;
}

PUFFER_FN int32_t script_move(puffer_env *env, const State *s) {
    const bool thinks = puffer_uniform(&env->rng, 0, 1) < (float)env->args[STRENGTH];
    if (s->passes && margin(env, s, SCRIPT) > 0) return PASS;
    /* no eyes: all beside them is its own and out of danger */
    const Points safe = get(s->stones[SCRIPT]) & ~get(s->danger[SCRIPT]);
    Points moves = allowed(s, SCRIPT) & beside(get(s->board) & ~safe);
    if (thinks) moves = prefer(s, moves);
    if (!moves) return PASS;
    for (int32_t k = puffer_randint(&env->rng, count(moves)); k; k--) moves &= moves - 1;
    return index_of(lowest(moves));
}

/* Turn those bytes that no longer say what is so. */
PUFFER_FN void show(Points now, uint64_t *shown, uint8_t *bytes, int32_t size) {
    for (Points wrong = now ^ get(shown); wrong; wrong &= wrong - 1)
        bytes[cell_of(index_of(lowest(wrong)), size)] ^= 1;
    set(shown, now);
}

PUFFER_FN void observe(const puffer_env *env, State *s) {
    const int32_t size = (int32_t)env->args[SIZE], cells = size * size;
    for (int32_t a = 0; a < env->spec->num_agents; a++) {
        uint8_t *obs = (uint8_t *)env->observations + a * (4 * cells + 3);
        bool *choices = env->action_masks + a * (cells + 1);
        const bool on_turn = s->mover == a;
        show(get(s->stones[a]), s->shown[a][0], obs, size);
        show(get(s->stones[1 - a]), s->shown[a][1], obs + cells, size);
        show(get(s->danger[a]), s->shown[a][2], obs + 2 * cells, size);
        show(get(s->danger[1 - a]), s->shown[a][3], obs + 3 * cells, size);
        show(on_turn ? allowed(s, a) : 0, s->shown[a][4], (uint8_t *)choices, size);
        choices[cells] = true;
        obs[4 * cells] = on_turn;
        obs[4 * cells + 1] = s->passes > 0;
        obs[4 * cells + 2] = s->first == a;
    }
}

PUFFER_FN void finish(puffer_env *env, const State *s) {
    const int32_t size = (int32_t)env->args[SIZE];
    for (int32_t a = 0; a < env->spec->num_agents; a++) {
        const double points = margin(env, s, a);
        const float result = points > 0 ? 1.0f : points < 0 ? -1.0f : 0.0f;
        const float share = (float)points / (float)(size * size);
        env->terminals[a] = true;
        env->rewards[a] = result + (float)env->args[REWARD_MARGIN] * share;
        double *log = puffer_log(env, a);
        log[0] = log[1] = 0.5 + 0.5 * (double)result;
        log[2] = points;
    }
}

/* A move or a pass; true when it ends the game. */
PUFFER_FN bool move(puffer_env *env, State *s, int32_t at) {
    if (at != PASS) {
        lay(s, s->mover, at);
        remember(s);
    }
    s->passes = at != PASS ? 0 : s->passes + 1;
    s->moves++;
    s->mover = 1 - s->mover;
    if (s->passes < 2 && s->moves < (int32_t)env->args[MOVES]) return false;
    finish(env, s);
    return true;
}

PUFFER_FN void reset(puffer_env *env, State *s) {
    const int32_t size = (int32_t)env->args[SIZE], agents = env->spec->num_agents;
    memset(env->observations, 0, (size_t)(agents * env->spec->obs_shape[0]));
    memset(env->action_masks, 0, (size_t)(agents * (size * size + 1)));
    memset(s, 0, offsetof(State, history));
    Points board = 0;
    for (int32_t row = 0; row < size; row++) board |= (point(size) - 1) << row * PITCH;
    set(s->board, board);
    s->positions = s->moves = s->passes = 0;
    remember(s);
    s->first = s->mover = puffer_randint(&env->rng, 2);
    if (agents == 1 && s->mover == SCRIPT) move(env, s, script_move(env, s));
    observe(env, s);
}

PUFFER_FN void step(puffer_env *env, State *s) {
    const int32_t size = (int32_t)env->args[SIZE], cells = size * size;
    const int32_t action = ((const int32_t *)env->actions)[s->mover];
    int32_t at = PASS;
    if (action < cells) {
        const Points moves = get(s->shown[s->mover][4]);
        const Points later = moves & ~(point(place(action, size)) - 1);
        if (later) at = index_of(lowest(later));
    }
    if (!move(env, s, at) && env->spec->num_agents == 1) move(env, s, script_move(env, s));
    observe(env, s);
}

/* Row by row: 0 free, 1 black (who began), 2 white; then 1 if the last move was a pass. */
static void render(const puffer_env *env, const State *s, float *out) {
    const int32_t size = (int32_t)env->args[SIZE], cells = size * size;
    for (int32_t cell = 0; cell < cells; cell++) {
        const Points here = point(place(cell, size));
        const bool black = (get(s->stones[s->first]) & here) != 0;
        const bool white = (get(s->stones[1 - s->first]) & here) != 0;
        out[cell] = (float)(black + 2 * white);
    }
    out[cells] = s->passes > 0;
}

#define PUFFER_NAME "go"
#include "puffer_harness.h"
