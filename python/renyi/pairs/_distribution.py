"""Privacy-loss distributions of pairs (P, Q), compiled once.

The privacy loss is L = log dP/dQ(x) for x ~ P, and delta(epsilon) = E_P[(1 - e^(epsilon - L))_+].
One direction at a time: for a mechanism under add/remove adjacency build both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from renyi._pair import Pair
from renyi._validation import real_of

__all__ = ["Array", "DominatingPair", "Part", "ReversedPair", "require_pair", "within"]

Array = npt.NDArray[np.float64]


class DominatingPair(ABC):
    """An immutable pair (P, Q), seen through its privacy loss; equal where its arguments are."""

    __slots__ = ()

    @abstractmethod
    def _build(self) -> Pair:
        """Return the compiled pair."""

    @property
    def _pair(self) -> Pair:
        return _compiled(self)

    @property
    def infinite_mass(self) -> float:
        """P-mass where Q vanishes, rounded up."""
        return self._pair.infinite_mass

    @property
    def null_mass(self) -> float:
        """Q-mass where P vanishes, rounded up."""
        return self._pair.null_mass

    @property
    def support(self) -> tuple[float, float]:
        """An interval that holds every finite loss but for what `infinite_mass` counts."""
        return self._pair.support

    @property
    def symmetric(self) -> bool:
        """Whether the pair is known to be its own reverse: (P, Q) and (Q, P) have one profile."""
        return self._pair.symmetric

    def atoms(self) -> tuple[Array, Array, Array]:
        """Return the point masses of the loss: losses, masses under P, masses under Q."""
        return self._pair.atoms()


@lru_cache(maxsize=512)
def _compiled(distribution: DominatingPair) -> Pair:
    return distribution._build()


Part = tuple[DominatingPair, int]
"""A pair and how often it is used."""


@dataclass(frozen=True, slots=True)
class ReversedPair(DominatingPair):
    """The pair (Q, P): the loss changes its sign.

    Examples
    --------
    >>> from renyi.pairs import LaplacePair
    >>> ReversedPair(LaplacePair(1.0)).support
    (-1.0, 1.0)
    """

    base: DominatingPair

    def __post_init__(self) -> None:
        require_pair(self.base, "base")

    def _build(self) -> Pair:
        return self.base._pair.reversed()


def require_pair(value: object, name: str) -> None:
    """Refuse what is not a pair."""
    if not isinstance(value, DominatingPair):
        raise TypeError(f"{name} must be a DominatingPair, got {value!r}")


def within(value: object, name: str, low: float, high: float, *, above: bool = False) -> float:
    """Return a number in [low, high]; in (low, high] if it must be above."""
    allowed = f"a number in {'(' if above else '['}{low:g}, {high:g}]"
    number = real_of(value, name, allowed)
    if not (low < number if above else low <= number) or number > high:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number
