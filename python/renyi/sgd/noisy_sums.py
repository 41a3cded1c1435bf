"""From clipped sums to noisy ones: the clipping norm, independent or correlated noise, divisor."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._arrays import Array, Arrays, Rows, noise_scale, rows_of, sum_dtype, sums_for, threads_of
from renyi._states import with_secrets
from renyi._validation import FINITE_NON_NEGATIVE, number_in
from renyi.matrix import NoiseStream
from renyi.noise.draws import add_gaussian_noise
from renyi.noise.generator import SecureGenerator, generator_of
from renyi.sgd.accumulation import ClipAccumulator
from renyi.sgd.adaptive import QuantileClipNorm
from renyi.sgd.clipping import clip_and_sum
from renyi.sgd.grid import Grid, add_noise_on_grid, sigma_of
from renyi.sgd.plan import ROUNDING_NOISE, TrainingPlan, participation_in
from renyi.sgd.rules import ClipGroups, Clipping, Nonfinite, refuse_nonfinite, rule_of
from renyi.sgd.sums import ClippedSum

_MOST = 0.01  # largest rounding error, relative to the sensitivity


class CorrelatedNoise:
    """A `NoiseStream` for each array of the sums of a plan.

    Rounding in the buffers of a stream depends on the data. It moves a released sum by at most
    `NoiseStream.rounding_error`, as long as no released norm exceeds `NoiseStream.largest_norm`.
    The noise is increased to cover this, and a run with a larger norm, which has a negligible
    probability, is stopped.
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
        if plan.sampling == "balls_in_bins":
            # A part s^2 k of the variance s^2 hides the rounding error e: with the release of noise
            # 300 that the plan has for it, k = (300 e)^2 is enough, and s^2 = 1 + k leaves 1.
            share = (ROUNDING_NOISE * share) ** 2
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

        Raises:
            RuntimeError: If the noise of this step has been used, or is too large to be chance.
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
        """Return the states of the streams, without their secrets."""
        return [stream.state_dict() for stream in self._streams]

    def secrets(self) -> list[dict[str, Any]]:
        """Return what must not be published: earlier noise reveals the sums of earlier steps."""
        return [stream.state_dict(secrets=True)["secrets"] for stream in self._streams]

    def check(self, state: Any, secrets: Any) -> None:
        """Raise if a state does not belong to such streams."""
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


