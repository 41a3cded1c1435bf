"""Budgets kept by Gaussian and by zero-concentrated privacy, beside multi-precision arithmetic."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renyi import (
    ZCDP,
    ApproxDP,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    GDPFilter,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PureDP,
    RandomizedResponse,
    RDPAccountant,
    TreeAggregation,
    UnsupportedMechanismError,
    ZCDPFilter,
    reference,
)
from renyi.filters._single_number import mu_squared

BURST = PoissonSampled(Gaussian(0.8), 0.001)


@given(
    st.floats(0.05, 8.0),
    st.floats(-12.0, -2.0),
    st.lists(st.tuples(st.floats(1.0, 100.0), st.integers(0, 30)), max_size=12),
)
@settings(max_examples=40)
def test_what_was_taken_is_within_the_budget_by_the_reference(epsilon, exponent, offers):
    delta = 10.0**exponent
    budget, square = GDPFilter(epsilon, delta), mpmath.mpf(0)
    for noise, count in offers:
        if budget.fits(Gaussian(noise), count):
            budget.spend(Gaussian(noise), count)
            square += count / mpmath.mpf(noise) ** 2
    if square > 0.02 * budget.mu**2:  # deltas far below take as many digits as they have zeros
        assert reference.gaussian_delta(float(mpmath.sqrt(square)), epsilon) <= delta


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
@pytest.mark.parametrize("noise", [5.0, 50.0])
def test_adaptivity_costs_gaussian_noise_nothing(adjacency, noise):
    budget, taken = GDPFilter(1.0, 1e-6, adjacency), 0
    while budget.fits(Gaussian(noise)):
        budget.spend(Gaussian(noise))
        taken += 1

    def planned(count):
        return PLDAccountant(adjacency=adjacency).compose(Gaussian(noise), count).get_epsilon(1e-6)

    assert planned(taken) <= 1.0 < planned(taken + 1)


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 1.0, 4.0, 20.0])
def test_pure_privacy_has_the_parameter_of_its_kink(epsilon):
    with mpmath.workdps(40):
        fixed = 1 / (1 + mpmath.exp(epsilon))
        mu = -2 * mpmath.sqrt(2) * mpmath.erfinv(2 * fixed - 1)
        assert (
            float(mu) ** 2
            <= mu_squared(PureDP(epsilon), "add_remove")
            <= float(mu) ** 2 * (1 + 1e-6)
        )
    for alpha in 1e-9, 0.01, 0.2, 0.5, 0.9:
        pure = max(1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha), 0.0)
        assert pure >= reference.gaussian_tradeoff(float(mu), alpha) * (1 - 1e-12)


def test_the_first_call_has_its_exact_curve_and_the_rest_what_it_leaves():
    budget = GDPFilter(1.0, 1e-6)
    budget.spend(BURST, 3000)
    taken = 0
    while budget.fits(Gaussian(40.0)):
        budget.spend(Gaussian(40.0))
        taken += 1
    together = PLDAccountant().compose(BURST, 3000)
    assert together.compose(Gaussian(40.0), taken).get_epsilon(1e-6) <= 1.0
    assert together.compose(Gaussian(40.0)).get_epsilon(1e-6) > 1.0
    assert taken > 20
    with pytest.raises(UnsupportedMechanismError, match="only the first call"):
        budget.spend(BURST)
    assert not GDPFilter(1.0, 1e-6).fits(BURST, 20_000)


def test_what_has_no_parameter_is_refused():
    budget = GDPFilter(1.0, 1e-6)
    budget.spend(Gaussian(40.0))
    for mechanism in BURST, ZCDP(0.1), ApproxDP(0.1, 1e-9), DiscreteGaussian(40.0):
        with pytest.raises(UnsupportedMechanismError):
            budget.fits(mechanism)
    for mechanism in Laplace(90.0), RandomizedResponse(0.49, 2), Gaussian(90.0) + PureDP(0.01):
        assert budget.fits(mechanism)
    trees = GDPFilter(1.0, 1e-6, "replace_one")
    assert trees.fits(TreeAggregation(60.0, 100))


class TestConcentrated:
    @pytest.mark.parametrize(
        ("mechanism", "adjacency", "rho"),
        [
            (Gaussian(3.0), "add_remove", 1 / 18),
            (Gaussian(3.0), "replace_one", 4 / 18),
            (DiscreteGaussian(3.0, 2), "add_remove", 4 / 18),
            (ZCDP(0.3), "zero_out", 0.3),
            (PureDP(0.5), "add_remove", 0.125),
            (Laplace(4.0), "add_remove", 1 / 32),
            (Exponential(0.5), "replace_one", 0.25 / 8),
            (Gaussian(3.0) * 2 + PureDP(0.5), "add_remove", 2 / 18 + 0.125),
        ],
    )
    def test_costs(self, mechanism, adjacency, rho):
        budget = ZCDPFilter(10.0, adjacency)
        budget.spend(mechanism, 3)
        assert 1.0 - budget.remaining == pytest.approx(0.3 * rho, rel=0.2)  # pure: at most
        assert 10.0 * (1.0 - budget.remaining) <= 3.0 * rho * (1 + 1e-6)
        orders = [1.0, 1.5, 2.0, 10.0, 1e3]
        spent = RDPAccountant(adjacency=adjacency).compose(mechanism, 3).get_rdp(orders)
        for order, divergence in zip(orders, spent, strict=True):
            assert divergence <= 10.0 * (1.0 - budget.remaining) * order * (1 + 1e-6)

    def test_refusals(self):
        for mechanism in BURST, ZCDP(0.1, 0.1), ApproxDP(0.1, 1e-9):
            with pytest.raises(UnsupportedMechanismError, match="no rho"):
                ZCDPFilter(1.0).fits(mechanism)
        for bad in 0.0, -1.0, math.inf:
            with pytest.raises(ValueError, match="rho must be"):
                ZCDPFilter(bad)
