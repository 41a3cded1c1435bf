"""Noise on the integers: discrete Gaussian and discrete Laplace (geometric), moved by an integer.

P is the noise around ``shift``, Q around 0. All losses lie on one lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from renyi._validation import count_of, real_of
from renyi.pld._cells import ROUNDING, Array, Atoms
from renyi.pld._discrete import OnlyAtoms

__all__ = ["DiscreteGaussian", "DiscreteLaplace"]

REACH = 38.7
"""Discrete normal masses are below 2^-1075 beyond this many sigmas."""

LARGEST_SHIFT = 2**20
LARGEST_SIGMA = 1e4
WIDEST = 1000.0  # shift over sigma


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(OnlyAtoms):
    """Discrete Gaussian noise, of mass ∝ e^(-x^2 / (2 sigma^2)) on the integers.

    Parameters
    ----------
    sigma : float
        In [shift/1000, 1e4]: up to 78 sigma + shift losses are kept one by one.
    shift : int
        How far the two means lie apart, in [1, 2^20].

    Notes
    -----
    The loss at x is shift (2 x - shift) / (2 sigma^2). What lies beyond 38.7 sigma of both means
    has less than 2^-1060 of either mass and is counted at infinite loss. The pair is its own
    reverse.

    References
    ----------
    Canonne, Kamath, Steinke 2020, arXiv 2004.00010.

    Examples
    --------
    >>> from renyi.pld import epsilon_bounds
    >>> lower, upper = epsilon_bounds([(DiscreteGaussian(3.0), 1)], 1e-5)
    >>> bool(lower <= upper < lower + 1e-9)
    True
    """

    sigma: float
    shift: int = 1

    def __post_init__(self) -> None:
        shift = _shift_of(self.shift)
        allowed = f"a number in [{shift / WIDEST:g}, {LARGEST_SIGMA:g}] for a shift of {shift}"
        sigma = real_of(self.sigma, "sigma", allowed)
        if not shift / WIDEST <= sigma <= LARGEST_SIGMA:
            raise ValueError(f"sigma must be {allowed}, got {self.sigma!r}")
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "shift", shift)

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def infinite_mass(self) -> float:
        return 2.0**-1050

    @property
    def null_mass(self) -> float:
        return 2.0**-1050

    def atoms(self) -> Atoms:
        return _gaussian_atoms(self.sigma, self.shift)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(OnlyAtoms):
    """Discrete Laplace noise, of mass ∝ e^(-|x| / scale) on the integers: the geometric mechanism.

    Parameters
    ----------
    scale : float
        In [shift/500, 1e12].
    shift : int
        How far the two centres lie apart, in [1, 2^20].

    Notes
    -----
    With r = e^(-1/scale) the loss is ±shift/scale with P-masses 1/(1+r) and r^shift/(1+r), and
    (2 j - shift)/scale with mass r^(shift-j) (1-r)/(1+r) for 0 < j < shift. The pair is its own
    reverse.

    Examples
    --------
    >>> [round(atom.loss, 3) for atom in DiscreteLaplace(2.0, 2).atoms()]
    [-1.0, 0.0, 1.0]
    """

    scale: float
    shift: int = 1

    def __post_init__(self) -> None:
        shift = _shift_of(self.shift)
        allowed = f"a number in [{shift / 500.0:g}, 1e12] for a shift of {shift}"
        scale = real_of(self.scale, "scale", allowed)
        if not shift / 500.0 <= scale <= 1e12:
            raise ValueError(f"scale must be {allowed}, got {self.scale!r}")
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "shift", shift)

    @property
    def symmetric(self) -> bool:
        return True

    def atoms(self) -> Atoms:
        j = np.arange(self.shift + 1, dtype=np.float64)
        loss = (2.0 * j - self.shift) / self.scale
        end = 1.0 / (1.0 + math.exp(-1.0 / self.scale))
        inner = -math.expm1(-1.0 / self.scale) * end
        mass = inner * np.exp((j - self.shift) / self.scale)
        mass[0], mass[-1] = end * math.exp(-self.shift / self.scale), end
        error = np.full(j.size, ROUNDING * (8.0 + 2.0 * self.shift / self.scale))
        return Atoms(loss, mass, mass[::-1], ROUNDING * np.abs(loss), error)


@lru_cache(maxsize=4)
def _gaussian_atoms(sigma: float, shift: int) -> Atoms:
    # Of both centres, so that no mass of either is missed; symmetric under x -> shift - x.
    reach = math.ceil(REACH * sigma)
    x = np.arange(-reach, shift + reach + 1, dtype=np.float64)
    loss = (0.5 * shift) * (2.0 * x - shift) / (sigma * sigma)
    height = 0.5 * np.square((x - shift) / sigma)
    with np.errstate(under="ignore"):
        centred = np.exp(-0.5 * np.square(np.arange(-reach, reach + 1) / sigma))
        mass = np.exp(-height) / float(np.sum(centred))
    # Of the exponents, which matter up to 745, then of the sum of positive terms.
    error = 5.0 * ROUNDING * np.minimum(np.maximum(height, height[::-1]), 1000.0) + 64.0 * ROUNDING
    return _frozen(Atoms(loss, mass, mass[::-1], 5.0 * ROUNDING * np.abs(loss), error))


def _frozen(atoms: Atoms) -> Atoms:
    """Return the atoms, which many will share, write-protected."""
    for name in atoms.__slots__:
        array: Array = getattr(atoms, name)
        array.flags.writeable = False
    return atoms


def _shift_of(value: object) -> int:
    allowed = f"an integer in [1, {LARGEST_SHIFT}]"
    shift = count_of(value, "shift")
    if not 1 <= shift <= LARGEST_SHIFT:
        raise ValueError(f"shift must be {allowed}, got {value!r}")
    return shift
