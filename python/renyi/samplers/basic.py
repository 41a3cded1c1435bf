"""Which records take part in a step, and what accountants may assume about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from renyi._locks import reentrant_lock_freed_by_fork
from renyi._states import entries_of, with_secrets
from renyi._training import LARGEST_POPULATION
from renyi._validation import count_of, integer_of, probability_of
from renyi.mechanisms import FixedSizeSampled, Mechanism, PoissonSampled, ShuffledBatches
from renyi.noise.generator import generator_of

Indices = npt.NDArray[np.int64]


class Place(NamedTuple):
    """The position of a sampler, replaced in one assignment: no interruption splits it."""

    drawn: int = 0
    size: int = 0  # of the last batch
    layout: Any = None  # where records are, of samplers that keep that for several batches


class BatchSampler(ABC):
    """Draws batches of indices, and says what a release on such a batch is to an accountant.

    Iterating yields batches until ``steps`` have been drawn in all, without end if ``steps`` is
    None; iterating again goes on from there. Threads may share a sampler. Once an optimiser has it,
    its settings are fixed, and no other optimiser takes it. A draw that is interrupted counts as a
    whole or not at all. A sampler is neither copied nor pickled, for both would draw the same
    batches: it is resumed by `state_dict`.
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
        self._lock = reentrant_lock_freed_by_fork()

    def __setattr__(self, name: str, value: Any) -> None:
        if self._bound and name != "steps" and not name.startswith("_"):
            raise AttributeError(
                f"{name} must be set before DPSGD has the sampler, got {value!r}: make another plan"
            )
        super().__setattr__(name, value)

    @property
    def drawn(self) -> int:
        """Batches drawn so far."""
        return self._place.drawn

    @property
    def last_batch(self) -> tuple[int, int]:
        """Number and size of the last batch."""
        return self._place[:2]

    def bind(self) -> None:
        """Become the sampler of one optimiser for good."""
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

        Parameters
        ----------
        secrets : bool
            With them the state has an entry "secrets", never to be published: the bin of every
            record in the middle of an epoch of `BallsInBinsSampler`, and what a reproducible
            generator draws next. Without them it holds neither, and cannot be loaded where there
            are any. The entry may be stored apart and put back before the state is loaded.
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
        """Go on where `state_dict` was called.

        With a reproducible generator the batches are those that would have come; a secure one takes
        a new key, so that no batch is drawn a second time. A sampler whose state was saved in the
        middle of an epoch of `BallsInBinsSampler`, whose bins are used once, must not continue.

        Raises
        ------
        ValueError
            If the state is that of another sampler, or incomplete, or lacks the secrets it takes.
            Nothing is changed then.
        RuntimeError
            If an optimiser has the sampler, whose own `load_state_dict` restores both.
        """
        if self._bound:
            raise RuntimeError(
                "load_state_dict must be that of the DPSGD which has the sampler, got a sampler's"
            )
        self.load_in_owner(state)

    def load_in_owner(self, state: Mapping[str, Any]) -> None:
        """Go on from a state as `load_state_dict` does, for the optimiser that has the sampler."""
        settings, generator, drawn = entries_of(state, "sampler", "generator", "drawn")
        if settings != self._settings():
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
    """Return a mechanism so many times."""
    count = count_of(steps, "steps")
    return mechanism if count == 1 else mechanism * count


# Samplers: which records take part in a step, and what accountants may assume about it.
#
# A sampler draws batches of indices. Its ``mechanism`` states the mechanism of a release on such
# a batch. No other code depends on the scheme, so no scheme is mistaken for another.
#
# The indices of Poisson and fixed-size samples are secret, like the noise: sampling amplifies
# nothing against an observer of the indices.


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

    _kind, _parameters = "Poisson", ("sample_rate",)

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

    def _draw(self, number: int, layout: Any) -> tuple[Indices, Any]:
        return self.generator.core.poisson_sample(self.population, self.sample_rate), None


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


class ShuffledSampler(BatchSampler):
    """Epochs of disjoint batches: the records in a new random order, cut into equal parts.

    The sizes of an epoch's batches differ by at most one, and every record is in one of them.
    Shuffling hides nothing from an observer of all batches: an epoch costs one full release.

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

    _kind, _parameters = "shuffled", ("batches",)

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

    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return `ShuffledBatches`, once for every epoch that ``steps`` batches begin."""
        epochs = -(-count_of(steps, "steps") // self.batches)
        return times(ShuffledBatches(base, self.batches), epochs)

    def _progress(self, layout: Indices | None) -> dict[str, Any]:
        # Of an epoch under way; the accounting takes it as known.
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
        batch = (number - 1) % self.batches
        if layout is None or batch == 0:
            layout = self.generator.core.permutation(self.population)
        first, last = (k * self.population // self.batches for k in (batch, batch + 1))
        return layout[first:last].copy(), layout


def _is_permutation(order: npt.NDArray[Any], count: int) -> bool:
    if order.dtype.kind not in "iu" or order.shape != (count,):
        return False
    if order.min() < 0 or order.max() >= count:
        return False
    seen = np.zeros(count, bool)
    seen[order] = True
    return bool(seen.all())
