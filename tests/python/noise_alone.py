"""Noise alone, as `renyi.noise` adds it to zeros, and how likely what was drawn is."""

import mpmath
import numpy as np

from renyi.noise import (
    add_discrete_gaussian_noise,
    add_discrete_laplace_noise,
    add_gaussian_noise,
    add_laplace_noise,
)


def gaussian_noise(shape, scale, *, dtype=np.float64, **options):
    return add_gaussian_noise(np.zeros(shape, dtype), scale, **options)


def laplace_noise(shape, scale, *, dtype=np.float64, **options):
    return add_laplace_noise(np.zeros(shape, dtype), scale, **options)


def discrete_gaussian_noise(shape, sigma, **options):
    return add_discrete_gaussian_noise(np.zeros(shape, np.int64), sigma, **options)


def discrete_laplace_noise(shape, scale, **options):
    return add_discrete_laplace_noise(np.zeros(shape, np.int64), scale, **options)


def chi_square(observed, expected, least=0.0):
    """Return the probability of a statistic as large, classes of few merged, if above the least."""
    order = np.argsort(expected)[::-1]
    observed, expected = np.asarray(observed)[order], np.asarray(expected, float)[order]
    large = expected >= 10
    observed = np.append(observed[large], observed[~large].sum())
    expected = np.append(expected[large], expected[~large].sum())
    kept = expected > least
    if kept.sum() < 2:
        return 1.0
    statistic = float((((observed - expected) ** 2)[kept] / expected[kept]).sum())
    return float(mpmath.gammainc((kept.sum() - 1) / 2, statistic / 2, regularized=True))
