"""`renyi.theory.iteration` against multi-precision arithmetic: never below, hardly above."""

import math
import sys

import iteration_reference as reference
import mpmath as mp
import numpy as np
import pytest
from each import refused, slow

from renyi.theory.iteration import (
    DecayingNoise,
    NoisyDescent,
    noise_divergence,
    shuffled_limit,
    shuffled_pass,
    step_contraction,
)
from renyi.theory.online import (
    online_delta,
    online_deltas,
    online_epsilon,
    online_limit,
    online_noise_factor,
    online_worst,
)

TINY = sys.float_info.min
LAWS = ["gaussian", "laplace"]


def shuffled_delta(descent, epsilon, scale, n):
    return shuffled_pass(descent, n, epsilon=epsilon, scale=scale)


def shuffled_epsilon(descent, delta, scale, n):
    return shuffled_pass(descent, n, delta=delta, scale=scale)


def shuffled_scale(descent, epsilon, delta, n):
    return shuffled_pass(descent, n, epsilon=epsilon, delta=delta)


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


# --- online passes


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("epsilon", [0.0, 6.0, *slow(1.0)])
def test_online_deltas_are_just_above_the_exact_ones(law, epsilon):
    rng = np.random.default_rng(5)
    descent = descent_with(law)
    for low, high in ((2.0, 4.0), (4.0, 12.0), (10.0, 60.0)):
        scales = rng.uniform(low, high, 300)
        deltas = online_deltas(descent, epsilon, scales, 300)
        exact = reference.online(law, epsilon, 20, 100, list(scales))
        assert all(is_just_above(d, e, 1e-13) for d, e in zip(deltas, exact, strict=True))
        worst = online_worst(descent, epsilon, scales, 300)
        assert worst.delta == pytest.approx(deltas.max(), rel=1e-13)
        assert deltas[worst.step - 1] == pytest.approx(deltas.max(), rel=1e-13)
        one = online_delta(descent, epsilon, scales, 300, index=150)
        assert is_just_above(one, exact[149], 1e-13)


@pytest.mark.parametrize("law", ["laplace", *slow("gaussian")])
def test_decaying_noise_agrees_with_50_digits_at_ten_thousand_steps(law):
    n = 10_000
    descent = descent_with(law)
    noise = DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5)
    widths = [reference.scale(law, 100, j, 1.5, 100, 100) for j in range(1, n + 1)]
    assert all(
        abs(w / e - 1) < 1e-13 for w, e in zip(noise.scales(n)[::97], widths[::97], strict=True)
    )
    exact = reference.online(law, 1, 20, 100, widths, every=70)
    deltas = online_deltas(descent, 1.0, noise, n)
    errors = [float(abs(d / e - 1)) for d, e in zip(deltas[(n - 1) % 70 :: 70], exact, strict=True)]
    assert max(errors) < 1e-12
    assert len(errors) == 143
    for index in (1, 100, 9_999, n):
        assert online_delta(descent, 1.0, noise, n, index) == pytest.approx(
            deltas[index - 1], rel=1e-13
        )


@pytest.mark.parametrize("law", LAWS)
def test_online_limit_is_reached_from_above(law):
    descent = descent_with(law)
    noise = DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5)
    limit = online_limit(descent, 1.0, noise, 100)
    deltas = online_delta(descent, 1.0, noise, [10**5, 10**6, 4 * 10**6], 100)
    above = np.log(deltas / limit)
    assert (above > 0).all()
    assert above[0] / above[1] == pytest.approx(math.sqrt(10.0), rel=0.01)  # as n^(1 - a)
    assert math.log10(limit) == pytest.approx(-7.8105 if law == "laplace" else -22.544, abs=6e-4)


