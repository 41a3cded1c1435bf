"""Targets of a calibration: the verdict on a run, and the excess of a run over the target.

The search uses the excess, on a scale near to the logarithm of the Gaussian-privacy parameter mu.
The verdict compares the answer of the accountant with the target as given.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

from renyi import special
from renyi._adjacency import DirectionName
from renyi._validation import BETWEEN, FINITE_POSITIVE, POSITIVE, Range, number_in, real_of
from renyi.accountants import Accountant

WIDE = 0.5  # relative width of delta, for accountants whose time depends on it
_NORMAL = NormalDist()


class Target(ABC):
    """A bound on the privacy loss of a run."""

    name: ClassVar[str]

    @property
    def limit(self) -> float:
        """The number that must be met."""
        number: float = getattr(self, self.name.removeprefix("target_"))
        return number

    @property
    @abstractmethod
    def mu(self) -> float:
        """The mu of the Gaussian mechanism that just meets the target; 0 if none does."""

    @abstractmethod
    def reached(self, accountant: Accountant[Any], direction: DirectionName | None) -> float:
        """Return the number that the search compares with the target."""

    @abstractmethod
    def excess(self, reached: float) -> float:
        """Return the excess of this number over the target, roughly in log mu."""

    @property
    def decides(self) -> bool:
        """Whether this number, of both directions, also gives the verdict."""
        return True

    @abstractmethod
    def allows(self, reached: float) -> bool:
        """Return whether this number meets the target."""

    def reached_about(self, accountant: Accountant[Any]) -> float | None:
        """Return the number for the search if a wide bracket of it gives the verdict; else None."""
        return None

    def is_met(self, accountant: Accountant[Any]) -> bool:
        """Return the verdict of an accountant."""
        return self.allows(self.reached(accountant, None))


@dataclass(frozen=True)
class EpsilonTarget(Target):
    """(epsilon, delta)-privacy."""

    epsilon: float
    delta: float
    name = "target_epsilon"

    @cached_property
    def mu(self) -> float:
        return float(special.gaussian_mu(self.epsilon, self.delta))

    @cached_property
    def by_epsilon(self) -> bool:
        """Whether epsilon measures how far a run is from the target; near 0 only delta does."""
        return self.epsilon > self.mu

    @cached_property
    def log_mu(self) -> float:
        """The level of the target on the scale of `excess`."""
        return self.log_mu_of(self.epsilon)

    def reached(self, accountant: Accountant[Any], direction: DirectionName | None) -> float:
        if self.by_epsilon:
            return accountant.get_epsilon(self.delta, direction=direction)
        return accountant.get_delta(self.epsilon, direction=direction)

    def excess(self, reached: float) -> float:
        if self.by_epsilon:
            return self.log_mu_of(reached) - self.log_mu
        return _log_hazard(reached) - _log_hazard(self.delta)

    @property
    def decides(self) -> bool:
        return self.by_epsilon

    def allows(self, reached: float) -> bool:
        return reached <= self.epsilon

    def reached_about(self, accountant: Accountant[Any]) -> float | None:
        if not self.by_epsilon:
            return None
        high = accountant.get_epsilon(self.delta, rtol=WIDE)
        if high > self.epsilon >= accountant.get_epsilon_bounds(self.delta, rtol=WIDE)[0]:
            return None
        return high

    def is_met(self, accountant: Accountant[Any]) -> bool:
        return accountant.get_epsilon(self.delta) <= self.epsilon

    def log_mu_of(self, epsilon: float) -> float:
        """Return log mu of Gaussian noise with epsilon = mu^2/2 + mu sqrt(2 log(1/delta))."""
        if not 0.0 < epsilon < math.inf:
            return -math.inf if epsilon == 0.0 else math.inf
        if self.delta == 0.0:
            return math.log(epsilon)
        depth = -math.log(self.delta)
        return math.log(epsilon / (math.sqrt(depth + epsilon) + math.sqrt(depth)))


@dataclass(frozen=True)
class TradeOffTarget(Target):
    """A test of a type I error at most alpha has a type II error of at least beta."""

    alpha: float
    beta: float
    name = "target_beta"

    @property
    def mu(self) -> float:
        return math.exp(self._log_mu(self.beta))

    def reached(self, accountant: Accountant[Any], direction: DirectionName | None) -> float:
        return accountant.get_beta(self.alpha, direction=direction)

    def excess(self, reached: float) -> float:
        return self._log_mu(reached) - self._log_mu(self.beta)

    def allows(self, reached: float) -> bool:
        return reached >= self.beta

    def _log_mu(self, beta: float) -> float:
        if not 0.0 < beta < 1.0:
            return math.inf if beta <= 0.0 else -math.inf
        return _log(-_NORMAL.inv_cdf(self.alpha) - _NORMAL.inv_cdf(beta))


@dataclass(frozen=True)
class AdvantageTarget(Target):
    """The true-positive rate of a test exceeds its false-positive rate by at most ``advantage``."""

    advantage: float
    name = "target_advantage"

    @property
    def mu(self) -> float:
        return float(special.gaussian_mu(0.0, self.advantage))

    def reached(self, accountant: Accountant[Any], direction: DirectionName | None) -> float:
        if direction is None:
            return accountant.get_advantage()
        return accountant.get_delta(0.0, direction=direction)

    def excess(self, reached: float) -> float:
        return _log_hazard(reached) - _log_hazard(self.advantage)

    def allows(self, reached: float) -> bool:
        return reached <= self.advantage


def target_of(
    epsilon: object,
    delta: object,
    alpha: object,
    beta: object,
    advantage: object,
    *,
    pure: bool = False,
) -> Target:
    """Return the target; with ``pure`` it may have a delta of 0."""
    kinds = (
        {"target_epsilon": epsilon, "target_delta": delta},
        {"target_alpha": alpha, "target_beta": beta},
        {"target_advantage": advantage},
    )
    given = [kind for kind in kinds if any(value is not None for value in kind.values())]
    if not given:
        raise TypeError(
            "target_epsilon and target_delta, target_alpha and target_beta, or target_advantage "
            "must be given, got none of them"
        )
    if len(given) > 1:
        one, other = (" and ".join(kind) for kind in given[:2])
        value = next(value for value in given[1].values() if value is not None)
        raise TypeError(f"{other} must be None where {one} is given, got {value!r}")
    for name, value in given[0].items():
        if value is None:
            (partner,) = set(given[0]) - {name}
            raise TypeError(f"{name} must be given with {partner}, got None")
    if advantage is not None:
        return AdvantageTarget(number_in(advantage, "target_advantage", BETWEEN))
    if alpha is not None:
        rate = number_in(alpha, "target_alpha", BETWEEN)
        return TradeOffTarget(rate, _type_two_error(beta, rate))
    limit = number_in(epsilon, "target_epsilon", FINITE_POSITIVE)
    if real_of(delta, "target_delta", "a number in (0, 1)") != 0.0:
        return EpsilonTarget(limit, number_in(delta, "target_delta", BETWEEN))
    if not pure:
        raise ValueError(
            "target_delta must be a number in (0, 1) for Gaussian noise, whose losses have no "
            f"bound, got {delta!r}"
        )
    return EpsilonTarget(limit, 0.0)


def _type_two_error(beta: object, alpha: float) -> float:
    # the errors of a test without any information add up to 1
    allowed = "a number in (0, 1 - target_alpha)"
    value = real_of(beta, "target_beta", allowed)
    if not 0.0 < value < 1.0 - alpha:
        raise ValueError(f"target_beta must be {allowed}, got {beta!r}")
    return value


def _log_hazard(delta: float) -> float:
    # log(-log(1 - delta)): slopes over log mu stay between 1 and 2 from small delta to delta near 1
    return math.inf if delta >= 1.0 else _log(-math.log1p(-delta))


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def noise_of(value: Any) -> float:
    return number_in(value, "noise_multiplier", POSITIVE)


def tolerance_of(value: Any) -> float:
    return number_in(value, "tolerance", Range(1e-12, 0.1))
