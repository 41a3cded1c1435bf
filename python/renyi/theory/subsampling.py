"""Privacy amplification by a random sample: of (epsilon, delta) guarantees and Rényi divergences.

Accountants use the best bound that holds; the functions here give each by itself. `subsampled` and
`subsampled_rdp` hold in the same form for a uniform sample of fixed size, neighbours differing in
one replaced record and the rate being sample size over data set size, and for a Poisson sample,
neighbours differing by one record more or less. Arguments and results refer to that adjacency.
"""

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from renyi._adjacency import one_of
from renyi._engine import RenyiCurve
from renyi._rounding import MARGIN, above
from renyi._validation import (
    NON_NEGATIVE,
    PROBABILITY,
    RATE,
    Range,
    delta_of,
    epsilon_of,
    integer_of,
    number_in,
    numbers_of,
    probability_of,
)
from renyi.accountants import UnsupportedMechanismError
from renyi.mechanisms import Mechanism, PoissonSampled
from renyi.mechanisms.algebra import mechanism_of
from renyi.mechanisms.sampling import fixed_size_curve
from renyi.theory.indistinguishability import Guarantee

__all__ = ["fixed_size_rdp", "poisson_rdp", "subsampled", "subsampled_rdp"]
__dir__ = __all__.copy

Array = npt.NDArray[np.float64]
PoissonBound = Literal["best", "tight", "general", "mixture", "pure", "lower"]
FixedSizeBound = Literal["best", "tight", "general", "mixture", "pure"]

_ORDERS = "a number in [1, 1e6] or an array of these"


def subsampled(
    epsilon: float, delta: float, sample_rate: float, *, inverse: bool = False
) -> Guarantee:
    """Return the guarantee of an (epsilon, delta)-private mechanism on a random sample.

    Args:
        epsilon, delta: In [0, inf] and [0, 1].
        sample_rate: The probability r that a record is in the sample, in [0, 1]; in (0, 1] for the
            inverse.
        inverse: Whether to return the guarantee that a mechanism needs to be (epsilon,
            delta)-private on the sample.

    Returns:
        (log(1 + r (exp(epsilon) - 1)), r delta), rounded up; at most (r (exp(epsilon) - 1), r
        delta), the linear form. The inverse is (log(1 + (exp(epsilon) - 1)/r), min(1, delta/r)),
        rounded down: `subsampled` maps it to no more than the given guarantee.

    Source: "A Tail of Two Densities", Claim 19 (fixed size); Balle, Barthe, Gaboardi 2018, arXiv
    1807.01647, Theorems 8 (Poisson) and 9 (fixed size).

    >>> amplified = subsampled(1.0, 1e-5, 0.01)
    >>> round(amplified.epsilon, 6), round(amplified.delta, 12)
    (0.017037, 1e-07)
    >>> base = subsampled(0.017, 1e-7, 0.01, inverse=True)
    >>> round(base.epsilon, 6), round(base.delta, 12)
    (0.99862, 1e-05)
    """
    epsilon, delta = epsilon_of(epsilon), delta_of(delta)
    r = number_in(sample_rate, "sample_rate", RATE if inverse else PROBABILITY)
    if r in (0.0, 1.0):
        return Guarantee(epsilon, delta) if r else Guarantee(0.0, 0.0)
    if not inverse:
        return Guarantee(_log_mixture(epsilon, r), above(r * delta) if delta else 0.0)
    base_epsilon, base_delta = _log_share(epsilon, r), min(delta / r, 1.0)
    margin = MARGIN
    while True:
        again = subsampled(base_epsilon, base_delta, r)
        if again.epsilon <= epsilon and again.delta <= delta:
            return Guarantee(base_epsilon, base_delta)
        if again.epsilon > epsilon:
            base_epsilon *= 1.0 - margin
        if again.delta > delta:
            base_delta *= 1.0 - margin
        margin = min(2.0 * margin, 1.0)


def _log_share(epsilon: float, r: float) -> float:
    """Return log(1 + (e^epsilon - 1)/r), nearly."""
    if epsilon < 1.0:
        odds = math.expm1(epsilon) / r
        return math.log1p(odds) if odds < math.inf else math.log(math.expm1(epsilon)) - math.log(r)
    # e^epsilon may overflow
    return epsilon - math.log(r) + math.log1p(-(1.0 - r) * math.exp(-epsilon))


def _log_mixture(epsilon: float, r: float) -> float:
    """Return log(1 + r (e^epsilon - 1)), rounded up."""
    if epsilon < 700.0:
        return above(math.log1p(r * math.expm1(epsilon))) if epsilon else 0.0
    # log(1 + e^(epsilon + log r) - r) where e^epsilon overflows; epsilon and log r may cancel
    x = epsilon + math.log(r) + MARGIN * (epsilon - math.log(r))
    return above(max(x, 0.0) + math.log1p(math.exp(-abs(x))))


