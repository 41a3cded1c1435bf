"""Groups of records in Poisson samples, mixtures that are replaced, correlated noise.

Against a published table's digits, lattices of the same pairs, sums over finitely many terms and
gradients that are not aligned, each by means that share nothing with the split sum.
"""

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from each import slow
from scipy.special import logsumexp
from scipy.stats import binom, laplace, norm

from renyi import (
    CorrelatedGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GaussianMixture,
    GroupSampled,
    Laplace,
    Mechanism,
    PLDAccountant,
    PoissonSampled,
    RDPAccountant,
    UnsupportedMechanismError,
)
from renyi._engine import LossComposition, Pair
from renyi.accountants._groups import Chain

# sigma, q, m, epsilon at delta 1e-6 after 1,000 steps: removal, insertion. By connected dots and a
# Fourier transform, extrapolated to a width of 0: right to about 1e-6 of itself and its last digit.
TABLE = [
    (1.0, 0.01, 2, 4.554091, 3.359424),
    (1.0, 0.01, 8, 23.082489, 16.024448),
    (1.0, 0.001, 2, 0.394373, 0.287882),
    (1.0, 0.001, 8, 1.753399, 1.255132),
    (2.0, 0.01, 4, 3.269888, 2.979919),
    (2.0, 0.01, 16, 16.641269, 14.644429),
    (2.0, 0.001, 4, 0.270442, 0.250664),
    (2.0, 0.001, 16, 1.199415, 1.102138),
    (5.0, 0.01, 2, 0.522774, 0.508509),
    (5.0, 0.01, 8, 2.343371, 2.270143),
    (5.0, 0.001, 4, 0.093435, 0.091126),
    (5.0, 0.001, 16, 0.411807, 0.400645),
]


def exact(sigma, q, steps, adjacency="add_remove"):
    step = PoissonSampled(Gaussian(sigma), q)
    return PLDAccountant(adjacency=adjacency).compose(step, steps)


@pytest.mark.parametrize(("sigma", "q", "m", "removal", "insertion"), TABLE)
def test_known_values(sigma, q, m, removal, insertion):
    accountant = exact(sigma, q, 1000)
    for direction, value in (("remove", removal), ("add", insertion)):
        low, high = accountant.get_epsilon_bounds(1e-6, direction=direction, group_size=m)
        assert low == pytest.approx(value, rel=1e-6, abs=6e-7)
        assert high <= low * (1.0 + 1e-8)
    assert accountant.get_epsilon(1e-6, group_size=m) == pytest.approx(removal, rel=1e-6, abs=6e-7)


@pytest.mark.parametrize(
    ("sigma", "q", "m", "steps"),
    [(1.0, 0.05, 3, 10), (0.6, 0.01, 2, 1), *slow((3.0, 0.3, 12, 4), (1.5, 1e-3, 6, 30))],
)
@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_split_sums_against_lattices(sigma, q, m, steps, adjacency):
    accountant, replaces = exact(sigma, q, steps, adjacency), adjacency == "replace_one"
    pair = Pair.sampled_group(q, sigma, m, m if replaces else 0)
    for direction, one in (("remove", pair), ("add", pair.reversed())):
        lattice = LossComposition([(one, steps)], 1e-3, 2**16)
        for epsilon in (0.01, 0.5, 2.0):
            low, high = accountant.get_delta_bounds(
                epsilon, direction=None if replaces else direction, group_size=m
            )
            other_low, other_high = lattice.delta_bounds(epsilon, 0.0)
            assert low <= other_high
            assert high >= other_low


def aligned_delta(epsilon, sigma, weights, removal):
    """Delta of one step of the aligned pair, by the output at which the loss is epsilon."""
    k = np.arange(weights.size)

    def loss(x):
        return logsumexp(np.log(weights) + (2.0 * k * x - k**2) / (2.0 * sigma**2))

    target = epsilon if removal else -epsilon
    low, high = -60.0 * sigma, 60.0 * sigma + k[-1]
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if loss(middle) < target else (low, middle)
    with_group = weights * norm.sf((low - k) / sigma)
    if removal:
        return with_group.sum() - math.exp(epsilon) * norm.sf(low / sigma)
    return norm.cdf(low / sigma) - math.exp(epsilon) * (weights * norm.cdf((low - k) / sigma)).sum()


