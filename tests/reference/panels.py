"""Positive functions given by their logarithms, in long doubles: integrals and interpolants.

An integrand has one or two peaks of unknown place and width. Its live part, within e^-DEPTH of the
largest value, is found by scans that close in on it, then Gauss-Legendre panels on it are doubled
in number until two sums agree. An interpolant is Chebyshev on panels, halved until the coefficients
die away: relative accuracy everywhere, since it is the logarithm that is interpolated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from flint import arb, ctx

Array = np.ndarray[Any, Any]
Real = np.longdouble
DEPTH = 50  # e^-50 is 2e-22
ROWS, CHUNK = 256, 8192  # rows of an integral, and points, that are taken together


class Panelling(NamedTuple):
    """How peaks are looked for and resolved; another one is another discretisation."""

    scan: int = 65
    gauss: int = 20
    panels: int = 3
    nodes: int = 20


def exact(value: Any) -> arb:
    """A long double as a ball of radius 0."""
    high = float(value)
    return arb(high) + arb(float(Real(value) - Real(high)))


def real(value: arb) -> Real:
    """The nearest long double, nearly."""
    high = float(value)
    return Real(high) + Real(float(value - arb(high)))


@cache
def gauss(count: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss and Legendre on [0, 1]."""
    with ctx.workprec(160):
        pairs = [arb.legendre_p_root(count, i, weight=True) for i in range(count)]
        return (
            np.array([real((1 - node) / 2) for node, _ in pairs]),
            np.array([real(weight / 2) for _, weight in pairs]),
        )


def live(
    log_f: Callable[..., Array], rows: Array, low: Array, high: Array, scan: int
) -> tuple[Array, Array]:
    """Ends of the part within e^-DEPTH of the largest value."""
    grid, each = np.linspace(Real(0), Real(1), scan), np.arange(len(rows))
    for _ in range(4):
        u = low[:, None] + (high - low)[:, None] * grid
        size = log_f(u, rows, True)
        inside = size >= size.max(axis=1, keepdims=True) - DEPTH
        first, last = inside.argmax(axis=1), scan - 1 - inside[:, ::-1].argmax(axis=1)
        low, high = u[each, np.maximum(first - 1, 0)], u[each, np.minimum(last + 1, scan - 1)]
        if (last - first > scan // 2).all():
            break
    return low, high


def log_integral(
    log_f: Callable[..., Array], low: Array, high: Array, panelling: Panelling
) -> Array:
    """Log of the integral of exp(log_f(u, row)) over u from low to high, a row for each pair.

    log_f(u, row, True) may be wrong by a part of 1, if it is quick: for the scans.
    """
    result = np.full(len(low), -np.inf, dtype=Real)
    nodes, weights = gauss(panelling.gauss)
    for start in range(0, len(low), ROWS):
        rows = np.arange(start, min(start + ROWS, len(low)))
        rows = rows[high[rows] - low[rows] > 1e-9]  # less only at the ends of what matters
        if not len(rows):
            continue
        left, right = live(log_f, rows, low[rows], high[rows], panelling.scan)
        before, panels = np.full(len(rows), -np.inf, dtype=Real), panelling.panels
        while len(rows):
            at = (np.arange(panels)[:, None] + nodes).ravel() / Real(panels)
            size = log_f(left[:, None] + (right - left)[:, None] * at, rows)
            top = size.max(axis=1)
            top = np.where(np.isfinite(top), top, Real(0))
            share = np.tile(weights, panels) / Real(panels)
            with np.errstate(divide="ignore"):
                now = top + np.log(np.exp(size - top[:, None]) @ share * (right - left))
            result[rows] = now
            with np.errstate(invalid="ignore"):
                settled = abs(now - before) < 1e-14  # now is better by 2^(2 gauss)
                open_ = ~(settled | (np.isneginf(now) & np.isneginf(before)))
            if panels == panelling.panels:
                open_[:] = True
            if panels > 400:
                raise ArithmeticError("an integral does not converge")
            rows, left, right, before = rows[open_], left[open_], right[open_], now[open_]
            panels *= 2
    return result


class Interpolant:
    """A smooth function on [low, high] by panels of Chebyshev polynomials."""

    def __init__(
        self, function: Callable[[Array], Array], low: Real, high: Real, nodes: int = 20
    ) -> None:
        angle = (np.arange(nodes) + Real(1) / 2) * (np.arctan(Real(1)) * 4 / nodes)
        self.table = np.cos(np.outer(np.arange(nodes), angle)) * (Real(2) / nodes)
        self.table[0] /= 2
        at = np.cos(angle)
        edges = np.linspace(low, high, 9)
        todo, done = np.stack([edges[:-1], edges[1:]], axis=1), []
        for _ in range(24):
            middle, half = todo.sum(axis=1) / 2, (todo[:, 1] - todo[:, 0]) / 2
            values = function((middle[:, None] + half[:, None] * at).ravel()).reshape(-1, nodes)
            coefficients = values @ self.table.T
            slope = abs(coefficients[:, 1]) / half * np.maximum(1, abs(middle) + half)
            noise = 1e-16 + 5e-19 * abs(values).max(axis=1) + 1e-18 * slope
            good = abs(coefficients[:, -3:]).max(axis=1) < noise
            done += list(zip(todo[good], coefficients[good], strict=True))
            bad, middle = todo[~good], middle[~good]
            if not len(bad):
                break
            todo = np.concatenate(
                [np.stack([bad[:, 0], middle], axis=1), np.stack([middle, bad[:, 1]], axis=1)]
            )
        else:
            raise ArithmeticError("an interpolant does not converge")
        done.sort(key=lambda part: part[0][0])
        self.edges = np.array([part[0][0] for part in done] + [high])
        coefficients = np.array([part[1] for part in done]).T.copy()
        large = max(1, np.flatnonzero(abs(coefficients).max(axis=1) > 0.002)[-1] + 1)
        self.large, self.small = coefficients[:large], coefficients[large:].astype(float)

    def __call__(self, v: Array) -> Array:
        flat = np.ravel(v)
        parts = [self._values(flat[i : i + CHUNK]) for i in range(0, max(flat.size, 1), CHUNK)]
        return np.concatenate(parts).reshape(np.shape(v))

    def _values(self, v: Array) -> Array:
        """Clenshaw's sums, in doubles while the coefficients are small."""
        panel = np.clip(np.searchsorted(self.edges, v) - 1, 0, len(self.edges) - 2)
        low, high = self.edges[panel], self.edges[panel + 1]
        x = ((v - low) - (high - v)) / (high - low)
        twice = 2 * x.astype(float)
        first, second = np.zeros(len(v)), np.zeros(len(v))
        for row in self.small[::-1]:
            first, second = row[panel] + twice * first - second, first
        twice = 2 * x
        for row in self.large[:0:-1]:
            first, second = row[panel] + twice * first - second, first
        return self.large[0][panel] + x * first - second
