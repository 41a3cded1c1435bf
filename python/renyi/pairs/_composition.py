"""Certified brackets of delta(epsilon) and epsilon(delta) of a composition."""

from __future__ import annotations

from collections.abc import Iterable

from renyi._pair import LossComposition
from renyi._validation import count_of, delta_of, real_of, uses_of
from renyi.pairs._distribution import DominatingPair, Part

__all__ = ["MAX_POINTS", "Composition", "delta_bounds", "epsilon_bounds"]

MAX_POINTS = 2**22
"""Default cap on the nodes of a lattice or window."""


class Composition:
    """Independent, possibly adaptive uses of several mechanisms, in one direction.

    Parameters
    ----------
    parts : iterable of (DominatingPair, int)
        Pairs with their counts, 0 <= count <= 1e9.
    rtol : float
        Aim for the relative width of brackets of delta, in [1e-12, 1].
    max_points : int
        Cap on the nodes of every lattice and window, in [2^10, 2^26]. Where it is reached the
        bracket is wider than asked for, and still encloses.

    Raises
    ------
    TypeError, ValueError
        On other types or values.

    Notes
    -----
    One use alone is integrated without a lattice. Otherwise the loss is discretised from both sides
    with one step, chosen so that the log moment functions of the two sides differ by less than
    ``rtol`` at the tilt; composed by FFT; the results enclose delta whatever was chosen.

    Examples
    --------
    >>> from renyi.pairs import LaplacePair
    >>> lower, upper = Composition([(LaplacePair(1.0), 10)]).delta_bounds(3.0)
    >>> bool(lower < upper < lower * 1.00001)
    True
    """

    def __init__(
        self, parts: Iterable[Part], *, rtol: float = 1e-5, max_points: int = MAX_POINTS
    ) -> None:
        self._rtol = real_of(rtol, "rtol", "a number in [1e-12, 1]")
        if not 1e-12 <= self._rtol <= 1.0:
            raise ValueError(f"rtol must be a number in [1e-12, 1], got {rtol!r}")
        points = count_of(max_points, "max_points")
        if not 2**10 <= points <= 2**26:
            raise ValueError(f"max_points must be an integer in [1024, 2^26], got {max_points!r}")
        self._parts = _distinct(parts)
        compiled = [(pair._pair, count) for pair, count in self._parts]
        self._composed = LossComposition(compiled, self._rtol, points)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The distinct parts with their counts."""
        return tuple(self._parts)

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Return numbers that enclose delta(epsilon), any real epsilon.

        Raises
        ------
        TypeError, ValueError
            If epsilon is not a real number, or NaN.
        """
        return self._composed.delta_bounds(real_of(epsilon, "epsilon", "a number"))

    def epsilon_bounds(self, delta: float) -> tuple[float, float]:
        """Return numbers that enclose the least epsilon with delta(epsilon) <= delta.

        Negative where even P and Q exchanged roles would satisfy it; inf below the infinite mass.

        Raises
        ------
        TypeError, ValueError
            If delta is not a number in [0, 1].
        """
        return self._composed.epsilon_bounds(delta_of(delta))


def _distinct(parts: Iterable[Part]) -> list[Part]:
    """Return the distinct parts with their counts, those that are used at all."""
    allowed = "an iterable of (DominatingPair, count) pairs"
    try:
        items = list(parts)
    except TypeError:
        raise TypeError(f"parts must be {allowed}, got {parts!r}") from None
    counts: dict[DominatingPair, int] = {}
    for item in items:
        pair: object = item
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], DominatingPair)):
            raise TypeError(f"parts must be {allowed}, got {item!r}")
        count = uses_of(item[1])
        if count:
            counts[item[0]] = counts.get(item[0], 0) + count
    return list(counts.items())


def delta_bounds(
    parts: Iterable[Part], epsilon: float, *, rtol: float = 1e-5, max_points: int = MAX_POINTS
) -> tuple[float, float]:
    """Return numbers that enclose delta(epsilon) of a composition, see ``Composition``.

    Examples
    --------
    >>> from renyi.pairs import RandomizedResponsePair
    >>> lower, upper = delta_bounds([(RandomizedResponsePair(0.8), 2)], 0.0)
    >>> bool(lower <= 0.6 <= upper < 0.6000001)
    True
    """
    return Composition(parts, rtol=rtol, max_points=max_points).delta_bounds(epsilon)


def epsilon_bounds(
    parts: Iterable[Part], delta: float, *, rtol: float = 1e-5, max_points: int = MAX_POINTS
) -> tuple[float, float]:
    """Return numbers that enclose epsilon(delta) of a composition, see ``Composition``.

    Examples
    --------
    >>> from renyi.pairs import LaplacePair
    >>> lower, upper = epsilon_bounds([(LaplacePair(10.0), 1)], 0.0)
    >>> bool(lower <= 0.1 <= upper)
    True
    """
    return Composition(parts, rtol=rtol, max_points=max_points).epsilon_bounds(delta)
