"""Compositions of pairs: against exact sums, and what may go wrong."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import mpmath as mp
import numpy as np
import pytest

from renyi import pairs
from renyi._engine import LossComposition, Pair
from renyi.mechanisms import Gaussian
from renyi.pairs import MechanismPair

POINTS = 2**14


def discrete(p: list[float], q: list[float]) -> Pair:
    return Pair.discrete(np.array(p), np.array(q))


def overlap(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


@pytest.mark.parametrize("count", [2, 50, 3000, 10**6])
@pytest.mark.parametrize("delta", [1e-3, 1e-12, 1e-300])
def test_randomized_response(count: int, delta: float) -> None:
    p = mp.mpf(0.625)
    composition = LossComposition([(Pair.randomized_response(0.625, 2), count)], 1e-6, 2**20)
    low, high = composition.epsilon_bounds(delta)
    assert high - low <= 1e-5 * high
    assert response_delta(p, count, low) >= delta * (1 - mp.mpf("1e-9"))
    assert response_delta(p, count, high) <= delta * (1 + mp.mpf("1e-9"))


def response_delta(p: mp.mpf, count: int, epsilon: float) -> mp.mpf:
    with mp.workdps(40):
        loss = mp.log(p / (1 - p))
        first = int(mp.floor((epsilon / loss + count) / 2)) + 1
        total = mp.mpf(0)
        if first > count:
            return total
        log_mass = mp.loggamma(count + 1) - mp.loggamma(first + 1) - mp.loggamma(count - first + 1)
        mass = mp.exp(log_mass + first * mp.log(p) + (count - first) * mp.log(1 - p))
        for k in range(first, count + 1):
            term = mass * -mp.expm1(epsilon - (2 * k - count) * loss)
            total += term
            if k > first and term < total * mp.mpf("1e-30"):
                break
            mass *= mp.mpf(count - k) / (k + 1) * p / (1 - p)
        return total


def test_a_billion_uses() -> None:
    scale = 1e6
    found = LossComposition([(Pair.laplace(scale), 10**9)], 1e-4, 2**20)
    low, high = found.epsilon_bounds(1e-6)
    assert 0.0 < low <= high <= low + 1e-3 * high
    # Nearly Gaussian: the loss has the variance 1/scale^2 (1 + o(1)) and the mean of half of it.
    gaussian = pairs.Composition([(MechanismPair(Gaussian(1.0 / (math.sqrt(1e9) / scale))), 1)])
    assert low <= gaussian.epsilon_bounds(1e-6)[1] * 1.001
    assert high >= gaussian.epsilon_bounds(1e-6)[0] * 0.999


def test_failing_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    composition = LossComposition([(Pair.laplace(1.0).sampled(0.1), 20)], 1e-4, 2**16)
    expected = LossComposition([(Pair.laplace(1.0).sampled(0.1), 20)], 1e-4, 2**16)

    def failing(*_arguments: object, **_options: object) -> None:
        raise MemoryError("no transform today")

    with monkeypatch.context() as patch:
        patch.setattr(np.fft, "rfft", failing)
        with pytest.raises(MemoryError, match="no transform today"):
            composition.delta_bounds(0.5)
    assert composition.delta_bounds(0.5) == expected.delta_bounds(0.5)


def test_equal_pairs_are_one() -> None:
    def made() -> list[Pair]:
        laplace = Pair.laplace(2.0)
        return [
            laplace,
            discrete([0.75, 0.25], [0.25, 0.75]),
            laplace.sampled(0.1).reversed(),
            Pair.mixed([0.5, 0.25], [laplace, Pair.gaussian(1.0)]),
            Pair.product([(laplace, 2), (Pair.gaussian(1.0), 1)]),
        ]

    first, other = made(), made()
    assert all(one is same for one, same in zip(first, other, strict=True))
    assert len(set(first)) == len(first)
    assert Pair.laplace(2.0).reversed() is Pair.laplace(2.0)  # its own reverse
    apart = LossComposition([(pair, 3) for pair in first + other], 1e-3, POINTS)
    together = LossComposition([(pair, 6) for pair in first], 1e-3, POINTS)
    assert apart.delta_bounds(0.5) == together.delta_bounds(0.5)


def test_threads() -> None:
    composition = LossComposition([(Pair.laplace(1.0).sampled(0.1), 200)], 1e-4, 2**16)
    epsilons = [0.5 + 0.25 * i for i in range(12)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(composition.delta_bounds, epsilons))
    for epsilon, bounds in zip(epsilons, found, strict=True):
        alone = LossComposition([(Pair.laplace(1.0).sampled(0.1), 200)], 1e-4, 2**16)
        assert overlap(bounds, alone.delta_bounds(epsilon))


def test_limits() -> None:
    nothing = LossComposition([], 1e-5, POINTS)
    assert nothing.delta_bounds(0.0) == (0.0, 0.0)
    assert nothing.epsilon_bounds(0.0) == (0.0, 0.0)
    ten = LossComposition([(Pair.laplace(2.0), 10)], 1e-5, POINTS)
    for composition, epsilon in ((nothing, -1.0), (ten, -30.0)):
        low, high = composition.delta_bounds(epsilon)
        assert low <= -math.expm1(epsilon) <= high <= 1.0
    assert ten.delta_bounds(-math.inf) == (1.0, 1.0)
    assert ten.delta_bounds(math.inf) == (0.0, 0.0)
    assert ten.epsilon_bounds(1.0) == (-math.inf, -math.inf)
    assert ten.delta_bounds(5.1)[1] < 1e-300
    low, high = ten.epsilon_bounds(0.0)
    assert low <= 5.0 <= high <= 5.0 + 1e-10
    shown = LossComposition([(discrete([0.5, 0.5], [0.0, 1.0]), 3)], 1e-5, POINTS)
    low, high = shown.delta_bounds(100.0)
    assert low <= 0.875 <= high <= 0.875 + 1e-12
    assert shown.epsilon_bounds(0.5) == (math.inf, math.inf)
