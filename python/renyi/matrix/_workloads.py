"""What is asked of the noisy steps: the matrix A of the queries, lower triangular."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import real_of

__all__ = [
    "PREFIX_SUMS",
    "LearningRates",
    "Momentum",
    "PrefixSums",
    "Workload",
    "kernel_of",
    "workload_of",
]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PrefixSums:
    """The sums of the first t steps: the iterates of SGD."""

    def kernel(self, steps: int) -> Vector:
        """Return the first column, of which every other is a shift."""
        return np.ones(steps)

    def matrix(self, steps: int) -> Matrix:
        """Return A, a row for each query."""
        return np.tri(steps)


@dataclass(frozen=True, slots=True)
class Momentum:
    """The iterates of SGD with momentum.

    Parameters
    ----------
    beta : float
        In [0, 1).
    """

    beta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _beta_of(self.beta, "beta"))

    def kernel(self, steps: int) -> Vector:
        """Return the first column, 1 + beta + .. + beta^t."""
        return np.cumsum(self.beta ** np.arange(steps, dtype=float))

    def matrix(self, steps: int) -> Matrix:
        """Return A, a row for each query."""
        return _toeplitz(self.kernel(steps))


@dataclass(frozen=True, slots=True, init=False)
class LearningRates:
    """The iterates of SGD whose learning rate changes, with or without momentum.

    Parameters
    ----------
    rates : sequence of float
        One for each step, finite.
    beta : float
        Of the momentum, in [0, 1).
    """

    rates: tuple[float, ...]
    beta: float

    def __init__(self, rates: Iterable[float], beta: float = 0.0) -> None:
        numbers = tuple(real_of(rate, "rates", "finite numbers") for rate in rates)
        if not numbers or not np.all(np.isfinite(numbers)):
            raise ValueError(f"rates must be finite numbers, at least one, got {rates!r}")
        object.__setattr__(self, "rates", numbers)
        object.__setattr__(self, "beta", _beta_of(beta, "beta"))

    def matrix(self, steps: int) -> Matrix:
        """Return A, a row for each query."""
        if len(self.rates) != steps:
            raise ValueError(f"rates must be {steps}, one for each step, got {len(self.rates)}")
        by_momentum = _toeplitz(self.beta ** np.arange(steps, dtype=float))
        return np.cumsum(np.array(self.rates)[:, None] * by_momentum, axis=0)


PREFIX_SUMS = PrefixSums()
Workload = PrefixSums | Momentum | LearningRates


def workload_of(value: Any) -> Workload:
    """Return a workload."""
    if not isinstance(value, PrefixSums | Momentum | LearningRates):
        raise TypeError(f"workload must be PrefixSums(), Momentum or LearningRates, got {value!r}")
    return value


def kernel_of(workload: Any, steps: int, strategy: str) -> Vector:
    """Return the first column of a Toeplitz workload, which alone such a strategy is fitted to."""
    if isinstance(workload_of(workload), LearningRates):
        raise ValueError(
            f"workload must be PrefixSums() or Momentum for {strategy} to be optimised, whose "
            f"matrix is Toeplitz, got {workload!r}: Dense.optimal takes every workload"
        )
    kernel: Vector = workload.kernel(steps)
    return kernel


def _beta_of(value: Any, name: str) -> float:
    beta = real_of(value, name, "a number in [0, 1)")
    if not 0.0 <= beta < 1.0:
        raise ValueError(f"{name} must be a number in [0, 1), got {value!r}")
    return beta


def _toeplitz(column: Vector) -> Matrix:
    steps = np.arange(len(column))
    lag = steps[:, None] - steps
    return np.where(lag >= 0, column[np.maximum(lag, 0)], 0.0)
