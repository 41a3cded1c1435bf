"""Mechanisms are values: equal, hashable, immutable, with an algebra."""

import copy
import math
import pickle

import numpy as np
import pytest

from renyi import Composed, Gaussian, PoissonSampled

STEP = PoissonSampled(Gaussian(1.0), 0.01)


def test_equal_values_are_equal_whatever_their_number_type():
    same = [Gaussian(2), Gaussian(2.0), Gaussian(np.int64(2)), Gaussian(np.array(2.0))]
    assert len(set(same)) == 1
    assert PoissonSampled(Gaussian(2), np.float32(0.5)) == PoissonSampled(Gaussian(2.0), 0.5)
    assert Gaussian(2.0) != Gaussian(2.5)
    assert Gaussian(2.0) * 1 != Gaussian(3.0) * 1


def test_algebra_flattens_and_merges():
    a, b = Gaussian(1.0), Gaussian(2.0)
    assert (a * 2 + b) * 3 == Composed((a, 6), (b, 3)) == 3 * (b + a + a)
    assert hash(a + b) == hash(b + a)
    assert (a * 0).parts == ()
    assert Composed().parts == ()


@pytest.mark.parametrize("value", [Gaussian(1.5), STEP, STEP * 3 + Gaussian(2.0)])
def test_values_survive_pickle_and_repr(value):
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert eval(repr(value)) == value


def test_immutable():
    with pytest.raises(AttributeError):
        Gaussian(1.0).noise_multiplier = 2.0
    with pytest.raises(AttributeError):
        (STEP * 2).anything = 1


def test_sampled_composition_is_one_release_with_combined_noise():
    joint = PoissonSampled(Gaussian(3) + Gaussian(4.0), 0.1)
    ((rate, noise, count),) = joint.sampled_gaussian_steps()
    assert (rate, count) == (0.1, 1)
    assert noise <= 12 / 5  # 1/sqrt(1/9 + 1/16), rounded down
    assert noise == pytest.approx(12 / 5, rel=1e-14)
    hundred = PoissonSampled(Gaussian(1) * 100, 0.1)
    assert next(hundred.sampled_gaussian_steps())[1] == pytest.approx(0.1, rel=1e-14)
    assert next(PoissonSampled(Gaussian(1e-200) * 2, 0.1).sampled_gaussian_steps())[1] > 0


def test_sampling_twice_multiplies_the_rates():
    twice = PoissonSampled(PoissonSampled(Gaussian(1.0), 0.1), 0.1)
    ((rate, _, _),) = twice.sampled_gaussian_steps()
    assert rate == pytest.approx(0.01, rel=1e-15)
    assert rate >= 0.1 * 0.1
    assert next(PoissonSampled(STEP, 1.0).sampled_gaussian_steps())[0] == 0.01


def test_two_samples_cannot_be_sampled_as_one():
    with pytest.raises(ValueError, match="draw their own samples"):
        PoissonSampled(STEP * 2, 0.5)


@pytest.mark.parametrize("bad", [-1.0, math.nan, -math.inf])
def test_noise_outside_its_range(bad):
    with pytest.raises(ValueError, match=r"noise_multiplier must be a number in \[0, inf\]"):
        Gaussian(bad)


@pytest.mark.parametrize("bad", ["1", None, 1j, [1.0], True])
def test_noise_of_a_wrong_type(bad):
    with pytest.raises(TypeError, match="noise_multiplier must be"):
        Gaussian(bad)


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf])
def test_rate_outside_its_range(bad):
    with pytest.raises(ValueError, match=r"sample_rate must be a number in \[0, 1\]"):
        PoissonSampled(Gaussian(1.0), bad)


@pytest.mark.parametrize("bad", [1.0, "3", None, True])
def test_counts_are_integers(bad):
    with pytest.raises(TypeError, match="count must be an integer >= 0"):
        Composed((STEP, bad))


def test_parts_must_be_mechanisms():
    with pytest.raises(TypeError, match="parts must be"):
        Composed(3)
    with pytest.raises(TypeError, match="mechanism must be"):
        PoissonSampled(3, 0.5)
    with pytest.raises(TypeError):
        STEP + 3
