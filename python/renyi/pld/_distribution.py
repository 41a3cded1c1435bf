"""Privacy-loss distributions of pairs (P, Q), and what can be done to any of them.

The privacy loss is L = log dP/dQ(x) for x ~ P, and delta(epsilon) = E_P[(1 - e^(epsilon - L))_+].
One direction at a time: for a mechanism under add/remove adjacency build both.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from renyi.pld._cells import NEGLIGIBLE, NO_ATOMS, ROUNDING, Array, Atoms, Cells

__all__ = ["Part", "PrivacyLossDistribution", "Reversed", "require_pair"]


class PrivacyLossDistribution(ABC):
    """An immutable pair (P, Q), seen through its privacy loss.

    A subclass describes the finite losses by point masses and by the integrals of its continuous
    part over cells, and the rest by ``infinite_mass`` and ``null_mass``.
    """

    __slots__ = ()

    @property
    def infinite_mass(self) -> float:
        """P-mass where Q vanishes, rounded up."""
        return 0.0

    @property
    def null_mass(self) -> float:
        """Q-mass where P vanishes."""
        return 0.0

    @property
    def support(self) -> tuple[float, float]:
        """An interval that holds every finite loss, up to its rounding."""
        return -math.inf, math.inf

    def atoms(self) -> Atoms:
        """Return the point masses of the loss."""
        return NO_ATOMS

    @property
    def symmetric(self) -> bool:
        """Whether the pair is known to be its own reverse: (P, Q) and (Q, P) have one profile."""
        return False

    @property
    def optimistic(self) -> PrivacyLossDistribution:
        """A pair that this one stands for and dominates; itself unless this is only an upper bound.

        Lower bounds of compositions are taken from it.
        """
        return self

    @property
    def infinite_bounds(self) -> tuple[float, float]:
        """Bounds on the P-mass where Q vanishes."""
        lower = max(self.optimistic.infinite_mass - NEGLIGIBLE, 0.0)
        return lower * (1.0 - 4.0 * ROUNDING), self.infinite_mass

    @abstractmethod
    def loss_range(self, tail: float) -> tuple[float, float]:
        """Return losses outside which the continuous part has P-mass about ``tail`` or less.

        A guide for choosing grids. What lies outside is measured, not assumed away. An empty
        continuous part returns (inf, -inf).
        """

    @abstractmethod
    def other_range(self, tail: float) -> tuple[float, float]:
        """Return the same under Q."""

    @abstractmethod
    def cells(self, edges: Array) -> Cells:
        """Integrate the continuous part over the cells between increasing ``edges``."""

    def mirrored(self, edges: Array) -> Cells:
        """Return the cells of the reversed pair, whose losses have the other sign."""
        if self.symmetric:
            return self.cells(edges)
        # up = q - e^-b p = e^-b low,  low = e^-a p - q = e^-a up  for the base cell (a, b].
        base = self.cells(-edges[::-1])
        start, end = edges[:-1][::-1], edges[1:][::-1]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            # In two factors: e^edge may overflow where the product does not.
            half = np.exp(0.5 * start)
            up = np.where(base.low > 0.0, base.low * half * half, 0.0)
            up = np.where(np.isneginf(start), base.q, up)
            half = np.exp(0.5 * end)
            low = np.where(base.up > 0.0, base.up * half * half, 0.0)
        error = np.maximum(base.error, base.error_q) + 4.0 * ROUNDING
        # Where P underflows and Q does not nothing is known of the moments.
        lost = (base.q > 0.0) & ((base.p < 2.0**-1000) | ~np.isfinite(up)) & (start > 0.0)
        up, error = np.where(lost, base.q, up), np.where(lost, 1.0, error)
        return Cells(
            base.q[::-1],
            base.p[::-1],
            up[::-1],
            np.where(lost, 0.0, low)[::-1],
            error[::-1],
            error[::-1],
            base.slip[::-1] + ROUNDING * np.where(np.isfinite(edges), np.abs(edges), 0.0),
        )


Part = tuple[PrivacyLossDistribution, int]
"""A pair and how often it is used."""


@dataclass(frozen=True, slots=True)
class Reversed(PrivacyLossDistribution):
    """The pair (Q, P): the loss changes its sign.

    Examples
    --------
    >>> from renyi.pld import Laplace
    >>> Reversed(Laplace(1.0)).loss_range(1e-9)
    (-1.0, 1.0)
    """

    base: PrivacyLossDistribution

    def __post_init__(self) -> None:
        require_pair(self.base, "base")

    @property
    def infinite_mass(self) -> float:
        return self.base.null_mass

    @property
    def null_mass(self) -> float:
        return self.base.infinite_mass

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.base.support
        return -high, -low

    @property
    def symmetric(self) -> bool:
        return self.base.symmetric

    @property
    def optimistic(self) -> PrivacyLossDistribution:
        lower = self.base.optimistic
        return self if lower is self.base else Reversed(lower)

    def atoms(self) -> Atoms:
        return self.base.atoms().reversed()

    def loss_range(self, tail: float) -> tuple[float, float]:
        low, high = self.base.other_range(tail)
        return -high, -low

    def other_range(self, tail: float) -> tuple[float, float]:
        low, high = self.base.loss_range(tail)
        return -high, -low

    def cells(self, edges: Array) -> Cells:
        return self.base.mirrored(edges)

    def mirrored(self, edges: Array) -> Cells:
        return self.base.cells(edges)


def require_pair(value: object, name: str) -> None:
    """Refuse what is not a pair."""
    if not isinstance(value, PrivacyLossDistribution):
        raise TypeError(f"{name} must be a PrivacyLossDistribution, got {value!r}")
