"""Privacy-loss distributions of any mechanism, composed with certified bounds on both sides."""

from __future__ import annotations

from renyi.pld._bounds import MAX_POINTS, Composition, delta_bounds, epsilon_bounds
from renyi.pld._density import Density
from renyi.pld._discrete import ApproximateDP, Discrete, RandomizedResponse
from renyi.pld._distribution import PrivacyLossDistribution, Reversed
from renyi.pld._exponential import BoundedRange, Laplace
from renyi.pld._gaussian import Gaussian, ReplaceOneSampledGaussian, sampled_gaussian
from renyi.pld._generalised_gaussian import GeneralisedGaussian
from renyi.pld._gumbel import Gumbel
from renyi.pld._integers import DiscreteGaussian, DiscreteLaplace
from renyi.pld._logistic import logistic
from renyi.pld._mixed import Bracketed, Mixed
from renyi.pld._mixture import GaussianMixture
from renyi.pld._product import Product
from renyi.pld._sampled import PoissonSampled, poisson_sampled
from renyi.pld._sampling import (
    NOTHING,
    REVEALED,
    sampled_with_replacement,
    truncated_poisson_sampled,
)
from renyi.pld._spliced import Spliced
from renyi.pld._student import StudentT
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
