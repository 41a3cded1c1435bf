"""Laplace and Gaussian noise, and the tails behind them; outward rounding; extreme arguments."""

import math

import mpmath as mp
import numpy as np
import pytest

from renyi._rounding import MARGIN, above, below, count_above, exp_above, loss_deviations
from renyi._search import least_value
from renyi.theory.composition import advanced_composition, basic_composition, best_split
from renyi.theory.indistinguishability import (
    indistinguishability,
    normal_tail_bound,
    sum_tail_bound,
    tail_from_guarantee,
)
from renyi.theory.moments import dp_from_moments
from renyi.theory.noise import gaussian_calibration, laplace_calibration
from renyi.theory.routes import advanced_route, full_batch_route, moment_bound
from renyi.theory.subsampling import subsampled

CALIBRATIONS = ("exact", "chernoff_exact", "chernoff", "mills", "chernoff_concave", "mills_concave")
EPSILONS = (1e-3, 0.05, 0.5, 1.0, 3.0, 20.0)
DELTAS = (1e-200, 1e-12, 1e-5, 0.01, 0.3, 0.9)


def gaussian_delta(sigma, epsilon, sensitivity=1):
    """Balle and Wang's formula to 60 digits; cancellation takes many of them."""
    with mp.workdps(450):
        mu, e = mp.mpf(sensitivity) / mp.mpf(sigma), mp.mpf(epsilon)
        return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


# Tails.


@pytest.mark.parametrize("t", [1e-3, 0.5, 1.0, 5.0, 35.0])
@pytest.mark.parametrize("form", ["chernoff", "half", "mills"])
def test_normal_tail_bounds_hold(t, form):
    assert mp.mpf(normal_tail_bound(t, form)) >= mp.erfc(mp.mpf(t) / mp.sqrt(2)) / 2


def test_normal_tail_bounds_are_the_formulas():
    assert normal_tail_bound(2.0) == pytest.approx(math.exp(-2.0), rel=1e-12)
    assert normal_tail_bound(0.0, "half") == pytest.approx(0.5)
    mills = math.exp(-2.0) / (2.0 * math.sqrt(2.0 * math.pi))
    assert normal_tail_bound(2.0, "mills") == pytest.approx(mills, rel=1e-12)


def test_the_tail_from_a_guarantee_holds_for_finite_pairs():
    rng = np.random.default_rng(3)
    for _ in range(200):
        p, q = rng.dirichlet(np.full(5, 0.4)) + 1e-12, rng.dirichlet(np.full(5, 0.4)) + 1e-12
        p, q = p / p.sum(), q / q.sum()
        epsilon, factor = rng.uniform(0.1, 2.0), rng.uniform(1.05, 4.0)
        delta = indistinguishability((p, q), epsilon=epsilon).delta
        tail = p[np.log(p / q) > factor * epsilon].sum()
        assert tail <= tail_from_guarantee(epsilon, delta, factor) * (1 + 1e-12)


def test_the_tail_from_a_guarantee_at_its_edges():
    assert tail_from_guarantee(1.0, 0.0, 2.0) == 0.0
    assert tail_from_guarantee(1.0, 1.0, 2.0) == 1.0
    assert tail_from_guarantee(1e-300, 0.5, 1.0 + 1e-15) == 1.0


@pytest.mark.parametrize(("count", "bound"), [(10, 1.0), (100, 0.3)])
def test_sums_of_coins_stay_below_their_bound(count, bound):
    for k in range(count // 2, count + 1):
        tail = mp.fsum(mp.binomial(count, j) for j in range(k, count + 1)) / mp.mpf(2) ** count
        assert tail <= sum_tail_bound((2 * k - count) * bound * (1 - 1e-12), bound, count)
    assert sum_tail_bound(1.0, [0.0, 0.0]) == 0.0
    assert sum_tail_bound(0.0, 1.0) == 1.0
    assert sum_tail_bound(1.0, math.inf) == 1.0


# Laplace noise.


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.2])
@pytest.mark.parametrize("sensitivity", [1.0, 3.7])
def test_laplace_noise_meets_its_target_and_no_less_does(epsilon, delta, sensitivity):
    scale = laplace_calibration(epsilon=epsilon, sensitivity=sensitivity, delta=delta)

    def exact(b):
        return max(1 - mp.exp((mp.mpf(epsilon) - mp.mpf(sensitivity) / mp.mpf(b)) / 2), 0)

    with mp.workdps(40):
        assert exact(scale) <= delta
        assert exact(scale * (1 - 1e-9)) > delta
    assert (
        laplace_calibration(scale=scale, epsilon=epsilon, sensitivity=sensitivity)
        <= delta * (1 + 1e-9) + 1e-12
    )
    assert laplace_calibration(scale=scale, sensitivity=sensitivity, delta=delta) <= epsilon * (
        1 + 1e-12
    )


def test_laplace_edges():
    assert laplace_calibration(scale=1.0, epsilon=math.inf) == 0.0
    assert laplace_calibration(scale=1.0, delta=1.0) == 0.0


# Gaussian noise.


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_calibration_is_private_enough(calibration, epsilon):
    for delta in DELTAS:
        sigma = gaussian_calibration(epsilon=epsilon, delta=delta, calibration=calibration)
        assert gaussian_delta(sigma, epsilon) <= delta
        assert sigma >= gaussian_calibration(epsilon=epsilon, delta=delta) * (1 - 1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_less_noise_than_the_exact_one_is_too_little(epsilon, delta):
    sigma = gaussian_calibration(epsilon=epsilon, delta=delta)
    assert gaussian_delta(sigma * (1 - 1e-9), epsilon) > delta


def test_the_calibrations_are_those_of_the_text():
    found = [
        gaussian_calibration(epsilon=1.0, delta=1e-5, calibration=name) for name in CALIBRATIONS
    ]
    stated = [3.7306, None, 5.5056, 5.31015, 4.9016, 4.7104]
    for value, expected in zip(found, stated, strict=True):
        assert expected is None or value == pytest.approx(expected, abs=6e-5)
    sigma = found[1]
    assert sigma - 0.5 / sigma == pytest.approx(math.sqrt(2.0 * math.log(1e5)), rel=1e-12)
    dwork_roth = gaussian_calibration(epsilon=1 - 1e-12, delta=1e-5, calibration="dwork_roth")
    assert dwork_roth == pytest.approx(4.8448, abs=5e-5)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.5, 0.999])
