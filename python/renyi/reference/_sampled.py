"""Rényi divergences of Poisson-sampled mechanisms other than the Gaussian, from the distributions.

Real alpha >= 1; alpha = 1 is the Kullback-Leibler divergence. ``direction="remove"`` has the
mixture (1-q) Q + q P in the first argument, ``"add"`` in the second, where Q is the output without
the record. For mechanisms whose pair looks the same from both sides "remove" is the larger one
(Mironov, Talwar, Zhang 2019, Theorem 5, whose proof uses nothing else). ``digits`` is the relative
accuracy; a ValueError names an argument outside its range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from renyi.reference._numbers import (
    Number,
    exact,
    mp,
    positive,
    real,
    require,
    unit,
    whole,
)
from renyi.reference._pairs import Direction, Pair, check_request, divergence

MOST = 200_000  # atoms


def rdp_sampled_laplace(
    q: Number, scale: Number, alpha: Number, direction: Direction = "remove", digits: int = 50
) -> Any:
    """Poisson-sampled Laplace noise on a query of L1 sensitivity 1.

    >>> round(float(rdp_sampled_laplace(0.01, 0.5, 8)), 12)
    0.001735240317
    >>> round(float(rdp_sampled_laplace(0.01, 0.5, 8, "add")), 12)
    0.001360025074
    """
    b = positive("scale", scale)
    if isinstance(b, float):
        return nothing(q, alpha, direction, digits)
    t = 1 / b

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        yield -real(t), mp.mpf(1) / 2
        yield real(t), mp.exp(-real(t)) / 2

    pair = Pair(atoms, lambda: (mp.exp(-real(t) / 2) / 4, real(t)))
    return divergence(pair, q, alpha, direction, digits)


def rdp_sampled_randomized_response(
    q: Number,
    p: Number,
    alpha: Number,
    choices: int = 2,
    direction: Direction = "remove",
    digits: int = 50,
) -> Any:
    """Poisson-sampled randomized response; a record left out answers as any other value would.

    >>> round(float(rdp_sampled_randomized_response("0.001", "0.6", 2)), 12)
    1.66667e-07
    """
    truth, k = unit("p", p), whole("choices", choices, 2)
    other = (1 - truth) / (k - 1)
    require("p", truth * other > 0, "in (0, 1)", p)
    if truth == other:
        return nothing(q, alpha, direction, digits)

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        loss = mp.log(real(truth / other))
        yield loss, real(other)
        yield -loss, real(truth)
        yield mp.zero, real((k - 2) * other)

    return divergence(Pair(atoms), q, alpha, direction, digits)


def nothing(q: Number, alpha: Number, direction: Direction, digits: int) -> Any:
    """Return 0 for two equal laws, once the arguments are known to be right."""
    check_request(q, alpha, direction, digits)
    return mp.zero


def finite_epsilon(epsilon: Number) -> Fraction:
    e = exact("epsilon", epsilon)
    require("epsilon", 0 <= e < math.inf, ">= 0 and finite", epsilon)
    return Fraction(e)


def rdp_sampled_pure_dp(
    q: Number, epsilon: Number, alpha: Number, direction: Direction = "remove", digits: int = 50
) -> Any:
    """Poisson-sampled mechanism of which only epsilon-DP is known: binary randomized response.

    >>> round(float(rdp_sampled_pure_dp(0.01, 1, 8)), 12)
    0.000443462764
    """
    e = finite_epsilon(epsilon)
    if e == 0:
        return nothing(q, alpha, direction, digits)

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        rest = 1 / (1 + mp.exp(real(e)))
        yield real(e), rest
        yield -real(e), 1 - rest

    return divergence(Pair(atoms), q, alpha, direction, digits)


def rdp_sampled_discrete_laplace(
    q: Number,
    scale: Number,
    alpha: Number,
    sensitivity: int = 1,
    direction: Direction = "remove",
    digits: int = 50,
) -> Any:
    """Poisson-sampled discrete Laplace noise, mass proportional to exp(-|x|/scale).

    >>> round(float(rdp_sampled_discrete_laplace(0.01, 1, 8, 3)), 12)
    0.008024292369
    """
    b, s = positive("scale", scale), whole("sensitivity", sensitivity, 1)
    if isinstance(b, float):
        return nothing(q, alpha, direction, digits)
    require("sensitivity", s <= MOST, f"at most {MOST} for a direct sum", sensitivity)
    t = 1 / b

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        rest = mp.exp(-real(t))
        yield real(-s * t), 1 / (1 + rest)
        yield real(s * t), rest**s / (1 + rest)
        for x in range(1, s):
            yield real((2 * x - s) * t), (1 - rest) / (1 + rest) * rest**x

    return divergence(Pair(atoms), q, alpha, direction, digits)


def rdp_sampled_discrete_gaussian(
    q: Number,
    sigma: Number,
    alpha: Number,
    sensitivity: int = 1,
    direction: Direction = "remove",
    digits: int = 50,
) -> Any:
    """Poisson-sampled discrete Gaussian noise, mass proportional to exp(-x^2/(2 sigma^2)).

    >>> round(float(rdp_sampled_discrete_gaussian(0.01, 1, 8)), 12)
    0.000893643908
    """
    noise, s = positive("sigma", sigma), whole("sensitivity", sensitivity, 1)
    if isinstance(noise, float):
        return nothing(q, alpha, direction, digits)

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        spread = 2 * real(noise) ** 2
        normal = mp.fsum(mp.exp(-(mp.mpf(x) ** 2) / spread) for x in _lattice(noise, s, 0, work))
        for x in _lattice(noise, s, float(beta), work):
            mass = mp.exp(-(mp.mpf(x) ** 2) / spread) / normal
            yield s * (2 * x - s) / spread, mass

    return divergence(Pair(atoms), q, alpha, direction, digits)


def _lattice(sigma: Fraction, s: int, beta: float, work: int) -> Iterator[int]:
    """Points whose terms e^{-x^2/(2 sigma^2)} e^{beta L} may matter.

    The logarithm of a term has the slope (beta p s - x)/sigma^2 with 0 < p < 1, so its peaks lie
    between 0 and beta s, and outside it falls at least as fast as a Gaussian.
    """
    reach = float(sigma) * (math.sqrt(2 * work * math.log(10)) + 10) + 2
    low, high = min(0.0, beta * s) - reach, max(0.0, beta * s) + reach
    if high - low > MOST:
        raise ArithmeticError("too many terms of a direct sum")
    return iter(range(math.floor(low), math.ceil(high) + 1))
