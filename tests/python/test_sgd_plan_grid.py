"""Plans on a grid: the noise that follows from the rows there, and what it is to an accountant."""

import dataclasses
import json
import math
import re
from fractions import Fraction

import pytest

from renyi import RDPAccountant
from renyi.accountants import UnsupportedMechanismError
from renyi.mechanisms import (
    FixedSizeSampled,
    MultivariateDiscreteGaussian,
    PoissonSampled,
    ShuffledBatches,
)
from renyi.sgd import Grid, TrainingPlan

FIXED = {"sampling": "fixed_size", "adjacency": "replace_one"}
SHUFFLED = {"sampling": "shuffled", "adjacency": "zero_out"}


def settings(**given):
    grid = {"grid_spacing": 2.0**-10, "dimension": 40}
    return {"population": 1000, "batch_size": 64, "epochs": 3, **grid, **given}


def plan(**given):
    return TrainingPlan(**settings(**{"noise_multiplier": 1.1, **given}))


@pytest.mark.parametrize(
    ("scheme", "kind", "arguments"),
    [
        ({}, PoissonSampled, (0.064,)),
        ({"adjacency": "zero_out"}, PoissonSampled, (0.064,)),
        (FIXED, FixedSizeSampled, (64, 1000)),
        (SHUFFLED, ShuffledBatches, (16,)),
    ],
)
def test_mechanism(scheme, kind, arguments):
    made = plan(**scheme)
    assert made.step_mechanism == kind(MultivariateDiscreteGaussian(1.1), *arguments)
    assert made.mechanism == made.step_mechanism * made.releases
    spent = RDPAccountant(adjacency=made.adjacency).compose(made.mechanism)
    assert made.get_epsilon(1e-5) == spent.get_epsilon(1e-5)
    assert made.get_epsilon(1e-5, accountant="rdp") == spent.get_epsilon(1e-5)


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


@pytest.mark.parametrize("scheme", [{}, FIXED, SHUFFLED])
def test_calibration(scheme):
    made = TrainingPlan.calibrated(2.0, 1e-5, **settings(**scheme))
    assert made.grid == Grid(2.0**-10)
    assert made.get_epsilon(1e-5) <= 2.0
    less = dataclasses.replace(made, noise_multiplier=made.noise_multiplier * (1 - 2e-4))
    assert less.get_epsilon(1e-5) > 2.0


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


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"dimension": None}, TypeError, "grid_spacing and dimension must be given together, got"),
        ({"grid_spacing": None}, TypeError, "must be given together, got grid_spacing=None"),
        ({"dimension": 0}, ValueError, "dimension must be an integer >= 1, got 0"),
        ({"dimension": 10**400}, ValueError, "dimension must be an integer in [1, 2^53]"),
        ({"dimension": 1.5}, TypeError, "dimension must be an integer >= 1, got 1.5"),
        ({"grid_spacing": 0.3}, ValueError, "grid_spacing must be a power of two in"),
        ({"grid_spacing": "1"}, TypeError, "grid_spacing must be a number in (0, inf)"),
        ({"grid_spacing": 2.0**-33}, ValueError, "grid_spacing must be at least 2^-32 of the"),
        (
            {"grid_spacing": 0.5, "max_grad_norm": 0.7},
            ValueError,
            "grid_spacing must be at most 0.125 for rows of 40 entries clipped at 0.7, got 0.5",
        ),
        ({"adjacency": "replace_one"}, ValueError, "with sampling 'poisson' on a grid, got 'repl"),
        ({"noise_multiplier": 0.0}, ValueError, "noise_multiplier must be a number in (0, inf)"),
    ],
)
def test_arguments_refused(given, error, words):
    with pytest.raises(error, match=re.escape(words)):
        plan(**given)
