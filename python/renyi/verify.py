"""Cross-checks of the engine against multi-precision arithmetic, at one point.

This module compares every route to log A of the sampled Gaussian mechanism (binomial sum, series,
quadrature, and the dispatcher, which takes one of them or an expansion), and every Renyi curve of
the other mechanisms and their samplings, with ``renyi.reference``: how many digits agree, and
whether the certified bracket contains the reference. The references share nothing with the engine:
pairs of distributions are summed and integrated with other nodes and more digits, and sums over the
order are not windowed.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np

from renyi import reference, special
from renyi._engine import Pair, RenyiCurve
from renyi._validation import POSITIVE, PROBABILITY, Range, integer_of, number_in

__all__ = [
    "Check",
    "Verification",
    "random_points",
    "verify_curves",
    "verify_point",
]

__dir__ = __all__.copy


# Each route and its ufunc; every ufunc has variants _lower and _upper.
ROUTES = {
    "engine": "log_a",
    "binomial": "log_a_binomial",
    "series": "log_a_series",
    "quadrature": "log_a_quadrature",
    "rdp": "rdp_sampled_gaussian",
}
ENDS = ("", "_lower", "_upper")
# These routes answer everywhere; the others may decline a point by NaN.
ANSWERS_EVERYWHERE = ("engine", "rdp")

# The box of promised accuracy.
SAMPLE_RATES = (1e-12, 1.0)
NOISE_MULTIPLIERS = (0.01, 1e6)
ORDERS_ABOVE_ONE = (1e-8, 1e6)

# 17 significant digits determine a double; agreement beyond that is a coincidence.
MAX_DIGITS = 17.0

# For the curves: above this loss the engine uses bounds; sums over the order stop at this order.
LARGEST_LOSS = 500.0
LARGEST_SUM = 50.0


@dataclass(frozen=True)
class Check:
    """A number of the engine with its reference.

    Attributes:
        name: The route: ``engine`` (log A by the dispatcher), ``binomial``, ``series``,
            ``quadrature`` (log A by that route), or ``rdp`` (the Renyi divergence by the
            dispatcher). For a curve, the mechanism and its sampling.
        order: The order of the comparison: sums over the order stop at 50.
        reference: Decimal text of 30 digits.
        value, lower, upper: The numbers of the engine. For a curve the value is the upper end,
            which accountants use. All are NaN if a route does not apply.
        digits: Agreeing decimal digits, -log10 of the relative error, at most 17; NaN if a route
            does not apply.
        ok: False if a bracket misses the reference, if an upper bound is below it, or for a NaN
            where the route must answer.
    """

    name: str
    order: float
    reference: str
    value: float
    lower: float
    upper: float
    digits: float
    ok: bool

    @property
    def applies(self) -> bool:
        """Whether the route has an answer."""
        return not math.isnan(self.value)

    @property
    def proven(self) -> float:
        """Decimal digits that the bracket proves: -log10 of its half-width over the value."""
        if not self.applies:
            return math.nan
        half = (self.upper - self.lower) / 2.0
        if self.lower == self.upper:
            return MAX_DIGITS
        if not 0.0 < half < math.inf or self.value == 0.0:
            return 0.0
        return min(MAX_DIGITS, max(0.0, -math.log10(half / abs(self.value))))


@dataclass(frozen=True)
class Verification:
    """All routes at one point, and the references as decimal text of 30 digits.

    ``curves`` may hold what `verify_curves` found at the same point.
    """

    sample_rate: float
    noise_multiplier: float
    order: float
    log_a: str
    rdp: str
    routes: tuple[Check, ...]
    curves: tuple[Check, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no route and no curve violates its bracket."""
        return all(check.ok for check in (*self.routes, *self.curves))


