"""The exact accountant: (epsilon, delta) from the whole distribution of the privacy loss."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from renyi._validation import numbers_of, real_of, uses_of
from renyi.accountants._base import Adjacency
from renyi.accountants._curves import PrivacyCurves
from renyi.accountants._direction import (
    LOSSES_RTOL,
    Array,
    DirectionCurve,
    worse_deltas,
    worse_epsilons,
)
from renyi.accountants._risk import CurveAccountant, DirectionName, Part
from renyi.accountants._samples import compiled_pair, leaves
from renyi.accountants._steps import SampledStep, gaussian_steps, settled
from renyi.accountants._support import check_adjacency
from renyi.mechanisms import Mechanism, ShuffledBatches

__all__ = ["DirectionName", "PLDAccountant"]

DELTAS = "a number in [0, 1] or an array of these"
EPSILONS = "a number in [0, inf] or an array of these"


class PLDAccountant(CurveAccountant):
    """Accountant of the exact privacy curve.

    Parameters
    ----------
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Which data sets are neighbours: one has a record more, or one record differs (noise has to
        hide twice the sensitivity then), or one record is replaced by one that contributes nothing.
        Both directions are evaluated and the worse one reported.

    Raises
    ------
    ValueError
        If the adjacency is unknown.

    Notes
    -----
    Equal steps merge: memory and time grow with the number of distinct steps only. Every method
    reads the same certified brackets, and single numbers and arrays are their upper ends: of the
    curve of the dominating pairs. For `Exponential`, for several uses of `Gumbel`, and for sampling
    without Poisson's coins or of replaced records that is above the curve of any one mechanism, and
    the lower ends are what fixed neighbours reach. Methods may be called from many threads.

    Gaussian and Poisson-sampled Gaussian steps of training runs, few or many: a query takes
    typically a millisecond, at most some tens, and a bracket is mostly below 1e-12 wide,
    relatively. Far from these (noise multipliers of 0.1, delta below 1e-15, rates next to 0 or 1)
    no route may be narrow, and what several bounds leave is the answer.

    Other mechanisms, and Gaussian noise on samples where records are replaced, take lattices of at
    most 2^20 nodes (half a gigabyte, seconds), which may reach this cap. Wherever a bracket is
    wide, a single number may be that much too large. It is never too small.

    References
    ----------
    Alghamdi et al. 2023, arXiv 2208.09595, Theorem 3.1 (the inversion integral). Zhu, Dong, Wang
    2022, arXiv 2106.08567 (dominating pairs). Doroshenko et al. 2022, arXiv 2207.04380 (connecting
    the dots).

    Examples
    --------
    >>> from renyi import Gaussian, PLDAccountant, PoissonSampled
    >>> accountant = PLDAccountant().compose(PoissonSampled(Gaussian(1.1), 0.004), 15_000)
    >>> round(accountant.get_epsilon(1e-5), 6)
    2.29537
    """

    def __init__(self, adjacency: Adjacency = "add_remove") -> None:
        super().__init__(adjacency)
        self._curves = PrivacyCurves(self._adjacency, self._lock)

    def _parts_of(self, mechanism: Mechanism) -> Sequence[tuple[Part, int]]:
        parts: list[tuple[Part, int]] = []
        for leaf, count in leaves(mechanism):
            check_adjacency(leaf, self._adjacency)
            steps = gaussian_steps(leaf)
            if steps is not None:
                parts += [(step, times * count) for step, times in steps]
            elif isinstance(leaf, ShuffledBatches):  # every record is in one batch
                inner = self._parts_of(leaf.mechanism)
                parts += [(part, times * count) for part, times in inner]
            else:
                compiled_pair(leaf, self._adjacency, True)  # raises
                parts.append((leaf, count))
        return parts

    def _kind(self, part: Part) -> Hashable:
        return settled(part) if isinstance(part, SampledStep) else part

    def _record(self, part: Part, count: int) -> None:
        if isinstance(part, SampledStep):
            self._curves.add_step(part, count)
        else:
            self._curves.add_loss(part, count)

    @overload
    def get_epsilon(self, delta: float, *, direction: DirectionName | None = None) -> float: ...
    @overload
    def get_epsilon(
        self, delta: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array: ...
    def get_epsilon(
        self, delta: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array:
        """Return the smallest epsilon such that the composition is (epsilon, delta)-DP, rounded up.

        Parameters
        ----------
        delta : float or array_like of float
            In [0, 1]. An array shares the work: a thousand values cost little more than one.
        direction : {"remove", "add"}, optional
            Of the neighbouring pair; by default the worse of both.

        Returns
        -------
        float or ndarray of float64
            At least 0, of the shape of ``delta``; infinity where no epsilon will do.

        Raises
        ------
        TypeError, ValueError
            If ``delta`` is not made of numbers in [0, 1], or for an unknown direction.

        Examples
        --------
        >>> from renyi import Gaussian
        >>> round(PLDAccountant().compose(Gaussian(1.0)).get_epsilon(1e-5), 6)
        4.377178
        """
        flat, shape = numbers_of(delta, "delta", 0.0, 1.0, DELTAS)
        result = worse_epsilons(self._curves_of(direction), flat)
        return result.reshape(shape) if shape else float(result[0])

    @overload
    def get_delta(self, epsilon: float, *, direction: DirectionName | None = None) -> float: ...
    @overload
    def get_delta(
        self, epsilon: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array: ...
    def get_delta(
        self, epsilon: npt.ArrayLike, *, direction: DirectionName | None = None
    ) -> float | Array:
        """Return the smallest delta such that the composition is (epsilon, delta)-DP, rounded up.

        Parameters
        ----------
        epsilon : float or array_like of float
            In [0, inf]. An array shares the work.
        direction : {"remove", "add"}, optional
            Of the neighbouring pair; by default the worse of both.

        Returns
        -------
        float or ndarray of float64
            In [0, 1], of the shape of ``epsilon``.

        Raises
        ------
        TypeError, ValueError
            If ``epsilon`` is not made of numbers in [0, inf], or for an unknown direction.

        Examples
        --------
        >>> from renyi import Gaussian
        >>> accountant = PLDAccountant().compose(Gaussian(1.0))
        >>> accountant.get_delta([0.0, 1.0]).round(6)
        array([0.382925, 0.126937])
        """
        flat, shape = numbers_of(epsilon, "epsilon", 0.0, math.inf, EPSILONS)
        result = worse_deltas(self._curves_of(direction), flat)
        return result.reshape(shape) if shape else float(result[0])

    def get_epsilon_bounds(
        self, delta: float, *, rtol: float = 1e-5, direction: DirectionName | None = None
    ) -> tuple[float, float]:
        """Return certified numbers that enclose the exact epsilon.

        Parameters
        ----------
        delta : float
            In [0, 1].
        rtol : float
            In [1e-8, 1e-1]: the width that lattices aim at, as a relative width of delta. Wider
            where they reach their cap.
        direction : {"remove", "add"}, optional
            By default the worse of both.

        Raises
        ------
        TypeError, ValueError
            For arguments outside these ranges.
        """
        flat, _ = numbers_of(delta, "delta", 0.0, 1.0, "a number in [0, 1]")
        target, rtol = _one(flat, "delta", delta), _rtol_of(rtol)
        low = high = 0.0
        for curve in self._curves_of(direction, rtol):
            if not curve.is_enough(low, target):  # else this direction needs less
                bracket = curve.epsilon_brackets(flat)[:, 0].tolist()
                low, high = max(low, bracket[0]), max(high, bracket[1])
        return low, high

    def get_delta_bounds(
        self, epsilon: float, *, rtol: float = 1e-5, direction: DirectionName | None = None
    ) -> tuple[float, float]:
        """Return certified numbers that enclose the exact delta.

        Parameters
        ----------
        epsilon : float
            In [0, inf].
        rtol : float
            In [1e-8, 1e-1]: the relative width that lattices aim at. Wider where they reach their
            cap.
        direction : {"remove", "add"}, optional
            By default the worse of both.

        Raises
        ------
        TypeError, ValueError
            For arguments outside these ranges.
        """
        flat, _ = numbers_of(epsilon, "epsilon", 0.0, math.inf, "a number in [0, inf]")
        target, rtol = _one(flat, "epsilon", epsilon), _rtol_of(rtol)
        low = high = 0.0
        for curve in self._curves_of(direction, rtol):
            if not curve.is_enough(target, low):  # else this direction loses less
                bracket = curve.delta_brackets(flat)[:, 0].tolist()
                low, high = max(low, bracket[0]), max(high, bracket[1])
        return low, high

    def get_epsilon_after(
        self,
        delta: float,
        mechanism: Mechanism,
        counts: npt.ArrayLike,
        *,
        direction: DirectionName | None = None,
    ) -> Array:
        """Return epsilon after each number of further uses of a mechanism, recording nothing.

        Parameters
        ----------
        delta : float
            In [0, 1].
        mechanism : Mechanism
            What a run would go on with.
        counts : array_like of int
            Numbers of uses, each in [0, 10^9] as for `compose`. They share the work: in ascending
            order a thousand checkpoints cost little more than a dozen.
        direction : {"remove", "add"}, optional
            By default the worse of both.

        Returns
        -------
        ndarray of float64
            Of the shape of ``counts``.

        Raises
        ------
        TypeError, ValueError
            For arguments outside these ranges.

        Examples
        --------
        >>> from renyi import Gaussian, PoissonSampled
        >>> step = PoissonSampled(Gaussian(1.0), 0.01)
        >>> PLDAccountant().get_epsilon_after(1e-5, step, [0, 1000, 10_000]).round(4)
        array([0.    , 1.8282, 6.1877])
        """
        flat, _ = numbers_of(delta, "delta", 0.0, 1.0, "a number in [0, 1]")
        target = _one(flat, "delta", delta)
        given = np.asarray(counts)
        times = [uses_of(count, "counts") for count in given.reshape(-1)]
        self._uses_with(self._parts_of(mechanism), max(times, default=0))  # raises
        repeated = PLDAccountant(self._adjacency).compose(mechanism)
        floats = np.array(times, dtype=np.float64)
        result = np.zeros(len(times))
        for remove in {*self._directions(direction), *repeated._directions(direction)}:
            found = self._curves.epsilons_after(repeated._curves, floats, target, remove)
            np.maximum(result, found, out=result)  # NaN stays
        for i in np.flatnonzero(np.isnan(result)):
            later = self._copy().compose(mechanism, times[i])
            result[i] = later.get_epsilon(target, direction=direction)
        return np.asarray(result.reshape(given.shape))

    def _curves_of(
        self, direction: DirectionName | None, rtol: float = LOSSES_RTOL
    ) -> list[DirectionCurve]:
        return [self._curves.direction(remove, rtol) for remove in self._directions(direction)]

    def _directions(self, direction: DirectionName | None) -> tuple[bool, ...]:
        """Return which directions to evaluate, True for remove."""
        if direction not in (None, "remove", "add"):
            raise ValueError(f"direction must be 'remove', 'add' or None, got {direction!r}")
        if direction is not None:
            if self._adjacency == "replace_one":
                raise ValueError(
                    f"direction must be None where records are replaced, got {direction!r}"
                )
            return (direction == "remove",)
        return (True,) if self._curves.is_mirrored() else (True, False)


def _one(values: Array, name: str, given: object) -> float:
    if values.size != 1:
        raise TypeError(f"{name} must be a number, got {given!r}")
    return float(values[0])


def _rtol_of(value: Any) -> float:
    rtol = real_of(value, "rtol", "a number in [1e-8, 0.1]")
    if not 1e-8 <= rtol <= 0.1:
        raise ValueError(f"rtol must be a number in [1e-8, 0.1], got {value!r}")
    return rtol
