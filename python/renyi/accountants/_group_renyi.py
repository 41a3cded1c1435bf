"""The Rényi curve for a group of records, from that for one.

With K(alpha) = log E_Q (P/Q)^alpha and 1/p + 1/q = 1, Hölder's inequality gives along P, R, Q

    K_(P,Q)(alpha) <= K_(P,R)(p alpha)/p + K_(R,Q)(q (alpha - 1/p))/q

(Mironov 2017, arXiv 1702.07476, Proposition 11). With a = p alpha the second order is
b = alpha (a - 1)/(a - alpha), and the best a is sought. It is exact for Gaussian noise, where his
Proposition 2 is not: rho alpha (alpha - 1) becomes m^2 rho alpha (alpha - 1).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from renyi._accounting import RenyiCurve
from renyi.accountants._brackets import Array

__all__ = ["group_curve"]

ORDERS = np.concatenate([[1.0], 1.0 + np.geomspace(1e-4, 1e6 - 1.0, 400)])
ROUNDING = 1.0 + 2.0**-45  # more than all the roundings of one link


def group_curve(rdp: Callable[[Array], Array], size: int) -> RenyiCurve | None:
    """Return the curve of a chain of ``size`` neighbours; None: no order is left.

    K is convex in the order: chords between the values at some orders are above it.
    """
    single = (ORDERS - 1.0) * rdp(ORDERS) * ROUNDING
    single[0] = 0.0
    total = single
    for bit in f"{size:b}"[1:]:
        total = _linked(total, total)
        if bit == "1":
            total = _linked(single, total)
    known = np.isfinite(total[1:])
    if not known.any():
        return None
    return RenyiCurve.polygon(ORDERS[1:][known].tolist(), total[1:][known].tolist())


def _linked(first: Array, rest: Array) -> Array:
    """Return the least bound of one link more at every order."""
    order, a = ORDERS[1:, np.newaxis], ORDERS[np.newaxis, 1:]
    finite = np.isfinite(rest)
    with np.errstate(all="ignore"):
        b = order * (a - 1.0) / (a - order) * ROUNDING  # K rises with the order
        beyond = np.interp(b, ORDERS[finite], rest[finite], right=np.inf)
        bound = (order * first[1:] + (a - order) * beyond) / a * ROUNDING
    bound[~(a > order) | np.isnan(bound)] = np.inf
    return np.concatenate([[0.0], bound.min(axis=1)])
