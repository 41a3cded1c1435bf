r"""Rényi divergences of noise on the whole numbers, without sampling.

Discrete Laplace noise has mass proportional to exp(-|x|/scale), the discrete Gaussian to
exp(-x^2/(2 sigma^2)); the query has whole values, and a record moves it by ``sensitivity``.
Conventions as in ``_mechanisms``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from renyi.reference._mechanisms import settled
from renyi.reference._numbers import (
    Number,
    check_digits,
    mp,
    order_of,
    positive,
    real,
    settle,
    whole,
)

MOST = 100_000  # terms of a sum


def rdp_discrete_laplace(
    scale: Number, alpha: Number, sensitivity: int = 1, digits: int = 50
) -> Any:
    r"""Discrete Laplace (geometric) noise.

    With :math:`t = 1/\text{scale}`, :math:`E = e^{-t}`, s the sensitivity, and
    :math:`g = e^{(2 \alpha - 1) t}`

    .. math:: E_Q\left[(P/Q)^\alpha\right] = \frac{e^{-\alpha s t} + e^{(\alpha-1) s t}}{1 + E}
              + \frac{1 - E}{1 + E} e^{-\alpha s t} \sum_{x=1}^{s-1} g^x

    At alpha = 1 it is the sum of the losses (2x - s) t with the masses of P.

    >>> round(float(rdp_discrete_laplace(1, 2)), 12)
    0.735325664056
    >>> round(float(rdp_discrete_laplace(1, 2, sensitivity=3)), 12)
    2.719362033925
    """
    check_digits(digits)
    b, a, s = positive("scale", scale), order_of(alpha), whole("sensitivity", sensitivity, 1)
    if isinstance(b, float):
        return mp.zero
    t = 1 / b
    if a == 1:
        return settled(digits, lambda: _kullback(t, s), lambda: _kullback_by_sum(t, s))

    def closed() -> Any:
        rate = real((2 * a - 1) * t)
        return _laplace(t, s, a, mp.exp(rate) * mp.expm1(rate * (s - 1)) / mp.expm1(rate))

    def by_sum() -> Any:
        if s > MOST:
            rate = real((2 * a - 1) * t)
            power = mp.exp(rate)
            return _laplace(t, s, a, (mp.exp(rate * s) - power) / (power - 1))
        power = mp.exp(real((2 * a - 1) * t))
        total = mp.zero
        for _ in range(s - 1):
            total = total * power + power
        return _laplace(t, s, a, total)

    return settled(digits, closed, by_sum)


def _laplace(t: Fraction, s: int, a: Fraction, inner: Any) -> Any:
    rest = mp.exp(-real(t))
    low, high = mp.exp(real(-a * s * t)), mp.exp(real((a - 1) * s * t))
    return mp.log((low + high + (1 - rest) * low * inner) / (1 + rest)) / real(a - 1)


def _kullback(t: Fraction, s: int) -> Any:
    """Return E_P[(|x| - |x - s|) t] in closed form: t (s - 2 E (1 - E^s)/(1 - E^2))."""
    rest = mp.exp(-real(t))
    return real(t) * (s - 2 * rest * (1 - mp.exp(real(-s * t))) / (1 - rest**2))


def _kullback_by_sum(t: Fraction, s: int) -> Any:
    rest = mp.exp(-real(t))
    if s > MOST:
        return real(t) * (s + mp.expm1(real(-s * t)) / mp.sinh(real(t)))
    total = s * (1 - rest**s) / (1 + rest)  # x >= s, and x <= 0
    mass = (1 - rest) / (1 + rest)
    for x in range(s - 1, 0, -1):
        mass *= rest
        total += (2 * x - s) * mass
    return real(t) * total


def rdp_discrete_gaussian(
    sigma: Number, alpha: Number, sensitivity: int = 1, digits: int = 50
) -> Any:
    r"""Discrete Gaussian noise (Canonne, Kamath, Steinke 2020).

    With :math:`\theta(c) = \sum_x e^{-(x-c)^2/(2 \sigma^2)}` over the whole numbers,

    .. math:: \frac{\alpha s^2}{2 \sigma^2}
              + \frac{\log(\theta(\alpha s)/\theta(0))}{\alpha - 1}

    The second part is 0 where alpha s is whole and for the Kullback-Leibler divergence, otherwise
    negative. theta is summed directly and by Poisson's formula.

    >>> rdp_discrete_gaussian(1, 2)
    mpf('1.0')
    >>> round(float(rdp_discrete_gaussian(0.5, 1.5)), 12)
    2.942460965106
    """
    check_digits(digits)
    noise, a = positive("sigma", sigma), order_of(alpha)
    s = whole("sensitivity", sensitivity, 1)
    if isinstance(noise, float):
        return mp.zero
    whole_part = a * s * s / (2 * noise * noise)
    shift = a * s - (a * s).__floor__()
    if shift == 0 or a == 1:
        with mp.workdps(digits + 5):
            return real(whole_part)

    def compute(work: int, variant: int) -> Any:
        direct = noise < 100 if variant == 0 else noise < Fraction(1, 100)
        theta = _theta if direct else _theta_of_poisson
        ratio = theta(noise, shift, work) / theta(noise, Fraction(0), work)
        return real(whole_part) + mp.log(ratio) / real(a - 1)

    return settle(compute, digits)


def _theta(sigma: Fraction, shift: Fraction, work: int) -> Any:
    """Sum of exp(-(x - shift)^2/(2 sigma^2)), from the outside in."""
    reach = int(real(sigma) * mp.sqrt(2 * work * mp.log(10) + 1 / real(sigma) ** 2)) + 2
    scale = 2 * real(sigma) ** 2
    return mp.fsum(mp.exp(-((real(x - shift)) ** 2) / scale) for x in range(-reach, reach + 1))


def _theta_of_poisson(sigma: Fraction, shift: Fraction, work: int) -> Any:
    """Sum over the frequencies, up to the common factor sigma sqrt(2 pi)."""
    rate = 2 * (mp.pi * real(sigma)) ** 2
    reach = int(mp.sqrt((work * mp.log(10) + 1 / (2 * real(sigma) ** 2) + 5) / rate)) + 2
    turn = 2 * mp.pi * real(shift)
    return 1 + 2 * mp.fsum(mp.exp(-rate * k * k) * mp.cos(turn * k) for k in range(1, reach + 1))
