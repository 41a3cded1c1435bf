"""What holds for groups: closed forms, finite mechanisms enumerated, what is refused."""

import itertools
import math

import numpy as np
import pytest
from each import slow
from scipy.stats import binom

from renyi import (
    ApproxDP,
    DiscreteLaplace,
    Gaussian,
    GaussianMixture,
    GroupSampled,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PrivacyLoss,
    PureDP,
    RandomizedResponse,
    RDPAccountant,
    TruncatedPoissonSampled,
    UnsupportedMechanismError,
)
from renyi.accountants._groups import Chain, group_curve
from renyi.pairs import DiscretePair

EPSILONS = np.array([0.0, 0.4, 1.0, 2.5])


def power_of_chain(alphas, powers, size):
    """Vertices of g applied ``size`` times, g piecewise linear through the given ones."""
    places = np.array([0.0, 1.0])
    for _ in range(size):  # preimages of the vertices so far, and those of g
        places = np.union1d(np.interp(places, powers, alphas), alphas)
    values = places
    for _ in range(size):
        values = np.interp(values, alphas, powers)
    return places, values


def exact_delta(alphas, powers, size, epsilon):
    places, values = power_of_chain(alphas, powers, size)
    return (values - math.exp(epsilon) * places).max()


def response_tests(p, choices):
    other = (1.0 - p) / (choices - 1)
    return np.array([0.0, other, 1.0 - p, 1.0]), np.array([0.0, p, 1.0 - other, 1.0])


@pytest.mark.parametrize("sigma", [0.5, 1.0, 10.0])
@pytest.mark.parametrize("size", [2, 5])
def test_a_chain_of_gaussian_noise_is_noise_moved_as_far(sigma, size):
    single, moved = (PLDAccountant().compose(Gaussian(s)) for s in (sigma, sigma / size))
    curve = single._curve_of(None, 1e-5)
    chain = Chain(curve, curve, size)
    for epsilon in EPSILONS:
        low, high = moved.get_delta_bounds(epsilon)
        assert low <= chain.delta(epsilon) <= high * (1.0 + 1e-9)
    deltas = np.array([1e-9, 1e-5, 0.1])
    assert single.get_epsilon(deltas, group_size=size) == pytest.approx(
        moved.get_epsilon(deltas), rel=1e-12
    )


@pytest.mark.parametrize("size", [2, 6, *slow(3)])
@pytest.mark.parametrize(("p", "choices"), [(0.7, 4), (0.55, 2), *slow((0.9, 10))])
def test_a_chain_of_answers_against_all_its_corners(p, choices, size):
    accountant = PLDAccountant().compose(RandomizedResponse(p, choices))
    alphas, powers = response_tests(p, choices)
    for epsilon in EPSILONS:
        truth = exact_delta(alphas, powers, size, epsilon)
        found = accountant.get_delta(epsilon, group_size=size)
        assert truth * (1.0 - 1e-12) <= found <= truth * (1.0 + 1e-4) + 1e-12
    at = np.array([1e-3, 0.05, 0.5])
    places, values = power_of_chain(alphas, powers, size)
    beta = 1.0 - np.interp(at, places, values)
    found = accountant.get_beta(at, group_size=size)
    assert (found <= beta + 1e-14).all()
    assert (found >= beta * (1.0 - 1e-3) - 1e-9).all()


@pytest.mark.parametrize(("p", "choices", "size"), slow((0.9, 10, 2), (0.7, 4, 3), (0.52, 2, 8)))
def test_a_chain_beside_groups_of_their_own(p, choices, size):
    """The chain of the answers, in all its corners, composed with the pair of sampled groups."""
    steps = PoissonSampled(Gaussian(1.5), 0.02) * 50
    run = PLDAccountant().compose(steps + RandomizedResponse(p, choices))
    places, values = power_of_chain(*response_tests(p, choices), size)
    corners = np.diff(values), np.diff(places)
    inside = np.maximum(*corners) > 1e-12
    chain = PrivacyLoss(DiscretePair(*(mass[inside] for mass in corners)))
    truth = PLDAccountant().compose(steps.for_group(size)).compose(chain)
    for direction in ("remove", "add"):
        for delta in (1e-9, 1e-5, 1e-2):
            low, high = run.get_epsilon_bounds(delta, direction=direction, group_size=size)
            least, most = truth.get_epsilon_bounds(delta, direction=direction)
            assert low <= most
            assert least * (1.0 - 1e-9) <= high <= most * (1.0 + 2e-3)
        least = truth.get_delta_bounds(1.0, direction=direction)[0]
        assert least <= run.get_delta(1.0, direction=direction, group_size=size)


