"""Accounts of single records."""

import math

import numpy as np
import pytest

from renyi import Gaussian, PoissonSampled, RDPAccountant, reference
from renyi.filters import IndividualFilter


def test_accounts_are_sums_of_the_reference():
    rng, order = np.random.default_rng(5), 6.5
    accounts = IndividualFilter(8, order=order, budget=1.0)
    truth, here = np.zeros(8), np.zeros(8, bool)
    for step in range(12):
        norms = rng.gamma(1.0, 0.4, 8) * (rng.random(8) < 0.8)
        noise, rate = rng.uniform(0.5, 4.0), rng.choice([1.0, 0.1])
        before = accounts.spent
        here = accounts.admit(norms, noise=noise, sample_rate=rate)
        cost = np.zeros(8)
        for i in np.flatnonzero(norms):
            sigma = noise / norms[i]
            known = reference.rdp_sampled_gaussian(1, sigma, order, 20)
            if rate < 1.0:
                known = reference.rdp_sampled_gaussian(rate, sigma, order, 20)
            cost[i] = float(known)
        assert np.all((before + cost <= 1.0 + 1e-9)[here])
        assert np.all((before + cost >= 1.0 - 1e-9)[~here])
        truth += np.where(here, cost, 0.0)
        assert np.all(accounts.spent >= truth * (1 - 1e-15)), step
        assert np.all(accounts.spent <= truth * (1 + 1e-9))
    assert not here.all()


def test_equal_norms_are_one_filter():
    accounts = IndividualFilter(5, order=8.0, budget=0.3)
    steps = 0
    while accounts.admit(np.ones(5), noise=10.0).all():
        steps += 1
    rdp = RDPAccountant(orders=[8.0]).compose(Gaussian(10.0), steps)
    assert rdp.get_rdp([8.0])[0] <= 0.3 < rdp.compose(Gaussian(10.0)).get_rdp([8.0])[0]
    assert not accounts.admit(np.ones(5), noise=10.0).any()
    assert accounts.admit(np.full(5, 1e-3), noise=10.0).all()  # a small step still fits


def test_a_million_records_go_on_from_what_they_spent():
    norms = np.random.default_rng(2).random(1_000_000).astype(np.float32)
    accounts = IndividualFilter(norms.size, order=16.0, budget=0.01)
    accounts.admit(norms, noise=8.0, sample_rate=0.01)
    later = IndividualFilter(accounts.spent, order=16.0, budget=0.01)
    for one in (accounts, later):
        one.admit(norms, noise=20.0)
    assert np.array_equal(accounts.spent, later.spent)
    assert accounts.spent.max() <= 0.01
    exact = RDPAccountant().compose(PoissonSampled(Gaussian(8.0 / float(norms[7])), 0.01))
    alone = IndividualFilter(1, order=16.0, budget=0.01)
    alone.admit(norms[7:8], noise=8.0, sample_rate=0.01)
    assert exact.get_rdp([16.0])[0] == pytest.approx(alone.spent[0], rel=1e-12)


def test_extremes():
    accounts = IndividualFilter(6, order=2.0, budget=1.0)
    norms = np.array([0.0, 5e-324, 1e-200, 1.0, 1e200, math.inf])
    for rate in (1.0, 0.5, 1e-300):
        assert accounts.admit(norms, noise=1e-3, sample_rate=rate).tolist()[0] is True
        assert not accounts.admit(norms, noise=1e-3, sample_rate=rate)[-1]
    assert accounts.admit(norms[::-1], noise=1e300).tolist()[1:] == [True] * 5
    assert accounts.spent[-1] == 0.0
    assert accounts.mechanism.rdp == (1.0,)
    small = IndividualFilter(2, order=8.0, budget=1.0)
    assert small.admit([0.0, 1e-200], noise=1.0).all()
    assert small.spent[0] == 0.0 < small.spent[1]  # its square underflows


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: IndividualFilter(0, order=2.0, budget=1.0), "records must be from 1"),
        (lambda: IndividualFilter([-1.0], order=2.0, budget=1.0), "records must be a 1-d array"),
        (lambda: IndividualFilter(2, order=1.0, budget=1.0), "order must be"),
        (lambda: IndividualFilter(2, order=2.0, budget=math.inf), "budget must be"),
        (lambda: ONE.admit([1.0], noise=1.0), "norms must be as many as records, 2"),
        (lambda: ONE.admit([[1.0, 2.0]], noise=1.0), "norms must be a 1-d array"),
        (lambda: ONE.admit([1.0, math.nan], noise=1.0), "norms must be a 1-d array"),
        (lambda: ONE.admit([1.0, 1.0], noise=0.0), "noise must be"),
        (lambda: ONE.admit([1.0, 1.0], noise=1.0, sample_rate=0.0), "sample_rate must be"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    assert not ONE.spent.any()


ONE = IndividualFilter(2, order=2.0, budget=1.0)
