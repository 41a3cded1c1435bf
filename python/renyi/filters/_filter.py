"""Budgets that refuse the mechanism which would exceed them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
import numpy.typing as npt

from renyi._rounding import round_down, round_up
from renyi._validation import probability_of, uses_of
from renyi.accountants import Adjacency
from renyi.filters._held import Cost, Held, Reservation, held_from, held_to
from renyi.filters._saved import Saved, numbers_in, written_all
from renyi.filters._spent import ROUNDED_UP, checked
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


class Total(NamedTuple):
    """What was spent at each order, and the sum of the probabilities of failure."""

    amounts: Array
    failing: float


class Filter(Saved):
    """A budget at each of some orders, which costs add up to: goes on while one of them is kept."""

    _STATE: ClassVar[tuple[str, ...]] = ("budgets", "total", "failing", "reserved", "last")

    def __init__(self, budgets: Sequence[float], adjacency: Adjacency, failing: float) -> None:
        super().__init__(adjacency)
        self._budgets = np.asarray(budgets, dtype=np.float64)
        self._failure_delta = failing
        self._total = Total(np.zeros(self._budgets.size), 0.0)
        self._reserved: dict[int, Held] = {}
        self._last = 0

    @abstractmethod
    def _cost(self, mechanism: Mechanism, count: int) -> Cost:
        """Return what uses of a mechanism cost, rounded up, or refuse the mechanism."""

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
            self._total = self._sum(self._total, self._admitted(mechanism, number))
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
            self._reserved[self._last + 1] = Held(
                mechanism, number, self._admitted(mechanism, number)
            )
            self._last += 1
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
            self._total = self._sum(self._total, cost)
            del self._reserved[number]

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
            left, fits = self._left(), self._most(mechanism, count)
            limits = ("epsilon", "delta", "rho", "order", "budget")
            whole = ", ".join(
                f"{name} {getattr(self, name)!r}"
                for name in limits
                if getattr(self, name, None) is not None
            )
            failing = self._failure_delta - self._all().failing
            raise BudgetExceededError(
                f"mechanism must fit in what remains of the budget, "
                f"{round_down(100.0 * left, 4)} % of "
                f"{whole}"
                + (f" and {round_down(failing, 3)} of failure_delta" if cost.failing else "")
                + f", got {mechanism!r} used {count} times, which takes "
                f"{round_up(100.0 * self._share(cost.amounts), 4)} %"
                + (f" and {round_up(cost.failing, 3)}" if cost.failing else "")
                + f"; {fits} would fit",
                left,
                fits,
            )
        return cost

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
        return max(0.0, 1.0 - self._share(self._all().amounts))

    def _share(self, amounts: Array) -> float:
        return float(np.min(amounts / self._budgets))

    def _all(self) -> Total:
        """Return what was spent and what is set aside."""
        total = self._total
        for held in self._reserved.values():
            total = self._sum(total, held.cost)
        return total

    def _sum(self, total: Total, cost: Cost) -> Total:
        failing = float(_raised(total.failing, cost.failing))
        return Total(_raised(total.amounts, cost.amounts), failing)

    def _holds(self, cost: Cost, mechanism: Mechanism, count: int) -> bool:
        total = self._sum(self._all(), cost)
        within = bool((total.amounts <= self._budgets).any())
        return within and total.failing <= self._failure_delta

    def _recorded(self, mechanism: Mechanism, count: int) -> None:
        """Take note of what was spent."""

    def _state(self) -> dict[str, Any]:
        return {
            "budgets": written_all(self._budgets),
            "total": written_all(self._total.amounts),
            "failing": self._total.failing,
            "reserved": held_to(self._reserved),
            "last": self._last,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._budgets = numbers_in(state["budgets"], "budgets")
        size = self._budgets.size
        amounts = numbers_in(state["total"], "total", size)
        self._total = Total(amounts, probability_of(state["failing"], "failing"))
        self._reserved = held_from(state["reserved"], size)
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


def _raised(total: Array | float, cost: Array | float) -> Array:
    return np.where(cost, (total + cost) * ROUNDED_UP, total)
