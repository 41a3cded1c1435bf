"""Epsilon of shuffled reports: time and width from a thousand users to 10^9, beside direct sums.

    python bench/shuffle.py           # writes bench/results/shuffle.md; needs SciPy

The direct sum is the published algorithm for stronger clones, written from its formula: over all
numbers of clones within ten standard deviations, each with two binomial tails in double precision,
and a search for epsilon. It is no bound. Times are CPU milliseconds, the least of several.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from functools import partial

import numpy as np
from harness import facts, least, publish, table
from scipy.optimize import brentq
from scipy.stats import binom

from renyi import PLDAccountant, PureDP, RandomizedResponse, Shuffled
from renyi.mechanisms import (
    HadamardResponse,
    LaplaceResponse,
    LocalHashing,
    SubsetSelection,
    UnaryEncoding,
)

DELTA = 1e-6
USERS = tuple(10**k for k in range(3, 10))
HEAD = "randomizer|users|ε, attack|ε, proved|width of δ|δ, ms|ε, ms|direct sum, ε|direct sum, ms"
RANDOM = 1000


def bounds(mechanism: Shuffled, delta: float) -> tuple[float, float]:
    low, high = accountant(mechanism).get_epsilon_bounds(delta)
    return float(low), float(high)


def accountant(mechanism: Shuffled) -> PLDAccountant:
    return PLDAccountant(adjacency="replace_one").compose(mechanism)


def direct_delta(epsilon: float, users: int, local: float) -> float:
    """Return delta of the stronger clones, by the sum over their number."""
    p, t = math.exp(local), math.exp(epsilon)
    share, a, b = 2.0 / (p + 1.0), p - t, 1.0 - t * p
    width = 10.0 * math.sqrt(users * share) + 40.0
    m = np.arange(max(1, int(users * share - width)), min(users, int(users * share + width)) + 1)
    least = np.ceil(-b * m / (a - b))
    inner = (a - b) * 0.5 * m * binom.sf(least - 2, m - 1, 0.5)
    inner += b * m * binom.sf(least - 1, m, 0.5)
    return float(binom.pmf(m, users, share) @ np.maximum(inner, 0.0)) / users


def direct_epsilon(users: int, local: float) -> float:
    def excess(epsilon: float) -> float:
        return math.log(max(direct_delta(epsilon, users, local), 1e-300) / DELTA)

    return float(brentq(excess, 1e-9, local * (1.0 - 1e-9), xtol=1e-12))


def rows() -> Iterator[list[str]]:
    for local in (1.0, 4.0):
        for users in USERS:
            mechanism = Shuffled(PureDP(local), users)
            (low, high), of_epsilon = least(partial(bounds, mechanism, DELTA), 3)
            _, of_delta = least(partial(accountant(mechanism).get_delta, high), 5)
            width = width_of(mechanism, high)
            direct, of_direct = least(partial(direct_epsilon, users, local))
            numbers = [f"{low:.9f}", f"{high:.9f}", f"{width:.1e}"]
            times = [f"{1e3 * of_delta:.1f}", f"{1e3 * of_epsilon:.1f}"]
            name = f"any, ε₀ = {local:g}"
            yield [name, f"{users:,}", *numbers, *times, f"{direct:.9f}", f"{1e3 * of_direct:.0f}"]


def width_of(mechanism: Shuffled, epsilon: float) -> float:
    """Return the relative width of the bracket of the reduction itself."""
    from renyi.mechanisms._randomizers import laws_of
    from renyi.mechanisms._shuffled_sum import delta_of

    (law,) = laws_of(mechanism.randomizer).upper
    low, high = delta_of(law, mechanism.users, epsilon)
    return (high - low) / high


def settings(numbers: random.Random) -> tuple[Shuffled, float]:
    """Return a random randomizer, number of users, and delta."""
    e, d = 10.0 ** numbers.uniform(-3.0, 1.0), numbers.randint(2, 1000)
    made = (
        lambda: PureDP(e),
        lambda: RandomizedResponse(numbers.random(), d),
        lambda: HadamardResponse(e, d),
        lambda: UnaryEncoding(e, d, numbers.random() < 0.5),
        lambda: LocalHashing(e, d, numbers.randint(2, 100)),
        lambda: LaplaceResponse(e),
        lambda: SubsetSelection(e, d, numbers.randint(1, d - 1)),
    )
    users = math.ceil(10.0 ** numbers.uniform(0.0, 9.0))
    return Shuffled(numbers.choice(made)(), users), 10.0 ** numbers.uniform(-12.0, -0.1)


def of_random_settings() -> str:
    numbers, times, crossed = random.Random(1), [], 0
    for _ in range(RANDOM):
        mechanism, delta = settings(numbers)
        (low, high), spent = least(partial(bounds, mechanism, delta), 2)
        largest = accountant(mechanism).get_epsilon(0.0)
        at_high = accountant(mechanism).get_delta(high) if high < largest else 0.0
        crossed += not (0.0 <= low <= high <= largest and at_high <= delta * (1.0 + 1e-9))
        times.append(1e3 * spent)
    slow = sum(each > 200.0 for each in times)
    return (
        f"{RANDOM} random settings (seven randomizers, ε₀ from 1e-3 to 10, 1 to 1e9 users, δ from "
        f"1e-12 to 0.8), ε from both sides: {crossed} brackets crossed or above the target, median "
        f"{np.median(times):.0f} ms, {slow} above 200 ms, at most {max(times):.0f} ms."
    )


def main() -> None:
    text = "# Shuffled reports, δ = 1e-06\n"
    publish([text, facts(), table(HEAD, rows()), of_random_settings()], "shuffle")


if __name__ == "__main__":
    main()
