"""The sampler of a plan, by the name of its scheme."""

from __future__ import annotations

from typing import Any

from renyi.sgd._batch_sampler import BatchSampler
from renyi.sgd._plan_arguments import Sampling
from renyi.sgd.samplers import FixedSizeSampler, PoissonSampler, ShuffledSampler

__all__ = ["sampler_for"]


def sampler_for(sampling: Sampling, population: int, size: int, generator: Any) -> BatchSampler:
    """Return a sampler of batches of ``size``: expected, exact or at most."""
    if sampling == "poisson":
        return PoissonSampler(population, size / population, generator=generator)
    if sampling == "fixed_size":
        return FixedSizeSampler(population, size, generator=generator)
    return ShuffledSampler(population, -(-population // size), generator=generator)
