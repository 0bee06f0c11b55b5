/* puffer_harness.h: runs many environments on shared buffers. Included at the end of the source of
 * an environment, so that the compiler sees step() and the loop around it as one piece. */
#include <stdlib.h>
#include <string.h>

#define PUFFER_COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

enum { PUFFER_LOG_WIDTH = 2 + PUFFER_COUNT(LOG_FIELDS) };

struct puffer_vec {
    int32_t num_envs;
    size_t obs_bytes; /* of all agents of one environment */
    puffer_spec spec;
    puffer_buffers buffers;
    double args[PUFFER_COUNT(ARGS)];
    puffer_env *envs;
    State *states;
    double *returns; /* of the running episode of each agent; raw rewards */
    int64_t *lengths;
};

static size_t puffer_itemsize(int32_t dtype) {
    return dtype == PUFFER_U8 || dtype == PUFFER_I8 ? 1 : dtype == PUFFER_I16 ? 2 : 4;
}

static const char *puffer_describe(const double *args, puffer_spec *spec) {
    memset(spec, 0, sizeof *spec);
    const char *error = describe(args, spec);
    if (spec->num_agents == 0) spec->num_agents = 1;
    return error;
}

static void puffer_seed(puffer_vec *vec, uint64_t seed) {
    for (int32_t i = 0; i < vec->num_envs; i++)
        vec->envs[i].rng = puffer_mix(puffer_mix(seed + 0x9e3779b97f4a7c15u) + (uint64_t)i);
}

static void puffer_close(puffer_vec *vec) {
    if (!vec) return;
    if (vec->envs && vec->states)
        for (int32_t i = 0; i < vec->num_envs; i++) close(&vec->envs[i], &vec->states[i]);
    free(vec->envs);
    free(vec->states);
    free(vec->returns);
    free(vec->lengths);
    free(vec);
}

static const char *puffer_create(int32_t num_envs, const double *args,
                                 const puffer_buffers *buffers, uint64_t seed, puffer_vec **out) {
    *out = NULL;
    puffer_vec *vec = calloc(1, sizeof *vec);
    if (!vec) return "out of memory";
    const char *error = puffer_describe(args, &vec->spec);
    if (error) {
        free(vec);
        return error;
    }
    const size_t agents = (size_t)vec->spec.num_agents, rows = (size_t)num_envs * agents;
    vec->num_envs = num_envs;
    vec->buffers = *buffers;
    memcpy(vec->args, args, sizeof vec->args);
    vec->envs = calloc((size_t)num_envs, sizeof *vec->envs);
    vec->states = calloc((size_t)num_envs, sizeof *vec->states);
    vec->returns = calloc(rows, sizeof *vec->returns);
    vec->lengths = calloc(rows, sizeof *vec->lengths);
    if (!vec->envs || !vec->states || !vec->returns || !vec->lengths) {
        free(vec->states);
        vec->states = NULL; /* nothing was initialised, so nothing is closed */
        puffer_close(vec);
        return "out of memory";
    }
    vec->obs_bytes = agents * puffer_itemsize(vec->spec.obs_dtype);
    for (int32_t d = 0; d < PUFFER_MAX_DIMS && vec->spec.obs_shape[d]; d++)
        vec->obs_bytes *= (size_t)vec->spec.obs_shape[d];
    const int32_t width = vec->spec.num_heads ? vec->spec.num_heads : vec->spec.action_dims;
    const size_t action_bytes = 4 * agents * (size_t)width;
    puffer_seed(vec, seed);
    for (int32_t i = 0; i < num_envs; i++) {
        puffer_env *env = &vec->envs[i];
        const size_t row = (size_t)i * agents;
        env->observations = (char *)buffers->observations + (size_t)i * vec->obs_bytes;
        env->actions = (const char *)buffers->actions + (size_t)i * action_bytes;
        env->rewards = buffers->rewards + row;
        env->terminals = buffers->terminals + row;
        env->truncations = buffers->truncations + row;
        env->masks = buffers->masks + row;
        env->logs = buffers->logs + row * PUFFER_LOG_WIDTH;
        env->log_width = PUFFER_LOG_WIDTH;
        env->args = vec->args;
        env->spec = &vec->spec;
        init(env, &vec->states[i]);
    }
    *out = vec;
    return NULL;
}

static void puffer_clear(puffer_vec *vec, int32_t first, int32_t last) {
    const size_t agents = (size_t)vec->spec.num_agents;
    const size_t row = (size_t)first * agents, count = (size_t)(last - first) * agents;
    memset(vec->buffers.rewards + row, 0, count * sizeof(float));
    memset(vec->buffers.terminals + row, 0, count * sizeof(bool));
    memset(vec->buffers.truncations + row, 0, count * sizeof(bool));
}

static void puffer_reset(puffer_vec *vec, int32_t first, int32_t last) {
    const size_t agents = (size_t)vec->spec.num_agents;
    puffer_clear(vec, first, last);
    for (size_t k = (size_t)first * agents; k < (size_t)last * agents; k++) {
        vec->returns[k] = 0;
        vec->lengths[k] = 0;
        vec->buffers.masks[k] = true;
    }
    for (int32_t i = first; i < last; i++) reset(&vec->envs[i], &vec->states[i]);
}

