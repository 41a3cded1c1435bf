"""The bounds of renyi.reference for sampling, against the true pairs."""

from __future__ import annotations

import math
from functools import cache, partial

import pytest
from mpmath import mp

from renyi import reference
from renyi.reference import (
    laplace_pair,
    log_a,
    randomized_response_pair,
    rdp,
    rdp_fixed_size,
    rdp_gaussian,
    rdp_gumbel,
    rdp_mixture,
    rdp_poisson,
    rdp_sampled_gaussian,
)

DIGITS = 15
Q = ("1e-6", "0.01", "0.6")

# name: base divergence, largest loss, divergence of the sampled pair
PAIRS = {
    "gaussian, sigma 1": (
        partial(rdp_gaussian, 1),
        math.inf,
        lambda q, alpha, way: (
            rdp_sampled_gaussian(q, 1, alpha, DIGITS)
            if way == "remove"
            else add_gaussian(q, 1, alpha)
        ),
    ),
    "gaussian, sigma 5": (
        partial(rdp_gaussian, 5),
        math.inf,
        lambda q, alpha, way: (
            rdp_sampled_gaussian(q, 5, alpha, DIGITS)
            if way == "remove"
            else add_gaussian(q, 5, alpha)
        ),
    ),
    "laplace, scale 2": (
        partial(rdp, laplace_pair(2)),
        0.5,
        lambda q, alpha, way: rdp(laplace_pair(2), alpha, DIGITS, q=q, direction=way),
    ),
    "laplace, scale 0.5": (
        partial(rdp, laplace_pair(0.5)),
        2,
        lambda q, alpha, way: rdp(laplace_pair(0.5), alpha, DIGITS, q=q, direction=way),
    ),
    "randomized response, p 0.6": (
        lambda alpha, digits: rdp(randomized_response_pair("0.6", 2), alpha, digits),
        mp.log(mp.mpf(3) / 2),
        lambda q, alpha, way: rdp(
            randomized_response_pair("0.6", 2), alpha, DIGITS, q=q, direction=way
        ),
    ),
    "randomized response, p 0.9, 5 choices": (
        lambda alpha, digits: rdp(randomized_response_pair("0.9", 5), alpha, digits),
        mp.log(36),
        lambda q, alpha, way: rdp(
            randomized_response_pair("0.9", 5), alpha, DIGITS, q=q, direction=way
        ),
    ),
}


def add_gaussian(q, sigma, alpha):
    """D(Q||(1-q) Q + q P): the moment of order 1 - alpha, or its derivative at 0."""
    if alpha == 1:
        return -log_a(q, sigma, 0, DIGITS, 1)
    with mp.workdps(DIGITS + 10):
        return log_a(q, sigma, 1 - mp.mpf(alpha), DIGITS) / (mp.mpf(alpha) - 1)


def below(x, y):
    return x <= y * (1 + mp.mpf(10) ** (3 - DIGITS))


@pytest.mark.parametrize("alpha", [1, 1.5, 3, 4.75, 40])
@pytest.mark.parametrize("name", PAIRS)
def test_lower_exact_upper(name, alpha):
    """lower <= both orders of the true pair <= tight <= general; at whole orders lower = tight."""
    base, most, exact = PAIRS[name]
    base = cache(base)
    for q in Q:
        lower, tight, general = (
            rdp_poisson(base, q, alpha, kind, most, DIGITS)
            for kind in ("lower", "tight", "general")
        )
        remove, add = (exact(q, alpha, way) for way in ("remove", "add"))
        assert below(lower, remove)
        assert below(add, remove)
        assert below(remove, tight)
        assert below(tight, general)
        assert below(remove, rdp_mixture(base, q, alpha, DIGITS))
        if alpha >= 2 and alpha == int(alpha):
            uncut = rdp_poisson(base, q, alpha, "tight", digits=DIGITS)
            assert abs(uncut - remove) < mp.mpf("1e-12") * remove
            assert abs(lower - remove) < mp.mpf("1e-12") * remove


def replaced(mixture_of, q, alpha):
    """Divergence when a record is replaced by one that pulls the other way, on a grid of mpmath."""
    p, base, other, points = mixture_of
    a, share = mp.mpf(alpha), mp.mpf(q)

    def integrand(x):
        first = (1 - share) * base(x) + share * p(x)
        second = (1 - share) * base(x) + share * other(x)
        return first**a * second ** (1 - a)

    return mp.log(mp.quad(integrand, points)) / (a - 1)


