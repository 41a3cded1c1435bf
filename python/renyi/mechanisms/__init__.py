"""Mechanisms as immutable values with an algebra: ``m * k``, ``m + n``, ``PoissonSampled(m, q)``.

A mechanism says what was released; an accountant says what the release costs. Equal mechanisms
compare equal and hash equal. `repr` writes a mechanism as Python, `Mechanism.to_json` as JSON and
`Mechanism.describe` as a tree of words.

Sampling is a node that holds the mechanisms run on the sample: several releases on one sample are
``PoissonSampled(a + b, q)``, while ``PoissonSampled(a, q) + PoissonSampled(b, q)`` draws twice.

Noise is relative to how far the presence of one record moves the query, in the L2 norm for
Gaussian noise and in the L1 norm for the others. The accountant is told which data sets are
neighbours; a mechanism that holds only for some adjacencies says for which.

>>> steps = PoissonSampled(Gaussian(1.1), 0.01) * 10_000 + Laplace(2.0)
>>> print(steps.describe())
10000 x
  Poisson sample, rate 0.01, of
    Gaussian noise, multiplier 1.1
1 x
  Laplace noise, multiplier 2
>>> Mechanism.from_json(steps.to_json()) == steps
True
"""

from renyi.mechanisms._answers import Exponential, PermuteAndFlip, RandomizedResponse
from renyi.mechanisms._correlated import CorrelatedGaussian, MatrixMechanism
from renyi.mechanisms._epochs import FixedAllocation, RandomAllocation, ShuffledBatches
from renyi.mechanisms._guarantees import ZCDP, ApproxDP, PrivacyLoss, PureDP, RDPCurve
from renyi.mechanisms._noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GaussianMixture,
    Gumbel,
    Laplace,
    MultivariateDiscreteGaussian,
    Skellam,
    Staircase,
)
from renyi.mechanisms._randomizers import (
    HadamardResponse,
    LaplaceResponse,
    LocalHashing,
    ResponseTable,
    SubsetSelection,
    UnaryEncoding,
)
from renyi.mechanisms._randomizers import LocalRandomizer as LocalRandomizer
from renyi.mechanisms._selection import Parallel, RepeatAndSelect
from renyi.mechanisms._shuffled import Shuffled
from renyi.mechanisms.algebra import Composed, Mechanism
from renyi.mechanisms.sampling import (
    FixedSizeSampled,
    GroupSampled,
    PoissonSampled,
    TruncatedPoissonSampled,
)

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Composed",
    "CorrelatedGaussian",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "FixedAllocation",
    "FixedSizeSampled",
    "Gaussian",
    "GaussianMixture",
    "GroupSampled",
    "Gumbel",
    "HadamardResponse",
    "Laplace",
    "LaplaceResponse",
    "LocalHashing",
    "MatrixMechanism",
    "Mechanism",
    "MultivariateDiscreteGaussian",
    "Parallel",
    "PermuteAndFlip",
    "PoissonSampled",
    "PrivacyLoss",
    "PureDP",
    "RDPCurve",
    "RandomAllocation",
    "RandomizedResponse",
    "RepeatAndSelect",
    "ResponseTable",
    "Shuffled",
    "ShuffledBatches",
    "Skellam",
    "Staircase",
    "SubsetSelection",
    "TruncatedPoissonSampled",
    "UnaryEncoding",
]
__dir__ = __all__.copy
