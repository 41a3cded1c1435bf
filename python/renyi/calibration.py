"""Calibration: noise, steps or sampling rate for a target (epsilon, delta), through Rényi-DP.

Every value returned satisfies the target, as the accountant itself confirms; one tolerance further
it does not. All functions assume Poisson sampling and add/remove adjacency.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from renyi._validation import count_of, probability_of, real_of
from renyi.accountants import Conversion, RDPAccountant
from renyi.mechanisms import Gaussian, PoissonSampled

__all__ = ["calibrate_noise_multiplier", "calibrate_sample_rate", "calibrate_steps"]

SMALLEST_NOISE, LARGEST_NOISE = 1e-2, 1e8
MOST_STEPS = 10**15


def calibrate_noise_multiplier(
    *,
    target_epsilon: float,
    target_delta: float,
    sample_rate: float,
    steps: int,
    tolerance: float = 1e-6,
    orders: Iterable[float] | None = None,
    conversion: Conversion = "optimal",
) -> float:
    """Return the smallest noise multiplier for which ``steps`` sampled steps meet the target.

    Parameters
    ----------
    target_epsilon : float
        In (0, inf).
    target_delta : float
        In (0, 1).
    sample_rate : float
        In [0, 1].
    steps : int
        At least 0.
    tolerance : float
        Relative, in [1e-12, 0.1]: ``(1 - tolerance)`` times the result misses the target.
    orders, conversion
        As for `RDPAccountant`.

    Returns
    -------
    float
        At least 0.01, the smallest that is looked at; 0.0 where nothing is released (no steps or a
        rate of 0).

    Raises
    ------
    TypeError, ValueError
        For arguments outside these ranges, and where no noise multiplier up to 1e8 reaches the
        target.

    Examples
    --------
    >>> target = {"target_epsilon": 1.0, "target_delta": 1e-5}
    >>> sigma = calibrate_noise_multiplier(**target, sample_rate=0.01, steps=1000)
    >>> round(sigma, 4)
    1.513
    """
    epsilon, delta = _target(target_epsilon, target_delta)
    rate, count = probability_of(sample_rate, "sample_rate"), count_of(steps, "steps")
    tolerance = _tolerance(tolerance)
    grid = None if orders is None else tuple(orders)

    def excess(noise: float) -> float:
        return _epsilon(noise, rate, count, delta, grid, conversion) - epsilon

    if rate == 0.0 or count == 0:
        _epsilon(
            1.0, rate, count, delta, grid, conversion
        )  # orders and conversion are checked all the same
        return 0.0
    if excess(SMALLEST_NOISE) <= 0.0:
        return SMALLEST_NOISE
    enough = 1.0
    while excess(enough) > 0.0:
        enough *= 8.0
        if enough > LARGEST_NOISE:
            raise ValueError(
                "target_epsilon must be reachable with a noise multiplier of at most "
                f"{LARGEST_NOISE:g}, got {target_epsilon!r}"
            )
    short = enough / 8.0
    while excess(short) <= 0.0:
        enough, short = short, max(short / 8.0, SMALLEST_NOISE)
    return _edge(excess, enough, short, tolerance)


def calibrate_sample_rate(
    *,
    target_epsilon: float,
    target_delta: float,
    noise_multiplier: float,
    steps: int,
    tolerance: float = 1e-6,
    orders: Iterable[float] | None = None,
    conversion: Conversion = "optimal",
) -> float:
    """Return the largest sampling rate for which ``steps`` sampled steps meet the target.

    Parameters
    ----------
    target_epsilon : float
        In (0, inf).
    target_delta : float
        In (0, 1).
    noise_multiplier : float
        In (0, inf].
    steps : int
        At least 0.
    tolerance : float
        Relative, in [1e-12, 0.1]: ``(1 + tolerance)`` times the result misses the target, unless
        the result is 1.
    orders, conversion
        As for `RDPAccountant`.

    Returns
    -------
    float
        In (0, 1].

    Raises
    ------
    TypeError, ValueError
        For arguments outside these ranges, and where even a rate of 1e-12 misses the target.

    Examples
    --------
    >>> target = {"target_epsilon": 1.0, "target_delta": 1e-5}
    >>> q = calibrate_sample_rate(**target, noise_multiplier=1.0, steps=1000)
    >>> round(q, 5)
    0.00376
    """
    epsilon, delta = _target(target_epsilon, target_delta)
    noise, count = _noise(noise_multiplier), count_of(steps, "steps")
    tolerance = _tolerance(tolerance)
    grid = None if orders is None else tuple(orders)

    def excess(rate: float) -> float:
        return _epsilon(noise, rate, count, delta, grid, conversion) - epsilon

    if excess(1.0) <= 0.0:
        return 1.0
    enough, short = 0.1, 1.0
    while excess(enough) > 0.0:
        enough, short = enough / 10.0, enough
        if enough < 1e-12:
            raise ValueError(
                "target_epsilon must be reachable with a sample rate of at least 1e-12, "
                f"got {target_epsilon!r}"
            )
    return _edge(excess, enough, short, tolerance)


def calibrate_steps(
    *,
    target_epsilon: float,
    target_delta: float,
    noise_multiplier: float,
    sample_rate: float,
    orders: Iterable[float] | None = None,
    conversion: Conversion = "optimal",
) -> int:
    """Return the largest number of sampled steps that meets the target.

    Parameters
    ----------
    target_epsilon : float
        In (0, inf).
    target_delta : float
        In (0, 1).
    noise_multiplier : float
        In (0, inf].
    sample_rate : float
        In [0, 1].
    orders, conversion
        As for `RDPAccountant`.

    Returns
    -------
    int
        At least 0; one step more misses the target. Counts above 1e15 are not looked at: 10**15 is
        returned then.

    Raises
    ------
    TypeError, ValueError
        For arguments outside these ranges.

    Examples
    --------
    >>> target = {"target_epsilon": 2.0, "target_delta": 1e-5}
    >>> calibrate_steps(**target, noise_multiplier=1.1, sample_rate=0.004)
    9878
    """
    epsilon, delta = _target(target_epsilon, target_delta)
    noise, rate = _noise(noise_multiplier), probability_of(sample_rate, "sample_rate")
    grid = None if orders is None else tuple(orders)

    def fits(count: int) -> bool:
        return _epsilon(noise, rate, count, delta, grid, conversion) <= epsilon

    if not fits(1):
        return 0
    enough, short = 1, 2
    while fits(short):
        if short >= MOST_STEPS:
            return MOST_STEPS
        enough, short = short, min(short * 4, MOST_STEPS)
    while short - enough > 1:
        middle = max(enough + 1, min(short - 1, math.isqrt(enough * short)))
        enough, short = (middle, short) if fits(middle) else (enough, middle)
    return enough


def _edge(excess: Callable[[float], float], enough: float, short: float, tolerance: float) -> float:
    """Return the value nearest to ``short`` with ``excess <= 0``, by bracketed secants on logs."""
    low, high = math.log(enough), math.log(short)
    at_low, at_high = excess(enough), excess(short)
    width = math.log1p(tolerance) * 0.5
    for turn in range(200):
        if abs(high - low) <= width:
            break
        share = at_low / (at_low - at_high) if math.isfinite(at_high) and turn % 4 != 3 else 0.5
        # Past the secant's point by a fraction of the width, so that the bracket closes from both
        # sides.
        inward = 0.4 * width / abs(high - low)
        share = min(
            max(share + (inward if abs(at_low) < abs(at_high) else -inward), 0.5 * inward),
            1.0 - 0.5 * inward,
        )
        middle = low + (high - low) * share
        value = excess(math.exp(middle))
        if value <= 0.0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return math.exp(low)


def _epsilon(
    noise: float,
    rate: float,
    count: int,
    delta: float,
    orders: tuple[float, ...] | None,
    conversion: Conversion,
) -> float:
    accountant = RDPAccountant(orders, conversion)
    return accountant.compose(PoissonSampled(Gaussian(noise), rate), count).get_epsilon(delta)


def _target(epsilon: Any, delta: Any) -> tuple[float, float]:
    value = real_of(epsilon, "target_epsilon", "a number in (0, inf)")
    if not 0.0 < value < math.inf:
        raise ValueError(f"target_epsilon must be a number in (0, inf), got {epsilon!r}")
    chance = real_of(delta, "target_delta", "a number in (0, 1)")
    if not 0.0 < chance < 1.0:
        raise ValueError(f"target_delta must be a number in (0, 1), got {delta!r}")
    return value, chance


def _noise(value: Any) -> float:
    noise = real_of(value, "noise_multiplier", "a number in (0, inf]")
    if not noise > 0.0:
        raise ValueError(f"noise_multiplier must be a number in (0, inf], got {value!r}")
    return noise


def _tolerance(value: Any) -> float:
    tolerance = real_of(value, "tolerance", "a number in [1e-12, 0.1]")
    if not 1e-12 <= tolerance <= 0.1:
        raise ValueError(f"tolerance must be a number in [1e-12, 0.1], got {value!r}")
    return tolerance