def log_of_limit(descent, epsilon, noise, index, last=3_000):
    """log A - sum of -log B_t over t > index: one by one to ``last``, then Euler and Maclaurin."""
    law = descent.noise

    def decay(t):
        width = reference.scale(law, descent.state_shift, t, noise.power, noise.c1, noise.c2)
        return -mp.log1p(-reference.theta(law, epsilon, descent.state_shift, width)[1])

    with mp.workdps(20):
        start = reference.theta(law, epsilon, descent.record_shift, noise.scale(index))[0]
        total = mp.fsum(decay(t) for t in range(index + 1, last + 1))
        ends = [mp.log(last) + mp.mpf(k) for k in (0, 2, 5, 10, 20, 40, 80)]
        total += mp.quad(lambda s: decay(mp.exp(s)) * mp.exp(s), ends, maxdegree=4)
        first, second = decay(last), decay(last + 1)
        return mp.log(start) - (total - first / 2 - (second - first) / 12)


@pytest.mark.parametrize(
    ("law", "power", "c1", "c2", "epsilon"),
    [
        ("laplace", 2.0, 100.0, 10.0, 0.5),
        ("gaussian", 1.25, 1.0, 1.0, 2.0),
        *slow(("laplace", 1.5, 100.0, 100.0, 1.0), ("laplace", 1.5, 10.0, 1e15, 0.5)),
        *slow(("gaussian", 1.5, 10.0, 1e12, 0.5)),
    ],
)
def test_online_limit_is_hardly_above_the_sum_to_infinity(law, power, c1, c2, epsilon):
    descent = descent_with(law)
    noise = DecayingNoise(descent, c1=c1, c2=c2, power=power)
    limit = online_limit(descent, epsilon, noise, 100)
    excess = math.log(limit) - float(log_of_limit(descent, epsilon, noise, 100))
    assert 0.0 <= excess < (1e-6 if c2 <= 1e5 else 1e-4)


@pytest.mark.parametrize("law", LAWS)
def test_the_worst_of_very_many_records_is_the_last(law):
    descent = descent_with(law)
    noise = DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5)
    for n in (10**9, 10**15, 2**53):
        worst = online_worst(descent, 1.0, noise, n)
        exact, _ = reference.theta(law, 1, descent.record_shift, noise.scale(n))
        assert worst.step == n
        assert is_just_above(worst.delta, exact, 1e-10)
    assert online_worst(descent, 1.0, 3.0, 2**53).step == 2**53


def test_product_is_zero_where_a_step_forgets_everything():
    descent = descent_with("laplace", eta=10.0)  # state shift 0.1
    deltas = online_deltas(descent, 0.5, [1.0, 1.0, 1.0], 3)
    assert deltas.tolist()[:2] == [0.0, 0.0]
    assert deltas[2] > 0.99
    assert online_worst(descent, 0.5, [1.0, 1.0, 1.0], 3).step == 3
    assert shuffled_delta(descent, 0.5, 1.0, 10) == pytest.approx(deltas[2] / 10, rel=1e-14)
    still = NoisyDescent(0.1, 1.0, 1.0, contraction=0.0)
    assert online_deltas(still, 0.0, 1.0, 1000)[:-1].max() == 0.0


@pytest.mark.parametrize("law", LAWS)
def test_tiny_and_huge_epsilon(law):
    descent = descent_with(law)
    for epsilon in (0.0, 1e-300, 1e-15):
        deltas = online_deltas(descent, epsilon, 5.0, 300)
        exact = reference.online(law, epsilon, 20, 100, [5.0] * 300)
        assert all(is_just_above(d, e, 1e-13) for d, e in zip(deltas, exact, strict=True))
    for epsilon in (600.0, 1e6, 1e300, math.inf):
        assert 0.0 <= shuffled_delta(descent, epsilon, 0.5, 100) <= 1.0
        assert 0.0 <= online_worst(descent, epsilon, 0.5, 100).delta <= 1.0
    assert online_worst(descent, math.inf, 0.5, 100).delta == 0.0
    assert shuffled_delta(descent, math.inf, 0.5, 100) == 0.0


@pytest.mark.parametrize("law", LAWS)
def test_scales_do_not_depend_on_where_one_begins(law):
    noise = DecayingNoise(descent_with(law), c1=100.0, c2=100.0, power=1.5)
    whole = noise.scales(70_000)
    for first in (1, 2, 300, 49_100, 49_153, 49_200, 65_000):
        assert (noise.scales(700, first) == whole[first - 1 : first + 699]).all()
    assert (np.diff(whole) < 1e-12 * whole[1:]).all()


