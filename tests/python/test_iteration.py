"""`renyi.theory.iteration` against multi-precision arithmetic: never below, hardly above; edges."""

import math
import sys

import iteration_reference as reference
import mpmath as mp
import numpy as np
import pytest

from renyi.theory.iteration import (
    DecayingNoise,
    NoisyDescent,
    noise_divergence,
    shuffled_delta,
    shuffled_limit,
    step_contraction,
)
from renyi.theory.online import online_delta, online_deltas, online_limit

TINY = sys.float_info.min
LAWS = ["gaussian", "laplace"]


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(reference.DIGITS):
        yield


def descent_with(law, eta=0.01, lipschitz=10.0, diameter=1.0, contraction=1.0):
    return NoisyDescent(eta, lipschitz, diameter, contraction, law)


def is_just_above(value, exact, rtol):
    """The sum in the exponent is rounded, too: 5e-14 for each factor e."""
    if exact < TINY:
        return value == (0.0 if exact == 0 else TINY)
    slack = rtol + 5e-14 * abs(float(mp.log(exact)))
    return exact <= value <= max(exact * (1 + slack), TINY)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1e-3, 0.5, 1.0, 3.0, 20.0, 1000.0])
def test_noise_divergence_is_just_above_the_exact_one(law, epsilon):
    near = [2 * epsilon, math.sqrt(2 * epsilon), epsilon]
    for r in [*np.geomspace(1e-12, 1e4, 60), *(x * 1.01 for x in near if x)]:
        exact, _ = reference.theta(law, epsilon, r, 1)
        assert is_just_above(noise_divergence(law, epsilon, r), exact, 1e-14), r


@pytest.mark.parametrize("law", LAWS)
def test_noise_divergence_at_its_edges(law):
    assert noise_divergence(law, 1.0, 0.0) == 0.0
    assert noise_divergence(law, math.inf, 1.0) == 0.0
    assert noise_divergence(law, 0.0, 1e75, 1e-75) == 1.0
    assert 0.0 < noise_divergence(law, 0.0, 1e-75, 1e75) < 1e-149
    assert noise_divergence(law, 1e300, 1.0) == (TINY if law == "gaussian" else 0.0)


def test_laplace_divergence_vanishes_exactly_where_it_should():
    assert noise_divergence("laplace", 0.5, 0.5) == 0.0
    assert noise_divergence("laplace", 1.0 / 3.0, 1.0, 3.0) < 1e-16
    assert noise_divergence("laplace", 0.5, math.nextafter(0.5, 1.0)) > 0.0


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 8.0])
@pytest.mark.parametrize("n", [1, 2, 3, 100, 10_000, 10**9, 2**53])
def test_shuffled_delta_is_just_above_the_exact_one(law, epsilon, n):
    descent = descent_with(law, contraction=0.9)
    for width in (0.1, 1.0, 5.0, 9.0, 12.0, 40.0, 3e3):
        exact = reference.shuffled(law, epsilon, 20, descent.state_shift, width, n)
        assert is_just_above(shuffled_delta(descent, epsilon, width, n), exact, 1e-13), width


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("power", [1.0, 1.5, 20.0, 100.0])
@pytest.mark.parametrize(("c1", "c2"), [(1e5, 2.0), (1.0, 1.0), (1e-20, 100.0), (1e40, 1e8)])
def test_schedules_agree_with_their_formulas(law, power, c1, c2):
    noise = DecayingNoise(descent_with(law), c1, c2, power)
    for j in (1, 2, 1000, 10**6, 10**9, 2**53):
        exact = reference.scale(law, noise.descent.state_shift, j, power, c1, c2)
        assert noise.scale(j) == pytest.approx(float(exact), rel=1e-13), j
    assert noise.scaled(2.0).scale(10) == pytest.approx(2.0 * noise.scale(10), rel=1e-15)


def test_gaussian_schedule_without_c2():
    noise = DecayingNoise(descent_with("gaussian"), 1e20, 0.0)
    exact = reference.scale("gaussian", noise.descent.state_shift, 1, 1.5, 1e20, 0)
    assert noise.scale(1) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_shuffled_delta_has_the_limit_of_the_theorem(law):
    descent = descent_with(law, eta=0.1)
    c2 = 2.0 if law == "laplace" else 100.0
    limit = shuffled_limit(law, 1.0, 1e5)
    near = [
        shuffled_delta(descent, 1.0, DecayingNoise(descent, 1e5, c2, power=1.0).scale(n), n) / limit
        - 1.0
        for n in (10**8, 10**10, 10**12)
    ]
    if law == "laplace":  # as 1/n
        assert near[0] / near[1] == pytest.approx(100.0, rel=0.02)
    else:  # as (1 + eps^2/8)/W
        w = [float(mp.lambertw(n**2 / (2 * mp.pi * 1e10) + 100).real) for n in (10**10, 10**12)]
        assert near[1:] == pytest.approx([1.125 / x for x in w], rel=0.12)
    assert shuffled_limit(law, 1.0, delta=limit) == pytest.approx(1e5, rel=1e-10)


