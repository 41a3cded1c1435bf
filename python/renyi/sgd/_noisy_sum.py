"""From the parts of a batch to its noisy mean: the clipping norm, the noise and the divisor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renyi.sgd._clipped_sum import ClippedSum
from renyi.sgd._generator import generator_of
from renyi.sgd.accumulation import ClipAccumulator
from renyi.sgd.adaptive import QuantileClipNorm, sum_noise_multiplier
from renyi.sgd.noise import add_gaussian_noise, gaussian_noise
from renyi.sgd.plan import TrainingPlan

__all__ = ["NoisySum"]


class NoisySum:
    """Sums one batch after the other, each with the noise of the plan.

    With a `QuantileClipNorm` the noise multiplier of the plan is that of sum and count together.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        shapes: Any,
        dtype: Any,
        *,
        clip_norm: QuantileClipNorm | None,
        generator: Any,
        threads: int | None,
        **clipping: Any,
    ) -> None:
        self.plan = plan
        self.clip_norm = _clip_norm_of(clip_norm, plan, clipping["clipping"])
        self.parts = ClipAccumulator(
            shapes,
            plan.max_grad_norm,
            adjacency=plan.adjacency,
            dtype=dtype,
            threads=threads,
            **clipping,
        )
        self._threads = threads
        self._scale(dtype)  # raises if the noise is out of range
        self.generator = generator_of(generator)

    def release(self, clipped: ClippedSum) -> None:
        """Turn a sum into a noisy mean, in place, and move the clipping norm for the next."""
        scale = self._scale(clipped.arrays[0].dtype)
        for array in clipped.arrays:
            add_gaussian_noise(array, scale, generator=self.generator, threads=self._threads)
            array /= self.plan.expected_batch_size
        if self.clip_norm is not None:
            count = self.clip_norm.private_count(clipped)
            noise = gaussian_noise((), self.clip_norm.count_noise, generator=self.generator)
            self.parts.max_grad_norm = self.clip_norm.update(count + float(noise))

    def state_dict(self) -> dict[str, Any]:
        """Return what is carried from one batch to the next."""
        return {
            "clip_norm": None if self.clip_norm is None else self.clip_norm.state_dict(),
            "generator": self.generator.state_dict(),
        }

    def check(self, state: Mapping[str, Any]) -> None:
        """Raise if a state is not one of a sum like this."""
        if (state["clip_norm"] is None) != (self.clip_norm is None):
            raise ValueError(
                f"state must hold a clip_norm where there is one, {self.clip_norm!r}, "
                f"got {state['clip_norm']!r}"
            )
        if self.clip_norm is not None:
            self.clip_norm.checked(state["clip_norm"])

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with the clipping norm of a state that was checked."""
        if self.clip_norm is not None:
            self.clip_norm.load_state_dict(state["clip_norm"])
            self.parts.max_grad_norm = self.clip_norm.value

    def _scale(self, dtype: Any) -> float:
        """Return the standard deviation of the noise of the next sum, rounded up."""
        scale = self.plan.noise_scale
        if self.clip_norm is not None:
            multiplier = sum_noise_multiplier(
                self.plan.noise_multiplier, self.clip_norm.count_noise
            )
            scale = math.nextafter(multiplier * self.clip_norm.value, math.inf)
        gaussian_noise(0, scale, dtype=dtype)
        return scale


def _clip_norm_of(value: Any, plan: TrainingPlan, clipping: Any) -> QuantileClipNorm | None:
    if value is None:
        return None
    if not isinstance(value, QuantileClipNorm):
        raise TypeError(f"clip_norm must be a QuantileClipNorm, got {value!r}")
    if clipping != "flat":
        raise ValueError(f"clipping must be 'flat' for a clip_norm to follow, got {clipping!r}")
    if value.value != plan.max_grad_norm:
        raise ValueError(
            f"clip_norm must begin at the max_grad_norm of the plan, {plan.max_grad_norm!r}, "
            f"got {value.value!r}"
        )
    return value
