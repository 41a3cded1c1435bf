"""Mixtures: the tempting statement is false, the case of DP-SGD is true, and what replaces both."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from renyi.theory.f_divergences import mixture_bound


def divergence(p, q, alpha):
    """Of two mass functions."""
    p, q = np.asarray(p), np.asarray(q)
    if alpha == 1.0:
        return float((p * np.log(p / q)).sum())
    return math.log(float((p**alpha * q ** (1.0 - alpha)).sum())) / (alpha - 1.0)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 10.0])
def test_the_counterexample(alpha):
    mu = nu = np.array([[0.9, 0.1], [0.1, 0.9]])
    nu = nu[::-1]
    p, q = np.array([[0.9, 0.1]] * 2), np.array([[0.1, 0.9]] * 2)
    for i in (0, 1):
        assert divergence(p[i], q[i], alpha) == pytest.approx(divergence(mu[i], nu[i], alpha))
    assert divergence(mu.mean(0), nu.mean(0), alpha) == pytest.approx(0.0, abs=1e-14)
    apart = divergence(p.mean(0), q.mean(0), alpha)
    assert apart > 0.5
    if alpha == 2.0:
        assert apart == pytest.approx(2.0932, abs=1e-4)
    assert apart <= mixture_bound([apart, apart], [0.5, 0.5], alpha) <= apart * (1.0 + 1e-11)


@pytest.mark.parametrize("alpha", [0.2, 0.999, 1.0, 1.001, 2.0, 17.0])
def test_forgetting_the_component_cannot_separate(alpha):
    rng = np.random.default_rng(3)
    for _ in range(200):
        n = int(rng.integers(1, 6))
        p, q = rng.dirichlet(np.full(4, 0.7), (2, n)) + 1e-9
        p, q = p / p.sum(1)[:, None], q / q.sum(1)[:, None]
        weights = rng.dirichlet(np.ones(n))
        parts = [max(divergence(p[i], q[i], alpha), 0.0) for i in range(n)]
        bound = mixture_bound(parts, weights, alpha)
        assert divergence(weights @ p, weights @ q, alpha) <= bound + 1e-12
        assert bound <= max(parts)


def test_attained_where_the_component_shows():
    p, q = (
        np.array([[0.7, 0.3, 0, 0], [0, 0, 0.2, 0.8]]),
        np.array([[0.5, 0.5, 0, 0], [0, 0, 0.6, 0.4]]),
    )
    for alpha in (0.5, 1.0, 3.0):
        parts = [divergence(p[i][p[i] > 0], q[i][p[i] > 0], alpha) for i in (0, 1)]
        found = divergence([0.3, 0.7] @ p, [0.3, 0.7] @ q, alpha)
        bound = mixture_bound(parts, [0.3, 0.7], alpha)
        assert found * (1.0 - 1e-12) <= bound <= found * (1.0 + 1e-9)


def test_the_bound_is_rounded_up():
    with mp.workdps(50):
        for alpha in (0.3, 1.5, 40.0):
            for parts, weights in (
                ([1.0, 2.0, 0.25], [0.25, 0.25, 0.5]),
                ([700.0, 1e-3], [0.5, 0.5]),
            ):
                a = mp.mpf(alpha)
                total = mp.fsum(
                    w * mp.exp((a - 1) * d)
                    for w, d in zip(weights, map(mp.mpf, parts), strict=True)
                )
                exact = mp.log(total) / (a - 1)
                found = mixture_bound(parts, weights, alpha)
                assert exact <= found <= exact * (1 + mp.mpf("1e-10"))


def normal(x, mean, sigma):
    return np.exp(-0.5 * ((x - mean) / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))


@pytest.mark.parametrize("alpha", [1.5, 2.0, 8.0])
@pytest.mark.parametrize(("rate", "sigma"), [(0.01, 1.0), (0.3, 0.7), (0.5, 3.0)])
def test_the_case_of_sampled_gaussian_noise(alpha, rate, sigma):
    # Components N(x_i) against (1-r) N(x_i) + r N(x_i + d_i), |d_i| <= 1: the worst is one, d = 1.
    rng = np.random.default_rng(8)
    x = np.linspace(-40.0, 40.0, 8001)
    step = x[1] - x[0]

    def between(p, q):
        kept = q > 1e-280
        moment = float((q[kept] * (p[kept] / q[kept]) ** alpha).sum() * step)
        return math.log(moment) / (alpha - 1.0)

    without = normal(x, 0.0, sigma)
    with_record = (1.0 - rate) * without + rate * normal(x, 1.0, sigma)
    worst = between(with_record, without)
    assert between(without, with_record) <= worst * (1.0 + 1e-9)
    for _ in range(10):
        n = int(rng.integers(1, 5))
        weights, centres = rng.dirichlet(np.ones(n)), rng.normal(0.0, 2.0, n)
        moves = rng.uniform(-1.0, 1.0, n)
        q = sum(w * normal(x, c, sigma) for w, c in zip(weights, centres, strict=True))
        moved = sum(
            w * normal(x, c + d, sigma) for w, c, d in zip(weights, centres, moves, strict=True)
        )
        p = (1.0 - rate) * q + rate * moved
        assert between(p, q) <= worst * (1.0 + 1e-9) + 1e-13
        assert between(q, p) <= worst * (1.0 + 1e-9) + 1e-13


def test_edges():
    assert mixture_bound([math.inf, 1.0], [0.5, 0.5], 2.0) == math.inf
    assert mixture_bound([math.inf, 1.0], [0.0, 1.0], 2.0) == 1.0
    assert mixture_bound([math.inf, 0.0], [0.5, 0.5], 0.5) == pytest.approx(2.0 * math.log(2.0))
    assert mixture_bound([0.0], [1.0], 5.0) == 0.0
    assert mixture_bound([1e300, 0.0], [0.5, 0.5], 1e6) <= 1e300


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("divergences must be", ([-1.0], [1.0], 2.0)),
        ("divergences must be", ([math.nan], [1.0], 2.0)),
        ("weights must be of numbers", ([1.0], [1.1], 2.0)),
        ("weights must be of sum 1", ([1.0, 1.0], [0.5, 0.4], 2.0)),
        ("weights must be as many", ([1.0, 1.0], [1.0], 2.0)),
        ("weights must be as many", ([], [], 2.0)),
        ("alpha must be", ([1.0], [1.0], 0.0)),
        ("alpha must be", ([1.0], [1.0], math.inf)),
    ],
)
def test_bad_arguments(message, arguments):
    with pytest.raises(ValueError, match=message):
        mixture_bound(*arguments)


def test_a_rare_component_far_apart():
    # all but one share of the mean is lost: what is left has to keep its digits
    for rare in (1e-6, 1e-10, 1.8e-11):
        for slack in (0.0, 9e-13 * (rare < 1e-9), -9e-13):
            weights = [rare, 1.0 - rare + slack]
            bound = mixture_bound([100.0, 0.0], weights, 2.0)
            with mp.workdps(60):
                share = mp.mpf(weights[0]), mp.mpf(weights[1])
                exact = mp.log((share[0] * mp.exp(100) + share[1]) / (share[0] + share[1]))
                assert exact <= bound <= exact + 1e-9
