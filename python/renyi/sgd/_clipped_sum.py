"""What clipping returns: the sum, its sensitivity, and what must not leave the house."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from renyi.accountants._base import Adjacency
from renyi.sgd._rows import Array, Arrays
from renyi.sgd._rule import Clipping

if TYPE_CHECKING:
    from renyi.sgd.grid import Grid

__all__ = ["ClippedSum", "PrivateDiagnostics"]

Norms = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class PrivateDiagnostics:
    """Numbers about single records. None of them is noised: publishing one breaks the guarantee.

    Attributes
    ----------
    norms : ndarray
        Of the rows before clipping, (B,) or (B, arrays); NaN for a row that is not finite.
    factors : ndarray
        What the rows were multiplied by, of the same shape; 0 for a row that is not finite.
    """

    norms: Norms
    factors: Norms

    @property
    def batch_size(self) -> int:
        """The number of rows: private, since neighbours differ in it."""
        return len(self.norms)

    @property
    def nonfinite_count(self) -> int:
        """Rows with NaN or infinity, which contributed zero."""
        return int(np.isnan(self._by_row(self.norms)).any(axis=1).sum())

    @property
    def unclipped_count(self) -> int:
        """Finite rows that were not made smaller."""
        return int((self._by_row(self.factors) >= 1.0).all(axis=1).sum())

    @property
    def clipped_count(self) -> int:
        """Finite rows that were made smaller."""
        return self.batch_size - self.nonfinite_count - self.unclipped_count

    @property
    def clipped_fraction(self) -> float:
        """Clipped rows over all; 0 of an empty batch."""
        return self.clipped_count / max(self.batch_size, 1)

    def _by_row(self, values: Norms) -> Norms:
        return values if values.ndim == 2 else values[:, np.newaxis]

    def __repr__(self) -> str:
        return "PrivateDiagnostics(...)"


@dataclass(frozen=True, eq=False)
class ClippedSum:
    """The sum of clipped rows, before noise.

    Sums over disjoint sets of records, clipped in the same way, may be added with ``+``: on one
    machine or on many, noise is added once to the total.

    Attributes
    ----------
    sum : ndarray or list of ndarray
        As the gradients were given; on a grid integers, in spacings. It is not private before noise
        is added.
    sensitivity : float
        How far one record moves the sum between neighbours (``adjacency``), in the Euclidean norm,
        if additions were exact. A sum of B rows in double precision moves by at most B^2 2^-52
        times the clipping norm more, one in single precision can move twice as far.
    max_grad_norm : tuple of float
        The bound, or those of the arrays.
    clipping, adjacency : str
        As they were given.
    private : PrivateDiagnostics
        Norms and counts: not for publication.
    grid : Grid, optional
        To which each row was rounded.
    """

    sum: Arrays
    sensitivity: float
    max_grad_norm: tuple[float, ...]
    clipping: Clipping
    adjacency: Adjacency
    private: PrivateDiagnostics = field(repr=False)
    grid: Grid | None = None

    @property
    def arrays(self) -> list[Array]:
        """The sums as a list, also of a single array."""
        return self.sum if isinstance(self.sum, list) else [self.sum]

    def check_like(
        self,
        max_grad_norm: tuple[float, ...],
        clipping: Clipping,
        adjacency: Adjacency,
        grid: Grid | None,
    ) -> None:
        """Raise `ValueError` unless rows were clipped as said, so that sums may be added."""
        given = {
            "max_grad_norm": max_grad_norm,
            "clipping": clipping,
            "adjacency": adjacency,
            "grid": grid,
        }
        for name, value in given.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"{name} must be the same in sums that are added, got "
                    f"{getattr(self, name)!r} and {value!r}"
                )

    def __add__(self, other: ClippedSum) -> ClippedSum:
        if not isinstance(other, ClippedSum):
            return NotImplemented
        self.check_like(other.max_grad_norm, other.clipping, other.adjacency, other.grid)
        if [a.shape for a in self.arrays] != [a.shape for a in other.arrays]:
            raise ValueError("sum must have the same shapes in sums that are added")
        sums = [a + b for a, b in zip(self.arrays, other.arrays, strict=True)]
        return ClippedSum(
            sums if isinstance(self.sum, list) else sums[0],
            max(self.sensitivity, other.sensitivity),
            self.max_grad_norm,
            self.clipping,
            self.adjacency,
            joined([self.private, other.private]),
            self.grid,
        )


def joined(parts: list[PrivateDiagnostics]) -> PrivateDiagnostics:
    """Diagnostics of several batches, one after the other."""
    return PrivateDiagnostics(
        np.concatenate([part.norms for part in parts]),
        np.concatenate([part.factors for part in parts]),
    )
