"""Every environment and variant under AddressSanitizer and UndefinedBehaviorSanitizer.

A small C driver loads a library that `compile_library(debug=True)` built and plays at random on
buffers of exactly the right size, so that one byte too far is seen.
"""

import os
import re
import subprocess

import pytest

from puffer_ocean import build, load, names

DRIVER = r"""
#include "puffer_env.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *exactly(size_t count, size_t size) { return calloc(count, size); }

int main(int argc, char **argv) {
    void *handle = dlopen(argv[1], RTLD_NOW);
    if (!handle) return fprintf(stderr, "%s\n", dlerror()), 2;
    const puffer_library *(*get)(void) =
        (const puffer_library *(*)(void))dlsym(handle, "puffer_environment");
    const puffer_library *library = get();
    const int envs = 3;
    const long steps = atol(argv[2]);
    const char **texts = exactly((size_t)library->num_args, sizeof *texts);
    for (int i = 0; i < library->num_args; i++)
        if (library->args[i].type == PUFFER_TEXT_TYPE) texts[i] = library->args[i].text;
    double *args = exactly((size_t)library->num_args, sizeof *args);
    for (int i = 0; i < library->num_args; i++)
        args[i] = i + 3 < argc ? atof(argv[i + 3]) : library->args[i].initial;
    puffer_spec spec;
    const char *error = library->describe(args, &spec);
    if (error) return fprintf(stderr, "%s\n", error), 3;
    size_t item = spec.obs_dtype <= PUFFER_I8 ? 1 : spec.obs_dtype == PUFFER_I16 ? 2 : 4;
    for (int d = 0; d < PUFFER_MAX_DIMS && spec.obs_shape[d]; d++)
        item *= (size_t)spec.obs_shape[d];
    const size_t rows = (size_t)(envs * spec.num_agents);
    const size_t width = (size_t)(spec.num_heads ? spec.num_heads : spec.action_dims);
    size_t choices = 0;
    for (int h = 0; h < spec.num_heads; h++) choices += (size_t)spec.head_sizes[h];
    void *actions = exactly(rows * width, 4);
    puffer_buffers b = {
        exactly(rows, item), exactly(rows, item), actions,
        exactly(rows, sizeof(float)), exactly(rows, 1), exactly(rows, 1), exactly(rows, 1),
        spec.action_masks ? exactly(rows * choices, 1) : NULL,
        exactly(rows * (size_t)(2 + library->num_log_fields), sizeof(double))};
    float *picture = exactly((size_t)spec.render_size, sizeof(float));
    puffer_vec *vec;
    error = library->create(envs, args, texts, &b, 7, &vec);
    if (error) return fprintf(stderr, "%s\n", error), 4;
    library->reset(vec, 0, envs);
    uint64_t rng = 1;
    long ends = 0;
    for (long t = 0; t < steps; t++) {
        for (size_t k = 0; k < rows * width; k++) {
            if (spec.num_heads)
                ((int32_t *)actions)[k] = puffer_randint(&rng, spec.head_sizes[k % width]);
            else
                ((float *)actions)[k] = puffer_uniform(&rng, -3, 3);
        }
        library->step(vec, 0, 1); /* two ranges, as threads split them */
        library->step(vec, 1, envs);
        for (size_t k = 0; k < rows; k++) ends += b.terminals[k] | b.truncations[k];
        if (t % 500 == 0) library->render(vec, (int)(t / 500) % envs, picture);
        if (t == steps / 2) library->seed(vec, 9), library->reset(vec, 0, envs);
    }
    library->close(vec);
    void *all[] = {b.observations, b.final_observations, actions, b.rewards, b.terminals,
                   b.truncations, b.masks, b.action_masks, b.logs, picture, args, texts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    printf("%ld\n", ends);
    return 0;
}
"""

VARIANTS = {
    "squared": [{}, {"size": 2}, {"size": 3}, {"size": 256}],
    "cartpole": [{}, {"continuous": True}, {"max_steps": 1}],
    "breakout": [
        {"max_steps": 3000},
        {"frameskip": 16},
        {"frameskip": 1, "continuous": True},
        {"frameskip": 16, "continuous": True, "max_steps": 0},
    ],
}


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER)
    command = [*build.compiler(), "-O1", "-g", "-fsanitize=address,undefined"]
    command += [f"-I{build.INCLUDE}", str(folder / "driver.c"), "-o", str(folder / "driver")]
    subprocess.run([*command, "-ldl"], check=True)

    def run(library, steps, values):
        options = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
        return subprocess.run(
            [folder / "driver", library, str(steps), *map(str, values)],
            env=os.environ | options,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_every_shipped_environment_has_variants_here():
    assert set(names()) <= set(VARIANTS)


@pytest.mark.parametrize("name", VARIANTS)
def test_random_play_is_clean_in_every_variant(name, driver, tmp_path):
    target = tmp_path / f"{name}.so"
    build.compile_library(build.source(name), target, debug=True)
    for variant in VARIANTS[name]:
        library = load(name)
        values = library.numbers(library.check_arguments(variant))
        result = driver(target, 5000, values)
        assert result.returncode == 0, (variant, result.stderr)
        assert result.stderr == ""
        assert int(result.stdout) > 5, variant  # episodes ended, so resets ran too


FAULTS = {
    "heap-buffer-overflow": ("grid[s->target] = TARGET;", "grid[s->target + cells] = TARGET;"),
    "index .* out of bounds": ("DOWN[action]", "DOWN[action + 1]"),
    "signed integer overflow": ("s->tick++;", "s->tick += INT32_MAX, s->tick++;"),
    "heap-use-after-free": ("    free(vec);\n}", "    free(vec);\n    vec->num_envs = 0;\n}"),
}


@pytest.mark.parametrize("finding", FAULTS)
def test_a_broken_environment_is_caught(finding, driver, shelf, tmp_path):
    """Negative control: the same run does see faults."""
    old, new = FAULTS[finding]
    home = build.PACKAGE / "envs" / "squared" / "squared.c"
    harness = tmp_path / "include" / "puffer_harness.h"
    texts = {tmp_path / "broken.c": home.read_text(), harness: harness.read_text()}
    assert sum(text.count(old) for text in texts.values()) >= 1
    for path, text in texts.items():
        path.write_text(text.replace(old, new))
    build.compile_library(tmp_path / "broken.c", tmp_path / "broken.so", debug=True)
    result = driver(tmp_path / "broken.so", 200, [11])
    assert result.returncode != 0
    assert re.search(finding, result.stderr), result.stderr
