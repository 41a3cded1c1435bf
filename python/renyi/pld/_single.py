"""One use of a mechanism: delta(epsilon) is one integral, no lattice is needed."""

from __future__ import annotations

import math

import numpy as np

from renyi.pld._cells import NEGLIGIBLE, ROUNDING, Atoms
from renyi.pld._distribution import PrivacyLossDistribution

__all__ = ["single_delta", "single_epsilon"]

_CELLS = 129


def single_delta(
    distribution: PrivacyLossDistribution, epsilon: float, drift: float = 0.0
) -> tuple[float, float]:
    """Return numbers that enclose delta(epsilon) = E_P[(1 - e^(epsilon - L))_+].

    All terms are non-negative. The derivative in epsilon is at most P(L > epsilon), which bounds
    what an error of the edge, of an atom's loss or ``drift`` can do. The lower end is that of the
    ``optimistic`` twin.
    """
    if epsilon == math.inf:
        return distribution.infinite_bounds
    lower, upper = _enclosed(distribution, epsilon, drift)
    if distribution.optimistic is not distribution:
        lower, _ = _enclosed(distribution.optimistic, epsilon, drift)
    return lower, upper


def _enclosed(
    distribution: PrivacyLossDistribution, epsilon: float, drift: float
) -> tuple[float, float]:
    # Several cells, because the relative error grows with the distance; their moments seen from
    # epsilon are up + (1 - e^(epsilon - e)) e^e q, with e^e q = (p + low) e^-width, or p - up where
    # low, in a wide cell, may overflow.
    top = max(distribution.loss_range(1e-300)[1], epsilon)
    inner = epsilon + (top - epsilon) * np.linspace(0.0, 1.0, _CELLS) ** 2
    edges = np.append(inner if top > epsilon else [epsilon], np.inf)
    cells = distribution.cells(edges)
    wide = cells.up > 0.5 * cells.p
    with np.errstate(over="ignore", invalid="ignore"):
        below = np.append((cells.p + cells.low)[:-1] * np.exp(-np.diff(edges[:-1])), cells.p[-1])
    below[:-1] = np.where(wide, cells.p - cells.up, below)[:-1]
    moments = cells.up - np.expm1(epsilon - edges[:-1]) * below
    errors = (np.where(wide, 4.0, 1.0) * cells.error + 8.0 * ROUNDING) * moments
    mass = float(cells.p.sum())
    slips = 2.0 * cells.slip[:-1] + 2.0 * ROUNDING * np.abs(edges[:-1])
    moved = float(np.dot(slips, cells.p)) + (float(slips[0]) + 2.0 * drift) * mass
    infinite = distribution.infinite_mass
    infinite_low = max(infinite - NEGLIGIBLE, 0.0) * (1.0 - 4.0 * ROUNDING)
    lower = [infinite_low, *(moments - errors), -moved * 1.01]
    upper = [infinite, *(moments + errors), moved * 1.01]
    # The last cell, of next to no mass, is bounded by its P-mass.
    lower[-2] = 0.0
    low_atoms, high_atoms = _of_atoms(distribution.atoms(), epsilon, drift)
    lower.append(low_atoms)
    upper.append(high_atoms)
    total = math.fsum(lower), math.fsum(upper)
    tiny = 0.0 if mass == 0.0 else NEGLIGIBLE
    return (
        max(total[0] * (1.0 - 4.0 * ROUNDING), 0.0),
        min(total[1] * (1.0 + 4.0 * ROUNDING) + tiny, 1.0),
    )


def _of_atoms(atoms: Atoms, epsilon: float, drift: float) -> tuple[float, float]:
    """Enclose what the point masses give."""
    reach = atoms.loss_error + ROUNDING * (np.abs(atoms.loss) + abs(epsilon)) + drift
    sums = []
    for sign in (-1.0, 1.0):
        above = np.maximum(atoms.loss - epsilon + sign * reach, 0.0)
        sizes = atoms.mass * np.maximum(1.0 + sign * (atoms.error + 8.0 * ROUNDING), 0.0)
        # Pairwise sums of terms >= 0: an error of u for each level and for each of 128 in a block.
        sums.append(float(np.sum(sizes * -np.expm1(-above))) * (1.0 + sign * 200.0 * ROUNDING))
    return sums[0], sums[1]


def single_epsilon(
    distribution: PrivacyLossDistribution, delta: float, drift: float = 0.0
) -> tuple[float, float]:
    """Return numbers that enclose the least epsilon with delta(epsilon) <= delta."""
    return tuple(  # type: ignore[return-value]
        _crossing(distribution, delta, drift, side) for side in (0, 1)
    )


def _crossing(
    distribution: PrivacyLossDistribution, delta: float, drift: float, side: int
) -> float:
    def value(epsilon: float) -> float:
        return single_delta(distribution, epsilon, drift)[side]

    if value(math.inf) > delta:
        return math.inf
    low, high = -1.0, 1.0
    while value(low) <= delta:
        low *= 2.0
        if low < -1e12:
            return -math.inf
    while value(high) > delta:
        high *= 2.0
        if high > 1e13:
            return math.inf
    for _ in range(120):
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low <= 4e-16 * abs(middle):
            break
        if value(middle) > delta:
            low = middle
        else:
            high = middle
    return high if side else low
