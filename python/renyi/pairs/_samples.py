"""Poisson sampling: ((1-q) Q + q P, Q), and its reverse."""

from __future__ import annotations

from dataclasses import dataclass

from renyi._pair import Pair
from renyi._validation import probability_of
from renyi.pairs._distribution import DominatingPair, ReversedPair, require_pair, within
from renyi.pairs._noise import GaussianPair

__all__ = [
    "PoissonSampledPair",
    "poisson_sampled_pair",
    "sampled_gaussian_pair",
]


@dataclass(frozen=True, slots=True)
class PoissonSampledPair(DominatingPair):
    """The record takes part with probability ``sample_rate``: ((1-q) Q + q P, Q).

    The loss of the base pair is transformed monotonically, l -> log1p(q expm1(l)).

    Parameters
    ----------
    base : DominatingPair
        The pair (P, Q) of the mechanism on the sample, P with the record.
    sample_rate : float
        q in [0, 1].

    Notes
    -----
    This is the direction "remove"; "add" is its ``ReversedPair``, see ``poisson_sampled_pair``.
    """

    base: DominatingPair
    sample_rate: float

    def __post_init__(self) -> None:
        require_pair(self.base, "base")
        object.__setattr__(self, "sample_rate", probability_of(self.sample_rate, "sample_rate"))

    def _build(self) -> Pair:
        return self.base._pair.sampled(self.sample_rate)


def poisson_sampled_pair(
    base: DominatingPair, sample_rate: float, direction: str = "remove"
) -> DominatingPair:
    """Return the pair of a Poisson-sampled mechanism in one direction.

    Parameters
    ----------
    base : DominatingPair
        (P, Q) of the mechanism itself, P with the record and Q without.
    sample_rate : float
        In [0, 1].
    direction : {"remove", "add"}
        ((1-q) Q + q P, Q) or (Q, (1-q) Q + q P).

    Raises
    ------
    TypeError, ValueError
        On another type, rate or direction.

    Examples
    --------
    >>> from renyi.pairs import GaussianPair, delta_bounds
    >>> lower, upper = delta_bounds([(poisson_sampled_pair(GaussianPair(1.0), 0.1), 1)], 0.5)
    >>> bool(lower <= 0.00203253692034 + 1e-15 and upper >= 0.00203253692034 - 1e-15)
    True
    """
    if direction not in ("remove", "add"):
        raise ValueError(f"direction must be 'remove' or 'add', got {direction!r}")
    sampled = PoissonSampledPair(base, sample_rate)
    return sampled if direction == "remove" else ReversedPair(sampled)


def sampled_gaussian_pair(
    sample_rate: float, sigma: float, direction: str = "remove"
) -> DominatingPair:
    """Return the Poisson-sampled Gaussian in one direction, see ``poisson_sampled_pair``."""
    mu = 1.0 / within(sigma, "sigma", 0.0, 1e6, above=True)
    return poisson_sampled_pair(GaussianPair(mu), sample_rate, direction)
