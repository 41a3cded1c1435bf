"""Queries at the ends of what doubles hold: certified, silent and never an error."""

import math
import warnings

import pytest

from renyi import Gaussian, Laplace, PLDAccountant, PoissonSampled

REVEALING = Gaussian(0.0)


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    "beside", [PoissonSampled(Gaussian(0.1), 1e-3), Laplace(1.0), Gaussian(2.0), REVEALING]
)
def test_an_unbounded_loss_beside_anything(adjacency, beside):
    accountant = PLDAccountant(adjacency=adjacency).compose(beside, 10).compose(REVEALING)
    for epsilon in (0.0, 1.0, 800.0, math.inf):
        assert accountant.get_delta(epsilon) == 1.0
        low, high = accountant.get_delta_bounds(epsilon)
        assert 1.0 - 1e-14 <= low <= high == 1.0
    assert accountant.get_epsilon(0.5) == math.inf
    assert accountant.get_epsilon_bounds(0.5) == (math.inf, math.inf)
    assert accountant.get_epsilon(1.0) == 0.0
    assert accountant.get_beta([0.0, 0.5]).tolist() == [0.0, 0.0]
    assert accountant.get_advantage() == 1.0


@pytest.mark.parametrize(
    ("mechanism", "steps", "epsilon"),
    [
        (Gaussian(1.0), 1, 40.0),  # the truth is 4e-343
        (Gaussian(1.0), 1, 1e308),
        (Gaussian(1000.0), 3, 1e308),
        (PoissonSampled(Gaussian(10.0), 0.5), 1, 1e308),
        (PoissonSampled(Gaussian(1.0), 0.01), 10, 120.0),
        (PoissonSampled(Gaussian(1.0), 0.01), 10, 1e10),
        (PoissonSampled(Gaussian(10.0), 0.5), 10, 1e308),
    ],
)
def test_an_upper_bound_of_a_positive_number_is_not_zero(mechanism, steps, epsilon):
    accountant = PLDAccountant().compose(mechanism, steps)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = accountant.get_delta_bounds(epsilon)
        single = accountant.get_delta(epsilon)
    assert low == 0.0
    assert 0.0 < high <= 2.0**-1022
    assert 0.0 < single <= 2.0**-1022


def test_a_loss_that_ends_leaves_nothing_beyond():
    accountant = PLDAccountant().compose(Laplace(1.0), 3)
    assert accountant.get_delta(3.1) == 0.0
    assert accountant.get_delta_bounds(3.1) == (0.0, 0.0)
    step = PoissonSampled(Gaussian(1.0), 0.5)
    assert PLDAccountant().compose(step, 3).get_delta(2.1, direction="add") == 0.0


def test_as_many_uses_as_there_may_be():
    """By the central limit 0.126937, to terms of 0.06/sqrt(count)."""
    for count in (10**8, 10**9):
        accountant = PLDAccountant().compose(Laplace(math.sqrt(count)), count)
        low, high = accountant.get_delta_bounds(1.0)
        assert low < high < low * 1.1
        assert low * (1 - 1e-4) <= 0.126937 <= high * (1 + 1e-4)


def test_losses_next_to_none():
    accountant = PLDAccountant().compose(PoissonSampled(Gaussian(1e-5), 1e-300), 1000)
    assert accountant.get_epsilon(1e-300) == math.inf  # a record shows with probability 1e-97
    assert accountant.get_delta(1.0) >= 1e-97
