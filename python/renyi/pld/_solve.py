"""Both sides of a composition at one tilt, with the windows and errors of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from renyi.pld import _moments, _plan
from renyi.pld._cells import ROUNDING
from renyi.pld._composed_loss import (
    ComposedLoss,
    NodeMasses,
    TailSums,
    Tilt,
    Window,
    largest_weight,
)
from renyi.pld._composition import TiltedPart, compose, tilted
from renyi.pld._lattice import LatticePair
from renyi.pld._layout import Goal, Layout
from renyi.pld._spectrum import low_frequencies

__all__ = ["Solved", "composed", "infinite_mass"]

SIDES = ("upper", "lower")
SMALLEST_WINDOW = 2**13  # below it a transform of all nodes is quick
LARGEST_WINDOW = 2**40
STEEPEST = 50.0  # exponent from node to node; more only makes what lies between them overflow


@dataclass(frozen=True, slots=True)
class Solved:
    """Both sides of one composition at the tilt for one epsilon."""

    upper: ComposedLoss
    lower: ComposedLoss
    epsilon: float

    @property
    def all_nodes(self) -> int:
        """Length of the transforms that were made, 0 where a few frequencies gave everything."""
        return self.upper.window.size if isinstance(self.upper.law, NodeMasses) else 0

    def relative_width(self, epsilon: float) -> float:
        """Return the width of the bracket over its upper end."""
        high = self.upper.delta(epsilon)
        return (high - self.lower.delta(epsilon)) / high if high > 0.0 else 0.0


def composed(layout: Layout, choice: _plan.Choice, goal: Goal, drift: float) -> Solved:
    """Compose both sides at one tilt, on a window that holds all but a negligible tilted mass."""
    step, counts, pairs, limit = layout.step, layout.counts, layout.pairs, choice.limit
    laws = _moments.with_bulk(_moments.laws(pairs, counts), limit)
    if any(law.bulk == 0 or law.bulk == law.logs.size for law in laws):
        laws, limit = _moments.with_bulk(laws, -math.inf), -math.inf
    offset = sum(
        (c * Fraction(p.lattice.offset) for p, c in zip(pairs, counts, strict=True)), Fraction(0)
    )
    tolerance = min(goal.rtol, 1e-10) if layout.exact else goal.rtol
    choice = replace(choice, slope=min(choice.slope, STEEPEST / step))
    slope, low, high, shifts = _tilt_and_window(laws, choice, replace(goal, rtol=tolerance))
    cap = 2 ** math.floor(math.log2(goal.max_points))
    lowest = sum(c * p.lattice.first for p, c in zip(pairs, counts, strict=True))
    highest = sum(c * p.lattice.last for p, c in zip(pairs, counts, strict=True))
    first, last = lowest, highest
    if math.isfinite(low) and math.isfinite(high):
        first = max(math.floor((low - float(offset)) / step), lowest)
        last = max(min(math.ceil((high - float(offset)) / step), highest), first + 1)
    biggest = max(2000.0, slope * max(p.lattice.size for p in pairs) * step)
    bits = 51 - math.ceil(math.log2(biggest * 4.0))
    tilt = Tilt(max(round(math.ldexp(slope * step, bits)), 1), bits)
    bulks = [
        min(
            max(math.floor((limit - p.lattice.offset) / step) + 1 - p.lattice.first, 0),
            p.lattice.size,
        )
        if limit > -math.inf
        else 0
        for p in pairs
    ]
    window = Window(first, 2 ** math.ceil(math.log2(max(last - first + 1, 2))))
    found = {
        side: [tilted(getattr(p, side), p.lattice.first, tilt) for p in pairs] for side in SIDES
    }
    parts = {
        side: [
            TiltedPart(weights, c, n)
            for (weights, _), c, n in zip(found[side], counts, bulks, strict=True)
        ]
        for side in SIDES
    }
    sums = _by_low_frequencies(parts, window, lowest)
    if sums is None:
        if last - first >= cap and not layout.exact:
            coarser = step * 1.02 * (last - first + 1) / cap
            return composed(layout.coarsened(coarser), choice, goal, drift)
        window = Window(first, min(window.size, cap))
        sums = {side: NodeMasses(first, *compose(parts[side], window, lowest)) for side in SIDES}
    sides = []
    for side in SIDES:
        infinite = [getattr(p, f"{side}_infinite") for p in pairs]
        sides.append(
            ComposedLoss(
                step,
                offset,
                tilt,
                window,
                sums[side],
                sum(
                    (c * shift for (_, shift), c in zip(found[side], counts, strict=True)),
                    Fraction(0),
                ),
                _outside(parts[side], lowest, window, step, shifts),
                math.expm1(sum(counts) * 24.0 * ROUNDING),
                infinite_mass(list(zip(infinite, counts, strict=True)))[side == "upper"],
                (math.fsum(p.drift * c for p, c in zip(pairs, counts, strict=True)) + drift)
                * (1.0 + 1e-12),
                _left_out(pairs, counts, bulks, choice.bulk_slope) if all(bulks) else None,
                side == "upper",
            )
        )
    return Solved(sides[0], sides[1], goal.epsilon)


def _by_low_frequencies(
    parts: dict[str, list[TiltedPart]], window: Window, lowest: int
) -> dict[str, TailSums] | None:
    """Return the sums of both sides where few frequencies give them, None elsewhere."""
    if not SMALLEST_WINDOW <= window.size <= LARGEST_WINDOW:
        return None
    sums: dict[str, TailSums] = {}
    for side in SIDES:
        law = low_frequencies(parts[side], window, lowest)
        if law is None:
            return None
        sums[side] = law
    return sums


def _left_out(
    pairs: list[LatticePair], counts: list[int], bulks: list[int], slope: float
) -> tuple[float, float]:
    """Return log c and slope: outcomes all in the bulk give delta(epsilon) <= c e^(-slope epsilon).

    Since (1 - e^-x)_+ <= w e^(slope x), w the largest weight, c = w E[e^(slope L)].
    """
    value = math.log(largest_weight(slope))
    for pair, count, n in zip(pairs, counts, bulks, strict=True):
        lattice, masses = pair.lattice, pair.upper[:n]
        kept = np.flatnonzero(masses > 0.0)
        if not kept.size:
            return -math.inf, slope
        losses = lattice.offset + lattice.step * (lattice.first + kept)
        top = float((slope * losses).max())
        with np.errstate(under="ignore"):
            total = float(np.dot(masses[kept], np.exp(slope * losses - top)))
        room = 16.0 * ROUNDING * (4.0 + slope * float(np.abs(losses).max()))
        value += count * (math.log(total) + top + room)
    return value, slope


def _tilt_and_window(
    laws: list[_moments.Law], choice: _plan.Choice, goal: Goal
) -> tuple[float, float, float, tuple[float, float]]:
    """Return a tilt, the losses that enclose the tilted mass, and exponents that prove it.

    The saddle makes rounding errors least. With heavy tails a smaller tilt needs a shorter window,
    and some of the sixteen digits can be spared for it.
    """
    blocks = _moments.reduced(laws, choice.slope)
    origin = _moments.moments(laws, choice.slope).value - _moments.moments(blocks, 0.0).value
    best = None
    for factor in (1.0, 0.85, 0.7, 0.55, 0.4):
        slope = factor * choice.slope
        k = _moments.moments(blocks, slope - choice.slope)
        # Tilted, delta is this small; the mass outside is tolerated relative to it.
        log_size = min(choice.log_delta - (origin + k.value - slope * goal.epsilon), 0.0)
        if factor == 1.0:
            first_size = log_size
        elif log_size < first_size - 7.0:
            break
        tolerated = math.log(1e-3 * goal.rtol / largest_weight(slope)) + log_size
        tolerated = min(max(tolerated, -690.0), -1.0)
        low, high, shifts = _chernoff(blocks, slope - choice.slope, tolerated)
        if best is None or high - low < 0.8 * (best[2] - best[1]):
            best = slope, low, high, shifts
    assert best is not None
    return best


def _chernoff(
    blocks: list[_moments.Law], shift: float, goal: float
) -> tuple[float, float, tuple[float, float]]:
    """Return losses between which the law tilted by ``shift`` has all mass but e^goal per side.

    With the exponents s at which the bound E e^(s (L - x)) reaches it.
    """
    ends, exponents = [], []
    k = _moments.moments(blocks, shift)
    guess = math.sqrt(-2.0 * goal / max(k.variance, 1e-300))
    for sign in (-1.0, 1.0):
        best, best_s = math.inf, guess
        for factor in np.geomspace(0.01, 3.0, 24):
            s = float(factor * guess)
            value = _moments.moments(blocks, shift + sign * s).value - k.value
            end = (value - goal) / s
            if end < best:
                best, best_s = end, s
        ends.append(sign * best)
        exponents.append(best_s)
    return ends[0], ends[1], (exponents[0], exponents[1])


def _outside(
    parts: list[TiltedPart], lowest: int, window: Window, step: float, shifts: tuple[float, float]
) -> float:
    """Bound the tilted mass outside the window by Markov's inequality, certified.

    P(N >= n) <= E e^(s (N - n)) for s > 0, likewise below; without outcomes all in the bulk.
    """
    bound = 0.0
    highest = lowest + sum(part.count * (part.weights.size - 1) for part in parts)
    for s, node in (
        (-shifts[0] * step, window.first - 1),
        (shifts[1] * step, window.first + window.size),
    ):
        if not lowest <= node <= highest:
            continue
        log_bulk = excess = room = 0.0
        for part in parts:
            exponents = s * np.arange(part.weights.size, dtype=np.float64)
            top = max(float(exponents[-1]), 0.0)
            with np.errstate(under="ignore"):
                moved = part.weights * np.exp(exponents - top)
            bulk, rest = float(moved[: part.bulk].sum()), float(moved[part.bulk :].sum())
            if part.bulk == 0:
                bulk, rest = rest, math.inf
            log_bulk += part.count * ((math.log(bulk) if bulk > 0.0 else -math.inf) + top)
            excess += part.count * (math.log1p(rest / bulk) if bulk > 0.0 else math.inf)
            room += part.count * 64.0 * ROUNDING * (2.0 + top + abs(math.log(bulk or 1.0)))
        exponent = log_bulk - s * (node - lowest) + room
        if math.isfinite(excess):
            exponent += excess + math.log(-math.expm1(-excess)) if excess > 0.0 else -math.inf
        bound += math.exp(min(exponent, 1.0))
    return min(bound * (1.0 + 1e-9), 2.0)


def infinite_mass(parts: list[tuple[float, int]]) -> tuple[float, float]:
    if any(mass >= 1.0 and count for mass, count in parts):
        return 1.0, 1.0
    total = math.fsum(count * math.log1p(-mass) for mass, count in parts)
    value = -math.expm1(total)
    room = 16.0 * ROUNDING
    return value * (1.0 - room), min(value * (1.0 + room), 1.0)
