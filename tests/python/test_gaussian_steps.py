"""Mechanisms as Gaussian and Poisson-sampled Gaussian steps."""

import pytest

from renyi.accountants._steps import gaussian_steps
from renyi.mechanisms import Composed, Gaussian, Laplace, PoissonSampled, TreeAggregation

STEP = PoissonSampled(Gaussian(1.0), 0.01)


def only_step(mechanism):
    (((rate, noise), count),) = gaussian_steps(mechanism)
    assert count == 1
    return rate, noise


def test_sampled_composition_is_one_release_with_combined_noise():
    rate, noise = only_step(PoissonSampled(Gaussian(3) + Gaussian(4.0), 0.1))
    assert rate == 0.1
    assert noise <= 12 / 5  # 1/sqrt(1/9 + 1/16), rounded down
    assert noise == pytest.approx(12 / 5, rel=1e-14)
    assert only_step(PoissonSampled(Gaussian(1) * 100, 0.1))[1] == pytest.approx(0.1, rel=1e-14)
    assert only_step(PoissonSampled(Gaussian(1e-200) * 2, 0.1))[1] > 0


def test_sampling_twice_multiplies_the_rates():
    rate, _ = only_step(PoissonSampled(PoissonSampled(Gaussian(1.0), 0.1), 0.1))
    assert rate == pytest.approx(0.01, rel=1e-15)
    assert rate >= 0.1 * 0.1
    assert only_step(PoissonSampled(STEP, 1.0)) == (0.01, 1.0)


def test_two_samples_cannot_be_sampled_as_one():
    assert gaussian_steps(PoissonSampled(STEP * 2, 0.5)) is None
    assert gaussian_steps(PoissonSampled(STEP + Gaussian(1.0), 0.5)) is None
    assert gaussian_steps(PoissonSampled(STEP * 2, 1.0)) == [((0.01, 1.0), 2)]


def test_compositions_add():
    assert gaussian_steps(STEP * 3 + Gaussian(2.0)) == [((0.01, 1.0), 3), ((1.0, 2.0), 1)]
    assert gaussian_steps(Composed()) == []
    assert gaussian_steps(STEP + Laplace(1.0)) is None
    assert gaussian_steps(PoissonSampled(Laplace(1.0), 0.1)) is None


def test_a_tree_is_one_gaussian():
    rate, noise = only_step(TreeAggregation(6.0, 300))  # depth 9
    assert rate == 1.0
    assert noise <= 2.0
    assert noise == pytest.approx(2.0, rel=1e-14)
