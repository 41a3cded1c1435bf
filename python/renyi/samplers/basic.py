"""Which records take part in a step, and what accountants may assume about it: random samples.

A sampler draws batches of indices. Its ``mechanism`` states the mechanism of a release on such a
batch. No other code depends on the scheme, so no scheme is mistaken for another. The indices of
Poisson and fixed-size samples are secret, like the noise: sampling amplifies nothing against an
observer of the indices.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from renyi._states import entries_of, freed_by_fork, with_secrets
from renyi._training import LARGEST_POPULATION, ChaCha20, order_by_group
from renyi._validation import count_of, integer_of, probability_of
from renyi.matrix import BandedToeplitz, CyclicPoisson
from renyi.mechanisms import (
    FixedSizeSampled,
    Gaussian,
    MatrixMechanism,
    Mechanism,
    PoissonSampled,
    TruncatedPoissonSampled,
)
from renyi.noise.generator import generator_of

Indices = npt.NDArray[np.int64]


class Place(NamedTuple):
    """The position of a sampler, replaced in one assignment: no interruption splits it."""

    drawn: int = 0
    size: int = 0  # size of the last batch
    layout: Any = None  # the places of records, for samplers that keep them for several batches


class BatchSampler(ABC):
    """Draws batches of indices, and states the mechanism of a release on such a batch.

    Iterating yields batches until ``steps`` have been drawn in all, without end if ``steps`` is
    None; iterating again continues from there. Threads may share a sampler. Once an optimiser has a
    sampler, its settings are fixed, and no other optimiser takes it. An interrupted draw counts as
    a whole or not at all. A sampler cannot be copied or pickled, as both copies would draw the same
    batches: `state_dict` resumes it.
    """

    _kind: ClassVar[str]
    _parameters: ClassVar[tuple[str, ...]]

    _bound = False

    def __init__(self, population: int, steps: int | None, generator: Any) -> None:
        self.population = integer_of(population, "population", 1)
        if self.population > LARGEST_POPULATION:
            raise ValueError(f"population must be at most 2^53, got {population!r}")
        self.steps = None if steps is None else count_of(steps, "steps")
        self.generator = generator_of(generator)
        self._place = Place()
        self._lock = freed_by_fork(threading.RLock())

    def __setattr__(self, name: str, value: Any) -> None:
        if self._bound and name != "steps" and not name.startswith("_"):
            raise AttributeError(
                f"{name} must be set before DPSGD has the sampler, got {value!r}: make another plan"
            )
        super().__setattr__(name, value)

    @property
    def drawn(self) -> int:
        """Number of batches drawn so far."""
        return self._place.drawn

    @property
    def last_batch(self) -> tuple[int, int]:
        """Number and size of the last batch."""
        return self._place[:2]

    def bind(self) -> None:
        """Bind the sampler to one optimiser for good."""
        with self._lock:
            if self._bound:
                raise ValueError(
                    f"sampler must be that of one DPSGD only, got {self!r}, which another has: "
                    "give each one plan.sampler(), or one DPSGD all arrays and a rule for each"
                )
            self._bound = True

    def sample(self) -> Indices:
        """Return the next batch, an array of int64 indices in [0, population)."""
        with self._lock:
            return self._next()

    def __iter__(self) -> Iterator[Indices]:
        while True:
            with self._lock:
                if self.steps is not None and self.drawn >= self.steps:
                    return
                batch = self._next()
            yield batch

    def _next(self) -> Indices:
        place = self._place
        number = place.drawn + 1
        batch, layout = self._draw(number, place.layout)
        following = Place(number, len(batch), layout)
        if self._place is not place:  # the lock is reentrant: a signal handler may enter
            raise RuntimeError("a batch must be drawn after the one before, got a draw within one")
        self.__dict__["_place"] = following  # at once, where a handler would come before a call
        return batch

    def __len__(self) -> int:
        if self.steps is None:
            raise TypeError("a sampler without steps has no length")
        return self.steps

    def state_dict(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the state after the last batch, for `load_state_dict`.

        Args:
            secrets: Whether the state has an entry "secrets", which must not be published: the bin
                of every record in the middle of an epoch of `BallsInBinsSampler`, and the next
                draws of a reproducible generator. Without the entry the state cannot be loaded if
                there are secrets. The entry may be stored separately and put back before the state
                is loaded.
        """
        with self._lock:
            place = self._place
            state = {
                "sampler": self._settings(),
                "drawn": place.drawn,
                "generator": self.generator.state_dict(),
                **self._progress(place.layout),
            }
            return {**state, "secrets": self._secrets()} if secrets else state

    def _secrets(self) -> dict[str, Any]:
        place = self._place
        generator = self.generator.state_dict(secrets=True)["secrets"]
        return {"drawn": place.drawn, "generator": generator, **self._secret_progress(place)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict`.

        A reproducible generator continues with the same batches; a secure one takes a new key, so
        that no batch is drawn a second time. A sampler whose state was saved in the middle of an
        epoch of `BallsInBinsSampler`, whose bins are used once, must not continue.

        Raises:
            ValueError: If the state is that of another sampler, or incomplete, or lacks the secrets
                it takes. Nothing is changed then.
            RuntimeError: If an optimiser has the sampler; its own `load_state_dict` restores both.
        """
        if self._bound:
            raise RuntimeError(
                "load_state_dict must be that of the DPSGD which has the sampler, got a sampler's"
            )
        self.load_in_owner(state)

    def load_in_owner(self, state: Mapping[str, Any]) -> None:
        """Continue from a state like `load_state_dict`, for the optimiser that has the sampler."""
        settings, generator, drawn = entries_of(state, "sampler", "generator", "drawn")
        if not isinstance(settings, dict) or settings != self._settings():
            raise ValueError(f"state must be that of {self._settings()}, got that of {settings}")
        drawn = count_of(drawn, "drawn")
        layout = self._checked_progress(state, drawn)
        secrets = state.get("secrets")
        if secrets is not None and entries_of(secrets, "drawn")[0] != drawn:
            raise ValueError(
                f"state must hold the secrets of {drawn} batches drawn, got those of another state"
            )
        with self._lock:
            self.generator.load_state_dict(with_secrets(generator, secrets, "generator"))
            self._restore(Place(drawn, 0, layout), state)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} must not be copied or pickled, for both would draw the same "
            "batches: make another, or load its state_dict"
        )

    @abstractmethod
    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return the mechanism of ``steps`` releases of ``base``, each on a new batch."""

    def _progress(self, layout: Any) -> dict[str, Any]:
        """Return the public part of the layout of records."""
        return {}

    def _secret_progress(self, place: Place) -> dict[str, Any]:
        """Return the secret part of the layout of records."""
        return {}

    def _checked_progress(self, state: Mapping[str, Any], drawn: int) -> Any:
        """Return the layout of a state."""
        return None

    def _restore(self, place: Place, state: Mapping[str, Any]) -> None:
        """Take over what was checked; the lock is held."""
        self._place = place

    @abstractmethod
    def _draw(self, number: int, layout: Any) -> tuple[Indices, Any]:
        """Return the batch of this number, from 1 on, and the layout after it.

        The caller stores both; nothing is changed here.
        """

    def _settings(self) -> dict[str, Any]:
        names = ("population", *self._parameters)
        return {"kind": self._kind, **{name: getattr(self, name) for name in names}}

    def __repr__(self) -> str:
        words = ", ".join(f"{k}={v!r}" for k, v in self._settings().items() if k != "kind")
        return f"{type(self).__name__}({words})"


def times(mechanism: Mechanism, steps: int) -> Mechanism:
    """Return a mechanism composed ``steps`` times."""
    count = count_of(steps, "steps")
    return mechanism if count == 1 else mechanism * count


class PoissonSampler(BatchSampler):
    """Every record enters a batch with probability ``sample_rate``, independently of the others.

    The cost of a batch is proportional to its size, which is random and may be zero. The law is
    exact up to a total variation distance of ``population * 2^-67`` a batch.

    With a ``cycle_length`` each record is put into one of so many groups, uniformly and
    independently of the others, when the first batch is drawn, and remains there; the groups, which
    may be known, have their turn in a cycle. A record is in one Poisson sample of each cycle,
    whether it is added, removed or replaced: its group moves no other record.

    Args:
        population: Number of records, in [1, 2^53].
        sample_rate: In [0, 1]; in a cycle, of the records of the group that has its turn.
        batch_limit: The largest batch, at least 1: a uniform subset of a larger sample is kept.
            `pad_batch` fills batches up to the limit. By default there is no limit. The groups of a
            cycle are then equal parts of a public number of records, record i in group i modulo
            ``cycle_length``, and guarantees are those for replaced records.
        cycle_length: Number of groups, at least 1; by default there are no groups.
        steps: Number of batches to iterate over; without end by default.
        generator (SecureGenerator or numpy.random.Generator): By default the process's own
            `SecureGenerator`.

    Source: Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta, Xu 2023, arXiv 2306.08153, for
    cycles.

    >>> from renyi.mechanisms import Gaussian
    >>> sampler = PoissonSampler(60_000, 0.01, steps=3)
    >>> [bool(450 < len(batch) < 750) for batch in sampler]
    [True, True, True]
    >>> sampler.mechanism(Gaussian(1.1), steps=3)
    Composed((PoissonSampled(mechanism=Gaussian(noise_multiplier=1.1), sample_rate=0.01), 3))
    >>> cut = PoissonSampler(60_000, 0.01, batch_limit=640, steps=20)
    >>> max(len(batch) for batch in cut) <= 640, cut.mechanism(Gaussian(1.1)).batch_limit
    (True, 640)
    >>> cyclic = PoissonSampler(1000, 0.5, cycle_length=4, steps=8)
    >>> batches = [set(batch.tolist()) for batch in cyclic]
    >>> batches[0] & batches[1], bool(batches[0] & batches[4])
    (set(), True)
    >>> cyclic.mechanism(Gaussian(1.1), steps=9)  # the third cycle has begun
    Composed((PoissonSampled(mechanism=Gaussian(noise_multiplier=1.1), sample_rate=0.5), 3))
    """

    _kind, _parameters = "Poisson", ("sample_rate",)

    def __init__(
        self,
        population: int,
        sample_rate: float,
        *,
        batch_limit: int | None = None,
        cycle_length: int | None = None,
        steps: int | None = None,
        generator: Any = None,
    ) -> None:
        super().__init__(population, steps, generator)
        self.sample_rate = probability_of(sample_rate, "sample_rate")
        self.batch_limit = batch_limit
        if batch_limit is not None:
            self.batch_limit = integer_of(batch_limit, "batch_limit", 1)
        self.cycle_length = cycle_length
        if cycle_length is not None:
            self.cycle_length = integer_of(cycle_length, "cycle_length", 1)
            if batch_limit is not None and self.population % self.cycle_length:
                raise ValueError(
                    f"cycle_length must be a divisor of the population, {self.population}, with a "
                    f"batch_limit, got {cycle_length!r}"
                )

    def _settings(self) -> dict[str, Any]:
        further = {"batch_limit": self.batch_limit, "cycle_length": self.cycle_length}
        given = {name: value for name, value in further.items() if value is not None}
        return {**super()._settings(), **given}

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return ``steps`` releases, or one for every cycle that ``steps`` batches begin.

        It is `PoissonSampled`, with a limit, which needs Gaussian noise, `TruncatedPoissonSampled`;
        with both, the `renyi.MatrixMechanism` of independent noise for each cycle, which holds for
        replaced records.
        """
        uses = count_of(steps, "steps")
        if self.cycle_length is not None:
            uses = -(-uses // self.cycle_length)
        if self.batch_limit is None:
            return times(PoissonSampled(base, self.sample_rate), uses)
        if self.cycle_length is None:
            cut = self.batch_limit, self.population
            return times(TruncatedPoissonSampled(base, self.sample_rate, *cut), uses)  # type: ignore[arg-type]
        if not isinstance(base, Gaussian):
            raise TypeError(f"base must be a Gaussian where batches are cut, got {base!r}")
        group = self.population // self.cycle_length
        scheme = CyclicPoisson(self.sample_rate, self.cycle_length, self.batch_limit, group)
        independent = BandedToeplitz(self.cycle_length, [1.0])
        return times(MatrixMechanism(independent, base.noise_multiplier, scheme), uses)

    def _draw(self, number: int, layout: Groups | None) -> tuple[Indices, Groups | None]:
        core = self.generator.core
        if self.cycle_length is None:
            batch: Indices = core.poisson_sample(self.population, self.sample_rate)
        else:
            if layout is None and self.batch_limit is None:
                layout = Groups.drawn(core, self.cycle_length, self.population)
            elif layout is None:
                layout = Groups(np.arange(self.population) % self.cycle_length, self.cycle_length)
            batch = layout.members((number - 1) % self.cycle_length)
            if batch.size:
                batch = batch[core.poisson_sample(batch.size, self.sample_rate)]
        if self.batch_limit is not None and len(batch) > self.batch_limit:
            batch = batch[core.choose(len(batch), self.batch_limit)]
        return batch, layout

    def _progress(self, layout: Groups | None) -> dict[str, Any]:
        if self.cycle_length is None:
            return {}
        return {"groups": np.empty(0, np.int64) if layout is None else layout.of_record.copy()}

    def _checked_progress(self, state: Mapping[str, Any], drawn: int) -> Groups | None:
        if self.cycle_length is None:
            return None
        groups = checked_groups(
            state, "groups", self.population, self.cycle_length, may_lack=drawn == 0
        )
        numbers = np.arange(self.population) % self.cycle_length
        if self.batch_limit is not None and groups.size and (groups != numbers).any():
            raise ValueError(
                "state must hold groups that are the records modulo cycle_length with a "
                "batch_limit, got others"
            )
        return Groups(groups, self.cycle_length) if groups.size else None


class FixedSizeSampler(BatchSampler):
    """A uniform sample of fixed size in every step, in increasing order unless with replacement.

    Args:
        population: Number of records, in [1, 2^53].
        batch_size: Number of draws, at least 1; without replacement at most ``population``.
        replacement: Whether a record may be drawn several times in one batch.
        steps, generator: As for `PoissonSampler`.

    >>> from renyi.mechanisms import Gaussian
    >>> sampler = FixedSizeSampler(60_000, 256)
    >>> len(set(sampler.sample().tolist()))
    256
    """

    _kind, _parameters = "fixed size", ("batch_size", "replacement")

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

    def _draw(self, number: int, layout: Any) -> tuple[Indices, Any]:
        core = self.generator.core
        draw = core.choose_repeated if self.replacement else core.choose
        return draw(self.population, self.batch_size), None


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
    """Return the smallest type for numbers below a count, to save memory."""
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


class PaddedBatch(NamedTuple):
    """A batch of one shape, whatever its size.

    Attributes:
        indices: Indices of the records, padded with 0: the gradient of record 0 where ``mask`` is
            False must not count. `DPSGD.step` takes the mask.
        mask: True for each record of the batch.
    """

    indices: Indices
    mask: npt.NDArray[np.bool_]


def pad_batch(batch: Indices, size: int) -> PaddedBatch:
    """Pad a batch to a fixed size, so that code that is compiled for a shape is compiled once.

    Args:
        batch: Indices of at most ``size`` records.
        size: A public number, such as the `batch_limit` of a plan.

    Raises:
        ValueError: If the batch is larger.

    >>> pad_batch(np.array([5, 7]), 4)
    PaddedBatch(indices=array([5, 7, 0, 0]), mask=array([ True,  True, False, False]))
    """
    length = integer_of(size, "size", 0)
    if len(batch) > length:  # the number is private
        raise ValueError(f"size must be at least that of the batch, got {size!r}")
    indices = np.zeros(length, np.int64)
    indices[: len(batch)] = batch
    return PaddedBatch(indices, np.arange(length) < len(batch))
