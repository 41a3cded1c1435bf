"""The Renyi curves that are compared with the reference, each made from one (q, sigma).

Noise has the scale sigma on a query of sensitivity 1; randomized response and the like have the
largest loss 1/sigma, at most 500, which is where the engine goes over to bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from renyi import reference
from renyi._engine import Pair, RenyiCurve

LARGEST_LOSS = 500.0
LARGEST_SUM = 50.0  # order


@dataclass(frozen=True)
class Kind:
    """A kind of mechanism: its curve and its reference divergence, made from (q, sigma).

    Upper bounds may be cut or sought: their lower ends say nothing. A sum over the order stops at
    ``largest_order``.
    """

    name: str
    curve: Callable[[float, float], Any]  # a RenyiCurve
    truth: Callable[..., Any]  # q, sigma, order, digits
    largest_order: float = 1e6
    is_bound: bool = False


def _loss(sigma: float) -> float:
    return min(1.0 / sigma, LARGEST_LOSS)


def _scale(sigma: float) -> float:
    return max(sigma, 1.0 / LARGEST_LOSS)


def _answer(sigma: float) -> float:
    """Probability of the true one of three answers."""
    return 1.0 / (1.0 + 2.0 * math.exp(-min(1.0 / sigma, 30.0)))


def _variance(sigma: float) -> float:
    return 0.5 / sigma**2


def _gaussian(sigma: float, order: Any, digits: int) -> Any:
    return reference.rdp_zcdp(_variance(sigma), order, digits=digits)


def _laplace(sigma: float, order: Any, digits: int) -> Any:
    return reference.rdp(reference.laplace_pair(_scale(sigma)), order, digits)


def _moment(pair: Pair) -> RenyiCurve:
    curve = pair.moment()
    assert curve is not None, "every pair here has one"
    return curve


def _sampled(name: str, pair: Callable[[float], Pair], truth: Callable[..., Any]) -> Kind:
    return Kind(f"{name}, Poisson", lambda q, sigma: _moment(pair(sigma).sampled(q)), truth)


KINDS = (
    Kind(
        "Gaussian",
        lambda q, sigma: RenyiCurve.linear(_variance(sigma)),
        lambda q, sigma, order, digits: _gaussian(sigma, order, digits),
    ),
    Kind(
        "Laplace",
        lambda q, sigma: _moment(Pair.laplace(_scale(sigma))),
        lambda q, sigma, order, digits: _laplace(sigma, order, digits),
    ),
    Kind(
        "discrete Laplace",
        lambda q, sigma: _moment(Pair.discrete_laplace(2.0 * _scale(sigma), 2)),
        lambda q, sigma, order, digits: reference.rdp(
            reference.discrete_laplace_pair(2.0 * _scale(sigma), 2), order, digits
        ),
    ),
    Kind(
        "randomized response",
        lambda q, sigma: _moment(Pair.randomized_response(_answer(sigma), 3)),
        lambda q, sigma, order, digits: reference.rdp(
            reference.randomized_response_pair(_answer(sigma), 3), order, digits
        ),
    ),
    Kind(
        "pure DP",
        lambda q, sigma: _moment(Pair.approximate_privacy(_loss(sigma), 0.0)),
        lambda q, sigma, order, digits: reference.rdp(
            reference.pure_dp_pair(_loss(sigma)), order, digits
        ),
    ),
    Kind(
        "bounded range",
        lambda q, sigma: RenyiCurve.bounded_range(_loss(sigma)),
        lambda q, sigma, order, digits: reference.rdp_bounded_range(
            _loss(sigma), order, digits=digits
        ),
    ),
    Kind(
        "Gumbel",
        lambda q, sigma: _moment(Pair.gumbel(1.0 / _loss(sigma)).reversed()),
        lambda q, sigma, order, digits: reference.rdp_gumbel(_loss(sigma), order, digits),
    ),
    _sampled(
        "Laplace",
        lambda sigma: Pair.laplace(_scale(sigma)),
        lambda q, sigma, order, digits: reference.rdp(
            reference.laplace_pair(_scale(sigma)), order, digits, q=q
        ),
    ),
    _sampled(
        "discrete Laplace",
        lambda sigma: Pair.discrete_laplace(2.0 * _scale(sigma), 2),
        lambda q, sigma, order, digits: reference.rdp(
            reference.discrete_laplace_pair(2.0 * _scale(sigma), 2), order, digits, q=q
        ),
    ),
    _sampled(
        "randomized response",
        lambda sigma: Pair.randomized_response(_answer(sigma), 3),
        lambda q, sigma, order, digits: reference.rdp(
            reference.randomized_response_pair(_answer(sigma), 3), order, digits, q=q
        ),
    ),
    _sampled(
        "pure DP",
        lambda sigma: Pair.approximate_privacy(_loss(sigma), 0.0),
        lambda q, sigma, order, digits: reference.rdp(
            reference.pure_dp_pair(_loss(sigma)), order, digits, q=q
        ),
    ),
    _sampled(
        "exponential",
        lambda sigma: Pair.bounded_range(_loss(sigma)),
        lambda q, sigma, order, digits: reference.rdp(
            reference.exponential_pair(_loss(sigma)), order, digits, q=q
        ),
    ),
    Kind(
        "Gaussian, bound for any Poisson sample",
        lambda q, sigma: RenyiCurve.linear(_variance(sigma)).poisson_bound(q, "general"),
        lambda q, sigma, order, digits: reference.rdp_poisson(
            partial(_gaussian, sigma), q, order, "general", digits=digits
        ),
        LARGEST_SUM,
        is_bound=True,
    ),
    Kind(
        "Laplace, tight bound for Poisson",
        lambda q, sigma: _moment(Pair.laplace(_scale(sigma))).poisson_bound(q, "tight"),
        lambda q, sigma, order, digits: reference.rdp_poisson(
            partial(_laplace, sigma), q, order, "tight", 1 / Fraction(_scale(sigma)), digits
        ),
        LARGEST_SUM,
        is_bound=True,
    ),
    Kind(
        "Laplace, lower bound for Poisson",
        lambda q, sigma: _moment(Pair.laplace(_scale(sigma))).poisson_bound(q, "lower"),
        lambda q, sigma, order, digits: reference.rdp_poisson(
            partial(_laplace, sigma), q, order, "lower", digits=digits
        ),
        LARGEST_SUM,
    ),
    Kind(
        "Gaussian, bound for fixed size",
        lambda q, sigma: RenyiCurve.linear(_variance(sigma)).fixed_size_bound(q, False),
        lambda q, sigma, order, digits: reference.rdp_fixed_size(
            partial(_gaussian, sigma), q, order, digits=digits
        ),
        LARGEST_SUM,
        is_bound=True,
    ),
    Kind(
        "Laplace, bound for any sample",
        lambda q, sigma: _moment(Pair.laplace(_scale(sigma))).mixture_bound(q),
        lambda q, sigma, order, digits: reference.rdp_mixture(
            partial(_laplace, sigma), q, order, digits
        ),
        is_bound=True,
    ),
    Kind(
        "Gaussian, best of 10 runs on average",
        lambda q, sigma: RenyiCurve.linear(_variance(sigma)).repeat_and_select(10.0, 1.0),
        lambda q, sigma, order, digits: reference.rdp_repeat_and_select(
            partial(_gaussian, sigma), 10, 1, max(order, 1 + 1e-9), digits=20
        ),
        is_bound=True,
    ),
    Kind(
        "Gaussian, random allocation to 10 steps",
        lambda q, sigma: RenyiCurve.random_allocation(sigma, 10),
        lambda q, sigma, order, digits: reference.rdp_random_allocation(
            sigma, 10, order, digits=digits
        ),
        LARGEST_SUM,
        is_bound=True,
    ),
)
