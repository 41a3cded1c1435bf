r"""log A, its derivatives and the Rényi divergence of the sampled Gaussian mechanism.

.. math:: A(\alpha) = \int \frac{e^{-u^2/2}}{\sqrt{2\pi}} \, e^{\alpha L(u)} \, du, \qquad
          L(u) = \log\bigl(1 - q + q \, e^{(2 u \sigma - 1) / (2 \sigma^2)}\bigr)

u is the noise in units of sigma and L the privacy loss. With t = (u - u0)/sigma the odds of the
sampled component are exp(t), L = log(1-q) + log(1 + e^t), and the exponent G = alpha L - u^2/2 has

    G'(u) = (alpha/sigma) p - u,    G''(u) = (alpha/sigma^2) p (1 - p) - 1,    p = 1/(1 + e^-t).

So G has one peak, or two (one near 0, one near alpha/sigma) with a valley between them. The rule is
composite Gauss-Legendre.

Beside the normal law there is the one of density e^{-u/2} on [-top, top], u the loss of the pair:
that of Laplace noise between its two locations and of the exponential mechanism. There
G = alpha L - u/2 is convex for alpha >= 0 and falls for alpha <= 0: the peaks are the ends.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from renyi.reference._numbers import (
    ORDER,
    UNIT,
    Number,
    agreed,
    check_digits,
    exact,
    mp,
    real,
    require,
    within,
)

MOST = 1_000_000  # the most evaluations of an integrand, about half a minute
Order = tuple[Fraction, ...]  # (alpha,), or (real part, imaginary part)


def _arguments(q: Number, sigma: Number, digits: int) -> tuple[Fraction, Fraction]:
    """Exact (q, sigma); infinite noise is the same as no sampling, q = 0."""
    check_digits(digits)
    rate, noise = within("q", q, UNIT), exact("sigma", sigma)
    require("sigma", noise > 0, "positive", sigma)
    if isinstance(noise, float):
        return Fraction(0), Fraction(1)
    return rate, noise


def _order(alpha: Number) -> Order:
    """Real alpha as one fraction, complex alpha as two."""
    parts = [exact("alpha", getattr(alpha, "real", alpha))]
    if imaginary := getattr(alpha, "imag", 0):
        parts.append(exact("alpha", imaginary))
    else:
        require("alpha", not 0 < parts[0] < 1, "<= 0, >= 1 or complex", alpha)
    require("alpha", all(isinstance(part, Fraction) for part in parts), "finite", alpha)
    return tuple(Fraction(part) for part in parts)


def _number(order: Order) -> Any:
    """Round the order, real or complex, to the working precision."""
    return mp.mpc(real(order[0]), real(order[1])) if len(order) == 2 else real(order[0])


def log_a(q: Number, sigma: Number, alpha: Number, digits: int = 50, derivative: int = 0) -> Any:
    r"""Return the logarithm of the alpha-th moment of the density ratio.

    .. math:: \log A(\alpha) = \log \int \mu_0(z)
              \left(\frac{\mu(z)}{\mu_0(z)}\right)^{\alpha} dz, \quad
              \mu_0 = N(0, \sigma^2), \quad \mu = (1-q) \mu_0 + q N(1, \sigma^2)

    Args:
        q, sigma: Sampling rate in [0, 1] and noise multiplier > 0. Floats are exact binary numbers;
            strings and fractions are taken as written, so ``"0.1"`` is one tenth.
        alpha: Order: real, <= 0 or >= 1, or complex. The logarithm of a complex moment is the
            principal one.
        digits: Relative accuracy of the result, in decimal digits.
        derivative: With 1 the result is the first derivative in alpha, the tilted mean E[L e^{alpha
            L}]/E[e^{alpha L}], at alpha = 1 the Kullback-Leibler divergence; with 2 it is the
            second one, the variance of L under the tilted density.

    Returns:
        mpmath.mpf or mpmath.mpc.

    Raises:
        ArithmeticError: Two evaluations did not agree to the requested digits, or a complex order
            makes the integrand turn so often that the moment is far too small beside A(Re alpha).

    >>> import mpmath
    >>> mpmath.nstr(log_a(0.01, 1.0, 2), 16)
    '0.0001718134220745479'
    >>> [mpmath.nstr(log_a(0.01, 1.0, 2, derivative=n), 12) for n in (1, 2)]
    ['0.000262104883578', '0.000185387235668']
    """
    rate, noise = _arguments(q, sigma, digits)
    order = _order(alpha)
    require("derivative", derivative in (0, 1, 2), "0, 1 or 2", derivative)
    if rate == 0 or (not derivative and len(order) == 1 and order[0] in (0, 1)):
        return mp.zero
    if rate == 1:
        with mp.workdps(digits + 5):
            a = _number(order)
            return (a * (a - 1), 2 * a - 1, 2 * mp.one)[derivative] / (2 * real(noise) ** 2)

    def compute(work: int, variant: int) -> Any:
        def weights(loss: Any) -> Sequence[Any]:
            return [loss**n for n in range(derivative + 1)]

        peak, found = integrals(rate, noise, order, weights, work, variant)
        if derivative == 0:
            return mp.log(found[0] / mp.sqrt(2 * mp.pi)) + peak
        mean = found[1] / found[0]
        return mean if derivative == 1 else found[2] / found[0] - mean**2

    return agreed(compute, digits)


def rdp_sampled_gaussian(q: Number, sigma: Number, alpha: Number, digits: int = 50) -> Any:
    """Rényi divergence log A(alpha)/(alpha - 1) of order alpha >= 1.

    It is the Rényi-DP of the Poisson-sampled Gaussian mechanism (Mironov, Talwar, Zhang 2019,
    Theorems 4 and 5), at q = 1 alpha/(2 sigma^2) of the Gaussian one; alpha = 1 is the
    Kullback-Leibler divergence. Errors as for ``log_a``.

    >>> import mpmath
    >>> mpmath.nstr(rdp_sampled_gaussian("0.2", 4, 4), 16)
    '0.005262844037639986'
    """
    order = within("alpha", alpha, ORDER)
    if order == 1:
        return log_a(q, sigma, 1, digits, 1)
    value = log_a(q, sigma, alpha, digits + 2)
    with mp.workdps(digits + 5):
        return value / real(order - 1)


class Loss:
    """L, G and the peaks of Re G at the working precision; sigma is 1 where ``top`` is finite."""

    def __init__(self, q: Fraction, sigma: Fraction, alpha: Sequence[Fraction], top: Any) -> None:
        self.sigma, self.top = real(sigma), top
        self.order = real(alpha[0])
        self.alpha = mp.mpc(self.order, real(alpha[1])) if len(alpha) == 2 else self.order
        self.q, self.rest = real(q), real(1 - q)
        self.middle = 1 / (2 * self.sigma) if top == mp.inf else mp.zero  # where P = Q
        self.u0 = self.middle + self.sigma * mp.log(self.rest / self.q)

    def loss(self, u: Any) -> Any:
        """L(u)."""
        plain = (u - self.middle) / self.sigma
        if not self.rest:
            return plain
        if plain > 0:
            return plain + mp.log(self.q + self.rest * mp.exp(-plain))
        return mp.log(self.rest + self.q * mp.exp(plain))

    def base(self, u: Any) -> Any:
        """Logarithm of the density under Q, up to a constant."""
        return -u * u / 2 if self.top == mp.inf else -u / 2

    def share(self, u: Any) -> Any:
        """p(u), the posterior probability of the sampled component."""
        return 1 / (1 + mp.exp((self.u0 - u) / self.sigma))

    def exponent(self, u: Any) -> Any:
        """Re G(u)."""
        return self.order * self.loss(u) + self.base(u)

    def slope(self, u: Any) -> Any:
        """Re G'(u)."""
        return self.order / self.sigma * self.share(u) - (u if self.top == mp.inf else mp.mpf(0.5))

    def peaks(self) -> list[Any]:
        """All local maxima of Re G, with the valley between them if there are two."""
        if self.top < mp.inf:
            return [-self.top, self._falls(self.top, -self.top), self.top]
        rate = self.order / self.sigma
        low, high = min(rate, mp.zero), max(rate, mp.zero)
        quarter = 4 * self.sigma**2 / self.order if self.order else mp.inf
        if not 0 < quarter < 1:  # G is concave
            return [self._falls(low, high)]
        # G'' = 0 where p(1-p) = sigma^2/alpha, u = u0 -+ bend: G' falls, rises between, falls again
        small = quarter / (2 * (1 + mp.sqrt(1 - quarter)))
        bend = self.sigma * (mp.log1p(-small) - mp.log(small))
        first, second = self.u0 - bend, self.u0 + bend
        found = []
        if first > 0 and self.slope(first) < 0:
            found.append(self._falls(mp.zero, first))
        if second < rate and self.slope(second) > 0:
            found.append(self._falls(max(second, mp.zero), rate))
        if len(found) == 2:
            found.insert(1, self._falls(second, first))
        return found or [self._falls(low, high)]

    def _falls(self, left: Any, right: Any) -> Any:
        """Return where G' changes from positive (towards ``left``) to negative, to 1e-3."""
        while abs(right - left) > 1e-3:
            middle = (left + right) / 2
            if self.slope(middle) > 0:
                left = middle
            else:
                right = middle
        return (left + right) / 2

    def stretches(self, depth: Any) -> list[tuple[Any, Any]]:
        """Intervals outside which G lies more than ``depth`` below its largest value.

        The rest lies on monotone runs of G, below peak - depth, no longer than alpha/sigma in all,
        and on Gaussian tails: its integral is below exp(peak - depth) (alpha/sigma + 2).
        """
        points = self.peaks()
        floor = max(map(self.exponent, points)) - depth
        ends = []
        for c in points[::2]:
            if self.exponent(c) > floor:
                left = points[1] if len(points) == 3 and c is points[2] else -self.top
                right = points[1] if len(points) == 3 and c is points[0] else self.top
                ends.append((self._sinks(c, left, floor), self._sinks(c, right, floor)))
        return ends

    def _sinks(self, start: Any, limit: Any, floor: Any) -> Any:
        """First point (to 1 %) where G < floor on the way from start to limit, or the limit."""
        sign = 1 if limit > start else -1
        low, high = mp.zero, mp.one
        while self.exponent(start + sign * high) > floor and high < abs(limit - start):
            low, high = high, 2 * high
        high = min(high, abs(limit - start))
        while high - low > high / 100 and self.exponent(start + sign * high) < floor:
            middle = (low + high) / 2
            if self.exponent(start + sign * middle) < floor:
                high = middle
            else:
                low = middle
        return start + sign * high

    def pieces(self, start: Any, end: Any, width: float, most: int) -> list[tuple[Any, Any]]:
        """Return (middle, half length) of intervals on which the integrand is smooth enough.

        The branch points of L are u0 +- i pi sigma, u0 +- 3 i pi sigma ...: near u0 a piece is
        about sigma long, and longer with the distance; where G bends strongly it has the scale of
        the bend, and the phase of a complex order turns by at most about 6 radians over a piece. On
        [-top, top] G changes by at most 4 ``width`` over a piece.
        """
        turn = abs(mp.im(self.alpha)) / self.sigma
        bend = abs(self.alpha) / self.sigma**2
        found = []
        while start < end and self.top < mp.inf:
            step = min(max(mp.mpf(width), abs(start - self.u0) / 3), end - start)
            while step * (bend * self.share(start + step) + mp.mpf(0.5)) > 4 * width:
                step /= 2
            found.append((start + step / 2, step / 2))
            start += step
        while start < end:
            step = min(width, self.sigma * width + abs(start - self.u0) / 3)
            if start < self.u0 < start + step:
                step = max(self.u0 - start, width * self.sigma)
            p = self.share(start + step)
            step = min(step, width / mp.sqrt(1 + bend * p * (1 - p)))
            if turn:
                step = min(step, 6 / (turn * p))
            step = min(step, end - start)
            found.append((start + step / 2, step / 2))
            if len(found) > most:
                raise ArithmeticError(
                    "the integrand turns too often: |A(alpha)| is too far below A(Re alpha)"
                )
            start += step
        return found


