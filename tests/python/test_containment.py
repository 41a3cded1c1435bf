"""log A: lower <= truth <= upper against the reference and 2,000 proven values."""

from __future__ import annotations

import importlib
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from each import slow
from mpmath import mp

from renyi import reference, special
from renyi.theory import correct_rounding

TABLES = Path(__file__).resolve().parents[1] / "reference"
sys.path.insert(0, str(TABLES))

TABLE = importlib.import_module("make_log_a").load(TABLES / "log_a.npz")
Q, SIGMA, ALPHA, HI, LO = (TABLE[k] for k in ("q", "sigma", "alpha", "hi", "lo"))
DERIVATIVES = dict(np.load(TABLES / "derivatives.npz"))

EVERYWHERE = np.full(len(Q), True)
INTEGER = (ALPHA >= 1) & (np.floor(ALPHA) == ALPHA)


@pytest.mark.parametrize(
    ("name", "domain", "error", "answers"),
    [
        ("log_a", EVERYWHERE, 1e-14, True),
        ("log_a_quadrature", EVERYWHERE, 1e-14, True),
        ("log_a_binomial", INTEGER & (np.arange(len(Q)) % 12 == 0), 1e-14, True),
        pytest.param("log_a_binomial", INTEGER, 1e-14, True, marks=pytest.mark.slow),
        ("log_a_series", ALPHA > 1, 1e-12, False),  # NaN where it would need too many terms
    ],
)
def test_log_a_is_enclosed(name, domain, error, answers):
    point = Q[domain], SIGMA[domain], ALPHA[domain]
    lower, upper = (getattr(special, name + end)(*point) for end in ("_lower", "_upper"))
    value = getattr(special, name)(*point)
    answered = ~np.isnan(value)
    assert answered.all() or (not answers and answered.sum() > 100)
    assert (np.isnan(lower) == ~answered).all()
    assert (np.isnan(upper) == ~answered).all()
    # exact rational arithmetic: the truth is hi + lo to 2^-106, far closer than any bracket
    exact = [Fraction(h) + Fraction(e) for h, e in zip(HI[domain], LO[domain], strict=True)]
    for i in np.flatnonzero(answered):
        assert Fraction(lower[i]) <= exact[i] <= Fraction(upper[i]), tuple(
            float(x[i]) for x in point
        )
        assert lower[i] <= value[i] <= upper[i]
    width = (upper - lower)[answered] / HI[domain][answered]
    assert width.max() <= 1e-12
    off = np.abs((value - HI[domain]) - LO[domain])[answered] / HI[domain][answered]
    assert (off <= np.where(HI[domain][answered] < 1e4, error, 4 * error)).all()


def test_routes_decline_elsewhere():
    assert np.isnan(special.log_a_binomial(Q[~INTEGER], SIGMA[~INTEGER], ALPHA[~INTEGER])).all()
    below = ALPHA <= 1
    assert np.isnan(special.log_a_series(Q[below], SIGMA[below], ALPHA[below])).all()


def test_two_series_at_the_parameters_of_the_paper():
    """Section 3.3 of Mironov, Talwar, Zhang 2019: noise 4 and 10, where the terms cancel a lot."""
    for q, sigma, alpha in [(0.01, 1.5, 2.5), (0.01, 4, 1.5), (1e-4, 4, 1.5), (0.01, 10, 8.5)]:
        truth = reference.log_a(q, sigma, alpha, 40)
        lower, upper = (
            special.log_a_series_lower(q, sigma, alpha),
            special.log_a_series_upper(q, sigma, alpha),
        )
        assert lower <= truth <= upper
        assert upper - lower <= 1e-12 * truth


def test_renyi_divergence_is_enclosed():
    chosen = ALPHA > 1
    point = Q[chosen], SIGMA[chosen], ALPHA[chosen]
    value, lower, upper = (
        getattr(special, "rdp_sampled_gaussian" + end)(*point) for end in ("", "_lower", "_upper")
    )
    for low, high, alpha, h, e in zip(lower, upper, point[2], HI[chosen], LO[chosen], strict=True):
        exact = (Fraction(h) + Fraction(e)) / (Fraction(alpha) - 1)
        assert Fraction(low) <= exact <= Fraction(high)
    assert ((upper - lower) / lower).max() <= 1e-12
    np.testing.assert_allclose(value, HI[chosen] / (ALPHA[chosen] - 1), rtol=4e-14)


