"""Pairs of single mechanisms enclose sums, closed forms and other programs' values."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt
import pytest
from pair_reference import (
    assert_encloses,
    bounds,
    delta_bounds,
    epsilon_bounds,
    gaussian,
    laplace,
    sampled_pair,
)

from renyi import PLDAccountant, PrivacyLoss
from renyi._engine import LossComposition, Pair
from renyi.mechanisms import ApproxDP, DiscreteLaplace, Laplace, RandomizedResponse, RDPCurve
from renyi.pairs import (
    Composition,
    DensityPair,
    DiscretePair,
    DominatingPair,
    GeneralisedGaussianPair,
    GumbelPair,
    LogisticPair,
    MechanismPair,
    MixedPair,
    PoissonSampledPair,
    ReversedPair,
    StudentTPair,
)


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
            assert_encloses(delta_bounds([(Pair.bounded_range(epsilon), 1)], float(e)), best, 1e-12)
        assert delta_bounds([(Pair.bounded_range(epsilon), 1)], epsilon * 1.001)[1] < 1e-300


@pytest.mark.parametrize("count", [1, 2, 8])
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
    lower, upper = delta_bounds([(Pair.discrete_gaussian(sigma, shift), count)], epsilon)
    assert lower <= exact * (1 + mp.mpf("1e-20"))
    assert upper >= exact * (1 - mp.mpf("1e-20"))
    assert upper - lower <= 1e-10 * upper


def test_mixture_that_shows_the_drawn_pair() -> None:
    pairs = (laplace(1.0), gaussian(0.7), MechanismPair(DiscreteLaplace(2.0)))
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
        assert lower == pytest.approx(delta_bounds([(laplace(1.25), count)], 0.5)[0], rel=1e-3)
        assert upper == pytest.approx(delta_bounds([(laplace(1.0), count)], 0.5)[1], rel=1e-3)
    sampled = bounds(pair.sampled(0.1).reversed(), 0.02, 3)
    assert sampled[0] == pytest.approx(
        delta_bounds([(sampled_pair(laplace(1.25), 0.1, "add"), 3)], 0.02)[0], rel=1e-3
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
    answer = MechanismPair(RandomizedResponse(1.0 / (1.0 + math.exp(-20.0))))
    lower, upper = delta_bounds([(PoissonSampledPair(answer, rate), 1)], -6.0)
    assert lower <= exact * (1 + 1e-12)
    assert upper >= exact * (1 - 1e-12)


# --- noise of an even density


def constant(noise: object) -> mp.mpf:
    s = mp.mpf(noise.scale)
    if isinstance(noise, GeneralisedGaussianPair):
        return 1 / (2 * s * mp.gamma(1 + 1 / mp.mpf(noise.shape)))
    n = mp.mpf(noise.degrees)
    return mp.gamma((n + 1) / 2) / (mp.gamma(n / 2) * mp.sqrt(n * mp.pi) * s)


@pytest.mark.parametrize(
    "noise", [GeneralisedGaussianPair(1.3, 3.0), StudentTPair(5.0, 3.0)], ids=repr
)
def test_two_uses(noise):
    v = (np.arange(4000) + 0.5) * 0.1 - 200.0
    if isinstance(noise, StudentTPair):
        logs = [-3.0 * np.log1p(((v - c) / 3.0) ** 2 / 5.0) for c in (0.5, -0.5)]
    else:
        logs = [-((np.abs(v - c) / 3.0) ** 1.3) for c in (0.5, -0.5)]
    p, q = (np.exp(one) * 0.1 * float(constant(noise)) for one in logs)
    for epsilon in (0.2, 0.5):
        brute = 0.0
        for p_v, q_v in zip(p, q, strict=True):
            brute += float(np.maximum(p_v * p - math.exp(epsilon) * q_v * q, 0.0).sum())
        lower, upper = delta_bounds([(noise, 2)], epsilon, rtol=1e-6)
        assert 0.0 < lower <= upper <= lower * (1.0 + 1e-5)
        assert upper == pytest.approx(brute, rel=2e-4)


@pytest.mark.parametrize("scale", [0.05, 1.0, 30.0])
def test_logistic(scale):
    with mp.workdps(40):
        b = mp.mpf(scale)
        for share in (-0.5, 0.0, 0.3, 0.9):
            e = mp.mpf(share / scale)
            w = mp.exp((1 / b - e) / 2)  # losses above e: w' < w, uniform under Q
            y = (w - 1) / (mp.exp(1 / b) - w)  # e^(-x/b)
            p, q = (1 - 1 / (1 + t * y) for t in (mp.exp(1 / b), mp.mpf(1)))
            lower, upper = delta_bounds([(LogisticPair(scale), 1)], share / scale)
            exact = p - mp.exp(mp.mpf(share / scale)) * q
            assert lower * (1 - 1e-12) <= exact <= upper * (1 + 1e-12)
            assert upper - lower <= 1e-9 * upper


def test_bounded_loss():
    noise = StudentTPair(3.0, 1.0)
    top = noise.support[1]
    assert delta_bounds([(noise, 1)], top * 1.0001)[1] < 1e-300
    assert delta_bounds([(noise, 1)], top * 0.999)[0] > 0.0


# --- arguments, equality and the trade-off function


def test_named_errors_of_pairs() -> None:
    one, part = GumbelPair(1.0), (GumbelPair(1.0), 2)
    cases = [
        (ValueError, "scale", lambda: GumbelPair(math.inf)),
        (TypeError, "scale", lambda: GumbelPair("1")),  # type: ignore[arg-type]
        (ValueError, "scale", lambda: LogisticPair(1e-3)),
        (TypeError, "mechanism", lambda: MechanismPair(one)),  # type: ignore[arg-type]
        (TypeError, "mechanism", lambda: MechanismPair(Laplace)),  # type: ignore[arg-type]
        (ValueError, "adjacency", lambda: MechanismPair(Laplace(1.0), "both")),  # type: ignore[arg-type]
        (ValueError, "direction", lambda: MechanismPair(Laplace(1.0), direction="both")),  # type: ignore[arg-type]
        (TypeError, "mechanism", lambda: MechanismPair(RDPCurve([2.0], [1.0]))),
        (ValueError, "weights", lambda: MixedPair((0.6, 0.6), (one, one))),
        (ValueError, "weights", lambda: MixedPair((-0.1,), (one,))),
        (TypeError, "weights and pairs", lambda: MixedPair(0.1, (one,))),  # type: ignore[arg-type]
        (ValueError, "pairs", lambda: MixedPair((0.1,), ())),
        (TypeError, "pairs", lambda: MixedPair((0.1,), (1,))),  # type: ignore[arg-type]
        (ValueError, "p", lambda: DiscretePair((0.5, 0.6), (0.5, 0.5))),
        (ValueError, "q", lambda: DiscretePair((0.5, 0.5), (1.0,))),
        (ValueError, "p", lambda: DiscretePair(((0.5, 0.5),), (1.0,))),  # type: ignore[arg-type]
        (TypeError, "p", lambda: DiscretePair(("a", "b"), (0.5, 0.5))),  # type: ignore[arg-type]
        (ValueError, "p", lambda: DiscretePair((math.nan, 1.0), (0.5, 0.5))),
        (TypeError, "base", lambda: ReversedPair(1.0)),  # type: ignore[arg-type]
        (TypeError, "base", lambda: PoissonSampledPair(None, 0.1)),  # type: ignore[arg-type]
        (ValueError, "sample_rate", lambda: PoissonSampledPair(one, 1.5)),
        (TypeError, "parts", lambda: Composition(one)),  # type: ignore[arg-type]
        (TypeError, "parts", lambda: Composition([one])),  # type: ignore[list-item]
        (ValueError, "count", lambda: Composition([(one, -1)])),
        (ValueError, "count", lambda: Composition([(one, 10**10)])),
        (TypeError, "count", lambda: Composition([(one, 1.5)])),  # type: ignore[list-item]
        (ValueError, "rtol", lambda: Composition([part], rtol=0.0)),
        (ValueError, "max_points", lambda: Composition([part], max_points=100)),
        (ValueError, "epsilon", lambda: delta_bounds([part], math.nan)),
        (TypeError, "epsilon", lambda: delta_bounds([part], "1")),  # type: ignore[arg-type]
        (ValueError, "delta", lambda: epsilon_bounds([part], -0.1)),
        (ValueError, "delta", lambda: epsilon_bounds([part], math.nan)),
        (ValueError, "parts", lambda: Composition([part]).discrete_tradeoff()),
        (TypeError, "log_p", lambda: DensityPair(1.0, np.sin, 0.0, 1.0)),  # type: ignore[arg-type]
        (ValueError, "end", lambda: DensityPair(np.sin, np.sin, 1.0, 0.0)),
        (
            ValueError,
            "log_p and log_q",
            lambda: DensityPair(np.zeros_like, np.zeros_like, 0.0, 2.0),
        ),
        (ValueError, "tolerance", lambda: DensityPair(np.sin, np.sin, 0.0, 1.0, (), 1.0)),
        (ValueError, "breaks", lambda: DensityPair(np.sin, np.sin, 0.0, 1.0, (2.0,))),
    ]
    for bad in (0.0, -1.0, math.inf, 1e7, 0.001):
        for kind, first in ((GeneralisedGaussianPair, "shape"), (StudentTPair, "degrees")):
            cases.append((ValueError, "scale", lambda kind=kind, bad=bad: kind(3.0, bad)))
            cases.append((ValueError, first, lambda kind=kind, bad=bad: kind(bad, 1.0)))
    either = (TypeError, ValueError)
    for bad in (None, "1", True, math.nan, 1j):
        cases.append((either, "scale", lambda bad=bad: GeneralisedGaussianPair(2.0, bad)))
        cases.append((either, "degrees", lambda bad=bad: StudentTPair(bad, 1.0)))
        cases.append((either, "scale", lambda bad=bad: LogisticPair(bad)))
    cases.append((ValueError, "scale", lambda: GeneralisedGaussianPair(9.0, 0.5)))  # losses
    for error, name, build in cases:
        with pytest.raises(error, match=f"^{name} must be "):
            build()


def test_values_are_immutable_and_comparable() -> None:
    for build in (
        lambda: GumbelPair(2),
        lambda: MechanismPair(Laplace(1), "replace_one"),
        lambda: MixedPair([0.5], [laplace(1)]),
        lambda: PoissonSampledPair(laplace(1.0), 0.5),
    ):
        assert build() == build()
        assert hash(build()) == hash(build())
    assert MechanismPair(Laplace(1.0)) != MechanismPair(Laplace(1.0), "replace_one")
    with pytest.raises(AttributeError):
        GumbelPair(1.0).scale = 2.0  # type: ignore[misc]


def test_gaussians_merge_and_equal_parts_add_up() -> None:
    composition = Composition(
        [(gaussian(3.0), 1), (laplace(1.0), 2), (gaussian(4.0), 1), (laplace(1.0), 1)]
    )
    assert composition.parts == ((gaussian(3.0), 1), (laplace(1.0), 3), (gaussian(4.0), 1))
    merged = Composition([(gaussian(5.0), 1), (laplace(1.0), 3)])
    assert composition.delta_bounds(9.0) == pytest.approx(merged.delta_bounds(9.0), rel=1e-12)
    assert Composition([(laplace(1.0), 0)]).parts == ()


def test_tradeoff_of_randomized_response() -> None:
    alpha, beta = Composition([(MechanismPair(RandomizedResponse(0.6)), 1)]).discrete_tradeoff()
    found = np.interp([0.0, 0.25, 0.5, 0.75, 1.0], alpha, beta)
    np.testing.assert_allclose(found, [1.0, 0.625, 1 / 3, 1 / 6, 0.0], rtol=1e-13, atol=1e-15)
    # Twice 0.8 has the vertices (0.04, 0.36) and (0.36, 0.04).
    alpha, beta = Composition([(MechanismPair(RandomizedResponse(0.8)), 2)]).discrete_tradeoff()
    np.testing.assert_allclose(alpha, [0.0, 0.04, 0.36, 1.0], rtol=1e-13)
    np.testing.assert_allclose(beta, [1.0, 0.36, 0.04, 0.0], rtol=1e-13)
    # Tiny probabilities keep their relative accuracy.
    alpha, beta = Composition([(MechanismPair(RandomizedResponse(0.9)), 200)]).discrete_tradeoff()
    assert beta[-2] == pytest.approx(0.1**200, rel=1e-10)
    assert alpha[1] == pytest.approx(0.1**200, rel=1e-10)


def test_tradeoff_with_outcomes_of_one_side_only() -> None:
    alpha, beta = Composition([(MechanismPair(ApproxDP(0.0, 0.25)), 1)]).discrete_tradeoff()
    np.testing.assert_allclose(
        np.interp([0.0, 0.375, 0.75, 1.0], alpha, beta), [0.75, 0.375, 0.0, 0.0], atol=1e-15
    )


def beta_of(pair: DominatingPair, count: int, alpha: npt.NDArray[np.float64]) -> Any:
    account = PLDAccountant().compose(PrivacyLoss(pair), count)
    return account.get_beta(alpha, direction="remove")


def test_tradeoff_is_bounded_from_below() -> None:
    alphas = np.array([[0.0, 1e-6, 0.05], [0.5, 0.9, 1.0]])
    beta = beta_of(gaussian(1.0), 1, alphas)
    assert beta.shape == alphas.shape
    for a, b in zip(alphas.ravel(), beta.ravel(), strict=True):
        exact = (
            0.0
            if a == 1.0
            else 1.0
            if a == 0.0
            else float(mp.ncdf(-mp.sqrt(2) * mp.erfinv(2 * a - 1) - 1))
        )
        assert b <= exact * (1.0 + 1e-14)
        assert b >= exact - 1e-6
    answers, grid = MechanismPair(RandomizedResponse(0.7)), np.array([0.01, 0.3])
    found = beta_of(answers, 20, grid)
    exact_beta = np.interp(grid, *Composition([(answers, 20)]).discrete_tradeoff())
    assert np.all(found <= exact_beta * (1 + 1e-12))
    assert np.all(found >= exact_beta - 1e-6)
