"""Poisson sampling: ((1-q) Q + q P, Q), and its reverse."""

from __future__ import annotations

from dataclasses import dataclass

from renyi._pair import Pair
from renyi._validation import probability_of
from renyi.pld._distribution import PrivacyLossDistribution, Reversed, require_pair, within
from renyi.pld._noise import Gaussian

__all__ = [
    "PoissonSampled",
    "poisson_sampled",
    "sampled_gaussian",
]


@dataclass(frozen=True, slots=True)
class PoissonSampled(PrivacyLossDistribution):
    """The record takes part with probability ``sample_rate``: ((1-q) Q + q P, Q).

    The loss of the base pair is transformed monotonically, l -> log1p(q expm1(l)).

    Parameters
    ----------
    base : PrivacyLossDistribution
        The pair (P, Q) of the mechanism on the sample, P with the record.
    sample_rate : float
        q in [0, 1].

    Notes
    -----
    This is the direction "remove"; "add" is its ``Reversed``, see ``poisson_sampled``.
    """

    base: PrivacyLossDistribution
    sample_rate: float

    def __post_init__(self) -> None:
        require_pair(self.base, "base")
        object.__setattr__(self, "sample_rate", probability_of(self.sample_rate, "sample_rate"))

    def _build(self) -> Pair:
        return self.base._pair.sampled(self.sample_rate)


def poisson_sampled(
    base: PrivacyLossDistribution, sample_rate: float, direction: str = "remove"
) -> PrivacyLossDistribution:
    """Return the pair of a Poisson-sampled mechanism in one direction.

    Parameters
    ----------
    base : PrivacyLossDistribution
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
    >>> from renyi.pld import Gaussian, delta_bounds
    >>> lower, upper = delta_bounds([(poisson_sampled(Gaussian(1.0), 0.1), 1)], 0.5)
    >>> bool(lower <= 0.00203253692034 + 1e-15 and upper >= 0.00203253692034 - 1e-15)
    True
    """
    if direction not in ("remove", "add"):
        raise ValueError(f"direction must be 'remove' or 'add', got {direction!r}")
    sampled = PoissonSampled(base, sample_rate)
    return sampled if direction == "remove" else Reversed(sampled)


def sampled_gaussian(
    sample_rate: float, sigma: float, direction: str = "remove"
) -> PrivacyLossDistribution:
    """Return the Poisson-sampled Gaussian in one direction, see ``poisson_sampled``."""
    mu = 1.0 / within(sigma, "sigma", 0.0, 1e6, above=True)
    return poisson_sampled(Gaussian(mu), sample_rate, direction)
