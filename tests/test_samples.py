"""Programs that people have written for PufferLib run unchanged."""

import subprocess
import sys

import pytest

WRAPPING = """
import gymnasium
import pufferlib.emulation

# An ordinary Gymnasium environment
env = gymnasium.make("CartPole-v1")

# becomes one with Puffer's interface
env = pufferlib.emulation.GymnasiumPufferEnv(env=env)

obs, info = env.reset()
actions = env.action_space.sample()
obs, reward, terminal, truncation, info = env.step(actions)

print(obs.shape)
print(reward.shape)
"""

NATIVE_ENV = """
import gymnasium
import pufferlib

class SamplePufferEnv(pufferlib.PufferEnv):
    def __init__(self, buf=None, seed=0):
        self.single_observation_space = gymnasium.spaces.Box(
            low=-1, high=1, shape=(1,)
        )
        self.single_action_space = gymnasium.spaces.Discrete(2)
        self.num_agents = 2

        super().__init__(buf)

    def reset(self, seed=0):
        self.observations[:] = self.observation_space.sample()
        return self.observations, []

    def step(self, action):
        self.observations[:] = self.observation_space.sample()
        infos = [{'infos': 'is a list of dictionaries'}]
        return self.observations, self.rewards, self.terminals, self.truncations, infos
"""

SERIAL = (
    NATIVE_ENV
    + """
import pufferlib.vector

serial_vecenv = pufferlib.vector.make(
    SamplePufferEnv,
    num_envs=2,
    backend=pufferlib.vector.Serial
)

observations, infos = serial_vecenv.reset()
actions = serial_vecenv.action_space.sample()
o, r, d, t, i = serial_vecenv.step(actions)
print(o.shape, r.shape, d.shape, t.shape, i)
"""
)

CUSTOM_POLICY = """
import torch
import pufferlib.pytorch
import pufferlib.vector
import pufferlib.ocean
from pufferlib import pufferl

class CustomPolicy(torch.nn.Module):
    def __init__(self, env):
        super().__init__()
        obs_size = env.single_observation_space.shape[0]
        num_actions = env.single_action_space.n

        self.net = torch.nn.Sequential(
            pufferlib.pytorch.layer_init(torch.nn.Linear(obs_size, 128)),
            torch.nn.ReLU(),
            pufferlib.pytorch.layer_init(torch.nn.Linear(128, 128)),
            torch.nn.ReLU(),
        )
        self.action_head = torch.nn.Linear(128, num_actions)
        self.value_head = torch.nn.Linear(128, 1)

    def forward(self, observations, state=None):
        hidden = self.net(observations)
        logits = self.action_head(hidden)
        values = self.value_head(hidden)
        return logits, values

if __name__ == '__main__':
    env_name = 'puffer_breakout'
    env_creator = pufferlib.ocean.env_creator(env_name)
    vecenv = pufferlib.vector.make(
        env_creator,
        num_envs=2,
        num_workers=2,
        batch_size=1,
        backend=pufferlib.vector.Multiprocessing,
        env_kwargs={'num_envs': 4096}
    )

    policy = CustomPolicy(vecenv.driver_env).cpu()
    args = pufferl.load_config('default')
    args['train']['env'] = env_name

    trainer = pufferl.PuffeRL(args['train'], vecenv, policy)

    for epoch in range(EPOCHS):
        trainer.evaluate()
        logs = trainer.train()

    trainer.print_dashboard()
    trainer.close()
"""


def run(code, tmp_path, timeout=60):
    path = tmp_path / "sample.py"
    path.write_text(code)
    command = [sys.executable, "-W", "error", str(path)]
    result = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert result.returncode == 0, result.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["sample.py"]  # nothing left behind
    return result.stdout


def test_wrapping_an_environment(tmp_path):
    assert run(WRAPPING, tmp_path).split("\n")[:2] == ["(1, 4)", "(1,)"]


def test_a_native_environment(tmp_path):
    assert run(NATIVE_ENV + "\nprint(SamplePufferEnv().reset()[0].shape)", tmp_path) == "(2, 1)\n"


def test_serial_vectorization(tmp_path):
    expected = "(4, 1) (4,) (4,) (4,) "
    got = run(SERIAL, tmp_path)
    assert got.startswith(expected)
    assert got.count("is a list of dictionaries") == 2


@pytest.mark.parametrize(
    "epochs", [1, pytest.param(10, marks=pytest.mark.slow)]
)  # the sample says 10: 5 million steps
def test_a_custom_policy_on_multiprocessing(tmp_path, epochs):
    out = run(CUSTOM_POLICY.replace("EPOCHS", str(epochs)), tmp_path, timeout=600)
    logs = dict(line.rsplit(maxsplit=1) for line in out.splitlines())
    assert float(logs["agent_steps"].replace(",", "")) == pytest.approx(epochs * 524_288, rel=1e-3)
    assert abs(float(logs["losses/explained_variance"])) <= 1
