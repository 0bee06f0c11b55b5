/* puffer_harness.h: runs many environments on shared buffers. Included at the end of the source of
 * an environment, so that the compiler sees step() and the loop around it as one piece. */
#include "puffer_episode.h"

#ifndef PUFFER_ON_GPU
#include <stdlib.h>

static size_t puffer_itemsize(int32_t dtype) {
    return dtype == PUFFER_U8 || dtype == PUFFER_I8 ? 1 : dtype == PUFFER_I16 ? 2 : 4;
}

/* What an author may get wrong in describe(). */
static const char *puffer_check_spec(const puffer_spec *spec) {
    if (spec->num_agents < 1) return "describe: num_agents must be at least 1";
    if (spec->obs_dtype < PUFFER_U8 || spec->obs_dtype > PUFFER_F32)
        return "describe: obs_dtype is none of PUFFER_U8 ... PUFFER_F32";
    if (spec->obs_shape[0] < 1) return "describe: obs_shape[0] must be at least 1";
    for (int32_t d = 0; d < PUFFER_MAX_DIMS; d++)
        if (spec->obs_shape[d] < 0) return "describe: obs_shape must not be negative";
    if (!(spec->obs_low <= spec->obs_high)) return "describe: obs_low is above obs_high";
    if ((spec->num_heads > 0) == (spec->action_dims > 0))
        return "describe: declare either num_heads or action_dims";
    if (spec->num_heads > PUFFER_MAX_HEADS) return "describe: more heads than PUFFER_MAX_HEADS";
    for (int32_t h = 0; h < spec->num_heads; h++)
        if (spec->head_sizes[h] < 1) return "describe: head_sizes must be at least 1";
    if (spec->action_dims && !(spec->action_low < spec->action_high))
        return "describe: action_low must be below action_high";
    if (spec->action_masks && !spec->num_heads) return "describe: action_masks need num_heads";
    if (spec->max_steps < 0) return "describe: max_steps must not be negative";
    if (spec->render_size < 0) return "describe: render_size must not be negative";
    return NULL;
}

static const char *puffer_describe(const double *args, puffer_spec *spec) {
    memset(spec, 0, sizeof *spec);
    const char *error = describe(args, spec);
    if (error) return error;
    if (spec->num_agents == 0) spec->num_agents = 1;
    return puffer_check_spec(spec);
}

static void puffer_seed(puffer_vec *vec, uint64_t seed) {
    for (int32_t i = 0; i < vec->num_envs; i++)
        vec->envs[i].rng = puffer_mix(puffer_mix(seed + 0x9e3779b97f4a7c15u) + (uint64_t)i);
}

static const char *puffer_init(puffer_env *env, State *s) {
#ifdef PUFFER_INIT
    return init(env, s);
#else
    (void)env;
    (void)s;
    return NULL;
#endif
}

static void puffer_close(puffer_vec *vec) {
    if (!vec) return;
    puffer_unguard(vec);
    free(vec->envs);
    free(vec->states);
    free(vec->returns);
    free(vec->lengths);
    free(vec->dead);
    free(vec->changed);
    free(vec->own_args);
    free(vec->next_args);
    free(vec);
}

static const char *puffer_allocate(puffer_vec *vec) {
    const size_t envs = (size_t)vec->num_envs, rows = envs * (size_t)vec->spec.num_agents;
    vec->envs = calloc(envs, sizeof *vec->envs);
    vec->states = calloc(envs, sizeof *vec->states);
    vec->returns = calloc(rows, sizeof *vec->returns);
    vec->lengths = calloc(rows, sizeof *vec->lengths);
    vec->dead = calloc(rows, sizeof *vec->dead);
    vec->changed = calloc(envs, sizeof *vec->changed);
    vec->own_args = calloc(envs, sizeof *vec->own_args);
    vec->next_args = calloc(envs, sizeof *vec->next_args);
    const bool complete = vec->envs && vec->states && vec->returns && vec->lengths && vec->dead &&
                          vec->changed && vec->own_args && vec->next_args;
    return complete ? NULL : "out of memory";
}

