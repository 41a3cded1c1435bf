"""Mechanisms that choose: one of finitely many answers, or the best of several runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

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
from renyi._rounding import exact_log_above
from renyi._validation import NON_NEGATIVE, PROBABILITY, Range, integer_of, number_in, shortest
from renyi.mechanisms.algebra import (
    Mechanism,
    UnsupportedMechanismError,
    curve_of,
    mechanism_of,
    pair_of,
    set_fields,
    set_numbers,
)
from renyi.mechanisms.steps import (
    LARGEST_LOSS,
    NOTHING,
    REPLACE,
    REVEALED,
    SMALLEST_LOSS,
    pure_curve,
    within_domain,
)

SHAPE = Range(-1.0, math.inf, "(]")
RUNS = Range(0.0, math.inf, "()")
TRUNCATED_RUNS = Range(1.0, math.inf, "[)")


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Mechanism):
    """Gives one of ``choices`` answers: the true one with probability ``p``, each other alike.

    Any two answers may be those of neighbours, whatever the adjacency.

    Parameters
    ----------
    p : float
        Probability of the true answer, in [0, 1]; at 1/choices the answer is uniform. With
        probability r of a uniform answer and the truth otherwise, p = 1 - r + r/choices.
    choices : int
        Number of answers, at least 1; a single one is always given.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> RandomizedResponse(0.75)
    RandomizedResponse(p=0.75, choices=2)
    """

    summary = "Randomized response, {choices} choices, the true one with {p}"
    assumption = (
        "randomized response: the answer of one record, true with the stated probability, each "
        "other answer alike"
    )
    symmetric = True
    dominates_removal = True
    may_lack_record = False

    p: float
    choices: int = 2

    def __post_init__(self) -> None:
        choices = integer_of(self.choices, "choices", 1)
        set_fields(self, p=number_in(self.p, "p", PROBABILITY), choices=choices)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        return Pair.randomized_response(self.p, self.choices)

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return the logarithm of the ratio of an answer's chances: p to (1 - p)/(choices - 1)."""
        p, choices = Fraction(self.p), self.choices
        if choices == 1 or p * choices == 1:
            return Fraction(0)
        if not 0 < p < 1:
            return None
        ratio = p * (choices - 1) / (1 - p)
        return exact_log_above(max(ratio, 1 / ratio))


@dataclass(frozen=True, slots=True)
class Exponential(Mechanism):
    """Has bounded range ``epsilon``: the privacy loss lies in an interval of that length.

    The exponential mechanism that chooses r with probability ∝ e^(epsilon u(r) / (2 Delta)) is one,
    and so is report-noisy-max with Gumbel noise of scale 2 Delta / epsilon. Delta is the
    sensitivity of the utilities u under the accountant's adjacency.

    Parameters
    ----------
    epsilon : float
        In [0, inf].

    Raises
    ------
    TypeError, ValueError
        If it is not a number in [0, inf].

    References
    ----------
    Durfee, Rogers 2019, arXiv 1905.04273 (bounded range); Dong, Durfee, Rogers 2020,
    arXiv 1909.13830.

    Examples
    --------
    >>> Exponential(0.5)
    Exponential(epsilon=0.5)
    """

    summary = "Exponential mechanism, loss in an interval of length {epsilon}"
    assumption = (
        "exponential mechanism: its privacy loss lies in an interval of the stated length for "
        "these neighbours"
    )
    symmetric = True

    epsilon: float

    def __post_init__(self) -> None:
        set_numbers(self, epsilon=NON_NEGATIVE)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        """Return the pair of losses in an interval of length epsilon.

        It dominates all mechanisms of that range; each delta is reached by one of them, a
        composition by none: randomized response, of that range too, bounds those from below.
        """
        epsilon = self.epsilon
        if epsilon == 0.0:
            return NOTHING
        if epsilon > LARGEST_LOSS:
            return Pair.bracketed(REVEALED, Pair.bounded_range(LARGEST_LOSS))
        if epsilon < SMALLEST_LOSS:
            return Pair.bracketed(Pair.bounded_range(SMALLEST_LOSS), NOTHING)
        below = Pair.approximate_privacy(0.5 * epsilon, 0.0)
        return Pair.bracketed(Pair.bounded_range(epsilon), below)

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        """Return the curve of the worst mechanism at each order, below that of the pair."""
        if self.epsilon > LARGEST_LOSS:
            return pure_curve(self.epsilon)
        return RenyiCurve.bounded_range(max(self.epsilon, SMALLEST_LOSS))

    def largest_loss(self, adjacency: Adjacency, direction: DirectionName) -> Fraction | None:
        """Return ``epsilon``."""
        return Fraction(self.epsilon) if self.epsilon < math.inf else None


