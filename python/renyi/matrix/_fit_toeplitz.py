"""The banded Toeplitz matrix of least loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._matrix import toeplitz_error
from renyi.matrix._minimise import minimise
from renyi.matrix._strategy import Loss, loss_of
from renyi.matrix._toeplitz import root_coefficients
from renyi.matrix._workloads import kernel_of

__all__ = ["fit_toeplitz", "query_weights"]

Vector = npt.NDArray[np.float64]


def query_weights(steps: int, loss: Loss) -> Vector:
    """Return how often b_t^2 is in the error: in every query from t on, or once in the last."""
    return np.ones(steps) if loss == "max" else (steps - np.arange(steps)) / steps


_COARSER = 8  # of a run this much shorter the best is found first, as a start


def fit_toeplitz(steps: int, bands: int, loss: Any, workload: Any) -> Vector:
    """Return c with c_0 = 1 that has the least ||c||^2 times error, O(steps bands) a step."""
    tail = root_coefficients(bands)[1:]
    lengths = [steps]
    while lengths[-1] > 1000 and lengths[-1] // _COARSER > 2 * bands:
        lengths.append(lengths[-1] // _COARSER)
    for length in reversed(lengths if bands > 1 else []):
        tail = _fit_from(tail, length, loss, workload)
    return np.concatenate([[1.0], tail])


def _fit_from(start: Vector, steps: int, loss: Any, workload: Any) -> Vector:
    """Return all coefficients but the first, from a start."""
    kernel = kernel_of(workload, steps, "BandedToeplitz")
    weights = query_weights(steps, loss_of(loss))
    work, slopes = np.empty(2 * steps), np.empty(len(start) + 1)

    def logarithm(tail: Vector) -> tuple[float, Vector]:
        c = np.concatenate([[1.0], tail])
        error = toeplitz_error(c, kernel, weights, work, slopes)
        square = float(c @ c)
        if not math.isfinite(error):
            return math.inf, tail
        return math.log(error) + math.log(square), slopes[1:] / error + 2.0 * tail / square

    with np.errstate(over="ignore", invalid="ignore"):
        # Sums of so many steps are known to about steps times 2^-53 of themselves.
        tolerance = max(1e-14, 1e-18 * steps)
        return minimise(logarithm, start, title="banded Toeplitz", tolerance=tolerance)[0]
