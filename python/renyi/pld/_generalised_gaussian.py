"""Generalised Gaussian noise: density proportional to e^(-(|x|/scale)^shape)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from renyi._validation import real_of
from renyi.pld._cells import ROUNDING, Array
from renyi.pld._even_noise import EvenNoise

__all__ = ["GeneralisedGaussian"]

_DEEPEST = 745.0  # e^-_DEEPEST is the smallest double
_LARGEST = 5e3  # panels, and the time to make them, are proportional to the largest loss


@dataclass(frozen=True, slots=True)
class GeneralisedGaussian(EvenNoise):
    """Noise of density proportional to e^(-(|x|/scale)^shape) over a query moved by 1.

    Parameters
    ----------
    shape : float
        In [1.01, 10]. At 2 it is Gaussian noise of standard deviation scale/sqrt(2); at 1 it would
        be `Laplace` noise.
    scale : float
        Over the shift, in [0.01, 1e6], and so large that losses above 5,000 have a probability
        below 1e-320.

    Raises
    ------
    TypeError, ValueError
        On other types or values.

    Notes
    -----
    The log of the density is concave, so that the loss increases with the output; it has no bound.
    The standard deviation is scale (Gamma(3/shape)/Gamma(1/shape))^(1/2).

    Examples
    --------
    >>> from renyi.pld import Gaussian, delta_bounds
    >>> noise = GeneralisedGaussian(2.0, math.sqrt(2.0))  # of standard deviation 1
    >>> lower, upper = delta_bounds([(noise, 1)], 1.0)
    >>> exact = delta_bounds([(Gaussian(1.0), 1)], 1.0)
    >>> bool(lower <= exact[1] and exact[0] <= upper < lower * (1.0 + 1e-10))
    True
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        for name, low, high in (("shape", 1.01, 10.0), ("scale", 0.01, 1e6)):
            allowed = f"a number in [{low:g}, {high:g}]"
            number = real_of(getattr(self, name), name, allowed)
            if not low <= number <= high:
                raise ValueError(f"{name} must be {allowed}, got {number!r}")
            object.__setattr__(self, name, number)
        if not self.loss_range(1e-320)[1] <= _LARGEST:
            raise ValueError(
                f"scale must be larger for shape {self.shape:g}: the loss would exceed "
                f"{_LARGEST:g} with a probability above 1e-320, got {self.scale!r}"
            )

    def loss_range(self, tail: float) -> tuple[float, float]:
        depth = -math.log(min(max(tail, 1e-320), 0.5))
        far = self.scale * depth ** (1.0 / self.shape)
        low, high = self._loss(np.array([0.5 - far, 0.5 + far]))
        return float(low), float(high)

    def other_range(self, tail: float) -> tuple[float, float]:
        low, high = self.loss_range(tail)
        return -high, -low

    @property
    def _reach(self) -> float:
        return 0.5 + self.scale * math.pow(_DEEPEST, 1.0 / self.shape)

    @property
    def _loss_error(self) -> float:
        return ROUNDING * (16.0 + 8.0 * self.shape)

    @property
    def _core(self) -> tuple[float, float]:
        half = max(2.0**-40 * self.scale, 2.0**-45)
        return half, (2.0 * half / self.scale) ** self.shape

    def _log_kernel(self, x: Array) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(-((np.abs(x) / self.scale) ** self.shape))

    def _loss(self, v: Array) -> Array:
        # (|v| + 1/2)^shape - ||v| - 1/2|^shape, as a product.
        size = np.abs(v)
        with np.errstate(divide="ignore", under="ignore"):
            share = -np.expm1(self.shape * np.log1p(-2.0 * np.minimum(size, 0.5) / (size + 0.5)))
            found = np.sign(v) * ((size + 0.5) / self.scale) ** self.shape * share
        return np.asarray(found)

    def _slope(self, v: Array) -> Array:
        k, far, near = self.shape - 1.0, (v + 0.5) / self.scale, (v - 0.5) / self.scale
        rise = np.sign(far) * np.abs(far) ** k - np.sign(near) * np.abs(near) ** k
        return np.asarray(self.shape / self.scale * rise)

    def _clear(self, x: float) -> float:
        return abs(x)

    def _steep(self, x: float, r: float) -> float:
        # |z|^(shape - 1) on the disc, z^shape being analytic on one side of 0.
        size = (abs(x) + r) / self.scale
        return self.shape / self.scale * math.pow(size, self.shape - 1.0)
