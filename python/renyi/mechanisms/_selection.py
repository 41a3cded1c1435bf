"""Choosing the best of several runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from renyi._validation import Range, number_in, shortest
from renyi.mechanisms._algebra import Mechanism
from renyi.mechanisms._arguments import mechanism_of, set_fields

__all__ = ["RepeatAndSelect"]

SHAPE = Range(-1.0, math.inf, "(]")
RUNS = Range(0.0, math.inf, "()")
TRUNCATED_RUNS = Range(1.0, math.inf, "[)")


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

    def _inner(self) -> tuple[Mechanism, ...]:
        return (self.mechanism,)
