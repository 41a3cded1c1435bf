"""Correlated noise for the sums of a run, with what arithmetic may add to their sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from renyi._arrays import Array
from renyi._states import with_secrets
from renyi.matrix import NoiseStream
from renyi.noise.generator import SecureGenerator
from renyi.sgd._planning import participation_in

if TYPE_CHECKING:
    from renyi.sgd.plan import TrainingPlan

__all__ = ["CorrelatedNoise"]

_MOST = 0.01  # of the sensitivity, that rounding may add


class CorrelatedNoise:
    """A `NoiseStream` for each array of the sums of a plan.

    Arithmetic on what streams keep moves what is released with the data, by
    `NoiseStream.rounding_error` at most where no released norm is beyond
    `NoiseStream.largest_norm`. So much more noise is added, and beyond that norm, which chance does
    not reach, the run is stopped by what has been released.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        shapes: list[tuple[int, ...]],
        factors: list[float] | None,
        generator: SecureGenerator,
        threads: int | None,
    ) -> None:
        self._norm = plan.largest_batch * plan.max_grad_norm
        each = factors or [1.0] * len(shapes)

        def streams(scale: float) -> list[NoiseStream]:
            return [
                plan.strategy.noise(  # type: ignore[union-attr]
                    shape, generator, scale=scale * factor, threads=threads
                )
                for shape, factor in zip(shapes, each, strict=True)
            ]

        self._streams = streams(plan.noise_scale * (1.0 + _MOST))
        if plan.noise_scale == 0.0:
            return
        errors = (s.rounding_error(self._norm) for s in self._streams)
        error = math.hypot(*(e / factor for e, factor in zip(errors, each, strict=True)))
        assert plan.strategy is not None
        share = error / (plan.strategy.sensitivity(participation_in(plan)) * plan.max_grad_norm)
        if share > _MOST:
            raise ValueError(
                "strategy must be one whose noise is known to within 1 percent of its sensitivity "
                f"for sums of this size in double precision, got {plan.strategy!r}"
            )
        # Rounded up: two products, and the quotient above.
        self._streams = streams(plan.noise_scale * (1.0 + share) * (1.0 + 2.0**-50))

    def add(self, arrays: list[Array], batch: int) -> list[Array]:
        """Add the noise of the step on a batch, counted from 1, in place.

        Batches that were left out are steps without records, whose noise is drawn all the same.

        Raises
        ------
        RuntimeError
            If the noise of this step has been used, or is beyond what chance explains.
        """
        for stream, array in zip(self._streams, arrays, strict=True):
            if stream.step >= batch:
                raise RuntimeError(
                    f"the noise of batch {batch} must be used once, got {stream.step} steps: draw "
                    "the next batch"
                )
            while stream.step < batch - 1:
                next(stream)
            stream.add(array)
            if not float(np.linalg.norm(array)) <= stream.largest_norm(self._norm):
                array[...] = 0.0
                raise RuntimeError("released sums must have norms that chance explains: run ended")
        return arrays

    def state_dict(self) -> list[dict[str, Any]]:
        """Return the states of the streams, without what must not be published."""
        return [stream.state_dict() for stream in self._streams]

    def secrets(self) -> list[dict[str, Any]]:
        """Return what must not be: the noise of steps before tells their sums."""
        return [stream.state_dict(secrets=True)["secrets"] for stream in self._streams]

    def check(self, state: Any, secrets: Any) -> None:
        """Raise if a state is not one of such streams."""
        for stream, own in self._each(state, secrets):
            stream.checked(own)

    def restore(self, state: Any, secrets: Any) -> None:
        """Go on with the buffers of a state that was checked."""
        for stream, own in self._each(state, secrets):
            stream.restore(own)

    def _each(self, state: Any, secrets: Any) -> Iterator[tuple[NoiseStream, Any]]:
        count = len(self._streams)
        if not isinstance(state, list) or len(state) != count:
            raise ValueError(f"state must hold noise of {count} arrays, got another")
        hidden = secrets if isinstance(secrets, list) else [None] * count
        if len(hidden) != count:
            raise ValueError(f"state must hold secrets of the noise of {count} arrays, got others")
        for stream, own, kept in zip(self._streams, state, hidden, strict=True):
            yield stream, with_secrets(own, {"noise": kept}, "noise")
