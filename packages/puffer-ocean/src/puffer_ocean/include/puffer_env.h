/* puffer_env.h: the contract between a C environment and everything that runs it.
 *
 * An environment is one folder `envs/<name>/` with one source `<name>.c`. The source includes this
 * header, declares
 *
 *     State        a struct: everything that one environment remembers, without pointers
 *     ARGS         keyword arguments with default and range (puffer_arg[])
 *     LOG_FIELDS   what it reports of a finished episode beside return and length (const char *[])
 *     describe     fills the puffer_spec: observation and action layout for given arguments
 *
 * writes five functions on ONE environment
 *
 *     init(env, s)          once, after the buffers and the random stream are set
 *     reset(env, s)         begin an episode; write the first observation
 *     step(env, s)          read actions; write rewards, flags, observations, and logs at an end
 *     render(env, s, out)   write what a renderer needs as floats
 *     close(env, s)         release what init took
 *
 * and ends with `#define PUFFER_NAME "<name>"` and `#include "puffer_harness.h"`. The harness owns
 * the rest: it clears rewards and flags before a step, keeps episode statistics, truncates at
 * `max_steps`, copies the final observation, resets at the end and seeds the random streams. So
 * `step` never calls `reset`, and `reset` never touches rewards or flags.
 *
 * All agents of an environment end their episode in the same step: that is when the harness resets.
 *
 * Rules: no globals, no rand(), no allocation in step. Randomness comes from `env->rng` alone, so
 * that results depend on (seed, index of the environment) and not on the number of threads.
 * The rows that `env` points to belong to the environment: what it wrote there is still there in
 * the next step, so unchanged parts of an observation need not be written again.
 */
#ifndef PUFFER_ENV_H
#define PUFFER_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cffi: begin (Python reads the text between these two marks as it stands) */
#define PUFFER_ABI_VERSION 1
#define PUFFER_MAX_DIMS 4
#define PUFFER_MAX_HEADS 16

enum puffer_dtype { PUFFER_U8, PUFFER_I8, PUFFER_I16, PUFFER_I32, PUFFER_F32 };
enum puffer_arg_type { PUFFER_INT, PUFFER_FLOAT, PUFFER_BOOL };

/* A keyword argument. Values travel as doubles; integers and bools hold whole numbers. */
typedef struct {
    const char *name;
    int32_t type; /* enum puffer_arg_type */
    double initial;
    double low;
    double high; /* inclusive */
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
    int32_t max_steps;   /* the harness truncates an episode of this length; 0: never */
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
    double *logs; /* (agents, 2 + num_log_fields): return, length, then the environment's;
                   * a row is valid in the step in which the agent's flag is set */
} puffer_buffers;

/* What the functions of an environment see: its own rows, its arguments, its random stream. */
typedef struct {
    void *observations;
    const void *actions;
    float *rewards;    /* zero before each step */
    bool *terminals;   /* false before each step */
    bool *truncations; /* false before each step */
    bool *masks;       /* true from the start; false: the agent did not act in this step */
    double *logs;      /* use puffer_log(env, agent) */
    const double *args;
    const puffer_spec *spec;
    uint64_t rng;
    int32_t log_width; /* 2 + number of LOG_FIELDS */
} puffer_env;

typedef struct puffer_vec puffer_vec; /* num_envs environments; opaque */

/* What a library offers. Ranges are environments [first, last); disjoint ranges may
 * run in parallel threads. Functions that can fail return an error message, or NULL. */
typedef struct {
    uint32_t abi_version; /* these sizes are compared when a library is loaded */
    uint32_t library_size;
    uint32_t spec_size;
    uint32_t buffers_size;
    uint32_t env_size;
    int32_t num_args;
    int32_t num_log_fields;
    const char *name;
    const puffer_arg *args;
    const char *const *log_fields; /* LOG_FIELDS; columns 2.. of the logs */
    const char *(*describe)(const double *args, puffer_spec *spec);
    const char *(*create)(int32_t num_envs, const double *args, const puffer_buffers *buffers,
                          uint64_t seed, puffer_vec **vec);
    void (*seed)(puffer_vec *vec, uint64_t seed); /* all streams anew, by (seed, index) */
    void (*reset)(puffer_vec *vec, int32_t first, int32_t last);
    void (*step)(puffer_vec *vec, int32_t first, int32_t last);
    void (*render)(const puffer_vec *vec, int32_t index, float *out);
    uint64_t (*snapshot_bytes)(const puffer_vec *vec);
    void (*save)(const puffer_vec *vec, void *out); /* all but the shared buffers */
    const char *(*restore)(puffer_vec *vec, const void *snapshot, uint64_t bytes);
    void (*close)(puffer_vec *vec);
} puffer_library;

const puffer_library *puffer_environment(void); /* the one symbol that a library exports */
/* cffi: end */

/* The agent's values for LOG_FIELDS, in order; written at the latest in the step that ends it. */
static inline double *puffer_log(const puffer_env *env, int32_t agent) {
    return env->logs + (int64_t)agent * env->log_width + 2;
}

/* SplitMix64 (Steele, Lea, Flood 2014): one 64-bit word of state, one stream per environment. */
static inline uint64_t puffer_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t puffer_random(uint64_t *rng) {
    *rng += 0x9e3779b97f4a7c15u;
    return puffer_mix(*rng);
}

/* A whole number in [0, n), n >= 1; the bias is below n / 2^32. */
static inline int32_t puffer_randint(uint64_t *rng, int32_t n) {
    return (int32_t)(((puffer_random(rng) >> 32) * (uint64_t)n) >> 32);
}

/* A float in [low, high). */
static inline float puffer_uniform(uint64_t *rng, float low, float high) {
    const float unit = (float)(puffer_random(rng) >> 40) * 0x1p-24f;
    return low + (high - low) * unit;
}

#endif
