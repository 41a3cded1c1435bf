"""A pass over records in a fixed order; each step has its own noise scale.

    delta_i = A_i B_{i+1} ... B_n

for the record of step i (Sordello, Bu, Dong 2021, arXiv 2106.11767), with A and B of
`renyi.theory.iteration` at the scales of the steps. Only its own noise protects the record of the
last step. ``noise`` is one scale for all steps, an array of ``n`` scales or a `DecayingNoise`.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._engine import Schedule
from renyi._search import smallest_argument
from renyi._validation import delta_of, epsilon_of, uses_of
from renyi.theory.iteration import (
    LARGEST,
    SMALLEST,
    DecayingNoise,
    Floats,
    NoiseScales,
    NoisyDescent,
    pass_of,
    schedule_of,
    steps_of,
)

__all__ = [
    "online_delta",
    "online_deltas",
    "online_epsilon",
    "online_limit",
    "online_noise_factor",
    "online_worst",
]
__dir__ = __all__.copy


class WorstRecord(NamedTuple):
    """The delta and the step of the record with the weakest guarantee."""

    delta: float
    step: int


def online_delta(
    descent: NoisyDescent, epsilon: float, noise: NoiseScales, n: int | npt.ArrayLike, index: int
) -> Any:
    """Return delta of the record of one step, after ``n`` steps.

    Args:
        descent: The pass.
        epsilon: In [0, inf].
        noise: Scales of the noise Z, in [1e-75, 1e75]; an array needs a single ``n``.
        n: Numbers of steps, in [index, 2^53]; the largest one determines the time.
        index: The step of the record, from 1.

    Returns:
        float or ndarray: Deltas in [0, 1], of the shape of ``n``. They are rounded up, for
            ``epsilon`` up to 10 relatively by less than 1e-13 and 5e-14 for each factor e below 1,
            beyond that by more in proportion to ``epsilon``; no less than the smallest normal
            number unless 0.

    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0, noise="laplace")
    >>> noise = DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5)
    >>> online_delta(descent, 1.0, noise, [1000, 10_000], index=100).round(12)
    array([2.59719093e-04, 4.14951000e-07])
    """
    given = np.asarray(n)
    if given.dtype.kind not in "iu":
        raise TypeError(f"n must be an integer in [1, 2^53] or an array of them, got {n!r}")
    first, value = steps_of(index, "index"), epsilon_of(epsilon)
    if given.size == 0:
        return np.empty(given.shape)
    steps = np.ascontiguousarray(given.reshape(-1), dtype=np.int64)
    last = steps_of(int(given.max()))
    if given.min() < first:
        raise ValueError(f"n must be at least the index {first}, got {int(given.min())}")
    schedule = schedule_of(descent, noise, last if given.ndim == 0 else None)
    order = np.argsort(steps, kind="stable")
    found, out = np.empty(steps.size), np.empty(steps.size)
    pass_of(descent, value).online_delta_into(schedule, first, steps[order], found)
    out[order] = found
    return float(out[0]) if given.ndim == 0 else out.reshape(given.shape)


def online_deltas(
    descent: NoisyDescent, epsilon: float, noise: NoiseScales, n: int, *, out: Floats | None = None
) -> Floats:
    """Return delta of every record.

    Args:
        descent, epsilon, noise, n: As for `online_delta`, one ``n``.
        out: Contiguous float64 of length ``n``, to be filled.

    Returns:
        ``delta_1, ..., delta_n``, each as from `online_delta`.

    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0)
    >>> online_deltas(descent, 1.0, 50.0, 3).round(6)
    array([0.000338, 0.000663, 0.0013  ])
    """
    steps, value = steps_of(n), epsilon_of(epsilon)
    schedule = schedule_of(descent, noise, steps)
    if out is None:
        out = np.empty(steps)
    elif out.dtype != np.float64 or out.shape != (steps,):
        raise ValueError(f"out must be a float64 array of length {steps}, got {out!r}")
    elif not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("out must be contiguous and writeable, got one that is not")
    pass_of(descent, value).online_deltas_into(schedule, out)
    return out


def online_worst(descent: NoisyDescent, epsilon: float, noise: NoiseScales, n: int) -> WorstRecord:
    """Return the largest delta of all records, and the step of that record; in constant memory.

    Args:
        descent, epsilon, noise, n: As for `online_deltas`.

    Returns:
        ``delta`` and ``step``, from 1, the last of them if there are several. The delta is that of
        `online_delta`; where noise hardly decays over the last 262,144 steps, it is above that by
        1e-12 times ``(2 lipschitz / scale)^2`` at most. If scales do not rise, the last record is
        the worst: this takes microseconds for any ``n``.

    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0)
    >>> worst = online_worst(descent, 1.0, [20.0, 10.0, 50.0, 60.0], 4)
    >>> round(worst.delta, 6), worst.step
    (0.100339, 2)
    """
    steps, value = steps_of(n), epsilon_of(epsilon)
    schedule = schedule_of(descent, noise, steps)
    return WorstRecord(*pass_of(descent, value).online_worst(schedule, steps))


def online_limit(descent: NoisyDescent, epsilon: float, noise: DecayingNoise, index: int) -> float:
    """Return a bound of `online_delta` that is reached as ``n`` grows without end.

    Args:
        descent, epsilon, index: As for `online_delta`.
        noise: Its power must be above 1.

    Returns:
        A number in [0, 1], never below the limit. After some million steps the product is bounded
        by blocks, each with the coefficient of its middle step, which is safe where -log B is
        convex in the step: the result is above the limit by less than 1e-6 relatively for powers up
        to 2, c1 up to 1e5 and an epsilon up to 2. Before -log B is convex, which may last beyond
        the first two million steps for a large c2 or epsilon, blocks have the coefficient of their
        last step, and the error is 1e-4.

    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0, noise="laplace")
    >>> noise = DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5)
    >>> round(math.log10(online_limit(descent, 1.0, noise, index=100)), 4)
    -7.8105
    """
    first, value = steps_of(index, "index"), epsilon_of(epsilon)
    if not isinstance(noise, DecayingNoise):
        raise TypeError(f"noise must be a DecayingNoise, got {noise!r}")
    if noise.power <= 1.0:
        raise ValueError(f"noise must have a power above 1, got {noise.power!r}")
    return pass_of(descent, value).online_limit(schedule_of(descent, noise, None), first)


def online_epsilon(
    descent: NoisyDescent, delta: float, noise: NoiseScales, n: int, index: int | None = None
) -> float:
    """Return the smallest epsilon for a target delta, of one record or of all.

    Args:
        descent, noise, n: As for `online_deltas`.
        delta: In [0, 1].
        index: The step of the record, in [1, n]; by default the worst one.

    Returns:
        An epsilon of at least 0, above the smallest by at most 1e-12 relatively; this takes about
        fifteen times the time of `online_delta` or `online_worst`.

    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0)
    >>> round(online_epsilon(descent, 1e-6, 50.0, 1000), 6)
    1.765648
    """
    target, steps = delta_of(delta), steps_of(n)
    schedule = schedule_of(descent, noise, steps)
    record = None if index is None else uses_of(index, "index", 1, steps)

    def at(epsilon: float) -> float:
        return _delta_at(descent, epsilon, schedule, steps, record)

    return 0.0 if at(0.0) <= target else smallest_argument(at, target, 1.0, 1e-300, 1e305)


def online_noise_factor(
    descent: NoisyDescent,
    epsilon: float,
    delta: float,
    noise: NoiseScales,
    n: int,
    index: int | None = None,
) -> float:
    """Return the smallest factor of all scales for a target (epsilon, delta).

    With ``noise=1.0`` it is the smallest constant scale.

    Args:
        descent, epsilon, noise, n: As for `online_deltas`.
        delta: In [0, 1].
        index: The step of the record, in [1, n]; by default the worst one.

    Returns:
        A factor in [1e-20, 1e20], above the smallest by at most 1e-12 relatively.

    Raises:
        ValueError: If no factor up to 1e20 meets the target.

    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0)
    >>> round(online_noise_factor(descent, 1.0, 1e-5, 1.0, 1000), 6)
    74.612633
    """
    target, steps, value = delta_of(delta), steps_of(n), epsilon_of(epsilon)
    record = None if index is None else uses_of(index, "index", 1, steps)
    times = _multiplied(descent, noise, steps)

    def at(factor: float) -> float:
        return _delta_at(descent, value, times(factor), steps, record)

    factor = smallest_argument(at, target, 1.0, 1e-20, 1e20)
    if math.isinf(factor):
        raise ValueError(f"delta must be one that a factor up to 1e20 reaches, got {delta!r}")
    return factor


def _delta_at(
    descent: NoisyDescent, epsilon: float, schedule: Schedule, n: int, record: int | None
) -> float:
    core = pass_of(descent, epsilon)
    if record is None:
        return core.online_worst(schedule, n)[0]
    out = np.empty(1)
    core.online_delta_into(schedule, record, np.array([n], np.int64), out)
    return float(out[0])


def _multiplied(descent: NoisyDescent, noise: Any, n: int) -> Callable[[float], Schedule]:
    """Return the scales times a factor, as a function of it."""
    schedule_of(descent, noise, n)  # raises
    if isinstance(noise, DecayingNoise):
        return lambda factor: schedule_of(descent, noise.scaled(factor), n)
    scales = np.asarray(noise, np.float64)

    def times(factor: float) -> Schedule:
        return schedule_of(descent, np.clip(scales * factor, SMALLEST, LARGEST), n)

    return times
