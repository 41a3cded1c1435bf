"""Two discrete losses on a lattice: one that dominates the pair, one that the pair dominates.

Both replace H(E) = E_P[(1 - E e^-L)_+], convex in E = e^epsilon, by a function of the same form
with its kinks at lattice points, H+ >= H >= H- for every E > 0. For a composition condition on
the other losses: delta = E[H(E / e^(their sum))], so such bounds hold factor by factor, and also
for masses that sum to less than one.

H+ : linear interpolation of H between the nodes (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022,
     arXiv 2207.04380, "connect the dots"): each cell's mass is shared between its two ends by the
     moments ``up`` and ``low``.
H- : outcomes are merged, and then Q is raised. Merging (with random shares) is post-processing, and
     raising Q lowers H. The node e_i collects the half-cells next to it; what it holds, masses
     (p, q), is put at e_i keeping p, allowed if p >= e^(e_i) q. The shares handed on to the
     neighbours make this hold, and nearly an equality, so that only the variance inside the cells
     is lost: the gap between H+ and H- is of second order in the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from renyi.pld._cells import NEGLIGIBLE, ROUNDING, Array, Atoms, summed
from renyi.pld._distribution import PrivacyLossDistribution

__all__ = ["Lattice", "LatticePair", "discretise"]


@dataclass(frozen=True, slots=True)
class Lattice:
    """The losses offset + step * i, first <= i <= last."""

    step: float
    offset: float
    first: int
    last: int

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class LatticePair:
    """Masses at the nodes of one lattice: ``upper`` of H+, ``lower`` of H-, and at infinity.

    ``drift`` bounds the error of the nodes' losses.
    """

    lattice: Lattice
    upper: Array
    lower: Array
    upper_infinite: float
    lower_infinite: float
    drift: float


def discretise(distribution: PrivacyLossDistribution, lattice: Lattice) -> LatticePair:
    """Return both discrete losses of a distribution; H- is that of its ``optimistic`` twin.

    Parameters
    ----------
    distribution : PrivacyLossDistribution
        What to discretise.
    lattice : Lattice
        Its range need not hold the support: P-mass above goes to infinity in H+ and to the last
        node in H-, below it to the first node in H+ and is dropped in H-.

    Notes
    -----
    All masses are rounded outward by their stated relative error. An edge that is not where it
    should be, by ``slip``, changes the share of the cell that belongs to one end by at most slip
    over the width, which is charged to the shares, and moves the node itself, which is ``drift``.
    """
    found, twin = _discretised(distribution, lattice), distribution.optimistic
    if twin is distribution:
        return found
    below = _discretised(twin, lattice)
    return replace(
        found,
        lower=below.lower,
        lower_infinite=below.lower_infinite,
        drift=max(found.drift, below.drift),
    )


def _discretised(distribution: PrivacyLossDistribution, lattice: Lattice) -> LatticePair:
    h, size = lattice.step, lattice.size
    halves = np.arange(2 * lattice.first, 2 * lattice.last + 1, dtype=np.float64)
    edges = np.concatenate(([-np.inf], lattice.offset + halves * (0.5 * h), [np.inf]))
    cells = distribution.cells(edges)
    rounding = np.where(np.isfinite(edges), 3.0 * ROUNDING * np.abs(edges), 0.0)
    slip = cells.slip + rounding + 2.0 * ROUNDING * (abs(lattice.offset) + h)
    loose = np.minimum(2.0 * np.maximum(slip[:-1], slip[1:]) / h, 1.0)
    p, up, low = cells.p.copy(), cells.up.copy(), cells.low.copy()
    error = cells.error.copy()
    on_node, drift = _place_atoms(distribution.atoms(), lattice, p, up, low, error)

    if cells.p.any():
        drift = max(drift, float(slip[1:-1].max()))

    inner = slice(1, -1)
    p_in, up_in, low_in = (np.append(a[inner], 0.0)[: 2 * size - 2] for a in (p, up, low))
    error_in, loose_in = error[inner], loose[inner]
    upper, lower = _share(p_in, up_in, low_in, error_in, loose_in, h, size)
    upper += on_node[0]
    lower += on_node[1]
    upper[0] += p[0] * (1.0 + error[0])
    upper[-1] += p[-1] * (1.0 + error[-1])
    lower[-1] += p[-1] * (1.0 - error[-1])
    tail = up[-1] * (1.0 + error[-1]) * (1.0 + 2.0 * loose[-1])
    tail += p[-1] * math.expm1(2.0 * slip[-2])
    infinite = distribution.infinite_mass
    upper_infinite = infinite * (1.0 + 4.0 * ROUNDING) + tail * (1.0 + 8.0 * ROUNDING)
    if tail > 0.0 or cells.p.any():
        upper_infinite += NEGLIGIBLE
    lower_infinite = max(infinite - NEGLIGIBLE, 0.0) * (1.0 - 8.0 * ROUNDING)
    return LatticePair(lattice, upper, lower, upper_infinite, lower_infinite, drift)


def _place_atoms(
    atoms: Atoms, lattice: Lattice, p: Array, up: Array, low: Array, error: Array
) -> tuple[Array, float]:
    """Put atoms on nodes they meet, others into the half-cells.

    Returns the masses on nodes, rounded up and down, and the largest error of an atom's loss.
    """
    on_node, drift = np.zeros((2, lattice.size)), 0.0
    h, half = lattice.step, 0.5 * lattice.step
    nearest = np.rint((atoms.loss - lattice.offset) / h)
    distance = np.abs(atoms.loss - (lattice.offset + nearest * h))
    reach = atoms.loss_error + 4.0 * ROUNDING * (np.abs(atoms.loss) + abs(lattice.offset))
    inside = (lattice.first <= nearest) & (nearest <= lattice.last)
    meets = inside & (distance <= 4.0 * reach)

    if meets.any():
        found, index = atoms.where(meets), nearest[meets].astype(np.intp) - lattice.first
        drift = float((distance + reach)[meets].max())
        margin = found.mass * (found.error + 4.0 * ROUNDING)
        # Several on one node are added one by one.
        adding = ROUNDING * np.bincount(index, minlength=lattice.size)
        on_node[0] = summed(index, found.mass + margin, lattice.size) * (1.0 + adding)
        kept = summed(index, np.maximum(found.mass - margin, 0.0), lattice.size)
        on_node[1] = kept * (1.0 - adding)
    if not meets.all():
        found = atoms.where(~meets)
        drift = max(drift, float(reach[~meets].max()))
        place = np.floor((found.loss - lattice.offset) / half) - 2 * lattice.first + 1
        cell = np.clip(place, 0, p.size - 1).astype(np.intp)
        start = lattice.offset + (cell - 1 + 2 * lattice.first) * half
        np.maximum.at(error, cell, found.error + 8.0 * ROUNDING)
        error += ROUNDING * np.bincount(cell, minlength=p.size)
        below = np.where(cell == 0, 1.0, -np.expm1(np.minimum(start - found.loss, 0.0)))
        above = np.expm1(np.clip(start + half - found.loss, 0.0, 600.0))
        above[cell == p.size - 1] = 0.0
        p += summed(cell, found.mass, p.size)
        up += summed(cell, found.mass * below, p.size)
        low += summed(cell, found.mass * above, p.size)
    return on_node, drift


def _share(
    p: Array, up: Array, low: Array, error: Array, loose: Array, h: float, size: int
) -> tuple[Array, Array]:
    """Distribute half-cells between first and last node; the first of a pair is above a node."""
    above, below = slice(0, None, 2), slice(1, None, 2)
    e_half, e_less = math.expm1(0.5 * h), -math.expm1(-0.5 * h)
    p_a, p_b = p[above], p[below]  # a: (e_i, e_i + h/2], b: (e_i + h/2, e_i+1], i < size - 1
    up_a, low_b = up[above], low[below]
    # The same half-cells seen from the farther node: e^mid q = p + low = p - up.
    low_a = low[above] + e_half * (p_a + low[above])
    up_b = up[below] + e_less * (p_b + low_b) * math.exp(-0.5 * h)
    err_a, err_b, loose_a, loose_b = error[above], error[below], loose[above], loose[below]

    upper = np.zeros(size)
    raised = (up_a + up_b) / -math.expm1(-h)
    lowered = (low_a + low_b) / math.expm1(h)
    total = (p_a * (1.0 + err_a) + p_b * (1.0 + err_b)) * (1.0 + 4.0 * ROUNDING)
    both = raised + lowered
    share = np.divide(raised, both, out=np.zeros_like(both), where=both > 0.0)
    slack = np.maximum(loose_a, loose_b) + 2.0 * np.maximum(err_a, err_b) + 16.0 * ROUNDING
    share = np.minimum(share + slack, 1.0)
    upper[1:] += total * share
    upper[:-1] += total * (1.0 - share)

    # Outward: surpluses rounded down, deficits up, by the errors and by the slip of the edges.
    room_a, room_b = 2.0 * err_a + 8.0 * ROUNDING, 2.0 * err_b + 8.0 * ROUNDING
    gain_a = np.maximum(up_a * (1.0 - room_a) - loose_a * h * p_a, 0.0)
    gain_b = np.maximum(up_b * (1.0 - room_b) - loose_b * h * p_b, 0.0)
    cost_a = low_a * (1.0 + room_a) + loose_a * h * p_a
    cost_b = low_b * (1.0 + room_b) + loose_b * h * p_b
    f, g = _handed_on(gain_a, gain_b, cost_a, cost_b)
    kept_a, kept_b = p_a * (1.0 - err_a), p_b * (1.0 - err_b)
    lower = np.zeros(size)
    lower[:-1] += (1.0 - f) * kept_a + g * kept_b
    lower[1:] += (1.0 - g) * kept_b + f * kept_a
    return upper, lower * (1.0 - 8.0 * ROUNDING)


def _handed_on(gain_a: Array, gain_b: Array, cost_a: Array, cost_b: Array) -> tuple[Array, Array]:
    """Return the shares that half-cells hand on in H-.

    a_i is the half-cell above node i, b_i the one below node i + 1. ``f`` is the share of a_i
    handed up to node i + 1, ``g`` that of b_i handed down to node i. Node i may keep what it holds
    if its surplus, P-mass over e^(e_i) times Q-mass, is not negative:
    (1 - f_i) gain_a_i + g_i gain_b_i >= (1 - g_i-1) cost_b_i-1 + f_i-1 cost_a_i-1.
    """
    zero = np.zeros(1)
    # Views at node i: a_i and b_i lie above it, a_{i-1} and b_{i-1} below.
    gain_above, gain_far = np.append(gain_a, zero), np.append(gain_b, zero)
    cost_below, cost_far = np.append(zero, cost_b), np.append(zero, cost_a)
    difference = gain_above - cost_below
    f = _ratio(np.maximum(difference, 0.0), gain_above + cost_far)[:-1]
    g = _ratio(np.maximum(-difference, 0.0), cost_below + gain_far)[1:]

    surplus = np.append((1.0 - f) * gain_a + g * gain_b, zero)
    deficit = np.append(zero, (1.0 - g) * cost_b + f * cost_a)
    missing = np.maximum(deficit - surplus + 4.0 * ROUNDING * (deficit + surplus), 0.0)[1:]
    # Take back first what a_{i-1} handed up, the farthest; then hand down more of b_{i-1}.
    returned = np.minimum(_ratio(missing, cost_a), f)
    f -= returned
    missing = np.maximum(missing - returned * cost_a * (1.0 - 4.0 * ROUNDING), 0.0)
    g = np.minimum(g + _ratio(missing, cost_b) * (1.0 + 4.0 * ROUNDING), 1.0)
    return f, g


def _ratio(top: Array, bottom: Array) -> Array:
    return np.minimum(np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0.0), 1.0)
