"""What mechanisms do with their parameters."""

from __future__ import annotations

from typing import Any

from renyi._validation import Range, number_in
from renyi.mechanisms._algebra import Mechanism

__all__ = ["mechanism_of", "set_fields", "set_numbers"]


def mechanism_of(value: Any) -> Mechanism:
    """Return a mechanism."""
    if not isinstance(value, Mechanism):
        raise TypeError(f"mechanism must be a Mechanism, got {value!r}")
    return value


def set_fields(mechanism: Mechanism, **fields: object) -> None:
    """Set fields of a frozen value while it is made."""
    for name, value in fields.items():
        object.__setattr__(mechanism, name, value)


def set_numbers(mechanism: Mechanism, **ranges: Range) -> None:
    """Check fields that are numbers, each of its range, and set them."""
    set_fields(
        mechanism,
        **{name: number_in(getattr(mechanism, name), name, r) for name, r in ranges.items()},
    )
