"""`renyi.theory.iteration.online` against multi-precision arithmetic: never below."""

import math
import sys

import iteration_reference as reference
import mpmath as mp
import numpy as np
import pytest
from test_iteration import LAWS, descent_with, digits, is_just_above

from renyi.theory.iteration import DecayingNoise, NoisyDescent, shuffled_delta
from renyi.theory.online import online_delta, online_deltas, online_limit, online_worst

__all__ = ["digits"]  # a fixture


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 6.0])
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


@pytest.mark.parametrize("law", LAWS)
def test_decaying_noise_agrees_with_50_digits_at_ten_thousand_steps(law):
    n = 10_000
    descent = descent_with(law)
    noise = DecayingNoise(descent, c1=100.0, c2=100.0, power=1.5)
    widths = [reference.scale(law, 100, j, 1.5, 100, 100) for j in range(1, n + 1)]
    assert all(
        abs(w / e - 1) < 1e-13 for w, e in zip(noise.scales(n)[::97], widths[::97], strict=True)
    )
    exact = reference.online(law, 1, 20, 100, widths, every=7)
    deltas = online_deltas(descent, 1.0, noise, n)
    errors = [float(abs(d / e - 1)) for d, e in zip(deltas[(n - 1) % 7 :: 7], exact, strict=True)]
    assert max(errors) < 1e-12
    assert len(errors) == 1429
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
        ("laplace", 1.5, 100.0, 100.0, 1.0),
        ("laplace", 2.0, 100.0, 10.0, 0.5),
        ("laplace", 1.5, 10.0, 1e15, 0.5),
        ("gaussian", 1.5, 100.0, 100.0, 1.0),
        ("gaussian", 1.25, 1.0, 1.0, 2.0),
        ("gaussian", 1.5, 10.0, 1e12, 0.5),
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
