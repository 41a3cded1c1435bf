"""The base of all filters: costs that add up, reservations, saved states, refusals."""

import math
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
import numpy.typing as npt

from renyi import _strict_json
from renyi._adjacency import Adjacency
from renyi._rounding import refusal
from renyi._search import largest_count
from renyi._states import freed_by_fork
from renyi._strict_json import check_names, read_number, written
from renyi._validation import BETWEEN, integer_of, number_in, probability_of, real_of, uses_of
from renyi.accountants import RDPAccountant, UnsupportedMechanismError
from renyi.mechanisms import Mechanism


class Saved(ABC):
    """Base of objects with fixed settings and a state, both of which are saved and compared."""

    _ARGUMENTS: ClassVar[tuple[str, ...]]
    _STATE: ClassVar[tuple[str, ...]]
    _adjacency: Adjacency

    def __init__(self, adjacency: Adjacency) -> None:
        self._adjacency = RDPAccountant(adjacency=adjacency).adjacency  # raises
        self._lock = freed_by_fork(threading.Lock())

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation."""
        return self._adjacency

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Return the state for `_restore`, by the names in `_STATE`, in the form of JSON."""

    @abstractmethod
    def _restore(self, state: dict[str, Any]) -> None:
        """Continue from a state with the settings of this new object, or raise an error."""

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._ARGUMENTS}

    def to_json(self, indent: int | None = None) -> str:
        """Return the settings and the state as strict JSON, for `from_json`.

        The text is not sealed: whoever can change it can change the spent budget. Keep it where
        only trusted programs write, or use a `renyi.Ledger`, whose hashes show changes.

        Raises:
            TypeError: If it holds a mechanism with functions, or of the user's own class.
        """
        with self._lock:
            contents = self._settings() | self._state()
        return _strict_json.dumps({"type": type(self).__name__, **contents}, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the object that `to_json` wrote, equal in every digit.

        The text is trusted: its form is checked, its author is not.

        Raises:
            TypeError, ValueError: If the text is not strict JSON, or is of another version or
                another class.
        """
        data = _strict_json.read(text, cls.__name__, (*cls._ARGUMENTS, *cls._STATE))
        made = cls(**{name: data[name] for name in cls._ARGUMENTS})
        made._restore(data)
        return made

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._settings() == other._settings() and self._state() == other._state()

    __hash__ = None  # type: ignore[assignment]  # it changes


def numbers_to_json(numbers: npt.NDArray[np.float64]) -> list[float | str]:
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


ROUNDED_UP = 1.0 + 2.0**-50

UNIT = -1074  # every finite double is a whole number of 2^-1074
INFINITE = 1 << 4096  # above all finite sums: an infinite cost can be subtracted again
WRITTEN = re.compile(r"0x[0-9a-f]{1,1100}p-?[0-9]{1,4}")


class Cost(NamedTuple):
    """The cost of uses of a mechanism, at each order of a budget.

    ``additive``: fewer uses cost less. This is false if the cost comes from the exact curve of all
    uses, as their number may depend on their outputs.
    """

    amounts: npt.NDArray[np.float64]
    failing: float
    additive: bool = True


class Total(NamedTuple):
    """Exact sums of costs: one for each order, and one of the probabilities of failure."""

    amounts: tuple[int, ...]
    failing: int

    @classmethod
    def zero(cls, orders: int) -> Self:
        """Return the sum of no costs."""
        return cls((0,) * orders, 0)

    def plus(self, cost: Cost, sign: int = 1) -> Self:
        """Return the sum with a cost added, or subtracted with ``sign`` -1."""
        amounts = zip(self.amounts, cost.amounts.tolist(), strict=True)
        added = tuple(total + sign * _units(amount) for total, amount in amounts)
        return type(self)(added, self.failing + sign * _units(cost.failing))

    def rounded(self) -> tuple[npt.NDArray[np.float64], float]:
        """Return the sums as the smallest floats that are not below them."""
        return np.array([_float_above(units) for units in self.amounts]), _float_above(self.failing)

    def has(self, costs: Iterable[Cost]) -> bool:
        """Return whether the total may be the sum of these costs and others."""
        rest = self
        for cost in costs:
            rest = rest.plus(cost, -1)
        return min(*rest.amounts, rest.failing) >= 0

    def written(self) -> list[str]:
        """Return the sums as strings for JSON, the sum of failures last."""
        return [_written(units) for units in (*self.amounts, self.failing)]

    @classmethod
    def read(cls, values: Any, orders: int) -> Self:
        """Return the sums that `written` returned.

        Raises:
            TypeError, ValueError: If the values are not in that form.
        """
        if not isinstance(values, list):
            raise TypeError(f"spent must be a list of sums, got {values!r}")
        if len(values) != orders + 1:
            raise ValueError(f"spent must hold {orders + 1} sums, got {len(values)}")
        *amounts, failing = map(_read, values)
        return cls(tuple(amounts), failing)


def times(count: int, amount: float) -> float:
    """Return ``count`` times ``amount``, rounded up."""
    return _float_above(count * _units(amount)) if count else 0.0


def _units(number: float) -> int:
    if math.isinf(number):
        return INFINITE
    numerator, denominator = number.as_integer_ratio()
    return numerator << (1 - UNIT - denominator.bit_length())


def _float_above(units: int) -> float:
    shift = max(units.bit_length() - 53, 0)
    try:
        return math.ldexp(-(-units >> shift), shift + UNIT)
    except OverflowError:
        return math.inf


def _written(units: int) -> str:
    zeros = max((units & -units).bit_length() - 1, 0)
    return f"{units >> zeros:#x}p{zeros + UNIT}"


def _read(value: Any) -> int:
    if not isinstance(value, str) or not WRITTEN.fullmatch(value):
        raise ValueError(f"spent must hold sums as '0x...p...', got {value!r}")
    digits, _, exponent = value.partition("p")
    shift = int(exponent) - UNIT
    if not 0 <= shift <= 4096:
        raise ValueError(f"spent must hold exponents from {UNIT} to {4096 + UNIT}, got {value!r}")
    return int(digits, 16) << shift


def checked(mechanism: Any, count: Any) -> tuple[Mechanism, int]:
    """Return a mechanism and its number of uses."""
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be a renyi mechanism, got {mechanism!r}")
    return mechanism, uses_of(count)


@lru_cache(maxsize=256)
def divergences(
    mechanism: Mechanism, count: int, adjacency: Adjacency, orders: tuple[float, ...]
) -> tuple[npt.NDArray[np.float64], float]:
    """Return the divergences of uses of a mechanism, and the probability of a failure."""
    uses = RDPAccountant(adjacency=adjacency).compose(mechanism, count)
    amounts, failing = uses.get_approximate_rdp(orders)
    if np.isinf(amounts).all():
        raise UnsupportedMechanismError(
            mechanism, "it has no finite Rényi divergence of any of the orders in use"
        )
    amounts.flags.writeable = False
    return amounts, failing


def orders_of(orders: Iterable[float]) -> tuple[float, ...]:
    """Return Rényi orders in (1, 1e6], ascending."""
    accepted = RDPAccountant(orders=orders).orders  # raises
    if accepted is None:
        raise TypeError("orders must be a sequence of numbers in (1, 1e6], got None")
    return tuple(sorted(accepted))


def open_delta(delta: Any) -> float:
    """Return a number in (0, 1)."""
    return number_in(delta, "delta", BETWEEN)


@dataclass(frozen=True, slots=True)
class Reservation:
    """Uses of a mechanism that were set aside; they count as spent until `settle`."""

    number: int
    mechanism: Mechanism
    count: int


Reserved = dict[int, tuple[Reservation, Cost]]  # by number


def reservations_to_json(reserved: Reserved) -> list[dict[str, Any]]:
    """Return reservations as JSON can hold them."""
    return [
        {
            "number": held.number,
            "mechanism": held.mechanism.to_dict(),
            "count": held.count,
            "amounts": numbers_to_json(cost.amounts),
            "failing": cost.failing,
            "additive": cost.additive,
        }
        for held, cost in reserved.values()
    ]


def reservations_from_json(data: Any, size: int) -> Reserved:
    """Return the reservations that `reservations_to_json` wrote."""
    if not isinstance(data, list):
        raise TypeError(f"reserved must be a list, got {data!r}")
    found: Reserved = {}
    for item in data:
        if not isinstance(item, Mapping):
            raise TypeError(f"reserved must hold mappings, got {item!r}")
        names = ("number", "mechanism", "count", "amounts", "failing", "additive")
        check_names("reserved", item, names)
        amounts = numbers_in(item["amounts"], "amounts", size)
        failing = probability_of(read_number(item["failing"]), "failing")
        mechanism = Mechanism.from_dict(item["mechanism"])
        cost = Cost(amounts, failing, item["additive"] is True)
        number = integer_of(item["number"], "number", 1)
        if number in found:
            raise ValueError(f"reserved must hold each number once, got {number} twice")
        found[number] = Reservation(number, mechanism, uses_of(item["count"])), cost
    return found


NEAR = 1.0 + 1e-9  # another version of the engine may round differently

Array = npt.NDArray[np.float64]


class BudgetExceededError(RuntimeError):
    """A mechanism would exceed a budget; it was not recorded.

    Attributes:
        remaining: The share of the budget that is left, if a filter or a ledger refuses.
        fits: The number of uses that would still fit.
    """

    def __init__(
        self, message: str, remaining: float | None = None, fits: int | None = None
    ) -> None:
        super().__init__(message)
        self.remaining = remaining
        self.fits = fits


class Filter(Saved):
    """A budget at each of some orders: uses are accepted while at least one budget holds."""

    _STATE: ClassVar[tuple[str, ...]] = ("budgets", "spent", "reserved", "last")

    def __init__(self, budgets: Sequence[float], adjacency: Adjacency, failing: float) -> None:
        super().__init__(adjacency)
        self._budgets = np.asarray(budgets, dtype=np.float64)
        self._failure_delta = failing
        self._total = Total.zero(self._budgets.size)  # including reservations
        self._reserved: Reserved = {}
        self._last = 0

    @abstractmethod
    def _cost(self, mechanism: Mechanism, count: int) -> Cost:
        """Return the cost of uses of a mechanism, rounded up, or refuse the mechanism."""

    @property
    @abstractmethod
    def _limits(self) -> dict[str, float]:
        """The budget, as a user gave it."""

    def _taken(self, total: Total, uses: tuple[Mechanism, int]) -> dict[str, float]:
        """Return upper bounds on the part of each limit that a total uses, by the limit's name.

        ``uses`` are the uses in the total that are not recorded, perhaps none. By default the
        total is that of the one limit.
        """
        return dict.fromkeys(self._limits, float(total.rounded()[0][0]))

    @property
    def failure_delta(self) -> float:
        """The part of delta for mechanisms that may fail."""
        return self._failure_delta

    @property
    def remaining(self) -> float:
        """The share of the budget that is left, in [0, 1], at the order with the most left."""
        with self._lock:
            return self._left()

    @property
    def reservations(self) -> tuple[Reservation, ...]:
        """The reservations that are still open."""
        with self._lock:
            return tuple(held for held, _ in self._reserved.values())

    def fits(self, mechanism: Mechanism, count: int = 1) -> bool:
        """Return whether `spend` would take ``count`` uses of a mechanism now.

        Raises:
            UnsupportedMechanismError, TypeError, ValueError: As `RDPAccountant.compose`.
        """
        mechanism, number = checked(mechanism, count)
        with self._lock:
            return self._holds(self._price(mechanism, number), mechanism, number)

    def spend(self, mechanism: Mechanism, count: int = 1) -> None:
        """Record ``count`` uses of a mechanism, before they are run, or refuse all of them.

        Raises:
            BudgetExceededError: If they would exceed the budget; nothing is recorded then, nor
                after other errors.
            UnsupportedMechanismError, TypeError, ValueError: As `RDPAccountant.compose`.
        """
        mechanism, number = checked(mechanism, count)
        with self._lock:
            self._total = self._total.plus(self._admitted(mechanism, number))
            self._recorded(mechanism, number)

    def reserve(self, mechanism: Mechanism, count: int) -> Reservation:
        """Set uses of a mechanism aside, as `spend` does, until `settle` states the actual number.

        Raises:
            BudgetExceededError, UnsupportedMechanismError, TypeError, ValueError: As `spend`.
        """
        mechanism, number = checked(mechanism, count)
        with self._lock:
            cost = self._admitted(mechanism, number)
            self._total = self._total.plus(cost)  # first: an interruption must not lose the cost
            self._last += 1
            held = Reservation(self._last, mechanism, number)
            self._reserved[held.number] = held, cost
            self._recorded(mechanism, number)
            return held

    def settle(self, reservation: int | Reservation, used: int) -> None:
        """Give back the unused part of a reservation after its run, as far as this is sound.

        Divergences add up use by use, so that uses that did not run are not charged. A charge by
        the exact curve of all uses remains.

        Raises:
            TypeError, ValueError: If there is no such reservation, or ``used`` is not in [0, its
                count].
        """
        number = reservation.number if isinstance(reservation, Reservation) else reservation
        with self._lock:
            if number not in self._reserved:
                known = ", ".join(map(str, self._reserved)) or "none"
                raise ValueError(f"reservation must be an open one ({known}), got {number!r}")
            held, before = self._reserved[number]
            cost, times = before, uses_of(used, "used", 0, held.count)
            if cost.additive and times < held.count:
                less = self._cost(held.mechanism, times)
                cost = Cost(np.minimum(less.amounts, cost.amounts), min(less.failing, cost.failing))
            del self._reserved[number]  # first: an interruption must not give back twice
            self._total = self._total.plus(before, -1).plus(cost)

    def count_that_fits(self, mechanism: Mechanism, most: int) -> int:
        """Return the number of uses, up to a limit, that `spend` would take at once.

        Raises:
            UnsupportedMechanismError, TypeError, ValueError: As `spend`.
        """
        mechanism, fails = checked(mechanism, most)
        with self._lock:
            return self._most(mechanism, fails)

    def _price(self, mechanism: Mechanism, count: int) -> Cost:
        """Return the cost of uses of a mechanism now, possibly by an exact curve."""
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
        """Return upper bounds on the spent budget with further uses of a mechanism."""
        total = self._total.plus(self._price(mechanism, count)) if count else self._total
        taken = self._taken(total, (mechanism, count))
        return {**taken, "failure_delta": total.rounded()[1]}

    def _most(self, mechanism: Mechanism, fails: int) -> int:
        def fit(count: int) -> bool:
            return self._holds(self._price(mechanism, count), mechanism, count)

        if fit(fails):
            return fails
        fits, more = 0, 1
        while more < fails and fit(more):  # large counts may take long to price
            fits, more = more, 2 * more
        return largest_count(fit, fits, min(more, fails))

    def _left(self) -> float:
        return max(0.0, 1.0 - float(np.min(self._total.rounded()[0] / self._budgets)))

    def _holds(self, cost: Cost, mechanism: Mechanism, count: int) -> bool:
        amounts, failing = self._total.plus(cost).rounded()
        return bool((amounts <= self._budgets).any()) and failing <= self._failure_delta

    def _recorded(self, mechanism: Mechanism, count: int) -> None:
        """Update the state of a subclass after uses were spent."""

    def _state(self) -> dict[str, Any]:
        return {
            "budgets": numbers_to_json(self._budgets),
            "spent": self._total.written(),
            "reserved": reservations_to_json(self._reserved),
            "last": self._last,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        budgets, size = numbers_in(state["budgets"], "budgets"), self._budgets.size
        if budgets.size != size or bool((budgets > self._budgets * NEAR).any()):
            raise ValueError("budgets must be what follows from the settings, got larger ones")
        self._budgets = np.minimum(budgets, self._budgets)
        self._total = Total.read(state["spent"], size)
        self._reserved = reservations_from_json(state["reserved"], size)
        if not self._total.has(cost for _, cost in self._reserved.values()):
            raise ValueError("spent must be at least what is reserved, got less")
        self._last = uses_of(state["last"], "last", max(self._reserved, default=0))

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} must not be copied: the copy would be a second budget, and "
            "both together could spend twice. To go on later or elsewhere, write to_json() and go "
            "on from from_json() in one place only; for several processes there is renyi.Ledger"
        )


class EpsilonDelta(Filter):
    """A filter of a budget (epsilon, delta)."""

    _epsilon: float
    _delta: float

    @property
    def epsilon(self) -> float:
        """The epsilon of the budget."""
        return self._epsilon

    @property
    def delta(self) -> float:
        """The delta of the budget."""
        return self._delta

    @property
    def _limits(self) -> dict[str, float]:
        return {"epsilon": self._epsilon, "delta": self._delta}
