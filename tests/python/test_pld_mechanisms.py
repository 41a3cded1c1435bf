"""Pairs of single mechanisms enclose sums, closed forms and other programs' values."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from pair_reference import bounds

from renyi._engine import LossComposition, Pair
from renyi.pairs import (
    BoundedRangePair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    DiscretePair,
    DominatingPair,
    GaussianMixturePair,
    GaussianPair,
    GumbelPair,
    LaplacePair,
    MixedPair,
    PoissonSampledPair,
    RandomizedResponsePair,
    ReversedPair,
    delta_bounds,
    poisson_sampled_pair,
)


def assert_encloses(bounds: tuple[float, float], exact: mp.mpf, rtol: float) -> None:
    lower, upper = bounds
    assert mp.mpf(lower) <= exact <= mp.mpf(upper)
    assert upper - lower <= rtol * upper + 1e-300


def reversed_delta(delta: mp.mpf, epsilon: float) -> mp.mpf:
    """delta of (Q, P) at epsilon from that of (P, Q) at -epsilon."""
    return -mp.expm1(epsilon) + mp.exp(epsilon) * delta


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 20.0, 300.0])
def test_bounded_range_is_the_worst_two_point_pair(epsilon: float) -> None:
    with mp.workdps(60):
        big = mp.exp(epsilon)
        for share in (-0.5, 0.0, 0.3, 0.9):
            e = mp.mpf(share * epsilon)
            # Losses t and t - epsilon, P-mass (E - e^t)/(E - 1) on the upper one.
            values = [
                (big - mp.exp(t)) / (big - 1) * -mp.expm1(e - t)
                + max(mp.exp(t) - 1, 0) / (big - 1) * max(-mp.expm1(e - t + epsilon), 0)
                for t in (max(e, 0) + (epsilon - max(e, 0)) * k / 400 for k in range(401))
            ]
            top = (epsilon + e) / 2
            best = (big - mp.exp(top)) / (big - 1) * -mp.expm1(e - top)
            assert max(values) <= best * (1 + mp.mpf("1e-50"))
            assert_encloses(delta_bounds([(BoundedRangePair(epsilon), 1)], float(e)), best, 1e-12)
        assert delta_bounds([(BoundedRangePair(epsilon), 1)], epsilon * 1.001)[1] < 1e-300


def gumbel_delta(scale: float, epsilon: float, reverse: bool) -> mp.mpf:
    if reverse:
        return reversed_delta(gumbel_delta(scale, -epsilon, False), epsilon)
    t, e = 1 / mp.mpf(scale), mp.mpf(epsilon)
    u = (t - e) / mp.expm1(t)
    return max(-mp.expm1(-mp.exp(t) * u) + mp.exp(e) * mp.expm1(-u), 0) if u > 0 else mp.mpf(0)


@pytest.mark.parametrize("scale", [0.1, 0.7, 5.0, 1e4, 1e9])
@pytest.mark.parametrize("share", [-2.0, -0.1, 0.0, 0.3, 0.99, 4.0])
def test_gumbel(scale: float, share: float) -> None:
    epsilon = share / scale
    with mp.workdps(60):
        for reverse in (False, True):
            pair = ReversedPair(GumbelPair(scale)) if reverse else GumbelPair(scale)
            exact = gumbel_delta(scale, epsilon, reverse)
            lower, upper = delta_bounds([(pair, 1)], epsilon)
            assert lower <= exact <= upper
            assert upper - lower <= 1e-9 * exact + 1e-15 / scale
        reverse_pair = Pair.gumbel(scale).reversed()
        worse = max(gumbel_delta(scale, epsilon, side) for side in (False, True))
        lower, upper = bounds(Pair.spliced(reverse_pair, 1.0, reverse_pair), epsilon)
        assert lower <= worse <= upper


@pytest.mark.parametrize(
    ("pair", "count", "values"),
    [
        # (epsilon, delta) as dp_accounting 0.6 gives them at intervals of 1e-5, rounded up.
        (LaplacePair(2.0), 20, [(1.0, 0.5371924279983), (4.0, 0.0973023327158)]),
        (DiscreteLaplacePair(3.0, 2), 10, [(1.0, 0.5026330864255), (3.0, 0.1652684050380)]),
        (DiscreteGaussianPair(3.0, 2), 10, [(1.0, 0.5474934663857), (5.0, 0.0484929534340)]),
        (RandomizedResponsePair(0.7, 4), 10, [(1.0, 0.9822764633608), (4.0, 0.9288414650509)]),
        (
            GaussianMixturePair((0.81, 0.18, 0.01), (0.0, 1.0, 2.0), 2.0),
            10,
            [(0.1, 0.0929122523213), (0.5, 0.0175128879811)],
        ),
        (
            ReversedPair(GaussianMixturePair((0.81, 0.18, 0.01), (0.0, 1.0, 2.0), 2.0)),
            10,
            [(0.1, 0.0870220520429), (0.5, 0.0060083045027)],
        ),
        (
            poisson_sampled_pair(LaplacePair(1.0), 0.05),
            100,
            [(0.3, 0.0825200061814), (1.0, 0.0047258096111)],
        ),
        (
            poisson_sampled_pair(LaplacePair(1.0), 0.05, "add"),
            100,
            [(0.3, 0.0787223776707), (1.0, 0.0026919495387)],
        ),
        (
            poisson_sampled_pair(DiscreteLaplacePair(3.0, 2), 0.1),
            20,
            [(0.1, 0.0741676639146), (0.5, 0.0065451819424)],
        ),
        (
            poisson_sampled_pair(DiscreteLaplacePair(3.0, 2), 0.1, "add"),
            20,
            [(0.1, 0.0721365416062), (0.5, 0.0039979443539)],
        ),
        (
            poisson_sampled_pair(DiscreteGaussianPair(3.0), 0.1),
            20,
            [(0.1, 0.0255928052218), (0.5, 9.25076361962e-5)],
        ),
        (
            poisson_sampled_pair(DiscreteGaussianPair(3.0), 0.1, "add"),
            20,
            [(0.1, 0.0232673793598), (0.5, 3.74857043699e-6)],
        ),
    ],
)
def test_values_of_another_program(
    pair: DominatingPair, count: int, values: list[tuple[float, float]]
) -> None:
    for epsilon, other in values:
        lower, upper = delta_bounds([(pair, count)], epsilon, rtol=1e-4, max_points=2**16)
        assert lower <= other * (1.0 + 1e-9)  # it is an upper bound too
        # Its losses are rounded up, by up to the interval each.
        assert other * (1.0 - 2e-2) <= upper <= other * (1.0 + 3e-4)


@pytest.mark.parametrize("count", [1, 2, 20])
def test_discrete_gaussian_composition_by_convolution(count: int) -> None:
    # The sum of count losses is a lattice law: convolve the masses in multi-precision.
    sigma, shift, epsilon = 2.0, 1, 0.4
    with mp.workdps(30):
        points = range(-40, 42)
        masses = [mp.exp(-(mp.mpf(x - shift) ** 2) / (2 * mp.mpf(sigma) ** 2)) for x in points]
        total = mp.fsum(masses)
        law = {0: mp.mpf(1)}
        for _ in range(count):
            found: dict[int, mp.mpf] = {}
            for have, mass in law.items():
                for x, m in zip(points, masses, strict=True):
                    key = have + 2 * x - shift
                    found[key] = found.get(key, mp.mpf(0)) + mass * m / total
            law = {key: mass for key, mass in found.items() if mass > mp.mpf("1e-30")}
        unit = mp.mpf(shift) / (2 * mp.mpf(sigma) ** 2)
        exact = mp.fsum(
            mass * -mp.expm1(epsilon - key * unit)
            for key, mass in law.items()
            if key * unit > epsilon
        )
    lower, upper = delta_bounds([(DiscreteGaussianPair(sigma, shift), count)], epsilon)
    assert lower <= exact * (1 + mp.mpf("1e-20"))
    assert upper >= exact * (1 - mp.mpf("1e-20"))
    assert upper - lower <= 1e-10 * upper


def test_mixture_that_shows_the_drawn_pair() -> None:
    pairs = (LaplacePair(1.0), GaussianPair(0.7), DiscreteLaplacePair(2.0))
    weights = (0.5, 0.2, 0.1)
    mixed = MixedPair(weights, pairs)
    for epsilon in (-0.4, 0.0, 0.3, 0.9):
        parts = [delta_bounds([(pair, 1)], epsilon) for pair in pairs]
        rest = 0.2 * max(-math.expm1(epsilon), 0.0)
        expected = rest + sum(w * d[0] for w, d in zip(weights, parts, strict=True))
        lower, upper = delta_bounds([(mixed, 1)], epsilon)
        assert lower <= expected * (1 + 1e-13)
        assert upper >= expected * (1 - 1e-13)
        assert upper - lower <= 1e-12 * upper
    # Two uses: condition on what was drawn.
    drawn = [(0.2, DiscretePair((1.0,), (1.0,))), *zip(weights, pairs, strict=True)]
    low = high = 0.0
    for (w, a), (v, b) in itertools.product(drawn, repeat=2):
        bounds = delta_bounds([(a, 1), (b, 1)], 0.3)
        low, high = low + w * v * bounds[0], high + w * v * bounds[1]
    lower, upper = delta_bounds([(mixed, 2)], 0.3)
    assert lower <= high
    assert upper >= low
    assert upper - lower <= 1e-4 * upper


def test_bracketed_pairs() -> None:
    # Far apart, so that each side is composed to 1e-3 only.
    pair = Pair.bracketed(Pair.laplace(1.0), Pair.laplace(1.25))
    for count in (1, 5):
        lower, upper = bounds(pair, 0.5, count)
        assert lower == pytest.approx(delta_bounds([(LaplacePair(1.25), count)], 0.5)[0], rel=1e-3)
        assert upper == pytest.approx(delta_bounds([(LaplacePair(1.0), count)], 0.5)[1], rel=1e-3)
    sampled = bounds(pair.sampled(0.1).reversed(), 0.02, 3)
    assert sampled[0] == pytest.approx(
        delta_bounds([(poisson_sampled_pair(LaplacePair(1.25), 0.1, "add"), 3)], 0.02)[0], rel=1e-3
    )
    nothing, revealed = (
        Pair.discrete(np.ones(1), np.ones(1)),
        Pair.discrete(np.array([1.0, 0.0]), np.array([0.0, 1.0])),
    )
    low, high = LossComposition(
        [(Pair.bracketed(revealed, Pair.gaussian(100.0)), 1), (Pair.laplace(1.0), 10)], 1e-5, 2**20
    ).delta_bounds(1.0)
    assert 0.9999 < low <= high == 1.0
    anything = Pair.bracketed(revealed, nothing)
    assert bounds(anything, 1.0, 3) == (0.0, 1.0)
    for uses in (1, 2):
        found = LossComposition([(anything, uses)], 1e-5, 2**20).epsilon_bounds(0.1)
        assert found[0] <= 0.0
        assert found[1] == math.inf


@pytest.mark.parametrize("rate", [0.5, 1.0 - 1e-9, 1.0 - 2.0**-40])
def test_sampling_at_rates_close_to_one(rate: float) -> None:
    # Far below 0 the loss is log(1 - q + q e^l), a sum that no difference may replace.
    with mp.workdps(60):
        q, e = mp.mpf(rate), mp.mpf(-6)
        p_high = 1 / (1 + mp.exp(mp.mpf(-20)))
        outcomes = [(p_high, 1 - p_high), (1 - p_high, p_high)]
        mixed = [((1 - q) * b + q * a, b) for a, b in outcomes]
        exact = mp.fsum(max(a - mp.exp(e) * b, 0) for a, b in mixed)
    answer = RandomizedResponsePair(1.0 / (1.0 + math.exp(-20.0)))
    lower, upper = delta_bounds([(PoissonSampledPair(answer, rate), 1)], -6.0)
    assert lower <= exact * (1 + 1e-12)
    assert upper >= exact * (1 - 1e-12)


def test_named_errors() -> None:
    cases = [
        (ValueError, "sigma", lambda: DiscreteGaussianPair(1e5)),
        (ValueError, "sigma", lambda: DiscreteGaussianPair(0.1, 1000)),
        (TypeError, "shift", lambda: DiscreteGaussianPair(1.0, 1.5)),  # type: ignore[arg-type]
        (ValueError, "shift", lambda: DiscreteLaplacePair(1.0, 0)),
        (ValueError, "scale", lambda: DiscreteLaplacePair(1e-3)),
        (ValueError, "scale", lambda: GumbelPair(math.inf)),
        (TypeError, "scale", lambda: GumbelPair("1")),  # type: ignore[arg-type]
        (ValueError, "epsilon", lambda: BoundedRangePair(0.0)),
        (
            ValueError,
            "weights",
            lambda: MixedPair((0.6, 0.6), (LaplacePair(1.0), LaplacePair(2.0))),
        ),
        (ValueError, "weights", lambda: MixedPair((-0.1,), (LaplacePair(1.0),))),
        (ValueError, "pairs", lambda: MixedPair((0.1,), ())),
        (TypeError, "pairs", lambda: MixedPair((0.1,), (1,))),  # type: ignore[arg-type]
        (TypeError, "weights", lambda: MixedPair(0.1, (LaplacePair(1.0),))),  # type: ignore[arg-type]
    ]
    for error, name, build in cases:
        with pytest.raises(error, match=f"^{name} .*must be "):
            build()


def test_values_are_equal_and_hashable() -> None:
    for build in (
        lambda: DiscreteGaussianPair(2.0, 3),
        lambda: DiscreteLaplacePair(2, 3),
        lambda: BoundedRangePair(1),
        lambda: GumbelPair(2),
        lambda: MixedPair([0.5], [LaplacePair(1.0)]),
        lambda: PoissonSampledPair(LaplacePair(1.0), 0.5),
    ):
        assert build() == build()
        assert hash(build()) == hash(build())
