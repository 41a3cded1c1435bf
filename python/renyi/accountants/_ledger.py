"""The mechanisms composed under an adjacency, and the parts of them that add up."""

import html
import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeVar

from renyi import _strict_json
from renyi._adjacency import DIRECTIONS, LARGEST_COUNT, Adjacency, DirectionName, adjacency_of
from renyi._states import freed_by_fork
from renyi._validation import uses_of
from renyi.mechanisms import Composed, Mechanism
from renyi.mechanisms.algebra import UnsupportedMechanismError, sum_of_losses
from renyi.mechanisms.json_form import decode_counted, encode_counted
from renyi.mechanisms.steps import LARGEST_GROUP, SampledStep

Part = TypeVar("Part")
AnyLedger = TypeVar("AnyLedger", bound="Ledger[Any]")


class Ledger(ABC, Generic[Part]):
    """Keeps composed mechanisms, and takes each of them apart into parts that add up.

    A subclass says how a mechanism is taken apart, and refuses a mechanism that it cannot account
    for. A mechanism is recorded whole or not at all.
    """

    _ARGUMENTS: ClassVar[tuple[str, ...]] = ("adjacency",)

    def __init__(self, adjacency: Adjacency) -> None:
        self._adjacency: Adjacency = adjacency_of(adjacency)
        self.lock = freed_by_fork(threading.RLock())  # held while mechanisms are recorded
        self._ledger: dict[Mechanism, int] = {}
        self._uses: dict[Hashable, int] = {}  # the count of each kind of part
        self._has_steps = False  # Gaussian steps, whose losses have no bound
        self._largest: dict[str, Fraction | None] = {}  # largest losses by direction, once asked

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation."""
        return self._adjacency

    @property
    def mechanisms(self) -> tuple[tuple[Mechanism, int], ...]:
        """The mechanisms composed so far with their counts, equal ones merged."""
        with self.lock:
            return tuple(self._ledger.items())

    def _leaves(self) -> list[tuple[Mechanism, int]]:
        """Return the composed mechanisms, with compositions expanded."""
        return [
            (leaf, times * count)
            for mechanism, count in self.mechanisms
            for leaf, times in leaves_of(mechanism)
        ]

    def _composed_by(self, other: AnyLedger) -> AnyLedger | None:
        """Return another accountant of the same composition; None if it does not take all of it."""
        try:
            for mechanism, count in self.mechanisms:
                other.compose(mechanism, count)
        except (UnsupportedMechanismError, ValueError):  # more than 10^9 equal parts among them
            return None
        return other

    def compose(self, mechanism: Mechanism, count: int = 1) -> Self:
        """Record ``count`` uses of a mechanism and return the accountant.

        Args:
            mechanism: The released mechanism. It may depend on earlier releases.
            count: The number of uses, in [0, 10^9], also in total with the recorded uses of the
                same steps.

        Raises:
            UnsupportedMechanismError: If this accountant cannot account for the mechanism under its
                adjacency; the message says why. Nothing is recorded then, nor after the errors
                below.
            TypeError, ValueError: If ``mechanism`` is not a mechanism or ``count`` not an integer
                in that range.

        >>> from renyi import Gaussian, PLDAccountant
        >>> PLDAccountant().compose(Gaussian(2.0), 3).mechanisms
        ((Gaussian(noise_multiplier=2.0), 3),)
        """
        number, parts = uses_of(count), self._parts_of(mechanism)
        if number == 0:
            return self
        with self.lock:
            self._uses |= self._uses_with(parts, number)  # raises before anything is recorded
            self._largest = {}
            for part, times in parts:
                self._has_steps |= type(part) is SampledStep
                self._record(part, times * number)
            known = len(self._ledger)  # hashing is not cheap: a new mechanism is hashed once
            before = self._ledger.setdefault(mechanism, number)
            if len(self._ledger) == known:
                self._ledger[mechanism] = before + number
        return self

    def supports(self, mechanism: Mechanism) -> bool:
        """Return whether `compose` takes a mechanism; if not, its error says why.

        >>> from renyi import PLDAccountant, RDPAccountant, ZCDP
        >>> RDPAccountant().supports(ZCDP(0.1)), PLDAccountant().supports(ZCDP(0.1))
        (True, False)
        """
        try:
            self._parts_of(mechanism)
        except UnsupportedMechanismError:
            return False
        return True

    @abstractmethod
    def _parts_of(self, mechanism: Mechanism) -> Sequence[tuple[Part, int]]:
        """Take a mechanism apart, or raise `UnsupportedMechanismError`; changes nothing."""

    @abstractmethod
    def _record(self, part: Part, count: int) -> None:
        """Add ``count`` uses of a part; cannot fail."""

    def _uses_with(self, parts: Sequence[tuple[Part, int]], number: int) -> dict[Hashable, int]:
        """Return the count of each of these parts after ``number`` more uses of all."""
        uses: dict[Hashable, int] = {}
        for part, times in parts:
            uses[part] = uses.get(part, self._uses.get(part, 0)) + times * number
            if uses[part] > LARGEST_COUNT:
                raise ValueError(
                    "count must be an integer in [0, 10^9], with all that is composed of the same "
                    f"steps, got {number} where that makes {uses[part]}"
                )
        return uses

    def _largest_loss(self, direction: DirectionName | None) -> Fraction | None:
        """Return the largest loss of the composition; None if it has no closed form."""
        if self._has_steps:
            return None
        losses: list[Fraction] = []
        for side in DIRECTIONS if direction is None else (direction,):
            if side not in self._largest:
                with self.lock:
                    self._largest[side] = sum_of_losses(self.mechanisms, self._adjacency, side)
            loss = self._largest[side]
            if loss is None:
                return None
            losses.append(loss)
        return max(losses)

    def _settings(self) -> dict[str, Any]:
        """Return the arguments of a new accountant of the same kind."""
        return {name: getattr(self, name) for name in self._ARGUMENTS}

    def _blank(self) -> Self:
        return type(self)(**self._settings())

    def _of_groups(self, size: int) -> Self | None:
        """Return the accountant for groups; None if some mechanism has no form for groups.

        Raises:
            UnsupportedMechanismError: If nothing is known of groups for a mechanism.
        """
        for mechanism, _ in self.mechanisms:
            mechanism.check_groups(self._adjacency)
        groups = self._blank()
        for mechanism, count in self.mechanisms:
            group = mechanism.for_group(size)
            if group is None or not groups.supports(group):
                return None
            groups.compose(group, count)
        return groups

    def copy(self) -> Self:
        """Return an independent accountant of the same composition.

        >>> from renyi import Gaussian, PLDAccountant
        >>> before = PLDAccountant().compose(Gaussian(2.0))
        >>> after = before.copy().compose(Gaussian(1.0))
        >>> len(before.mechanisms), len(after.mechanisms)
        (1, 2)
        """
        return _rebuilt(type(self), self._settings(), self.mechanisms)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self._settings(), self.mechanisms)

    def to_json(self, indent: int | None = None) -> str:
        """Return the settings and the mechanisms with their counts as strict JSON.

        Raises:
            TypeError: If a mechanism holds functions, or a class of the user's own.

        >>> from renyi import Gaussian, PLDAccountant
        >>> text = PLDAccountant().compose(Gaussian(2.0), 3).to_json()
        >>> PLDAccountant.from_json(text)
        <PLDAccountant: (Gaussian(noise_multiplier=2.0), 3)>
        """
        contents = {"type": type(self).__name__, **self._settings()}
        contents["mechanisms"] = encode_counted(self.mechanisms)
        return _strict_json.dumps(contents, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the accountant that `to_json` wrote, whose answers are equal in every digit.

        Raises:
            TypeError, ValueError: If the text is not strict JSON, of another version or of another
                accountant, or holds a mechanism that `compose` would not take.
        """
        data = _strict_json.read(text, cls.__name__, {"mechanisms", *cls._ARGUMENTS})
        return _rebuilt(cls, data, tuple(decode_counted(data.pop("mechanisms"))))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = dict(self.mechanisms), dict(other.mechanisms)
        return self._settings() == other._settings() and mine == theirs

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        parts = ", ".join(f"({mechanism!r}, {count})" for mechanism, count in self.mechanisms)
        return f"<{type(self).__name__}: {parts or 'nothing composed'}>"

    def _repr_html_(self) -> str:
        """Return the settings and the composed mechanisms, for notebooks."""
        settings = ", ".join(f"{name} {value}" for name, value in self._settings().items())
        composed = "".join(
            f"<tr><td>{count:,} ×</td><td>{mechanism._repr_html_()}</td></tr>"
            for mechanism, count in self.mechanisms
        )
        return (
            f"<p><b>{type(self).__name__}</b>, {html.escape(settings)}</p>"
            f"<table>{composed or '<tr><td>nothing composed</td></tr>'}</table>"
        )


def _rebuilt(
    kind: type[AnyLedger], settings: dict[str, Any], ledger: tuple[tuple[Mechanism, int], ...]
) -> AnyLedger:
    accountant = kind(**settings)
    for mechanism, count in ledger:
        accountant.compose(mechanism, count)
    return accountant


def leaves_of(mechanism: Mechanism) -> tuple[tuple[Mechanism, int], ...]:
    """Return the parts of a mechanism that are not compositions, with their counts."""
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be a renyi mechanism, got {mechanism!r}")
    return mechanism.parts if type(mechanism) is Composed else ((mechanism, 1),)


def group_size_of(value: Any) -> int:
    """Return a number of records."""
    if type(value) is int and 1 <= value <= LARGEST_GROUP:
        return value
    return uses_of(value, "group_size", 1, LARGEST_GROUP)
