"""The least sum of squares of a budget that brings two runs together: a convex minorant.

Minimise sum a_k^2 over a_k >= 0 with z_k = c z_{k-1} + d_k - a_k >= 0 and z_t = 0. Times c^(t-k)
and summed, the a_k are a path that must stay below that of the d_k and end where it ends; in the
time T_k = sum of c^(2(t-j)) its cost is that of a spring, so the least is the greatest convex
minorant. Its slopes only propose the a_k. What counts is the sum of squares of a budget that is
carried through the recursion, every z rounded up: valid whatever the proposal.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["least_square"]

Floats = npt.NDArray[np.float64]
_UP = 1.0 + 2.0**-50  # for the two roundings of a step of the recursion


def least_square(shifts: Floats, contraction: float, diameter: float) -> float:
    """Return the least sum, from z_0 = 0 or from z_j = diameter for the j that looks best."""
    found = _square_from(shifts, contraction, 0.0)
    if diameter < math.inf:
        start = _best_start(shifts, contraction, diameter)
        found = min(found, _square_from(shifts[start:], contraction, diameter))
    return found


def _powers(contraction: float, count: int) -> Floats:
    """Return c^(t-1), ..., c, 1."""
    with np.errstate(under="ignore"):
        return np.asarray(np.power(contraction, np.arange(count - 1, -1, -1.0)))


def _best_start(shifts: Floats, contraction: float, diameter: float) -> int:
    """Return the j for which a straight path from z_j = diameter is shortest."""
    weights = _powers(contraction, len(shifts))
    with np.errstate(under="ignore"):
        still = np.cumsum((weights * shifts)[::-1])[::-1]
        time = np.cumsum((weights * weights)[::-1])[::-1]
        return int(np.argmin((still + diameter * contraction * weights) ** 2 / time))


def _square_from(shifts: Floats, contraction: float, start: float) -> float:
    """Return the sum of squares of the budget that the convex minorant proposes."""
    proposed = _minorant_slopes(shifts, contraction, start)
    apart, squares = start, []
    for shift, budget in zip(shifts[:-1].tolist(), proposed[:-1].tolist(), strict=True):
        apart = (contraction * apart + shift) * _UP
        spent = min(budget, apart)
        squares.append(spent * spent)
        apart = (apart - spent) * _UP
    squares.append(((contraction * apart + float(shifts[-1])) * _UP) ** 2)
    return math.fsum(squares) * _UP


def _minorant_slopes(shifts: Floats, contraction: float, start: float) -> Floats:
    """Return a_k = slope of the minorant at step k, times c^(t-k)."""
    weights = _powers(contraction, len(shifts))
    with np.errstate(under="ignore"):
        x = np.concatenate([[0.0], np.cumsum(weights * weights)])
        y = np.concatenate([[0.0], np.cumsum(weights * shifts) + start * contraction * weights[0]])
    vertices = _lower_hull(x, y)
    slopes = np.empty(len(shifts))
    for left, right in pairwise(vertices):
        run = x[right] - x[left]
        slopes[left:right] = (y[right] - y[left]) / run if run > 0.0 else 0.0
    return slopes * weights


def _lower_hull(x: Floats, y: Floats) -> list[int]:
    """Return the vertices of the greatest convex minorant, from the first point to the last."""
    across, height = x.tolist(), y.tolist()
    hull: list[int] = []
    for k in range(len(across)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            turn = (height[b] - height[a]) * (across[k] - across[a])
            if turn < (height[k] - height[a]) * (across[b] - across[a]):
                break
            hull.pop()
        hull.append(k)
    return hull
