"""Rows in half precision and in bfloat16, of whatever library: the numbers that they are."""

import numpy as np
import pytest

from renyi.samplers import UserRows
from renyi.sgd import (
    DPSGD,
    SGD,
    ClipAccumulator,
    Grid,
    LinearLayer,
    TrainingPlan,
    average_clipped_at_half,
    clip_and_sum,
    ghost_clip_and_sum,
    noisy_clipped_sum,
    per_sample_norms,
    weighted_sum,
)

RNG = np.random.default_rng(6)
BITS = RNG.integers(0, 2**16, (300, 41)).astype(np.uint16)
# Exponents from 2^-64 to 2^63, and a row that is not finite.
BITS = (BITS & 0xBFFF) | np.where(BITS & 0x2000, 0x2000, 0x1000).astype(np.uint16)
BITS[3, 5] = 0x7F80


def wide(bits):
    """As numbers of bfloat16 are defined: the upper half of a binary32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def of_torch(bits):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16)


def of_ml_dtypes(bits):
    return bits.view(pytest.importorskip("ml_dtypes").bfloat16)


def of_jax(bits):
    return pytest.importorskip("jax.numpy").asarray(of_ml_dtypes(bits))


def strided(bits):
    memory = np.zeros((2 * len(bits), bits.shape[1] + 3), np.uint16)
    memory[::2, 1:-2] = bits
    return of_ml_dtypes(memory)[::2, 1:-2]


def close(bits):
    return of_ml_dtypes(np.asfortranarray(bits))


def half_of_torch(bits):
    return pytest.importorskip("torch").from_numpy(bits.view(np.float16))


def half_of_jax(bits):
    return pytest.importorskip("jax.numpy").asarray(bits.view(np.float16))


every_library = pytest.mark.parametrize("made", [of_torch, of_ml_dtypes, of_jax, strided, close])


@every_library
def test_numbers_are_taken_as_they_are(made):
    given, wanted = made(BITS), wide(BITS)
    assert np.array_equal(per_sample_norms(given), per_sample_norms(wanted), equal_nan=True)
    for clipping in ("flat", "automatic"):
        for dtype in ("f8", "f4"):
            one = clip_and_sum(given, 0.7, clipping=clipping, dtype=dtype)
            two = clip_and_sum(wanted, 0.7, clipping=clipping, dtype=dtype)
            assert one.private.nonfinite_count == 1
            assert np.array_equal(one.private.factors, two.private.factors)
            if dtype == "f8":
                assert np.array_equal(one.sum, two.sum)
    weights = np.append(np.zeros(4), np.ones(296))
    assert np.array_equal(weighted_sum(given, weights), weighted_sum(wanted, weights))
    assert np.array_equal(
        average_clipped_at_half(given, 1.0).average, average_clipped_at_half(wanted, 1.0).average
    )
    on_grid = [
        ClipAccumulator((41,), 1.0, grid=Grid(2.0**-20)).add(x).take().sum for x in (given, wanted)
    ]
    assert np.array_equal(*on_grid)


@every_library
def test_whatever_takes_rows_takes_bfloat16(made):
    bits = BITS[10:14]
    given, wanted = made(bits), wide(bits)
    assert np.array_equal(noisy_clipped_sum(given, 1.0, 0.0), clip_and_sum(wanted, 1.0).sum)
    layers = [[LinearLayer(x, np.ones((4, 2)))] for x in (given, wanted)]
    sums = [ghost_clip_and_sum(layer, 1.0).sum for layer in layers]
    assert all(np.array_equal(a, b) for a, b in zip(*sums, strict=True))
    mine = UserRows([0, 0, 1, 1]).batch(np.arange(2))
    assert np.array_equal(mine.gradients(given), mine.gradients(wanted))
    plan = TrainingPlan(100, 4, steps=9, noise_multiplier=0.0)
    steps = [DPSGD(np.zeros(41), plan, SGD(0.1)) for _ in range(2)]
    mask = np.array([True, True, False, True])
    found = [s.step(x, mask=mask) for s, x in zip(steps, (given, wanted), strict=True)]
    assert np.array_equal(*found)


def test_lists_may_mix_dtypes():
    parts = [wide(BITS[10:20]), of_ml_dtypes(BITS[10:20]), BITS[10:20].astype(np.float64)]
    one = clip_and_sum(parts, 1.0)
    two = clip_and_sum([parts[0], parts[0], parts[2]], 1.0)
    assert all(np.array_equal(a, b) for a, b in zip(one.sum, two.sum, strict=True))


@pytest.mark.parametrize("made", [half_of_torch, half_of_jax])
def test_half_precision_of_other_libraries(made):
    bits = (BITS & 0xBBFF).astype(np.uint16)
    one, two = clip_and_sum(made(bits), 0.7), clip_and_sum(bits.view(np.float16), 0.7)
    assert np.array_equal(one.sum, two.sum)


def test_without_rows_and_without_columns():
    for shape in ((0, 3), (3, 0)):
        assert not clip_and_sum(of_ml_dtypes(np.zeros(shape, np.uint16)), 1.0).sum.any()


def test_other_narrow_numbers_are_refused():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for kind in (ml_dtypes.float8_e4m3fn, ml_dtypes.int4, np.int16, [("other", "u2")]):
        with pytest.raises(TypeError, match="must be an array of float16, bfloat16, float32 or"):
            clip_and_sum(np.zeros((2, 3), kind), 1.0)
    with pytest.raises(TypeError, match="dtype must be float32 or float64"):
        clip_and_sum(np.ones((2, 3)), 1.0, dtype=ml_dtypes.bfloat16)