def verify_point(
    sample_rate: float, noise_multiplier: float, order: float, *, digits: int = 50
) -> Verification:
    """Compare the routes of the engine with the reference at one point.

    Args:
        sample_rate: q in [0, 1].
        noise_multiplier: sigma > 0.
        order: Renyi order, >= 1. At 1 the Renyi divergence is the Kullback-Leibler one and log A is
            0.
        digits: Decimal digits of the reference, at least 30.

    >>> result = verify_point(0.01, 1.0, 8.5)
    >>> result.ok
    True
    >>> [route.name for route in result.routes if not route.applies]
    ['binomial']
    """
    q, sigma, alpha = _point(sample_rate, noise_multiplier, order, digits)
    log_a = reference.log_a(q, sigma, alpha, digits=digits)
    if alpha == 1.0:
        rdp = reference.rdp_sampled_gaussian(q, sigma, alpha, digits=digits)
    else:
        with mpmath.workdps(digits + 10):  # one quotient is cheaper than a second integral
            rdp = log_a / (mpmath.mpf(alpha) - 1)
    routes = []
    for route, name in ROUTES.items():
        value, lower, upper = (float(getattr(special, name + end)(q, sigma, alpha)) for end in ENDS)
        truth, owed = rdp if route == "rdp" else log_a, route in ANSWERS_EVERYWHERE
        routes.append(_compared(route, alpha, truth, value, lower, upper, digits, owed=owed))
    texts = {"log_a": mpmath.nstr(log_a, 30), "rdp": mpmath.nstr(rdp, 30)}
    return Verification(q, sigma, alpha, **texts, routes=tuple(routes))


def random_points(count: int, seed: int = 0) -> Iterator[tuple[float, float, float]]:
    """Draw points (q, sigma, alpha) log-uniformly from the box of promised accuracy.

    q in [1e-12, 1], sigma in [0.01, 1e6], alpha - 1 in [1e-8, 1e6]. Half of the orders above 2 are
    rounded to whole numbers, where the binomial route applies.
    """
    generator = np.random.default_rng(seed)
    for _ in range(count):
        q, sigma, excess = (
            _log_uniform(generator, box)
            for box in (SAMPLE_RATES, NOISE_MULTIPLIERS, ORDERS_ABOVE_ONE)
        )
        alpha = 1.0 + excess
        if alpha > 2.0 and generator.random() < 0.5:
            alpha = float(round(alpha))
        yield q, sigma, min(alpha, ORDERS_ABOVE_ONE[1])


def _log_uniform(generator: np.random.Generator, box: tuple[float, float]) -> float:
    low, high = box
    value = math.exp(generator.uniform(math.log(low), math.log(high)))
    return min(max(value, low), high)


def _compared(
    name: str,
    order: float,
    truth: Any,
    value: float,
    lower: float,
    upper: float,
    digits: int,
    *,
    is_bound: bool = False,
    owed: bool = True,
) -> Check:
    """Return the check of a value with its ends; the lower end of a bound is ignored."""
    text = mpmath.nstr(truth, 30)
    if math.isnan(value):
        return Check(name, order, text, value, lower, upper, math.nan, not owed)
    if truth == mpmath.inf or upper == mpmath.inf:
        known = upper == truth and (is_bound or lower == truth)
        return Check(name, order, text, value, lower, upper, MAX_DIGITS if known else 0.0, known)
    with mpmath.workdps(digits + 10):
        # The reference is itself rounded: exact ends (q = 1) must not fail by its last digits.
        slack = abs(truth) * mpmath.mpf(10) ** (8 - digits)
        holds = bool(truth - slack <= mpmath.mpf(upper)) and value <= upper
        if not is_bound:
            holds = holds and bool(mpmath.mpf(lower) <= truth + slack) and lower <= value
        agreeing = _agreeing_digits(value, truth)
    return Check(name, order, text, value, lower, upper, agreeing, holds)


def _agreeing_digits(value: float, truth: mpmath.mpf) -> float:
    """Return -log10 of the relative error, at the working precision; from 0 to 17."""
    error = abs(mpmath.mpf(value) - truth)
    if error == 0:
        return MAX_DIGITS
    if truth == 0:
        return 0.0
    return min(MAX_DIGITS, max(0.0, float(-mpmath.log10(error / abs(truth)))))


