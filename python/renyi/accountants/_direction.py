"""The privacy curve of one direction, asked many times: questions share their work."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from renyi._curve import SampledGaussianQuestions
from renyi._pair import LossComposition

__all__ = ["LOSSES_RTOL", "Array", "Bracket", "DirectionCurve", "worse_deltas", "worse_epsilons"]

Array = npt.NDArray[np.float64]
Bracket = tuple[float, float]
Lattice = Callable[[], LossComposition]

LOSSES_RTOL = 1e-5  # of a single number that only lattices can give


class DirectionCurve:
    """What a composition loses in one direction. For one thread at a time.

    Parameters
    ----------
    sampled : SampledGaussianQuestions, optional
        Where Gaussian and Poisson-sampled Gaussian steps are all there is.
    lattice : callable, optional
        Returns the composition on a lattice: all there is, or what narrows wide brackets.
    largest_loss : float
        What no loss exceeds.
    """

    def __init__(
        self,
        sampled: SampledGaussianQuestions | None,
        lattice: Lattice | None,
        largest_loss: float,
    ) -> None:
        self._sampled, self._lattice = sampled, lattice
        self._largest_loss = largest_loss

    def is_enough(self, epsilon: float, delta: float) -> bool:
        """Return whether (epsilon, delta) certainly holds, as far as a quick bound can tell."""
        return (
            self._sampled is not None
            and epsilon > 0.0
            and self._sampled.rough_delta(epsilon) <= delta
        )

    def epsilons(self, deltas: Array, known: Array | None = None) -> Array:
        """Return epsilon rounded up, perhaps negative, at every delta.

        Where ``known`` is certainly enough, any smaller number may be returned.
        """
        upper: Array = self.epsilon_brackets(deltas, known)[1]
        return upper

    def deltas(self, epsilons: Array, known: Array | None = None) -> Array:
        """Return delta rounded up at every epsilon; ``known`` as for `epsilons`."""
        upper: Array = self.delta_brackets(epsilons, known)[1]
        return upper

    def epsilon_brackets(self, deltas: Array, known: Array | None = None) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        if self._sampled is None:
            return _each(self._epsilon_by_lattice, deltas)
        result = np.zeros((2, deltas.size))
        inside = (deltas > 0.0) & (deltas < 1.0)
        result[:, inside] = _answer(self._sampled.epsilon_into, deltas, known, inside)
        result[:, deltas == 0.0] = self._largest_loss
        return self._narrowed(result, deltas, self._epsilon_by_lattice)

    def delta_brackets(self, epsilons: Array, known: Array | None = None) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        if self._sampled is None:
            return _each(self._delta_by_lattice, epsilons)
        result = np.zeros((2, epsilons.size))
        finite = epsilons < math.inf
        result[:, finite] = _answer(self._sampled.delta_into, epsilons, known, finite)
        return self._narrowed(result, epsilons, self._delta_by_lattice)

    def _narrowed(
        self, brackets: Array, values: Array, bracket: Callable[[float], Bracket]
    ) -> Array:
        """Return brackets, wide ones intersected with those of a lattice if there is one."""
        if self._lattice is None:
            return brackets
        least = np.maximum(brackets[0], 0.0)
        finite = np.isfinite(brackets[1])
        narrow = finite & (brackets[1] - least <= LOSSES_RTOL * np.abs(brackets[1]))
        for i in np.flatnonzero(~(narrow | (brackets[1] <= sys.float_info.min))):
            if brackets[0, i] < brackets[1, i]:
                low, high = bracket(float(values[i]))
                brackets[:, i] = max(brackets[0, i], low), min(brackets[1, i], high)
        return brackets

    def _epsilon_by_lattice(self, delta: float) -> Bracket:
        assert self._lattice is not None
        if delta == 1.0:
            return 0.0, 0.0
        low, high = self._lattice().epsilon_bounds(delta)
        # Next to no loss at all: delta at 0 may tell that none is needed.
        if low <= 0.0 < min(high, delta):
            high = 0.0 if self._delta_by_lattice(0.0)[1] <= delta else high
        return low, high

    def _delta_by_lattice(self, epsilon: float) -> Bracket:
        assert self._lattice is not None
        low, high = self._lattice().delta_bounds(epsilon)
        return max(low, 0.0), min(high, 1.0)


def worse_deltas(curves: Iterable[DirectionCurve], epsilons: Array) -> Array:
    """Return the largest delta of some directions at every epsilon."""
    result = np.zeros(epsilons.shape)
    for curve in curves:
        np.maximum(result, curve.deltas(epsilons, result), out=result)
    return result


def worse_epsilons(curves: Iterable[DirectionCurve], deltas: Array) -> Array:
    """Return the largest epsilon of some directions at every delta; at least 0."""
    result = np.zeros(deltas.shape)
    for curve in curves:
        np.maximum(result, curve.epsilons(deltas, result), out=result)
    return result


def _each(bracket: Callable[[float], Bracket], values: Array) -> Array:
    return np.array([bracket(value) for value in values.tolist()]).reshape(-1, 2).T


def _answer(
    query: Callable[[Array, Array, Array | None], None],
    values: Array,
    known: Array | None,
    chosen: npt.NDArray[np.bool_],
) -> Array:
    """Return the brackets of the chosen values, asked in ascending order: neighbours share work."""
    index = np.flatnonzero(chosen)
    order = index[np.argsort(values[index], kind="stable")]
    out: Array = np.empty((2, index.size))
    query(values[order], out, None if known is None else known[order])
    result: Array = np.empty((2, values.size))
    result[:, order] = out
    return result[:, index]
