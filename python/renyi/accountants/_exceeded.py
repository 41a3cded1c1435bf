"""About how often a loss exceeds epsilon, read off a privacy curve: where to ask it next.

Nothing here is certified, and nothing that is answered depends on it but by how good it is.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from renyi.accountants._deviates import deviates, normal_density, upper_tail
from renyi.accountants._lines import LARGEST_EPSILON, Lines

__all__ = ["Exceeded"]

Array = npt.NDArray[np.float64]

SMOOTH = 1e-3  # in units of mu: differences at which rounding does not show
SATURATED = 2.0**-44  # deltas as near to 1 have lost their digits


class Exceeded:
    """About which loss is exceeded with which probability: deviates of the lines."""

    def __init__(self, lines: Lines) -> None:
        known = np.flatnonzero(lines.lost < 1.0 - SATURATED)
        if not known.size:
            known = np.arange(lines.epsilon.size)
        epsilon = lines.epsilon[known]
        mu = lines.mu[known]
        # f may have a kink where epsilon is 0: each side has its own slopes there.
        zero = int(np.searchsorted(epsilon, 0.0))
        whole = zero == epsilon.size or epsilon[zero] != 0.0
        parts = [slice(None)] if whole else [slice(0, zero + 1), slice(zero, None)]
        self._sides = [_Side(epsilon[part], mu[part]) for part in parts]
        self._epsilon, self._mu = epsilon, mu
        self.z_of_line = np.full(lines.epsilon.size, math.inf)
        for part, side in zip(parts, self._sides, strict=True):
            self.z_of_line[known[part]] = side.z

    def mu_at(self, epsilon: Array) -> Array:
        """Return about mu."""
        return np.asarray(np.interp(epsilon, self._epsilon, self._mu))

    def epsilons(self, z: Array) -> Array:
        """Return about the epsilons that support f at alphas with these deviates."""
        found = [side.epsilons(z) for side in self._sides]
        if len(found) == 1:
            return np.asarray(found[0])
        return np.asarray(np.where(found[0] < 0.0, found[0], np.maximum(found[1], 0.0)))


class _Side:
    """Epsilons in ascending order and, rising with them, z with Phi(-z) = P(loss > epsilon).

    That probability is -e^-epsilon d delta/d epsilon, with delta that of N(mu(epsilon), 1) against
    N(0, 1): Phi(-w) - phi(w) mu', w = epsilon/mu + mu/2.
    """

    def __init__(self, epsilon: Array, mu: Array) -> None:
        self._epsilon, self._ends = epsilon, (mu[0], mu[-1])
        self._kept = _apart(epsilon, mu)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            w = np.clip(epsilon / mu + 0.5 * mu, -38.0, 38.0)
            sign = np.copysign(1.0, w)
            moved = sign * normal_density(w) * _slope(epsilon, mu, self._kept)
            tail = upper_tail(np.abs(w)) - np.where(np.isfinite(moved), moved, 0.0)
        possible = (tail > 0.0) & (tail < 1.0)
        tail = np.where(possible, tail, 0.5)
        z = np.where(possible, sign * deviates(tail, 1.0 - tail), w)
        self.z = np.maximum.accumulate(z)

    def epsilons(self, z: Array) -> Array:
        """Interpolate by cubics within the neighbouring epsilons; straight on beyond the last."""
        x, y = self.z[self._kept], self._epsilon[self._kept]
        rises = np.concatenate([[True], np.diff(x) > 0.0])
        x, y = x[rises], y[rises]
        below = y[0] + self._ends[0] * np.minimum(z - x[0], 0.0)
        beyond = self._ends[1] * np.maximum(z - x[-1], 0.0)
        inside = _hermite(z, x, y) if x.size > 1 else y[0]
        found = np.where(z < x[0], below, inside + beyond)
        return np.asarray(np.clip(found, -LARGEST_EPSILON, LARGEST_EPSILON))


def _apart(epsilon: Array, mu: Array) -> npt.NDArray[np.intp]:
    """Return some of the epsilons, at distances at which rounding does not show."""
    kept = [0]
    for i, (e, least) in enumerate(zip(epsilon.tolist(), (SMOOTH * mu).tolist(), strict=True)):
        if e - epsilon[kept[-1]] > least:
            kept.append(i)
    return np.array(kept)


def _slope(epsilon: Array, mu: Array, kept: npt.NDArray[np.intp]) -> Array:
    """Return d mu/d epsilon."""
    if len(kept) == 1:
        return np.zeros(epsilon.shape)
    x = epsilon[kept]
    return np.asarray(np.interp(epsilon, x, np.gradient(mu[kept], x)))


def _hermite(at: Array, x: Array, y: Array) -> Array:
    """Interpolate rising values by cubics, within the neighbouring ones."""
    i = np.clip(np.searchsorted(x, at) - 1, 0, x.size - 2)
    slope = np.gradient(y, x)
    width = x[i + 1] - x[i]
    t = np.clip((at - x[i]) / width, 0.0, 1.0)
    u = 1.0 - t
    value = (
        y[i] * u * u * (1.0 + 2.0 * t)
        + y[i + 1] * t * t * (1.0 + 2.0 * u)
        + width * t * u * (slope[i] * u - slope[i + 1] * t)
    )
    return np.clip(value, y[i], y[i + 1])