def test_dwork_and_roth_hold_in_their_range(epsilon):
    for delta in DELTAS:
        sigma = gaussian_calibration(epsilon=epsilon, delta=delta, calibration="dwork_roth")
        assert gaussian_delta(sigma, epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), [(5.0, 0.3), (20.0, 1e-5)])
def test_dwork_and_roth_are_refused_outside_where_they_fail(epsilon, delta):
    with pytest.raises(ValueError, match=r"epsilon must be a number in \(0, 1\)"):
        gaussian_calibration(epsilon=epsilon, delta=delta, calibration="dwork_roth")
    sigma = max(1.5, math.sqrt(2.0 * math.log(1.25 / delta))) / epsilon
    assert gaussian_delta(sigma, epsilon) > delta


def test_sensitivity_and_count_scale_the_noise():
    one = gaussian_calibration(epsilon=0.7, delta=1e-6)
    assert gaussian_calibration(epsilon=0.7, delta=1e-6, sensitivity=2.5) == pytest.approx(
        2.5 * one, rel=1e-12
    )
    assert gaussian_calibration(epsilon=0.7, delta=1e-6, count=16) == pytest.approx(
        4.0 * one, rel=1e-12
    )
    delta = gaussian_calibration(sigma=8.0, epsilon=0.7, sensitivity=2.0, count=4)
    assert delta == pytest.approx(gaussian_calibration(sigma=2.0, epsilon=0.7), rel=1e-11)
    # the corollary for k uses: sqrt(k) (sqrt(2 log 1/delta)/epsilon + 1/sqrt(2 epsilon))
    found = gaussian_calibration(epsilon=0.5, delta=1e-4, count=9, calibration="chernoff")
    assert found == pytest.approx(3.0 * (math.sqrt(2 * math.log(1e4)) / 0.5 + 1.0), rel=1e-12)
    assert gaussian_delta(found, 0.5, 3) <= 1e-4


@pytest.mark.parametrize("sigma", [0.2, 1.0, 4.0, 1e3])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 15.0])
def test_gaussian_delta_is_exact_and_below_the_tail(sigma, epsilon):
    exact = gaussian_delta(sigma, epsilon)
    found = gaussian_calibration(sigma=sigma, epsilon=epsilon)
    assert exact <= found <= exact * (1 + mp.mpf(1e-9)) + mp.mpf(1e-300)
    if epsilon * sigma > 0.5 / sigma:
        bound = gaussian_calibration(sigma=sigma, epsilon=epsilon, calibration="chernoff")
        assert found <= max(bound, 1e-300)
        assert bound == pytest.approx(
            math.exp(-0.5 * (epsilon * sigma - 0.5 / sigma) ** 2), rel=1e-6, abs=1e-320
        )


def test_the_tail_bound_is_refused_where_it_is_false():
    # the formula alone says 6.1e-6 there
    assert gaussian_delta(0.1, 1.0) > 0.99999
    with pytest.raises(ValueError, match=r"sigma must be above .* = 0.707107"):
        gaussian_calibration(sigma=0.1, epsilon=1.0, calibration="chernoff")
    with pytest.raises(ValueError, match="sigma must be above"):
        gaussian_calibration(sigma=3.0, epsilon=0.0, calibration="chernoff")
    assert gaussian_calibration(sigma=0.708, epsilon=1.0, calibration="chernoff") == pytest.approx(
        1.0, abs=1e-5
    )


@pytest.mark.parametrize("sigma", [0.7, 3.0])
def test_the_epsilon_of_gaussian_noise_is_the_inverse(sigma):
    for delta in (1e-200, 1e-5, 0.2):
        found = gaussian_calibration(sigma=sigma, delta=delta, count=4)
        assert gaussian_delta(sigma, found, 2) <= delta
        assert found == 0.0 or gaussian_delta(sigma, found * (1 - 1e-9), 2) > delta
    assert gaussian_calibration(sigma=sigma, delta=1.0) == 0.0
    assert gaussian_calibration(sigma=sigma, delta=0.0) == math.inf


# --- the ends of the floating-point range


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


def test_sums_that_overflow():
    assert basic_composition([1e308, 1e308]).epsilon == math.inf
    assert advanced_composition([1e308, 1e308], 0.1).epsilon == math.inf
    assert best_split(lambda delta: 1.0, 1e-320, 10**9).step_delta == 0.0


def test_routes_at_extreme_arguments():
    assert full_batch_route(1.0, 1, epsilon=math.inf).delta == 0.0
    assert full_batch_route(1e300, 1, epsilon=1e300).delta == 5e-324
    assert advanced_route(0.5, 1.0, 10, epsilon=5e-324).delta == 1.0
    assert advanced_route(5e-324, 1.0, 10, epsilon=1.0).delta < 1e-300


def test_much_noise_and_extreme_moments():
    # beyond the least c2 the constant of that c2 serves
    assert moment_bound(1e-4, 2000.0, 1, epsilon=1.0).delta < 1e-300
    assert moment_bound(1e-203, 1e200, 1, delta=1e-5).epsilon < 1e-3
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


# --- outward rounding and the search for a minimum


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
