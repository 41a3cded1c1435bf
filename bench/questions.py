"""Random questions to the exact accountant: as people ask them, and as nobody would."""

from __future__ import annotations

import itertools
import math
import random
import sys
import warnings
from typing import Any, NamedTuple

from peers import Training

from renyi import Gaussian, PLDAccountant, PoissonSampled


class Question(NamedTuple):
    """A run, at what delta (or what epsilon) it is asked, and for which neighbours.

    The direction is "remove", "add", "replace", or None: the worse of the first two.
    """

    run: Training
    at: float
    kind: str = "epsilon"
    direction: str | None = None

    def __str__(self) -> str:
        q, sigma, steps = self.run
        given = "delta" if self.kind == "epsilon" else "epsilon"
        return f"{self.kind} of q {q!r}, sigma {sigma!r}, {steps:,} steps at {given} {self.at!r}"

    def accountant(self) -> Any:
        q, sigma, steps = self.run
        adjacency = "replace_one" if self.direction == "replace" else "add_remove"
        return PLDAccountant(adjacency=adjacency).compose(PoissonSampled(Gaussian(sigma), q), steps)


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


def settings() -> list[Question]:
    """Little noise, where outputs nearly tell who was seen: 720 runs."""
    rates, steps = (1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5), (2, 10, 100, 1000, 10_000)
    noises = (0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)
    runs = itertools.product(rates, noises, steps, (1e-6, 1e-2))
    return [Question(Training(q, sigma, k), delta) for q, sigma, k, delta in runs]


def little(seed: int, count: int) -> list[Question]:
    """Random runs of little noise: of five one has a tiny delta, one up to 1e9 steps."""
    rng, found = random.Random(seed), []
    for _ in range(count):
        steps = round(log_uniform(rng, 1, 1e9 if rng.random() < 0.2 else 1e6))
        run = Training(log_uniform(rng, 1e-6, 1.0), log_uniform(rng, 1e-2, 0.5), steps)
        tiny = rng.random() < 0.2
        found.append(Question(run, log_uniform(rng, *((1e-300, 1e-12) if tiny else (1e-12, 0.9)))))
    return found


def plain(question: Question) -> float:
    return float(question.accountant().get_epsilon(question.at))


def bracket(question: Question) -> tuple[float, float]:
    named = question.direction in ("remove", "add")
    side = {"direction": question.direction} if named else {}
    low, high = question.accountant().get_epsilon_bounds(question.at, **side)
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
