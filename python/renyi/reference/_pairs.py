r"""Rényi divergences of Poisson-sampled pairs from the distributions themselves.

A pair (P, Q) is known by the law of its loss l = log(P/Q) under Q: atoms, a density on an interval,
or both. Sampling at rate q replaces P by (1-q) Q + q P, with the loss

.. math:: L(l) = \log(1 - q + q e^l)

The moment E_Q[w(L) e^{beta L}] answers everything: of order alpha for the pair ((1-q) Q + q P, Q)
("remove": the record is in the first argument), of order 1 - alpha for the swapped pair ("add"),
and the Kullback-Leibler divergences with w(L) = L.

The density c e^{-l/2} on [-top, top] is that of Laplace noise between its two locations and of the
exponential mechanism. There beta L - l/2 is convex for beta >= 0 and falls for beta <= 0, so it is
largest at an end: the rule is composite Gauss-Legendre on pieces that are short against the slope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from renyi.reference._integral import gauss_legendre
from renyi.reference._numbers import Number, check_digits, mp, order_of, real, require, settle, unit

Direction = Literal["remove", "add"]
Atoms = Callable[[Fraction, int], Iterable[tuple[Any, Any]]]


@dataclass(frozen=True)
class Pair:
    """The law of l under Q, at the working precision of the moment.

    ``atoms(beta, work)`` yields pairs (loss, mass), all that matter for the moment of order beta
    with ``work`` digits; ``density()`` is (c, top).
    """

    atoms: Atoms = lambda beta, work: ()
    density: Callable[[], tuple[Any, Any]] | None = None


def check_request(
    q: Number, alpha: Number, direction: Direction, digits: int
) -> tuple[Fraction, Fraction]:
    """Return q and alpha exactly; every argument is checked."""
    check_digits(digits)
    require("direction", direction in ("remove", "add"), "'remove' or 'add'", direction)
    return unit("q", q), order_of(alpha)


def divergence(pair: Pair, q: Number, alpha: Number, direction: Direction, digits: int) -> Any:
    """Return the divergence of order alpha >= 1 of the sampled pair; P and Q differ."""
    rate, order = check_request(q, alpha, direction, digits)
    if rate == 0:
        return mp.zero
    beta = order if direction == "remove" else 1 - order
    sign = 1 if direction == "remove" else -1

    def compute(work: int, variant: int) -> Any:
        if order == 1:
            return sign * moment(pair, rate, beta, lambda loss: loss, work, variant)
        return mp.log(moment(pair, rate, beta, lambda loss: 1, work, variant)) / real(order - 1)

    return settle(compute, digits)


def sampled_loss(q: Fraction, loss: Any) -> Any:
    """L(l); for q = 1 it is l itself."""
    if q == 1:
        return loss
    if loss > 0:
        return loss + mp.log(real(q) + real(1 - q) * mp.exp(-loss))
    return mp.log(real(1 - q) + real(q) * mp.exp(loss))


def moment(
    pair: Pair,
    q: Fraction,
    beta: Fraction,
    weight: Callable[[Any], Any],
    work: int,
    variant: int,
) -> Any:
    """E_Q[w(L) e^{beta L}]; the variant moves every node and every cut."""
    order = real(beta)
    with mp.workdps(work + int(mp.log10(abs(order) + 1)) + 10):
        order = real(beta)
        depth = work + 5 * variant
        terms = []
        for plain, mass in pair.atoms(beta, depth):
            loss = sampled_loss(q, plain)
            terms.append(mass * weight(loss) * mp.exp(order * loss))
        if pair.density is not None:
            terms.append(_integral(pair.density(), q, order, weight, depth, variant))
        return mp.fsum(terms)


def _integral(
    density: tuple[Any, Any],
    q: Fraction,
    order: Any,
    weight: Callable[[Any], Any],
    work: int,
    variant: int,
) -> Any:
    """Integrate c e^{-l/2} w(L) e^{order L} over [-top, top]."""
    height, top = density
    nodes = gauss_legendre(int(0.6 * work) + 14, -(-mp.prec // 64) * 64)

    def exponent(plain: Any) -> Any:
        return order * sampled_loss(q, plain) - plain / 2

    peak = max(exponent(-top), exponent(top))
    floor = peak - work * mp.log(10) - mp.log(2 * top + 2) - 5
    sums = []
    for start, end in _live(exponent, top, floor):
        for middle, half in _pieces(start, end, abs(order), q, 4 - variant):
            for x, node_weight in nodes:
                plain = middle + half * x
                loss = sampled_loss(q, plain)
                value = weight(loss) * mp.exp(order * loss - plain / 2 - peak)
                sums.append(half * node_weight * value)
    return height * mp.exp(peak) * mp.fsum(sums)


def _live(exponent: Callable[[Any], Any], top: Any, floor: Any) -> list[tuple[Any, Any]]:
    """Return the parts of [-top, top] where the exponent, without a peak inside, is above floor."""
    low, high = -top, top
    while high - low > mp.mpf(1) / 100:  # where a convex exponent is least
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (left, high) if exponent(left) > exponent(right) else (low, right)
    if exponent(low) > floor:
        return [(-top, top)]
    found = []
    for end in (-top, top):
        inside, outside = end, low
        while abs(inside - outside) > abs(end - inside) / 100 + mp.mpf(10) ** -20:
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if exponent(middle) > floor else (inside, middle)
        found.append((-top, outside) if end < 0 else (outside, top))
    return found


def _pieces(
    start: Any, end: Any, steepest: Any, q: Fraction, width: int
) -> Iterable[tuple[Any, Any]]:
    """(middle, half length) of pieces over which the exponent changes by at most 4 ``width``.

    L has branch points at log(1/q - 1) +- i pi: beside them a piece is at most ``width`` long.
    """
    bend = mp.log(real(1 - q) / real(q)) if q < 1 else start - 1000
    while start < end:
        step = max(mp.mpf(width), (bend - start) / 2, (start - bend) / 3)
        while step * (steepest / (1 + mp.exp(bend - start - step)) + mp.mpf(1) / 2) > 4 * width:
            step /= 2
        step = min(step, end - start)
        yield start + step / 2, step / 2
        start += step
