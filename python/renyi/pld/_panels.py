"""Panels on which an even noise density, moved either way, is integrated by few nodes.

A panel of half-width w around c is such that, for some r >= 8 w, no density is singular within r
of c and the log of neither changes faster than 1/(4 w) there. On the ellipse of semi-axis 8 w,
rho = 15.9, a density is at most e^2 times its value at c, and the bound of ``_quadrature`` leaves 8
nodes a relative error below 2^-60, and 3 nodes on pieces 256 times shorter (rho > 4000) as well.
The factors 1 - e^(a - l) and e^(b - l) - 1 grow by at most e^4.5 there, which moves ``up`` and
``low`` by less than a change of the loss by 2^-53 does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from renyi.pld._cells import ROUNDING, Array
from renyi.pld._quadrature import gauss_legendre

__all__ = ["NARROW", "ORDER", "ORDER_NARROW", "Panels", "panels_of"]

ORDER, ORDER_NARROW, NARROW = 8, 3, 1.0 / 256.0

_AXIS = 8.0
_SLOPE = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """The panels' ends, symmetric about 0, and what holds on each.

    ``steep`` bounds the derivative of the log densities; ``loose`` how much they vary where they
    are taken as constant (elsewhere 0). ``log_total`` is the log of the integral of the density
    without its constant, of absolute error ``total_error``.
    """

    ends: Array
    steep: Array
    loose: Array
    log_total: float
    total_error: float


def panels_of(
    log_kernel: Callable[[Array], Array],
    clear: Callable[[float], float],
    steep: Callable[[float, float], float],
    breaks: tuple[float, ...],
    reach: float,
    core: tuple[float, float],
) -> Panels:
    """Divide [-reach, reach] for the densities around 1/2 and -1/2.

    ``core`` is the half-width of the panels around the centres, on which a density that is singular
    there is taken as constant, and its relative variation; (0, 0) for a smooth one.
    """

    def width(c: float) -> tuple[float, float]:
        """Return the half-width allowed around c and the steepness there."""
        room = 0.5 * min(clear(c - 0.5), clear(c + 0.5))
        best = 0.0, math.inf
        for k in range(8):
            r = math.ldexp(room, -k)
            slope = max(steep(c - 0.5, r), steep(c + 0.5, r))
            if min(r / _AXIS, _SLOPE / slope) <= best[0]:
                break
            best = min(r / _AXIS, _SLOPE / slope), slope
        return best

    half, variation = core
    marks = {0.0, reach, *breaks} | ({0.5 - half, 0.5 + half} if half else set())
    ends, slopes, loose = [0.0], [], []
    for a, b in itertools.pairwise(sorted(m for m in marks if m <= reach)):
        if half and a == 0.5 - half:
            ends.append(b)
            slopes.append(0.0)
            loose.append(variation)
            continue
        while a < b:
            w = 0.9 * min(width(a)[0] or half / _AXIS, b - a)
            while True:
                allowed, slope = width(a + w)
                if w <= allowed:
                    break
                w *= 0.75
            a = b if a + 2.0 * w >= b else a + 2.0 * w
            ends.append(a)
            slopes.append(slope)
            loose.append(0.0)
    forward, steepness, loosely = np.array(ends), np.array(slopes), np.array(loose)
    both = np.concatenate((-forward[:0:-1], forward))
    steepness = np.concatenate((steepness[::-1], steepness))
    loosely = np.concatenate((loosely[::-1], loosely))
    total, error = _total(log_kernel, both, steepness, loosely)
    return Panels(both, steepness, loosely, math.log(total), error)


def _total(
    log_kernel: Callable[[Array], Array], ends: Array, steep: Array, loose: Array
) -> tuple[float, float]:
    """Integrate the density around 1/2, and bound the relative error."""
    nodes, weights = gauss_legendre(ORDER)
    spans = np.diff(ends)
    v = ends[:-1, None] + spans[:, None] * nodes
    logs = log_kernel(v - 0.5)
    masses = (np.exp(logs) * weights).sum(axis=1) * spans
    errors = ROUNDING * (32.0 + 8.0 * np.abs(logs).max(axis=1) + 4.0 * steep * np.abs(ends[1:]))
    total = math.fsum(masses)
    return total, math.fsum(masses * (errors + loose)) / total + 4.0 * ROUNDING