@dataclass(frozen=True, slots=True)
class RepeatAndSelect(Mechanism):
    """Runs a mechanism a random number of times and releases the best output, as in tuning.

    Parameters
    ----------
    mechanism : Mechanism
        One run, with a score of its output.
    mean : float
        Mean number of runs, in [1, inf); in (0, inf) for the Poisson distribution, which may give
        no run at all.
    shape : float
        Of the negative binomial distribution truncated to at least one run, in (-1, inf]: 1 the
        geometric one, 0 the logarithmic one, inf the Poisson distribution, not truncated.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    Papernot, Steinke 2022, arXiv 2110.03620, Theorems 2 and 6.

    Examples
    --------
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
        shape = number_in(self.shape, "shape", SHAPE)
        runs = RUNS if shape == math.inf else TRUNCATED_RUNS
        set_fields(self, mean=number_in(self.mean, "mean", runs), shape=shape)

    def _headline(self) -> str:
        law = "Poisson" if self.shape == math.inf else f"shape {shortest(self.shape)}"
        return f"Best of a random number of runs, mean {shortest(self.mean)}, {law}, of"

    @property
    def parts(self) -> tuple[tuple[Mechanism, int], ...]:
        """One run."""
        return ((self.mechanism, 1),)

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        raise UnsupportedMechanismError(
            self,
            "the theorems on selection bound Rényi divergences, not pairs; RDPAccountant takes it",
        )

    def _curve(self, adjacency: Adjacency) -> RenyiCurve:
        run = curve_of(self.mechanism, adjacency)
        points: tuple[tuple[float, float], ...] = ()
        if self.shape == math.inf:
            divergence = np.empty(1)
            run.rdp_into(np.ones(1), divergence)
            if 0.0 < divergence[0] < math.inf:  # down to a delta that does not change the bound
                least = 1e-7 * min(float(divergence[0]), 1.0) / max(self.mean, 1.0)
                points = _profile(self.mechanism, adjacency, least)
        return run.repeat_and_select(self.mean, self.shape, points)


# Points of the privacy profile of a run, for the theorem that needs both views of it.

ANCHORS = 16  # points that are found by epsilon, which takes a search; others by delta
FALL = 0.02  # of log(delta), from point to point: a chord loses about FALL^2/8 of delta
LEAST_DELTA = 1e-250
LATTICE_RTOL, LATTICE_POINTS = 1e-5, 2**20
WIDE = 2e-5

Array = npt.NDArray[np.float64]


def _profile(
    mechanism: Mechanism, adjacency: Adjacency, least: float
) -> tuple[tuple[float, float], ...]:
    """Return (epsilon, delta) down to a least delta, in the worse direction; () if unknown."""
    try:
        same = mechanism.same_in_both_directions(adjacency)
        sides = [_Upper(mechanism, adjacency, side) for side in DIRECTIONS[: 1 if same else 2]]
    except UnsupportedMechanismError:
        return ()
    at_zero = float(max(side.deltas(np.zeros(1))[0] for side in sides))
    end = max(least, LEAST_DELTA)
    if at_zero <= end:
        return ((0.0, at_zero),)
    falls = np.linspace(0.0, math.log(at_zero / end), ANCHORS)
    wanted = at_zero * np.exp(-falls[1:])
    epsilons = np.max([side.epsilons(wanted) for side in sides], axis=0)
    epsilons = np.array([0.0, *epsilons[np.isfinite(epsilons)]])
    if epsilons.size < 2:
        return ((0.0, at_zero),)
    fine = np.linspace(0.0, epsilons.size - 1.0, math.ceil(falls[epsilons.size - 1] / FALL) + 1)
    asked = np.unique(np.interp(fine, np.arange(epsilons.size), epsilons))
    deltas = np.max([side.deltas(asked) for side in sides], axis=0)
    return tuple(zip(asked.tolist(), deltas.tolist(), strict=True))


class _Upper:
    """Upper ends of the privacy curve of one use of a mechanism in one direction."""

    def __init__(
        self, mechanism: Mechanism, adjacency: Adjacency, direction: DirectionName
    ) -> None:
        steps, epoch = mechanism.gaussian_steps, mechanism.allocated_epoch
        self._curve: SampledGaussianQuestions | AllocationQuestions | LossComposition
        if adjacency == REPLACE or (steps is None and epoch is None):
            parts = [(pair_of(m, adjacency, direction), n) for m, n in mechanism.releases]
            self._curve = LossComposition(parts, LATTICE_RTOL, LATTICE_POINTS)
        elif steps is not None:
            composed = SampledGaussianCurve()
            for step, count in steps:
                if (known := within_domain(step)) is not None:
                    composed.add(known.rate, known.noise, float(count))
            self._curve = composed.questions(direction)
        elif epoch is not None:
            self._curve = AllocationQuestions(*epoch, direction == "remove")

        # Rényi divergences may give a smaller upper end if the pairs are only bracketed.
        self._renyi = SampledSteps(None, "optimal")
        self._renyi.add_curve(None, curve_of(mechanism, adjacency), 1.0)
        loss = mechanism.largest_loss(adjacency, direction)
        self._largest_loss = math.inf if loss is None else float(loss) * (1.0 + 2.0**-52)

    def deltas(self, epsilons: Array) -> Array:
        found = np.empty((2, epsilons.size))
        if isinstance(self._curve, LossComposition):
            found[:] = np.transpose([self._curve.delta_bounds(e) for e in epsilons.tolist()])
        else:
            self._curve.delta_into(epsilons, found)
        for i in wide_brackets(found, WIDE):
            found[1, i] = min(found[1, i], self._renyi.delta(float(epsilons[i]))[0])
        found[1, epsilons >= self._largest_loss] = 0.0
        return np.asarray(np.clip(found[1], 0.0, 1.0))

    def epsilons(self, deltas: Array) -> Array:
        found = np.empty((2, deltas.size))
        if isinstance(self._curve, LossComposition):
            found[:] = np.transpose([self._curve.epsilon_bounds(d) for d in deltas.tolist()])
        else:
            self._curve.epsilon_into(deltas, found)
        for i in wide_brackets(found, WIDE):
            found[1, i] = min(found[1, i], self._renyi.epsilon(float(deltas[i]))[0])
        return np.asarray(np.clip(found[1], 0.0, self._largest_loss))
