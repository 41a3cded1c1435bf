"""Errors of tests by Rényi curves: against brute force over orders, and below the truth."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from renyi import (
    ZCDP,
    ApproxDP,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PureDP,
    RDPAccountant,
    RDPCurve,
)


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


@pytest.mark.parametrize("prior", [0.01, 0.2, 0.45, 0.5, 0.9])
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
