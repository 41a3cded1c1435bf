"""Bounds for selection and divergences of random allocation in renyi.reference, by other routes."""

from __future__ import annotations

import math
import random
from functools import partial
from itertools import pairwise

import pytest
from mpmath import mp

from renyi.reference import rdp_gaussian, rdp_random_allocation, rdp_repeat_and_select


def selected(masses, runs):
    """Law of the best of N outputs, the last the best; ``runs`` is the generating function of N."""
    total, values = mp.zero, [runs(mp.zero)]
    for mass in masses[:-1]:
        total += mass
        values.append(runs(total))
    values.append(mp.one)
    return [y - x for x, y in pairwise(values)], values[0]


def test_selection_bounds_hold():
    """Random pairs on up to five outputs, the law of the selected output computed exactly."""
    rng = random.Random(1)

    def draw(n):
        found = [
            mp.mpf(rng.gammavariate(rng.choice([0.5, 3]), 1)) + mp.mpf("1e-6") for _ in range(n)
        ]
        return [x / mp.fsum(found) for x in found]

    def divergence(p, q, alpha, atom=0):
        total = mp.fsum(x**alpha * y ** (1 - alpha) for x, y in zip(p, q, strict=True)) + atom
        return mp.log(total) / (alpha - 1)

    for turn in range(4):
        n = rng.randint(2, 5)
        p, q = draw(n), draw(n)
        losses = [abs(mp.log(x / y)) for x, y in zip(p, q, strict=True)]

        def base(alpha, digits, p=p, q=q):
            if alpha == 1:
                pairs = list(zip(p, q, strict=True))
                return max(
                    mp.fsum(x * mp.log(x / y) for x, y in pairs),
                    mp.fsum(y * mp.log(y / x) for x, y in pairs),
                )
            return max(divergence(p, q, alpha), divergence(q, p, alpha))

        alpha = 1 + mp.mpf(10) ** rng.uniform(-1, 1.5)
        gamma = mp.mpf(10) ** rng.uniform(-2, -0.1)
        for eta in (-0.5, 0, 1, 3.0):
            mean = (
                eta * (1 - gamma) / (gamma * (1 - gamma**eta))
                if eta
                else (1 / gamma - 1) / -mp.log(gamma)
            )

            def runs(x, eta=eta, gamma=gamma):
                if eta == 0:
                    return mp.log(1 - (1 - gamma) * x) / mp.log(gamma)
                return ((1 - (1 - gamma) * x) ** -eta - 1) / (gamma**-eta - 1)

            first, second = (selected(masses, runs)[0] for masses in (p, q))
            bound = rdp_repeat_and_select(base, mean, eta, alpha, math.inf, max(losses), 6)
            assert divergence(first, second, alpha) <= bound * (1 + mp.mpf("1e-5"))
        mean = mp.mpf(10) ** rng.uniform(-1, 1)
        (first, none), (second, _) = (
            selected(masses, lambda x, mean=mean: mp.exp(mean * (x - 1))) for masses in (p, q)
        )
        if turn == 0:
            bound = rdp_repeat_and_select(base, mean, math.inf, alpha, math.inf, max(losses), 4)
            assert divergence(first, second, alpha, none) <= bound * (1 + mp.mpf("1e-3"))


def test_selection_of_one_run_is_the_run():
    base = partial(rdp_gaussian, 2)
    for eta in (-0.5, 0, 1, 3):
        value = rdp_repeat_and_select(base, 1, eta, 8, digits=10)
        assert abs(value - 1) < 1e-9
    # geometric: the mean is 1/gamma; the best second order solves a quadratic equation
    value = rdp_repeat_and_select(base, 100, 1, 8, digits=10)
    beta = mp.sqrt(8 * mp.log(100))
    cost = 2 * ((beta - 1) / 8 + mp.log(100) / beta)
    assert abs(value - (1 + cost + mp.log(100) / 7)) < 1e-9


def test_allocation_of_one_step_is_the_gaussian():
    for direction in ("remove", "add"):
        for alpha in (2, 5):
            value = rdp_random_allocation(1.5, 1, alpha, direction, 10)
            assert abs(value - rdp_gaussian(1.5, alpha, 15)) < 1e-9
    assert rdp_random_allocation(math.inf, 10, 3) == 0
    kullback = rdp_random_allocation(1.5, 1, 1, "add", 10)
    assert abs(kullback - rdp_gaussian(1.5, 1, 15)) < 1e-9


def test_allocation_of_two_steps_is_the_integral():
    sigma, alpha = mp.mpf(1), mp.mpf(3)

    def ratio(x, y):
        return (mp.exp((2 * x - 1) / (2 * sigma**2)) + mp.exp((2 * y - 1) / (2 * sigma**2))) / 2

    def moment(order):
        h = mp.mpf(1) / 5  # the trapezoidal rule converges geometrically
        grid = [i * h for i in range(-50, 75)]
        weights = [mp.npdf(x, 0, sigma) * h for x in grid]
        terms = (
            v * w * ratio(x, y) ** order
            for x, v in zip(grid, weights, strict=True)
            for y, w in zip(grid, weights, strict=True)
        )
        return mp.log(mp.fsum(terms)) / (alpha - 1)

    for direction, order in (("remove", alpha), ("add", 1 - alpha)):
        value = rdp_random_allocation(1, 2, 3, direction, 10)
        assert abs(value - moment(order)) < 1e-9


def test_allocation_falls_with_the_steps_and_rises_with_the_order():
    values = [rdp_random_allocation(1, t, 3, digits=12) for t in (1, 2, 10, 10**6)]
    assert values == sorted(values, reverse=True)
    values = [rdp_random_allocation(1, 10, a, digits=12) for a in (1, 2, 2.5, 3, 30)]
    assert values == sorted(values)
    # with many steps and few effective records it is like sampling at the rate 1/t
    value = rdp_random_allocation(2, 10**6, 2, digits=12)
    assert abs(value / (mp.expm1(mp.mpf(1) / 4) / 10**6) - 1) < 1e-5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rdp_repeat_and_select(None, 0.5, 0, 2),
            "mean must be > 0, >= 1 and finite, got 0.5",
        ),
        (lambda: rdp_repeat_and_select(None, 2, -1, 2), "shape must be > -1, got -1"),
        (lambda: rdp_repeat_and_select(None, 2, 0, 1), "alpha must be > 1, got 1"),
        (lambda: rdp_random_allocation(1, 0, 2), "steps must be a whole number >= 1, got 0"),
        (
            lambda: rdp_random_allocation(1, 2, 2, "both"),
            "direction must be 'remove' or 'add', got 'both'",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the message is compared below)
        call()
    assert message in str(caught.value)
