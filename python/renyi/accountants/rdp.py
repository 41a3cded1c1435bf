"""The Rényi accountant: (epsilon, delta) from the Rényi divergences of a composition.

Reported numbers are rounded outward: epsilon and delta are never below the exact value of the
guarantee they stand for.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._adjacency import CONVERSIONS, DIRECTIONS, Adjacency, Conversion, DirectionName, one_of
from renyi._engine import RenyiCurve, SampledSteps, all_floats
from renyi._validation import PROBABILITY, epsilon_of, number_in, numbers_of, real_of
from renyi.accountants._curves import Array, Curve, JoinedCurve, Wanted, rounded_up, smallest
from renyi.accountants._groups import group_curve
from renyi.accountants._ledger import leaves_of
from renyi.accountants._protocol import Accountant, rtol_of
from renyi.mechanisms import Gaussian, Mechanism, PoissonSampled
from renyi.mechanisms.steps import SampledStep, within_domain

LARGEST_ORDER = 1e6
LEAST_KNOWN = 1e-9  # mechanisms with smaller losses may have the curves of larger ones

Answer = Callable[[float], tuple[float, float, float]]
"""Returns an upper end, a lower end and the order."""


class Failure(NamedTuple):
    """A failure that reveals everything with some probability."""

    probability: float


@dataclass(frozen=True)
class RenyiPart:
    """A mechanism with its Rényi curve."""

    mechanism: Mechanism
    curve: RenyiCurve = field(compare=False)


Part = SampledStep | Failure | RenyiPart


class RDPAccountant(Accountant[Part]):
    """Accountant of Rényi divergences.

    Args:
        orders: Orders to choose from, each in (1, 1e6]. By default the best real order is found,
            which is never worse than any list.
        conversion ({"optimal", "balle", "asoodeh", "mironov"}): From Rényi-DP to (epsilon, delta):
            the optimal value of each order (Asoodeh et al. 2020; the default, never above the
            others), Balle et al. 2020 Theorem 21 (the same as Canonne, Kamath, Steinke 2020
            Proposition 12), the smaller of that and Asoodeh's closed form, or Mironov 2017
            Proposition 3.
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours: one
            has a record more, or one record differs (noise has to hide twice the sensitivity then),
            or one record is replaced by one that contributes nothing.

    Equal steps merge: memory and the time of a query grow with the number of distinct (sample rate,
    noise multiplier) pairs, or mechanisms, only. The Rényi divergences of Poisson-sampled Gaussian
    steps are exact (Mironov, Talwar, Zhang 2019, Theorems 4 and 5) and certified to 1e-12 relative.
    `docs/mechanisms.md` says which other mechanisms have exact divergences and which bounds.
    Methods may be called from many threads.

    A mechanism that fails with some probability, `ApproxDP`, is accounted by its curve without the
    failure, and the probabilities of failure are taken off delta.

    >>> from renyi import Gaussian, PoissonSampled, RDPAccountant
    >>> accountant = RDPAccountant().compose(PoissonSampled(Gaussian(1.1), 0.004), 15_000)
    >>> round(accountant.get_epsilon(1e-5), 6)
    2.50282
    """

    _ARGUMENTS = ("adjacency", "orders", "conversion")

    def __init__(
        self,
        *,
        orders: Iterable[float] | None = None,
        conversion: Conversion = "optimal",
        adjacency: Adjacency = "add_remove",
    ) -> None:
        super().__init__(adjacency)
        self._conversion: Conversion = one_of(conversion, "conversion", CONVERSIONS)
        self._orders = None if orders is None else _orders_of(orders)
        try:
            self._steps = SampledSteps(self._orders, conversion)
        except ValueError as error:
            raise ValueError(f"orders must be {_ALLOWED_ORDERS}, got {orders!r}") from error
        self._unprotected = False
        self._failures = Failures()

    @property
    def orders(self) -> tuple[float, ...] | None:
        """The orders given, or None for the continuum."""
        return self._orders

    @property
    def conversion(self) -> Conversion:
        """The conversion in use."""
        return self._conversion

    def _parts_of(self, mechanism: Mechanism) -> Sequence[tuple[Part, int]]:
        parts: list[tuple[Part, int]] = []
        for leaf, uses in leaves_of(mechanism):
            leaf.check_adjacency(self._adjacency)
            for release, times in leaf.releases:
                for part, count in self._parts_of_release(release):
                    parts.append((part, uses * times * count))
        return parts

    def _parts_of_release(self, release: Mechanism) -> Iterable[tuple[Part, int]]:
        steps = release.gaussian_steps
        if steps is not None:
            parts: list[tuple[Part, int]] = []
            for step, count in steps:
                if (known := within_domain(step)) is not None:
                    parts.append((self._part_of_step(known), count))
            return parts
        safe, failing = release.without_failure()
        if failing == 0.0:
            return [(RenyiPart(release, safe.renyi_curve(self._adjacency)), 1)]
        return [(Failure(failing), 1), *self._parts_of(safe)]

    def _part_of_step(self, step: SampledStep) -> Part:
        if self._adjacency != "replace_one":
            return step
        if step.rate == 1.0:
            return SampledStep(1.0, 0.5 * step.noise)
        sampled = PoissonSampled(Gaussian(step.noise), step.rate)
        return RenyiPart(sampled, sampled.renyi_curve("replace_one"))

    def _record(self, part: Part, count: int) -> None:
        if isinstance(part, SampledStep):
            if part.noise == 0.0:
                self._unprotected = True
            else:
                self._steps.add(part.rate, part.noise, float(count))
        elif isinstance(part, Failure):
            self._failures.add(part.probability, float(count))
        elif part.curve.is_unbounded:
            self._unprotected = True
        else:
            self._steps.add_curve(part.mechanism, part.curve, float(count))

    def _curve_of(self, direction: DirectionName | None, rtol: float) -> Curve:
        return _Brackets(self._epsilon, self._delta)

    def _check_direction(self, direction: DirectionName) -> None:
        raise ValueError(
            "direction must be None with RDPAccountant, whose Rényi curves hold for both "
            f"directions, got {direction!r}"
        )

    def _ends(
        self,
        wanted: Wanted,
        given: npt.ArrayLike | float,
        direction: DirectionName | None,
        rtol: float,
        group_size: int,
        attained: bool = False,
    ) -> tuple[float, float] | tuple[Array, Array]:
        # A single number needs no arrays, which cost as much as half the answer.
        one = type(group_size) is int and group_size == 1
        if not isinstance(given, float) or direction is not None or not one:
            return super()._ends(wanted, given, direction, rtol, group_size, attained)
        rtol_of(rtol)
        value, floor, _ = self._epsilon(given) if wanted == "epsilon" else self._delta(given)
        return floor, value

    def _group_curve(self, direction: DirectionName | None, rtol: float, size: int) -> Curve:
        chained, moments = super()._group_curve(direction, rtol, size), self.group_moments(size)
        return chained if moments is None else JoinedCurve(smallest, chained, moments)

    def group_moments(self, size: int) -> Curve | None:
        """Return the curve of a group by its Rényi divergences, if these have a bound."""
        if self._unprotected or self._failures.with_them(0.0):
            return None
        moments = group_curve(self.get_rdp, size)
        if moments is None:
            return None
        groups = self._blank()
        groups._steps.add_curve(size, moments, 1.0)
        groups._largest = dict.fromkeys(DIRECTIONS)  # this curve belongs to no mechanism
        return groups._curve_of(None, 0.0)

    # A curve keeps one order in one direction; all orders in both directions are tighter.
    def _betas(self, alpha: Array, direction: DirectionName | None) -> Array:
        if direction is not None:
            self._check_direction(direction)
        if not self._has_errors_of_orders():
            return super()._betas(alpha, direction)
        result, safe = np.empty(alpha.shape), self._chance_of_no_failure()
        if safe < 1.0:
            alpha, safe = np.minimum(alpha / safe * (1.0 + 2.0**-52), 1.0), safe * (1.0 - 2.0**-51)
        self._steps.betas_into(alpha, result)
        return result * safe

    def _advantage(self, group_size: int) -> float:
        known = self._for_records(group_size)
        if known is None or not known._has_errors_of_orders():
            return super()._advantage(group_size)
        return known._failures.with_them(known._steps.advantage())

    def _bayes_risk(self, rare: float, group_size: int) -> float:
        known = self._for_records(group_size)
        if known is None or not known._has_errors_of_orders():
            return super()._bayes_risk(rare, group_size)
        safe = known._chance_of_no_failure()
        return known._steps.bayes_risk(rare) * (safe if safe == 1.0 else safe * (1.0 - 2.0**-51))

    def _has_errors_of_orders(self) -> bool:
        known = self._conversion == "optimal" and not self._unprotected
        return known and self._chance_of_no_failure() > 0.0

    def _chance_of_no_failure(self) -> float:
        """Return its probability, rounded down. After a failure, tests make no error."""
        failing = self._failures.with_them(0.0)
        return 1.0 if failing == 0.0 else max(1.0 - failing - 2.0**-53, 0.0)

    def get_epsilon_and_order(self, delta: float) -> tuple[float, float]:
        """Return epsilon as `get_epsilon` does, and its order (1: Kullback-Leibler divergence)."""
        value, _, order = self._epsilon(delta)
        return value, order

    def get_delta_and_order(self, epsilon: float) -> tuple[float, float]:
        """Return delta as `get_delta` does, and its order (1: Kullback-Leibler divergence)."""
        value, _, order = self._delta(epsilon)
        return value, order

    def _certified_order(self, epsilon: float) -> float | None:
        order = self._delta(epsilon)[2]
        return min(max(order, 1.0 + 2.0**-36), LARGEST_ORDER)  # next to Kullback and Leibler's

    def get_rdp(self, orders: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the Rényi-DP at each order, rounded up; infinity where a mechanism may fail.

        Args:
            orders: Orders in [1, 1e6], of any shape; 1 is the Kullback-Leibler divergence.

        >>> from renyi import Gaussian
        >>> RDPAccountant().compose(Gaussian(2.0), 4).get_rdp([2.0, 8.0]).round(6)
        array([1., 4.])
        """
        rdp, failing = self.get_approximate_rdp(orders)
        return rdp if failing == 0.0 else np.full(rdp.shape, math.inf)

    def get_approximate_rdp(self, orders: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], float]:
        """Return the Rényi-DP at each order without a failure, and the chance of a failure.

        Args:
            orders: Orders in [1, 1e6], of any shape.

        Returns:
            Both rounded up; the probability is 0 unless an `ApproxDP` was composed.

        >>> from renyi import ApproxDP
        >>> accountant = RDPAccountant().compose(ApproxDP(1.0, 1e-6), 10)
        >>> rdp, failing = accountant.get_approximate_rdp([2.0])
        >>> rdp.round(3), round(failing, 9)
        (array([7.353]), 1e-05)
        """
        allowed = "a number in [1, 1e6] or an array of these"
        flat, shape = numbers_of(orders, "orders", 1.0, LARGEST_ORDER, allowed)
        result = np.empty_like(flat)
        if self._unprotected:
            result.fill(math.inf)
        else:
            self._steps.rdp_into(flat, result)
        return result.reshape(shape), self._failures.with_them(0.0)

    def _epsilon(self, delta: float) -> tuple[float, float, float]:
        delta = number_in(delta, "delta", PROBABILITY)
        if delta == 1.0:
            return 0.0, 0.0, self._any_order()
        delta = self._failures.left_of(delta)
        if self._unprotected or delta < 0.0:
            return math.inf, math.inf, self._any_order()
        if not self._steps:
            return 0.0, 0.0, self._any_order()
        if delta == 0.0:
            most = min(self._steps.largest_loss(), self._most())
            return most, most, self._any_order()
        value, floor, order = self._steps.epsilon(delta)
        if self._has_steps or self._is_below_most(value):
            return value, floor, order
        most = self._most()
        return min(value, most), min(floor, most), order

    def _delta(self, epsilon: float) -> tuple[float, float, float]:
        epsilon = epsilon_of(epsilon)
        if self._unprotected:
            return 1.0, 1.0, self._any_order()
        below = self._is_below_most(epsilon)
        if not self._steps or epsilon == math.inf or not (below or epsilon < self._most()):
            value = floor = 0.0
            order = self._any_order()
        else:
            value, floor, order = self._steps.delta(epsilon)
        return self._failures.with_them(value), floor, order

    def _most(self) -> float:
        """Return the largest loss, rounded up, where it has a closed form; else infinity."""
        loss = self._largest_loss(None)
        return math.inf if loss is None else rounded_up(loss)

    def _is_below_most(self, epsilon: float) -> bool:
        """Return whether epsilon is far below the largest loss, where the curves know enough."""
        largest = self._steps.largest_loss()
        return LEAST_KNOWN < epsilon < 0.99 * largest < math.inf

    def _any_order(self) -> float:
        return 1.0 if self._orders is None else self._orders[0]


