"""By which accountant a calibration goes, and which of its settings apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from renyi._validation import real_of
from renyi.accountants import (
    Accountant,
    Adjacency,
    Conversion,
    DirectionName,
    PLDAccountant,
    RDPAccountant,
)
from renyi.calibration._scales import RenyiScale
from renyi.calibration._search import search
from renyi.calibration._targets import EpsilonTarget, Target
from renyi.calibration._unknowns import Unknown
from renyi.mechanisms import Gaussian, Mechanism, PoissonSampled

__all__ = ["AccountantName", "Accounting", "accounting_of", "noise_of", "steps_of", "tolerance_of"]

AccountantName = Literal["pld", "rdp"]
Counted = tuple[Mechanism, int]
AnyAccountant = TypeVar("AnyAccountant", bound=Accountant[Any])


@dataclass(frozen=True)
class Accounting:
    """How runs are accounted.

    Attributes
    ----------
    blank : callable
        A new accountant.
    direction : {"remove", "add"}, optional
        The one that tends to be worse; None: there is only one, or neither.
    guide : callable or None
        A new accountant that answers at once, and nearly the same.
    """

    blank: Callable[[], Accountant[Any]]
    direction: DirectionName | None
    guide: Callable[[], RDPAccountant] | None = None

    def search(self, unknown: Unknown, target: Target, run: Callable[[float], Counted]) -> float:
        """Return the loosest value of the unknown that meets the target, to one tolerance."""
        scale, start = None, None
        guide = self.guide
        if guide is not None and isinstance(target, EpsilonTarget) and target.by_epsilon:
            guided = RenyiScale(
                unknown,
                lambda value: target.log_mu(
                    float(_composed(guide(), run(value)).get_epsilon(target.delta))
                ),
            )
            reached = target.log_mu(target.epsilon)
            # Where no value within limits reaches it, Rényi-DP is too far off to guide.
            if abs(guided.level(guided.at(reached)) - reached) < 1e-3:
                scale, start = guided, reached
        return search(
            unknown,
            target,
            lambda value: _composed(self.blank(), run(value)),
            self.direction,
            scale,
            start,
        )


def accounting_of(
    target: Target,
    accountant: AccountantName,
    adjacency: Adjacency,
    orders: Iterable[float] | None,
    conversion: Conversion | None,
) -> Accounting:
    """Check the settings of an accountant against each other."""
    if accountant == "pld":
        for name, value in (("orders", orders), ("conversion", conversion)):
            if value is not None:
                raise ValueError(f"{name} must be None with accountant 'pld', got {value!r}")
        PLDAccountant(adjacency=adjacency)  # raises
        guide = None if adjacency == "replace_one" else lambda: RDPAccountant(adjacency=adjacency)
        two_sided = adjacency != "replace_one" and target.name != "target_beta"
        return Accounting(
            lambda: PLDAccountant(adjacency=adjacency), "remove" if two_sided else None, guide
        )
    if accountant != "rdp":
        raise ValueError(f"accountant must be 'pld' or 'rdp', got {accountant!r}")
    grid = None if orders is None else tuple(orders)
    rule: Conversion = "optimal" if conversion is None else conversion
    bound = partial(RDPAccountant, orders=grid, conversion=rule, adjacency=adjacency)
    bound()  # raises
    return Accounting(bound, None)


def steps_of(noise: float, rate: float, steps: float) -> Counted:
    """Return a run of sampled Gaussian steps."""
    return PoissonSampled(Gaussian(noise), rate), int(steps)


def _composed(accountant: AnyAccountant, run: Counted) -> AnyAccountant:
    mechanism, count = run
    return accountant.compose(mechanism, count)


def noise_of(value: Any) -> float:
    noise = real_of(value, "noise_multiplier", "a number in (0, inf]")
    if not noise > 0.0:
        raise ValueError(f"noise_multiplier must be a number in (0, inf], got {value!r}")
    return noise


def tolerance_of(value: Any) -> float:
    tolerance = real_of(value, "tolerance", "a number in [1e-12, 0.1]")
    if not 1e-12 <= tolerance <= 0.1:
        raise ValueError(f"tolerance must be a number in [1e-12, 0.1], got {value!r}")
    return tolerance
