"""Poisson samples that are hardly ever cut: beside lattices, and the probability of a cut."""

import math

import pytest
from mpmath import mp, mpf

from renyi import Gaussian, PLDAccountant, PoissonSampled, TruncatedPoissonSampled
from renyi._engine import LossComposition


@pytest.mark.parametrize(("population", "rate", "limit"), [(100, 0.1, 25), (1000, 0.5, 620)])
def test_overflow_is_above_the_tail_of_the_binomial_law(population, rate, limit):
    mp.dps = 30
    q = mpf(rate)
    tail = mp.fsum(
        mp.binomial(population, k) * q**k * (1 - q) ** (population - k)
        for k in range(limit + 1, population + 1)
    )
    found = TruncatedPoissonSampled(Gaussian(1.0), rate, limit, population).overflow
    assert tail <= found <= 30.0 * tail


def test_limits_that_are_always_or_never_exceeded():
    assert TruncatedPoissonSampled(Gaussian(1.0), 0.5, 10, 100).overflow == 1.0
    assert TruncatedPoissonSampled(Gaussian(1.0), 1.0, 99, 100).overflow == 1.0
    assert TruncatedPoissonSampled(Gaussian(1.0), 0.5, 100, 100).overflow == 0.0


@pytest.mark.parametrize("adjacency", ["add_remove", "zero_out"])
def test_brackets_agree_with_lattices(adjacency):
    mechanism = TruncatedPoissonSampled(Gaussian(1.0), 0.02, 190, 5000)
    found = PLDAccountant(adjacency=adjacency).compose(mechanism, 100)
    lattice = LossComposition([(mechanism.dominating_pair(adjacency), 100)], 1e-4, 2**18)
    for delta in (1e-3, 1e-5, 1e-7):
        low, high = found.get_epsilon_bounds(delta, direction="remove")
        least, most = lattice.epsilon_bounds(delta)
        assert low <= most
        assert least <= high
        assert high - low <= 1e-3 * high


def test_many_steps():
    step = TruncatedPoissonSampled(Gaussian(1.5), 1e-4, 200, 10**6)
    low, high = PLDAccountant().compose(step, 10**6).get_epsilon_bounds(1e-6)
    poisson = PLDAccountant().compose(PoissonSampled(Gaussian(1.5), 1e-4), 10**6)
    assert low <= poisson.get_epsilon(1e-6) <= high
    assert high - low <= 1e-3 * high
    delta = PLDAccountant().compose(step, 10**6).get_delta(high)
    assert delta <= 1e-6 * (1.0 + 1e-9)


def test_limits_that_matter_are_left_to_lattices():
    step = TruncatedPoissonSampled(Gaussian(1.0), 0.1, 12, 100)
    low, high = PLDAccountant(adjacency="zero_out").compose(step, 5).get_epsilon_bounds(1e-5)
    assert 0.0 < low < high < math.inf
    wider = TruncatedPoissonSampled(Gaussian(1.0), 0.1, 45, 100)
    assert PLDAccountant(adjacency="zero_out").compose(wider, 5).get_epsilon(1e-5) < high