class Failures:
    """Independent failures; composition adds the logarithms of the chances of no failure.

    Equal failures merge, so that the same failures give the same number in any order.
    """

    def __init__(self) -> None:
        self._counts: dict[float, float] = {}
        self._log_safe = 0.0  # logarithm of the probability that nothing fails, rounded down

    def add(self, probability: float, count: float) -> None:
        """Add ``count`` chances of a failure."""
        self._counts[probability] = self._counts.get(probability, 0.0) + count
        total = 0.0
        for chance, times in self._counts.items():
            loss = times * math.log1p(-chance) if chance < 1.0 else -math.inf
            total = math.nextafter((total + loss) * (1.0 + 2.0**-50), -math.inf)
        self._log_safe = total

    def left_of(self, delta: float) -> float:
        """Return the delta that failures leave, rounded down; negative if they use up more."""
        if self._log_safe == 0.0:
            return delta
        failed = -math.expm1(self._log_safe)
        left = delta - failed * (1.0 + 2.0**-50)
        return left * (1.0 - 2.0**-50) / math.exp(self._log_safe) if left >= 0.0 else -1.0

    def with_them(self, delta: float) -> float:
        """Return delta with the failures, rounded up."""
        if self._log_safe == 0.0:
            return delta
        total = delta * math.exp(self._log_safe) - math.expm1(self._log_safe)
        return min(total * (1.0 + 2.0**-50), 1.0)


class _Brackets:
    """A curve by functions that return an upper end, a lower end and the order."""

    def __init__(self, epsilon: Answer, delta: Answer) -> None:
        self._epsilon, self._delta = epsilon, delta

    def brackets(self, wanted: Wanted, values: Array) -> Array:
        """Return lower and upper ends."""
        answer = self._epsilon if wanted == "epsilon" else self._delta
        result = np.empty((2, values.size))
        for i, value in enumerate(values.tolist()):
            result[1, i], result[0, i], _ = answer(value)
        return result


_ALLOWED_ORDERS = "a non-empty list of numbers in (1, 1e6]"


def _orders_of(orders: Any) -> tuple[float, ...]:
    try:
        values = tuple(orders)
        if not all_floats(values):
            values = tuple(real_of(order, "orders", _ALLOWED_ORDERS) for order in values)
    except TypeError as error:
        raise TypeError(f"orders must be {_ALLOWED_ORDERS}, got {orders!r}") from error
    return values
