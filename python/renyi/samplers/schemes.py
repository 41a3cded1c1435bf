"""Poisson samples of the groups of a cycle, and of at most so many records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._states import entries_of
from renyi._training import ChaCha20, order_by_group
from renyi._validation import count_of, integer_of, probability_of
from renyi.mechanisms import Mechanism, PoissonSampled, TruncatedPoissonSampled
from renyi.samplers.basic import BatchSampler, Indices, times


class Groups:
    """The records of each group, from the group of each record."""

    def __init__(self, of_record: npt.NDArray[Any], count: int) -> None:
        self.of_record = of_record.astype(_holding(count), copy=False)
        self._order = np.empty(len(of_record), _holding(len(of_record), np.uint32))
        self._starts = order_by_group(self.of_record, count, self._order)

    @classmethod
    def drawn(cls, core: ChaCha20, count: int, population: int) -> Groups:
        """Put every record into a group, uniformly and independently of the others."""
        return cls(core.choose_repeated_into(count, np.empty(population, _holding(count))), count)

    def members(self, group: int) -> Indices:
        """Return the records of a group, increasing."""
        return self._order[self._starts[group] : self._starts[group + 1]].astype(np.int64)


def _holding(count: int, least: type[np.unsignedinteger[Any]] = np.uint16) -> npt.DTypeLike:
    """Return the type of the numbers below a count, for populations of which memory matters."""
    if count <= 2**16 and least is np.uint16:
        return np.uint16
    return np.uint32 if count <= 2**32 else np.int64


def checked_groups(
    state: Mapping[str, Any], name: str, population: int, count: int, *, may_lack: bool
) -> Indices:
    """Return the group of each record that a state holds, or none."""
    groups = np.asarray(entries_of(state, name)[0])
    if groups.size == 0 and may_lack:
        return np.empty(0, np.int64)
    if (
        groups.shape != (population,)
        or groups.dtype.kind not in "iu"
        or groups.min() < 0
        or groups.max() >= count
    ):
        raise ValueError(
            f"state must hold {name} of {population} records, integers below {count}, got an array "
            f"of {groups.dtype} of shape {groups.shape}"
        )
    return groups


class CyclicPoissonSampler(BatchSampler):
    """Poisson samples of the records of one group, then of the next, in turn.

    Each record is put into one of ``cycle_length`` groups, uniformly and independently of the
    others, when the first batch is drawn, and remains there: it can be in every
    ``cycle_length``-th batch. The groups may be known. What a record is in are so many Poisson
    samples, one a cycle, whether it is added, removed or replaced: where it goes moves no other.

    Parameters
    ----------
    population : int
        Number of records, in [1, 2^53].
    sample_rate : float
        With which a record is taken when its group has its turn, in [0, 1].
    cycle_length : int
        Number of groups, at least 1.
    steps, generator
        As for `PoissonSampler`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta, Xu 2023, arXiv 2306.08153.

    Examples
    --------
    >>> from renyi.mechanisms import Gaussian
    >>> sampler = CyclicPoissonSampler(1000, 0.5, 4, steps=8)
    >>> batches = [set(batch.tolist()) for batch in sampler]
    >>> batches[0] & batches[1], bool(batches[0] & batches[4])
    (set(), True)
    >>> sampler.mechanism(Gaussian(1.1), steps=9)  # the third cycle has begun
    Composed((PoissonSampled(mechanism=Gaussian(noise_multiplier=1.1), sample_rate=0.5), 3))
    """

    _kind, _parameters = "cyclic Poisson", ("sample_rate", "cycle_length")

    def __init__(
        self,
        population: int,
        sample_rate: float,
        cycle_length: int,
        *,
        steps: int | None = None,
        generator: Any = None,
    ) -> None:
        super().__init__(population, steps, generator)
        self.sample_rate = probability_of(sample_rate, "sample_rate")
        self.cycle_length = integer_of(cycle_length, "cycle_length", 1)

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return a `PoissonSampled` release, once for every cycle that ``steps`` batches begin."""
        cycles = -(-count_of(steps, "steps") // self.cycle_length)
        return times(PoissonSampled(base, self.sample_rate), cycles)

    def _draw(self, number: int, layout: Groups | None) -> tuple[Indices, Groups]:
        core = self.generator.core
        if layout is None:
            layout = Groups.drawn(core, self.cycle_length, self.population)
        members = layout.members((number - 1) % self.cycle_length)
        if not members.size:
            return members, layout
        return members[core.poisson_sample(members.size, self.sample_rate)], layout

    def _progress(self, layout: Groups | None) -> dict[str, Any]:
        return {"groups": np.empty(0, np.int64) if layout is None else layout.of_record.copy()}

    def _checked_progress(self, state: Mapping[str, Any], drawn: int) -> Groups | None:
        groups = checked_groups(
            state, "groups", self.population, self.cycle_length, may_lack=drawn == 0
        )
        return Groups(groups, self.cycle_length) if groups.size else None


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

    _kind, _parameters = "truncated Poisson", ("sample_rate", "batch_limit")

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

    def _draw(self, number: int, layout: Any) -> tuple[Indices, Any]:
        core = self.generator.core
        batch: Indices = core.poisson_sample(self.population, self.sample_rate)
        if len(batch) <= self.batch_limit:
            return batch, None
        kept: Indices = batch[core.choose(len(batch), self.batch_limit)]
        return kept, None
