"""Samplers: which records take part in a step, and what accountants may assume about it.

A sampler draws batches of indices and says, by ``mechanism``, which mechanism a release on such a
batch is. Nobody else needs to know the scheme, so none is mistaken for another.

The indices of Poisson and fixed-size samples are secret, like the noise: to whom they are known,
sampling has amplified nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import count_of, integer_of, probability_of
from renyi.mechanisms import FixedSizeSampled, Mechanism, PoissonSampled, ShuffledBatches
from renyi.sgd._batch_sampler import BatchSampler, Indices, times
from renyi.sgd._state import entries_of

__all__ = ["BatchSampler", "FixedSizeSampler", "PoissonSampler", "ShuffledSampler"]


class PoissonSampler(BatchSampler):
    """Every record enters a batch with probability ``sample_rate``, independently of the others.

    The cost of a batch is proportional to its size, which is random and may be zero. The law is
    exact up to a total variation distance of ``population * 2^-67`` a batch.

    Parameters
    ----------
    population : int
        Number of records, in [1, 2^53].
    sample_rate : float
        In [0, 1].
    steps : int, optional
        Number of batches to iterate over; without end by default.
    generator : SecureGenerator or numpy.random.Generator, optional
        By default the process's own `SecureGenerator`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> from renyi.mechanisms import Gaussian
    >>> sampler = PoissonSampler(60_000, 0.01, steps=3)
    >>> [bool(450 < len(batch) < 750) for batch in sampler]
    [True, True, True]
    >>> sampler.mechanism(Gaussian(1.1), steps=3)
    Composed((PoissonSampled(mechanism=Gaussian(noise_multiplier=1.1), sample_rate=0.01), 3))
    """

    def __init__(
        self,
        population: int,
        sample_rate: float,
        *,
        steps: int | None = None,
        generator: Any = None,
    ) -> None:
        super().__init__(population, steps, generator)
        self.sample_rate = probability_of(sample_rate, "sample_rate")

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return a `PoissonSampled` release, ``steps`` times."""
        return times(PoissonSampled(base, self.sample_rate), steps)

    def _draw(self) -> Indices:
        return self.generator._core.poisson_sample(self.population, self.sample_rate)

    def _settings(self) -> dict[str, Any]:
        return {"kind": "Poisson", "population": self.population, "sample_rate": self.sample_rate}


class FixedSizeSampler(BatchSampler):
    """A uniform sample of fixed size in every step, in increasing order unless with replacement.

    Parameters
    ----------
    population : int
        Number of records, in [1, 2^53].
    batch_size : int
        Number of draws, at least 1; without replacement at most ``population``.
    replacement : bool
        Whether a record may be drawn several times in one batch.
    steps, generator
        As for `PoissonSampler`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> from renyi.mechanisms import Gaussian
    >>> sampler = FixedSizeSampler(60_000, 256)
    >>> len(set(sampler.sample().tolist()))
    256
    >>> sampler.mechanism(Gaussian(1.1)).sample_size
    256
    """

    def __init__(
        self,
        population: int,
        batch_size: int,
        *,
        replacement: bool = False,
        steps: int | None = None,
        generator: Any = None,
    ) -> None:
        super().__init__(population, steps, generator)
        self.batch_size = integer_of(batch_size, "batch_size", 1)
        if not isinstance(replacement, bool | np.bool_):
            raise TypeError(f"replacement must be True or False, got {replacement!r}")
        self.replacement = bool(replacement)
        if not self.replacement and self.batch_size > self.population:
            raise ValueError(
                f"batch_size must be an integer in [1, {self.population}], the population, unless "
                f"drawn with replacement, got {batch_size!r}"
            )

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return a `FixedSizeSampled` release, ``steps`` times."""
        sampled = FixedSizeSampled(base, self.batch_size, self.population, self.replacement)
        return times(sampled, steps)

    def _draw(self) -> Indices:
        core = self.generator._core
        draw = core.choose_repeated if self.replacement else core.choose
        return draw(self.population, self.batch_size)

    def _settings(self) -> dict[str, Any]:
        return {
            "kind": "fixed size",
            "population": self.population,
            "batch_size": self.batch_size,
            "replacement": self.replacement,
        }


class ShuffledSampler(BatchSampler):
    """Epochs of disjoint batches: the records in a new random order, cut into equal parts.

    The sizes of an epoch's batches differ by at most one, and every record is in one of them.
    Shuffling hides nothing from whoever sees all batches, so an epoch costs one full release.

    Parameters
    ----------
    population : int
        Number of records, at least 1.
    batches : int
        Batches to an epoch, in [1, population].
    epochs : int, optional
        Number of epochs to iterate over; without end by default.
    generator
        As for `PoissonSampler`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> from renyi.mechanisms import Gaussian
    >>> sampler = ShuffledSampler(10, 3, epochs=1)
    >>> sorted(len(batch) for batch in sampler)
    [3, 3, 4]
    >>> sampler.mechanism(Gaussian(1.1), steps=4)  # the second epoch has begun
    Composed((ShuffledBatches(mechanism=Gaussian(noise_multiplier=1.1), batches=3), 2))
    """

    def __init__(
        self, population: int, batches: int, *, epochs: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(population, None, generator)
        self.batches = integer_of(batches, "batches", 1)
        if self.batches > self.population:
            raise ValueError(
                f"batches must be an integer in [1, {self.population}], the population, "
                f"got {batches!r}"
            )
        self.steps = None if epochs is None else count_of(epochs, "epochs") * self.batches
        self._order: Indices = np.empty(0, np.int64)

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return `ShuffledBatches`, once for every epoch that ``steps`` batches begin."""
        epochs = -(-count_of(steps, "steps") // self.batches)
        return times(ShuffledBatches(base, self.batches), epochs)

    def _progress(self) -> dict[str, Any]:
        return {"order": self._order.copy()}  # an epoch under way; the accounting takes it as known

    def _checked_progress(self, state: Mapping[str, Any], drawn: int) -> Indices:
        order = np.asarray(entries_of(state, "order")[0])
        if order.size == 0 and drawn % self.batches == 0:
            return np.empty(0, np.int64)
        if not _is_permutation(order, self.population):
            raise ValueError(
                f"state must hold an order with each of {self.population} records once, or none "
                f"between epochs, got an array of {order.dtype} of shape {order.shape}"
            )
        return order.astype(np.int64)

    def _restore(self, drawn: int, progress: Indices) -> None:
        super()._restore(drawn, progress)
        self._order = progress

    def _draw(self) -> Indices:
        batch = (self._drawn - 1) % self.batches
        if batch == 0:
            self._order = self.generator._core.permutation(self.population)
        first, last = (k * self.population // self.batches for k in (batch, batch + 1))
        return self._order[first:last].copy()

    def _settings(self) -> dict[str, Any]:
        return {"kind": "shuffled", "population": self.population, "batches": self.batches}


def _is_permutation(order: npt.NDArray[Any], count: int) -> bool:
    if order.dtype.kind not in "iu" or order.shape != (count,):
        return False
    if order.min() < 0 or order.max() >= count:
        return False
    seen = np.zeros(count, bool)
    seen[order] = True
    return bool(seen.all())
