"""Sums on a grid: rounded rows, their sensitivity, plans, noise, and what is refused."""

import copy
import dataclasses
import json
import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from each import refused
from noise_alone import gaussian_noise
from sgd_states import same, seeded

from renyi import PLDAccountant, RDPAccountant
from renyi.accountants import UnsupportedMechanismError
from renyi.mechanisms import (
    MultivariateDiscreteGaussian,
)
from renyi.noise import SecureGenerator
from renyi.sgd import (
    DPSGD,
    SGD,
    Adam,
    ClipAccumulator,
    Grid,
    QuantileClipNorm,
    TrainingPlan,
    clip_and_sum,
)


def test_grid_sum_is_that_of_the_rounded_rows():
    rows = gaussian_noise((50, 300), 1.0, generator=seeded())
    factors = np.linspace(0.0, 1.0, 50)
    for spacing in (2.0**-30, 2.0**-4, 8.0):
        expected = np.rint(factors[:, None] * rows / spacing).astype(np.int64).sum(axis=0)
        for order in "CF":
            got = Grid(spacing).sum(np.array(rows, order=order), factors, threads=2)
            assert np.array_equal(got, expected)
    out = np.ones(300, np.int64)
    assert Grid(1.0).sum(rows[:0], out=out) is out
    assert out.tolist() == [1] * 300


def test_grid_sensitivity_bounds_every_row():
    grid, dimension = Grid(2.0**-6), 97
    bound = Fraction(grid.sensitivity(1.0, dimension))
    exact = 1 + mpmath.sqrt(dimension) * 2.0**-7
    assert exact < grid.sensitivity(1.0, dimension) < float(exact) * (1 + 1e-14)
    rows = gaussian_noise((500, dimension), 1.0, generator=seeded(2))
    rows /= np.linalg.norm(rows, axis=1)[:, None] * (1 + 1e-15)
    for row in rows:
        moved = [Fraction(int(v)) * Fraction(2, 128) for v in grid.sum(row[None])]
        assert sum(v**2 for v in moved) <= bound**2
    # The worst row: every entry just above half a spacing, away from zero.
    worst = np.full((1, dimension), 2.0**-7 * 1.0000001)
    moved = math.sqrt(dimension) * 2.0**-6
    assert math.dist(grid.values(grid.sum(worst)), [0] * dimension) == pytest.approx(moved)
    assert moved <= grid.sensitivity(float(np.linalg.norm(worst)) * (1 + 1e-15), dimension)
    doubled = grid.sensitivity(1.0, dimension, "replace_one")
    assert doubled == 2 * grid.sensitivity(1.0, dimension)


def test_grid_mechanism_is_rounded_down():
    grid = Grid(2.0**-10)
    for scale in (0.7, 1.0, 3.3):
        mechanism = grid.mechanism(scale, max_norm=1.0, dimension=10)
        exact = Fraction(scale) / Fraction(grid.sensitivity(1.0, 10))
        assert isinstance(mechanism, MultivariateDiscreteGaussian)
        given = Fraction(mechanism.noise_multiplier)
        assert exact * (1 - Fraction(1, 10**15)) <= given <= exact
    assert grid.units(3.0) == 3072.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rows_that_are_not_finite_count_nothing(dtype, bad):
    rows = np.ones((4, 3), dtype)
    rows[1, 2] = rows[3, 0] = bad
    factors = np.array([1.0, 2.0, 3.0, 4.0])
    assert Grid(0.5).sum(rows).tolist() == [4, 4, 4]
    assert Grid(0.5).sum(rows, factors, threads=2).tolist() == [8, 8, 8]
    assert factors.tolist() == [1.0, 2.0, 3.0, 4.0]
    finite = np.ones((4, 3), dtype)
    assert Grid(0.5).sum(finite, [1.0, bad, 3.0, bad]).tolist() == [8, 8, 8]
    with pytest.raises(ValueError, match="rows must be finite"):
        Grid(0.5).sum(rows, nonfinite="raise")


