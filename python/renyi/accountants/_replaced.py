"""A record replaced, as its removal and the addition of the other one.

With R what is released without either record, for any e in [0, epsilon],

    delta(epsilon) <= delta_remove(e) + e^e delta_add(epsilon - e),

as (p - e^epsilon q)_+ <= (p - e^e r)_+ + e^e (r - e^(epsilon - e) q)_+ for all densities p, r, q.
The least over e is flat: a few e near it are tried.
"""

from __future__ import annotations

import numpy as np

from renyi.accountants._brackets import Array, Curve

__all__ = ["ReplacedCurve"]

SHARES = np.linspace(0.1, 0.9, 9)  # of epsilon, or of delta, that removal takes
ROUNDING = 1.0 + 2.0**-49


class ReplacedCurve:
    """Upper ends for replaced records; the lower ones are those of removal.

    Parameters
    ----------
    remove, add : Curve
        Of one record that is there or not.
    """

    def __init__(self, remove: Curve, add: Curve) -> None:
        self._remove, self._add = remove, add

    def epsilon_brackets(self, deltas: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        result = self._remove.epsilon_brackets(deltas)
        for i, delta in enumerate(deltas.tolist()):
            first = self._remove.epsilon_brackets(delta * SHARES)[1]
            with np.errstate(under="ignore"):
                left = delta * (1.0 - SHARES) * np.exp(-first) / ROUNDING
            result[1, i] = ((first + self._add.epsilon_brackets(left)[1]) * ROUNDING).min()
        return result

    def delta_brackets(self, epsilons: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        result = self._remove.delta_brackets(epsilons)
        for i, epsilon in enumerate(epsilons.tolist()):
            if epsilon == np.inf:
                result[1, i] = min(2.0 * result[1, i], 1.0)
                continue
            parts = epsilon * SHARES
            first = self._remove.delta_brackets(parts)[1]
            with np.errstate(over="ignore", invalid="ignore"):
                rest = np.exp(parts) * self._add.delta_brackets(epsilon - parts)[1]
            result[1, i] = min(float(np.nanmin((first + rest) * ROUNDING)), 1.0)
        return result
