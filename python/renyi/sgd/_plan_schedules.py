"""What of a plan may change in the course of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from renyi.sgd._plan_arguments import IN_EPOCHS
from renyi.sgd._rule import bound_of
from renyi.sgd.schedules import Schedule

if TYPE_CHECKING:
    from renyi.sgd.plan import TrainingPlan

__all__ = ["StepSettings", "check_schedules", "scheduled"]


class StepSettings(NamedTuple):
    """What holds at one step."""

    max_grad_norm: float
    noise_multiplier: float
    noise_scale: float


def scheduled(value: float, schedule: Schedule | None, step: int) -> float:
    """Return a number times that of a schedule."""
    return value if schedule is None else value * schedule.at(step)


def check_schedules(plan: TrainingPlan) -> None:
    """Refuse schedules where it is not known what they cost, and norms that are none."""
    noise, clip = plan.noise_schedule, plan.clip_schedule
    if noise is not None and plan.sampling in (*IN_EPOCHS, "cyclic_poisson"):
        raise ValueError(
            f"noise_schedule must be None with sampling {plan.sampling!r}, whose releases are of "
            f"several steps, got {noise!r}"
        )
    if (noise is not None or clip is not None) and plan.grid is not None:
        raise ValueError("noise_schedule and clip_schedule must be None on a grid, got one")
    if clip is not None:
        for value in clip.values:
            bound_of(plan.max_grad_norm * value, "max_grad_norm times clip_schedule")
