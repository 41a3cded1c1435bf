"""Calibration of any mechanism that depends on one number."""

import math

import pytest

from renyi import (
    ZCDP,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RDPAccountant,
    UnsupportedMechanismError,
)
from renyi.calibration import calibrate, calibrate_noise_multiplier, calibrate_steps

TARGET = {"target_epsilon": 1.0, "target_delta": 1e-6}
ACCOUNTANTS = {"pld": PLDAccountant, "rdp": RDPAccountant}


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
@pytest.mark.parametrize(
    ("mechanism", "between", "looser"),
    [
        (lambda b: Laplace(b) * 10, (0.1, 1000.0), -1),
        (lambda x: Laplace(1.0 / x), (0.001, 10.0), 1),
        (lambda p: RandomizedResponse(p, 3), (0.34, 1.0), 1),
        (lambda s: Gaussian(s) * 3 + Laplace(40.0), (0.1, 1000.0), -1),
        (lambda e: PureDP(e) * 5, (0.0, 30.0), 1),
        (lambda s: RandomAllocation(Gaussian(s), 100) * 10, (0.3, 100.0), -1),
    ],
)
def test_the_value_meets_the_target_and_one_tolerance_more_does_not(
    mechanism, between, looser, accountant
):
    value = calibrate(mechanism, between, **TARGET, tolerance=1e-4, accountant=accountant)

    def epsilon(at):
        return ACCOUNTANTS[accountant]().compose(mechanism(at)).get_epsilon(1e-6)

    further = value * 1.0001**looser if between[0] > 0 else value + looser * 1e-4 * between[1]
    assert epsilon(value) <= 1.0 < epsilon(further)


def test_integers_are_told_apart():
    def uses(count):
        assert isinstance(count, int)
        return Laplace(50.0) * count

    most = calibrate(uses, (1, 10_000), integer=True, **TARGET)
    assert isinstance(most, int)
    epsilons = [PLDAccountant().compose(uses(most + k)).get_epsilon(1e-6) for k in (0, 1)]
    assert epsilons[0] <= 1.0 < epsilons[1]


def test_as_the_calibrations_of_sampled_steps():
    run = {"sample_rate": 0.01, "steps": 1000}
    noise = calibrate(lambda s: PoissonSampled(Gaussian(s), 0.01) * 1000, (0.3, 50.0), **TARGET)
    assert noise == pytest.approx(calibrate_noise_multiplier(**TARGET, **run), rel=3e-6)
    steps = calibrate(
        lambda k: PoissonSampled(Gaussian(2.0), 0.01) * k, (1, 10**6), integer=True, **TARGET
    )
    assert steps == calibrate_steps(**TARGET, noise_multiplier=2.0, sample_rate=0.01)


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_other_targets(accountant):
    def account(p):
        return ACCOUNTANTS[accountant]().compose(RandomizedResponse(p, 2) * 2)

    kind = {"accountant": accountant, "tolerance": 1e-4}
    p = calibrate(lambda p: account(p).mechanisms[0][0], (0.5, 1.0), target_advantage=0.3, **kind)
    assert account(p).get_advantage() <= 0.3 < account(p * 1.0001).get_advantage()
    alone = calibrate(
        lambda p: RandomizedResponse(p, 2), (0.5, 1.0), target_alpha=0.1, target_beta=0.7, **kind
    )
    kept, lost = (
        ACCOUNTANTS[accountant]().compose(RandomizedResponse(x, 2)).get_beta(0.1)
        for x in (alone, alone * 1.0001)
    )
    assert kept >= 0.7 > lost


def test_an_end_that_meets_the_target_is_the_answer():
    assert calibrate(lambda b: Laplace(b), (5.0, 9.0), **TARGET) == 5.0
    assert calibrate(lambda e: PureDP(e), (0.0, 0.5), **TARGET) == 0.5
    assert calibrate(lambda k: PureDP(0.1) * k, (1, 10), integer=True, **TARGET) == 10


@pytest.mark.parametrize(
    ("mechanism", "between", "more", "error", "message"),
    [
        (Laplace, (0.1, 0.2), {}, ValueError, r"reachable with a value in \[0.1, 0.2\], got 1.0"),
        (lambda x: Laplace(abs(x - 5) + 0.1), (0.0, 10.0), {}, ValueError, "more and more"),
        (lambda x: PureDP(abs(x - 5)), (0.0, 10.0), {}, ValueError, "more and more"),
        (Laplace, (2.0, 1.0), {}, ValueError, "between must be two finite numbers"),
        (Laplace, (1.0, math.inf), {}, ValueError, "between must be two finite numbers"),
        (Laplace, 3.0, {}, TypeError, "between must be two finite numbers"),
        (Laplace, (1.5, 3.0), {"integer": True}, TypeError, "between must be an integer"),
        (Laplace(1.0), (1.0, 2.0), {}, TypeError, "mechanism must be a function"),
        (lambda b: b, (1.0, 2.0), {}, TypeError, "mechanism must be a renyi mechanism"),
        (Laplace, (1.0, 2.0), {"tolerance": 1.0}, ValueError, "tolerance must be"),
        (Laplace, (1.0, 2.0), {"orders": [2.0]}, ValueError, "orders must be None"),
        (ZCDP, (0.1, 2.0), {}, UnsupportedMechanismError, "RDPAccountant"),
    ],
)
def test_what_is_refused(mechanism, between, more, error, message):
    with pytest.raises(error, match=message):
        calibrate(mechanism, between, **TARGET, **more)
