"""The mechanisms of renyi.reference against their definitions, by routes they do not use."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import partial
from itertools import pairwise

import pytest
from each import slow
from mpmath import mp

from renyi.reference import (
    discrete_gaussian_pair,
    discrete_laplace_pair,
    exponential_pair,
    laplace_pair,
    pure_dp_pair,
    randomized_response_pair,
    rdp,
    rdp_bounded_range,
    rdp_gumbel,
    rdp_random_allocation,
    rdp_repeat_and_select,
    rdp_sampled_gaussian,
    rdp_zcdp,
    staircase_pair,
)
from renyi.reference._pairs import worst_of_range

ORDERS = (1, 1.5, 7.25)
DIGITS = 20


def close(x, y, digits=DIGITS - 3):
    return abs(x - y) <= mp.mpf(10) ** -digits * max(abs(x), abs(y))


def by_integral(p, q, alpha, points):
    """The divergence of two densities, by mpmath's quadrature of the definition."""

    def integrand(x):
        if alpha == 1:
            return p(x) * mp.log(p(x) / q(x))
        return p(x) ** mp.mpf(alpha) * q(x) ** (1 - mp.mpf(alpha))

    total = mp.quad(integrand, points)
    return total if alpha == 1 else mp.log(total) / (mp.mpf(alpha) - 1)


def by_sum(p, q, alpha):
    """The divergence of two lists of masses."""
    if alpha == 1:
        return mp.fsum(x * mp.log(x / y) for x, y in zip(p, q, strict=True))
    a = mp.mpf(alpha)
    return mp.log(mp.fsum(x**a * y ** (1 - a) for x, y in zip(p, q, strict=True))) / (a - 1)


def laplace(scale, centre):
    return lambda x: mp.exp(-abs(x - centre) / scale) / (2 * scale)


def check_sampled(pair, first, second, alpha, rate, divergence, mix, digits=DIGITS - 3):
    """The divergence of a pair alone, and on samples in both directions, from its laws."""
    assert close(rdp(pair, alpha, DIGITS), divergence(first, second, alpha), digits)
    mixture = mix(mp.mpf(rate), first, second)
    for direction, laws in (("remove", (mixture, second)), ("add", (second, mixture))):
        value = rdp(pair, alpha, DIGITS, q=rate, direction=direction)
        assert close(value, divergence(*laws, alpha), digits)


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("scale", [0.3, *slow(2.0)])
def test_laplace_is_the_integral(scale, alpha):
    with mp.workdps(30):
        b = mp.mpf(scale)
        tail = 80 * b * max(1, alpha)
        points = [-tail, -10 * b, -b, 0, 0.5, 1, 1 + b, 1 + 10 * b, 1 + tail]
        check_sampled(
            laplace_pair(scale), laplace(b, 1), laplace(b, 0), alpha, "0.2",
            partial(by_integral, points=points),
            lambda q, p, r: lambda x: (1 - q) * r(x) + q * p(x),
        )  # fmt: skip


@pytest.mark.parametrize("alpha", [1, 1.5, 2, 2.5])
def test_gumbel_is_the_worse_integral(alpha):
    shift = 0.4

    def gumbel(centre):
        return lambda x: mp.exp(-(x - centre) - mp.exp(-(x - centre)))

    with mp.workdps(30):
        points = [-6, -4, -2, 0, 2, 5, 10, 20, 60, 200]
        forth, back = (
            by_integral(gumbel(mp.mpf(a)), gumbel(mp.mpf(b)), alpha, points)
            for a, b in ((shift, 0), (0, shift))
        )
        value = rdp_gumbel(shift, alpha, DIGITS)
        assert close(value, max(forth, back), 15)
    assert value < rdp_gumbel(shift, 3.0, DIGITS) < mp.inf
    assert rdp_gumbel(shift, 1 / (1 - math.exp(-shift)) + 1e-9) == mp.inf


def response(p, choices):
    truth, other = mp.mpf(p), (1 - mp.mpf(p)) / (choices - 1)
    rest = [other] * (choices - 2)
    return [truth, other, *rest], [other, truth, *rest]


