"""Published bounds of the sampled Gaussian mechanism: conditions, truth, and their page."""

import math
import runpy
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from renyi import Gaussian, special
from renyi.theory.sampled_gaussian import (
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