def test_kullback_leibler():
    q, sigma, exact = (DERIVATIVES[k] for k in ("q", "sigma", "kl"))
    value, lower, upper = (
        getattr(special, "rdp_sampled_gaussian" + end)(q, sigma, 1.0)
        for end in ("", "_lower", "_upper")
    )
    np.testing.assert_allclose(value, exact, rtol=4e-14)
    rounding = 2.0**-53 * exact  # the table holds doubles
    assert (lower <= exact + rounding).all()
    assert (upper >= exact - rounding).all()
    assert ((upper - lower) / exact).max() <= 1e-12


@pytest.mark.parametrize(
    ("q", "sigma"), [(0.01, 1.0), (1e-12, 1e6), (0.5, 0.3), (1.0, 3.0), (1e-5, 0.01), (3e-12, 0.16)]
)
def test_kullback_leibler_is_enclosed(q, sigma):
    exact = reference.rdp_sampled_gaussian(q, sigma, 1, 30)
    assert special.rdp_sampled_gaussian_lower(q, sigma, 1.0) <= exact
    assert exact <= special.rdp_sampled_gaussian_upper(q, sigma, 1.0)


def test_gaussian_is_enclosed():
    rng = np.random.default_rng(20)
    for sigma, alpha in 10.0 ** rng.uniform((-205, 0), (165, 6), (4000, 2)):
        exact = Fraction(alpha) / (2 * Fraction(sigma) ** 2)
        low, high = (
            special.rdp_gaussian_lower(sigma, alpha),
            special.rdp_gaussian_upper(sigma, alpha),
        )
        assert Fraction(float(low)) <= exact <= high
        assert high * (1 - 2.0**-49) <= low + 2e-323 or high == math.inf
    assert special.rdp_gaussian_lower(2.0, 3.0) == special.rdp_gaussian_upper(2.0, 3.0) == 0.375
    assert special.rdp_gaussian_lower(1e-200, 3.0) == np.finfo(float).max
    assert special.rdp_gaussian_upper(1e170, 3.0) == 5e-324


def test_derivatives():
    point = tuple(DERIVATIVES[k] for k in ("q", "sigma", "alpha"))
    first, second = DERIVATIVES["first"], DERIVATIVES["second"]
    np.testing.assert_allclose(special.log_a_derivative(*point), first, rtol=1e-12)
    error = np.abs(special.log_a_second_derivative(*point) - second)
    # a variance of the loss below 1e-30 of its squared mean may vanish
    assert (error <= 1e-9 * second + 1e-30 * first**2).all()


@pytest.mark.parametrize("alpha", [1.0, 3.0, *slow(2.0, 7.0)])
@pytest.mark.parametrize(("q", "sigma"), [(0.5, 0.4), (1e-8, 0.2), *slow((1e-3, 0.3), (1e-8, 0.4))])
def test_derivatives_at_integers(q, sigma, alpha):
    """Little noise: the logarithm in the integrand has a branch point near the real axis, although
    the integrand of A itself has none at an integer order."""
    first = float(reference.log_a(q, sigma, alpha, 17, 1))
    second = float(reference.log_a(q, sigma, alpha, 17, 2))
    assert special.log_a_derivative(q, sigma, alpha) == pytest.approx(first, rel=1e-12)
    assert special.log_a_second_derivative(q, sigma, alpha) == pytest.approx(second, rel=1e-10)


