"""Losses of strategies against published and independently computed numbers."""

import math

import numpy as np
import pytest
from matrix_reference import loss

from renyi import MatrixMechanism
from renyi.matrix import (
    BLT,
    BandedToeplitz,
    Dense,
    FixedEpochs,
    LearningRates,
    MinSeparation,
    Momentum,
    PrefixSums,
    SinglePass,
    SquareRoot,
    Strategy,
    Tree,
)

EVERY = [
    SquareRoot(12),
    BandedToeplitz.optimal(12, 4),
    BandedToeplitz.optimal(12, 4, normalised=True),
    BLT.optimal(12, 2),
    Dense.optimal(12),
]


@pytest.mark.parametrize(
    ("steps", "largest", "mean", "bound", "plain", "honaker"),
    [
        (10, 1.791344, 1.653181, 1.497933, (3.4641, 2.6077), (2.9921, 2.2108)),
        (100, 2.531352, 2.370658, 2.177703, (6.4807, 4.7255), (5.1545, 3.7337)),
        (1000, 3.265003, 3.102239, 2.902063, (9.4868, 7.0271), (7.2817, 5.3573)),
        (10_000, 3.998010, 3.835611, 3.633812, (13.4907, 9.5110), (10.1117, 7.1310)),
    ],
)
def test_square_root_and_trees(steps, largest, mean, bound, plain, honaker):
    root = SquareRoot(steps)
    assert (round(root.loss("max"), 6), round(root.loss("mean"), 6)) == (largest, mean)
    angles = (2 * np.arange(1, steps + 1) - 1) * math.pi / (4 * steps + 2)
    assert round(float(np.mean(0.5 / np.sin(angles))), 6) == bound
    assert bound < mean < largest
    for tree, expected in ((Tree(steps, False), plain), (Tree(steps), honaker)):
        assert (round(tree.loss("max"), 4), round(tree.loss("mean"), 4)) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [(2, 1.14412281), (4, 1.31092945), (8, 1.49441365), (16, 1.68940368), (64, 2.09985647)],
)
def test_the_best_of_all(steps, expected):
    strategy = Dense.optimal(steps)
    assert strategy.loss("mean") == pytest.approx(expected, abs=6e-9)
    assert strategy.sensitivity() == pytest.approx(1.0, abs=1e-9)


def test_fixed_epochs():
    scheme = FixedEpochs(16)
    assert Dense.optimal(64, participation=scheme).loss("mean", scheme) == pytest.approx(
        4.407853, abs=1e-6
    )


@pytest.mark.parametrize(
    ("bands", "mean", "largest", "normalised", "best"),
    [
        (4, 3.240594, 4.350253, 3.236364, 3.212178),
        (16, 2.350054, 2.867517, 2.329086, 2.292618),
        (64, 2.179043, 2.388848, 2.134878, 2.099856),
    ],
)
def test_bands(bands, mean, largest, normalised, best):
    fit = BandedToeplitz.optimal
    assert fit(64, bands).loss("mean") == pytest.approx(mean, abs=1e-6)
    assert fit(64, bands, loss="max").loss("max") == pytest.approx(largest, abs=1e-6)
    assert fit(64, bands, normalised=True).loss("mean") == pytest.approx(normalised, abs=1e-6)
    assert Dense.optimal(64, bands=bands).loss("mean") == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(
    ("steps", "bands", "mean", "largest"),
    [
        (16, 4, 1.937530, 2.436582),
        (1000, 10, 7.590657, 10.466639),
        (1000, 100, 3.659600, 4.519911),
        (1000, 1000, 3.049049, 3.265003),
        (2048, 16, 8.626950, 11.883075),
    ],
)
def test_bands_of_longer_runs(steps, bands, mean, largest):
    assert BandedToeplitz.optimal(steps, bands).loss("mean") == pytest.approx(mean, abs=1e-6)
    fitted = BandedToeplitz.optimal(steps, bands, loss="max")
    assert fitted.loss("max") == pytest.approx(largest, abs=1e-6)


def test_coefficients_of_the_best_bands():
    found = BandedToeplitz.optimal(16, 4).coefficients
    assert np.allclose(found, [1.0, 0.551575, 0.414246, 0.326922], atol=2e-6)


@pytest.mark.parametrize(
    ("steps", "buffers", "kind", "expected"),
    [
        (1000, 1, "max", 3.850205),
        (1000, 2, "max", 3.321262),
        (1000, 3, "max", 3.269918),
        (100, 2, "max", 2.536523),
        (1000, 4, "mean", 3.049825),
    ],
)
def test_buffers(steps, buffers, kind, expected):
    fitted = BLT.optimal(steps, buffers, loss=kind)
    assert fitted.loss(kind) == pytest.approx(expected, abs=2e-6)
    assert fitted.sensitivity().exact


def test_two_buffers():
    fitted = BLT.optimal(1000, 2, loss="max")
    assert np.allclose(fitted.decays, [0.998077, 0.907992], atol=3e-6)
    assert np.allclose(fitted.weights, [0.067176, 0.319703], atol=3e-6)
    # 1 + sum w_i w_j (1 - (t_i t_j)^(n-1)) / (1 - t_i t_j)
    w, t = np.array(fitted.weights), np.array(fitted.decays)
    ratio = np.multiply.outer(t, t)
    square = 1.0 + np.sum(np.multiply.outer(w, w) * (1 - ratio**999) / (1 - ratio))
    assert fitted.sensitivity() ** 2 == pytest.approx(square, rel=2e-12)


def test_several_epochs():
    scheme = MinSeparation(100, 10)
    fitted = BLT.optimal(1000, 2, participation=scheme)
    assert fitted.loss("mean", scheme) == pytest.approx(12.19385, abs=1e-5)
    assert BandedToeplitz.optimal(1000, 100).loss("mean", scheme) == pytest.approx(
        11.57267, abs=1e-5
    )
    assert SquareRoot(1000).loss("mean", scheme) == pytest.approx(15.71616, abs=1e-5)


