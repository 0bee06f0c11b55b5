// api.cc: the C ABI. Exceptions end here and become messages.
#include "api.h"

#include <memory>
#include <string>

#if defined(__CUDACC__) || defined(PUFFER_GPU)
#include "gpu_trainer.h"
#else
#include "cpu_trainer.h"
#endif

using namespace puffer;

static thread_local std::string message;

struct puffer_native_trainer {
    puffer_native_config config;
    Layout layout;
    Pool pool;
    Trainer trainer;
    std::vector<Named> tensors;
    puffer_native_counters counters = {};

    explicit puffer_native_trainer(const puffer_native_config &c)
        : config(c),
          layout((Network)c.network, c.obs_size, c.hidden_size, c.num_layers, heads_of(c)),
          pool(c.threads),
          trainer(config, layout) {
        std::vector<Named> rollout;
        trainer.list(tensors, rollout);
        const std::vector<Named> flat = tensors;
        for (const Named &tensor : flat) {
            if (tensor.shape != std::vector<int64_t>{layout.total}) continue;
            for (const Parameter &q : layout.parameters) {
                std::vector<int64_t> shape = {q.rows};
                if (q.columns) shape.push_back(q.columns);
                tensors.push_back(
                    {tensor.name + "/" + q.name, F32, shape, (float *)tensor.data + q.offset});
            }
        }
        tensors.insert(tensors.end(), rollout.begin(), rollout.end());
    }

    static Heads heads_of(const puffer_native_config &c) {
        Heads heads = {c.num_heads, {}, c.action_dims};
        for (int32_t k = 0; k < c.num_heads; k++) heads.sizes[k] = c.head_sizes[k];
        return heads;
    }
};

static void require(bool holds, const char *what) {
    if (!holds) throw Error(std::string("puffer_native_config: ") + what);
}

static void check_config(const puffer_native_config *c) {
    require(c->size == sizeof *c && c->abi == PUFFER_NATIVE_ABI,
            "another size or ABI version; build the library again");
#ifndef __CUDACC__
    require(c->sgemm, "sgemm must not be null");
    require(c->processes <= 1 || c->sum, "several processes need a sum");
#else
    require(c->processes <= 1 || c->unique_id, "several processes need a unique_id");
#endif
#if defined(__CUDACC__) || defined(PUFFER_GPU)
    require(c->buffers >= 1 && c->device >= 0, "a GPU needs buffers");
    require(c->precision >= FLOAT32 && c->precision <= BFLOAT16, "no such precision");
    require(
        !c->on_gpu || (c->on_gpu->size == sizeof *c->on_gpu && c->on_gpu->abi == PUFFER_NATIVE_ABI),
        "on_gpu is of another size or ABI version");
#else
    require(!c->on_gpu, "on_gpu needs a GPU");
#endif
    require(c->step && c->vec, "step and vec must not be null");
    require(c->threads >= 1 && c->num_envs >= 1 && c->agents_per_env >= 1, "counts must be >= 1");
    require(c->obs_dtype >= U8 && c->obs_dtype <= F32 && c->obs_size >= 1, "no such observations");
    require((c->num_heads >= 1) != (c->action_dims >= 1), "either heads or dims");
    require(c->num_heads <= PUFFER_NATIVE_MAX_HEADS, "too many heads");
    require(c->hidden_size >= 1 && c->num_layers >= 0, "sizes of the policy must be positive");
    require(c->horizon >= 1 && c->minibatch_segments >= 1, "sizes of the run must be positive");
    require(c->minibatch_segments <= (int64_t)c->num_envs * c->agents_per_env,
            "a minibatch has at most one segment an agent");
}

template <class F>
static int32_t guarded(F f) {
    try {
        const FlushDenormals flush;
        f();
        return 1;
    } catch (const std::exception &error) {
        message = error.what();
        return 0;
    }
}

const char *puffer_native_error(void) {
    return message.c_str();
}

uint32_t puffer_native_abi(void) {
    return PUFFER_NATIVE_ABI;
}

const char *puffer_native_target(void) {
#ifdef __CUDACC__
    return "cuda";
#else
    return "cpu";
#endif
}

const char *puffer_native_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
    const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v3 && v4 ? "v4" : v3 ? "v3" : "base";
#else
    return "base";
#endif
}

int32_t puffer_native_unique_id(char *id) {
    return guarded([&] { Collective::make_id(id); });
}

puffer_native_trainer *puffer_native_create(const puffer_native_config *config) {
    puffer_native_trainer *trainer = nullptr;
    guarded([&] {
        check_config(config);
        trainer = new puffer_native_trainer(*config);
    });
    return trainer;
}

void puffer_native_destroy(puffer_native_trainer *trainer) {
    delete trainer;
}

int32_t puffer_native_num_tensors(const puffer_native_trainer *trainer) {
    return (int32_t)trainer->tensors.size();
}

int32_t puffer_native_get_tensor(const puffer_native_trainer *trainer, int32_t index,
                                 puffer_native_tensor *out) {
    return guarded([&] {
        const Named &tensor = trainer->tensors.at((size_t)index);
        *out = {tensor.name.c_str(), tensor.dtype, (int32_t)tensor.shape.size(), {}, tensor.data};
        for (size_t d = 0; d < tensor.shape.size(); d++) out->shape[d] = tensor.shape[d];
    });
}

puffer_native_counters *puffer_native_get_counters(puffer_native_trainer *trainer) {
    return &trainer->counters;
}

int64_t puffer_native_take_statistics(puffer_native_trainer *trainer, double *sums) {
    return trainer->trainer.statistics().take(sums);
}

int32_t puffer_native_to_host(puffer_native_trainer *trainer, int32_t part) {
    return guarded([&] { trainer->trainer.to_host(part); });
}

int32_t puffer_native_to_device(puffer_native_trainer *trainer) {
    return guarded([&] { trainer->trainer.to_device(); });
}

int32_t puffer_native_collect(puffer_native_trainer *trainer, double *env_seconds,
                              double *value_sum) {
    return guarded([&] {
        *env_seconds = trainer->trainer.collect(trainer->pool, trainer->counters, value_sum);
    });
}

int32_t puffer_native_update(puffer_native_trainer *trainer, const puffer_native_epoch *epoch,
                             puffer_native_figures *figures) {
    return guarded([&] {
        require(epoch->size == sizeof *epoch, "another size of puffer_native_epoch");
        *figures = {};
        trainer->trainer.update(trainer->pool, *epoch, trainer->counters, *figures);
    });
}

int32_t puffer_native_learn(puffer_native_trainer *trainer, const puffer_native_epoch *epoch,
                            const int64_t *segments, const float *weights,
                            puffer_native_figures *figures) {
    return guarded([&] {
        require(epoch->size == sizeof *epoch, "another size of puffer_native_epoch");
        *figures = {};
        trainer->trainer.learn(trainer->pool, *epoch, segments, weights, trainer->counters,
                               *figures);
    });
}
