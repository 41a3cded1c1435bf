"""Samplers of batches: which records take part in a step, and what accountants may assume of it."""

from __future__ import annotations

from renyi.samplers.basic import BatchSampler, FixedSizeSampler, PoissonSampler, ShuffledSampler
from renyi.samplers.epochs import BallsInBinsSampler, FixedOrderSampler
from renyi.samplers.schemes import (
    CyclicPoissonSampler,
    PaddedBatch,
    TruncatedPoissonSampler,
    pad_batch,
)
from renyi.samplers.users import UserBatch, UserRows

__all__ = [
    "BallsInBinsSampler",
    "BatchSampler",
    "CyclicPoissonSampler",
    "FixedOrderSampler",
    "FixedSizeSampler",
    "PaddedBatch",
    "PoissonSampler",
    "ShuffledSampler",
    "TruncatedPoissonSampler",
    "UserBatch",
    "UserRows",
    "pad_batch",
]


def __dir__() -> list[str]:
    return __all__