static const char *puffer_fill(puffer_vec *vec, uint64_t seed) {
    vec->item_bytes = puffer_itemsize(vec->spec.obs_dtype);
    for (int32_t d = 0; d < PUFFER_MAX_DIMS && vec->spec.obs_shape[d]; d++)
        vec->item_bytes *= (size_t)vec->spec.obs_shape[d];
    for (int32_t h = 0; h < vec->spec.num_heads; h++)
        vec->choices += (size_t)vec->spec.head_sizes[h];
    if (vec->spec.action_masks != (vec->buffers.action_masks != NULL))
        return "the buffers must hold action_masks where the environment offers them, and only "
               "there";
    const char *error = puffer_allocate(vec);
    if (error) return error;
    puffer_seed(vec, seed);
    for (int32_t i = 0; i < vec->num_envs; i++) {
        puffer_env *env = &vec->envs[i];
        env->args = vec->args;
        env->texts = vec->texts;
        env->spec = &vec->spec;
        env->max_steps = vec->spec.max_steps;
        env->log_width = PUFFER_LOG_WIDTH;
        puffer_point(vec, i);
    }
    error = puffer_guard(vec);
    for (int32_t i = 0; i < vec->num_envs && !error; i++)
        error = puffer_init(&vec->envs[i], &vec->states[i]);
    return error;
}

static const char *puffer_create(int32_t num_envs, const double *args, const char *const *texts,
                                 const puffer_buffers *buffers, uint64_t seed, puffer_vec **out) {
    *out = NULL;
    puffer_vec *vec = calloc(1, sizeof *vec);
    if (!vec) return "out of memory";
    vec->num_envs = num_envs;
    vec->buffers = *buffers;
    vec->texts = texts;
    memcpy(vec->args, args, sizeof vec->args);
    const char *error = puffer_describe(args, &vec->spec);
    if (!error) error = puffer_fill(vec, seed);
    if (error) {
        puffer_close(vec);
        return error;
    }
    *out = vec;
    return NULL;
}

/* Let environment i have the arguments that wait for its next reset. */
static void puffer_renew(puffer_vec *vec, int32_t i) {
    puffer_env *env = &vec->envs[i];
    puffer_spec spec;
    memcpy(vec->own_args[i], vec->next_args[i], sizeof(puffer_args));
    vec->changed[i] = PUFFER_OWN_ARGS;
    env->args = vec->own_args[i];
    puffer_describe(env->args, &spec);
    env->max_steps = spec.max_steps;
    memset(&vec->states[i], 0, sizeof(State));
    puffer_init(env, &vec->states[i]);
}

static void puffer_reset(puffer_vec *vec, int32_t first, int32_t last) {
    const size_t agents = (size_t)vec->spec.num_agents;
    puffer_clear(vec, first, last);
    for (size_t k = (size_t)first * agents; k < (size_t)last * agents; k++) {
        vec->returns[k] = 0;
        vec->lengths[k] = 0;
    }
    for (int32_t i = first; i < last; i++) {
        puffer_begin(vec, i);
        puffer_publish(vec, i);
    }
}

static void puffer_render(const puffer_vec *vec, int32_t index, float *out) {
    render(&vec->envs[index], &vec->states[index], out);
}

static const char *puffer_set_args(puffer_vec *vec, int32_t index, const double *args) {
    puffer_spec spec;
    const char *error = puffer_describe(args, &spec);
    if (error) return error;
    spec.max_steps = vec->spec.max_steps;
    if (memcmp(&spec, &vec->spec, sizeof spec) != 0)
        return "the new values change the layout of the environment: make a new one";
    memcpy(vec->next_args[index], args, sizeof(puffer_args));
    vec->changed[index] |= PUFFER_NEXT_ARGS;
    return NULL;
}

static const double *puffer_get_args(const puffer_vec *vec, int32_t index, bool next) {
    const bool waiting = next && (vec->changed[index] & PUFFER_NEXT_ARGS);
    return waiting ? vec->next_args[index] : vec->envs[index].args;
}

static void *puffer_state(puffer_vec *vec, int32_t index) {
    return &vec->states[index];
}

#include "puffer_snapshot.h"

static const puffer_library PUFFER_LIBRARY = {
    .abi_version = PUFFER_ABI_VERSION,
    .library_size = sizeof(puffer_library),
    .arg_size = sizeof(puffer_arg),
    .spec_size = sizeof(puffer_spec),
    .buffers_size = sizeof(puffer_buffers),
    .env_size = sizeof(puffer_env),
    .state_size = sizeof(State),
    .num_args = PUFFER_NUM_ARGS,
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
    .set_args = puffer_set_args,
    .get_args = puffer_get_args,
    .state = puffer_state,
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

#endif
