"""Choosing the tilt, the step of the lattice and the window; nothing here needs to be certified."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from renyi.pld._cells import Array, Atoms
from renyi.pld._distribution import PrivacyLossDistribution
from renyi.pld._lattice import Lattice, LatticePair, discretise

__all__ = [
    "Choice",
    "Law",
    "Moments",
    "Part",
    "choose",
    "common_step",
    "laws",
    "layout",
    "log_delta",
    "moments",
    "reduced",
    "saddle",
    "truncated",
    "with_bulk",
]

Part = tuple[PrivacyLossDistribution, int]

_BLOCKS = 2048


@dataclass(frozen=True, slots=True)
class Moments:
    """Log moment function K of the composed finite loss at t, with two derivatives."""

    value: float
    mean: float
    variance: float


@dataclass(frozen=True, slots=True)
class Law:
    """Log masses of one part with its losses, increasing.

    The first ``bulk`` of them count as small, see ``choose``.
    """

    logs: Array
    losses: Array
    count: int
    bulk: int = 0


def laws(pairs: list[LatticePair], counts: list[int], upper: bool = True) -> list[Law]:
    """Return what ``moments`` reads, zeros left out."""
    found = []
    for pair, count in zip(pairs, counts, strict=True):
        masses = pair.upper if upper else pair.lower
        kept = np.flatnonzero(masses > 0.0)
        lattice = pair.lattice
        losses = lattice.offset + lattice.step * (lattice.first + kept.astype(np.float64))
        found.append(Law(np.log(masses[kept]), losses, count))
    return found


def with_bulk(parts: list[Law], limit: float) -> list[Law]:
    """Mark losses up to ``limit`` as bulk."""
    return [
        Law(p.logs, p.losses, p.count, int(np.searchsorted(p.losses, limit, "right")))
        for p in parts
    ]


def truncated(parts: list[Law], log_tail: float) -> list[Law]:
    """Cut each part where its count times the mass above falls below e^log_tail."""
    found = []
    for p in parts:
        with np.errstate(under="ignore"):
            above = np.cumsum(np.exp(p.logs)[::-1])[::-1] * p.count
        end = int(np.count_nonzero(above > math.exp(log_tail)))
        end = max(end, min(p.bulk + 1, p.logs.size), 1)
        found.append(Law(p.logs[:end], p.losses[:end], p.count, min(p.bulk, end)))
    return found


def reduced(parts: list[Law], t: float) -> list[Law]:
    """Return the laws tilted by t, in at most a few thousand blocks, to be searched cheaply."""
    found = []
    for part in parts:
        if not part.logs.size:
            return parts
        exponents = part.logs + t * part.losses
        exponents -= exponents.max()
        losses, bulk = part.losses, part.bulk
        if losses.size > 2 * _BLOCKS:
            block = losses.size // _BLOCKS
            starts = np.union1d(np.arange(0, losses.size, block), [bulk])
            starts = starts[starts < losses.size]
            with np.errstate(under="ignore"):
                weights = np.exp(exponents)
                sums = np.add.reduceat(weights, starts)
                means = np.add.reduceat(weights * losses, starts)
            kept = sums > 1e-300
            bulk = int(np.count_nonzero(kept & (starts < bulk)))
            exponents, losses = np.log(sums[kept]), means[kept] / sums[kept]
        with np.errstate(under="ignore"):
            total = math.log(float(np.exp(exponents).sum()))
        found.append(Law(exponents - total, losses, part.count, bulk))
    return found


def moments(parts: list[Law], t: float) -> Moments:
    """Return K(t), its derivatives, for the sum of all parts less the outcomes all in the bulk.

    K = log(prod (b + s)^count - prod b^count), b and s the sums over bulk and rest: a positive
    measure, computed without cancellation from log1p(s/b).
    """
    value = mean = variance = 0.0
    excess = shift = widening = 0.0
    whole = any(part.bulk == 0 for part in parts)
    for part in parts:
        if not part.logs.size:
            return Moments(-math.inf, 0.0, 0.0)
        exponents = part.logs + t * part.losses
        top = float(exponents.max())
        with np.errstate(under="ignore"):
            weights = np.exp(exponents - top)
        pieces = [slice(None)] if whole else [slice(0, part.bulk), slice(part.bulk, None)]
        sums, centres, spreads = [], [], []
        for piece in pieces:
            w, losses = weights[piece], part.losses[piece]
            total = float(w.sum())
            centre = float(np.dot(w, losses)) / total if total > 0.0 else 0.0
            deviations = losses - centre
            sums.append(total)
            centres.append(centre)
            spreads.append(float(np.dot(w, deviations * deviations)) / total if total else 0.0)
        if sums[0] == 0.0:
            return moments([Law(p.logs, p.losses, p.count) for p in parts], t)
        value += part.count * (top + math.log(sums[0]))
        mean += part.count * centres[0]
        variance += part.count * spreads[0]
        if not whole:
            share = sums[1] / (sums[0] + sums[1])
            apart = centres[1] - centres[0]
            excess += part.count * math.log1p(sums[1] / sums[0])
            shift += part.count * share * apart
            widening += (
                part.count * share * (spreads[1] - spreads[0] + (1.0 - share) * apart * apart)
            )
    if whole:
        return Moments(value, mean, variance)
    if excess <= 0.0:
        return Moments(-math.inf, mean, variance)
    portion = -math.expm1(-excess)
    moved = shift / portion
    second = (widening + shift * (2.0 * mean + shift)) / portion
    return Moments(
        value + excess + math.log(portion),
        mean + moved,
        max(variance + second - moved * (2.0 * mean + moved), 0.0),
    )


def saddle(parts: list[Law], epsilon: float, near: float | None = None) -> float:
    """Return t > 0 where K(t) - epsilon t - log t - log(1 + t) is least, within 1 %."""
    blocks, shift = (reduced(parts, near), near) if near else (parts, 0.0)
    largest = largest_slope(parts)
    low, high = largest * 1e-16, largest

    def too_large(t: float) -> bool:
        return moments(blocks, t - shift).mean - epsilon > 1.0 / t + 1.0 / (1.0 + t)

    if near is not None:
        low, high = max(low, near / 1.3), min(high, near * 1.3)
        low = low if not too_large(low) else largest * 1e-16
        high = high if too_large(high) else largest
    elif not too_large(high):
        return high
    while high > 1.02 * low:
        middle = math.sqrt(low * high)
        if too_large(middle):
            high = middle
        else:
            low = middle
    return math.sqrt(low * high)


def largest_slope(parts: list[Law]) -> float:
    """Return the largest tilt used: exponents stay below 2000."""
    widest = max(float(np.abs(part.losses).max()) for part in parts)
    return 2000.0 / max(widest, 1e-300)


def log_delta(parts: list[Law], t: float, epsilon: float) -> float:
    """Return the saddle-point approximation of log delta, at its saddle t."""
    k = moments(parts, t)
    curvature = k.variance + t**-2.0 + (1.0 + t) ** -2.0
    height = k.value - t * epsilon - math.log(t) - math.log1p(t)
    return min(height - 0.5 * math.log(2.0 * math.pi * curvature), 0.0)


@dataclass(frozen=True, slots=True)
class Choice:
    """How to compose: tilt, log delta about, log mass to cut off above, bulk of single losses.

    ``limit`` is the loss up to which a part is bulk, -inf for no bulk, and ``bulk_slope`` the tilt
    at which Chernoff's bound for outcomes all in the bulk is least.
    """

    slope: float
    log_delta: float
    log_tail: float
    limit: float
    bulk_slope: float


def choose(parts: list[Law], epsilon: float, rtol: float) -> Choice:
    """Return what makes delta(epsilon) stand out.

    With few effective steps delta comes from one large loss, and no tilt makes that likely. Then
    outcomes in which every loss is small are left out; they are bounded apart.
    """
    parts = [_blocks(part) for part in parts]
    shares = (0.9, 0.7, 0.5, 0.3, 0.15) if epsilon > 0.0 else ()
    for share in shares:
        limit = share * epsilon
        split = with_bulk(parts, limit)
        if any(p.bulk == 0 or p.bulk == p.logs.size for p in split):
            continue
        slope, found, log_tail = _choose_tail(split, epsilon, rtol)
        bulk = [Law(p.logs[: p.bulk], p.losses[: p.bulk], p.count) for p in split]
        bulk_slope = saddle(bulk, epsilon)
        left_out = moments(bulk, bulk_slope).value - bulk_slope * epsilon
        if left_out < math.log(1e-3 * rtol) + found:
            return Choice(slope, found, log_tail, limit, bulk_slope)
    return Choice(*_choose_tail(parts, epsilon, rtol), -math.inf, 1.0)


def _choose_tail(parts: list[Law], epsilon: float, rtol: float) -> tuple[float, float, float]:
    """Cut off as much of the tails as the delta that remains allows.

    The moment function of a long tail is dominated by losses that matter to no delta of interest.
    """
    for log_tail in (-15.0, -25.0, -40.0, -65.0, -105.0, -160.0, -250.0, -400.0):
        cut = truncated(parts, log_tail)
        t = saddle(cut, epsilon)
        found = log_delta(cut, t, epsilon)
        if log_tail <= math.log(1e-3 * rtol) + found:
            return t, found, log_tail
    t = saddle(parts, epsilon)
    return t, log_delta(parts, t, epsilon), -math.inf


def _blocks(part: Law) -> Law:
    """Return the law in about a thousand blocks."""
    if part.logs.size <= 2048:
        return part
    starts = np.union1d(np.arange(0, part.logs.size, part.logs.size // 1024), [part.bulk])
    starts = starts[starts < part.logs.size]
    tops = np.maximum.reduceat(part.logs, starts)
    lengths = np.diff(np.append(starts, part.logs.size))
    with np.errstate(under="ignore"):
        weights = np.exp(part.logs - np.repeat(tops, lengths))
    sums = np.add.reduceat(weights, starts)
    means = np.add.reduceat(weights * part.losses, starts) / sums
    return Law(np.log(sums) + tops, means, part.count, int(np.count_nonzero(starts < part.bulk)))


def common_step(atoms: list[Atoms]) -> float | None:
    """Return the step of a lattice that holds all atoms of every part, if there is one.

    Euclid's algorithm on the differences of each part's losses, stopped at their rounding errors.
    """
    gaps = [np.abs(part.loss[1:] - part.loss[0]) for part in atoms if len(part) > 1]
    errors = [part.loss_error[1:] + part.loss_error[0] for part in atoms if len(part) > 1]
    if not gaps:
        return None
    differences, error = np.concatenate(gaps), np.concatenate(errors)
    widest = float(differences.max())
    tolerance = 1e-9 * widest
    differences, error = differences[differences > tolerance], error[differences > tolerance]
    if not differences.size:
        return None
    step = float(differences.min())
    while True:
        if widest > 2.0**16 * step:
            return None
        rest = np.abs(differences - np.rint(differences / step) * step)
        if float(rest.max()) <= tolerance:
            break
        step = float(rest[rest > tolerance].min())
    # The estimate from the widest difference over its multiple, then a strict check.
    step = widest / round(widest / step)
    rest = np.abs(differences - np.rint(differences / step) * step)
    return step if np.all(rest <= 4.0 * error + 2.0**-50 * differences) else None


def layout(
    parts: list[Part], ranges: list[tuple[float, float]], step: float, anchors: list[float]
) -> list[LatticePair]:
    """Discretise every part on its range with one step, nodes at the parts' anchors."""
    pairs = []
    for (distribution, _), (low, high), anchor in zip(parts, ranges, anchors, strict=True):
        first = math.floor((low - anchor) / step - 1e-9)
        last = max(math.ceil((high - anchor) / step + 1e-9), first + 1)
        pairs.append(discretise(distribution, Lattice(step, anchor, first, last)))
    return pairs
