"""An environment of several agents with several action heads, through the same harness."""

import numpy as np
import pytest

from puffer_core import APIUsageError
from puffer_ocean import OceanEnv

TEAM = r"""
#include "puffer_env.h"
enum { LENGTH };
static const puffer_arg ARGS[] = {PUFFER_INT("length", 4, 1, 100, "steps of an episode")};
static const char *const LOG_FIELDS[] = {"last", "agent"};
typedef struct { int32_t tick; } State;
static const char *describe(const double *args, puffer_spec *spec) {
    if (args[LENGTH] == 13) return "thirteen brings bad luck";
    spec->num_agents = 3;
    spec->obs_dtype = PUFFER_I16;
    spec->obs_shape[0] = 2;
    spec->obs_shape[1] = 2;
    spec->num_heads = 2;
    spec->head_sizes[0] = 2;
    spec->head_sizes[1] = 4;
    return NULL;
}
static void observe(puffer_env *env, State *s) {
    int16_t *obs = env->observations;
    const int32_t *actions = env->actions;
    for (int a = 0; a < 3; a++) {
        obs[4 * a] = (int16_t)s->tick;
        obs[4 * a + 1] = (int16_t)a;
        obs[4 * a + 2] = (int16_t)actions[2 * a];
        obs[4 * a + 3] = (int16_t)actions[2 * a + 1];
    }
}
static void reset(puffer_env *env, State *s) { s->tick = 0; observe(env, s); }
static void step(puffer_env *env, State *s) {
    s->tick++;
    observe(env, s);
    for (int a = 0; a < 3; a++) {
        env->rewards[a] = (float)a;
        env->terminals[a] = s->tick == (int)env->args[LENGTH];
        puffer_log(env, a)[0] = s->tick;
        puffer_log(env, a)[1] = a;
    }
}
static void render(const puffer_env *env, const State *s, float *out) {
    (void)env; (void)s; (void)out;
}
#define PUFFER_NAME "team"
#include "puffer_harness.h"
"""


def test_several_agents_and_heads(install):
    install("team", TEAM)
    env = OceanEnv("team", 2, length=3)
    assert (env.num_agents, env.observations.shape) == (6, (6, 2, 2))
    assert env.observations.dtype == np.int16
    assert (env.single_observation_space.low == -(2**15)).all()
    assert (env.single_observation_space.high == 2**15 - 1).all()
    assert env.single_action_space.nvec.tolist() == [2, 4]
    env.reset()
    actions = np.array([[a % 2, a % 4] for a in range(6)])
    for t in range(1, 7):
        infos = env.step(actions)[-1]
        rows = env.final_observations if t % 3 == 0 else env.observations
        for k, row in enumerate(rows.reshape(6, 4).tolist()):
            assert row == [(t - 1) % 3 + 1, k % 3, k % 2, k % 4]
        assert env.rewards.tolist() == [0, 1, 2, 0, 1, 2]
        assert env.terminals.tolist() == [t % 3 == 0] * 6
    (info,) = infos
    assert info["agent_id"].tolist() == list(range(6))
    assert info["episode_return"].tolist() == [0, 3, 6, 0, 3, 6]
    assert info["episode_length"].tolist() == [3] * 6
    assert info["last"].tolist() == [3] * 6
    assert info["agent"].tolist() == [0, 1, 2, 0, 1, 2]
    with pytest.raises(APIUsageError, match="agent 4"):
        env.step(np.array([[0, 0]] * 4 + [[0, 4]] + [[0, 0]]))
    with pytest.raises(APIUsageError, match="team: thirteen brings bad luck"):
        OceanEnv("team", length=13)
