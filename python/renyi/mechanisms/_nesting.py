"""Which sampling may stand inside which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from renyi.mechanisms._algebra import Mechanism

__all__ = ["Sampling", "samplings"]


class Sampling(Mechanism):
    """Base of the mechanisms that choose which records take part."""

    __slots__ = ()

    size_matters: ClassVar[bool] = True
    """Whether it is defined for data of a known size only."""


def samplings(mechanism: Mechanism) -> Iterator[Sampling]:
    """Yield the samplings that a mechanism starts with, not those inside them."""
    if isinstance(mechanism, Sampling):
        yield mechanism
        return
    for inner in mechanism._inner():
        yield from samplings(inner)
