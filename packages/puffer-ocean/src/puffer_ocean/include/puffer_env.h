/* puffer_env.h: the contract between a C environment and everything that runs it.
 *
 * An environment is one folder `<name>/` with one source `<name>.c`. The source includes this
 * header, declares
 *
 *     State        a struct: everything that one environment remembers, without pointers
 *     ARGS         keyword arguments with default and range (puffer_arg[], rows PUFFER_INT(...)
 * ...) LOG_FIELDS   what it reports of a finished episode beside return and length (const char *[])
 *     describe     fills the puffer_spec: observation and action layout for given arguments
 *
 * writes three functions on ONE environment
 *
 *     reset(env, s)          begin an episode of all agents; write their first observations
 *     step(env, s)           read actions; write rewards, flags, observations, and logs at an end
 *     render(env, s, out)    write what a renderer needs as floats
 *
 * two more if it needs them, each announced by a #define before the harness
 *
 *     PUFFER_INIT            init(env, s): prepare the zeroed State before the first reset (read a
 *                            file, say); once more before the reset that follows set_params.
 *                            Returns an error message or NULL.
 *     PUFFER_RESET_AGENT     reset_agent(env, s, agent): begin a new episode of one agent while
 *                            the others go on; write its first observation
 *
 * and ends with `#define PUFFER_NAME "<name>"` and `#include "puffer_harness.h"`. The harness owns
 * the rest: it clears rewards and flags before a step, keeps episode statistics, truncates at
 * `max_steps`, copies final observations, begins the next episodes and seeds the random streams. So
 * `step` never resets, and `reset` never touches rewards or flags.
 *
 * The end of an episode: `step` sets terminals[a] (or truncations[a]), with the observation that
 * the episode ended in. When all agents that are there have ended, the harness calls `reset`. When
 * some have and others go on, an ended agent restarts at once if there is a reset_agent; without
 * one it is dead until the environment ends: its mask is false, its actions mean nothing, and its
 * rewards, flags and observations are zero whatever `step` writes there.
 *
 * Rules
 *   - No globals, no rand(), no allocation, no input or output in reset and step. Randomness comes
 *     from env->rng alone, so that results depend on (seed, index of the environment) and not on
 *     the number of threads.
 *   - What a step wrote to the observations and action masks of its environment is still there in
 *     the next one, so unchanged parts need not be written again. Only the row of a dead agent is
 *     zeroed: `reset` writes the observations whole.
 *   - Discrete actions are always choices that exist; floats may lie outside the bounds: clip
 *     them. With action masks a forbidden choice may still come, and must do no harm.
 *   - The source is C11 and C++17 alike, since it is compiled for the GPU too: casts from void *,
 *     no designated initialisers, no compound literals, no variable-length arrays; of the library
 *     only <math.h> and <string.h>; no function pointers. PUFFER_FN stands before every function
 *     that reset and step call (and before these two), PUFFER_TABLE before constant tables.
 */
#ifndef PUFFER_ENV_H
#define PUFFER_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi: begin (Python reads the text between these two marks as it stands) */
#define PUFFER_ABI_VERSION 2
#define PUFFER_MAX_DIMS 4
#define PUFFER_MAX_HEADS 16

enum puffer_dtype { PUFFER_U8, PUFFER_I8, PUFFER_I16, PUFFER_I32, PUFFER_F32 };
enum puffer_arg_type {
    PUFFER_INT_TYPE,
    PUFFER_FLOAT_TYPE,
    PUFFER_BOOL_TYPE,
    PUFFER_ENUM_TYPE,
    PUFFER_TEXT_TYPE
};

/* A keyword argument. Values travel as doubles: whole numbers for integers and bools, the position
 * among the choices for enums. Texts travel beside them. */
typedef struct {
    const char *name;
    int32_t type; /* enum puffer_arg_type */
    double initial;
    double low;
    double high;      /* inclusive; of integers and floats */
    const char *text; /* enum: the choices, "hover|race"; text: the default */
    const char *help;
} puffer_arg;