def test_large_rows_are_still_finite():
    assert Grid(1.0).sum([[1e300, -1e300]] * np.ones((2, 1)), [1e-300, 0.0]).tolist() == [1, -1]
    assert Grid(1.0).sum(np.full((1, 2), 3e38, np.float32), [1 / 3e38]).tolist() == [1, 1]
    assert Grid(1.0).sum(np.empty((3, 0))).shape == (0,)


# --- sums of clipped rows, in any parts


GRID = Grid(2.0**-8)
SHAPES = [(3,), (2, 2)]


def rows(seed=1, count=9, dtype=np.float64, size=1.0):
    rng = np.random.default_rng(seed)
    return [(size * rng.normal(size=(count, *shape))).astype(dtype) for shape in SHAPES]


def parts(max_grad_norm=0.7, **settings):
    return ClipAccumulator(SHAPES, max_grad_norm, **{"grid": GRID, **settings})


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("clipping", ["flat", "per_layer", "automatic"])
def test_the_sum_is_that_of_the_rounded_clipped_rows(clipping, dtype):
    grads = rows(dtype=dtype)
    clipped = parts(clipping=clipping).add(grads).take()
    columns = np.broadcast_to(clipped.private.factors.reshape(9, -1), (9, 2))
    for array, total, factors in zip(grads, clipped.arrays, columns.T, strict=True):
        each = factors.reshape(-1, *[1] * (array.ndim - 1)) * array.astype(float) / GRID.spacing
        assert total.dtype == np.int64
        assert np.array_equal(total, np.rint(each).astype(np.int64).sum(axis=0))
    usual = clip_and_sum(grads, 0.7, clipping=clipping)
    for total, wanted in zip(clipped.arrays, usual.arrays, strict=True):
        np.testing.assert_allclose(GRID.values(total), wanted, atol=9 * GRID.spacing / 2)
    np.testing.assert_array_equal(clipped.private.norms, usual.private.norms)


@pytest.mark.parametrize("clipping", ["flat", "per_layer", "automatic"])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e200, 1e307])
@pytest.mark.parametrize("bound", [2.0**-95, 0.7])
def test_no_row_is_longer_than_the_sensitivity(bound, size, clipping):
    grid = Grid(2.0 ** (math.frexp(bound)[1] - 6))
    for seed in range(20):
        one = parts(bound, clipping=clipping, grid=grid).add(rows(seed, 1, size=size)).take()
        square = sum(int(entry) ** 2 for array in one.arrays for entry in array.flat)
        assert square <= Fraction(one.sensitivity) ** 2
        assert one.private.nonfinite_count == 0
    doubled = parts(bound, clipping=clipping, grid=grid, adjacency="replace_one").take()
    assert doubled.sensitivity == 2 * one.sensitivity
    assert one.sensitivity == grid.units(grid.sensitivity(bound, 7))


@pytest.mark.parametrize("tiny", [1e-307, 1e-310, 5e-324])
def test_the_tiniest_rows_do_no_harm(tiny):
    grid = Grid(2.0**-20)
    summed = ClipAccumulator((2,), 1.0, clipping="automatic", stability=0.0, grid=grid)
    total = summed.add(np.array([[tiny, 0.0], [3.0, 4.0]])).take()
    assert np.linalg.norm(grid.values(total.sum) - [0.6, 0.8]) <= 1.0 + 1e-5
    assert total.private.nonfinite_count == 0


def test_factors_that_no_normal_number_can_be_are_rounded_down():
    lengths = np.linspace(1.0, 2.0, 50) * 2.0**960
    one = ClipAccumulator((1,), 2.0**-96, grid=Grid(2.0**-120)).add(lengths[:, np.newaxis])
    for length, factor in zip(lengths, one.take().private.factors, strict=True):
        assert 0.99 * 2.0**-96 < Fraction(factor) * Fraction(length) <= Fraction(2.0**-96)