@pytest.mark.parametrize("law", LAWS)
def test_what_is_asked_in_parts_agrees_with_the_whole(law):
    n = 100_000
    descent = descent_with(law)
    noise = DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5)
    deltas = online_deltas(descent, 1.0, noise, n)
    given = online_deltas(descent, 1.0, noise.scales(n), n)
    np.testing.assert_allclose(given, deltas, rtol=1e-13)
    for index in (1, 255, 256, 257, 50_000, n - 1, n):
        one = online_delta(descent, 1.0, noise, [n, index], index)
        assert one[0] == pytest.approx(deltas[index - 1], rel=1e-13)
    out = np.empty(n)
    assert online_deltas(descent, 1.0, noise, n, out=out) is out
    assert (out == deltas).all()
    worst = online_worst(descent, 1.0, noise, n)
    assert worst == (deltas.max(), n)


def test_constant_scales_have_the_closed_form_at_a_million_steps():
    descent, n = descent_with("gaussian", eta=0.1), 1_000_000
    a, _ = reference.theta("gaussian", 1, 20, 2)
    _, rest = reference.theta("gaussian", 1, descent.state_shift, 2)
    exact = a * mp.exp((n - 1000) * mp.log1p(-rest))
    assert is_just_above(online_delta(descent, 1.0, 2.0, n, 1000), exact, 1e-13)


def test_the_last_normal_numbers_are_not_too_small():
    # all but the product is 1; e^-708 is above the smallest normal number
    descent = NoisyDescent(1.0, 1e70, 2.0)
    for width in np.linspace(0.066815, 0.06682, 300):
        delta = online_deltas(descent, 1570.05, [1.0, width], 2)[0]
        exact, _ = reference.theta("gaussian", 1570.05, descent.state_shift, width)
        assert exact <= delta <= max(exact * (1 + 1e-9), sys.float_info.min)


# --- inverse problems


LESS = 1.0 - 2e-12


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-8, 1e-3, 0.3])
@pytest.mark.parametrize("n", [1, 1000, 10**9])
def test_shuffled_epsilon_is_the_smallest(law, delta, n):
    descent = NoisyDescent(0.1, 10.0, 1.0, 0.9, law)
    for scale in (0.5, 5.0, 100.0):
        epsilon = shuffled_epsilon(descent, delta, scale, n)
        assert shuffled_delta(descent, epsilon, scale, n) <= delta
        assert epsilon == 0.0 or shuffled_delta(descent, epsilon * LESS, scale, n) > delta


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("delta", [1e-300, 1e-8, 1e-3, 0.3])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 1.0, 50.0])
def test_shuffled_scale_is_the_smallest(law, delta, epsilon):
    descent = NoisyDescent(0.1, 10.0, 1.0, 0.9, law)
    if epsilon == 0.0 and delta < 1e-100:
        with pytest.raises(ValueError, match="delta must be one that a scale up to 1e75 reaches"):
            shuffled_scale(descent, epsilon, delta, 10**6)
        return
    scale = shuffled_scale(descent, epsilon, delta, 10**6)
    assert shuffled_delta(descent, epsilon, scale, 10**6) <= delta
    assert shuffled_delta(descent, epsilon, scale * LESS, 10**6) > delta


def test_a_delta_of_zero():
    laplace, gaussian = (NoisyDescent(0.1, 10.0, 1.0, noise=law) for law in ("laplace", "gaussian"))
    assert shuffled_epsilon(gaussian, 0.0, 5.0, 10) == math.inf
    assert shuffled_epsilon(laplace, 0.0, 5.0, 10) == pytest.approx(4.0, rel=1e-11)  # 2L/scale
    assert shuffled_scale(laplace, 4.0, 0.0, 10) == pytest.approx(5.0, rel=1e-11)
    assert shuffled_epsilon(gaussian, 1.0, 5.0, 10) == 0.0


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("index", [None, 1, 40, 200])
@pytest.mark.parametrize("delta", [1e-20, 1e-6, 0.1])
def test_online_epsilon_and_factor_are_the_smallest(law, index, delta):
    descent, n = NoisyDescent(0.05, 10.0, 1.0, 0.95, law), 200
    rng = np.random.default_rng(3)
    scales = rng.uniform(8.0, 12.0, n)

    def found(epsilon, factor=1.0):
        if index is None:
            return online_worst(descent, epsilon, scales * factor, n).delta
        return online_delta(descent, epsilon, scales * factor, n, index)

    epsilon = online_epsilon(descent, delta, scales, n, index)
    assert found(epsilon) <= delta
    assert epsilon == 0.0 or found(epsilon * LESS) > delta
    factor = online_noise_factor(descent, 0.7, delta, scales, n, index)
    assert found(0.7, factor) <= delta
    assert found(0.7, factor * LESS) > delta