@pytest.mark.parametrize(
    ("q", "sigma", "alpha"),
    [(1e-8, 0.4, 7.25), (5e-12, 1.4, 103.4), (2.9e-9, 1.18, 53.0), (3e-11, 0.29, 5.3)],
)
def test_derivatives_with_two_peaks(q, sigma, alpha):
    """The peak that A may neglect can still carry the variance of the loss."""
    first = float(reference.log_a(q, sigma, alpha, 17, 1))
    second = float(reference.log_a(q, sigma, alpha, 17, 2))
    assert special.log_a_derivative(q, sigma, alpha) == pytest.approx(first, rel=1e-12)
    assert special.log_a_second_derivative(q, sigma, alpha) == pytest.approx(second, rel=1e-9)


def test_complex_orders():
    """Within 1e-11 of A(Re alpha); the table holds A(alpha)/A(Re alpha)."""
    q, sigma, alpha, tau = (DERIVATIVES[k] for k in ("q", "sigma", "alpha", "tau"))
    expected = DERIVATIVES["ratio_real"] + 1j * DERIVATIVES["ratio_imag"]
    order = alpha + 1j * tau
    exact = order.imag == tau  # alpha is real: nothing was rounded
    assert exact.all()
    value = special.log_a(q, sigma, order)
    assert not np.isnan(value).any(), np.flatnonzero(np.isnan(value))
    real_order = special.log_a(q, sigma, alpha)
    small = real_order < 1e4  # else log A itself has lost the digits
    ratio = np.exp(value[small] - real_order[small])
    assert np.abs(ratio - expected[small]).max() <= 1e-11


def test_complex_order_on_the_real_axis():
    q, sigma, alpha = (DERIVATIVES[k] for k in ("q", "sigma", "alpha"))
    value = special.log_a(q, sigma, alpha + 0j)
    np.testing.assert_allclose(value.real, special.log_a(q, sigma, alpha), rtol=1e-11, atol=1e-11)
    assert (value.imag == 0).all()


# --- the table


def test_table_covers_the_box():
    assert len(Q) == 2000
    assert (Q.min(), Q.max()) == (1e-12, 1.0)
    assert (SIGMA.min(), SIGMA.max()) == (0.01, 1e6)
    assert (ALPHA.min(), ALPHA.max()) == (-1e6, 1e6)
    assert HI.min() < 1e-44
    assert HI.max() > 1e15


# --- expansions


NAMES = [
    name + end for name in ("log_a", "rdp_sampled_gaussian") for end in ("", "_lower", "_upper")
]


def everyday(count, seed):
    rng = np.random.default_rng(seed)
    q = 10.0 ** rng.uniform(-4, -0.61, count)
    sigma = rng.uniform(0.5, 5.0, count)
    alpha = rng.uniform(1.0, 72.0, count)
    whole, near = np.arange(count) % 3 == 0, np.arange(count) % 7 == 1
    alpha[whole] = np.maximum(np.floor(alpha[whole]), 2.0)
    alpha[near] = np.maximum(np.round(alpha[near]), 2.0) + rng.uniform(-1e-6, 1e-6, near.sum())
    return q, sigma, alpha


def extreme(count, seed):
    rng = np.random.default_rng(seed)
    q = 10.0 ** rng.uniform(-12, -0.61, count)
    sigma = 10.0 ** rng.uniform(-2, 6, count)
    return q, sigma, 1.0 + 10.0 ** rng.uniform(-9, 1.85, count)


@pytest.mark.parametrize("points", [everyday(8, 1), extreme(6, 2)], ids=["everyday", "extreme"])
def test_brackets_hold_the_truth(points):
    lower, upper = special.log_a_lower(*points), special.log_a_upper(*points)
    value = special.log_a(*points)
    with mp.workdps(40):
        for i, point in enumerate(zip(*points, strict=True)):
            truth = reference.log_a(*map(float, point), digits=20)
            assert mp.mpf(lower[i]) <= truth <= mp.mpf(upper[i]), point
            assert abs(value[i] / truth - 1) < 1e-13, point
    assert ((upper - lower) <= 1e-12 * value).all()


