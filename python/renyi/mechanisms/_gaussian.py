"""Gaussian noise: on one query, and on one of random sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from renyi._validation import (
    FINITE_NON_NEGATIVE,
    NON_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    number_in,
    numbers_in,
    shortest,
)
from renyi.mechanisms._algebra import Mechanism
from renyi.mechanisms._arguments import set_fields

__all__ = ["Gaussian", "GaussianMixture"]

SUM_TOLERANCE = 1e-12  # of probabilities


@dataclass(frozen=True, slots=True)
class Gaussian(Mechanism):
    """Adds N(0, noise_multiplier^2) to a query of L2 sensitivity 1.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity, in [0, inf]. At 0 nothing is
        protected, at infinity nothing released.

    Raises
    ------
    TypeError, ValueError
        If it is not a real number, NaN or negative.

    Examples
    --------
    >>> Gaussian(1.1)
    Gaussian(noise_multiplier=1.1)
    >>> Gaussian(2) == Gaussian(2.0)
    True
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        noise = number_in(self.noise_multiplier, "noise_multiplier", NON_NEGATIVE)
        object.__setattr__(self, "noise_multiplier", noise)

    def _headline(self) -> str:
        return f"Gaussian noise, multiplier {shortest(self.noise_multiplier)}"


@dataclass(frozen=True, slots=True, init=False)
class GaussianMixture(Mechanism):
    """Adds Gaussian noise to a query that a record moves by a random amount.

    A user whose records are sampled one by one moves the sum by as many as were drawn.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise, in the unit of ``sensitivities``, in (0, inf].
    sensitivities : sequence of float
        How far the query may move in the L2 norm, each in [0, inf).
    probabilities : sequence of float
        With which probability, as many as ``sensitivities``, each in [0, 1], of sum 1 within 1e-12.

    Raises
    ------
    TypeError, ValueError
        If a number is not permitted, or the sequences are empty or differ in length.

    Examples
    --------
    >>> print(GaussianMixture(2.0, [0, 1, 2], [0.81, 0.18, 0.01]).describe())
    Gaussian noise, multiplier 2, of sensitivity 0 (0.81), 1 (0.18), 2 (0.01)
    """

    noise_multiplier: float
    sensitivities: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __init__(
        self,
        noise_multiplier: float,
        sensitivities: Iterable[float],
        probabilities: Iterable[float],
    ) -> None:
        noise = number_in(noise_multiplier, "noise_multiplier", POSITIVE)
        moves = numbers_in(sensitivities, "sensitivities", FINITE_NON_NEGATIVE)
        weights = numbers_in(probabilities, "probabilities", PROBABILITY)
        if not moves:
            raise ValueError("sensitivities must be at least one number, got none")
        if len(weights) != len(moves):
            raise ValueError(
                f"probabilities must be as many as sensitivities, {len(moves)}, got {len(weights)}"
            )
        total = math.fsum(weights)
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise ValueError(f"probabilities must be numbers of sum 1, got numbers of sum {total}")
        set_fields(self, noise_multiplier=noise, sensitivities=moves, probabilities=weights)

    def _headline(self) -> str:
        moves = list(zip(self.sensitivities, self.probabilities, strict=True))
        words = ", ".join(f"{shortest(move)} ({shortest(weight)})" for move, weight in moves)
        if len(moves) > 6:
            low, high = min(self.sensitivities), max(self.sensitivities)
            words = f"random among {len(moves)} from {shortest(low)} to {shortest(high)}"
        return (
            f"Gaussian noise, multiplier {shortest(self.noise_multiplier)}, of sensitivity {words}"
        )