def normal_cells(ends):
    return np.where(ends[1:] < 0, np.diff(norm.cdf(ends)), -np.diff(norm.sf(ends)))


def laplace_cells(ends):
    cells = np.where(ends[1:] < 0, np.diff(laplace.cdf(ends)), -np.diff(laplace.sf(ends)))
    cells[0] += laplace.cdf(ends[0])
    cells[-1] += laplace.sf(ends[-1])
    return cells


def not_aligned(moves, q, sigma, edges, cells=normal_cells):
    """Masses of cells with and without the group, whose records move a query in several dimensions.

    Of cells, so that the divergence of the masses is at most that of the densities.
    """

    def masses(centre):
        sides = [cells((edges - place) / sigma) for place in centre]
        return functools.reduce(np.multiply.outer, sides)

    with_group = 0.0
    for drawn in itertools.product((0, 1), repeat=len(moves)):
        chance = q ** sum(drawn) * (1.0 - q) ** (len(moves) - sum(drawn))
        with_group = with_group + chance * masses(np.array(drawn) @ moves)
    return with_group, masses(np.zeros(moves.shape[1]))


@pytest.mark.parametrize(
    ("dimension", "settings"),
    [
        (2, 6),
        (3, 2),
        pytest.param(2, 1800, marks=pytest.mark.slow),
        pytest.param(3, 200, marks=pytest.mark.slow),
    ],
)
def test_records_that_are_not_aligned_are_never_worse(dimension, settings):
    random = np.random.default_rng(dimension)
    edges = np.linspace(-11.0, 12.0, 161 if dimension == 2 else 71)
    for _ in range(settings):
        m, q = int(random.integers(2, 4)), float(random.choice([0.02, 0.1, 0.3, 0.6]))
        sigma = float(random.choice([0.9, 1.0, 1.5]))
        moves = random.normal(size=(m, dimension)) * random.choice([0.2, 1.0, 3.0])
        moves[:, 0] += random.choice([0.0, 1.0, 3.0])
        lengths = random.choice([1.0, 1.0, random.uniform()], size=(m, 1))
        moves *= lengths / np.linalg.norm(moves, axis=1, keepdims=True)
        with_group, without = not_aligned(moves, q, sigma, edges)
        aligned = PLDAccountant().compose(GroupSampled(Gaussian(sigma), q, m))
        for epsilon in (0.0, 0.2, 1.0, 3.0):
            grown = math.exp(epsilon)
            removal = np.maximum(with_group - grown * without, 0.0).sum()
            insertion = np.maximum(without - grown * with_group, 0.0).sum()
            assert removal <= aligned.get_delta(epsilon, direction="remove") + 1e-13
            assert insertion <= aligned.get_delta(epsilon, direction="add") + 1e-13