@pytest.mark.parametrize("name", NAMES)
def test_arrays_have_the_bits_of_points(name):
    f = getattr(special, name)
    points = np.concatenate([everyday(2000, 3), extreme(1100, 4)], axis=1)
    alone = np.array([f(*point) for point in points.T.tolist()])
    assert np.isfinite(alone).all()
    rng = np.random.default_rng(5)
    for count in (1, 5, 16, 500, 3100):
        chosen = rng.permutation(points.shape[1])[:count]
        assert (f(*points[:, chosen]) == alone[chosen]).all()
    assert (f(*points[:, ::-3]) == alone[::-3]).all()
    in_place = points.copy()
    f(*in_place, out=in_place[2])
    assert (in_place[2] == alone).all()


# --- correct rounding: the doubles nearest to the truth, against balls that share no code


NEAR = [
    (0.01, 1.0, 2.0),
    (0.01, 1.0, 1.5),
    (1e-9, 80.0, 1.000001),
    (0.9, 0.5, 30.0),
    (0.2, 0.3, 160.0),  # log A is some 1e5
    (0.0068, 4.216, 164.36),  # a far peak
    (1e-4, 0.23, 218.5),  # beyond the range of exp
    (0.5, 100.0, 900.0),
    (0.3, 2.0, 1.0 + 2.0**-52),
    (1e-12, 0.05, 1.5),
    (1e-6, 1e6, 100.0),
    (0.22985857436469562, 48.09821695034388, 1.0000124311510656),  # 8e-8 ulps from a tie
]


def nearest(q, sigma, alpha, divided=False):
    flint = pytest.importorskip("flint")
    log_a_ball = importlib.import_module("ball_log_a").log_a_ball
    with flint.ctx.workprec(256):
        ball = log_a_ball(q, sigma, alpha, 50)
        ball = ball / (flint.arb(alpha) - 1) if divided else ball
        low, high = float(ball.lower()), float(ball.upper())
        assert low == high
        return low


@pytest.mark.parametrize("point", NEAR)
def test_nearest(point):
    assert correct_rounding.log_a_rounded(*point) == nearest(*point)
    assert special.rdp_sampled_gaussian_nearest(*point) == nearest(*point, True)


def test_more_digits_are_taken_where_double_double_does_not_decide():
    for point in ((0.01, 1.0, -2.5), (1e-14, 1.0, 2.0), (0.3, 1e7, 3.0)):
        assert math.isnan(special.log_a_nearest(*point))
        assert correct_rounding.log_a_rounded(*point) == nearest(*point)


def test_there_is_nothing_outside_the_domain():
    for f in (special.log_a_nearest, special.rdp_sampled_gaussian_nearest):
        assert np.isnan(f([0.0, 1e-13, 1.0, -0.1, np.nan], 1.0, 2.0)).all()
        assert np.isnan(f(0.1, [0.0, 0.04, 2e6, np.inf, np.nan], 2.0)).all()
        assert np.isnan(f(0.1, 1.0, [0.5, -1.0, 1e300, np.inf, np.nan])).all()
    assert np.isnan(special.log_a_nearest(0.1, 1.0, 1.0))


def test_closed_forms_are_exact():
    assert correct_rounding.log_a_rounded(1.0, 3.0, 1.1) == pytest.approx(1.1 * 0.1 / 18.0)
    assert correct_rounding.rdp_rounded(1.0, 2.0, 3.0) == 0.375
    assert correct_rounding.log_a_rounded(0.0, 1.0, 3.0) == 0.0
    assert correct_rounding.log_a_rounded(0.1, math.inf, 3.0) == 0.0
    assert math.isnan(correct_rounding.log_a_rounded(2.0, 1.0, 3.0))


def test_nearest_kullback_leibler():
    value = correct_rounding.rdp_rounded(0.01, 1.0, 1.0)
    assert special.rdp_sampled_gaussian_nearest(0.01, 1.0, 1.0) == value
    assert correct_rounding._by_balls(True, 0.01, 1.0, 1.0) == value


def test_arrays_of_nearest():
    q, alpha = np.array([[0.01], [1.0]]), np.array([1.5, 2.0, 3.0])
    found = correct_rounding.rdp_rounded(q, 1.0, alpha)
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found, special.rdp_sampled_gaussian(q, 1.0, alpha), rtol=4e-15)
