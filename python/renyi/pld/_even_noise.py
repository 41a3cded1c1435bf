"""Noise of an even density over a query moved by 1: P around 1/2, Q around -1/2.

Subclasses give the density but for its constant, the loss, and where they are analytic; the rest is
common: places where the loss takes given values, found by Newton's method between the ends of
panels, and integrals over what lies between (``_panels``). The constant is one of them.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from functools import lru_cache

import numpy as np

from renyi.pld._cells import ROUNDING, Array, Cells, Indices
from renyi.pld._distribution import PrivacyLossDistribution
from renyi.pld._gaussian import STEEPEST
from renyi.pld._panels import NARROW, ORDER, ORDER_NARROW, Panels, panels_of
from renyi.pld._quadrature import gauss_legendre

__all__ = ["EvenNoise"]


class EvenNoise(PrivacyLossDistribution):
    """The pair of an even density, its own reverse; subclasses are frozen dataclasses."""

    __slots__ = ()

    @property
    def symmetric(self) -> bool:
        return True

    @property
    @abstractmethod
    def _reach(self) -> float:
        """Distance from the middle beyond which there is no mass to speak of."""

    @property
    @abstractmethod
    def _loss_error(self) -> float:
        """Bound on the relative error of ``_loss``."""

    @property
    def _turns(self) -> tuple[float, ...]:
        """Places v > 0, increasing, where the loss turns."""
        return ()

    @property
    def _core(self) -> tuple[float, float]:
        """Half-width around a centre where the density varies by no more than the second."""
        return 0.0, 0.0

    @abstractmethod
    def _log_kernel(self, x: Array) -> Array:
        """Return the log of the density over that at the centre."""

    @abstractmethod
    def _loss(self, v: Array) -> Array:
        """Return the loss at v, odd in v."""

    @abstractmethod
    def _slope(self, v: Array) -> Array:
        """Return about its derivative."""

    @abstractmethod
    def _clear(self, x: float) -> float:
        """Return how far x is from the singularities of the density in the plane."""

    @abstractmethod
    def _steep(self, x: float, r: float) -> float:
        """Return a bound on the derivative of the log density within r of x in the plane."""

    def cells(self, edges: Array) -> Cells:
        panels = _panels(self)
        turns = [*(-v for v in reversed(self._turns)), *self._turns]
        inner = np.searchsorted(panels.ends, turns).tolist()
        ends = [0, *inner, panels.ends.size - 1]
        masses, slip = np.zeros((8, edges.size - 1)), np.zeros(edges.size)
        for first, last in itertools.pairwise(ends):
            found, missed = self._piece(panels, edges, first, last)
            masses += found
            slip = np.maximum(slip, missed)
        p, q, up, low = masses[:4]
        errors = np.divide(masses[4:], masses[:4], out=np.zeros((4, p.size)), where=masses[:4] > 0)
        return Cells(p, q, up, low, errors[[0, 2, 3]].max(axis=0), errors[1], slip)

    def _piece(self, panels: Panels, edges: Array, first: int, last: int) -> tuple[Array, Array]:
        """Return p, q, up, low and their errors as masses, where the loss is monotone."""
        places, slip = self._invert(panels.ends[first : last + 1], edges)
        rising = places[-1] >= places[0]
        inside = panels.ends[first : last + 1]
        cuts = np.unique(np.concatenate((places, inside)))
        middles = 0.5 * (cuts[:-1] + cuts[1:])
        panel = np.searchsorted(panels.ends, middles) - 1
        if rising:
            cell = np.searchsorted(places, middles) - 1
        else:
            cell = edges.size - 1 - np.searchsorted(places[::-1], middles)
        masses = np.zeros((8, edges.size - 1))
        kept = (cell >= 0) & (cell < edges.size - 1)
        cuts_low, spans = cuts[:-1][kept], np.diff(cuts)[kept]
        panel, cell = panel[kept], cell[kept]
        narrow = spans <= NARROW * np.diff(panels.ends)[panel]
        for group, order in ((narrow, ORDER_NARROW), (~narrow, ORDER)):
            at = cell[group]
            found = self._integrals(
                panels, panel[group], cuts_low[group], spans[group], edges, at, order
            )
            for row, values in enumerate(found):
                masses[row] += np.bincount(at, values, edges.size - 1)
        # Panels of one cell are added one by one.
        several = ROUNDING * np.bincount(cell, minlength=edges.size - 1)
        masses[4:] += several * masses[:4]
        return masses, slip

    def _integrals(
        self,
        panels: Panels,
        panel: Indices,
        start: Array,
        spans: Array,
        edges: Array,
        cell: Indices,
        order: int,
    ) -> Array:
        """Integrate over intervals, each inside one panel and one cell."""
        below, above = edges[cell], edges[cell + 1]
        total, deepest = np.zeros((4, start.size)), np.zeros(start.size)
        for node, weight in zip(*gauss_legendre(order), strict=True):
            v = start + node * spans
            loss, log_large = self._loss(v), self._log_kernel(np.abs(v) - 0.5)
            large = np.exp(log_large - panels.log_total) * (weight * spans)
            small = large * np.exp(-np.abs(loss))
            p, q = np.where(v >= 0.0, large, small), np.where(v >= 0.0, small, large)
            total[0] += p
            total[1] += q
            total[2] += p * np.maximum(-np.expm1(below - loss), 0.0)
            total[3] += p * np.maximum(np.expm1(np.minimum(above - loss, STEEPEST)), 0.0)
            deepest = np.maximum(deepest, np.abs(log_large) + np.abs(loss))
        moved = panels.steep[panel] * np.maximum(np.abs(start), np.abs(start + spans))
        loose = panels.loose[panel]
        error = panels.total_error + loose + ROUNDING * (32.0 + 8.0 * deepest + 4.0 * moved)
        errors = total * error
        # Where a density is taken as constant, so is the loss.
        errors[2] += loose * total[0]
        errors[3] += loose * (total[0] + total[3])
        return np.concatenate((total, errors))

    def _invert(self, ends: Array, edges: Array) -> tuple[Array, Array]:
        """Return where the loss takes the values ``edges``, and how far it is from them there.

        Edges beyond the losses of the piece are put at its ends.
        """
        losses = self._loss(ends)
        order = slice(None) if losses[-1] >= losses[0] else slice(None, None, -1)
        ends, losses = ends[order], np.maximum.accumulate(losses[order])
        index = np.clip(np.searchsorted(losses, edges), 1, ends.size - 1)
        places = np.where(edges <= losses[0], ends[0], ends[-1])
        inner = np.flatnonzero((edges > losses[0]) & (edges < losses[-1]))
        low, high = ends[index[inner] - 1], ends[index[inner]]
        places[inner] = self._solved(edges[inner], low, high)
        missed = np.zeros(edges.size)
        missed[inner] = np.abs(self._loss(places[inner]) - edges[inner])
        size = np.where(np.isfinite(edges), np.abs(edges), 0.0)
        return places, missed + 2.0 * self._loss_error * size + 4.0 * ROUNDING * (size > 0.0)

    def _solved(self, targets: Array, low: Array, high: Array) -> Array:
        """Return places between ``low``, of less loss, and ``high`` by Newton's method."""
        found, active = 0.5 * (low + high), np.arange(targets.size)
        low, high = low.copy(), high.copy()
        for _ in range(70):
            x = found[active]
            excess = self._loss(x) - targets[active]
            above = excess > 0.0
            high[active] = np.where(above, x, high[active])
            low[active] = np.where(above, low[active], x)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = x - excess / self._slope(x)
            a, b = low[active], high[active]
            between = (step - a) * (step - b) < 0.0
            found[active] = np.where(between, step, 0.5 * (a + b))
            close = np.abs(excess) <= 2.0 * ROUNDING * np.abs(targets[active])
            close |= np.abs(b - a) <= 2.0 * ROUNDING * np.abs(x)
            found[active] = np.where(close, x, found[active])
            active = active[~close]
            if not active.size:
                break
        return found


@lru_cache(maxsize=64)
def _panels(noise: EvenNoise) -> Panels:
    return panels_of(
        noise._log_kernel, noise._clear, noise._steep, noise._turns, noise._reach, noise._core
    )
