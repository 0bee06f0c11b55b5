// environment.cc: one C environment for the GPU: its source, compiled as C++, with a kernel that
// steps a copy of what the CPU's library created. PUFFER_SOURCE is the path of the source.
#include <cstring>

#include "api.h"
#include "gpu.h"

#define PUFFER_ON_GPU
#undef PUFFER_FN
#ifdef __CUDACC__
#define PUFFER_FN static __host__ __device__ inline
#define PUFFER_TABLE static __device__ const
#pragma nv_diag_suppress 177    // what only the CPU calls stands there unused
#pragma nv_diag_suppress 20091  // it does not read the GPU's tables here
#else
#define PUFFER_FN static inline
#endif
#pragma GCC diagnostic ignored "-Wunused-function"
#ifdef __CUDACC__
// <string.h> has it for the CPU only.
static __host__ __device__ inline void *puffer_memmove(void *to, const void *from, size_t bytes) {
    char *const target = (char *)to;
    const char *const source = (const char *)from;
    if (target < source)
        for (size_t i = 0; i < bytes; i++) target[i] = source[i];
    else
        for (size_t i = bytes; i > 0; i--) target[i - 1] = source[i - 1];
    return to;
}
#define memmove puffer_memmove
#endif
#include PUFFER_SOURCE

namespace {

// Where the parts of a copy lie: bytes from its beginning.
struct Parts {
    int64_t envs, states, returns, lengths, dead, total;

    explicit Parts(const puffer_vec &vec) {
        const int64_t count = vec.num_envs, agents = count * vec.spec.num_agents;
        total = 0;
        add(sizeof(puffer_vec));
        envs = add(count * (int64_t)sizeof(puffer_env));
        states = add(count * (int64_t)sizeof(State));
        returns = add(agents * (int64_t)sizeof(double));
        lengths = add(agents * (int64_t)sizeof(int64_t));
        dead = add(agents);
    }

   private:
    int64_t add(int64_t bytes) {
        const int64_t at = total;
        total += (bytes + 63) / 64 * 64;
        return at;
    }
};

template <class T>
T *at(void *base, int64_t offset) {
    return (T *)(void *)((char *)base + offset);
}

// What two sides of a copy share; `from` and `to` are where one and the other keep it.
template <class F>
void each_part(puffer_vec &host, void *copy, F move) {
    const Parts parts(host);
    const int64_t count = host.num_envs, agents = count * host.spec.num_agents;
    move(host.states, at<State>(copy, parts.states), count);
    move(host.returns, at<double>(copy, parts.returns), agents);
    move(host.lengths, at<int64_t>(copy, parts.lengths), agents);
    move(host.dead, at<bool>(copy, parts.dead), agents);
}

int64_t bytes(const void *vec) {
    return Parts(*(const puffer_vec *)vec).total;
}

const char *pack(const void *vec, const puffer_native_rows *rows, void *gpu, void *out) {
    puffer_vec host = *(const puffer_vec *)vec;
    for (int32_t k = 0; k < PUFFER_NUM_ARGS; k++)
        if (ARGS[k].type == PUFFER_TEXT_TYPE) return "it has arguments that are texts";
    for (int32_t i = 0; i < host.num_envs; i++)
        if (host.changed[i]) return "single environments were given other arguments";
    const Parts parts(host);
    each_part(host, out, [](auto *from, auto *to, int64_t n) {
        std::memcpy(to, from, (size_t)n * sizeof *from);
    });
    puffer_vec copy = {};
    copy.num_envs = host.num_envs, copy.item_bytes = host.item_bytes, copy.choices = host.choices;
    copy.spec = host.spec;
    std::memcpy(copy.args, host.args, sizeof copy.args);
    copy.buffers = {rows->observations,  rows->final_observations,   rows->actions,
                    rows->rewards,       (bool *)rows->terminals,    (bool *)rows->truncations,
                    (bool *)rows->masks, (bool *)rows->action_masks, rows->logs};
    copy.envs = at<puffer_env>(out, parts.envs);  // here, to be filled
    puffer_vec *const there = at<puffer_vec>(gpu, 0);
    for (int32_t i = 0; i < host.num_envs; i++) {
        copy.envs[i] = host.envs[i];
        puffer_point(&copy, i);
        copy.envs[i].args = there->args;
        copy.envs[i].spec = &there->spec;
        copy.envs[i].texts = nullptr;
    }
    copy.envs = at<puffer_env>(gpu, parts.envs);
    copy.states = at<State>(gpu, parts.states);
    copy.returns = at<double>(gpu, parts.returns);
    copy.lengths = at<int64_t>(gpu, parts.lengths);
    copy.dead = at<bool>(gpu, parts.dead);
    std::memcpy(out, &copy, sizeof copy);
    return nullptr;
}

void unpack(void *vec, const void *packed) {
    puffer_vec &host = *(puffer_vec *)vec;
    void *const copy = (void *)packed;
    each_part(host, copy, [](auto *to, const auto *from, int64_t n) {
        std::memcpy(to, from, (size_t)n * sizeof *to);
    });
    const puffer_env *envs = at<puffer_env>(copy, Parts(host).envs);
    for (int32_t i = 0; i < host.num_envs; i++) {
        host.envs[i].rng = envs[i].rng;
        host.envs[i].num_dead = envs[i].num_dead;
    }
}

void step_all(void *stream, void *gpu, int32_t num_envs) {
    puffer_vec *const vec = (puffer_vec *)gpu;
    puffer::for_each(puffer::stream_of(stream), num_envs, [=] PUFFER_KERNEL(int64_t i) {
        puffer_step(vec, (int32_t)i, (int32_t)i + 1);
    });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const puffer_native_environment *
puffer_native_on_gpu(void) {
    static const puffer_native_environment table = {
        sizeof table, PUFFER_NATIVE_ABI, PUFFER_ABI_VERSION, sizeof(State), bytes, pack,
        unpack,       step_all};
    return &table;
}