def subsampled_rdp(order: float, rdp: float, sample_rate: float) -> float:
    """Bound the Rényi-DP of a mechanism on a random sample by convexity alone.

    Args:
        order: In (1, inf).
        rdp: Rényi divergence of the mechanism at this order, in [0, inf].
        sample_rate: The probability r that a record is in the sample, in [0, 1].

    Returns:
        log(1 + r (exp((order - 1) rdp) - 1)) / (order - 1), rounded up. It falls with r where the
        best bounds, `poisson_rdp` and `fixed_size_rdp`, fall with r^2.

    Source: "Great but Manageable Expectations", Claims 24 and 25.

    >>> f"{subsampled_rdp(10.0, 10.0 / 32.0, 0.01):.4e}"
    '1.6157e-02'
    """
    more = number_in(order, "order", Range(1.0, math.inf, "()")) - 1.0
    moment = above(more * number_in(rdp, "rdp", NON_NEGATIVE)) if rdp else 0.0
    mixed = subsampled(moment, 0.0, sample_rate).epsilon
    return above(mixed / more) if mixed else 0.0


def poisson_rdp(
    mechanism: Mechanism,
    sample_rate: float,
    orders: npt.ArrayLike,
    *,
    bound: PoissonBound = "best",
    terms: int | None = None,
) -> float | Array:
    r"""Return a bound of the Rényi divergence on a Poisson sample, rounded up ("lower" down).

    Neighbours differ by adding or removing a record. With :math:`w_l` the probability of
    :math:`l` successes in :math:`\alpha` trials of the sample rate, and :math:`K(l) = (l-1) D_l` of
    the mechanism,

    .. math:: (\alpha-1) D'_\alpha \le \log\Bigl(1 + w_2 (e^{K(2)} - 1)
              + \sum_{l=3}^{\alpha} w_l (3 e^{K(l)} - 1)\Bigr)

    for any mechanism (Zhu and Wang 2019, Theorem 5). They prove the bound without the factor 3 for
    some mechanisms (Theorem 8); it holds for all, as shown below, and some mechanism attains it
    (Theorem 6).

    Args:
        mechanism: A mechanism that `RDPAccountant` takes and that cannot fail.
        sample_rate: In [0, 1].
        orders: Orders in [1, 1e6]. Between whole numbers straight lines bound (order - 1) times the
            divergence.
        bound ({"best", "tight", "general", "mixture", "pure", "lower"}): "best" is what
            `RDPAccountant` uses: exact where the pair of distributions is known. "tight" is without
            the factor, "general" with it. "mixture" is the logarithm of 1 + q (e^K - 1) over order
            - 1, by convexity alone. "pure" is the logarithm of 1 + q (e^M - 1) at every order, with
            M the largest loss (Balle, Barthe and Gaboardi 2018, Theorem 9). "lower" is a lower
            limit of all bounds for mechanisms with these divergences. Each bound is the theorem by
            itself; only "best" takes the smallest.
        terms: With "tight" at whole orders from 2 to 10^6: the number of divergences, at least 1,
            that are computed at either end. The sum over l is bounded by D_l for the first and the
            last l, and by D of the largest of the others for all of these (Theorem 11). With at
            least half the order as ``terms`` it equals "tight".

    Raises:
        UnsupportedMechanismError: If no Rényi divergence of the mechanism is known.

    With x = P/Q, u(x) = 1 - q + q x, a = alpha - 2 and t = 3 (1-q) / (3 + 2 a q) there is a c with

    .. math:: u(x)^{1-\alpha} \le t\, u(x)^\alpha + (1-t)\, x\, u(1/x)^\alpha + c\,(x - 1)

    for all x > 0. The means under Q of the two powers on the right are the sum without the factor,
    one for each order of neighbours, and the mean of the left side is the moment of an added
    record. Both sides agree at 1 to the second order, and their second derivatives compare by the
    inequality of the geometric mean: it leaves a function that is convex in log x and touches 0 at
    x = 1.

    Source: Zhu, Wang 2019, "Poisson Subsampled Rényi Differential Privacy", ICML.

    >>> from renyi import Laplace
    >>> for bound in "lower", "best", "tight", "general":
    ...     print(f"{bound:8}{poisson_rdp(Laplace(0.5), 0.001, 8, bound=bound):.4e}")
    lower   1.5889e-05
    best    1.5889e-05
    tight   1.5889e-05
    general 1.6415e-05
    >>> for terms in 2, 10:
    ...     print(f"{poisson_rdp(Laplace(0.5), 0.001, 100, bound='tight', terms=terms):.5e}")
    2.69363e-04
    2.32182e-04
    """
    q = probability_of(sample_rate, "sample_rate")
    every = "best", "tight", "general", "mixture", "pure", "lower"
    one_of(bound, "bound", every if terms is None else ("tight",))
    if bound == "best":
        return _divergences(PoissonSampled(mechanism, q).renyi_curve(), orders)
    curve = mechanism_of(mechanism).renyi_curve()
    if terms is not None:
        return _of_few_terms(curve, q, orders, terms)
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
    r"""Return a bound of the Rényi divergence on a sample without replacement, rounded up.

    Neighbours differ by replacing a record.

    Args:
        mechanism: A mechanism that `RDPAccountant` takes and that cannot fail.
        sample_rate: The size of the sample over that of the data, in [0, 1].
        orders: Orders in [1, 1e6], as in `poisson_rdp`.
        bound ({"best", "tight", "general", "mixture", "pure"}): "general" is Theorem 9 of Wang,
            Balle and Kasiviswanathan, "tight" their Theorem 27, for mechanisms for which one pair
            of distributions attains the divergence at all orders. "mixture" and "pure" are as in
            `poisson_rdp`. "best" is what `RDPAccountant` uses: for mechanisms whose pair an
            involution swaps, log(1 + 2 (A - 1)) with log A that of a Poisson sample, see below, or
            "mixture".

    Raises:
        UnsupportedMechanismError: If no Rényi divergence of the mechanism is known, or with "tight"
            if it does not qualify.

    The hockey-stick divergences of the sample are at most those of ((1-q) Q + q P, Q) for factors
    above 1 and those of (Q, (1-q) Q + q P) below (Zhu, Dong, Wang 2022, Theorem 11). The divergence
    with f(r) = r^a - 1 - a (r - 1) is an integral of these, so it is at most the sum of both, and
    the second is no larger than the first (Mironov, Talwar, Zhang 2019, Theorem 5). Where no pair
    dominates but each is swapped, as those of `MultivariateDiscreteGaussian`, both sides are at
    most the sum over two pairs: log(1 + 4 (A - 1)), or "general".

    Source: Wang, Balle, Kasiviswanathan 2019, arXiv 1808.00087. Zhu, Dong, Wang 2022, arXiv
    2106.08567.

    >>> from renyi import Gaussian
    >>> for bound in "best", "tight", "general":
    ...     print(f"{bound:8}{fixed_size_rdp(Gaussian(4.0), 0.01, 8, bound=bound):.4e}")
    best    2.3142e-04
    tight   4.6842e-04
    general 4.8839e-04
    """
    rate = probability_of(sample_rate, "sample_rate")
    one_of(bound, "bound", ("best", "tight", "general", "mixture", "pure"))
    curve = mechanism_of(mechanism).renyi_curve("replace_one")
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
    flat, shape = numbers_of(orders, "orders", 1.0, 1e6, _ORDERS)
    result = np.empty(flat.shape)
    if down:
        curve.rdp_lower_into(flat, result)
    else:
        curve.rdp_into(flat, result)
    return result.reshape(shape) if shape else float(result[0])


