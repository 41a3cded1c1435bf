"""The exact accountant: (epsilon, delta) from the whole distribution of the privacy loss."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from renyi._adjacency import Adjacency
from renyi._pair import LossComposition
from renyi.accountants._base import Accountant
from renyi.accountants._brackets import Array, Curve, DirectionName
from renyi.accountants._compiled_pairs import compiled_pair
from renyi.accountants._curves import LATTICE_POINTS, PrivacyCurves
from renyi.accountants._direction import LOSSES_RTOL, WorseCurve, wide
from renyi.accountants._group import SmallerCurve
from renyi.accountants._overflow import NearlyPoissonCurve, overflow
from renyi.accountants._replaced import ReplacedCurve
from renyi.accountants._samples import leaves
from renyi.accountants._shuffled import AttainedCurve, attained_pair
from renyi.accountants._steps import SampledStep, allocated_epoch, gaussian_steps, settled
from renyi.accountants._support import UnsupportedMechanismError, check_adjacency
from renyi.mechanisms import (
    Mechanism,
    PoissonSampled,
    ShuffledBatches,
    TruncatedPoissonSampled,
)
from renyi.tradeoff import GaussianLimit, central_limit, compose_mu

if TYPE_CHECKING:
    from renyi.accountants.rdp import RDPAccountant

__all__ = ["PLDAccountant"]

Part = SampledStep | Mechanism

LARGEST_SLACK = 1e-3  # in all, where truncated samples may be looked at as if nothing were cut


class PLDAccountant(Accountant[Part]):
    """Accountant of the exact privacy curve.

    Parameters
    ----------
    adjacency : {"add_remove", "replace_one", "zero_out"}
        Which data sets are neighbours: one has a record more, or one record differs (noise has to
        hide twice the sensitivity then), or one record is replaced by one that contributes nothing.
        Both directions are evaluated and the worse one reported.

    Raises
    ------
    ValueError
        If the adjacency is unknown.

    Notes
    -----
    Equal steps merge: memory and time grow with the number of distinct steps only. Every method
    reads the same certified brackets, and single numbers and arrays are their upper ends, where
    these are wide never above what `RDPAccountant` proves of the same composition: of the curve of
    the dominating pairs. For `Exponential`, for several uses of `Gumbel`, and for sampling without
    Poisson's coins or of replaced records that is above the curve of any one mechanism, and the
    lower ends are what fixed neighbours reach. Methods may be called from many threads.

    Gaussian and Poisson-sampled Gaussian steps of training runs, few or many: a query takes
    typically a millisecond, at most some tens, and a bracket is mostly below 1e-12 wide,
    relatively. Far from these (noise multipliers of 0.1, delta below 1e-15, rates next to 0 or 1)
    no route may be narrow, and what several bounds leave is the answer.

    Other mechanisms, and Gaussian noise on samples where records are replaced, take lattices: their
    brackets are at most ``rtol`` wide, relatively in delta, or as narrow as 2^20 nodes allow (half
    a gigabyte, seconds). Wherever a bracket is wide, a single number may be that much too large. It
    is never too small.

    Groups of records take a chain of neighbours, seconds for hundreds of records, unless all is
    noise on a query that moves further.

    References
    ----------
    Alghamdi et al. 2023, arXiv 2208.09595, Theorem 3.1 (the inversion integral). Zhu, Dong, Wang
    2022, arXiv 2106.08567 (dominating pairs). Doroshenko et al. 2022, arXiv 2207.04380 (connecting
    the dots).

    Examples
    --------
    >>> from renyi import Gaussian, PLDAccountant, PoissonSampled
    >>> accountant = PLDAccountant().compose(PoissonSampled(Gaussian(1.1), 0.004), 15_000)
    >>> round(accountant.get_epsilon(1e-5), 6)
    2.29537
    """

    def __init__(self, *, adjacency: Adjacency = "add_remove") -> None:
        super().__init__(adjacency)
        self._curves = PrivacyCurves(self._adjacency, self._lock)

    def _parts_of(self, mechanism: Mechanism) -> Sequence[tuple[Part, int]]:
        parts: list[tuple[Part, int]] = []
        for leaf, count in leaves(mechanism):
            check_adjacency(leaf, self._adjacency)
            steps = gaussian_steps(leaf)
            if steps is not None:
                parts += [(step, times * count) for step, times in steps]
            elif isinstance(leaf, ShuffledBatches):  # every record is in one batch
                inner = self._parts_of(leaf.mechanism)
                parts += [(part, times * count) for part, times in inner]
            else:
                if self._adjacency == "replace_one" or allocated_epoch(leaf) is None:
                    compiled_pair(leaf, self._adjacency, True)  # raises
                parts.append((leaf, count))
        return parts

    def _kind(self, part: Part) -> Hashable:
        return settled(part) if isinstance(part, SampledStep) else part

    def _record(self, part: Part, count: int) -> None:
        if isinstance(part, SampledStep):
            self._curves.add_step(part, count)
        else:
            self._curves.add_loss(part, count)

    def _curve_of(self, direction: DirectionName | None, rtol: float) -> Curve:
        directions = self._directions(direction)
        curve = WorseCurve(
            [self._curves.direction(remove, rtol) for remove in directions], self._renyi_curve
        )
        chained = self._by_removal(rtol)
        if chained is not None:
            return SmallerCurve([curve, chained])
        return self._without_limits(curve, direction, rtol)

    def _without_limits(self, curve: Curve, direction: DirectionName | None, rtol: float) -> Curve:
        """Return a curve that looks at truncated samples as if nothing were cut, where it may."""
        parts = [(leaf, n * k) for part, n in self.mechanisms for leaf, k in leaves(part)]
        cut = [(leaf, n) for leaf, n in parts if isinstance(leaf, TruncatedPoissonSampled)]
        slack = math.fsum(count * overflow(leaf) for leaf, count in cut)
        if not cut or slack > LARGEST_SLACK:
            return curve
        poisson = self._blank()
        for leaf, count in parts:
            if isinstance(leaf, TruncatedPoissonSampled):
                leaf = PoissonSampled(leaf.mechanism, leaf.sample_rate)
            poisson.compose(leaf, count)
        return NearlyPoissonCurve(poisson._curve_of(direction, rtol), slack, curve)

    def _by_removal(self, rtol: float) -> Curve | None:
        """Return the curve where one record is removed and another one added, for allocations.

        For each of the two there is a theorem, for replacing a record there is none.
        """
        if self._adjacency != "replace_one" or not self._curves.has_epochs():
            return None
        accountant = PLDAccountant()
        try:
            for mechanism, count in self.mechanisms:
                accountant.compose(mechanism, count)
        except UnsupportedMechanismError:
            return None
        return ReplacedCurve(*(accountant._curve_of(side, rtol) for side in ("remove", "add")))

    def _attained(self, direction: DirectionName | None, rtol: float) -> Curve | None:
        parts = [
            (leaf, times * count)
            for mechanism, count in self.mechanisms
            for leaf, times in leaves(mechanism)
        ]
        uses = sum(count for leaf, count in parts if isinstance(leaf, ShuffledBatches))
        if not uses:
            return None
        sides = (True, False) if direction is None else (direction == "remove",)
        lattices = (self._composed_below(parts, remove, rtol) for remove in sides)
        return AttainedCurve(lattices, uses)

    def _composed_below(
        self, parts: list[tuple[Mechanism, int]], remove: bool, rtol: float
    ) -> LossComposition:
        adjacency = self._adjacency
        pairs = []
        for mechanism, count in parts:
            if isinstance(mechanism, ShuffledBatches):
                pairs.append((attained_pair(mechanism, adjacency, remove), count))
            else:
                pairs.append((compiled_pair(mechanism, adjacency, remove), count))
        return LossComposition(pairs, rtol, LATTICE_POINTS)

    def _group_curve(self, direction: DirectionName | None, rtol: float, size: int) -> Curve:
        chained, renyi = super()._group_curve(direction, rtol, size), self._renyi()
        moments = None if renyi is None else renyi._group_moments(size)
        return chained if moments is None else SmallerCurve([chained, moments])

    def _renyi(self) -> RDPAccountant | None:
        """Return the Rényi accountant of the composition, which may have grown, if it takes all."""
        from renyi.accountants.rdp import RDPAccountant  # which asks this one for profiles

        accountant = RDPAccountant(adjacency=self._adjacency)
        try:
            for mechanism, count in self.mechanisms:
                accountant.compose(mechanism, count)
        except (UnsupportedMechanismError, ValueError):  # more than 10^9 equal parts among them
            return None
        return accountant

    def _renyi_curve(self) -> Curve | None:
        if self._curves.has_epochs():
            return None  # far above, and it takes long
        accountant = self._renyi()
        return None if accountant is None else accountant._curve_of(None, LOSSES_RTOL)

    def _epsilons_after(
        self,
        delta: float,
        mechanism: Mechanism,
        times: list[int],
        direction: DirectionName | None,
    ) -> Array:
        repeated = self._blank().compose(mechanism)
        counts = np.array(times, dtype=np.float64)
        result = np.zeros(len(times))
        for remove in {*self._directions(direction), *repeated._directions(direction)}:
            found = self._curves.epsilons_after(repeated._curves, counts, delta, remove)
            found[1, wide(found)] = math.nan
            np.maximum(result, found[1], out=result)  # NaN stays
        return result

    def _check_direction(self, direction: DirectionName | None) -> None:
        if direction not in (None, "remove", "add"):
            raise ValueError(f"direction must be 'remove', 'add' or None, got {direction!r}")
        if direction is not None and self._adjacency == "replace_one":
            raise ValueError(
                f"direction must be None where records are replaced, got {direction!r}"
            )

    def _directions(self, direction: DirectionName | None) -> tuple[bool, ...]:
        """Return which directions to evaluate, True for remove."""
        if direction is not None:
            return (direction == "remove",)
        return (True,) if self._curves.is_mirrored() else (True, False)

    def _beta_rtol(self) -> float:
        return LOSSES_RTOL if self._curves.contents()[1] else super()._beta_rtol()

    def get_gdp_mu(self) -> GaussianLimit:
        """Return mu and gamma of Gaussian differential privacy.

        Exact, with ``gamma = 0``, where only Gaussian steps were composed (``mu`` rounded up); else
        the central-limit value of one kind of Poisson-sampled Gaussian step and a bound of its
        error: the trade-off function is at least ``G_mu(alpha + gamma) - gamma``. ``mu`` alone may
        understate the privacy loss.

        Raises
        ------
        ValueError
            If steps of several kinds, other mechanisms, or replaced records make neither apply.

        References
        ----------
        Dong, Roth, Su 2022, arXiv 1905.02383, Corollary 3.3 and Section 3.3.

        Examples
        --------
        >>> from renyi import Gaussian, PLDAccountant
        >>> round(PLDAccountant().compose(Gaussian(2.0), 4).get_gdp_mu().mu, 9)
        1.0
        """
        steps, losses = self._curves.contents()
        replaces = self.adjacency == "replace_one"
        if not losses and all(step.rate == 1.0 and step.noise > 0.0 for step, _ in steps):
            if not steps:
                return GaussianLimit(0.0, 0.0)
            distance = 2.0 if replaces else 1.0
            sensitivities = [distance / step.noise for step, _ in steps]
            mu = compose_mu(sensitivities, [count for _, count in steps])
            return GaussianLimit(mu * (1.0 + 2.0**-51), 0.0)
        if losses or len(steps) != 1 or replaces or steps[0][0].noise == 0.0:
            raise ValueError(
                "mechanisms must be Gaussian, or one kind of Poisson-sampled Gaussian step under "
                f"add/remove adjacency, got {self.mechanisms!r}"
            )
        (step, count) = steps[0]
        return central_limit(step.rate, step.noise, count)
