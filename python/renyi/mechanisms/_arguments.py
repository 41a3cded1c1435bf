"""Parameters of mechanisms: ranges that name themselves, and how numbers are read aloud."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from renyi._validation import real_of
from renyi.mechanisms._algebra import Mechanism

__all__ = [
    "FINITE_NON_NEGATIVE",
    "FINITE_POSITIVE",
    "NON_NEGATIVE",
    "POSITIVE",
    "PROBABILITY",
    "Range",
    "mechanism_of",
    "number_in",
    "numbers_in",
    "read",
    "settle",
    "settle_numbers",
]


@dataclass(frozen=True, slots=True)
class Range:
    """An interval of the extended real numbers, and the words for it."""

    low: float
    high: float
    ends: str = "[]"
    allowed: str = field(init=False)

    def __post_init__(self) -> None:
        interval = f"{self.ends[0]}{read(self.low)}, {read(self.high)}{self.ends[1]}"
        object.__setattr__(self, "allowed", f"a number in {interval}")

    def holds(self, number: float) -> bool:
        """Whether the number lies in the interval."""
        above = self.low < number or (number == self.low and self.ends[0] == "[")
        return above and (number < self.high or (number == self.high and self.ends[1] == "]"))


def read(number: float) -> str:
    """Return the shortest words for a number: 2 for 2.0."""
    return repr(number).removesuffix(".0")


NON_NEGATIVE = Range(0.0, math.inf)
POSITIVE = Range(0.0, math.inf, "(]")
FINITE_POSITIVE = Range(0.0, math.inf, "()")
FINITE_NON_NEGATIVE = Range(0.0, math.inf, "[)")
PROBABILITY = Range(0.0, 1.0)


def number_in(value: Any, name: str, range_: Range) -> float:
    """Return a number of the range, zero without a sign."""
    number = real_of(value, name, range_.allowed)
    if not range_.holds(number):
        raise ValueError(f"{name} must be {range_.allowed}, got {value!r}")
    return number + 0.0


def numbers_in(values: Any, name: str, range_: Range) -> tuple[float, ...]:
    """Return an iterable of numbers of the range as a tuple."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise TypeError(f"{name} must be a sequence, each {range_.allowed}, got {values!r}")
    return tuple(number_in(value, name, range_) for value in values)


def mechanism_of(value: Any) -> Mechanism:
    """Return a mechanism."""
    if not isinstance(value, Mechanism):
        raise TypeError(f"mechanism must be a Mechanism, got {value!r}")
    return value


def settle(mechanism: Mechanism, **fields: object) -> None:
    """Set fields of a frozen value while it is made."""
    for name, value in fields.items():
        object.__setattr__(mechanism, name, value)


def settle_numbers(mechanism: Mechanism, **ranges: Range) -> None:
    """Check fields that are numbers, each of its range, and set them."""
    settle(
        mechanism,
        **{name: number_in(getattr(mechanism, name), name, r) for name, r in ranges.items()},
    )
