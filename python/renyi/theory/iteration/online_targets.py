"""Epsilon of an online pass for a target delta, and the noise for a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from renyi._iteration import Schedule
from renyi._search import smallest_argument
from renyi._validation import delta_of, epsilon_of
from renyi.theory.iteration._arguments import LARGEST, SMALLEST, steps_of
from renyi.theory.iteration.schedules import DecayingNoise, NoiseScales, schedule_of
from renyi.theory.iteration.setting import NoisyDescent
from renyi.theory.iteration.shuffled import pass_of

__all__ = ["online_epsilon", "online_noise_factor"]


def online_epsilon(
    descent: NoisyDescent, delta: float, noise: NoiseScales, n: int, index: int | None = None
) -> float:
    """Return the smallest epsilon for a target delta, of one record or of all.

    Parameters
    ----------
    descent, noise, n
        As for `online_deltas`.
    delta : float
        In [0, 1].
    index : int, optional
        The step of the record, in [1, n]; by default the worst one.

    Returns
    -------
    float
        At least 0, and right to 1e-12 relatively from above; about fifteen times the time of
        `online_delta` or `online_worst`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0)
    >>> round(online_epsilon(descent, 1e-6, 50.0, 1000, index=900), 6)
    0.0
    >>> round(online_epsilon(descent, 1e-6, 50.0, 1000), 6)
    1.765648
    """
    target, steps = delta_of(delta), steps_of(n)
    schedule = schedule_of(descent, noise, steps)
    record = None if index is None else _record_of(index, steps)

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
    """Return the smallest factor by which to multiply all scales for a target (epsilon, delta).

    With ``noise=1.0`` it is the smallest constant scale.

    Parameters
    ----------
    descent, epsilon, noise, n
        As for `online_deltas`.
    delta : float
        In [0, 1].
    index : int, optional
        The step of the record, in [1, n]; by default the worst one.

    Returns
    -------
    float
        In [1e-20, 1e20], from above to 1e-12 relatively.

    Raises
    ------
    TypeError
        If an argument is of the wrong type.
    ValueError
        If an argument is not as above, or no factor up to 1e20 meets the target.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0)
    >>> round(online_noise_factor(descent, 1.0, 1e-5, 1.0, 1000), 6)
    74.612633
    """
    target, steps, value = delta_of(delta), steps_of(n), epsilon_of(epsilon)
    record = None if index is None else _record_of(index, steps)
    times = _multiplied(descent, noise, steps)

    def at(factor: float) -> float:
        return _delta_at(descent, value, times(factor), steps, record)

    factor = smallest_argument(at, target, 1.0, 1e-20, 1e20)
    if math.isinf(factor):
        raise ValueError(f"delta must be one that a factor up to 1e20 reaches, got {delta!r}")
    return factor


def _record_of(index: Any, n: int) -> int:
    record = steps_of(index, "index")
    if record > n:
        raise ValueError(f"index must be an integer in [1, {n}], got {index!r}")
    return record


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
