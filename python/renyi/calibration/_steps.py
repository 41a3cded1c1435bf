"""The largest number of steps for a target."""

from __future__ import annotations

import math
from collections.abc import Iterable

from renyi._validation import LARGEST_COUNT, probability_of
from renyi.accountants import Adjacency, Conversion
from renyi.calibration._accounting import AccountantName, accounting_of, noise_of, steps_of
from renyi.calibration._targets import target_of
from renyi.calibration._unknowns import Steps

__all__ = ["calibrate_steps"]


def calibrate_steps(
    *,
    target_epsilon: float | None = None,
    target_delta: float | None = None,
    target_alpha: float | None = None,
    target_beta: float | None = None,
    target_advantage: float | None = None,
    noise_multiplier: float,
    sample_rate: float,
    accountant: AccountantName = "pld",
    adjacency: Adjacency = "add_remove",
    orders: Iterable[float] | None = None,
    conversion: Conversion | None = None,
) -> int:
    """Return the largest number of sampled steps that meets the target.

    Parameters
    ----------
    target_epsilon, target_delta, target_alpha, target_beta, target_advantage : float
        One kind of target, as for `calibrate_noise_multiplier`.
    noise_multiplier : float
        In (0, inf].
    sample_rate : float
        In [0, 1].
    accountant, adjacency, orders, conversion
        As for `calibrate_noise_multiplier`.

    Returns
    -------
    int
        At least 0; one step more misses the target. Larger counts than 10^9 are not looked
        at: where that still meets the target, it is returned.

    Raises
    ------
    TypeError
        If not exactly one kind of target is given, or an argument is of the wrong type.
    ValueError
        For arguments outside these ranges.

    Examples
    --------
    >>> target = {"target_epsilon": 2.0, "target_delta": 1e-5}
    >>> calibrate_steps(**target, noise_multiplier=1.1, sample_rate=0.004)
    11652
    """
    target = target_of(target_epsilon, target_delta, target_alpha, target_beta, target_advantage)
    accounting = accounting_of(target, accountant, adjacency, orders, conversion)
    noise, rate = noise_of(noise_multiplier), probability_of(sample_rate, "sample_rate")
    if rate == 0.0 or math.isinf(noise):
        return LARGEST_COUNT
    unknown = Steps(noise, rate, LARGEST_COUNT)
    return int(accounting.search(unknown, target, lambda steps: steps_of(noise, rate, steps)))
