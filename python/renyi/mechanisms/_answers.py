"""Mechanisms that choose one of finitely many answers."""

import math
from dataclasses import dataclass
from fractions import Fraction

from renyi._adjacency import Adjacency, DirectionName
from renyi._engine import Pair, RenyiCurve
from renyi._rounding import exact_log_above
from renyi._validation import PROBABILITY, integer_of, number_in, set_fields
from renyi.mechanisms._noise import laplace_pair
from renyi.mechanisms.algebra import Mechanism, OfLargestLoss
from renyi.mechanisms.steps import LARGEST_LOSS, NOTHING, REVEALED, SMALLEST_LOSS, pure_curve


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Mechanism):
    """Gives one of ``choices`` answers: the true one with probability ``p``, others equally likely.

    Any two answers may be those of neighbours, whatever the adjacency.

    Args:
        p: Probability of the true answer, in [0, 1]; at 1/choices the answer is uniform. If the
            answer is uniform with probability r and true otherwise, p = 1 - r + r/choices.
        choices: Number of answers, at least 1; a single answer is always given.

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
class Exponential(OfLargestLoss):
    """Has bounded range ``epsilon``: the privacy loss lies in an interval of that length.

    The exponential mechanism that chooses r with probability ∝ e^(epsilon u(r) / (2 Delta)) is one,
    and so is report-noisy-max with Gumbel noise of scale 2 Delta / epsilon. Delta is the
    sensitivity of the utilities u under the accountant's adjacency.

    Args:
        epsilon: In [0, inf].

    Source: Durfee, Rogers 2019, arXiv 1905.04273 (bounded range); Dong, Durfee, Rogers 2020, arXiv
    1909.13830.

    >>> Exponential(0.5)
    Exponential(epsilon=0.5)
    """

    summary = "Exponential mechanism, loss in an interval of length {epsilon}"
    assumption = (
        "exponential mechanism: its privacy loss lies in an interval of the stated length for "
        "these neighbours"
    )

    epsilon: float

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        """Return the pair of losses in an interval of length epsilon.

        The pair dominates all mechanisms of that range. One of them attains each delta, none
        attains a composition: randomized response, which has that range, bounds compositions from
        below.
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


@dataclass(frozen=True, slots=True)
class PermuteAndFlip(OfLargestLoss):
    """Chooses an answer by permute-and-flip: report-noisy-max with exponential noise.

    Answers are visited in random order; r is taken with probability e^(epsilon (u(r) - max u) /
    (2 Delta)), else the next one is visited. Delta is the sensitivity of the utilities u under the
    accountant's adjacency. Report-noisy-max with Laplace noise of scale 2 Delta / epsilon costs no
    more.

    Args:
        epsilon: The largest privacy loss, in [0, inf].

    The pair is that of Laplace noise of multiplier 1/epsilon. Let b = 2 Delta / epsilon, and let M
    and N be the largest noisy utilities in a set S of answers and outside: S wins if M > N.
    Neighbours change this chance the most if they raise the utilities of S by Delta and lower the
    others: M - N moves by 2 Delta. The hazard rate of one noise is at most 1/b. So is that of the
    largest of several: it is 1/b times the chance that exactly one is above over that of any. So is
    that of M - N and of N - M, by the mean over the other variable. Therefore the chance G(s) that
    M + s > N has G' <= min(G, 1 - G)/b, with equality for the Laplace distribution: no other noise
    moves G(0) to G(2 Delta) further. Two answers attain this.

    Source: McKenna, Sheldon 2020, arXiv 2010.12603; Ding and others 2021, arXiv 2105.07260 (it is
    report-noisy-max with exponential noise).

    >>> from renyi import PLDAccountant, PureDP
    >>> uses = PLDAccountant().compose(PermuteAndFlip(0.5), 20)
    >>> round(uses.get_epsilon(1e-5), 3)
    9.106
    >>> round(PLDAccountant().compose(PureDP(0.5), 20).get_epsilon(1e-5), 3)
    9.859
    """

    summary = "Permute-and-flip, loss at most {epsilon}"
    assumption = (
        "permute-and-flip: epsilon is of the sensitivity of the utilities for these neighbours"
    )

    epsilon: float

    def _pair(self, adjacency: Adjacency, direction: DirectionName) -> Pair:
        if self.epsilon in (0.0, math.inf):
            return NOTHING if self.epsilon == 0.0 else REVEALED
        scale = 1.0 / self.epsilon  # to half an ulp
        upper, lower = (laplace_pair(math.nextafter(scale, end)) for end in (0.0, math.inf))
        return Pair.bracketed(upper, lower)