def test_factor_of_a_decaying_noise():
    descent = NoisyDescent(0.01, 10.0, 1.0)
    noise = DecayingNoise(descent, c1=100.0, c2=100.0)
    factor = online_noise_factor(descent, 1.0, 1e-6, noise, 2000, index=1)
    assert online_delta(descent, 1.0, noise.scaled(factor), 2000, 1) <= 1e-6
    assert online_delta(descent, 1.0, noise.scaled(factor * LESS), 2000, 1) > 1e-6
    assert online_noise_factor(descent, 1.0, 1e-6, 1.0, 100) == pytest.approx(
        online_noise_factor(descent, 1.0, 1e-6, np.ones(100), 100), rel=1e-11
    )


GAUSS, LAPLACE = descent_with("gaussian"), descent_with("laplace")


def passes(*arguments):
    return lambda: shuffled_delta(GAUSS, *arguments)


def online(*arguments, **settings):
    return lambda: online_deltas(GAUSS, 1.0, *arguments, **settings)


def decaying(*arguments, diameter=None, **settings):
    descent = LAPLACE if diameter is None else descent_with("laplace", diameter=diameter)
    return lambda: DecayingNoise(descent, *arguments, **settings)


REFUSED = {
    ValueError: [
        (passes(-1.0, 1.0, 10), "epsilon must be a number in"),
        (passes(math.nan, 1.0, 10), "epsilon must be"),
        (passes(1.0, 0.0, 10), "scale must be a number in"),
        (passes(1.0, 1.0, 0), r"n must be an integer in \[1, 2\^53\], got 0"),
        (online([1.0, -1.0], 2), "noise must be"),
        (online([1.0, 1.0], 3), r"got an array of shape \(2,\) for n = 3"),
        (online(DecayingNoise(LAPLACE, 1.0, 1.0), 3), "noise must be gaussian noise"),
        (online(1.0, 3, out=np.empty(4)), "out must be a float64 array of length 3"),
        (
            lambda: online_delta(GAUSS, 1.0, 1.0, [4, 6], index=5),
            "n must be at least the index 5, got 4",
        ),
        (
            lambda: online_limit(GAUSS, 1.0, DecayingNoise(GAUSS, 1.0, 1.0, 1.0), 1),
            r"noise must have a power above 1, got 1\.0",
        ),
        (decaying(1.0, 0.5), "c2 must be a number in"),
        (decaying(1e75, 1.0, diameter=1e70, factor=1e75), "factor must keep the scales"),
        (
            lambda: NoisyDescent(0.1, 1.0, 1.0, noise="cauchy"),
            "noise must be one of 'gaussian', 'laplace', got 'cauchy'",
        ),
        (lambda: NoisyDescent(0.1, 1.0, 1.0, contraction=1.5), "contraction must be a number in"),
        (lambda: shuffled_epsilon(GAUSS, 1.5, 1.0, 10), "delta must be a number in"),
        (lambda: online_epsilon(GAUSS, 0.1, 1.0, 10, index=11), "index must be an integer in"),
    ],
    TypeError: [
        (passes(1.0, 1.0, 1.5), r"n must be an integer in \[1, 2\^53\], got 1.5"),
        (lambda: shuffled_scale(GAUSS, 1.0, "small", 10), "delta must be a number in"),
    ],
}
test_bad_arguments_are_named = refused(REFUSED)
