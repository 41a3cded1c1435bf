"""Pairs made of several: a mixture that shows which was drawn, and a pair known from two sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from renyi._validation import real_of
from renyi.pld._cells import NO_ATOMS, ROUNDING, Array, Atom, Atoms, Cells
from renyi.pld._distribution import PrivacyLossDistribution, require_pair

__all__ = ["Bracketed", "Mixed"]


@dataclass(frozen=True, slots=True)
class Bracketed(PrivacyLossDistribution):
    """A pair of which only one that dominates it and one that it dominates are known.

    Upper bounds are those of ``upper``, lower bounds those of ``lower``.

    Parameters
    ----------
    upper, lower : PrivacyLossDistribution
        delta(epsilon) of ``lower`` is nowhere above that of ``upper``; not checked.

    Examples
    --------
    >>> from renyi.pld import Laplace, delta_bounds
    >>> lower, upper = delta_bounds([(Bracketed(Laplace(1.0), Laplace(1.5)), 1)], 0.5)
    >>> round(lower, 4), round(upper, 4)
    (0.08, 0.2212)
    """

    upper: PrivacyLossDistribution
    lower: PrivacyLossDistribution

    def __post_init__(self) -> None:
        require_pair(self.upper, "upper")
        require_pair(self.lower, "lower")

    @property
    def infinite_mass(self) -> float:
        return self.upper.infinite_mass

    @property
    def null_mass(self) -> float:
        return self.upper.null_mass

    @property
    def support(self) -> tuple[float, float]:
        return self.upper.support

    @property
    def symmetric(self) -> bool:
        return self.upper.symmetric and self.lower.symmetric

    @property
    def optimistic(self) -> PrivacyLossDistribution:
        return self.lower.optimistic

    def atoms(self) -> Atoms:
        return self.upper.atoms()

    def loss_range(self, tail: float) -> tuple[float, float]:
        return self.upper.loss_range(tail)

    def other_range(self, tail: float) -> tuple[float, float]:
        return self.upper.other_range(tail)

    def cells(self, edges: Array) -> Cells:
        return self.upper.cells(edges)


@dataclass(frozen=True, slots=True)
class Mixed(PrivacyLossDistribution):
    """Shows which of several pairs was drawn, and an outcome of it: delta is the weighted sum.

    Parameters
    ----------
    weights : sequence of float
        In [0, 1], of sum at most 1. With what is missing to 1 nothing is revealed.
    pairs : sequence of PrivacyLossDistribution
        As many, at least one.

    Examples
    --------
    >>> from renyi.pld import Laplace, delta_bounds
    >>> lower, upper = delta_bounds([(Mixed((0.5, 0.25), (Laplace(1.0), Laplace(0.5))), 1)], 0.5)
    >>> round(lower, 6), round(upper, 6)  # (1 - e^-0.25) / 2 + (1 - e^-0.75) / 4
    (0.242508, 0.242508)
    """

    weights: Sequence[float]
    pairs: Sequence[PrivacyLossDistribution]

    def __post_init__(self) -> None:
        allowed = "numbers in [0, 1] of sum at most 1"
        try:
            weights = tuple(real_of(w, "weights", allowed) for w in self.weights)
            pairs = tuple(self.pairs)
        except TypeError:
            raise TypeError(
                f"weights and pairs must be sequences, got {self.weights!r} and {self.pairs!r}"
            ) from None
        if any(w < 0.0 for w in weights) or math.fsum(weights) > 1.0:
            raise ValueError(f"weights must be {allowed}, got {self.weights!r}")
        if len(pairs) != len(weights) or not pairs:
            raise ValueError(
                f"pairs must be as many as weights and at least one, got {len(pairs)} "
                f"for {len(weights)} weights"
            )
        for pair in pairs:
            require_pair(pair, "pairs")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "pairs", pairs)

    @property
    def infinite_mass(self) -> float:
        mass = math.fsum(w * pair.infinite_mass for w, pair in self._parts())
        return min(mass * (1.0 + 4.0 * ROUNDING) + 2.0**-1074, 1.0) if mass else 0.0

    @property
    def null_mass(self) -> float:
        return math.fsum(w * pair.null_mass for w, pair in self._parts())

    @property
    def support(self) -> tuple[float, float]:
        ends = [pair.support for _, pair in self._parts()]
        if self._rest:
            ends.append((0.0, 0.0))
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def symmetric(self) -> bool:
        return all(pair.symmetric for pair in self.pairs)

    @property
    def optimistic(self) -> PrivacyLossDistribution:
        lower = tuple(pair.optimistic for pair in self.pairs)
        same = all(a is b for a, b in zip(lower, self.pairs, strict=True))
        return self if same else Mixed(self.weights, lower)

    def atoms(self) -> Atoms:
        groups = [pair.atoms().scaled(w) for w, pair in self._parts()]
        if self._rest:
            groups.append(Atoms.of((Atom(0.0, self._rest, 0.0, ROUNDING),)))
        return Atoms.joined(groups) if groups else NO_ATOMS

    def loss_range(self, tail: float) -> tuple[float, float]:
        ranges = [pair.loss_range(min(tail / w, 1.0)) for w, pair in self._parts()]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def other_range(self, tail: float) -> tuple[float, float]:
        ranges = [pair.other_range(min(tail / w, 1.0)) for w, pair in self._parts()]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def cells(self, edges: Array) -> Cells:
        p, q, up, low, error, error_q = (np.zeros(edges.size - 1) for _ in range(6))
        slip = np.zeros(edges.size)
        for weight, pair in self._parts():
            found = pair.cells(edges)
            p += weight * found.p
            q += weight * found.q
            up += weight * found.up
            low += weight * found.low
            error = np.maximum(error, np.where(found.p > 0.0, found.error, 0.0))
            error_q = np.maximum(error_q, np.where(found.q > 0.0, found.error_q, 0.0))
            slip = np.maximum(slip, found.slip)
        rounding = (2.0 + len(self.pairs)) * ROUNDING
        return Cells(p, q, up, low, error + rounding, error_q + rounding, slip)

    @property
    def _rest(self) -> float:
        return max(math.fsum((1.0, *(-w for w in self.weights))), 0.0)

    def _parts(self) -> list[tuple[float, PrivacyLossDistribution]]:
        return [(w, p) for w, p in zip(self.weights, self.pairs, strict=True) if w > 0.0]
