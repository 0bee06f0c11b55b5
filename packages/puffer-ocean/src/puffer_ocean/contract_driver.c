/* Plays a compiled environment at random and checks what the contract promises at every step.
 *
 *     contract_driver LIBRARY STEPS VARIANT...      a variant: its arguments' numbers, by commas
 *
 * Buffers have exactly the right size, so that a sanitizer sees one byte too far. Prints the number
 * of ended episodes of each variant; the exit code is 1 after the first broken promise. */
#include "puffer_env.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENVS = 3 };

static const size_t SIZES[] = {1, 1, 2, 4, 4}; /* by enum puffer_dtype */

static const puffer_library *library;
static puffer_spec spec;
static puffer_buffers buffers;
static size_t rows, items, width, choices;

static void *exactly(size_t count, size_t size) {
    return calloc(count, size);
}

static void broken(const char *what, size_t row, double value) {
    fprintf(stderr, "broken promise: %s: agent %zu, value %g\n", what, row, value);
    exit(1);
}

/* NaN is outside of any bounds. */
#define CHECK_ALL(type)                                                       \
    for (size_t k = 0; k < items; k++)                                        \
        if (!(((const type *)at)[k] >= low && ((const type *)at)[k] <= high)) \
            broken("observations are finite and inside the space", row,       \
                   (double)((const type *)at)[k]);

static void check_observation(const void *all, size_t row) {
    const void *at = (const char *)all + row * items * SIZES[spec.obs_dtype];
    const bool bounded = spec.obs_low < spec.obs_high;
    const double low = bounded ? spec.obs_low : -FLT_MAX, high = bounded ? spec.obs_high : FLT_MAX;
    switch (spec.obs_dtype) {
    case PUFFER_U8:
        CHECK_ALL(uint8_t) break;
    case PUFFER_I8:
        CHECK_ALL(int8_t) break;
    case PUFFER_I16:
        CHECK_ALL(int16_t) break;
    case PUFFER_I32:
        CHECK_ALL(int32_t) break;
    default:
        CHECK_ALL(float)
    }
}

static void check_choices(size_t row) {
    const bool *mask = buffers.action_masks + row * choices;
    for (int h = 0; h < spec.num_heads; mask += spec.head_sizes[h], h++)
        if (!memchr(mask, 1, (size_t)spec.head_sizes[h]))
            broken("each head has an allowed choice", row, h);
}

static void check_log(size_t row) {
    const int fields = library->num_log_fields;
    const double *log = buffers.logs + row * (size_t)(2 + fields);
    if (log[1] < 1) broken("an ended episode has a length", row, log[1]);
    for (int f = 0; f < fields; f++) {
        if (!isfinite(log[2 + f])) broken(library->log_fields[f], row, log[2 + f]);
        if (!strcmp(library->log_fields[f], "perf") && !(log[2 + f] >= 0 && log[2 + f] <= 1))
            broken("perf is in 0..1", row, log[2 + f]);
    }
}

/* Returns how many episodes ended. */
static long check_step(void) {
    long ends = 0;
    for (size_t row = 0; row < rows; row++) {
        const bool ended = buffers.terminals[row] | buffers.truncations[row];
        check_observation(buffers.observations, row);
        if (buffers.action_masks) check_choices(row);
        if (!isfinite(buffers.rewards[row])) broken("rewards are finite", row, 0);
        if (ended && !buffers.masks[row]) broken("only agents that act end", row, 0);
        if (!ended) continue;
        check_observation(buffers.final_observations, row);
        check_log(row);
        ends++;
    }
    return ends;
}

static void allocate(void) {
    items = 1;
    choices = 0;
    for (int d = 0; d < PUFFER_MAX_DIMS && spec.obs_shape[d]; d++)
        items *= (size_t)spec.obs_shape[d];
    for (int h = 0; h < spec.num_heads; h++) choices += (size_t)spec.head_sizes[h];
    rows = (size_t)(ENVS * spec.num_agents);
    width = (size_t)(spec.num_heads + spec.action_dims);
    buffers.observations = exactly(rows * items, SIZES[spec.obs_dtype]);
    buffers.final_observations = exactly(rows * items, SIZES[spec.obs_dtype]);
    buffers.actions = exactly(rows * width, 4);
    buffers.rewards = exactly(rows, sizeof(float));
    buffers.terminals = exactly(rows, 1);
    buffers.truncations = exactly(rows, 1);
    buffers.masks = exactly(rows, 1);
    buffers.action_masks = spec.action_masks ? exactly(rows * choices, 1) : NULL;
    buffers.logs = exactly(rows * (size_t)(2 + library->num_log_fields), sizeof(double));
}

static void release(void) {
    void *all[] = {buffers.observations, buffers.final_observations, (void *)buffers.actions,
                   buffers.rewards,      buffers.terminals,          buffers.truncations,
                   buffers.masks,        buffers.action_masks,       buffers.logs};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void draw_actions(uint64_t *rng) {
    for (size_t k = 0; k < rows * width; k++) {
        if (spec.num_heads)
            ((int32_t *)buffers.actions)[k] = puffer_randint(rng, spec.head_sizes[k % width]);
        else
            ((float *)buffers.actions)[k] = puffer_uniform(rng, -3, 3);
    }
}

static long play(long steps, const double *args, const char *const *texts) {
    puffer_vec *vec;
    uint64_t rng = 1;
    long ends = 0;
    const char *error = library->describe(args, &spec);
    if (error) return fprintf(stderr, "%s\n", error), exit(1), 0;
    allocate();
    float *picture = exactly((size_t)spec.render_size, sizeof(float));
    error = library->create(ENVS, args, texts, &buffers, 7, &vec);
    if (error) return fprintf(stderr, "%s\n", error), exit(1), 0;
    library->reset(vec, 0, ENVS);
    for (size_t row = 0; row < rows; row++) check_observation(buffers.observations, row);
    for (long t = 0; t < steps; t++) {
        draw_actions(&rng);
        library->step(vec, 0, 1); /* two ranges, as threads split them */
        library->step(vec, 1, ENVS);
        ends += check_step();
        if (t % 500 == 0) library->render(vec, (int)(t / 500) % ENVS, picture);
        if (t == steps / 2) library->seed(vec, 9), library->reset(vec, 0, ENVS);
    }
    library->close(vec);
    free(picture);
    release();
    return ends;
}

int main(int argc, char **argv) {
    void *handle = dlopen(argv[1], RTLD_NOW);
    if (!handle) return fprintf(stderr, "%s\n", dlerror()), 2;
    const puffer_library *(*get)(void) =
        (const puffer_library *(*)(void))dlsym(handle, "puffer_environment");
    library = get();
    const size_t count = (size_t)library->num_args;
    double *args = exactly(count, sizeof *args);
    const char **texts = exactly(count, sizeof *texts);
    for (size_t i = 0; i < count; i++)
        texts[i] = library->args[i].type == PUFFER_TEXT_TYPE ? library->args[i].text : NULL;
    for (int v = 3; v < argc; v++) {
        char *at = argv[v];
        for (size_t i = 0; i < count; i++, at++) args[i] = strtod(at, &at);
        printf("%ld\n", play(atol(argv[2]), args, texts));
    }
    free(args);
    free(texts);
    return 0;
}
