"""A record is replaced in a sample: the "remove" losses above zero, the "add" losses below.

Let (P, Q) dominate the base mechanism on any two neighbours, in either order, and let every record
be in the sample with probability g. With mu_0 the output without the record, mu_1 and mu_1' those
with the one record or the other, the outputs are (1-g) mu_0 + g mu_1 and (1-g) mu_0 + g mu_1', and
advanced joint convexity (Balle, Barthe, Gaboardi 2018, arXiv 1807.01647, Theorem 2) gives, for
e' = log(1 + g (e^e - 1)) >= 0 and b = e^(e'-e),

    delta'(e') = g D_e(mu_1 || (1-b) mu_0 + b mu_1') <= g ((1-b) D_e(mu_1 || mu_0)
                 + b D_e(mu_1 || mu_1')) <= g delta(e),

the profile of ((1-g) Q + g P, Q). For e' < 0 the same holds of the outputs in reverse order. Hence
the pair whose profile is that of ((1-g) Q + g P, Q) above 0 and of (Q, (1-g) Q + g P) below
(Zhu, Dong, Wang 2022, arXiv 2106.08567, Theorem 11): one pair for both directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from renyi._validation import probability_of
from renyi.pld._cells import ROUNDING, Array, Atom, Atoms, Cells, empty_cells
from renyi.pld._distribution import PrivacyLossDistribution, require_pair
from renyi.pld._sampled import PoissonSampled

__all__ = ["Spliced"]

_CELLS = 129


@dataclass(frozen=True, slots=True)
class Spliced(PrivacyLossDistribution):
    """Replacing one record of a sample which holds any given record with probability g.

    Parameters
    ----------
    base : PrivacyLossDistribution
        A pair that dominates the mechanism on the sample under replacement of a record, whichever
        of the two data sets comes first, and also its removal if the size of the sample varies.
        Only losses above 0 matter.
    sample_rate : float
        g in (0, 1].

    Raises
    ------
    TypeError, ValueError
        On another type or rate, or where the base differs from its reverse such that no pair has
        this profile.

    Examples
    --------
    >>> from renyi.pld import Laplace, delta_bounds
    >>> lower, upper = delta_bounds([(Spliced(Laplace(1.0), 0.1), 1)], 0.05)
    >>> round(lower, 9), round(upper, 9)
    (0.02540139, 0.02540139)
    """

    base: PrivacyLossDistribution
    sample_rate: float
    _middle: tuple[float, float] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_pair(self.base, "base")
        rate = probability_of(self.sample_rate, "sample_rate")
        if rate == 0.0:
            raise ValueError(f"sample_rate must be a number in (0, 1], got {self.sample_rate!r}")
        object.__setattr__(self, "sample_rate", rate)
        object.__setattr__(self, "_middle", self._rest())

    @property
    def infinite_mass(self) -> float:
        return self._sampled.infinite_mass

    @property
    def null_mass(self) -> float:
        return self._sampled.infinite_mass

    @property
    def support(self) -> tuple[float, float]:
        top = max(self._sampled.support[1], 0.0)
        return -top, top

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def optimistic(self) -> PrivacyLossDistribution:
        lower = self.base.optimistic
        return self if lower is self.base else Spliced(lower, self.sample_rate)

    def atoms(self) -> Atoms:
        found = self._sampled.atoms()
        above = found.where(found.loss > 0.0)
        middle = Atoms.of((Atom(0.0, self._middle[0], 0.0, self._middle[1]),))
        return Atoms.joined((above.reversed(), middle, above))

    def loss_range(self, tail: float) -> tuple[float, float]:
        high, low = self._sampled.loss_range(tail)[1], self._sampled.other_range(tail)[1]
        return (-max(low, 0.0), high) if high > 0.0 else (math.inf, -math.inf)

    def other_range(self, tail: float) -> tuple[float, float]:
        low, high = self.loss_range(tail)
        return (-high, -low) if low <= high else (low, high)

    def cells(self, edges: Array) -> Cells:
        above, below = self._above(edges), self._below(edges)
        return Cells(
            above.p + below.p,
            above.q + below.q,
            above.up + below.up,
            above.low + below.low,
            np.maximum(above.error, below.error) + ROUNDING,
            np.maximum(above.error_q, below.error_q) + ROUNDING,
            np.maximum(above.slip, below.slip),
        )

    @property
    def _sampled(self) -> PoissonSampled:
        return PoissonSampled(self.base, self.sample_rate)

    def _above(self, edges: Array) -> Cells:
        """Integrate the losses above zero of the sampled pair."""
        first = int(np.searchsorted(edges, 0.0, "right"))
        if first == 0:
            return self._sampled.cells(edges)
        if first == edges.size:
            return empty_cells(edges.size - 1)
        found = self._sampled.cells(np.concatenate(([0.0], edges[first:])))
        # The first cell starts at zero, its moment is wanted from the edge below.
        found.up[0] -= math.expm1(edges[first - 1]) * found.q[0]
        return _padded(found, first - 1, 0)

    def _below(self, edges: Array) -> Cells:
        """Integrate the losses below zero of its reverse."""
        last = int(np.searchsorted(edges, 0.0, "left"))
        if last == edges.size:
            return self._sampled.mirrored(edges)
        if last == 0:
            return empty_cells(edges.size - 1)
        found = self._sampled.mirrored(np.concatenate((edges[:last], [0.0])))
        with np.errstate(over="ignore", invalid="ignore"):
            found.low[-1] += np.expm1(edges[last]) * found.q[-1] if found.q[-1] else 0.0
        return _padded(found, 0, edges.size - 1 - last)

    def _rest(self) -> tuple[float, float]:
        """Return the mass at loss 0 that is missing to 1, and its relative error."""
        sampled = self._sampled
        top = max(sampled.loss_range(1e-300)[1], sampled.other_range(1e-300)[1], 0.0)
        inner = top * np.linspace(0.0, 1.0, _CELLS) ** 2 if 0.0 < top < math.inf else [0.0]
        cells, atoms = sampled.cells(np.append(inner, np.inf)), sampled.atoms()
        atoms = atoms.where(atoms.loss > 0.0)
        taken = np.concatenate((cells.p, cells.q, atoms.mass, atoms.other))
        errors = np.concatenate((cells.error, cells.error_q, atoms.error, atoms.error))
        mass = math.fsum((1.0, -sampled.infinite_mass, *(-taken)))
        error = float(np.dot(taken, errors)) * 1.01 + 4.0 * ROUNDING
        if mass < -2.0 * error:
            raise ValueError(f"base must not have the larger losses in reverse, got {self.base!r}")
        return (mass, error / mass) if mass > error else (error, 1.0)


def _padded(cells: Cells, before: int, after: int) -> Cells:
    """Return the cells with empty ones on both sides."""
    return Cells(*(np.pad(getattr(cells, name), (before, after)) for name in cells.__slots__))
