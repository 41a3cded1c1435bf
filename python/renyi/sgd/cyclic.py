"""Poisson samples of one group of the records after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from renyi._validation import count_of, integer_of, probability_of
from renyi.mechanisms import Mechanism, PoissonSampled
from renyi.sgd._batch_sampler import BatchSampler, Indices, times
from renyi.sgd._state import entries_of

__all__ = ["CyclicPoissonSampler", "Groups", "checked_groups"]


class Groups:
    """Which records are in each of so many groups, from the group of each record."""

    def __init__(self, of_record: Indices, count: int) -> None:
        self.of_record = of_record
        self._ordered = np.argsort(of_record, kind="stable")
        self._starts = np.searchsorted(of_record[self._ordered], np.arange(count + 1))

    def members(self, group: int) -> Indices:
        """Return the records of a group, increasing."""
        return self._ordered[self._starts[group] : self._starts[group + 1]]


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
    return groups.astype(np.int64)


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
        self._groups = Groups(np.empty(0, np.int64), self.cycle_length)

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return a `PoissonSampled` release, once for every cycle that ``steps`` batches begin."""
        cycles = -(-count_of(steps, "steps") // self.cycle_length)
        return times(PoissonSampled(base, self.sample_rate), cycles)

    def _draw(self) -> Indices:
        core = self.generator._core
        if not self._groups.of_record.size:
            drawn = core.choose_repeated(self.cycle_length, self.population)
            self._groups = Groups(drawn, self.cycle_length)
        members = self._groups.members((self._drawn - 1) % self.cycle_length)
        if not members.size:
            return members
        taken: Indices = members[core.poisson_sample(members.size, self.sample_rate)]
        return taken

    def _progress(self) -> dict[str, Any]:
        return {"groups": self._groups.of_record.copy()}

    def _checked_progress(self, state: Mapping[str, Any], drawn: int) -> Indices:
        return checked_groups(
            state, "groups", self.population, self.cycle_length, may_lack=drawn == 0
        )

    def _restore(self, drawn: int, progress: Indices) -> None:
        super()._restore(drawn, progress)
        self._groups = Groups(progress, self.cycle_length)

    def _settings(self) -> dict[str, Any]:
        return {
            "kind": "cyclic Poisson",
            "population": self.population,
            "sample_rate": self.sample_rate,
            "cycle_length": self.cycle_length,
        }
