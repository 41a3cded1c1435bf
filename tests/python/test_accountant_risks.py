"""Errors of tests: by Rényi curves against brute force, by exact curves next to the truth."""

import math
from fractions import Fraction
from itertools import pairwise
from math import comb
from statistics import NormalDist

import mpmath as mp
import numpy as np
import pytest
from each import slow
from scipy.optimize import minimize_scalar

from renyi import (
    ZCDP,
    ApproxDP,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PureDP,
    RandomizedResponse,
    RDPAccountant,
    RDPCurve,
)
from renyi.accountants.pld import WorseCurve


def brute_force(rdp, alpha):
    """Return the least type II error by 700 orders, in both directions: roots by halving."""
    orders = np.concatenate([1.0 + np.geomspace(1e-4, 1e4, 681), np.arange(2.0, 21.0)])
    t, limits = orders - 1.0, rdp(orders)
    best = 0.0
    for swapped in (False, True):
        low, high = np.full(700, -60.0), np.full(700, math.log(1.0 - alpha))  # of log beta
        for _ in range(60):
            log_beta = 0.5 * (low + high)
            log_p = np.log1p(-np.exp(log_beta))
            log_q, log_rest = math.log(alpha), math.log1p(-alpha)
            one, two = log_p - log_q, log_beta - log_rest
            if swapped:
                value = np.logaddexp(log_p - orders * one, log_beta - orders * two)
            else:
                value = np.logaddexp(log_q + orders * one, log_rest + orders * two)
            beyond = value > t * limits
            low, high = np.where(beyond, log_beta, low), np.where(beyond, high, log_beta)
        best = max(best, float(np.exp(low).max()))
    return best


RUNS = [
    (ZCDP(4.0), 1, 0.01, 0.0741),
    (ZCDP(2.0), 1, 0.05, 0.1787),
    (PoissonSampled(Gaussian(0.6), 0.01), 3000, 0.08, 0.1549),
    (Laplace(1.0), 3, 0.1, 0.2),
    (Gaussian(1.5), 2, 0.3, 0.2),
    (RDPCurve([2.0, 8.0], [0.3, 1.5]), 3, 0.2, 0.31),
    (RandomizedResponse(0.6, 3), 20, 0.3, 0.0),
]


@pytest.mark.parametrize(("mechanism", "count", "alpha", "least"), RUNS)
def test_errors_by_all_orders_in_both_directions(mechanism, count, alpha, least):
    known = RDPAccountant().compose(mechanism, count)
    found, brute = known.get_beta(alpha), brute_force(known.get_rdp, alpha)
    assert found >= least
    assert brute * (1 - 1e-6) <= found <= brute * (1 + 2e-3)
    assert known.get_beta([alpha, 0.5])[0] >= found * (1 - 1e-6)
    truth = PLDAccountant()
    if truth.supports(mechanism):
        truth.compose(mechanism, count)
        assert found <= truth.get_beta(alpha) * (1 + 1e-7)
        assert known.get_advantage() >= truth.get_advantage() * (1 - 1e-7)


def test_advantage_by_all_orders():
    """Where p + q = 1 both directions meet; beta there is alpha."""
    known = RDPAccountant().compose(ZCDP(0.5))
    found = known.get_advantage()
    assert 0.4790 <= found <= 0.4791
    assert known.get_beta(0.5 * (1.0 - found)) == pytest.approx(0.5 * (1.0 - found), rel=1e-4)
    assert found <= known.get_delta(0.0)
    failing = RDPAccountant().compose(ZCDP(0.5)).compose(ApproxDP(0.0, 0.1))
    assert failing.get_advantage() == pytest.approx(0.1 + 0.9 * found, rel=1e-5)
    beta = 0.9 * known.get_beta(0.18 / 0.9)
    assert failing.get_beta(0.18) == pytest.approx(beta, rel=1e-5)


def least_risk(rdp, prior):
    """Return the least cost of (alpha, beta) over all alpha, by sections of log alpha."""
    rare = min(prior, 1.0 - prior)

    def cost(x):
        return rare * math.exp(x) + (1.0 - rare) * brute_force(rdp, math.exp(x))

    found = minimize_scalar(cost, bounds=(-12.0, -1e-9), method="bounded", options={"xatol": 1e-5})
    return min(found.fun, rare)


