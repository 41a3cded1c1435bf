"""Published bounds of the sampled Gaussian mechanism: conditions, truth, messages."""

import math
import re
import runpy
from pathlib import Path

import mpmath
import mpmath as mp
import numpy as np
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from renyi import Gaussian, special
from renyi.theory.sampled_gaussian import (
    largest_order,
    moments_leading_term,
    published_bounds,
    truncated_cdp_bound,
)
from renyi.theory.subsampling import fixed_size_rdp

FOLDER = Path(__file__).parents[2]
PAGE = (FOLDER / "docs" / "sampled_gaussian.md").read_text(encoding="utf-8")


def settings(count, seed):
    rng = np.random.default_rng(seed)
    return np.exp(rng.uniform(np.log((1e-5, 0.5, 1.01)), np.log((0.5, 40.0, 500.0)), (count, 3)))


def log_b(q, sigma, alpha):
    with mp.workdps(30):
        q, s = mp.mpf(q), mp.mpf(sigma)

        def moment(z):
            ratio = 1 - q + q * mp.exp((2 * z - 1) / (2 * s * s))
            return (ratio ** (1 - mp.mpf(alpha)) - 1) * mp.npdf(z, 0, s)

        return mp.log1p(mp.quad(moment, [s * k for k in range(-16, 17, 2)]))


@pytest.mark.parametrize(
    ("q", "sigma", "alpha"), [(0.01, 1.0, 2.0), (0.3, 0.7, 5.5), (0.9, 2.0, 1.5), (1e-4, 4.0, 33.0)]
)
def test_b_is_the_moment_of_the_other_order(q, sigma, alpha):
    exact = log_b(q, sigma, alpha)
    assert special.log_b_lower(q, sigma, alpha) <= exact <= special.log_b_upper(q, sigma, alpha)
    assert special.log_b(q, sigma, alpha) == pytest.approx(float(exact), rel=1e-13)
    assert np.isnan(special.log_b(q, sigma, 0.5))


def test_a_is_not_below_b():
    q, sigma, alpha = settings(20_000, 1).T
    assert (special.log_a_upper(q, sigma, alpha) >= special.log_b_lower(q, sigma, alpha)).all()
    apart = special.log_a_lower(q, sigma, alpha) >= special.log_b_upper(q, sigma, alpha)
    assert apart.mean() > 0.99  # with certainty, but for the rest next to equality


def test_the_leading_term_of_2016():
    ratios = []
    for q, sigma, alpha in settings(4000, 2):
        noise, order = max(sigma, 1.0), float(round(alpha) + 1)
        try:
            found = moments_leading_term(q, noise, order)
        except ValueError:
            continue
        ratios.append((noise >= 2.0, found / special.rdp_sampled_gaussian(q, noise, order)))
    assert len(ratios) > 300
    assert all(1.6 < ratio < 2.01 for much, ratio in ratios if much)
    assert all(0.9 < ratio < 2.01 for much, ratio in ratios)


def test_the_leading_term_of_2016_is_no_bound():
    q, order = mp.mpf("0.0457"), 4  # sigma = 1; log(1/q) is 3.09, at least order - 1
    moment = sum(
        mp.binomial(order, k) * (1 - q) ** (order - k) * q**k * mp.exp(k * (k - 1) / mp.mpf(2))
        for k in range(order + 1)
    )
    assert moments_leading_term(0.0457, 1.0, 4.0) < 0.945 * mp.log(moment) / (order - 1)


def test_truncated_cdp_is_above_the_best_bound_of_samples_of_fixed_size():
    count = 0
    for s, sigma, alpha in settings(2000, 3):
        try:
            found = truncated_cdp_bound(s, sigma, alpha)
        except ValueError:
            continue
        count += 1
        best = fixed_size_rdp(Gaussian(2.0 * sigma), s, alpha)
        assert best <= found * 6.0 / 6.5  # so that the smaller constant holds as well
    assert count > 200


@pytest.mark.parametrize(
    ("bound", "arguments", "message"),
    [
        (moments_leading_term, (0.1, 4.0, 2.0), r"q must be below 1/\(16 sigma\)"),
        (moments_leading_term, (0.01, 0.9, 2.0), "sigma must be at least 1"),
        (moments_leading_term, (0.01, 1.0, 2.5), "alpha must be a whole number"),
        (moments_leading_term, (0.01, 1.0, 9.0), r"alpha must be at most sigma\^2 log"),
        (truncated_cdp_bound, (0.11, 4.0, 2.0), "s must be at most 0.1"),
        (truncated_cdp_bound, (0.1, 2.2, 2.0), r"sigma must be at least sqrt\(5\)"),
        (truncated_cdp_bound, (0.1, 4.0, 20.0), r"alpha must be at most sigma\^2 log\(1/s\)"),
        (published_bounds, (0.0, 4.0, 20.0), "q must be"),
        (published_bounds, (0.1, 4.0, 1.0), "alpha must be"),
    ],
)
def test_conditions(bound, arguments, message):
    with pytest.raises(ValueError, match=message):
        bound(*arguments)


def test_every_row_is_above_the_exact_value():
    for q, sigma, alpha in settings(40, 4):
        *rows, exact = published_bounds(q, sigma, math.ceil(alpha))
        for row in rows:
            assert (row.rdp is None) == (row.condition != "")
            assert row.rdp is None or row.rdp >= exact.rdp * (1 - 1e-12)


def test_the_page_has_the_numbers_of_the_script():
    for table in runpy.run_path(str(FOLDER / "examples" / "sampled_gaussian.py"))["tables"]():
        assert "\n".join(table) in PAGE


# --- the closed-form bound


