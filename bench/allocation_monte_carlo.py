"""Random allocation by Monte Carlo: intervals of certified confidence beside the brackets.

    python bench/allocation_monte_carlo.py            # a million draws, writes bench/results
    python bench/allocation_monte_carlo.py --quick    # a hundredth of that, to the screen only

The losses L of all epochs are drawn from the law with the record (or without, to add it), and delta
is E[(1 - e^(eps - L))_+]; a uniform number below that is a coin of just this probability, and the
interval that of Clopper and Pearson for a binomial number. All of them hold together with
probability 1 - 1e-6.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from facts import facts, publish
from scipy.stats import beta
from speed import table

from renyi import Gaussian, PLDAccountant, RandomAllocation

OUTPUT = Path(__file__).parent / "results" / "allocation_monte_carlo.md"
# Noise, batches, epochs, epsilon.
CASES = (
    (1.0, 2, 1, 1.0),
    (0.5, 4, 1, 2.0),
    (1.0, 10, 1, 1.0),
    (0.5, 100, 1, 3.0),
    (1.0, 100, 1, 0.3),
    (1.0, 10, 5, 2.0),
    (0.7, 30, 4, 2.0),
    (1.0, 100, 10, 1.0),
    (2.0, 50, 20, 0.5),
    (0.4, 100, 10, 15.0),
)
FAILURE = 1e-6
BLOCK = 2_000_000  # normal numbers at a time

Array = np.ndarray[Any, np.dtype[np.float64]]


def losses(
    random: np.random.Generator, noise: float, batches: int, with_record: bool, size: int
) -> Array:
    """Return log P/Q of one epoch, drawn from P or from Q."""
    x = random.standard_normal((size, batches))
    if with_record:
        x[:, 0] += 1.0 / noise  # the batches are exchangeable
    exponents = x / noise - 0.5 / noise**2
    top = exponents.max(axis=1)
    mean: Array = top + np.log(np.exp(exponents - top[:, None]).mean(axis=1))
    return mean


def interval(
    random: np.random.Generator, case: tuple[float, int, int, float], remove: bool, draws: int
) -> tuple[float, float]:
    """Return an interval that holds delta unless something of little probability happens."""
    noise, batches, epochs, epsilon = case
    hits, left = 0, draws
    while left:
        size = min(left, max(BLOCK // batches, 1))
        total = np.zeros(size)
        for _ in range(epochs):
            total += losses(random, noise, batches, remove, size)
        seen = total if remove else -total
        hits += int((random.random(size) < -np.expm1(np.minimum(epsilon - seen, 0.0))).sum())
        left -= size
    tail = 0.5 * FAILURE / (2 * len(CASES))
    low = float(beta.ppf(tail, hits, draws - hits + 1)) if hits else 0.0
    high = float(beta.isf(tail, hits + 1, draws - hits)) if hits < draws else 1.0
    return low, high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    draws = 10_000 if (quick := parser.parse_args().quick) else 1_000_000
    random = np.random.default_rng(2024)
    rows = []
    for case in CASES:
        noise, batches, epochs, epsilon = case
        accountant = PLDAccountant().compose(RandomAllocation(Gaussian(noise), batches), epochs)
        for direction in ("remove", "add"):
            low, high = accountant.get_delta_bounds(epsilon, direction=direction)
            least, most = interval(random, case, direction == "remove", draws)
            assert max(low, least) <= min(high, most), (case, direction)
            rows.append(
                [
                    f"{noise:g}",
                    str(batches),
                    str(epochs),
                    f"{epsilon:g}",
                    direction,
                    f"{least:.5g} … {most:.5g}",
                    f"{low:.8g} … {high:.8g}",
                    f"{math.log10(max((high - low) / high, 1e-16)):.1f}",
                ]
            )
    head = "σ|batches|epochs|ε|direction|Monte Carlo|bracket|log10 of its width"
    title = f"# Random allocation by Monte Carlo, {draws:,} draws\n"
    publish([title, facts({}), table(head, rows)], None if quick else OUTPUT)


if __name__ == "__main__":
    main()
