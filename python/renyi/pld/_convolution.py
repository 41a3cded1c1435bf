"""Laws of losses on lattices, convolved directly; see ``_product`` for what they bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from renyi.pld._cells import NEGLIGIBLE, ROUNDING, Array, Atoms, Cells, summed
from renyi.pld._distribution import PrivacyLossDistribution

__all__ = ["TAIL", "Law", "composed", "connected", "merged"]

TAIL = 1e-150
"""Mass that a convolution may lose at either end: to infinity above, to a neighbour below."""

SEEN = 1e-290
LARGEST_STEP = 512.0
SMALLEST_STEP = 2.0**-60


@dataclass(frozen=True, slots=True)
class Law:
    """P- and Q-masses at the losses step * (first + i), i = 0, 1, ...

    From above (``upper``) the losses are these, q = p e^-loss; from below they are log(p/q).
    ``error`` is the relative error of the masses, ``drift`` that of the losses, absolute;
    ``infinite`` and ``null`` are the masses of only P and of only Q.
    """

    step: float
    first: int
    p: Array
    q: Array
    infinite: float
    null: float
    error: float
    drift: float
    upper: bool

    def doubled(self) -> Law:
        """Return the law on a lattice of twice the step."""
        even = self.first & 1
        first = (self.first - even) // 2
        size = (even + self.p.size + 2) // 2 * 2
        p, q = (np.pad(masses, (even, size - even - masses.size)) for masses in (self.p, self.q))
        error = self.error + 4.0 * ROUNDING
        changed = replace(self, step=2.0 * self.step, first=first, error=error)
        # An odd node, with h to both neighbours, goes to both: from below in halves, from above so
        # that both masses are kept.
        shift = self.step if self.upper else 0.0
        smaller, larger = 1.0 / (1.0 + math.exp(shift)), 1.0 / (1.0 + math.exp(-shift))
        p = np.append(p[::2] + smaller * p[1::2], 0.0) + np.append(0.0, larger * p[1::2])
        q = np.append(q[::2] + larger * q[1::2], 0.0) + np.append(0.0, smaller * q[1::2])
        return replace(changed, p=p, q=q)

    def times(self, other: Law) -> Law:
        """Return the law of the sum of two independent losses on one lattice."""
        rounding = (min(self.p.size, other.p.size) + 4.0) * ROUNDING
        return Law(
            self.step,
            self.first + other.first,
            np.convolve(self.p, other.p),
            np.convolve(self.q, other.q),
            self._either(self.infinite, other.infinite),
            self._either(self.null, other.null),
            self.error + other.error + rounding,
            self.drift + other.drift,
            self.upper,
        )

    def _either(self, a: float, b: float) -> float:
        return min((a + b) * (1.0 + 4.0 * ROUNDING), 1.0) if self.upper else a + b - a * b

    def trimmed(self) -> Law:
        """Return the law without its far ends."""
        p, q = self.p, self.q
        start = min(int(np.count_nonzero(np.cumsum(q) <= TAIL)), p.size - 1)
        stop = max(p.size - int(np.count_nonzero(np.cumsum(p[::-1]) <= TAIL)), start + 1)
        if not self.upper:
            return self._merged_outside(start, stop)
        kept = p[start:stop].copy()
        kept[0] += float(p[:start].sum())  # whose Q-mass is less than what is lost
        return replace(
            self,
            first=self.first + start,
            p=kept,
            q=q[start:stop],
            infinite=self.infinite + float(p[stop:].sum()) * (1.0 + self.error),
            null=self.null + float(q[:start].sum() + q[stop:].sum()) * (1.0 + self.error),
        )

    def where_both_are_seen(self) -> Law:
        """Return the law with the ends merged where a mass has underflowed or might have."""
        seen = np.flatnonzero((self.p > SEEN) & (self.q > SEEN))
        if not seen.size:  # P and Q are so far apart that nothing can be said
            return replace(self, p=np.ones(1), q=np.ones(1), infinite=0.0, null=0.0)
        law = self._merged_outside(int(seen[0]), int(seen[-1]) + 1)
        kept = (law.p > SEEN) & (law.q > SEEN)  # between them P and Q vanish together
        return replace(law, p=law.p[kept], q=law.q[kept])

    def _merged_outside(self, start: int, stop: int) -> Law:
        sides = []
        for masses in (self.p, self.q):
            kept = masses[start:stop].copy()
            kept[0] += float(masses[:start].sum())
            kept[-1] += float(masses[stop:].sum())
            sides.append(kept)
        return replace(self, first=self.first + start, p=sides[0], q=sides[1])


def composed(laws: list[tuple[Law, int]], points: int) -> Law:
    """Return the law of the sum of independent losses with their counts."""
    total: Law | None = None
    for law, count in laws:
        power, rest = law, count
        while rest:
            if rest & 1:
                total = power if total is None else _sum(total, power, points)
            rest >>= 1
            if rest:
                power = _sum(power, power, points)
    assert total is not None
    return total


def _sum(a: Law, b: Law, points: int) -> Law:
    while a.step < b.step:
        a = a.doubled()
    while b.step < a.step:
        b = b.doubled()
    found = a.times(b).trimmed()
    while found.p.size > 2 * points and found.step < LARGEST_STEP:
        found = found.doubled()
    return found


def connected(pair: PrivacyLossDistribution, points: int) -> Law:
    """Return a law that dominates a pair's: each cell is shared between its ends.

    P-masses come from the cells of the pair, Q-masses, in the same way, from those of its reverse:
    either may vanish where the other does not.
    """
    step, first, last = _lattice(pair, points)
    nodes = step * np.arange(first, last + 1, dtype=np.float64)
    edges, atoms = np.concatenate(([-np.inf], nodes, [np.inf])), pair.atoms()
    p_cells, drift, p_error = _with_atoms(pair.cells(edges), atoms, nodes, step)
    q_cells, _, q_error = _with_atoms(
        pair.mirrored(-edges[::-1]), atoms.reversed(), -nodes[::-1], step
    )
    masses = []
    for cells in (p_cells, q_cells):
        found = np.zeros(nodes.size)
        found[1:] += cells.up[1:-1] / -math.expm1(-step)
        found[:-1] += cells.low[1:-1] / math.expm1(step)
        masses.append(found)
    p, q = masses[0], masses[1][::-1]
    # Beyond the ends: P to infinity and to the first node, Q to nowhere.
    p[0] += p_cells.p[0]
    outward = 1.0 + max(p_error, q_error) + 8.0 * ROUNDING
    infinite = (pair.infinite_mass + float(p_cells.p[-1])) * outward
    null = (pair.null_mass + float(q_cells.p[0] + q_cells.p[-1])) * outward
    error = max(p_error, q_error) + 8.0 * ROUNDING
    return Law(step, first, p, q, infinite + NEGLIGIBLE, null, error, drift, True)


def merged(pair: PrivacyLossDistribution, points: int) -> Law:
    """Return a law that a pair dominates: outcomes whose losses lie in one cell are merged."""
    step, first, last = _lattice(pair, points)
    edges = step * (np.arange(first, last, dtype=np.float64) + 0.5)
    cells, atoms = pair.cells(np.concatenate(([-np.inf], edges, [np.inf]))), pair.atoms()
    p, q = cells.p.copy(), cells.q.copy()
    error = float(np.maximum(cells.error, cells.error_q).max())
    if len(atoms):
        place = np.clip(np.ceil(atoms.loss / step - 0.5) - first, 0, p.size - 1).astype(np.intp)
        p += summed(place, atoms.mass, p.size)
        q += summed(place, atoms.other, q.size)
        error += float(atoms.error.max()) + ROUNDING * (8.0 + float(np.bincount(place).max()))
    infinite = max(pair.infinite_mass - NEGLIGIBLE, 0.0)
    error += 8.0 * ROUNDING
    return Law(step, first, p, q, infinite, pair.null_mass, error, 0.0, False)


def _with_atoms(
    cells: Cells, atoms: Atoms, nodes: Array, step: float
) -> tuple[Cells, float, float]:
    """Put atoms into the cells between nodes; return them, the drift and the relative error."""
    drift = float(cells.slip[1:-1].max()) if cells.p.any() else 0.0
    seen = np.where(cells.p > 0.0, cells.error, 0.0)
    # An edge that is elsewhere changes the shares of both cells by twice that over the width.
    error = float(seen.max()) + 4.0 * drift / step
    if not len(atoms):
        return cells, drift, error
    size = cells.p.size
    place = np.clip(np.ceil((atoms.loss - nodes[0]) / step), 0, size - 1).astype(np.intp)
    start = nodes[0] + step * (place - 1.0)
    above = -np.expm1(np.minimum(start - atoms.loss, 0.0))
    below = np.expm1(np.clip(start + step - atoms.loss, 0.0, step))
    found = replace(
        cells,
        p=cells.p + summed(place, atoms.mass, size),
        up=cells.up + summed(place, atoms.mass * above, size),
        low=cells.low + summed(place, atoms.mass * below, size),
    )
    drift = max(drift, float(atoms.loss_error.max()))
    error += float(atoms.error.max()) + ROUNDING * (8.0 + float(np.bincount(place).max()))
    return found, drift, error


def _lattice(pair: PrivacyLossDistribution, points: int) -> tuple[float, int, int]:
    """Return a step, a power of two, and the first and last node, the range about the pair's."""
    losses = pair.atoms().loss
    ends = [*pair.loss_range(TAIL), *pair.other_range(TAIL), *losses[:1], *losses[-1:]]
    if losses.size:
        ends += [float(losses.min()), float(losses.max())]
    ends = [end for end in ends if math.isfinite(end)] or [0.0]
    low, high = min(*ends, 0.0), max(*ends, 0.0)
    step = 2.0 ** math.ceil(math.log2(max((high - low) / points, SMALLEST_STEP)))
    if step > LARGEST_STEP:
        raise ValueError(
            f"parts must be of losses within {LARGEST_STEP * points:g}, got a range of "
            f"{high - low:g}"
        )
    return step, math.floor(low / step) - 1, math.ceil(high / step) + 1
