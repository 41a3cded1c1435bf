"""Random questions to the exact accountant: as people ask them, and as nobody would."""

from __future__ import annotations

import math
import random
import sys
import warnings
from typing import Any, NamedTuple

from peers import Training

from renyi import Gaussian, PLDAccountant, PoissonSampled


class Question(NamedTuple):
    """A run, and at what delta (or what epsilon) it is asked."""

    run: Training
    at: float
    kind: str = "epsilon"

    def __str__(self) -> str:
        q, sigma, steps = self.run
        given = "delta" if self.kind == "epsilon" else "epsilon"
        return f"{self.kind} of q {q!r}, sigma {sigma!r}, {steps:,} steps at {given} {self.at!r}"

    def accountant(self) -> Any:
        q, sigma, steps = self.run
        return PLDAccountant().compose(PoissonSampled(Gaussian(sigma), q), steps)


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return min(max(math.exp(rng.uniform(math.log(low), math.log(high))), low), high)


def training(seed: int, count: int) -> list[Question]:
    """Runs of 0.05 to 1000 epochs."""
    rng, found = random.Random(seed), []
    for _ in range(count):
        epochs, q = log_uniform(rng, 0.05, 1000), log_uniform(rng, 1e-6, 0.5)
        run = Training(q, log_uniform(rng, 0.1, 8), max(1, round(epochs / q)))
        found.append(Question(run, log_uniform(rng, 1e-12, 1e-5)))
    return found


def anything(seed: int, count: int) -> list[Question]:
    """Half of the rates near 1, half of the deltas as people ask; epsilon is sometimes 0."""
    rng, found = random.Random(seed), []
    for _ in range(count):
        q = log_uniform(rng, 1e-12, 0.5)
        run = Training(
            1 - q if rng.random() < 0.5 else q,
            log_uniform(rng, 0.01, 1e6),
            round(log_uniform(rng, 1, 1e9)),
        )
        if rng.random() < 0.5:
            at = log_uniform(rng, *((1e-15, 0.99) if rng.random() < 0.5 else (1e-300, 1e-15)))
            found.append(Question(run, at))
        else:
            at = 0.0 if rng.random() < 0.05 else log_uniform(rng, 1e-12, 1e4)
            found.append(Question(run, at, "delta"))
    return found


def plain(question: Question) -> float:
    return float(question.accountant().get_epsilon(question.at))


def bracket(question: Question) -> tuple[float, float]:
    low, high = question.accountant().get_epsilon_bounds(question.at)
    return float(low), float(high)


def stressed(question: Question) -> float:
    """With warnings as errors; no number in the range is an error too."""
    ledger = question.accountant()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if question.kind == "delta":
            value, limit = ledger.get_delta(question.at), 1.0
        else:
            value, limit = ledger.get_epsilon(question.at), sys.float_info.max
    if not 0 <= value <= limit:
        raise ArithmeticError(f"{value!r}")
    return float(value)
