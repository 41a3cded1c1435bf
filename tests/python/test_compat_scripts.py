"""The functions of other libraries' scripts: their numbers, and containment of the exact ones."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from renyi import Gaussian, PLDAccountant, PoissonSampled, RDPAccountant, special
from renyi.compat import (
    compute_dp_sgd_privacy_statement,
    compute_rdp,
    get_privacy_spent,
    prv_accountant,
    riskcal,
)

ORDERS = [1.5, 2.5, 5, 50, 100]


def test_compute_rdp():
    """The exact values of the 50 steps are those of test_dp_accounting_parity.py."""
    found = compute_rdp(0.01, 2.5, 50, ORDERS)
    exact = [6.50070897188e-4, 1.08541805692e-3, 2.18075656231e-3, 2.38460375387e-2]
    np.testing.assert_allclose(found[:4], exact, rtol=1e-11)
    assert (found >= 50 * special.rdp_sampled_gaussian_lower(0.01, 2.5, np.array(ORDERS))).all()
    assert compute_rdp(q=0.01, noise_multiplier=2.5, steps=50, orders=5) == found[2]


def test_get_privacy_spent_in_both_ways():
    rdp = compute_rdp(0.01, 1.0, 1000, ORDERS)
    epsilon, delta, order = get_privacy_spent(ORDERS, rdp, target_delta=1e-5)
    assert (epsilon, order) == get_privacy_spent(orders=ORDERS, rdp=rdp, delta=1e-5)
    assert delta == 1e-5
    assert get_privacy_spent(ORDERS, rdp, target_eps=epsilon)[1] <= 1e-5 * (1 + 1e-9)
    step = PoissonSampled(Gaussian(1.0), 0.01)
    assert epsilon == pytest.approx(
        RDPAccountant(orders=ORDERS).compose(step, 1000).get_epsilon(1e-5), rel=1e-12
    )
    assert epsilon > PLDAccountant().compose(step, 1000).get_epsilon(1e-5)
    with pytest.raises(ValueError, match="exactly one of"):
        get_privacy_spent(ORDERS, rdp)


# The five statements that TensorFlow Privacy's tests hold its function to: the kind of accounting,
# the examples of a user, and their numbers, which are rounded to the nearest; ours are rounded up.
GOLDEN = [
    ("RDP", None, [13.376, 1.616]),
    ("RDP", 3, [13.376, 1.616, 56.224, 6.425]),
    ("RDP", 10, [13.376, 1.616, 366.374, math.inf]),
    ("PLD", None, [12.595, 1.199]),
    ("PLD", 2, [12.595, 1.199, 30.579, 2.532]),
]


@pytest.mark.parametrize(("kind", "examples", "numbers"), GOLDEN)
def test_statement(kind, examples, numbers):
    text = compute_dp_sgd_privacy_statement(
        number_of_examples=10_000,
        batch_size=64,
        num_epochs=5.0,
        noise_multiplier=2.0,
        delta=1e-6,
        max_examples_per_user=examples,
        accountant_type=kind,
    )
    found = [float(number) for number in re.findall(r"^    Epsilon .*: +(\S+)", text, re.M)]
    assert len(found) == len(numbers)
    for ours, theirs in zip(found, numbers, strict=True):
        assert ours == theirs or theirs <= ours <= theirs + 0.0011
    assert ("(**)" in text) is (math.inf in numbers)
    assert max(map(len, text.splitlines())) <= 80


def test_statement_without_microbatching():
    text = compute_dp_sgd_privacy_statement(
        10_000, 64, 5.0, 2.0, 1e-6, False, accountant_type="PLD"
    )
    step = PoissonSampled(Gaussian(2.0), 0.0064)
    exact = PLDAccountant().compose(step, 782).get_epsilon(1e-6)
    shown = float(re.search(r"Poisson sampling \(\*\): +(\S+)", text)[1])
    assert exact <= shown <= exact + 0.001


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 0}, {"delta": 0.0}, {"num_epochs": -1.0}, {"accountant_type": "GDP"}]
)
def test_statement_of_wrong_arguments(wrong):
    given = {"number_of_examples": 100, "batch_size": 10, "num_epochs": 1.0, "delta": 1e-5, **wrong}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        compute_dp_sgd_privacy_statement(noise_multiplier=1.0, **given)


def test_triples_of_prv_accountant():
    steps = prv_accountant.PoissonSubsampledGaussianMechanism(0.01, 1.0)
    noise = prv_accountant.GaussianMechanism(8.0, l2_sensitivity=2.0)
    accountant = prv_accountant.PRVAccountant([steps, noise], 0.1, 1e-9, [1000, 5])
    low, middle, high = accountant.compute_epsilon(1e-5, [1000, 5])
    exact = PLDAccountant().compose(PoissonSampled(Gaussian(1.0), 0.01), 1000)
    exact.compose(Gaussian(4.0), 5)
    assert (low, high) == exact.get_epsilon_bounds(1e-5)
    assert low <= middle <= high
    low, middle, high = accountant.compute_delta(2.0, [1000, 5])
    assert (low, high) == exact.get_delta_bounds(2.0)
    with pytest.raises(ValueError, match="max_self_compositions"):
        accountant.compute_epsilon(1e-5, [1001, 5])
    with pytest.raises(ValueError, match="as many as"):
        accountant.compute_epsilon(1e-5, [1000])


def test_dp_sgd_of_prv_accountant():
    """q 0.2, noise 1, 500 steps: the package as it was released raises RuntimeError."""
    accountant = prv_accountant.DPSGDAccountant(1.0, 0.2, max_steps=500)
    low, _, high = accountant.compute_epsilon(1e-6, 500)
    assert 0 < low <= high <= low * (1 + 1e-9)
    sigma = prv_accountant.find_noise_multiplier(0.01, 1000, 1.0, 1e-5)
    made = prv_accountant.DPSGDAccountant(sigma, 0.01, 1000)
    assert made.compute_epsilon(1e-5, 1000)[2] <= 1.0


def test_conversions_of_riskcal():
    alpha = np.array([0.01, 0.1, 0.5])
    gaussian = special.gaussian_tradeoff(1.0, alpha)
    assert (riskcal.get_beta_from_gdp(1.0, alpha) <= gaussian).all()
    # rho-zCDP of rho = mu^2/2 is weaker than mu-GDP, and a single order weaker than all.
    concentrated = riskcal.get_beta_from_zcdp(0.5, alpha)
    one = riskcal.get_beta_from_rdp(1.0, alpha, order=2.0)
    assert (one <= concentrated + 1e-5).all()
    assert (concentrated <= gaussian).all()
    run = PLDAccountant().compose(PoissonSampled(Gaussian(1.0), 0.01), 1000)
    assert (riskcal.get_beta_for_dpsgd(1.0, 0.01, 1000, alpha) == run.get_beta(alpha)).all()
    assert riskcal.get_advantage_for_dpsgd(1.0, 0.01, 1000) == run.get_advantage()
    sigma = riskcal.find_noise_multiplier_for_advantage(0.1, 0.01, 1000)
    assert riskcal.get_advantage_for_dpsgd(sigma, 0.01, 1000) <= 0.1
    sigma = riskcal.find_noise_multiplier_for_err_rates(0.1, 0.8, 0.01, 1000)
    assert riskcal.get_beta_for_dpsgd(sigma, 0.01, 1000, 0.1) >= 0.8


def test_epsilon_from_error_rates():
    epsilon = riskcal.get_epsilon_from_err_rates(1e-3, 1e-3, 0.8)
    assert 0 <= epsilon - math.log((1 - 1e-3 - 0.8) / 1e-3) < 1e-14
    assert riskcal.get_epsilon_from_err_rates(0.0, 0.5, 0.5) == 0.0
    assert riskcal.get_epsilon_from_err_rates(0.0, 0.0, 0.5) == math.inf
    with pytest.raises(ValueError, match="alpha"):
        riskcal.get_epsilon_from_err_rates(0.0, -0.1, 0.5)
