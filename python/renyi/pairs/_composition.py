"""Compositions of pairs: certified brackets of delta(epsilon) and epsilon(delta), trade-off."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._engine import LossComposition, Pair, common_step
from renyi._validation import Range, count_of, delta_of, number_in, real_of, uses_of
from renyi.pairs.dominating import Array, DominatingPair, Part, compiled_pair

MAX_POINTS = 2**22
"""Default cap on the nodes of a lattice or window."""

_MAX_VERTICES = 2**14


class Composition:
    """Independent, possibly adaptive uses of several mechanisms, in one direction.

    Args:
        parts: Pairs with their counts, 0 <= count <= 1e9; also pairs that
            `Mechanism.dominating_pair` returned.
        rtol: The aim for the relative width of brackets of delta, in [1e-12, 1].
        max_points: Cap on the nodes of every lattice and window, in [2^10, 2^26]. If it is reached,
            the bracket is wider than ``rtol``, and still encloses.

    One use alone is integrated without a lattice. Otherwise the loss is discretised from both sides
    with one step, chosen so that the log moment functions of the two sides differ by less than
    ``rtol`` at the tilt, and composed by FFT. The results enclose delta for any step and tilt.

    >>> from renyi.mechanisms import Laplace
    >>> lower, upper = Composition([(Laplace(1.0).dominating_pair(), 10)]).delta_bounds(3.0)
    >>> bool(lower < upper < lower * 1.00001)
    True
    """

    def __init__(
        self, parts: Iterable[Part], *, rtol: float = 1e-5, max_points: int = MAX_POINTS
    ) -> None:
        self._rtol = number_in(rtol, "rtol", Range(1e-12, 1.0))
        points = count_of(max_points, "max_points")
        if not 2**10 <= points <= 2**26:
            raise ValueError(f"max_points must be an integer in [1024, 2^26], got {max_points!r}")
        self._parts, self._points = _distinct(parts), points
        self._composed = LossComposition(
            [(compiled_pair(pair), count) for pair, count in self._parts], self._rtol, points
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies compose anew; those of pairs that `Mechanism.dominating_pair` returned raise."""
        return partial(Composition, rtol=self._rtol, max_points=self._points), (self._parts,)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The distinct parts with their counts."""
        return tuple(self._parts)

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Return numbers that enclose delta(epsilon), any real epsilon.

        >>> from renyi.mechanisms import RandomizedResponse
        >>> answers = Composition([(RandomizedResponse(0.8).dominating_pair(), 2)])
        >>> lower, upper = answers.delta_bounds(0.0)
        >>> bool(lower <= 0.6 <= upper < 0.6000001)
        True
        """
        return self._composed.delta_bounds(real_of(epsilon, "epsilon", "a number"))

    def epsilon_bounds(self, delta: float) -> tuple[float, float]:
        """Return numbers that enclose the least epsilon with delta(epsilon) <= delta.

        Epsilon is negative if Q and P exchanged satisfy it, too; inf for delta below the infinite
        mass.

        >>> from renyi.mechanisms import Laplace
        >>> one = Composition([(Laplace(10.0).dominating_pair(), 1)])
        >>> lower, upper = one.epsilon_bounds(0.0)
        >>> bool(lower <= 0.1 <= upper)
        True
        """
        return self._composed.epsilon_bounds(delta_of(delta))

    def discrete_tradeoff(self) -> tuple[Array, Array]:
        """Return the vertices (alpha, beta) of the trade-off function of finitely many losses.

        Beta is the least probability of accepting Q under P among tests that reject Q under Q with
        probability at most alpha (Dong, Roth, Su 2022, arXiv 1905.02383). It is linear between the
        vertices: ``numpy.interp(alpha, *parts.discrete_tradeoff())``.

        Returns:
            alpha, beta: alpha increasing from 0 to 1, beta decreasing to 0. All sums are of
                non-negative terms, so every value has a small relative error (1e-13 for a thousand
                points).

        Raises:
            ValueError: If the composed losses do not lie on one lattice of at most 16,384 points,
                as those of randomized response do, and of discrete pairs with commensurable losses.

        >>> from renyi.mechanisms import RandomizedResponse
        >>> answers = Composition([(RandomizedResponse(0.6).dominating_pair(), 1)])
        >>> alpha, beta = answers.discrete_tradeoff()
        >>> np.interp([0.0, 0.25, 0.5, 0.75, 1.0], alpha, beta).round(3).tolist()
        [1.0, 0.625, 0.333, 0.167, 0.0]
        """
        items = self._parts
        step = common_step([compiled_pair(pair) for pair, _ in items])
        if step is None:
            raise ValueError("parts must be of finitely many losses on one lattice, got others")
        p, q = np.ones(1), np.ones(1)
        for pair, count in items:
            losses, masses, others = compiled_pair(pair).atoms()
            places = np.rint((losses - losses.min()) / step).astype(np.intp)
            length = count * int(places.max()) + p.size
            if length > _MAX_VERTICES:
                raise ValueError(
                    f"parts must be of at most {_MAX_VERTICES} composed losses, got {length}"
                )
            p, q = (
                np.convolve(total, _self_convolved(_at_nodes(places, weights), count))
                for total, weights in ((p, masses), (q, others))
            )
        # The test rejects Q from the largest loss downward. p lacks outcomes of P alone, so that
        # beta starts below 1; outcomes of Q alone come last.
        alpha = np.concatenate(([0.0], np.cumsum(q[::-1])))
        beta = np.concatenate((np.cumsum(p)[::-1], [0.0]))
        if any(compiled_pair(pair).null_mass > 0.0 for pair, _ in items):
            alpha, beta = np.append(alpha, 1.0), np.append(beta, 0.0)
        alpha[-1] = 1.0
        return np.minimum(alpha, 1.0), beta


_PAIRS = (DominatingPair, Pair)


def _distinct(parts: Iterable[Part]) -> list[Part]:
    """Return the distinct parts with their counts, without unused parts."""
    allowed = "an iterable of (DominatingPair, count)"
    try:
        items = list(parts)
    except TypeError:
        raise TypeError(f"parts must be {allowed}, got {parts!r}") from None
    counts: dict[DominatingPair | Pair, int] = {}
    for item in items:
        pair: object = item
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], _PAIRS)):
            raise TypeError(f"parts must be {allowed}, got {item!r}")
        count = uses_of(item[1])
        if count:
            counts[item[0]] = counts.get(item[0], 0) + count
    return list(counts.items())


def _at_nodes(places: npt.NDArray[np.intp], weights: Array) -> Array:
    return np.asarray(np.bincount(places, weights), dtype=np.float64)


def _self_convolved(masses: Array, count: int) -> Array:
    """Return the count-fold convolution, by squaring; all terms are non-negative."""
    result = np.ones(1)
    while count:
        if count & 1:
            result = np.convolve(result, masses)
        count >>= 1
        if count:
            masses = np.convolve(masses, masses)
    return result
