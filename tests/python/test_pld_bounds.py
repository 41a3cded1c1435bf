"""Brackets of the privacy curve contain references by other means: closed forms, mpmath, sums."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import mpmath as mp
import numpy as np
import pytest
from each import slow
from pair_reference import (
    Part,
    assert_encloses,
    delta_bounds,
    gaussian,
    gaussian_delta,
    laplace,
    one_step,
    sampled_gaussian,
    sampled_pair,
    two_steps,
)

from renyi._engine import LossComposition, Pair
from renyi.mechanisms import GaussianMixture, RandomizedResponse
from renyi.pairs import (
    Composition,
    DensityPair,
    DominatingPair,
    MechanismPair,
)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    ("q", "sigma", "epsilon"),
    list(itertools.product((1e-4, 0.1, 0.5), (0.5, 2.0), (-0.1, 1e-3, 0.4))),
)
def test_one_sampled_step(q: float, sigma: float, epsilon: float, direction: str) -> None:
    with mp.workdps(60):
        exact = one_step(mp.mpf(q), mp.mpf(sigma), mp.mpf(epsilon), direction)
        if direction == "add" and epsilon >= -math.log1p(-q):
            exact = mp.mpf(0)  # without the rounding of the dual
        bounds = delta_bounds([(sampled_gaussian(q, sigma, direction), 1)], epsilon)
        assert_encloses(bounds, exact, 1e-10 if exact > 0 else None)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    ("q", "sigma", "epsilon"), [(0.1, 1.0, 0.3), *slow((0.01, 0.7, 1.5), (0.3, 2.0, -0.2))]
)
def test_two_sampled_steps(q: float, sigma: float, epsilon: float, direction: str) -> None:
    with mp.workdps(20):
        exact = two_steps(mp.mpf(q), mp.mpf(sigma), mp.mpf(epsilon), direction)
    part = [(sampled_gaussian(q, sigma, direction), 2)]
    slack = mp.mpf(10) ** -14
    if exact < 1e-13:  # the cut at -log(1-q) makes delta vanish
        assert delta_bounds(part, epsilon)[0] <= exact + slack
        return
    lower, upper = delta_bounds(part, epsilon)
    assert lower <= exact * (1 + slack)
    assert upper >= exact * (1 - slack)
    assert upper - lower <= 1e-5 * upper


@pytest.mark.parametrize(
    ("k", "log_delta"),
    [*itertools.product((2, 50), (-1, -285)), *slow((2, -12), (50, -12), (2, -200), (10**6, -8))],
)
def test_gaussian_on_a_lattice(k: int, log_delta: int) -> None:
    # A mixture of one component is not merged: it takes the lattice and the transform.
    mu = mp.mpf(1) / mp.sqrt(k)
    sigma = float(1 / mu)
    with mp.workdps(40):
        total = mp.sqrt(k) / mp.mpf(sigma)
        epsilon = float(
            mp.findroot(
                lambda e: mp.log(gaussian_delta(total, e)) - log_delta * mp.log(10),
                total * mp.sqrt(-2 * log_delta * mp.log(10)) if log_delta < -2 else mp.mpf(1),
            )
        )
        exact = gaussian_delta(total, epsilon)
    bounds = delta_bounds([(MechanismPair(GaussianMixture(sigma, (1.0,), (1.0,))), k)], epsilon)
    assert_encloses(bounds, exact, 1e-3 if k == 10**6 else 1e-5)


@pytest.mark.parametrize(
    ("mus", "epsilon"), [((1.0,), 36.0), ((0.5, 2.0), 3.0), ((1e-4,), 1e-4), ((3.0,), -4.0)]
)
def test_gaussian_compositions_in_closed_form(mus: tuple[float, ...], epsilon: float) -> None:
    for count in (1, 7):
        with mp.workdps(40):
            total = mp.sqrt(sum(count * mp.mpf(mu) ** 2 for mu in mus))
            exact = gaussian_delta(total, epsilon)
        bounds = delta_bounds([(gaussian(mu), count) for mu in mus], epsilon)
        assert_encloses(bounds, exact, 1e-10)


def laplace_delta(b: float, q: float, k: int, epsilon: float, direction: str) -> mp.mpf:
    """Recursion delta_k = E delta_{k-1}(epsilon - L) for k = 2 by quadrature over x."""
    eps0, q_ = 1 / mp.mpf(b), mp.mpf(q)

    def step(e: mp.mpf) -> mp.mpf:
        if direction == "add":
            return 1 - mp.exp(e) + mp.exp(e) * remove(-e)
        return remove(e)

    def remove(e: mp.mpf) -> mp.mpf:
        if q_ < 1 and e <= mp.log1p(q_ * mp.expm1(-eps0)):
            return 1 - mp.exp(e)
        base = mp.log1p(mp.expm1(e) / q_)
        if base >= eps0:
            return mp.mpf(0)
        if base <= -eps0:
            return 1 - mp.exp(e)
        return q_ * (1 - mp.exp((base - eps0) / 2))

    if k == 1:
        return step(mp.mpf(epsilon))

    def weighted(base: mp.mpf, mass_p: mp.mpf) -> mp.mpf:
        mass_q = mass_p * mp.exp(-base)
        loss = mp.log1p(q_ * mp.expm1(base))
        mixed = (1 - q_) * mass_q + q_ * mass_p
        if direction == "remove":
            return mixed * step(epsilon - loss)
        return mass_q * step(epsilon + loss)

    total = weighted(eps0, mp.mpf(1) / 2) + weighted(-eps0, mp.exp(-eps0) / 2)
    points = [-eps0 + 2 * eps0 * j / 64 for j in range(65)]
    return total + mp.quad(lambda loss: weighted(loss, mp.exp((loss - eps0) / 2) / 4), points)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(
    ("b", "q", "epsilon"), [(1.0, 1.0, 0.5), *slow((0.3, 0.5, 0.1), (2.0, 0.1, 0.02))]
)
def test_laplace(b: float, q: float, epsilon: float, direction: str) -> None:
    pair = sampled_pair(laplace(b), q, direction)
    with mp.workdps(20):
        one = laplace_delta(b, q, 1, epsilon, direction)
        two = laplace_delta(b, q, 2, epsilon, direction)
    lower, upper = delta_bounds([(pair, 1)], epsilon)
    assert lower <= one <= upper
    assert upper - lower <= 1e-10 * upper
    lower, upper = delta_bounds([(pair, 2)], epsilon)
    assert lower <= two * (1 + mp.mpf("1e-7"))  # the reference has kinks between its nodes
    assert upper >= two * (1 - mp.mpf("1e-7"))
    assert upper - lower <= 1e-5 * upper


def test_densities_of_the_user() -> None:
    def normal(mean: float):  # type: ignore[no-untyped-def]
        return lambda x: -0.5 * (x - mean) ** 2 - 0.5 * math.log(2.0 * math.pi)

    pair = DensityPair(normal(1.0), normal(0.0), -12.0, 13.0)
    with mp.workdps(30):
        exact = gaussian_delta(mp.sqrt(3), 3.0)
    assert_encloses(delta_bounds([(pair, 3)], 3.0), exact, 1.1e-5)


def test_different_mechanisms_compose() -> None:
    parts: list[tuple[DominatingPair, int]] = [
        (gaussian(0.5), 4),
        (MechanismPair(RandomizedResponse(0.6)), 2),
    ]
    with mp.workdps(40):
        p = mp.mpf(0.6)
        loss = mp.log(p / (1 - p))
        exact = sum(
            mp.binomial(2, j)
            * p**j
            * (1 - p) ** (2 - j)
            * gaussian_delta(mp.mpf(1), 1.5 - (2 * j - 2) * loss)
            for j in range(3)
        )
    # Atoms of losses not on one lattice with 0 are placed exactly: the first part has none.
    for order in (parts, parts[::-1]):
        assert_encloses(delta_bounds(order, 1.5), exact, 1e-5)


@pytest.mark.parametrize(
    "part",
    [
        *slow(((sampled_gaussian(0.01, 1.0), 1000),)),
        (laplace(1.0), 10),
        (MechanismPair(RandomizedResponse(0.6)), 100),
        (sampled_pair(laplace(0.5), 0.1, "add"), 50),
        (gaussian(0.1), 100),
        (sampled_gaussian(0.1, 2.0, "add"), 1),
    ],
)
@pytest.mark.parametrize("delta", [1e-12, 0.3])
def test_epsilon_inverts_delta(part: tuple[DominatingPair, int], delta: float) -> None:
    composition = Composition([part], rtol=1e-4)
    lower, upper = composition.epsilon_bounds(delta)
    assert lower <= upper <= lower + 1e-4 * max(abs(lower), 0.1) + 1e-4
    # A second run on the ends, at their own tilts.
    assert delta_bounds([part], upper, rtol=1e-4)[0] <= delta
    assert delta_bounds([part], lower - 1e-12, rtol=1e-4)[1] >= delta * (1.0 - 1e-9)


def test_extreme_counts_and_rates_stay_bounded() -> None:
    for part, epsilon in (
        ((sampled_gaussian(1e-8, 1.0), 10**6), 1e-4),
        ((sampled_gaussian(0.01, 4.0), 10**9), 4000.0),
        ((sampled_gaussian(0.01, 0.1), 10_000), 5000.0),
    ):
        lower, upper = delta_bounds([part], epsilon, max_points=2**16)
        assert 0.0 <= lower <= upper <= 1.0


@pytest.mark.parametrize(
    ("parts", "epsilon", "width"),
    [
        ([(sampled_gaussian(0.00033, 4.0), 10_000)], 0.05, 1e-5),
        ([(sampled_gaussian(0.125, 0.8), 1000)], 30.0, 1e-5),
        ([(sampled_gaussian(0.001, 1e4), 10**6)], 1e-4, 2e-5),
        *slow(([(sampled_gaussian(0.01, 1.0), 10**6)], 100.0, 1e-3)),
        *slow(([(sampled_gaussian(0.01, 1.0), 100)], 40.0, 1e-5)),
        ([(laplace(1000.0), 100)], 0.01, 1e-5),
        ([(Pair.randomized_response(0.5001, 2), 10**6)], 0.5, 1e-6),
        ([(sampled_pair(laplace(1.0), 0.01), 10_000)], 1.0, 1e-5),
        ([(sampled_pair(laplace(1.0), 0.01, "add"), 10_000)], 1.0, 1e-5),
        ([(Pair.bounded_range(0.05), 5000)], 2.0, 1e-5),
        *slow(([(laplace(20.0), 300), (Pair.discrete_gaussian(30.0, 1), 200)], 1.0, 1e-3)),
        ([(sampled_pair(gaussian(1.0), 0.05), 500), (laplace(5.0), 20)], 4.0, 1e-5),
    ],
)
def test_brackets_are_narrow_and_agree_with_coarse_ones(
    parts: list[Part], epsilon: float, width: float
) -> None:
    low, high = delta_bounds(parts, epsilon)
    assert 0.0 < low < high <= low + width * high
    for points in (2**12, 2**14):
        lower, upper = delta_bounds(parts, epsilon, max_points=points)
        assert lower <= high
        assert upper >= low


# --- the composition of the engine


POINTS = 2**14


def discrete(p: list[float], q: list[float]) -> Pair:
    return Pair.discrete(np.array(p), np.array(q))


@pytest.mark.parametrize("count", [2, 3000, *slow(50, 10**6)])
@pytest.mark.parametrize("delta", [1e-3, 1e-300, *slow(1e-12)])
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
        low, high = alone.delta_bounds(epsilon)
        assert bounds[0] <= high
        assert low <= bounds[1]
