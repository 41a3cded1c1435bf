"""Any real number is an argument, of whatever type; anything else is refused by name."""

from __future__ import annotations

import inspect
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from each import each

import renyi
from renyi import mechanisms
from renyi.mechanisms import Gaussian, Mechanism

STEP = Gaussian(2.0)
MAKE = {  # each with one number, to be in (0, 1) and a multiple of 1/4
    "ApproxDP": [lambda x: mechanisms.ApproxDP(x, 0.25), lambda x: mechanisms.ApproxDP(1.0, x)],
    "DiscreteGaussian": [lambda x: mechanisms.DiscreteGaussian(x)],
    "DiscreteLaplace": [lambda x: mechanisms.DiscreteLaplace(x)],
    "Exponential": [lambda x: mechanisms.Exponential(x)],
    "Gaussian": [lambda x: Gaussian(x)],
    "GaussianMixture": [
        lambda x: mechanisms.GaussianMixture(x, [0.0, 1.0], [0.5, 0.5]),
        lambda x: mechanisms.GaussianMixture(1.0, [0.0, x], [0.5, 0.5]),
        lambda x: mechanisms.GaussianMixture(1.0, [0.0, 1.0], [x, 1 - x]),
    ],
    "Gumbel": [lambda x: mechanisms.Gumbel(x)],
    "Laplace": [lambda x: mechanisms.Laplace(x)],
    "PoissonSampled": [lambda x: mechanisms.PoissonSampled(STEP, x)],
    "PureDP": [lambda x: mechanisms.PureDP(x)],
    "RandomizedResponse": [lambda x: mechanisms.RandomizedResponse(x, 8)],
    "RDPCurve": [
        lambda x: mechanisms.RDPCurve([2.0], [x]),
        lambda x: mechanisms.RDPCurve([1 + x], [2.0]),
    ],
    "RepeatAndSelect": [lambda x: mechanisms.RepeatAndSelect(STEP, 2.0, x)],
    "Skellam": [lambda x: mechanisms.Skellam(x)],
    "Staircase": [lambda x: mechanisms.Staircase(x, 0.5), lambda x: mechanisms.Staircase(1.0, x)],
    "TreeAggregation": [lambda x: mechanisms.TreeAggregation(x, 8)],
    "TruncatedPoissonSampled": [lambda x: mechanisms.TruncatedPoissonSampled(STEP, x, 50, 100)],
    "ZCDP": [lambda x: mechanisms.ZCDP(x), lambda x: mechanisms.ZCDP(1.0, x)],
}
CASES = [make for every in MAKE.values() for make in every]
ALONE = [f for name in MAKE if name not in {"GaussianMixture", "RDPCurve"} for f in MAKE[name]]
KINDS = {
    "Decimal": Decimal,
    "Fraction": Fraction,
    "float16": np.float16,
    "float32": np.float32,
    "longdouble": np.longdouble,
    "0-d": np.array,
    "object": lambda x: np.array(Decimal(x)),
    "mpf": mpmath.mpf,
}
OTHERS = [
    "0.5",
    b"0.5",
    True,
    np.True_,
    0.5 + 0.25j,
    np.complex128(0.5),
    None,
    [0.5],
    np.array([0.5]),
    np.array("0.5"),
]


@each("make", CASES)
@each("kind", KINDS)
def test_every_mechanism_takes_any_real_number(make, kind):
    assert make(KINDS[kind](0.75)) == make(0.75)
    assert Mechanism.from_json(make(KINDS[kind](0.75)).to_json()) == make(0.75)


@each("make", ALONE)
@each("other", OTHERS)
def test_what_is_no_real_number_is_refused_by_name(make, other):
    with pytest.raises(TypeError, match=r"^[a-z_]+ must be .*, got "):
        make(other)


@each("make", [lambda x: Gaussian(x), lambda x: renyi.PoissonSampled(STEP, x)])
@each(
    "tiny",
    [Decimal("1e-400"), Fraction(1, 10**400), np.longdouble("1e-4000"), mpmath.mpf("1e-400")],
)
def test_a_number_that_doubles_have_as_zero_is_refused(make, tiny):
    """As 0 a sampling rate would say that no record is ever seen."""
    with pytest.raises(ValueError, match="which no double is near"):
        make(tiny)


@pytest.mark.parametrize(
    "large", [Decimal("1e400"), 10**400, Fraction(10**400), np.longdouble("1e4000")], ids=repr
)
def test_a_number_beyond_doubles_is_refused(large):
    """As infinite noise it would cost nothing."""
    with pytest.raises(ValueError, match=r"noise_multiplier must be .*(no double|beyond doubles)"):
        Gaussian(large)
    assert Gaussian(Decimal("Infinity")) == Gaussian(float("inf"))


def test_decimals_become_the_nearest_double():
    assert Gaussian(Decimal("1.1")) == Gaussian(1.1)
    assert Gaussian(Fraction(11, 10)) == Gaussian(1.1)


@pytest.mark.parametrize("three", [3.0, Decimal(3), Fraction(3), np.float32(3), np.int8(3)])
def test_counts_may_be_whole_numbers_of_any_type(three):
    assert STEP * three == STEP * 3
    assert renyi.RandomAllocation(STEP, three) == renyi.RandomAllocation(STEP, 3)
    accountants = [renyi.PLDAccountant().compose(STEP, n).get_epsilon(1e-5) for n in (three, 3)]
    assert accountants[0] == accountants[1]


@pytest.mark.parametrize("none", [2.5, Decimal("2.5"), Decimal("NaN"), Fraction(7, 3), "3", True])
def test_counts_are_whole(none):
    with pytest.raises(TypeError, match="count must be an integer"):
        renyi.PLDAccountant().compose(STEP, none)


@pytest.mark.parametrize("delta", [Decimal("1e-5"), Fraction(1, 100_000), np.float64(1e-5)])
def test_questions_take_any_real_number(delta):
    run = renyi.PLDAccountant().compose(STEP, 10)
    assert run.get_epsilon(delta) == run.get_epsilon(1e-5)
    assert run.get_epsilon([delta, delta]).tolist() == [run.get_epsilon(1e-5)] * 2
    with pytest.raises(ValueError, match="delta must be"):
        run.get_epsilon([0.1, Decimal("1e-400")])
    with pytest.raises(TypeError, match="delta must be"):
        run.get_epsilon(np.array(["0.1", 0.2], dtype=object))


def test_every_mechanism_of_numbers_is_here():
    others = {"Composed", "Mechanism", "MatrixMechanism", "PrivacyLoss", "FixedAllocation"}
    others |= {"RandomAllocation", "ShuffledBatches", "FixedSizeSampled"}  # whole numbers only
    kinds = {n for n in mechanisms.__all__ if inspect.isclass(getattr(mechanisms, n))}
    assert kinds - others - set(MAKE) <= {"MultivariateDiscreteGaussian"}
