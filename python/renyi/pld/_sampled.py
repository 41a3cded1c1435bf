"""Poisson sampling: the loss of ((1-q) Q + q P, Q) is that of (P, Q), transformed monotonically."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from renyi._validation import probability_of
from renyi.pld._cells import ROUNDING, Array, Atom, Atoms, Cells
from renyi.pld._distribution import PrivacyLossDistribution, Reversed, require_pair

__all__ = ["PoissonSampled", "poisson_sampled"]


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
        require_pair(self.base, "base")
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

    @property
    def symmetric(self) -> bool:
        return self.sample_rate == 1.0 and self.base.symmetric

    @property
    def optimistic(self) -> PrivacyLossDistribution:
        lower = self.base.optimistic
        return self if lower is self.base else PoissonSampled(lower, self.sample_rate)

    def atoms(self) -> Atoms:
        q, base = self.sample_rate, self.base.atoms()
        loss = np.asarray(self._forward(base.loss))
        mass = (1.0 - q) * base.other + q * base.mass
        with np.errstate(under="ignore"):
            slope = q * np.exp(np.minimum(base.loss - loss, -math.log(max(q, 1e-300))))
        moved = slope * base.loss_error + 8.0 * ROUNDING * np.abs(loss)
        found = Atoms(loss, mass, base.other, moved, base.error + 4.0 * ROUNDING)
        null = self.base.null_mass
        if q == 1.0 or null == 0.0:
            return found
        hidden = Atom(math.log1p(-q), (1.0 - q) * null, ROUNDING * abs(math.log1p(-q)), 0.0)
        return Atoms.joined((found, Atoms.of((hidden,))))

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
            slip = 8.0 * ROUNDING * np.minimum(np.abs(edges), 1.0) + np.where(
                np.isfinite(base_edges), slope * (base.slip + 2.0 * ROUNDING * moved), 0.0
            )
        slip = np.where(np.isfinite(edges), slip, 0.0)
        error = share * base.error + (1.0 - share) * base.error_q + 4.0 * ROUNDING
        return Cells(p, base.q, up, low, error, base.error_q, slip)

    def mirrored(self, edges: Array) -> Cells:
        if self.sample_rate == 1.0:
            return self.base.mirrored(edges)
        return PrivacyLossDistribution.mirrored(self, edges)

    def _forward(self, loss: float | Array) -> float | Array:
        """Return log(1 - q + q e^l); its error is at most 8 u times its size."""
        q = self.sample_rate
        if q == 1.0:
            return loss
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            excess = q * np.expm1(loss)
            near = np.log1p(np.maximum(excess, -0.5))
            # Far below, log1p would lose what is left of 1 + excess; the sum keeps it.
            found = np.where(excess > -0.5, near, np.log((1.0 - q) + q * np.exp(loss)))
            return np.where(np.asarray(loss) > 500.0, loss + np.log(q), found)

    def _backward(self, edges: Array) -> Array:
        """Return the losses that ``_forward`` takes there, -inf at and below log(1-q)."""
        q = self.sample_rate
        if q == 1.0:
            return edges
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            excess = np.expm1(np.minimum(edges, 500.0))
            left = np.maximum((np.exp(np.minimum(edges, 0.0)) - (1.0 - q)) / q, 0.0)
            near = np.log1p(np.maximum(excess / q, -1.0))
            found = np.where(excess > -0.5, near, np.log(left))
            found = np.where(edges > 500.0, edges - np.log(q), found)
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
