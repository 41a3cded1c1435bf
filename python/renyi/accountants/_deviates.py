"""Normal deviates, to about ten digits: where to ask, never what is answered."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from renyi import special

__all__ = ["deviates", "normal_density", "upper_tail"]

Array = npt.NDArray[np.float64]

FARTHEST = 38.0  # the smallest normal double is a tail of about 37.5


def normal_density(z: Array) -> Array:
    """Return phi."""
    return np.asarray(np.exp(-0.5 * np.square(z)) / math.sqrt(2.0 * math.pi))


def upper_tail(z: Array) -> Array:
    """Return Phi(-z), z >= 0."""
    return np.asarray(special.gaussian_tradeoff(z, 0.5))


def deviates(tail: Array, rest: Array) -> Array:
    """Return z with Phi(-z) = tail; ``rest`` is what is left of 1."""
    small = np.minimum(tail, rest)
    depth, at = _table()
    wanted = -np.log(small)
    z = np.interp(wanted, depth, at)
    for _ in range(2):  # Newton's steps on log Phi(-z)
        found = upper_tail(z)
        usable = found > 0.0
        found = np.where(usable, found, 1.0)
        step = (wanted + np.log(found)) * found / normal_density(z)
        z = np.clip(z + np.where(usable, step, 0.0), 0.0, FARTHEST)
    return np.where(tail <= rest, z, -z)


@cache
def _table() -> tuple[Array, Array]:
    at = np.linspace(0.0, FARTHEST, 1024)
    return -np.log(upper_tail(at)), at
