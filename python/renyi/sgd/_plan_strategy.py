"""Correlated noise in a plan: which sampling it goes with, and what the run then is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from renyi.matrix import CyclicPoisson, FixedEpochs, Participation, Strategy
from renyi.mechanisms import Gaussian, MatrixMechanism, Mechanism

if TYPE_CHECKING:
    from renyi.sgd.plan import TrainingPlan

__all__ = ["check_strategy", "correlated_release", "participation_in", "strategy_of"]


def strategy_of(value: Any) -> Strategy | None:
    """Return a strategy or None."""
    if value is not None and not isinstance(value, Strategy):
        raise TypeError(f"strategy must be a renyi.matrix.Strategy, got {value!r}")
    return value


def check_strategy(plan: TrainingPlan) -> None:
    """Refuse a strategy where the steps of a record are not known to be apart."""
    if plan.strategy is None:
        return
    if plan.sampling not in ("fixed_order", "cyclic_poisson"):
        raise ValueError(
            "sampling must be 'fixed_order' or 'cyclic_poisson' with a strategy, for the steps of "
            f"a record have to be apart, got {plan.sampling!r}"
        )
    if plan.strategy.steps != plan.steps:
        raise ValueError(
            f"strategy must be of {plan.steps} steps, those of the plan, got {plan.strategy!r}"
        )
    for name in ("noise_schedule", "clip_schedule", "grid"):
        if getattr(plan, name) is not None:
            raise ValueError(f"{name} must be None with a strategy, got {getattr(plan, name)!r}")
    correlated_release(plan, 1.0)  # raises where no bound is known


def participation_in(plan: TrainingPlan) -> Participation:
    """Return in which steps of a plan a record can be."""
    if plan.cycle_length is not None:
        return CyclicPoisson(plan.sample_rate, plan.cycle_length)
    return FixedEpochs(plan.batches_per_epoch)


def correlated_release(plan: TrainingPlan, noise_multiplier: float) -> Mechanism:
    """Return what an accountant is told: of the whole run, or of one cycle of samples."""
    assert plan.strategy is not None
    run = MatrixMechanism(plan.strategy, noise_multiplier, participation_in(plan))
    if plan.cycle_length is None:
        return run
    return plan.sampler().mechanism(Gaussian(run.effective_noise_multiplier))
