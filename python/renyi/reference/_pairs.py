r"""Rényi divergences of pairs of distributions, sampled or not, computed from their losses.

A pair (P, Q) is known by the law of its loss l = log(P/Q) under Q: atoms, a density on an interval,
or both. Sampling at rate q replaces P by (1-q) Q + q P, with the loss

.. math:: L(l) = \log(1 - q + q e^l)

All divergences follow from the moment E_Q[w(L) e^{beta L}]: that of order alpha for the pair ((1-q)
Q + q P, Q) ("remove": the record is in the first argument), that of order 1 - alpha for the swapped
pair ("add"), and the Kullback-Leibler divergences with w(L) = L. For symmetric pairs "remove" is
the larger one (Mironov, Talwar, Zhang 2019, Theorem 5, whose proof uses only the symmetry).

In all functions ``digits`` is the relative accuracy of the result, and a ValueError names an
argument outside its range.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from renyi.reference._numbers import (
    NOT_NEGATIVE,
    ORDER,
    UNIT,
    Number,
    agreed,
    check_digits,
    exact,
    lowest,
    mp,
    positive,
    real,
    require,
    whole,
    within,
)
from renyi.reference._sampled_gaussian import integrals

Direction = Literal["remove", "add"]
Atoms = Callable[[Fraction, int], Iterable[tuple[Any, Any]]]

MOST = 200_000  # the most atoms


@dataclass(frozen=True)
class Pair:
    """The law of l under Q, at the working precision of the moment.

    ``atoms(beta, work)`` yields pairs (loss, mass), all that matter for the moment of order beta
    with ``work`` digits; ``density()`` is (c, top) of the density c e^{-l/2} on [-top, top].
    ``closed(alpha, work, variant)`` is the divergence without sampling where a closed form is
    quicker, else None. ``constant`` is 0 for two equal laws and infinity for two disjoint laws.
    """

    atoms: Atoms = lambda beta, work: ()
    density: Callable[[], tuple[Any, Any]] | None = None
    closed: Callable[[Fraction, int, int], Any] = lambda alpha, work, variant: None
    constant: Any = None


EQUAL, APART = Pair(constant=mp.zero), Pair(constant=mp.inf)


def rdp(
    pair: Pair, alpha: Number, digits: int = 50, *, q: Number = 1, direction: Direction = "remove"
) -> Any:
    """Return the divergence of order alpha of a pair, Poisson-sampled at rate q.

    Args:
        pair: A pair, such as from `laplace_pair`.
        alpha: Order, real, finite and at least 1, where it is the Kullback-Leibler divergence.
        q: Sampling rate in [0, 1]; 1 is no sampling. A pair with infinite losses needs q in {0, 1}.
        direction: "remove" has the mixture (1-q) Q + q P in the first argument, "add" in the
            second, where Q is the output without the record.

    >>> round(float(rdp(laplace_pair(2), 2)), 12), round(float(rdp(laplace_pair(2), 1)), 12)
    (0.200303896174, 0.106530659713)
    """
    check_digits(digits)
    require("direction", direction in ("remove", "add"), "'remove' or 'add'", direction)
    rate, order = within("q", q, UNIT), within("alpha", alpha, ORDER)
    if rate == 0:
        return mp.zero
    if not isinstance(pair, Pair):
        raise TypeError(f"pair must be a Pair, as laplace_pair returns it, got {pair!r}")
    if pair.constant is not None:
        require("q", pair.constant == 0 or rate == 1, "0 or 1 where losses are infinite", q)
        return pair.constant

    def compute(work: int, variant: int) -> Any:
        if rate == 1:
            found = pair.closed(order, work, variant)
            if found is not None:
                return found
        return _divergence(pair, rate, order, direction, work, variant)

    return agreed(compute, digits)


def _divergence(
    pair: Pair, q: Fraction, order: Fraction, direction: Direction, work: int, variant: int
) -> Any:
    beta, sign = (order, 1) if direction == "remove" else (1 - order, -1)
    if order == 1:
        return sign * _moment(pair, q, beta, lambda loss: loss, work, variant)
    return mp.log(_moment(pair, q, beta, lambda loss: 1, work, variant)) / real(order - 1)


def _sampled_loss(q: Fraction, loss: Any) -> Any:
    """L(l); for q = 1 it is l itself."""
    if q == 1:
        return loss
    if loss > 0:
        return loss + mp.log(real(q) + real(1 - q) * mp.exp(-loss))
    return mp.log(real(1 - q) + real(q) * mp.exp(loss))


def _moment(
    pair: Pair, q: Fraction, beta: Fraction, weight: Callable[[Any], Any], work: int, variant: int
) -> Any:
    """Return E_Q[w(L) e^{beta L}]; the variant moves every node and every cut."""
    order = real(beta)
    with mp.workdps(work + int(mp.log10(abs(order) + 1)) + 10):
        order = real(beta)
        depth = work + 5 * variant
        terms = []
        for plain, mass in pair.atoms(beta, depth):
            loss = _sampled_loss(q, plain)
            terms.append(mass * weight(loss) * mp.exp(order * loss))
        if pair.density is not None:
            height, top = pair.density()
            arguments = q, Fraction(1), (beta,), lambda loss: [weight(loss)], work, variant, top
            peak, found = integrals(*arguments)
            terms.append(height * mp.exp(peak) * found[0])
        return mp.fsum(terms)


def laplace_pair(scale: Number) -> Pair:
    r"""Laplace noise of this scale on a query of L1 sensitivity 1.

    Without sampling (Mironov 2017, Proposition 6)

    .. math:: \frac{1}{\alpha-1} \log\left(\frac{\alpha}{2\alpha-1} e^{(\alpha-1)/b}
              + \frac{\alpha-1}{2\alpha-1} e^{-\alpha/b}\right)

    and at alpha = 1 it is 1/b + e^{-1/b} - 1.
    """
    b = positive("scale", scale)
    if isinstance(b, float):
        return EQUAL
    t = 1 / b

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        yield -real(t), mp.mpf(1) / 2
        yield real(t), mp.exp(-real(t)) / 2

    def closed(a: Fraction, work: int, variant: int) -> Any:
        if a == 1:
            return real(t) + (mp.expm1(-real(t)) if variant else mp.exp(-real(t)) - 1)
        if variant:
            shortfall = real(a - 1) * mp.expm1(real((1 - 2 * a) * t)) / real(2 * a - 1)
            return real(t) + mp.log1p(shortfall) / real(a - 1)
        high, low = mp.exp(real((a - 1) * t)), mp.exp(real(-a * t))
        return mp.log((real(a) * high + real(a - 1) * low) / real(2 * a - 1)) / real(a - 1)

    return Pair(atoms, lambda: (mp.exp(-real(t) / 2) / 4, real(t)), closed)


def exponential_pair(epsilon: Number) -> Pair:
    """Return the pair whose privacy profile is that of all bounded ranges together.

    Its loss has the density e^{-l/2}/(4 sinh(epsilon/2)) under Q on [-epsilon, epsilon] (Dong,
    Durfee, Rogers 2020, in our form). It dominates every pair of bounded range, so it is not below
    `rdp_bounded_range`.

    >>> round(float(rdp(exponential_pair(1), 8, q=0.01)), 12)
    0.000146676093
    """
    e = within("epsilon", epsilon, NOT_NEGATIVE)
    return Pair(density=lambda: (1 / (4 * mp.sinh(real(e) / 2)), real(e))) if e else EQUAL


def randomized_response_pair(p: Number, choices: int = 2) -> Pair:
    """Randomized response: the true answer with probability p, each other equally likely.

    A missing record answers like one with any other value.

    >>> round(float(rdp(randomized_response_pair("0.5", 4), 2)), 12)
    0.63598876672
    """
    truth, k = within("p", p, UNIT), whole("choices", choices, 2)
    other = (1 - truth) / (k - 1)
    if truth == other:
        return EQUAL
    if truth * other == 0:
        return APART

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        loss = mp.log(real(truth / other))
        yield loss, real(other)
        yield -loss, real(truth)
        yield mp.zero, real((k - 2) * other)

    return Pair(atoms)


def pure_dp_pair(epsilon: Number) -> Pair:
    """Return the pair of largest divergence under epsilon-DP: binary randomized response.

    Bun, Steinke 2016, Proposition 3.3, tight form; at alpha = 1 it is epsilon tanh(epsilon/2).

    >>> [round(float(rdp(pure_dp_pair(1), alpha)), 12) for alpha in (1, 2)]
    [0.46211715726, 0.735325664056]
    """
    e = exact("epsilon", epsilon)
    require("epsilon", e >= 0, ">= 0", epsilon)
    if isinstance(e, float):
        return APART

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        rest = 1 / (1 + mp.exp(real(e)))
        yield real(e), rest
        yield -real(e), 1 - rest

    return Pair(atoms) if e else EQUAL


def discrete_laplace_pair(scale: Number, sensitivity: int = 1) -> Pair:
    """Discrete Laplace (geometric) noise, mass proportional to exp(-|x|/scale).

    >>> round(float(rdp(discrete_laplace_pair(1, sensitivity=3), 2)), 12)
    2.719362033925
    """
    b, s = positive("scale", scale), whole("sensitivity", sensitivity, 1)
    require("sensitivity", s <= MOST, f"at most {MOST} for a direct sum", sensitivity)
    if isinstance(b, float):
        return EQUAL
    t = 1 / b

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        rest = mp.exp(-real(t))
        mass = (1 - rest) / (1 + rest)
        yield real(-s * t), 1 / (1 + rest)
        yield real(s * t), rest**s / (1 + rest)
        for x in range(1, s):
            mass *= rest
            yield real((2 * x - s) * t), mass

    return Pair(atoms)


def discrete_gaussian_pair(sigma: Number, sensitivity: int = 1) -> Pair:
    r"""Discrete Gaussian noise, mass proportional to exp(-x^2/(2 sigma^2)).

    Without sampling (Canonne, Kamath, Steinke 2020), with :math:`\theta(c) = \sum_x
    e^{-(x-c)^2/(2 \sigma^2)}` over the whole numbers, summed directly and by Poisson's formula,

    .. math:: \frac{\alpha s^2}{2 \sigma^2}
              + \frac{\log(\theta(\alpha s)/\theta(0))}{\alpha - 1}

    The second part is 0 where alpha s is whole and for the Kullback-Leibler divergence, otherwise
    negative.

    >>> round(float(rdp(discrete_gaussian_pair(0.5), 1.5)), 12)
    2.942460965106
    """
    noise, s = positive("sigma", sigma), whole("sensitivity", sensitivity, 1)
    if isinstance(noise, float):
        return EQUAL
    variance = noise * noise

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        spread = 2 * real(variance)
        normal = mp.fsum(mp.exp(-(mp.mpf(x) ** 2) / spread) for x in _lattice(noise, s, 0, work))
        for x in _lattice(noise, s, float(beta), work):
            mass = mp.exp(-(mp.mpf(x) ** 2) / spread) / normal
            yield s * (2 * x - s) / spread, mass

    def closed(a: Fraction, work: int, variant: int) -> Any:
        shift = a * s - (a * s).__floor__()
        if shift == 0 or a == 1:
            return real(a * s * s / (2 * variance))
        theta = _theta if noise < (Fraction(1, 100) if variant else 100) else _theta_of_poisson
        ratio = theta(variance, shift, work) / theta(variance, Fraction(0), work)
        return real(a * s * s / (2 * variance)) + mp.log(ratio) / real(a - 1)

    return Pair(atoms, closed=closed)


def _lattice(sigma: Fraction, s: int, beta: float, work: int) -> Iterator[int]:
    """Yield the points whose terms e^{-x^2/(2 sigma^2)} e^{beta L} may matter.

    The logarithm of a term has the slope (beta p s - x)/sigma^2 with 0 < p < 1, so its peaks lie
    between 0 and beta s, and outside it falls at least as fast as a Gaussian.
    """
    reach = float(sigma) * (math.sqrt(2 * work * math.log(10)) + 10) + 2
    low, high = min(0.0, beta * s) - reach, max(0.0, beta * s) + reach
    if high - low > MOST:
        raise ArithmeticError("too many terms of a direct sum")
    return iter(range(math.floor(low), math.ceil(high) + 1))


def _theta(variance: Fraction, shift: Fraction, work: int) -> Any:
    """Sum of exp(-(x - shift)^2/(2 variance)), from the outside in."""
    reach = int(mp.sqrt(2 * work * mp.log(10) * real(variance) + 1)) + 2
    return mp.fsum(
        mp.exp(-((real(x - shift)) ** 2) / (2 * real(variance))) for x in range(-reach, reach + 1)
    )


def _theta_of_poisson(variance: Fraction, shift: Fraction, work: int) -> Any:
    """Sum over the frequencies, up to the common factor sigma sqrt(2 pi)."""
    rate = 2 * mp.pi**2 * real(variance)
    reach = int(mp.sqrt((work * mp.log(10) + 1 / (2 * real(variance)) + 5) / rate)) + 2
    turn = 2 * mp.pi * real(shift)
    return 1 + 2 * mp.fsum(mp.exp(-rate * k * k) * mp.cos(turn * k) for k in range(1, reach + 1))


def skellam_pair(variance: Number, sensitivity: int = 1) -> Pair:
    r"""Skellam noise on an integer moved by ``sensitivity``: masses :math:`e^{-v} I_{|x|}(v)`.

    >>> round(float(rdp(skellam_pair(10), 2, 20)), 9)
    0.099654438
    """
    v, s = positive("variance", variance), whole("sensitivity", sensitivity, 1)
    require("variance", not isinstance(v, float), "finite", variance)

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        known: dict[int, Any] = {}

        def mass(x: int) -> Any:
            if abs(x) not in known:
                known[abs(x)] = mp.besseli(abs(x), real(v)) * mp.exp(-real(v))
            return known[abs(x)]

        for step in (1, -1):
            x, largest = s if step == 1 else s - 1, mp.zero
            while True:
                loss = mp.log(mass(x - s) / mass(x))
                yield loss, mass(x)
                term = mass(x) * mp.exp(real(beta) * loss)
                largest = max(largest, term)
                if abs(x) > 2 * s and term < largest * mp.mpf(10) ** (-2 * work):
                    break
                x += step

    return Pair(atoms)


def staircase_pair(epsilon: Number, gamma: Number) -> Pair:
    """Staircase noise on a query moved by 1; the losses are +-epsilon and 0.

    >>> round(float(rdp(staircase_pair(1, 0.5), 2)), 9)
    0.735325664
    """
    e, g = exact("epsilon", epsilon), within("gamma", gamma, UNIT)
    require("epsilon", 0 < e < math.inf, "> 0 and finite", epsilon)

    def atoms(beta: Fraction, work: int) -> Iterator[tuple[Any, Any]]:
        b = mp.exp(-real(e))
        first = (1 - b) / (2 * (real(g) + b * (1 - real(g))))
        half = Fraction(1, 2)
        inside = first * (real(min(g, half)) + b * real(max(half - g, Fraction(0))))
        larger = 2 * inside / (1 - b)  # the total variation is the mass of [-1/2, 1/2]
        yield real(e), larger * b
        yield -real(e), larger
        yield mp.zero, 1 - larger * (1 + b)

    return Pair(atoms)


def rdp_zcdp(rho: Number, alpha: Number, xi: Number = 0, digits: int = 50) -> Any:
    """Return xi + rho alpha, the definition of (xi, rho)-zCDP (Bun, Steinke 2016).

    >>> rdp_zcdp(0.5, 3)
    mpf('1.5')
    """
    check_digits(digits)
    slope, offset = within("rho", rho, NOT_NEGATIVE), within("xi", xi, NOT_NEGATIVE)
    a = within("alpha", alpha, ORDER)
    with mp.workdps(digits + 5):
        return real(offset + slope * a)


def rdp_gumbel(shift: Number, alpha: Number, digits: int = 50) -> Any:
    r"""Gumbel noise of scale 1 on a query that moves by ``shift``; infinite for large orders.

    exp(-x) turns it into exponential distributions of rates in the ratio :math:`r = e^s` or its
    inverse (Gil, Alajaji, Linder 2013), with the divergence

    .. math:: \log r - \frac{\log(\alpha - (\alpha-1)/r)}{\alpha - 1}

    r = e^{-s} gives the larger one: finite only for alpha < 1/(1 - e^{-s}). At alpha = 1 it is
    e^s - 1 - s.

    >>> round(float(rdp_gumbel(0.5, 2)), 12), float(rdp_gumbel(0.5, 3))
    (0.546175270078, inf)
    """
    check_digits(digits)
    s, a = exact("shift", shift), within("alpha", alpha, ORDER)
    require("shift", s >= 0, ">= 0", shift)
    if isinstance(s, float) or s == 0:
        return mp.inf if s else mp.zero
    with mp.workdps(60 + digits):
        if real(a) - real(a - 1) * mp.exp(real(s)) <= 0:
            return mp.inf

    def compute(work: int, variant: int) -> Any:
        excess = mp.expm1(real(s)) if variant else mp.exp(real(s)) - 1
        if a == 1:
            return excess - real(s)
        left = mp.log1p(-real(a - 1) * excess) if variant else mp.log(1 - real(a - 1) * excess)
        return -real(s) - left / real(a - 1)

    return agreed(compute, digits)


def rdp_bounded_range(
    epsilon: Number, alpha: Number, q: Number = 1, direction: Direction = "remove", digits: int = 50
) -> Any:
    r"""Return the largest divergence of losses in an interval of length epsilon.

    This bounds the exponential mechanism. The extreme pairs have two losses, t and t - epsilon, 0
    <= t <= epsilon (Dong, Durfee, Rogers 2020); the largest divergence is found by a search on a
    grid and then between its neighbours. Without sampling, with :math:`E = e^{-\epsilon}` and
    :math:`u = e^t` the moment of such a pair is :math:`u^{\alpha-1} (1 - E^\alpha - u (E -
    E^\alpha)) / (1 - E)`, largest at :math:`u = (\alpha-1)(1 - E^\alpha)/(\alpha (E - E^\alpha))`,
    which gives

    .. math:: \log u + \frac{1}{\alpha-1} \log\frac{1 - E^\alpha}{\alpha (1 - E)}

    At alpha = 1 it is epsilon/(e^epsilon - 1) - 1 - log(epsilon/(e^epsilon - 1)).

    >>> round(float(rdp_bounded_range(1, 2)), 12), round(float(rdp_bounded_range(1, 1)), 12)
    (0.240229013917, 0.123301561482)
    """
    check_digits(digits)
    require("direction", direction in ("remove", "add"), "'remove' or 'add'", direction)
    e, a, rate = exact("epsilon", epsilon), within("alpha", alpha, ORDER), within("q", q, UNIT)
    require("epsilon", e >= 0, ">= 0", epsilon)
    if e == 0 or rate == 0:
        return mp.zero
    if isinstance(e, float):
        require("q", rate == 1, "0 or 1 where losses are infinite", q)
        return mp.inf

    def compute(work: int, variant: int) -> Any:
        if rate == 1:
            return _whole_range(e, a, variant)
        return worst_of_range(e, a, rate, direction, work, variant)

    return agreed(compute, digits)


def _whole_range(e: Fraction, a: Fraction, variant: int) -> Any:
    if a == 1:
        half = real(e) / 2
        x = (
            real(e) * mp.exp(-half) / (2 * mp.sinh(half))
            if variant
            else real(e) / mp.expm1(real(e))
        )
        return x - 1 - mp.log(x)
    if variant:
        x, y, z = (mp.log(2 * mp.sinh(real(c * e) / 2)) for c in (a, a - 1, Fraction(1)))
        u = mp.log1p(-1 / real(a)) + real(e) / 2 + x - y
        return u + (x - z - mp.log(real(a))) / real(a - 1) - real(e) / 2
    low, power = mp.exp(-real(e)), mp.exp(real(-a * e))
    u = real(a - 1) * (1 - power) / (real(a) * (low - power))
    return mp.log(u) + mp.log((1 - power) / (real(a) * (1 - low))) / real(a - 1)


def worst_of_range(
    e: Fraction, a: Fraction, q: Fraction, direction: Direction, work: int, variant: int
) -> Any:
    """Return the largest divergence over t, which is found to half the digits."""

    def value(t: Any) -> Any:
        # losses t and t - epsilon with the masses under Q that make both laws probabilities
        high = mp.expm1(real(e) - t) / mp.expm1(real(e))
        low = mp.expm1(t) * mp.exp(real(e) - t) / mp.expm1(real(e))
        pair = Pair(lambda beta, depth: ((t, high), (t - real(e), low)))
        return _divergence(pair, q, a, direction, work, variant)

    cells = 40 + 7 * variant
    grid = [real(e) * i / cells for i in range(cells + 1)]
    best = max(range(1, cells), key=lambda i: value(grid[i]))
    return value(lowest(lambda t: -value(t), grid[best - 1], grid[best + 1], work // 2 + 2))
