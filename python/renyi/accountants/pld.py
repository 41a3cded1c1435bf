"""The exact accountant: (epsilon, delta) from the whole distribution of the privacy loss.

A composition is a multiset of Gaussian and Poisson-sampled Gaussian steps and of other mechanisms.
Steps alone are inverted from their transforms. If other mechanisms take part, the pairs of all are
composed on lattices. Both methods certify brackets; every answer is an end of the bracket of the
worse direction.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Literal, Protocol

import numpy as np

from renyi._adjacency import DIRECTIONS, Adjacency, DirectionName
from renyi._engine import (
    AllocationQuestions,
    LossComposition,
    Pair,
    SampledGaussianCurve,
    wide_brackets,
)
from renyi.accountants._curves import (
    Array,
    AttainedCurve,
    Curve,
    JoinedCurve,
    NearlyPoissonCurve,
    ReplacedCurve,
    Wanted,
    between,
    smallest,
    upper_end,
)
from renyi.accountants._groups import GroupCurve
from renyi.accountants._ledger import leaves_of
from renyi.accountants._protocol import Accountant
from renyi.accountants.rdp import RDPAccountant
from renyi.mechanisms import Mechanism, PrivacyLoss
from renyi.mechanisms.algebra import AllocatedEpoch, LossCurve
from renyi.mechanisms.selected_pair import finite_pair
from renyi.mechanisms.steps import (
    SMALLEST_RATE,
    SampledStep,
    step_pair,
    within_domain,
)
from renyi.pairs import DiscretePair
from renyi.tradeoff import GaussianLimit, central_limit, compose_mu

Part = SampledStep | Mechanism
Lattice = Callable[[], LossCurve]
PairName = Literal["remove", "add", "replace_one"]
Answers = list[tuple[float, ...]]  # an argument and the value there

LARGEST_SLACK = 1e-3  # the total up to which truncated samples may count as uncut
NARROW, NARROW_OF_GROUPS = 1e-3, 1e-1  # of delta; beyond, lattices, or chains, answer, too
LOSSES_RTOL = 1e-5  # of the answers of lattices
WIDE = 2.0 * LOSSES_RTOL
ALLOCATED_RTOL = 1e-3
"""The width of delta if epochs of random allocation take part: both of their pairs are atoms, which
are about so far apart."""
LATTICE_POINTS = 2**20  # the most; they bound the memory and the time of a query
MOST_STEPS_BY_LAW = 10**6  # of an epoch of random allocation
MOST_RECORDS, GROUPS_RTOL = 8, 1e-3  # of groups on a lattice; larger groups need a minute


class PLDAccountant(Accountant[Part]):
    """Accountant of the exact privacy curve.

    Args:
        adjacency ({"add_remove", "replace_one", "zero_out"}): Which data sets are neighbours: one
            has a record more, or one record differs (noise has to hide twice the sensitivity then),
            or one record is replaced by one that contributes nothing. Both directions are evaluated
            and the worse one reported.

    Equal steps merge: memory and time grow with the number of distinct steps only. Every method
    reads the same certified brackets of the curve of the dominating pairs. Single numbers and
    arrays are the upper ends; where a bracket is wide, they are never above the bound that
    `RDPAccountant` proves of the same composition. For `Exponential`, for several uses of `Gumbel`,
    and for sampling other than Poisson's or of replaced records, the curve of the dominating pairs
    is above the curve of any one mechanism, and the lower ends are values that fixed neighbours
    reach. Methods may be called from many threads.

    For Gaussian and Poisson-sampled Gaussian steps of training runs, few or many, a query takes
    typically a millisecond, at most some tens, and a bracket is mostly below 1e-12 wide,
    relatively. Far from usual runs (noise multipliers of 0.1, delta below 1e-15, rates next to 0 or
    1) no method may be narrow, and the answer is the intersection of several bounds.

    Other mechanisms are composed on lattices, as are replaced records where a step has next to no
    loss: their brackets are at most ``rtol`` wide, relatively in delta, or as narrow as 2^20 nodes
    allow (half a gigabyte, seconds). Wherever a bracket is wide, a single number may be that much
    too large. It is never too small.

    Groups of records in Poisson samples have a pair of their own, a binomial mixture, with Gaussian
    noise (milliseconds), Laplace noise and noise on integers; so has noise on a query that a group
    moves further. For mechanisms without such a pair, a chain of neighbours is composed with the
    rest (seconds for hundreds of records).

    Source: Alghamdi et al. 2023, arXiv 2208.09595, Theorem 3.1 (the inversion integral). Zhu, Dong,
    Wang 2022, arXiv 2106.08567 (dominating pairs). Doroshenko et al. 2022, arXiv 2207.04380
    (connecting the dots).

    >>> from renyi import Gaussian, PLDAccountant, PoissonSampled
    >>> accountant = PLDAccountant().compose(PoissonSampled(Gaussian(1.1), 0.004), 15_000)
    >>> round(accountant.get_epsilon(1e-5), 6)
    2.29537
    """

    def __init__(self, *, adjacency: Adjacency = "add_remove") -> None:
        super().__init__(adjacency)
        self._curve_of_steps = SampledGaussianCurve()
        self._steps: dict[SampledStep, int] = {}
        self._losses: dict[Mechanism, int] = {}
        self._only_steps = True  # the compiled curve holds everything
        self._has_samples = False  # some step samples records
        self._records = 1  # the most that one step samples independently
        self._is_raised = False  # some rate was raised to one that the engine takes
        self._is_alternative = False  # this is an alternative of another accountant

    def _parts_of(self, mechanism: Mechanism) -> Sequence[tuple[Part, int]]:
        parts: list[tuple[Part, int]] = []
        for leaf, uses in leaves_of(mechanism):
            leaf.check_adjacency(self._adjacency)
            for release, times in leaf.releases:
                steps, group = release.gaussian_steps, release.sampled_group
                if group is not None:
                    steps = ((group, 1),)
                if steps is None:
                    if self._adjacency == "replace_one" or release.allocated_epoch is None:
                        release.check_pair(self._adjacency)
                    parts.append((release, uses * times))
                    continue
                for step, count in steps:
                    if (known := within_domain(step)) is not None:
                        # Numbers below the engine's domain are kept: pairs have valid lower ends.
                        if known is not step:
                            known = known._replace(rate=step.rate, noise=known.noise or step.noise)
                        parts.append((known, uses * times * count))
        return parts

    def _record(self, part: Part, count: int) -> None:
        if not isinstance(part, SampledStep):
            self._losses[part] = self._losses.get(part, 0) + count
            self._only_steps = False
            return
        self._steps[part] = self._steps.get(part, 0) + count
        self._has_samples |= part.rate < 1.0
        if part.noise < SMALLEST_RATE:
            self._only_steps = False  # the step has a pair
        else:  # replaced records are two units apart: samples have pairs of their own for them
            halved = self._adjacency == "replace_one" and part.rate == 1.0
            noise = 0.5 * part.noise if halved else part.noise
            rate = max(part.rate, SMALLEST_RATE)
            self._curve_of_steps.add(rate, noise, float(count), part.records)
            self._is_raised |= rate > part.rate
            self._records = max(self._records, part.records)

    def _contents(self) -> tuple[list[tuple[SampledStep, int]], list[tuple[Mechanism, int]]]:
        """Return the steps and the other mechanisms with their counts."""
        with self.lock:
            return list(self._steps.items()), list(self._losses.items())

    # From the composition to a curve.

    def _curve_of(self, direction: DirectionName | None, rtol: float) -> Curve:
        sides = []
        for side in self._sides(direction):
            sides.append(self._one_side(side, rtol))
        # The Rényi curve of epochs is far above narrow brackets, and takes long.
        wide = 0.5 if self._losses and self._has_epochs() else WIDE
        curve = WorseCurve(sides, self._renyi_curve, wide)
        if not self._losses:
            return curve
        alternatives = self._alternatives()
        known: list[Curve] = [other._curve_of(direction, rtol) for other in alternatives]
        # That of an alternative is not below: this takes the least of all on both ways.
        chained = None if self._is_alternative else self._by_removal(rtol)
        if chained is not None:
            known.append(chained)
        if known:
            return JoinedCurve(smallest, curve, *known)
        return self._without_limits(curve, direction, rtol, 1)

    def _sides(self, direction: DirectionName | None) -> tuple[DirectionName, ...]:
        """Return the directions to evaluate: one, if both are known to have the same curve."""
        if direction is not None:
            return (direction,)
        adjacency = self._adjacency
        # The pairs of steps are symmetric except for samples of a record that is there or not.
        if adjacency == "replace_one" or not self._has_samples:
            losses = self._contents()[1]
            if all(part.same_in_both_directions(adjacency) for part, _ in losses):
                return ("remove",)
        return DIRECTIONS

    def _one_side(self, side: DirectionName, rtol: float) -> Side:
        """Return the curve of one direction; ``rtol`` is the width that lattices aim at."""
        replaces = self._adjacency == "replace_one"
        name: PairName = "replace_one" if replaces else side
        with self.lock:
            steps = self._curve_of_steps.questions(name) if self._only_steps else None
        if steps is not None and self._is_raised:
            return FromAbove(steps)
        if steps is not None:
            if self._records > 1:
                rtol = max(rtol, GROUPS_RTOL)
            lattice = replaces or self._records > 1 or len(self._steps) > 1
            lattice = lattice and self._records <= MOST_RECORDS
            return Narrowed(steps, self._lattice(side, rtol), rtol) if lattice else steps
        epoch = None if replaces else self._single_epoch()
        if epoch is not None:
            exact = AllocationQuestions(*epoch, side == "remove")
            if epoch.steps > MOST_STEPS_BY_LAW:
                return exact
            by_law = [(epoch.pair_by_law(side), 1)]
            lattice_by_law = cache(lambda: LossComposition(by_law, rtol, LATTICE_POINTS))
            return Narrowed(exact, lattice_by_law, rtol)
        if self._has_epochs():
            rtol = max(rtol, ALLOCATED_RTOL)
        single = self._single_use(side)
        if single is not None:
            return OnLattice(lambda: single)
        return OnLattice(self._lattice(side, rtol))

    def _lattice(self, side: DirectionName, rtol: float) -> Lattice:
        def composed() -> LossComposition:
            steps, losses = self._contents()
            parts = [(step_pair(step, self._adjacency, side), count) for step, count in steps]
            parts += [
                (part.dominating_pair(self._adjacency, side), count) for part, count in losses
            ]
            return LossComposition(parts, rtol, LATTICE_POINTS)

        return cache(composed)

    def _has_epochs(self) -> bool:
        """Return whether epochs of random allocation take part."""
        return any(part.has_allocation for part, _ in self._contents()[1])

    def _single_part(self) -> Mechanism | None:
        """Return the mechanism if the composition is one use of it; else None."""
        steps, losses = self._contents()
        return losses[0][0] if not steps and len(losses) == 1 and losses[0][1] == 1 else None

    def _single_use(self, side: DirectionName) -> LossCurve | None:
        """Return the curve of a composition of one use, if it has one; else None."""
        part = self._single_part()
        return None if part is None else part.single_use(self._adjacency, side)

    def _single_epoch(self) -> AllocatedEpoch | None:
        """Return the epoch of random allocation if the composition is one such epoch; else None."""
        part = self._single_part()
        return None if part is None else part.allocated_epoch

    # Other views of the composition, which narrow its brackets or lower wide upper ends.

    def _without_limits(
        self, curve: Curve, direction: DirectionName | None, rtol: float, size: int
    ) -> Curve:
        """Return a curve with truncated samples treated as uncut, if it may; else ``curve``."""
        poisson, slacks = self._blank(), []
        for leaf, count in self._leaves():
            known = leaf.without_limit
            if known is not None:
                leaf = known[0]
                slacks.append(count * known[1])
            poisson.compose(leaf, count)
        slack = math.fsum(slacks)
        if not slacks or slack > LARGEST_SLACK:
            return curve
        narrow = NARROW if size == 1 else NARROW_OF_GROUPS
        return NearlyPoissonCurve(poisson._curve(direction, rtol, size), slack, curve, narrow)

    def _alternatives(self) -> list[PLDAccountant]:
        """Return accountants of other mechanisms that bound the composed ones."""
        leaves = self._leaves()
        result = []
        for k in range(max((len(leaf.alternatives) for leaf, _ in leaves), default=0)):
            other = self._blank()
            for leaf, count in leaves:
                options = leaf.alternatives
                other.compose(options[min(k, len(options) - 1)] if options else leaf, count)
            other._is_alternative = True
            result.append(other)
        return result

    def _by_removal(self, rtol: float) -> Curve | None:
        """Return the curve where one record is removed and another one added, for allocations.

        Removal and addition each have a theorem; the replacement of a record has none.
        """
        if self._adjacency != "replace_one" or not self._has_epochs():
            return None
        accountant = self._composed_by(PLDAccountant())
        if accountant is None:
            return None
        return ReplacedCurve(*(accountant._curve_of(side, rtol) for side in DIRECTIONS))

    def _attained(self, direction: DirectionName | None, rtol: float) -> Curve | None:
        if self._single_use("remove") is not None:
            return None
        parts = self._leaves()
        sides = DIRECTIONS if direction is None else (direction,)
        found: list[list[tuple[Pair, int]]] = [[] for _ in sides]
        errors = []
        for pairs, side in zip(found, sides, strict=True):
            for leaf, count in parts:
                known = leaf.attained_pair(self._adjacency, side)
                if known is None:
                    known = leaf.dominating_pair(self._adjacency, side), 0.0
                else:
                    errors.append(count * known[1])
                pairs.append((known[0], count))
        if not errors:
            return None
        lattices = (LossComposition(pairs, rtol, LATTICE_POINTS) for pairs in found)
        return AttainedCurve(lattices, math.fsum(errors))

    def _group_curve(self, direction: DirectionName | None, rtol: float, size: int) -> Curve:
        chained = super()._group_curve(direction, rtol, size)
        nearly = self._without_limits(chained, direction, rtol, size)
        if nearly is not chained:
            return nearly
        chained, renyi = self._beside_groups(direction, rtol, size) or chained, self._renyi()
        moments = None if renyi is None else renyi.group_moments(size)
        return chained if moments is None else JoinedCurve(smallest, chained, moments)

    def _beside_groups(
        self, direction: DirectionName | None, rtol: float, size: int
    ) -> Curve | None:
        """Return the curve with chains of neighbours for mechanisms without a form for groups only.

        The chains become one pair beside those of groups. None: no mechanism has such a form.
        """
        groups, others = self._blank(), self._blank()
        for leaf, count in self._leaves():
            group = leaf.for_group(size)
            if group is None or not groups.supports(group):
                others.compose(leaf, count)
            else:
                groups.compose(group, count)
        if not groups.mechanisms:
            return None
        sides = [others._curve_of(side, LOSSES_RTOL) for side in others._sides(None)]
        both = [sides[:1] * 2] if len(sides) == 1 else [sides, sides[::-1]]
        profiles = [GroupCurve(own, other, size).chain.profile() for own, other in both]
        pair = finite_pair(profiles[0], profiles[-1])
        groups.compose(PrivacyLoss(DiscretePair(pair.p.tolist(), pair.q.tolist())))
        both_ends = self._curve_of(direction, rtol), groups._curve_of(direction, rtol)
        return JoinedCurve(between, *both_ends)

    def _renyi(self) -> RDPAccountant | None:
        """Return a Rényi accountant of the composition as it is now, if it takes all of it."""
        return self._composed_by(RDPAccountant(adjacency=self._adjacency))

    def _renyi_curve(self) -> Curve | None:
        if self._single_use("remove") is not None:
            return None
        accountant = self._renyi()
        return None if accountant is None else accountant._curve_of(None, LOSSES_RTOL)

    # The rest of the protocol.

    def _epsilons_after(
        self, delta: float, mechanism: Mechanism, times: list[int], direction: DirectionName | None
    ) -> Array:
        repeated = self._blank().compose(mechanism)
        result = np.zeros(len(times))
        if not (self._only_steps and repeated._only_steps and 0.0 < delta < 1.0):
            return np.full(len(times), math.nan)
        counts, found = np.array(times, dtype=np.float64), np.empty((2, len(times)))
        for side in {*self._sides(direction), *repeated._sides(direction)}:
            name: PairName = "replace_one" if self._adjacency == "replace_one" else side
            steps, more = self._curve_of_steps, repeated._curve_of_steps
            steps.epsilon_after_into(more, counts, delta, name, found)
            found[1, wide_brackets(found, WIDE)] = math.nan
            np.maximum(result, found[1], out=result)  # NaN stays
        return result

    def _check_direction(self, direction: DirectionName) -> None:
        if direction not in DIRECTIONS:
            raise ValueError(f"direction must be 'remove', 'add' or None, got {direction!r}")
        if self._adjacency == "replace_one":
            raise ValueError(
                f"direction must be None where records are replaced, got {direction!r}"
            )

    def _beta_rtol(self) -> float:
        return LOSSES_RTOL if self._losses else super()._beta_rtol()

    def get_gdp_mu(self) -> GaussianLimit:
        """Return mu and gamma of Gaussian differential privacy.

        If only Gaussian steps were composed, the result is exact, with ``gamma = 0`` (``mu``
        rounded up). For one kind of Poisson-sampled Gaussian step it is the central-limit value and
        a bound of its error: the trade-off function is at least ``G_mu(alpha + gamma) - gamma``.
        ``mu`` alone may understate the privacy loss.

        Raises:
            ValueError: If steps of several kinds, other mechanisms, or replaced records make
                neither apply.

        Source: Dong, Roth, Su 2022, arXiv 1905.02383, Corollary 3.3 and Section 3.3.

        >>> from renyi import Gaussian, PLDAccountant
        >>> round(PLDAccountant().compose(Gaussian(2.0), 4).get_gdp_mu().mu, 9)
        1.0
        """
        steps, losses = self._contents()
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


class Side(Protocol):
    """The privacy curve of a composition in one direction. For one thread at a time."""

    def answer(self, wanted: Wanted, values: Array, out: Array, known: Array, /) -> None:
        """Answer epsilon at every delta in [0, 1], or delta at every epsilon in [0, inf].

        Lower and upper ends go into the two rows of ``out``; those of epsilon may be negative. If
        ``known[i]`` is proved to be a valid upper end, it may be returned.
        """


class OnLattice:
    """The curve of pairs composed on a lattice, or another curve, built on first use."""

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice

    def answer(self, wanted: Wanted, values: Array, out: Array, known: Array, /) -> None:
        """Answer epsilon or delta at every value."""
        one = self._epsilon if wanted == "epsilon" else self._delta
        for i, (value, enough) in enumerate(zip(values.tolist(), known.tolist(), strict=True)):
            out[:, i] = one(value, enough)

    def _epsilon(self, delta: float, enough: float) -> tuple[float, float]:
        if delta == 1.0:
            return 0.0, 0.0
        low, high = self._lattice().epsilon_bounds(delta, enough)
        # With nearly no loss, epsilon is 0 if delta(0) is at most the target.
        if low <= 0.0 < min(high, delta) and high > enough:
            high = 0.0 if self._lattice().delta_bounds(0.0, 0.0)[1] <= delta else high
        return low, high

    def _delta(self, epsilon: float, enough: float) -> tuple[float, float]:
        low, high = self._lattice().delta_bounds(epsilon, enough)
        return max(low, 0.0), min(high, 1.0)


class FromAbove:
    """The upper ends of the curve of one side, with trivial lower ends."""

    def __init__(self, side: Side) -> None:
        self._side = side

    def answer(self, wanted: Wanted, values: Array, out: Array, known: Array, /) -> None:
        """Answer epsilon or delta at every value."""
        self._side.answer(wanted, values, out, known)
        out[0] = 0.0


class Narrowed:
    """The curve of one side, whose wide brackets are intersected with those of a lattice."""

    def __init__(self, side: Side, lattice: Lattice, rtol: float) -> None:
        self._side, self._other = side, OnLattice(lattice)
        self._wide = max(WIDE, 2.0 * rtol)

    def answer(self, wanted: Wanted, values: Array, out: Array, known: Array, /) -> None:
        """Answer epsilon or delta at every value."""
        self._side.answer(wanted, values, out, known)
        places = [i for i in wide_brackets(out, self._wide) if out[1, i] > known[i]]
        if places:
            found = np.empty((2, len(places)))
            self._other.answer(wanted, values[places], found, known[places])
            out[0, places] = np.maximum(out[0, places], found[0])
            out[1, places] = np.minimum(out[1, places], found[1])


class WorseCurve:
    """The larger of the curves of one or two directions.

    Args:
        sides: The curve of one direction, or those of both.
        renyi: Returns the curve by Rényi divergences, which is above this one, or None. Wide upper
            ends are lowered to it.
        wide: The relative width of wide brackets.
    """

    def __init__(self, sides: list[Side], renyi: Callable[[], Curve | None], wide: float) -> None:
        self._sides = sides
        self._make_renyi = renyi
        self._wide = wide
        # Answers by Rényi divergences, at rising arguments.
        self._answers: dict[Wanted, Answers] = {"epsilon": [], "delta": []}

    def brackets(self, wanted: Wanted, values: Array) -> Array:
        """Return lower and upper ends, at least 0."""
        result, found = np.zeros((2, values.size)), np.empty((2, values.size))
        for side in self._sides:
            side.answer(wanted, values, found, result[0])
            np.maximum(result, found, out=result)
        if (places := wide_brackets(result, self._wide)) and self._renyi is not None:
            self._lower(self._renyi, wanted, values, result, places)
        return result

    def _lower(
        self, renyi: Curve, wanted: Wanted, values: Array, result: Array, places: list[int]
    ) -> None:
        """Lower upper ends to those of Rényi divergences.

        Both epsilon and delta fall as the other one grows: if the Rényi answer at a larger value is
        not below an upper end, the answer at the value is not either, and is not computed.
        """
        answers = self._answers[wanted]
        for i in sorted(places, key=values.__getitem__, reverse=True):
            value = float(values[i])
            place = bisect_left(answers, (value,))
            if place == len(answers) or answers[place][1] < result[1, i]:
                answer = upper_end(renyi, wanted, value)
                answers.insert(place, (value, answer))
                result[1, i] = min(result[1, i], answer)

    @cached_property
    def _renyi(self) -> Curve | None:
        return self._make_renyi()
