"""Pure differential privacy on the exact curve: at delta 0 epsilon is the largest loss, summed."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from each import slow

from renyi import (
    ApproxDP,
    DiscreteLaplace,
    Exponential,
    FixedAllocation,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    PLDAccountant,
    PoissonSampled,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RDPAccountant,
    RepeatAndSelect,
    Staircase,
    calibrate,
    calibrate_noise_multiplier,
)

LOSSES = [
    (Laplace(0.7), 1 / 0.7),
    (PureDP(0.3), 0.3),
    (RandomizedResponse(0.8), math.log(4.0)),
    (DiscreteLaplace(2.0), 0.5),
    (Exponential(1.0), 1.0),
    (PermuteAndFlip(0.7), 0.7),
    (PoissonSampled(Laplace(1.0), 0.1), math.log1p(0.1 * math.expm1(1.0))),
]


def test_all_losses_count_and_infinite_ones_stay():
    accountant = PLDAccountant()
    for mechanism, _ in LOSSES:
        accountant.compose(mechanism, 2)
    most = 2 * sum(loss for _, loss in LOSSES)
    found = accountant.get_epsilon(np.array([0.0, 1e-9]))
    assert found[1] < most <= found[0] <= most * (1 + 1e-11)
    assert accountant.compose(ApproxDP(0.1, 1e-6)).get_epsilon(1e-7) == math.inf
    assert PLDAccountant().compose(Laplace(1.0)).compose(Gaussian(1.0)).get_epsilon(0.0) == math.inf


EXACT = [
    ([(Laplace(2.0), 1)], Fraction(1, 2)),
    ([(Laplace(0.3), 7), (PureDP(0.1), 10)], 7 / Fraction(0.3) + 10 * Fraction(0.1)),
    ([(PureDP(0.1), 10**6)], 10**6 * Fraction(0.1)),
    ([(Laplace(1e200), 3)], 3 / Fraction(1e200)),
    ([(DiscreteLaplace(3.0, 2), 5), (Exponential(0.7), 3)], Fraction(10, 3) + 3 * Fraction(0.7)),
    ([(Laplace(0.001), 3)], 3 / Fraction(0.001)),
    ([(PureDP(0.3) * 2, 4), (Staircase(0.5, 0.3), 1)], 8 * Fraction(0.3) + Fraction(1, 2)),
    ([(RandomAllocation(Laplace(2.0), 10), 7)], Fraction(7, 2)),
    ([(RandomAllocation(PureDP(0.1), 10, 3), 2)], 6 * Fraction(0.1)),
    ([(FixedAllocation(Laplace(2.0), 10, 3), 2), (PureDP(0.1), 3)], 3 + 3 * Fraction(0.1)),
]


def least_above(number):
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


@pytest.mark.parametrize("accountant", [PLDAccountant, RDPAccountant])
@pytest.mark.parametrize(("parts", "loss"), EXACT, ids=[str(parts) for parts, _ in EXACT])
def test_rational_losses_are_rounded_once(accountant, parts, loss):
    known = accountant()
    for mechanism, count in parts:
        known.compose(mechanism, count)
    most = least_above(loss)
    assert known.get_epsilon(0.0) == known.get_epsilon(0) == most
    assert known.get_epsilon([0.0, 1e-300]).max() == most
    assert known.get_epsilon_bounds(0.0)[1] == most
    assert known.get_epsilon(0.0, group_size=3) <= least_above(3 * loss) * (1 + 1e-15)
    assert known.get_delta(most) == 0.0
    assert known.get_delta([most, math.nextafter(most, math.inf)]).tolist() == [0.0, 0.0]
    assert known.get_delta_bounds(most) == (0.0, 0.0)
    (first, count), rest = parts[0], parts[1:]
    before = accountant()
    for mechanism, times in rest:
        before.compose(mechanism, times)
    assert before.get_epsilon_after(0.0, first, [count]).tolist() == [most]


@pytest.mark.parametrize("accountant", [PLDAccountant, RDPAccountant])
@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    "mechanism",
    [
        FixedSizeSampled(Laplace(2.0), 10, 1000),
        *slow(RandomAllocation(Laplace(2.0), 4), PoissonSampled(RandomizedResponse(0.8), 0.1)),
        PoissonSampled(Exponential(0.5), 0.1),
        RepeatAndSelect(Laplace(2.0), 3.0, 1.0),
        ApproxDP(1.0, 0.0),
    ],
    ids=str,
)
def test_delta_ends_where_epsilon_at_delta_0_is(accountant, adjacency, mechanism):
    known = accountant(adjacency=adjacency)
    if not known.supports(mechanism):
        pytest.skip("no bound is known")
    for count in (1, 2, 4):
        known.compose(mechanism, count)
        most = known.get_epsilon(0.0)
        assert known.get_delta([most, 1.001 * most, math.inf]).tolist() == [0.0, 0.0, 0.0]
        assert known.get_epsilon(1e-200) <= most < math.inf


@pytest.mark.parametrize("accountant", [PLDAccountant, RDPAccountant])
def test_logarithms_are_rounded_once(accountant):
    with mpmath.workdps(60):
        q, grown = mpmath.mpf(0.1), mpmath.exp(mpmath.mpf(1) / 2)
        remove, add = mpmath.log(1 + q * (grown - 1)), -mpmath.log(1 + q * (1 / grown - 1))
        answers = mpmath.log(mpmath.mpf(0.4) * 4 / (1 - mpmath.mpf(0.4)))
        sampled = PoissonSampled(Laplace(2.0), 0.1)
        for mechanism, loss in [(sampled, remove), (RandomizedResponse(0.4, 5), answers)]:
            found = accountant().compose(mechanism, 1000).get_epsilon(0.0)
            assert math.nextafter(found, 0.0) < 1000 * loss <= found
        if accountant is PLDAccountant:
            found = accountant().compose(sampled, 1000).get_epsilon(0.0, direction="add")
            assert math.nextafter(found, 0.0) < 1000 * add <= found


def test_replaced_records_and_noise_that_hides_nothing_or_all():
    replaced = PLDAccountant(adjacency="replace_one").compose(Laplace(3.0), 5)
    assert replaced.get_epsilon(0.0) == least_above(Fraction(10, 3))
    assert PLDAccountant().compose(Laplace(math.inf)).get_epsilon(0.0) == 0.0
    assert RDPAccountant().compose(RandomizedResponse(1.0)).get_epsilon(0.0) == math.inf
    grown = RDPAccountant().compose(Laplace(2.0))
    assert grown.get_epsilon(0.0) == 0.5
    assert grown.compose(Laplace(4.0)).get_epsilon(0.0) == 0.75
    assert grown.compose(Gaussian(4.0)).get_epsilon(0.0) == math.inf


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_calibrated_to_a_pure_guarantee(accountant):
    target = {"target_epsilon": 1.0, "target_delta": 0.0, "accountant": accountant}
    scale = calibrate(lambda b: Laplace(b) * 10, (0.1, 1000.0), **target)
    assert 10.0 <= scale <= 10.0 * (1 + 2e-6)
    assert calibrate(lambda k: PureDP(0.125) * k, (1, 100), integer=True, **target) == 8
    assert calibrate(lambda k: Laplace(4.0) * k, (1, 100), integer=True, **target) == 4
    with pytest.raises(ValueError, match="target_delta must be above 0"):
        calibrate(Gaussian, (1.0, 100.0), **target)
    with pytest.raises(ValueError, match="for Gaussian noise"):
        calibrate_noise_multiplier(sample_rate=0.1, steps=10, **target)


def test_the_bracket_of_a_pure_guarantee_is_as_narrow_as_doubles():
    exact = PLDAccountant().compose(Laplace(2.0), 3).get_epsilon_bounds(0.0)
    assert exact == (1.5, 1.5)
    sampled = PLDAccountant().compose(PoissonSampled(Laplace(0.7), 0.3), 5)
    with mpmath.workdps(40):
        truth = 5 * mpmath.log1p(mpmath.mpf(0.3) * mpmath.expm1(1 / mpmath.mpf(0.7)))
    low, high = sampled.get_epsilon_bounds(0.0)
    assert low <= truth <= high
    assert high - low <= 1e-15 * high
