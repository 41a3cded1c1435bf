"""The multi-precision reference: known values, independent ways to them, bounds of samples."""

from __future__ import annotations

import importlib
import math
import random
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import mpmath
import numpy as np
import pytest
from each import each, slow
from mpmath import mp

from renyi import reference, special
from renyi.reference import laplace_pair, rdp, rdp_fixed_size, rdp_gumbel, rdp_mixture, rdp_poisson

TABLES = Path(__file__).resolve().parents[1] / "reference"
sys.path.insert(0, str(TABLES))

make_log_a = importlib.import_module("make_log_a")

# q, sigma, alpha, Renyi divergence of (mu, mu0), of (mu0, mu); from mpmath.quad with 40 digits
VECTORS = """
0.01   1    2     0.0001718134220745479  0.0001602226498185536
0.01   1    1.5   0.0001272537433274498  0.0001214759930640138
0.01   1    32    11.24627593704807      0.001692336779965303
0.001  0.5  4.75  0.7661006723570068     6.627900911489878e-05
0.2    4    4     0.005262844037639986   0.004901469186606242
0.02   10   50    0.0001014669221194025  9.950200517178858e-05
0.5    1    2.5   0.5105603809236316     0.2142549001780721
0.9    2    1.5   0.1537166309586305     0.1467919877401945
0.004  1.1  8.5   9.191938358167932e-05  8.203567304460058e-05
1e-6   4    8     2.579779376463565e-13  2.579776827092439e-13
"""


def close(a, b, digits):
    with mp.workdps(digits + 30):
        return abs(a - b) <= abs(b) * mp.mpf(10) ** -digits


@pytest.mark.parametrize("line", VECTORS.split("\n")[1:-1])
def test_known_values(line):
    q, sigma, alpha, remove, add = line.split()
    assert close(reference.rdp_sampled_gaussian(q, sigma, alpha, 20), mp.mpf(remove), 14.5)
    order = Fraction(alpha)
    back = reference.log_a(q, sigma, 1 - order, 20) / (mp.mpf(alpha) - 1)
    assert close(back, mp.mpf(add), 14.5)


@pytest.mark.parametrize(
    ("q", "sigma", "alpha"),
    [
        (0.25, 0.8, 1.5),
        (0.1, 100.0, 1.5),
        (0.3, 2.0, 3.7),
        (0.5, 0.05, 1.01),
        (1e-12, 1e6, 1 + 1e-8),
        (0.999, 3.0, 17.25),
        (0.1, 1.0, 7.3),
        (0.01, 1.0, 2),
        (1e-8, 10.0, 32),
        (0.5, 0.1, 1000),
        (1e-12, 0.01, 7),
    ],
)
def test_the_integral_in_balls(q, sigma, alpha):
    flint = pytest.importorskip("flint")
    ball = importlib.import_module("ball_log_a")
    with flint.ctx.workprec(200), mp.workdps(60):
        truth = mp.mpf(ball.log_a_ball(q, sigma, float(alpha)).str(50, radius=False))
        assert close(reference.log_a(q, sigma, alpha, 40), truth, 38)


def test_table_agrees_with_the_integral():
    """The table of the other tests was made by ball arithmetic; corners and a random sample."""
    table = make_log_a.load(TABLES / "log_a.npz")
    chosen = random.Random(1).sample(range(len(table["q"])), 4)
    for i in chosen:
        q, sigma, alpha, hi, lo = (float(table[k][i]) for k in ("q", "sigma", "alpha", "hi", "lo"))
        with mp.workdps(60):
            truth = mp.mpf(hi) + mp.mpf(lo)
        assert close(truth, reference.log_a(q, sigma, alpha, 32), 31), (q, sigma, alpha)


def test_table_can_be_made_again():
    flint = pytest.importorskip("flint")
    ball = importlib.import_module("ball_log_a")
    table = make_log_a.load(TABLES / "log_a.npz")
    points = make_log_a.points_of(table)
    for i in random.Random(2).sample(range(len(points)), 50):
        with flint.ctx.workprec(53):  # as it was made
            value = make_log_a.split(ball.log_a_ball(*points[i]))
        assert value == (table["hi"][i], table["lo"][i])


