"""A pass over records in a fixed order, each step with noise of a scale of its own.

    delta_i = A_i B_{i+1} ... B_n

for the record of step i (Sordello, Bu, Dong 2021, arXiv 2106.11767), with A and B of
`record_divergence` and `contraction_coefficient` at the scales of the steps. Nothing is hidden by
the order: the record of the last step has no more protection than its own noise.

``noise`` is always a number (all scales the same), an array of ``n`` numbers or a `DecayingNoise`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._validation import epsilon_of
from renyi.theory.iteration._arguments import steps_of
from renyi.theory.iteration.schedules import DecayingNoise, NoiseScales, schedule_of
from renyi.theory.iteration.setting import NoisyDescent
from renyi.theory.iteration.shuffled import pass_of

__all__ = [
    "WorstRecord",
    "online_delta",
    "online_deltas",
    "online_limit",
    "online_worst",
]

Floats = npt.NDArray[np.float64]


class WorstRecord(NamedTuple):
    """The record with the weakest guarantee.

    Attributes
    ----------
    delta : float
        Its delta, rounded up.
    step : int
        Its step, from 1; the last of them if there are several.
    """

    delta: float
    step: int


def online_delta(
    descent: NoisyDescent, epsilon: float, noise: NoiseScales, n: int | npt.ArrayLike, index: int
) -> Any:
    """Return delta of the record of one step, after ``n`` steps.

    Parameters
    ----------
    descent : NoisyDescent
        The pass.
    epsilon : float
        In [0, inf].
    noise : float, array_like or DecayingNoise
        Scales of the noise Z, in [1e-75, 1e75]; an array only with one ``n``.
    n : int or array_like of int
        Numbers of steps, in [index, 2^53]; the time is that of the largest.
    index : int
        The step of the record, from 1.

    Returns
    -------
    float or ndarray
        Of the shape of ``n``, in [0, 1]. Rounded up, for ``epsilon`` up to 10 relatively by less
        than 1e-13 and 5e-14 for each factor e below 1, beyond that by more in proportion to
        ``epsilon``; no less than the smallest normal number unless 0.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
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
    descent: NoisyDescent,
    epsilon: float,
    noise: NoiseScales,
    n: int,
    *,
    out: Floats | None = None,
) -> Floats:
    """Return delta of every record.

    Parameters
    ----------
    descent, epsilon, noise, n
        As for `online_delta`, one ``n``.
    out : ndarray, optional
        Contiguous float64 of length ``n``, to be filled.

    Returns
    -------
    ndarray
        ``delta_1, ..., delta_n``, each as of `online_delta`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
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
    """Return the largest delta of all records, and whose it is; in constant memory.

    Parameters
    ----------
    descent, epsilon, noise, n
        As for `online_deltas`.

    Returns
    -------
    WorstRecord
        The delta is as of `online_delta`; where noise hardly decays over the last 262,144 steps,
        above it by 1e-12 times ``(2 lipschitz / scale)^2`` at most. Scales that do not rise make
        the last record the worst: it takes microseconds then, whatever ``n``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
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

    Parameters
    ----------
    descent, epsilon, index
        As for `online_delta`.
    noise : DecayingNoise
        Its power must be above 1.

    Returns
    -------
    float
        In [0, 1], never below the limit. After its millions of steps the product is bounded by
        blocks, each with the coefficient of its middle step, which is safe where -log B is convex
        in the step: above the limit by less than 1e-6 relatively for powers up to 2, c1 up to 1e5
        and an epsilon up to 2. Before that, which for a c2 or an epsilon so large is beyond the
        first two million steps, blocks have the coefficient of their last step: 1e-4.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> descent = NoisyDescent(step_size=0.01, lipschitz=10.0, diameter=1.0, noise="laplace")
    >>> noise = DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5)
    >>> import math
    >>> round(math.log10(online_limit(descent, 1.0, noise, index=100)), 4)
    -7.8105
    """
    first, value = steps_of(index, "index"), epsilon_of(epsilon)
    if not isinstance(noise, DecayingNoise):
        raise TypeError(f"noise must be a DecayingNoise, got {noise!r}")
    if noise.power <= 1.0:
        raise ValueError(f"noise must have a power above 1, got {noise.power!r}")
    return pass_of(descent, value).online_limit(schedule_of(descent, noise, None), first)
