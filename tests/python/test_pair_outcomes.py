"""Pairs of finitely many outcomes and of noise on the integers, by summing their outcomes."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from pair_reference import Law, bounds, hockey_stick

from renyi._engine import Pair

EPSILONS = (-0.7, 0.0, 0.03, 0.4, 1.1, 3.0)


def check(pair: Pair, p: Law, q: Law, width: float = 1e-6) -> None:
    with mp.workdps(50):
        for one, first, second in ((pair, p, q), (pair.reversed(), q, p)):
            for epsilon in EPSILONS:
                exact = hockey_stick(first, second, epsilon)
                lower, upper = bounds(one, epsilon)
                assert lower <= exact <= upper
                assert upper - lower <= width * upper + 1e-300


def law(masses: object) -> Law:
    return {i: mp.mpf(x) for i, x in enumerate(masses) if x}


@pytest.mark.parametrize("size", [2, 5, 400])
def test_discrete(size: int) -> None:
    rng = np.random.default_rng(size)
    p, q = rng.multinomial(2**50, rng.dirichlet(np.full(size, 0.7), 2)) / 2.0**50  # of sum 1
    check(Pair.discrete(p, q), law(p), law(q))
    one, two = np.append(p, 0.0), np.insert(q, 0, 0.0)  # each where the other is not
    check(Pair.discrete(one, two), law(one), law(two))


def test_discrete_symmetry_is_proved() -> None:
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.7, 0.1])
    assert Pair.discrete(p, q).symmetric
    assert not Pair.discrete(p, q[::-1].copy()).symmetric


def test_masses_of_all_sizes() -> None:
    p, q = np.array([1.0, 5e-324, 1e-300, 0.0]), np.array([1e-310, 1.0, 1e-305, 0.0])
    check(Pair.discrete(p, q), law(p), law(q))


@pytest.mark.parametrize("choices", [1, 2, 3, 7, 10**6])
@pytest.mark.parametrize("p", [0.0, 1e-12, 1 / 3, 0.5, 0.75, 1 - 2**-50, 1.0])
def test_randomized_response(p: float, choices: int) -> None:
    with mp.workdps(50):
        k, true = choices, mp.mpf(p) if choices > 1 else mp.mpf(1)
        other = (1 - true) / max(k - 1, 1)
        rest = {"rest": (k - 2) * other} if k > 2 else {}
        one: Law = {"a": true, **rest, **({"b": other} if k > 1 else {})}
        two: Law = {"b": true, "a": other, **rest} if k > 1 else one
        check(Pair.randomized_response(p, choices), one, two)
        uniform: Law = {"a": mp.mpf(1) / k, "b": mp.mpf(k - 1) / k}
        answer: Law = {"a": true, "b": 1 - true}
        check(Pair.response_against_uniform(p, choices), answer, uniform)


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1.0, 40.0, 700.0])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 1.0])
def test_approximate_privacy(epsilon: float, delta: float) -> None:
    with mp.workdps(50):
        rest, e = 1 - mp.mpf(delta), mp.exp(epsilon)
        p: Law = {"only P": mp.mpf(delta), "a": rest * e / (1 + e), "b": rest / (1 + e)}
        q: Law = {"only Q": mp.mpf(delta), "b": rest * e / (1 + e), "a": rest / (1 + e)}
        check(Pair.approximate_privacy(epsilon, delta), p, q)


@pytest.mark.parametrize("sigma", [0.05, 0.4, 1.0, 3.7, 40.0])
@pytest.mark.parametrize("shift", [1, 2, 7])
def test_discrete_gaussian(sigma: float, shift: int) -> None:
    with mp.workdps(50):
        reach = math.ceil(40.0 * sigma) + shift
        masses = [mp.exp(-((mp.mpf(x) / sigma) ** 2) / 2) for x in range(-reach, reach + 1)]
        total = mp.fsum(masses)
        q: Law = {x - reach: mass / total for x, mass in enumerate(masses)}
        p: Law = {x + shift: mass for x, mass in q.items()}
        check(Pair.discrete_gaussian(sigma, shift), p, q)


@pytest.mark.parametrize("sigma", [2e4, 1e5])
def test_discrete_gaussian_of_many_outcomes(sigma: float) -> None:
    shift, epsilon = round(1.3 * sigma), 0.8
    # P beats e^epsilon Q from x on; with sums to about 1e-15 of themselves.
    x = math.ceil(shift / 2 + epsilon * sigma * sigma / shift)
    noise = np.arange(math.ceil(12.0 * sigma), -1, -1, dtype=np.longdouble)
    half = np.exp(-0.5 * (noise / np.longdouble(sigma)) ** 2)
    total = 2 * half.sum() - 1
    upper_tail = lambda start: half[: half.size - start].sum()  # noqa: E731
    from_p = total - upper_tail(shift - x + 1) if x < shift else upper_tail(x - shift)
    exact = (from_p - np.exp(np.longdouble(epsilon)) * upper_tail(x)) / total
    lower, upper = bounds(Pair.discrete_gaussian(sigma, shift), epsilon)
    assert lower <= exact * (1 + 1e-13)
    assert exact * (1 - 1e-13) <= upper <= lower * (1 + 1e-6)


@pytest.mark.parametrize("scale", [0.02, 0.5, 1.0, 30.0, 1e9])
@pytest.mark.parametrize("shift", [1, 2, 9])
def test_discrete_laplace(scale: float, shift: int) -> None:
    with mp.workdps(50):
        r = mp.exp(-1 / mp.mpf(scale))
        inner, end = (1 - r) / (1 + r), 1 / (1 + r)
        p: Law = {x: inner * r ** (shift - x) for x in range(1, shift)} | {
            0: end * r**shift,
            shift: end,
        }
        q: Law = {x: inner * r**x for x in range(1, shift)} | {0: end, shift: end * r**shift}
        check(Pair.discrete_laplace(scale, shift), p, q)


def test_discrete_laplace_of_many_outcomes() -> None:
    # Of a million steps the loss is continuous but for 1e-6 of itself.
    shift, scale, epsilon = 2**20, 2.0**20, 0.5
    lower, upper = bounds(Pair.discrete_laplace(scale, shift), epsilon)
    assert lower <= upper <= lower * (1 + 1e-5)
    assert abs(upper + math.expm1((epsilon - 1.0) / 2.0)) < 1e-5
