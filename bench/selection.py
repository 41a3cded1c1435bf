"""What it costs to release the best of several training runs, beside Rényi's bound.

    python bench/selection.py         # writes bench/results/selection.md

Five settings of DP-SGD, a geometric number of runs of mean 10: epsilon of one run, what some order
of scores attains, the bound and that by Rényi divergences (`RDPAccountant`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from harness import publish, table

from renyi import (
    Gaussian,
    PLDAccountant,
    PoissonSampled,
    PrivacyLoss,
    RDPAccountant,
    RepeatAndSelect,
)
from renyi.pairs import DiscretePair

DELTA, MEAN, SHAPE = 1e-6, 10.0, 1.0
SETTINGS = (
    (2.0, 0.01, 1000),
    (1.0, 0.01, 1000),
    (0.8, 0.001, 2000),
    (1.5, 0.02, 5000),
    (5.0, 0.1, 500),
)
HEAD = "σ|q|steps|one run|attained|bound|Rényi|Rényi over bound"


def rows() -> Iterator[list[str]]:
    for sigma, q, steps in SETTINGS:
        run = PoissonSampled(Gaussian(sigma), q) * steps
        best = RepeatAndSelect(run, MEAN, SHAPE)
        one = PLDAccountant().compose(run).get_epsilon(DELTA)
        low, high = PLDAccountant().compose(best).get_epsilon_bounds(DELTA)
        renyi = RDPAccountant().compose(best).get_epsilon(DELTA)
        found = [f"{value:.4f}" for value in (one, low, high, renyi)]
        yield [f"{sigma:g}", f"{q:g}", f"{steps:,}", *found, f"{renyi / high:.2f}"]


LAWS: tuple[tuple[str, float, float, Callable[[Any], Any]], ...] = (
    ("geometric", 10.0, 1.0, lambda z: 0.1 * z / (1.0 - 0.9 * z)),
    ("logarithmic", 10.0, 0.0, lambda z: np.log1p(-LOGARITHMIC * z) / math.log1p(-LOGARITHMIC)),
    ("Poisson", 10.0, math.inf, lambda z: np.exp(10.0 * (z - 1.0))),
    ("binomial of 20", 10.0, -20.0, lambda z: (0.5 + 0.5 * z) ** 20),
)
"""Name, mean and shape of the number of runs, and its probability generating function."""
LOGARITHMIC = 0.9730817403993198  # of mean 10: -x / ((1 - x) log(1 - x))
FINITE = "runs|ε|mechanisms|worst δ, median|bound over it: least|median|below"
MECHANISMS = 100


def finite_rows() -> Iterator[list[str]]:
    orders = np.array(list(itertools.permutations(range(5))))
    for name, mean, shape, generating in LAWS:
        random = np.random.default_rng(1)
        found: dict[float, list[tuple[float, float]]] = {0.1: [], 0.5: [], 1.0: []}
        for _ in range(MECHANISMS):
            p, q = random.dirichlet(np.ones(5)), random.dirichlet(np.ones(5))
            p = 0.4 * p + 0.6 * q
            run = PrivacyLoss(DiscretePair(p, q))
            best = PLDAccountant().compose(RepeatAndSelect(run, mean, shape))
            below = (np.cumsum(mass[orders], axis=1).clip(0.0, 1.0) for mass in (p, q))
            won = [np.diff(generating(np.pad(mass, ((0, 0), (1, 0)))), axis=1) for mass in below]
            for epsilon, values in found.items():
                gains = np.maximum(won[0] - math.exp(epsilon) * won[1], 0.0).sum(axis=1)
                values.append((gains.max(), best.get_delta(epsilon, direction="remove")))
        for epsilon, values in found.items():
            worst, bound = np.array([pair for pair in values if pair[0] > 1e-3]).T
            values_of = np.median(worst), np.min(bound / worst), np.median(bound / worst)
            ends = [f"{value:.3f}" for value in values_of]
            yield [name, f"{epsilon:g}", str(worst.size), *ends, str((bound < worst).sum())]


def main() -> None:
    text = f"# The best of {MEAN:g} runs on average, geometric, δ = {DELTA:g}\n"
    finite = f"\n## Five outcomes, all orders: {MECHANISMS} random mechanisms, where δ > 0.001\n"
    parts = [text, table(HEAD, rows()), finite, table(FINITE, finite_rows())]
    publish(parts, "selection")


if __name__ == "__main__":
    main()
