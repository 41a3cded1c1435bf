"""Accountants of dp_accounting's kind and functions of its modules, which answer by ours."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from dp_accounting import NeighboringRelation, PrivacyAccountant, dp_event, pld, rdp
from dp_accounting.rdp.rdp_privacy_accountant import DEFAULT_RDP_ORDERS

from renyi._adjacency import Adjacency, Conversion
from renyi._validation import float_above
from renyi.accountants import Accountant, UnsupportedMechanismError
from renyi.accountants import PLDAccountant as OwnPLDAccountant
from renyi.accountants import RDPAccountant as OwnRDPAccountant
from renyi.calibration import calibrate
from renyi.compat.dp_accounting._events import Part, RefusedError, parts_of
from renyi.mechanisms import (
    Composed,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    PoissonSampled,
    RDPCurve,
)

Charge = Callable[[Mechanism, int], object]

ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE_ONE = NeighboringRelation.REPLACE_ONE
REPLACE_SPECIAL = NeighboringRelation.REPLACE_SPECIAL
ANSWERS = (REPLACE_ONE, REPLACE_SPECIAL)
SUMS = (ADD_OR_REMOVE, REPLACE_SPECIAL)
ADJACENCY: dict[Any, Adjacency] = {
    ADD_OR_REMOVE: "add_remove",
    REPLACE_ONE: "replace_one",
    REPLACE_SPECIAL: "zero_out",
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

        Raises:
            dp_accounting.UnsupportedEventError: If the accountant does not take it.
            BudgetExceededError: If ``charge`` refuses it; nothing is recorded then.
            TypeError, ValueError: If it is not an event, or ``count`` not a positive integer.
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


class PLDAccountant(Plug):
    """The exact privacy curve, as an accountant of dp_accounting.

    Args:
        neighboring_relation (dp_accounting.NeighboringRelation): As dp_accounting's `PLDAccountant`
            this one doubles the sensitivity where records are replaced: values of norm at most C
            may differ by 2 C.
        value_discretization_interval: Of dp_accounting's grid. There is none here; the argument
            says how coarse an answer is asked for, where ``rtol`` does not.
        rtol: How far above the exact value the answer may be where lattices give it, as a relative
            width of delta. By default 100 times the square of the interval, with which that grid's
            error grows, in [1e-6, 1e-2].
        charge: Called with the mechanism and the count before they are recorded, such as
            ``functools.partial(ledger.charge, "the data set")`` of a `renyi.Ledger`.

    An event that dp_accounting's accountant of this name takes under some relations only is taken
    under those. Others it does not know are taken where a bound is known, as fixed-size samples
    with and without replacement.

    >>> import dp_accounting
    >>> step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    >>> round(PLDAccountant().compose(step, 1000).get_epsilon(1e-5), 4)
    1.8282
    """

    _RELATIONS: ClassVar = {
        dp_event.RandomizedResponseDpEvent: ANSWERS,
        dp_event.LaplaceDpEvent: SUMS,
        dp_event.DiscreteLaplaceDpEvent: SUMS,
        dp_event.MixtureOfGaussiansDpEvent: SUMS,
    }

    def __init__(
        self,
        neighboring_relation: Any = ADD_OR_REMOVE,
        value_discretization_interval: float = 1e-4,
        *,
        rtol: float | None = None,
        charge: Charge | None = None,
    ) -> None:
        own = OwnPLDAccountant(adjacency=ADJACENCY[neighboring_relation])
        super().__init__(own, neighboring_relation, charge)
        self._rtol = min(max(100.0 * value_discretization_interval**2, 1e-6), 1e-2)
        if rtol is not None:
            self._rtol = rtol

    def _check_relation(self, event: Any) -> None:
        super()._check_relation(event)
        if isinstance(event, dp_event.PoissonSampledDpEvent):
            self._check_relation(event.event)

    def get_epsilon(self, target_delta: float) -> float:
        """Return epsilon for one delta, rounded up."""
        if self._unprotected:
            return math.inf
        return self._accountant.get_epsilon(target_delta, rtol=self._rtol)

    def get_delta(self, target_epsilon: float) -> float:
        """Return delta for one epsilon, rounded up."""
        if self._unprotected:
            return 1.0
        return self._accountant.get_delta(target_epsilon, rtol=self._rtol)


class RenyiAccountant(Plug):
    """Rényi differential privacy, as an accountant of dp_accounting.

    Args:
        orders: At least 1 each. By default all real orders, and `rdp` is shown at dp_accounting's.
        neighboring_relation (dp_accounting.NeighboringRelation): Where records are replaced the
            sensitivity is twice that of one record, here and in both `PLDAccountant`: values of
            norm at most C may differ by 2 C. dp_accounting's `RdpAccountant` does not double it,
            and reports as little as a quarter of the divergence.
        conversion ({"optimal", "balle"}): From Rényi divergences to epsilon. "balle" is
            dp_accounting's.
        charge: As for `PLDAccountant`.

    Beyond order 1e6 the largest privacy loss stands for the divergence.

    >>> import dp_accounting
    >>> accountant = RenyiAccountant().compose(dp_accounting.GaussianDpEvent(1.0))
    >>> round(accountant.get_epsilon(1e-5), 4)
    4.7284
    """

    _RELATIONS: ClassVar = {
        dp_event.PoissonSampledDpEvent: SUMS,
        dp_event.SampledWithoutReplacementDpEvent: (REPLACE_ONE,),
        dp_event.SingleEpochTreeAggregationDpEvent: (REPLACE_SPECIAL,),
        dp_event.RandomizedResponseDpEvent: (REPLACE_SPECIAL, REPLACE_ONE),
    }
    _LARGEST_ORDER = 1e6

    def __init__(
        self,
        orders: Iterable[float] | None = None,
        neighboring_relation: Any = ADD_OR_REMOVE,
        *,
        conversion: Conversion = "optimal",
        charge: Charge | None = None,
    ) -> None:
        shown = DEFAULT_RDP_ORDERS if orders is None else list(orders)
        self._orders = np.array(shown, dtype=np.float64)
        if not (self._orders >= 1.0).all():
            raise ValueError(f"Renyi divergence order must be at least 1. Found {shown}.")
        inside = self._orders[(self._orders > 1.0) & (self._orders <= self._LARGEST_ORDER)]
        self._beyond = bool((self._orders > self._LARGEST_ORDER).any())
        own = OwnRDPAccountant(
            orders=None if orders is None or not inside.size else inside.tolist(),
            conversion=conversion,
            adjacency=ADJACENCY[neighboring_relation],
        )
        super().__init__(own, neighboring_relation, charge)
        self._moments = own

    @property
    def orders(self) -> npt.NDArray[np.float64]:
        """The orders given, or dp_accounting's."""
        return self._orders.copy()

    @property
    def rdp(self) -> npt.NDArray[np.float64]:
        """The Rényi divergence of the composition at each of `orders`, rounded up."""
        if self._unprotected:
            return np.full(self._orders.shape, math.inf)
        values = self._moments.get_rdp(np.minimum(self._orders, self._LARGEST_ORDER))
        values[self._orders > self._LARGEST_ORDER] = self._moments.get_epsilon(0.0)
        return values

    _rdp = rdp  # dp_accounting's own tests read it

    def get_epsilon_and_optimal_order(self, target_delta: float) -> tuple[float, float]:
        """Return epsilon and the order it is found at."""
        if self._unprotected:
            return math.inf, float(self._orders[0])
        epsilon, order = self._moments.get_epsilon_and_order(target_delta)
        largest = self._moments.get_epsilon(0.0) if self._beyond else math.inf
        return (epsilon, order) if epsilon <= largest else (largest, float(self._orders.max()))

    def get_delta_and_optimal_order(self, target_epsilon: float) -> tuple[float, float]:
        """Return delta and the order it is found at."""
        if self._unprotected:
            return 1.0, float(self._orders[0])
        if self._beyond and self._moments.get_epsilon(0.0) <= target_epsilon:
            return 0.0, float(self._orders.max())
        return self._moments.get_delta_and_order(target_epsilon)

    def get_epsilon(self, target_delta: float) -> float:
        """Return epsilon for one delta, rounded up."""
        return self.get_epsilon_and_optimal_order(target_delta)[0]

    def get_delta(self, target_epsilon: float) -> float:
        """Return delta for one epsilon, rounded up."""
        return self.get_delta_and_optimal_order(target_epsilon)[0]


