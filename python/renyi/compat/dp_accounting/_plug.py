"""What our accountants of dp_accounting's kind have in common."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar, Self

from dp_accounting import NeighboringRelation, PrivacyAccountant

from renyi._adjacency import Adjacency
from renyi.accountants import Accountant, UnsupportedMechanismError
from renyi.compat.dp_accounting._from_events import Part, RefusedError, parts_of
from renyi.mechanisms import Composed, Mechanism

__all__ = ["ADJACENCY", "Charge", "Plug"]

Charge = Callable[[Mechanism, int], object]

ADJACENCY: dict[Any, Adjacency] = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "add_remove",
    NeighboringRelation.REPLACE_ONE: "replace_one",
    NeighboringRelation.REPLACE_SPECIAL: "zero_out",
}


class Plug(PrivacyAccountant):  # type: ignore[misc]  # dp_accounting has no types
    """Base of both accountants: dp_accounting keeps the events, this library answers."""

    # The relations under which dp_accounting's accountant of the same kind takes an event.
    _RELATIONS: ClassVar[dict[Any, tuple[Any, ...]]] = {}

    def __init__(self, accountant: Accountant[Any], relation: Any, charge: Charge | None) -> None:
        super().__init__(relation)
        if charge is not None and not callable(charge):
            raise TypeError(f"charge must be called with a mechanism and a count, got {charge!r}")
        self._accountant = accountant
        self._charge = charge
        self._unprotected = False

    @property
    def accountant(self) -> Accountant[Any]:
        """The renyi accountant of what was composed, which answers more questions."""
        return self._accountant

    def compose(self, event: Any, count: int = 1) -> Self:
        """Record uses of an event, charged before they are recorded, and return the accountant.

        Raises
        ------
        dp_accounting.UnsupportedEventError
            If the accountant does not take it.
        BudgetExceededError
            If ``charge`` refuses it; nothing is recorded then.
        TypeError, ValueError
            If it is not an event, or ``count`` not a positive integer.
        """
        count = operator.index(count)
        if self._charge is not None and count > 0 and self._refusal(event) is None:
            released = [(part.mechanism, part.uses) for part in self._parts(event)]
            self._charge(Composed(*released), count)
        super().compose(event, count)
        return self

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        if not do_compose:
            return self._refusal(event)
        for part in self._parts(event):
            if part.is_private:
                self._accountant.compose(part.mechanism, part.uses * count)
            else:
                self._unprotected = True
        return None

    def _refusal(self, event: Any) -> Any:
        """Return why an event is not taken, None if it is."""
        try:
            for part in self._parts(event):
                self._accountant.compose(part.mechanism, 0)  # raises, and records nothing
        except RefusedError as error:
            return self.CompositionErrorDetails(error.event, error.message)
        except UnsupportedMechanismError as error:
            return self.CompositionErrorDetails(part.event, error.reason)
        return None

    def _parts(self, event: Any) -> list[Part]:
        parts = list(parts_of(event, self.neighboring_relation))
        for part in parts:
            self._check_relation(part.event)
        return parts

    def _check_relation(self, event: Any) -> None:
        taken = self._RELATIONS.get(type(event))
        if taken is not None and self.neighboring_relation not in taken:
            allowed = " or ".join(f"`{relation.name}`" for relation in taken)
            name = type(event).__name__
            raise RefusedError(
                event,
                f"neighboring_relation must be {allowed} for `{name}`. Found "
                f"{self.neighboring_relation}.",
            )
