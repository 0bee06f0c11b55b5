/* puffer_episode.h: what many environments consist of, and a step of them with everything that is
 * not the author's: cleared rows, the dead, episode statistics, final observations, the next
 * episode. A part of puffer_harness.h, and all of it that a build for a GPU (PUFFER_ON_GPU) takes:
 * C11 and C++17 alike. */
#include <string.h>

#define PUFFER_COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

enum { PUFFER_NUM_ARGS = PUFFER_COUNT(ARGS), PUFFER_LOG_WIDTH = 2 + PUFFER_COUNT(LOG_FIELDS) };

/* Whose arguments an environment has: those of create, or its own; and new ones may wait. */
enum { PUFFER_OWN_ARGS = 1, PUFFER_NEXT_ARGS = 2 };

typedef double puffer_args[PUFFER_NUM_ARGS];

struct puffer_vec {
    int32_t num_envs;
    size_t item_bytes; /* of one agent's observation */
    size_t choices;    /* of all heads */
    puffer_spec spec;
    puffer_buffers buffers;
    puffer_args args;
    const char *const *texts;
    puffer_env *envs;
    State *states;
    double *returns; /* of the running episode of each agent; raw rewards */
    int64_t *lengths;
    bool *dead;             /* ended before the others */
    uint8_t *changed;       /* PUFFER_OWN_ARGS, PUFFER_NEXT_ARGS */
    puffer_args *own_args;  /* in force */
    puffer_args *next_args; /* from the next reset on */
    void *guarded;          /* the rows of a debug build */
};

/* The rows of environment i in the shared buffers. */
PUFFER_FN void puffer_point(puffer_vec *vec, int32_t i) {
    puffer_env *env = &vec->envs[i];
    const puffer_buffers *b = &vec->buffers;
    const size_t agents = (size_t)vec->spec.num_agents, row = (size_t)i * agents;
    const size_t width = (size_t)(vec->spec.num_heads + vec->spec.action_dims);
    env->observations = (char *)b->observations + row * vec->item_bytes;
    env->actions = (const char *)b->actions + row * width * 4;
    env->rewards = b->rewards + row;
    env->terminals = b->terminals + row;
    env->truncations = b->truncations + row;
    env->masks = b->masks + row;
    env->action_masks = b->action_masks ? b->action_masks + row * vec->choices : NULL;
    env->logs = b->logs + row * PUFFER_LOG_WIDTH;
}

PUFFER_FN void puffer_clear_rows(puffer_env *env, size_t rows) {
    memset(env->rewards, 0, rows * sizeof(float));
    memset(env->terminals, 0, rows * sizeof(bool));
    memset(env->truncations, 0, rows * sizeof(bool));
    memset(env->masks, 1, rows * sizeof(bool));
}

#include "puffer_debug.h"

#ifndef PUFFER_ON_GPU /* where all environments keep the arguments of the start */
static void puffer_renew(puffer_vec *vec, int32_t i);
#endif

/* Begin an episode of all agents of environment i, with the arguments that wait for it. */
PUFFER_FN void puffer_begin(puffer_vec *vec, int32_t i) {
    puffer_env *env = &vec->envs[i];
#ifndef PUFFER_ON_GPU
    if (vec->changed[i] & PUFFER_NEXT_ARGS) puffer_renew(vec, i);
#endif
    if (env->num_dead) {
        memset(vec->dead + (size_t)i * (size_t)vec->spec.num_agents, 0,
               (size_t)vec->spec.num_agents);
        env->num_dead = 0;
    }
    reset(env, &vec->states[i]);
}

/* Masks of the dead before a step. */
PUFFER_FN void puffer_mask_dead(puffer_env *env, const bool *dead) {
    for (int32_t a = 0; a < env->spec->num_agents; a++) env->masks[a] = !dead[a];
}

/* The rows of the dead after a step. */
PUFFER_FN void puffer_clear_dead(puffer_vec *vec, puffer_env *env, const bool *dead) {
    for (int32_t a = 0; a < env->spec->num_agents; a++) {
        if (!dead[a]) continue;
        const size_t row = (size_t)a;
        env->masks[a] = false;
        memset((char *)env->observations + row * vec->item_bytes, 0, vec->item_bytes);
        if (env->action_masks) memset(env->action_masks + row * vec->choices, 1, vec->choices);
    }
}

/* Episode statistics of one environment after its step. Counts the agents that are there and those
 * of them that ended. */
PUFFER_FN void puffer_account(puffer_vec *vec, puffer_env *env, size_t first, size_t agents,
                              size_t *there, size_t *ended) {
    double *returns = vec->returns + first;
    int64_t *lengths = vec->lengths + first;
    const int64_t max_steps = env->max_steps ? env->max_steps : INT64_MAX;
    *there = *ended = 0;
    for (size_t a = 0; a < agents; a++) {
        if (!env->masks[a]) {
            env->rewards[a] = 0;
            env->terminals[a] = env->truncations[a] = false;
            continue;
        }
        const double sum = returns[a] + (double)env->rewards[a];
        const int64_t length = lengths[a] + 1;
        if ((length >= max_steps) & !env->terminals[a]) env->truncations[a] = true;
        const bool end = env->terminals[a] | env->truncations[a];
        ++*there;
        *ended += end;
        returns[a] = end ? 0 : sum;
        lengths[a] = end ? 0 : length;
        if (end) {
            double *log = env->logs + a * PUFFER_LOG_WIDTH;
            log[0] = sum;
            log[1] = (double)length;
        }
    }
}

/* Keep the final observations of the agents that ended, and begin what follows. */
PUFFER_FN void puffer_succeed(puffer_vec *vec, int32_t i, bool all) {
    puffer_env *env = &vec->envs[i];
    const size_t agents = (size_t)vec->spec.num_agents, bytes = vec->item_bytes;
    char *final_rows = (char *)vec->buffers.final_observations + (size_t)i * agents * bytes;
    for (size_t a = 0; a < agents; a++) {
        if (!(env->terminals[a] | env->truncations[a])) continue;
        memcpy(final_rows + a * bytes, (char *)env->observations + a * bytes, bytes);
        if (all) continue;
#ifdef PUFFER_RESET_AGENT
        reset_agent(env, &vec->states[i], (int32_t)a);
#else
        vec->dead[(size_t)i * agents + a] = true;
        env->num_dead++;
#endif
    }
    if (all) puffer_begin(vec, i);
}

PUFFER_FN void puffer_step(puffer_vec *vec, int32_t first, int32_t last) {
    const size_t agents = (size_t)vec->spec.num_agents;
    puffer_clear(vec, first, last);
    for (int32_t i = first; i < last; i++) {
        puffer_env *env = &vec->envs[i];
        const size_t row = (size_t)i * agents;
        const bool *dead = env->num_dead ? vec->dead + row : NULL;
        size_t there, ended;
        puffer_fetch(vec, i);
        if (dead) puffer_mask_dead(env, dead);
        step(env, &vec->states[i]);
        if (dead) puffer_clear_dead(vec, env, dead);
        if (agents == 1) /* told apart so that the compiler sees a constant */
            puffer_account(vec, env, row, 1, &there, &ended);
        else
            puffer_account(vec, env, row, agents, &there, &ended);
        if (ended) puffer_succeed(vec, i, ended == there);
        puffer_publish(vec, i);
    }
}
