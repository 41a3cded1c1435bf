"""From mechanisms to pairs: which are known under which adjacency, and that they dominate."""

from __future__ import annotations

import itertools
import math
import pickle

import mpmath as mp
import pytest
from pair_reference import bounds, gaussian_delta

from renyi import Gaussian, Laplace, PLDAccountant, PoissonSampled, pairs
from renyi._engine import Pair
from renyi.accountants import UnsupportedMechanismError
from renyi.matrix import Tree
from renyi.mechanisms import (
    ZCDP,
    ApproxDP,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    FixedAllocation,
    FixedSizeSampled,
    GaussianMixture,
    Gumbel,
    MatrixMechanism,
    Mechanism,
    PrivacyLoss,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RDPCurve,
    RepeatAndSelect,
    ShuffledBatches,
    TruncatedPoissonSampled,
)
from renyi.mechanisms.steps import SampledStep, step_pair
from renyi.pairs import MechanismPair

ADJACENCIES = ("add_remove", "replace_one", "zero_out")
MIXTURE = GaussianMixture(2.0, [0, 1, 2], [0.81, 0.18, 0.01])
SEVERAL = Composed((Gaussian(2.0), 4), (Laplace(2.0), 1))
MINE = PrivacyLoss(MechanismPair(Laplace(1.0)))
ONE_WAY = PrivacyLoss(pairs.GumbelPair(2.0))


def known_pair(mechanism: Mechanism, adjacency: str, remove: bool) -> Pair:
    return mechanism.dominating_pair(adjacency, "remove" if remove else "add")


def both_ends(mechanism: Mechanism, adjacency: str) -> tuple[float, float]:
    return bounds(mechanism.dominating_pair(adjacency), 0.25)


def delta(mechanism: Mechanism, adjacency: str, epsilon: float, remove: bool = True) -> float:
    return bounds(mechanism.dominating_pair(adjacency, "remove" if remove else "add"), epsilon)[1]


@pytest.mark.parametrize(
    ("mechanism", "held"),
    [
        *((m, ADJACENCIES) for m in (Gaussian(1.0), Laplace(1.0), Gumbel(1.0), MINE, SEVERAL)),
        *((m, ADJACENCIES) for m in (DiscreteGaussian(2.0), DiscreteLaplace(2.0, 3))),
        *((m, ADJACENCIES) for m in (RandomizedResponse(0.7, 4), Exponential(0.5), PureDP(1.0))),
        (ApproxDP(1.0, 1e-6), ADJACENCIES),
        (MIXTURE, ADJACENCIES),
        (MatrixMechanism(Tree(100), 4.0), ("replace_one", "zero_out")),
        *((m, ()) for m in (ZCDP(0.1), RDPCurve([2], [1.0]), RepeatAndSelect(ZCDP(0.1), 2, 1))),
        *((RepeatAndSelect(m, 2, 1), ADJACENCIES) for m in (Laplace(9.0), Gaussian(1.0), SEVERAL)),
        (RandomAllocation(Gaussian(1.0), 10), ADJACENCIES),
        (FixedAllocation(Gaussian(2.0), 10, 4), ADJACENCIES),
        (DiscreteGaussian(1e6), ()),
        (PoissonSampled(SEVERAL, 0.1), ADJACENCIES),
        (PoissonSampled(RandomizedResponse(0.7), 0.1), ADJACENCIES),
        *(
            (PoissonSampled(m, 0.1), ("add_remove", "zero_out"))
            for m in (MINE, MIXTURE, PureDP(1.0), ApproxDP(1.0, 1e-6), Exponential(1.0))
        ),
        (PoissonSampled(ZCDP(0.1), 0.1), ()),
        (FixedSizeSampled(SEVERAL, 5, 50), ("replace_one",)),
        (FixedSizeSampled(PureDP(1.0), 5, 50), ("replace_one",)),
        (FixedSizeSampled(MINE, 5, 50), ("replace_one",)),
        (FixedSizeSampled(ONE_WAY, 5, 50), ()),
        (FixedSizeSampled(MIXTURE, 5, 50), ("replace_one",)),
        (FixedSizeSampled(Gaussian(1.0) * 3, 5, 50, True), ("replace_one",)),
        (FixedSizeSampled(Laplace(1.0), 5, 50, True), ("replace_one",)),
        (FixedSizeSampled(MINE, 5, 50, True), ()),
        (FixedSizeSampled(DiscreteLaplace(1.0), 5, 50, True), ()),
        (TruncatedPoissonSampled(Gaussian(1.0), 0.1, 12, 100), ADJACENCIES),
        (ShuffledBatches(SEVERAL, 10), ("replace_one", "zero_out")),
    ],
)
def test_what_is_known(mechanism: Mechanism, held: tuple[str, ...]) -> None:
    for adjacency, remove in itertools.product(ADJACENCIES, (True, False)):
        if adjacency in held:
            lower, upper = bounds(known_pair(mechanism, adjacency, remove), 0.01)
            assert 0.0 <= lower <= upper <= 1.0
        else:
            with pytest.raises(UnsupportedMechanismError, match=r"^mechanism must be ") as caught:
                known_pair(mechanism, adjacency, remove)
            assert caught.value.reason