@pytest.mark.parametrize("size", [3, *slow(2, 10)])
def test_a_chain_of_few_corners_beside_groups_of_their_own(size):
    """No more than what (epsilon, delta) of the ends permits, beside the pair of the group."""
    run = PLDAccountant().compose(PoissonSampled(Laplace(2.0), 0.3)).compose(ApproxDP(0.3, 1e-4))
    delta = 1e-4 * math.fsum(math.exp(0.3 * i) for i in range(size))
    above = PLDAccountant().compose(GroupSampled(Laplace(2.0), 0.3, size))
    above.compose(ApproxDP(0.3 * size, delta))
    targets = np.array([1.5 * delta, 0.05])
    found = run.get_epsilon(targets, group_size=size)
    assert (found <= above.get_epsilon(targets) * (1.0 + 1e-3)).all()


@pytest.mark.parametrize("seed", [0, *slow(1)])
def test_no_group_of_an_enumerated_mechanism_reveals_more(seed):
    """Any table of answers to any data: pure privacy of one record, and then of several."""
    rng = np.random.default_rng(seed)
    data = list(itertools.product((0, 1), repeat=3))
    table = {x: rng.dirichlet(np.full(4, 3.0)) + 0.05 for x in data}
    table = {x: row / row.sum() for x, row in table.items()}

    def apart(x, y):
        return sum(a != b for a, b in zip(x, y, strict=True))

    pairs = [(x, y) for x in data for y in data]
    single = max(np.log(table[x] / table[y]).max() for x, y in pairs if apart(x, y) == 1)
    exact = PLDAccountant(adjacency="replace_one").compose(PureDP(single))
    bound = RDPAccountant(adjacency="replace_one").compose(PureDP(single))
    for size in (2, 3):
        most = np.max(
            [
                np.maximum(table[x] - np.exp(EPSILONS)[:, None] * table[y], 0.0).sum(axis=1)
                for x, y in pairs
                if apart(x, y) <= size
            ],
            axis=0,
        )
        assert (most <= exact.get_delta(EPSILONS, group_size=size)).all()
        assert (most <= bound.get_delta(EPSILONS, group_size=size)).all()


def test_noise_on_a_group_is_noise_on_a_query_that_moves_further():
    for one, three in (
        (Laplace(3.0), Laplace(1.0)),
        (DiscreteLaplace(4.0, 2), DiscreteLaplace(4.0, 6)),
    ):
        for kind in (PLDAccountant, RDPAccountant):
            group = kind().compose(one, 5).get_epsilon(1e-5, group_size=3)
            assert group == pytest.approx(kind().compose(three, 5).get_epsilon(1e-5), rel=1e-6)


def test_samples_of_a_group():
    """The rule of basic group privacy is above the chain; a pair of the group itself below it."""
    accountant = PLDAccountant().compose(PoissonSampled(Gaussian(1.0), 0.01), 1000)
    for size in (2, 4):
        for epsilon in (1.0, 3.0):
            found = accountant.get_delta(epsilon, group_size=size)
            share = epsilon / size
            factor = math.expm1(epsilon) / math.expm1(share)
            assert found <= accountant.get_delta(share) * factor * (1.0 + 1e-9)
            assert found >= accountant.get_delta(epsilon)
            back = accountant.get_epsilon(found, group_size=size)
            assert back == pytest.approx(epsilon, rel=1e-6)
        both = accountant.get_delta(1.0, group_size=size)
        for direction in ("remove", "add"):
            one = accountant.get_delta(1.0, direction=direction, group_size=size)
            assert one <= both * (1.0 + 1e-9)
    # Two records, removed at once, are seen as a mixture of both, one or none.
    pair = GaussianMixture(1.0, [0.0, 1.0, 2.0], [0.99**2, 2 * 0.99 * 0.01, 0.01**2])
    truth = PLDAccountant().compose(pair, 1000).get_delta_bounds(1.0, direction="remove")[0]
    assert truth <= accountant.get_delta(1.0, direction="remove", group_size=2)


