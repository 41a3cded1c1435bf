"""Tails of the normal distribution, of sums, and of the privacy loss.

The privacy loss of a pair (P, Q) is L = log dP/dQ(x) for x drawn from P. If P(L > epsilon) <= delta
in both orders, the pair is (epsilon, delta)-indistinguishable; the converse holds only with a loss,
`tail_from_guarantee`. Neighbours are what the sensitivity was computed for.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from renyi._rounding import MARGIN, above, below, exp_above, loss_deviations
from renyi._validation import (
    FINITE_NON_NEGATIVE,
    FINITE_POSITIVE,
    Range,
    delta_of,
    number_in,
    numbers_of,
    one_of,
    real_of,
)

__all__ = [
    "gaussian_loss_tail",
    "laplace_loss_tail",
    "normal_tail_bound",
    "sum_tail_bound",
    "tail_from_guarantee",
]


NormalTail = Literal["chernoff", "half", "mills"]


_ABOVE_ONE = Range(1.0, math.inf, "()")


def normal_tail_bound(t: float, form: NormalTail = "chernoff") -> float:
    """Bound the probability that a standard normal exceeds ``t``.

    Parameters
    ----------
    t : float
        In (0, inf); 0 is permitted with "half".
    form : {"chernoff", "half", "mills"}
        exp(-t^2/2); half of that; exp(-t^2/2) / (sqrt(2 pi) t), the smallest for t > 0.798.

    Returns
    -------
    float
        At most 1, rounded up.

    Raises
    ------
    TypeError, ValueError
        If ``t`` or ``form`` is not permitted.

    References
    ----------
    "A Tail of Two Densities", Claim 8, inequalities (6.3) and (6.5).

    Examples
    --------
    >>> [f"{normal_tail_bound(3.0, form):.5f}" for form in ("chernoff", "half", "mills")]
    ['0.01111', '0.00555', '0.00148']
    """
    one_of(form, "form", get_args(NormalTail))
    t = number_in(t, "t", FINITE_NON_NEGATIVE if form == "half" else FINITE_POSITIVE)
    offsets = {
        "chernoff": 0.0,
        "half": math.log(2.0),
        "mills": 0.5 * math.log(2.0 * math.pi) + (math.log(t) if t else -math.inf),
    }
    return exp_above(-0.5 * t * t - offsets[form], 0.5 * t * t)


def sum_tail_bound(t: float, bounds: npt.ArrayLike, counts: npt.ArrayLike = 1) -> float:
    """Bound the probability that a sum exceeds its mean by ``t``: exp(-t^2 / (2 sum b^2)).

    Parameters
    ----------
    t : float
        In [0, inf).
    bounds : array_like of float
        ``b_i`` in [0, inf]: the i-th summand stays within ``b_i`` of some number (Hoeffding), or of
        one that the summands before it determine (Azuma).
    counts : array_like of int
        How often each occurs.

    Returns
    -------
    float
        At most 1, rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", Claims 13 and 15.

    Examples
    --------
    >>> round(sum_tail_bound(30.0, 1.0, 100), 6)
    0.011109
    """
    t = number_in(t, "t", FINITE_NON_NEGATIVE)
    width, _ = numbers_of(bounds, "bounds", 0.0, math.inf, "numbers in [0, inf]")
    count, _ = numbers_of(counts, "counts", 0.0, math.inf, "numbers in [0, inf]")
    width, count = np.broadcast_arrays(width, count)
    used = (count > 0.0) & (width > 0.0)
    total = math.hypot(*np.sqrt(count[used]) * width[used])
    if total == 0.0:
        return 1.0 if t == 0.0 else 0.0
    deviation = below(t / total)
    return exp_above(-0.5 * deviation * deviation)


def gaussian_loss_tail(sigma: float, epsilon: float, sensitivity: float = 1.0) -> float:
    """Return the probability that the privacy loss of Gaussian noise exceeds ``epsilon``.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in (0, inf), in the unit of the sensitivity.
    epsilon : float
        Any number.
    sensitivity : float
        L2 distance of the two means, in (0, inf).

    Returns
    -------
    float
        Rounded up: the loss is normal of mean m = (sensitivity/sigma)^2 / 2 and variance 2 m.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", proof of Claim 9.

    Examples
    --------
    >>> round(gaussian_loss_tail(1.0, 1.0), 6)
    0.308538
    """
    sigma = number_in(sigma, "sigma", FINITE_POSITIVE)
    sensitivity = number_in(sensitivity, "sensitivity", FINITE_POSITIVE)
    epsilon = real_of(epsilon, "epsilon", "a number")
    if math.isinf(epsilon):
        return 0.0 if epsilon > 0.0 else 1.0
    t = loss_deviations(epsilon, sensitivity, sigma)
    tail = 0.5 * math.erfc(t / math.sqrt(2.0))
    # an error of the argument moves the tail by (1 + t^2) times as much, relatively
    return min(math.nextafter(tail * (1.0 + 2.0 * MARGIN * (1.0 + min(t * t, 1e4))), 1.0), 1.0)


def laplace_loss_tail(scale: float, epsilon: float, sensitivity: float = 1.0) -> float:
    """Return the probability that the privacy loss of Laplace noise exceeds ``epsilon``.

    Parameters
    ----------
    scale : float
        Scale b of the noise, in (0, inf), in the unit of the sensitivity.
    epsilon : float
        Any number.
    sensitivity : float
        Distance d of the two centres, in (0, inf).

    Returns
    -------
    float
        1 for epsilon < -d/b, 1 - exp((epsilon - d/b)/2)/2 up to d/b, 0 from there; rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> laplace_loss_tail(1.0, 1.0), round(laplace_loss_tail(1.0, 0.5), 6)
    (0.0, 0.6106)
    """
    scale = number_in(scale, "scale", FINITE_POSITIVE)
    sensitivity = number_in(sensitivity, "sensitivity", FINITE_POSITIVE)
    largest = sensitivity / scale
    epsilon = real_of(epsilon, "epsilon", "a number")
    if epsilon == math.inf or (
        epsilon > 0.0 and Fraction(epsilon) * Fraction(scale) >= Fraction(sensitivity)
    ):
        return 0.0
    if epsilon < -largest:
        return 1.0
    half = 0.5 * (epsilon - largest) - MARGIN * (abs(epsilon) + largest)
    return min(above(1.0 - 0.5 * math.exp(min(half, 0.0))), 1.0)


def tail_from_guarantee(epsilon: float, delta: float, factor: float) -> float:
    """Bound the tail of the privacy loss beyond ``factor * epsilon`` of a pair that is protected.

    Parameters
    ----------
    epsilon, delta : float
        What the pair satisfies, epsilon in (0, inf), delta in [0, 1].
    factor : float
        In (1, inf).

    Returns
    -------
    float
        delta / (1 - exp((1 - factor) epsilon)), at most 1, rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", Claim 3.

    Examples
    --------
    >>> round(tail_from_guarantee(1.0, 1e-5, 2.0), 10)
    1.58198e-05
    """
    epsilon, delta = number_in(epsilon, "epsilon", FINITE_POSITIVE), delta_of(delta)
    factor = number_in(factor, "factor", _ABOVE_ONE)
    kept = below(-math.expm1(-below((factor - 1.0) * epsilon)))
    if delta == 0.0:
        return 0.0
    return min(above(delta / kept), 1.0) if kept > 0.0 else 1.0
