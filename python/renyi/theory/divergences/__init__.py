"""Rényi divergences of the standard families in closed form, stable for every order.

Examples
--------
>>> from renyi.theory.divergences import LaplaceDistribution, renyi_divergence
>>> p, q = LaplaceDistribution(1.0, 2.0), LaplaceDistribution(0.0, 2.0)
>>> renyi_divergence(p, q, [1.0, 2.0]).round(6)
array([0.106531, 0.200304])
"""

from __future__ import annotations

from renyi.theory.divergences._base import Distribution, renyi_divergence
from renyi.theory.divergences._beta import BetaDistribution
from renyi.theory.divergences._exponential_family import ExponentialFamily
from renyi.theory.divergences._gamma import (
    ChiDistribution,
    ChiSquareDistribution,
    ExponentialDistribution,
    GammaDistribution,
    HalfNormalDistribution,
    MaxwellDistribution,
    RayleighDistribution,
)
from renyi.theory.divergences._gaussian import (
    GaussianDistribution,
    LogNormalDistribution,
    MultivariateGaussianDistribution,
)
from renyi.theory.divergences._given import (
    Integral,
    density_divergence,
    finite_divergence,
)
from renyi.theory.divergences._inverse_gaussian import InverseGaussianDistribution
from renyi.theory.divergences._laplace import LaplaceDistribution
from renyi.theory.divergences._logistic import LogisticDistribution
from renyi.theory.divergences._mixtures import mixture_bound
from renyi.theory.divergences._supports import ParetoDistribution, UniformDistribution
from renyi.theory.divergences._weibull import GumbelDistribution, WeibullDistribution

__all__ = [
    "BetaDistribution",
    "ChiDistribution",
    "ChiSquareDistribution",
    "Distribution",
    "ExponentialDistribution",
    "ExponentialFamily",
    "GammaDistribution",
    "GaussianDistribution",
    "GumbelDistribution",
    "HalfNormalDistribution",
    "Integral",
    "InverseGaussianDistribution",
    "LaplaceDistribution",
    "LogNormalDistribution",
    "LogisticDistribution",
    "MaxwellDistribution",
    "MultivariateGaussianDistribution",
    "ParetoDistribution",
    "RayleighDistribution",
    "UniformDistribution",
    "WeibullDistribution",
    "density_divergence",
    "finite_divergence",
    "mixture_bound",
    "renyi_divergence",
]


def __dir__() -> list[str]:
    return __all__
