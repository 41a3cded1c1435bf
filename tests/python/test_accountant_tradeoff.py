"""Trade-off functions of compositions: below the truth and next to it, at few questions."""

import math
from fractions import Fraction
from itertools import pairwise
from math import comb
from statistics import NormalDist

import mpmath as mp
import numpy as np
import pytest

from renyi import (
    ApproxDP,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    RandomizedResponse,
)
from renyi.accountants.pld import WorseCurve

MANY = np.sort(np.random.default_rng(8).random(100_000))


NORMAL = NormalDist()


def tail(z):
    """Return Phi(-z) to 50 digits."""
    with mp.workdps(50):
        return mp.erfc(mp.mpf(z) / mp.sqrt(2)) / 2


def assert_just_below(found, exact, rtol, least=1e-12):
    for value, truth in zip(found, exact, strict=True):
        assert value <= truth
        assert value >= truth * (1 - rtol) - least, (value, truth)


@pytest.fixture
def asked(monkeypatch):
    """Count the epsilons that curves are asked at."""
    numbers = []
    plain = WorseCurve.delta_brackets

    def counted(self, epsilons, *args):
        numbers.append(epsilons.size)
        return plain(self, epsilons, *args)

    monkeypatch.setattr(WorseCurve, "delta_brackets", counted)
    return numbers


@pytest.mark.parametrize("sigma", [1e6, 100.0, 3.0, 1.0, 0.4, 0.15])
@pytest.mark.parametrize("steps", [1, 7])
def test_gaussian_noise_alone(sigma, steps):
    z = np.linspace(-8.0, 8.0, 41)
    alpha = np.array([float(tail(x)) for x in z])
    mu = mp.sqrt(steps) / mp.mpf(sigma)
    with mp.workdps(50):
        # of the doubles that the deviates were rounded to
        exact = [
            tail(mu - mp.findroot(lambda x, a=a: mp.log(tail(x) / a), s))
            for a, s in zip(alpha.tolist(), z.tolist(), strict=True)
        ]
    accountant = PLDAccountant().compose(Gaussian(sigma), steps)
    assert_just_below(accountant.get_beta(alpha), exact, 1e-8, least=0.0 if sigma > 1 else 1e-15)


@pytest.mark.parametrize(("q", "sigma"), [(0.5, 10.0), (0.1, 0.3), (0.9, 1.0), (1e-3, 0.5)])
def test_one_sampled_step(q, sigma):
    # reject without the record beyond a threshold: both errors are normal tails
    thresholds = np.linspace(-3.0, 5.0, 33) * sigma
    absent = [tail(mp.mpf(c) / sigma) for c in thresholds]
    present = [
        (1 - q) * a + q * tail((mp.mpf(c) - 1) / sigma)
        for c, a in zip(thresholds, absent, strict=True)
    ]
    accountant = PLDAccountant().compose(PoissonSampled(Gaussian(sigma), q))
    # alphas are rounded up, at which f is no more than at the exact ones
    alpha = np.nextafter([float(a) for a in absent], 1.0)
    found = accountant.get_beta(alpha, direction="remove")
    assert_just_below(found, [1 - p for p in present], 1e-7)
    alpha = np.nextafter([float(1 - p) for p in present], 1.0)
    assert_just_below(accountant.get_beta(alpha, direction="add"), absent, 1e-7)
    both = accountant.get_beta(MANY[::997])
    for direction in ("remove", "add"):
        assert np.all(both <= accountant.get_beta(MANY[::997], direction=direction) * (1 + 2e-8))


