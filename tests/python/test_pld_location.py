"""Noise of an even density: brackets of delta contain multi-precision integrals."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from renyi import pairs
from renyi.pairs import GeneralisedGaussianPair, StudentTPair, delta_bounds, logistic_pair

NOISES = [
    GeneralisedGaussianPair(1.05, 1.0),
    GeneralisedGaussianPair(1.5, 2.0),
    GeneralisedGaussianPair(2.0, 0.3),
    GeneralisedGaussianPair(3.0, 1e3),
    GeneralisedGaussianPair(8.0, 2.0),
    StudentTPair(1.5, 10.0),
    StudentTPair(3.0, 1.0),
    StudentTPair(30.0, 0.3),
    StudentTPair(4.0, 1e4),
]


def kernel(noise: object, x: mp.mpf) -> mp.mpf:
    if isinstance(noise, GeneralisedGaussianPair):
        return mp.exp(-((abs(x) / mp.mpf(noise.scale)) ** mp.mpf(noise.shape)))
    n = mp.mpf(noise.degrees)
    return (1 + (x / mp.mpf(noise.scale)) ** 2 / n) ** (-(n + 1) / 2)


def constant(noise: object) -> mp.mpf:
    s = mp.mpf(noise.scale)
    if isinstance(noise, GeneralisedGaussianPair):
        return 1 / (2 * s * mp.gamma(1 + 1 / mp.mpf(noise.shape)))
    n = mp.mpf(noise.degrees)
    return mp.gamma((n + 1) / 2) / (mp.gamma(n / 2) * mp.sqrt(n * mp.pi) * s)


def upper_tail(noise: object, x: mp.mpf) -> mp.mpf:
    """The probability above x of the noise, by incomplete gamma and beta functions."""
    if x < 0:
        return 1 - upper_tail(noise, -x)
    y = x / mp.mpf(noise.scale)
    if isinstance(noise, GeneralisedGaussianPair):
        k = 1 / mp.mpf(noise.shape)
        return mp.gammainc(k, y**noise.shape, mp.inf, regularized=True) / 2
    n = mp.mpf(noise.degrees)
    return mp.betainc(n / 2, mp.mpf(1) / 2, 0, n / (n + y * y), regularized=True) / 2


def loss(noise: object, v: mp.mpf) -> mp.mpf:
    half = mp.mpf(1) / 2
    if isinstance(noise, GeneralisedGaussianPair):
        s, k = mp.mpf(noise.scale), mp.mpf(noise.shape)
        return (abs(v + half) / s) ** k - (abs(v - half) / s) ** k
    return mp.log(kernel(noise, v - half) / kernel(noise, v + half))


def where(noise: object, epsilon: mp.mpf) -> list[tuple[mp.mpf, mp.mpf]]:
    """The intervals of v on which the loss exceeds epsilon."""
    if isinstance(noise, GeneralisedGaussianPair):
        far = mp.mpf(noise.scale) * 1500 + 1
        start, end = -far, far
        for _ in range(int(3.4 * mp.mp.dps) + 40):
            middle = (start + end) / 2
            start, end = (start, middle) if loss(noise, middle) > epsilon else (middle, end)
        return [(start, mp.inf)]
    # (1 - e) v^2 + (1 + e) v + (1 - e) (n s^2 + 1/4) > 0
    n, s = mp.mpf(noise.degrees), mp.mpf(noise.scale)
    e = mp.exp(2 * epsilon / (n + 1))
    if e == 1:
        return [(mp.mpf(0), mp.inf)]
    a, b, c = 1 - e, 1 + e, (1 - e) * (n * s * s + mp.mpf(1) / 4)
    root = b * b - 4 * a * c
    if root <= 0:
        return [] if epsilon > 0 else [(-mp.inf, mp.inf)]
    ends = sorted((-b + sign * mp.sqrt(root)) / (2 * a) for sign in (1, -1))
    return [tuple(ends)] if epsilon > 0 else [(-mp.inf, ends[0]), (ends[1], mp.inf)]


def mass(noise: object, low: mp.mpf, high: mp.mpf, centre: mp.mpf) -> mp.mpf:
    above = [mp.mpf(x < 0) if mp.isinf(x) else upper_tail(noise, x - centre) for x in (low, high)]
    return above[0] - above[1]


def both(noise: object, epsilon: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """P and Q of losses above epsilon."""
    half = mp.mpf(1) / 2
    found = where(noise, epsilon)
    return tuple(mp.fsum(mass(noise, a, b, c) for a, b in found) for c in (half, -half))


def exact_delta(noise: object, epsilon: float) -> mp.mpf:
    p, q = both(noise, mp.mpf(epsilon))
    return p - mp.exp(mp.mpf(epsilon)) * q


def top_of(noise: object) -> float:
    """The largest loss, or the one above which P has about 1e-12."""
    if isinstance(noise, StudentTPair):
        return noise.support[1]
    low, high = mp.mpf(0), mp.mpf(noise.scale) * 30
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_tail(noise, middle) > 1e-12 else (low, middle)
    return float(loss(noise, low + mp.mpf(1) / 2))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_one_use(noise):
    with mp.workdps(60):
        for share in (-0.6, 0.0, 0.01, 0.4, 0.9):
            epsilon = share * top_of(noise)
            lower, upper = delta_bounds([(noise, 1)], epsilon)
            exact = exact_delta(noise, epsilon)
            assert lower <= exact <= upper
            assert upper - lower <= 1e-9 * exact


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


def test_sampled():
    q, noise = 0.1, StudentTPair(3.0, 1.0)
    sampled = pairs.poisson_sampled_pair(noise, q)
    for epsilon in (0.01, 0.05, 0.1):
        base = math.log1p(math.expm1(epsilon) / q)
        with mp.workdps(40):
            exact = q * exact_delta(noise, base)
        lower, upper = delta_bounds([(sampled, 1)], epsilon)
        assert lower * (1 - 1e-9) <= exact <= upper * (1 + 1e-9)


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
