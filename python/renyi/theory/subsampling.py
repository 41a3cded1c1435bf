"""Bounds of the Rényi divergence of a mechanism on a sample of the data, beside each other.

Accountants use the best bound that holds; these functions give each by itself.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from renyi._accounting import RenyiCurve
from renyi._validation import numbers_of, one_of, probability_of
from renyi.accountants import UnsupportedMechanismError
from renyi.mechanisms import Mechanism, PoissonSampled
from renyi.mechanisms.sampling import fixed_size_curve
from renyi.theory._tau_terms import poisson_rdp_by_terms

__all__ = ["fixed_size_rdp", "poisson_rdp", "poisson_rdp_by_terms"]


def __dir__() -> list[str]:
    return __all__


Array = npt.NDArray[np.float64]
PoissonBound = Literal["best", "tight", "general", "mixture", "pure", "lower"]
FixedSizeBound = Literal["best", "tight", "general", "mixture", "pure"]

ORDERS = "a number in [1, 1e6] or an array of these"


def poisson_rdp(
    mechanism: Mechanism,
    sample_rate: float,
    orders: npt.ArrayLike,
    *,
    bound: PoissonBound = "best",
) -> float | Array:
    r"""Return a bound of the Rényi divergence of a mechanism on a Poisson sample.

    Neighbours differ by adding or removing a record. With :math:`w_l` the probability of
    :math:`l` successes in :math:`\alpha` trials of the sample rate, and :math:`K(l) = (l-1) D_l` of
    the mechanism,

    .. math:: (\alpha-1) D'_\alpha \le \log\Bigl(1 + w_2 (e^{K(2)} - 1)
              + \sum_{l=3}^{\alpha} w_l (3 e^{K(l)} - 1)\Bigr)

    for any mechanism (Zhu and Wang 2019, Theorem 5). Without the factor 3, which they prove for
    some (Theorem 8), it holds for all of them, see Notes, and some mechanism reaches it
    (Theorem 6).

    Parameters
    ----------
    mechanism : Mechanism
        Anything that `RDPAccountant` takes and that cannot fail.
    sample_rate : float
        In [0, 1].
    orders : float or array_like of float
        Orders in [1, 1e6]. Between whole numbers straight lines bound (order - 1) times the
        divergence.
    bound : {"best", "tight", "general", "mixture", "pure", "lower"}
        "best" is what `RDPAccountant` uses: exact where the pair of distributions is known.
        "tight" is without the factor, "general" with it. "mixture" is the logarithm of
        1 + q (e^K - 1) over order - 1, by convexity alone. "pure" is the logarithm of
        1 + q (e^M - 1) at every order, with M the largest loss (Balle, Barthe and Gaboardi 2018,
        Theorem 9). "lower" is what no bound for all mechanisms with these divergences can be below.
        Each is the theorem by itself; only "best" takes the smallest.

    Returns
    -------
    float or ndarray of float64
        Of the shape of ``orders``, rounded up; "lower" rounded down.

    Raises
    ------
    UnsupportedMechanismError
        If no Rényi divergence of the mechanism is known.
    TypeError, ValueError
        If an argument is outside its range.

    Notes
    -----
    With x = P/Q, u(x) = 1 - q + q x, a = alpha - 2 and t = 3 (1-q) / (3 + 2 a q) there is a c with

    .. math:: u(x)^{1-\alpha} \le t\, u(x)^\alpha + (1-t)\, x\, u(1/x)^\alpha + c\,(x - 1)

    for all x > 0. The means under Q of the two powers on the right are the sum without the factor,
    one for each order of neighbours, and that of the left is the moment of a record added. Both
    sides agree at 1 to the second order, and their second derivatives compare by the inequality of
    the geometric mean: it leaves a function that is convex in log x and touches 0 at x = 1.

    References
    ----------
    Zhu, Wang 2019, "Poisson Subsampled Rényi Differential Privacy", ICML.

    Examples
    --------
    >>> from renyi import Laplace
    >>> for bound in "lower", "best", "tight", "general":
    ...     print(f"{bound:8}{poisson_rdp(Laplace(0.5), 0.001, 8, bound=bound):.4e}")
    lower   1.5889e-05
    best    1.5889e-05
    tight   1.5889e-05
    general 1.6415e-05
    """
    q = probability_of(sample_rate, "sample_rate")
    one_of(bound, "bound", ("best", "tight", "general", "mixture", "pure", "lower"))
    if bound == "best":
        return _divergences(PoissonSampled(mechanism, q).renyi_curve(), orders)
    curve = mechanism.renyi_curve()
    if bound == "mixture":
        return _divergences(curve.mixture_bound(q), orders)
    if bound == "pure":
        return _divergences(_pure(curve.poisson_bound(q, "tight")), orders)
    return _divergences(curve.poisson_bound(q, bound, cut=False), orders, down=bound == "lower")


def fixed_size_rdp(
    mechanism: Mechanism,
    sample_rate: float,
    orders: npt.ArrayLike,
    *,
    bound: FixedSizeBound = "best",
) -> float | Array:
    r"""Return a bound of the Rényi divergence of a mechanism on a sample without replacement.

    Neighbours differ by replacing a record.

    Parameters
    ----------
    mechanism : Mechanism
        Anything that `RDPAccountant` takes and that cannot fail.
    sample_rate : float
        The size of the sample over that of the data, in [0, 1].
    orders : float or array_like of float
        Orders in [1, 1e6], as in `poisson_rdp`.
    bound : {"best", "tight", "general", "mixture", "pure"}
        "general" is Theorem 9 of Wang, Balle and Kasiviswanathan, "tight" their Theorem 27, for
        mechanisms of which one pair of distributions reaches all orders. "mixture" and "pure" are
        as in `poisson_rdp`. "best" is what `RDPAccountant` uses: for mechanisms whose pair an
        involution swaps, log(1 + 2 (A - 1)) with log A that of a Poisson sample, see Notes, or
        "mixture".

    Returns
    -------
    float or ndarray of float64
        Of the shape of ``orders``, rounded up.

    Raises
    ------
    UnsupportedMechanismError
        If no Rényi divergence of the mechanism is known, or with "tight" if it does not qualify.
    TypeError, ValueError
        If an argument is outside its range.

    Notes
    -----
    The hockey-stick divergences of the sample are at most those of ((1-q) Q + q P, Q) for factors
    above 1 and those of (Q, (1-q) Q + q P) below (Zhu, Dong, Wang 2022, Theorem 11). The divergence
    with f(r) = r^a - 1 - a (r - 1) is an integral of these, so it is at most the sum of both, and
    the second is no larger than the first (Mironov, Talwar, Zhang 2019, Theorem 5). Where no pair
    dominates but each is swapped, as those of `MultivariateDiscreteGaussian`, both sides are at
    most the sum over two pairs: log(1 + 4 (A - 1)), or "general".

    References
    ----------
    Wang, Balle, Kasiviswanathan 2019, arXiv 1808.00087. Zhu, Dong, Wang 2022, arXiv 2106.08567.

    Examples
    --------
    >>> from renyi import Gaussian
    >>> for bound in "best", "tight", "general":
    ...     print(f"{bound:8}{fixed_size_rdp(Gaussian(4.0), 0.01, 8, bound=bound):.4e}")
    best    2.3142e-04
    tight   4.6842e-04
    general 4.8839e-04
    """
    rate = probability_of(sample_rate, "sample_rate")
    one_of(bound, "bound", ("best", "tight", "general", "mixture", "pure"))
    curve = mechanism.renyi_curve("replace_one")
    if bound == "mixture":
        return _divergences(curve.mixture_bound(rate), orders)
    if bound == "best":
        return _divergences(fixed_size_curve(mechanism, rate), orders)
    if bound == "tight" and not mechanism.symmetric:
        raise UnsupportedMechanismError(
            mechanism, "Theorem 27 needs one pair of distributions that reaches all orders"
        )
    if bound == "pure":
        return _divergences(_pure(curve.fixed_size_bound(rate, False)), orders)
    return _divergences(curve.fixed_size_bound(rate, bound == "tight", cut=False), orders)


def _pure(sampled: RenyiCurve) -> RenyiCurve:
    loss = sampled.largest_loss
    return RenyiCurve.linear(0.0, loss) if loss < np.inf else RenyiCurve.unbounded()


def _divergences(curve: RenyiCurve, orders: npt.ArrayLike, down: bool = False) -> float | Array:
    flat, shape = numbers_of(orders, "orders", 1.0, 1e6, ORDERS)
    result = np.empty(flat.shape)
    if down:
        curve.rdp_lower_into(flat, result)
    else:
        curve.rdp_into(flat, result)
    return result.reshape(shape) if shape else float(result[0])