pld.PLDAccountant.register(PLDAccountant)  # JAX-Privacy asks whether it has one of dp_accounting
rdp.RdpAccountant.register(RenyiAccountant)


NOISES = (1e-3, 1e6)  # where is searched


def compute_epsilon(orders: npt.ArrayLike, rdp: npt.ArrayLike, delta: float) -> tuple[float, float]:
    """Return epsilon, rounded up, and its order, from Rényi divergences.

    >>> compute_epsilon([2.0, 4.0], [0.1, 0.2], 1e-3)[1]
    4.0
    """
    return _with_divergences(orders, rdp).get_epsilon_and_order(delta)


def compute_delta(orders: npt.ArrayLike, rdp: npt.ArrayLike, epsilon: float) -> tuple[float, float]:
    """Return delta, rounded up, and its order, from Rényi divergences."""
    return _with_divergences(orders, rdp).get_delta_and_order(epsilon)


def _with_divergences(orders: npt.ArrayLike, rdp: npt.ArrayLike) -> OwnRDPAccountant:
    """Leave out the order 1, which proves nothing for small delta, and orders above 1e6."""
    at, values = np.atleast_1d(orders), np.atleast_1d(rdp)
    if at.shape == values.shape and (at > 1.0).any():
        at, values = at[at != 1.0], values[at != 1.0]
    curve = RDPCurve(at.tolist(), values.tolist())
    used = [order for order in curve.orders if order <= RenyiAccountant._LARGEST_ORDER]
    return OwnRDPAccountant(orders=used).compose(curve)