@pytest.mark.parametrize(
    ("mechanism", "mirrored"),
    [
        *((m, ADJACENCIES) for m in (Gaussian(1.0), Laplace(1.0), Gumbel(1.0), MINE, SEVERAL)),
        *((m, ADJACENCIES) for m in (DiscreteGaussian(2.0), DiscreteLaplace(2.0, 3))),
        *((m, ADJACENCIES) for m in (RandomizedResponse(0.7, 4), Exponential(0.5), PureDP(1.0))),
        (PoissonSampled(Laplace(1.0), 0.1), ("replace_one",)),
        (PoissonSampled(Laplace(1.0), 0.0), ADJACENCIES),
        (PoissonSampled(Laplace(1.0), 1.0), ADJACENCIES),
        (SEVERAL + PoissonSampled(Laplace(1.0), 0.1), ("replace_one",)),
        (ONE_WAY, ()),
        (PrivacyLoss(MechanismPair(Laplace(2.0)), MechanismPair(Laplace(1.0))), ()),
        (PrivacyLoss(pairs.GumbelPair(2.0), pairs.GumbelPair(2.0)), ADJACENCIES),
    ],
)
def test_which_lose_the_same_in_both_directions(
    mechanism: Mechanism, mirrored: tuple[str, ...]
) -> None:
    for adjacency in ADJACENCIES:
        assert mechanism.same_in_both_directions(adjacency) == (adjacency in mirrored)
        if adjacency in mirrored:
            remove, add = (delta(mechanism, adjacency, 0.3, side) for side in (True, False))
            assert remove == pytest.approx(add, rel=1e-5)


def test_replacing_moves_twice_as_far() -> None:
    for make in (Gaussian, Laplace, Gumbel):
        for adjacency in ("add_remove", "zero_out"):
            one, two = make(1.0), make(2.0)
            assert both_ends(one, adjacency) == both_ends(two, "replace_one")
    moved_by_6 = bounds(Pair.discrete_gaussian(2.0, 6), 0.25)
    assert both_ends(DiscreteGaussian(2.0, 3), "replace_one") == moved_by_6
    moved_by_3 = bounds(Pair.discrete_laplace(2.0, 3), 0.25)
    assert both_ends(DiscreteLaplace(2.0, 3), "add_remove") == moved_by_3
    answers = {both_ends(RandomizedResponse(0.7, 4), a) for a in ADJACENCIES}
    assert answers == {bounds(Pair.randomized_response(0.7, 4), 0.25)}
    with mp.workdps(30):  # Laplace noise: 1 - e^((epsilon - 2/b)/2)
        exact = -mp.expm1((mp.mpf("0.25") - 2) / 2)
    assert delta(Laplace(1.0), "replace_one", 0.25) == pytest.approx(float(exact), rel=1e-13)


def test_gumbel_noise_covers_both_signs() -> None:
    for noise, epsilon in itertools.product((0.5, 5.0), (-0.3, 0.0, 0.1, 1.0)):
        found = delta(Gumbel(noise), "add_remove", epsilon)
        one = pairs.GumbelPair(noise)
        for pair in (one, pairs.ReversedPair(one)):
            assert pairs.Composition([(pair, 1)]).delta_bounds(epsilon)[0] <= found