@pytest.mark.parametrize("settings", [6, pytest.param(300, marks=pytest.mark.slow)])
def test_records_that_come_instead(settings):
    """In two dimensions, any directions; opposite ones reach what is handed out."""
    random = np.random.default_rng(5)
    edges = np.linspace(-11.0, 11.0, 201)
    for _ in range(settings):
        removed, added = int(random.integers(1, 4)), int(random.integers(1, 3))
        q, sigma = float(random.choice([0.02, 0.1, 0.6])), float(random.choice([0.9, 1.5]))
        step = GroupSampled(Gaussian(sigma), q, removed, added)
        moves = random.normal(size=(removed + added, 2)) + random.choice([0.0, 2.0]) * np.array(
            [[1.0, 0.0]] * removed + [[-1.0, 0.0]] * added
        )
        moves *= random.choice([1.0, 0.7]) / np.linalg.norm(moves, axis=1, keepdims=True)
        p = not_aligned(moves[:removed], q, sigma, edges)[0]
        other = not_aligned(moves[removed:], q, sigma, edges)[0]
        for epsilon in (0.0, 0.3, 1.0):
            grown = math.exp(epsilon)
            for a, b, direction in ((p, other, "remove"), (other, p, "add")):
                bound = PLDAccountant().compose(step).get_delta(epsilon, direction=direction)
                assert np.maximum(a - grown * b, 0.0).sum() <= bound + 1e-13
    edges = np.linspace(-14.0, 15.0, 40_001)
    p = not_aligned(np.ones((3, 1)), 0.1, 1.0, edges)[0]
    other = not_aligned(-np.ones((2, 1)), 0.1, 1.0, edges)[0]
    step = GroupSampled(Gaussian(1.0), 0.1, 3, 2)
    for a, b, direction in ((p, other, "remove"), (other, p, "add")):
        truth = np.maximum(a - math.exp(0.5) * b, 0.0).sum()
        low, high = PLDAccountant().compose(step).get_delta_bounds(0.5, direction=direction)
        assert truth * (1.0 - 1e-4) <= low <= truth * (1.0 + 1e-6)
        assert truth * (1.0 - 1e-12) <= high
    inside = (p > 0.0) & (other > 0.0)
    p, other = p[inside], other[inside]
    divergence = math.log(max((p**2 / other).sum(), (other**2 / p).sum()))
    order = RDPAccountant().compose(step).get_rdp([2.0])[0]
    assert divergence <= order <= divergence * (1.0 + 1e-5)
    assert Mechanism.from_json(step.to_json()) == step
    assert step.for_group(2) == GroupSampled(Gaussian(1.0), 0.1, 6, 4)
    assert "or up to 2 instead" in step.describe()
    with pytest.raises(UnsupportedMechanismError, match="come instead"):
        PLDAccountant(adjacency="replace_one").compose(step)


@pytest.mark.parametrize("settings", [8, pytest.param(500, marks=pytest.mark.slow)])
def test_groups_of_laplace_noise(settings):
    """Vectors of L1 norm 1 in two dimensions, in any directions; aligned records reach the pair."""
    random, edges = np.random.default_rng(11), np.linspace(-6.0, 6.0, 241)
    for _ in range(settings):
        removed, added = int(random.integers(1, 4)), int(random.integers(0, 3))
        q, scale = float(random.choice([0.02, 0.2, 0.6])), float(random.choice([0.7, 1.0, 4.0]))
        step = PLDAccountant().compose(GroupSampled(Laplace(scale), q, removed, added))
        moves = random.laplace(size=(removed + added, 2)) * random.choice([0.1, 1.0], size=2)
        moves /= np.abs(moves).sum(axis=1, keepdims=True)
        aligned = np.array([[1.0, 0.0]] * removed + [[-1.0, 0.0]] * added)
        for all_moves, share in ((moves, 0.0), (aligned, 0.95)):
            p = not_aligned(all_moves[:removed], q, scale, edges, laplace_cells)[0]
            other = not_aligned(all_moves[removed:], q, scale, edges, laplace_cells)[0]
            for epsilon in (0.0, 0.3, 1.0):
                grown = math.exp(epsilon)
                for a, b, direction in ((p, other, "remove"), (other, p, "add")):
                    reached = np.maximum(a - grown * b, 0.0).sum()
                    low, high = step.get_delta_bounds(epsilon, direction=direction)
                    assert share * low <= reached + 1e-3 * share
                    assert reached <= high + 1e-13