def test_laplace_noise():
    scale, alpha = 0.7, np.concatenate([np.geomspace(1e-9, 0.5, 20), np.linspace(0.51, 1.0, 20)])
    e = math.exp(1.0 / scale)
    exact = np.where(
        alpha < 0.5 / e,
        1.0 - e * alpha,
        np.where(alpha <= 0.5, 0.25 / (e * alpha), (1.0 - alpha) / e),
    )
    found = PLDAccountant().compose(Laplace(scale)).get_beta(alpha)
    assert np.all(found <= exact * (1 + 1e-14) + 1e-15)
    np.testing.assert_allclose(found, exact, rtol=2e-5, atol=1e-12)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_randomised_response_has_corners(count):
    p = Fraction(7, 10)
    ranked = sorted(range(count + 1), reverse=True)
    law = [comb(count, k) * p**k * (1 - p) ** (count - k) for k in ranked]
    other = [comb(count, k) * (1 - p) ** k * p ** (count - k) for k in ranked]
    alphas = [sum(other[:i], Fraction(0)) for i in range(count + 2)]
    betas = [1 - sum(law[:i], Fraction(0)) for i in range(count + 2)]
    accountant = PLDAccountant().compose(RandomizedResponse(float(p)), count)
    alpha = np.array([float(a) for a in alphas] + [float((a + b) / 2) for a, b in pairwise(alphas)])
    exact = np.array([float(b) for b in betas] + [float((a + b) / 2) for a, b in pairwise(betas)])
    found = accountant.get_beta(alpha)
    assert np.all(found <= exact * (1 + 1e-9) + 1e-15)
    np.testing.assert_allclose(found, exact, rtol=3e-5, atol=1e-9)


@pytest.mark.parametrize(
    ("mechanism", "steps"),
    [
        (PoissonSampled(Gaussian(1.1), 0.004), 15_000),
        (PoissonSampled(Gaussian(2.0), 0.3), 20),
        (Gaussian(0.2), 1),
        (DiscreteGaussian(2.0), 1),
        (ApproxDP(1.0, 1e-3), 1),
    ],
)
def test_many_alphas_cost_little_more_than_some(mechanism, steps, asked):
    accountant = PLDAccountant().compose(mechanism, steps)
    accountant.get_beta(MANY[::1000])
    some, calls = sum(asked), len(asked)
    asked.clear()
    many = accountant.get_beta(MANY)
    assert sum(asked) <= 2 * MANY.size
    assert len(asked) <= 4 * calls + 200
    assert some <= 3000
    assert np.all(np.diff(many) <= 1e-8)
    alone = np.array([accountant.get_beta(a) for a in MANY[500::10_000]])
    smooth = isinstance(mechanism, Gaussian | PoissonSampled)
    np.testing.assert_allclose(many[500::10_000], alone, rtol=2e-8 if smooth else 1e-4, atol=1e-15)


def test_one_alpha_takes_a_dozen_questions(asked):
    for mechanism, steps in ((Gaussian(1.0), 3), (PoissonSampled(Gaussian(1.0), 0.01), 1000)):
        accountant = PLDAccountant().compose(mechanism, steps)
        for alpha in (1e-12, 0.01, 0.5, 0.999):
            asked.clear()
            accountant.get_beta(alpha, direction="remove")
            assert sum(asked) <= 16


def test_ends():
    accountant = PLDAccountant().compose(Gaussian(1.0))
    assert accountant.get_beta([0.0, 1.0]).tolist() == [1.0, 0.0]
    assert accountant.get_beta(5e-324) == pytest.approx(1.0)
    assert accountant.get_beta([]).tolist() == []
    assert accountant.get_beta([[0.5], [0.5]]).shape == (2, 1)
    assert PLDAccountant().get_beta([0.0, 0.25, 1.0]) == pytest.approx([1.0, 0.75, 0.0])
    assert PLDAccountant().compose(Gaussian(0.0)).get_beta([0.0, 0.5]).tolist() == [0.0, 0.0]
    failing = PLDAccountant().compose(ApproxDP(0.5, 0.25))
    assert failing.get_beta(0.0) == pytest.approx(0.75, rel=1e-12)


def test_far_from_private():
    # beta down to 1e-200, from deltas that are 1 to the last digit
    accountant = PLDAccountant().compose(Gaussian(1 / 30))
    for alpha in (0.5, 0.9, 1e-130):
        with mp.workdps(50):
            z = mp.findroot(lambda x, a=alpha: tail(x) / a - 1, -NORMAL.inv_cdf(alpha))
        exact = tail(30 - z)
        assert_just_below([accountant.get_beta(alpha)], [exact], 1e-6, least=0.0)
