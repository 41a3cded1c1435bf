"""Moments at sampling rates of another power of the noise: r = c1 s^-d in place of c1/s.

The moment bound needs d = 1. For d < 1 the moment of order l = c2 s^2 has no bound in s: by Jensen
log G >= r^2 l (l-1)/(2 s^2), about (c1 c2)^2 s^(2-2d) / 2. What is left for d < 1: that growth is
all there is to first order, so the steps that log G permits, T <= c2 epsilon s^2 / (2 log G), still
have T r^2 near epsilon/c2, as for d = 1; there is only no constant for all s.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from renyi import special
from renyi.classic._rounding import below
from renyi.mechanisms._arguments import FINITE_POSITIVE, Range, number_in

__all__ = ["RelaxedMoment", "relaxed_log_moment"]


class RelaxedMoment(NamedTuple):
    """A moment at a relaxed rate.

    Attributes
    ----------
    log_moment : float
        log G, rounded up.
    least : float
        Its bound from below, r^2 l (l-1)/(2 s^2), rounded down.
    rate : float
        r = min(1, c1 s^-d).
    order : int
        l = floor(c2 s^2).
    """

    log_moment: float
    least: float
    rate: float
    order: int


def relaxed_log_moment(
    c1: float, c2: float, power: float, noise_multiplier: float
) -> RelaxedMoment:
    """Return log G_l of the sampled Gaussian at l = c2 s^2 and r = c1 s^-power.

    Parameters
    ----------
    c1, c2 : float
        In (0, inf).
    power : float
        d, in [0, 2].
    noise_multiplier : float
        s, in (0, inf), with an l from 1 to 10^6.

    Returns
    -------
    RelaxedMoment
        The moment and what it is at.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "Great but Manageable Expectations" takes d_r < 1 for possible after Claim 26.

    Examples
    --------
    >>> for s in 5.0, 30.0, 300.0:
    ...     half, one = (relaxed_log_moment(0.3, 1.0, d, s).log_moment for d in (0.5, 1.0))
    ...     print(f"{half:.3f} {one:.3f}")
    0.249 0.047
    1.424 0.045
    13.735 0.045
    """
    c1 = number_in(c1, "c1", FINITE_POSITIVE)
    c2 = number_in(c2, "c2", FINITE_POSITIVE)
    d = number_in(power, "power", Range(0.0, 2.0, "[]"))
    s = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
    if not 1.0 <= c2 * s * s <= 1e6:
        raise ValueError(
            f"noise_multiplier must give an order c2 s^2 in [1, 10^6], got {c2 * s * s!r}"
        )
    order, rate = math.floor(c2 * s * s), min(c1 * s**-d, 1.0)
    least = rate * rate * order * (order - 1.0) / (2.0 * s * s)
    return RelaxedMoment(
        float(special.log_a_upper(rate, s, order)), max(below(least), 0.0), rate, order
    )
