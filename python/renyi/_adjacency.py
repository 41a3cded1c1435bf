"""Words that arguments may be: neighbouring relations, directions, conversions; largest count."""

from collections.abc import Collection
from typing import Any, Literal, TypeVar, cast, get_args

Adjacency = Literal["add_remove", "replace_one", "zero_out"]
ADJACENCIES: tuple[Adjacency, ...] = get_args(Adjacency)

DirectionName = Literal["remove", "add"]
DIRECTIONS: tuple[DirectionName, ...] = get_args(DirectionName)

Conversion = Literal["optimal", "balle", "asoodeh", "mironov"]
CONVERSIONS: tuple[Conversion, ...] = get_args(Conversion)

LARGEST_COUNT = 10**9
"""The most equal uses of a mechanism; the error bounds of the curves hold up to it."""

Choice = TypeVar("Choice")


def one_of(value: Any, name: str, known: Collection[Choice]) -> Choice:
    """Return one of the known words, or whole numbers."""
    if not isinstance(value, str | int) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    return cast(Choice, value)


def adjacency_of(value: Any) -> Adjacency:
    """Return a known neighbouring relation."""
    return one_of(value, "adjacency", ADJACENCIES)
