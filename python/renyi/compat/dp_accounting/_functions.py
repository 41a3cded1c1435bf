"""Functions of dp_accounting's modules ``rdp``, ``gaussian_mechanism`` and ``pld.accountant``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy.typing as npt

from renyi._validation import float_above
from renyi.accountants import PLDAccountant
from renyi.calibration import calibrate
from renyi.compat._scripts import get_privacy_spent
from renyi.mechanisms import Composed, DiscreteLaplace, Gaussian, Laplace, PoissonSampled

__all__ = [
    "compute_delta",
    "compute_epsilon",
    "get_epsilon_gaussian",
    "get_sigma_gaussian",
    "get_smallest_discrete_laplace_noise",
    "get_smallest_gaussian_noise",
    "get_smallest_laplace_noise",
    "get_smallest_subsampled_gaussian_noise",
]

NOISES = (1e-3, 1e6)  # where is searched


def compute_epsilon(orders: npt.ArrayLike, rdp: npt.ArrayLike, delta: float) -> tuple[float, float]:
    """Return epsilon, rounded up, and its order, from Rényi divergences.

    >>> compute_epsilon([2.0, 4.0], [0.1, 0.2], 1e-3)[1]
    4.0
    """
    return get_privacy_spent(orders, rdp, delta=delta)


def compute_delta(orders: npt.ArrayLike, rdp: npt.ArrayLike, epsilon: float) -> tuple[float, float]:
    """Return delta, rounded up, and its order, from Rényi divergences."""
    return get_privacy_spent(orders, rdp, target_eps=epsilon)[1:]


def get_epsilon_gaussian(sigma: float, delta: float, tol: float = 0.0) -> float:
    """Return epsilon of one use of Gaussian noise, rounded up."""
    return PLDAccountant().compose(Gaussian(sigma)).get_epsilon(delta)


def get_sigma_gaussian(epsilon: float, delta: float, tol: float = 0.0) -> float:
    """Return the least noise multiplier, within 1e-12, that meets epsilon and delta.

    >>> round(get_sigma_gaussian(1.0, 1e-5), 6)
    3.730632
    """
    return calibrate(Gaussian, NOISES, tolerance=1e-12, target_epsilon=epsilon, target_delta=delta)


def get_smallest_gaussian_noise(
    privacy_parameters: Any, num_queries: int = 1, sensitivity: float = 1.0
) -> float:
    """Return the least standard deviation for so many uses of Gaussian noise."""
    return get_smallest_subsampled_gaussian_noise(privacy_parameters, num_queries, sensitivity)


def get_smallest_subsampled_gaussian_noise(
    privacy_parameters: Any,
    num_queries: int = 1,
    sensitivity: float = 1.0,
    sampling_prob: float = 1.0,
) -> float:
    """Return the least standard deviation for so many uses on Poisson samples."""

    def run(noise: float) -> Composed:
        return Composed((PoissonSampled(Gaussian(noise), sampling_prob), num_queries))

    return _times(_smallest(run, privacy_parameters), sensitivity)


def get_smallest_laplace_noise(
    privacy_parameters: Any, num_queries: int = 1, sensitivity: float = 1.0
) -> float:
    """Return the least scale for so many uses of Laplace noise."""
    noise = _smallest(lambda b: Composed((Laplace(b), num_queries)), privacy_parameters)
    return _times(noise, sensitivity)


def get_smallest_discrete_laplace_noise(
    privacy_parameters: Any, num_queries: int = 1, sensitivity: int = 1
) -> float:
    """Return the largest parameter, one over a scale, for so many uses of discrete Laplace noise.

    >>> from types import SimpleNamespace
    >>> round(get_smallest_discrete_laplace_noise(SimpleNamespace(epsilon=1.0, delta=0.0)), 5)
    1.0
    """

    def run(scale: float) -> Composed:
        return Composed((DiscreteLaplace(scale, sensitivity), num_queries))

    return -float_above(-1 / Fraction(_smallest(run, privacy_parameters)))


def _smallest(run: Any, target: Any) -> float:
    return calibrate(run, NOISES, target_epsilon=target.epsilon, target_delta=target.delta)


def _times(noise: float, sensitivity: float) -> float:
    return float_above(Fraction(noise) * Fraction(sensitivity))
