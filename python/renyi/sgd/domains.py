"""Convex sets that iterates are projected onto: ball, box, interval.

Diameters and norms are rounded up by 1e-12, so that they hold for projections in floating point.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from renyi._validation import Range, integer_of, number_in, numbers_of, real_of

__all__ = ["Ball", "Box", "Domain", "Interval"]

Vector = npt.NDArray[np.float64]

_UP = 1.0 + 1e-12
_LARGEST = 1e70


class Domain(Protocol):
    """A convex compact set."""

    @property
    def dimension(self) -> int:
        """Number of coordinates."""

    @property
    def diameter(self) -> float:
        """Largest distance of two points."""

    @property
    def largest_norm(self) -> float:
        """Largest L2 norm of a point."""

    def project(self, w: Vector) -> Vector:
        """Return the nearest point."""


class Ball:
    """All points within ``radius`` of ``centre``.

    Parameters
    ----------
    radius : float
        In [1e-70, 1e70].
    centre : array_like
        One number a coordinate, each in [-1e70, 1e70].

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> ball = Ball(2.0, centre=[1.0, 0.0])
    >>> ball.project(np.array([9.0, 0.0])), round(ball.diameter, 9)
    (array([3., 0.]), 4.0)
    """

    def __init__(self, radius: float, centre: npt.ArrayLike) -> None:
        self.radius = number_in(radius, "radius", Range(1e-70, 1e70))
        self.centre = _vector(centre, "centre")

    @classmethod
    def around_zero(cls, radius: float, dimension: int) -> Ball:
        """Return the ball around the origin."""
        return cls(radius, np.zeros(integer_of(dimension, "dimension", 1)))

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.centre)

    @property
    def diameter(self) -> float:
        """Largest distance of two points."""
        return 2.0 * self.radius * _UP

    @property
    def largest_norm(self) -> float:
        """Largest L2 norm of a point."""
        return (math.hypot(*self.centre) + self.radius) * _UP

    def project(self, w: Vector) -> Vector:
        """Return the nearest point."""
        away = w - self.centre
        with np.errstate(over="ignore"):
            distance = math.sqrt(float(away @ away))
            if distance <= self.radius:
                return w
            if distance == math.inf:
                away = away / np.abs(away).max()
                distance = math.sqrt(float(away @ away))
        return np.asarray(self.centre + away * (self.radius / distance))

    def __repr__(self) -> str:
        return f"<Ball: radius {self.radius:g}, {self.dimension} dimensions>"


class Box:
    """All points with every coordinate between two bounds.

    Parameters
    ----------
    lower, upper : array_like
        One number a coordinate, in [-1e70, 1e70]; ``lower < upper``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> box = Box([0.0, 0.0], [3.0, 4.0])
    >>> box.project(np.array([-1.0, 2.0])), round(box.diameter, 9)
    (array([0., 2.]), 5.0)
    """

    def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> None:
        self.lower, self.upper = _vector(lower, "lower"), _vector(upper, "upper")
        if self.lower.shape != self.upper.shape:
            raise ValueError(
                f"upper must be of the length of lower, {len(self.lower)}, got {len(self.upper)}"
            )
        if not (self.lower < self.upper).all():
            raise ValueError(f"lower must be below upper, got {lower!r} and {upper!r}")

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.lower)

    @property
    def diameter(self) -> float:
        """Largest distance of two points."""
        return math.hypot(*(self.upper - self.lower)) * _UP

    @property
    def largest_norm(self) -> float:
        """Largest L2 norm of a point."""
        return math.hypot(*np.maximum(abs(self.lower), abs(self.upper))) * _UP

    def project(self, w: Vector) -> Vector:
        """Return the nearest point."""
        return np.minimum(np.maximum(w, self.lower), self.upper)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.lower.tolist()} to {self.upper.tolist()}>"


class Interval(Box):
    """All numbers between two bounds: a `Box` of one dimension.

    Parameters
    ----------
    lower, upper : float
        In [-1e70, 1e70]; ``lower < upper``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> Interval(0.0, 1.0).project(np.array([1.5]))
    array([1.])
    """

    def __init__(self, lower: float, upper: float) -> None:
        allowed = "a number in [-1e70, 1e70]"
        super().__init__([real_of(lower, "lower", allowed)], [real_of(upper, "upper", allowed)])


def _vector(values: Any, name: str) -> Vector:
    allowed = "one number in [-1e70, 1e70] a coordinate"
    flat, shape = numbers_of(values, name, -_LARGEST, _LARGEST, allowed)
    if len(shape) != 1 or not flat.size:
        raise ValueError(f"{name} must be {allowed}, got an array of shape {shape}")
    return flat
