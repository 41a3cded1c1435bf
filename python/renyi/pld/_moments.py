"""Log moment functions of composed lattices; nothing here needs to be certified."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from renyi.pld._cells import Array
from renyi.pld._lattice import LatticePair

__all__ = ["Law", "Moments", "in_blocks", "laws", "moments", "reduced", "truncated", "with_bulk"]

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

    The first ``bulk`` of them count as small, see ``_plan.choose``.
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


def in_blocks(part: Law) -> Law:
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
