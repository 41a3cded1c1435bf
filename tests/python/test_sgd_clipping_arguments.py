"""Outputs of clipping and what is refused, with names and values in the messages."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from renyi._arrays import rows_of
from renyi.sgd import (
    Grid,
    LinearLayer,
    RidgeLoss,
    clip_and_sum,
    ghost_norms,
    noisy_clipped_sum,
    per_sample_norms,
    weighted_sum,
)


def rows(count, shape, kind, seed=0):
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.0, 2.0, (count,) + (1,) * len(shape)) / np.sqrt(max(np.prod(shape), 1))
    return (scale * rng.standard_normal((count, *shape))).astype(kind)


def test_outputs_are_written_and_returned():
    array = rows(50, (6, 4), np.float32)
    plain = clip_and_sum(array, 0.3, dtype=np.float32)
    out, norms = np.full((6, 4), np.nan, np.float32), np.empty(50)
    found = clip_and_sum(array, 0.3, out=out, norms_out=norms)
    assert found.sum is out
    assert_array_equal(out, plain.sum)
    assert_array_equal(norms, plain.private.norms)
    strided = np.full((6, 8), np.nan, np.float32)[:, ::2]
    clip_and_sum(array, 0.3, out=strided)
    assert_array_equal(strided, plain.sum)
    listed = [np.ones((6, 4))]
    clip_and_sum([array], 0.3, out=listed, dtype=np.float64)
    assert_allclose(listed[0], plain.sum, rtol=1e-5)
    weights = np.linspace(0, 1, 50)
    target = np.ones((6, 4), np.float32)
    assert weighted_sum(array, weights, out=target) is target
    assert_allclose(target, np.tensordot(weights, array.astype(float), 1), atol=1e-6)


GRADS = np.ones((4, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: clip_and_sum(np.ones((2, 2), int), 1.0),
            TypeError,
            "grads must be an array of fl",
        ),
        (lambda: clip_and_sum(np.ones((2, 2), ">f4"), 1.0), TypeError, "grads must be .*>f4"),
        (lambda: clip_and_sum(np.ones((2, 2), complex), 1.0), TypeError, "grads must be"),
        (lambda: clip_and_sum(np.float32(1.0), 1.0), ValueError, "grads must have a row"),
        (lambda: clip_and_sum([], 1.0), ValueError, "grads must be .* got an empty list"),
        (
            lambda: clip_and_sum([GRADS, GRADS[:2]], 1.0),
            ValueError,
            r"grads\[1\] must have as many",
        ),
        (
            lambda: clip_and_sum(GRADS, 0.0),
            ValueError,
            r"max_grad_norm must be a number in \[2\^-96",
        ),
        (lambda: clip_and_sum(GRADS, -1.0), ValueError, "max_grad_norm must be .* got -1.0"),
        (lambda: clip_and_sum(GRADS, np.nan), ValueError, "max_grad_norm must be .* got nan"),
        (lambda: clip_and_sum(GRADS, np.inf), ValueError, "max_grad_norm must be .* got inf"),
        (lambda: clip_and_sum(GRADS, GRADS[0]), TypeError, r"got \(3,\) float32$"),
        (lambda: clip_and_sum(GRADS, "1"), TypeError, "max_grad_norm must be"),
        (lambda: clip_and_sum(GRADS, 1.0, clipping="soft"), ValueError, "clipping must be one of"),
        (lambda: clip_and_sum(GRADS, 1.0, stability=-1.0), ValueError, "stability must be"),
        (lambda: clip_and_sum(GRADS, 1.0, adjacency="all"), ValueError, "adjacency must be one of"),
        (lambda: clip_and_sum(GRADS, 1.0, dtype=np.float16), TypeError, "dtype must be float32 or"),
        (lambda: clip_and_sum(GRADS, 1.0, threads=0), ValueError, "threads must be"),
        (lambda: clip_and_sum(GRADS, 1.0, nonfinite="skip"), ValueError, "nonfinite must be"),
        (
            lambda: clip_and_sum(GRADS, 1.0, out=np.ones(3), dtype=np.float32),
            TypeError,
            "out must be an array of flo",
        ),
        (lambda: clip_and_sum(GRADS, 1.0, out=[0, 0, 0]), TypeError, "out must be an array"),
        (
            lambda: clip_and_sum(GRADS, 1.0, out=np.ones(4, np.float32)),
            ValueError,
            r"out must have the shape \(3,\)",
        ),
        (
            lambda: clip_and_sum(GRADS, 1.0, out=np.broadcast_to(np.float32(0), 3)),
            ValueError,
            "out must be writeable",
        ),
        (lambda: clip_and_sum(GRADS, 1.0, out=GRADS[0]), ValueError, "out must not overlap"),
        (lambda: clip_and_sum([GRADS], 1.0, out=np.ones(3)), ValueError, "out must be a list of 1"),
        (
            lambda: clip_and_sum(GRADS, 1.0, norms_out=np.ones(4, np.float32)),
            TypeError,
            "norms_out must be an array of float64",
        ),
        (lambda: clip_and_sum(np.ones((2, 2), object), 1.0), TypeError, "got one of object"),
        (lambda: clip_and_sum(np.ones((2, 2), np.int64), 1.0), TypeError, "got one of int64"),
        (
            lambda: per_sample_norms(GRADS, out=np.ones(4, np.float32)),
            TypeError,
            "^out must be an array of float64, got one of float32",
        ),
        (lambda: weighted_sum(GRADS, [1.0]), ValueError, "weights must be 4 numbers"),
        (lambda: weighted_sum(GRADS, [1, 1, 1, np.inf]), ValueError, "weights must be finite"),
        (lambda: weighted_sum(GRADS, ["a"] * 4), ValueError, "weights must be 4 numbers"),
    ],
)
def test_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_writable_broadcast_and_overlapping_outputs_are_refused():
    view = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3,), (0,), writeable=True)
    with pytest.raises(ValueError, match="broadcast view"):
        clip_and_sum(GRADS, 1.0, out=view)
    shared = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match=r"out\[1\] must not overlap"):
        clip_and_sum([GRADS, GRADS], 1.0, out=[shared[:3], shared[1:]])
    norms = np.zeros(6)
    with pytest.raises(ValueError, match="norms_out must not overlap"):
        clip_and_sum(np.ones((4, 3)), 1.0, out=norms[:3], norms_out=norms[2:])


SAMPLES = [[3.0, 4.0], [0.0, 5.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda grads: clip_and_sum(grads, 1.0),
        lambda grads: noisy_clipped_sum(grads, 1.0, 1.0),
        lambda grads: weighted_sum(grads, [1.0, 1.0]),
        per_sample_norms,
    ],
)
@pytest.mark.parametrize(
    ("samples", "error", "message"),
    [
        (SAMPLES, TypeError, r"grads\[0\] must be an array .* got list: .* stack per-sample"),
        (tuple(map(tuple, SAMPLES)), TypeError, r"grads\[0\] must be an array .* got tuple"),
        ([np.ones((2, 2)), SAMPLES], TypeError, r"grads\[1\] must be an array"),
        ([3.0, 4.0], TypeError, r"grads\[0\] must be an array"),
        (
            list(np.array(SAMPLES)),
            ValueError,
            r"one array \(B, ...\) for each param.* got a list of 2",
        ),
    ],
)
def test_a_list_of_samples_is_not_taken_for_one_of_parameters(call, samples, error, message):
    with pytest.raises(error, match=message):
        call(samples)


def test_masked_arrays_are_refused():
    masked = np.ma.masked_array(GRADS, mask=GRADS > 0)
    calls = {
        "grads": lambda: clip_and_sum(masked, 1.0),
        r"grads\[1\]": lambda: per_sample_norms([GRADS, masked]),
        "weights": lambda: weighted_sum(GRADS, masked[:, 0]),
        r"layers\[0\]\[0\]": lambda: ghost_norms([LinearLayer(masked, GRADS)]),
        "rows": lambda: Grid(0.5).sum(masked),
        "labels": lambda: RidgeLoss(9.0, 9.0, 1.0).checked(GRADS, masked[:, 0]),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"^{name} must be an array without a mask, got"):
            call()


def test_lists_of_one_dimensional_arrays_are_of_scalar_parameters_where_it_is_known():
    given = list(np.array(SAMPLES))
    assert rows_of(given, scalars=True).shapes == [(), ()]
    assert rows_of(given[:1]).shapes == [()]
    assert rows_of([given[0], np.ones((2, 3))]).shapes == [(), (3,)]
    assert clip_and_sum(given[:1], 5.0).sum[0] == 7.0


class WithArray:
    """Only ``__array__``."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype, copy=copy)


