"""The closed-form Rényi-DP bound ``2 q^2 alpha / sigma^2`` of the sampled Gaussian mechanism.

Mironov, Talwar, Zhang 2019, arXiv 1908.10530, Theorem 11. The ufunc
`renyi.special.rdp_sampled_gaussian_bound` gives NaN where the theorem does not apply; the functions
here say why, and up to which order it does.
"""

from __future__ import annotations

import math
from typing import Literal

from renyi._special import largest_order_of_bound, rdp_sampled_gaussian_bound

__all__ = ["largest_order", "rdp_bound"]


def __dir__() -> list[str]:
    return __all__


_ONE_FIFTH = 0.2


def rdp_bound(q: float, sigma: float, alpha: float) -> float:
    """Return the closed-form upper bound on the Rényi-DP of order ``alpha``.

    Parameters
    ----------
    q : float
        Sampling rate, in [0, 1/5].
    sigma : float
        Noise multiplier, in [4, inf].
    alpha : float
        Order, above 1 and at most ``largest_order(q, sigma)``.

    Returns
    -------
    float
        ``2 q^2 alpha / sigma^2``, rounded up; at most 4 times the exact value.

    Raises
    ------
    ValueError
        If a condition of the theorem fails; the message names it, with both of its sides.

    References
    ----------
    Mironov, Talwar, Zhang 2019, arXiv 1908.10530, Theorem 11.

    Examples
    --------
    >>> rdp_bound(0.125, 4.0, 2.0)
    0.00390625
    >>> rdp_bound(0.125, 4.0, 8.0)
    Traceback (most recent call last):
        ...
    ValueError: alpha must be at most sigma^2 L/2 - 2 log(sigma) = 3.32453169 (c1), got 8.0
    """
    _require_range(q, sigma)
    if not 1.0 < alpha < math.inf:
        raise ValueError(f"alpha must be in (1, inf), got {alpha!r}")
    bound = float(rdp_sampled_gaussian_bound(q, sigma, alpha))
    if math.isnan(bound):
        raise ValueError(_violation(q, sigma, alpha))
    return bound


def largest_order(
    q: float, sigma: float, *, condition: Literal["both", "first", "second"] = "both"
) -> float:
    """Return the largest order for which the closed-form bound holds.

    Parameters
    ----------
    q : float
        Sampling rate, in [0, 1/5].
    sigma : float
        Noise multiplier, in [4, inf].
    condition : {"both", "first", "second"}
        Which of the two conditions (c1), (c2) on the order to impose.

    Returns
    -------
    float
        The supremum of the permitted orders, rounded down (relative distance below 1e-11), so that
        ``rdp_bound`` accepts it; infinity where ``q`` is 0 or ``sigma`` is infinite.

    Raises
    ------
    ValueError
        If ``q`` or ``sigma`` is outside the range of the theorem.

    Examples
    --------
    >>> round(largest_order(0.01, 4.0), 6)
    14.342886
    """
    _require_range(q, sigma)
    if condition not in ("both", "first", "second"):
        raise ValueError(f"condition must be 'both', 'first' or 'second', got {condition!r}")
    return largest_order_of_bound(q, sigma, condition)


def _require_range(q: float, sigma: float) -> None:
    if not 0.0 <= q <= _ONE_FIFTH:
        raise ValueError(f"q must be in [0, 0.2], got {q!r}")
    if not sigma >= 4.0:
        raise ValueError(f"sigma must be in [4, inf], got {sigma!r}")


def _violation(q: float, sigma: float, alpha: float) -> str:
    """Name the violated condition; the numbers are for the reader, the engine has decided."""
    # L = log(1 + 1/(q (alpha-1))), also where the quotient overflows
    ratio = math.log1p(q * (alpha - 1.0)) - math.log(q) - math.log(alpha - 1.0)
    first = sigma * sigma * ratio / 2.0 - 2.0 * math.log(sigma)
    if alpha > largest_order_of_bound(q, sigma, "first"):
        return f"alpha must be at most sigma^2 L/2 - 2 log(sigma) = {first:.9g} (c1), got {alpha!r}"
    numerator = sigma * sigma * ratio * ratio / 2.0 - math.log(5.0) - 2.0 * math.log(sigma)
    denominator = math.log1p(q * alpha + 1.0 / (alpha - 1.0)) + 0.5 / (sigma * sigma)
    return (
        "alpha must be at most (sigma^2 L^2/2 - log(5) - 2 log(sigma)) / (L + log(q alpha) + "
        f"1/(2 sigma^2)) = {numerator / denominator:.9g} (c2), got {alpha!r}"
    )
