// Trains on a toy environment in every form the trainer has, and prints a hash of all its arrays:
// exercise THREADS ORDER. Whatever the threads, the order and the build, it must be the same.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "api.cc"

namespace {

// Two agents an environment; ends, cuts, dead agents and masks come from a counter-based stream.
struct Toy {
    std::vector<char> observations, final_observations;
    std::vector<int32_t> actions;
    std::vector<float> rewards;
    std::vector<uint8_t> terminals, truncations, masks, action_masks;
    std::vector<double> logs;
    std::vector<uint64_t> steps;  // of each environment
    int envs, obs, outputs;

    void write(int agent, uint64_t step, char *to) const {
        for (int k = 0; k < obs; k++)
            to[agent * obs + k] =
                (char)(random_words(1, SAMPLE_ACTIONS, step, (uint64_t)(agent * obs + k)).x[0] % 5);
    }
    static void step(void *self, int32_t first, int32_t last) {
        Toy &toy = *(Toy *)self;
        for (int32_t env = first; env < last; env++) {
            const uint64_t now = ++toy.steps[(size_t)env];
            for (int agent = 2 * env; agent < 2 * env + 2; agent++) {
                const size_t i = (size_t)agent;
                const Four w = random_words(2, SAMPLE_ACTIONS, now, i);
                toy.terminals[i] = w.x[0] % 7 == 0;
                toy.truncations[i] = w.x[0] % 5 == 0;
                toy.masks[i] = w.x[1] % 9 != 0;
                toy.rewards[i] = (float)(toy.actions[2 * i] % 3) + uniform(w.x[2]);
                toy.logs[2 * i] = uniform(w.x[3]), toy.logs[2 * i + 1] = 1;
                toy.write(agent, now, toy.observations.data());
                toy.write(agent, now + 1000, toy.final_observations.data());
                for (int k = 0; k < toy.outputs && !toy.action_masks.empty(); k++)
                    toy.action_masks[i * (size_t)toy.outputs + (size_t)k] =
                        k == 0 || k == 3 || w.x[1] >> k & 1;
            }
        }
    }
};

void naive_sgemm(int, int ta, int tb, int m, int n, int k, float, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = beta != 0 ? c[i * ldc + j] : 0;
            for (int l = 0; l < k; l++)
                sum += (ta == 112 ? a[l * lda + i] : a[i * lda + l]) *
                       (tb == 112 ? b[j * ldb + l] : b[l * ldb + j]);
            c[i * ldc + j] = sum;
        }
}

uint64_t hash(const puffer_native_trainer *trainer) {
    uint64_t h = 14695981039346656037u;
    for (int32_t i = 0; i < puffer_native_num_tensors(trainer); i++) {
        puffer_native_tensor t;
        puffer_native_get_tensor(trainer, i, &t);
        int64_t bytes = itemsize(t.dtype);
        for (int d = 0; d < t.dims; d++) bytes *= t.shape[d];
        for (int64_t k = 0; k < bytes; k++) h = (h ^ ((const uint8_t *)t.data)[k]) * 1099511628211u;
    }
    return h;
}

bool train(int threads, int network, int layers, int dims, bool masked, int optimizer,
           double alpha) {
    Toy toy;
    toy.envs = 80, toy.obs = 5, toy.outputs = dims ? dims : 5;
    const size_t agents = 160;
    toy.observations.resize(agents * 5);
    toy.final_observations.resize(agents * 5);
    toy.actions.resize(agents * 2);
    toy.rewards.resize(agents);
    toy.terminals.resize(agents), toy.truncations.resize(agents), toy.masks.resize(agents, 1);
    if (masked) toy.action_masks.resize(agents * 5, 1);
    toy.logs.resize(2 * agents);
    toy.steps.resize(80);
    puffer_native_config c = {};
    c.size = sizeof c, c.abi = PUFFER_NATIVE_ABI, c.sgemm = (void *)naive_sgemm;
    c.threads = threads, c.buffers = 3, c.vec = &toy, c.step = Toy::step;
    c.num_envs = 80, c.agents_per_env = 2, c.obs_dtype = U8, c.obs_size = 5;
    c.observations = toy.observations.data();
    c.final_observations = toy.final_observations.data();
    c.actions = toy.actions.data(), c.rewards = toy.rewards.data();
    c.terminals = toy.terminals.data(), c.truncations = toy.truncations.data();
    c.masks = toy.masks.data(), c.logs = toy.logs.data(), c.log_width = 2;
    if (masked) c.action_masks = toy.action_masks.data();
    if (dims)
        c.action_dims = dims, c.action_low = -1, c.action_high = 1;
    else
        c.num_heads = 2, c.head_sizes[0] = 3, c.head_sizes[1] = 2;
    c.network = network, c.hidden_size = 7, c.num_layers = layers;
    c.horizon = 23, c.minibatch_segments = 110, c.optimizer = optimizer, c.seed = 9;
    c.reward_scale = 0.5, c.reward_clip = 1;
    c.beta1 = 0.9, c.beta2 = 0.99, c.eps = 1e-8, c.weight_decay = 0.01, c.adamw_ratio = 0.1;
    c.max_grad_norm = 0.5, c.gamma = 0.99, c.gae_lambda = 0.9, c.rho_clip = c.c_clip = 1;
    c.clip_coef = 0.2, c.vf_coef = 2, c.vf_clip_coef = 0.2, c.prio_alpha = alpha;
    puffer_native_trainer *trainer = puffer_native_create(&c);
    if (!trainer) return std::printf("%s\n", puffer_native_error()), false;
    puffer_native_tensor t;
    for (int32_t i = 0; i < puffer_native_num_tensors(trainer); i++) {
        puffer_native_get_tensor(trainer, i, &t);
        if (std::string(t.name) != "weights") continue;
        for (int64_t k = 0; k < t.shape[0]; k++)
            ((float *)t.data)[k] =
                0.4f * (uniform(random_words(3, SAMPLE_ACTIONS, 0, (uint64_t)k).x[0]) - 0.5f);
    }
    bool good = puffer_native_to_device(trainer);
    for (int epoch = 0; epoch < 3; epoch++) {
        double seconds, value_sum, sums[2];
        const puffer_native_epoch e = {sizeof e, 3, 0.01, 0.01, 0.5, 3};
        puffer_native_figures figures;
        good = good && puffer_native_collect(trainer, &seconds, &value_sum) &&
               puffer_native_update(trainer, &e, &figures) && figures.updates == 3 &&
               puffer_native_take_statistics(trainer, sums) > 0;
    }
    good = good && puffer_native_to_host(trainer, PUFFER_NATIVE_ROLLOUT);
    std::printf("%016llx\n", (unsigned long long)hash(trainer));
    puffer_native_destroy(trainer);
    return good;
}

}  // namespace

int main(int, char **arguments) {
    const int threads = std::atoi(arguments[1]);
#ifdef PUFFER_ORDER
    order = (uint64_t)std::atoi(arguments[2]);
#endif
    bool good = true;
    for (const int network : {MLP, MINGRU}) {
        good = train(threads, network, 2, 0, false, PUFFER_NATIVE_MUON, 0) && good;
        good = train(threads, network, 1, 0, true, PUFFER_NATIVE_MUON, 0.8) && good;
        good = train(threads, network, 1, 2, false, PUFFER_NATIVE_ADAMW, 0.8) && good;
    }
    return good ? 0 : 1;
}