class WithDLPack:
    """Only ``__dlpack__`` and what belongs to it."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **settings):
        return self.array.__dlpack__(**settings)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnAnotherDevice(WithDLPack):
    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **settings):
        raise BufferError("not on the CPU")


@pytest.mark.parametrize("kind", [WithArray, WithDLPack])
@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arrays_of_other_libraries_are_read_where_they_are(kind, writeable, dtype):
    array = rows(20, (3, 4), dtype)
    array.flags.writeable = writeable
    plain = clip_and_sum(array, 0.3)
    assert np.shares_memory(rows_of(kind(array)).arrays[0], array)
    assert_array_equal(clip_and_sum(kind(array), 0.3).sum, plain.sum)
    assert_array_equal(clip_and_sum([kind(array)], 0.3).sum[0], plain.sum)
    assert_array_equal(noisy_clipped_sum(kind(array), 0.3, 0.0), plain.sum)


def test_arrays_that_are_elsewhere_are_refused_by_name():
    for given in (WithDLPack(GRADS.astype(complex)), object()):
        with pytest.raises(TypeError, match="grads must be an array of"):
            clip_and_sum(given, 1.0)
    elsewhere = r" must be in the memory of the processor.* got OnAnotherDevice"
    with pytest.raises(TypeError, match="grads" + elsewhere):
        clip_and_sum(OnAnotherDevice(GRADS), 1.0)
    with pytest.raises(TypeError, match=r"grads\[1\]" + elsewhere):
        clip_and_sum([GRADS, OnAnotherDevice(GRADS)], 1.0)


def test_arrays_without_elements_are_written_to():
    out = np.zeros((0, 3))
    assert clip_and_sum(np.zeros((2, 0, 3)), 1.0, out=out).sum is out
