"""Noise of an even density: brackets of delta contain multi-precision integrals."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from renyi import pairs
from renyi.pairs import GeneralisedGaussianPair, StudentTPair, delta_bounds, logistic_pair


def constant(noise: object) -> mp.mpf:
    s = mp.mpf(noise.scale)
    if isinstance(noise, GeneralisedGaussianPair):
        return 1 / (2 * s * mp.gamma(1 + 1 / mp.mpf(noise.shape)))
    n = mp.mpf(noise.degrees)
    return mp.gamma((n + 1) / 2) / (mp.gamma(n / 2) * mp.sqrt(n * mp.pi) * s)


@pytest.mark.parametrize(
    "noise", [GeneralisedGaussianPair(1.3, 3.0), StudentTPair(5.0, 3.0)], ids=repr
)
def test_two_uses(noise):
    v = (np.arange(4000) + 0.5) * 0.1 - 200.0
    if isinstance(noise, StudentTPair):
        logs = [-3.0 * np.log1p(((v - c) / 3.0) ** 2 / 5.0) for c in (0.5, -0.5)]
    else:
        logs = [-((np.abs(v - c) / 3.0) ** 1.3) for c in (0.5, -0.5)]
    p, q = (np.exp(one) * 0.1 * float(constant(noise)) for one in logs)
    for epsilon in (0.2, 0.5):
        brute = 0.0
        for p_v, q_v in zip(p, q, strict=True):
            brute += float(np.maximum(p_v * p - math.exp(epsilon) * q_v * q, 0.0).sum())
        lower, upper = delta_bounds([(noise, 2)], epsilon, rtol=1e-6)
        assert 0.0 < lower <= upper <= lower * (1.0 + 1e-5)
        assert upper == pytest.approx(brute, rel=2e-4)


def test_shape_two_is_gaussian():
    for scale, k, epsilon in ((0.5, 1, 3.0), (4.0, 20, 2.0), (100.0, 1000, 1.0)):
        noise = GeneralisedGaussianPair(2.0, scale)
        exact = delta_bounds([(pairs.GaussianPair(math.sqrt(2.0) / scale), k)], epsilon)
        lower, upper = delta_bounds([(noise, k)], epsilon)
        assert lower <= exact[1] * (1 + 1e-12)
        assert upper >= exact[0] * (1 - 1e-12)
        assert upper - lower <= 1e-4 * upper


def test_many_degrees_are_nearly_gaussian():
    exact = delta_bounds([(pairs.GaussianPair(0.5), 4)], 0.5)[0]
    assert delta_bounds([(StudentTPair(1e4, 2.0), 4)], 0.5)[1] == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize("scale", [0.05, 1.0, 30.0])
def test_logistic(scale):
    with mp.workdps(40):
        b = mp.mpf(scale)
        for share in (-0.5, 0.0, 0.3, 0.9):
            e = mp.mpf(share / scale)
            w = mp.exp((1 / b - e) / 2)  # losses above e: w' < w, uniform under Q
            y = (w - 1) / (mp.exp(1 / b) - w)  # e^(-x/b)
            p, q = (1 - 1 / (1 + t * y) for t in (mp.exp(1 / b), mp.mpf(1)))
            lower, upper = delta_bounds([(logistic_pair(scale), 1)], share / scale)
            exact = p - mp.exp(mp.mpf(share / scale)) * q
            assert lower * (1 - 1e-12) <= exact <= upper * (1 + 1e-12)
            assert upper - lower <= 1e-9 * upper


def test_bounded_loss():
    noise = StudentTPair(3.0, 1.0)
    top = noise.support[1]
    assert delta_bounds([(noise, 1)], top * 1.0001)[1] < 1e-300
    assert delta_bounds([(noise, 1)], top * 0.999)[0] > 0.0


@pytest.mark.parametrize("kind", [GeneralisedGaussianPair, StudentTPair])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, 1e7, 0.001])
def test_numbers_outside(kind, bad):
    with pytest.raises(ValueError, match="must be a number in"):
        kind(3.0, bad)
    with pytest.raises(ValueError, match="must be a number in"):
        kind(bad, 1.0)


@pytest.mark.parametrize("bad", [None, "1", True, math.nan, 1j])
def test_other_types(bad):
    for make in (lambda: GeneralisedGaussianPair(2.0, bad), lambda: StudentTPair(bad, 1.0)):
        with pytest.raises((TypeError, ValueError), match="must be a number in"):
            make()
    with pytest.raises((TypeError, ValueError), match="scale must be a number in"):
        logistic_pair(bad)


def test_too_large_losses():
    with pytest.raises(ValueError, match="scale must be larger for shape 9"):
        GeneralisedGaussianPair(9.0, 0.5)
