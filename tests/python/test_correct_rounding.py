"""The doubles nearest to log A and the Rényi divergence, against balls that share no code."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from renyi import special
from renyi.theory import correct_rounding

flint = pytest.importorskip("flint")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
from ball_log_a import log_a_ball  # noqa: E402

POINTS = [
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
    with flint.ctx.workprec(256):
        ball = log_a_ball(q, sigma, alpha, 50)
        ball = ball / (flint.arb(alpha) - 1) if divided else ball
        low, high = float(ball.lower()), float(ball.upper())
        assert low == high
        return low


@pytest.mark.parametrize("point", POINTS)
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


def test_kullback_leibler():
    value = correct_rounding.rdp_rounded(0.01, 1.0, 1.0)
    assert special.rdp_sampled_gaussian_nearest(0.01, 1.0, 1.0) == value
    assert correct_rounding._by_balls(True, 0.01, 1.0, 1.0) == value


def test_arrays():
    q, alpha = np.array([[0.01], [1.0]]), np.array([1.5, 2.0, 3.0])
    found = correct_rounding.rdp_rounded(q, 1.0, alpha)
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found, special.rdp_sampled_gaussian(q, 1.0, alpha), rtol=4e-15)
