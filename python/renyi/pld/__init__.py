"""Privacy-loss distributions of any mechanism, composed with certified bounds on both sides."""

from __future__ import annotations

from renyi.pld._bounds import MAX_POINTS, Composition, delta_bounds, epsilon_bounds
from renyi.pld._density import Density
from renyi.pld._discrete import ApproximateDP, Discrete, Laplace, RandomizedResponse
from renyi.pld._distribution import (
    PoissonSampled,
    PrivacyLossDistribution,
    Reversed,
    poisson_sampled,
)
from renyi.pld._gaussian import (
    Gaussian,
    GaussianMixture,
    ReplaceOneSampledGaussian,
    sampled_gaussian,
)
from renyi.pld._tradeoff import beta_lower, discrete_tradeoff

__all__ = [
    "MAX_POINTS",
    "ApproximateDP",
    "Composition",
    "Density",
    "Discrete",
    "Gaussian",
    "GaussianMixture",
    "Laplace",
    "PoissonSampled",
    "PrivacyLossDistribution",
    "RandomizedResponse",
    "ReplaceOneSampledGaussian",
    "Reversed",
    "beta_lower",
    "delta_bounds",
    "discrete_tradeoff",
    "epsilon_bounds",
    "poisson_sampled",
    "sampled_gaussian",
]
