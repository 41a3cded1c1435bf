"""The multi-precision privacy curve against closed forms, direct quadrature and the table."""

from __future__ import annotations

import importlib
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from mpmath import mp

from renyi import reference

TABLES = Path(__file__).resolve().parents[1] / "reference"
sys.path.insert(0, str(TABLES))
POINTS = importlib.import_module("make_curve").load()


def one_step(q, sigma, epsilon, direction):
    """delta of one step: the best event is a half-line (the loss is monotone)."""
    power = mp.exp(epsilon)
    odds = ((power if direction == "remove" else 1 / power) - 1 + q) / q
    if odds <= 0:
        return 1 - power if direction == "remove" else mp.zero
    x = mp.mpf(1) / 2 + sigma**2 * mp.log(odds)
    if direction == "remove":
        near, far = mp.ncdf(-x / sigma), mp.ncdf((1 - x) / sigma)
        return (1 - q - power) * near + q * far
    near, far = mp.ncdf(x / sigma), mp.ncdf((x - 1) / sigma)
    return near - power * ((1 - q) * near + q * far)


def two_steps(q, sigma, epsilon, direction):
    """E[delta_1(epsilon - L)] over the loss L of the other step."""

    def loss(u):
        value = mp.log1p(q * mp.expm1(u / sigma - 1 / (2 * sigma**2)))
        return value if direction == "remove" else -value

    def integrand(u):
        rest = one_step(q, sigma, epsilon - loss(u), direction)
        density = mp.npdf(u)
        if direction == "remove":
            density = (1 - q) * density + q * mp.npdf(u - 1 / sigma)
        return density * rest

    edge = mp.log1p(-q)
    limit = epsilon - edge if direction == "remove" else -(epsilon + edge)
    cuts = [mp.mpf(c) for c in (-16, -6, -3, 0, 3, 6, 16)]
    if (odds := mp.expm1(limit) / q + 1) > 0:  # where the other loss is at its end
        cuts.append(sigma * mp.log(odds) + 1 / (2 * sigma))
    cuts = sorted(c for c in cuts if -16 <= c <= 16)
    return mp.quad(integrand, cuts)


@pytest.mark.parametrize(
    ("q", "sigma", "epsilon", "direction"),
    [("0.1", 1, "0.5", "remove"), ("0.3", 2, "0.1", "add"), (1, "0.7", 3, "remove")],
)
def test_one_step(q, sigma, epsilon, direction):
    with mp.workdps(50):
        numbers = [mp.mpf(Fraction(x).numerator) / Fraction(x).denominator for x in (q, sigma)]
        exact = one_step(*numbers, mp.mpf(epsilon), direction)
        value = reference.delta([(q, sigma, 1)], epsilon, direction, digits=8)
        assert abs(value / exact - 1) < 1e-8


def test_two_steps():
    with mp.workdps(20):
        exact = two_steps(mp.mpf("0.25"), mp.mpf(2), mp.mpf("0.5"), "add")
        value = reference.delta([("0.25", 2, 2)], "0.5", "add", digits=10)
        assert abs(value / exact - 1) < 1e-10


def test_where_nothing_can_be_gained():
    with mp.workdps(30):
        value = reference.delta([("0.1", 1, 3)], -1, "remove")
        assert abs(value / (1 - mp.exp(-1)) - 1) < mp.mpf(10) ** -20
    assert reference.delta([("0.1", 1, 3)], "0.4", "add") == 0


def test_duality():
    """delta_add(eps) = 1 - e^eps + e^eps delta_remove(-eps)."""
    steps, epsilon = [("0.2", 2, 20), (1, 8, 1)], mp.mpf("0.25")
    add = reference.delta(steps, epsilon, "add", digits=10)
    removed = reference.delta(steps, -epsilon, "remove", digits=10)
    assert abs(add / (1 - mp.exp(epsilon) * (1 - removed)) - 1) < 1e-8


def test_the_table():
    """Other paths, another rule and other arithmetic than those of the table."""
    chosen = [p for p in POINTS if p.kind == "random" and 1e3 <= p.steps[0][2] <= 1e5][:1]
    for point in chosen:
        value = reference.delta(point.steps, point.epsilon, point.direction, digits=10)
        assert abs((value - point.hi - mp.mpf(point.lo)) / value) < 1e-10


def test_table_covers_what_it_should():
    assert len(POINTS) >= 400
    random = [p for p in POINTS if p.kind == "random"]
    assert min(p.hi for p in POINTS if p.hi > 0) < 1e-250
    assert {p.direction for p in random} == {"remove", "add"}
    assert min(p.steps[0][2] for p in random) == 1
    assert max(p.steps[0][2] for p in random) > 5e5
    assert sum(len(p.steps) > 1 for p in POINTS) >= 30


@pytest.mark.parametrize(
    ("steps", "epsilon", "direction", "message"),
    [
        ([(1.5, 1, 1)], 1, "add", "q must be"),
        ([(0.5, -1, 1)], 1, "add", "sigma must be positive"),
        ([(0.5, 1, 0)], 1, "add", "count must be a whole number >= 1"),
        ([(0.5, 1, 1)], float("inf"), "add", "epsilon must be finite"),
        ([(0.5, 1, 1)], 1, "both", "direction must be .remove. or .add."),
    ],
)
def test_refusals(steps, epsilon, direction, message):
    with pytest.raises(ValueError, match=message):
        reference.delta(steps, epsilon, direction)


def test_shown_digits():
    assert mpmath.nstr(reference.delta([(1, 1, 1)], 1, digits=15), 15) == "0.126936737506644"
