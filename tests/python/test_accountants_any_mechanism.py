"""Both accountants on every mechanism: what they take, what they refuse, and how answers relate."""

import copy
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from mechanism_strategies import leaves, mechanisms

from renyi import (
    ZCDP,
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    FixedAllocation,
    FixedSizeSampled,
    Gaussian,
    GaussianMixture,
    Gumbel,
    Laplace,
    MatrixMechanism,
    MultivariateDiscreteGaussian,
    PLDAccountant,
    PoissonSampled,
    PrivacyLoss,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RDPAccountant,
    RDPCurve,
    RepeatAndSelect,
    ShuffledBatches,
    Skellam,
    Staircase,
    TruncatedPoissonSampled,
    UnsupportedMechanismError,
    pairs,
    special,
)
from renyi.matrix import Tree
from renyi.pairs import MechanismPair

ADJACENCIES = ["add_remove", "replace_one", "zero_out"]


def rdp_of(mechanism, orders, adjacency="add_remove", count=1):
    return RDPAccountant(adjacency=adjacency).compose(mechanism, count).get_rdp(orders)


def by_rdp(adjacency):
    return RDPAccountant(adjacency=adjacency)


@pytest.mark.parametrize("blank", [by_rdp, PLDAccountant])
@settings(max_examples=60)
@given(mechanism=mechanisms(), adjacency=st.sampled_from(ADJACENCIES))
def test_a_mechanism_is_taken_or_refused_with_a_reason(blank, mechanism, adjacency):
    accountant = blank(adjacency=adjacency)
    if accountant.supports(mechanism):
        assert accountant.compose(mechanism).mechanisms == ((mechanism, 1),)
    else:
        with pytest.raises(UnsupportedMechanismError) as refusal:
            accountant.compose(mechanism)
        assert refusal.value.reason
        assert refusal.value.reason in str(refusal.value)
        assert str(refusal.value).startswith("mechanism must be")
        assert accountant.mechanisms == ()
        assert accountant.get_epsilon(1e-5) == 0.0


ORDERS = np.array([1.0, 1.0 + 1e-9, 1.5, 2.0, 2.5, 3.0, 7.3, 33.0, 1e3])


@settings(max_examples=50)
@given(mechanism=mechanisms(4), adjacency=st.sampled_from(ADJACENCIES))
def test_renyi_divergences_are_numbers(mechanism, adjacency):
    accountant = RDPAccountant(adjacency=adjacency)
    assume(accountant.supports(mechanism))
    found = accountant.compose(mechanism).get_rdp(ORDERS)
    assert not np.isnan(found).any()
    assert (found >= 0.0).all()


@settings(max_examples=50)
@given(mechanism=leaves, q=st.one_of(st.just(1.0), st.floats(0.0, 1.0)), count=st.integers(1, 100))
def test_renyi_divergences_rise_with_the_order(mechanism, q, count):
    sampled = PoissonSampled(mechanism, q) if mechanism.symmetric else mechanism
    accountant = RDPAccountant()
    assume(accountant.supports(sampled))
    found = accountant.compose(sampled, count).get_rdp(ORDERS)
    finite = np.isfinite(found)
    assert (finite[:-1] >= finite[1:]).all()
    rises = found[finite][1:] >= found[finite][:-1] * (1 - 1e-6) - 1e-30
    assert rises.all()


