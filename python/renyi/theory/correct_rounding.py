"""The doubles nearest to log A and to the Rényi divergence of the sampled Gaussian mechanism.

This is Ziv's strategy: a value in double-double with a proven error bound, some 1e-21 relatively,
nearly always decides the rounding where the orders exceed 1; elsewhere ball arithmetic
(python-flint) with more and more digits decides it. `renyi.special.log_a` is some hundred times
faster and off by a few units in the last place.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi import check, special

__all__ = ["log_a_rounded", "rdp_rounded"]

MOST_BITS = 8192
__dir__ = __all__.copy


def log_a_rounded(q: npt.ArrayLike, sigma: npt.ArrayLike, alpha: npt.ArrayLike) -> Any:
    """Return log A(alpha), correctly rounded.

    Args:
        q, sigma, alpha: Sampling rate, noise multiplier and order as for `renyi.special.log_a`,
            real.

    Returns:
        float or ndarray: The doubles nearest to the exact values; NaN outside the domain.

    Raises:
        ImportError: If more digits are needed and python-flint is missing: outside of orders above
            1, rates in [1e-12, 1) and noise in [0.05, 1e6], and at few points inside.
        ArithmeticError: If 8192 bits do not decide, or would take too long.

    Source: Ziv, "Fast evaluation of elementary mathematical functions with correctly rounded last
    bit", ACM Transactions on Mathematical Software 17 (3), 1991.

    >>> log_a_rounded(0.01, 1.0, 2.0)
    0.00017181342207454794
    """
    return _rounded(special.log_a_nearest, special.log_a, False, q, sigma, alpha)


def rdp_rounded(q: npt.ArrayLike, sigma: npt.ArrayLike, alpha: npt.ArrayLike) -> Any:
    """Return the Rényi divergence log A(alpha)/(alpha - 1), alpha >= 1, correctly rounded.

    Args:
        q, sigma, alpha: As for `renyi.special.rdp_sampled_gaussian`.

    Returns:
        float or ndarray: As for `log_a_rounded`.

    Raises:
        ImportError, ArithmeticError: As for `log_a_rounded`.

    Source: As for `log_a_rounded`.

    >>> rdp_rounded(0.2, 4.0, 4.0)
    0.005262844037639987
    """
    fast = special.rdp_sampled_gaussian
    return _rounded(special.rdp_sampled_gaussian_nearest, fast, True, q, sigma, alpha)


def _rounded(first: Any, fast: Any, divided: bool, *arguments: npt.ArrayLike) -> Any:
    points = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in arguments))
    found = np.array(first(*points))
    for index in np.argwhere(np.isnan(found) & ~np.isnan(fast(*points))):
        place = tuple(index)
        found[place] = _by_balls(divided, *(float(one[place]) for one in points))
    return found if found.ndim else float(found)


def _by_balls(divided: bool, q: float, sigma: float, alpha: float) -> float:
    """Return the nearest double of one point, in the domain."""
    if q == 0.0 or math.isinf(sigma) or (not divided and alpha in (0.0, 1.0)):
        return 0.0
    if q == 1.0:
        order, noise = Fraction(alpha), Fraction(sigma)
        return float(order * (1 if divided else order - 1) / (2 * noise * noise))
    try:
        from flint import arb, ctx
    except ImportError as error:
        raise ImportError("more digits need python-flint: pip install python-flint") from error
    before, bits = ctx.prec, 128
    try:
        while bits <= MOST_BITS:
            ctx.prec, check.SPENT[0] = bits, 0.0
            law = check.Law("gaussian", 1 / arb(sigma), arb(q))
            near = arb(2) ** (-bits // 4)  # at alpha 1 orders on both sides: the divergence rises
            orders = (alpha - near, alpha + near) if alpha == 1.0 else (arb(alpha),)
            found = [check.moment(law, x).log() / (x - 1 if divided else 1) for x in orders]
            low, high = float(found[0].lower()), float(found[-1].upper())
            if low == high:
                return low
            bits *= 2
    except check.Rejected as error:
        raise ArithmeticError(f"more digits of log A({q}, {sigma}, {alpha}): {error}") from None
    finally:
        ctx.prec = before
    raise ArithmeticError(f"{MOST_BITS} bits do not decide log A({q}, {sigma}, {alpha})")