def on_lattice(mass, shift, reach):
    """Masses ∝ a function of the distance, around ``shift`` and 0."""
    laws = [[mass(abs(x - c)) for x in range(-reach, reach + 1)] for c in (shift, 0)]
    return ([m / mp.fsum(law) for m in law] for law in laws)


def discrete_laplace(scale, shift):
    return on_lattice(lambda x: mp.exp(-x / mp.mpf(scale)), shift, 160)


def discrete_gaussian(sigma, shift):
    size = int(2 * max(ORDERS) + 15 * sigma) + 5
    return on_lattice(lambda x: mp.exp(-(x**2) / (2 * mp.mpf(sigma) ** 2)), shift, size)


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize(
    ("pair", "laws", "parameters", "rate", "digits"),
    [
        *((randomized_response_pair, response, given, "0.03", DIGITS - 3)
          for given in (("0.1", 3), ("0.999999", 10))),
        (discrete_laplace_pair, discrete_laplace, (0.8, 3), "0.25", 15),
        *((discrete_gaussian_pair, discrete_gaussian, (sigma, 2), "0.25", DIGITS - 3)
          for sigma in (0.4, 3.0)),
    ],
)  # fmt: skip
def test_finite_and_lattice_laws_are_sums(pair, laws, parameters, rate, digits, alpha):
    with mp.workdps(40):
        first, second = laws(*parameters)
        check_sampled(
            pair(*parameters), first, second, alpha, rate, by_sum,
            lambda q, p, r: [(1 - q) * y + q * x for x, y in zip(p, r, strict=True)], digits,
        )  # fmt: skip


@pytest.mark.parametrize("alpha", ORDERS)
def test_pure_dp_is_randomized_response(alpha):
    with mp.workdps(40):
        answer = randomized_response_pair(1 / (1 + mp.exp(-mp.mpf("0.7"))), 2)
    for sampling in ({}, {"q": "0.01", "direction": "add"}):
        value = rdp(pure_dp_pair("0.7"), alpha, DIGITS, **sampling)
        assert close(value, rdp(answer, alpha, DIGITS, **sampling))


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("epsilon", [0.01, *slow(20.0)])
def test_bounded_range_is_the_worst_pair(epsilon, alpha):
    value = rdp_bounded_range(epsilon, alpha, digits=DIGITS)
    for direction in ("remove", "add"):  # one finds t, the other epsilon - t
        with mp.workdps(DIGITS + 10):
            order = Fraction(alpha), Fraction(1)
            found = worst_of_range(Fraction(epsilon), *order, direction, DIGITS + 10, 0)
        assert close(value, found)
    dominating = rdp(exponential_pair(epsilon), alpha, DIGITS, q=1)
    assert value < dominating <= rdp(pure_dp_pair(epsilon), alpha, DIGITS)
    for direction in ("remove", "add"):
        sampled = rdp_bounded_range(epsilon, alpha, "0.1", direction, DIGITS)
        assert sampled < rdp(exponential_pair(epsilon), alpha, DIGITS, q="0.1", direction=direction)


def test_exponential_is_the_profile_of_bounded_range():
    """The masses of the pair, from second differences of sup over t of delta."""
    epsilon = mp.mpf(2)

    def delta(x):
        """Hockey-stick divergence at x of the worst pair with losses t and t - epsilon."""
        t = (epsilon + x) / 2
        high = mp.expm1(epsilon - t) / mp.expm1(epsilon)
        return high * mp.exp(t) - mp.exp(x) * high

    with mp.workdps(40):
        for x in (-1, 0, 1.5):
            # delta as a function of u = e^x has the second derivative g(x)/u, g the density
            u = mp.exp(mp.mpf(x))
            second = mp.diff(lambda v: delta(mp.log(v)), u, 2)
            density = mp.exp(-mp.mpf(x) / 2) / (4 * mp.sinh(epsilon / 2))
            assert close(second * u, density, 12)


