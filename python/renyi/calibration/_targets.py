"""What a run may reveal at most: the verdict, and by how much a run exceeds the target.

The search goes by the excess, on a scale near to the logarithm of the Gaussian-privacy parameter
mu. The verdict compares what the accountant says with the target as given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

from renyi import special
from renyi._validation import real_of
from renyi.accountants import Accountant, DirectionName

__all__ = ["EpsilonTarget", "Target", "target_of"]

_NORMAL = NormalDist()


@dataclass(frozen=True)
class EpsilonTarget:
    """(epsilon, delta)-privacy."""

    epsilon: float
    delta: float
    name: ClassVar[str] = "target_epsilon"

    @property
    def limit(self) -> float:
        return self.epsilon

    @cached_property
    def mu(self) -> float:
        """The mu of the Gaussian mechanism that just meets the target; 0 where none does."""
        return float(special.gaussian_mu(self.epsilon, self.delta))

    def is_met(self, accountant: Accountant[Any]) -> bool:
        return accountant.get_epsilon(self.delta) <= self.epsilon

    def excess(self, accountant: Accountant[Any], direction: DirectionName | None) -> float:
        if self.by_epsilon:
            reached = accountant.get_epsilon(self.delta, direction=direction)
            return self.log_mu(reached) - self.log_mu(self.epsilon)
        # here epsilon is soon 0, and says nothing then
        reached = accountant.get_delta(self.epsilon, direction=direction)
        return _log_hazard(reached) - _log_hazard(self.delta)

    @property
    def by_epsilon(self) -> bool:
        """Whether epsilon says how far a run is from the target; near 0 it does not."""
        return self.epsilon > self.mu

    def log_mu(self, epsilon: float) -> float:
        """Return log mu of Gaussian noise with epsilon = mu^2/2 + mu sqrt(2 log(1/delta))."""
        if epsilon == math.inf:
            return math.inf
        if self.delta == 0.0:
            return _log(epsilon)
        depth = -math.log(self.delta)
        return _log(epsilon / (math.sqrt(depth + epsilon) + math.sqrt(depth)))


@dataclass(frozen=True)
class _TradeOff:
    alpha: float
    beta: float
    name: ClassVar[str] = "target_beta"

    @property
    def limit(self) -> float:
        return self.beta

    @property
    def mu(self) -> float:
        """The mu of the Gaussian mechanism that just meets the target."""
        return math.exp(self._log_mu(self.beta))

    def is_met(self, accountant: Accountant[Any]) -> bool:
        return accountant.get_beta(self.alpha) >= self.beta

    def excess(self, accountant: Accountant[Any], direction: DirectionName | None) -> float:
        reached = accountant.get_beta(self.alpha, direction=direction)
        return self._log_mu(reached) - self._log_mu(self.beta)

    def _log_mu(self, beta: float) -> float:
        if not 0.0 < beta < 1.0:
            return math.inf if beta <= 0.0 else -math.inf
        return _log(-_NORMAL.inv_cdf(self.alpha) - _NORMAL.inv_cdf(beta))


@dataclass(frozen=True)
class _Advantage:
    advantage: float
    name: ClassVar[str] = "target_advantage"

    @property
    def limit(self) -> float:
        return self.advantage

    @property
    def mu(self) -> float:
        """The mu of the Gaussian mechanism that just meets the target."""
        return float(special.gaussian_mu(0.0, self.advantage))

    def is_met(self, accountant: Accountant[Any]) -> bool:
        return accountant.get_advantage() <= self.advantage

    def excess(self, accountant: Accountant[Any], direction: DirectionName | None) -> float:
        if direction is None:
            reached = accountant.get_advantage()
        else:
            reached = accountant.get_delta(0.0, direction=direction)
        return _log_hazard(reached) - _log_hazard(self.advantage)


Target = EpsilonTarget | _TradeOff | _Advantage


def target_of(
    epsilon: object,
    delta: object,
    alpha: object,
    beta: object,
    advantage: object,
    *,
    pure: bool = False,
) -> Target:
    """Return the one target that is given; ``pure``: what is calibrated may meet a delta of 0."""
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
        return _Advantage(_between(advantage, "target_advantage", 0.0, 1.0))
    if alpha is not None:
        rate = _between(alpha, "target_alpha", 0.0, 1.0)
        return _TradeOff(rate, _type_two_error(beta, rate))
    limit = _between(epsilon, "target_epsilon", 0.0, math.inf)
    if real_of(delta, "target_delta", "a number in (0, 1)") != 0.0:
        return EpsilonTarget(limit, _between(delta, "target_delta", 0.0, 1.0))
    if not pure:
        raise ValueError(
            "target_delta must be a number in (0, 1) for Gaussian noise, whose losses have no "
            f"bound, got {delta!r}"
        )
    return EpsilonTarget(limit, 0.0)


def _type_two_error(beta: object, alpha: float) -> float:
    # without any information the errors add up to 1
    allowed = "a number in (0, 1 - target_alpha)"
    value = real_of(beta, "target_beta", allowed)
    if not 0.0 < value < 1.0 - alpha:
        raise ValueError(f"target_beta must be {allowed}, got {beta!r}")
    return value


def _between(value: object, name: str, low: float, high: float) -> float:
    allowed = f"a number in ({low:g}, {high:g})"
    number = real_of(value, name, allowed)
    if not low < number < high:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return number


def _log_hazard(delta: float) -> float:
    # log(-log(1 - delta)): slopes over log mu stay between 1 and 2 from small delta to delta near 1
    return math.inf if delta >= 1.0 else _log(-math.log1p(-delta))


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf
