"""What may stand inside a sampling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from renyi.mechanisms._algebra import Mechanism
from renyi.mechanisms._arguments import mechanism_of
from renyi.mechanisms._gaussian import Gaussian

__all__ = ["Sampling", "gaussian_of", "of_random_size", "samplings"]


class Sampling(Mechanism):
    """Base of the mechanisms that choose which records take part."""

    __slots__ = ()

    size_matters: ClassVar[bool] = True
    """Whether it is defined for data of a known size only."""

    mechanism: Mechanism

    def _inner(self) -> tuple[Mechanism, ...]:
        return (self.mechanism,)


def gaussian_of(value: Any) -> Gaussian:
    """Return the mechanism inside of a sampling that is understood for Gaussian noise only."""
    if not isinstance(value, Gaussian):
        raise TypeError(
            f"mechanism must be a Gaussian, the only one for which a bound is known, got {value!r}"
        )
    return value


def of_random_size(value: Any) -> Mechanism:
    """Return the mechanism inside of a sampling whose samples have random and secret sizes."""
    for inner in samplings(mechanism_of(value)):
        if inner.size_matters:
            raise ValueError(
                "mechanism must not fix the size of its data, which is random in a sample of this "
                f"kind, got {inner!r}"
            )
    return value  # type: ignore[no-any-return]


def samplings(mechanism: Mechanism) -> Iterator[Sampling]:
    """Yield the samplings that a mechanism starts with, not those inside them."""
    if isinstance(mechanism, Sampling):
        yield mechanism
        return
    for inner in mechanism._inner():
        yield from samplings(inner)