@pytest.mark.parametrize("point", [(1e-3, 0.3, -2.5), *slow(((0.3, 20.0, 1000.5),))])
def test_derivatives_are_derivatives(point):
    q, sigma, alpha = point
    first, second = (reference.log_a(q, sigma, alpha, 25, k) for k in (1, 2))
    with mp.workdps(60):
        h = mp.mpf(10) ** -10
        below, here, above = (reference.log_a(q, sigma, alpha + k * h, 55) for k in (-1, 0, 1))
        assert close((above - below) / (2 * h), first, 12)
        assert close((above - 2 * here + below) / h**2, second, 12)


def test_complex_order():
    """Against a plain mpmath.quad of the definition, and the conjugate."""
    q, sigma, alpha = 0.1, 0.7, mp.mpc(2.5, 6)
    with mp.workdps(40):

        def integrand(z):
            ratio = 1 - mp.mpf(q) + mp.mpf(q) * mp.exp((2 * z - 1) / (2 * mp.mpf(sigma) ** 2))
            return mp.exp(-(z**2) / (2 * mp.mpf(sigma) ** 2)) * ratio**alpha

        total = mp.quad(integrand, [mp.mpf(x) / 2 for x in range(-24, 32)])
        expected = total / (mp.sqrt(2 * mp.pi) * mp.mpf(sigma))
        value = mp.exp(reference.log_a(q, sigma, alpha, 30))
        assert abs(value - expected) < mp.mpf(10) ** -28 * abs(expected)
        mirrored = mp.exp(reference.log_a(q, sigma, alpha.conjugate(), 30))
        assert abs(mirrored - mp.conj(value)) < mp.mpf(10) ** -28 * abs(value)
    assert isinstance(reference.log_a(q, sigma, 2 + 0j), mpmath.mpf)


def test_exact_cases():
    assert reference.log_a(0, 1.0, 5) == 0
    assert reference.log_a(0.5, 1.0, 0) == reference.log_a(0.5, 1.0, 1) == 0
    assert reference.log_a(0.5, float("inf"), 5) == 0
    assert reference.log_a(1, 0.5, 3) == 12
    assert reference.log_a(1, 0.5, 3, derivative=1) == 10
    assert reference.log_a(1, 0.5, 3, derivative=2) == 4
    assert reference.rdp_sampled_gaussian(1, 0.5, 3) == 6
    assert reference.rdp_sampled_gaussian(1, 0.5, 1) == 2
    # "0.1" is a tenth, 0.1 the double next to it
    tenth, double = (reference.log_a(q, 1, 2, 30) for q in ("0.1", 0.1))
    assert close(tenth, double, 15)
    assert not close(tenth, double, 20)


ONE, CERTAIN = laplace_pair(1), reference.randomized_response_pair(1)