class NoisySum:
    """Sums one batch after the other, each with the noise of the plan.

    With a `QuantileClipNorm` the noise multiplier of the plan covers sum and count together.
    """

    def __init__(
        self,
        plan: TrainingPlan,
        shapes: Any,
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
            grid=plan.grid,
            threads=threads,
            **clipping,
        )
        entries = sum(map(math.prod, [shapes] if isinstance(shapes, tuple) else shapes))
        if plan.dimension not in (None, entries):
            raise ValueError(
                f"parameters must have {plan.dimension} entries, the dimension of the plan, got "
                f"{entries}"
            )
        self._factors = _noise_factors(clipping["clipping"], plan.grid)
        self._threads = threads
        schedules = (plan.noise_schedule, plan.clip_schedule)
        for step in {1, *(start for each in schedules if each for start in each.starts)}:
            for factor in set(self._factors or [1.0]):
                scale = _times_above(self._scale(step), factor)
                if plan.grid is None:  # both raise if there is no such noise
                    noise_scale(scale, np.dtype(np.float64))
                else:
                    sigma_of(plan.grid, scale)
        self.generator = generator_of(generator)
        self._correlated = None
        if plan.strategy is not None:
            if clip_norm is not None:
                raise ValueError(f"clip_norm must be None with a strategy, got {clip_norm!r}")
            self._correlated = CorrelatedNoise(
                plan,
                [shapes] if isinstance(shapes, tuple) else list(shapes),
                self._factors,
                self.generator,
                threads,
            )

    def bounds(self, step: int) -> tuple[float, ...]:
        """Return the bounds for the batch of the next step, which may have begun."""
        if self.clip_norm is not None and not self.parts.parts:
            return (self.clip_norm.value,)
        self._set_bound(step)
        return self.parts.max_grad_norm

    def _set_bound(self, step: int) -> None:
        """Set the clipping norm of a step's batch, unless the batch has begun."""
        if self.parts.parts:
            return
        if self.clip_norm is not None:
            self.parts.max_grad_norm = self.clip_norm.value
        elif self.plan.clip_schedule is not None:
            self.parts.max_grad_norm = self.plan.at(step).max_grad_norm

    def checked(
        self, grads: Any, drawn: int | None, step: int, *, last: bool
    ) -> Rows | ClippedSum | None:
        """Return a checked part of the batch of a step; the last part may be None.

        ``drawn`` is the number of rows of the batch, if it is known. It is private.
        """
        self.parts.refuse_torn()
        self._set_bound(step)
        given = grads is not None or not last
        part = self.parts.checked(grads, "per_sample_grads") if given else None
        rows = self.parts.batch_size
        if part is not None:
            rows += part.count if isinstance(part, Rows) else part.private.batch_size
        self._check_public_size(rows, last)
        if drawn is not None and (rows > drawn or (last and rows < drawn)):
            raise ValueError(
                "per_sample_grads must have a row for each record of the batch that was drawn "
                f"last, got {'more' if rows > drawn else 'fewer'}: take gradients of x[batch]"
            )
        return part

    def _check_public_size(self, rows: int, last: bool) -> None:
        most, fixed = self.plan.largest_batch, self.plan.sampling == "fixed_size"
        if rows > most or (fixed and last and rows < most):
            raise ValueError(
                f"per_sample_grads must have {'' if fixed else 'at most '}{most} rows to a batch, "
                f"got {'more' if rows > most else 'fewer'}"
            )

    def release(self, clipped: ClippedSum, step: int) -> list[Array]:
        """Return the noisy mean, in the memory of the sum, and update the clipping norm."""
        if self._correlated is not None:
            noisy = self._correlated.add(clipped.arrays, step)
        else:
            noisy = self._noised(clipped.arrays, self._scale(step))
        for array in noisy:
            array /= self.plan.expected_batch_size
        if self.clip_norm is not None:
            count = np.array(self.clip_norm.private_count(clipped))
            add_gaussian_noise(count, self.clip_norm.count_noise, generator=self.generator)
            self.clip_norm.update(float(count))
        return noisy

    def _noised(self, arrays: list[Array], scale: float) -> list[Array]:
        grid = self.plan.grid
        options: dict[str, Any] = {"generator": self.generator, "threads": self._threads}
        if grid is not None:
            return [add_noise_on_grid(array, grid, scale, **options) for array in arrays]
        for array, factor in zip(arrays, self._factors or [1.0] * len(arrays), strict=True):
            add_gaussian_noise(array, _times_above(scale, factor), **options)
        return arrays

    def state_dict(self) -> dict[str, Any]:
        """Return the state between two batches, without `secrets`."""
        return {
            "clip_norm": None if self.clip_norm is None else self.clip_norm.state_dict(),
            "generator": self.generator.state_dict(),
            "correlated": None if self._correlated is None else self._correlated.state_dict(),
        }

    def secrets(self) -> dict[str, Any]:
        """Return the part of the state that must not be published."""
        return {
            "generator": self.generator.state_dict(secrets=True)["secrets"],
            "correlated": None if self._correlated is None else self._correlated.secrets(),
        }

    def check(self, state: Mapping[str, Any]) -> None:
        """Raise if a state does not belong to a sum like this."""
        found = state.get("clip_norm")
        if (found is None) != (self.clip_norm is None):
            raise ValueError(
                f"state must hold a clip_norm where there is one, {self.clip_norm!r}, got {found!r}"
            )
        if self.clip_norm is not None:
            self.clip_norm.checked(found)
        if self._correlated is not None:
            self._correlated.check(state.get("correlated"), _secret(state, "correlated"))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with the clipping norm of a state that was checked."""
        if self.clip_norm is not None:
            self.clip_norm.load_state_dict(state["clip_norm"])
        if self._correlated is not None:
            self._correlated.restore(state["correlated"], _secret(state, "correlated"))

    def _scale(self, step: int) -> float:
        """Return the standard deviation of the noise of the next sum, rounded up."""
        settings = self.plan.at(step)
        if self.clip_norm is None:
            return settings.noise_scale
        given = settings.noise_multiplier, self.plan.adjacency
        multiplier = self.clip_norm.sum_noise_multiplier(*given)
        return math.nextafter(multiplier * self.clip_norm.value, math.inf)


def _secret(state: Mapping[str, Any], name: str) -> Any:
    secrets = state.get("secrets")
    return secrets.get(name) if isinstance(secrets, Mapping) else None


def _times_above(scale: float, factor: float) -> float:
    return scale if factor == 1.0 else math.nextafter(scale * factor, math.inf)


def _noise_factors(clipping: Any, grid: Grid | None) -> list[float] | None:
    """Return the factor of the noise of each array, or None where all are equal."""
    if not isinstance(clipping, ClipGroups) or clipping.noise is None:
        return None
    if grid is not None:
        raise ValueError(f"clipping must be of groups with the same noise on a grid: {clipping!r}")
    factors = clipping.noise_factors()
    return [factors[group] for group in clipping.of]


def _clip_norm_of(value: Any, plan: TrainingPlan, clipping: Any) -> QuantileClipNorm | None:
    if value is None:
        return None
    if type(value) is not QuantileClipNorm:
        raise TypeError(
            f"clip_norm must be a QuantileClipNorm, of no class of its own, got {value!r}"
        )
    if plan.grid is not None:
        raise ValueError(
            f"clip_norm must be None on a grid, whose noise goes with no count, got {value!r}"
        )
    if clipping != "flat":
        raise ValueError(f"clipping must be 'flat' for a clip_norm to follow, got {clipping!r}")
    if plan.clip_schedule is not None:
        raise ValueError(f"clip_norm must be None with a clip_schedule, got {value!r}")
    if value.value != plan.max_grad_norm:
        raise ValueError(
            f"clip_norm must begin at the max_grad_norm of the plan, {plan.max_grad_norm!r}, "
            f"got {value.value!r}: one that has been used is to be made anew"
        )
    if value.expected_batch_size != plan.expected_batch_size:
        raise ValueError(
            f"clip_norm must have the expected_batch_size of the plan, "
            f"{plan.expected_batch_size!r}, got {value.expected_batch_size!r}"
        )
    return value


def noisy_clipped_sum(
    grads: Any,
    max_grad_norm: Any,
    noise_multiplier: float,
    *,
    clipping: Clipping = "flat",
    stability: float = 0.01,
    dtype: npt.DTypeLike | None = None,
    out: Arrays | None = None,
    generator: Any = None,
    threads: int | None = None,
    nonfinite: Nonfinite = "zero",
) -> Arrays:
    """Clip every row, sum, and add Gaussian noise; without rows it is noise alone.

    The sum is exact, and a record moves it by no more than the clipping norm. The result is sum
    plus ideal noise, rounded to the nearest multiple of `noise_lattice` of the noise's deviation.
    For an accountant this is ``Gaussian(noise_multiplier)`` on the records of the batch, whatever
    the adjacency; if the batch is a sample, it is that mechanism in the accountant's sampling
    scheme. Record the mechanism beforehand, or let `DPSGD` do so. Divide by a public number only:
    not by the rows of a Poisson batch.

    Args:
        grads, max_grad_norm, clipping, stability, out, threads, nonfinite: As for `clip_and_sum`.
        dtype: The dtype of the result, as for `clip_and_sum`. Sum and noise are in double
            precision, and the noisy sum is rounded for float32.
        noise_multiplier: Standard deviation of the noise over the largest joint norm of a clipped
            row, in [0, inf).
        generator (SecureGenerator or numpy.random.Generator): As for `add_gaussian_noise`.

    Raises:
        TypeError, ValueError: If an argument is not as above. ``out`` is untouched then. After an
            interruption it is zero, and never a sum without noise.

    >>> grads = np.random.default_rng(1).normal(size=(256, 1000))
    >>> noisy = noisy_clipped_sum(grads, 1.0, 2.0)
    >>> bool(1.8 < noisy.std() < 2.3)
    True
    """
    rows = rows_of(grads, bfloat16=True)
    multiplier = number_in(noise_multiplier, "noise_multiplier", FINITE_NON_NEGATIVE)
    bound = rule_of(clipping, max_grad_norm, stability, len(rows.arrays)).total
    scale = math.nextafter(multiplier * bound, math.inf) if multiplier else 0.0
    kind = sum_dtype(dtype, out)
    noise_scale(scale, kind)  # raises if out of range, before there is a sum
    source = generator_of(generator)
    refuse_nonfinite(rows, nonfinite, threads_of(threads, rows.nbytes))
    sums = sums_for(rows, kind, out)
    try:
        clipped = clip_and_sum(
            rows.like_given(rows.arrays),
            max_grad_norm,
            clipping=clipping,
            stability=stability,
            out=rows.like_given(sums) if kind == np.float64 else None,
            threads=threads,
        )
        for array, total in zip(sums, clipped.arrays, strict=True):
            add_gaussian_noise(total, scale, generator=source, threads=threads)
            if total is not array:
                array[...] = total
    except BaseException:
        for array in sums:
            array[...] = 0.0
        raise
    return rows.like_given(sums)
