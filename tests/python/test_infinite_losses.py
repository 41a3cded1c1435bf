"""Losses that are infinite now and then, on lattices with others: all outcomes, in mpmath."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import pytest

from renyi import Gaussian, Laplace, PLDAccountant, PoissonSampled
from renyi.mechanisms import ApproxDP, PureDP

Outcomes = list[tuple[mp.mpf, mp.mpf]]  # the masses of both distributions


def approximate(epsilon: float, delta: float) -> Outcomes:
    """The pair of (epsilon, delta): randomized response, and the truth with probability delta."""
    e, d = mp.mpf(epsilon), mp.mpf(delta)
    high, low = (1 - d) / (1 + mp.exp(-e)), (1 - d) / (1 + mp.exp(e))
    return [(d, mp.mpf(0)), (high, low), (low, high), (mp.mpf(0), d)]


def sampled(outcomes: Outcomes, rate: float) -> Outcomes:
    q = mp.mpf(rate)
    return [((1 - q) * without + q * seen, without) for seen, without in outcomes]


def gaussian_delta(mu: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def exact_delta(outcomes: Outcomes, count: int, mu: float, epsilon: float) -> mp.mpf:
    """Of `count` such steps beside Gaussian noise with sensitivity/noise mu."""
    total = mp.mpf(0)
    for steps in itertools.product(outcomes, repeat=count):
        p, q = mp.fprod(s[0] for s in steps), mp.fprod(s[1] for s in steps)
        if p > 0 and q > 0:
            total += p * gaussian_delta(mp.mpf(mu), mp.mpf(epsilon) - mp.log(p / q))
        else:
            total += p
    return total


@pytest.mark.parametrize("rate", [1.0, 0.2])
@pytest.mark.parametrize("slack", [1e-12, 1e-7, 1e-3])
@pytest.mark.parametrize("direction", ["add", "remove"])
def test_gaussian_noise_beside_approximate_steps(rate: float, slack: float, direction: str) -> None:
    step = ApproxDP(0.3, slack)
    accountant = PLDAccountant()
    accountant.compose(step if rate == 1.0 else PoissonSampled(step, rate), 4)
    accountant.compose(Gaussian(2.0), 9)
    pair = approximate(0.3, slack) if rate == 1.0 else sampled(approximate(0.3, slack), rate)
    if direction == "add":
        pair = [(q, p) for p, q in pair]
    with mp.workdps(40):
        for epsilon in (0.5, 3.0, 8.0):
            exact = exact_delta(pair, 4, 1.5, epsilon)
            lower, upper = accountant.get_delta_bounds(epsilon, direction=direction)
            assert lower <= exact <= upper <= lower * (1 + 1e-4)


def test_a_chance_of_everything_costs_hardly_more_than_none() -> None:
    """A slack of 1e-8 a step may not widen what Laplace noise beside it is known to lose."""
    for noise, count in ((Laplace(3.0), 10), (Gaussian(3.0), 30)):
        ends = []
        for step in (PureDP(0.3), ApproxDP(0.3, 1e-8)):
            accountant = PLDAccountant()
            accountant.compose(step, 10)
            accountant.compose(noise, count)
            ends.append(accountant.get_epsilon_bounds(1e-5))
        (low, high), (low_slack, high_slack) = ends
        assert low <= high_slack
        assert high_slack - low_slack <= 1e-5 * high_slack
        assert math.isclose(high, high_slack, rel_tol=2e-3)
