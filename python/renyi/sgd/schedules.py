"""Numbers that change in the course of a run, by the step alone and by nothing in the data."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from renyi._validation import integer_of, real_of

__all__ = ["Schedule", "checked_schedule", "value_at"]


@dataclass(frozen=True)
class Schedule:
    """A number for each step, constant in between some.

    Where it takes the place of a number, as for a learning rate, it is that number; as the
    ``noise_schedule`` or ``clip_schedule`` of a `TrainingPlan` it is what the plan's is multiplied
    with.

    Parameters
    ----------
    starts : sequence of int
        The first steps of the pieces, increasing, from 1 on, with which steps are counted.
    values : sequence of float
        Of the pieces: finite and not negative. The last one stays.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> half = Schedule((1, 501), (1.0, 0.5))
    >>> half.at(500), half.at(501), half.at(10_000)
    (1.0, 0.5, 0.5)
    >>> round(Schedule.cosine(0.1, 0.0, steps=1000, warmup=100).at(50), 4)
    0.0495
    """

    starts: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        starts = tuple(integer_of(step, "starts", 1) for step in self.starts)
        values = tuple(_value_of(value) for value in self.values)
        increasing = all(a < b for a, b in pairwise(starts))
        if not starts or starts[0] != 1 or not increasing:
            raise ValueError(f"starts must be increasing and begin with 1, got {self.starts!r}")
        if len(values) != len(starts):
            raise ValueError(f"values must be one for each of {len(starts)}, got {len(values)}")
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "values", values)

    @classmethod
    def linear(cls, first: float, last: float, *, steps: int, pieces: int = 100) -> Schedule:
        """Return numbers from ``first`` to ``last`` in equal differences."""
        return cls._shaped(lambda t: first + (last - first) * t, steps, pieces)

    @classmethod
    def exponential(cls, first: float, last: float, *, steps: int, pieces: int = 100) -> Schedule:
        """Return numbers from ``first`` to ``last``, both positive, in equal ratios."""
        low, high = (math.log(real_of(x, "first and last", "positive")) for x in (first, last))
        return cls._shaped(lambda t: math.exp(low + (high - low) * t), steps, pieces)

    @classmethod
    def cosine(
        cls, first: float, last: float, *, steps: int, warmup: int = 0, pieces: int = 100
    ) -> Schedule:
        """Return numbers on half a wave, after ``warmup`` steps that rise to ``first``."""

        def value(t: float) -> float:
            return last + (first - last) * 0.5 * (1.0 + math.cos(math.pi * t))

        if not warmup:
            return cls._shaped(value, steps, pieces)
        rise = cls._shaped(lambda t: first * t, warmup, pieces)
        fall = cls._shaped(value, integer_of(steps, "steps", 1) - warmup, pieces)
        return cls(
            rise.starts + tuple(start + warmup for start in fall.starts), rise.values + fall.values
        )

    @classmethod
    def _shaped(cls, value: Callable[[float], float], steps: int, pieces: int) -> Schedule:
        """Return a function on [0, 1] over so many steps, in pieces as equal as can be."""
        length = integer_of(steps, "steps", 1)
        count = min(integer_of(pieces, "pieces", 1), length)
        starts = tuple(1 + k * length // count for k in range(count))
        return cls(starts, tuple(value(k / max(count - 1, 1)) for k in range(count)))

    def at(self, step: int) -> float:
        """Return the number of a step, counted from 1."""
        return self.values[self.piece(step)]

    def piece(self, step: int) -> int:
        """Return in which piece a step is, counted from 0."""
        return bisect_right(self.starts, step) - 1

    def counts(self, done: int, steps: int) -> Iterator[tuple[int, int]]:
        """Yield the pieces of ``steps`` steps after ``done``, and how many of these are in each."""
        first, last = done + 1, done + steps
        for k in range(self.piece(first), len(self.starts)):
            end = self.starts[k + 1] - 1 if k + 1 < len(self.starts) else last
            if first <= min(end, last):
                yield k, min(end, last) - first + 1
            first = end + 1


def checked_schedule(value: Any, name: str, *, positive: bool = False) -> Schedule | None:
    """Return a schedule, also one that was written as a mapping, or None."""
    if isinstance(value, Mapping):
        value = Schedule(**value)
    if value is not None and not isinstance(value, Schedule):
        raise TypeError(f"{name} must be a Schedule, got {value!r}")
    if value is not None and positive and min(value.values) == 0.0:
        raise ValueError(f"{name} must be of positive numbers, got {value!r}")
    return value


def value_at(value: float | Schedule, step: int) -> float:
    """Return a number, or that of a schedule at a step."""
    return value.at(step) if isinstance(value, Schedule) else value


def _value_of(value: Any) -> float:
    number = real_of(value, "values", "finite numbers that are not negative")
    if not 0.0 <= number < math.inf:
        raise ValueError(f"values must be finite and not negative, got {value!r}")
    return number