def get_epsilon_gaussian(sigma: float, delta: float, tol: float = 0.0) -> float:
    """Return epsilon of one use of Gaussian noise, rounded up."""
    return OwnPLDAccountant().compose(Gaussian(sigma)).get_epsilon(delta)


def get_sigma_gaussian(epsilon: float, delta: float, tol: float = 0.0) -> float:
    """Return the least noise multiplier, within 1e-12, that meets epsilon and delta.

    >>> round(get_sigma_gaussian(1.0, 1e-5), 6)
    3.730632
    """
    return calibrate(Gaussian, NOISES, tolerance=1e-12, target_epsilon=epsilon, target_delta=delta)


def get_smallest_gaussian_noise(
    privacy_parameters: Any, num_queries: int = 1, sensitivity: float = 1.0
) -> float:
    """Return the least standard deviation for so many uses of Gaussian noise."""
    return get_smallest_subsampled_gaussian_noise(privacy_parameters, num_queries, sensitivity)


def get_smallest_subsampled_gaussian_noise(
    privacy_parameters: Any,
    num_queries: int = 1,
    sensitivity: float = 1.0,
    sampling_prob: float = 1.0,
) -> float:
    """Return the least standard deviation for so many uses on Poisson samples."""

    def run(noise: float) -> Composed:
        return Composed((PoissonSampled(Gaussian(noise), sampling_prob), num_queries))

    return _times(_smallest(run, privacy_parameters), sensitivity)


def get_smallest_laplace_noise(
    privacy_parameters: Any, num_queries: int = 1, sensitivity: float = 1.0
) -> float:
    """Return the least scale for so many uses of Laplace noise."""
    noise = _smallest(lambda b: Composed((Laplace(b), num_queries)), privacy_parameters)
    return _times(noise, sensitivity)


def get_smallest_discrete_laplace_noise(
    privacy_parameters: Any, num_queries: int = 1, sensitivity: int = 1
) -> float:
    """Return the largest parameter, one over a scale, for so many uses of discrete Laplace noise.

    >>> from types import SimpleNamespace
    >>> round(get_smallest_discrete_laplace_noise(SimpleNamespace(epsilon=1.0, delta=0.0)), 5)
    1.0
    """

    def run(scale: float) -> Composed:
        return Composed((DiscreteLaplace(scale, sensitivity), num_queries))

    return -float_above(-1 / Fraction(_smallest(run, privacy_parameters)))


def _smallest(run: Any, target: Any) -> float:
    return calibrate(run, NOISES, target_epsilon=target.epsilon, target_delta=target.delta)


def _times(noise: float, sensitivity: float) -> float:
    return float_above(Fraction(noise) * Fraction(sensitivity))
