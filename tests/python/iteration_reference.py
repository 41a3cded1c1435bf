"""Amplification by iteration in multi-precision arithmetic, straight from the formulas.

In mpmath; erfc and Lambert's W by Arb, which is a hundred times as fast.
"""

import flint
import mpmath as mp

DIGITS = 50


def by_arb(function, x):
    """A method of Arb's real numbers at an mpf, to the digits of mpmath."""
    sign, man, exponent, _ = mp.mpf(x)._mpf_
    with flint.ctx.workprec(mp.mp.prec + 30):
        ball = function(flint.arb((-man if sign else man, exponent)))
        assert ball.rel_accuracy_bits() > mp.mp.prec
        man, exponent = ball.mid().man_exp()
    return mp.mpf((int(man), int(exponent)))


def tail(x):
    return by_arb(flint.arb.erfc, x / mp.sqrt(2)) / 2


def theta(law, epsilon, shift, scale):
    """E_g of two laws of the noise, and 1 minus it, each without cancellation."""
    epsilon, r = mp.mpf(epsilon), mp.mpf(shift) / mp.mpf(scale)
    if law == "laplace":
        x = (epsilon - r) / 2
        return (-mp.expm1(x), mp.exp(x)) if x < 0 else (mp.mpf(0), mp.mpf(1))
    if r == 0:
        return mp.mpf(0), mp.mpf(1)
    a, b = epsilon / r - r / 2, epsilon / r + r / 2
    if abs(a) > 60:  # one of both is below e^-1800
        tiny = mp.mpf("1e-700")
        return (tiny, 1 - tiny) if a > 0 else (1 - tiny, tiny)
    extra = 30 + 2 * abs(int(mp.log10(b + 1))) + abs(int(mp.log10(r)))  # they may nearly agree
    with mp.workdps(mp.mp.dps + extra):
        value = tail(a) - mp.exp(epsilon) * tail(b)
        rest = tail(-a) + mp.exp(epsilon) * tail(b)
    return +value, +rest


def scale(law, state_shift, j, power, c1, c2, factor=1):
    """v_j or sigma_j."""
    half, c1, c2 = mp.mpf(state_shift) * factor / 2, mp.mpf(c1), mp.mpf(c2)
    if law == "laplace":
        return half / mp.log(mp.mpf(j) ** power / c1 + c2)
    y = mp.mpf(j) ** (2 * mp.mpf(power)) / (2 * mp.pi * c1**2) + c2
    return half / mp.sqrt(by_arb(flint.arb.lambertw, y))


def shuffled(law, epsilon, record_shift, state_shift, width, n):
    a, _ = theta(law, epsilon, record_shift, width)
    b, rest = theta(law, epsilon, state_shift, width)
    if rest == 0:
        return a
    if b == 0:
        return a / n
    return a * -mp.expm1(n * mp.log1p(-rest)) / (n * rest)


def online(law, epsilon, record_shift, state_shift, scales, every=1):
    """delta of the last record and of every so many before it."""
    deltas, product = [], mp.mpf(1)
    for k, width in enumerate(reversed(scales)):
        if k % every == 0:
            deltas.append(theta(law, epsilon, record_shift, width)[0] * product)
        product *= theta(law, epsilon, state_shift, width)[0]
    return deltas[::-1]
