"""Mechanisms as immutable values with an algebra: ``m * k``, ``m + n``, ``PoissonSampled(m, q)``.

A mechanism says what was released, not what it costs; accountants say that. Equal mechanisms
compare equal and hash equal. Neighbouring data sets differ by adding or removing one record; the
sensitivity is 1, so noise is given as a multiple of it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from renyi._validation import count_of, probability_of, real_of
from renyi.pld import PrivacyLossDistribution, Reversed

__all__ = [
    "Composed",
    "Gaussian",
    "Mechanism",
    "PoissonSampled",
    "PrivacyLoss",
    "SampledGaussianStep",
]

# Sampling rate, noise multiplier and count: what accountants of the sampled Gaussian mechanism
# read.
SampledGaussianStep = tuple[float, float, int]


class Mechanism(ABC):
    """Base of all mechanisms."""

    __slots__ = ()

    @abstractmethod
    def sampled_gaussian_steps(self) -> Iterator[SampledGaussianStep]:
        """Yield the independent Poisson-sampled Gaussian steps: rate, noise multiplier, count."""

    def __mul__(self, count: int) -> Composed:
        return Composed((self, count))

    __rmul__ = __mul__

    def __add__(self, other: Mechanism) -> Composed:
        if not isinstance(other, Mechanism):
            return NotImplemented
        return Composed((self, 1), (other, 1))


@dataclass(frozen=True, slots=True)
class Gaussian(Mechanism):
    """Adds N(0, noise_multiplier^2) to a query of L2 sensitivity 1.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity, in [0, inf]. At 0 nothing is
        protected, at infinity nothing released.

    Raises
    ------
    TypeError, ValueError
        If it is not a real number, NaN or negative.

    Examples
    --------
    >>> Gaussian(1.1)
    Gaussian(noise_multiplier=1.1)
    >>> Gaussian(2) == Gaussian(2.0)
    True
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        allowed = "a number in [0, inf]"
        value = real_of(self.noise_multiplier, "noise_multiplier", allowed)
        if value < 0.0:
            raise ValueError(f"noise_multiplier must be {allowed}, got {self.noise_multiplier!r}")
        object.__setattr__(self, "noise_multiplier", value)

    def sampled_gaussian_steps(self) -> Iterator[SampledGaussianStep]:
        """Yield itself at rate 1."""
        yield 1.0, self.noise_multiplier, 1


class Composed(Mechanism):
    """Several mechanisms on the same data, each used ``count`` times, possibly adaptively.

    Parameters
    ----------
    *parts : Mechanism or (Mechanism, int)
        The mechanisms, with their counts if not 1. Nested compositions are flattened and equal
        mechanisms merged; the order is kept.

    Raises
    ------
    TypeError, ValueError
        If a part is not a mechanism or a count not an integer >= 0.

    Examples
    --------
    >>> Composed(Gaussian(1.0), (Gaussian(2.0), 10))
    Composed((Gaussian(noise_multiplier=1.0), 1), (Gaussian(noise_multiplier=2.0), 10))
    >>> Gaussian(1.0) * 3 + Gaussian(1.0) == Gaussian(1.0) * 4
    True
    """

    __slots__ = ("_parts",)
    _parts: tuple[tuple[Mechanism, int], ...]

    def __init__(self, *parts: Mechanism | tuple[Mechanism, int]) -> None:
        merged: dict[Mechanism, int] = {}
        for part in parts:
            mechanism, count = _part_of(part)
            inner = mechanism.parts if isinstance(mechanism, Composed) else ((mechanism, 1),)
            for item, times in inner:
                if times * count:
                    merged[item] = merged.get(item, 0) + times * count
        object.__setattr__(self, "_parts", tuple(merged.items()))

    @property
    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """The distinct mechanisms with their counts."""
        return self._parts

    def sampled_gaussian_steps(self) -> Iterator[SampledGaussianStep]:
        """Yield the steps of the parts, counts multiplied."""
        for mechanism, count in self._parts:
            for rate, noise, times in mechanism.sampled_gaussian_steps():
                yield rate, noise, times * count

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Composed is immutable: cannot assign {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Composed) and dict(self._parts) == dict(other._parts)

    def __hash__(self) -> int:
        return hash(frozenset(self._parts))

    def __repr__(self) -> str:
        return f"Composed({', '.join(f'({m!r}, {count})' for m, count in self._parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Composed, self._parts