@settings(max_examples=30)
@given(a=mechanisms(2), b=mechanisms(2), k=st.integers(1, 1000))
def test_composition_is_commutative_and_additive(a, b, k):
    taken = RDPAccountant()
    assume(taken.supports(a))
    assume(taken.supports(b))
    orders = np.array([1.0, 1.7, 2.0, 5.5, 64.0])
    one_by_one = rdp_of(a, orders, count=k) + rdp_of(b, orders)
    np.testing.assert_allclose(rdp_of(a * k + b, orders), one_by_one, rtol=1e-9, atol=1e-280)
    np.testing.assert_allclose(rdp_of(b + k * a, orders), one_by_one, rtol=1e-9, atol=1e-280)
    split = RDPAccountant().compose(a, k // 3).compose(b).compose(a, k - k // 3)
    np.testing.assert_allclose(split.get_rdp(orders), one_by_one, rtol=1e-9, atol=1e-280)


SAMPLED = [
    Gaussian(0.7),
    Laplace(0.5),
    RandomizedResponse(0.8, 3),
    DiscreteLaplace(2.0, 3),
    DiscreteGaussian(1.5, 2),
    MultivariateDiscreteGaussian(0.75),
    Exponential(1.5),
    PureDP(0.8),
    ZCDP(0.3),
    Gumbel(2.0),
    RDPCurve([2, 3, 4, 8, 32, 128], [0.2, 0.3, 0.4, 0.9, 4.0, 20.0]),
    Laplace(1.0) + Gaussian(2.0),
    PoissonSampled(Gaussian(1.0), 0.1) * 5,
]


@pytest.mark.parametrize("mechanism", SAMPLED, ids=repr)
def test_sampling_interpolates_between_nothing_and_all(mechanism):
    top = 2.0 if isinstance(mechanism, Gumbel) else 32.0
    orders = np.array([1.0, 1.5, 2.0, top])
    alone = rdp_of(mechanism, orders)
    np.testing.assert_allclose(rdp_of(PoissonSampled(mechanism, 1.0), orders), alone, rtol=1e-12)
    assert (rdp_of(PoissonSampled(mechanism, 0.0), orders) == 0.0).all()
    last = np.zeros(orders.size)
    for q in [1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.5, 0.9, 1.0 - 1e-9]:
        found = rdp_of(PoissonSampled(mechanism, q), orders)
        assert (found >= last * (1 - 1e-12)).all()
        last = found


@pytest.mark.parametrize("accountant", [RDPAccountant, PLDAccountant])
def test_a_sample_owns_what_happens_to_it(accountant):
    """Two releases on one sample cost more than the same releases on two samples."""
    a, b, q = Laplace(1.0), Gaussian(1.0), 0.05
    together = accountant().compose(PoissonSampled(a + b, q)).get_delta(0.3)
    apart = accountant().compose(PoissonSampled(a, q) + PoissonSampled(b, q)).get_delta(0.3)
    assert together > apart * 1.5


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_both_accountants_agree_with_the_closed_form_for_every_adjacency(adjacency):
    moved = 2.0 if adjacency == "replace_one" else 1.0
    exact = float(special.gaussian_epsilon(moved / 1.3, 1e-5))
    pld, rdp = PLDAccountant(adjacency=adjacency), RDPAccountant(adjacency=adjacency)
    assert pld.compose(Gaussian(1.3)).get_epsilon(1e-5) == pytest.approx(exact, rel=1e-12)
    order = np.array([7.0])
    assert rdp.compose(Gaussian(1.3)).get_rdp(order)[0] == pytest.approx(
        3.5 * (moved / 1.3) ** 2, rel=1e-12
    )
    assert exact < rdp.get_epsilon(1e-5) < 1.15 * exact
    laplace = PLDAccountant(adjacency=adjacency).compose(Laplace(0.5))
    assert laplace.get_delta(1.0) == pytest.approx(-math.expm1(0.5 * (1.0 - 2.0 * moved)), rel=1e-4)
    pure = RDPAccountant(adjacency=adjacency).compose(Laplace(0.5))
    assert pure.get_epsilon(0.0) == pytest.approx(2.0 * moved, rel=1e-12)


@pytest.mark.parametrize(
    ("mechanism", "adjacencies"),
    [
        (FixedSizeSampled(Gaussian(1.0), 10, 100), ("replace_one",)),
        (TruncatedPoissonSampled(Gaussian(1.0), 0.1, 20, 100), ADJACENCIES),
        (ShuffledBatches(Gaussian(1.0), 10), ("replace_one", "zero_out")),
        (RandomAllocation(Gaussian(1.0), 10), ADJACENCIES),
        (FixedAllocation(Gaussian(2.0), 10, 4), ADJACENCIES),
        (MatrixMechanism(Tree(10), 1.0), ("replace_one", "zero_out")),
        (Gaussian(1.0), ADJACENCIES),
    ],
    ids=repr,
)
def test_sampling_schemes_hold_for_their_adjacency_only(mechanism, adjacencies):
    taken = {
        adjacency
        for adjacency in ADJACENCIES
        for accountant in (by_rdp(adjacency), PLDAccountant(adjacency=adjacency))
        if accountant.supports(mechanism)
    }
    assert taken == set(adjacencies)
    inside = {
        adjacency
        for adjacency in ADJACENCIES
        if by_rdp(adjacency).supports(RepeatAndSelect(mechanism, 5, 1))
    }
    assert inside <= set(adjacencies)


@pytest.mark.parametrize(
    "mechanism",
    [
        PrivacyLoss(MechanismPair(Laplace(2.0)), MechanismPair(Laplace(1.0))),
        PrivacyLoss(MechanismPair(Laplace(1.0)), MechanismPair(Laplace(2.0))),
        PrivacyLoss(pairs.GumbelPair(2.0)),
        Laplace(1.0),
    ],
    ids=repr,
)
def test_the_worse_direction_counts(mechanism):
    accountant = PLDAccountant().compose(Laplace(5.0), 2).compose(mechanism)

    def worse(query, *arguments):
        return np.max([query(*arguments, direction=d) for d in ("remove", "add")], axis=0)

    assert accountant.get_epsilon(1e-6) == worse(accountant.get_epsilon, 1e-6)
    assert accountant.get_delta(0.3) == worse(accountant.get_delta, 0.3)
    bounds = accountant.get_delta_bounds(0.3)
    assert bounds == tuple(worse(accountant.get_delta_bounds, 0.3))


def test_shuffled_batches_get_no_amplification():
    for accountant in by_rdp("zero_out"), PLDAccountant(adjacency="zero_out"):
        alone = copy.copy(accountant).compose(Gaussian(1.0)).get_epsilon(1e-5)
        assert accountant.compose(ShuffledBatches(Gaussian(1.0), 100)).get_epsilon(1e-5) == alone


class TestFailures:
    """What holds except with some probability is taken off delta."""

    def test_an_approximate_mechanism_is_never_below_its_curve(self):
        mechanism = ApproxDP(0.5, 1e-6)
        for count in 1, 3, 10:
            exact = PLDAccountant().compose(mechanism, count)
            upper = RDPAccountant().compose(mechanism, count)
            for delta in 1.1e-5, 1e-4, 0.01:
                assert upper.get_epsilon(delta) >= exact.get_epsilon_bounds(delta)[0]
                assert upper.get_epsilon(delta) <= 0.5 * count
            assert upper.get_epsilon(0.5e-6 * count) == math.inf
            assert upper.get_delta(100.0) == pytest.approx(count * 1e-6, rel=1e-4)
            assert upper.get_delta(100.0) >= -math.expm1(count * math.log1p(-1e-6))

    def test_sampling_reduces_the_failures_too(self):
        upper = RDPAccountant().compose(PoissonSampled(ApproxDP(1.0, 1e-6), 0.01), 100)
        exact = PLDAccountant().compose(PoissonSampled(ApproxDP(1.0, 1e-6), 0.01), 100)
        assert upper.get_epsilon(1e-5) >= exact.get_epsilon_bounds(1e-5)[0]
        assert upper.get_epsilon(1e-5) < 0.5
        assert upper.get_delta(50.0) == pytest.approx(1e-6, rel=1e-3)

    def test_renyi_divergences_are_infinite(self):
        failing = RDPAccountant().compose(Gaussian(1.0) + ApproxDP(1.0, 1e-9))
        assert np.isinf(failing.get_rdp([1.0, 2.0])).all()


def test_bad_arguments_leave_nothing_behind():
    for accountant in RDPAccountant(), PLDAccountant():
        for mechanism, count, error in [
            (1.0, 1, TypeError),
            (Gaussian(1.0), -1, ValueError),
            (Gaussian(1.0), 1.5, TypeError),
            (Gaussian(1.0), 10**400, ValueError),
            (Gaussian(1.0) * 10**400, 1, ValueError),
            (Gaussian(1.0) + FixedSizeSampled(Gaussian(1.0), 1, 2), 1, UnsupportedMechanismError),
        ]:
            with pytest.raises(error):
                accountant.compose(mechanism, count)
        assert accountant.mechanisms == ()
        assert accountant.get_epsilon(1e-9) == 0.0
    with pytest.raises(ValueError, match=r"adjacency must be one of 'add_remove'.*'swap'"):
        PLDAccountant(adjacency="swap")


BOTH = [
    DiscreteGaussian(2.0, 1) * 7,
    PoissonSampled(Laplace(1.5), 0.05) * 50,
    PoissonSampled(RandomizedResponse(0.7, 4), 0.05) * 50,
    PoissonSampled(PoissonSampled(DiscreteLaplace(3.0, 2), 0.5), 0.1) * 10,
    FixedSizeSampled(Laplace(1.5), 5, 100) * 20,
    FixedSizeSampled(Gaussian(1.5), 5, 100) * 20,
    ShuffledBatches(ApproxDP(0.4, 1e-7) + Laplace(3.0), 10) * 3,
    MatrixMechanism(Tree(30), 4.0) * 2 + PureDP(0.1),
    Laplace(2.0) + Gaussian(3.0) * 2 + RandomizedResponse(0.6),
    Gumbel(3.0) * 3,
    *(PoissonSampled(noise, 0.1) * 3 for noise in (Skellam(20.0, 2), Staircase(1.0, 0.375))),
    PrivacyLoss(MechanismPair(Laplace(0.8))) * 2,
    PrivacyLoss(pairs.StudentTPair(3.0, 2.0)) * 3,
    PoissonSampled(PrivacyLoss(pairs.DiscretePair((0.6, 0.3, 0.1), (0.2, 0.3, 0.5))), 0.3) * 5,
    PoissonSampled(Gaussian(1.1), 0.2) * 4,
    PoissonSampled(GaussianMixture(2.0, [0.0, 1.0], [0.75, 0.25]), 0.1) * 4,
    FixedSizeSampled(PrivacyLoss(MechanismPair(Laplace(2.0))), 3, 10) * 2,
    FixedSizeSampled(Laplace(1.5), 3, 10, True) * 2,
]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("mechanism", BOTH, ids=repr)
def test_renyi_bounds_are_never_below_the_exact_curve(mechanism, adjacency):
    """Two readings of what is released: Rényi curves, and lattices of losses."""
    exact, upper = PLDAccountant(adjacency=adjacency), RDPAccountant(adjacency=adjacency)
    assert exact.supports(mechanism) == upper.supports(mechanism) or adjacency == "replace_one"
    if not (exact.supports(mechanism) and upper.supports(mechanism)):
        return
    exact.compose(mechanism)
    upper.compose(mechanism)
    for delta in 1e-5, 0.05:
        # From below a sample of fixed size is that of two fixed neighbours.
        low, high = exact.get_epsilon_bounds(delta, rtol=1e-3)
        assert low <= upper.get_epsilon(delta) <= 3.0 * high + 1.0
    low, _ = exact.get_delta_bounds(0.5, rtol=1e-3)
    assert low <= upper.get_delta(0.5)


TRIED = 1.0 + np.geomspace(1e-6, 9e5, 150)


@settings(max_examples=20)
@given(
    mechanism=mechanisms(4),
    adjacency=st.sampled_from(ADJACENCIES),
    delta=st.sampled_from([1e-2, 1e-8]),
    conversion=st.sampled_from(["optimal", "asoodeh", "balle"]),
)
@example(FixedSizeSampled(Gaussian(1.0), 100, 10_000, True), "replace_one", 1e-6, "optimal")
@example(FixedSizeSampled(Gaussian(2e-4), 100, 10_000, True), "replace_one", 1e-6, "optimal")
@example(
    PoissonSampled(RDPCurve([1.03, 1.25, 5.5], [0.16, 0.0014, 25.0]), 1.2e-3),
    "add_remove",
    1e-8,
    "optimal",
)
@example(
    FixedSizeSampled(RDPCurve([1.06, 1.16, 100.0], [80.0, 3.0, 12.0]), 10, 1000),
    "replace_one",
    1e-8,
    "optimal",
)
@example(
    PoissonSampled(RepeatAndSelect(Gumbel(3.0), 112.0, math.inf), 0.02),
    "add_remove",
    1e-8,
    "optimal",
)
def test_no_order_is_better_than_the_best(mechanism, adjacency, delta, conversion):
    """Balle's conversion, tried at many orders: near jumps, corners and ends of the curve too."""
    accountant = RDPAccountant(adjacency=adjacency, conversion=conversion)
    assume(accountant.supports(mechanism))
    rdp, failing = accountant.compose(mechanism).get_approximate_rdp(TRIED)
    assume(failing < delta)
    with np.errstate(over="ignore", invalid="ignore"):
        tried = (
            rdp
            + np.log1p(-1.0 / TRIED)
            - (math.log(delta - failing) + np.log(TRIED)) / (TRIED - 1.0)
        )
    low, high = accountant.get_epsilon_bounds(delta)
    assert low <= high <= max(float(np.min(tried)), 0.0) * (1.0 + 1e-9) + 1e-12
