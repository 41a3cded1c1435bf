"""Trade-off functions: what a test for one record's presence can achieve.

A trade-off function ``f`` gives the least type II error of all tests with a type I error of at most
``alpha`` (Dong, Roth, Su 2022, arXiv 1905.02383). Every function here rounds towards less privacy:
errors of an attacker down, its success up. Arrays broadcast. A piecewise linear trade-off function
is given by its vertices: two arrays ``alpha``, from 0 to 1 and not falling, and ``beta``, not
rising and ending in 0.

>>> import numpy as np
>>> beta_from_epsilon_delta(np.array([0.0, 0.1, 0.5]), 1.0, 1e-5).round(6)
array([0.99999 , 0.728162, 0.183936])
"""

from __future__ import annotations

from renyi.tradeoff._attacks import (
    advantage,
    advantage_from_mu,
    bayes_risk,
    bayes_risk_from_delta,
    bayes_risk_from_mu,
    membership_posterior,
)
from renyi.tradeoff._central_limit import GaussianLimit, central_limit
from renyi.tradeoff._guarantees import beta_from_epsilon_delta, beta_from_mu, compose_mu
from renyi.tradeoff._vertices import beta_at, convexified, delta_from_tradeoff, symmetrised

__all__ = [
    "GaussianLimit",
    "advantage",
    "advantage_from_mu",
    "bayes_risk",
    "bayes_risk_from_delta",
    "bayes_risk_from_mu",
    "beta_at",
    "beta_from_epsilon_delta",
    "beta_from_mu",
    "central_limit",
    "compose_mu",
    "convexified",
    "delta_from_tradeoff",
    "membership_posterior",
    "symmetrised",
]


def __dir__() -> list[str]:
    return __all__