def _point(q: float, sigma: float, alpha: float, digits: int) -> tuple[float, float, float]:
    """Return a point of the domain."""
    integer_of(digits, "digits", 30)
    return (
        number_in(q, "sample_rate", PROBABILITY),
        number_in(sigma, "noise_multiplier", POSITIVE),
        number_in(alpha, "order", Range(1.0, 1e6)),
    )


# The curves that are compared with the reference, each made from one (q, sigma).


@dataclass(frozen=True)
class Kind:
    """A kind of mechanism: its curve and its reference divergence, made from (q, sigma).

    Upper bounds may be cut or searched for, so that their lower ends are ignored. A sum over the
    order stops at ``largest_order``.
    """

    name: str
    curve: Callable[[float, float], RenyiCurve | None]
    truth: Callable[[float, float, float, int], Any]  # of (q, sigma, order, digits)
    largest_order: float = 1e6
    is_bound: bool = False


def _loss(sigma: float) -> float:
    return min(1.0 / sigma, LARGEST_LOSS)


def _scale(sigma: float) -> float:
    return max(sigma, 1.0 / LARGEST_LOSS)


def _answer(sigma: float) -> float:
    """Return the probability of the true one of three answers."""
    return 1.0 / (1.0 + 2.0 * math.exp(-min(1.0 / sigma, 30.0)))


def _gaussian_curve(sigma: float) -> RenyiCurve:
    return RenyiCurve.linear(0.5 / sigma**2)


def _gaussian(sigma: float, order: Any, digits: int) -> Any:
    return reference.rdp_zcdp(0.5 / sigma**2, order, digits=digits)


def _laplace_curve(sigma: float) -> RenyiCurve:
    curve = Pair.laplace(_scale(sigma)).moment()
    assert curve is not None, "it has one"
    return curve


def _laplace(sigma: float, order: Any, digits: int) -> Any:
    return reference.rdp(reference.laplace_pair(_scale(sigma)), order, digits)


# Name, pair of the engine, pair of the reference.
PAIRS: tuple[tuple[str, Callable[[float], Pair], Callable[[float], Any]], ...] = (
    ("Laplace", lambda s: Pair.laplace(_scale(s)), lambda s: reference.laplace_pair(_scale(s))),
    (
        "discrete Laplace",
        lambda s: Pair.discrete_laplace(2.0 * _scale(s), 2),
        lambda s: reference.discrete_laplace_pair(2.0 * _scale(s), 2),
    ),
    (
        "randomized response",
        lambda s: Pair.randomized_response(_answer(s), 3),
        lambda s: reference.randomized_response_pair(_answer(s), 3),
    ),
    (
        "pure DP",
        lambda s: Pair.approximate_privacy(_loss(s), 0.0),
        lambda s: reference.pure_dp_pair(_loss(s)),
    ),
    (
        "exponential",
        lambda s: Pair.bounded_range(_loss(s)),
        lambda s: reference.exponential_pair(_loss(s)),
    ),
)


def _kinds_of_pair(
    name: str, pair: Callable[[float], Pair], twin: Callable[[float], Any]
) -> tuple[Kind, Kind]:
    """Return the kinds of the pair itself and of the pair on Poisson samples."""

    def truth(q: float, sigma: float, order: float, digits: int) -> Any:
        return reference.rdp(twin(sigma), order, digits, q=q)

    return (
        Kind(name, lambda q, s: pair(s).moment(), lambda q, *rest: truth(1.0, *rest)),
        Kind(f"{name}, Poisson", lambda q, s: pair(s).sampled(q).moment(), truth),
    )