def test_shuffled_delta_with_one_scale_falls_as_one_over_n_and_not_below():
    descent = descent_with("gaussian", eta=0.1)
    for n in (10**3, 10**6, 10**9):
        b = noise_divergence(descent.noise, 1.0, descent.state_shift, 4.0)
        a = noise_divergence(descent.noise, 1.0, descent.record_shift, 4.0)
        floor = a / (n * (1.0 - b))
        assert shuffled_delta(descent, 1.0, 4.0, n) == pytest.approx(floor, rel=1e-9)


def test_shuffled_delta_does_not_depend_on_n_where_nothing_contracts():
    descent = descent_with("gaussian", eta=1e-6)
    assert shuffled_delta(descent, 1.0, 10.0, 10**9) == noise_divergence(
        descent.noise, 1.0, descent.record_shift, 10.0
    )


def test_step_contraction_is_the_root_from_above():
    for eta, beta, rho in ((0.1, 1.0, 0.1), (1.0, 1.0, 1.0), (0.5, 2.0, 1e-9), (1e-3, 3.0, 0.7)):
        square = 1 - 2 * mp.mpf(eta) * beta * rho / (mp.mpf(beta) + rho)
        value = step_contraction(eta, beta, rho)
        assert mp.sqrt(square) <= value <= mp.sqrt(square) + 2.0**-52
        # what a step does to a quadratic loss of any curvature in between
        assert max(abs(1 - eta * beta), abs(1 - eta * rho)) <= value + 1e-15
    assert step_contraction(1.0, 1.0, 1.0) == 0.0
    with pytest.raises(ValueError, match=r"^step_size must be at most 2 / .* = 1.0, got 1.001"):
        step_contraction(1.001, 1.0, 1.0)


def test_bad_arguments_are_named():
    descent = descent_with("gaussian")
    with pytest.raises(ValueError, match="epsilon must be a number in"):
        shuffled_delta(descent, -1.0, 1.0, 10)
    with pytest.raises(ValueError, match="epsilon must be"):
        shuffled_delta(descent, math.nan, 1.0, 10)
    with pytest.raises(ValueError, match="scale must be a number in"):
        shuffled_delta(descent, 1.0, 0.0, 10)
    with pytest.raises(ValueError, match="n must be an integer >= 1, got 0"):
        shuffled_delta(descent, 1.0, 1.0, 0)
    with pytest.raises(TypeError, match=r"n must be an integer >= 1, got 1.5"):
        shuffled_delta(descent, 1.0, 1.0, 1.5)
    with pytest.raises(ValueError, match="noise must be"):
        online_deltas(descent, 1.0, [1.0, -1.0], 2)
    with pytest.raises(ValueError, match=r"got an array of shape \(2,\) for n = 3"):
        online_deltas(descent, 1.0, [1.0, 1.0], 3)
    with pytest.raises(ValueError, match="n must be at least the index 5, got 4"):
        online_delta(descent, 1.0, 1.0, [4, 6], index=5)
    with pytest.raises(ValueError, match="noise must be gaussian noise"):
        online_deltas(descent, 1.0, DecayingNoise(descent_with("laplace"), 1.0, 1.0), 3)
    with pytest.raises(ValueError, match=r"noise must have a power above 1, got 1\.0"):
        online_limit(descent, 1.0, DecayingNoise(descent, 1.0, 1.0, 1.0), 1)
    with pytest.raises(ValueError, match="c2 must be a number in"):
        DecayingNoise(descent_with("laplace"), 1.0, 0.5)
    with pytest.raises(ValueError, match="factor must keep the scales"):
        DecayingNoise(descent_with("laplace", diameter=1e70), 1e75, 1.0, factor=1e75)
    with pytest.raises(ValueError, match="noise must be 'gaussian' or 'laplace', got 'cauchy'"):
        NoisyDescent(0.1, 1.0, 1.0, noise="cauchy")
    with pytest.raises(ValueError, match="contraction must be a number in"):
        NoisyDescent(0.1, 1.0, 1.0, contraction=1.5)
    with pytest.raises(ValueError, match="out must be a float64 array of length 3"):
        online_deltas(descent, 1.0, 1.0, 3, out=np.empty(4))
