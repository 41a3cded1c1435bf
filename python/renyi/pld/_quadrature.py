"""Gauss-Legendre quadrature of non-negative functions on many cells at once.

Bound used: f analytic in the Bernstein ellipse of parameter rho of [-1, 1] with |f| <= M there has
|I - I_n| <= (64/15) M rho^(-2n) / (1 - rho^-2)  (Trefethen, Approximation Theory and Approximation
Practice, Theorem 19.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from renyi.pld._cells import ROUNDING, Array, Cells

__all__ = ["GROWTH", "Densities", "gauss_legendre", "integrate_cells", "order_for"]

GROWTH = 0.25
"""Cells on which the integrand changes by more than e^(2 GROWTH) are divided."""

_NARROW = GROWTH / 16.0

# Integrand(x, from_lower, to_upper) -> p, q, up, low: densities at x and the two moments, given
# the signed distances x - x(lower edge) and x(upper edge) - x.
Densities = tuple[Array, Array, Array, Array]
Integrand = Callable[[Array, Array, Array], Densities]


@lru_cache(maxsize=64)
def gauss_legendre(order: int) -> tuple[Array, Array]:
    """Return nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return 0.5 * (1.0 + nodes), 0.5 * weights


@lru_cache(maxsize=1024)
def order_for(growth: float) -> int:
    """Return the least order whose relative error is below 2^-53 at this growth.

    ``growth`` bounds half the width times the derivative of the log of a Gaussian factor, plus
    that of the exponentials, plus half the width. On the ellipse with semi-axes A, B the integrand
    is at most e^(2 growth (1 + A)) (1 + A) times its mean over the cell: e^(growth A) from the
    linear part of each exponent, e^(growth^2 B^2 / 2) <= e^(growth A) from the quadratic one where
    growth * A <= 2, and (1 + A) because up and low vanish at one end.
    """
    for order in range(2, 40):
        for rho in np.geomspace(2.0, 4096.0, 45):
            axis = 0.5 * (rho + 1.0 / rho)
            quadratic = 0.5 * (growth * axis) ** 2
            log_bound = (
                math.log(64.0 / 15.0 / (1.0 - rho**-2) * (1.0 + axis))
                + 2.0 * growth * (1.0 + axis)
                + quadratic
                - 2.0 * order * math.log(rho)
            )
            if log_bound < math.log(ROUNDING):
                return order
    raise AssertionError("unreachable: growth is at most GROWTH")


def integrate_cells(
    edges: Array,
    positions: Array,
    losses: Array,
    rates: Array,
    integrand: Integrand,
    order: int | None = None,
) -> Cells:
    """Integrate over the cells between consecutive ``positions`` of a monotone loss.

    Parameters
    ----------
    edges : array of shape (n + 1,)
        Increasing losses asked for; infinite ends allowed.
    positions : array of shape (n + 1,)
        Where the loss takes these values, clipped to the domain; increasing or decreasing.
    losses : array of shape (n + 1,)
        The losses there: ``edges``, except where clipped.
    rates : array of shape (n,)
        Bound on the derivative of the log of every factor of the integrand, per cell.
    integrand : callable
        See ``Integrand``.
    order : int, optional
        Order of the rule; by default the one that ``order_for`` proves to be sufficient.

    Returns
    -------
    Cells
        With ``error``, ``error_q`` and ``slip`` of the quadrature alone; the caller adds his.
    """
    span = np.diff(positions)
    count = span.size
    growth = 0.5 * np.abs(span) * (rates + np.abs(span))
    pieces = np.maximum(np.ceil(growth / GROWTH), 1.0)
    pieces[span == 0.0] = 0.0
    used = np.flatnonzero(pieces)
    p, q, up, low = (np.zeros(count) for _ in range(4))
    # Most cells are narrow and need few nodes; the outer ones are wide.
    narrow = growth[used] <= _NARROW
    for group in (used[narrow], used[~narrow]):
        if not group.size:
            continue
        finest = float(np.max(growth[group] / pieces[group]))
        nodes = order or order_for(float(min(GROWTH, 2.0 ** math.ceil(math.log2(finest + 1e-300)))))
        repeats = pieces[group].astype(np.intp)
        sums = _sum(positions[:-1][group], span[group], repeats, integrand, nodes)
        p[group], q[group], up[group], low[group] = sums
    with np.errstate(over="ignore", invalid="ignore"):
        # Clipped edges: the moments above refer to the loss at the clipping point.
        below = edges[:-1] < losses[:-1]
        up[below] -= np.expm1(edges[:-1] - losses[:-1])[below] * np.maximum(p - up, 0.0)[below]
        above = (edges[1:] > losses[1:]) & (p + low > 0.0)
        low[above] += np.expm1(edges[1:] - losses[1:])[above] * (p + low)[above]
    error = np.full(count, 8.0 * ROUNDING)
    return Cells(p, q, np.maximum(up, 0.0), np.maximum(low, 0.0), error, error, np.zeros(count + 1))


def _sum(
    start: Array, span: Array, repeats: np.ndarray, integrand: Integrand, order: int
) -> tuple[Array, Array, Array, Array]:
    nodes, weights = gauss_legendre(order)
    divided = int(repeats.max()) > 1
    first = np.concatenate(([0], np.cumsum(repeats)[:-1]))
    if divided:
        index = np.arange(int(repeats.sum())) - np.repeat(first, repeats)
        start, span = np.repeat(start, repeats), np.repeat(span, repeats)
        parts = np.repeat(repeats, repeats)
        width, index, parts = span / parts, index.astype(np.float64), parts.astype(np.float64)
    else:
        width, index, parts = span, np.zeros(1), np.ones(1)
    totals = [np.zeros(start.size) for _ in range(4)]
    for node, weight in zip(nodes, weights, strict=True):
        from_lower = width * (index + node)
        to_upper = width * (parts - index - node)
        scale = weight * np.abs(width)
        for total, value in zip(
            totals, integrand(start + from_lower, from_lower, to_upper), strict=True
        ):
            total += scale * value
    if divided:
        totals = [np.add.reduceat(total, first) for total in totals]
    return totals[0], totals[1], totals[2], totals[3]
