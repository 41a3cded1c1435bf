"""Outward rounding and the search for a minimum."""

import math

import mpmath as mp
import numpy as np
import pytest

from renyi._rounding import (
    MARGIN,
    above,
    below,
    count_above,
    exp_above,
    loss_deviations,
)
from renyi._search import least_value


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
    assert exp_above(-math.inf, size=math.inf) == 5e-324  # an overflow, not a certainty


def test_deviations_of_the_loss_are_rounded_down():
    rng = np.random.default_rng(4)
    ends = [0.0, 5e-324, 1e-300, 1e-5, 1.0, 1e10, 1e300, 1.7e308]
    for epsilon in [*ends, *(-x for x in ends), *np.exp(rng.uniform(-30, 6, 30))]:
        for distance in (1e-300, 3e-5, 1.0, 1e300):
            for sigma in (1e-300, 0.3, 1.0, 1e17, 1e300):
                with mp.workdps(700):
                    mu = mp.mpf(distance) / mp.mpf(sigma)
                    exact = mp.mpf(float(epsilon)) / mu - mu / 2
                    found = loss_deviations(float(epsilon), distance, sigma)
                    largest = mp.mpf(1.7976931348623157e308)
                    assert found <= exact or (found == math.inf and exact > largest)


def test_counts_are_rounded_up():
    for count in (1, 3, 2**53, 2**53 + 1, 10**300):
        assert count <= count_above(count, "count") <= count * (1 + 2**-52)
    for count in (0, -1, 10**301, 10**400):
        with pytest.raises(ValueError, match="steps must be an integer"):
            count_above(count, "steps")
    for count in (1.5, "1", None, True):
        with pytest.raises(TypeError, match="steps must be an integer"):
            count_above(count, "steps")


@pytest.mark.parametrize("place", [1e-5, 0.7, 1.0, 3e4])
def test_a_single_valley(place):
    found, least = least_value(lambda x: math.log(x / place) ** 2, 1e-6, 1e6)
    assert found == pytest.approx(place, rel=1e-6)
    assert least <= 1e-12


def test_walls_ends_and_second_valleys():
    found, _ = least_value(lambda x: x if x > 2.0 else math.inf, 1e-3, 1e3)
    assert found == pytest.approx(2.0, rel=1e-6)
    assert least_value(lambda x: x, 1e-3, 1e3)[0] == pytest.approx(1e-3)
    assert least_value(lambda x: -x, 1e-3, 1e3)[0] == pytest.approx(1e3)
    # the scan finds the lower of two
    found, _ = least_value(lambda x: min(abs(math.log(x)), abs(math.log(x / 50.0)) - 0.5), 0.1, 1e3)
    assert found == pytest.approx(50.0, rel=1e-6)
    assert least_value(lambda x: math.inf, 1.0, 2.0)[1] == math.inf
