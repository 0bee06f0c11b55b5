/* puffer_snapshot.h: everything that environments remember, as bytes; a part of puffer_harness.h.
 *
 * A snapshot is a head, then the parts of the list below. A State holds no pointers, so its bytes
 * are all there is to it. */
typedef struct {
    uint32_t abi_version;
    uint32_t state_size;
    int32_t num_envs;
    int32_t num_agents;
    uint64_t arguments; /* hash of those given to create */
} puffer_snapshot;

typedef struct {
    void *data;
    size_t bytes;
} puffer_part;

enum { PUFFER_PARTS = 7 };

static void puffer_parts(const puffer_vec *vec, puffer_part parts[PUFFER_PARTS]) {
    const size_t envs = (size_t)vec->num_envs, rows = envs * (size_t)vec->spec.num_agents;
    parts[0] = (puffer_part){vec->states, envs * sizeof *vec->states};
    parts[1] = (puffer_part){vec->returns, rows * sizeof *vec->returns};
    parts[2] = (puffer_part){vec->lengths, rows * sizeof *vec->lengths};
    parts[3] = (puffer_part){vec->dead, rows * sizeof *vec->dead};
    parts[4] = (puffer_part){vec->changed, envs * sizeof *vec->changed};
    parts[5] = (puffer_part){vec->own_args, envs * sizeof *vec->own_args};
    parts[6] = (puffer_part){vec->next_args, envs * sizeof *vec->next_args};
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static uint64_t puffer_hash(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *byte = data;
    for (size_t k = 0; k < bytes; k++) hash = (hash ^ byte[k]) * 0x100000001b3u;
    return hash;
}

static puffer_snapshot puffer_head(const puffer_vec *vec) {
    uint64_t hash = puffer_hash(0xcbf29ce484222325u, vec->args, sizeof vec->args);
    for (int32_t k = 0; k < PUFFER_NUM_ARGS; k++)
        if (ARGS[k].type == PUFFER_TEXT_TYPE)
            hash = puffer_hash(hash, vec->texts[k], strlen(vec->texts[k]) + 1);
    return (puffer_snapshot){PUFFER_ABI_VERSION, sizeof(State), vec->num_envs, vec->spec.num_agents,
                             hash};
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

/* What an environment keeps of the parts in its own struct. */
static void puffer_recall(puffer_vec *vec, int32_t i) {
    const int32_t agents = vec->spec.num_agents;
    puffer_env *env = &vec->envs[i];
    puffer_spec spec;
    env->args = vec->changed[i] & PUFFER_OWN_ARGS ? vec->own_args[i] : vec->args;
    puffer_describe(env->args, &spec);
    env->max_steps = spec.max_steps;
    env->num_dead = 0;
    for (int32_t a = 0; a < agents; a++)
        env->num_dead += vec->dead[(size_t)i * (size_t)agents + (size_t)a];
}

static const char *puffer_restore(puffer_vec *vec, const void *snapshot, uint64_t bytes) {
    const puffer_snapshot head = puffer_head(vec);
    if (bytes < sizeof head || memcmp(snapshot, &head, sizeof head) != 0)
        return "the snapshot is of another version, of other arguments, or of another number of "
               "environments";
    if (bytes != puffer_snapshot_bytes(vec)) return "the snapshot is cut off";
    const char *at = (const char *)snapshot + sizeof head;
    for (int32_t i = 0; i < vec->num_envs; i++, at += sizeof(uint64_t))
        memcpy(&vec->envs[i].rng, at, sizeof(uint64_t));
    puffer_part parts[PUFFER_PARTS];
    puffer_parts(vec, parts);
    for (int i = 0; i < PUFFER_PARTS; at += parts[i].bytes, i++)
        memcpy(parts[i].data, at, parts[i].bytes);
    for (int32_t i = 0; i < vec->num_envs; i++) puffer_recall(vec, i);
    puffer_refresh(vec);
    return NULL;
}
