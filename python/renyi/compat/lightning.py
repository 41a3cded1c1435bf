"""A callback for PyTorch Lightning that charges optimiser steps and stops within the budget.

>>> from renyi import Gaussian, PoissonSampled
>>> steps = StepCallback(PoissonSampled(Gaussian(1.0), 0.01), epsilon=2.0, delta=1e-5)
>>> callback = PrivacyCallback(steps)  # lightning.Trainer(callbacks=[callback])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lightning.pytorch import Callback

from renyi.compat._steps import StepCallback

__all__ = ["PrivacyCallback"]


class PrivacyCallback(Callback):  # type: ignore[misc]  # Lightning has no types for us
    """Asks a `StepCallback` before each step of the optimiser; its state is in the checkpoints.

    Batches, clipping and noise are those of the module or its optimiser, such as that of Opacus,
    and have to match the mechanism. Accumulated gradients are one step.
    """

    def __init__(self, steps: StepCallback) -> None:
        self.steps = steps

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Stop before the first step if it would exceed the budget."""
        trainer.should_stop = trainer.should_stop or self.steps.would_exceed()

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """Charge the step, or raise `BudgetExceededError`."""
        self.steps.compose()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        """Stop where another step would exceed the budget."""
        trainer.should_stop = trainer.should_stop or self.steps.would_exceed()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Log epsilon and delta."""
        pl_module.log_dict(self.steps.metrics())

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Write the statement."""
        self.steps.end()

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return self.steps.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.steps.load_state_dict(state_dict)
