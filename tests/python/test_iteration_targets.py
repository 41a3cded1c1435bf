"""Inverse problems of `renyi.theory.iteration`: the result meets its target, less misses it."""

import math

import numpy as np
import pytest

from renyi.theory.iteration import (
    DecayingNoise,
    NoisyDescent,
    shuffled_delta,
    shuffled_epsilon,
    shuffled_scale,
)
from renyi.theory.online import online_delta, online_epsilon, online_noise_factor, online_worst

LAWS = ["gaussian", "laplace"]
LESS = 1.0 - 2e-12


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-8, 1e-3, 0.3])
@pytest.mark.parametrize("n", [1, 1000, 10**9])
def test_shuffled_epsilon_is_the_smallest(law, delta, n):
    descent = NoisyDescent(0.1, 10.0, 1.0, 0.9, law)
    for scale in (0.5, 5.0, 100.0):
        epsilon = shuffled_epsilon(descent, delta, scale, n)
        assert shuffled_delta(descent, epsilon, scale, n) <= delta
        assert epsilon == 0.0 or shuffled_delta(descent, epsilon * LESS, scale, n) > delta


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("delta", [1e-300, 1e-8, 1e-3, 0.3])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 1.0, 50.0])
def test_shuffled_scale_is_the_smallest(law, delta, epsilon):
    descent = NoisyDescent(0.1, 10.0, 1.0, 0.9, law)
    if epsilon == 0.0 and delta < 1e-100:
        with pytest.raises(ValueError, match="delta must be one that a scale up to 1e75 reaches"):
            shuffled_scale(descent, epsilon, delta, 10**6)
        return
    scale = shuffled_scale(descent, epsilon, delta, 10**6)
    assert shuffled_delta(descent, epsilon, scale, 10**6) <= delta
    assert shuffled_delta(descent, epsilon, scale * LESS, 10**6) > delta


def test_a_delta_of_zero():
    laplace, gaussian = (NoisyDescent(0.1, 10.0, 1.0, noise=law) for law in ("laplace", "gaussian"))
    assert shuffled_epsilon(gaussian, 0.0, 5.0, 10) == math.inf
    assert shuffled_epsilon(laplace, 0.0, 5.0, 10) == pytest.approx(4.0, rel=1e-11)  # 2L/scale
    assert shuffled_scale(laplace, 4.0, 0.0, 10) == pytest.approx(5.0, rel=1e-11)
    assert shuffled_epsilon(gaussian, 1.0, 5.0, 10) == 0.0


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("index", [None, 1, 40, 200])
@pytest.mark.parametrize("delta", [1e-20, 1e-6, 0.1])
def test_online_epsilon_and_factor_are_the_smallest(law, index, delta):
    descent, n = NoisyDescent(0.05, 10.0, 1.0, 0.95, law), 200
    rng = np.random.default_rng(3)
    scales = rng.uniform(8.0, 12.0, n)

    def found(epsilon, factor=1.0):
        if index is None:
            return online_worst(descent, epsilon, scales * factor, n).delta
        return online_delta(descent, epsilon, scales * factor, n, index)

    epsilon = online_epsilon(descent, delta, scales, n, index)
    assert found(epsilon) <= delta
    assert epsilon == 0.0 or found(epsilon * LESS) > delta
    factor = online_noise_factor(descent, 0.7, delta, scales, n, index)
    assert found(0.7, factor) <= delta
    assert found(0.7, factor * LESS) > delta


def test_factor_of_a_decaying_noise():
    descent = NoisyDescent(0.01, 10.0, 1.0)
    noise = DecayingNoise(descent, c1=100.0, c2=100.0)
    factor = online_noise_factor(descent, 1.0, 1e-6, noise, 2000, index=1)
    assert online_delta(descent, 1.0, noise.scaled(factor), 2000, 1) <= 1e-6
    assert online_delta(descent, 1.0, noise.scaled(factor * LESS), 2000, 1) > 1e-6
    assert online_noise_factor(descent, 1.0, 1e-6, 1.0, 100) == pytest.approx(
        online_noise_factor(descent, 1.0, 1e-6, np.ones(100), 100), rel=1e-11
    )


def test_bad_targets_are_named():
    descent = NoisyDescent(0.1, 10.0, 1.0)
    with pytest.raises(ValueError, match="delta must be a number in"):
        shuffled_epsilon(descent, 1.5, 1.0, 10)
    with pytest.raises(ValueError, match="index must be an integer in"):
        online_epsilon(descent, 0.1, 1.0, 10, index=11)
    with pytest.raises(TypeError, match="delta must be a number in"):
        shuffled_scale(descent, 1.0, "small", 10)
