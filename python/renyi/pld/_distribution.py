"""Privacy-loss distributions of pairs (P, Q), and what can be done to any of them.

The privacy loss is L = log dP/dQ(x) for x ~ P, and delta(epsilon) = E_P[(1 - e^(epsilon - L))_+].
One direction at a time: for a mechanism under add/remove adjacency build both.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from renyi._validation import probability_of
from renyi.pld._cells import ROUNDING, Array, Atom, Cells

__all__ = ["PoissonSampled", "PrivacyLossDistribution", "Reversed", "poisson_sampled"]


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

    def atoms(self) -> tuple[Atom, ...]:
        """Return the point masses of the loss."""
        return ()

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
        _require(self.base, "base")

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

    def atoms(self) -> tuple[Atom, ...]:
        return tuple(
            Atom(-a.loss, a.other, a.loss_error, a.error + a.loss_error + 4.0 * ROUNDING)
            for a in self.base.atoms()
        )

    def loss_range(self, tail: float) -> tuple[float, float]:
        low, high = self.base.other_range(tail)
        return -high, -low

    def other_range(self, tail: float) -> tuple[float, float]:
        low, high = self.base.loss_range(tail)
        return -high, -low

    def cells(self, edges: Array) -> Cells:
        # up = q - e^-b p = e^-b low,  low = e^-a p - q = e^-a up  for the base cell (a, b].
        base = self.base.cells(-edges[::-1])
        high, low = edges[:-1][::-1], edges[1:][::-1]
        with np.errstate(over="ignore", invalid="ignore"):
            up = np.where(np.isneginf(high), base.q, np.exp(high) * base.low)
            down = np.where(base.up > 0.0, np.exp(low) * base.up, 0.0)
        error = np.maximum(base.error, base.error_q) + 4.0 * ROUNDING
        return Cells(
            base.q[::-1],
            base.p[::-1],
            up[::-1],
            down[::-1],
            error[::-1],
            error[::-1],
            base.slip[::-1] + ROUNDING * np.where(np.isfinite(edges), np.abs(edges), 0.0),
        )


@dataclass(frozen=True, slots=True)
class PoissonSampled(PrivacyLossDistribution):
    """The record takes part with probability ``sample_rate``: ((1-q) Q + q P, Q).

    The loss of the base pair is transformed monotonically, l -> log1p(q expm1(l)), so masses and
    moments on cells follow from those of the base on transformed edges, without a new integral.

    Parameters
    ----------
    base : PrivacyLossDistribution
        The pair (P, Q) of the mechanism on the sample, P with the record.
    sample_rate : float
        q in [0, 1].

    Notes
    -----
    This is the direction "remove"; "add" is its ``Reversed``, see ``poisson_sampled``.
    """

    base: PrivacyLossDistribution
    sample_rate: float

    def __post_init__(self) -> None:
        _require(self.base, "base")
        object.__setattr__(self, "sample_rate", probability_of(self.sample_rate, "sample_rate"))

    @property
    def infinite_mass(self) -> float:
        mass = self.sample_rate * self.base.infinite_mass
        return math.nextafter(mass, math.inf) if mass else 0.0

    @property
    def null_mass(self) -> float:
        return self.base.null_mass if self.sample_rate == 1.0 else 0.0

    @property
    def support(self) -> tuple[float, float]:
        if self.sample_rate == 1.0:
            return self.base.support
        low, high = self.base.support
        if self.base.null_mass > 0.0 or low == -math.inf:
            return math.log1p(-self.sample_rate), float(self._forward(high))
        return float(self._forward(low)), float(self._forward(high))

    def atoms(self) -> tuple[Atom, ...]:
        q = self.sample_rate
        found = []
        for atom in self.base.atoms():
            loss = float(self._forward(atom.loss))
            mass = (1.0 - q) * atom.other + q * atom.mass
            slope = q * math.exp(atom.loss - loss)
            error = slope * (atom.loss_error + 4.0 * ROUNDING) + 4.0 * ROUNDING * abs(loss)
            found.append(Atom(loss, mass, error, atom.error + atom.loss_error + 8.0 * ROUNDING))
        if q < 1.0 and self.base.null_mass > 0.0:
            loss = math.log1p(-q)
            found.append(
                Atom(loss, (1.0 - q) * self.base.null_mass, ROUNDING * abs(loss), 4.0 * ROUNDING)
            )
        return tuple(found)

    def loss_range(self, tail: float) -> tuple[float, float]:
        low, high = self.base.loss_range(tail / max(self.sample_rate, 1e-300))
        low_q, high_q = self.base.other_range(tail)
        return self._span(min(low, low_q), max(high, high_q))

    def other_range(self, tail: float) -> tuple[float, float]:
        return self._span(*self.base.other_range(tail))

    def cells(self, edges: Array) -> Cells:
        q = self.sample_rate
        base_edges = self._backward(edges)
        base = self.base.cells(base_edges)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            # Edges below log(1-q) have no preimage: there e^a still lies under (1-q) Q.
            under = (
                np.where(np.isneginf(base_edges), -np.expm1(edges - math.log1p(-q)), 0.0)
                * (1.0 - q)
                if q < 1.0
                else np.zeros(edges.size)
            )
            up = q * base.up + np.maximum(under[:-1], 0.0) * base.q
            low = q * base.low
            kept, sampled = (1.0 - q) * base.q, q * base.p
            p = kept + sampled
            share = np.divide(sampled, p, out=np.zeros_like(p), where=p > 0.0)
            # dL/dl = q e^(l-L) = 1 - (1-q) e^-L, and the rounding of the transformed edges.
            slope = np.clip(1.0 - (1.0 - q) * np.exp(-edges), 0.0, 1.0)
            moved = np.where(np.isfinite(base_edges), np.abs(base_edges), 0.0)
            slip = 4.0 * ROUNDING * np.minimum(np.abs(edges), np.abs(np.expm1(-edges))) + np.where(
                np.isfinite(base_edges), slope * (base.slip + 2.0 * ROUNDING * moved), 0.0
            )
        slip = np.where(np.isfinite(edges), slip, 0.0)
        error = share * base.error + (1.0 - share) * base.error_q + 4.0 * ROUNDING
        return Cells(p, base.q, up, low, error, base.error_q, slip)

    def _forward(self, loss: float | Array) -> float | Array:
        if self.sample_rate == 1.0:
            return loss
        with np.errstate(over="ignore"):
            large = loss + math.log(self.sample_rate) if self.sample_rate else loss
            return np.where(
                np.asarray(loss) > 500.0, large, np.log1p(self.sample_rate * np.expm1(loss))
            )

    def _backward(self, edges: Array) -> Array:
        q = self.sample_rate
        if q == 1.0:
            return edges
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            inner = np.expm1(np.minimum(edges, 500.0)) / q
            found = np.where(edges > 500.0, edges - math.log(q), np.log1p(np.maximum(inner, -1.0)))
        return np.asarray(np.where(edges <= math.log1p(-q), -np.inf, found))

    def _span(self, low: float, high: float) -> tuple[float, float]:
        if low > high:
            return math.inf, -math.inf
        return float(self._forward(low)), float(self._forward(high))


def poisson_sampled(
    base: PrivacyLossDistribution, sample_rate: float, direction: str = "remove"
) -> PrivacyLossDistribution:
    """Return the pair of a Poisson-sampled mechanism in one direction.

    Parameters
    ----------
    base : PrivacyLossDistribution
        (P, Q) of the mechanism itself, P with the record and Q without.
    sample_rate : float
        In [0, 1].
    direction : {"remove", "add"}
        ((1-q) Q + q P, Q) or (Q, (1-q) Q + q P).

    Raises
    ------
    TypeError, ValueError
        On another type, rate or direction.

    Examples
    --------
    >>> from renyi.pld import Gaussian, delta_bounds
    >>> lower, upper = delta_bounds([(poisson_sampled(Gaussian(1.0), 0.1), 1)], 0.5)
    >>> bool(lower <= 0.00203253692034 + 1e-15 and upper >= 0.00203253692034 - 1e-15)
    True
    """
    if direction not in ("remove", "add"):
        raise ValueError(f"direction must be 'remove' or 'add', got {direction!r}")
    sampled = PoissonSampled(base, sample_rate)
    return sampled if direction == "remove" else Reversed(sampled)


def _require(value: object, name: str) -> None:
    if not isinstance(value, PrivacyLossDistribution):
        raise TypeError(f"{name} must be a PrivacyLossDistribution, got {value!r}")