@each(
    ("name", "arguments", "message"),
    [
        ("log_a", (1.5, 1.0, 2), "q must be in [0, 1], got 1.5"),
        ("log_a", (0.1, 0.0, 2), "sigma must be positive, got 0.0"),
        ("log_a", (0.1, 1.0, 0.5), "alpha must be <= 0, >= 1 or complex, got 0.5"),
        ("log_a", (0.1, 1.0, float("inf")), "alpha must be finite, got inf"),
        ("log_a", (float("nan"), 1.0, 2), "q must be a number, got nan"),
        ("log_a", ("x", 1.0, 2), "q must be a number, got 'x'"),
        ("log_a", (0.1, 1.0, 2, 0), "digits must be in [1, 10000], got 0"),
        ("rdp_sampled_gaussian", (0.1, 1.0, 0.5), "alpha must be >= 1 and finite, got 0.5"),
        ("epsilon_from_rdp", (1, 1, 0.1, "balle"), "alpha must be > 1 and finite, got 1"),
        ("epsilon_from_rdp", (2, 1, 0), "delta must be in (0, 1), got 0"),
        ("delta_from_rdp", (2, -1, 1), "rho must be >= 0 and finite, got -1"),
        ("delta_from_rdp", (2, 1, -1, "mironov"), "epsilon must be >= 0 and finite, got -1"),
        ("delta_from_rdp", (2, 1, 1, "best"), "kind must be one of mironov, balle, asoodeh, opt"),
        ("log_a", (0.1, 1, 2, 20, 3), "derivative must be 0, 1 or 2, got 3"),
        ("rdp_poisson", (None, 0.1, 2, "loose"), "kind must be 'general', 'tight' or 'lower', got"),
        ("rdp_poisson", (None, 2, 2), "q must be in [0, 1], got 2"),
        ("rdp_fixed_size", (None, -1, 2), "gamma must be in [0, 1], got -1"),
        ("rdp_mixture", (None, 2, 2), "r must be in [0, 1], got 2"),
        ("laplace_pair", (0,), "scale must be positive, got 0"),
        ("randomized_response_pair", (1.5,), "p must be in [0, 1], got 1.5"),
        ("randomized_response_pair", (0.5, 1), "choices must be a whole number >= 2, got 1"),
        ("pure_dp_pair", (-1,), "epsilon must be >= 0, got -1"),
        ("exponential_pair", (math.inf,), "epsilon must be >= 0 and finite, got inf"),
        ("discrete_laplace_pair", (1, 0), "sensitivity must be a whole number >= 1, got 0"),
        ("discrete_gaussian_pair", (1, 1.5), "sensitivity must be a whole number >= 1, got 1.5"),
        ("rdp_gumbel", (-1, 2), "shift must be >= 0, got -1"),
        ("rdp_zcdp", (-1, 2), "rho must be >= 0 and finite, got -1"),
        ("rdp", (ONE, 0.5), "alpha must be >= 1 and finite, got 0.5"),
        ("rdp", (ONE, math.inf), "alpha must be >= 1 and finite, got inf"),
        ("rdp", (ONE, 2, {"q": 2}), "q must be in [0, 1], got 2"),
        ("rdp", (ONE, 2, {"direction": "up"}), "direction must be 'remove' or 'add', got 'up'"),
        ("rdp", (CERTAIN, 2, {"q": 0.1}), "q must be 0 or 1 where losses are infinite, got 0.1"),
        ("rdp_bounded_range", (math.inf, 2, 0.1), "q must be 0 or 1 where losses are infinite"),
        ("rdp_repeat_and_select", (None, 0.5, 0, 2), "mean must be > 0, >= 1 and finite, got 0.5"),
        ("rdp_repeat_and_select", (None, 2, -1, 2), "shape must be > -1, got -1"),
        ("rdp_repeat_and_select", (None, 2, 0, 1), "alpha must be > 1, got 1"),
        ("rdp_random_allocation", (1, 0, 2), "steps must be a whole number >= 1, got 0"),
        ("rdp_random_allocation", (1, 2, 2, "both"), "direction must be 'remove' or 'add', got"),
    ],
)
def test_refusals(name, arguments, message):
    *arguments, named = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the message is compared below)
        getattr(reference, name)(*arguments, **named)
    assert message in str(caught.value)


def test_refused_types():
    with pytest.raises(TypeError, match="q must be a real number, got None"):
        reference.log_a(None, 1.0, 2)
    with pytest.raises(TypeError, match="digits must be an int"):
        reference.log_a(0.1, 1.0, 2, 20.0)


def test_closed_form_bound_holds():
    for q, sigma, alpha in (("0.01", 4, 8), ("0.001", 10, 100), ("0.2", 20, 10)):
        bound = float(special.rdp_sampled_gaussian_bound(float(q), sigma, alpha))
        exact = reference.rdp_sampled_gaussian(q, sigma, alpha, 20)
        assert close(bound, 2 * mp.mpf(q) ** 2 * alpha / sigma**2, 14)
        assert bound / 4 < exact < bound