def test_parts_and_their_order_change_nothing():
    grads = rows(count=23)
    whole = parts().add(grads).take().arrays
    order = np.random.default_rng(2).permutation(23)
    for cuts in ([5], [1, 2, 22], [0, 23]):
        pieces = parts()
        for share in np.split(order, cuts):
            pieces.add([array[share] for array in grads])
        assert all(map(np.array_equal, pieces.take().arrays, whole))
    threads = parts(threads=3).add([np.asfortranarray(array) for array in grads])
    assert all(map(np.array_equal, threads.take().arrays, whole))


def test_sums_of_one_grid_add_up():
    first, second = rows(1), rows(2)
    one, two = (parts().add(grads).take() for grads in (first, second))
    both = parts().add(first).add(second).take()
    assert all(map(np.array_equal, (one + two).arrays, both.arrays))
    assert (one + two).grid == GRID
    assert all(map(np.array_equal, parts().add(one).add(two).take().arrays, both.arrays))
    other = parts(grid=Grid(0.5)).take()
    usual = clip_and_sum(first, 0.7)
    for wrong in (other, usual):
        with pytest.raises(ValueError, match="grid must be the same in sums that are added"):
            one + wrong
        with pytest.raises(ValueError, match="grads must be rows, or sums of ClipAccumulator"):
            parts().add(wrong)
    with pytest.raises(ValueError, match="grid must be the same in sums that are added"):
        parts(grid=None).add(one)


