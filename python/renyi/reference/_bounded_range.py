"""Rényi divergences of mechanisms of bounded range: the loss lies in an interval of length epsilon.

The exponential mechanism is one, and so is report-noisy-max with Gumbel noise (Dong, Durfee,
Rogers 2020). Conventions as in ``_mechanisms`` and ``_sampled``.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from renyi.reference._mechanisms import settled
from renyi.reference._numbers import (
    Number,
    check_digits,
    exact,
    mp,
    order_of,
    real,
    require,
    settle,
    unit,
)
from renyi.reference._pairs import Direction, Pair, check_request, divergence, moment
from renyi.reference._sampled import finite_epsilon, nothing
from renyi.reference._search import lowest


def rdp_bounded_range(epsilon: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Largest divergence if the loss lies in an interval of length epsilon: exponential mechanism.

    The extreme pairs have two losses, t and t - epsilon (Dong, Durfee, Rogers 2020). With
    :math:`E = e^{-\epsilon}` and :math:`u = e^t` the moment of such a pair is
    :math:`u^{\alpha-1} (1 - E^\alpha - u (E - E^\alpha)) / (1 - E)`, largest at
    :math:`u = (\alpha-1)(1 - E^\alpha)/(\alpha (E - E^\alpha))`, which gives

    .. math:: \log u + \frac{1}{\alpha-1} \log\frac{1 - E^\alpha}{\alpha (1 - E)}

    At alpha = 1 it is epsilon/(e^epsilon - 1) - 1 - log(epsilon/(e^epsilon - 1)).

    >>> round(float(rdp_bounded_range(1, 2)), 12), round(float(rdp_bounded_range(1, 1)), 12)
    (0.240229013917, 0.123301561482)
    """
    check_digits(digits)
    e, a = exact("epsilon", epsilon), order_of(alpha)
    require("epsilon", e >= 0, ">= 0", epsilon)
    if isinstance(e, float):
        return mp.inf
    if e == 0:
        return mp.zero
    if a == 1:
        return settled(
            digits,
            lambda: _kullback_of_range(real(e) / mp.expm1(real(e))),
            lambda: _kullback_of_range(real(e) * mp.exp(-real(e) / 2) / (2 * mp.sinh(real(e) / 2))),
        )

    def minus() -> Any:
        low, power = mp.exp(-real(e)), mp.exp(real(-a * e))
        u = real(a - 1) * (1 - power) / (real(a) * (low - power))
        return mp.log(u) + mp.log((1 - power) / (real(a) * (1 - low))) / real(a - 1)

    def hyperbolic() -> Any:
        x, y, z = (mp.log(2 * mp.sinh(real(c * e) / 2)) for c in (a, a - 1, Fraction(1)))
        u = mp.log1p(-1 / real(a)) + real(e) / 2 + x - y
        return u + (x - z - mp.log(real(a))) / real(a - 1) - real(e) / 2

    return settled(digits, minus, hyperbolic)


def _kullback_of_range(x: Any) -> Any:
    return x - 1 - mp.log(x)


def rdp_sampled_exponential(
    q: Number, epsilon: Number, alpha: Number, direction: Direction = "remove", digits: int = 50
) -> Any:
    """Poisson sampling of the pair whose privacy profile is that of all bounded ranges together.

    Its loss has the density e^{-l/2}/(4 sinh(epsilon/2)) under Q on [-epsilon, epsilon] (Dong,
    Durfee, Rogers 2020, in our form). It dominates every pair of bounded range, so it is not below
    `rdp_sampled_bounded_range`. q = 1 is the pair itself.

    >>> round(float(rdp_sampled_exponential(0.01, 1, 8)), 12)
    0.000146676093
    """
    e = finite_epsilon(epsilon)
    if e == 0:
        return nothing(q, alpha, direction, digits)
    pair = Pair(density=lambda: (1 / (4 * mp.sinh(real(e) / 2)), real(e)))
    return divergence(pair, q, alpha, direction, digits)


def rdp_sampled_bounded_range(
    q: Number, epsilon: Number, alpha: Number, direction: Direction = "remove", digits: int = 50
) -> Any:
    """Poisson-sampled mechanism whose loss lies in an interval of length epsilon: exponential.

    The largest divergence over the pairs with the two losses t and t - epsilon, 0 <= t <= epsilon,
    found by a search on a grid and then between its neighbours.

    >>> round(float(rdp_sampled_bounded_range(0.01, 1, 8)), 12)
    0.000109784407
    """
    rate, e, order = unit("q", q), finite_epsilon(epsilon), order_of(alpha)
    if e == 0 or rate == 0:
        return nothing(q, alpha, direction, digits)
    check_request(rate, order, direction, digits)
    beta = order if direction == "remove" else 1 - order
    sign = 1 if direction == "remove" else -1

    def compute(work: int, variant: int) -> Any:
        def value(t: Any) -> Any:
            pair = Pair(lambda _beta, _work: _two_losses(real(e), t))
            if order == 1:
                return sign * moment(pair, rate, beta, lambda loss: loss, work, variant)
            total = moment(pair, rate, beta, lambda loss: 1, work, variant)
            return mp.log(total) / real(order - 1)

        return value(_highest(value, real(e), 40 + 7 * variant, work))

    return settle(compute, digits)


def _two_losses(epsilon: Any, t: Any) -> Iterator[tuple[Any, Any]]:
    """Losses t and t - epsilon with the masses under Q that make both laws probabilities."""
    high = mp.expm1(epsilon - t) / mp.expm1(epsilon)
    yield t, high
    yield t - epsilon, mp.expm1(t) * mp.exp(epsilon - t) / mp.expm1(epsilon)


def _highest(value: Any, end: Any, cells: int, work: int) -> Any:
    """Return where a function on [0, end] is highest, to half the digits."""
    grid = [end * i / cells for i in range(cells + 1)]
    best = max(range(1, cells), key=lambda i: value(grid[i]))
    return lowest(lambda t: -value(t), grid[best - 1], grid[best + 1], work // 2 + 2)
