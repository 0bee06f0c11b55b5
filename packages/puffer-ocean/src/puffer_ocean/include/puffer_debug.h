/* puffer_debug.h: how the rows of the environments relate to the shared buffers; a part of
 * puffer_episode.h.
 *
 * Normally the rows lie in the shared buffers, one environment behind the other, and one that
 * writes beside its rows writes into its neighbour's. A debug build (PUFFER_DEBUG) gives every
 * environment rows of its own on the heap, which AddressSanitizer watches, and copies. */
#ifdef PUFFER_DEBUG
#include <stdlib.h>

enum { PUFFER_ROWS = 8 };

typedef struct {
    void *shared;
    void *own; /* NULL: the environment has no such rows */
    size_t bytes;
} puffer_row;

static void puffer_own(puffer_row *row, void *shared, size_t bytes) {
    row->shared = shared;
    row->bytes = bytes;
    row->own = shared && bytes ? malloc(bytes) : NULL;
    if (row->own) memcpy(row->own, shared, bytes);
}

static const char *puffer_guard(puffer_vec *vec) {
    const size_t agents = (size_t)vec->spec.num_agents;
    const size_t width = (size_t)(vec->spec.num_heads + vec->spec.action_dims);
    puffer_row *rows = calloc((size_t)vec->num_envs * PUFFER_ROWS, sizeof *rows);
    if (!rows) return "out of memory";
    vec->guarded = rows;
    for (int32_t i = 0; i < vec->num_envs; i++, rows += PUFFER_ROWS) {
        puffer_env *env = &vec->envs[i];
        puffer_own(&rows[0], (void *)(uintptr_t)env->actions, agents * width * 4);
        puffer_own(&rows[1], env->observations, agents * vec->item_bytes);
        puffer_own(&rows[2], env->rewards, agents * sizeof(float));
        puffer_own(&rows[3], env->terminals, agents * sizeof(bool));
        puffer_own(&rows[4], env->truncations, agents * sizeof(bool));
        puffer_own(&rows[5], env->masks, agents * sizeof(bool));
        puffer_own(&rows[6], env->action_masks, agents * vec->choices);
        puffer_own(&rows[7], env->logs, agents * PUFFER_LOG_WIDTH * sizeof(double));
        env->actions = rows[0].own;
        env->observations = rows[1].own;
        env->rewards = rows[2].own;
        env->terminals = rows[3].own;
        env->truncations = rows[4].own;
        env->masks = rows[5].own;
        env->action_masks = rows[6].own;
        env->logs = rows[7].own;
    }
    return NULL;
}

static void puffer_unguard(puffer_vec *vec) {
    puffer_row *rows = vec->guarded;
    for (int32_t k = 0; rows && k < vec->num_envs * PUFFER_ROWS; k++) free(rows[k].own);
    free(rows);
}

/* Take the actions from the shared buffers. */
static void puffer_fetch(puffer_vec *vec, int32_t i) {
    puffer_row *rows = (puffer_row *)vec->guarded + (size_t)i * PUFFER_ROWS;
    memcpy(rows[0].own, rows[0].shared, rows[0].bytes);
}

/* Show the shared buffers what the environment wrote. */
static void puffer_publish(puffer_vec *vec, int32_t i) {
    puffer_row *rows = (puffer_row *)vec->guarded + (size_t)i * PUFFER_ROWS;
    for (int r = 1; r < PUFFER_ROWS; r++)
        if (rows[r].own) memcpy(rows[r].shared, rows[r].own, rows[r].bytes);
}

/* Take everything from the shared buffers, after they were restored. */
static void puffer_refresh(puffer_vec *vec) {
    puffer_row *rows = vec->guarded;
    for (int32_t k = 0; k < vec->num_envs * PUFFER_ROWS; k++)
        if (rows[k].own) memcpy(rows[k].own, rows[k].shared, rows[k].bytes);
}

static void puffer_clear(puffer_vec *vec, int32_t first, int32_t last) {
    for (int32_t i = first; i < last; i++)
        puffer_clear_rows(&vec->envs[i], (size_t)vec->spec.num_agents);
}

#else

#define puffer_guard(vec) ((void)(vec), (const char *)NULL)
#define puffer_unguard(vec) ((void)(vec))
#define puffer_fetch(vec, i) ((void)(vec), (void)(i))
#define puffer_publish(vec, i) ((void)(vec), (void)(i))
#define puffer_refresh(vec) ((void)(vec))

PUFFER_FN void puffer_clear(puffer_vec *vec, int32_t first, int32_t last) {
    if (first < last)
        puffer_clear_rows(&vec->envs[first], (size_t)(last - first) * (size_t)vec->spec.num_agents);
}

#endif
