"""Losses given by the user's own log densities."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from renyi._validation import real_of
from renyi.pld._cells import ROUNDING, Array, Cells
from renyi.pld._distribution import PrivacyLossDistribution
from renyi.pld._quadrature import gauss_legendre, integrate_cells

__all__ = ["Density"]

LogDensity = Callable[[Array], Array]

_PANELS = 4096
_ORDER = 8


@dataclass(frozen=True)
class Density(PrivacyLossDistribution):
    """A pair of densities on an interval, given by their logarithms.

    Parameters
    ----------
    log_p, log_q : callable
        Vectorised; finite inside the interval. Equal callables compare equal.
    start, end : float
        The interval, finite; what P has outside is counted at infinite loss.
    breaks : sequence of float
        Points inside where a density or its slope jumps.
    tolerance : float
        Stated relative error of the integrals, in [1e-15, 1e-3].

    Raises
    ------
    TypeError, ValueError
        If the values are of another type, the interval is empty, a density is not finite inside,
        has an integral above 1, or if the integrals at orders 8 and 12 differ by more than
        ``tolerance``.

    Notes
    -----
    The interval is divided into 4,096 panels, broken at the turning points of the loss found among
    the panels' ends. Assumed, and not provable from values: the densities are smooth between the
    breaks on the scale of a panel, and the loss has no further turning point. Bounds are then
    certified given the densities as computed and ``tolerance``.

    Examples
    --------
    >>> import numpy as np
    >>> def log_p(x): return -0.5 * (x - 1.0) ** 2 - 0.5 * np.log(2.0 * np.pi)
    >>> def log_q(x): return -0.5 * x**2 - 0.5 * np.log(2.0 * np.pi)
    >>> pair = Density(log_p, log_q, -12.0, 13.0)
    >>> abs(pair.loss_range(0.0)[1] - 12.5) < 1e-12
    True
    """

    log_p: LogDensity
    log_q: LogDensity
    start: float
    end: float
    breaks: tuple[float, ...] = ()
    tolerance: float = 1e-12
    _pieces: tuple[tuple[float, float], ...] = field(init=False, compare=False, repr=False)
    _missing: tuple[float, float] = field(init=False, compare=False, repr=False)
    _range: tuple[float, float] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("log_p", "log_q"):
            if not callable(getattr(self, name)):
                raise TypeError(f"{name} must be callable, got {getattr(self, name)!r}")
        ends = [real_of(getattr(self, n), n, "a finite number") for n in ("start", "end")]
        if not (math.isfinite(ends[0]) and math.isfinite(ends[1]) and ends[0] < ends[1]):
            raise ValueError(f"end must be a finite number above start, got {ends[1]!r}")
        tolerance = real_of(self.tolerance, "tolerance", "a number in [1e-15, 1e-3]")
        if not 1e-15 <= tolerance <= 1e-3:
            raise ValueError(f"tolerance must be a number in [1e-15, 1e-3], got {tolerance!r}")
        inner = sorted(real_of(b, "breaks", "numbers inside the interval") for b in self.breaks)
        if inner and not ends[0] < inner[0] <= inner[-1] < ends[1]:
            raise ValueError(f"breaks must be numbers inside the interval, got {self.breaks!r}")
        fixed = {"start": ends[0], "end": ends[1], "breaks": tuple(inner)}
        for name, value in fixed.items():
            object.__setattr__(self, name, value)
        grid = np.union1d(np.linspace(ends[0], ends[1], _PANELS + 1), inner)
        losses = self._loss(grid)
        if not np.all(np.isfinite(losses)):
            raise ValueError("log_p and log_q must be finite on the interval, got another value")
        pieces = self._monotone_pieces(grid, losses)
        object.__setattr__(self, "_pieces", pieces)
        extremes = np.append(losses, self._loss(np.array(pieces).ravel()))
        object.__setattr__(self, "_range", (float(extremes.min()), float(extremes.max())))
        object.__setattr__(self, "_missing", self._check_integrals(grid))

    @property
    def infinite_mass(self) -> float:
        return self._missing[0]

    @property
    def null_mass(self) -> float:
        return self._missing[1]

    @property
    def support(self) -> tuple[float, float]:
        return self._range

    def loss_range(self, tail: float) -> tuple[float, float]:
        return self._range

    def other_range(self, tail: float) -> tuple[float, float]:
        return self._range

    def cells(self, edges: Array) -> Cells:
        total: Cells | None = None
        for start, end in self._pieces:
            found = self._piece(edges, start, end)
            if total is None:
                total = found
            else:
                total = Cells(
                    total.p + found.p,
                    total.q + found.q,
                    total.up + found.up,
                    total.low + found.low,
                    found.error,
                    found.error_q,
                    np.maximum(total.slip, found.slip),
                )
        assert total is not None
        return total

    def _piece(self, edges: Array, start: float, end: float) -> Cells:
        first, last = self._loss(np.array([start, end]))
        rising = last > first
        low, high = (start, end) if rising else (end, start)
        bounds = self._loss(np.array([low, high]))
        inside = np.clip(edges, bounds[0], bounds[1])
        left, right = np.full(edges.size, low), np.full(edges.size, high)
        for _ in range(60):  # bisection: nothing is known of the slope
            middle = 0.5 * (left + right)
            above = self._loss(middle) > inside
            left, right = np.where(above, left, middle), np.where(above, middle, right)
        x = np.where(edges <= bounds[0], low, np.where(edges >= bounds[1], high, right))
        at_x = self._loss(x)
        slip = np.where(inside == edges, np.abs(at_x - edges), 0.0)
        slip += 8.0 * ROUNDING * (np.abs(at_x) + np.abs(self.log_p(x)))

        def integrand(
            y: Array, from_lower: Array, to_upper: Array
        ) -> tuple[Array, Array, Array, Array]:
            p, q, here = np.exp(self.log_p(y)), np.exp(self.log_q(y)), self._loss(y)
            below, above = self._loss(y - from_lower), self._loss(y + to_upper)
            up = p * np.maximum(-np.expm1(below - here), 0.0)
            return p, q, up, p * np.maximum(np.expm1(above - here), 0.0)

        rates = np.full(edges.size - 1, 0.5 * _PANELS / (self.end - self.start))
        losses = np.where(inside == edges, edges, at_x)
        found = integrate_cells(edges, x, losses, rates, integrand, _ORDER)
        error = np.full(edges.size - 1, self.tolerance + 16.0 * ROUNDING)
        return Cells(found.p, found.q, found.up, found.low, error, error, slip)

    def _loss(self, x: Array) -> Array:
        return np.asarray(self.log_p(x) - self.log_q(x), dtype=np.float64)

    def _monotone_pieces(self, grid: Array, losses: Array) -> tuple[tuple[float, float], ...]:
        signs = np.sign(np.diff(losses))
        turns = [self.start, *self.breaks]
        known = np.flatnonzero(signs)
        for i, j in itertools.pairwise(known):
            if signs[i] != signs[j]:
                turns.append(self._turn(float(grid[i]), float(grid[j + 1]), float(signs[i])))
        ends = [*sorted(set(turns)), self.end]
        return tuple(itertools.pairwise(ends))

    def _turn(self, low: float, high: float, sign: float) -> float:
        """Find the extremum of the loss between two points by golden section."""
        ratio = 0.5 * (math.sqrt(5.0) - 1.0)
        for _ in range(80):
            a, b = high - ratio * (high - low), low + ratio * (high - low)
            values = sign * self._loss(np.array([a, b]))
            if values[0] < values[1]:
                low = a
            else:
                high = b
        return 0.5 * (low + high)

    def _check_integrals(self, grid: Array) -> tuple[float, float]:
        missing = []
        for name in ("log_p", "log_q"):
            totals = []
            for order in (_ORDER, 12):
                nodes, weights = gauss_legendre(order)
                x = grid[:-1, None] + np.diff(grid)[:, None] * nodes
                values = np.exp(np.asarray(getattr(self, name)(x.ravel()))).reshape(x.shape)
                totals.append(float((np.diff(grid)[:, None] * weights * values).sum()))
            if not abs(totals[0] - totals[1]) <= self.tolerance * totals[1]:
                raise ValueError(
                    f"{name} must be smooth on the scale of (end - start)/{_PANELS} between the "
                    f"breaks, got integrals {totals[0]!r} and {totals[1]!r} at two orders"
                )
            if totals[1] > 1.0 + 2.0 * self.tolerance:
                raise ValueError(f"{name} must be of integral at most 1, got {totals[1]!r}")
            lost = 1.0 - totals[1]
            missing.append(lost if lost > 2.0 * self.tolerance else 0.0)
        return missing[0], missing[1]
