"""Relative errors of the closed forms against 80 digits, over random parameters and orders."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from renyi.theory.divergences import (
    BetaDistribution,
    ChiDistribution,
    ExponentialDistribution,
    GammaDistribution,
    GaussianDistribution,
    GumbelDistribution,
    InverseGaussianDistribution,
    LaplaceDistribution,
    LogisticDistribution,
    ParetoDistribution,
    WeibullDistribution,
    renyi_divergence,
)

POINTS = 80


def of_gamma(a, kp, tp, kq, tq):
    k, t = a * kp + (1 - a) * kq, a * tq + (1 - a) * tp
    if k <= 0 or t <= 0:
        return mp.inf
    first = mp.loggamma(kq) - mp.loggamma(kp) + kq * mp.log(tq) - kp * mp.log(tp)
    rest = mp.loggamma(k) - mp.loggamma(kp) - kp * mp.log(tp) + k * mp.log(tp * tq / t)
    return first + rest / (a - 1)


def of_rates(a, p, q):
    rate = a * p + (1 - a) * q
    return mp.log(p / q) + mp.log(p / rate) / (a - 1) if rate > 0 else mp.inf


def of_gaussian(a, mp_, sp, mq, sq):
    v = a * sq**2 + (1 - a) * sp**2
    if v <= 0:
        return mp.inf
    return mp.log(sq / sp) + mp.log(sq**2 / v) / (2 * (a - 1)) + a * (mp_ - mq) ** 2 / (2 * v)


def of_laplace(a, mp_, bp, mq, bq):
    d, up, down = abs(mp_ - mq), a / bp, (a - 1) / bq
    if up <= down:
        return mp.inf
    both = 2 * (up * mp.exp(down * d) + down * mp.exp(-up * d)) / (up**2 - down**2)
    return mp.log((2 * bp) ** -a * (2 * bq) ** (a - 1) * both) / (a - 1)


def of_logistic(a, p, b, q, _):
    t = abs(p - q) / b
    return mp.log(mp.sinh((a - mp.mpf(1) / 2) * t) / ((2 * a - 1) * mp.sinh(t / 2))) / (a - 1)


def log_beta(x, y):
    return mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y)


def of_beta(a, xp, yp, xq, yq):
    x, y = a * xp + (1 - a) * xq, a * yp + (1 - a) * yq
    if x <= 0 or y <= 0:
        return mp.inf
    at_p = log_beta(xp, yp)
    return log_beta(xq, yq) - at_p + (log_beta(x, y) - at_p) / (a - 1)


def of_inverse_gaussian(a, mp_, lp, mq, lq):
    rate, c = a * lp + (1 - a) * lq, a * lp / mp_**2 + (1 - a) * lq / mq**2
    if rate <= 0 or c < 0:
        return mp.inf
    h = a * lp / mp_ + (1 - a) * lq / mq - mp.sqrt(rate * c)
    return (a / 2 * mp.log(lp) + (1 - a) / 2 * mp.log(lq) - mp.log(rate) / 2 + h) / (a - 1)


def of_pareto(a, mp_, cp, mq, cq):
    if mp_ < mq:
        return mp.inf if a > 1 else of_rates(a, cp, cq) + a / (1 - a) * cp * mp.log(mq / mp_)
    found = of_rates(a, cp, cq)
    return found if mp.isinf(found) else found + cq * mp.log(mp_ / mq)


# Family, closed form of (alpha, p's two parameters, q's two); which of the two are of any sign.
FAMILIES = {
    "gamma": (GammaDistribution, of_gamma, False, False),
    "chi": (
        ChiDistribution,
        lambda a, *x: of_gamma(a, *(f(y) for f, y in zip(HALVES, x, strict=True))),
        False,
        False,
    ),
    "exponential": (
        lambda x, _: ExponentialDistribution(x),
        lambda a, p, _, q, __: of_rates(a, p, q),
        0,
        0,
    ),
    "weibull": (
        lambda x, s: WeibullDistribution(s, x),
        lambda a, p, s, q, _: of_rates(a, p**-s, q**-s),
        False,
        True,
    ),
    "gumbel": (
        GumbelDistribution,
        lambda a, p, b, q, _: of_rates(a, mp.exp(p / b), mp.exp(q / b)),
        True,
        True,
    ),
    "gaussian": (GaussianDistribution, of_gaussian, True, False),
    "laplace": (LaplaceDistribution, of_laplace, True, False),
    "laplace of one scale": (LaplaceDistribution, of_laplace, True, True),
    "logistic": (LogisticDistribution, of_logistic, True, True),
    "beta": (BetaDistribution, of_beta, False, False),
    "inverse gaussian": (InverseGaussianDistribution, of_inverse_gaussian, False, False),
    "pareto": (ParetoDistribution, of_pareto, False, False),
}
HALVES = [lambda k: k / 2, lambda s: 2 * s**2] * 2


def drawn(rng, signed):
    """Two values: equal, nearly equal, or not."""
    one, two = (
        float(rng.normal() * 10 ** rng.uniform(-2, 1) if signed else 10 ** rng.uniform(-2, 2))
        for _ in range(2)
    )
    kind = rng.uniform()
    if kind < 0.4:
        two = one * (1.0 + 10.0 ** rng.uniform(-12.0, -1.0))
    return one, one if kind > 0.9 else two


def order(rng):
    kind = rng.uniform()
    if kind < 0.2:
        return float(1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-15.0, -1.0))
    if kind < 0.5:
        return float(rng.uniform())
    return (
        float(10.0 ** rng.uniform(-8.0, 0.0)) if kind < 0.6 else float(1.0 + rng.exponential(9.0))
    )


def condition(exact, form, alpha, values):
    """The relative change of the divergence for that of a parameter."""
    largest, step = mp.mpf(0), mp.mpf(2) ** -90
    for i in range(len(values)):
        for sign in (-1, 1):
            moved = list(values)
            moved[i] *= 1 + sign * step
            value = form(alpha, *moved)
            largest = max(largest, abs(value - exact) / exact / step)
    return largest


@pytest.mark.parametrize("name", FAMILIES)
def test_relative_error(name):
    make, form, signed, shared = FAMILIES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    limit = 1e-10 if name == "beta" else 5e-12
    finite = 0
    with mp.workdps(80):
        for _ in range(POINTS):
            (xp, xq), (yp, yq) = drawn(rng, signed), drawn(rng, False)
            if shared:
                yp = yq = max(yp, 0.2)
            p, q, alpha = make(xp, yp), make(xq, yq), order(rng)
            if p == q:
                continue
            found, values = renyi_divergence(p, q, alpha), [mp.mpf(v) for v in (xp, yp, xq, yq)]
            exact = form(mp.mpf(alpha), *values)
            assert mp.isinf(exact) == math.isinf(found)
            if mp.isinf(exact):
                continue
            finite += 1
            error = abs(found - exact) / exact
            if error > limit:  # next to the order where the divergence becomes infinite
                assert error <= limit * (1 + condition(exact, form, mp.mpf(alpha), values))
    assert finite > POINTS // 4


@pytest.mark.parametrize("log_ratio", [-2000.0, -701.0, 701.0, 2000.0])
def test_locations_far_apart(log_ratio):
    p, q = GumbelDistribution(0.0), GumbelDistribution(-log_ratio)
    for alpha in (0.5, 1.0, 2.0):
        with mp.workdps(1000):
            a = mp.mpf(alpha) + (mp.mpf(10) ** -900 if alpha == 1.0 else 0)
            exact = of_rates(a, mp.mpf(1), mp.exp(-mp.mpf(log_ratio)))
        found = renyi_divergence(p, q, alpha)
        if exact > 1e308:
            assert found == math.inf
        else:
            assert found == pytest.approx(float(exact), rel=1e-12)
