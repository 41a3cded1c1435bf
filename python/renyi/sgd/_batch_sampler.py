"""What samplers have in common: batches one by one, a limit, and a state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._locks import reentrant_lock_freed_by_fork
from renyi._noise import LARGEST_POPULATION
from renyi._validation import count_of, integer_of
from renyi.mechanisms import Mechanism
from renyi.sgd._generator import generator_of
from renyi.sgd._state import entries_of

__all__ = ["BatchSampler", "Indices", "times"]

Indices = npt.NDArray[np.int64]


class BatchSampler(ABC):
    """Draws batches of indices, and says what a release on such a batch is to an accountant.

    Iterating yields batches until ``steps`` have been drawn in all, without end if ``steps`` is
    None; iterating again goes on from there. Threads may share a sampler. Once an optimiser has it,
    its settings are fixed, and no other optimiser takes it.
    """

    _bound = False

    def __init__(self, population: int, steps: int | None, generator: Any) -> None:
        self.population = integer_of(population, "population", 1)
        if self.population > LARGEST_POPULATION:
            raise ValueError(f"population must be at most 2^53, got {population!r}")
        self.steps = None if steps is None else count_of(steps, "steps")
        self.generator = generator_of(generator)
        self._drawn = 0
        self._last = (0, 0)  # number and size of the last batch
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
        return self._drawn

    def _bind(self) -> None:
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
                if self.steps is not None and self._drawn >= self.steps:
                    return
                batch = self._next()
            yield batch

    def _next(self) -> Indices:
        self._drawn += 1
        batch = self._draw()
        self._last = (self._drawn, len(batch))
        return batch

    def __len__(self) -> int:
        if self.steps is None:
            raise TypeError("a sampler without steps has no length")
        return self.steps

    def state_dict(self) -> dict[str, Any]:
        """Return what `load_state_dict` needs to go on after the last batch."""
        with self._lock:
            return {
                "sampler": self._settings(),
                "drawn": self._drawn,
                "generator": self.generator.state_dict(),
                **self._progress(),
            }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was called.

        With a reproducible generator the batches are those that would have come; a secure one takes
        a new key, so that no batch is drawn a second time.

        Raises
        ------
        ValueError
            If the state is that of another sampler, or incomplete. Nothing is changed then.
        RuntimeError
            If an optimiser has the sampler, whose own `load_state_dict` restores both.
        """
        if self._bound:
            raise RuntimeError(
                "load_state_dict must be that of the DPSGD which has the sampler, got a sampler's"
            )
        self._load(state)

    def _load(self, state: Mapping[str, Any]) -> None:
        settings, generator, drawn = entries_of(state, "sampler", "generator", "drawn")
        if settings != self._settings():
            raise ValueError(f"state must be that of {self._settings()}, got that of {settings}")
        drawn = count_of(drawn, "drawn")
        progress = self._checked_progress(state, drawn)
        with self._lock:
            self.generator.load_state_dict(generator)
            self._restore(drawn, progress)

    @abstractmethod
    def mechanism(self, base: Mechanism, steps: int = 1) -> Mechanism:
        """Return what ``steps`` releases of ``base``, each on a new batch, are to an accountant."""

    def _progress(self) -> dict[str, Any]:
        return {}

    def _checked_progress(self, state: Mapping[str, Any], drawn: int) -> Any:
        return None

    def _restore(self, drawn: int, progress: Any) -> None:
        """Take over what was checked; the lock is held."""
        self._drawn = drawn
        self._last = (drawn, 0)

    @abstractmethod
    def _draw(self) -> Indices: ...

    @abstractmethod
    def _settings(self) -> dict[str, Any]: ...

    def __repr__(self) -> str:
        words = ", ".join(f"{k}={v!r}" for k, v in self._settings().items() if k != "kind")
        return f"{type(self).__name__}({words})"


def times(mechanism: Mechanism, steps: int) -> Mechanism:
    """Return a mechanism so many times."""
    count = count_of(steps, "steps")
    return mechanism if count == 1 else mechanism * count
