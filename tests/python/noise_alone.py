"""Noise alone: what the functions of `renyi.noise` add to zeros."""

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