# alpha, rho, delta; Mironov, Balle, second form of Asoodeh, optimal
CONVERSIONS = """
2   .1    1e-5  11.6129  10.2266  8.5678  7.8748
2   .001  1e-5  11.5139  10.1276  3.9323  3.2586
5   .5    1e-3  2.2269   1.6014   1.7884  1.5659
10  1     1e-5  2.2792   1.9180   2.0234  1.9180
20  .05   1e-3  .41357   .20460   .23082  .18201
4   2     .3    2.4013   1.6515   1.9394  1.6433
"""


@pytest.mark.parametrize("line", CONVERSIONS.split("\n")[1:-1])
def test_conversions(line):
    alpha, rho, delta, *expected = line.split()
    mironov, balle, other, optimal = map(float, expected)
    for name, value in (
        ("mironov", mironov),
        ("balle", balle),
        ("asoodeh", min(balle, other)),
        ("optimal", optimal),
    ):
        epsilon = reference.epsilon_from_rdp(alpha, rho, delta, name, 30)
        assert float(epsilon) == pytest.approx(value, rel=1e-4)
        back = reference.delta_from_rdp(alpha, rho, epsilon, name, 25)
        with mp.workdps(40):
            assert close(back, mp.mpf(delta), 22)


def test_optimal_conversion_is_optimal():
    """No pair of two-point distributions beats it, and one reaches it."""
    rng = np.random.default_rng(4)
    for alpha, rho, epsilon in (
        (2.0, 0.1, 1.0),
        (5.0, 0.5, 0.7),
        (1.1, 3.0, 2.0),
        (40.0, 0.05, 0.1),
    ):
        delta = float(reference.delta_from_rdp(alpha, rho, epsilon, "optimal", 15))
        best = -1.0
        centre, width = np.array([-1.0, -2.0]), 6.0
        for _ in range(60):  # shrinking random search in the log-odds of p and q
            odds = centre + width * rng.standard_normal((4000, 2))
            p, q = 1 / (1 + np.exp(-odds.T))
            log_p, log_q = -np.logaddexp(0, -odds.T)
            log_p1, log_q1 = -np.logaddexp(0, odds.T)
            divergence = np.logaddexp(
                alpha * log_p + (1 - alpha) * log_q, alpha * log_p1 + (1 - alpha) * log_q1
            ) / (alpha - 1)
            value = np.where(divergence <= rho, p - np.exp(epsilon) * q, -1)
            assert value.max() <= delta * (1 + 1e-9)
            if value.max() > best:
                best, centre = value.max(), odds[value.argmax()]
            width *= 0.85
        assert best > delta * 0.999


def test_conversions_at_the_ends():
    assert reference.epsilon_from_rdp(2, 0, 0.1, "optimal") == 0
    assert reference.delta_from_rdp(2, 0, 0.1, "optimal") == 0
    assert reference.epsilon_from_rdp(2, "1e-3", 0.9, "balle") == 0
    assert reference.epsilon_from_rdp(2, "1e-3", 0.9, "optimal") == 0
    assert reference.delta_from_rdp(2, 5, 1, "mironov") == 1


# --- bounds of samples


def test_first_and_last_rates():
    base = partial(rdp, laplace_pair(2))
    for kind in ("general", "tight", "lower"):
        assert rdp_poisson(base, 0, 7.5, kind) == 0
        assert rdp_poisson(base, 1, 7.5, kind) == base(7.5, 50)
    assert rdp_fixed_size(base, 0, 3) == 0
    assert rdp_fixed_size(base, 1, 3) == base(3, 50)
    assert rdp_mixture(base, 0, 3) == 0
    assert abs(rdp_mixture(base, 1, 3) - base(3, 50)) < 1e-40
    # beyond the orders at which the base is finite
    gumbel = partial(rdp_gumbel, 0.5)
    assert rdp_poisson(gumbel, 0.1, 2.5, "tight") == mp.inf
    assert rdp_poisson(gumbel, 0.1, 2, "tight") < mp.inf
