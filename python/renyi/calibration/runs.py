"""Runs to calibrate, and the accountant used for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from renyi._adjacency import DIRECTIONS, Adjacency, Conversion, DirectionName
from renyi._engine import SampledGaussianCurve, SampledSteps, wide_brackets
from renyi.accountants import Accountant, PLDAccountant, RDPAccountant
from renyi.calibration._search import GuidedScale, NoiseMultiplier, Unknown, search
from renyi.calibration._targets import EpsilonTarget, Target, target_of, tolerance_of
from renyi.mechanisms import Gaussian, PoissonSampled
from renyi.mechanisms.steps import SMALLEST_RATE

AccountantName = Literal["pld", "rdp"]
Run = tuple[float, float, float]
"""Noise multiplier, sampling rate and number of steps."""

LEAST_NOISE = 1e-3  # within the domain of the engine, for any sampling rate that is tried
WIDE = 2e-5  # an accountant has other bounds for brackets wider than this, relatively
NARROW = 1e-3  # relative width up to which the end of a bracket guides a search well


@dataclass(frozen=True)
class Accounting:
    """The method of accounting for runs of sampled Gaussian steps.

    Each tried value takes one compiled composition, without a mechanism and an accountant around
    it. It answers as an accountant would, in every digit. An accountant is made for the other
    cases: replaced records, wide brackets and targets of other kinds.

    Attributes:
        blank (callable): Returns a new accountant.
        accountant ({"pld", "rdp"}): The name of the accountant.
        adjacency ({"add_remove", "replace_one", "zero_out"}): The neighbouring relation.
        orders, conversion: The arguments of a Rényi accountant.
        direction ({"remove", "add"}): The direction that tends to be worse; None if there is only
            one, or neither tends to be.
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
            renyi = GuidedScale(
                unknown,
                lambda value: target.log_mu_of(self._renyi_epsilon(run(value), target.delta)),
            )
            start = renyi.start(target.log_mu)
            scale = None if start is None else renyi
        return search(
            unknown,
            target,
            lambda value: target.excess(self._reached(run(value), target)),
            lambda value: self._meets(run(value), target),
            scale,
            start,
        )

    def _accountant(self, run: Run) -> Accountant[Any]:
        noise, rate, steps = run
        return self.blank().compose(PoissonSampled(Gaussian(noise), rate), int(steps))

    def _reached(self, run: Run, target: Target) -> float:
        """Return the value of a run in the direction that is usually worse."""
        if isinstance(target, EpsilonTarget) and target.by_epsilon:
            found = self._epsilon(run, target.delta, ("remove",), NARROW)
            if not math.isnan(found):
                return found
        return target.reached(self._accountant(run), self.direction)

    def _meets(self, run: Run, target: Target) -> bool:
        """Return the verdict of the accountant of a run, which is made only if it is needed."""
        if isinstance(target, EpsilonTarget):
            sides = DIRECTIONS if run[1] < 1.0 else DIRECTIONS[:1]
            found = self._epsilon(run, target.delta, sides, WIDE)
            if not math.isnan(found):
                return target.allows(found)
        return target.is_met(self._accountant(run))

    def _epsilon(
        self, run: Run, delta: float, sides: tuple[DirectionName, ...], rtol: float
    ) -> float:
        """Return the epsilon of an accountant by a fast method; NaN if there is none.

        The exact epsilon is that of the worse of ``sides``, if its bracket is within ``rtol``.
        """
        if self.accountant == "rdp":
            return self._renyi_epsilon(run, delta)
        noise, rate, steps = run
        if noise < LEAST_NOISE or rate < SMALLEST_RATE or self.adjacency == "replace_one":
            return math.nan
        composed = SampledGaussianCurve()
        composed.add(rate, noise, float(steps))
        result, found = np.zeros((2, 1)), np.empty((2, 1))
        for side in sides:
            composed.questions(side).answer("epsilon", np.array([delta]), found, result[0])
            np.maximum(result, found, out=result)
        return math.nan if wide_brackets(result, rtol) else float(result[1, 0])

    def _renyi_epsilon(self, run: Run, delta: float) -> float:
        noise, rate, steps = run
        if self.adjacency == "replace_one":
            noise = 0.5 * noise if rate == 1.0 else 0.0
        if noise < LEAST_NOISE or rate < SMALLEST_RATE:
            return math.nan
        composed = SampledSteps(self.orders, self.conversion)
        composed.add(rate, noise, float(steps))
        return composed.epsilon(delta)[0]


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
    divergence of order 2; the accountant decides.
    """
    target = target_of(epsilon, delta, None, None, None)
    return search(
        NoiseMultiplier(rate, releases, tolerance_of(tolerance)),
        target,
        lambda noise: target.excess(target.reached(account(noise), None)),
        lambda noise: target.is_met(account(noise)),
    )
