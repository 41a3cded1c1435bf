"""The exact curve against every stored point: containment always, accuracy where contours answer.

Where few effective steps meet a tiny delta (and at the very end of the losses of the add direction)
no contour answers, and lattices take seconds: a sample of these is tested here, all of them in
bench/curve_accuracy.py.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import renyi
from renyi import Gaussian, PoissonSampled
from renyi._curve import SampledGaussianCurve

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
POINTS = importlib.import_module("make_curve").load()
HI = np.array([point.hi for point in POINTS])
LO = np.array([point.lo for point in POINTS])
# Many steps, often taken: the transform decays fast and the promise is the strictest.
MANY = np.array(
    [sum(k for *_, k in p.steps) >= 50 and sum(q * k for q, _, k in p.steps) >= 1 for p in POINTS]
)


def accountant(point):
    ledger = renyi.PLDAccountant()
    for q, sigma, count in point.steps:
        gaussian = Gaussian(sigma)
        ledger.compose(gaussian if q == 1 else PoissonSampled(gaussian, q), count)
    return ledger


def curve(point):
    result = SampledGaussianCurve()
    for q, sigma, count in point.steps:
        result.add(float(q), float(sigma), float(count))
    return result


def name(point):
    steps = ", ".join(f"{k} x ({q:.3g}, {sigma:.3g})" for q, sigma, k in point.steps)
    return f"{point.direction} {point.epsilon:.17g} {steps} delta {point.hi:.3g}"


@cache
def contours():
    """Lower and upper end of the plain answer of the contours, NaN where they have none."""
    found = np.empty((len(POINTS), 3))
    for row, point in zip(found, POINTS, strict=True):
        out = np.empty((3, 1))
        curve(point).delta_into(np.array([point.epsilon]), point.direction == "remove", out)
        row[:] = out[:, 0]
    return found[:, :2]


@cache
def certificates():
    """Certified lower and upper ends of the contours, NaN where they have none."""
    return np.array(
        [curve(p).certified_delta(p.epsilon, p.direction == "remove", 1e-5) for p in POINTS]
    )


def answered():
    return np.isfinite(contours()[:, 1])


def failures(bad):
    return [name(POINTS[i]) for i in np.flatnonzero(bad)]


def above(value):
    """Whether the value is at least the truth, exactly."""
    return value - HI >= LO


def below(value):
    return value - HI <= LO


def relative_error(value):
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(HI == 0, np.where(value < 1e-300, 0, np.inf), abs((value - HI) - LO) / HI)


def test_the_contours_answer_nearly_everywhere():
    assert answered().mean() > 0.9
    assert answered()[MANY].mean() > 0.96


def test_accuracy():
    error = relative_error(contours()[:, 1])
    assert not failures((error > 1e-6) & answered())
    strict = MANY & answered()
    assert (error[strict] <= 1e-9).mean() > 0.98
    assert np.median(error[strict]) <= 1.5e-12


def test_brackets_contain_the_truth():
    lower, upper = contours().T
    assert not failures(answered() & ~(below(lower) & above(upper)))


def test_certified_brackets_contain_the_truth_and_are_narrow():
    lower, upper = certificates().T
    found = np.isfinite(upper)
    assert not failures(found & ~(below(lower) & above(upper)))
    assert (upper - lower <= 1e-5 * upper).mean() > 0.9


@pytest.mark.parametrize("rank", [1, 4, 9, 14])
def test_lattices_where_contours_have_no_answer(rank):
    point = POINTS[np.flatnonzero(~answered())[rank]]
    ledger = accountant(point)
    value = ledger.get_delta(point.epsilon, direction=point.direction)
    assert value - point.hi >= point.lo
    lower, upper = ledger.get_delta_bounds(point.epsilon, rtol=1e-2, direction=point.direction)
    assert lower - point.hi <= point.lo <= upper - point.hi


def test_narrower_on_request():
    for point in [p for p in POINTS if p.kind == "listed" and p.hi > 1e-15][:6]:
        lower, upper = curve(point).certified_delta(
            point.epsilon, point.direction == "remove", 1e-8
        )
        if np.isfinite(upper):
            assert lower - point.hi <= point.lo <= upper - point.hi, name(point)
            assert upper - lower <= 1e-8 * upper, name(point)


def test_epsilon_is_the_inverse():
    """At the stored delta, epsilon comes back: never below, and off by rounding only."""
    for i in np.flatnonzero(answered())[::5]:
        point = POINTS[i]
        if not 1e-300 < point.hi < 1 or point.epsilon == 0:
            continue
        # Any delta at most the stored one needs an epsilon at least the stored one, and conversely.
        delta = point.hi if point.lo >= 0 else float(np.nextafter(point.hi, 0))
        above = point.hi if point.lo <= 0 else float(np.nextafter(point.hi, 1))
        remove, out = point.direction == "remove", np.empty((3, 2))
        curve(point).epsilon_into(np.array([delta, above]), remove, out)
        lower, upper = out[0, 1], out[1, 0]
        if not np.isfinite(upper):
            continue
        assert lower <= point.epsilon <= upper, name(point)
        out = np.empty((3, 1))
        curve(point).delta_into(np.array([upper]), remove, out)
        if np.isfinite(out[1, 0]):
            assert delta * (1 - 2e-6) <= out[1, 0] <= delta * (1 + 2e-6), name(point)


def test_both_directions_together():
    for point in [p for p in POINTS if p.kind == "listed"][::6]:
        ledger = accountant(point)
        each = [ledger.get_delta(point.epsilon, direction=d) for d in ("remove", "add")]
        assert ledger.get_delta(point.epsilon) == max(each), name(point)
