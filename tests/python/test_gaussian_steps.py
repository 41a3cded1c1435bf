"""Mechanisms as Gaussian and Poisson-sampled Gaussian steps."""

import pytest

from renyi.mechanisms import Composed, Gaussian, Laplace, PoissonSampled, TreeAggregation

STEP = PoissonSampled(Gaussian(1.0), 0.01)


def only_step(mechanism):
    (((rate, noise), count),) = mechanism.gaussian_steps
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
    assert PoissonSampled(STEP * 2, 0.5).gaussian_steps is None
    assert PoissonSampled(STEP + Gaussian(1.0), 0.5).gaussian_steps is None
    assert PoissonSampled(STEP * 2, 1.0).gaussian_steps == (((0.01, 1.0), 2),)


def test_compositions_add():
    assert (STEP * 3 + Gaussian(2.0)).gaussian_steps == (((0.01, 1.0), 3), ((1.0, 2.0), 1))
    assert Composed().gaussian_steps == ()
    assert (STEP + Laplace(1.0)).gaussian_steps is None
    assert PoissonSampled(Laplace(1.0), 0.1).gaussian_steps is None


def test_a_tree_is_one_gaussian():
    rate, noise = only_step(TreeAggregation(6.0, 300))  # depth 9
    assert rate == 1.0
    assert noise <= 2.0
    assert noise == pytest.approx(2.0, rel=1e-14)
