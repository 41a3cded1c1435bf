"""Filters and odometers as strict JSON, exact to the last digit, and beside each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from renyi import _strict_json
from renyi._locks import lock_freed_by_fork
from renyi._strict_json import read_number, written
from renyi._validation import real_of
from renyi.accountants import Adjacency, RDPAccountant

__all__ = ["Saved", "numbers_in"]


class Saved(ABC):
    """Has settings, fixed at the start, and a state; both are written and compared."""

    _ARGUMENTS: ClassVar[tuple[str, ...]]
    _STATE: ClassVar[tuple[str, ...]]
    _adjacency: Adjacency

    def __init__(self, adjacency: Adjacency) -> None:
        self._adjacency = RDPAccountant(adjacency=adjacency).adjacency  # raises
        self._lock = lock_freed_by_fork()

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation."""
        return self._adjacency

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Return what `_restore` needs, by the names in `_STATE`, as JSON can hold it."""

    @abstractmethod
    def _restore(self, state: dict[str, Any]) -> None:
        """Take over a state, or raise `TypeError` or `ValueError`."""

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._ARGUMENTS}

    def to_json(self, indent: int | None = None) -> str:
        """Return all there is to know as strict JSON, for `from_json`.

        Raises
        ------
        TypeError
            If it holds a mechanism with functions, or of a class of the user's own.
        """
        with self._lock:
            contents = self._settings() | self._state()
        return _strict_json.dumps({"type": type(self).__name__, **contents}, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return what `to_json` wrote, equal in every digit.

        Raises
        ------
        TypeError, ValueError
            If the text is not strict JSON, of another version or of another class.
        """
        names = (*cls._ARGUMENTS, *cls._STATE)
        return cls._built(_strict_json.read(text, cls.__name__, names))

    @classmethod
    def _built(cls, data: dict[str, Any]) -> Self:
        made = cls.__new__(cls)
        Saved.__init__(made, data.pop("adjacency"))
        made._restore(data)
        return made

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._settings() == other._settings() and self._state() == other._state()

    __hash__ = None  # type: ignore[assignment]  # it changes


def written_all(numbers: npt.NDArray[np.float64]) -> list[float | str]:
    """Return numbers as JSON can hold them."""
    return [written(number) for number in numbers.tolist()]


def numbers_in(values: Any, name: str, size: int | None = None) -> npt.NDArray[np.float64]:
    """Return a list of numbers in [0, inf], of a size, that was read from JSON."""
    allowed = f"a list of {'' if size is None else f'{size} '}numbers in [0, inf]"
    if not isinstance(values, list):
        raise TypeError(f"{name} must be {allowed}, got {values!r}")
    found = np.array([real_of(read_number(value), name, allowed) for value in values])
    if found.size != (found.size if size is None else size) or not (found >= 0.0).all():
        raise ValueError(f"{name} must be {allowed}, got {values!r}")
    return found