@pytest.mark.parametrize("settings", [12, pytest.param(1000, marks=pytest.mark.slow)])
def test_groups_of_noise_on_integers(settings):
    """Records that move an integer by different amounts, up or down, by sums of all outcomes."""
    random = np.random.default_rng(13)
    for _ in range(settings):
        kind = random.choice([DiscreteGaussian, DiscreteLaplace])
        records = int(random.integers(1, 5)), int(random.integers(0, 3))
        q, scale = float(random.choice([0.02, 0.2, 0.6])), float(random.choice([0.6, 2.0, 5.0]))
        most = int(random.integers(1, 4))
        step = PLDAccountant().compose(GroupSampled(kind(scale, most), q, *records))
        x = np.arange(-300, 301)

        def masses(moves, kind=kind, q=q, scale=scale, x=x):
            total = 0.0
            for drawn in itertools.product((0, 1), repeat=len(moves)):
                far = np.abs(x - np.dot(drawn, moves)) / scale
                depth = 0.5 * far**2 if kind is DiscreteGaussian else far
                chance = q ** sum(drawn) * (1.0 - q) ** (len(moves) - sum(drawn))
                total = total + chance * np.exp(-depth)
            return total / total.sum()

        worst = [np.full(n, sign * most) for n, sign in zip(records, (1, -1), strict=True)]
        any_moves = [random.integers(-most, most + 1, size=n) for n in records]
        for moves, is_worst in ((worst, True), (any_moves, False)):
            p, other = (masses(one.tolist()) for one in moves)
            for epsilon in (0.0, 0.3, 1.0):
                for a, b, direction in ((p, other, "remove"), (other, p, "add")):
                    reached = np.maximum(a - math.exp(epsilon) * b, 0.0).sum()
                    low, high = step.get_delta_bounds(epsilon, direction=direction)
                    assert reached <= high * (1.0 + 1e-9) + 1e-14
                    assert not is_worst or low <= reached * (1.0 + 1e-9) + 1e-14
                    assert not is_worst or high <= reached * (1.0 + 1e-4) + 1e-14


@pytest.mark.parametrize(
    "noise",
    [
        Laplace(5.0),
        DiscreteLaplace(5.0),
        pytest.param(DiscreteGaussian(4.0), marks=pytest.mark.slow),
    ],
)
def test_groups_of_other_noise_in_compositions(noise):
    """Below the chain of neighbours, above one record, and with the moments of whole orders."""
    run = PLDAccountant().compose(PoissonSampled(noise, 0.05), 10)
    one = run._curve_of(None, 1e-5)
    chain = float(Chain(one, one, 3).delta(0.1))
    low, high = run.get_delta_bounds(0.1, group_size=3)
    assert run.get_delta(0.1) < low <= high <= chain
    replaced = PLDAccountant(adjacency="replace_one").compose(PoissonSampled(noise, 0.05), 10)
    assert replaced.get_delta(0.1, group_size=3) > high
    group = PoissonSampled(noise, 0.05).for_group(3)
    assert Mechanism.from_json(group.to_json()) == group
    assert PoissonSampled(noise, 1.0).for_group(3) == noise.for_group(3)
    if not isinstance(noise, DiscreteGaussian):
        above = RDPAccountant().compose(group, 10).get_epsilon(1e-6)
        assert above >= PLDAccountant().compose(group, 10).get_epsilon(1e-6)


@pytest.mark.parametrize(("sigma", "records"), [(1e3, 20), *slow((5e3, 100))])
def test_much_noise_on_integers_is_nearly_continuous(sigma, records):
    fine, smooth = (
        PLDAccountant().compose(GroupSampled(noise, 0.01, records), 10)
        for noise in (DiscreteGaussian(sigma), Gaussian(sigma))
    )
    assert fine.get_epsilon(1e-6) == pytest.approx(smooth.get_epsilon(1e-6), rel=1e-5)


@pytest.mark.parametrize("noise", [Laplace(1.0), DiscreteLaplace(2.0)])
def test_tiny_rates_are_finite(noise):
    known, rare = (
        PLDAccountant().compose(GroupSampled(noise, rate, 2)) for rate in (1e-100, 1e-200)
    )
    assert rare.get_epsilon(0.0) <= known.get_epsilon(0.0) < 1e-99


@pytest.mark.parametrize(("sigma", "q", "m"), [(1.0, 0.01, 3), (2.0, 0.3, 16), (0.5, 0.05, 2)])
def test_one_step_against_its_closed_form(sigma, q, m):
    accountant = PLDAccountant().compose(GroupSampled(Gaussian(sigma), q, m))
    weights = binom.pmf(np.arange(m + 1), m, q)
    for epsilon in (0.05, 0.5, 2.0):
        for direction in ("remove", "add"):
            truth = aligned_delta(epsilon, sigma, weights, direction == "remove")
            low, high = accountant.get_delta_bounds(epsilon, direction=direction)
            assert low <= truth + 1e-14
            assert high >= truth - 1e-14
            assert high - low <= 1e-9 * high
            if high == 0.0:
                continue
            below, above = accountant.get_epsilon_bounds(low, direction=direction)
            assert below <= epsilon * (1.0 + 1e-9)
            assert above >= epsilon * (1.0 - 1e-9)
            assert above - below <= 1e-8 * above


