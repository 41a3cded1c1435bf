"""Neighbouring relations, directions and conversions by name, and the largest count."""

from typing import Literal, get_args

Adjacency = Literal["add_remove", "replace_one", "zero_out"]
ADJACENCIES: tuple[Adjacency, ...] = get_args(Adjacency)

DirectionName = Literal["remove", "add"]
DIRECTIONS: tuple[DirectionName, ...] = get_args(DirectionName)

Conversion = Literal["optimal", "balle", "asoodeh", "mironov"]
CONVERSIONS: tuple[Conversion, ...] = get_args(Conversion)

LARGEST_COUNT = 10**9
"""The most equal uses of a mechanism; the error bounds of the curves hold up to it."""
