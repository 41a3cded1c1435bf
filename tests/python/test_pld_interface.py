"""Arguments of the privacy-loss engine, its values' equality, and the trade-off function."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from renyi.pairs import (
    ApproxDPPair,
    Composition,
    DensityPair,
    DiscretePair,
    GaussianMixturePair,
    GaussianPair,
    LaplacePair,
    PoissonSampledPair,
    RandomizedResponsePair,
    ReversedPair,
    beta_lower,
    delta_bounds,
    discrete_tradeoff,
    epsilon_bounds,
    poisson_sampled_pair,
    sampled_gaussian_pair,
)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0, 0.0])
def test_numbers_outside_their_domain(bad: float) -> None:
    for name, build in {
        "mu": lambda: GaussianPair(bad),
        "scale": lambda: LaplacePair(bad),
        "sigma": lambda: sampled_gaussian_pair(0.1, bad),
    }.items():
        with pytest.raises(ValueError, match=f"^{name} must be "):
            build()


def test_named_errors() -> None:
    part = (LaplacePair(1.0), 2)
    cases = [
        (TypeError, "mu", lambda: GaussianPair("1")),  # type: ignore[arg-type]
        (TypeError, "mu", lambda: GaussianPair(1j)),  # type: ignore[arg-type]
        (ValueError, "means", lambda: GaussianMixturePair((1.0,), (0.0,))),
        (ValueError, "means", lambda: GaussianMixturePair((0.5, 0.5), (1.0,))),
        (ValueError, "weights", lambda: GaussianMixturePair((0.5, 0.6), (0.0, 1.0))),
        (TypeError, "weights", lambda: GaussianMixturePair(0.5, (0.0,))),  # type: ignore[arg-type]
        (ValueError, "p", lambda: DiscretePair((0.5, 0.6), (0.5, 0.5))),
        (ValueError, "q", lambda: DiscretePair((0.5, 0.5), (1.0,))),
        (ValueError, "p", lambda: DiscretePair(((0.5, 0.5),), (1.0,))),  # type: ignore[arg-type]
        (TypeError, "p", lambda: DiscretePair(("a", "b"), (0.5, 0.5))),  # type: ignore[arg-type]
        (ValueError, "p", lambda: DiscretePair((math.nan, 1.0), (0.5, 0.5))),
        (ValueError, "choices", lambda: RandomizedResponsePair(0.7, 0)),
        (TypeError, "choices", lambda: RandomizedResponsePair(0.7, 2.5)),  # type: ignore[arg-type]
        (ValueError, "p", lambda: RandomizedResponsePair(1.25, 4)),
        (ValueError, "epsilon", lambda: ApproxDPPair(-1.0, 0.0)),
        (ValueError, "delta", lambda: ApproxDPPair(1.0, 1.5)),
        (TypeError, "base", lambda: ReversedPair(1.0)),  # type: ignore[arg-type]
        (TypeError, "base", lambda: PoissonSampledPair(None, 0.1)),  # type: ignore[arg-type]
        (ValueError, "sample_rate", lambda: PoissonSampledPair(LaplacePair(1.0), 1.5)),
        (ValueError, "direction", lambda: poisson_sampled_pair(LaplacePair(1.0), 0.5, "both")),
        (ValueError, "sigma", lambda: sampled_gaussian_pair(0.1, 0.0)),
        (TypeError, "parts", lambda: Composition(LaplacePair(1.0))),  # type: ignore[arg-type]
        (TypeError, "parts", lambda: Composition([LaplacePair(1.0)])),  # type: ignore[list-item]
        (ValueError, "count", lambda: Composition([(LaplacePair(1.0), -1)])),
        (ValueError, "count", lambda: Composition([(LaplacePair(1.0), 10**10)])),
        (TypeError, "count", lambda: Composition([(LaplacePair(1.0), 1.5)])),  # type: ignore[list-item]
        (ValueError, "rtol", lambda: Composition([part], rtol=0.0)),
        (ValueError, "max_points", lambda: Composition([part], max_points=100)),
        (ValueError, "epsilon", lambda: delta_bounds([part], math.nan)),
        (TypeError, "epsilon", lambda: delta_bounds([part], "1")),  # type: ignore[arg-type]
        (ValueError, "delta", lambda: epsilon_bounds([part], -0.1)),
        (ValueError, "delta", lambda: epsilon_bounds([part], math.nan)),
        (ValueError, "alpha", lambda: beta_lower([part], [0.5, 1.5])),
        (TypeError, "alpha", lambda: beta_lower([part], "a")),
        (ValueError, "parts", lambda: discrete_tradeoff([part])),
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
    for error, name, build in cases:
        with pytest.raises(error, match=f"^{name} must be "):
            build()


def test_values_are_immutable_and_comparable() -> None:
    assert sampled_gaussian_pair(0.1, 2.0) == sampled_gaussian_pair(0.1, 2)
    assert hash(LaplacePair(1)) == hash(LaplacePair(1.0))
    with pytest.raises(AttributeError):
        LaplacePair(1.0).scale = 2.0  # type: ignore[misc]


def test_gaussians_merge_and_equal_parts_add_up() -> None:
    composition = Composition(
        [
            (GaussianPair(3.0), 1),
            (LaplacePair(1.0), 2),
            (GaussianPair(4.0), 1),
            (LaplacePair(1.0), 1),
        ]
    )
    assert composition.parts == (
        (GaussianPair(3.0), 1),
        (LaplacePair(1.0), 3),
        (GaussianPair(4.0), 1),
    )
    merged = Composition([(GaussianPair(5.0), 1), (LaplacePair(1.0), 3)])
    assert composition.delta_bounds(9.0) == pytest.approx(merged.delta_bounds(9.0), rel=1e-12)
    assert Composition([(LaplacePair(1.0), 0)]).parts == ()


def test_tradeoff_of_randomized_response() -> None:
    alpha, beta = discrete_tradeoff([(RandomizedResponsePair(0.6), 1)])
    found = np.interp([0.0, 0.25, 0.5, 0.75, 1.0], alpha, beta)
    np.testing.assert_allclose(found, [1.0, 0.625, 1 / 3, 1 / 6, 0.0], rtol=1e-13, atol=1e-15)
    # Twice 0.8 has the vertices (0.04, 0.36) and (0.36, 0.04).
    alpha, beta = discrete_tradeoff([(RandomizedResponsePair(0.8), 2)])
    np.testing.assert_allclose(alpha, [0.0, 0.04, 0.36, 1.0], rtol=1e-13)
    np.testing.assert_allclose(beta, [1.0, 0.36, 0.04, 0.0], rtol=1e-13)
    # Tiny probabilities keep their relative accuracy.
    alpha, beta = discrete_tradeoff([(RandomizedResponsePair(0.9), 200)])
    assert beta[-2] == pytest.approx(0.1**200, rel=1e-10)
    assert alpha[1] == pytest.approx(0.1**200, rel=1e-10)


def test_tradeoff_with_outcomes_of_one_side_only() -> None:
    alpha, beta = discrete_tradeoff([(ApproxDPPair(0.0, 0.25), 1)])
    np.testing.assert_allclose(
        np.interp([0.0, 0.375, 0.75, 1.0], alpha, beta), [0.75, 0.375, 0.0, 0.0], atol=1e-15
    )


def test_tradeoff_is_bounded_from_below() -> None:
    alphas = np.array([[0.0, 1e-6, 0.05], [0.5, 0.9, 1.0]])
    beta = beta_lower([(GaussianPair(1.0), 1)], alphas)
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
    discrete = [(RandomizedResponsePair(0.7), 20)]
    grid = np.array([0.01, 0.3])
    found = beta_lower(discrete, grid)
    exact_beta = np.interp(grid, *discrete_tradeoff(discrete))
    assert np.all(found <= exact_beta * (1 + 1e-12))
    assert np.all(found >= exact_beta - 1e-6)