@pytest.mark.parametrize(("sigma", "q", "m"), [(1.0, 0.01, 3), (2.0, 0.3, 16), (0.8, 1e-3, 5)])
def test_renyi_divergences_of_whole_orders(sigma, q, m):
    accountant = RDPAccountant().compose(GroupSampled(Gaussian(sigma), q, m))
    k, weights = np.arange(m + 1), binom.pmf(np.arange(m + 1), m, q)
    for order in (2, 3):
        total = 0.0
        for counts in itertools.product(k, repeat=order):
            products = (sum(counts) ** 2 - sum(x * x for x in counts)) / 2.0
            total += weights[list(counts)].prod() * math.expm1(products / sigma**2)
        truth = math.log1p(total) / (order - 1)
        assert accountant.get_rdp([order])[0] == pytest.approx(truth, rel=1e-9)
    group = RDPAccountant().compose(PoissonSampled(Gaussian(sigma), q), 100)
    above = group.get_epsilon(1e-6, group_size=m)
    assert above >= exact(sigma, q, 100).get_epsilon(1e-6, group_size=m)


def test_more_records_reveal_more_and_one_is_one():
    accountant = exact(1.0, 0.01, 500)
    found = [accountant.get_epsilon(1e-6, group_size=m) for m in (1, 2, 3, 10, 40)]
    assert found == sorted(found)
    one = PLDAccountant().compose(GroupSampled(Gaussian(1.0), 0.01, 1), 500)
    assert one.get_epsilon(1e-6) == pytest.approx(found[0], rel=1e-9)
    two = GroupSampled(Gaussian(1.0), 0.01, 2).for_group(5)
    assert two == GroupSampled(Gaussian(1.0), 0.01, 10)
    assert GroupSampled(Gaussian(1.0), 0.01, 2).for_group(501) is None


def test_a_thousand_records():
    accountant = exact(5.0, 1e-4, 1000)
    low, high = accountant.get_epsilon_bounds(1e-6, group_size=1000)
    assert low <= high <= low * (1.0 + 1e-6)
    always = PLDAccountant().compose(GroupSampled(Gaussian(20.0), 1.0, 10))
    assert always.get_epsilon(1e-6) == pytest.approx(
        PLDAccountant().compose(Gaussian(2.0)).get_epsilon(1e-6), rel=1e-12
    )


def test_groups_beside_other_mechanisms():
    steps = PoissonSampled(Gaussian(1.0), 0.01) * 100
    run = PLDAccountant().compose(steps + Gaussian(40.0) * 3)
    apart = PLDAccountant().compose(GroupSampled(Gaussian(1.0), 0.01, 3), 100)
    apart.compose(Gaussian(40.0 / 3.0), 3)
    found, known = run.get_epsilon_bounds(1e-6, group_size=3), apart.get_epsilon_bounds(1e-6)
    assert found == pytest.approx(known, rel=1e-9)
    more = PLDAccountant().compose(steps + Laplace(90.0)).get_epsilon(1e-6, group_size=3)
    assert more >= PLDAccountant().compose(steps).get_epsilon(1e-6, group_size=3)


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one", "zero_out"])
def test_mixtures_for_every_adjacency(adjacency):
    """One step on a fine grid of outputs; what is replaced moves as far in the other direction."""
    sigma, moves, weights = 1.5, np.array([0.0, 1.0, 2.5]), np.array([0.5, 0.3, 0.2])
    mixture = GaussianMixture(sigma, moves, weights)
    x = np.linspace(-14.0, 14.0, 56_001)
    p = norm.pdf(x[:, np.newaxis], moves, sigma) @ weights
    q = p[::-1] if adjacency == "replace_one" else norm.pdf(x, 0.0, sigma)
    exact_one, bound = (kind(adjacency=adjacency) for kind in (PLDAccountant, RDPAccountant))
    exact_one.compose(mixture)
    bound.compose(mixture)
    for epsilon in (0.1, 1.0):
        grown = math.exp(epsilon)
        deltas = [np.maximum(a - grown * b, 0.0).sum() * 5e-4 for a, b in ((p, q), (q, p))]
        assert exact_one.get_delta(epsilon) == pytest.approx(max(deltas), rel=2e-5)
        assert max(deltas) <= bound.get_delta(epsilon) * (1.0 + 1e-6)
    divergence = max(math.log((a**2 / b).sum() * 5e-4) for a, b in ((p, q), (q, p)))
    assert bound.get_rdp([2.0])[0] == pytest.approx(divergence, rel=1e-7)