def test_extreme_arguments():
    """Far from 1 closed forms agree with the sums and integrals, of which a rate below 1 is one."""
    almost = 1 - Fraction(1, 10**60)
    for scale, alpha in ((2e-3, 1e5), (1e9, 1 + 1e-9), (1.0, 1)):
        pair = laplace_pair(scale)
        value = rdp(pair, alpha, DIGITS)
        assert close(value, rdp(pair, alpha, DIGITS, q=almost))
    tiny = rdp(laplace_pair(1e9), 1 + 1e-9, DIGITS, q=1e-12)
    assert close(tiny, mp.mpf("5.0000000033333335455e-43"), 15)
    for epsilon, alpha in ((1e-9, 1e5), (500, 1 + 1e-9), (500, 1e5)):
        value = rdp(pure_dp_pair(epsilon), alpha, DIGITS)
        with mp.workdps(60):
            e, a = mp.mpf(epsilon), mp.mpf(alpha)
            difference = mp.sinh(a * e) - mp.sinh((a - 1) * e)
            assert close(value, mp.log(difference / mp.sinh(e)) / (a - 1))
    assert close(rdp(pure_dp_pair(1e-9), 1, DIGITS), mp.mpf(1e-9) ** 2 / 2, 15)


def test_staircase_is_the_sum_over_its_steps():
    """The density, level by level, on the pieces of a period; beyond a few hundred is nothing."""
    b, g, a = mp.exp(mp.mpf(-1)), Fraction(3, 10), mp.mpf(2.5)
    first = (1 - b) / (2 * (mp.mpf(3) / 10 + b * 7 / 10))

    def density(x):
        return first * b ** (math.floor(abs(x) - g) + 1 if abs(x) >= g else 0)

    ends = sorted({k + edge for k in range(-99, 99) for edge in (0, g, 1 - g)})
    total = mp.fsum(
        mp.mpf(float(high - low)) * density((low + high) / 2 - 1) ** a
        * density((low + high) / 2) ** (1 - a)
        for low, high in pairwise(ends)
    )  # fmt: skip
    value = rdp(staircase_pair(1, "0.3"), 2.5, DIGITS)
    assert close(value, mp.log(total) / (a - 1), 12)


def test_exact_cases():
    inf = math.inf
    assert rdp(laplace_pair(inf), 2) == rdp(discrete_laplace_pair(inf), 2) == 0
    assert rdp(discrete_gaussian_pair(inf), 2) == rdp(pure_dp_pair(0), 2) == 0
    assert rdp_bounded_range(0, 2) == rdp_gumbel(0, 2) == 0
    assert rdp(randomized_response_pair(0.5), 2) == 0
    assert rdp(randomized_response_pair(0.25, 4), 2) == 0
    assert rdp(pure_dp_pair(inf), 2) == rdp_gumbel(inf, 1) == mp.inf
    assert rdp(randomized_response_pair(1), 2) == mp.inf
    assert rdp_zcdp(0.5, 3, 0.25) == 1.75
    assert rdp(discrete_gaussian_pair(0.5, 3), 2) == 36
    assert rdp(laplace_pair(inf), 2, q=0.1) == 0
    assert rdp(randomized_response_pair(0.5), 2, q=0.1) == 0
    # a tenth is not the double next to it
    tenth, double = (rdp(laplace_pair(b), 2, 30) for b in ("0.1", Fraction(0.1)))
    assert close(tenth, double, 15)
    assert not close(tenth, double, 20)


# --- selection and random allocation


def selected(masses, runs):
    """Law of the best of N outputs, the last the best; ``runs`` is the generating function of N."""
    total, values = mp.zero, [runs(mp.zero)]
    for mass in masses[:-1]:
        total += mass
        values.append(runs(total))
    values.append(mp.one)
    return [y - x for x, y in pairwise(values)], values[0]


