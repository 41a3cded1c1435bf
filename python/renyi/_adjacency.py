"""The neighbouring relations, by name: what the command line can load without NumPy."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["ADJACENCIES", "Adjacency"]

Adjacency = Literal["add_remove", "replace_one", "zero_out"]
ADJACENCIES: tuple[Adjacency, ...] = get_args(Adjacency)
