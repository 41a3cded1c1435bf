"""Privacy-loss distributions of any mechanism, composed with certified bounds on both sides."""

from __future__ import annotations

from renyi.pld._composition import MAX_POINTS, Composition, delta_bounds, epsilon_bounds
from renyi.pld._density import Density
from renyi.pld._discrete import (
    ApproximateDP,
    Discrete,
    DiscreteGaussian,
    DiscreteLaplace,
    RandomizedResponse,
)
from renyi.pld._distribution import PrivacyLossDistribution, Reversed
from renyi.pld._mixtures import (
    Bracketed,
    GaussianMixture,
    Mixed,
    Product,
    ReplaceOneSampledGaussian,
)
from renyi.pld._noise import (
    BoundedRange,
    Gaussian,
    GeneralisedGaussian,
    Gumbel,
    Laplace,
    StudentT,
    logistic,
)
from renyi.pld._samples import (
    NOTHING,
    REVEALED,
    PoissonSampled,
    Spliced,
    poisson_sampled,
    sampled_gaussian,
    sampled_with_replacement,
    truncated_poisson_sampled,
)
from renyi.pld._tradeoff import beta_lower, discrete_tradeoff

__all__ = [
    "MAX_POINTS",
    "NOTHING",
    "REVEALED",
    "ApproximateDP",
    "BoundedRange",
    "Bracketed",
    "Composition",
    "Density",
    "Discrete",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "GaussianMixture",
    "GeneralisedGaussian",
    "Gumbel",
    "Laplace",
    "Mixed",
    "PoissonSampled",
    "PrivacyLossDistribution",
    "Product",
    "RandomizedResponse",
    "ReplaceOneSampledGaussian",
    "Reversed",
    "Spliced",
    "StudentT",
    "beta_lower",
    "delta_bounds",
    "discrete_tradeoff",
    "epsilon_bounds",
    "logistic",
    "poisson_sampled",
    "sampled_gaussian",
    "sampled_with_replacement",
    "truncated_poisson_sampled",
]
