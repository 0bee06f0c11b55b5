/* api.h: the C ABI of the native trainer; Python reads the text between the two marks as it stands.
 *
 * Functions that can fail return 0 or NULL and leave a message that puffer_native_error() returns,
 * for the calling thread. Structs carry their size and the ABI version, which are checked. */
#ifndef PUFFER_NATIVE_API_H
#define PUFFER_NATIVE_API_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* cffi: begin */
#define PUFFER_NATIVE_ABI 3
#define PUFFER_NATIVE_MAX_HEADS 16
#define PUFFER_NATIVE_MAX_DIMS 4
#define PUFFER_NATIVE_ID_BYTES 128

enum puffer_native_network { PUFFER_NATIVE_MLP, PUFFER_NATIVE_MINGRU };
enum puffer_native_optimizer { PUFFER_NATIVE_MUON, PUFFER_NATIVE_ADAMW };
enum puffer_native_precision { PUFFER_NATIVE_FLOAT32, PUFFER_NATIVE_BFLOAT16 };
enum puffer_native_part { PUFFER_NATIVE_WEIGHTS, PUFFER_NATIVE_LEARNER, PUFFER_NATIVE_ROLLOUT };

/* The rows of all agents that environments on a GPU read and write, in its memory; laid out as in
 * puffer_core.PufferEnv. */
typedef struct {
    void *observations, *final_observations;
    const void *actions;
    float *rewards;
    uint8_t *terminals, *truncations, *masks;
    uint8_t *action_masks; /* or NULL */
    double *logs;
} puffer_native_rows;

/* An environment compiled for the GPU (environment.cc). It keeps nothing: the trainer owns the copy
 * that is stepped there. `vec` is a puffer_vec of the same environment's library for the CPU. */
typedef struct {
    uint32_t size; /* of this struct */
    uint32_t abi;
    uint32_t contract;                 /* PUFFER_ABI_VERSION */
    uint32_t state_size;               /* of the environment's State */
    int64_t (*bytes)(const void *vec); /* of a copy */
    /* Write to `out` the copy that is to lie at `gpu`; returns why that cannot be, or NULL. */
    const char *(*pack)(const void *vec, const puffer_native_rows *rows, void *gpu, void *out);
    void (*unpack)(void *vec, const void *packed);           /* put `vec` where the copy is */
    void (*step)(void *stream, void *gpu, int32_t num_envs); /* a kernel of this stream */
} puffer_native_environment;

/* Buffers are those of all agents, laid out as in puffer_core.PufferEnv; dtypes of tensors and
 * observations count in the order u8, i8, i16, i32, f32, i64, f64. */
typedef struct {
    uint32_t size; /* of this struct */
    uint32_t abi;
    void *sgemm; /* cblas_sgemm with 32-bit integers, single-threaded; a GPU needs none */
    int32_t threads;

    /* processes that learn together; minibatches, losses and gradients are those of all */
    int32_t rank, processes;
    const char *unique_id; /* of the GPU: what puffer_native_unique_id made in one of them */
    /* of the CPU: x, n elements of a dtype, becomes the sum of all; returns 0 if it cannot */
    int32_t (*sum)(void *x, int64_t n, int32_t dtype);

    /* of a library for the GPU; that for the CPU takes no notice */
    int32_t device;    /* which GPU */
    int32_t precision; /* enum puffer_native_precision, of matrix products */
    int32_t buffers;   /* parts of the environments: one steps while others wait for actions */
    const puffer_native_environment *on_gpu; /* environments that step there; NULL: on the CPU */
    int32_t max_steps; /* of an episode; 0: no limit. Environments on the GPU cut none sooner */

    void *vec; /* step(vec, first, last) steps environments [first, last) */
    void (*step)(void *vec, int32_t first, int32_t last);
    int32_t num_envs;
    int32_t agents_per_env;
    int32_t obs_dtype;
    int32_t obs_size; /* elements of one agent's observation */
    const void *observations;
    const void *final_observations;
    void *actions;
    const float *rewards;
    const uint8_t *terminals;
    const uint8_t *truncations;
    const uint8_t *masks;
    const uint8_t *action_masks; /* or NULL */
    const double *logs;
    int32_t log_width;
    int32_t num_heads;
    int32_t head_sizes[PUFFER_NATIVE_MAX_HEADS];
    int32_t action_dims;
    double action_low, action_high; /* floats are clipped on their way to the environment */

    int32_t network; /* enum puffer_native_network */
    int32_t hidden_size;
    int32_t num_layers;

    int32_t horizon;
    int32_t minibatch_segments;
    int32_t optimizer; /* enum puffer_native_optimizer */
    uint64_t seed;
    double reward_scale;
    double reward_clip;
    double beta1, beta2, eps, weight_decay, adamw_ratio, max_grad_norm;
    double gamma, gae_lambda, rho_clip, c_clip;
    double clip_coef, vf_coef, vf_clip_coef;
    double prio_alpha;
} puffer_native_config;

