"""Samplers of epochs: every record is in one batch of each, a random one or always the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._states import Run, entries_of, secrets_of
from renyi._validation import count_of, integer_of
from renyi.matrix import BandedToeplitz, FixedEpochs, MinSeparation
from renyi.mechanisms import (
    FixedAllocation,
    Gaussian,
    MatrixMechanism,
    Mechanism,
    RandomAllocation,
    ShuffledBatches,
)
from renyi.mechanisms.participation import Participation
from renyi.samplers.basic import BatchSampler, Groups, Indices, Place, checked_groups, times


def _parts_of(population: int, batches: Any) -> int:
    """Return a number of parts that a population can be cut into."""
    parts = integer_of(batches, "batches", 1)
    if parts > population:
        raise ValueError(
            f"batches must be an integer in [1, {population}], the population, got {batches!r}"
        )
    return parts


def _part(population: int, parts: int, number: int) -> slice:
    """Return the records of a batch, counted from 1, of parts whose sizes differ by at most one."""
    batch = (number - 1) % parts
    return slice(batch * population // parts, (batch + 1) * population // parts)


class ShuffledSampler(BatchSampler):
    """Epochs of disjoint batches: equal parts of the records in a new random order.

    The sizes of an epoch's batches differ by at most one, and every record is in one of them.
    Shuffling hides nothing from an observer of all batches: an epoch costs one full release.

    Args:
        population: Number of records, at least 1.
        batches: Batches to an epoch, in [1, population].
        epochs: Number of epochs to iterate over; without end by default.
        generator: As for `PoissonSampler`.

    >>> from renyi.mechanisms import Gaussian
    >>> sampler = ShuffledSampler(10, 3, epochs=1)
    >>> sorted(len(batch) for batch in sampler)
    [3, 3, 4]
    >>> sampler.mechanism(Gaussian(1.1), steps=4)  # the second epoch has begun
    Composed((ShuffledBatches(mechanism=Gaussian(noise_multiplier=1.1), batches=3), 2))
    """

    _kind, _parameters = "shuffled", ("batches",)

    def __init__(
        self, population: int, batches: int, *, epochs: int | None = None, generator: Any = None
    ) -> None:
        super().__init__(population, None, generator)
        self.batches = _parts_of(self.population, batches)
        self.steps = None if epochs is None else count_of(epochs, "epochs") * self.batches

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return `ShuffledBatches`, once for every epoch that ``steps`` batches begin."""
        epochs = -(-count_of(steps, "steps") // self.batches)
        return times(ShuffledBatches(base, self.batches), epochs)

    def _progress(self, layout: Indices | None) -> dict[str, Any]:
        # The order of an epoch under way; the accounting takes it as known.
        return {"order": np.empty(0, np.int64) if layout is None else layout.copy()}

    def _checked_progress(self, state: Mapping[str, Any], drawn: int) -> Indices | None:
        order = np.asarray(entries_of(state, "order")[0])
        if order.size == 0 and drawn % self.batches == 0:
            return None
        if not _is_permutation(order, self.population):
            raise ValueError(
                f"state must hold an order with each of {self.population} records once, or none "
                f"between epochs, got an array of {order.dtype} of shape {order.shape}"
            )
        return order.astype(np.int64)

    def _draw(self, number: int, layout: Indices | None) -> tuple[Indices, Indices]:
        if layout is None or (number - 1) % self.batches == 0:
            layout = self.generator.core.permutation(self.population)
        return layout[_part(self.population, self.batches, number)].copy(), layout


def _is_permutation(order: npt.NDArray[Any], count: int) -> bool:
    if order.dtype.kind not in "iu" or order.shape != (count,):
        return False
    if order.min() < 0 or order.max() >= count:
        return False
    seen = np.zeros(count, bool)
    seen[order] = True
    return bool(seen.all())


class _Bins(NamedTuple):
    """The bins of one epoch, and the run that continues it."""

    epoch: int
    groups: Groups
    run: Run | None  # None with a reproducible generator, which may repeat draws


class BallsInBinsSampler(BatchSampler):
    """Every record in one batch of each epoch, drawn uniformly and independently of the others.

    Records are dealt anew for every epoch, unless bins are kept. Sizes of batches are random; they
    and the batches are secret, the number of batches is public. Bins are used once: in the middle
    of their epochs neither a fork of the process nor a second sampler loaded from a state can
    continue with them.

    Args:
        population: Number of records, in [1, 2^53].
        batches: Batches to an epoch, at least 1.
        epochs: Number of epochs to iterate over; without end by default.
        kept: Whether all epochs have the bins of the first: this is `FixedAllocation`, and
            correlated noise needs it (`renyi.matrix.BallsInBins`).
        generator: As for `PoissonSampler`.

    Source: Chua, Ghazi, Harrison, Kamath, Kumar, Leeman, Manurangsi, Sinha, Zhang 2024, arXiv
    2412.16802.

    >>> from renyi.mechanisms import Gaussian
    >>> sampler = BallsInBinsSampler(1000, 4, epochs=1)
    >>> sorted(np.concatenate(list(sampler)).tolist()) == list(range(1000))
    True
    >>> sampler.mechanism(Gaussian(1.1), steps=5)  # the second epoch has begun
    Composed((RandomAllocation(mechanism=Gaussian(noise_multiplier=1.1), steps=4, picks=1), 2))
    """

    _kind, _parameters = "balls in bins", ("batches", "kept")

    def __init__(
        self,
        population: int,
        batches: int,
        *,
        epochs: int | None = None,
        kept: bool = False,
        generator: Any = None,
    ) -> None:
        super().__init__(population, None, generator)
        self.batches = integer_of(batches, "batches", 1)
        if not isinstance(kept, bool | np.bool_):
            raise TypeError(f"kept must be True or False, got {kept!r}")
        self.kept = bool(kept)
        self.steps = None if epochs is None else count_of(epochs, "epochs") * self.batches
        self._loading: Run | None = None  # one for all loads: an interrupted load may be repeated

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return `RandomAllocation` for every epoch that ``steps`` begin, or `FixedAllocation`."""
        epochs = -(-count_of(steps, "steps") // self.batches)
        if self.kept and epochs:
            return FixedAllocation(base, self.batches, epochs)
        return times(RandomAllocation(base, self.batches), epochs)

    def _place_of(self, drawn: int) -> tuple[int, int]:
        """Return the dealing of the next batch, and the bin whose turn it is."""
        epoch, turn = divmod(drawn, self.batches)
        return (0, turn) if self.kept else (epoch, turn)

    def _is_between(self, drawn: int) -> bool:
        """Return whether the next batch begins a dealing."""
        return drawn == 0 if self.kept else drawn % self.batches == 0

    def _draw(self, number: int, layout: _Bins | None) -> tuple[Indices, _Bins]:
        epoch, turn = self._place_of(number - 1)
        if layout is None or layout.epoch != epoch:
            groups = Groups.drawn(self.generator.core, self.batches, self.population)
            layout = _Bins(epoch, groups, self._new_run())
        elif layout.run is not None:
            layout.run.check()
        return layout.groups.members(turn), layout

    def _next(self) -> Indices:
        batch = super()._next()
        bins: _Bins = self._place.layout
        if bins.run is not None:
            bins.run.begin(self.drawn)
        return batch

    def _new_run(self) -> Run | None:
        made = "make a sampler of its own, or load a state between epochs"
        return Run("BallsInBinsSampler", made) if self.generator.secure else None

    def _secret_progress(self, place: Place) -> dict[str, Any]:
        if self._is_between(place.drawn):
            return {}
        bins: _Bins = place.layout
        run = "" if bins.run is None else bins.run.name
        return {"epoch": bins.epoch, "bins": bins.groups.of_record.copy(), "run": run}

    def _checked_progress(self, state: Mapping[str, Any], drawn: int) -> _Bins | None:
        if self._is_between(drawn):
            return None
        epoch, _ = self._place_of(drawn)
        of_state, _, name = secrets_of(state, "the present epoch's bins", "epoch", "bins", "run")
        if of_state != epoch:
            raise ValueError(f"state must hold the bins of epoch {epoch}, got those of {of_state}")
        secrets, most = state["secrets"], (self.population, self.batches)
        groups = Groups(checked_groups(secrets, "bins", *most, may_lack=False), self.batches)
        self._loading = self._loading or self._new_run()
        if self._loading is not None:
            self._loading.check_load(str(name), drawn)
        return _Bins(epoch, groups, self._loading)

    def _restore(self, place: Place, state: Mapping[str, Any]) -> None:
        bins: _Bins | None = place.layout
        if bins is not None and bins.run is not None:
            bins.run.take_over(str(state["secrets"]["run"]), place.drawn, branch=False)
        super()._restore(place, state)


class FixedOrderSampler(BatchSampler):
    """The records as they come, cut into equal batches, and the same ones in every epoch.

    Nothing is random, so sampling hides nothing: this is for correlated noise and for streams.
    Steps of a record are ``batches`` apart. The sizes of batches differ by at most one.

    Args:
        population: Number of records, at least 1.
        batches: Batches to an epoch, in [1, population].
        steps: Number of batches to iterate over; without end by default.

    >>> [batch.tolist() for batch in FixedOrderSampler(5, 2, steps=3)]
    [[0, 1], [2, 3, 4], [0, 1]]
    """

    _kind, _parameters = "fixed order", ("batches",)

    def __init__(self, population: int, batches: int, *, steps: int | None = None) -> None:
        super().__init__(population, steps, None)
        self.batches = _parts_of(self.population, batches)

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return the `MatrixMechanism` of ``steps`` releases with independent Gaussian noise."""
        return _independent(base, steps, FixedEpochs(self.batches))

    def _draw(self, number: int, layout: Any) -> tuple[Indices, Any]:
        part = _part(self.population, self.batches, number)
        return np.arange(part.start, part.stop), None


def _independent(base: Mechanism, steps: int, scheme: Participation) -> Mechanism:
    """Return the `MatrixMechanism` of releases with independent noise in steps that are known."""
    if not isinstance(base, Gaussian):
        raise TypeError(f"base must be a Gaussian for batches that are known, got {base!r}")
    length = max(count_of(steps, "steps"), 1)
    return MatrixMechanism(BandedToeplitz(length, [1.0]), base.noise_multiplier, scheme)


class MinSeparationSampler(BatchSampler):
    """A uniform sample of the records that were in none of the last ``separation - 1`` batches.

    Batches may be known: this is for correlated noise where devices or users are asked in random
    order. Any draw fulfils `renyi.matrix.MinSeparation`. A batch takes time in proportion to the
    population.

    Args:
        population: Number of records, at least ``batch_size * separation``.
        batch_size: At least 1. Where records have had all their participations, there may be fewer
            to draw from in the end.
        separation: Steps i < j of a record have j - i >= separation; at least 1.
        participations: The largest number of batches that a record is in, at least 1; by default
            any number.
        steps, generator: As for `PoissonSampler`.

    >>> sampler = MinSeparationSampler(12, 2, 5, participations=1, steps=8)
    >>> [len(batch) for batch in sampler]
    [2, 2, 2, 2, 2, 2, 0, 0]
    """

    _kind, _parameters = "min separation", ("batch_size", "separation", "participations")

    def __init__(
        self,
        population: int,
        batch_size: int,
        separation: int,
        *,
        participations: int | None = None,
        steps: int | None = None,
        generator: Any = None,
    ) -> None:
        super().__init__(population, steps, generator)
        self.batch_size = integer_of(batch_size, "batch_size", 1)
        self.separation = integer_of(separation, "separation", 1)
        if self.batch_size * self.separation > self.population:
            raise ValueError(
                "separation must be such that batch_size times it is at most the population, "
                f"{self.population}, got {separation!r}"
            )
        self.participations = (
            None if participations is None else integer_of(participations, "participations", 1)
        )

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return the `MatrixMechanism` of ``steps`` releases with independent Gaussian noise."""
        return _independent(base, steps, MinSeparation(self.separation, self.participations))

    def _draw(self, number: int, layout: _Turns | None) -> tuple[Indices, _Turns]:
        last, used = layout or _Turns(*np.zeros((2, self.population), np.int64))
        free = (last == 0) | (number - last >= self.separation)
        if self.participations is not None:
            free &= used < self.participations
        batch = np.flatnonzero(free)
        if len(batch) > self.batch_size:
            batch = batch[self.generator.core.choose(len(batch), self.batch_size)]
        last, used = last.copy(), used.copy()
        last[batch] = number
        used[batch] += 1
        return batch, _Turns(last, used)

    def _progress(self, layout: _Turns | None) -> dict[str, Any]:
        empty = np.empty(0, np.int64)
        last, used = (empty, empty) if layout is None else layout
        return {"last": last.copy(), "used": used.copy()}

    def _checked_progress(self, state: Mapping[str, Any], drawn: int) -> _Turns | None:
        limits = {"last": drawn + 1, "used": drawn + 1}
        found = [
            checked_groups(state, name, self.population, most, may_lack=drawn == 0)
            for name, most in limits.items()
        ]
        if not drawn:
            return None
        last, used = (array.astype(np.int64) for array in found)
        most = -(-last // self.separation)  # the most batches of a record up to the last one
        if self.participations is not None:
            most = np.minimum(most, self.participations)
        batches = np.bincount(last)[1:]
        if (
            ((last == 0) != (used == 0)).any()
            or (used > most).any()
            or batches.max(initial=0) > self.batch_size
        ):
            raise ValueError(
                "state must hold last and used of records that this sampler can have drawn, "
                "got others"
            )
        return _Turns(last, used)


class _Turns(NamedTuple):
    """The last batch of each record, 0 before the first, and its number of batches."""

    last: Indices
    used: Indices
