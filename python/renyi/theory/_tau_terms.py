"""A bound of Poisson samples that asks for few divergences (Zhu and Wang 2019, Theorem 11).

The sum over whole l of w_l e^((l-1) D_l), w_l binomial, is bounded by D_l itself for the first and
the last few l and by D of the largest of the others for all of these, as D_l rises with l. All
terms are non-negative and are summed in logarithms.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from renyi._validation import integer_of, probability_of
from renyi.mechanisms import Mechanism

__all__ = ["poisson_rdp_by_terms"]

Array = npt.NDArray[np.float64]
_MOST = 10**6


def poisson_rdp_by_terms(
    mechanism: Mechanism, sample_rate: float, order: int, *, terms: int
) -> float:
    """Bound the Rényi divergence on a Poisson sample by at most 2 ``terms`` + 1 divergences.

    Parameters
    ----------
    mechanism : Mechanism
        Anything that `RDPAccountant` takes and that cannot fail.
    sample_rate : float
        In [0, 1].
    order : int
        From 2 to 10^6.
    terms : int
        How many divergences are asked for at either end, at least 1; from half the order on the
        bound is "tight" of `poisson_rdp`.

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    UnsupportedMechanismError
        If no Rényi divergence of the mechanism is known.
    TypeError, ValueError
        If an argument is outside its range.

    References
    ----------
    Zhu, Wang 2019, "Poisson Subsampled Rényi Differential Privacy", ICML, Theorem 11.

    Examples
    --------
    >>> from renyi import Laplace
    >>> for terms in 2, 10, 50:
    ...     print(f"{poisson_rdp_by_terms(Laplace(0.5), 0.001, 100, terms=terms):.5e}")
    2.69363e-04
    2.32182e-04
    2.32182e-04
    """
    q = probability_of(sample_rate, "sample_rate")
    alpha, tau = integer_of(order, "order", 2), integer_of(terms, "terms", 1)
    if alpha > _MOST:
        raise ValueError(f"order must be an integer in [2, 10^6], got {order!r}")
    curve = mechanism.renyi_curve()
    few = np.arange(2.0, alpha + 1.0)
    if 2 * tau < alpha:
        few = np.r_[2.0 : max(tau, 1) + 1.0, float(alpha - tau) : alpha + 1.0]
    found = np.empty(few.shape)
    curve.rdp_into(few, found)
    if q in (0.0, 1.0) or math.isinf(found[-1]):
        return 0.0 if q == 0.0 else float(found[-1])
    whole = np.arange(2.0, alpha + 1.0)
    # D of the next order asked for: at least that of each order before it
    moments = (whole - 1.0) * found[np.searchsorted(few, whole)]
    return _divergence(alpha, q, moments)


def _divergence(alpha: int, q: float, moments: Array) -> float:
    """Return log(1 + sum_l w_l (e^m_l - 1)) / (alpha - 1)."""
    whole = np.arange(2.0, alpha + 1.0)
    logs = np.array([math.lgamma(k + 1.0) for k in range(alpha + 1)])
    chosen = logs[alpha] - logs[2:] - logs[alpha - whole.astype(int)]
    weights = chosen + whole * math.log(q) + (alpha - whole) * math.log1p(-q)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        # log(e^x - 1), also where e^x overflows
        terms = weights + np.where(
            moments > 1.0, moments + np.log1p(-np.exp(-moments)), np.log(np.expm1(moments))
        )
    # Terms of lgamma and of the powers are right to 4u of themselves, and so is each sum of them.
    size = logs[alpha] + alpha * (abs(math.log(q)) + abs(math.log1p(-q))) + np.max(moments)
    largest = float(np.max(terms))
    if largest == -math.inf:
        return 0.0
    total = largest + math.log(math.fsum(np.exp(terms - largest)))
    total += 2.0**-49 * (size + 8.0)
    log_moment = (
        total + math.log1p(math.exp(-total)) if total > 0.0 else math.log1p(math.exp(total))
    )
    return math.nextafter(log_moment * (1.0 + 2.0**-49) / (alpha - 1.0), math.inf)
