"""Protein: tuning on the Pareto front of cost and score.

space = Space({"x": log(1e-3, 1.0), "kind": choice("a", "b")})
tuner = Protein(space, seed=0)
values = tuner.suggest()
tuner.observe(values, score=..., cost=...)
tuner.recommend(max_cost=60)
"""

from puffer_protein.errors import SweepError
from puffer_protein.parameters import (
    Parameter,
    choice,
    integer,
    log,
    logit,
    power_of_two,
    uniform,
)
from puffer_protein.pareto_genetic import ParetoGenetic
from puffer_protein.protein import Protein
from puffer_protein.random_search import Random
from puffer_protein.space import Space
from puffer_protein.study import Study, Trial
from puffer_protein.tuner import FrontPoint, Tuner

__all__ = [
    "FrontPoint",
    "Parameter",
    "ParetoGenetic",
    "Protein",
    "Random",
    "Space",
    "Study",
    "SweepError",
    "Trial",
    "Tuner",
    "choice",
    "integer",
    "log",
    "logit",
    "power_of_two",
    "uniform",
]
