"""Beta distributions.

With g of ``_log_gamma``, s = x + y and the share x/s,

    KL(1 || 2) = B_g(x_1, .) + B_g(y_1, .) - B_g(s_1, .) + s_2 KL(x_2/s_2 || x_1/s_1),

the last of two points. The difference of the first three is small beside the last where it
cancels. The normalised p^a q^(1-a) has the parameters a x_p + (1-a) x_q and likewise y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from renyi.theory.divergences._base import Distribution, by_order, positive_of, sure
from renyi.theory.divergences._log_gamma import gamma_excess
from renyi.theory.divergences._stable import Array, entropy_excess, weighted

__all__ = ["BetaDistribution"]


@dataclass(frozen=True, slots=True)
class BetaDistribution(Distribution):
    """Density x^(a-1) (1-x)^(b-1) / B(a, b) on [0, 1].

    Finite if alpha a_p + (1-alpha) a_q and alpha b_p + (1-alpha) b_q are positive.

    Parameters
    ----------
    a, b : float
        In [1e-100, 1e100].
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            object.__setattr__(self, name, positive_of(getattr(self, name), name))

    def _divergence(self, other: BetaDistribution, alpha: Array) -> Array:
        dx, dy = self.a - other.a, self.b - other.b
        # x_p y_q - x_q y_p, the determinant that the two-point divergences need.
        turn = dx * other.b - other.a * dy

        def above(order: Array) -> Array:
            def finite(order: Array) -> Array:
                beta = order - 1.0
                px, py = np.asarray(self.a), np.asarray(self.b)
                plain = _kl(px, py, np.asarray(-dx), np.asarray(-dy), np.asarray(-turn))
                tilted = _kl(px, py, beta * dx, beta * dy, beta * turn)
                return plain + np.divide(tilted, beta, out=np.zeros_like(order), where=beta > 0.0)

            x, y = weighted(order, self.a, other.a), weighted(order, self.b, other.b)
            return sure((x > 0.0) & (y > 0.0), order, finite)

        def below(order: Array) -> Array:
            x, y = weighted(order, self.a, other.a), weighted(order, self.b, other.b)
            rest = 1.0 - order
            # The determinants of M with p and q: x_p y_m - x_m y_p = -rest turn, and so on.
            to_p = _kl(x, y, rest * dx, rest * dy, rest * turn)
            to_q = _kl(x, y, -order * dx, -order * dy, -order * turn)
            return to_q + to_p * (order / rest)

        return by_order(alpha, above, below)


def _kl(x: Array, y: Array, dx: Array, dy: Array, turn: Array) -> Array:
    """Return KL(Beta(x, y) || Beta(x + dx, y + dy)), ``turn`` being dx y - x dy."""
    s, ds = x + y, dx + dy
    curved = gamma_excess(x, dx) + gamma_excess(y, dy) - gamma_excess(s, ds)
    end = s + ds
    shares = x / s * entropy_excess(turn / (x * end)) + y / s * entropy_excess(-turn / (y * end))
    return curved + end * shares
