"""The sampler of a plan, by the name of its scheme."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from renyi.sgd._batch_sampler import BatchSampler
from renyi.sgd.allocated import BallsInBinsSampler
from renyi.sgd.cyclic import CyclicPoissonSampler
from renyi.sgd.samplers import FixedSizeSampler, PoissonSampler, ShuffledSampler
from renyi.sgd.truncated import TruncatedPoissonSampler

if TYPE_CHECKING:
    from renyi.sgd.plan import TrainingPlan

__all__ = ["SAMPLERS", "sampler_for"]

SAMPLERS = (
    PoissonSampler,
    TruncatedPoissonSampler,
    CyclicPoissonSampler,
    BallsInBinsSampler,
    FixedSizeSampler,
    ShuffledSampler,
)


def sampler_for(plan: TrainingPlan, generator: Any) -> BatchSampler:
    """Return a sampler of the batches of a plan."""
    records, drawn = plan.population, {"generator": generator}
    if plan.sampling == "shuffled":
        return ShuffledSampler(records, plan.steps_per_release, **drawn)
    if plan.sampling == "balls_in_bins":
        return BallsInBinsSampler(records, plan.steps_per_release, **drawn)
    if plan.sampling == "fixed_size":
        return FixedSizeSampler(records, plan.batch_size, **drawn)
    if plan.batch_limit is not None:
        return TruncatedPoissonSampler(records, plan.sample_rate, plan.batch_limit, **drawn)
    if plan.cycle_length is not None:
        return CyclicPoissonSampler(records, plan.sample_rate, plan.cycle_length, **drawn)
    return PoissonSampler(records, plan.sample_rate, **drawn)
