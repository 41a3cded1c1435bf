"""Arguments at the ends of the floating-point range: no crash, nothing below the truth."""

import math

import mpmath as mp
import pytest

from renyi.theory import classic


def test_extreme_noise_and_epsilon():
    assert classic.gaussian_loss_tail(1.0, math.inf) == 0.0
    assert classic.gaussian_loss_tail(1.0, -math.inf) == 1.0
    for epsilon in (1e-5, 1e300):  # a ratio that underflows, a quotient that overflows
        assert classic.gaussian_loss_tail(1e300, epsilon, 1e-300) == 5e-324
        assert classic.gaussian_noise_delta(1e300, epsilon, 1e-300, bound="chernoff") == 5e-324
    assert 0.5 <= classic.gaussian_loss_tail(1e300, 0.0, 1e-300) < 0.5 + 1e-12
    assert classic.gaussian_loss_tail(1e-300, 1.0, 1e300) == 1.0
    assert classic.gaussian_noise_delta(1.0, math.inf, bound="chernoff") == 0.0
    assert classic.normal_tail_bound(1e200) == 5e-324  # not 0, which no tail is
    assert classic.sum_tail_bound(1.0, [0.0, 1.0], [math.inf, 1]) < 1.0
    for calibration in ("chernoff", "chernoff_exact", "mills"):
        found = classic.gaussian_noise_sigma(1e308, 1e-5, calibration=calibration)
        assert found == pytest.approx(1.0 / math.sqrt(2.0) / math.sqrt(1e308), rel=1e-12)
    for bad in (["chernoff"], None):
        with pytest.raises(ValueError, match="calibration must be one of"):
            classic.gaussian_noise_sigma(1.0, 1e-5, calibration=bad)
    with pytest.raises(ValueError, match="count must be an integer"):
        classic.gaussian_noise_sigma(1.0, 1e-5, count=10**400)


def test_sums_that_overflow():
    assert classic.basic_composition([1e308, 1e308]).epsilon == math.inf
    assert classic.advanced_composition([1e308, 1e308], 0.1).epsilon == math.inf
    assert classic.best_split(lambda delta: 1.0, 1e-320, 10**9).step_delta == 0.0


def test_routes_at_extreme_arguments():
    assert classic.full_batch_route_delta(1.0, 1, math.inf).delta == 0.0
    assert classic.full_batch_route_delta(1e300, 1, 1e300).delta == 5e-324
    assert classic.advanced_route_delta(0.5, 1.0, 10, 5e-324).delta == 1.0
    assert classic.advanced_route_delta(5e-324, 1.0, 10, 1.0).delta < 1e-300
    for route in (classic.advanced_route_delta, classic.advanced_route_epsilon):
        with pytest.raises(ValueError, match="composition must be one of"):
            route(0.01, 4.0, 10, 0.0, composition="best")
        with pytest.raises(ValueError, match="steps must be an integer in"):
            route(0.01, 4.0, 10**10, 0.5, composition="optimal")
        with pytest.raises(ValueError, match="steps must be an integer from 1"):
            route(0.01, 4.0, 10**400, 0.5)
    with pytest.raises(ValueError, match="epochs must be an integer from 1"):
        classic.full_batch_route_delta(4.0, 10**400, 0.5)


def test_much_noise_and_extreme_moments():
    # beyond the least c2 the constant of that c2 serves
    assert classic.moment_bound_delta(1e-4, 2000.0, 1, 1.0).delta < 1e-300
    assert classic.moment_bound_epsilon(1e-203, 1e200, 1, 1e-5).epsilon < 1e-3
    with pytest.raises(TypeError, match="c1 must be"):
        classic.log_moment_constant([1.0], 1.0)
    for epsilon in (1e303, 1e308):  # epsilon t overflows
        assert classic.delta_from_moments(lambda t: 0.0, epsilon) == 5e-324
        assert classic.delta_from_moments(lambda t: math.inf, epsilon) == 1.0
    # no moment is below 0
    assert classic.delta_from_moments(lambda t: -1.0, 0.0) == 1.0
    assert classic.epsilon_from_moments(lambda t: -1.0, 1e-5) > 0.0


def test_rates_so_small_that_the_odds_overflow():
    for rate in (5e-324, 1e-310):
        for epsilon in (1e-3, 0.5, 0.999):
            found = classic.before_subsampling(epsilon, 0.0, rate).epsilon
            with mp.workdps(400):
                exact = mp.log1p(mp.expm1(mp.mpf(epsilon)) / mp.mpf(rate))
                assert found <= exact <= found * (1 + 1e-12)
