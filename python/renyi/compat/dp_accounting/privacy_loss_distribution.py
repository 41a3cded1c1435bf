"""The factories of ``dp_accounting.pld.privacy_loss_distribution``, with exact curves behind them.

There is no grid: what is said of one is accepted and unused, but for
``pessimistic_estimate=False``, since what is answered here is an upper bound.

>>> step = from_gaussian_mechanism(1.0, sampling_prob=0.01)
>>> round(step.self_compose(1000).get_epsilon_for_delta(1e-5), 4)
1.8282
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import privacy_loss_distribution

from renyi import mechanisms as own
from renyi._validation import float_above
from renyi.accountants import PLDAccountant
from renyi.compat.dp_accounting._accountants import ADJACENCY
from renyi.compat.dp_accounting._events import from_dp_event
from renyi.pairs import DiscretePair

__all__ = [
    "PrivacyLossDistribution",
    "from_discrete_gaussian_mechanism",
    "from_discrete_laplace_mechanism",
    "from_gaussian_mechanism",
    "from_laplace_mechanism",
    "from_mixture_gaussian_mechanism",
    "from_privacy_loss_distribution",
    "from_privacy_parameters",
    "from_randomized_response",
    "from_truncated_subsampled_gaussian_mechanism",
    "from_two_probability_mass_functions",
    "identity",
]

ADD_OR_REMOVE = NeighboringRelation.ADD_OR_REMOVE_ONE
GRID = {
    "log_mass_truncation_bound",
    "pessimistic_estimate",
    "truncation_bound",
    "use_connect_dots",
    "value_discretization_interval",
}


class PrivacyLossDistribution:
    """The privacy loss of a composition.

    Attributes:
        accountant: What it answers from.
    """

    def __init__(self, accountant: PLDAccountant) -> None:
        self.accountant = accountant

    def compose(
        self, other: PrivacyLossDistribution, tail_mass_truncation: float = 0.0
    ) -> PrivacyLossDistribution:
        """Return the loss of both.

        Raises:
            ValueError: If they are of different neighbouring relations.
        """
        mine, theirs = self.accountant.adjacency, other.accountant.adjacency
        if mine != theirs:
            raise ValueError(f"other must be of the adjacency {mine!r}, got {theirs!r}")
        both = self.accountant.copy()
        for mechanism, count in other.accountant.mechanisms:
            both.compose(mechanism, count)
        return PrivacyLossDistribution(both)

    def self_compose(
        self, num_times: int, tail_mass_truncation: float = 0.0
    ) -> PrivacyLossDistribution:
        """Return the loss of so many uses."""
        all_uses = PLDAccountant(adjacency=self.accountant.adjacency)
        for mechanism, count in self.accountant.mechanisms:
            all_uses.compose(mechanism, count * num_times)
        return PrivacyLossDistribution(all_uses)

    def get_delta_for_epsilon(self, epsilon: npt.ArrayLike) -> Any:
        """Return delta, rounded up, for one epsilon or an array."""
        return self.accountant.get_delta(epsilon)

    def get_epsilon_for_delta(self, delta: float) -> float:
        """Return epsilon, rounded up."""
        return self.accountant.get_epsilon(delta)

    def get_delta_for_epsilon_for_composed_pld(
        self, other: PrivacyLossDistribution, epsilon: float
    ) -> float:
        """Return delta of both, rounded up."""
        return self.compose(other).accountant.get_delta(epsilon)


def identity(**grid: Any) -> PrivacyLossDistribution:
    """Return the loss of nothing."""
    return _of(None, grid)


def from_gaussian_mechanism(
    standard_deviation: float,
    sensitivity: float = 1.0,
    *,
    sampling_prob: float = 1.0,
    neighboring_relation: Any = ADD_OR_REMOVE,
    **grid: Any,
) -> PrivacyLossDistribution:
    """Return the loss of Gaussian noise on a Poisson sample, or on all data."""
    noise = own.Gaussian(_ratio(standard_deviation, sensitivity))
    return _of(_sampled(noise, sampling_prob), grid, neighboring_relation)


def from_laplace_mechanism(
    parameter: float, sensitivity: float = 1.0, *, sampling_prob: float = 1.0, **grid: Any
) -> PrivacyLossDistribution:
    """Return the loss of Laplace noise of scale ``parameter`` on a Poisson sample."""
    return _of(_sampled(own.Laplace(_ratio(parameter, sensitivity)), sampling_prob), grid)


def from_discrete_laplace_mechanism(
    parameter: float, sensitivity: int = 1, *, sampling_prob: float = 1.0, **grid: Any
) -> PrivacyLossDistribution:
    """Return the loss of discrete Laplace noise of scale 1/``parameter`` on a Poisson sample."""
    noise = own.DiscreteLaplace(_ratio(1.0, parameter), sensitivity)
    return _of(_sampled(noise, sampling_prob), grid)


def from_discrete_gaussian_mechanism(
    sigma: float, sensitivity: int = 1, *, sampling_prob: float = 1.0, **grid: Any
) -> PrivacyLossDistribution:
    """Return the loss of discrete Gaussian noise on a Poisson sample."""
    return _of(_sampled(own.DiscreteGaussian(sigma, sensitivity), sampling_prob), grid)


def from_mixture_gaussian_mechanism(
    standard_deviation: float,
    sensitivities: Sequence[float],
    sampling_probs: Sequence[float],
    **grid: Any,
) -> PrivacyLossDistribution:
    """Return the loss of Gaussian noise on a random one of several moves."""
    event = dp_event.MixtureOfGaussiansDpEvent(standard_deviation, sensitivities, sampling_probs)
    return _of(from_dp_event(event), grid)


def from_truncated_subsampled_gaussian_mechanism(
    dataset_size: int,
    sampling_probability: float,
    truncated_batch_size: int,
    noise_multiplier: float,
    *,
    neighboring_relation: Any = ADD_OR_REMOVE,
    **grid: Any,
) -> PrivacyLossDistribution:
    """Return the loss of Gaussian noise on Poisson samples cut at a size."""
    event = dp_event.TruncatedSubsampledGaussianDpEvent(
        dataset_size, sampling_probability, truncated_batch_size, noise_multiplier
    )
    return _of(from_dp_event(event), grid, neighboring_relation)


def from_randomized_response(
    noise_parameter: float,
    num_buckets: int,
    *,
    neighboring_relation: Any = NeighboringRelation.REPLACE_ONE,
    **grid: Any,
) -> PrivacyLossDistribution:
    """Return the loss of an answer that is uniform with probability ``noise_parameter``."""
    event = dp_event.RandomizedResponseDpEvent(noise_parameter, num_buckets)
    mechanism = from_dp_event(event, neighboring_relation)
    return _of(mechanism, grid, neighboring_relation)


def from_privacy_parameters(privacy_parameters: Any, **grid: Any) -> PrivacyLossDistribution:
    """Return the largest loss that ``epsilon`` and ``delta`` of an object permit."""
    return _of(own.ApproxDP(privacy_parameters.epsilon, privacy_parameters.delta), grid)


def from_two_probability_mass_functions(
    log_probability_mass_function_lower: Mapping[Any, float],
    log_probability_mass_function_upper: Mapping[Any, float],
    **grid: Any,
) -> PrivacyLossDistribution:
    """Return the loss of two distributions on finitely many outcomes, in both directions."""
    lower, upper = log_probability_mass_function_lower, log_probability_mass_function_upper
    outcomes = sorted({*lower, *upper}, key=repr)
    p, q = (
        tuple(math.exp(logs.get(outcome, -math.inf)) for outcome in outcomes)
        for logs in (upper, lower)
    )
    return _of(own.PrivacyLoss(DiscretePair(p, q)), grid)


def from_privacy_loss_distribution(
    pld: Any, *, neighboring_relation: Any = ADD_OR_REMOVE
) -> PrivacyLossDistribution:
    """Return a distribution of dp_accounting, composed or not, as one of these.

    Where its delta is an upper bound at every epsilon, so is the one here. It is the same but for
    rounding, for epsilons below the least of its losses that matters, and for losses above 690,
    which count as infinite.

    Args:
        pld (dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution): Of pessimistic
            estimates. One of this module is returned as it is.
        neighboring_relation (dp_accounting.NeighboringRelation): What its two directions are of.

    Raises:
        TypeError: If it is neither.
        ValueError: If its estimates are optimistic, or its masses those of no distribution.

    >>> from dp_accounting.pld import privacy_loss_distribution as theirs
    >>> step = theirs.from_laplace_mechanism(1.0, value_discretization_interval=0.01)
    >>> run = step.self_compose(10)
    >>> round(run.get_epsilon_for_delta(0.1), 4)
    6.1335
    >>> mine = from_privacy_loss_distribution(run)
    >>> round(mine.get_epsilon_for_delta(0.1), 4), round(mine.accountant.get_advantage(), 4)
    (6.1335, 0.8338)
    """
    if isinstance(pld, PrivacyLossDistribution):
        return pld
    if not isinstance(pld, privacy_loss_distribution.PrivacyLossDistribution):
        raise TypeError(
            f"pld must be a PrivacyLossDistribution of dp_accounting, got {type(pld).__name__}"
        )
    remove, add = _dominating(pld._pmf_remove), _dominating(pld._pmf_add)
    return _of(own.PrivacyLoss(remove, add), {}, neighboring_relation)


def _dominating(pmf: Any) -> DiscretePair:
    """Return a pair whose delta is nowhere below that of masses on a grid of losses.

    Their sum is not 1, and that of their likelihoods exceeds 1, by errors of the Fourier transform
    where losses are small. So all that is left of P beyond the losses above one of them is put
    there. From that loss up delta is as before; below it is the chord to delta = 1 at epsilon =
    -inf as a function of e^epsilon, in which the true delta is convex.
    """
    dense = pmf.to_dense_pmf()
    if not dense._pessimistic_estimate:
        raise ValueError("pld must have pessimistic estimates, got optimistic ones")
    p, infinite = np.maximum(dense._probs, 0.0), float(dense._infinity_mass)
    losses = (dense._lower_loss + np.arange(len(p))) * dense._discretization
    # Two products, a sum and an exponential: (2 |loss| + 4) u and an ulp of p; likelihoods down.
    likelihoods = np.exp(np.minimum(-losses, 700.0)) * (1.0 - (np.abs(losses) + 4.0) * 2.0**-51)
    q = p * likelihoods
    q[q < 2.0**-1000] = 0.0  # where the next doubles are further apart
    left = 1.0 - infinite - (np.cumsum(p[::-1])[::-1] - p)
    total = np.cumsum(q[::-1])[::-1] - q + left * likelihoods
    fits = np.flatnonzero((left >= 0.0) & (total <= 1.0))
    if not fits.size or not infinite >= 0.0:
        raise ValueError("pld must have masses of sum 1, got others")
    above = slice(fits[0] + 1, None)
    rest = max(0.0, 1.0 - infinite - math.fsum(p[above])) + 2.0**-52
    both = rest * likelihoods[fits[0]], *q[above]
    null = max(0.0, 1.0 - math.fsum(both))
    return DiscretePair((infinite, rest, *p[above], 0.0), (0.0, *both, null))


def _of(
    mechanism: own.Mechanism | None, grid: Mapping[str, Any], relation: Any = ADD_OR_REMOVE
) -> PrivacyLossDistribution:
    if unknown := grid.keys() - GRID:
        raise TypeError(f"keywords must be of dp_accounting, got {', '.join(sorted(unknown))}")
    if not grid.get("pessimistic_estimate", True):
        raise ValueError("pessimistic_estimate must be True, for answers are upper bounds")
    accountant = PLDAccountant(adjacency=ADJACENCY[relation])
    return PrivacyLossDistribution(
        accountant if mechanism is None else accountant.compose(mechanism)
    )


def _sampled(noise: own.Mechanism, rate: float) -> own.Mechanism:
    return noise if rate == 1.0 else own.PoissonSampled(noise, rate)


def _ratio(noise: float, move: float) -> float:
    """Return a quotient, rounded to less noise."""
    return -float_above(-Fraction(noise) / Fraction(move))
