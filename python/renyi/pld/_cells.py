"""What a lattice needs to know of a privacy loss: masses and first moments on cells of losses.

For a cell (a, b] of losses of the pair (P, Q), with L = log dP/dQ,

    p = P(a < L <= b)         q = Q(a < L <= b)
    up  = E_P[1 - e^(a - L); a < L <= b] = p - e^a q  >= 0
    low = E_P[e^(b - L) - 1; a < L <= b] = e^b q - p  >= 0

``up`` and ``low`` are computed as integrals of non-negative functions, never as these differences,
so they keep their relative accuracy however narrow the cell. They fix how much of the cell's mass
belongs to its upper and to its lower end: up/(1 - e^(a-b)) and low/(e^(b-a) - 1), which add to p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["ROUNDING", "Array", "Atom", "Cells", "empty_cells"]

Array = npt.NDArray[np.float64]

ROUNDING = 2.0**-53


@dataclass(frozen=True, slots=True)
class Atom:
    """P-mass ``mass`` at the single loss ``loss``.

    ``loss_error`` bounds the absolute error of the loss, ``error`` the relative error of the mass.
    """

    loss: float
    mass: float
    loss_error: float = 0.0
    error: float = 0.0

    @property
    def other(self) -> float:
        """Its Q-mass."""
        return self.mass * float(np.exp(-self.loss))


@dataclass(frozen=True, slots=True)
class Cells:
    """Masses and moments on consecutive cells, all arrays of one length n.

    ``error`` and ``error_q`` bound the relative errors of p (with up and low) and of q. ``slip``
    bounds, at the n + 1 edges, the distance in loss between the edge asked for and the one used.
    """

    p: Array
    q: Array
    up: Array
    low: Array
    error: Array
    error_q: Array
    slip: Array


def empty_cells(count: int) -> Cells:
    """Return cells without mass."""
    zero = np.zeros(count)
    return Cells(zero, zero, zero, zero, zero, zero, np.zeros(count + 1))
