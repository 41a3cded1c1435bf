"""Many uses: brackets contain references, agree with coarser ones, and answer both directions."""

from __future__ import annotations

import math

import mpmath as mp
import pytest

from renyi.pairs import (
    BoundedRangePair,
    Composition,
    DiscreteGaussianPair,
    DominatingPair,
    GaussianMixturePair,
    GaussianPair,
    LaplacePair,
    RandomizedResponsePair,
    ReversedPair,
    delta_bounds,
    poisson_sampled_pair,
)


def gaussian_delta(mu: mp.mpf, epsilon: float) -> mp.mpf:
    e = mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


@pytest.mark.parametrize("count", [200, 10_000, 10**6])
@pytest.mark.parametrize("standard", [-1.0, 0.5, 6.0, 25.0])
def test_long_gaussian_compositions(count: int, standard: float) -> None:
    # A mixture of one mean is not merged with others, so that it is really composed.
    sigma = math.sqrt(count)
    pair = GaussianMixturePair((1.0,), (1.0,), sigma)
    epsilon = 0.5 + standard
    composition = Composition([(pair, count)], max_points=2**18)
    lower, upper = composition.delta_bounds(epsilon)
    with mp.workdps(40):
        exact = gaussian_delta(mp.sqrt(count) / mp.mpf(sigma), epsilon)
    assert lower <= exact <= upper
    assert upper - lower <= 1e-4 * upper


@pytest.mark.parametrize(
    ("parts", "epsilon", "width"),
    [
        ([(poisson_sampled_pair(LaplacePair(1.0), 0.01), 10_000)], 1.0, 1e-5),
        ([(poisson_sampled_pair(LaplacePair(1.0), 0.01, "add"), 10_000)], 1.0, 1e-5),
        ([(BoundedRangePair(0.05), 5000)], 2.0, 1e-5),
        ([(LaplacePair(20.0), 300), (DiscreteGaussianPair(30.0), 200)], 1.0, 1e-3),
        ([(poisson_sampled_pair(GaussianPair(1.0), 0.05), 500), (LaplacePair(5.0), 20)], 4.0, 1e-5),
    ],
)
def test_brackets_agree_with_coarse_ones(
    parts: list[tuple[DominatingPair, int]], epsilon: float, width: float
) -> None:
    found = delta_bounds(parts, epsilon)
    for points in (2**12, 2**14):
        lower, upper = delta_bounds(parts, epsilon, max_points=points)
        assert lower <= found[1]
        assert upper >= found[0]
    assert found[1] - found[0] <= width * found[1]


def test_both_directions_are_dual() -> None:
    pair = poisson_sampled_pair(LaplacePair(0.7), 0.02)
    remove = delta_bounds([(pair, 3000)], -0.4)
    add = delta_bounds([(ReversedPair(pair), 3000)], 0.4)
    dual = [-math.expm1(0.4) + math.exp(0.4) * value for value in remove]
    assert add[0] <= dual[1] + 1e-14
    assert add[1] >= dual[0] - 1e-14


def test_randomized_response_keeps_its_lattice() -> None:
    lower, upper = delta_bounds([(RandomizedResponsePair(0.51), 10_000)], 3.0)
    with mp.workdps(60):
        p, e = mp.mpf(0.51), mp.exp(3)
        exact = mp.fsum(
            mp.binomial(10_000, j)
            * max(p**j * (1 - p) ** (10_000 - j) - e * p ** (10_000 - j) * (1 - p) ** j, 0)
            for j in range(5000, 10_001)
        )
    assert lower <= exact <= upper
    assert upper - lower <= 1e-8 * upper