def test_correlated_noise():
    random = np.random.default_rng(7)
    factor, moves = random.normal(size=(4, 4)), random.normal(size=(3, 4))
    covariance = factor @ factor.T + np.eye(4)
    covariance = (covariance + covariance.T) / 2.0
    release = CorrelatedGaussian(covariance, moves)
    norms = np.einsum("ki,ij,kj->k", moves, np.linalg.inv(covariance), moves)
    assert release.released.noise_multiplier == pytest.approx(norms.max() ** -0.5, rel=1e-12)
    assert Mechanism.from_json(release.to_json()) == release
    diagonal = CorrelatedGaussian([[4.0, 0.0], [0.0, 16.0]], [[2.0, 0.0], [0.0, 4.0]])
    assert diagonal.released == Gaussian(1.0)
    assert diagonal.for_group(2).noise_multiplier == pytest.approx(0.5, rel=1e-15)
    assert CorrelatedGaussian([[1.0]], [[0.0]]).released == Gaussian(math.inf)
    for bad, words in (
        (([[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0]]), "positive definite"),
        (([[1.0, 0.1], [0.2, 1.0]], [[1.0, 0.0]]), "symmetric"),
        (([[1.0, 0.0]], [[1.0]]), "square"),
        (([[1.0]], []), "at least one vector"),
    ):
        with pytest.raises(ValueError, match=words):
            CorrelatedGaussian(*bad)


@pytest.mark.parametrize(
    "setting", [(2e-6, 0.01, 1, 1000), (2e-6, 0.01, 1, 1), (1.0, 0.999, 1, 1000)]
)
def test_records_far_beyond_the_noise_are_revealed(setting):
    noise, rate, records, instead = setting
    group = GroupSampled(Gaussian(noise), rate, records, instead=instead)
    assert PLDAccountant().compose(group).get_epsilon_bounds(1e-3) == (0.0, math.inf)


@pytest.mark.parametrize(
    ("rate", "scale", "records"),
    [(1e-18, 10.0, 3), (0.1, 1e12, 3), *slow((1e-12, 1e6, 3), (1e-4, 0.5, 4), (0.9, 1.0, 5))],
)
def test_small_losses_of_groups_keep_their_digits(rate, scale, records):
    with mpmath.workdps(60):
        q, b = mpmath.mpf(rate), mpmath.mpf(scale)
        weights = [
            mpmath.binomial(records, k) * q**k * (1 - q) ** (records - k)
            for k in range(records + 1)
        ]

        def excess(x):
            gains = ((abs(x) - abs(x - k)) / b for k in range(records + 1))
            return sum(w * mpmath.expm1(gain) for w, gain in zip(weights, gains, strict=True))

        inside = mpmath.quad(
            lambda x: mpmath.exp(-x / b) / (2 * b) * excess(x) ** 2,
            [mpmath.mpf(i) / 2 for i in range(2 * records + 1)],
        )
        outside = excess(0) ** 2 / 2 + excess(records) ** 2 / 2 * mpmath.exp(-records / b)
        truth = mpmath.log1p(inside + outside)
    group = GroupSampled(Laplace(scale), rate, records)
    (found,) = RDPAccountant().compose(group).get_rdp([2.0])
    assert truth <= found <= truth * (1 + 1e-7)
