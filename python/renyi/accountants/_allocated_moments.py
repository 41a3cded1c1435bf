"""Rényi divergences of one epoch of random allocation at real orders, from atoms above its law.

The pair of atoms (src/renyi/curve/allocation_pair.hpp) has a curve above that of the epoch up to
the last atom, so that expectations of convex functions of the likelihood ratio r under Q, continued
along tangents beyond the first and last atoms r_0, r_n, are not above those of the atoms. What is
beyond, by Cauchy and Schwarz,

    E_Q[r^a; r > r_n] <= (E_Q r^(2a-1) P(r > r_n))^(1/2),
    E_Q[r^-b; r < r_0] <= (E_Q r^(-2b) Q(r < r_0))^(1/2),
    E_Q r^(-2b) <= e^(b/s^2 + 2 b^2/(t s^2)),

with the divergences at whole orders for the first (s the noise, t the steps), and masses from the
slopes of the curve: Q(r > r_n) <= q_n + H_n/(r_n - r_(n-1)), H_n the mass beyond.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from renyi._accounting import RenyiCurve
from renyi._pair import Pair
from renyi.accountants._brackets import Array

__all__ = ["allocation_curve"]

ORDERS = 1.0 + np.geomspace(1e-3, 255.0, 240)
ROUNDING = 2.0**-49  # relative, of each part of a term
SLACK = 1e-12  # relative, of sums of positive terms


@lru_cache(maxsize=64)
def allocation_curve(pair: Pair, noise: float, steps: int) -> RenyiCurve:
    """Return the curve of the larger direction, nowhere above that known at whole orders."""
    whole = RenyiCurve.random_allocation(noise, steps)
    losses, _, masses = pair.atoms()
    if losses.size < 3:
        return whole
    values = np.array(
        [_moment(losses, masses, pair, whole, noise, steps, a) for a in ORDERS.tolist()]
    )
    known = np.isfinite(values)
    if not known.any():
        return whole
    return RenyiCurve.polygon(ORDERS[known].tolist(), values[known].tolist()).smaller(whole)


def _moment(
    losses: Array,
    masses: Array,
    pair: Pair,
    whole: RenyiCurve,
    noise: float,
    steps: int,
    order: float,
) -> float:
    """Return log E_Q r^order or log E_Q r^(1 - order), whichever is larger, rounded up."""
    beyond, null, b = pair.infinite_mass, pair.null_mass, order - 1.0
    first, second = math.exp(losses[0]), math.exp(losses[1])
    last, before = math.exp(losses[-1]), math.exp(losses[-2])
    # r^a - 1 - a (r - 1), positive everywhere: E r = 1.
    grown = np.expm1(losses)
    with np.errstate(over="ignore"):
        risen, fallen = np.expm1(order * losses), np.expm1((1.0 - order) * losses)
    up = risen - order * grown + ROUNDING * (np.abs(risen) + order * np.abs(grown))
    down = fallen + b * grown + ROUNDING * (np.abs(fallen) + b * np.abs(grown))
    seen = beyond + last * (masses[-1] + beyond / (last - before))
    log_tail = 0.5 * (whole.log_moment(2.0 * order - 1.0)[1] + math.log(max(seen, 1e-300)))
    slope = order * last ** (order - 1.0) if order * losses[-1] < 700.0 else math.inf
    # Of the atoms r sums up to 1 - beyond: the tangent's slope less the order times that.
    remove = float(masses @ up) + (slope - order) * beyond + null * (order - 1.0)
    remove += math.exp(log_tail) if log_tail < 700.0 else math.inf
    lost = null * second / (second - first) + masses[0]
    log_tail = b / noise**2 * 0.5 + b * b / (steps * noise**2) + 0.5 * math.log(max(lost, 1e-300))
    # The tangent at the first atom, at r = 0: less 1 - b (r - 1) there.
    at_null = first**-b * (1.0 + b) - 1.0 - b if -b * losses[0] < 700.0 else math.inf
    add = float(masses @ down) + null * at_null + b * beyond
    add += math.exp(log_tail) if log_tail < 700.0 else math.inf
    largest = max(remove, add)
    return math.log1p(largest * (1.0 + SLACK)) * (1.0 + SLACK) if largest < math.inf else math.inf
