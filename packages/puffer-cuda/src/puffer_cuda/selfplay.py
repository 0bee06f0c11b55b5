"""Self-play: past versions of the policy as opponents in a share of the environments.

In all other environments the policy plays every agent, and learns from all of them. In the share
that plays against the pool it plays and learns one team (`teams.py`), and an opponent plays the
other. An environment gets its next opponent, drawn uniformly, when its episode ends, with a clear
memory; never in the middle of a game.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from puffer_cuda import elo
from puffer_cuda.actor import Actor
from puffer_cuda.config import SelfplayConfig
from puffer_cuda.cursors import Agents
from puffer_cuda.teams import agents_per_env, away_team, num_environments, scores

NOBODY = -1  # instead of an opponent's step: the policy plays against itself


@dataclass
class Record:
    """What is known of an opponent; results are the learning policy's against it."""

    rating: float
    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        """Games against it."""
        return self.wins + self.draws + self.losses


class Opponents:
    """The pool, on disk and in memory, and who plays where.

    Attributes:
        rating: Elo of the learning policy.
        records: by the step at which the opponent was taken into the pool.
        playing: `(environments,)` int64, the step of the opponent, or NOBODY.
    """

    def __init__(
        self, config: SelfplayConfig, vecenv: Any, policy: nn.Module, folder: Path, seed: int
    ) -> None:
        """Open the pool.

        Args:
            config: the [selfplay] section.
            vecenv: with environments of an even number of agents.
            policy: the learning one; opponents are copies of it with other weights.
            folder: of the pool, made if need be; what it holds already plays.
            seed: of opponents and their actions.

        Raises:
            APIUsageError: an odd number of agents.
        """
        self.config, self.vecenv, self.policy, self.folder = config, vecenv, policy, folder
        device = next(policy.parameters()).device
        space = vecenv.single_observation_space
        self._example = torch.from_numpy(np.zeros((1, *space.shape), space.dtype)).to(device)
        self.generator = torch.Generator(device).manual_seed(seed)
        self._random = np.random.default_rng(seed)
        self._away = away_team(vecenv)
        self._per_env = agents_per_env(vecenv)
        envs = num_environments(vecenv)
        self._share = np.arange(envs) < round(config.share * envs)
        self.playing = np.full(envs, NOBODY)
        self.rating = elo.START
        self.records: dict[int, Record] = {}
        self._actors: dict[int, Actor] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._read()
        self._draw(np.flatnonzero(self._share))

    def learners(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of these agents the learning policy plays."""
        there = self.playing[ids // self._per_env] != NOBODY
        return np.asarray(~(there & self._away[ids]), bool)

    def act(
        self,
        agents: Agents,
        observations: Tensor,
        actions: Tensor,
        begins: Tensor,
        allowed: Tensor | None,
    ) -> Tensor:
        """The actions of a batch of agents with those of the opponents in their places."""
        ids = np.arange(self.vecenv.num_agents)[_numpy(agents)]
        playing = np.where(self.learners(ids), NOBODY, self.playing[ids // self._per_env])
        actions = actions.clone()
        for step in np.unique(playing[playing != NOBODY]):
            rows = torch.from_numpy(np.flatnonzero(playing == step)).to(observations.device)
            own = None if allowed is None else allowed[rows]
            whom = torch.from_numpy(ids).to(rows.device)[rows]
            actor = self._actor(int(step))
            actions[rows] = actor.act(whom, observations[rows], begins[rows], own)
        return actions

    def results(self, infos: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Take up the games that ended; returns the infos without the opponents' episodes."""
        kept = []
        for info in infos:
            if "agent_id" not in info or "episode_return" not in info:
                kept.append(info)
                continue
            ids = np.asarray(info["agent_id"])
            games = scores(ids, np.asarray(info["episode_return"]), self.vecenv)
            own = self.learners(ids)
            if own.any():
                kept.append({name: np.asarray(column)[own] for name, column in info.items()})
            for env, score in games.items():
                if self.playing[env] != NOBODY:
                    self._score(int(self.playing[env]), score)
            ended = np.array(list(games))
            self._draw(ended[self._share[ended]])
        return kept

    def add(self, step: int) -> None:
        """Take the policy as it is now into the pool; the opponent with the lowest rating leaves.

        Raises:
            OSError: it could not be written; the pool is as before.
        """
        weights = {name: x.detach().contiguous() for name, x in self.policy.state_dict().items()}
        scratch = self.folder / f".{step}.{os.getpid()}"
        try:
            save_file(weights, scratch)
            os.replace(scratch, self._path(step))
        finally:
            scratch.unlink(missing_ok=True)
        self.records[step] = Record(self.rating)
        while len(self.records) > self.config.pool_size:
            weakest = min(self.records, key=lambda s: (self.records[s].rating, s))
            del self.records[weakest]
        self.save()

    def save(self) -> None:
        """Write ratings and results, and remove the weights of those who left."""
        document = {
            "rating": self.rating,
            "opponents": {str(step): asdict(record) for step, record in self.records.items()},
        }
        scratch = self.folder / f".pool.{os.getpid()}"
        scratch.write_text(json.dumps(document, indent=1))
        os.replace(scratch, self.folder / "pool.json")
        for path in self.folder.glob("*.safetensors"):
            step = int(path.stem)
            if step not in self.records and step not in self.playing:
                path.unlink()

    def tensors(self) -> dict[str, Tensor]:
        """What a resumed run needs beside `numbers`: who plays where, random stream, memories."""
        tensors = {
            "playing": torch.from_numpy(self.playing.copy()),
            "generator": self.generator.get_state(),
        }
        for step, actor in self._actors.items():
            tensors.update({f"{step}.{i}": tensor for i, tensor in enumerate(actor.state)})
        return tensors

    def numbers(self) -> dict[str, Any]:
        """What a resumed run needs beside `tensors`, as JSON."""
        records = {str(step): asdict(record) for step, record in self.records.items()}
        random = self._random.bit_generator.state
        return {"rating": self.rating, "opponents": records, "random": random}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Go on where both were read; opponents whose weights are gone stay away."""
        self.rating = numbers["rating"]
        saved = {int(step): Record(**record) for step, record in numbers["opponents"].items()}
        self.records = {step: r for step, r in saved.items() if self._path(step).exists()}
        self._random.bit_generator.state = numbers["random"]
        there = [NOBODY, *(int(path.stem) for path in self.folder.glob("*.safetensors"))]
        playing = tensors["playing"].numpy()
        self.playing = np.where(np.isin(playing, there), playing, NOBODY)
        self.generator.set_state(tensors["generator"].cpu())
        for step in np.unique(self.playing[self.playing != NOBODY]):
            for index, tensor in enumerate(self._actor(int(step)).state):
                tensor.copy_(tensors.get(f"{step}.{index}", torch.zeros_like(tensor)))

    def logs(self) -> dict[str, float]:
        """Ratings, and the share of points won against each opponent that was met."""
        logs = {"selfplay/rating": self.rating, "selfplay/opponents": float(len(self.records))}
        for step, record in self.records.items():
            logs[f"selfplay/rating/{step}"] = record.rating
            if record.games:
                points = record.wins + record.draws / 2
                logs[f"selfplay/win_rate/{step}"] = points / record.games
        return logs

    def _score(self, step: int, score: float) -> None:
        record = self.records.get(step)
        if record is None:  # it left the pool during its last game
            return
        points = 1.0 if score > 0 else 0.0 if score < 0 else 0.5
        record.wins += int(score > 0)
        record.losses += int(score < 0)
        record.draws += int(score == 0)
        self.rating, record.rating = elo.update(self.rating, record.rating, points)

    def _draw(self, envs: npt.NDArray[Any]) -> None:
        """Give these environments, whose episodes begin, their next opponents."""
        if self.records and len(envs):
            self.playing[envs] = self._random.choice(sorted(self.records), len(envs))

    def _actor(self, step: int) -> Actor:
        if step not in self._actors:
            policy = copy.deepcopy(self.policy).requires_grad_(False)
            policy.load_state_dict(load_file(self._path(step), device=str(self._example.device)))
            agents = self.vecenv.num_agents
            self._actors[step] = Actor(policy, self._example, agents, self.generator)
            for other in set(self._actors) - {*self.records, *self.playing.tolist()}:
                del self._actors[other]
        return self._actors[step]

    def _path(self, step: int) -> Path:
        return self.folder / f"{step:016d}.safetensors"

    def _read(self) -> None:
        path = self.folder / "pool.json"
        if path.exists():
            document = json.loads(path.read_text())
            self.rating = document["rating"]
            for step, record in document["opponents"].items():
                self.records[int(step)] = Record(**record)


def _numpy(agents: Agents) -> slice | npt.NDArray[np.int64]:
    return agents if isinstance(agents, slice) else agents.cpu().numpy()
