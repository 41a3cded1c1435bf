"""What is true of the Rényi divergence of mixtures.

A tempting statement: if p_i and q_i are no farther apart than mu_i and nu_i, for each i, then the
mean of the p_i and that of the q_i are no farther apart than the means of the mu_i and the nu_i. It
is false. With mu_1 = nu_2 = (0.9, 0.1), mu_2 = nu_1 = (0.1, 0.9), every p_i = mu_1 and q_i = nu_1,
all divergences of order 2 are 2.0932; the means of mu and nu are equal, those of p and q are not.

What DP-SGD needs of it is true: for p_i = (1-r) N(x_i, s^2) + r N(x_i + d_i, s^2), |d_i| <= 1, and
q_i = N(x_i, s^2) the mixtures are no farther apart than (1-r) N(0, s^2) + r N(1, s^2) and
N(0, s^2), in either order, whatever the weights (Mironov, Talwar, Zhang 2019, arXiv 1908.10530,
Theorem 4),
since one pair bounds all components and the divergence is quasi-convex. The order (p, q) is the
worse one where an involution exchanges the two distributions (their Theorem 5).

What replaces it in general: forgetting the component cannot separate, so that mixtures are no
farther apart than the pairs with the component shown.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from renyi._validation import numbers_of, real_of

__all__ = ["mixture_bound"]


def mixture_bound(divergences: npt.ArrayLike, weights: npt.ArrayLike, alpha: float) -> float:
    """Bound the divergence of two mixtures with the same weights by those of the components.

    Parameters
    ----------
    divergences : array_like of shape (n,)
        Upper bounds of D_alpha(p_i || q_i), in [0, inf].
    weights : array_like of shape (n,)
        Non-negative, of sum 1.
    alpha : float
        In (0, 1e12].

    Returns
    -------
    float
        log(sum_i w_i e^((alpha-1) D_i)) / (alpha-1), at 1 the mean of the D_i, rounded up: an upper
        bound of D_alpha(sum_i w_i p_i || sum_i w_i q_i), attained if the component can be told from
        the outcome. It is at most the largest D_i, which bounds the divergence as well.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    van Erven, Harremoës 2014, arXiv 1206.2459, Theorems 9 (data processing) and 13 (joint
    quasi-convexity).

    Examples
    --------
    The means of (0.9, 0.1), (0.1, 0.9) and of (0.1, 0.9), (0.9, 0.1) are equal; the components are
    not, and no bound can tell from their divergences alone which components are meant.

    >>> from math import log
    >>> apart = log(0.9**2 / 0.1 + 0.1**2 / 0.9)
    >>> round(mixture_bound([apart, apart], [0.5, 0.5], 2.0), 4)
    2.0932
    >>> round(mixture_bound([apart, 0.0], [0.01, 0.99], 2.0), 4)
    0.0687
    """
    found, shape = numbers_of(divergences, "divergences", 0.0, math.inf, "of numbers in [0, inf]")
    shares, other = numbers_of(weights, "weights", 0.0, 1.0, "of numbers in [0, 1]")
    if len(shape) != 1 or shape != other or not shape[0]:
        raise ValueError(f"weights must be as many as divergences, got shapes {shape} and {other}")
    if abs(math.fsum(shares) - 1.0) > 1e-12:
        raise ValueError(f"weights must be of sum 1, got {math.fsum(shares)!r}")
    order = real_of(alpha, "alpha", "a number in (0, 1e12]")
    if not 0.0 < order <= 1e12:
        raise ValueError(f"alpha must be a number in (0, 1e12], got {alpha!r}")
    found, shares = found[shares > 0.0], shares[shares > 0.0]
    beta, largest = order - 1.0, float(found.max())
    if (beta >= 0.0 and largest == math.inf) or float(found.min()) == math.inf:
        return math.inf
    anchor = largest if beta > 0.0 else float(found.min())
    if beta == 0.0:
        value = anchor + math.fsum(shares * (found - anchor))
    else:
        value = anchor + _log_mean_exp(beta * (found - anchor), shares) / beta
    # The sum of the weights is 1 up to 1e-12, and by it they are divided.
    return min(value + 4e-12 * abs(value - anchor) + 2.0**-48 * value, largest)


def _log_mean_exp(exponents: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> float:
    """Return the log of the weighted mean of e^x, x <= 0, to a relative 1e-12."""
    total = math.fsum(weights)
    with np.errstate(under="ignore"):
        excess = math.fsum(weights * np.expm1(exponents)) / total
        if excess > -0.5:
            return math.log1p(excess)
        # little is left of 1: the terms themselves, not what they lack
        return math.log(math.fsum(weights * np.exp(exponents)) / total)