@dataclass(frozen=True, slots=True)
class PrivacyLoss(Mechanism):
    """A mechanism given by the distributions of its privacy loss, for `PLDAccountant`.

    Parameters
    ----------
    remove : renyi.pld.PrivacyLossDistribution
        A pair (P, Q) that dominates the outputs with and without the record.
    add : renyi.pld.PrivacyLossDistribution, optional
        A pair that dominates the outputs without and with it; by default (Q, P).

    Raises
    ------
    TypeError
        If they are not privacy loss distributions.

    References
    ----------
    Zhu, Dong, Wang 2022, arXiv 2106.08567, Definition 7 (dominating pairs).

    Examples
    --------
    >>> from renyi.pld import Laplace
    >>> PrivacyLoss(Laplace(1.0)) * 3
    Composed((PrivacyLoss(remove=Laplace(scale=1.0), add=Reversed(base=Laplace(scale=1.0))), 3))
    """

    remove: PrivacyLossDistribution
    add: PrivacyLossDistribution | None = None

    def __post_init__(self) -> None:
        if self.add is None and isinstance(self.remove, PrivacyLossDistribution):
            object.__setattr__(self, "add", Reversed(self.remove))
        for name in ("remove", "add"):
            value = getattr(self, name)
            if not isinstance(value, PrivacyLossDistribution):
                raise TypeError(f"{name} must be a PrivacyLossDistribution, got {value!r}")

    def loss(self, remove: bool) -> PrivacyLossDistribution:
        """Return the distribution of one direction."""
        if remove or self.add is None:
            return self.remove
        return self.add

    def sampled_gaussian_steps(self) -> Iterator[SampledGaussianStep]:
        """Refuse: this is not made of Gaussian steps."""
        raise TypeError(
            "mechanism must be made of Gaussian and Poisson-sampled Gaussian steps, "
            f"got {self!r}; PLDAccountant takes it"
        )


@dataclass(frozen=True, slots=True)
class PoissonSampled(Mechanism):
    """Runs a mechanism on a Poisson sample: every record enters with probability ``sample_rate``.

    Several releases on one sample are ``PoissonSampled(a + b, q)``; two separate ``PoissonSampled``
    draw two samples. Shuffled or fixed-size batches are not Poisson samples and are not covered.

    Parameters
    ----------
    mechanism : Mechanism
        A Gaussian, a composition of Gaussians (their noise multipliers combine to ``(sum of
        sigma^-2)^-1/2``), another ``PoissonSampled`` of these (the rates multiply), or a
        `PrivacyLoss`.
    sample_rate : float
        In [0, 1].

    Raises
    ------
    TypeError, ValueError
        If ``mechanism`` is not of that form or ``sample_rate`` outside [0, 1].

    References
    ----------
    Mironov, Talwar, Zhang 2019, arXiv 1908.10530, Definition 3.

    Examples
    --------
    >>> PoissonSampled(Gaussian(1.1), 0.004)
    PoissonSampled(mechanism=Gaussian(noise_multiplier=1.1), sample_rate=0.004)
    """

    mechanism: Mechanism
    sample_rate: float

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism):
            raise TypeError(f"mechanism must be a Mechanism, got {self.mechanism!r}")
        object.__setattr__(self, "sample_rate", probability_of(self.sample_rate, "sample_rate"))
        if not isinstance(self.mechanism, Gaussian | PrivacyLoss):
            _one_release(self.mechanism)

    def sampled_gaussian_steps(self) -> Iterator[SampledGaussianStep]:
        """Yield one step, or the steps of the mechanism itself at rate 1."""
        if type(self.mechanism) is Gaussian:
            yield self.sample_rate, self.mechanism.noise_multiplier, 1
        elif self.sample_rate == 1.0 or isinstance(self.mechanism, PrivacyLoss):
            yield from self.mechanism.sampled_gaussian_steps()
        else:
            rate, noise = _one_release(self.mechanism)
            product = self.sample_rate * rate
            yield product if rate == 1.0 else min(math.nextafter(product, 1.0), 1.0), noise, 1


def _part_of(part: Any) -> tuple[Mechanism, int]:
    mechanism, count = part if isinstance(part, tuple) and len(part) == 2 else (part, 1)
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"parts must be mechanisms or (mechanism, count) pairs, got {part!r}")
    return mechanism, count_of(count)


def _one_release(mechanism: Mechanism) -> tuple[float, float]:
    """Return (rate, noise multiplier) of one release with the law of ``mechanism``, noise down."""
    steps = list(mechanism.sampled_gaussian_steps())
    if len(steps) == 1 and steps[0][2] == 1:
        return steps[0][0], steps[0][1]
    if any(rate != 1.0 for rate, _, _ in steps):
        raise ValueError(
            "mechanism must be a Gaussian, a composition of Gaussians or one PoissonSampled of "
            "these: releases that draw their own samples cannot be sampled again as one, "
            f"got {mechanism!r}"
        )
    if not steps:
        return 1.0, math.inf
    smallest = min(noise for _, noise, _ in steps)
    if smallest == 0.0 or math.isinf(smallest):
        return 1.0, smallest
    # Relative to the smallest, so that no square over- or underflows.
    total = math.fsum(count * (smallest / noise) ** 2 for _, noise, count in steps)
    combined = smallest / math.sqrt(total)
    return 1.0, combined * (1.0 - 2.0**-50)
