"""The best output of a random number of runs, and the privacy profile of a run that it needs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from renyi._adjacency import DIRECTIONS, Adjacency, DirectionName
from renyi._engine import (
    AllocationQuestions,
    LossComposition,
    Pair,
    RenyiCurve,
    SampledGaussianCurve,
    SampledGaussianQuestions,
    SampledSteps,
    wide_brackets,
)
from renyi._validation import Range, float_above, number_in, real_of, set_fields, shortest
from renyi.mechanisms._noise import Gaussian
from renyi.mechanisms.algebra import (
    Mechanism,
    UnsupportedMechanismError,
    curve_of,
    mechanism_of,
    pair_of,
)
from renyi.mechanisms.selected_pair import (
    ATTAINED_ERROR,
    Runs,
    attained,
    attained_points,
    finite_pair,
    log_ratio,
    selected,
)
from renyi.mechanisms.steps import NOTHING, REPLACE, within_domain

SHAPES = "a number in (-1, inf] or a whole number in [-1e9, -1]"
RUNS = Range(0.0, math.inf, "()")
LARGEST_SHAPE = 1e6  # of a pair: beyond, weights overflow
TRUNCATED_RUNS = Range(1.0, math.inf, "[)")


@dataclass(frozen=True, slots=True)
class RepeatAndSelect(Mechanism):
    """Runs a mechanism a random number of times and releases the best output, as in tuning.

    Args:
        mechanism: One run, with a score of its output.
        mean: Mean number of runs, in [1, inf); in (0, inf) for the Poisson and in (0, n] for the
            binomial distribution, which may give no run at all.
        shape: The shape of the negative binomial distribution, truncated to at least one run, in
            (-1, inf]: 1 is the geometric, 0 the logarithmic distribution, inf the Poisson
            distribution, not truncated. A whole number -n <= -1 is the binomial distribution: each
            of n runs takes place by a coin.

    Source: Papernot, Steinke 2022, arXiv 2110.03620, Theorems 2 and 6, for Rényi divergences. The
    pair is computed from the privacy profile of a run, see `renyi.mechanisms.selected_pair`; so is
    the Rényi curve of a binomial number of runs. Some order of the scores, for a run that has this
    profile, gives the lower ends.

    >>> from renyi.mechanisms import Gaussian
    >>> print(RepeatAndSelect(Gaussian(4.0), 10, 1).describe())
    Best of a random number of runs, mean 10, shape 1, of
      Gaussian noise, multiplier 4
    """

    mechanism: Mechanism
    mean: float
    shape: float

    def __post_init__(self) -> None:
        mechanism_of(self.mechanism)
        shape = real_of(self.shape, "shape", SHAPES)
        runs = RUNS if shape == math.inf else TRUNCATED_RUNS
        if shape <= -1.0 and shape >= -1e9 and shape == math.floor(shape):
            runs = Range(0.0, -shape, "(]")
        elif not shape > -1.0:
            raise ValueError(f"shape must be {SHAPES}, got {self.shape!r}")
        set_fields(self, mean=number_in(self.mean, "mean", runs), shape=shape)

    def _headline(self) -> str:
        law = "Poisson" if self.shape == math.inf else f"shape {shortest(self.shape)}"
        if self.shape <= -1.0:
            law = f"binomial of {shortest(-self.shape)}"
        return f"Best of a random number of runs, mean {shortest(self.mean)}, {law}, of"

    @property
    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """One run."""
        return ((self.mechanism, 1),)

    def check_pair(self, adjacency: Adjacency) -> None:
        """Raise `UnsupportedMechanismError` unless `dominating_pair` knows one."""
        self.check_adjacency(adjacency)
        if LARGEST_SHAPE < self.shape < math.inf:
            raise UnsupportedMechanismError(
                self, f"PLDAccountant takes shapes up to {LARGEST_SHAPE:g} and inf"
            )
        run = self.mechanism
        if adjacency == REPLACE or (run.gaussian_steps is None and run.allocated_epoch is None):
            for part, _ in run.releases:
                part.check_pair(adjacency)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        self.check_pair(adjacency)
        one, other = self._profiles(adjacency)
        run = finite_pair(one, other)
        if direction == "add":
            run = run.reversed()
        p, q = selected(Runs(self.mean, self.shape), run)
        return Pair.bracketed(Pair.discrete(p, q), NOTHING)

    def attained_pair(self, adjacency: Adjacency, direction: DirectionName) -> tuple[Pair, float]:
        """Return the pair of one order of scores, for a run whose privacy profile is attained."""
        found = []
        for side in _sides(self.mechanism, adjacency):
            epsilons = _profile([side], LEAST_ATTAINED, POINTS_ATTAINED[side.by_lattice])[0]
            found.append(attained_points(np.exp(epsilons), *side.brackets(epsilons)))
        forward, backward = found[0], found[-1]
        if direction == "add":
            forward, backward = backward, forward
        p, q = attained(Runs(self.mean, self.shape), forward, backward)
        return Pair.discrete(p, q), ATTAINED_ERROR + 1e-13 * self.mean

    def _profiles(self, adjacency: Adjacency) -> tuple[Profile, Profile]:
        """Return the profiles of a run for a removed and for an added record."""
        sides = _sides(self.mechanism, adjacency)
        profiles = [
            _profile([side], LEAST[side.by_lattice], POINTS[side.by_lattice]) for side in sides
        ]
        return profiles[0], profiles[-1]

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        run = curve_of(self.mechanism, adjacency)
        if self.shape <= -1.0:
            pair = finite_pair(*self._profiles(adjacency))
            most = max(log_ratio(Runs(self.mean, self.shape), p) for p in (pair, pair.reversed()))
            return run.repeat_and_select(self.mean, self.shape, (), most)
        points: tuple[tuple[float, float], ...] = ()
        if self.shape == math.inf:
            divergence = np.empty(1)
            run.rdp_into(np.ones(1), divergence)
            if 0.0 < divergence[0] < math.inf:  # a smaller delta does not change the bound
                least = 1e-7 * min(float(divergence[0]), 1.0) / max(self.mean, 1.0)
                points = self._points(adjacency, least)
        return run.repeat_and_select(self.mean, self.shape, points)

    def _points(self, adjacency: Adjacency, least: float) -> tuple[tuple[float, float], ...]:
        """Return points (epsilon, delta) of the worse direction, for Theorem 6; () if unknown."""
        try:
            sides = _sides(self.mechanism, adjacency)
        except UnsupportedMechanismError:
            return ()
        found = _profile(sides, max(least, LEAST_DELTA), None)
        return tuple(zip(*(values.tolist() for values in found), strict=True))


@dataclass(frozen=True, slots=True)
class Parallel(Mechanism):
    """Runs each of several mechanisms on a part of the data; it costs as much as the costliest.

    The parts are disjoint, and the part of a record depends on nothing but the record: counts by
    region are one release, not as many as there are regions. The mechanism of one part may depend
    on the releases of others. A replaced record may change its part, so that two parts differ: no
    bound is known here for this case, nor for a person who has records in several parts.

    Args:
        mechanisms: The mechanism of each part, at least one; equal ones may be given once.

    The Rényi divergence at each order is the largest of the parts. The pair has the largest delta
    of the parts at many epsilons, joined by chords in e^epsilon; if all parts are Gaussian, it is
    the pair of the least noise.

    Source: McSherry 2009, SIGMOD, Theorem 4.

    >>> from renyi import Laplace, PLDAccountant
    >>> regions = Parallel([Laplace(2.0), Laplace(1.0)])
    >>> PLDAccountant().compose(regions).get_epsilon(0.0)
    1.0
    """

    mechanisms: tuple[Mechanism, ...]
    adjacencies: ClassVar[tuple[Adjacency, ...]] = ("add_remove", "zero_out")
    summary: ClassVar[str] = "On disjoint parts, one of each"
    assumption: ClassVar[str] = (
        "disjoint parts: which part a record is in depends on the record alone, and on each part "
        "runs one of the stated mechanisms"
    )

    def __post_init__(self) -> None:
        if not isinstance(self.mechanisms, Iterable):
            raise TypeError(f"mechanisms must be several mechanisms, got {self.mechanisms!r}")
        found = dict.fromkeys(mechanism_of(one) for one in self.mechanisms)
        if not found:
            raise ValueError("mechanisms must be at least one, got none")
        set_fields(self, mechanisms=tuple(found))

    @property
    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """The mechanisms, each once."""
        return tuple((mechanism, 1) for mechanism in self.mechanisms)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        noises = [one.noise_multiplier for one in self.mechanisms if isinstance(one, Gaussian)]
        if len(self.mechanisms) == 1:
            return pair_of(self.mechanisms[0], adjacency, direction)
        if len(noises) == len(self.mechanisms):
            return pair_of(Gaussian(min(noises)), adjacency, direction)
        for mechanism in self.mechanisms:
            for part, _ in mechanism.releases:
                part.check_pair(adjacency)
        profiles = []
        for side in DIRECTIONS:
            sides = [_Upper(mechanism, adjacency, side) for mechanism in self.mechanisms]
            slow = any(one.by_lattice for one in sides)
            profiles.append(_profile(sides, LEAST[slow], POINTS[slow]))
        p, q = finite_pair(*(profiles if direction == "remove" else profiles[::-1]))
        return Pair.bracketed(Pair.discrete(p, q), NOTHING)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        return reduce(RenyiCurve.larger, (curve_of(one, adjacency) for one in self.mechanisms))

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return the largest of the losses of the parts."""
        losses = [one.largest_loss(adjacency, direction) for one in self.mechanisms]
        known = [loss for loss in losses if loss is not None]
        return max(known) if len(known) == len(losses) else None

    def without_failure(self) -> tuple[Mechanism, float]:
        """Return the mechanism of parts without failures, and the largest chance of a failure."""
        pure, failing = zip(*(one.without_failure() for one in self.mechanisms), strict=True)
        return (Parallel(pure), max(failing)) if max(failing) else (self, 0.0)


