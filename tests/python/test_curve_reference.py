"""The exact curve against every stored point: containment always, and narrow brackets."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path

import numpy as np

import renyi
from renyi import Gaussian, PoissonSampled
from renyi._engine import SampledGaussianCurve

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
def brackets():
    """Lower and upper ends of delta at every point."""
    found = np.empty((len(POINTS), 2))
    for row, point in zip(found, POINTS, strict=True):
        out = np.empty((2, 1))
        curve(point).questions(point.direction).delta_into(np.array([point.epsilon]), out)
        row[:] = out[:, 0]
    return found


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


def test_accuracy():
    error = relative_error(brackets()[:, 1])
    assert (error <= 1e-6).mean() > 0.94
    assert (error[MANY] <= 1e-9).mean() > 0.95
    assert np.median(error[MANY]) <= 1.5e-12


def test_brackets_contain_the_truth():
    lower, upper = brackets().T
    assert not failures(~(below(lower) & above(upper)))


def test_epsilon_is_the_inverse():
    """At the stored delta, epsilon comes back: never below, and off by rounding only."""
    for i, point in enumerate(POINTS):
        if i % 3 or not 1e-300 < point.hi < 1 or point.epsilon == 0:
            continue
        # Any delta at most the stored one needs an epsilon at least the stored one, and conversely.
        delta = point.hi if point.lo >= 0 else float(np.nextafter(point.hi, 0))
        above = point.hi if point.lo <= 0 else float(np.nextafter(point.hi, 1))
        out = np.empty((2, 2))
        curve(point).questions(point.direction).epsilon_into(np.array([delta, above]), out)
        assert out[0, 1] <= point.epsilon <= out[1, 0], name(point)


def test_both_directions_together():
    for point in [p for p in POINTS if p.kind == "listed"][::6]:
        ledger = accountant(point)
        each = [ledger.get_delta(point.epsilon, direction=d) for d in ("remove", "add")]
        assert ledger.get_delta(point.epsilon) == max(each), name(point)