def _of_few_terms(curve: RenyiCurve, q: float, orders: npt.ArrayLike, terms: int) -> float | Array:
    """Return the bound by at most 2 ``terms`` + 1 divergences, at each order."""
    tau = integer_of(terms, "terms", 1)
    flat, shape = numbers_of(orders, "orders", 2.0, 1e6, "integers in [2, 10^6]")
    if np.any(flat != np.floor(flat)):
        raise ValueError(f"orders must be integers in [2, 10^6], got {orders!r}")
    result = np.array([_few_terms_at(curve, q, int(order), tau) for order in flat])
    return result.reshape(shape) if shape else float(result[0])


def _few_terms_at(curve: RenyiCurve, q: float, alpha: int, tau: int) -> float:
    whole = few = np.arange(2.0, alpha + 1.0)
    if 2 * tau < alpha:
        few = np.r_[2.0 : max(tau, 1) + 1.0, float(alpha - tau) : alpha + 1.0]
    found = np.empty(few.shape)
    curve.rdp_into(few, found)
    if q in (0.0, 1.0) or math.isinf(found[-1]):
        return 0.0 if q == 0.0 else float(found[-1])
    # D of the next computed order, which is at least that of each order before it
    moments = (whole - 1.0) * found[np.searchsorted(few, whole)]
    return _log_sum(alpha, q, moments)


def _log_sum(alpha: int, q: float, moments: Array) -> float:
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
    log_moment = float(np.logaddexp(0.0, total))
    return math.nextafter(log_moment * (1.0 + 2.0**-49) / (alpha - 1.0), math.inf)
