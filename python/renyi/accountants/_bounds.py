"""Brackets of epsilon and delta: what every other answer is read from."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from renyi._validation import numbers_of, real_of
from renyi.accountants._brackets import Array, Curve, DirectionName
from renyi.accountants._group import group_size_of
from renyi.accountants._ledger import Ledger, Part

__all__ = ["Bounds", "rtol_of"]

DELTAS = "a number in [0, 1] or an array of these"
EPSILONS = "a number in [0, inf] or an array of these"


class Bounds(Ledger[Part]):
    """Certified brackets of a composition's privacy curve."""

    @abstractmethod
    def _curve(self, direction: DirectionName | None, rtol: float, size: int) -> Curve:
        """Return the curve of one direction, or the worse of both, for groups of a size."""

    @overload
    def get_epsilon_bounds(
        self,
        delta: float,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> tuple[float, float]: ...
    @overload
    def get_epsilon_bounds(
        self,
        delta: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> tuple[float, float] | tuple[Array, Array]: ...
    def get_epsilon_bounds(
        self,
        delta: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> tuple[float, float] | tuple[Array, Array]:
        """Return certified numbers that enclose the epsilon that this accountant's curve has.

        Parameters
        ----------
        delta, direction, rtol, group_size
            As for `get_epsilon`.

        Returns
        -------
        tuple of two floats or arrays
            Lower and upper ends: around the exact epsilon (`PLDAccountant`), or that of the best
            order of Rényi divergence (`RDPAccountant`). The lower end for a group is that for one
            record where what the group reveals is not known exactly.

        Raises
        ------
        TypeError, ValueError
            For arguments outside these ranges.

        Examples
        --------
        >>> from renyi import Laplace, PLDAccountant
        >>> accountant = PLDAccountant().compose(Laplace(2.0), 10)
        >>> low, high = accountant.get_epsilon_bounds(1e-5, rtol=1e-8)
        >>> low <= accountant.get_epsilon(1e-5, rtol=1e-8) <= high < low + 1e-7
        True
        """
        ends = self._epsilon_ends(delta, direction, rtol, group_size)
        least = self._attained(direction, rtol)
        if least is None:
            return ends
        flat, shape = numbers_of(delta, "delta", 0.0, 1.0, DELTAS)
        low = np.minimum(np.ravel(ends[0]), least.epsilon_brackets(flat)[0])
        return _ends(np.array([low, np.ravel(ends[1])]), shape)

    def _epsilon_ends(
        self, delta: npt.ArrayLike, direction: DirectionName | None, rtol: float, group_size: int
    ) -> tuple[float, float] | tuple[Array, Array]:
        flat, shape = numbers_of(delta, "delta", 0.0, 1.0, DELTAS)
        curve = self._curve(direction, rtol_of(rtol), group_size_of(group_size))
        return _ends(curve.epsilon_brackets(flat), shape)

    def _attained(self, direction: DirectionName | None, rtol: float) -> Curve | None:
        """Return a curve whose lower ends hold where those of the accountant's need not."""
        return None

    @overload
    def get_delta_bounds(
        self,
        epsilon: float,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> tuple[float, float]: ...
    @overload
    def get_delta_bounds(
        self,
        epsilon: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> tuple[float, float] | tuple[Array, Array]: ...
    def get_delta_bounds(
        self,
        epsilon: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
        rtol: float = 1e-5,
        group_size: int = 1,
    ) -> tuple[float, float] | tuple[Array, Array]:
        """Return certified numbers that enclose the delta that this accountant's curve has.

        Parameters
        ----------
        epsilon
            As for `get_delta`.
        direction, rtol, group_size
            As for `get_epsilon`.

        Returns
        -------
        tuple of two floats or arrays
            As for `get_epsilon_bounds`.

        Raises
        ------
        TypeError, ValueError
            For arguments outside these ranges.
        """
        ends = self._delta_ends(epsilon, direction, rtol, group_size)
        least = self._attained(direction, rtol)
        if least is None:
            return ends
        flat, shape = numbers_of(epsilon, "epsilon", 0.0, math.inf, EPSILONS)
        low = np.minimum(np.ravel(ends[0]), least.delta_brackets(flat)[0])
        return _ends(np.array([low, np.ravel(ends[1])]), shape)

    def _delta_ends(
        self, epsilon: npt.ArrayLike, direction: DirectionName | None, rtol: float, group_size: int
    ) -> tuple[float, float] | tuple[Array, Array]:
        flat, shape = numbers_of(epsilon, "epsilon", 0.0, math.inf, EPSILONS)
        curve = self._curve(direction, rtol_of(rtol), group_size_of(group_size))
        return _ends(curve.delta_brackets(flat), shape)


def rtol_of(value: Any) -> float:
    """Return a relative width that lattices can reach."""
    rtol = real_of(value, "rtol", "a number in [1e-8, 0.1]")
    if not 1e-8 <= rtol <= 0.1:
        raise ValueError(f"rtol must be a number in [1e-8, 0.1], got {value!r}")
    return rtol


def _ends(brackets: Array, shape: tuple[int, ...]) -> tuple[float, float] | tuple[Array, Array]:
    if not shape:
        return brackets.item(0), brackets.item(1)
    low, high = brackets
    return low.reshape(shape), high.reshape(shape)
