"""Records in random bins: overlaps, brackets around references; what the page on noise claims."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from each import slow
from matrix_reference import sensitivity

from renyi import (
    Composed,
    Gaussian,
    MatrixMechanism,
    PLDAccountant,
    RDPAccountant,
    UnsupportedMechanismError,
)
from renyi.matrix import (
    BLT,
    BallsInBins,
    BandedInverse,
    BandedToeplitz,
    Dense,
    FixedEpochs,
    MinSeparation,
    SinglePass,
    SquareRoot,
    Tree,
    choose_bands,
    priced,
)
from renyi.noise import SecureGenerator
from renyi.samplers import BallsInBinsSampler
from renyi.sgd import TrainingPlan

STRATEGIES = [
    (BandedToeplitz(6, [1.0, 0.5, 0.25]), 2),
    (BandedToeplitz(7, [1.0, 0.5], normalised=True), 3),
    (SquareRoot(5), 2),
    (BLT(6, [0.9, 0.5], [0.2, 0.3]), 2),
    (BandedInverse.root(7, 3), 3),
    (BandedInverse(5, [1.0, -1e-200]), 3),
    (Tree(6), 3),
    (Dense([[1.0], [0.5, 1.0], [0.0, 0.7, 2.0], [0.3, 0.1, 0.2, 1.0]]), 2),
]


def gram(strategy, batches):
    """Return the inner products of what each bin moves, by the matrix as it is written out."""
    c = strategy.matrix()
    moves = [
        [sum(Fraction(x) for x in row[j::batches].tolist()) for row in c] for j in range(batches)
    ]
    return [[sum(a * b for a, b in zip(u, v, strict=True)) for v in moves] for u in moves]


@pytest.mark.parametrize(("strategy", "batches"), STRATEGIES)
def test_overlaps_enclose_the_gram_matrix(strategy, batches):
    exact, found = gram(strategy, batches), strategy.overlaps(batches)
    assert found.unit == 1.0
    own = [float(exact[j][j]) for j in range(batches)]
    assert found.own_least <= min(own)
    assert max(own) <= found.own_most
    assert found.own_most == pytest.approx(max(own), rel=1e-12)
    for lag, (least, most) in enumerate(zip(found.shared_least, found.shared_most, strict=True), 1):
        shared = [float(exact[j][j + lag]) for j in range(batches - lag)]
        assert least <= min(shared)
        assert max(shared) <= most
        assert most == pytest.approx(max(shared), rel=1e-12)


def test_extreme_entries_neither_vanish_nor_overflow():
    for scale in (1e-200, 1e150):
        found = Dense([[scale], [scale, scale]]).overlaps(2)
        two = 2.0 * (scale / found.unit) ** 2
        one = MatrixMechanism(Dense([[scale], [scale, scale]]), scale, BallsInBins(2))
        assert found.own_least <= two <= found.own_most
        assert PLDAccountant().compose(one).get_epsilon(1e-6) > 4.0


def two_bins(covariance, t, removed):
    """Return E (R - t)_+ or E (1 - t R)_+ for R = (e^(X - v/2) + e^(Y - w/2)) / 2.

    Over X by the trapezoidal rule, over Y given X in closed form.
    """
    v, w, c = covariance
    x = np.linspace(-12.0, 12.0 + math.sqrt(v), 4001) * math.sqrt(v)
    density = np.exp(-0.5 * x * x / v) / math.sqrt(2.0 * math.pi * v)
    mean, spread = c / v * x - 0.5 * w, math.sqrt(w - c * c / v)
    other, forward = np.exp(x - 0.5 * v), np.exp(mean + 0.5 * spread**2)
    # R exceeds the limit where e^Y is above what the first term leaves.
    limit = t if removed else 1.0 / t
    left = 2.0 * limit - other
    with np.errstate(divide="ignore", invalid="ignore"):
        d = np.where(left > 0.0, (mean - np.log(np.maximum(left, 1e-300))) / spread, math.inf)
    above, shifted = _normal_cdf(d), _normal_cdf(d + spread)
    excess = 0.5 * (forward * shifted - left * above)  # E (R - limit)_+ given X
    if not removed:  # (1 - t R)_+ = t (limit - R)_+, and limit - R in the mean
        excess = t * (excess + limit - 0.5 * (other + forward))
    return float(np.trapezoid(excess * density, x))


def _normal_cdf(x):
    return np.array([0.5 * math.erfc(-z / math.sqrt(2.0)) for z in x.tolist()])


@pytest.mark.parametrize("noise", [0.7, 4.0])
@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize(
    "strategy", [SquareRoot(4), *slow(BandedToeplitz(4, [1.0, 0.5]), BandedToeplitz(3, [1.0]))]
)
def test_two_bins_by_quadrature(strategy, removed, noise):
    exact = gram(strategy, 2)
    v, w, c = (float(number) / noise**2 for number in (exact[0][0], exact[1][1], exact[0][1]))
    run = PLDAccountant().compose(MatrixMechanism(strategy, noise, BallsInBins(2)))
    for epsilon in (0.1, 1.5):
        truth = two_bins((v, w, c), math.exp(epsilon), removed)
        low, high = run.get_delta_bounds(epsilon, direction="remove" if removed else "add")
        assert low <= truth * (1.0 + 1e-7) + 1e-12
        assert truth <= high * (1.0 + 1e-7) + 1e-12


def test_every_entry_of_the_gram_matrix_raises_the_curve():
    rng = np.random.default_rng(5)
    for _ in range(15):
        v, w = rng.uniform(0.2, 2.0, 2).tolist()
        c = float(rng.uniform(0.0, 0.7)) * min(v, w)
        t, removed = math.exp(float(rng.uniform(-0.5, 1.0))), bool(rng.integers(2))
        least = two_bins((v, w, c), t, removed)
        for more in ((1.1 * v, w, c), (v, 1.1 * w, c), (v, w, c + 0.1 * min(v, w))):
            assert least <= two_bins(more, t, removed) + 1e-10


SETTINGS = [
    (BandedToeplitz.optimal(64, 4), BallsInBins(16, 2, 4), 3.0),
    (Tree(32), BallsInBins(8), 4.0),
    *slow((BandedToeplitz.optimal(64, 8), BallsInBins(8), 1.5)),
    *slow((BandedToeplitz.optimal(64, 4), BallsInBins(16), 2.0)),
    *slow((BLT.optimal(48, 2, participation=FixedEpochs(12)), BallsInBins(12), 3.0)),
    *slow((BLT.optimal(48, 2, participation=FixedEpochs(12)), BallsInBins(12, 3, 2), 6.0)),
]


@pytest.mark.parametrize(("strategy", "scheme", "noise"), SETTINGS)
def test_draws_are_in_the_bracket(strategy, scheme, noise):
    c, count, batches = strategy.matrix(), 50_000, scheme.batches
    moves = np.array([c[:, j::batches].sum(axis=1) for j in range(batches)]) / noise
    root = np.linalg.cholesky(moves @ moves.T + 1e-12 * np.eye(batches))
    drawn = np.random.default_rng(7).standard_normal((count, batches)) @ root.T
    ratio = np.exp(drawn - 0.5 * (moves**2).sum(axis=1)).mean(axis=1)  # under Q
    run = PLDAccountant().compose(MatrixMechanism(strategy, noise, scheme))
    for epsilon in (0.1, 0.4, 1.0):
        t = math.exp(epsilon)
        for side, gain in (("remove", ratio - t), ("add", 1.0 - t * ratio)):
            values = np.maximum(gain, 0.0)
            mean, error = float(values.mean()), 5.0 * float(values.std()) / math.sqrt(count)
            low, high = run.get_delta_bounds(epsilon, direction=side)
            assert low <= mean + error
            assert mean - error <= high


def test_it_is_between_one_bin_and_known_bins():
    strategy, delta = BandedToeplitz.optimal(60, 6), 1e-6
    for adjacency in ("add_remove", "zero_out"):
        run = MatrixMechanism(strategy, 8.0, BallsInBins(6))
        exact = PLDAccountant(adjacency=adjacency).compose(run)
        low, high = exact.get_epsilon_bounds(delta)
        assert 0.0 < low < high
        moments = RDPAccountant(adjacency=adjacency).compose(run).get_epsilon(delta)
        assert low <= moments
        assert high <= moments * 1.001
    known = MatrixMechanism(strategy, 8.0, FixedEpochs(6))
    assert high < 0.95 * PLDAccountant(adjacency="zero_out").compose(known).get_epsilon(delta)


def test_it_is_never_above_known_bins():
    strategy = BandedToeplitz(19, [1.0, 0.15, 0.51, 0.14, 0.72, 0.28])
    for noise in (0.136, 30.0):
        bounds = [
            PLDAccountant(adjacency="zero_out")
            .compose(MatrixMechanism(strategy, noise, scheme))
            .get_epsilon(2e-9)
            for scheme in (BallsInBins(11), FixedEpochs(11))
        ]
        assert bounds[0] <= bounds[1] * (1.0 + 1e-9)


def test_a_stride_is_one_of_the_bounds():
    strategy, delta = BandedToeplitz.optimal(60, 6), 1e-6

    def cost(stride):
        run = MatrixMechanism(strategy, 2.0, BallsInBins(6, stride))
        assert MatrixMechanism.from_json(run.to_json()) == run
        return PLDAccountant().compose(run).get_epsilon(delta)

    costs = [cost(stride) for stride in (1, 2, 3, 6)]
    assert cost(None) <= min(costs[0], costs[1], costs[3]) * 1.001
    with pytest.raises(ValueError, match=r"stride must be an integer in \[1, 6\]"):
        BallsInBins(6, 7)


def levels_of(mechanism):
    """Return numbers of parts with what they share, and the whole: squares over the noise."""
    if isinstance(mechanism, Gaussian):
        return [], mechanism.noise_multiplier**-2
    *releases, last = mechanism.parts if isinstance(mechanism, Composed) else [(mechanism, 1)]
    shared = sum(one.noise_multiplier**-2 for one, _ in releases)
    deeper, own = levels_of(last[0].mechanism)
    return [(last[0].steps, shared), *((n, shared + more) for n, more in deeper)], shared + own


@pytest.mark.parametrize(("stride", "block"), [(1, 1), (3, 1), (1, 3), (2, 3), (3, 2), (4, 2)])
def test_levels_enclose_the_gram_matrix(stride, block):
    """Of each pair of bins that may be left where blocks are published modulo a stride."""
    strategy = BandedToeplitz.optimal(30, 9)
    exact = np.array(gram(strategy, 12), float) / 25.0
    levels, own = levels_of(MatrixMechanism(strategy, 5.0, BallsInBins(12, stride, block)).released)
    counts, shared = [n for n, _ in levels], [s for _, s in levels]
    assert counts == [n for n in (12 // block // stride, block) if n > 1]
    assert own >= exact.diagonal().max()
    for j in range(12):
        for k in range(j):
            apart = j // block - k // block
            if apart % stride == 0 and (apart == 0 or counts[0] > 1):
                assert exact[j, k] <= shared[0 if apart else -1]


def test_refusals():
    for stride, block in ((None, 2), (1, 5), (4, 4)):
        with pytest.raises(
            ValueError, match=r"(block must be a divisor|stride must be an integer in)"
        ):
            BallsInBins(12, stride, block)
    with pytest.raises(ValueError, match="no negative entry"):
        MatrixMechanism(BandedToeplitz(8, [1.0, -0.5]), 1.0, BallsInBins(4))
    with pytest.raises(ValueError, match="no negative weights"):
        MatrixMechanism(BLT(8, [0.5], [-0.5]), 1.0, BallsInBins(4))
    with pytest.raises(ValueError, match="batches must be at most the steps, 8"):
        MatrixMechanism(SquareRoot(8), 1.0, BallsInBins(9))
    with pytest.raises(UnsupportedMechanismError, match="adjacency"):
        PLDAccountant().compose(MatrixMechanism(SquareRoot(8), 1.0, FixedEpochs(4)))


def test_a_sampler_keeps_its_bins():
    sampler = BallsInBinsSampler(
        1000, 10, epochs=3, kept=True, generator=SecureGenerator(insecure_reproducible=1)
    )
    batches = [sampler.sample() for _ in range(13)]
    state = sampler.state_dict(secrets=True)
    other = BallsInBinsSampler(
        1000, 10, epochs=3, kept=True, generator=SecureGenerator(insecure_reproducible=1)
    )
    other.load_state_dict(state)
    batches += list(other)
    assert len(batches) == 30
    assert sorted(np.concatenate(batches[:10]).tolist()) == list(range(1000))
    assert all(np.array_equal(batches[k], batches[k % 10]) for k in range(30))
    with pytest.raises(ValueError, match="state must be that of"):
        BallsInBinsSampler(1000, 10, epochs=3).load_state_dict(state)
    with pytest.raises(TypeError, match="kept must be True or False"):
        BallsInBinsSampler(1000, 10, kept=1)  # type: ignore[arg-type]


def test_a_plan_is_accounted_in_random_bins():
    strategy = BandedToeplitz.optimal(40, 10)
    settings = {"steps": 40, "strategy": strategy, "noise_multiplier": 3.0}
    plan = TrainingPlan(1000, 100, sampling="balls_in_bins", **settings)
    fixed = TrainingPlan(1000, 100, sampling="fixed_order", adjacency="zero_out", **settings)
    run = MatrixMechanism(strategy, 3.0, BallsInBins(10))
    alone = PLDAccountant().compose(run).get_epsilon(1e-6)
    assert alone <= plan.get_epsilon(1e-6) <= 1.001 * alone < fixed.get_epsilon(1e-6)
    batches = list(plan.sampler())
    assert all(np.array_equal(batches[k], batches[k % 10]) for k in range(40))


# --- what the page on correlated noise claims


def some_strategy(draw, steps):
    """A strategy of any kind, with entries of both signs in some."""
    bands = int(draw.integers(1, steps + 1))
    c = np.tril(draw.normal(size=(steps, steps)) * (draw.random((steps, steps)) < 0.6), -1)
    makers = (
        lambda: SquareRoot(steps),
        lambda: BandedToeplitz(steps, [1.0, *draw.normal(size=bands - 1)]),
        lambda: BandedToeplitz(steps, [1.0, *np.sort(draw.random(bands - 1))[::-1]]),
        lambda: BLT(steps, draw.random(2), draw.normal(size=2)),
        lambda: BandedInverse(steps, [1.0, *(-draw.dirichlet(np.ones(bands)))[: bands - 1]]),
        lambda: Tree(steps, bool(draw.integers(2)), int(draw.integers(1, steps + 1))),
        lambda: Dense(c + np.diag(draw.uniform(0.1, 2.0, steps))),
        lambda: Dense(np.abs(c) + np.diag(10.0 ** draw.uniform(-3, 3, steps))),
    )
    return makers[draw.integers(len(makers))]()


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_sensitivity_is_below_brute_force(count):
    draw = np.random.default_rng(11)
    for _ in range(count):
        steps = int(draw.integers(1, 13))
        strategy, apart = some_strategy(draw, steps), int(draw.integers(1, steps + 1))
        most = int(draw.integers(1, 4 if apart < 3 else 13))
        schemes = (SinglePass(), FixedEpochs(apart), MinSeparation(apart, most))
        scheme = schemes[draw.integers(3)]
        found = strategy.sensitivity(scheme)
        least = sensitivity(strategy.matrix(), scheme)
        assert found >= least * (1.0 - 1e-14), (strategy, scheme)
        if found.exact:
            assert found <= least * (1.0 + 1e-12), (strategy, scheme)


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_bands_are_never_worse_than_either(epsilon):
    """Than independent noise on samples, and than the same bands in fixed order."""
    rows = choose_bands(epsilon, 1e-6, population=1600, batch_size=100, steps=64)
    best = min(row.error for row in rows)
    whole = BandedToeplitz.optimal(64, 16)
    assert best <= rows[0].error
    assert best <= priced("", whole, FixedEpochs(16), epsilon, 1e-6).error * (1.0 + 1e-9)


EDGES = [
    (Dense([[1.0]]), 1),
    (Dense([[1.0], [0.0, 1.0], [0.0, 0.0, 1e-300]]), 3),
    (Tree(2), 1),
    *slow((BandedInverse(4, [1.0, -1.0]), 2)),
]


@pytest.mark.parametrize("noise", [1e-3, *slow(0.0, 1e6)])
@pytest.mark.parametrize(("strategy", "batches"), EDGES)
def test_random_bins_at_the_edges(strategy, batches, noise):
    """Of one step, one batch, one epoch: below bins that are known, above the lower end."""
    run = MatrixMechanism(strategy, noise, BallsInBins(batches))
    known = MatrixMechanism(strategy, noise, FixedEpochs(batches))
    for adjacency in ("add_remove", "replace_one"):
        found = PLDAccountant(adjacency=adjacency).compose(run)
        order = "zero_out" if adjacency == "add_remove" else adjacency
        most = PLDAccountant(adjacency=order).compose(known)
        for delta in (1e-300, 1e-6):
            low, high = found.get_epsilon_bounds(delta)
            assert low <= high <= most.get_epsilon(delta) * (1.0 + 1e-9)
        assert RDPAccountant(adjacency=adjacency).compose(run).get_epsilon(1e-6) >= low
    assert MatrixMechanism.from_json(run.to_json()) == run
