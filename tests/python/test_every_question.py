"""Questions that once failed, hung or were answered wide: each has a certificate now."""

from __future__ import annotations

import math
import warnings

import mpmath
import pytest
from each import slow
from sampled_runs import composed

from renyi import Gaussian, PLDAccountant, RDPAccountant


@pytest.mark.parametrize(
    ("steps", "delta", "direction", "truth"),
    [
        ([(9.041569614924136e-6, 2.229845075212392, 2)], 4.50017490284313e-9, None, 2.9693e-5),
        (
            [
                (1.5966510547895e-6, 3.030953112630703, 1),
                (1.589215956183917e-6, 2.637242620717913, 1),
            ],
            2.3342551311151944e-28,
            None,
            5.80e-5,
        ),
        ([(8.663460884596202e-6, 1.1225958559021478, 2)], 4.6355361e-12, "remove", 7.929e-4),
        ([(1e-5, 0.8, 30_000)], 1e-9, None, 0.0225911),
    ],
)
def test_epsilon_of_heavy_tails(steps, delta, direction, truth):
    low, high = composed(*steps).get_epsilon_bounds(delta, direction=direction)
    assert high <= low * (1 + 1e-8)
    assert low == pytest.approx(truth, rel=2e-3)
    assert composed(*steps).get_epsilon(delta, direction=direction) >= low


@pytest.mark.parametrize(
    "ask",
    [
        lambda: composed((0.5, 0.01, 10**9)).get_delta_bounds(0.0),
        lambda: composed(
            (1.7290541450041614e-06, 0.6791850013108811, 38_799_143)
        ).get_epsilon_bounds(2.1393930913893366e-11),
        *slow(
            lambda: composed((1 - 1e-12, 0.01, 10**9)).get_delta_bounds(0.0),
            lambda: composed((1e-300, 1e-5, 1000)).get_epsilon_bounds(1e-300),
        ),
        lambda: composed((0.5, 10.0, 1)).get_delta_bounds(1e308),
        lambda: composed((0.5, 10.0, 7)).get_delta_bounds(1e308),
    ],
)
def test_extremes_answer_in_silence(ask):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = ask()
    assert low <= high


def test_no_noise_beside_little():
    ledger = composed((1e-3, 0.1, 10)).compose(Gaussian(0.0))
    assert ledger.get_delta(1.0) == 1.0
    assert ledger.get_epsilon(1e-5) == math.inf
    assert RDPAccountant().compose(Gaussian(0.0)).get_epsilon(1e-5) == math.inf


def test_replaced_records_on_samples_are_answered_at_once():
    low, high = composed((0.01, 1.0, 1000), adjacency="replace_one").get_epsilon_bounds(1e-5)
    assert high <= low * (1 + 1e-10)


def test_next_to_one():
    """Chernoff's bound of 1 - delta: at most exp(epsilon / 2 - k mu^2 / 8) for Gaussian steps."""
    for adjacency in ("add_remove", "replace_one"):
        low, high = composed((0.99, 1.5, 10**9), adjacency=adjacency).get_delta_bounds(10.0)
        assert 1 - 2**-52 <= low < high == 1


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_no_epsilon_is_needed_at_the_total_variation(adjacency):
    """Many seldom steps: delta at 0 is at most the mean number of records seen."""
    assert composed((1e-9, 0.1, 1000), adjacency=adjacency).get_epsilon_bounds(1e-5) == (0, 0)


@pytest.mark.parametrize(("q", "sigma", "count"), [(1e-6, 1e5, 10**6), (3e-10, 4e4, 10**9)])
@pytest.mark.parametrize("delta", [1e-6, 1e-33, 1e-220])
def test_much_noise_is_nearly_gaussian(q, sigma, count, delta):
    """The sum has the variance mu^2 = k q^2 / sigma^2; losses bend by q e^(x/sigma) only."""
    mu = math.sqrt(count) * q / sigma
    low, high = composed((q, sigma, count)).get_epsilon_bounds(delta)
    assert high <= low * (1 + 1e-8)
    nearly = PLDAccountant().compose(Gaussian(1 / mu)).get_epsilon(delta)
    assert low == pytest.approx(nearly, rel=2e-3)


@pytest.mark.parametrize(
    ("q", "sigma", "count", "delta"),
    [(1e-4, 0.03, 10_000, 1e-10), (0.999, 0.02, 60, 1e-6), (1e-7, 0.04, 50, 1e-60)],
)
def test_outputs_that_tell_who_was_seen(q, sigma, count, delta):
    """Delta is the chance of so many records seen, times a Gaussian tail of their losses."""
    ledger = composed((q, sigma, count))
    low, high = ledger.get_epsilon_bounds(delta, direction="remove")
    assert high <= low * (1 + 1e-6)
    truth = 0.0
    with mpmath.workdps(30):
        for n in range(count + 1):
            if n > 400:
                break
            mean = n / (2 * sigma**2) + n * mpmath.log(q) + (count - n) * mpmath.log1p(-q)
            spread = mpmath.sqrt(n) / sigma
            chance = (
                mpmath.binomial(count, n) * mpmath.mpf(q) ** n * (1 - mpmath.mpf(q)) ** (count - n)
            )
            if n:
                a = (low - mean) / spread
                b = a + spread
                grown = mpmath.exp(low - mean + spread**2 / 2)
                truth += chance * (mpmath.ncdf(-a) - grown * mpmath.ncdf(-b))
    assert float(truth) == pytest.approx(delta, rel=1e-3)


def test_replaced_records_that_lose_next_to_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert composed((2.5e-10, 1281.6, 58_421), adjacency="replace_one").get_delta(51.0) < 1e-300


def test_sure_losses_of_a_billion_steps():
    """The mass of all steps within their level is next to 1 and raised to a high power."""
    step = (0.0018398884646339125, 0.04985139079764101, 247_419_799)
    low, high = composed(step).get_delta_bounds(1.805420913513487e-05, direction="add")
    assert low <= high <= 1


def test_odds_beyond_the_range_of_exponentials():
    """Nearly every record is seen, at odds of e^3987: the sum is normal but for skew.

    Mean k (q (c^2/2 + log q) + (1-q) log(1-q)), c = 1/sigma, far above its deviation, about 1e6.
    """
    q, sigma, count = 0.9999989541450356, 0.011218167950242114, 133_610_916
    mean = count * (q * (0.5 / sigma**2 + math.log(q)) + (1 - q) * math.log1p(-q))
    low, high = composed((q, sigma, count)).get_delta_bounds(mean, direction="remove")
    assert low <= high <= low * (1 + 1e-6)
    assert low == pytest.approx(0.5, abs=1e-4)


def test_moments_below_the_range_of_doubles():
    """A split sum placed far from the answer: what it bounds must not vanish."""
    ledger = composed((4.91401230727173e-05, 0.8563946802072303, 5))
    delta = 9.456018577793706e-283
    low, high = ledger.get_epsilon_bounds(delta)
    assert low <= high
    assert ledger.get_delta_bounds(high * (1 - 1e-9))[1] >= delta
    assert ledger.get_delta_bounds(low * (1 + 1e-9))[0] <= delta