@pytest.mark.parametrize(
    ("optimal", "losses"),
    [(lambda **how: BLT.optimal(160, 3, **how), 1.04), (lambda **how: Dense.optimal(24, **how), 1)],
    ids=["BLT", "Dense"],
)
def test_the_optimum_for_one_pass_warns_in_several(optimal, losses):
    scheme = FixedEpochs(6)
    once, fitted = optimal(), optimal(participation=scheme)
    with pytest.warns(UserWarning, match=r"pass participation=FixedEpochs\(period=6\)"):
        MatrixMechanism(once, 1.0, scheme)
    assert once.loss("mean", scheme) > losses * fitted.loss("mean", scheme)
    for strategy, used in (once, SinglePass()), (fitted, scheme), (once, FixedEpochs(160)):
        MatrixMechanism(strategy, 1.0, used)  # a warning is an error here
    assert type(once).from_json(once.to_json()) == once


@pytest.mark.parametrize("strategy", EVERY, ids=repr)
@pytest.mark.parametrize("kind", ["mean", "max"])
def test_losses_are_those_of_the_matrix(strategy, kind):
    expected = loss(strategy.matrix(), kind, strategy.sensitivity())
    assert strategy.loss(kind) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("strategy", EVERY, ids=repr)
def test_errors_of_every_workload(strategy):
    rates = np.linspace(1.0, 0.1, 12)
    for workload in (PrefixSums(), Momentum(0.9), LearningRates(rates, 0.5)):
        b = workload.matrix(12) @ np.linalg.inv(strategy.matrix())
        assert np.allclose(strategy.errors(workload), (b * b).sum(axis=1), rtol=1e-10)


def test_workloads_are_the_iterates_of_sgd():
    gradients, rates = np.random.default_rng(1).normal(size=12), np.linspace(1.0, 0.1, 12)
    velocity = place = 0.0
    places = []
    for gradient, rate in zip(gradients, rates, strict=True):
        velocity = 0.7 * velocity + gradient
        place += rate * velocity
        places.append(place)
    assert np.allclose(LearningRates(rates, 0.7).matrix(12) @ gradients, places)
    assert np.allclose(Momentum(0.7).matrix(12), LearningRates(np.ones(12), 0.7).matrix(12))


def test_momentum_has_a_strategy_of_its_own():
    own = BandedToeplitz.optimal(100, 20, workload=Momentum(0.9))
    other = BandedToeplitz.optimal(100, 20)
    assert own.loss(workload=Momentum(0.9)) < other.loss(workload=Momentum(0.9))
    with pytest.raises(ValueError, match=r"Dense\.optimal takes every workload"):
        BandedToeplitz.optimal(3, 2, workload=LearningRates([1.0, 0.5, 0.2]))


def test_restarts_leave_less_noise_than_prefixes():
    """Completed trees end with the noise of their root."""
    for honaker in (True, False):
        tree = Tree(28, honaker, restart=7)
        errors = tree.errors()
        assert errors[7] - errors[0] <= 1.0
        assert errors[6] > errors[7] - errors[0]
    # The root of 8 steps, of which the last has no records: the best of all nodes over the rest.
    weights = Tree(28, restart=7).matrix()[:, :7]
    covariance = np.linalg.inv(weights.T @ weights)
    best = np.ones(7) @ covariance @ np.ones(7)
    assert Tree(28, restart=7).errors()[7] - 1.0 >= best * (1 - 1e-12)


def test_long_runs_take_no_longer():
    """A million steps, within what the optimum of all Toeplitz matrices permits."""
    fitted = BLT.optimal(10**6, 4, loss="max")
    best = SquareRoot(10**6).loss("max")
    assert best <= fitted.loss("max") <= 1.02 * best


@pytest.mark.parametrize("strategy", [*EVERY, Tree(12), Tree(12, False, 5)], ids=repr)
def test_json_keeps_every_digit(strategy):
    again = Strategy.from_json(strategy.to_json())
    assert again == strategy
    assert hash(again) == hash(strategy)
    assert type(strategy).from_dict(strategy.to_dict()) == strategy


@pytest.mark.parametrize(
    ("words", "make"),
    [
        ("steps must be an integer", lambda: SquareRoot(0)),
        ("coefficients must be 1 and then finite", lambda: BandedToeplitz(4, [2.0, 1.0])),
        ("coefficients must be 1 and then finite", lambda: BandedToeplitz(1, [1.0, 0.5])),
        ("bands must be an integer", lambda: BandedToeplitz.optimal(3, 4)),
        ("decays must be numbers", lambda: BLT(4, [1.0], [0.1])),
        ("weights must be 2 finite", lambda: BLT(4, [0.5, 0.2], [0.1])),
        ("buffers must be an integer", lambda: BLT.optimal(4, 9)),
        ("rows must be", lambda: Dense([[1.0, 1.0], [0.0, 1.0]])),
        ("rows must be", lambda: Dense([[1.0], [0.5, 0.0]])),
        ("separation must be an integer", lambda: MinSeparation(0)),
        ("restart must be an integer", lambda: Tree(4, restart=0)),
        ("loss must be one of", lambda: SquareRoot(4).loss("least")),
        ("beta must be a number", lambda: Momentum(1.0)),
        ("rates must be 3", lambda: LearningRates([1.0]).matrix(3)),
        ("data must be of a BLT", lambda: BLT.from_dict(SquareRoot(4).to_dict())),
    ],
)
def test_bad_arguments(words, make):
    with pytest.raises(ValueError, match=words):
        make()