KINDS = (
    *(kind for row in PAIRS for kind in _kinds_of_pair(*row)),
    Kind("Gaussian", lambda q, s: _gaussian_curve(s), lambda q, s, a, d: _gaussian(s, a, d)),
    Kind(
        "bounded range",
        lambda q, s: RenyiCurve.bounded_range(_loss(s)),
        lambda q, s, a, d: reference.rdp_bounded_range(_loss(s), a, digits=d),
    ),
    Kind(
        "Gumbel",
        lambda q, s: Pair.gumbel(1.0 / _loss(s)).reversed().moment(),
        lambda q, s, a, d: reference.rdp_gumbel(_loss(s), a, d),
    ),
    Kind(
        "Gaussian, bound for any Poisson sample",
        lambda q, s: _gaussian_curve(s).poisson_bound(q, "general"),
        lambda q, s, a, d: reference.rdp_poisson(partial(_gaussian, s), q, a, "general", digits=d),
        LARGEST_SUM,
        is_bound=True,
    ),
    Kind(
        "Laplace, tight bound for Poisson",
        lambda q, s: _laplace_curve(s).poisson_bound(q, "tight"),
        lambda q, s, a, d: reference.rdp_poisson(
            partial(_laplace, s), q, a, "tight", 1 / Fraction(_scale(s)), d
        ),
        LARGEST_SUM,
        is_bound=True,
    ),
    Kind(
        "Laplace, lower bound for Poisson",
        lambda q, s: _laplace_curve(s).poisson_bound(q, "lower"),
        lambda q, s, a, d: reference.rdp_poisson(partial(_laplace, s), q, a, "lower", digits=d),
        LARGEST_SUM,
    ),
    Kind(
        "Gaussian, bound for fixed size",
        lambda q, s: _gaussian_curve(s).fixed_size_bound(q, False),
        lambda q, s, a, d: reference.rdp_fixed_size(partial(_gaussian, s), q, a, digits=d),
        LARGEST_SUM,
        is_bound=True,
    ),
    Kind(
        "Laplace, bound for any sample",
        lambda q, s: _laplace_curve(s).mixture_bound(q),
        lambda q, s, a, d: reference.rdp_mixture(partial(_laplace, s), q, a, d),
        is_bound=True,
    ),
    Kind(
        "Gaussian, best of 10 runs on average",
        lambda q, s: _gaussian_curve(s).repeat_and_select(10.0, 1.0),
        lambda q, s, a, d: reference.rdp_repeat_and_select(
            partial(_gaussian, s), 10, 1, max(a, 1 + 1e-9), digits=20
        ),
        is_bound=True,
    ),
    Kind(
        "Gaussian, random allocation to 10 steps",
        lambda q, s: RenyiCurve.random_allocation(s, 10),
        lambda q, s, a, d: reference.rdp_random_allocation(s, 10, a, digits=d),
        LARGEST_SUM,
        is_bound=True,
    ),
)


def verify_curves(
    sample_rate: float, noise_multiplier: float, order: float, *, digits: int = 50
) -> tuple[Check, ...]:
    """Compare the curve of every kind of mechanism with the reference at one point.

    Noise has the scale ``noise_multiplier`` on a query of sensitivity 1, other mechanisms the
    largest loss 1/``noise_multiplier``, at most 500. Noise multipliers below 1e-3 or above 1e9 are
    taken as these.

    Args:
        sample_rate: q in [0, 1].
        noise_multiplier: sigma > 0.
        order: Renyi order in [1, 1e6]; at 1 the divergence is the Kullback-Leibler one.
        digits: Decimal digits of the reference, at least 30.

    >>> checks = verify_curves(0.01, 2.0, 8.5, digits=30)
    >>> all(check.ok for check in checks)
    True
    >>> checks[0].name, checks[0].reference[:12]
    ('Laplace', '0.4157031191')
    """
    q, sigma, alpha = _point(sample_rate, noise_multiplier, order, digits)
    sigma = min(max(sigma, 1e-3), 1e9)
    checks = []
    for kind in KINDS:
        order = min(alpha, kind.largest_order)
        truth = kind.truth(q, sigma, order, digits)
        lower, upper = _bracket(kind, q, sigma, order)
        checks.append(
            _compared(kind.name, order, truth, upper, lower, upper, digits, is_bound=kind.is_bound)
        )
    return tuple(checks)


def _bracket(kind: Kind, q: float, sigma: float, alpha: float) -> tuple[float, float]:
    curve = kind.curve(q, sigma)
    assert curve is not None, "every kind has one"
    order, lower, upper = np.array([alpha]), np.empty(1), np.empty(1)
    curve.rdp_lower_into(order, lower)
    curve.rdp_into(order, upper)
    return float(lower[0]), float(upper[0])
