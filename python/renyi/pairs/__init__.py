"""Privacy-loss distributions of any mechanism, composed with certified bounds on both sides."""

from __future__ import annotations

from renyi.pairs._composition import (
    Composition,
    beta_lower,
    delta_bounds,
    discrete_tradeoff,
    epsilon_bounds,
)
from renyi.pairs.dominating import (
    DensityPair,
    DiscretePair,
    DominatingPair,
    GeneralisedGaussianPair,
    GumbelPair,
    LogisticPair,
    MechanismPair,
    MixedPair,
    PoissonSampledPair,
    ReversedPair,
    StudentTPair,
)

__all__ = [
    "Composition",
    "DensityPair",
    "DiscretePair",
    "DominatingPair",
    "GeneralisedGaussianPair",
    "GumbelPair",
    "LogisticPair",
    "MechanismPair",
    "MixedPair",
    "PoissonSampledPair",
    "ReversedPair",
    "StudentTPair",
    "beta_lower",
    "delta_bounds",
    "discrete_tradeoff",
    "epsilon_bounds",
]


def __dir__() -> list[str]:
    return __all__
