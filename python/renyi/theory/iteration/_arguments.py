"""Checks of arguments, beyond those of `renyi._validation`."""

from __future__ import annotations

from typing import Any

from renyi._validation import Range, integer_of, number_in

__all__ = ["LARGEST", "MOST_STEPS", "SMALLEST", "positive_of", "steps_of"]

SMALLEST, LARGEST = 1e-75, 1e75  # so that no quotient leaves the range of double
MOST_STEPS = 2**53


def positive_of(value: Any, name: str) -> float:
    """Return a number in [1e-75, 1e75]."""
    return number_in(value, name, Range(1e-75, 1e75))


def steps_of(value: Any, name: str = "n") -> int:
    """Return an integer in [1, 2^53]."""
    number = integer_of(value, name, 1)
    if number > MOST_STEPS:
        raise ValueError(f"{name} must be an integer in [1, 2^53], got {value!r}")
    return number
