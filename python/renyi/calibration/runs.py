"""Runs whose calibration is sought, and by which accountant it goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from renyi._accounting import SampledSteps
from renyi._adjacency import Adjacency, DirectionName
from renyi._curve import SampledGaussianCurve, wide_brackets
from renyi.accountants import Accountant, Conversion, PLDAccountant, RDPAccountant
from renyi.calibration._search import NoiseMultiplier, RenyiScale, Unknown, search
from renyi.calibration._targets import EpsilonTarget, Target, target_of, tolerance_of
from renyi.mechanisms import Gaussian, PoissonSampled

__all__ = ["AccountantName", "Accounting", "Run", "accounting_of", "noise_for"]

AccountantName = Literal["pld", "rdp"]
Run = tuple[float, float, float]
"""Noise multiplier, sampling rate and number of steps."""

LEAST_NOISE = 1e-3  # within the domain of the engine, for any sampling rate that is tried
NARROW = 1e-3  # relatively: brackets of the exact curve that guide a search as well as its end


@dataclass(frozen=True)
class Accounting:
    """How runs of sampled Gaussian steps are accounted.

    The search goes by compiled compositions, one for each value that is tried, without a mechanism
    and an accountant around it. Where these do not serve, and for the verdict, an accountant does.

    Attributes
    ----------
    blank : callable
        A new accountant.
    accountant : {"pld", "rdp"}
        Its name.
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Its neighbouring relation.
    orders, conversion
        Of a Rényi accountant.
    direction : {"remove", "add"}, optional
        The one that tends to be worse; None: there is only one, or neither.
    """

    blank: Callable[[], Accountant[Any]]
    accountant: AccountantName
    adjacency: Adjacency
    orders: tuple[float, ...] | None = None
    conversion: Conversion = "optimal"
    direction: DirectionName | None = None

    def search(self, unknown: Unknown, target: Target, run: Callable[[float], Run]) -> float:
        """Return the loosest value of the unknown that meets the target, to one tolerance."""
        scale, start = None, None
        guided = self.accountant == "pld" and self.adjacency != "replace_one"
        if guided and isinstance(target, EpsilonTarget) and target.by_epsilon:
            renyi = RenyiScale(
                unknown,
                lambda value: target.log_mu_of(self._renyi_epsilon(run(value), target.delta)),
            )
            # Where no value within limits reaches it, Rényi-DP is too far off to guide.
            found = renyi.level(renyi.at(target.log_mu))
            if abs(found - target.log_mu) < 1e-3:
                scale, start = renyi, found
        return search(
            unknown,
            target,
            lambda value: target.excess(self._reached(run(value), target)),
            lambda value: target.is_met(self._accountant(run(value))),
            scale,
            start,
        )

    def _accountant(self, run: Run) -> Accountant[Any]:
        noise, rate, steps = run
        return self.blank().compose(PoissonSampled(Gaussian(noise), rate), int(steps))

    def _reached(self, run: Run, target: Target) -> float:
        """Return what a run reaches, by a compiled composition if it is one of epsilon."""
        if isinstance(target, EpsilonTarget) and target.by_epsilon:
            if self.accountant == "rdp":
                found = self._renyi_epsilon(run, target.delta)
            else:
                found = self._exact_epsilon(run, target.delta)
            if not math.isnan(found):
                return found
        return target.reached(self._accountant(run), self.direction)

    def _renyi_epsilon(self, run: Run, delta: float) -> float:
        """Return the epsilon by Rényi-DP; NaN where the engine has no such step."""
        noise, rate, steps = run
        if self.adjacency == "replace_one":
            noise = 0.5 * noise if rate == 1.0 else 0.0
        if noise < LEAST_NOISE:
            return math.nan
        composed = SampledSteps(self.orders, self.conversion)
        composed.add(rate, noise, float(steps))
        return composed.epsilon(delta)[0]

    def _exact_epsilon(self, run: Run, delta: float) -> float:
        """Return the epsilon of direction "remove"; NaN where it is not known well at once."""
        noise, rate, steps = run
        if noise < LEAST_NOISE or self.adjacency == "replace_one":
            return math.nan
        composed, found = SampledGaussianCurve(), np.empty((2, 1))
        composed.add(rate, noise, float(steps))
        composed.questions("remove").epsilon_into(np.array([delta]), found)
        return math.nan if wide_brackets(found, NARROW) else float(found[1, 0])


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
        blank: Callable[[], Accountant[Any]] = partial(PLDAccountant, adjacency=adjacency)
        blank()  # raises
        two_sided = adjacency != "replace_one" and target.name != "target_beta"
        side: DirectionName | None = "remove" if two_sided else None
        return Accounting(blank, accountant, adjacency, direction=side)
    if accountant != "rdp":
        raise ValueError(f"accountant must be 'pld' or 'rdp', got {accountant!r}")
    grid = None if orders is None else tuple(orders)
    rule: Conversion = "optimal" if conversion is None else conversion
    blank = partial(RDPAccountant, orders=grid, conversion=rule, adjacency=adjacency)
    blank()  # raises
    return Accounting(blank, accountant, adjacency, grid, rule)


def noise_for(
    epsilon: float,
    delta: float,
    rate: float,
    releases: int,
    account: Callable[[float], PLDAccountant | RDPAccountant],
    tolerance: float,
) -> float:
    """Return the smallest noise for which the accountant of a run confirms (epsilon, delta).

    The rate and the number of releases only guide the search, to noises with a similar Rényi
    divergence of order 2; what decides is the accountant.
    """
    target = target_of(epsilon, delta, None, None, None)
    return search(
        NoiseMultiplier(rate, releases, tolerance_of(tolerance)),
        target,
        lambda noise: target.excess(target.reached(account(noise), None)),
        lambda noise: target.is_met(account(noise)),
    )
