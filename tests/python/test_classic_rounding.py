"""Outward rounding and the search for a minimum."""

import math

import mpmath as mp
import numpy as np
import pytest

from renyi.classic._minimum import smallest
from renyi.classic._rounding import MARGIN, above, below, exp_above


def test_above_and_below_enclose():
    for value in (1.0, -3.5, 1e300, -1e-300, 5e-324, 0.0):
        assert below(value) < value < above(value)
        assert above(value) - value <= 2.0 * MARGIN * abs(value) + 1e-320
    for value in (math.inf, -math.inf):
        assert above(value) == below(value) == value


def test_exponentials_are_rounded_up():
    rng = np.random.default_rng(2)
    for exponent in [0.0, -1e-300, -745.2, -1e4, *(-np.exp(rng.uniform(-30, 6.5, 500)))]:
        with mp.workdps(30):
            exact = mp.exp(mp.mpf(float(exponent)))
        found = exp_above(float(exponent))
        assert exact <= found <= exact * (1 + mp.mpf(1e-11)) + mp.mpf(1e-323)
    assert exp_above(-1e-3, size=1e15) == 1.0  # terms that large leave nothing to say
    assert exp_above(5.0) == 1.0


@pytest.mark.parametrize("place", [1e-5, 0.7, 1.0, 3e4])
def test_a_single_valley(place):
    found, least = smallest(lambda x: math.log(x / place) ** 2, 1e-6, 1e6)
    assert found == pytest.approx(place, rel=1e-6)
    assert least <= 1e-12


def test_walls_ends_and_second_valleys():
    found, _ = smallest(lambda x: x if x > 2.0 else math.inf, 1e-3, 1e3)
    assert found == pytest.approx(2.0, rel=1e-6)
    assert smallest(lambda x: x, 1e-3, 1e3)[0] == pytest.approx(1e-3)
    assert smallest(lambda x: -x, 1e-3, 1e3)[0] == pytest.approx(1e3)
    # the scan finds the lower of two
    found, _ = smallest(lambda x: min(abs(math.log(x)), abs(math.log(x / 50.0)) - 0.5), 0.1, 1e3)
    assert found == pytest.approx(50.0, rel=1e-6)
    assert smallest(lambda x: math.inf, 1.0, 2.0)[1] == math.inf
