"""From mechanisms to what `RDPAccountant` adds up: steps, Rényi curves, failures."""

from __future__ import annotations

import math
from typing import NamedTuple

from renyi._accounting import RenyiCurve
from renyi._adjacency import Adjacency
from renyi._validation import float_above
from renyi.accountants._renyi_curves import curve_of_pairs
from renyi.accountants._samples import leaves
from renyi.accountants._steps import SampledStep, collapsed, gaussian_steps, settled
from renyi.accountants._support import check_adjacency
from renyi.accountants.sampled_curves import curve_of
from renyi.mechanisms import (
    ApproxDP,
    Composed,
    Gaussian,
    Mechanism,
    PoissonSampled,
    PureDP,
    ShuffledBatches,
)

__all__ = ["Failure", "Part", "RenyiPart", "renyi_parts"]


class Failure(NamedTuple):
    """All is revealed with some probability."""

    probability: float


class RenyiPart(NamedTuple):
    """A mechanism with its Rényi curve."""

    mechanism: Mechanism
    curve: RenyiCurve


Part = SampledStep | Failure | RenyiPart


def renyi_parts(mechanism: Mechanism, adjacency: Adjacency) -> list[tuple[Part, int]]:
    """Take a mechanism apart.

    Raises
    ------
    UnsupportedMechanismError
        If no valid Rényi divergence of a part is known under the adjacency.
    """
    parts: list[tuple[Part, int]] = []
    for leaf, count in leaves(mechanism):
        check_adjacency(leaf, adjacency)
        parts += [(part, times * count) for part, times in _parts_of_leaf(leaf, adjacency)]
    return parts


def _parts_of_leaf(leaf: Mechanism, adjacency: Adjacency) -> list[tuple[Part, int]]:
    steps = gaussian_steps(leaf)
    if steps is not None:
        return _step_parts(steps, adjacency)
    if isinstance(leaf, ShuffledBatches):  # every record is in one batch
        return renyi_parts(leaf.mechanism, adjacency)
    rate, base = 1.0, leaf
    if isinstance(leaf, PoissonSampled):
        base, rate = collapsed(leaf)
    pure, failing = _without_failures(base)
    safe = leaf if pure is base else pure if rate == 1.0 else PoissonSampled(pure, rate)
    if failing == 0.0:
        return [(RenyiPart(leaf, curve_of(safe, adjacency)), 1)]
    failure = Failure(min(rate * failing * (1.0 + 2.0**-50), failing))
    return [(failure, 1), *renyi_parts(safe, adjacency)]


def _without_failures(mechanism: Mechanism) -> tuple[Mechanism, float]:
    """Return what a mechanism is unless it fails, and the probability that it does, rounded up.

    (epsilon, delta) is epsilon unless a coin of probability delta reveals all (Kairouz, Oh,
    Viswanath 2015). On a Poisson sample of rate q that coin does so with probability q: the two
    outcomes share 1 - q of their mass.
    """
    if isinstance(mechanism, ApproxDP):
        return PureDP(mechanism.epsilon), mechanism.delta
    if not isinstance(mechanism, Composed):
        return mechanism, 0.0
    log_safe, parts = 0.0, []
    for part, count in mechanism.parts:
        pure, failing = _without_failures(part)
        parts.append((pure, count))
        if failing == 1.0:
            log_safe = -math.inf
        elif failing:
            log_safe += float_above(count) * math.log1p(-failing)
    failing = min(-math.expm1(log_safe) * (1.0 + len(parts) * 2.0**-50), 1.0)
    same = all(pure is part for (pure, _), (part, _) in zip(parts, mechanism.parts, strict=True))
    return mechanism if same else Composed(*parts), failing


def _step_parts(
    steps: list[tuple[SampledStep, int]], adjacency: Adjacency
) -> list[tuple[Part, int]]:
    parts: list[tuple[Part, int]] = []
    for given, count in steps:
        step = settled(given)
        if step is None:
            continue
        part: Part = step
        if adjacency == "replace_one":
            whole = step.rate == 1.0
            part = SampledStep(1.0, 0.5 * step.noise) if whole else _replaced(step)
        parts.append((part, count))
    return parts


def _replaced(step: SampledStep) -> RenyiPart:
    sampled = PoissonSampled(Gaussian(step.noise), step.rate)
    return RenyiPart(sampled, curve_of_pairs(sampled, "replace_one"))
