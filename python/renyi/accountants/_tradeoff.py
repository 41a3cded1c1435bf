"""The trade-off function of an accountant, from its privacy curves by convex conjugation.

With delta_1 the curve of the tested direction and delta_2 that of the other one, the least type II
error at type I error alpha is (Dong, Roth, Su 2022, Proposition 2.13)

    f(alpha) = sup over epsilon >= 0 of max(1 - delta_1(epsilon) - e^epsilon alpha,
                                            e^-epsilon (1 - delta_2(epsilon) - alpha)),

the second from delta_1(-epsilon) = 1 - e^-epsilon + e^-epsilon delta_2(epsilon). Both are concave,
the first in e^epsilon, the second in e^-epsilon. Any epsilon gives a lower bound of f, so that the
search need not be exact and deltas rounded up give betas rounded down.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["beta_from_curves"]

Array = npt.NDArray[np.float64]
Curve = Callable[[Array], Array]

GOLDEN = 0.5 * (5.0**0.5 - 1.0)
TURNS = 36  # of golden sections: the bracket shrinks by 3e-8, the error by its square
ROUNDING = 8.0 * 2.0**-53
LARGEST_EPSILON = 700.0


def beta_from_curves(alpha: Array, tested: Curve, other: Curve, largest: float) -> Array:
    """Return f at every alpha, rounded down; epsilon is sought in [0, largest]."""
    largest = min(largest, LARGEST_EPSILON)

    def missed(epsilon: Array) -> Array:
        lost = (1.0 - tested(epsilon)) * (1.0 - ROUNDING)
        return np.asarray(lost - np.exp(epsilon) * alpha * (1.0 + ROUNDING * (1.0 + epsilon)))

    def accepted(epsilon: Array) -> Array:
        kept = (1.0 - other(epsilon)) * (1.0 - ROUNDING) - alpha
        return np.asarray(np.exp(-epsilon) * kept * (1.0 - ROUNDING * (1.0 + epsilon)))

    best = np.maximum(
        _maximum(missed, alpha.size, largest), _maximum(accepted, alpha.size, largest)
    )
    return np.clip(best, 0.0, 1.0)


def _maximum(value: Callable[[Array], Array], size: int, largest: float) -> Array:
    """Return the largest values that golden sections of [0, largest] and its ends find."""
    low, high = np.zeros(size), np.full(size, largest)
    best = np.maximum(value(low), value(high))
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(TURNS):
        rises = at_left < at_right
        best = np.maximum(best, np.where(rises, at_right, at_left))
        low, high = np.where(rises, left, low), np.where(rises, high, right)
        width = GOLDEN * (high - low)
        new = np.where(rises, low + width, high - width)
        at_new = value(new)
        left, right = np.where(rises, right, new), np.where(rises, new, left)
        at_left, at_right = np.where(rises, at_right, at_new), np.where(rises, at_new, at_left)
    return np.asarray(np.maximum(best, np.maximum(at_left, at_right)))
