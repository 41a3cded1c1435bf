"""Batches of a data set whose size is public: of fixed size, or shuffled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from renyi._validation import integer_of
from renyi.mechanisms._algebra import Mechanism
from renyi.mechanisms._arguments import mechanism_of, set_fields
from renyi.mechanisms.nesting import Sampling, samplings

__all__ = ["FixedSizeSampled", "ShuffledBatches"]


@dataclass(frozen=True, slots=True)
class FixedSizeSampled(Sampling):
    """Runs a mechanism on a uniform sample of fixed size.

    Holds for "replace_one" adjacency: the number of records is public.

    Parameters
    ----------
    mechanism : Mechanism
        What is done with the sample. May sample it again: by `PoissonSampled` and, if this sample
        is without replacement, `ShuffledBatches` and a `FixedSizeSampled` whose population is
        ``sample_size``.
    sample_size : int
        Number of draws, at least 1; without replacement at most ``population``.
    population : int
        Number of records, at least 1.
    replacement : bool
        Whether a record may be drawn several times; then ``sample_size`` is not limited.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Notes
    -----
    `PLDAccountant` bounds it by one pair above both orders of the two records. Without replacement
    a single use of noise on a sum attains it, where all other records equal one of the two.
    Composed, the bracket reaches from what those neighbours have to that pair: no theorem is known
    by which one order of theirs dominates compositions, adaptive ones among them.

    References
    ----------
    Wang, Balle, Kasiviswanathan 2019, arXiv 1808.00087; with replacement Balle, Barthe, Gaboardi
    2018, arXiv 1807.01647.

    Examples
    --------
    >>> from renyi.mechanisms import Gaussian
    >>> FixedSizeSampled(Gaussian(1.0), 100, 5000).sample_rate
    0.02
    """

    mechanism: Mechanism
    sample_size: int
    population: int
    replacement: bool = False

    def __post_init__(self) -> None:
        mechanism_of(self.mechanism)
        if not isinstance(self.replacement, bool | np.bool_):
            raise TypeError(f"replacement must be True or False, got {self.replacement!r}")
        size = integer_of(self.sample_size, "sample_size", 1)
        population = integer_of(self.population, "population", 1)
        if size > population and not self.replacement:
            raise ValueError(
                f"sample_size must be an integer in [1, {population}], the population, unless "
                f"drawn with replacement, got {self.sample_size!r}"
            )
        set_fields(
            self, sample_size=size, population=population, replacement=bool(self.replacement)
        )
        for inner in samplings(self.mechanism):
            self._check(inner)

    @property
    def sample_rate(self) -> float:
        """The probability that a record is in the sample."""
        if not self.replacement:
            return self.sample_size / self.population
        if self.population == 1:
            return 1.0
        return -math.expm1(self.sample_size * math.log1p(-1.0 / self.population))

    def _check(self, inner: Sampling) -> None:
        if not inner.size_matters:
            return
        if not isinstance(inner, FixedSizeSampled | ShuffledBatches):
            raise ValueError(
                "mechanism must hold where one record is replaced, as a sample of fixed size does, "
                f"got {inner!r}"
            )
        if self.replacement:
            raise ValueError(
                "mechanism must not need distinct records, which a sample with replacement has "
                f"not, got {inner!r}"
            )
        if isinstance(inner, FixedSizeSampled) and inner.population != self.sample_size:
            raise ValueError(
                f"mechanism must have the population {self.sample_size}, the sample_size, "
                f"got {inner!r}"
            )

    def _headline(self) -> str:
        how = "with" if self.replacement else "without"
        return f"Sample of {self.sample_size} of {self.population} {how} replacement, of"


@dataclass(frozen=True, slots=True)
class ShuffledBatches(Sampling):
    """Runs a mechanism on each of the disjoint batches of one epoch over shuffled data.

    A record takes part in one batch, so the epoch costs at most one use of the mechanism, and just
    that for an observer who knows the order. What the secrecy of the order gains is not known: the
    upper ends that accountants report do not count on it, and the lower ends of `PLDAccountant` are
    what an attack on the order proves for Gaussian noise. It may cost far more than Poisson
    sampling.
    Holds for "zero_out" and "replace_one" adjacency: adding a record would move others.

    Parameters
    ----------
    mechanism : Mechanism
        What is done with a batch.
    batches : int
        Number of batches, at least 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang 2024, arXiv 2403.17673 (the attack, and
    that shuffled batches may cost far more than Poisson samples).

    Examples
    --------
    >>> from renyi.mechanisms import Gaussian
    >>> print((ShuffledBatches(Gaussian(1.0), 100) * 5).describe())
    5 x
      Epoch of 100 shuffled batches, each
        Gaussian noise, multiplier 1
    """

    mechanism: Mechanism
    batches: int

    def __post_init__(self) -> None:
        mechanism_of(self.mechanism)
        set_fields(self, batches=integer_of(self.batches, "batches", 1))

    def _headline(self) -> str:
        return f"Epoch of {self.batches} shuffled batches, each"