CASES = [
    (q, sigma) for q in (1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2) for sigma in (4.0, 10.0, 100.0)
]

# Largest orders under (c1) and (c2), read off a grid that stops up to 0.4 % short of the end.
GRID = {
    (1e-4, 4.0): (41.29, 631.1),
    (1e-3, 4.0): (26.67, 154.6),
    (1e-2, 4.0): (14.33, 33.37),
    (0.03, 4.0): (9.77, 15.39),
    (0.1, 4.0): (5.99, 6.51),
    (0.2, 4.0): (4.42, 4.03),
    (1e-4, 10.0): (193.5, 1453.0),
    (1e-3, 10.0): (110.7, 323.8),
    (1e-2, 10.0): (50.50, 67.52),
    (0.03, 10.0): (31.87, 31.24),
    (0.1, 10.0): (18.24, 13.22),
    (0.2, 10.0): (12.88, 8.04),
}


def slack(q, sigma, alpha, condition):
    """Right side minus left side of the published condition, at 40 digits."""
    with mpmath.workdps(40):
        q, s, a = mpmath.mpf(q), mpmath.mpf(sigma), mpmath.mpf(alpha)
        ratio = mpmath.log(1 + 1 / (q * (a - 1)))
        if condition == "first":
            return s**2 * ratio / 2 - 2 * mpmath.log(s) - a
        numerator = s**2 * ratio**2 / 2 - mpmath.log(5) - 2 * mpmath.log(s)
        return numerator / (ratio + mpmath.log(q * a) + 1 / (2 * s**2)) - a


@each(("q", "sigma"), CASES)
@each("condition", ["first", "second"])
def test_largest_order_is_the_end_of_the_condition(q, sigma, condition):
    order = largest_order(q, sigma, condition=condition)
    assert slack(q, sigma, order, condition) > 0
    assert slack(q, sigma, order * (1 + 1e-11), condition) < 0


@each(("case", "expected"), GRID.items())
def test_largest_order_agrees_with_the_grid(case, expected):
    for condition, value in zip(("first", "second"), expected, strict=True):
        order = largest_order(*case, condition=condition)
        assert value * 0.9985 <= order <= value * 1.004
    assert largest_order(*case) == min(
        largest_order(*case, condition="first"), largest_order(*case, condition="second")
    )


@each(("q", "sigma"), CASES)
def test_bound_holds_up_to_the_largest_order_and_no_further(q, sigma):
    order = largest_order(q, sigma)
    assert special.rdp_sampled_gaussian_bound(q, sigma, order) > 0.0
    assert math.isnan(special.rdp_sampled_gaussian_bound(q, sigma, math.nextafter(order, math.inf)))


@each(("q", "sigma"), CASES)
def test_bound_is_above_the_exact_value_and_within_a_factor_four(q, sigma):
    orders = np.linspace(1.0, largest_order(q, sigma), 25)[1:]
    bound = special.rdp_sampled_gaussian_bound(q, sigma, orders)
    assert np.all(special.rdp_sampled_gaussian_upper(q, sigma, orders) <= bound)
    assert np.all(bound <= 4.000001 * special.rdp_sampled_gaussian_lower(q, sigma, orders))


@given(st.floats(-300.0, math.log10(0.2)), st.floats(math.log10(4.0), 300.0), st.floats(0.0, 1.0))
def test_bound_is_rounded_up(log_q, log_sigma, fraction):
    q, sigma = min(10.0**log_q, 0.2), max(10.0**log_sigma, 4.0)
    alpha = 1.0 + (largest_order(q, sigma) - 1.0) * fraction
    if alpha == 1.0:
        return
    with mpmath.workdps(60):
        exact = 2 * mpmath.mpf(q) ** 2 * mpmath.mpf(alpha) / mpmath.mpf(sigma) ** 2
        found, unit = special.rdp_sampled_gaussian_bound(q, sigma, alpha), mpmath.mpf(2) ** -50
        assert exact <= found <= exact * (1 + unit) + mpmath.ldexp(1, -1072)


def test_nothing_released():
    assert special.rdp_sampled_gaussian_bound(0.0, 4.0, 1e6) == 0.0
    assert special.rdp_sampled_gaussian_bound(0.1, math.inf, 1e6) == 0.0
    assert largest_order(0.0, 4.0) == math.inf
    assert largest_order(0.1, math.inf) == math.inf


@each(
    ("arguments", "message"),
    [
        ((0.25, 4.0, 2.0), r"q must be in \[0, 0\.2\], got 0\.25"),
        ((0.1, 3.5, 2.0), r"sigma must be in \[4, inf\], got 3\.5"),
        ((0.01, 4.0, 20.0), r"alpha must be at most .* = 11\.9\d+ \(c1\), got 20\.0"),
        ((0.2, 4.0, 4.2), r"alpha must be at most .* = 3\.3\d+ \(c2\), got 4\.2"),
        ((5e-324, 4.0, 1e6), r"\(c1\), got 1000000\.0"),
    ],
)
def test_messages_name_the_condition(arguments, message):
    row = published_bounds(*arguments)[-2]
    assert row.paper == "Mironov et al. 2019, Theorem 11"
    assert row.rdp is None
    assert re.search(message, row.condition)


def test_largest_order_messages():
    with pytest.raises(ValueError, match=r"q must be in \[0, 0\.2\], got 0\.3"):
        largest_order(0.3, 4.0)
    with pytest.raises(ValueError, match=r"sigma must be in \[4, inf\], got 1\.0"):
        largest_order(0.1, 1.0)
    with pytest.raises(ValueError, match=r"condition must be .* got 'third'"):
        largest_order(0.1, 4.0, condition="third")
