"""The exact curve against stored points, closed forms and its twin; few steps too."""

from __future__ import annotations

import importlib
import math
import random
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest
from each import slow
from mpmath import mp
from pair_reference import one_step, two_steps
from sampled_runs import composed

from renyi import Gaussian, PLDAccountant, PoissonSampled, reference, special
from renyi._engine import SampledGaussianCurve

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
POINTS = importlib.import_module("curve_tables").load("curve")
HI = np.array([point.hi for point in POINTS])
LO = np.array([point.lo for point in POINTS])
# Many steps, often taken: the transform decays fast and the promise is the strictest.
MANY = np.array(
    [sum(k for *_, k in p.steps) >= 50 and sum(q * k for q, _, k in p.steps) >= 1 for p in POINTS]
)


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
        curve(point).questions(point.direction).answer("delta", np.array([point.epsilon]), out)
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
        curve(point).questions(point.direction).answer("epsilon", np.array([delta, above]), out)
        assert out[0, 1] <= point.epsilon <= out[1, 0], name(point)


# --- the multi-precision curve


@pytest.mark.parametrize(
    ("q", "sigma", "epsilon", "direction"),
    [
        pytest.param("0.1", 1, "0.5", "remove", marks=pytest.mark.slow),
        pytest.param("0.3", 2, "0.1", "add", marks=pytest.mark.slow),
        (1, "0.7", 3, "remove"),
    ],
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


@pytest.mark.slow
def test_duality():
    """delta_add(eps) = 1 - e^eps + e^eps delta_remove(-eps)."""
    steps, epsilon = [("0.2", 2, 20), (1, 8, 1)], mp.mpf("0.25")
    add = reference.delta(steps, epsilon, "add", digits=10)
    removed = reference.delta(steps, -epsilon, "remove", digits=10)
    assert abs(add / (1 - mp.exp(epsilon) * (1 - removed)) - 1) < 1e-8


@pytest.mark.slow
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


# --- closed forms


DIGITS = 25


def encloses(name, point, exact):
    lower, upper = (float(getattr(special, name + side)(*point)) for side in ("_lower", "_upper"))
    with mp.workdps(DIGITS + 10):
        assert mp.mpf(lower) <= exact <= mp.mpf(upper), (name, point, lower, upper, exact)
        if exact > 1e-300:
            value = float(getattr(special, name)(*point))
            assert lower <= value <= upper
    return lower, upper


def units(lower, upper):
    return (upper - lower) / math.ulp(upper)


def gaussian_points(rng):
    mu = 10 ** rng.uniform(-8, 4)
    a = rng.uniform(-min(mu / 2, 8), 37)  # delta from 1 to 1e-300
    epsilon = mu * a + mu * mu / 2
    if rng.random() < 0.3:
        mu, epsilon = min(mu, 10.0), -(10 ** rng.uniform(-8, math.log10(50)))
    if epsilon <= 1e4:
        yield "gaussian_delta", (), (mu, epsilon)


def inverse_points(rng):
    delta = rng.choice((10 ** rng.uniform(-300, 0), rng.random()))
    yield "gaussian_epsilon", (), (10 ** rng.uniform(-6, 1), delta)
    yield "gaussian_mu", (), (10 ** rng.uniform(-6, 1.5), delta)


def tradeoff_points(rng):
    x = rng.uniform(-7, 36)
    mu, alpha = max(x + rng.uniform(-7, 36), 1e-6), 0.5 * math.erfc(x / math.sqrt(2))
    if alpha < 1.0:
        yield "gaussian_tradeoff", (), (mu, alpha)


def sampled_points(rng):
    q = rng.choice((10 ** rng.uniform(-12, 0), rng.random(), 1 - 10 ** rng.uniform(-12, -1)))
    sigma = rng.choice((10 ** rng.uniform(-2, 6), 10 ** rng.uniform(-1, 1)))
    level = (rng.uniform(-8, 36) + 0.5 / sigma) / sigma
    side = rng.choice(("remove", "add"))
    if rng.random() < 0.2:
        epsilon = rng.uniform(-50, 0)
    elif side == "add":
        epsilon = -math.log1p(q * math.expm1(-max(level, -700.0)))
    else:
        epsilon = math.log1p(q * math.expm1(level)) if level < 700 else level + math.log(q)
    if abs(epsilon) <= 1e4 and not (side == "add" and epsilon >= -math.log1p(-q)):
        yield "sampled_gaussian_delta", (side,), (q, sigma, epsilon)


def sampled_inverse_points(rng):
    q, sigma = 10 ** rng.uniform(-6, 0), 10 ** rng.uniform(-1, 2)
    delta = rng.choice((10 ** rng.uniform(-100, 0), rng.random(), q * rng.random()))
    for side in ("remove", "add"):
        yield "sampled_gaussian_epsilon", (side,), (q, sigma, delta)


@pytest.mark.parametrize(
    ("draw", "count", "most"),
    [  # the width of a bracket in units of the last place
        (gaussian_points, 80, 2),
        (inverse_points, 4, 8),
        (tradeoff_points, 5, 4),
        (sampled_points, 90, 2),
        (sampled_inverse_points, 15, 8),
    ],
)
def test_closed_forms_are_enclosed(draw, count, most):
    rng, narrow = random.Random(count), []
    for family, side, point in (one for _ in range(count) for one in draw(rng)):
        exact = getattr(reference, family)(*point, *side, DIGITS)
        lower, upper = encloses("_".join((family, *side)), point, exact)
        narrow.append(units(lower, upper) <= most or lower == 0.0)
        if draw is sampled_inverse_points:
            # For `add` and a tiny delta the root sits next to the end of the losses.
            assert upper - lower <= 1e-9 * abs(upper)
            assert narrow[-1] or (side == ("add",) and point[2] <= 1e-10)
    assert np.mean(narrow) > 0.8
    assert all(narrow) or draw in (sampled_points, sampled_inverse_points)


def test_underflow_is_bounded_honestly():
    smallest = np.finfo(float).tiny
    assert special.gaussian_delta_lower(1.0, 60.0) == 0.0
    assert special.gaussian_delta_upper(1.0, 60.0) == smallest
    assert special.sampled_gaussian_delta_remove_upper(0.01, 1.0, 60.0) == smallest
    assert special.sampled_gaussian_delta_add_upper(0.01, 1.0, 60.0) == 0.0  # exact


def test_ends_of_the_closed_curves():
    tiny, huge = 5e-324, 1e308
    near = np.array([tiny, 1e-300, 1e-30, 1e-12, 1e-3, 0.5, 1 - 2.0**-53, 1.0])
    levels = np.array([0.0, tiny, 1e-300, 1e-9, 1.0, 800.0, 1e30, huge])
    mus, sigmas = [tiny, 1e-300, 1e-30, 1.0, 1e30, 1e300], [1e-100, 1e-3, 1.0, 1e100, 1e300]
    grids = {"gaussian": [mus], "sampled_gaussian": [[1e-100, *near[3:]], sigmas]}
    for family, parameters in grids.items():
        for side in [""] if family == "gaussian" else ["_remove", "_add"]:
            for kind, last in (("delta", [*-levels[::-1], *levels]), ("epsilon", near)):
                point = np.meshgrid(*parameters, last)
                low, high = (
                    getattr(special, f"{family}_{kind}{side}{end}")(*point)
                    for end in ("_lower", "_upper")
                )
                assert (low <= high).all()
                assert kind == "epsilon" or ((low >= 0.0) & (high <= 1.0)).all()
    low, high = (
        f(*np.meshgrid(levels, near))
        for f in (special.gaussian_mu_lower, special.gaussian_mu_upper)
    )
    assert (low <= high).all()
    for side in ("remove", "add"):  # all records are sampled, or none
        delta = getattr(special, f"sampled_gaussian_delta_{side}")
        epsilons = np.array([-3.0, -1e-9, 0.0, 0.1, 5.0])
        assert (delta(1.0, 0.5, epsilons) == special.gaussian_delta(2.0, epsilons)).all()
        assert delta(0.0, 1.0, 0.0) == delta(0.5, math.inf, 0.0) == 0.0
        assert delta(0.0, 1.0, -1.0) == pytest.approx(-math.expm1(-1.0), rel=1e-15)
    assert special.gaussian_delta([0.0, math.inf], 1.0).tolist() == [0.0, 1.0]
    assert special.gaussian_delta(1.0, [math.inf, -math.inf]).tolist() == [0.0, 1.0]
    assert special.gaussian_epsilon(1.0, [0.0, 1.0]).tolist() == [math.inf, -math.inf]
    assert special.gaussian_mu(1.0, [0.0, 1.0]).tolist() == [0.0, math.inf]
    assert special.gaussian_tradeoff([1.0, 1.0, 0.0], [0.0, 1.0, 0.25]).tolist() == [1.0, 0.0, 0.75]
    low, high = (
        getattr(special, f"sampled_gaussian_epsilon_add_{end}")(0.1, 1.0, 0.0)
        for end in ("lower", "upper")
    )
    assert low <= -math.log1p(-0.1) <= high
    assert special.sampled_gaussian_epsilon_remove(0.1, 1.0, 0.0) == math.inf


def test_bounds_are_monotone():
    rng = np.random.default_rng(6)
    mu, epsilon = 10 ** rng.uniform(-3, 1.5, 3000), rng.uniform(-1, 30, 3000)
    for side in ("_lower", "_upper"):
        delta = getattr(special, "gaussian_delta" + side)
        assert np.all(delta(mu, epsilon) >= delta(mu, epsilon * (1 + 1e-13) + 1e-13))
        assert np.all(delta(mu, epsilon) <= delta(mu * (1 + 1e-13), epsilon))


# --- few steps: every bracket contains the truth, no answer is below it

# Replaced records inside the bulk of few steps go through lattices, which take seconds.
FEW = [
    point
    for i, point in enumerate(importlib.import_module("curve_tables").load("few_steps"))
    if point.direction != "replace" or i % 6 == 0
]
ULP = 2.0**-52


def accountant(point):
    """The composition, and which direction of it is meant."""
    replaced = point.direction == "replace"
    ledger = composed(*point.steps, adjacency="replace_one" if replaced else "add_remove")
    return ledger, {} if replaced else {"direction": point.direction}


def excess(value, point):
    """By how much a delta is above the true one, relatively; right to `point.error`."""
    return ((value - point.hi) - point.lo) / point.hi


@pytest.mark.parametrize("chosen", [slice(11, None, 9), *slow(slice(None))], ids=["some", "all"])
@pytest.mark.parametrize(
    ("kind", "direction"), sorted({(point.kind, point.direction) for point in FEW})
)
def test_the_truth_lies_inside_and_no_answer_is_below_it(kind, direction, chosen):
    """At a delta above the true one epsilon is no larger than stored; below it, no smaller."""
    family = [p for p in FEW if (p.kind, p.direction) == (kind, direction)]
    listed = kind == "listed"  # all of them, where answers were once wide
    for point in family if listed else family[chosen]:
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


@pytest.mark.parametrize("kind", ["few", *slow("replace", "listed", "mixed")])
def test_the_table_is_what_its_script_makes(kind):
    """One point of each kind again, on panels of its own."""
    oracle = importlib.import_module("few_steps")
    point = min(
        (p for p in FEW if p.kind == kind), key=lambda p: sum(count for *_, count in p.steps)
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
