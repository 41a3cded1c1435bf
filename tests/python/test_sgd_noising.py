"""Clipping, summing and noising in one call."""

import math

import numpy as np
import pytest

from renyi.noise import SecureGenerator, add_gaussian_noise
from renyi.sgd import clip_and_sum, noisy_clipped_sum, noisy_sums

RNG = np.random.default_rng(7)


def seeded():
    return SecureGenerator(insecure_reproducible=4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("clipping", ["flat", "automatic", "per_layer"])
def test_without_noise_it_is_the_clipped_sum(dtype, clipping):
    grads = [RNG.normal(size=(9, 5)).astype(dtype), RNG.normal(size=(9, 2, 3)).astype(dtype)]
    found = noisy_clipped_sum(grads, 0.4, 0.0, clipping=clipping)
    wanted = clip_and_sum(grads, 0.4, clipping=clipping).sum
    assert all(
        np.array_equal(a, b) and a.dtype == np.float64 for a, b in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [0, 3])
def test_the_noise_is_that_of_the_joint_norm(dtype, rows):
    grads = np.zeros((rows, 200_000), dtype)
    noise = noisy_clipped_sum(grads, 0.25, 3.0) / (0.25 * 3.0)
    assert abs(noise.std() - 1) < 5 / math.sqrt(2 * noise.size)
    assert abs(noise.mean()) < 5 / math.sqrt(noise.size)
    parts = noisy_clipped_sum([grads, grads], [3.0, 4.0], 2.0, clipping="per_layer")
    assert all(abs(p.std() / 10.0 - 1) < 5 / math.sqrt(2 * p.size) for p in parts)


def test_a_reproducible_generator_gives_the_same_again():
    grads = RNG.normal(size=(4, 50))
    wanted = clip_and_sum(grads, 1.0).sum
    add_gaussian_noise(wanted, math.nextafter(1.5, 2.0), generator=seeded())
    out = np.full(50, math.nan)
    found = noisy_clipped_sum(grads, 1.0, 1.5, generator=seeded(), out=out)
    assert found is out
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", 1e300])
def test_bad_noise_leaves_the_output_alone(bad):
    out = np.full(3, 7.0, np.float32)
    with pytest.raises((TypeError, ValueError), match=r"noise_multiplier must be|scale must be"):
        noisy_clipped_sum(np.ones((2, 3), np.float32), 1.0, bad, out=out)
    assert (out == 7.0).all()


def test_other_arguments_are_checked_before_there_is_a_sum():
    out = np.full(3, 7.0)
    for settings in ({"generator": 5}, {"threads": 0}, {"clipping": "none"}, {"nonfinite": "skip"}):
        with pytest.raises((TypeError, ValueError)):
            noisy_clipped_sum(np.ones((2, 3)), 1.0, 1.0, out=out, **settings)
    assert (out == 7.0).all()


@pytest.mark.parametrize("moment", ["clip_and_sum", "add_gaussian_noise"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
def test_an_interruption_leaves_no_sum_without_noise(monkeypatch, moment, error):
    whole, calls = getattr(noisy_sums, moment), []

    def interrupted(*args, **kwargs):
        whole(*args, **kwargs)
        calls.append(args)
        if len(calls) == (2 if moment == "add_gaussian_noise" else 1):
            raise error

    monkeypatch.setattr(noisy_sums, moment, interrupted)
    grads = [np.ones((4, 3)), np.ones((4, 2))]
    outputs = [np.full(6, 7.0)[::2], np.full(2, 7.0)]
    with pytest.raises(error):
        noisy_clipped_sum(grads, 1.0, 0.0, out=outputs)
    assert calls
    assert all((out == 0.0).all() for out in outputs)


def test_a_row_that_is_not_finite_leaves_the_output_alone_where_it_raises():
    out = np.full(3, 7.0)
    with pytest.raises(ValueError, match="grads must be finite, got 1 rows"):
        noisy_clipped_sum(np.full((1, 3), np.nan), 1.0, 1.0, out=out, nonfinite="raise")
    assert (out == 7.0).all()
    noisy_clipped_sum(np.full((1, 3), np.nan), 1.0, 0.0, out=out)
    assert (out == 0.0).all()