@pytest.mark.parametrize("etas", [(0,), *slow(((3.0,),), ((-0.5,),))])
def test_selection_bounds_hold(etas):
    """A random pair on up to five outputs, the law of the selected output computed exactly."""
    rng = random.Random(1)

    def draw(n):
        found = [
            mp.mpf(rng.gammavariate(rng.choice([0.5, 3]), 1)) + mp.mpf("1e-6") for _ in range(n)
        ]
        return [x / mp.fsum(found) for x in found]

    def divergence(p, q, alpha, atom=0):
        total = mp.fsum(x**alpha * y ** (1 - alpha) for x, y in zip(p, q, strict=True)) + atom
        return mp.log(total) / (alpha - 1)

    n = rng.randint(2, 5)
    p, q = draw(n), draw(n)
    losses = [abs(mp.log(x / y)) for x, y in zip(p, q, strict=True)]

    def base(alpha, digits):
        if alpha == 1:
            pairs = list(zip(p, q, strict=True))
            return max(
                mp.fsum(x * mp.log(x / y) for x, y in pairs),
                mp.fsum(y * mp.log(y / x) for x, y in pairs),
            )
        return max(divergence(p, q, alpha), divergence(q, p, alpha))

    alpha = 1 + mp.mpf(10) ** rng.uniform(-1, 1.5)
    gamma = mp.mpf(10) ** rng.uniform(-2, -0.1)
    for eta in etas:
        mean = (
            eta * (1 - gamma) / (gamma * (1 - gamma**eta))
            if eta
            else (1 / gamma - 1) / -mp.log(gamma)
        )

        def runs(x, eta=eta, gamma=gamma):
            if eta == 0:
                return mp.log(1 - (1 - gamma) * x) / mp.log(gamma)
            return ((1 - (1 - gamma) * x) ** -eta - 1) / (gamma**-eta - 1)

        first, second = (selected(masses, runs)[0] for masses in (p, q))
        bound = rdp_repeat_and_select(base, mean, eta, alpha, math.inf, max(losses), 6)
        assert divergence(first, second, alpha) <= bound * (1 + mp.mpf("1e-5"))
    mean = mp.mpf(10) ** rng.uniform(-1, 1)
    (first, none), (second, _) = (
        selected(masses, lambda x: mp.exp(mean * (x - 1))) for masses in (p, q)
    )
    bound = rdp_repeat_and_select(base, mean, math.inf, alpha, math.inf, max(losses), 4)
    assert divergence(first, second, alpha, none) <= bound * (1 + mp.mpf("1e-3"))


def test_selection_of_one_run_is_the_run():
    base = partial(rdp_sampled_gaussian, 1, 2)
    for eta in (-0.5, 0, 1, 3):
        value = rdp_repeat_and_select(base, 1, eta, 8, digits=10)
        assert abs(value - 1) < 1e-9
    # geometric: the mean is 1/gamma; the best second order solves a quadratic equation
    value = rdp_repeat_and_select(base, 100, 1, 8, digits=10)
    beta = mp.sqrt(8 * mp.log(100))
    cost = 2 * ((beta - 1) / 8 + mp.log(100) / beta)
    assert abs(value - (1 + cost + mp.log(100) / 7)) < 1e-9


def test_allocation_of_one_step_is_the_gaussian():
    for direction in ("remove", "add"):
        for alpha in (2, 5):
            value = rdp_random_allocation(1.5, 1, alpha, direction, 10)
            assert abs(value - rdp_sampled_gaussian(1, 1.5, alpha, 15)) < 1e-9
    assert rdp_random_allocation(math.inf, 10, 3) == 0
    kullback = rdp_random_allocation(1.5, 1, 1, "add", 10)
    assert abs(kullback - rdp_sampled_gaussian(1, 1.5, 1, 15)) < 1e-9


def test_allocation_of_two_steps_is_the_integral():
    sigma, alpha = mp.mpf(1), mp.mpf(3)

    def ratio(x, y):
        return (mp.exp((2 * x - 1) / (2 * sigma**2)) + mp.exp((2 * y - 1) / (2 * sigma**2))) / 2

    def moment(order):
        h = mp.mpf(2) / 5  # the trapezoidal rule converges geometrically
        grid = [i * h for i in range(-25, 38)]
        weights = [mp.npdf(x, 0, sigma) * h for x in grid]
        terms = (
            v * w * ratio(x, y) ** order
            for x, v in zip(grid, weights, strict=True)
            for y, w in zip(grid, weights, strict=True)
        )
        return mp.log(mp.fsum(terms)) / (alpha - 1)

    for direction, order in (("remove", alpha), ("add", 1 - alpha)):
        value = rdp_random_allocation(1, 2, 3, direction, 10)
        assert abs(value - moment(order)) < 1e-9
