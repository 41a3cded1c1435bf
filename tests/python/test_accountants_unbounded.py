"""Losses without a bound, or beyond doubles: an epsilon of infinity, never an error."""

import math

import numpy as np
import pytest

from renyi import RDPAccountant
from renyi.mechanisms import (
    ZCDP,
    ApproxDP,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    FixedSizeSampled,
    Gaussian,
    Gumbel,
    Laplace,
    MultivariateDiscreteGaussian,
    PoissonSampled,
    PureDP,
    RandomAllocation,
    RDPCurve,
    RepeatAndSelect,
    ShuffledBatches,
    TreeAggregation,
)

SMALLEST = 5e-324
ORDERS = np.array([1.0, 1.5, 2.0, 1e6])

# No divergence is finite, or none that a double can hold.
RELEASES = [
    Gaussian(0.0),
    Gaussian(SMALLEST),
    Gaussian(1e-300),
    Laplace(SMALLEST),
    Gumbel(SMALLEST),
    DiscreteGaussian(SMALLEST, 1),
    DiscreteGaussian(1.0, 10**300),
    DiscreteLaplace(SMALLEST, 1),
    DiscreteLaplace(1.0, 10**300),
    MultivariateDiscreteGaussian(1e-200),
    Exponential(math.inf),
    PureDP(math.inf),
    PureDP(1.7e308),
    ZCDP(math.inf),
    ZCDP(1.0, math.inf),
    RDPCurve([2.0, 3.0], [math.inf, math.inf]),
]
TOGETHER = [
    Gaussian(0.0) + Laplace(1.0),
    Gaussian(1e-300) + Laplace(1.0),
    PureDP(math.inf) * 3 + Gaussian(1.0),
]


def check(mechanism, adjacency="add_remove"):
    for conversion in ("optimal", "balle", "mironov"):
        for orders in (None, [2.0, 8.0]):
            accountant = RDPAccountant(orders=orders, conversion=conversion, adjacency=adjacency)
            assert accountant.supports(mechanism)
            accountant.compose(Gaussian(1.0)).compose(mechanism, 2).compose(PureDP(1.0))
            assert accountant.mechanisms[1] == (mechanism, 2)
            for delta in (0.0, 1e-300, 1e-5, 0.999):
                assert accountant.get_epsilon(delta) == math.inf
                assert accountant.get_epsilon_bounds(delta)[1] == math.inf
            assert accountant.get_epsilon(1.0) == 0.0
            for epsilon in (0.0, 1.0, 1e308):
                assert accountant.get_delta(epsilon) == 1.0
    assert np.isinf(accountant.get_rdp(ORDERS)).all()


@pytest.mark.parametrize("mechanism", RELEASES + TOGETHER, ids=repr)
def test_releases(mechanism):
    for adjacency in ("add_remove", "replace_one", "zero_out"):
        check(mechanism, adjacency)


@pytest.mark.parametrize("mechanism", RELEASES + TOGETHER, ids=repr)
def test_samples_and_selection(mechanism):
    check(PoissonSampled(mechanism, 0.5))
    check(PoissonSampled(PoissonSampled(mechanism, 1e-9), 0.5))
    check(FixedSizeSampled(mechanism, 10, 100), "replace_one")
    check(ShuffledBatches(mechanism, 10), "replace_one")
    for shape in (math.inf, 1.0, 0.0):
        check(RepeatAndSelect(mechanism, 2.0, shape))


def test_noise_of_other_kinds():
    for noise in (0.0, 1e-200):
        check(TreeAggregation(noise, 8), "zero_out")
        check(RandomAllocation(Gaussian(noise), 8))
    for failing in (ApproxDP(math.inf, 0.0), ApproxDP(math.inf, 0.1), ApproxDP(1.0, 1.0)):
        assert RDPAccountant().compose(failing).get_epsilon(1e-5) == math.inf


def test_failures_of_probability_0_change_nothing():
    for mechanism in (ApproxDP(1.0, 0.0), ApproxDP(1.0, 0.0) * 2, PureDP(2.0) + ApproxDP(1.0, 0.0)):
        for rate in (0.3, 1.0):
            sampled = PoissonSampled(mechanism, rate)
            found = RDPAccountant().compose(sampled, 3).get_rdp(ORDERS[:3])
            assert (found > 0.0).all()
            if mechanism == ApproxDP(1.0, 0.0):
                pure = RDPAccountant().compose(PoissonSampled(PureDP(1.0), rate), 3)
                assert (found == pure.get_rdp(ORDERS[:3])).all()


def test_nothing_on_a_sample_is_nothing():
    nothing = FixedSizeSampled(Composed(), 1, 2)
    assert RDPAccountant(adjacency="replace_one").compose(nothing).get_epsilon(1e-5) == 0.0
    assert RDPAccountant().compose(PoissonSampled(Composed(), 0.5)).get_epsilon(1e-5) == 0.0


def test_no_sample_no_loss():
    for mechanism in RELEASES:
        accountant = RDPAccountant().compose(PoissonSampled(mechanism, 0.0), 3)
        assert accountant.get_epsilon(1e-5) == 0.0


def test_what_doubles_hold_is_not_infinite():
    assert RDPAccountant().compose(PureDP(1e289)).get_epsilon(1e-5) == pytest.approx(1e289)
    assert 1e197 < RDPAccountant().compose(Gaussian(1e-99)).get_epsilon(1e-5) < 1e199
