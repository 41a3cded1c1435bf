"""Arguments at the ends of the floating-point range: no crash, nothing below the truth."""

import math

import mpmath as mp
import pytest

from renyi.theory.composition import advanced_composition, basic_composition, best_split
from renyi.theory.indistinguishability import normal_tail_bound, sum_tail_bound
from renyi.theory.moments import dp_from_moments, log_moment_constant
from renyi.theory.noise import gaussian_calibration
from renyi.theory.routes import advanced_route, full_batch_route, moment_bound
from renyi.theory.subsampling import subsampled


def test_extreme_noise_and_epsilon():
    for epsilon in (1e-5, 1e300):  # a ratio that underflows, a quotient that overflows
        assert (
            gaussian_calibration(
                sigma=1e300, epsilon=epsilon, sensitivity=1e-300, calibration="chernoff"
            )
            == 5e-324
        )
    assert gaussian_calibration(sigma=1.0, epsilon=math.inf, calibration="chernoff") == 0.0
    assert normal_tail_bound(1e200) == 5e-324  # not 0, which no tail is
    assert sum_tail_bound(1.0, [0.0, 1.0], [math.inf, 1]) < 1.0
    for calibration in ("chernoff", "chernoff_exact", "mills"):
        found = gaussian_calibration(epsilon=1e308, delta=1e-5, calibration=calibration)
        assert found == pytest.approx(1.0 / math.sqrt(2.0) / math.sqrt(1e308), rel=1e-12)
    for bad in (["chernoff"], None):
        with pytest.raises(ValueError, match="calibration must be one of"):
            gaussian_calibration(epsilon=1.0, delta=1e-5, calibration=bad)
    with pytest.raises(ValueError, match="count must be an integer"):
        gaussian_calibration(epsilon=1.0, delta=1e-5, count=10**400)


def test_sums_that_overflow():
    assert basic_composition([1e308, 1e308]).epsilon == math.inf
    assert advanced_composition([1e308, 1e308], 0.1).epsilon == math.inf
    assert best_split(lambda delta: 1.0, 1e-320, 10**9).step_delta == 0.0


def test_routes_at_extreme_arguments():
    assert full_batch_route(1.0, 1, epsilon=math.inf).delta == 0.0
    assert full_batch_route(1e300, 1, epsilon=1e300).delta == 5e-324
    assert advanced_route(0.5, 1.0, 10, epsilon=5e-324).delta == 1.0
    assert advanced_route(5e-324, 1.0, 10, epsilon=1.0).delta < 1e-300
    for given in {"epsilon": 0.5}, {"delta": 0.5}:
        with pytest.raises(ValueError, match="composition must be one of"):
            advanced_route(0.01, 4.0, 10, **given, composition="best")
        with pytest.raises(ValueError, match="steps must be an integer in"):
            advanced_route(0.01, 4.0, 10**10, **given, composition="optimal")
        with pytest.raises(ValueError, match="steps must be an integer from 1"):
            advanced_route(0.01, 4.0, 10**400, **given)
    with pytest.raises(ValueError, match="epochs must be an integer from 1"):
        full_batch_route(4.0, 10**400, epsilon=0.5)


def test_much_noise_and_extreme_moments():
    # beyond the least c2 the constant of that c2 serves
    assert moment_bound(1e-4, 2000.0, 1, epsilon=1.0).delta < 1e-300
    assert moment_bound(1e-203, 1e200, 1, delta=1e-5).epsilon < 1e-3
    with pytest.raises(TypeError, match="c1 must be"):
        log_moment_constant([1.0], 1.0)
    for epsilon in (1e303, 1e308):  # epsilon t overflows
        assert dp_from_moments(lambda t: 0.0, epsilon=epsilon).delta == 5e-324
        assert dp_from_moments(lambda t: math.inf, epsilon=epsilon).delta == 1.0
    # no moment is below 0
    assert dp_from_moments(lambda t: -1.0, epsilon=0.0).delta == 1.0
    assert dp_from_moments(lambda t: -1.0, delta=1e-5).epsilon > 0.0


def test_rates_so_small_that_the_odds_overflow():
    for rate in (5e-324, 1e-310):
        for epsilon in (1e-3, 0.5, 0.999):
            found = subsampled(epsilon, 0.0, rate, inverse=True).epsilon
            with mp.workdps(400):
                exact = mp.log1p(mp.expm1(mp.mpf(epsilon)) / mp.mpf(rate))
                assert found <= exact <= found * (1 + 1e-12)
