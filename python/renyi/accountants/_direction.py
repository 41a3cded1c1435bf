"""The privacy curve of one direction, asked many times: questions share their work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from renyi._curve import AllocationQuestions, SampledGaussianQuestions
from renyi._pair import LossComposition
from renyi.accountants._brackets import Array, Curve

__all__ = ["LOSSES_RTOL", "Bracket", "DirectionCurve", "WorseCurve", "is_wide"]

Bracket = tuple[float, float]
Truths = npt.NDArray[np.bool_]
Lattice = Callable[[], LossComposition]

LOSSES_RTOL = 1e-5  # of what lattices answer
WIDE = 2.0  # times that


class DirectionCurve:
    """What a composition loses in one direction. For one thread at a time.

    Parameters
    ----------
    sampled : SampledGaussianQuestions or AllocationQuestions, optional
        Where Gaussian and Poisson-sampled Gaussian steps, or one epoch of random allocation, are
        all there is.
    lattice : callable, optional
        Returns the composition on a lattice: all there is, or what narrows wide brackets.
    renyi : callable
        Returns the curve by Rényi divergences, above this one, if there is one: what wide upper
        ends are lowered to.
    rough : callable, optional
        Returns the composition on a lattice that takes little time, to tell whether more is worth
        finding.
    """

    def __init__(
        self,
        sampled: SampledGaussianQuestions | AllocationQuestions | None,
        lattice: Lattice | None,
        renyi: Callable[[], Curve | None],
        rough: Lattice | None = None,
    ) -> None:
        self._sampled, self._lattice, self._renyi = sampled, lattice, renyi
        self._rough = rough

    def epsilon_brackets(self, deltas: Array, known: Array | None = None) -> Array:
        """Return lower and upper ends, perhaps negative, of shape (2, n).

        Where ``known`` is certainly enough, both may be any smaller numbers.
        """
        if self._sampled is None:
            result = self._by_lattice(deltas, known, self._epsilon_by_lattice)
        else:
            result = np.empty((2, deltas.size))
            self._sampled.epsilon_into(deltas, result, known)
            self._narrow(result, deltas, known, self._epsilon_by_lattice)
        wide = _wide(result, known)
        if wide.any() and (renyi := self._renyi()) is not None:
            result[1, wide] = np.minimum(result[1, wide], renyi.epsilon_brackets(deltas[wide])[1])
        return result

    def delta_brackets(self, epsilons: Array, known: Array | None = None) -> Array:
        """Return lower and upper ends, of shape (2, n); ``known`` as for `epsilon_brackets`."""
        if self._sampled is None:
            result = self._by_lattice(epsilons, known, self._delta_by_lattice)
        else:
            result = np.empty((2, epsilons.size))
            self._sampled.delta_into(epsilons, result, known)
            self._narrow(result, epsilons, known, self._delta_by_lattice)
        wide = _wide(result, known)
        if wide.any() and (renyi := self._renyi()) is not None:
            result[1, wide] = np.minimum(result[1, wide], renyi.delta_brackets(epsilons[wide])[1])
        return result

    def _by_lattice(
        self, values: Array, known: Array | None, bracket: Callable[[float, Lattice], Bracket]
    ) -> Array:
        assert self._lattice is not None
        result = np.empty((2, values.size))
        for i, value in enumerate(values.tolist()):
            if known is not None and self._rough is not None:
                result[:, i] = bracket(value, self._rough)
                if result[1, i] <= known[i]:
                    continue
            result[:, i] = bracket(value, self._lattice)
        return result

    def _narrow(
        self,
        brackets: Array,
        values: Array,
        known: Array | None,
        bracket: Callable[[float, Lattice], Bracket],
    ) -> None:
        """Intersect wide brackets with those of a lattice if there is one."""
        if self._lattice is None:
            return
        for i in np.flatnonzero(_wide(brackets, known)):
            low, high = bracket(float(values[i]), self._lattice)
            brackets[:, i] = max(brackets[0, i], low), min(brackets[1, i], high)

    def _epsilon_by_lattice(self, delta: float, lattice: Lattice) -> Bracket:
        if delta == 1.0:
            return 0.0, 0.0
        low, high = lattice().epsilon_bounds(delta)
        # Next to no loss at all: delta at 0 may tell that none is needed.
        if low <= 0.0 < min(high, delta):
            high = 0.0 if self._delta_by_lattice(0.0, lattice)[1] <= delta else high
        return low, high

    def _delta_by_lattice(self, epsilon: float, lattice: Lattice) -> Bracket:
        low, high = lattice().delta_bounds(epsilon)
        return max(low, 0.0), min(high, 1.0)


class WorseCurve:
    """The larger of what some directions lose."""

    def __init__(self, directions: Iterable[DirectionCurve]) -> None:
        self._directions = list(directions)

    def epsilon_brackets(self, deltas: Array) -> Array:
        """Return lower and upper ends, at least 0, of shape (2, n)."""
        result = np.zeros((2, deltas.size))
        for curve in self._directions:
            found = curve.epsilon_brackets(deltas, result[0])
            np.maximum(result, found, out=result)
        return result

    def delta_brackets(self, epsilons: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        result = np.zeros((2, epsilons.size))
        for curve in self._directions:
            found = curve.delta_brackets(epsilons, result[0])
            np.maximum(result, found, out=result)
        return result


def is_wide(low: Array, high: Array) -> Truths:
    """Return which brackets of numbers that are at least 0 may gain by another bound."""
    narrow = np.maximum(low, sys.float_info.min) >= (1.0 - WIDE * LOSSES_RTOL) * high
    return np.asarray(~narrow)


def _wide(brackets: Array, known: Array | None) -> Truths:
    wide = is_wide(brackets[0], brackets[1])
    return wide if known is None else wide & (brackets[1] > known)
