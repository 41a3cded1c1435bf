"""Compositions from a few frequencies give the sums that all nodes give, within their errors."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from renyi.pld._composed_loss import NodeMasses, Window
from renyi.pld._spectrum import LowFrequencies, _largest_beyond, _Moments, low_frequencies

from renyi.pld import (
    BoundedRange,
    Composition,
    DiscreteGaussian,
    Gaussian,
    GaussianMixture,
    Laplace,
    PrivacyLossDistribution,
    RandomizedResponse,
    Reversed,
    delta_bounds,
    poisson_sampled,
)
from renyi.pld._composition import TiltedPart, compose


def bumps(seed: int) -> list[TiltedPart]:
    """Two parts of random weights of sum about 1, skewed as tilted laws are."""
    rng = np.random.default_rng(seed)
    parts = []
    for size, count in ((int(rng.integers(50, 400)), 300), (int(rng.integers(20, 200)), 50)):
        weights = rng.random(size) * np.exp(-rng.random() * np.arange(size) / size)
        parts.append(TiltedPart(weights / weights.sum(), count, 0))
    return parts


@pytest.mark.parametrize("seed", range(4))
def test_sums_agree_with_all_nodes(seed: int) -> None:
    parts, base = bumps(seed), -17
    mean = sum(p.count * float(np.dot(p.weights, np.arange(p.weights.size))) for p in parts)
    size = 2**15
    window = Window(round(base + mean) - size // 2, size)
    found = low_frequencies(parts, window, base)
    assert isinstance(found, LowFrequencies)
    assert found.values.size < 200
    nodes = NodeMasses(window.first, *compose(parts, window, base))
    for shift in (-9000, -500, 0, 3, 2000):
        start = round(base + mean) + shift
        length = window.first + size - start
        for distance, step, theta in ((1e-4, 1e-3, 2e-4), (5e-7, 1e-6, 1e-3), (0.3, 1.0, 1e-6)):
            few = found.sum_from(start, length, distance, step, theta)
            many = nodes.sum_from(start, length, distance, step, theta)
            rounding = 1e-13 * abs(many[0])
            assert abs(few[0] - many[0]) <= few[1] + many[1] + rounding
            assert (
                few[1]
                <= 1e-9 * many[0]
                + 1e-11 * nodes.sum_from(window.first, size, distance, step, theta)[0]
            )


@pytest.mark.parametrize("seed", range(4))
def test_frequencies_left_out_are_bounded(seed: int) -> None:
    moments = [_Moments.of(part) for part in bumps(seed)]
    for start in (1e-4, 1e-3, 0.02, 0.5, 3.0):
        bound = _largest_beyond(moments, start)
        seen = np.linspace(start, math.pi, 5001)
        total = np.zeros(seen.size)
        for m in moments:
            index = np.arange(m.weights.size)
            value = np.abs(np.exp(-1j * np.outer(seen, index)) @ m.weights)
            total += m.count * np.log(value)
        assert total.max() <= bound
        assert bound <= 0.6 * total.max() + 1e-6 or start > 0.1


def test_transforms_that_do_not_decay_are_left_alone() -> None:
    # Two atoms on one lattice: the transform comes back at every multiple of 2 pi over their gap.
    weights = np.zeros(101)
    weights[[0, 100]] = 0.5
    assert low_frequencies([TiltedPart(weights, 1000, 0)], Window(0, 2**20), 0) is None
    few = np.full(30, 1.0 / 30.0)
    assert low_frequencies([TiltedPart(few, 2, 0)], Window(0, 2**14), 0) is None
    assert low_frequencies([TiltedPart(few, 1000, 3)], Window(0, 2**14), 0) is None
    assert low_frequencies([TiltedPart(np.ones(1), 1000, 0)], Window(0, 2**14), 0) is None


def gaussian_delta(mu: mp.mpf, epsilon: float) -> mp.mpf:
    e = mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


@pytest.mark.parametrize("count", [200, 10_000, 10**6])
@pytest.mark.parametrize("standard", [-1.0, 0.5, 6.0, 25.0])
def test_long_gaussian_compositions(count: int, standard: float) -> None:
    # A mixture of one mean is not merged with others, so that it is really composed.
    sigma = math.sqrt(count)
    pair = GaussianMixture((1.0,), (1.0,), sigma)
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
        ([(poisson_sampled(Laplace(1.0), 0.01), 10_000)], 1.0, 1e-5),
        ([(poisson_sampled(Laplace(1.0), 0.01, "add"), 10_000)], 1.0, 1e-5),
        ([(BoundedRange(0.05), 5000)], 2.0, 1e-5),
        ([(Laplace(20.0), 300), (DiscreteGaussian(30.0), 200)], 1.0, 1e-3),
        ([(poisson_sampled(Gaussian(1.0), 0.05), 500), (Laplace(5.0), 20)], 4.0, 1e-5),
    ],
)
def test_brackets_agree_with_coarse_ones(
    parts: list[tuple[PrivacyLossDistribution, int]], epsilon: float, width: float
) -> None:
    found = delta_bounds(parts, epsilon)
    for points in (2**12, 2**14):
        lower, upper = delta_bounds(parts, epsilon, max_points=points)
        assert lower <= found[1]
        assert upper >= found[0]
    assert found[1] - found[0] <= width * found[1]


def test_both_directions_are_dual() -> None:
    pair = poisson_sampled(Laplace(0.7), 0.02)
    remove = delta_bounds([(pair, 3000)], -0.4)
    add = delta_bounds([(Reversed(pair), 3000)], 0.4)
    dual = [-math.expm1(0.4) + math.exp(0.4) * value for value in remove]
    assert add[0] <= dual[1] + 1e-14
    assert add[1] >= dual[0] - 1e-14


def test_randomized_response_keeps_its_lattice() -> None:
    lower, upper = delta_bounds([(RandomizedResponse(0.51), 10_000)], 3.0)
    with mp.workdps(60):
        p, e = mp.mpf(0.51), mp.exp(3)
        exact = mp.fsum(
            mp.binomial(10_000, j)
            * max(p**j * (1 - p) ** (10_000 - j) - e * p ** (10_000 - j) * (1 - p) ** j, 0)
            for j in range(5000, 10_001)
        )
    assert lower <= exact <= upper
    assert upper - lower <= 1e-8 * upper