@pytest.mark.parametrize("prior", [0.01, 0.5, *slow(0.45, 0.9)])
@pytest.mark.parametrize(("mechanism", "count", "alpha", "least"), RUNS)
def test_bayes_risk_at_any_prior(mechanism, count, alpha, least, prior):
    known = RDPAccountant().compose(mechanism, count)
    found = known.get_bayes_risk(prior)
    brute = least_risk(known.get_rdp, prior)
    assert brute * (1 - 1e-6) <= found <= brute * (1 + 3e-3)
    truth = PLDAccountant()
    if truth.supports(mechanism):
        assert found <= truth.compose(mechanism, count).get_bayes_risk(prior)


def test_risks_at_the_edges():
    """What reveals nothing, everything, or too little to change a verdict."""
    nothing = RDPAccountant().compose(PoissonSampled(Gaussian(1.0), 0.0), 5)
    assert nothing.get_beta([0.0, 0.3, 1.0]).tolist() == [1.0, 0.7, 0.0]
    assert nothing.get_advantage() == 0.0
    assert nothing.get_bayes_risk(0.2) == 0.2
    hardly = RDPAccountant().compose(ZCDP(1e-30))
    assert 0.7 * (1 - 1e-12) <= hardly.get_beta(0.3) <= 0.7
    assert 0.0 < hardly.get_advantage() <= 1e-14
    assert RDPAccountant().compose(Laplace(1.0)).get_bayes_risk(0.1) == 0.1
    known = RDPAccountant().compose(ZCDP(0.5))
    assert known.get_beta([0.0, 1.0]).tolist() == [1.0, 0.0]
    assert known.get_beta(5e-324) >= 1.0 - 1e-12
    assert 0.0 < known.get_beta(1.0 - 2.0**-53) <= 2.0**-53
    much = RDPAccountant().compose(ZCDP(1e5))
    assert much.get_beta([1e-9, 0.5]).tolist() == [0.0, 0.0]
    assert much.get_advantage() == 1.0
    assert much.get_bayes_risk(0.3) == 0.0
    failing = RDPAccountant().compose(ZCDP(0.5)).compose(ApproxDP(0.0, 0.1))
    assert failing.get_bayes_risk(0.3) == pytest.approx(0.9 * known.get_bayes_risk(0.3), rel=1e-12)
    certainly = RDPAccountant().compose(ApproxDP(0.0, 1.0)).compose(ZCDP(0.5))
    assert certainly.get_beta([0.1, 0.5]).tolist() == [0.0, 0.0]
    three = RDPAccountant().compose(Gaussian(1.0)), RDPAccountant().compose(Gaussian(1.0 / 3.0))
    assert three[0].get_bayes_risk(0.3, group_size=3) == pytest.approx(three[1].get_bayes_risk(0.3))
    assert three[0].get_advantage(group_size=3) == pytest.approx(three[1].get_advantage())


def test_every_order_bounds_pure_mechanisms():
    """Randomised response: the largest loss is attained, and its errors are known exactly."""
    known = RDPAccountant().compose(PureDP(1.0))
    share = 1.0 / (1.0 + math.e)
    alpha = np.array([1e-6, 0.1, share, 0.5, 0.99])
    truth = np.maximum(1.0 - math.e * alpha, (1.0 - alpha) / math.e)
    found = known.get_beta(alpha)
    assert (found <= truth).all()
    assert found == pytest.approx(truth, rel=1e-13)
    assert share * (1 - 1e-13) <= known.get_bayes_risk(0.4) <= share


@pytest.mark.slow
def test_two_hundred_settings_against_brute_force():
    rng = np.random.default_rng(3)
    for i in range(200):
        noise, count = float(10 ** rng.uniform(-0.3, 1.0)), int(10 ** rng.uniform(0.0, 3.0))
        mechanism = [
            ZCDP(noise / 2.0),
            PoissonSampled(Gaussian(noise), float(10 ** rng.uniform(-3.0, -1.0))) * count,
            Laplace(noise) * (1 + count % 30),
            Gaussian(noise),
        ][i % 4]
        alpha = float(10 ** rng.uniform(-4.0, -0.3))
        known = RDPAccountant().compose(mechanism)
        found, brute = known.get_beta(alpha), brute_force(known.get_rdp, alpha)
        assert brute * (1 - 1e-6) <= found <= brute * (1 + 3e-3)


# --- trade-off functions of the exact curve


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
    plain = WorseCurve.brackets

    def counted(self, wanted, values):
        if wanted == "delta":
            numbers.append(values.size)
        return plain(self, wanted, values)

    monkeypatch.setattr(WorseCurve, "brackets", counted)
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