@pytest.mark.parametrize("alpha", [2, 3, 3.5, 12])
def test_fixed_size_bounds_hold(alpha):
    """One of two records enters: with equal others, a mixture of N(0) and N(+-1/2)."""
    sigma = mp.mpf(2)

    def normal(centre):
        return lambda x: (
            mp.exp(-((x - centre) ** 2) / (2 * sigma**2)) / mp.sqrt(2 * mp.pi * sigma**2)
        )

    half = mp.mpf(1) / 2
    points = [-60, -20, -6, 0, 6, 20, 60]
    base = partial(rdp_gaussian, 2)
    for gamma in ("0.01", "0.3"):
        truth = replaced((normal(half), normal(0), normal(-half), points), gamma, alpha)
        tight = rdp_fixed_size(base, gamma, alpha, tight=True, digits=DIGITS)
        general = rdp_fixed_size(base, gamma, alpha, digits=DIGITS)
        assert below(truth, tight)
        assert below(tight, general)


# gamma, sigma, alpha, Theorem 9, Theorem 27
FIXED_SIZE = """
0.01  1 5  .0014664462907 .0014664462907
0.001 5 20 1.768351662e-6 1.636206700e-6
0.1   2 12 .1123795354    .0805458207
0.3   4 33 .386799343     .221224271
"""


@pytest.mark.parametrize("line", FIXED_SIZE.split("\n")[1:-1])
def test_known_fixed_size_bounds(line):
    gamma, sigma, alpha, general, tight = line.split()
    base = partial(rdp_gaussian, sigma)
    for kind, known in ((False, general), (True, tight)):
        value = rdp_fixed_size(base, gamma, int(alpha), math.inf, kind, DIGITS)
        assert float(value) == pytest.approx(float(known), rel=3e-9)


# base; tight and factor-3 epsilon after 32768 and 60000 steps at rate 1e-3, delta 1e-8
COMPOSITIONS = """
gaussian 5            .22339/.35823  .30234/.45500
gaussian 1            1.9349/2.0124  2.2673/2.3620
laplace 2             .52253/.59383  .70832/.78394
laplace 0.5           2.2746/2.3644  3.0974/3.1917
randomized_response 0.6 .45227/.53137  .61298/.69768
randomized_response 0.9 3.0895/3.2027  4.2208/4.3384
"""


@pytest.mark.parametrize("line", COMPOSITIONS.split("\n")[1:-1])
def test_known_compositions(line):
    """Mironov's conversion, the best whole order."""
    name, parameter, *known = line.split()
    if name == "gaussian":
        base = cache(lambda alpha, digits: rdp_gaussian(parameter, alpha, 30))
    else:
        law = getattr(reference, name + "_pair")(parameter)
        base = cache(lambda alpha, digits: rdp(law, alpha, 30))

    def epsilon(steps, kind, alpha):
        return steps * step(kind, alpha) + mp.log(1e8) / (alpha - 1)

    @cache
    def step(kind, alpha):
        return rdp_poisson(base, "0.001", alpha, kind, digits=8)

    for steps, pair in zip((32768, 60000), known, strict=True):
        for kind, value in zip(("tight", "general"), pair.split("/"), strict=True):
            low, high = 2, 400
            while high - low > 2:  # K is convex, so the sum has one valley
                middle = (low + high) // 2
                falls = epsilon(steps, kind, middle) > epsilon(steps, kind, middle + 1)
                low, high = (middle, high) if falls else (low, middle + 1)
            best = min(epsilon(steps, kind, alpha) for alpha in range(low, high + 1))
            assert float(best) == pytest.approx(float(value), rel=1.1e-4)


def test_first_and_last_rates():
    base = partial(rdp, laplace_pair(2))
    for kind in ("general", "tight", "lower"):
        assert rdp_poisson(base, 0, 7.5, kind) == 0
        assert rdp_poisson(base, 1, 7.5, kind) == base(7.5, 50)
    assert rdp_fixed_size(base, 0, 3) == 0
    assert rdp_fixed_size(base, 1, 3) == base(3, 50)
    assert rdp_mixture(base, 0, 3) == 0
    assert abs(rdp_mixture(base, 1, 3) - base(3, 50)) < 1e-40
    # beyond the orders at which the base is finite
    gumbel = partial(rdp_gumbel, 0.5)
    assert rdp_poisson(gumbel, 0.1, 2.5, "tight") == mp.inf
    assert rdp_poisson(gumbel, 0.1, 2, "tight") < mp.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rdp_poisson(None, 0.1, 2, "loose"),
            "kind must be 'general', 'tight' or 'lower', got 'loose'",
        ),
        (lambda: rdp_poisson(None, 2, 2), "q must be in [0, 1], got 2"),
        (lambda: rdp_fixed_size(None, -1, 2), "gamma must be in [0, 1], got -1"),
        (lambda: rdp_mixture(None, 2, 2), "r must be in [0, 1], got 2"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the message is compared below)
        call()
    assert message in str(caught.value)
