"""Lines below a trade-off function: 1 - delta(epsilon) - e^epsilon alpha, epsilon of either sign.

Below 0 delta comes from the other direction, and the line is e^epsilon (1 - alpha - delta): nothing
cancels where alpha is near 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from renyi import special

__all__ = ["LARGEST_EPSILON", "Lines", "line_at"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Curve = Callable[[Array], Array]

LARGEST_EPSILON = 700.0
ROUNDING = 8.0 * 2.0**-53
CLOSEST = 1e-12  # epsilons closer than this, relatively, are one


class Lines:
    """Lines in ascending order of epsilon.

    Attributes
    ----------
    epsilon : array
        Of either sign.
    lost : array
        delta, rounded up: of the tested direction, below 0 of the other one.
    mu : array
        About the mu of Gaussian noise with that delta.
    """

    def __init__(self, tested: Curve, other: Curve) -> None:
        self._tested, self._other = tested, other
        self.epsilon = np.empty(0)
        self.lost = np.empty(0)
        self.mu = np.empty(0)

    @property
    def zero(self) -> int:
        """Index of the line at 0."""
        return int(np.searchsorted(self.epsilon, 0.0))

    def add(self, epsilon: Array) -> bool:
        """Ask for more lines; return whether there were any that are not there already."""
        new = np.unique(np.clip(epsilon, -LARGEST_EPSILON, LARGEST_EPSILON))
        if self.epsilon.size:
            new = new[self.distance(new) > CLOSEST * (1e-3 + np.abs(new))]
        if not new.size:
            return False
        epsilons = np.concatenate([self.epsilon, new])
        asked = self.lost_at(new)
        lost, mu = np.concatenate([self.lost, asked]), np.concatenate([self.mu, _mu_of(new, asked)])
        order = np.argsort(epsilons, kind="stable")
        self.epsilon, self.lost, self.mu = epsilons[order], lost[order], mu[order]
        return True

    def lost_at(self, epsilon: Array) -> Array:
        """Return deltas, rounded up, as in `lost`; nothing is kept."""
        lost = np.empty(epsilon.shape)
        below = epsilon < 0.0
        for part, curve, sign in ((below, self._other, -1.0), (~below, self._tested, 1.0)):
            if part.any():
                lost[part] = curve(sign * epsilon[part])
        return lost

    def at_zero(self) -> float:
        """Return f(0), rounded down: outcomes of infinite loss alone tell."""
        infinite = float(self._tested(np.array([math.inf]))[0])
        return (1.0 - infinite) * (1.0 - ROUNDING) if infinite else 1.0

    def best(self, alpha: Array) -> tuple[Array, Indices]:
        """Return the highest line at every alpha, rounded down, and which it is."""
        values = line_at(self.epsilon, self.lost, alpha[:, np.newaxis])
        index = values.argmax(axis=1)
        return np.take_along_axis(values, index[:, np.newaxis], axis=1)[:, 0], index

    def values(self, index: Indices, alpha: Array) -> Array:
        """Return these lines at alphas, rounded down."""
        return line_at(self.epsilon[index], self.lost[index], alpha)

    def asked(self, epsilon: Array, group: Indices, alpha: Array) -> Array:
        """Return lines at alphas, of epsilons for groups of them, that are not kept."""
        lost = self.lost_at(epsilon)
        return line_at(epsilon[group], lost[group], alpha)

    def between(self) -> tuple[Array, Array]:
        """Return the points between neighbouring lines that no curve through them is below.

        Curves fall and are convex in e^epsilon, with slopes in [-1, 0]: chords on either side,
        extended, meet at (epsilon, delta); a line at it is above f. Where they do not, epsilon is
        NaN.
        """
        e, d = self.epsilon, self.lost
        left, last = np.arange(e.size - 1), e.size - 1
        sign = np.where(e[left] >= 0.0, 1.0, -1.0)
        nodes = [np.clip(left + k, 0, last) for k in (-1, 0, 1, 2)]
        with np.errstate(all="ignore"):
            x = [np.expm1(sign * (e[i] - e[left])) for i in nodes]
            y = [_of_one_side(sign * e[i], d[i]) for i in nodes]
            before, after = (y[1] - y[0]) / (x[1] - x[0]), (y[3] - y[2]) / (x[3] - x[2])
            steepest = -np.exp(np.abs(e[left]))
            before[:1] = np.where(sign[:1] > 0.0, steepest[:1], 0.0)
            after[-1:] = np.where(sign[-1:] > 0.0, 0.0, steepest[-1:])
            meet = (y[2] - y[1] - after * x[2]) / (before - after)
            epsilon = e[left] + sign * np.log1p(meet)
            lost = np.maximum(y[1] + before * meet, 0.0)
        inside = (epsilon > e[left]) & (epsilon < e[left + 1])
        return np.where(inside, epsilon, math.nan), lost

    def distance(self, epsilon: Array) -> Array:
        """Return how far the nearest line is."""
        right = np.clip(np.searchsorted(self.epsilon, epsilon), 1, self.epsilon.size - 1)
        left = np.maximum(right - 1, 0)
        return np.minimum(
            np.abs(epsilon - self.epsilon[right]), np.abs(epsilon - self.epsilon[left])
        )


def _mu_of(epsilon: Array, lost: Array) -> Array:
    mu = special.gaussian_mu(np.abs(epsilon), np.minimum(lost, 1.0 - 2.0**-53))
    return np.asarray(np.clip(mu, 1e-300, 1e3))


def _of_one_side(epsilon: Array, lost: Array) -> Array:
    """Return deltas of one direction, those of the other one converted where epsilon < 0."""
    return np.where(epsilon < 0.0, lost * np.exp(epsilon) - np.expm1(epsilon), lost)


def line_at(epsilon: Array, lost: Array, alpha: Array) -> Array:
    """Return lines at alphas, rounded down."""
    room = ROUNDING * (1.0 + np.abs(epsilon))
    with np.errstate(over="ignore"):
        size = np.exp(epsilon)
        above = (1.0 - lost) * (1.0 - ROUNDING) - size * alpha * (1.0 + room)
    left = (1.0 - alpha) * np.where(alpha < 0.5, 1.0 - ROUNDING, 1.0) - lost
    below = size * left * (1.0 - room)
    return np.where(epsilon < 0.0, below, above)