/* The layout of one environment. Zeroed before describe() fills it. */
typedef struct {
    int32_t num_agents;                 /* 0 means 1 */
    int32_t obs_dtype;                  /* enum puffer_dtype */
    int32_t obs_shape[PUFFER_MAX_DIMS]; /* of one agent; ends at the first 0 */
    double obs_low;
    double obs_high;                      /* equal bounds mean: the limits of the dtype */
    int32_t num_heads;                    /* discrete heads; actions are int32 (agents, heads) */
    int32_t head_sizes[PUFFER_MAX_HEADS]; /* choices of each head */
    int32_t action_dims;                  /* continuous: actions are float (agents, action_dims) */
    double action_low;
    double action_high;
    bool action_masks;   /* the environment says which choices are allowed */
    int32_t max_steps;   /* the harness truncates an agent's episode of this length; 0: never */
    int32_t render_size; /* floats that render() writes */
} puffer_spec;

/* The first rows of the shared buffers of all agents; layouts as in puffer_core.PufferEnv. */
typedef struct {
    void *observations;
    void *final_observations;
    const void *actions;
    float *rewards;
    bool *terminals;
    bool *truncations;
    bool *masks;
    bool *action_masks; /* (agents, sum of head_sizes); NULL without action masks */
    double *logs;       /* (agents, 2 + num_log_fields): return, length, then the environment's;
                         * a row is valid in the step in which the agent's flag is set */
} puffer_buffers;

/* What the functions of an environment see: its own rows, its arguments, its random stream. */
typedef struct {
    void *observations;
    const void *actions;
    float *rewards;     /* zero before each step */
    bool *terminals;    /* false before each step */
    bool *truncations;  /* false before each step */
    bool *masks;        /* the agent acts in this step: before each step true for all but the dead;
                         * step sets it false for one that is not there yet, and zeroes its row */
    bool *action_masks; /* true: allowed; all true at first, written like observations */
    double *logs;       /* use puffer_log(env, agent) */
    const double *args;
    const char *const *texts; /* by the same positions; NULL where the argument is no text */
    const puffer_spec *spec;
    uint64_t rng;
    int32_t max_steps; /* that of spec, or what set_params made of it */
    int32_t num_dead;  /* agents that ended before the others */
    int32_t log_width; /* 2 + number of LOG_FIELDS */
} puffer_env;

typedef struct puffer_vec puffer_vec; /* num_envs environments; opaque */

/* What a library offers. Ranges are environments [first, last); disjoint ranges may run in
 * parallel threads. Functions that can fail return an error message, or NULL. */
typedef struct {
    uint32_t abi_version; /* this and the sizes are compared when a library is loaded */
    uint32_t library_size;
    uint32_t arg_size;
    uint32_t spec_size;
    uint32_t buffers_size;
    uint32_t env_size;
    uint32_t state_size;
    int32_t num_args;
    int32_t num_log_fields;
    const char *name;
    const puffer_arg *args;
    const char *const *log_fields; /* LOG_FIELDS; columns 2.. of the logs */
    const char *(*describe)(const double *args, puffer_spec *spec);
    /* The texts are not copied: they stay where they are until close. */
    const char *(*create)(int32_t num_envs, const double *args, const char *const *texts,
                          const puffer_buffers *buffers, uint64_t seed, puffer_vec **vec);
    void (*seed)(puffer_vec *vec, uint64_t seed); /* all streams anew, by (seed, index) */
    void (*reset)(puffer_vec *vec, int32_t first, int32_t last);
    void (*step)(puffer_vec *vec, int32_t first, int32_t last);
    void (*render)(const puffer_vec *vec, int32_t index, float *out);
    /* Arguments of one environment from its next reset on; they must leave its layout as it is. */
    const char *(*set_args)(puffer_vec *vec, int32_t index, const double *args);
    /* Those in force, or those from the next reset on. */
    const double *(*get_args)(const puffer_vec *vec, int32_t index, bool next);
    void *(*state)(puffer_vec *vec, int32_t index); /* its State */
    uint64_t (*snapshot_bytes)(const puffer_vec *vec);
    void (*save)(const puffer_vec *vec, void *out); /* all but the shared buffers */
    /* Fill the shared buffers first. */
    const char *(*restore)(puffer_vec *vec, const void *snapshot, uint64_t bytes);
    void (*close)(puffer_vec *vec);
} puffer_library;

