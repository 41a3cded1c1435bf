"""The numbers in the prose of docs/comparison.md, computed.

Each of `facts` is a piece of that text with its numbers filled in, rounded outwards; a test looks
for them in the text, whatever its lines.

    python examples/comparison_numbers.py
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from renyi import FixedSizeSampled, Gaussian, PLDAccountant
from renyi._search import largest_count
from renyi.theory.comparison import compare

DELTA = 1e-5
NOISES, RATES = (0.6, 1.0, 2.0, 4.0, 10.0), (0.001, 0.01, 0.1)
SETTINGS = tuple(itertools.product(NOISES, RATES))
LENGTHS = (100, 1000, 10_000, 100_000)  # of the first table, from 100 steps on


@cache
def epsilons(noise: float, rate: float, steps: int) -> dict[str, float]:
    """Return epsilon of a run by every method."""
    return {row.method: row.epsilon for row in compare(rate, noise, steps, delta=DELTA)}


def by(noise: float, rate: float, steps: int, method: str) -> float:
    """Return epsilon of a run by one method."""
    return compare(rate, noise, steps, delta=DELTA, methods=[method])[0].epsilon


def ratios(over: str, under: str, runs: Iterable[tuple[float, float, int]]) -> list[float]:
    """Return epsilon by one method over that by another, for each run."""
    found = [epsilons(*run) for run in runs]
    return [each[over] / each[under] for each in found]


def after(epochs: int) -> list[tuple[float, float, int]]:
    """Return the runs of so many epochs."""
    return [(noise, rate, round(epochs / rate)) for noise, rate in SETTINGS]


def percents(values: list[float]) -> str:
    """Write by how much ratios exceed 1."""
    low, high = (100.0 * (value - 1.0) for value in (min(values), max(values)))
    return f"{math.floor(low)} to {math.ceil(high)} %"


def times(values: list[float]) -> str:
    """Write ratios, two digits rounded outwards."""
    low, high = min(values), max(values)
    return f"{_rounded(low, math.floor)} to {_rounded(high, math.ceil)}"


def _rounded(value: float, towards: Callable[[float], int]) -> str:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{round(towards(value / unit) * unit, 9):g}"


def last_steps(noise: float, rate: float, first: str, second: str) -> int:
    """Return up to how many steps, from one step on, the first method is the smaller."""
    return largest_count(
        lambda steps: by(noise, rate, steps, first) < by(noise, rate, steps, second), 1, 10_000
    )


def largest_noise(rate: float, first: str, second: str) -> float:
    """Return up to which noise the first method is the smaller after an epoch, rounded down."""
    run = rate, round(1 / rate)
    found = largest_count(lambda s: by(s / 100, *run, first) < by(s / 100, *run, second), 50, 1000)
    return found / 100


def crossings(noise: float, rate: float, last: int) -> tuple[int, int]:
    """Return the first and last numbers of steps at which routes 1 and 2 change places.

    Route 2 counts whole epochs, so they change places more than once.
    """
    less = [
        by(noise, rate, steps, "advanced") < by(noise, rate, steps, "full_batch")
        for steps in range(1, last + 1)
    ]
    changes = [k + 1 for k in range(last - 1) if less[k] != less[k + 1]]
    return changes[0] + 1, changes[-1] + 1


def fixed_size() -> tuple[float, float, float]:
    """Return epsilon of 20 samples of fixed size, of Poisson samples, and by route 1."""
    sample = FixedSizeSampled(Gaussian(4.0), 10, 100)  # a replaced record moves a sum by 2
    exact = PLDAccountant(adjacency="replace_one").compose(sample, 20).get_epsilon(1e-4)
    rows = compare(0.1, 2.0, 20, delta=1e-4, methods=("exact", "advanced"))
    return float(exact), rows[0].epsilon, rows[1].epsilon


def facts() -> Iterator[str]:
    """Return pieces of the text."""
    exact, poisson, route = fixed_size()
    yield f"{exact:.3f} against {poisson:.3f}; route 1: {route:.1f}"
    yield f"Rényi-DP with the optimal conversion is {percents(ratios('rdp', 'exact', after(100)))}"
    yield f"{percents(ratios('rdp', 'exact', after(10)))} after ten"
    single = [(noise, rate, 1) for noise, rate in SETTINGS]
    yield f"up to {max(ratios('rdp', 'exact', single)):.1f} times it for a single step"
    yield f"{percents(ratios('moments', 'exact', after(100)))} above it after 100 epochs"
    alone = epsilons(4.0, 0.01, 1)
    yield f"{alone['moments'] / alone['exact']:.1f} times it for one step at σ = 4, q = 0.01"
    yield f"up to {math.ceil(max(ratios('moments', 'exact', single)))} times"
    yield from routes()


def routes() -> Iterator[str]:
    """Return pieces of the text about the three routes."""
    table = [(4.0, 0.01, steps) for steps in LENGTHS]
    better = [min(epsilons(*run)["advanced"], epsilons(*run)["full_batch"]) for run in table]
    bound = [epsilons(*run)["moment_bound"] for run in table]
    yield f"a factor of {times([a / b for a, b in zip(better, bound, strict=True)])}"
    yield f"it loses {percents(ratios('moment_bound', 'moments', table))}"
    few = [last_steps(4.0, rate, "advanced", "moment_bound") for rate in (0.01, 0.001)]
    yield f"up to {few[0]} steps at q = 0.01 and up to {few[1]} at q = 0.001"
    noises = [largest_noise(rate, "full_batch", "moment_bound") for rate in (0.01, 0.1)]
    yield f"up to σ = {noises[0]:.2f} at q = 0.01 and σ = {noises[1]:.2f} at q = 0.1"
    little = [(0.6, 0.1, steps) for steps in (100, 1000)]
    yield f"{times(ratios('moment_bound', 'full_batch', little))} times below route 3"
    first, last = crossings(4.0, 0.01, 400)
    yield f"between {first} and {last} steps"
    yield f"a factor of {times(ratios('advanced', 'optimal', table))} at σ = 4"
    yield f"leave {times(ratios('optimal', 'exact', table))} times the exact ε"


if __name__ == "__main__":
    for fact in facts():
        print(fact)
