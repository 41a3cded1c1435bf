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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "NEGLIGIBLE",
    "NO_ATOMS",
    "ROUNDING",
    "Array",
    "Atom",
    "Atoms",
    "Cells",
    "Indices",
    "empty_cells",
    "summed",
]


Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

ROUNDING = 2.0**-53

NEGLIGIBLE = 2.0**-1040
"""What underflows in densities and masses and is not seen: counted at infinite loss if at all."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """Point masses of the loss, arrays of one length; iterating gives single ones.

    ``mass`` under P and ``other`` under Q, both of relative error at most ``error``; ``loss_error``
    bounds the absolute error of the loss.
    """

    loss: Array
    mass: Array
    other: Array
    loss_error: Array
    error: Array

    @classmethod
    def of(cls, atoms: Iterable[Atom]) -> Atoms:
        """Collect single atoms."""
        rows = [(a.loss, a.mass, a.other, a.loss_error, _error_of_both(a)) for a in atoms]
        return cls(*np.array(rows, dtype=np.float64).reshape(-1, 5).T)

    @classmethod
    def joined(cls, groups: Sequence[Atoms]) -> Atoms:
        """Return the atoms of all groups."""
        return cls(*(np.concatenate([getattr(g, f) for g in groups]) for f in cls.__slots__))

    def scaled(self, factor: float) -> Atoms:
        """Return the atoms with both masses multiplied."""
        error = self.error + ROUNDING
        return Atoms(self.loss, factor * self.mass, factor * self.other, self.loss_error, error)

    def where(self, kept: npt.NDArray[np.bool_] | Indices) -> Atoms:
        """Return some of the atoms."""
        return Atoms(*(getattr(self, f)[kept] for f in self.__slots__))

    def reversed(self) -> Atoms:
        """Return the atoms of (Q, P)."""
        return Atoms(-self.loss, self.other, self.mass, self.loss_error, self.error)

    def __len__(self) -> int:
        return self.loss.size

    def __iter__(self) -> Iterator[Atom]:
        columns = (self.loss, self.mass, self.loss_error, self.error)
        return (Atom(*map(float, row)) for row in zip(*columns, strict=True))


def _error_of_both(atom: Atom) -> float:
    """Return the error of the two masses if Q's is computed from P's."""
    return atom.error + atom.loss_error + 4.0 * ROUNDING


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


def summed(place: Indices, values: Array, size: int) -> Array:
    """Return sums of the values that belong to each of ``size`` places, added one by one."""
    return np.bincount(place, values, size).astype(np.float64)


NO_ATOMS = Atoms.of(())
