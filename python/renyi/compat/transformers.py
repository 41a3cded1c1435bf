"""A callback for the Trainer of Hugging Face that charges steps and stops within the budget.

>>> from renyi import Gaussian, PoissonSampled
>>> steps = StepCallback(PoissonSampled(Gaussian(1.0), 0.01), epsilon=2.0, delta=1e-5)
>>> callback = PrivacyCallback(steps)  # transformers.Trainer(callbacks=[callback])
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from renyi.compat._steps import StepCallback

__all__ = ["PrivacyCallback"]


class PrivacyCallback(TrainerCallback, ExportableState):  # type: ignore[misc]
    """Asks a `StepCallback` before each step of the optimiser; its state is in the checkpoints.

    Batches, clipping and noise are those of the trainer and its optimiser, such as that of Opacus,
    and have to match the mechanism. Accumulated gradients are one step.
    """

    def __init__(self, steps: StepCallback) -> None:
        self.steps = steps

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Continue from a checkpoint; stop before the first step if it would exceed the budget."""
        saved = state.stateful_callbacks.get(type(self).__name__, {}).get("attributes", {})
        if saved.get("steps", 0) > len(self.steps):
            self.steps.load_state_dict(saved)
        control.should_training_stop |= self.steps.would_exceed()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Charge the step, or raise `BudgetExceededError`."""
        self.steps.compose()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Stop where another step would exceed the budget."""
        control.should_training_stop |= self.steps.would_exceed()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Add epsilon and delta to the logs."""
        for entry in (logs, state.log_history[-1]):
            entry.update(self.steps.metrics())

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write the statement."""
        self.steps.end()

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"args": {}, "attributes": self.steps.state_dict()}
