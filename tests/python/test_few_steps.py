"""Few steps against independent values: every bracket contains the truth, no answer is below it."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import mpmath as mp
import pytest
from each import slow
from pair_reference import two_steps
from sampled_runs import composed

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


def accountant(point):
    """The composition, and which direction of it is meant."""
    replaced = point.direction == "replace"
    ledger = composed(*point.steps, adjacency="replace_one" if replaced else "add_remove")
    return ledger, {} if replaced else {"direction": point.direction}


def excess(value, point):
    """By how much a delta is above the true one, relatively; right to `point.error`."""
    return ((value - point.hi) - point.lo) / point.hi


@pytest.mark.parametrize("every", [9, *slow(1)])
@pytest.mark.parametrize(
    ("kind", "direction"), sorted({(point.kind, point.direction) for point in POINTS})
)
def test_the_truth_lies_inside_and_no_answer_is_below_it(kind, direction, every):
    """At a delta above the true one epsilon is no larger than stored; below it, no smaller."""
    family = [p for p in POINTS if (p.kind, p.direction) == (kind, direction)]
    listed = kind == "listed"  # all of them, where answers were once wide
    for point in family if listed else family[::every]:
        ledger, only = accountant(point)
        lower, upper = ledger.get_delta_bounds(point.epsilon, **only)
        assert excess(lower, point) <= point.error, name(point)
        assert not listed or upper <= lower * (1 + 1e-6), name(point)
        assert excess(upper, point) >= -point.error, name(point)
        assert excess(ledger.get_delta(point.epsilon, **only), point) >= -point.error, name(point)
        if not 1e-300 < point.hi < 1:
            continue
        above = min(1.0, point.hi * (1 + point.error + 2 * ULP))
        below = point.hi * (1 - point.error - 2 * ULP)
        assert ledger.get_epsilon_bounds(above, **only)[0] <= point.epsilon, name(point)
        assert ledger.get_epsilon_bounds(below, **only)[1] >= point.epsilon, name(point)
        assert ledger.get_epsilon(below, **only) >= point.epsilon, name(point)


@pytest.mark.parametrize("kind", ["few", "replace", *slow("listed", "mixed")])
def test_the_table_is_what_its_script_makes(kind):
    """One point of each kind again, on panels of its own."""
    oracle = importlib.import_module("few_steps")
    point = min(
        (p for p in POINTS if p.kind == kind), key=lambda p: sum(count for *_, count in p.steps)
    )
    found = oracle.delta(point.steps, point.direction, point.epsilon, oracle.OTHER)
    assert abs(excess(found, point)) <= point.error


@pytest.mark.parametrize(("q", "sigma"), [(0.1, 0.4), (0.5, 0.8), *slow((0.3, 0.5), (0.02, 0.3))])
@pytest.mark.parametrize("part", [0.05, *slow(0.0, 1e-3, 0.3, 0.6)])
def test_two_added_steps_that_lose_little(q, sigma, part):
    epsilon = part * -2 * math.log1p(-q)
    ledger = PLDAccountant().compose(PoissonSampled(Gaussian(sigma), q), 2)
    lower, upper = ledger.get_delta_bounds(epsilon, direction="add")
    with mp.workdps(25):
        truth = two_steps(mp.mpf(q), mp.mpf(sigma), mp.mpf(epsilon), "add")
    assert lower <= truth * (1 + mp.mpf(10) ** -15)
    assert upper >= truth * (1 - mp.mpf(10) ** -15)
    assert part > 0.1 or upper <= lower * (1 + 2e-5)
