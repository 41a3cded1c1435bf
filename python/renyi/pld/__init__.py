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
    GaussianMixture,
    Mixed,
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
    PoissonSampled,
    poisson_sampled,
    sampled_gaussian,
)
from renyi.pld._tradeoff import beta_lower, discrete_tradeoff

__all__ = [
    "MAX_POINTS",
    "ApproximateDP",
    "BoundedRange",
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
    "RandomizedResponse",
    "Reversed",
    "StudentT",
    "beta_lower",
    "delta_bounds",
    "discrete_tradeoff",
    "epsilon_bounds",
    "logistic",
    "poisson_sampled",
    "sampled_gaussian",
]