@pytest.mark.parametrize("clipping", ["flat", "per_layer", "automatic"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_rows_that_are_not_finite_count_nothing_of_parts(bad, clipping):
    grads = rows()
    kept = [np.delete(array, [2, 5], axis=0) for array in grads]
    grads[0][2, 1] = grads[1][5, 0, 1] = bad
    found = parts(clipping=clipping).add(grads).take()
    assert found.private.nonfinite_count == 2
    assert all(map(np.array_equal, found.arrays, parts(clipping=clipping).add(kept).take().arrays))
    strict = parts(clipping=clipping, nonfinite="raise")
    with pytest.raises(ValueError, match="grads must be finite, got 2 rows"):
        strict.add(grads)
    assert not any(array.any() for array in strict.take().arrays)


@pytest.mark.parametrize("shape", [(), (0,), (4,), (2, 0), (2, 3)])
def test_any_shape(shape):
    one = ClipAccumulator(shape, 2.0, grid=Grid(0.25))
    found = one.add(np.full((3, *shape), 0.25)).add(np.empty((0, *shape))).take().sum
    assert found.shape == shape
    assert np.array_equal(found, np.full(shape, 3))


# --- plans


FIXED = {"sampling": "fixed_size", "adjacency": "replace_one"}
SHUFFLED = {"sampling": "shuffled", "adjacency": "zero_out"}


def settings(**given):
    grid = {"grid_spacing": 2.0**-10, "dimension": 40}
    return {"population": 1000, "batch_size": 64, "epochs": 3, **grid, **given}


def plan(**given):
    return TrainingPlan(**settings(**{"noise_multiplier": 1.1, **given}))


@pytest.mark.parametrize("norm", [1e-3, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("dimension", [1, 97, 10**9])
def test_noise_is_never_less_than_the_multiplier_times_the_norm_on_the_grid(norm, dimension):
    for noise in (0.3, 1.1, 7.0):
        grid = {"grid_spacing": 2.0**-26, "dimension": dimension}
        made = plan(noise_multiplier=noise, max_grad_norm=norm, **grid)
        root = math.isqrt(dimension << 80) * Fraction(1, 1 << 40)  # rounded down
        longest = Fraction(norm) * (1 + Fraction(1, 1 << 53)) + root / 2**27
        ratio = Fraction(made.noise_scale) / longest
        assert Fraction(noise) <= ratio <= Fraction(noise) * (1 + Fraction(1, 10**11))
        again = made.grid.mechanism(made.noise_scale, max_norm=norm, dimension=dimension)
        assert again.noise_multiplier == pytest.approx(noise, rel=1e-14)


def test_a_plan_survives_dictionaries_and_json():
    made = plan()
    saved = json.loads(json.dumps(dataclasses.asdict(made)))
    assert TrainingPlan(**saved) == made
    assert dataclasses.replace(made, grid_spacing=None, dimension=None).grid is None
    assert len({made, plan(), plan(dimension=41), plan(grid_spacing=2.0**-9)}) == 3


def test_the_exact_accountant_is_refused():
    with pytest.raises(UnsupportedMechanismError, match="RDPAccountant takes it"):
        plan().get_epsilon(1e-5, accountant="pld")
    with pytest.raises(UnsupportedMechanismError, match="RDPAccountant takes it"):
        TrainingPlan.calibrated(2.0, 1e-5, accountant="pld", **settings())


# --- optimisers


SPACING = 2.0**-12
SHUFFLED_EPOCHS = {"sampling": "shuffled", "adjacency": "zero_out", "batch_size": 300}


def training_plan(population=1024, batch_size=16, **settings):
    grid = {"grid_spacing": SPACING, "dimension": 7}
    usual = {"steps": 20, "noise_multiplier": 1.0, "max_grad_norm": 0.5, **grid}
    return TrainingPlan(population, batch_size, **{**usual, **settings})


def made(planned=None, rule=None, **settings):
    weights = [np.zeros(shape) for shape in SHAPES]
    settings = {"generator": SecureGenerator(insecure_reproducible=1), **settings}
    return DPSGD(weights, planned or training_plan(), rule or SGD(0.1), **settings), weights


@pytest.mark.parametrize("clipping", ["flat", "per_layer", "automatic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_releases_whole_spacings_of_the_rounded_rows_and_noise(dtype, clipping):
    (one, weights), (two, _) = (made(clipping=clipping) for _ in range(2))
    grads = rows(1, 16, dtype)
    clipped = ClipAccumulator(SHAPES, 0.5, grid=Grid(SPACING), clipping=clipping).add(grads).take()
    parts = zip(one.step(grads), two.step(), clipped.arrays, weights, strict=True)
    for mean, noise, total, weight in parts:
        spacings = mean * 16 / SPACING  # the divisor is a power of two: exact
        assert mean.dtype == np.float64
        assert np.array_equal(spacings, np.rint(spacings))
        assert np.array_equal((mean - noise) * 16, total * SPACING)
        assert np.array_equal(weight, -0.1 * mean)
        assert noise.all()


@pytest.mark.parametrize("scheme", [{}, {**FIXED}, {**SHUFFLED_EPOCHS}])
def test_micro_batches_and_machines_change_no_bit(scheme):
    optimizers = [made(training_plan(**scheme), Adam(0.01)) for _ in range(3)]
    (one, a), (two, b), (three, c) = optimizers
    adjacency = one.plan.adjacency
    for seed in range(4):
        grads = rows(seed, 16)
        halves = [[array[part] for array in grads] for part in (slice(5, None), slice(0, 5))]
        one.step(grads)
        two.accumulate(halves[0]).accumulate(rows(9, 0)).step(halves[1])
        elsewhere = [
            ClipAccumulator(SHAPES, 0.5, grid=Grid(SPACING), adjacency=adjacency).add(half).take()
            for half in halves
        ]
        three.step(elsewhere[1] + elsewhere[0])
    assert same(a, b)
    assert same(a, c)


WRONG = [
    (clip_and_sum(rows(), 0.5), "grid=Grid(spacing=0.000244140625)), got a sum with grid=None"),
    (ClipAccumulator(SHAPES, 0.5, grid=Grid(0.5)).take(), "must be rows, or sums of ClipAcc"),
    ([array[:, :2] for array in rows()], "must be a list of arrays [(B, 3), (B, 2, 2)], got"),
]


@pytest.mark.parametrize(("grads", "words"), WRONG)
def test_what_is_refused_leaves_everything_as_it_was(grads, words):
    optimizer, weights = made()
    optimizer.step(rows(0, 16))
    before, spent = (
        copy.deepcopy(optimizer.state_dict(secrets=True)),
        optimizer.accountant.mechanisms,
    )
    for act in (optimizer.step, optimizer.accumulate):
        with pytest.raises(ValueError, match=re.escape(words)):
            act(grads)
    assert same(optimizer.state_dict(secrets=True), before)
    assert optimizer.accountant.mechanisms == spent
    assert same(weights, before["parameters"])


def test_combinations_refused():
    assert isinstance(made()[0].accountant, RDPAccountant)
    norm = QuantileClipNorm(0.5, expected_batch_size=16)
    with pytest.raises(ValueError, match="clip_norm must be None on a grid"):
        made(clip_norm=norm)
    with pytest.raises(UnsupportedMechanismError, match="RDPAccountant takes it"):
        made(accountant=PLDAccountant())
    with pytest.raises(ValueError, match="parameters must have 8 entries, the dimension of the"):
        made(training_plan(dimension=8))
    for noise in (1e-10, 1e12):
        with pytest.raises(ValueError, match=re.escape("sigma is in [2^-20, 2^40] spacings")):
            made(training_plan(noise_multiplier=noise))


ONE = Grid(1.0)


def summed(rows, *factors, **settings):
    return lambda: ONE.sum(rows, *factors, **settings)


def parted(**settings):
    return lambda: parts(**settings)


def planned(**settings):
    return lambda: plan(**settings)


REFUSED = {
    ValueError: [
        (lambda: Grid(0.3), "spacing must be a power of two in"),
        (lambda: Grid(0.0), "spacing must be a number in (0, inf)"),
        (lambda: Grid(2.0**600), "2^500], got"),
        (
            summed(np.full((1, 2), math.nan), nonfinite="raise"),
            "rows must be finite and below 2^50",
        ),
        (summed(np.zeros((1, 2)), nonfinite="skip"), "nonfinite must be one of"),
        (summed(np.full((1, 2), 2.0**50)), "rows must be finite and below 2^50"),
        (summed(np.zeros((2, 2)), np.ones(3)), "factors must have the shape (2,)"),
        (lambda: ONE.sensitivity(1.0, 10, "swap"), "adjacency must be one of 'add_remove'"),
        (lambda: ONE.sensitivity(1.0, 0), "dimension must be an integer >= 1"),
        (lambda: ONE.mechanism(0.0, max_norm=1, dimension=1), "scale must be a number in (0"),
        (parted(dtype=np.float64), "dtype must be left out with a grid"),
        (parted(grid=Grid(2.0**-34)), "grid.spacing must be at least 2^-32 of the"),
        (planned(dimension=0), "dimension must be an integer >= 1, got 0"),
        (planned(dimension=10**400), "dimension must be an integer in [1, 2^53]"),
        (planned(grid_spacing=0.3), "grid_spacing must be a power of two in"),
        (planned(grid_spacing=2.0**-33), "grid_spacing must be at least 2^-32 of the"),
        (
            planned(grid_spacing=0.5, max_grad_norm=0.7),
            "grid_spacing must be at most 0.125 for rows of 40 entries clipped at 0.7, got 0.5",
        ),
        (planned(adjacency="replace_one"), "with sampling 'poisson' on a grid, got 'repl"),
        (planned(noise_multiplier=0.0), "noise_multiplier must be a number in (0, inf)"),
    ],
    TypeError: [
        (parted(grid=0.5), "grid must be a Grid, got 0.5"),
        (summed(np.zeros(3)), "rows must be an array of shape (B, D)"),
        (planned(dimension=None), "grid_spacing and dimension must be given together, got"),
        (planned(grid_spacing=None), "must be given together, got grid_spacing=None"),
        (planned(dimension=1.5), "dimension must be an integer >= 1, got 1.5"),
        (planned(grid_spacing="1"), "grid_spacing must be a number in (0, inf)"),
    ],
}


test_arguments_refused = refused(REFUSED, literally=True)


def test_a_norm_that_is_too_large_for_the_grid_is_refused():
    one = parts()
    with pytest.raises(ValueError, match=re.escape("grid.spacing must be at least 2^-32")):
        one.max_grad_norm = 2.0**25
    assert one.max_grad_norm == (0.7,)
