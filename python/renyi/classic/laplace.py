"""The Laplace mechanism: a query of L1 sensitivity S with noise of density exp(-|x|/b) / (2 b).

The privacy loss is at most S/b, so b = S/epsilon gives pure privacy. For one number the exact curve
is delta(epsilon) = (1 - exp((epsilon - S/b)/2))_+, which is solved for b, too. Neighbours are what
the sensitivity was computed for.
"""

from __future__ import annotations

import math

from renyi._validation import delta_of, epsilon_of
from renyi.classic._rounding import MARGIN, above
from renyi.mechanisms._arguments import FINITE_POSITIVE, Range, number_in

__all__ = ["laplace_delta", "laplace_epsilon", "laplace_scale"]

_BELOW_ONE = Range(0.0, 1.0, "[)")


def laplace_scale(epsilon: float, sensitivity: float = 1.0, *, delta: float = 0.0) -> float:
    """Return the least scale of Laplace noise that is (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        In (0, inf).
    sensitivity : float
        L1 sensitivity S of the query, in (0, inf); with ``delta`` > 0 of a query of one number.
    delta : float
        In [0, 1).

    Returns
    -------
    float
        S / (epsilon - 2 log(1 - delta)), rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", (1.5); Dwork, McSherry, Nissim, Smith 2006.

    Examples
    --------
    >>> round(laplace_scale(0.5), 12), round(laplace_scale(0.5, delta=0.1), 6)
    (2.0, 1.407022)
    """
    epsilon = number_in(epsilon, "epsilon", FINITE_POSITIVE)
    delta = number_in(delta, "delta", _BELOW_ONE)
    sensitivity = number_in(sensitivity, "sensitivity", FINITE_POSITIVE)
    if delta == 0.0:
        return math.nextafter(sensitivity / epsilon, math.inf)
    return above(sensitivity / (epsilon - 2.0 * math.log1p(-delta)))


def laplace_epsilon(scale: float, sensitivity: float = 1.0, *, delta: float = 0.0) -> float:
    """Return the least epsilon for which Laplace noise is (epsilon, delta)-private.

    Parameters
    ----------
    scale : float
        Scale b of the noise, in (0, inf).
    sensitivity : float
        L1 sensitivity S of the query, in (0, inf); with ``delta`` > 0 of a query of one number.
    delta : float
        In [0, 1].

    Returns
    -------
    float
        max(0, S/b + 2 log(1 - delta)), rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> round(laplace_epsilon(2.0), 12), round(laplace_epsilon(2.0, delta=0.1), 6)
    (0.5, 0.289279)
    """
    largest = number_in(sensitivity, "sensitivity", FINITE_POSITIVE) / number_in(
        scale, "scale", FINITE_POSITIVE
    )
    delta = delta_of(delta)
    if delta == 0.0:
        return math.nextafter(largest, math.inf)
    if delta == 1.0:
        return 0.0
    spared = 2.0 * math.log1p(-delta)
    return max(largest + spared + MARGIN * (largest - spared), 0.0)


def laplace_delta(scale: float, epsilon: float, sensitivity: float = 1.0) -> float:
    """Return the exact delta of Laplace noise on a query of one number.

    Parameters
    ----------
    scale : float
        Scale b of the noise, in (0, inf).
    epsilon : float
        In [0, inf].
    sensitivity : float
        Sensitivity S of the query, in (0, inf).

    Returns
    -------
    float
        max(0, 1 - exp((epsilon - S/b)/2)), rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> round(laplace_delta(1.0, 0.5), 6), laplace_delta(1.0, 1.5)
    (0.221199, 0.0)
    """
    largest = number_in(sensitivity, "sensitivity", FINITE_POSITIVE) / number_in(
        scale, "scale", FINITE_POSITIVE
    )
    epsilon = epsilon_of(epsilon)
    excess = math.nextafter(largest, math.inf) - epsilon
    return min(above(-math.expm1(-0.5 * excess)), 1.0) if excess > 0.0 else 0.0