/* Episode statistics of one environment after its step; true when all of its agents have ended. */
static inline bool puffer_account(puffer_vec *vec, int32_t i) {
    puffer_env *env = &vec->envs[i];
    const int32_t agents = vec->spec.num_agents, max_steps = vec->spec.max_steps;
    int32_t ended = 0;
    for (int32_t a = 0; a < agents; a++) {
        const size_t k = (size_t)i * (size_t)agents + (size_t)a;
        vec->returns[k] += (double)env->rewards[a];
        vec->lengths[k] += env->masks[a];
        if (max_steps && vec->lengths[k] >= max_steps && !env->terminals[a])
            env->truncations[a] = true;
        if (env->terminals[a] | env->truncations[a]) {
            double *log = env->logs + (size_t)a * PUFFER_LOG_WIDTH;
            log[0] = vec->returns[k];
            log[1] = (double)vec->lengths[k];
            vec->returns[k] = 0;
            vec->lengths[k] = 0;
            ended++;
        }
    }
    return ended == agents;
}

static void puffer_step(puffer_vec *vec, int32_t first, int32_t last) {
    puffer_clear(vec, first, last);
    char *final_observations = vec->buffers.final_observations;
    for (int32_t i = first; i < last; i++) {
        puffer_env *env = &vec->envs[i];
        step(env, &vec->states[i]);
        if (puffer_account(vec, i)) {
            memcpy(final_observations + (size_t)i * vec->obs_bytes, env->observations,
                   vec->obs_bytes);
            reset(env, &vec->states[i]);
        }
    }
}

static void puffer_render(const puffer_vec *vec, int32_t index, float *out) {
    render(&vec->envs[index], &vec->states[index], out);
}

/* A snapshot: this head, then streams, states, returns, lengths. A State holds no pointers, so its
 * bytes are all there is to it. */
typedef struct {
    uint32_t abi_version;
    uint32_t state_size;
    int32_t num_envs;
    int32_t num_agents;
} puffer_snapshot;

typedef struct {
    void *data;
    size_t bytes;
} puffer_part;

enum { PUFFER_PARTS = 3 };

static void puffer_parts(const puffer_vec *vec, puffer_part parts[PUFFER_PARTS]) {
    const size_t envs = (size_t)vec->num_envs, rows = envs * (size_t)vec->spec.num_agents;
    parts[0] = (puffer_part){vec->states, envs * sizeof *vec->states};
    parts[1] = (puffer_part){vec->returns, rows * sizeof *vec->returns};
    parts[2] = (puffer_part){vec->lengths, rows * sizeof *vec->lengths};
}

static puffer_snapshot puffer_head(const puffer_vec *vec) {
    return (puffer_snapshot){PUFFER_ABI_VERSION, sizeof(State), vec->num_envs,
                             vec->spec.num_agents};
}

static uint64_t puffer_snapshot_bytes(const puffer_vec *vec) {
    puffer_part parts[PUFFER_PARTS];
    puffer_parts(vec, parts);
    uint64_t bytes = sizeof(puffer_snapshot) + (uint64_t)vec->num_envs * sizeof(uint64_t);
    for (int i = 0; i < PUFFER_PARTS; i++) bytes += parts[i].bytes;
    return bytes;
}

static void puffer_save(const puffer_vec *vec, void *out) {
    char *at = out;
    const puffer_snapshot head = puffer_head(vec);
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    for (int32_t i = 0; i < vec->num_envs; i++, at += sizeof(uint64_t))
        memcpy(at, &vec->envs[i].rng, sizeof(uint64_t));
    puffer_part parts[PUFFER_PARTS];
    puffer_parts(vec, parts);
    for (int i = 0; i < PUFFER_PARTS; at += parts[i].bytes, i++)
        memcpy(at, parts[i].data, parts[i].bytes);
}

static const char *puffer_restore(puffer_vec *vec, const void *snapshot, uint64_t bytes) {
    const puffer_snapshot head = puffer_head(vec);
    if (bytes < sizeof head || memcmp(snapshot, &head, sizeof head) != 0)
        return "the snapshot is of another version, or of another number of environments";
    if (bytes != puffer_snapshot_bytes(vec)) return "the snapshot is cut off";
    const char *at = (const char *)snapshot + sizeof head;
    for (int32_t i = 0; i < vec->num_envs; i++, at += sizeof(uint64_t))
        memcpy(&vec->envs[i].rng, at, sizeof(uint64_t));
    puffer_part parts[PUFFER_PARTS];
    puffer_parts(vec, parts);
    for (int i = 0; i < PUFFER_PARTS; at += parts[i].bytes, i++)
        memcpy(parts[i].data, at, parts[i].bytes);
    return NULL;
}

static const puffer_library PUFFER_LIBRARY = {
    .abi_version = PUFFER_ABI_VERSION,
    .library_size = sizeof(puffer_library),
    .spec_size = sizeof(puffer_spec),
    .buffers_size = sizeof(puffer_buffers),
    .env_size = sizeof(puffer_env),
    .num_args = PUFFER_COUNT(ARGS),
    .num_log_fields = PUFFER_COUNT(LOG_FIELDS),
    .name = PUFFER_NAME,
    .args = ARGS,
    .log_fields = LOG_FIELDS,
    .describe = puffer_describe,
    .create = puffer_create,
    .seed = puffer_seed,
    .reset = puffer_reset,
    .step = puffer_step,
    .render = puffer_render,
    .snapshot_bytes = puffer_snapshot_bytes,
    .save = puffer_save,
    .restore = puffer_restore,
    .close = puffer_close,
};

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const puffer_library *puffer_environment(void) {
    return &PUFFER_LIBRARY;
}
