"""The grid: sums of rounded rows, their sensitivity, and the mechanism they make."""

import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from renyi import noise
from renyi.mechanisms import MultivariateDiscreteGaussian
from renyi.noise import SecureGenerator
from renyi.sgd import Grid


def seeded(seed=1):
    return SecureGenerator(insecure_reproducible=seed)


def test_grid_sum_is_that_of_the_rounded_rows():
    rows = noise.gaussian_noise((50, 300), 1.0, generator=seeded())
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
    rows = noise.gaussian_noise((500, dimension), 1.0, generator=seeded(2))
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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Grid(0.3), "spacing must be a power of two in"),
        (lambda: Grid(0.0), "spacing must be a number in (0, inf)"),
        (lambda: Grid(2.0**600), "2^500], got"),
        (
            lambda: Grid(1.0).sum(np.full((1, 2), math.nan), nonfinite="raise"),
            "rows must be finite and below 2^50",
        ),
        (lambda: Grid(1.0).sum(np.zeros((1, 2)), nonfinite="skip"), "nonfinite must be one of"),
        (lambda: Grid(1.0).sum(np.full((1, 2), 2.0**50)), "rows must be finite and below 2^50"),
        (lambda: Grid(1.0).sum(np.zeros((2, 2)), np.ones(3)), "factors must have the shape (2,)"),
        (lambda: Grid(1.0).sensitivity(1.0, 10, "swap"), "adjacency must be one of 'add_remove'"),
        (lambda: Grid(1.0).sensitivity(1.0, 0), "dimension must be an integer >= 1"),
        (lambda: Grid(1.0).mechanism(0.0, max_norm=1, dimension=1), "scale must be a number in (0"),
    ],
)
def test_grid_refuses(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


def test_rows_of_factor_zero_count_nothing_whatever_they_hold():
    rows = np.array([[1.0, 2.0], [math.nan, math.inf]])
    assert Grid(1.0).sum(rows, [1.0, 0.0]).tolist() == [1, 2]
    with pytest.raises(TypeError, match=r"rows must be an array of shape \(B, D\)"):
        Grid(1.0).sum(np.zeros(3))


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
