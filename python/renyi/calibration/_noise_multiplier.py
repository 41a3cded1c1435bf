"""The smallest noise multiplier for a target."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from renyi._validation import FINITE_POSITIVE, number_in, probability_of, uses_of
from renyi.accountants import Adjacency, Conversion
from renyi.calibration._accounting import AccountantName, accounting_of, steps_of, tolerance_of
from renyi.calibration._targets import target_of
from renyi.calibration._unknowns import NoiseMultiplier

__all__ = ["calibrate_noise_multiplier"]


def calibrate_noise_multiplier(
    *,
    target_epsilon: float | None = None,
    target_delta: float | None = None,
    target_alpha: float | None = None,
    target_beta: float | None = None,
    target_advantage: float | None = None,
    sample_rate: float,
    steps: int | None = None,
    epochs: float | None = None,
    tolerance: float = 1e-6,
    accountant: AccountantName = "pld",
    adjacency: Adjacency = "add_remove",
    orders: Iterable[float] | None = None,
    conversion: Conversion | None = None,
) -> float:
    """Return the smallest noise multiplier for which ``steps`` sampled steps meet the target.

    Parameters
    ----------
    target_epsilon, target_delta : float
        In (0, inf) and (0, 1): (epsilon, delta)-privacy.
    target_alpha, target_beta : float
        In (0, 1) and (0, 1 - target_alpha): a test with a type I error of at most ``target_alpha``
        has a type II error of at least ``target_beta``.
    target_advantage : float
        In (0, 1): the most by which the true positive rate of a test exceeds its false positive
        rate.
    sample_rate : float
        In [0, 1].
    steps : int
        In [0, 10^9].
    epochs : float
        In place of ``steps``, in (0, inf): steps = ceil(epochs / sample_rate), the rate read as the
        shortest decimal of its double.
    tolerance : float
        Relative, in [1e-12, 0.1]: ``(1 - tolerance)`` times the result misses the target.
    accountant : {"pld", "rdp"}
        `PLDAccountant` (exact) or `RDPAccountant`.
    adjacency : {"add_remove", "replace_one"}
        As for `PLDAccountant`.
    orders, conversion
        As for `RDPAccountant`, and only with it.

    Returns
    -------
    float
        At least 0.01, the smallest that is looked at; 0.0 where nothing is released (no steps or a
        rate of 0).

    Raises
    ------
    TypeError
        If not exactly one kind of target and one of steps and epochs are given, or an argument is
        of the wrong type.
    ValueError
        For arguments outside these ranges, and where no noise multiplier up to 1e8 reaches the
        target.

    Notes
    -----
    Takes five to ten queries of the accountant: secants over the epsilon by Rényi-DP, or over the
    noise of the Gaussian mechanism with the same Rényi divergence of order 2, then one query on
    either side of the result. On a terminal, searches of several seconds show how they go on.

    Examples
    --------
    >>> target = {"target_epsilon": 1.0, "target_delta": 1e-5}
    >>> round(calibrate_noise_multiplier(**target, sample_rate=0.01, steps=1000), 4)
    1.4146
    >>> rdp = calibrate_noise_multiplier(**target, sample_rate=0.01, steps=1000, accountant="rdp")
    >>> round(rdp, 4)
    1.513
    """
    target = target_of(target_epsilon, target_delta, target_alpha, target_beta, target_advantage)
    accounting = accounting_of(target, accountant, adjacency, orders, conversion)
    rate = probability_of(sample_rate, "sample_rate")
    count = _steps_of(rate, steps, epochs)
    unknown = NoiseMultiplier(rate, count, tolerance_of(tolerance))
    if rate == 0.0 or count == 0:
        return 0.0
    return accounting.search(unknown, target, lambda noise: steps_of(noise, rate, count))


def _steps_of(rate: float, steps: Any, epochs: Any) -> int:
    """Return the number of steps, never fewer than so many epochs take."""
    if (steps is None) == (epochs is None):
        raise TypeError(f"one of steps and epochs must be given, got {steps!r} and {epochs!r}")
    if epochs is None:
        return uses_of(steps, "steps")
    number = number_in(epochs, "epochs", FINITE_POSITIVE)
    if rate == 0.0:
        return 0
    return uses_of(math.ceil(Fraction(repr(number)) / Fraction(repr(rate))), "steps")
