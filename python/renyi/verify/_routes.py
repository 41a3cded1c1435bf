"""The routes to log A of the sampled Gaussian mechanism against the reference, at one point.

Binomial sum, series, quadrature, and the dispatcher, which takes one of them or an expansion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mpmath
import numpy as np

from renyi import reference, special

if TYPE_CHECKING:
    from renyi.verify._curves import CurveCheck

# Route and the ufunc behind it; every ufunc has _lower and _upper beside it.
ROUTES = {
    "engine": "log_a",
    "binomial": "log_a_binomial",
    "series": "log_a_series",
    "quadrature": "log_a_quadrature",
    "rdp": "rdp_sampled_gaussian",
}
# These answer everywhere; the others may decline a point by NaN.
ANSWERS_EVERYWHERE = ("engine", "rdp")

# The box of promised accuracy.
SAMPLE_RATES = (1e-12, 1.0)
NOISE_MULTIPLIERS = (0.01, 1e6)
ORDERS_ABOVE_ONE = (1e-8, 1e6)

# 17 significant digits determine a double; agreement beyond that is a coincidence.
MAX_DIGITS = 17.0


@dataclass(frozen=True)
class RouteCheck:
    """One route at one point.

    Attributes
    ----------
    route : str
        ``engine`` (log A by the dispatcher), ``binomial``, ``series``, ``quadrature`` (log A by
        that route), or ``rdp`` (the Renyi divergence by the dispatcher).
    value, lower, upper : float
        What the engine returned; all NaN where the route does not apply.
    digits : float
        Agreeing decimal digits, -log10 of the relative error, at most 17; NaN where the route does
        not apply.
    contained : bool
        Whether lower <= reference <= upper.
    ok : bool
        False for a bracket that misses the reference, and for a NaN where an answer is owed.
    """

    route: str
    value: float
    lower: float
    upper: float
    digits: float
    contained: bool
    ok: bool

    @property
    def applies(self) -> bool:
        """Whether the route gave an answer."""
        return not math.isnan(self.value)

    @property
    def proven(self) -> float:
        """Decimal digits that the bracket proves: -log10 of its half-width over the value."""
        return proven_digits(self.value, self.lower, self.upper) if self.applies else math.nan


@dataclass(frozen=True)
class Verification:
    """All routes at one point, and the references as decimal text of 30 digits.

    ``curves`` may hold what `renyi.verify.verify_curves` found at the same point.
    """

    sample_rate: float
    noise_multiplier: float
    order: float
    log_a: str
    rdp: str
    routes: tuple[RouteCheck, ...]
    curves: tuple[CurveCheck, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no route and no curve violates its bracket."""
        return all(route.ok for route in self.routes) and all(curve.ok for curve in self.curves)


def verify_point(
    sample_rate: float, noise_multiplier: float, order: float, *, digits: int = 50
) -> Verification:
    """Compare the routes of the engine with the reference at one point.

    Parameters
    ----------
    sample_rate : float
        q in [0, 1].
    noise_multiplier : float
        sigma > 0.
    order : float
        Renyi order, >= 1. At 1 the Renyi divergence is the Kullback-Leibler one and log A is 0.
    digits : int
        Decimal digits of the reference, at least 30.

    Returns
    -------
    Verification
        One ``RouteCheck`` a route.

    Raises
    ------
    ValueError
        If a parameter is outside its domain.

    Examples
    --------
    >>> result = verify_point(0.01, 1.0, 8.5)
    >>> result.ok
    True
    >>> [route.route for route in result.routes if not route.applies]
    ['binomial']
    """
    q, sigma, alpha = float(sample_rate), float(noise_multiplier), float(order)
    check_point(q, sigma, alpha, digits)
    truths = _references(q, sigma, alpha, digits)
    routes = tuple(
        _check_route(route, truths["rdp" if route == "rdp" else "log_a"], (q, sigma, alpha), digits)
        for route in ROUTES
    )
    texts = {name: mpmath.nstr(truth, 30) for name, truth in truths.items()}
    return Verification(q, sigma, alpha, texts["log_a"], texts["rdp"], routes)


def _references(q: float, sigma: float, alpha: float, digits: int) -> dict[str, mpmath.mpf]:
    log_a = reference.log_a(q, sigma, alpha, digits=digits)
    if alpha == 1.0:
        return {
            "log_a": log_a,
            "rdp": reference.rdp_sampled_gaussian(q, sigma, alpha, digits=digits),
        }
    with mpmath.workdps(digits + 10):  # one quotient is cheaper than a second integral
        return {"log_a": log_a, "rdp": log_a / (mpmath.mpf(alpha) - 1)}


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


def _check_route(
    route: str, truth: mpmath.mpf, point: tuple[float, float, float], digits: int
) -> RouteCheck:
    name = ROUTES[route]
    value, lower, upper = (
        float(getattr(special, name + suffix)(*point)) for suffix in ("", "_lower", "_upper")
    )
    if math.isnan(value):
        return RouteCheck(
            route, value, lower, upper, math.nan, False, route not in ANSWERS_EVERYWHERE
        )
    with mpmath.workdps(digits + 10):
        # The reference is itself rounded: exact ends (q = 1) must not fail by its last digits.
        slack = abs(truth) * mpmath.mpf(10) ** (8 - digits)
        contained = bool(mpmath.mpf(lower) <= truth + slack and truth - slack <= mpmath.mpf(upper))
        agreeing = agreeing_digits(value, truth)
    ordered = lower <= value <= upper
    return RouteCheck(route, value, lower, upper, agreeing, contained, contained and ordered)


def agreeing_digits(value: float, truth: mpmath.mpf) -> float:
    """Return -log10 of the relative error, at the working precision; from 0 to 17."""
    error = abs(mpmath.mpf(value) - truth)
    if error == 0:
        return MAX_DIGITS
    if truth == 0:
        return 0.0
    return min(MAX_DIGITS, max(0.0, float(-mpmath.log10(error / abs(truth)))))


def proven_digits(value: float, lower: float, upper: float) -> float:
    """Return -log10 of the half-width of a bracket over a value in it; from 0 to 17."""
    if lower == upper:
        return MAX_DIGITS
    half = (upper - lower) / 2.0
    if not 0.0 < half < math.inf or value == 0.0:
        return 0.0
    return min(MAX_DIGITS, max(0.0, -math.log10(half / abs(value))))


def check_point(q: float, sigma: float, alpha: float, digits: int) -> None:
    """Refuse a point outside the domain."""
    _check("sample_rate", q, 0.0 <= q <= 1.0, "in [0, 1]")
    _check("noise_multiplier", sigma, sigma > 0.0, "greater than 0")
    _check("order", alpha, 1.0 <= alpha <= 1e6, "in [1, 1e6]")
    _check("digits", digits, digits >= 30, "at least 30")


def _check(name: str, value: float, fits: bool, words: str) -> None:
    if not fits:
        raise ValueError(f"{name} must be {words}, got {value!r}")
