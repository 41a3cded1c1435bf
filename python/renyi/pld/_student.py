"""Student's t noise: heavy tails, bounded loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from renyi._validation import real_of
from renyi.pld._cells import ROUNDING, Array
from renyi.pld._even_noise import EvenNoise

__all__ = ["StudentT"]

_DEEPEST = 740.0


@dataclass(frozen=True, slots=True)
class StudentT(EvenNoise):
    """Noise of density proportional to (1 + (x/scale)^2/n)^(-(n+1)/2) over a query moved by 1.

    Parameters
    ----------
    degrees : float
        Degrees of freedom n, in [1.5, 1e4].
    scale : float
        Over the shift, in [0.01, 1e6].

    Raises
    ------
    TypeError, ValueError
        On other types or values.

    Notes
    -----
    The loss is (n + 1) asinh(1/(2 scale n^(1/2))) at most, between the output's two extremes, and
    goes back to 0 beyond them: one use is pure differential privacy. The standard deviation is
    scale (n/(n-2))^(1/2) for n > 2.

    Examples
    --------
    >>> StudentT(3.0, 2.0).support[1] == 4.0 * math.asinh(0.25 / math.sqrt(3.0))
    True
    """

    degrees: float
    scale: float

    def __post_init__(self) -> None:
        for name, low, high in (("degrees", 1.5, 1e4), ("scale", 0.01, 1e6)):
            allowed = f"a number in [{low:g}, {high:g}]"
            number = real_of(getattr(self, name), name, allowed)
            if not low <= number <= high:
                raise ValueError(f"{name} must be {allowed}, got {number!r}")
            object.__setattr__(self, name, number)

    @property
    def support(self) -> tuple[float, float]:
        top = (self.degrees + 1.0) * math.asinh(0.5 / self._root)
        return -top, top

    def loss_range(self, tail: float) -> tuple[float, float]:
        # A little more: the loss is flat at its extremes, and not just there an edge should be.
        top = 1.001 * self.support[1]
        return -top, top

    def other_range(self, tail: float) -> tuple[float, float]:
        return self.loss_range(tail)

    @property
    def _root(self) -> float:
        """The density has its poles at i times this, scale n^(1/2)."""
        return self.scale * math.sqrt(self.degrees)

    @property
    def _reach(self) -> float:
        # (1 + (x/root)^2)^(-n/2) = e^-_DEEPEST.
        half = _DEEPEST / self.degrees
        far = math.sqrt(math.expm1(2.0 * half)) if half < 300.0 else math.exp(half)
        return 0.5 + self._root * far

    @property
    def _loss_error(self) -> float:
        return 32.0 * ROUNDING

    @property
    def _turns(self) -> tuple[float, ...]:
        turn = math.hypot(self._root, 0.5)
        return (turn,) if turn < self._reach else ()

    def _log_kernel(self, x: Array) -> Array:
        y = np.abs(x) / self._root
        with np.errstate(over="ignore", divide="ignore"):
            logs = np.where(y > 1e9, 2.0 * np.log(y), np.log1p(np.square(np.minimum(y, 1e9))))
        return np.asarray(-0.5 * (self.degrees + 1.0) * logs)

    def _loss(self, v: Array) -> Array:
        # log((1 + (y+k)^2)/(1 + (y-k)^2)), the excess of the quotient over 1 being
        # 4 k / (1/y + (y-k) (1 - k/y)).
        k, y = 0.5 / self._root, np.abs(v) / self._root
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            excess = 4.0 * k / (1.0 / y + (y - k) * ((y - k) / y))
        rise = np.log1p(np.where(y > 0.0, excess, 0.0))
        return np.asarray(np.sign(v) * (0.5 * (self.degrees + 1.0) * rise))

    def _slope(self, v: Array) -> Array:
        far, near, square = v + 0.5, v - 0.5, self._root**2
        with np.errstate(over="ignore"):
            rise = far / (square + far * far) - near / (square + near * near)
        return np.asarray((self.degrees + 1.0) * rise)

    def _clear(self, x: float) -> float:
        return math.hypot(x, self._root)

    def _steep(self, x: float, r: float) -> float:
        # (n+1) |z| / (|z - i root| |z + i root|), and half the sum of the two inverses.
        room = self._clear(x) - r
        return (self.degrees + 1.0) / room * min(1.0, (abs(x) + r) / room)