/* What changes from epoch to epoch. */
typedef struct {
    uint32_t size;
    int32_t minibatches;
    double learning_rate;
    double ent_coef;
    double prio_beta;
    int32_t max_skipped; /* so many skipped updates in a row end the epoch */
} puffer_native_epoch;

/* Sums over the updates that were applied; divide by `updates`. */
typedef struct {
    double policy_loss, value_loss, entropy, old_approx_kl, approx_kl, clipfrac, grad_norm;
    double explained_variance; /* of the epoch */
    int64_t updates;
    double advantage_seconds, learn_seconds, optimizer_seconds;
} puffer_native_figures;

/* Numbers that a run keeps and a resume puts back. */
typedef struct {
    int64_t steps;        /* agent steps */
    int64_t vector_steps; /* steps of every environment; numbers the random draws of actions */
    int64_t draws;        /* draws of segments so far */
    int64_t clipped_rewards;
    int64_t skipped_updates;
    int64_t skipped_in_a_row;
} puffer_native_counters;

typedef struct {
    const char *name;
    int32_t dtype;
    int32_t dims;
    int64_t shape[PUFFER_NATIVE_MAX_DIMS];
    void *data;
} puffer_native_tensor;

typedef struct puffer_native_trainer puffer_native_trainer;

const char *puffer_native_error(void);
uint32_t puffer_native_abi(void);
const char *puffer_native_target(void); /* "cpu" or "cuda" */
const char *puffer_native_level(void);  /* the highest level of build.py that this CPU can run */
const puffer_native_environment *puffer_native_on_gpu(void); /* of an environment's library only */
int32_t puffer_native_unique_id(char *id); /* PUFFER_NATIVE_ID_BYTES, for processes with GPUs */
puffer_native_trainer *puffer_native_create(const puffer_native_config *config);
void puffer_native_destroy(puffer_native_trainer *trainer);

/* The arrays of a trainer, by name: weights/, gradients/, momentum/, mean/, square/, rollout/. */
int32_t puffer_native_num_tensors(const puffer_native_trainer *trainer);
int32_t puffer_native_get_tensor(const puffer_native_trainer *trainer, int32_t index,
                                 puffer_native_tensor *out);
/* The arrays of a trainer on a GPU are copies: these bring them up to date, and carry changes back
 * (learner and rollout). On a CPU there is nothing to do. */
int32_t puffer_native_to_host(puffer_native_trainer *trainer, int32_t part);
int32_t puffer_native_to_device(puffer_native_trainer *trainer);
puffer_native_counters *puffer_native_get_counters(puffer_native_trainer *trainer);

/* Episode statistics since the last call: sums of the log's columns, and the episodes. */
int64_t puffer_native_take_statistics(puffer_native_trainer *trainer, double *sums);

/* The sum of all values is finite if all are. */
int32_t puffer_native_collect(puffer_native_trainer *trainer, double *env_seconds,
                              double *value_sum);
int32_t puffer_native_update(puffer_native_trainer *trainer, const puffer_native_epoch *epoch,
                             puffer_native_figures *figures);
/* One minibatch of given segments with given weights; what an epoch is made of. */
int32_t puffer_native_learn(puffer_native_trainer *trainer, const puffer_native_epoch *epoch,
                            const int64_t *segments, const float *weights,
                            puffer_native_figures *figures);
/* cffi: end */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
