"""What a shuffler is worth, over the number of users: epsilon, and the error of a count.

Left: epsilon at delta 1e-6 of any randomizer of a local epsilon; the band reaches down to what an
attack attains. Right: the standard deviation of an estimated count of users who say yes, at epsilon
1 and delta 1e-6, of reports that are randomized for a server nobody trusts, for a shuffler, and of
one noisy count of a server that everybody trusts.

    python -m pip install ".[plot]"
    python examples/shuffle.py [shuffle.png]
"""

from __future__ import annotations

import math
import sys

import numpy as np

from renyi import DiscreteGaussian, PLDAccountant, PureDP, RandomizedResponse, Shuffled, calibrate

LOCAL, DELTA, TARGET = (1.0, 2.0, 4.0), 1e-6, 1.0
USERS = tuple(int(n) for n in np.geomspace(1e3, 1e9, 25))


def answers(epsilon: float) -> RandomizedResponse:
    """Return randomized response of yes and no."""
    return RandomizedResponse(1.0 / (1.0 + math.exp(-epsilon)))


def deviation(users: int, epsilon: float) -> float:
    """Return the standard deviation of a count of users, from their randomized answers."""
    return math.sqrt(users) / (2.0 * math.sinh(0.5 * epsilon))


def bounds(epsilon: float, users: int) -> tuple[float, float]:
    """Return epsilon of shuffled reports of any randomizer: of an attack, and proved."""
    accountant = PLDAccountant(adjacency="replace_one").compose(Shuffled(PureDP(epsilon), users))
    low, high = accountant.get_epsilon_bounds(DELTA)
    return float(low), float(high)


def local_epsilon(users: int) -> float:
    """Return the largest local epsilon with which shuffled answers meet the target."""
    return calibrate(
        lambda epsilon: Shuffled(answers(epsilon), users),
        (1.0, 15.0),
        target_epsilon=TARGET,
        target_delta=DELTA,
        adjacency="replace_one",
    )


def central() -> float:
    """Return the noise of one count that meets the target."""
    return calibrate(
        DiscreteGaussian,
        (0.1, 100.0),
        target_epsilon=TARGET,
        target_delta=DELTA,
        adjacency="add_remove",
    )


def errors(users: int) -> tuple[float, float, float]:
    """Return the local epsilon behind the shuffler, and errors there and without it."""
    epsilon = local_epsilon(users)
    return epsilon, deviation(users, epsilon), deviation(users, TARGET)


def draw(file: str) -> None:
    """Draw both panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for epsilon, colour in zip(LOCAL, ("#009E73", "#0072B2", "#D55E00"), strict=True):
        low, high = np.array([bounds(epsilon, n) for n in USERS]).T
        left.fill_between(USERS, low, high, color=colour, alpha=0.3, linewidth=0.0)
        left.plot(USERS, high, color=colour, label=f"local ε = {epsilon:g}")
    left.set(xscale="log", yscale="log", xlabel="users", ylabel="ε at δ = 1e-6")
    found = np.array([errors(n)[1:] for n in USERS])
    right.plot(USERS, found[:, 1], color="#D55E00", label="without a shuffler")
    right.plot(USERS, found[:, 0], color="#0072B2", label="shuffled")
    right.axhline(central(), color="k", linewidth=0.8, label="one noisy count, trusted server")
    right.set(xscale="log", yscale="log", xlabel="users", ylabel="error of a count at ε = 1")
    for axes in (left, right):
        axes.legend(fontsize="small")
    figure.savefig(file, dpi=130)


def main(file: str | None = None) -> None:
    """Print the errors; draw the figure if a file is named."""
    for users in (10**3, 10**4, 10**5, 10**6, 10**8):
        epsilon, shuffled, alone = errors(users)
        print(f"{users:>11,} {epsilon:7.3f} {shuffled:9.1f} {alone:10.1f} {central():6.2f}")
    if file is not None:
        draw(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
