"""The sampler of a plan, by the name of its scheme."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from renyi.sgd._batch_sampler import BatchSampler
from renyi.sgd.samplers import FixedSizeSampler, PoissonSampler, ShuffledSampler

if TYPE_CHECKING:
    from renyi.sgd.plan import TrainingPlan

__all__ = ["SAMPLERS", "sampler_for"]

SAMPLERS = (PoissonSampler, FixedSizeSampler, ShuffledSampler)


def sampler_for(plan: TrainingPlan, generator: Any) -> BatchSampler:
    """Return a sampler of the batches of a plan."""
    if plan.sampling == "poisson":
        return PoissonSampler(plan.population, plan.sample_rate, generator=generator)
    if plan.sampling == "fixed_size":
        return FixedSizeSampler(plan.population, plan.batch_size, generator=generator)
    return ShuffledSampler(plan.population, plan.steps_per_release, generator=generator)
