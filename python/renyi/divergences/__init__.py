"""Rényi divergences of the standard families in closed form, stable for every order.

Examples
--------
>>> from renyi.divergences import Laplace, renyi_divergence
>>> renyi_divergence(Laplace(1.0, 2.0), Laplace(0.0, 2.0), [1.0, 2.0]).round(6)
array([0.106531, 0.200304])
"""

from __future__ import annotations

from renyi.divergences._base import Distribution, renyi_divergence
from renyi.divergences._beta import Beta
from renyi.divergences._exponential_family import ExponentialFamily
from renyi.divergences._gamma import (
    Chi,
    ChiSquare,
    Exponential,
    Gamma,
    HalfNormal,
    Maxwell,
    Rayleigh,
)
from renyi.divergences._gaussian import Gaussian, LogNormal, MultivariateGaussian
from renyi.divergences._given import (
    Integral,
    density_divergence,
    finite_divergence,
)
from renyi.divergences._inverse_gaussian import InverseGaussian
from renyi.divergences._laplace import Laplace
from renyi.divergences._logistic import Logistic
from renyi.divergences._mixtures import mixture_bound
from renyi.divergences._supports import Pareto, Uniform
from renyi.divergences._weibull import Gumbel, Weibull

__all__ = [
    "Beta",
    "Chi",
    "ChiSquare",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "Gamma",
    "Gaussian",
    "Gumbel",
    "HalfNormal",
    "Integral",
    "InverseGaussian",
    "Laplace",
    "LogNormal",
    "Logistic",
    "Maxwell",
    "MultivariateGaussian",
    "Pareto",
    "Rayleigh",
    "Uniform",
    "Weibull",
    "density_divergence",
    "finite_divergence",
    "mixture_bound",
    "renyi_divergence",
]
