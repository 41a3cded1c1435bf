"""Privacy-loss distributions of any mechanism, composed with certified bounds on both sides."""

from __future__ import annotations

from renyi.pairs._composition import MAX_POINTS, Composition, delta_bounds, epsilon_bounds
from renyi.pairs._density import DensityPair
from renyi.pairs._discrete import (
    ApproxDPPair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    DiscretePair,
    RandomizedResponsePair,
)
from renyi.pairs._distribution import DominatingPair, ReversedPair
from renyi.pairs._mixtures import (
    GaussianMixturePair,
    MixedPair,
)
from renyi.pairs._noise import (
    BoundedRangePair,
    GaussianPair,
    GeneralisedGaussianPair,
    GumbelPair,
    LaplacePair,
    StudentTPair,
    logistic_pair,
)
from renyi.pairs._samples import (
    PoissonSampledPair,
    poisson_sampled_pair,
    sampled_gaussian_pair,
)
from renyi.pairs._tradeoff import beta_lower, discrete_tradeoff

__all__ = [
    "MAX_POINTS",
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
