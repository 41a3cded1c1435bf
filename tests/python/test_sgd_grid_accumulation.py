"""Sums of clipped rows on a grid: what each row adds, in any parts, and what is refused."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from renyi.sgd import ClipAccumulator, Grid, clip_and_sum

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
def test_rows_that_are_not_finite_count_nothing(bad, clipping):
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


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"grid": 0.5}, TypeError, "grid must be a Grid, got 0.5"),
        ({"dtype": np.float64}, ValueError, "dtype must be left out with a grid"),
        ({"grid": Grid(2.0**-34)}, ValueError, "grid.spacing must be at least 2^-32 of the"),
    ],
)
def test_arguments_refused(given, error, words):
    with pytest.raises(error, match=re.escape(words)):
        parts(**given)
    one = parts()
    with pytest.raises(ValueError, match=re.escape("grid.spacing must be at least 2^-32")):
        one.max_grad_norm = 2.0**25
    assert one.max_grad_norm == (0.7,)
