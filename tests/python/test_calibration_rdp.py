"""Calibration through Rényi-DP meets its target, and one tolerance further does not."""

import math

import numpy as np
import pytest

from renyi import (
    Gaussian,
    PoissonSampled,
    RDPAccountant,
    calibrate_noise_multiplier,
    calibrate_sample_rate,
    calibrate_steps,
)

TARGETS = [0.001, 0.03, 1.0, 8.0, 100.0, 1000.0]
SETTINGS = [(0.01, 1000, 1e-5), (1.0, 1, 1e-9), (0.3, 50, 1e-3), (1e-4, 10**6, 1e-12)]
RDP = {"accountant": "rdp"}


def epsilon_of(q, sigma, steps, delta, **options):
    mechanism = PoissonSampled(Gaussian(sigma), q)
    return RDPAccountant(**options).compose(mechanism, steps).get_epsilon(delta)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("q", "steps", "delta"), SETTINGS)
def test_noise_multiplier(target, q, steps, delta):
    sigma = calibrate_noise_multiplier(
        target_epsilon=target, target_delta=delta, sample_rate=q, steps=steps, **RDP
    )
    assert epsilon_of(q, sigma, steps, delta) <= target
    assert sigma == 0.01 or epsilon_of(q, sigma * (1 - 1e-6), steps, delta) > target


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("sigma", "steps", "delta"), [(1.0, 1000, 1e-5), (4.0, 10, 1e-9)])
def test_sample_rate(target, sigma, steps, delta):
    q = calibrate_sample_rate(
        target_epsilon=target, target_delta=delta, noise_multiplier=sigma, steps=steps, **RDP
    )
    assert 0 < q <= 1
    assert epsilon_of(q, sigma, steps, delta) <= target
    assert q == 1.0 or epsilon_of(min(q * (1 + 1e-6), 1.0), sigma, steps, delta) > target


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("q", "sigma", "delta"), [(0.004, 1.1, 1e-5), (0.5, 8.0, 1e-9)])
def test_steps(target, q, sigma, delta):
    steps = calibrate_steps(
        target_epsilon=target, target_delta=delta, noise_multiplier=sigma, sample_rate=q, **RDP
    )
    assert steps == 0 or epsilon_of(q, sigma, steps, delta) <= target
    assert epsilon_of(q, sigma, steps + 1, delta) > target


@pytest.mark.parametrize("tolerance", [0.1, 1e-3, 1e-12])
def test_the_tolerance_is_what_it_says(tolerance):
    target = {"target_epsilon": 2.0, "target_delta": 1e-6}
    sigma = calibrate_noise_multiplier(
        **target, sample_rate=0.02, steps=500, tolerance=tolerance, **RDP
    )
    assert (
        epsilon_of(0.02, sigma, 500, 1e-6)
        <= 2.0
        < epsilon_of(0.02, sigma * (1 - tolerance) * (1 - 1e-15), 500, 1e-6)
    )


def test_orders_and_conversion_are_used():
    options = {"orders": [1.5, 2, 8, 32], "conversion": "mironov"}
    target = {"target_epsilon": 2.0, "target_delta": 1e-6}
    sigma = calibrate_noise_multiplier(**target, sample_rate=0.02, steps=500, **options, **RDP)
    assert epsilon_of(0.02, sigma, 500, 1e-6, **options) <= 2.0
    assert epsilon_of(0.02, sigma * (1 - 1e-6), 500, 1e-6, **options) > 2.0


def test_edges():
    target = {"target_epsilon": 1.0, "target_delta": 1e-6, **RDP}
    assert calibrate_noise_multiplier(**target, sample_rate=0.0, steps=10) == 0.0
    assert calibrate_noise_multiplier(**target, sample_rate=0.1, steps=0) == 0.0
    assert calibrate_sample_rate(**target, noise_multiplier=math.inf, steps=10) == 1.0
    assert calibrate_steps(**target, noise_multiplier=math.inf, sample_rate=0.1) == 10**9
    assert calibrate_steps(**target, noise_multiplier=0.01, sample_rate=1.0) == 0
    assert calibrate_steps(**target, noise_multiplier=np.float64(2), sample_rate=np.float32(1e-3))


def test_unreachable_targets_say_so():
    with pytest.raises(ValueError, match="noise multiplier of at most 1e\\+08"):
        calibrate_noise_multiplier(
            target_epsilon=1e-12, target_delta=1e-300, sample_rate=1.0, steps=10**9, **RDP
        )
