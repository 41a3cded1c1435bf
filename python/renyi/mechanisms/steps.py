"""Gaussian and Poisson-sampled Gaussian steps, of which most training runs are made.

The engine composes such steps by their number, whichever mechanism they come from. A mechanism that
consists of them says so by `Mechanism.gaussian_steps`.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from renyi._adjacency import Adjacency, DirectionName
from renyi._engine import Pair, RenyiCurve

REPLACE: Adjacency = "replace_one"
NOTHING = Pair.discrete(np.ones(1), np.ones(1))
REVEALED = Pair.discrete(np.array([1.0, 0.0]), np.array([0.0, 1.0]))

# The domain of the engine. A step outside is accounted as a less private step inside, or bracketed
# by pairs on either side: these numbers affect width, not validity.
LARGEST_GROUP = 1000  # records times the records that come instead
LARGEST_MU = 500.0  # of Gaussian noise; with a larger mu nothing is protected
SMALLEST_MU = 1e-12
LARGEST_MU_OF_GROUP = 1e6  # of all records together
MOST_SURE = 600.0  # -log of the chance that no record of a group is sampled, in a split sum
SMALLEST_RATE = 1e-100  # also the smallest noise; less counts as none
LITTLE_NOISE = 1e-4  # on samples; with less, the pairs for replaced records are bracketed
LARGEST_RDP = 1e290  # divergence over its order; above, it is accounted as infinite
LARGEST_LOSS = 500.0  # of a pair with exact losses; larger ones are bracketed
SMALLEST_LOSS = 1e-12  # smaller ones are bracketed by this and by 0


class SampledStep(NamedTuple):
    """Gaussian noise on a Poisson sample; rate 1: on all of the data.

    A person's ``records`` come and go together; each is sampled by its own coin.
    """

    rate: float
    noise: float
    records: int = 1


CountedSteps = tuple[tuple[SampledStep, int], ...]


def distance(adjacency: Adjacency) -> int:
    """Return the distance that neighbours move a query, in units of one record's presence."""
    return 2 if adjacency == REPLACE else 1


def within_domain(step: SampledStep) -> SampledStep | None:
    """Return a step in the engine's domain that is no more private; None if nothing is released."""
    rate, noise, records = step
    if rate == 0.0 or noise == math.inf:
        return None
    if rate >= SMALLEST_RATE and noise >= SMALLEST_RATE:
        return step
    return SampledStep(max(rate, SMALLEST_RATE), noise if noise >= SMALLEST_RATE else 0.0, records)


def product_of_rates(outer: float, inner: float) -> float:
    """Return the rate of a sample of a sample, rounded up."""
    if outer == 1.0 or inner == 1.0:
        return outer * inner
    return min(math.nextafter(outer * inner, 1.0), 1.0) if outer and inner else 0.0


def one_release(steps: CountedSteps) -> SampledStep | None:
    """Return one release with the law of all steps, noise rounded down.

    None: the releases draw their own samples, and cannot be sampled again as one release.
    """
    if len(steps) == 1 and steps[0][1] == 1:
        return steps[0][0]
    if any(step.rate != 1.0 for step, _ in steps):
        return None
    least, root = _relative_root(steps)
    if least == 0.0 or math.isinf(least):
        return SampledStep(1.0, least)
    return SampledStep(1.0, least / root * (1.0 - 2.0**-50))


def mu_of(steps: CountedSteps) -> float:
    """Return sensitivity over deviation of one Gaussian release with the law of steps, rounded up.

    All steps are on all of the data.
    """
    least, root = _relative_root(steps)
    if least == 0.0 or least == math.inf:
        return math.inf if least == 0.0 else 0.0
    if len(steps) == 1 and steps[0][1] == 1:
        return 1.0 / least
    return root / least * (1.0 + 2.0**-50)


