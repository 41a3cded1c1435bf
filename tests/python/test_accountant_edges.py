"""Queries at the ends of what doubles hold: certified, silent and never an error."""

import math
import warnings

import numpy as np
import pytest
from each import each

from renyi import ZCDP, Gaussian, Laplace, PLDAccountant, PoissonSampled, RDPAccountant
from renyi.matrix import Tree
from renyi.mechanisms import (
    ApproxDP,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    FixedSizeSampled,
    Gumbel,
    MatrixMechanism,
    MultivariateDiscreteGaussian,
    PureDP,
    RandomAllocation,
    RDPCurve,
    RepeatAndSelect,
    ShuffledBatches,
)

REVEALING = Gaussian(0.0)


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    "beside", [PoissonSampled(Gaussian(0.1), 1e-3), Laplace(1.0), Gaussian(2.0), REVEALING]
)
def test_an_unbounded_loss_beside_anything(adjacency, beside):
    accountant = PLDAccountant(adjacency=adjacency).compose(beside, 10).compose(REVEALING)
    for epsilon in (0.0, 1.0, 800.0, math.inf):
        assert accountant.get_delta(epsilon) == 1.0
        low, high = accountant.get_delta_bounds(epsilon)
        assert 1.0 - 1e-14 <= low <= high == 1.0
    assert accountant.get_epsilon(0.5) == math.inf
    assert accountant.get_epsilon_bounds(0.5) == (math.inf, math.inf)
    assert accountant.get_epsilon(1.0) == 0.0
    assert accountant.get_beta([0.0, 0.5]).tolist() == [0.0, 0.0]
    assert accountant.get_advantage() == 1.0


@pytest.mark.parametrize(
    ("mechanism", "steps", "epsilon"),
    [
        (Gaussian(1.0), 1, 40.0),  # the truth is 4e-343
        (Gaussian(1.0), 1, 1e308),
        (Gaussian(1000.0), 3, 1e308),
        (PoissonSampled(Gaussian(10.0), 0.5), 1, 1e308),
        (PoissonSampled(Gaussian(1.0), 0.01), 10, 120.0),
        (PoissonSampled(Gaussian(1.0), 0.01), 10, 1e10),
        (PoissonSampled(Gaussian(10.0), 0.5), 10, 1e308),
    ],
)
def test_an_upper_bound_of_a_positive_number_is_not_zero(mechanism, steps, epsilon):
    accountant = PLDAccountant().compose(mechanism, steps)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = accountant.get_delta_bounds(epsilon)
        single = accountant.get_delta(epsilon)
    assert low == 0.0
    assert 0.0 < high <= 2.0**-1022
    assert 0.0 < single <= 2.0**-1022


def test_a_loss_that_ends_leaves_nothing_beyond():
    accountant = PLDAccountant().compose(Laplace(1.0), 3)
    assert accountant.get_delta(3.1) == 0.0
    assert accountant.get_delta_bounds(3.1) == (0.0, 0.0)
    step = PoissonSampled(Gaussian(1.0), 0.5)
    assert PLDAccountant().compose(step, 3).get_delta(2.1, direction="add") == 0.0


def test_as_many_uses_as_there_may_be():
    """By the central limit 0.126937, to terms of 0.06/sqrt(count)."""
    for count in (10**8, 10**9):
        accountant = PLDAccountant().compose(Laplace(math.sqrt(count)), count)
        low, high = accountant.get_delta_bounds(1.0)
        assert low < high < low * 1.1
        assert low * (1 - 1e-4) <= 0.126937 <= high * (1 + 1e-4)


def test_losses_next_to_none():
    accountant = PLDAccountant().compose(PoissonSampled(Gaussian(1e-5), 1e-300), 1000)
    # A record is drawn with probability 1e-297, and then the loss is 5e9, in deviations of 1e5.
    low, high = accountant.get_epsilon_bounds(1e-300)
    assert low < 5.1e9 < high
    assert accountant.get_delta(1.0) >= 1e-297


@each("noise", [1.7e308])
@each("count", [1, 10**9])
@each("accountant", [PLDAccountant, RDPAccountant])
def test_noise_whose_square_doubles_do_not_hold(accountant, noise, count):
    """Next to mu = 0, delta is mu/sqrt(2 pi) at 0, and mu (phi(1) - Q(1)) at epsilon = mu."""
    known = accountant().compose(Gaussian(noise), count)
    mu = math.sqrt(count) / noise
    assert known.get_delta(0.0) >= mu / math.sqrt(2.0 * math.pi) * (1 - 1e-9)
    assert known.get_advantage() >= mu / math.sqrt(2.0 * math.pi) * (1 - 1e-9)
    assert known.get_delta(mu) >= mu * 0.0833154705876862 * (1 - 1e-9)
    assert known.get_delta(0.0, group_size=3) >= 3.0 * mu / math.sqrt(2.0 * math.pi) * (1 - 1e-9)
    assert known.get_epsilon(0.05 * mu) >= mu
    if accountant is PLDAccountant:
        low, high = known.get_delta_bounds(0.0)
        assert low <= mu / math.sqrt(2.0 * math.pi) * (1 + 1e-9) <= high * (1 + 2e-9)


@each("exponent", [*range(-320, -10, 60), -305, -308])
def test_divergences_next_to_none(exponent):
    """What holds of rho-zCDP is no less than what Gaussian noise of that rho reveals."""
    rho = 10.0**exponent
    known, mu = RDPAccountant().compose(ZCDP(rho)), math.sqrt(2.0) * math.sqrt(rho)
    assert known.get_delta(0.0) >= mu / math.sqrt(2.0 * math.pi)
    assert known.get_delta(mu) >= mu * 0.0833154705876862 * (1 - 1e-9)
    assert known.get_epsilon(0.05 * mu) >= mu
    assert known.get_rdp([2.0])[0] >= 2.0 * rho
    if exponent > -280:  # and not much more, by the pairs of least divergence
        assert known.get_delta(mu) <= 2.5 * mu * 0.0833154705876862


# --- losses without a bound, or beyond doubles


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
        check(MatrixMechanism(Tree(8), noise), "zero_out")
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


def test_a_replaced_record_at_a_tiny_rate_beside_an_ordinary_one():
    """The loss of the first is flat over nearly all outputs and then steep."""
    rare, usual = PoissonSampled(Gaussian(0.185), 2e-118), PoissonSampled(Gaussian(32.0), 0.0166)
    parts = {rare: 1000, usual: 100_000}
    both = [kind(adjacency="replace_one") for kind in (PLDAccountant, RDPAccountant)]
    for accountant in both:
        for mechanism, count in parts.items():
            accountant.compose(mechanism, count)
    alone = PLDAccountant(adjacency="replace_one").compose(usual, 100_000)
    low, high = both[0].get_epsilon_bounds(1e-200)
    assert low <= high <= both[1].get_epsilon(1e-200)
    assert high >= alone.get_epsilon_bounds(1e-200)[0]
