"""The noise that the moment bound asks for: Claim 28 of that post inverted.

In "Great but Manageable Expectations" delta = exp(-(c2 s^2/2 - 1) epsilon) for c2 s^2 whole, which
asks for s^2 = (2/c2) (1 + log(1/delta)/epsilon), while T log C(r s, c2) <= c2 epsilon s^2 / 2
limits the steps. For every c2 both ask for a noise; the least over the orders c2 s^2 is looked for.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from renyi._validation import delta_of, epsilon_of
from renyi.classic.moments import MomentBound, MomentForm, moment_bound_delta

__all__ = ["NoiseForMoments", "moment_bound_noise"]

_LEAST, _MOST, _TOLERANCE = 0.05, 1e5, 1e-9


class NoiseForMoments(NamedTuple):
    """A noise multiplier, and what the moment bound says of it."""

    noise_multiplier: float
    bound: MomentBound


def moment_bound_noise(
    sample_rate: float, steps: int, epsilon: float, delta: float, *, form: MomentForm = "halved"
) -> NoiseForMoments:
    """Return a noise multiplier for which the moment bound proves (epsilon, delta).

    Parameters
    ----------
    sample_rate, steps, form
        As in `moment_bound_delta`.
    epsilon : float
        In (0, inf).
    delta : float
        In (0, 1).

    Returns
    -------
    NoiseForMoments
        `moment_bound_delta` proves the target with it, and does not with one smaller by 1e-9 of
        itself; infinity if none up to 10^5 will do. Orders are whole, so that delta falls in steps
        as the noise grows.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations", after Claim 28: s >= sqrt(2/c2) sqrt(log(1/delta)/epsilon),
    which forgets the 1 that the order loses.

    Examples
    --------
    >>> found = moment_bound_noise(0.01, 1000, 1.0, 1e-5)
    >>> round(found.noise_multiplier, 4), found.bound.order
    (2.3262, 26)
    """
    target, chance = epsilon_of(epsilon), delta_of(delta)
    if not 0.0 < target < math.inf:
        raise ValueError(f"epsilon must be a number in (0, inf), got {epsilon!r}")
    if not 0.0 < chance < 1.0:
        raise ValueError(f"delta must be a number in (0, 1), got {delta!r}")

    def bound(noise: float) -> MomentBound:
        return moment_bound_delta(noise, sample_rate, steps, target, form=form)

    high = 1.0
    while bound(high).delta > chance:
        high *= 2.0
        if high > _MOST:
            return NoiseForMoments(math.inf, MomentBound(target, 1.0, 0, 0.0, 0.0))
    low = 0.5 * high
    while low > _LEAST and bound(low).delta <= chance:
        low, high = 0.5 * low, low
    while high > low * (1.0 + _TOLERANCE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if bound(middle).delta <= chance else (middle, high)
    return NoiseForMoments(high, bound(high))
