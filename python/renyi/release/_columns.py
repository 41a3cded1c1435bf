"""Columns of records: each record gives an integer or a cell, independent of the others.

The sensitivity of a floating-point sum is not that of the exact one: it depends on the order, on
the number of roundings, and on overflow (Casacuberta and others 2022, arXiv 2207.10635). So the
numbers of records are rounded to multiples of a power of two, one by one, then clipped to integer
bounds, and the integers are added exactly. The power of two depends on the bounds alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._arrays import outline
from renyi._validation import Range, check_array, number_in, real_of

Array = npt.NDArray[Any]

RECORDS = 1 << 20  # at a time: they take some megabytes beside the column
DIGITS = 36
LEAST_WIDTH = 2.0**-900
LARGEST = Range(-(2.0**900), 2.0**900)
EXACT = 2**53
NUMBERS = "a column of numbers"
ARRAYS = ("__array__", "__array_interface__", "__array_struct__")  # of objects with one type


def column_of(values: Any, name: str, allowed: str) -> Array:
    """Return a column as an array of one dimension, without a copy if it is one."""
    check_array(values, name)
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} must be {allowed}, got {type(values).__name__}")
    try:
        column = np.asanyarray(values)  # `asarray` would take the mask from an array of __array__
    except ValueError as error:  # rows of several lengths
        raise TypeError(f"{name} must be {allowed}, got {type(values).__name__}") from error
    check_array(column, name)
    if column.ndim == 0:
        raise TypeError(
            f"{name} must be {allowed}, an array or a list with one for each record, "
            f"got {type(values).__name__}"
        )
    if column.ndim != 1:
        raise ValueError(f"{name} must be {allowed}, one for each record, got {outline(column)}")
    return np.asarray(column)


def numbers_of_column(values: Any, missing: float | None) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the numbers of a column as doubles, piece by piece; infinities stay.

    Each number is rounded by itself to the nearest double. ``missing`` replaces NaN and None, which
    are refused without it.
    """
    column = _numeric(values)
    filler = None if missing is None else real_of(missing, "missing", "a number or None")
    for start in range(0, len(column), RECORDS):
        yield _filled(_doubles(column[start : start + RECORDS]), filler)


def _numeric(values: Any) -> Array:
    column = column_of(values, "values", NUMBERS)
    if column.dtype.kind not in "biuf" and not (column.dtype.kind == "O" or not column.size):
        raise TypeError(f"values must be {NUMBERS}, got {outline(column)}")
    return column


def utilities_of(values: Any) -> npt.NDArray[np.float64]:
    """Return finite numbers that are doubles: rounding others could move neighbours apart."""
    allowed = "finite numbers that are exactly doubles, at least one"
    column = _as_given(values, column_of(values, "utilities", allowed))
    if column.dtype.kind not in "iufO":
        raise TypeError(f"utilities must be {allowed}, got {outline(column)}")
    numbers = _doubles(column, "utilities", allowed)
    exact = len(numbers) and np.isfinite(numbers).all() and numbers.tolist() == column.tolist()
    if not exact:
        raise ValueError(f"utilities must be {allowed}, got {outline(column)}")
    return numbers


def _as_given(values: Any, column: Array) -> Array:
    """Return a column whose entries have their types in the given list.

    NumPy converts all to one type: to strings if one is a string, to doubles if one is a double.
    """
    if any(hasattr(values, name) for name in ARRAYS):
        return column
    return np.fromiter(values, object, len(column))


def _doubles(piece: Array, name: str = "values", allowed: str = NUMBERS) -> Array:
    if piece.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in piece):
        raise TypeError(f"{name} must be {allowed}, got strings")
    try:
        with np.errstate(all="ignore"):  # warnings would reveal records
            try:
                return piece.astype(np.float64)
            except OverflowError:
                return np.array([_double(value) for value in piece])
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be {allowed}, with None or NaN where there is none, got other objects"
        ) from None


def _double(value: Any) -> float:
    """Return the nearest double; an infinity for numbers beyond all doubles."""
    try:
        return math.nan if value is None else float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _filled(numbers: npt.NDArray[np.float64], filler: float | None) -> npt.NDArray[np.float64]:
    absent = np.isnan(numbers)
    if absent.any():
        if filler is None:
            raise ValueError(
                "values must have a number for each record, got NaN or None among them: give "
                "missing=, a number to stand for those, or leave these records out"
            )
        numbers[absent] = filler
    return numbers


