"""Gaussian noise around a random mean: mixtures of normal distributions against a normal one.

Q's and P's components have unit variance; distances are in units of sigma.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from renyi._validation import real_of
from renyi.pld._cells import ROUNDING, Array, Cells
from renyi.pld._distribution import PrivacyLossDistribution
from renyi.pld._gaussian import REACH, SCALE, STEEPEST, positive_of, reach_of
from renyi.pld._quadrature import Densities, integrate_cells

__all__ = ["GaussianMixture"]


@dataclass(frozen=True, slots=True)
class GaussianMixture(PrivacyLossDistribution):
    """(sum_j w_j N(m_j, sigma^2), N(0, sigma^2)): a group, or a user, sampled in part.

    Parameters
    ----------
    weights : sequence of float
        Positive, of sum 1.
    means : sequence of float
        Of any signs; with both signs the loss falls and then rises.
    sigma : float
        Standard deviation, default 1.

    Notes
    -----
    The Poisson-sampled Gaussian is the case of weights (1-q, q) and means (0, 1).

    Examples
    --------
    >>> GaussianMixture((0.81, 0.18, 0.01), (0.0, 1.0, 2.0), 2.0).sigma
    2.0
    """

    weights: Sequence[float]
    means: Sequence[float]
    sigma: float = 1.0

    def __post_init__(self) -> None:
        weights = tuple(_numbers(self.weights, "weights"))
        means = tuple(_numbers(self.means, "means"))
        sigma = positive_of(self.sigma, "sigma", 1e300)
        if len(weights) != len(means) or not weights:
            raise ValueError(
                f"means must be as many as weights and at least one, got {len(means)} "
                f"for {len(weights)} weights"
            )
        if min(weights) <= 0.0 or abs(math.fsum(weights) - 1.0) > 1e-12:
            raise ValueError(f"weights must be positive numbers of sum 1, got {self.weights!r}")
        if not any(means) or max(map(abs, means)) > 1e6 * sigma:
            raise ValueError(f"means must be within 1e6 sigma and not all 0, got {self.means!r}")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "sigma", sigma)

    @property
    def support(self) -> tuple[float, float]:
        if min(self.means) < 0.0 < max(self.means):
            return -math.inf, math.inf
        kept = math.fsum(w for w, m in zip(self.weights, self.means, strict=True) if m == 0.0)
        return (math.log(kept) if kept else -math.inf), math.inf

    def loss_range(self, tail: float) -> tuple[float, float]:
        return self._span(tail, [0.0, *self._shifts()])

    def other_range(self, tail: float) -> tuple[float, float]:
        return self._span(tail, [0.0])

    def cells(self, edges: Array) -> Cells:
        shifts = self._shifts()
        bounds = [min(0.0, shifts.min()) - REACH, max(0.0, shifts.max()) + REACH]
        turn = self._turn()
        if turn is None:
            return self._monotone(edges, bounds[0], bounds[1])
        left = self._monotone(edges, bounds[0], turn)
        right = self._monotone(edges, turn, bounds[1])
        return Cells(
            left.p + right.p,
            left.q + right.q,
            left.up + right.up,
            left.low + right.low,
            np.maximum(left.error, right.error),
            np.maximum(left.error_q, right.error_q),
            np.maximum(left.slip, right.slip),
        )

    def _monotone(self, edges: Array, start: float, end: float) -> Cells:
        weights, shifts = self.weights, self._shifts()
        positions, losses, missed = _invert(self._loss, self._slope, edges, start, end)
        far = np.maximum(np.abs(positions[:-1]), np.abs(positions[1:])) + np.abs(shifts).max()

        def integrand(x: Array, lower: Array, upper: Array) -> Densities:
            p, up, low = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
            for weight, shift in zip(weights, shifts, strict=True):
                density = weight * SCALE * np.exp(-0.5 * np.square(x - shift))
                p += density
                if shift:
                    up -= density * np.expm1(-shift * lower)
                    low += density * np.expm1(np.minimum(shift * upper, STEEPEST))
            return p, SCALE * np.exp(-0.5 * x * x), up, low

        found = integrate_cells(
            edges, positions, losses, far + 2.0 * np.abs(shifts).max(), integrand
        )
        error = found.error + 4.0 * ROUNDING * far**2
        spread = np.abs(losses) + np.abs(self._slope(positions)) * (1.0 + np.abs(positions))
        # With means of both signs up and low are sums of both signs: their rounding moves losses.
        mixed = 8.0 * ROUNDING if shifts.min() < 0.0 < shifts.max() else 0.0
        slip = 16.0 * ROUNDING * spread + mixed + missed
        return Cells(found.p, found.q, found.up, found.low, error, error, slip)

    def _shifts(self) -> Array:
        return np.asarray(self.means) / self.sigma

    def _loss(self, x: Array) -> Array:
        shifts = self._shifts()[:, None]
        exponents = shifts * (x - 0.5 * shifts)
        top = exponents.max(axis=0)
        weights = np.asarray(self.weights)[:, None]
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            small = np.log1p((weights * np.expm1(np.minimum(exponents, 1.0))).sum(axis=0))
            large = top + np.log((weights * np.exp(exponents - top)).sum(axis=0))
        return np.asarray(np.where(np.abs(top) < 0.5, small, large))

    def _slope(self, x: Array) -> Array:
        shifts = self._shifts()[:, None]
        exponents = shifts * (x - 0.5 * shifts)
        shares = np.asarray(self.weights)[:, None] * np.exp(exponents - exponents.max(axis=0))
        return np.asarray((shifts * shares).sum(axis=0) / shares.sum(axis=0))

    def _turn(self) -> float | None:
        shifts = self._shifts()
        if shifts.min() >= 0.0 or shifts.max() <= 0.0:
            return None
        low, high = shifts.min() - REACH, shifts.max() + REACH
        for _ in range(200):
            middle = 0.5 * (low + high)
            if float(self._slope(np.array([middle]))[0]) < 0.0:
                low = middle
            else:
                high = middle
        return float(0.5 * (low + high))

    def _span(self, tail: float, centres: Sequence[float]) -> tuple[float, float]:
        reach = reach_of(tail)
        ends = [min(centres) - reach, max(centres) + reach]
        turn = self._turn()
        if turn is not None:
            ends.append(min(max(turn, ends[0]), ends[1]))
        values = self._loss(np.array(ends))
        return float(values.min()), float(values.max())


def _invert(
    loss: Callable[[Array], Array],
    slope: Callable[[Array], Array],
    edges: Array,
    start: float,
    end: float,
) -> tuple[Array, Array, Array]:
    """Find where a monotone ``loss`` on [start, end] takes the values ``edges``, by Newton.

    Returns the places, the losses there (``edges`` where not clipped), and what was missed.
    """
    table = np.linspace(start, end, 4097)
    values = loss(table)
    rising = values[-1] > values[0]
    order = slice(None) if rising else slice(None, None, -1)
    sorted_values = np.maximum.accumulate(values[order])
    inside = np.clip(edges, sorted_values[0], sorted_values[-1])
    index = np.clip(np.searchsorted(sorted_values, inside), 1, table.size - 1)
    low, high = table[order][index - 1], table[order][index]
    x = np.interp(inside, sorted_values, table[order])
    for _ in range(12):
        residual, steep = loss(x) - inside, slope(x)
        above = residual > 0.0
        high, low = np.where(above, x, high), np.where(above, low, x)
        room = np.abs(steep) * (1.0 + np.abs(x)) + np.abs(inside)
        if np.all(np.abs(residual) <= 4.0 * ROUNDING * room):
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            step = x - residual / steep
        x = np.where((step - low) * (step - high) <= 0.0, step, 0.5 * (low + high))
    clipped = inside != edges
    x = np.where(edges < inside, table[order][0], np.where(edges > inside, table[order][-1], x))
    reached = loss(x)
    missed = np.where(clipped, 0.0, np.abs(reached - inside))
    return x, np.where(clipped, reached, edges), missed


def _numbers(values: object, name: str) -> list[float]:
    allowed = "a sequence of finite numbers"
    try:
        items = list(values)  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(f"{name} must be {allowed}, got {values!r}") from None
    numbers = [real_of(item, name, allowed) for item in items]
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name} must be {allowed}, got {values!r}")
    return numbers