def test_noise_of_several_releases_merges() -> None:
    composed = Composed((Gaussian(2.0), 4), (Gaussian(3.0), 9))
    lower, upper = both_ends(ShuffledBatches(composed, 3), "zero_out")
    with mp.workdps(30):
        assert lower <= gaussian_delta(mp.sqrt(2), 0.25) <= upper
    assert upper - lower <= 1e-12 * upper
    assert both_ends(ShuffledBatches(Composed(), 3), "zero_out") == (0.0, 0.0)
    sampled = both_ends(PoissonSampled(composed, 0.1), "replace_one")
    exact = bounds(Pair.replaced_gaussian([0.1, 0.9], [1.0, 0.0], math.sqrt(0.5)), 0.25)
    assert sampled == pytest.approx(exact, rel=1e-12)


def test_samples_of_samples() -> None:
    twice = PoissonSampled(PoissonSampled(Laplace(1.0), 0.5), 0.25)
    for adjacency, side in itertools.product(("add_remove", "replace_one"), ("remove", "add")):
        once = PoissonSampled(Laplace(1.0), 0.125).dominating_pair(adjacency, side)
        found = bounds(twice.dominating_pair(adjacency, side), 0.02)
        assert found == pytest.approx(bounds(once, 0.02), rel=1e-12)
    nested = FixedSizeSampled(FixedSizeSampled(Laplace(1.0), 5, 20), 20, 100)
    whole = delta(FixedSizeSampled(Laplace(1.0), 5, 100), "replace_one", 0.05)
    assert delta(nested, "replace_one", 0.05) == pytest.approx(whole, rel=1e-12)
    inner = FixedSizeSampled(PoissonSampled(Laplace(1.0), 0.25), 20, 100)
    assert delta(inner, "replace_one", 0.05) == pytest.approx(whole, rel=1e-12)


def test_rates_zero_and_one() -> None:
    for adjacency in ADJACENCIES:
        assert both_ends(PoissonSampled(Laplace(1.0), 0.0), adjacency) == (0.0, 0.0)
        whole = both_ends(Laplace(1.0), adjacency)
        assert both_ends(PoissonSampled(Laplace(1.0), 1.0), adjacency) == pytest.approx(whole)
    full = FixedSizeSampled(Laplace(1.0), 7, 7)
    assert both_ends(full, "replace_one") == bounds(Pair.laplace(0.5), 0.25)
    cut = TruncatedPoissonSampled(Gaussian(1.0), 1.0, 5, 10)
    assert delta(cut, "zero_out", 0.0) == pytest.approx(
        0.5 * delta(Gaussian(1.0), "zero_out", 0.0), rel=1e-12
    )


@pytest.mark.parametrize("q", [0.05, 0.5])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_poisson_samples_of_laplace_noise_under_replacement(q: float, epsilon: float) -> None:
    # A true pair: the one record adds -1, the other 1.
    with mp.workdps(30):

        def density(x: mp.mpf, at: int) -> mp.mpf:
            return (1 - mp.mpf(q)) * mp.exp(-abs(x)) / 2 + mp.mpf(q) * mp.exp(-abs(x - at)) / 2

        def excess(x: mp.mpf) -> mp.mpf:
            return max(density(x, -1) - mp.exp(epsilon) * density(x, 1), mp.mpf(0))

        cuts = [-60, -5, -1, *(mp.mpf(k) / 16 - 1 for k in range(1, 32)), 1, 5, 60]
        exact = mp.quad(excess, cuts)
    found = PoissonSampled(Laplace(1.0), q).dominating_pair("replace_one")
    upper = bounds(found, epsilon)[1]
    assert exact <= upper * (1 + mp.mpf("1e-3"))  # kinks between the nodes
    if epsilon == 0.0:  # attained
        assert exact == pytest.approx(upper, rel=1e-3)


def test_small_noise_under_replacement() -> None:
    # Below 0.1 the exact pair overflows; the splice takes its place and is no smaller.
    at_limit = bounds(step_pair(SampledStep(0.25, 0.1), "replace_one", "remove"), 2.0)
    below = bounds(step_pair(SampledStep(0.25, 0.0999), "replace_one", "remove"), 2.0)
    assert at_limit[0] <= below[1] <= 1.0
    assert delta(PoissonSampled(Gaussian(0.0), 0.25), "replace_one", 5.0) == pytest.approx(0.25)


