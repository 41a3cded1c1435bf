"""From mechanisms to Gaussian and Poisson-sampled Gaussian steps."""

from __future__ import annotations

import math
from typing import NamedTuple

from renyi.mechanisms import (
    Composed,
    FixedAllocation,
    Gaussian,
    MatrixMechanism,
    Mechanism,
    PoissonSampled,
    RandomAllocation,
    TreeAggregation,
)

__all__ = [
    "LARGEST_ALLOCATED",
    "SMALLEST",
    "SMALLEST_ALLOCATED",
    "SampledStep",
    "allocated_epoch",
    "allocated_noise",
    "as_one_epoch",
    "collapsed",
    "epochs_of",
    "gaussian_steps",
    "settled",
]


class SampledStep(NamedTuple):
    """Gaussian noise on a Poisson sample; rate 1: on all of the data."""

    rate: float
    noise: float


Counted = tuple[SampledStep, int]

SMALLEST = 1e-100  # sampling rates below are accounted as this, noise below as none
SMALLEST_ALLOCATED = 0.05  # noise of an allocation that has a curve of its own
LARGEST_ALLOCATED = 1e4  # above, it is accounted as if the step were published
SMALLEST_RATE = 1e-6  # at which a record takes part in it
SMALLEST_SAMPLED = 1e-4  # noise on a sample below is accounted as none


def gaussian_steps(mechanism: Mechanism) -> list[Counted] | None:
    """Return the independent steps that a mechanism consists of; None: not of such steps."""
    if isinstance(mechanism, PoissonSampled):
        return _sampled_steps(mechanism)
    if isinstance(mechanism, Gaussian):
        return [(SampledStep(1.0, mechanism.noise_multiplier), 1)]
    if isinstance(mechanism, FixedAllocation):
        return gaussian_steps(as_one_epoch(mechanism))
    if isinstance(mechanism, RandomAllocation):
        everywhere = mechanism.picks == mechanism.steps
        return gaussian_steps(mechanism.mechanism * mechanism.steps) if everywhere else None
    if isinstance(mechanism, MatrixMechanism | TreeAggregation):
        return gaussian_steps(mechanism.released)
    if not isinstance(mechanism, Composed):
        return None
    found: list[Counted] = []
    for part, count in mechanism.parts:
        steps = gaussian_steps(part)
        if steps is None:
            return None
        found += [(step, times * count) for step, times in steps]
    return found


def allocated_epoch(mechanism: Mechanism) -> tuple[float, float, float] | None:
    """Return noise, steps and sampling rate of one epoch of random allocation.

    None: it is not one, or beyond the domain of the engine.
    """
    base, rate = mechanism, 1.0
    if isinstance(mechanism, PoissonSampled):
        base, rate = collapsed(mechanism)
    if isinstance(base, FixedAllocation):
        base = as_one_epoch(base)
    if not isinstance(base, RandomAllocation) or base.picks > 1 or base.steps == 1:
        return None
    noise = allocated_noise(base.mechanism)
    if noise is None or not rate >= SMALLEST_RATE:
        return None
    return (noise, float(base.steps), rate)


def allocated_noise(mechanism: Mechanism) -> float | None:
    """Return the noise of the one Gaussian release that a mechanism is.

    None: it is none, or beyond the domain of the engine for allocations.
    """
    steps = gaussian_steps(mechanism)
    release = None if steps is None else _one_release(steps)
    if release is None or release.rate != 1.0:
        return None
    return release.noise if SMALLEST_ALLOCATED <= release.noise <= LARGEST_ALLOCATED else None


def as_one_epoch(mechanism: FixedAllocation) -> RandomAllocation:
    """Return the epoch that has the law of all: what is released of a group is one step."""
    return RandomAllocation(mechanism.mechanism * mechanism.epochs, mechanism.steps)


def epochs_of(mechanism: Mechanism) -> bool:
    """Whether epochs of random allocation take part in a mechanism."""
    if isinstance(mechanism, RandomAllocation | FixedAllocation):
        return True
    return any(map(epochs_of, mechanism._inner()))


def settled(step: SampledStep) -> SampledStep | None:
    """Return a step within the domain of the engine that is no more private; None: no release."""
    rate, noise = step
    if rate == 0.0 or noise == math.inf:
        return None
    least = SMALLEST if rate == 1.0 else SMALLEST_SAMPLED
    if rate >= SMALLEST and noise >= least:
        return step
    return SampledStep(max(rate, SMALLEST), noise if noise >= least else 0.0)


def collapsed(sampled: PoissonSampled) -> tuple[Mechanism, float]:
    """Return what is done with a sample of samples, and its rate, rounded up."""
    base, rate = sampled.mechanism, sampled.sample_rate
    while isinstance(base, PoissonSampled):
        rate = rate_of_both(rate, base.sample_rate)
        base = base.mechanism
    return base, rate


def rate_of_both(outer: float, inner: float) -> float:
    """Return the product of two rates, rounded up."""
    if outer == 1.0 or inner == 1.0:
        return outer * inner
    return min(math.nextafter(outer * inner, 1.0), 1.0) if outer and inner else 0.0


def _sampled_steps(sampled: PoissonSampled) -> list[Counted] | None:
    if isinstance(sampled.mechanism, Gaussian):
        return [(SampledStep(sampled.sample_rate, sampled.mechanism.noise_multiplier), 1)]
    steps = gaussian_steps(sampled.mechanism)
    if steps is None or sampled.sample_rate == 1.0:
        return steps
    release = _one_release(steps)
    if release is None:
        return None
    return [(SampledStep(rate_of_both(sampled.sample_rate, release.rate), release.noise), 1)]


def _one_release(steps: list[Counted]) -> SampledStep | None:
    """Return one release with the law of all steps, noise down.

    Releases that draw their own samples cannot be sampled again as one: None.
    """
    if len(steps) == 1 and steps[0][1] == 1:
        return steps[0][0]
    if any(step.rate != 1.0 for step, _ in steps):
        return None
    smallest = min((step.noise for step, _ in steps), default=math.inf)
    if smallest == 0.0 or math.isinf(smallest):
        return SampledStep(1.0, smallest)
    # Relative to the smallest, so that no square over- or underflows.
    total = math.fsum(count * (smallest / step.noise) ** 2 for step, count in steps)
    return SampledStep(1.0, smallest / math.sqrt(total) * (1.0 - 2.0**-50))