const puffer_library *puffer_environment(void); /* the one symbol that a library exports */
/* cffi: end */

#ifdef __cplusplus
}
#endif

/* Rows of ARGS. */
#define PUFFER_INT(name, initial, low, high, help) \
    {name, PUFFER_INT_TYPE, initial, low, high, NULL, help}
#define PUFFER_FLOAT(name, initial, low, high, help) \
    {name, PUFFER_FLOAT_TYPE, initial, low, high, NULL, help}
#define PUFFER_BOOL(name, initial, help) {name, PUFFER_BOOL_TYPE, initial, 0, 1, NULL, help}
/* choices "easy|hard"; initial is the position of one; Python takes and gives the words */
#define PUFFER_ENUM(name, initial, choices, help) \
    {name, PUFFER_ENUM_TYPE, initial, 0, 0, choices, help}
#define PUFFER_TEXT(name, initial, help) {name, PUFFER_TEXT_TYPE, 0, 0, 0, initial, help}

/* A build for another target defines these two before this header. */
#ifndef PUFFER_FN
#define PUFFER_FN static inline
#endif
#ifndef PUFFER_TABLE
#define PUFFER_TABLE static const
#endif

/* describe(): one more discrete action head of so many choices. */
static inline void puffer_discrete(puffer_spec *spec, int32_t choices) {
    if (spec->num_heads < PUFFER_MAX_HEADS) spec->head_sizes[spec->num_heads] = choices;
    spec->num_heads++;
}

/* describe(): so many continuous actions in [low, high]. */
static inline void puffer_continuous(puffer_spec *spec, int32_t dims, double low, double high) {
    spec->action_dims = dims;
    spec->action_low = low;
    spec->action_high = high;
}

/* describe(): observations of this dtype and these bounds; fill in obs_shape beside it. */
static inline void puffer_observation(puffer_spec *spec, enum puffer_dtype dtype, double low,
                                      double high) {
    spec->obs_dtype = (int32_t)dtype;
    spec->obs_low = low;
    spec->obs_high = high;
}

/* The agent's values for LOG_FIELDS, in order; written at the latest in the step that ends it. */
PUFFER_FN double *puffer_log(const puffer_env *env, int32_t agent) {
    return env->logs + (int64_t)agent * env->log_width + 2;
}

/* SplitMix64 (Steele, Lea, Flood 2014): one 64-bit word of state, one stream per environment. */
PUFFER_FN uint64_t puffer_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

PUFFER_FN uint64_t puffer_random(uint64_t *rng) {
    *rng += 0x9e3779b97f4a7c15u;
    return puffer_mix(*rng);
}

/* A whole number in [0, n), n >= 1; the bias is below n / 2^32. */
PUFFER_FN int32_t puffer_randint(uint64_t *rng, int32_t n) {
    return (int32_t)(((puffer_random(rng) >> 32) * (uint64_t)n) >> 32);
}

/* A float in [low, high). */
PUFFER_FN float puffer_uniform(uint64_t *rng, float low, float high) {
    const float unit = (float)(puffer_random(rng) >> 40) * 0x1p-24f;
    return low + (high - low) * unit;
}

/* The value, or the bound that it lies beyond: two instructions (fminf and fmaxf are calls). */
PUFFER_FN float puffer_clamp(float value, float low, float high) {
    const float raised = value > low ? value : low;
    return raised < high ? raised : high;
}

/* Sine and cosine by their series, to 1e-7, of |angle| <= pi/4; the same bits on every machine. */
PUFFER_FN float puffer_sine(float angle) {
    const float q = angle * angle;
    const float tail = 1.0f / 120 - q * (1.0f / 5040 - q * (1.0f / 362880));
    return angle * (1 - q * (1.0f / 6 - q * tail));
}

PUFFER_FN float puffer_cosine(float angle) {
    const float q = angle * angle;
    const float tail = 1.0f / 720 - q * (1.0f / 40320 - q * (1.0f / 3628800));
    return 1 - q * (1.0f / 2 - q * (1.0f / 24 - q * tail));
}

#endif