@pytest.mark.parametrize(
    "mechanism", [Gaussian(2.0), Laplace(2.0), PoissonSampled(Laplace(1.0), 0.1)]
)
@pytest.mark.parametrize("size", [2, *slow(3, 20)])
def test_renyi_divergences_of_groups_are_above_the_exact_curve(mechanism, size):
    exact, bound = (kind().compose(mechanism, 10) for kind in (PLDAccountant, RDPAccountant))
    for delta in (1e-8, 1e-3):
        low, high = exact.get_epsilon_bounds(delta, group_size=size)
        above = bound.get_epsilon(delta, group_size=size)
        assert low <= high <= above * (1.0 + 1e-4)


def test_hoelder_is_nearly_exact_for_gaussian_noise():
    curve = group_curve(RDPAccountant().compose(Gaussian(3.0)).get_rdp, 7)
    for order in (1.5, 4.0, 60.0):
        truth = 0.5 * 49.0 / 9.0 * order * (order - 1.0)
        assert truth <= curve.log_moment(order)[1] <= truth * (1.0 + 3e-3)


@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
def test_groups_of_what_fails_or_says_nothing(kind):
    failing = kind().compose(ApproxDP(0.0, 1e-3))
    assert 3e-3 * (1 - 1e-2) <= failing.get_delta(math.inf, group_size=3) <= 3e-3 * (1 + 1e-9)
    assert kind().get_epsilon(0.0, group_size=5) == 0.0
    assert kind().get_beta(0.25, group_size=5) == pytest.approx(0.75, abs=1e-12)
    assert kind().compose(PureDP(0.5)).get_epsilon(0.0, group_size=4) == pytest.approx(2.0)
    assert kind().compose(Gaussian(0.0)).get_delta(3.0, group_size=2) == 1.0


@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
@pytest.mark.parametrize("value", [0, -1, 1001, 1.5, "2", True])
def test_sizes_that_are_refused(value, kind):
    with pytest.raises(
        (TypeError, ValueError), match=r"group_size must be an integer in \[1, 1000\]"
    ):
        kind().get_delta(1.0, group_size=value)


@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
def test_a_population_that_changes_with_the_group_is_refused(kind):
    cut = TruncatedPoissonSampled(Gaussian(2.0), 0.1, 20, 100)
    removed = kind().compose(cut * 3)
    for ask in (removed.get_delta, removed.get_epsilon, removed.get_beta):
        with pytest.raises(UnsupportedMechanismError, match="population changes"):
            ask(0.5, group_size=2)


@pytest.mark.parametrize("size", [2, 5])
def test_samples_that_are_hardly_cut_cost_a_group_what_uncut_ones_cost(size):
    """The law of a batch moves by P[Bin(60000, .01) > limit], here within a factor of 100."""
    uncut = PLDAccountant(adjacency="replace_one").compose(PoissonSampled(Gaussian(1.0), 0.01), 50)
    for limit in (790, 850, 60_000):
        cut = TruncatedPoissonSampled(Gaussian(1.0), 0.01, limit, 60_000)
        accountant = PLDAccountant(adjacency="replace_one").compose(cut, 50)
        off = 50 * binom.sf(limit, 60_000, 0.01)
        for epsilon in (0.5, 2.0):
            least, most = uncut.get_delta_bounds(epsilon, group_size=size)
            low, high = accountant.get_delta_bounds(epsilon, group_size=size)
            slack = off * (1.0 + math.exp(epsilon)) + 1e-15
            assert least - 100.0 * slack <= low <= most
            assert least <= high <= most + 100.0 * slack
            delta = accountant.get_delta(
                accountant.get_epsilon(1e-4, group_size=size), group_size=size
            )
            assert delta == pytest.approx(1e-4, rel=1e-4)