# The privacy profile of a run, by certified upper ends, as the theorems need it.

ANCHORS = 16  # points found at a given delta, which takes a search; the others have a given epsilon
FALL = 0.02  # of log(delta) between points: a chord loses about FALL^2/8 of delta
LEAST_DELTA = 1e-250
LEAST, POINTS = (1e-60, 1e-25), (800, 120)  # of the profile of a pair: by formula, by lattices
LEAST_ATTAINED, POINTS_ATTAINED = 1e-13, (300, 80)
LATTICE_RTOL, LATTICE_POINTS = 1e-4, 2**16  # these give a hundred answers in a second
LARGEST_EPSILON = 700.0
WIDE = 2e-5

Array = npt.NDArray[np.float64]
Profile = tuple[Array, Array]


def _sides(mechanism: Mechanism, adjacency: Adjacency) -> list[_Upper]:
    """Return the curves of both directions, or one where they are the same."""
    same = all(part.same_in_both_directions(adjacency) for part, _ in mechanism.releases)
    return [_Upper(mechanism, adjacency, side) for side in DIRECTIONS[: 2 - same]]


def _profile(sides: list[_Upper], least: float, points: int | None) -> Profile:
    """Return epsilons, from 0, and deltas at or above the worst of ``sides``, down to ``least``.

    Points lie closer where delta is larger. If ``points`` is None they are `FALL` apart everywhere.
    """
    ends = np.max([side.deltas(np.array([0.0, math.inf])) for side in sides], axis=0)
    at_zero, end = float(ends[0]), max(least, float(ends[1]) * (1.0 + 1e-6))
    if at_zero <= end:
        return np.zeros(1), ends[:1]
    power = 1.0 if points is None else 1.5
    falls = math.log(at_zero / end) * np.linspace(0.0, 1.0, ANCHORS) ** power
    wanted = at_zero * np.exp(-falls[1:])
    epsilons = np.max([side.epsilons(wanted) for side in sides], axis=0)
    epsilons = np.array([0.0, *epsilons[epsilons < LARGEST_EPSILON]])
    if epsilons.size < 2:
        return np.zeros(1), ends[:1]
    count = points or math.ceil(falls[epsilons.size - 1] / FALL)
    fine = np.linspace(0.0, epsilons.size - 1.0, count + 1)
    largest = [loss for loss in (side.largest_loss for side in sides) if loss < LARGEST_EPSILON]
    asked = np.interp(fine, np.arange(epsilons.size), epsilons)
    asked = np.unique(np.concatenate([asked, largest]))
    return asked, np.max([side.deltas(asked) for side in sides], axis=0)


