"""Trade-off functions: known values, and valid on the safe side."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

from renyi import Gaussian, PLDAccountant, special, tradeoff

NORMAL = NormalDist()
GRID = np.linspace(0.0, 1.0, 201)


def random_vertices(rng, count, convex=True):
    """Of a random discrete pair of laws, by its likelihood ratios."""
    p, q = rng.dirichlet(np.ones(count), 2)
    order = np.argsort(q / p)[::-1] if convex else np.arange(count)
    alpha = np.minimum(np.append(0.0, np.cumsum(p[order])), 1.0)
    beta = np.maximum(1.0 - np.append(0.0, np.cumsum(q[order])), 0.0)
    alpha[-1], beta[-1] = 1.0, 0.0
    return alpha, beta


def test_epsilon_delta_is_the_formula_rounded_down():
    rng = np.random.default_rng(1)
    for _ in range(500):
        alpha, delta = rng.random(), rng.choice([0.0, 10 ** rng.uniform(-12, 0)])
        epsilon = rng.choice([0.0, 10 ** rng.uniform(-3, 1)])
        e, a, d = Fraction(math.exp(epsilon)), Fraction(alpha), Fraction(delta)
        exact = max(0, 1 - d - e * a, (1 - d - a) / e)
        value = tradeoff.beta_from_epsilon_delta(alpha, epsilon, delta)
        assert 0.0 <= value <= exact + Fraction(1, 2**52)  # e^epsilon above is rounded too
        assert exact - Fraction(value) <= Fraction(1, 10**13)


def test_several_pairs_give_their_supremum():
    pairs = [0.1, 1.0, 3.0], [0.1, 1e-3, 1e-9]
    single = [tradeoff.beta_from_epsilon_delta(GRID, e, d) for e, d in zip(*pairs, strict=True)]
    assert np.array_equal(tradeoff.beta_from_epsilon_delta(GRID, *pairs), np.max(single, axis=0))


def test_gaussian_curve_is_the_supremum_of_its_pairs():
    epsilon = np.linspace(0.0, 8.0, 2000)
    below = tradeoff.beta_from_epsilon_delta(GRID, epsilon, special.gaussian_delta(1.0, epsilon))
    exact = special.gaussian_tradeoff_lower(1.0, GRID)
    assert np.all(below <= exact + 1e-12)
    assert np.max(exact - below) < 1e-5


def test_mu_composes():
    assert tradeoff.compose_mu([3.0, 4.0]) == pytest.approx(5.0)
    assert tradeoff.compose_mu([3.0, 4.0]) >= 5.0
    assert tradeoff.compose_mu(0.1, 100) == pytest.approx(1.0)
    assert tradeoff.compose_mu([math.inf, 1.0], [0, 4]) == pytest.approx(2.0)


def test_delta_from_vertices_is_the_hockey_stick():
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(12), 2)
    order = np.argsort(q / p)[::-1]
    alpha = np.append(np.append(0.0, np.cumsum(p[order][:-1])), 1.0)
    beta = np.append(np.append(1.0, 1.0 - np.cumsum(q[order][:-1])), 0.0)
    for epsilon in (-1.0, 0.0, 0.3, 2.0):
        exact = np.maximum(q - math.exp(epsilon) * p, 0.0).sum()
        value = tradeoff.TradeOff(alpha, beta).get_delta(epsilon)
        assert value == pytest.approx(exact, abs=1e-12)
        assert value >= exact - 1e-15
    values = tradeoff.TradeOff(alpha, beta).get_delta(np.array([[0.0, 1.0]]))
    assert values.shape == (1, 2)
    assert tradeoff.TradeOff(alpha, beta).get_delta(0.0) == values[0, 0]


def test_pairs_and_back():
    epsilon, delta = 1.0, 1e-3
    corner = (1 - delta) / (1 + math.exp(epsilon))
    alpha, beta = [0.0, corner, 1 - delta, 1.0], [1 - delta, corner, 0.0, 0.0]
    assert tradeoff.TradeOff(alpha, beta).get_delta(epsilon) == pytest.approx(delta)
    line = tradeoff.TradeOff(alpha, beta).get_beta(GRID)
    np.testing.assert_allclose(
        line, tradeoff.beta_from_epsilon_delta(GRID, epsilon, delta), atol=1e-14
    )


def test_evaluation_between_vertices():
    rng = np.random.default_rng(3)
    for _ in range(50):
        alpha, beta = random_vertices(rng, 6)
        value = tradeoff.TradeOff(alpha, beta).get_beta(GRID)
        exact = np.interp(GRID, alpha, beta)
        assert np.all(value <= exact + 1e-16)
        np.testing.assert_allclose(value, exact, atol=1e-13)
    jump = [0.0, 0.0, 0.5, 0.5, 1.0], [1.0, 0.8, 0.6, 0.1, 0.0]
    assert tradeoff.TradeOff(*jump).get_beta(0.0) == pytest.approx(0.8)
    assert tradeoff.TradeOff(*jump).get_beta(0.5) == pytest.approx(0.1)
    kept = tradeoff.TradeOff(alpha, beta)
    before = kept.get_beta(GRID)
    alpha[1:-1] = beta[1:-1] = 1.0  # the caller's
    np.testing.assert_array_equal(kept.get_beta(GRID), before)
    with pytest.raises(ValueError, match="read-only"):
        kept.alpha[1] = 1.0


def test_hull_is_convex_below_and_touches():
    rng = np.random.default_rng(4)
    for count in (2, 3, 10, 100):
        alpha, beta = random_vertices(rng, count, convex=False)
        hull = tradeoff.TradeOff(alpha, beta).convexified()
        a, b = hull.alpha, hull.beta
        x, y = ([Fraction(v) for v in values] for values in (a, b))
        slopes = [(y[i + 1] - y[i]) / (x[i + 1] - x[i]) for i in range(len(x) - 1)]
        assert all(s < t for s, t in pairwise(slopes))
        assert np.all(hull.get_beta(alpha) <= beta)
        assert set(zip(a, b, strict=True)) <= set(zip(alpha, beta, strict=True))


def test_symmetrised_holds_for_both_directions():
    rng = np.random.default_rng(5)
    for _ in range(20):
        alpha, beta = random_vertices(rng, 8)
        both = tradeoff.TradeOff(alpha, beta).symmetrised()
        assert np.array_equal(both.alpha, both.beta[::-1])
        assert np.all(both.get_beta(alpha) <= beta)
        assert np.all(both.get_beta(beta[::-1]) <= alpha[::-1] + 1e-300)
        # symmetric inputs are kept
        again = both.symmetrised()
        assert np.array_equal(again.alpha, both.alpha)
        assert np.array_equal(again.beta, both.beta)


def test_risks_agree_with_each_other():
    rng = np.random.default_rng(6)
    alpha, beta = random_vertices(rng, 10)
    for prior in (0.0, 0.1, 0.5, 0.9, 1.0):
        risk = tradeoff.TradeOff(alpha, beta).get_bayes_risk(prior)
        assert risk == pytest.approx(np.min(prior * alpha + (1 - prior) * beta))
        if 0.0 < prior < 1.0:
            delta = tradeoff.TradeOff(alpha, beta).get_delta(math.log(prior / (1 - prior)))
            assert risk == pytest.approx((1 - prior) * (1 - delta), abs=1e-12)
    fine = np.concatenate([[0.0], np.logspace(-9, 0, 20000)])
    for mu in (0.1, 1.0, 3.0):
        curve = special.gaussian_tradeoff_lower(mu, fine)
        for prior in (0.01, 0.5, 0.8):
            risk = PLDAccountant().compose(Gaussian(1.0 / mu)).get_bayes_risk(prior)
            dense = tradeoff.TradeOff(fine, curve).get_bayes_risk(prior)
            assert risk <= dense * (1 + 1e-14)
            assert risk == pytest.approx(dense, rel=1e-5)


def test_posterior():
    assert tradeoff.membership_posterior(0.0, 1.0, 0.3) == 0.3 * (1 + 2.0**-49)
    assert tradeoff.membership_posterior(0.0, 0.5, 0.3) == 1.0
    value = tradeoff.membership_posterior(0.1, 0.5, 0.2)
    assert value == pytest.approx(0.2 * 0.5 / (0.2 * 0.5 + 0.8 * 0.1))


def sandwiched(alpha, beta, limit):
    def curve(x):
        inner = special.gaussian_tradeoff(limit.mu, np.clip(x, 0.0, 1.0))
        return np.where(x < 0.0, 1.0, np.where(x > 1.0, 0.0, inner))

    return np.all(curve(alpha + limit.gamma) - limit.gamma <= beta) and np.all(
        beta <= curve(alpha - limit.gamma) + limit.gamma
    )


def test_central_limit_encloses_one_step():
    rng = np.random.default_rng(7)
    for _ in range(40):
        q, sigma = 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-0.3, 1)
        limit = tradeoff.central_limit(q, sigma, 1)
        c = rng.uniform(-6, 6, 300)
        absent, present = (np.array([NORMAL.cdf(x) for x in c - m]) for m in (0.0, 1 / sigma))
        # rejecting the law with the record below c, or the one without it above c
        assert sandwiched((1 - q) * absent + q * present, 1 - absent, limit)
        assert sandwiched(1 - absent, (1 - q) * absent + q * present, limit)


def test_central_limit_encloses_gaussian_compositions():
    for sigma, steps in ((10.0, 10), (30.0, 1000), (5.0, 50), (1.0, 4)):
        limit = tradeoff.central_limit(1.0, sigma, steps)
        assert limit.mu == pytest.approx(math.sqrt(steps * math.expm1(sigma**-2)))
        assert sandwiched(
            GRID, special.gaussian_tradeoff_lower(math.sqrt(steps) / sigma, GRID), limit
        )


def test_central_limit_encloses_a_composition():
    # the summed losses of 16 steps on a fine grid
    q, sigma, steps, h = 0.2, 2.0, 16, 1e-3
    limit = tradeoff.central_limit(q, sigma, steps)
    u = (np.arange(-20000, 20000) + 0.5) * 5e-4
    absent = np.exp(-0.5 * u * u)
    present = np.exp(-0.5 * (u - 1 / sigma) ** 2)
    loss = np.log1p(q * np.expm1(u / sigma - 0.5 / sigma**2))
    bins = np.round(loss / h).astype(int)
    size = 1 << 15
    laws = []
    for weight in ((1 - q) * absent + q * present, absent):
        mass = np.bincount(bins % size, weight / weight.sum(), minlength=size)
        laws.append(np.roll(np.fft.irfft(np.fft.rfft(mass) ** steps, size), size // 2))
    alpha, below = (np.clip(np.cumsum(law), 0.0, 1.0) for law in laws)
    assert limit.gamma < 0.5
    assert sandwiched(alpha, 1 - below, limit)


@pytest.mark.parametrize("sigma", [1.0, 2.0, 8.0])
def test_central_limit_tightens(sigma):
    q, steps = 0.1, 10_000
    gammas = [tradeoff.central_limit(q / 4**k, sigma, steps * 16**k).gamma for k in range(3)]
    assert gammas[0] > gammas[1] > gammas[2]


def test_central_limit_of_tiny_noise_says_nothing():
    assert tradeoff.central_limit(0.1, 0.01, 5) == (math.inf, 1.0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: tradeoff.beta_from_epsilon_delta(0.1, [1.0, 2.0], 0.1),
            ValueError,
            "delta must be of the shape of epsilon",
        ),
        (
            lambda: tradeoff.TradeOff([0.0, 0.5, 0.4, 1.0], [1, 1, 1, 0]),
            ValueError,
            "alpha must be an array rising",
        ),
        (
            lambda: tradeoff.TradeOff([0.0, 1.0], [0.5, 0.2]),
            ValueError,
            "beta must be an array",
        ),
        (
            lambda: tradeoff.TradeOff([0, 1], [1, 0]).get_bayes_risk(2.0),
            ValueError,
            "prior must be",
        ),
        (lambda: tradeoff.central_limit(0.0, 1.0, 5), ValueError, "sample_rate must be"),
        (lambda: tradeoff.central_limit(0.1, 0.0, 5), ValueError, "noise_multiplier must be"),
        (lambda: tradeoff.central_limit(0.1, 1.0, 0), ValueError, "steps must be"),
        (
            lambda: tradeoff.TradeOff([0, 1], [1, 0]).get_delta(math.nan),
            ValueError,
            "epsilon must be a number in [-inf, inf], got nan",
        ),
        (
            lambda: tradeoff.TradeOff([0, 1], [1, 0]).get_delta(["1"]),
            TypeError,
            "epsilon must be a number in [-inf, inf], got ['1']",
        ),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
