"""By which accountant a calibration goes, and which of its settings apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from renyi._validation import real_of
from renyi.accountants import (
    Adjacency,
    Conversion,
    DirectionName,
    PLDAccountant,
    RDPAccountant,
)
from renyi.calibration._scales import RenyiScale
from renyi.calibration._search import search
from renyi.calibration._targets import Accountant, EpsilonTarget, Target
from renyi.calibration._unknowns import Unknown
from renyi.mechanisms import Gaussian, PoissonSampled

__all__ = ["AccountantName", "Accounting", "accounting_of", "noise_of", "tolerance_of"]

AccountantName = Literal["pld", "rdp"]


Run = tuple[float, float, float]
"""Noise multiplier, sample rate, number of steps."""


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

    blank: Callable[[], Accountant]
    direction: DirectionName | None
    guide: Callable[[], RDPAccountant] | None = None

    def search(self, unknown: Unknown, target: Target, run: Callable[[float], Run]) -> float:
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
        PLDAccountant(adjacency)  # raises
        guide = None if adjacency == "replace_one" else lambda: RDPAccountant(adjacency=adjacency)
        two_sided = adjacency != "replace_one" and target.name != "target_beta"
        return Accounting(lambda: PLDAccountant(adjacency), "remove" if two_sided else None, guide)
    if accountant != "rdp":
        raise ValueError(f"accountant must be 'pld' or 'rdp', got {accountant!r}")
    if target.name != "target_epsilon":
        raise ValueError(f"accountant must be 'pld' with {target.name}, got 'rdp'")
    if adjacency == "replace_one":
        raise ValueError(
            "adjacency must be 'add_remove' or 'zero_out' with accountant 'rdp', which bounds no "
            f"samples where a record is replaced, got {adjacency!r}"
        )
    grid = None if orders is None else tuple(orders)
    rule: Conversion = "optimal" if conversion is None else conversion
    RDPAccountant(grid, rule, adjacency)  # raises
    return Accounting(lambda: RDPAccountant(grid, rule, adjacency), None)


def _composed(accountant: Accountant, run: Run) -> Accountant:
    noise, rate, steps = run
    return accountant.compose(PoissonSampled(Gaussian(noise), rate), int(steps))


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
