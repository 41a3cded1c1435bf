"""The theorem of the moments accountant, with constants: what its "there are c1, c2" can be.

Abadi and others 2016, arXiv 1607.00133, Theorem 1: there are c1, c2 so that T steps on Poisson
samples of rate r are (epsilon, delta)-private for every epsilon < c1 r^2 T if the noise multiplier
is at least c2 r sqrt(T log(1/delta)) / epsilon. As it stands no c2 will do: for a delta near 1 it
asks for no noise. With log(1/delta) >= epsilon it has constants, and the smallest follow from the
limit r -> 0 at r^2 T fixed, where the loss of all steps is normal, mu^2 = r^2 T (e^(1/s^2) - 1).
With x = log(1/delta)/epsilon and epsilon = c r^2 T the conditions are those on s^2 = c2^2 x / c and
m = mu^2/epsilon, and large epsilon asks for (1/sqrt(m) - sqrt(m)/2)^2 >= 2 x: m at most
(sqrt(2x + 2) - sqrt(2x))^2. That is

    c2^2 >= c / (x log(1 + c m(x)))    for x >= 1, c <= c1.
"""

from __future__ import annotations

import math

from renyi.classic._minimum import smallest
from renyi.classic._rounding import above
from renyi.mechanisms._arguments import FINITE_POSITIVE, Range, number_in

__all__ = ["moments_theorem_constant", "moments_theorem_noise"]

_SHARE = Range(1e-6, 100.0, "[]")


def moments_theorem_constant(c1: float, *, depth: float = 1.0) -> float:
    """Return the smallest c2 of the theorem for c1, in its limit of small sampling rates.

    Parameters
    ----------
    c1 : float
        In [1e-6, 100].
    depth : float
        The theorem is for log(1/delta) >= depth * epsilon; in (0, inf).

    Returns
    -------
    float
        The supremum of c/(x log(1 + c m(x))) over c <= c1 and x >= depth, its root: no smaller c2
        holds for all epsilon, to 1e-9. For c1 -> 0 and depth -> inf it is sqrt(2).

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Notes
    -----
    Necessary as epsilon grows. That it is enough at rates that are not small, with r s <= 1/16 as
    in the theorem's proof, is what the tests find of the exact curve, which then has an epsilon
    below the one asked for; it is not proven.

    Examples
    --------
    >>> round(moments_theorem_constant(1.0), 4), round(moments_theorem_constant(1e-3, depth=100), 3)
    (1.8411, 1.418)
    """
    c = number_in(c1, "c1", _SHARE)
    least = number_in(depth, "depth", FINITE_POSITIVE)
    # c / log(1 + c m) rises with c. In x the supremum may be at the end or beyond.
    found = smallest(lambda x: -_square(c, x), least, 1e6 * max(least, 1.0))[1]
    return above(math.sqrt(max(-found, _square(c, least), 2.0)))


def moments_theorem_noise(
    sample_rate: float, steps: int, epsilon: float, delta: float, c2: float
) -> float:
    """Return c2 r sqrt(T log(1/delta)) / epsilon, the noise the theorem asks for.

    >>> round(moments_theorem_noise(0.01, 10_000, 1.0, 1e-5, 1.8411), 3)
    6.247
    """
    rate = number_in(sample_rate, "sample_rate", Range(0.0, 1.0, "(]"))
    target = number_in(epsilon, "epsilon", FINITE_POSITIVE)
    depth = -math.log(number_in(delta, "delta", Range(0.0, 1.0, "()")))
    return above(number_in(c2, "c2", FINITE_POSITIVE) * rate * math.sqrt(steps * depth) / target)


def _square(c: float, x: float) -> float:
    # sqrt(2x + 2) - sqrt(2x) without cancellation
    m = (2.0 / (math.sqrt(2.0 * x + 2.0) + math.sqrt(2.0 * x))) ** 2
    return c / (x * math.log1p(c * m))