@pytest.mark.parametrize(
    "mechanism",
    [
        Gaussian(0.0),
        Laplace(1e-6),
        Gumbel(1e-3),
        DiscreteGaussian(1e-4),
        DiscreteLaplace(1e-4),
        Exponential(1e4),
        Exponential(math.inf),
        PureDP(math.inf),
        ApproxDP(1e3, 0.1),
    ],
)
def test_too_little_noise_reveals(mechanism: Mechanism) -> None:
    for adjacency in ADJACENCIES:
        lower, upper = bounds(mechanism.dominating_pair(adjacency), 0.5)
        assert lower <= upper == 1.0


@pytest.mark.parametrize(
    "mechanism",
    [
        Gaussian(1e15),
        Gaussian(math.inf),
        Laplace(1e15),
        Laplace(math.inf),
        Gumbel(1e15),
        Gumbel(math.inf),
        Exponential(1e-15),
        Exponential(0.0),
        PureDP(0.0),
        GaussianMixture(1.0, [0.0], [1.0]),
        GaussianMixture(math.inf, [1.0], [1.0]),
    ],
)
def test_too_much_noise_hides(mechanism: Mechanism) -> None:
    for sampled in (mechanism, PoissonSampled(mechanism, 0.1)):
        lower, upper = bounds(sampled.dominating_pair(), 0.0)
        assert 0.0 <= lower <= upper <= 1e-8


def test_directions_of_a_mixture() -> None:
    for mechanism in (MIXTURE, PoissonSampled(MIXTURE, 0.5)):
        remove = bounds(mechanism.dominating_pair(), -0.1)
        add = bounds(mechanism.dominating_pair("add_remove", "add"), 0.1)
        dual = [-math.expm1(0.1) + math.exp(0.1) * value for value in remove]
        assert add[0] <= dual[1] + 1e-14
        assert add[1] >= dual[0] - 1e-14
        assert dual[1] - dual[0] <= 1e-7


def test_a_loss_of_ones_own_is_sampled_in_both_directions() -> None:
    mine = PrivacyLoss(pairs.GumbelPair(2.0), pairs.ReversedPair(pairs.GumbelPair(3.0)))
    sampled = PoissonSampled(mine, 0.1)
    remove, add = (
        bounds(sampled.dominating_pair("add_remove", side), 0.02) for side in ("remove", "add")
    )
    assert remove == bounds(Pair.gumbel(2.0).sampled(0.1), 0.02)
    assert add == bounds(Pair.gumbel(3.0).sampled(0.1).reversed(), 0.02)


# --- Gaussian steps


STEP = PoissonSampled(Gaussian(1.0), 0.01)


def only_step(mechanism):
    (((rate, noise, records), count),) = mechanism.gaussian_steps
    assert (records, count) == (1, 1)
    return rate, noise


def test_sampled_composition_is_one_release_with_combined_noise():
    rate, noise = only_step(PoissonSampled(Gaussian(3) + Gaussian(4.0), 0.1))
    assert rate == 0.1
    assert noise <= 12 / 5  # 1/sqrt(1/9 + 1/16), rounded down
    assert noise == pytest.approx(12 / 5, rel=1e-14)
    assert only_step(PoissonSampled(Gaussian(1) * 100, 0.1))[1] == pytest.approx(0.1, rel=1e-14)
    assert only_step(PoissonSampled(Gaussian(1e-200) * 2, 0.1))[1] > 0


def test_sampling_twice_multiplies_the_rates():
    rate, _ = only_step(PoissonSampled(PoissonSampled(Gaussian(1.0), 0.1), 0.1))
    assert rate == pytest.approx(0.01, rel=1e-15)
    assert rate >= 0.1 * 0.1
    assert only_step(PoissonSampled(STEP, 1.0)) == (0.01, 1.0)


def test_two_samples_cannot_be_sampled_as_one():
    assert PoissonSampled(STEP * 2, 0.5).gaussian_steps is None
    assert PoissonSampled(STEP + Gaussian(1.0), 0.5).gaussian_steps is None
    assert PoissonSampled(STEP * 2, 1.0).gaussian_steps == (((0.01, 1.0, 1), 2),)


