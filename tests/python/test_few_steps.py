"""Few steps against independent values: every bracket contains the truth, no answer is below it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from renyi import Gaussian, PLDAccountant, PoissonSampled

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
# Replaced records inside the bulk of few steps go through lattices, which take seconds.
POINTS = [
    point
    for i, point in enumerate(importlib.import_module("make_few_steps").load())
    if point.direction != "replace" or i % 6 == 0
]
ULP = 2.0**-52


def name(point):
    steps = "+".join(f"{k}x({q:.3g},{sigma:.3g})" for q, sigma, k in point.steps)
    return f"{point.direction}-{point.epsilon:.6g}-{steps}-{point.hi:.3g}"


ALL = pytest.mark.parametrize("point", POINTS, ids=name)
NORMAL = pytest.mark.parametrize("point", [p for p in POINTS if 1e-300 < p.hi < 1], ids=name)


def accountant(point):
    """The composition, and which direction of it is meant."""
    replaced = point.direction == "replace"
    ledger = PLDAccountant("replace_one" if replaced else "add_remove")
    for q, sigma, count in point.steps:
        gaussian = Gaussian(sigma)
        ledger.compose(gaussian if q == 1 else PoissonSampled(gaussian, q), count)
    return ledger, {} if replaced else {"direction": point.direction}


def excess(value, point):
    """By how much a delta is above the true one, relatively; right to `point.error`."""
    return ((value - point.hi) - point.lo) / point.hi


@ALL
def test_delta_bounds_contain_the_truth(point):
    ledger, direction = accountant(point)
    lower, upper = ledger.get_delta_bounds(point.epsilon, **direction)
    assert excess(lower, point) <= point.error
    assert excess(upper, point) >= -point.error


@ALL
def test_delta_is_not_below_the_truth(point):
    ledger, direction = accountant(point)
    assert excess(ledger.get_delta(point.epsilon, **direction), point) >= -point.error


@NORMAL
def test_epsilon_bounds_contain_the_truth(point):
    """At a delta surely above the true one, epsilon is no larger; below it, no smaller."""
    ledger, direction = accountant(point)
    above = min(1.0, point.hi * (1 + point.error + 2 * ULP))
    assert ledger.get_epsilon_bounds(above, **direction)[0] <= point.epsilon
    below = point.hi * (1 - point.error - 2 * ULP)
    assert ledger.get_epsilon_bounds(below, **direction)[1] >= point.epsilon


@NORMAL
def test_epsilon_is_not_below_the_truth(point):
    ledger, direction = accountant(point)
    below = point.hi * (1 - point.error - 2 * ULP)
    assert ledger.get_epsilon(below, **direction) >= point.epsilon


@pytest.mark.parametrize("kind", ["listed", "few", "mixed", "replace"])
def test_the_table_is_what_its_script_makes(kind):
    """One point of each kind again, on panels of its own."""
    oracle = importlib.import_module("few_steps")
    point = min(
        (p for p in POINTS if p.kind == kind), key=lambda p: sum(count for *_, count in p.steps)
    )
    found = oracle.delta(point.steps, point.direction, point.epsilon, oracle.OTHER)
    assert abs(excess(found, point)) <= point.error