def _relative_root(steps: CountedSteps) -> tuple[float, float]:
    """Return the least noise, and the root of the sum of (least / noise)^2.

    The sum is relative to the least noise, so that no square over- or underflows.
    """
    least = min((step.noise for step, _ in steps), default=math.inf)
    if least == 0.0 or least == math.inf:
        return least, math.nan
    return least, math.sqrt(math.fsum(n * (least / step.noise) ** 2 for step, n in steps))


def gaussian_pair(mu: float) -> Pair:
    """Return (N(mu, 1), N(0, 1)), mu in [0, inf]."""
    if mu == math.inf:
        return REVEALED
    if mu > LARGEST_MU:
        return Pair.bracketed(REVEALED, Pair.gaussian(0.2 * LARGEST_MU))
    if mu == 0.0:
        return NOTHING
    if mu < SMALLEST_MU:
        return Pair.bracketed(Pair.gaussian(SMALLEST_MU), NOTHING)
    return Pair.gaussian(mu)


def step_pair(
    step: SampledStep, adjacency: Adjacency, direction: DirectionName, instead: int = 0
) -> Pair:
    """Return the pair of a step.

    With replaced records it is ((1-q) N(0) + q N(-1), (1-q) N(0) + q N(1)), exact for Gaussian
    noise.
    """
    rate, noise, records = step
    if rate < SMALLEST_RATE:
        more = step_pair(step._replace(rate=SMALLEST_RATE), adjacency, direction, instead)
        return Pair.bracketed(more, NOTHING)
    if rate == 1.0:
        return gaussian_pair(distance(adjacency) / noise if noise else math.inf)
    if records > 1 or instead:
        is_sure = max(records, instead) * -math.log1p(-rate) > MOST_SURE
        most = LARGEST_MU if is_sure or instead else LARGEST_MU_OF_GROUP
        if records + instead > most * noise:
            return Pair.bracketed(REVEALED, NOTHING)
        pair = Pair.sampled_group(
            rate, noise, records, records if adjacency == REPLACE else instead
        )
        return pair if direction == "remove" else pair.reversed()
    if adjacency == REPLACE:
        revealed = Pair.discrete(np.array([rate, 0.0, 1 - rate]), np.array([0.0, rate, 1 - rate]))
        if noise == 0.0:
            return revealed
        if noise < LITTLE_NOISE:
            more_private = Pair.replaced_gaussian([rate, 1.0 - rate], [1.0, 0.0], 0.2)
            return Pair.bracketed(revealed, more_private)
        return Pair.replaced_gaussian([rate, 1.0 - rate], [1.0, 0.0], noise)
    mu = math.inf if noise == 0.0 else 1.0 / max(noise, SMALLEST_RATE)
    pair = gaussian_pair(mu).sampled(rate)
    return pair if direction == "remove" else pair.reversed()


def linear_curve(rho: float, xi: float = 0.0) -> RenyiCurve:
    """Return the curve of divergences xi + rho alpha."""
    if max(rho, xi) <= LARGEST_RDP:
        return RenyiCurve.linear(rho, xi)
    return RenyiCurve.unbounded()


def pure_curve(loss: Fraction | float) -> RenyiCurve:
    """Return the curve of pure differential privacy."""
    if loss > LARGEST_LOSS:
        return linear_curve(0.0, float(min(loss, 1e300)) * (1.0 + 2.0**-50))
    curve = Pair.approximate_privacy(float(loss) * (1.0 + 2.0**-52), 0.0).moment()
    assert curve is not None  # two losses
    return curve


def gaussian_curve(noise: float, adjacency: Adjacency) -> RenyiCurve:
    """Return the curve of Gaussian noise: rho = mu^2/2, of any mu."""
    if math.isinf(noise):
        return RenyiCurve.linear(0.0)
    mu = distance(adjacency) / noise if noise > 0.0 else math.inf
    return linear_curve(0.5 * mu * mu * (1.0 + 2.0**-50))
