"""Privacy-loss distributions of any mechanism, composed with certified bounds on both sides."""

from __future__ import annotations

from renyi.pairs._base import (
    DensityPair,
    DominatingPair,
    MixedPair,
    PoissonSampledPair,
    ReversedPair,
    poisson_sampled_pair,
)
from renyi.pairs._composition import (
    Composition,
    beta_lower,
    delta_bounds,
    discrete_tradeoff,
    epsilon_bounds,
)
from renyi.pairs._noise import (
    ApproxDPPair,
    BoundedRangePair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    DiscretePair,
    GaussianMixturePair,
    GaussianPair,
    GeneralisedGaussianPair,
    GumbelPair,
    LaplacePair,
    RandomizedResponsePair,
    StudentTPair,
    logistic_pair,
    sampled_gaussian_pair,
)

__all__ = [
    "ApproxDPPair",
    "BoundedRangePair",
    "Composition",
    "DensityPair",
    "DiscreteGaussianPair",
    "DiscreteLaplacePair",
    "DiscretePair",
    "DominatingPair",
    "GaussianMixturePair",
    "GaussianPair",
    "GeneralisedGaussianPair",
    "GumbelPair",
    "LaplacePair",
    "MixedPair",
    "PoissonSampledPair",
    "RandomizedResponsePair",
    "ReversedPair",
    "StudentTPair",
    "beta_lower",
    "delta_bounds",
    "discrete_tradeoff",
    "epsilon_bounds",
    "logistic_pair",
    "poisson_sampled_pair",
    "sampled_gaussian_pair",
]


def __dir__() -> list[str]:
    return __all__
