"""Samplers of batches: which records take part in a step, and what accountants may assume of it."""

from renyi.samplers.basic import BatchSampler as BatchSampler
from renyi.samplers.basic import (
    FixedSizeSampler,
    PoissonSampler,
    pad_batch,
)
from renyi.samplers.epochs import (
    BallsInBinsSampler,
    FixedOrderSampler,
    MinSeparationSampler,
    ShuffledSampler,
)
from renyi.samplers.users import UserRows, bound_contributions

__all__ = [
    "BallsInBinsSampler",
    "FixedOrderSampler",
    "FixedSizeSampler",
    "MinSeparationSampler",
    "PoissonSampler",
    "ShuffledSampler",
    "UserRows",
    "bound_contributions",
    "pad_batch",
]
__dir__ = __all__.copy
