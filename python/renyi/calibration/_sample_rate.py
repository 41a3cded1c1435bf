"""The largest sampling rate for a target."""

from __future__ import annotations

import math
from collections.abc import Iterable

from renyi._validation import uses_of
from renyi.accountants import Adjacency, Conversion
from renyi.calibration._accounting import (
    AccountantName,
    accounting_of,
    noise_of,
    steps_of,
    tolerance_of,
)
from renyi.calibration._targets import target_of
from renyi.calibration._unknowns import SampleRate

__all__ = ["calibrate_sample_rate"]


def calibrate_sample_rate(
    *,
    target_epsilon: float | None = None,
    target_delta: float | None = None,
    target_alpha: float | None = None,
    target_beta: float | None = None,
    target_advantage: float | None = None,
    noise_multiplier: float,
    steps: int,
    tolerance: float = 1e-6,
    accountant: AccountantName = "pld",
    adjacency: Adjacency = "add_remove",
    orders: Iterable[float] | None = None,
    conversion: Conversion | None = None,
) -> float:
    """Return the largest sampling rate for which ``steps`` sampled steps meet the target.

    Parameters
    ----------
    target_epsilon, target_delta, target_alpha, target_beta, target_advantage : float
        One kind of target, as for `calibrate_noise_multiplier`.
    noise_multiplier : float
        In (0, inf].
    steps : int
        In [0, 10^9].
    tolerance : float
        Relative, in [1e-12, 0.1]: ``(1 + tolerance)`` times the result misses the target, unless
        the result is 1.
    accountant, adjacency, orders, conversion
        As for `calibrate_noise_multiplier`.

    Returns
    -------
    float
        In (0, 1].

    Raises
    ------
    TypeError
        If not exactly one kind of target is given, or an argument is of the wrong type.
    ValueError
        For arguments outside these ranges, and where even a rate of 1e-12 misses the target.

    Examples
    --------
    >>> target = {"target_epsilon": 1.0, "target_delta": 1e-5}
    >>> q = calibrate_sample_rate(**target, noise_multiplier=1.0, steps=1000)
    >>> round(q, 5)
    0.00572
    """
    target = target_of(target_epsilon, target_delta, target_alpha, target_beta, target_advantage)
    accounting = accounting_of(target, accountant, adjacency, orders, conversion)
    noise, count = noise_of(noise_multiplier), uses_of(steps, "steps")
    unknown = SampleRate(noise, count, tolerance_of(tolerance))
    if math.isinf(noise) or count == 0:
        return 1.0
    return accounting.search(unknown, target, lambda rate: steps_of(noise, rate, count))
