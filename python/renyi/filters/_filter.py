"""Budgets that refuse the mechanism which would exceed them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from renyi._refusal import refusal
from renyi._validation import probability_of, uses_of
from renyi.accountants import Adjacency
from renyi.filters._held import Held, Reservation, held_from, held_to
from renyi.filters._saved import Saved, numbers_in, written_all
from renyi.filters._spent import Cost, Total, checked
from renyi.mechanisms import Mechanism

__all__ = ["BudgetExceededError", "Filter"]

NEAR = 1.0 + 1e-9  # another version of the engine may round otherwise

Array = npt.NDArray[np.float64]


class BudgetExceededError(RuntimeError):
    """A mechanism would exceed a budget; it was not recorded.

    Attributes
    ----------
    remaining : float or None
        The share of the budget that is left, where a filter or a ledger refuses.
    fits : int or None
        How many uses would still fit.
    """

    def __init__(
        self, message: str, remaining: float | None = None, fits: int | None = None
    ) -> None:
        super().__init__(message)
        self.remaining = remaining
        self.fits = fits


class Filter(Saved):
    """A budget at each of some orders, which costs add up to: goes on while one of them is kept."""

    _STATE: ClassVar[tuple[str, ...]] = ("budgets", "spent", "reserved", "last")

    def __init__(self, budgets: Sequence[float], adjacency: Adjacency, failing: float) -> None:
        super().__init__(adjacency)
        self._budgets = np.asarray(budgets, dtype=np.float64)
        self._failure_delta = failing
        self._total = Total.zero(self._budgets.size)  # what is set aside included
        self._reserved: dict[int, Held] = {}
        self._last = 0

    @abstractmethod
    def _cost(self, mechanism: Mechanism, count: int) -> Cost:
        """Return what uses of a mechanism cost, rounded up, or refuse the mechanism."""

    @property
    @abstractmethod
    def _limits(self) -> dict[str, float]:
        """The budget, as a user gave it."""

    @abstractmethod
    def _taken(self, total: Total, uses: tuple[Mechanism, int]) -> dict[str, float]:
        """Return upper bounds on what a total takes, by the names of the limits.

        ``uses`` are those in it that are not recorded, perhaps none.
        """

    @property
    def failure_delta(self) -> float:
        """What mechanisms that may fail can spend together."""
        return self._failure_delta

    @property
    def remaining(self) -> float:
        """The share of the budget that is left, in [0, 1], at the order where it is most."""
        with self._lock:
            return self._left()

    @property
    def reservations(self) -> tuple[Reservation, ...]:
        """What is set aside and not settled."""
        with self._lock:
            held = self._reserved.items()
            return tuple(Reservation(number, uses.mechanism, uses.count) for number, uses in held)

    def fits(self, mechanism: Mechanism, count: int = 1) -> bool:
        """Return whether `spend` would take ``count`` uses of a mechanism now.

        Raises
        ------
        UnsupportedMechanismError, TypeError, ValueError
            As `RDPAccountant.compose`.
        """
        mechanism, number = checked(mechanism, count)
        with self._lock:
            return self._holds(self._price(mechanism, number), mechanism, number)

    def spend(self, mechanism: Mechanism, count: int = 1) -> None:
        """Record ``count`` uses of a mechanism, before they are run, or refuse all of them.

        Raises
        ------
        BudgetExceededError
            If they would exceed the budget; nothing is recorded then, nor after other errors.
        UnsupportedMechanismError, TypeError, ValueError
            As `RDPAccountant.compose`.
        """
        mechanism, number = checked(mechanism, count)
        with self._lock:
            self._total = self._total.plus(self._admitted(mechanism, number))
            self._recorded(mechanism, number)

    def reserve(self, mechanism: Mechanism, count: int) -> Reservation:
        """Set uses of a mechanism aside, as `spend` does, until `settle` says how many there were.

        Raises
        ------
        BudgetExceededError, UnsupportedMechanismError, TypeError, ValueError
            As `spend`.
        """
        mechanism, number = checked(mechanism, count)
        with self._lock:
            cost = self._admitted(mechanism, number)
            self._total = self._total.plus(cost)  # first: an interruption must not give it back
            self._last += 1
            self._reserved[self._last] = Held(mechanism, number, cost)
            self._recorded(mechanism, number)
            return Reservation(self._last, mechanism, number)

    def settle(self, reservation: int | Reservation, used: int) -> None:
        """Give back what a run that has ended did not use, as far as that is sound.

        Divergences add up along the way, whoever stops: what was not run is not charged. What was
        admitted by an exact curve of all uses stays as it is.

        Raises
        ------
        TypeError, ValueError
            If there is no such reservation, or ``used`` is not in [0, its count].
        """
        number = reservation.number if isinstance(reservation, Reservation) else reservation
        with self._lock:
            held = self._reserved.get(number)
            if held is None:
                known = ", ".join(map(str, self._reserved)) or "none"
                raise ValueError(f"reservation must be an open one ({known}), got {number!r}")
            times = uses_of(used, "used", 0, held.count)
            cost = held.cost
            if cost.additive and times < held.count:
                less = self._cost(held.mechanism, times)
                cost = Cost(np.minimum(less.amounts, cost.amounts), min(less.failing, cost.failing))
            del self._reserved[number]  # first: an interruption must not give back twice
            self._total = self._total.plus(held.cost, -1).plus(cost)

    def count_that_fits(self, mechanism: Mechanism, most: int) -> int:
        """Return how many uses would be taken at once, at most so many.

        Raises
        ------
        UnsupportedMechanismError, TypeError, ValueError
            As `spend`.
        """
        mechanism, fails = checked(mechanism, most)
        with self._lock:
            return self._most(mechanism, fails)

    def _price(self, mechanism: Mechanism, count: int) -> Cost:
        """Return what uses of a mechanism would cost now, perhaps by an exact curve."""
        return self._cost(mechanism, count)

    def _admitted(self, mechanism: Mechanism, count: int) -> Cost:
        cost = self._price(mechanism, count)
        if not self._holds(cost, mechanism, count):
            fits = self._most(mechanism, count)
            limits = self._limits
            if self._failure_delta or cost.failing:
                limits["failure_delta"] = self._failure_delta
            message = refusal(
                "mechanism",
                f"{mechanism!r} used {count} times",
                limits,
                fits,
                *(self._with(mechanism, uses) for uses in (0, count, fits)),
            )
            raise BudgetExceededError(message, self._left(), fits)
        return cost

    def _with(self, mechanism: Mechanism, count: int) -> dict[str, float]:
        """Return upper bounds on what would be spent with uses of a mechanism."""
        total = self._total.plus(self._price(mechanism, count)) if count else self._total
        taken = self._taken(total, (mechanism, count))
        return {**taken, "failure_delta": total.rounded()[1]}

    def _most(self, mechanism: Mechanism, fails: int) -> int:
        if self._holds(self._price(mechanism, fails), mechanism, fails):
            return fails
        fits = 0
        while fails - fits > 1:
            middle = (fits + fails) // 2
            holds = self._holds(self._price(mechanism, middle), mechanism, middle)
            fits, fails = (middle, fails) if holds else (fits, middle)
        return fits

    def _left(self) -> float:
        return max(0.0, 1.0 - float(np.min(self._total.rounded()[0] / self._budgets)))

    def _holds(self, cost: Cost, mechanism: Mechanism, count: int) -> bool:
        amounts, failing = self._total.plus(cost).rounded()
        return bool((amounts <= self._budgets).any()) and failing <= self._failure_delta

    def _recorded(self, mechanism: Mechanism, count: int) -> None:
        """Take note of what was spent."""

    def _state(self) -> dict[str, Any]:
        return {
            "budgets": written_all(self._budgets),
            "spent": self._total.written(),
            "reserved": held_to(self._reserved),
            "last": self._last,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._budgets = numbers_in(state["budgets"], "budgets")
        size = self._budgets.size
        self._total = Total.read(state["spent"], size)
        self._reserved = held_from(state["reserved"], size)
        if not self._total.has(held.cost for held in self._reserved.values()):
            raise ValueError("spent must be at least what is reserved, got less")
        self._last = uses_of(state["last"], "last", max(self._reserved, default=0))
        self._failure_delta = probability_of(state.get("failure_delta", 0.0), "failure_delta")

    @classmethod
    def _built(cls, data: dict[str, Any]) -> Self:
        fresh = cls(**{name: data[name] for name in cls._ARGUMENTS})
        made = super()._built(data)
        made._bound_by(fresh)
        return made

    def _bound_by(self, fresh: Self) -> None:
        """Have no budget that is larger than a new one with the same settings."""
        own, new = self._budgets, fresh._budgets
        larger = own.shape != new.shape or bool((own > new * NEAR).any())
        if larger or self._failure_delta > fresh._failure_delta:
            raise ValueError("budgets must be what follows from the settings, got larger ones")
        self._budgets = np.minimum(own, new)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} must not be copied: the copy would be a second budget, and "
            "both together could spend twice. To go on later or elsewhere, write to_json() and go "
            "on from from_json() in one place only; for several processes there is renyi.Ledger"
        )