def integrals(
    q: Fraction,
    sigma: Fraction,
    alpha: Sequence[Fraction],
    weights: Callable[[Any], Sequence[Any]],
    work: int,
    variant: int,
    top: Any = mp.inf,
) -> tuple[Any, list[Any]]:
    """Return (peak, [int weight_i(L(u)) exp(G(u) - peak) du]) with ``work`` digits.

    The variant changes every node, by other pieces and other cuts.
    """
    largest = _largest_exponent(q, sigma, alpha, top)
    guard = int(mp.log10(largest)) + 10
    bits = (
        -(-int((work + guard) * 3.33) // 64) * 64
    )  # multiples of 64: mpmath keeps the nodes of a precision
    with mp.workprec(bits):
        f = Loss(q, sigma, alpha, top)
        depth = work * mp.log(10) + mp.log(largest) + 20 + 8 * variant
        ends = f.stretches(depth)
        peak = max(map(f.exponent, f.peaks()))
        width = 3.0 if variant == 0 else 2.3
        nodes = gauss_legendre(int(0.6 * work) + 14, bits)
        pieces = [piece for a, b in ends for piece in f.pieces(a, b, width, MOST // len(nodes))]
        count = len(list(weights(mp.one)))

        sums = [mp.zero] * count
        for x, node_weight in nodes:
            for middle, half in pieces:
                u = middle + half * x
                loss = f.loss(u)
                height = node_weight * half * mp.exp(f.alpha * loss + f.base(u) - peak)
                for i, weight in enumerate(weights(loss)):
                    sums[i] += weight * height
        return peak, sums


@cache
def gauss_legendre(count: int, bits: int) -> list[tuple[Any, Any]]:
    """Nodes and weights on [-1, 1]: roots of the Legendre polynomial by Newton's method.

    >>> x, w = gauss_legendre(2, 64)[0]
    >>> round(float(3 * x * x), 12), float(w)
    (1.0, 1.0)
    """
    nodes = []
    with mp.workprec(bits + 20):
        tiny = mp.mpf(2) ** -(bits + 5)
        for i in range(1, count + 1):
            x = mp.cos(mp.pi * (i - mp.mpf(0.25)) / (count + mp.mpf(0.5)))
            while True:
                below, value = mp.one, x
                for k in range(2, count + 1):
                    below, value = value, ((2 * k - 1) * x * value - (k - 1) * below) / k
                derivative = count * (below - x * value) / (1 - x * x)
                x -= value / derivative
                if abs(value / derivative) < tiny:
                    break
            nodes.append((x, 2 / ((1 - x * x) * derivative**2)))
    return nodes


def _largest_exponent(q: Fraction, sigma: Fraction, alpha: Sequence[Fraction], top: Any) -> Any:
    """Return a bound of all exponents that occur, about alpha^2/sigma^2 or alpha top."""
    with mp.workprec(60):
        size = sum(abs(real(a)) for a in alpha) + 1
        if top < mp.inf:
            return size * (top + 1) + 50
        return (size / real(sigma) + 1 / real(sigma) + 50) ** 2 - size * mp.log(real(q * (1 - q)))
