"""Poisson samples of at most so many records, and batches of one shape for compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._validation import integer_of, probability_of
from renyi.mechanisms import Mechanism, TruncatedPoissonSampled
from renyi.sgd._batch_sampler import BatchSampler, Indices, times

__all__ = ["PaddedBatch", "TruncatedPoissonSampler", "pad_batch"]


class PaddedBatch(NamedTuple):
    """A batch of one shape, whatever its size.

    Attributes
    ----------
    indices : ndarray of int64
        Of the records, and then 0 as often as it takes: the gradient of record 0 once more, where
        ``mask`` is False, must not count. `DPSGD.step` takes the mask.
    mask : ndarray of bool
        True for each record of the batch.
    """

    indices: Indices
    mask: npt.NDArray[np.bool_]


def pad_batch(batch: Indices, size: int) -> PaddedBatch:
    """Fill a batch up, so that code that is compiled for a shape need not be compiled again.

    Parameters
    ----------
    batch : ndarray of int
        Indices of at most ``size`` records.
    size : int
        Public: the `batch_limit` of a plan for example.

    Raises
    ------
    ValueError
        If the batch is larger.

    Examples
    --------
    >>> pad_batch(np.array([5, 7]), 4)
    PaddedBatch(indices=array([5, 7, 0, 0]), mask=array([ True,  True, False, False]))
    """
    length = integer_of(size, "size", 0)
    if len(batch) > length:  # how many there are is private
        raise ValueError(f"size must be at least that of the batch, got {size!r}")
    indices = np.zeros(length, np.int64)
    indices[: len(batch)] = batch
    return PaddedBatch(indices, np.arange(length) < len(batch))


class TruncatedPoissonSampler(BatchSampler):
    """Poisson samples, of which a uniform subset is kept where they exceed a limit.

    Batches have a public largest size, to which `pad_batch` fills them up.

    Parameters
    ----------
    population : int
        Number of records, in [1, 2^53].
    sample_rate : float
        Of the Poisson sample, in [0, 1].
    batch_limit : int
        The largest batch, at least 1.
    steps, generator
        As for `PoissonSampler`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> from renyi.mechanisms import Gaussian
    >>> sampler = TruncatedPoissonSampler(60_000, 0.01, 640, steps=20)
    >>> max(len(batch) for batch in sampler) <= 640
    True
    >>> sampler.mechanism(Gaussian(1.1)).batch_limit
    640
    """

    def __init__(
        self,
        population: int,
        sample_rate: float,
        batch_limit: int,
        *,
        steps: int | None = None,
        generator: Any = None,
    ) -> None:
        super().__init__(population, steps, generator)
        self.sample_rate = probability_of(sample_rate, "sample_rate")
        self.batch_limit = integer_of(batch_limit, "batch_limit", 1)

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return a `TruncatedPoissonSampled` release of Gaussian noise, ``steps`` times."""
        limit, records = self.batch_limit, self.population
        return times(TruncatedPoissonSampled(base, self.sample_rate, limit, records), steps)  # type: ignore[arg-type]

    def _draw(self) -> Indices:
        core = self.generator._core
        batch: Indices = core.poisson_sample(self.population, self.sample_rate)
        if len(batch) <= self.batch_limit:
            return batch
        kept: Indices = batch[core.choose(len(batch), self.batch_limit)]
        return kept

    def _settings(self) -> dict[str, Any]:
        return {
            "kind": "truncated Poisson",
            "population": self.population,
            "sample_rate": self.sample_rate,
            "batch_limit": self.batch_limit,
        }