def test_compositions_add():
    assert (STEP * 3 + Gaussian(2.0)).gaussian_steps == (((0.01, 1.0, 1), 3), ((1.0, 2.0, 1), 1))
    assert Composed().gaussian_steps == ()
    assert (STEP + Laplace(1.0)).gaussian_steps is None
    assert PoissonSampled(Laplace(1.0), 0.1).gaussian_steps is None


def test_a_tree_is_one_gaussian():
    rate, noise = only_step(MatrixMechanism(Tree(300), 6.0))  # depth 9
    assert rate == 1.0
    assert noise <= 2.0
    assert noise == pytest.approx(2.0, rel=1e-14)


# --- infinite losses, against all outcomes


Outcomes = list[tuple[mp.mpf, mp.mpf]]  # the masses of both distributions


def approximate(epsilon: float, delta: float) -> Outcomes:
    """The pair of (epsilon, delta): randomized response, and the truth with probability delta."""
    e, d = mp.mpf(epsilon), mp.mpf(delta)
    high, low = (1 - d) / (1 + mp.exp(-e)), (1 - d) / (1 + mp.exp(e))
    return [(d, mp.mpf(0)), (high, low), (low, high), (mp.mpf(0), d)]


def sampled(outcomes: Outcomes, rate: float) -> Outcomes:
    q = mp.mpf(rate)
    return [((1 - q) * without + q * seen, without) for seen, without in outcomes]


def exact_delta(outcomes: Outcomes, count: int, mu: float, epsilon: float) -> mp.mpf:
    """Of `count` such steps beside Gaussian noise with sensitivity/noise mu."""
    total = mp.mpf(0)
    for steps in itertools.product(outcomes, repeat=count):
        p, q = mp.fprod(s[0] for s in steps), mp.fprod(s[1] for s in steps)
        if p > 0 and q > 0:
            total += p * gaussian_delta(mp.mpf(mu), mp.mpf(epsilon) - mp.log(p / q))
        else:
            total += p
    return total


@pytest.mark.parametrize("rate", [1.0, 0.2])
@pytest.mark.parametrize("slack", [1e-12, 1e-7, 1e-3])
@pytest.mark.parametrize("direction", ["add", "remove"])
def test_gaussian_noise_beside_approximate_steps(rate: float, slack: float, direction: str) -> None:
    step = ApproxDP(0.3, slack)
    accountant = PLDAccountant()
    accountant.compose(step if rate == 1.0 else PoissonSampled(step, rate), 4)
    accountant.compose(Gaussian(2.0), 9)
    pair = approximate(0.3, slack) if rate == 1.0 else sampled(approximate(0.3, slack), rate)
    if direction == "add":
        pair = [(q, p) for p, q in pair]
    with mp.workdps(40):
        for epsilon in (0.5, 3.0, 8.0):
            exact = exact_delta(pair, 4, 1.5, epsilon)
            lower, upper = accountant.get_delta_bounds(epsilon, direction=direction)
            assert lower <= exact <= upper <= lower * (1 + 1e-4)


def test_a_chance_of_everything_costs_hardly_more_than_none() -> None:
    """A slack of 1e-8 a step may not widen what Laplace noise beside it is known to lose."""
    for noise, count in ((Laplace(3.0), 10), (Gaussian(3.0), 30)):
        ends = []
        for step in (PureDP(0.3), ApproxDP(0.3, 1e-8)):
            accountant = PLDAccountant()
            accountant.compose(step, 10)
            accountant.compose(noise, count)
            ends.append(accountant.get_epsilon_bounds(1e-5))
        (low, high), (low_slack, high_slack) = ends
        assert low <= high_slack
        assert high_slack - low_slack <= 1e-5 * high_slack
        assert math.isclose(high, high_slack, rel_tol=2e-3)


def test_compositions_are_pickled_with_their_settings():
    coin = pairs.DiscretePair([0.5, 0.5], [0.3, 0.7])
    composed = pairs.Composition([(coin, 10)], rtol=0.1, max_points=2**10)
    copied = pickle.loads(pickle.dumps(composed))
    assert copied.delta_bounds(1.0) == composed.delta_bounds(1.0)
    assert copied.epsilon_bounds(1e-3) == composed.epsilon_bounds(1e-3)