class _Upper:
    """Upper ends of the privacy curve of one use of a mechanism in one direction."""

    def __init__(
        self, mechanism: Mechanism, adjacency: Adjacency, direction: DirectionName
    ) -> None:
        steps, epoch = mechanism.gaussian_steps, mechanism.allocated_epoch
        self._curve: SampledGaussianQuestions | AllocationQuestions | LossComposition
        known = [(within_domain(step), n) for step, n in steps or ()]
        revealed = any(step is not None and step.noise == 0.0 for step, _ in known)
        if adjacency == REPLACE or revealed or (steps is None and epoch is None):
            parts = [(pair_of(m, adjacency, direction), n) for m, n in mechanism.releases]
            self._curve = LossComposition(parts, LATTICE_RTOL, LATTICE_POINTS)
        elif steps is not None:
            composed = SampledGaussianCurve()
            for step, count in known:
                if step is not None:
                    composed.add(step.rate, step.noise, float(count))
            self._curve = composed.questions(direction)
        elif epoch is not None:
            self._curve = AllocationQuestions(*epoch, direction == "remove")

        # Rényi divergences may give a smaller upper end if the pairs are only bracketed.
        self._renyi = SampledSteps(None, "optimal")
        self._renyi.add_curve(None, curve_of(mechanism, adjacency), 1.0)
        loss = mechanism.largest_loss(adjacency, direction)
        self.largest_loss = math.inf if loss is None or loss > 1e300 else float_above(loss)

    @property
    def by_lattice(self) -> bool:
        """Whether an answer takes milliseconds."""
        return isinstance(self._curve, LossComposition)

    def deltas(self, epsilons: Array) -> Array:
        return np.asarray(self.brackets(epsilons)[1])

    def brackets(self, epsilons: Array) -> Array:
        found = np.empty((2, epsilons.size))
        if isinstance(self._curve, LossComposition):
            found[:] = np.transpose([self._curve.delta_bounds(e) for e in epsilons.tolist()])
        else:
            self._curve.answer("delta", epsilons, found)
        for i in wide_brackets(found, WIDE):
            found[1, i] = min(found[1, i], self._renyi.delta(float(epsilons[i]))[0])
        found[:, epsilons >= self.largest_loss] = 0.0
        return np.asarray(np.clip(found, 0.0, 1.0))

    def epsilons(self, deltas: Array) -> Array:
        found = np.empty((2, deltas.size))
        if isinstance(self._curve, LossComposition):
            found[:] = np.transpose([self._curve.epsilon_bounds(d) for d in deltas.tolist()])
        else:
            self._curve.answer("epsilon", deltas, found)
        for i in wide_brackets(found, WIDE):
            found[1, i] = min(found[1, i], self._renyi.epsilon(float(deltas[i]))[0])
        return np.asarray(np.clip(found[1], 0.0, self.largest_loss))
