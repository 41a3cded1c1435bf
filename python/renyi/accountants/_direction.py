"""The privacy curve of one direction, asked many times: questions share their work."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from renyi._curve import AllocationQuestions, SampledGaussianQuestions, wide_brackets
from renyi._pair import LossComposition
from renyi.accountants._brackets import Array, Curve

__all__ = ["LOSSES_RTOL", "Bracket", "DirectionCurve", "WorseCurve", "wide"]

Bracket = tuple[float, float]
Lattice = Callable[[], LossComposition]
ByLattice = Callable[[float, float, Lattice], Bracket]

LOSSES_RTOL = 1e-5  # of what lattices answer
WIDE = 2.0 * LOSSES_RTOL


class DirectionCurve:
    """What a composition loses in one direction. For one thread at a time.

    Parameters
    ----------
    sampled : SampledGaussianQuestions or AllocationQuestions, optional
        Where Gaussian and Poisson-sampled Gaussian steps, or one epoch of random allocation, are
        all there is.
    lattice : callable, optional
        Returns the composition on a lattice: all there is, or what narrows wide brackets.
    """

    def __init__(
        self,
        sampled: SampledGaussianQuestions | AllocationQuestions | None,
        lattice: Lattice | None,
    ) -> None:
        self._sampled, self._lattice = sampled, lattice

    def epsilon_brackets(self, deltas: Array, known: Array) -> Array:
        """Return lower and upper ends, perhaps negative, of shape (2, n).

        Where ``known`` is certainly enough, both may be any smaller numbers.
        """
        if self._sampled is None:
            return self._by_lattice(deltas, known, self._epsilon_by_lattice)
        result = np.empty((2, deltas.size))
        self._sampled.epsilon_into(deltas, result, known)
        if self._lattice is not None:
            self._narrow(result, deltas, known, self._epsilon_by_lattice)
        return result

    def delta_brackets(self, epsilons: Array, known: Array) -> Array:
        """Return lower and upper ends, of shape (2, n); ``known`` as for `epsilon_brackets`."""
        if self._sampled is None:
            return self._by_lattice(epsilons, known, self._delta_by_lattice)
        result = np.empty((2, epsilons.size))
        self._sampled.delta_into(epsilons, result, known)
        if self._lattice is not None:
            self._narrow(result, epsilons, known, self._delta_by_lattice)
        return result

    def _by_lattice(self, values: Array, known: Array, bracket: ByLattice) -> Array:
        assert self._lattice is not None
        asked = zip(values.tolist(), known.tolist(), strict=True)
        return np.array([bracket(value, enough, self._lattice) for value, enough in asked]).T.copy()

    def _narrow(
        self,
        brackets: Array,
        values: Array,
        known: Array,
        bracket: ByLattice,
    ) -> None:
        """Intersect wide brackets with those of a lattice."""
        assert self._lattice is not None
        for i in wide(brackets):
            if brackets[1, i] > known[i]:
                low, high = bracket(float(values[i]), float(known[i]), self._lattice)
                brackets[:, i] = max(brackets[0, i], low), min(brackets[1, i], high)

    def _epsilon_by_lattice(self, delta: float, known: float, lattice: Lattice) -> Bracket:
        if delta == 1.0:
            return 0.0, 0.0
        low, high = lattice().epsilon_bounds(delta, known)
        # Next to no loss at all: delta at 0 may tell that none is needed.
        if low <= 0.0 < min(high, delta) and high > known:
            high = 0.0 if self._delta_by_lattice(0.0, 0.0, lattice)[1] <= delta else high
        return low, high

    def _delta_by_lattice(self, epsilon: float, known: float, lattice: Lattice) -> Bracket:
        low, high = lattice().delta_bounds(epsilon, known)
        return max(low, 0.0), min(high, 1.0)


class WorseCurve:
    """The larger of what some directions lose.

    Parameters
    ----------
    directions : list of DirectionCurve
        One or both.
    renyi : callable
        Returns the curve by Rényi divergences, above this one, if there is one: what wide upper
        ends are lowered to.
    """

    def __init__(self, directions: list[DirectionCurve], renyi: Callable[[], Curve | None]) -> None:
        self._directions = directions
        self._make_renyi = renyi

    def epsilon_brackets(self, deltas: Array) -> Array:
        """Return lower and upper ends, at least 0, of shape (2, n)."""
        result = np.zeros((2, deltas.size))
        for curve in self._directions:
            np.maximum(result, curve.epsilon_brackets(deltas, result[0]), out=result)
        if (places := wide(result)) and self._renyi is not None:
            lower = self._renyi.epsilon_brackets(deltas[places])[1]
            result[1, places] = np.minimum(result[1, places], lower)
        return result

    def delta_brackets(self, epsilons: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        result = np.zeros((2, epsilons.size))
        for curve in self._directions:
            np.maximum(result, curve.delta_brackets(epsilons, result[0]), out=result)
        if (places := wide(result)) and self._renyi is not None:
            lower = self._renyi.delta_brackets(epsilons[places])[1]
            result[1, places] = np.minimum(result[1, places], lower)
        return result

    @cached_property
    def _renyi(self) -> Curve | None:
        return self._make_renyi()


def wide(brackets: Array) -> list[int]:
    """Return which brackets of numbers that are at least 0 may gain by another bound."""
    return wide_brackets(brackets, WIDE)