def bounds_of(lower: Any, upper: Any) -> tuple[float, float]:
    """Return the bounds of a record, the first below the second."""
    low, high = number_in(lower, "lower", LARGEST), number_in(upper, "upper", LARGEST)
    if high - low < LEAST_WIDTH:
        raise ValueError(f"lower must be below upper, {high!r}, by 2^-900 or more, got {low!r}")
    return low, high


@dataclass(frozen=True, slots=True)
class Grid:
    """The integers k for multiples k 2^exponent that a number of a record is clipped to."""

    low: int
    high: int
    exponent: int

    @classmethod
    def between(cls, lower: float, upper: float, reach: float) -> Grid:
        """Return a grid with 2^35 to 2^36 steps in ``reach``, by which neighbours differ.

        Whole numbers are on the grid if ``reach`` is at most 2^36. Steps are larger if the bounds
        are so far from 0 that doubles are further apart.
        """
        exponent = max(math.frexp(reach)[1] - DIGITS, math.frexp(max(-lower, upper))[1] - 52)
        ends = [round(Fraction(bound) / Fraction(2) ** exponent) for bound in (lower, upper)]
        if math.ldexp(reach, -exponent) < 2**16:
            raise ValueError(
                "lower and upper must differ by at least 2^-36 of the larger of them, "
                f"got {lower!r} and {upper!r}"
            )
        return cls(ends[0], ends[1], exponent)

    @property
    def step(self) -> Fraction:
        """The number that one unit stands for."""
        return Fraction(2) ** self.exponent

    def total(self, pieces: Iterator[npt.NDArray[np.float64]]) -> tuple[int, int]:
        """Return the exact sum of the integers of all records, and the number of records."""
        total = count = 0
        for piece in pieces:
            with np.errstate(over="ignore", under="ignore"):
                np.ldexp(piece, -self.exponent, out=piece)  # exact, or out of bounds, or nearly 0
            np.rint(piece, out=piece)
            whole = np.clip(piece, self.low, self.high, out=piece).astype(np.int64)
            # Up to 2^20 integers below 2^52: sums of their 26-bit halves do not overflow.
            total += (int((whole >> 26).sum()) << 26) + int((whole & (2**26 - 1)).sum())
            count += len(whole)
        return total, count


def cells_of(values: Any, categories: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the number of records equal to each category; others are not counted."""
    column = column_of(values, "values", "a column of numbers, booleans or strings")
    if column.dtype.kind not in "biufUOT":
        raise TypeError(
            f"values must be a column of numbers, booleans or strings, got {outline(column)}"
        )
    for category in categories:
        if not isinstance(category, str) and abs(category) >= EXACT:
            raise ValueError(
                "categories must be below 2^53 where they are numbers, for columns hold rounded "
                f"ones as soon as an entry is missing: give strings, got {category!r}"
            )
    column = _as_given(values, column)
    places = {category: place for place, category in enumerate(categories)}
    cells = [0] * len(places)
    try:
        for start in range(0, len(column), RECORDS):
            for value, count in _counted(column[start : start + RECORDS]):
                place = places.get(value)
                if place is not None:
                    cells[place] += count
    except TypeError:
        raise TypeError("values must be numbers, booleans or strings, got others") from None
    return np.array(cells, np.int64)


def _counted(piece: Array) -> Iterator[tuple[Any, int]]:
    """Yield values with their counts; objects one by one, as one may equal several values."""
    if piece.dtype.kind in "OT":
        return zip(piece.tolist(), repeat(1))
    found, counts = np.unique(piece, return_counts=True)
    return zip(found.tolist(), counts.tolist(), strict=True)


def counts_between(values: Any, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the number of records in [e_k, e_(k+1)), the last closed; NaN is in none."""
    column = _numeric(values)
    cells = np.zeros(len(edges) - 1, np.int64)
    for start in range(0, len(column), RECORDS):
        numbers = _doubles(column[start : start + RECORDS])
        numbers = numbers[(numbers >= edges[0]) & (numbers <= edges[-1])]
        places = np.searchsorted(edges, numbers, side="right") - 1
        places[places == len(cells)] -= 1
        cells += np.bincount(places, minlength=len(cells))
    return cells


def sides_of(
    pieces: Iterator[npt.NDArray[np.float64]], points: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """Return the numbers of records below and at most each point, and of all records."""
    below = np.zeros(len(points) + 1, np.int64)
    upto = below.copy()
    count = 0
    for piece in pieces:
        below += np.bincount(np.searchsorted(points, piece, "right"), minlength=len(below))
        upto += np.bincount(np.searchsorted(points, piece, "left"), minlength=len(below))
        count += len(piece)
    return np.cumsum(below)[:-1], np.cumsum(upto)[:-1], count
