"""Privacy-loss distributions of any mechanism, composed with certified bounds on both sides."""

from renyi.pairs._composition import Composition
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
]
__dir__ = __all__.copy
