"""Privacy curves in closed form: the exact value is enclosed, over wide random ranges."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from mpmath import mp

from renyi import reference, special

DIGITS = 25


def encloses(name, point, exact):
    lower, upper = (float(getattr(special, name + side)(*point)) for side in ("_lower", "_upper"))
    with mp.workdps(DIGITS + 10):
        assert mp.mpf(lower) <= exact <= mp.mpf(upper), (name, point, lower, upper, exact)
        if exact > 1e-300:
            value = float(getattr(special, name)(*point))
            assert lower <= value <= upper
    return lower, upper


def units(lower, upper):
    return (upper - lower) / math.ulp(upper)


def test_known_values():
    # by quadrature to 30 digits: (q, sigma, epsilon, remove, add)
    for q, sigma, epsilon, remove, add in (
        (0.1, 1.0, 0.5, 0.00203253692034, 0.0),
        (0.01, 0.8, 0.005, 0.00361113056129, 0.00146340900224),
        (0.3, 2.0, 0.1, 0.0288637217908, 0.0172479224132),
        (0.1, 1.0, -0.05, 0.058827525976, 0.0736391969701),
    ):
        assert special.sampled_gaussian_delta_remove(q, sigma, epsilon) == pytest.approx(remove)
        assert special.sampled_gaussian_delta_add(q, sigma, epsilon) == pytest.approx(add)
    assert special.gaussian_delta(1.0, 0.0) == pytest.approx(math.erf(0.5 / math.sqrt(2)))


def test_gaussian_delta_is_enclosed():
    rng = random.Random(1)
    for _ in range(400):
        mu = 10 ** rng.uniform(-8, 4)
        a = rng.uniform(-min(mu / 2, 8), 37)  # delta from 1 to 1e-300
        epsilon = mu * a + mu * mu / 2
        if rng.random() < 0.3:
            mu, epsilon = min(mu, 10.0), -(10 ** rng.uniform(-8, math.log10(50)))
        if epsilon > 1e4:
            continue
        lower, upper = encloses(
            "gaussian_delta", (mu, epsilon), reference.gaussian_delta(mu, epsilon, DIGITS)
        )
        assert units(lower, upper) <= 2 or lower == 0.0


def sampled_points(count, seed):
    rng = random.Random(seed)
    while count:
        q = rng.choice((10 ** rng.uniform(-12, 0), rng.random(), 1 - 10 ** rng.uniform(-12, -1)))
        sigma = rng.choice((10 ** rng.uniform(-2, 6), 10 ** rng.uniform(-1, 1)))
        level = (rng.uniform(-8, 36) + 0.5 / sigma) / sigma
        side = rng.choice(("remove", "add"))
        if rng.random() < 0.2:
            epsilon = rng.uniform(-50, 0)
        elif side == "add":
            epsilon = -math.log1p(q * math.expm1(-max(level, -700.0)))
        else:
            epsilon = math.log1p(q * math.expm1(level)) if level < 700 else level + math.log(q)
        if abs(epsilon) <= 1e4 and not (side == "add" and epsilon >= -math.log1p(-q)):
            count -= 1
            yield side, q, sigma, epsilon


def test_one_sampled_step_is_enclosed():
    narrow = []
    for side, q, sigma, epsilon in sampled_points(300, 2):
        name = f"sampled_gaussian_delta_{side}"
        exact = reference.sampled_gaussian_delta(q, sigma, epsilon, side, DIGITS)
        lower, upper = encloses(name, (q, sigma, epsilon), exact)
        if lower > 0.0:
            narrow.append(units(lower, upper) <= 2)
    assert np.mean(narrow) > 0.8


def test_epsilon_and_mu_are_enclosed():
    rng = random.Random(3)
    for _ in range(40):
        delta = rng.choice((10 ** rng.uniform(-300, 0), rng.random()))
        mu, epsilon = 10 ** rng.uniform(-6, 1), 10 ** rng.uniform(-6, 1.5)
        exact = reference.gaussian_epsilon(mu, delta, DIGITS)
        assert units(*encloses("gaussian_epsilon", (mu, delta), exact)) <= 8
        exact = reference.gaussian_mu(epsilon, delta, DIGITS)
        assert units(*encloses("gaussian_mu", (epsilon, delta), exact)) <= 8


def test_epsilon_of_one_step_is_enclosed():
    rng = random.Random(4)
    for _ in range(30):
        q, sigma = 10 ** rng.uniform(-6, 0), 10 ** rng.uniform(-1, 2)
        delta = rng.choice((10 ** rng.uniform(-100, 0), rng.random(), q * rng.random()))
        for side in ("remove", "add"):
            name = f"sampled_gaussian_epsilon_{side}"
            exact = reference.sampled_gaussian_epsilon(q, sigma, delta, side, DIGITS)
            encloses(name, (q, sigma, delta), exact)


def test_tradeoff_is_enclosed():
    rng = random.Random(5)
    for _ in range(60):
        x = rng.uniform(-7, 36)
        mu, alpha = max(x + rng.uniform(-7, 36), 1e-6), 0.5 * math.erfc(x / math.sqrt(2))
        if alpha < 1.0:
            exact = reference.gaussian_tradeoff(mu, alpha, DIGITS)
            assert units(*encloses("gaussian_tradeoff", (mu, alpha), exact)) <= 4


def test_underflow_is_bounded_honestly():
    smallest = np.finfo(float).tiny
    assert special.gaussian_delta_lower(1.0, 60.0) == 0.0
    assert special.gaussian_delta_upper(1.0, 60.0) == smallest
    assert special.sampled_gaussian_delta_remove_upper(0.01, 1.0, 60.0) == smallest
    assert special.sampled_gaussian_delta_add_upper(0.01, 1.0, 60.0) == 0.0  # exact


def test_bounds_are_monotone():
    rng = np.random.default_rng(6)
    mu, epsilon = 10 ** rng.uniform(-3, 1.5, 3000), rng.uniform(-1, 30, 3000)
    for side in ("_lower", "_upper"):
        delta = getattr(special, "gaussian_delta" + side)
        assert np.all(delta(mu, epsilon) >= delta(mu, epsilon * (1 + 1e-13) + 1e-13))
        assert np.all(delta(mu, epsilon) <= delta(mu * (1 + 1e-13), epsilon))


def test_curves_are_inverse_and_dual():
    rng = np.random.default_rng(7)
    q, sigma = 10 ** rng.uniform(-4, 0, 500), 10 ** rng.uniform(-1, 1, 500)
    epsilon = rng.uniform(0, 3, 500)
    add = special.sampled_gaussian_delta_add(q, sigma, epsilon)
    remove = special.sampled_gaussian_delta_remove(q, sigma, -epsilon)
    np.testing.assert_allclose(add, 1 - np.exp(epsilon) * (1 - remove), rtol=1e-9, atol=1e-13)
    found = special.sampled_gaussian_epsilon_remove(q, sigma, remove)
    np.testing.assert_allclose(found, -epsilon, rtol=1e-9, atol=1e-12)
