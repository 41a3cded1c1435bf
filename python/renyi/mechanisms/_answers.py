"""Mechanisms that choose one of finitely many answers."""

from __future__ import annotations

from dataclasses import dataclass

from renyi._validation import NON_NEGATIVE, PROBABILITY, integer_of, number_in, shortest
from renyi.mechanisms._algebra import Mechanism
from renyi.mechanisms._arguments import set_fields, set_numbers

__all__ = ["Exponential", "RandomizedResponse"]


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

    p: float
    choices: int = 2

    def __post_init__(self) -> None:
        choices = integer_of(self.choices, "choices", 1)
        set_fields(self, p=number_in(self.p, "p", PROBABILITY), choices=choices)

    def _headline(self) -> str:
        return f"Randomized response, {self.choices} choices, the true one with {shortest(self.p)}"


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

    epsilon: float

    def __post_init__(self) -> None:
        set_numbers(self, epsilon=NON_NEGATIVE)

    def _headline(self) -> str:
        return f"Exponential mechanism, loss in an interval of length {shortest(self.epsilon)}"
