"""Strategies: losses and sensitivities against published numbers and every pattern of steps."""

import itertools
import math

import numpy as np
import pytest
from each import refused, slow
from matrix_reference import loss, patterns, sensitivity

from renyi import MatrixMechanism
from renyi.matrix import (
    BLT,
    BandedInverse,
    BandedToeplitz,
    CyclicPoisson,
    Dense,
    FixedEpochs,
    MinSeparation,
    SinglePass,
    SquareRoot,
    Strategy,
    Tree,
    Workload,
)

EVERY = [
    SquareRoot(12),
    BandedToeplitz.optimal(12, 4),
    BandedToeplitz.optimal(12, 4, normalised=True),
    BLT.optimal(12, 2),
    Dense.optimal(12),
    BandedInverse.root(12, 3),
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
    [(2, 1.14412281), (4, 1.31092945), (8, 1.49441365), (16, 1.68940368), *slow((64, 2.09985647))],
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
    for workload in (Workload(), Workload(beta=0.9), Workload(rates, 0.5)):
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
    assert np.allclose(Workload(rates, 0.7).matrix(12) @ gradients, places)
    assert np.allclose(Workload(beta=0.7).matrix(12), Workload(np.ones(12), 0.7).matrix(12))


@pytest.mark.parametrize(
    "workload", [Workload(beta=0.8), *slow(Workload(np.linspace(2, 0.1, 40), 0.5))]
)
def test_bands_and_buffers_are_fitted_to_queries(workload):
    """Nearby coefficients are no better, and the best of all are not much."""
    for scheme in (SinglePass(), FixedEpochs(10)):
        best = Dense.optimal(40, participation=scheme, workload=workload).loss(
            "mean", scheme, workload
        )
        fitted = BLT.optimal(40, 3, participation=scheme, workload=workload)
        plain = BLT.optimal(40, 3, participation=scheme)
        bands = BandedToeplitz.optimal(40, 10, workload=workload)
        losses = [one.loss("mean", scheme, workload) for one in (fitted, plain, bands)]
        assert best * 0.99 <= losses[0] < losses[1]
        assert (
            best * 0.999
            <= losses[2]
            < BandedToeplitz.optimal(40, 10).loss("mean", scheme, workload)
        )
    single = bands.loss("mean", workload=workload)
    for k in range(1, 10):
        for change in (1e-3, -1e-3):
            near = list(bands.coefficients)
            near[k] += change
            assert BandedToeplitz(40, near).loss("mean", workload=workload) > single
    with pytest.raises(ValueError, match="loss must be 'mean' where learning rates change"):
        BandedToeplitz.optimal(3, 2, loss="max", workload=Workload([1.0, 0.5, 0.2]))


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


REFUSED = {
    ValueError: [
        (lambda: SquareRoot(0), "steps must be an integer"),
        (lambda: BandedToeplitz(4, [2.0, 1.0]), "coefficients must be 1 and then finite"),
        (lambda: BandedToeplitz(1, [1.0, 0.5]), "coefficients must be 1 and then finite"),
        (lambda: BandedToeplitz.optimal(3, 4), "bands must be an integer"),
        (lambda: BLT(4, [1.0], [0.1]), "decays must be numbers"),
        (lambda: BLT(4, [0.5, 0.2], [0.1]), "weights must be 2 finite"),
        (lambda: BLT.optimal(4, 9), "buffers must be an integer"),
        (lambda: BandedInverse(4, [1.0, 0.5]), "coefficients must be 1 and then numbers"),
        (lambda: BandedInverse(4, [1.0, -0.6, -0.5]), "coefficients must be 1 and then numbers"),
        (lambda: BandedInverse.root(3, 4), "bands must be an integer"),
        (lambda: Dense([[1.0, 1.0], [0.0, 1.0]]), "rows must be"),
        (lambda: Dense([[1.0], [0.5, 0.0]]), "rows must be"),
        (lambda: Dense([[10**400]]), "rows must be a square .*, got a number beyond doubles"),
        (lambda: Workload(beta=0.5).kernel(0), "steps must be an integer >= 1, got 0"),
        (lambda: MinSeparation(0), "separation must be an integer"),
        (lambda: Tree(4, restart=0), "restart must be an integer"),
        (lambda: SquareRoot(4).loss("least"), "loss must be one of"),
        (lambda: Workload(beta=1.0), "beta must be a number"),
        (lambda: Workload([1.0]).matrix(3), "rates must be 3"),
        (lambda: BLT.from_dict(SquareRoot(4).to_dict()), "data must be of a BLT"),
    ]
}
test_bad_arguments = refused(REFUSED)


# --- sensitivities


SCHEMES = [
    SinglePass(),
    FixedEpochs(3),
    FixedEpochs(4),
    MinSeparation(1, 3),
    MinSeparation(2),
    MinSeparation(3, 2),
    MinSeparation(4),
    MinSeparation(20),
]


def strategies(steps):
    rng = np.random.default_rng(steps)
    falling = np.sort(rng.uniform(0.01, 1.0, steps - 1))[::-1]
    return [
        SquareRoot(steps),
        BandedToeplitz(steps, [1.0, *falling]),
        BandedToeplitz(steps, [1.0, *falling[:2]]),
        BandedToeplitz(steps, [1.0, -0.4, 0.7]),
        BandedToeplitz(steps, [1.0, *rng.normal(size=steps - 1)]),
        BLT(steps, [0.9, 0.5], [0.2, 0.3]),
        BLT(steps, [0.9, 0.5], [0.6, -0.3]),
        BandedInverse.root(steps, 3),
        BandedInverse.optimal(steps, 2),
        BandedInverse(steps, [1.0, -0.1, -0.8]),
        Dense.optimal(steps),
        Dense.optimal(steps, bands=3),
        Dense(np.tril(rng.normal(size=(steps, steps)), -1) + np.eye(steps)),
        Dense(np.tril(rng.uniform(size=(steps, steps)), -1) + np.eye(steps)),
        Tree(steps),
        Tree(steps, restart=3),
        Tree(steps, False, restart=4),
    ]


@pytest.mark.parametrize("participation", SCHEMES, ids=repr)
@pytest.mark.parametrize("steps", [5, 8, 12])
def test_never_below_every_pattern_and_reached_where_it_says_so(steps, participation):
    exact = 0
    for strategy in strategies(steps):
        found = strategy.sensitivity(participation)
        true = sensitivity(strategy.matrix(), participation)
        assert found >= true * (1.0 - 1e-15), strategy
        if found.exact:
            exact += 1
            assert found <= true * (1.0 + 1e-12), strategy
    assert exact >= 4


@pytest.mark.parametrize("rows", [np.ma.masked_array(np.eye(2), np.eye(2)), np.eye(2) * 1j, 3])
def test_rows_are_real_numbers(rows):
    with pytest.raises(TypeError, match="rows must be"):
        Dense(rows)


@pytest.mark.parametrize(
    ("loss", "participation"),
    [
        ("mean", FixedEpochs(16)),
        *slow(("mean", SinglePass()), ("max", SinglePass()), ("max", FixedEpochs(16))),
    ],
)
def test_inverse_bands_are_fitted(participation, loss):
    """Two bands against a scan; more are better, and come near the best matrix."""
    steps = 64
    two = BandedInverse.optimal(steps, 2, loss=loss, participation=participation)
    scan = [BandedInverse(steps, [1.0, -x]) for x in np.linspace(0.5, 0.999, 200).tolist()]
    least = min(one.loss(loss, participation) for one in scan)
    assert two.loss(loss, participation) == pytest.approx(least, rel=1e-4)
    losses = [
        BandedInverse.optimal(steps, k, loss=loss, participation=participation).loss(
            loss, participation
        )
        for k in (1, 2, 4, 8, 16)
    ]
    assert all(b <= a * (1.0 + 1e-4) for a, b in itertools.pairwise(losses))
    if loss == "mean" and participation == SinglePass():
        assert Dense.optimal(steps).loss() <= losses[-1] <= 1.06 * Dense.optimal(steps).loss()
    rates = Workload(np.linspace(1.0, 0.1, steps).tolist(), 0.5)
    fitted = BandedInverse.optimal(steps, 4, workload=rates)
    assert fitted.loss(workload=rates) <= BandedInverse.optimal(steps, 4).loss(workload=rates)
    for bad in (0, 33, 65):
        with pytest.raises(ValueError, match="bands must be an integer"):
            BandedInverse.optimal(steps, bad)


def test_it_is_rounded_up_and_not_by_much():
    """Rationals: 1, 1/2, 1/4 squared sum to 21/16, twice of it."""
    found = BandedToeplitz(100, [1.0, 0.5, 0.25]).sensitivity(MinSeparation(3, 2))
    assert found.exact
    assert float(found) ** 2 >= 21.0 / 8.0
    assert found <= math.sqrt(21.0 / 8.0) * (1.0 + 1e-14)


def test_separation_is_the_difference_of_steps():
    """Steps 0 and 2 are 2 apart: other libraries would say that 1 step is between them."""
    chosen = list(patterns(MinSeparation(2), 3))
    assert (0, 2) in chosen
    assert (0, 1) not in chosen
    root = SquareRoot(3)
    assert root.sensitivity(MinSeparation(2)) > root.sensitivity(MinSeparation(3))


@pytest.mark.parametrize(
    ("strategy", "participation", "expected"),
    [
        (SquareRoot(8), MinSeparation(2, 2), 2.23379600),
        (SquareRoot(8), MinSeparation(3), 2.72563112),
        (SquareRoot(1000), MinSeparation(100, 10), 9.15404300),
        (BandedToeplitz(1000, SquareRoot(100).first_column()), MinSeparation(100, 10), 5.03125443),
        (BandedToeplitz(950, SquareRoot(100).first_column()), MinSeparation(100, 10), 5.00920076),
        (Tree(8), MinSeparation(2, 2), math.sqrt(12.0)),
        (Tree(8), MinSeparation(4, 2), math.sqrt(10.0)),
        (Tree(16), MinSeparation(8, 2), math.sqrt(12.0)),
        (Dense(np.tri(11)), MinSeparation(1, 4), math.sqrt(142.0)),
        (BandedToeplitz(6, [1.0, 0.5, 0.8]), MinSeparation(1, 2), 2.727636),
    ],
    ids=repr,
)
def test_known_numbers(strategy, participation, expected):
    assert float(strategy.sensitivity(participation)) == pytest.approx(expected, rel=3e-7)


def test_known_numbers_of_any_matrix():
    """Rows 1000, 2100, 0110, 001-6: the sensitivity of a user's own matrix with both signs."""
    own = np.array([[1, 0, 0, 0], [2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 6.0]])
    own[3, 2], own[3, 3] = -1.0, 6.0  # a sign on the other entry of the row moves nothing
    strategy = Dense(own)
    assert strategy.sensitivity() == pytest.approx(math.sqrt(36.0), rel=1e-12)
    assert strategy.sensitivity(MinSeparation(2)) == pytest.approx(math.sqrt(41.0), rel=1e-12)
    assert strategy.sensitivity(MinSeparation(2, 1)) == pytest.approx(6.0, rel=1e-12)


def test_coefficients_that_rise_are_bounded_by_those_that_do_not():
    """The closed form on 1, 0.5, 0.8 itself would be too small for some separations."""
    strategy = BandedToeplitz(6, [1.0, 0.5, 0.8])
    found = strategy.sensitivity(MinSeparation(1, 2))
    assert not found.exact
    assert sensitivity(strategy.matrix(), MinSeparation(1, 2)) == pytest.approx(2.362202, rel=1e-6)
    assert found > 2.362202


def test_columns_of_the_optimum_have_norm_one():
    """Cholesky's factor of X itself has rows of norm 1, and columns of up to 2.27."""
    strategy = Dense.optimal(64, bands=16)
    assert np.allclose(np.linalg.norm(strategy.matrix(), axis=0), 1.0, atol=1e-6)
    assert strategy.sensitivity(MinSeparation(16, 4)) == pytest.approx(2.0, rel=1e-6)


def test_cyclic_samples_see_one_column_at_a_time():
    strategy = BandedToeplitz(100, [1.0, 0.5])
    assert strategy.sensitivity(CyclicPoisson(0.1, 2)) == strategy.column_norm


def test_normalised_columns_need_their_separation():
    strategy = BandedToeplitz(10, [1.0, 0.5, 0.2], normalised=True)
    for scheme in (SinglePass(), MinSeparation(3), FixedEpochs(4)):
        true = sensitivity(strategy.matrix(), scheme)
        assert true * (1 - 1e-15) <= strategy.sensitivity(scheme) <= true * (1 + 1e-12)
    with pytest.raises(ValueError, match="in steps at least 3 apart"):
        strategy.sensitivity(MinSeparation(2))


def test_weights_that_cancel():
    """Coefficients of buffers whose weights nearly add up to nothing are known less well."""
    strategy = BLT(12, [0.9, 0.9 + 1e-15], [1e6, -1e6])
    for scheme in SCHEMES:
        assert strategy.sensitivity(scheme) >= sensitivity(strategy.matrix(), scheme)
    assert strategy.sensitivity().exact
    assert not strategy.sensitivity(MinSeparation(2)).exact


@pytest.mark.parametrize("size", [5e-324, 1e-308, 1e-200, 1e-160, 1e160, 1e200, 1e300])
def test_squares_of_entries_that_doubles_do_not_hold(size):
    """A sensitivity is as many times as large as the entries are."""
    for entries, participation in [
        ([[1.0]], SinglePass()),
        ([[1.0], [1.0, 1.0]], FixedEpochs(1)),
        ([[1.0], [-1.0, 1.0]], MinSeparation(1)),
        ([[1.0], [1.0, 1.0], [0.0, 1.0, 1.0]], MinSeparation(2)),
    ]:
        rows = [[size * entry for entry in row] for row in entries]
        found, one = (
            Dense(rows).sensitivity(participation),
            Dense(entries).sensitivity(participation),
        )
        assert found >= size * one * (1 - 1e-14)
        assert found <= size * one * (1 + 1e-14) + 1e-323
    toeplitz = BandedToeplitz(3, [1.0, size])
    assert 1.0 <= toeplitz.sensitivity() / math.hypot(1.0, size) <= 1.0 + 1e-14
    twice = toeplitz.sensitivity(FixedEpochs(1))
    assert 1.0 <= twice / math.hypot(1.0, 1.0 + size, 1.0 + size) <= 1.0 + 1e-14
    assert BLT(3, [0.0], [size]).sensitivity() >= math.hypot(1.0, size)
    norms = np.linalg.norm(BandedToeplitz(3, [1.0, size], normalised=True).matrix(), axis=0)
    assert norms == pytest.approx(1.0, rel=1e-14)


def test_trees_are_exact_for_records_that_take_part_several_times():
    draw = np.random.default_rng(3)
    for _ in range(150):
        steps = int(draw.integers(2, 14))
        restart = None if draw.integers(2) else int(draw.integers(1, steps + 1))
        tree, apart = Tree(steps, restart=restart), int(draw.integers(1, steps + 1))
        for scheme in (FixedEpochs(apart), MinSeparation(apart, int(draw.integers(1, 5)))):
            found, exact = tree.sensitivity(scheme), sensitivity(tree.matrix(), scheme)
            assert found.exact
            assert exact <= found <= exact * (1.0 + 1e-12)
    assert round(Tree(1000).sensitivity(MinSeparation(100, 10)) ** 2, 6) == 143.0
    assert not Tree(1000).sensitivity(MinSeparation(2, 100)).exact
