"""Clipped sums against NumPy: types, strides, threads, outputs, errors, the GIL, memory."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_threads import GIL_ENABLED, runs_beside

from renyi.sgd import ClippedSum, clip_and_sum, per_sample_norms, weighted_sum

KINDS = [np.float16, np.float32, np.float64]


def expected(arrays, bound):
    count = len(arrays[0])
    flat = [a.reshape(count, int(np.prod(a.shape[1:]))).astype(float) for a in arrays]
    norms = np.sqrt(sum((a * a).sum(axis=1) for a in flat))
    factors = np.minimum(1.0, bound / np.where(norms > 0.0, norms, 1.0))
    return norms, [np.tensordot(factors, a.astype(float), 1) for a in arrays]


def rows(count, shape, kind, seed=0):
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.0, 2.0, (count,) + (1,) * len(shape)) / np.sqrt(max(np.prod(shape), 1))
    return (scale * rng.standard_normal((count, *shape))).astype(kind)


def layouts(array):
    """The same numbers, laid out in other ways."""
    yield "C", array
    yield "F", np.asfortranarray(array)
    flipped = np.ascontiguousarray(array[::-1])[::-1]
    yield "negative rows", flipped
    backwards = array[(slice(None),) + (slice(None, None, -1),) * (array.ndim - 1)].copy()
    yield "negative", backwards[(slice(None),) + (slice(None, None, -1),) * (array.ndim - 1)]
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
    wide[..., :-1:2] = array
    yield "strided", wide[..., :-1:2]
    packed = np.zeros(array.size * array.itemsize + 1, np.uint8)[1:].view(array.dtype)
    packed = packed.reshape(array.shape)
    packed[...] = array
    yield "unaligned", packed
    readonly = array.copy()
    readonly.flags.writeable = False
    yield "read-only", readonly


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("count", "shape"),
    [
        (1, (1,)),
        (5, (3, 2)),
        (40, (257,)),
        (300, (4, 70)),
        (3, (5, 2, 1000)),
        (70, (2500,)),
        (6, (140_001,)),
        (18, (2_200_000,)),
    ],
)
def test_layouts_threads_and_types(kind, count, shape):
    if np.prod(shape) > 10**6 and kind != np.float32:
        pytest.skip("large")
    array = rows(count, shape, kind)
    norms, (total,) = expected([array], 0.7)
    for dtype in (np.float32, np.float64):
        first = clip_and_sum(array, 0.7, dtype=dtype, threads=1)
        assert first.sum.dtype == dtype
        assert first.sum.shape == shape
        assert_allclose(first.private.norms, norms, rtol=1e-12)
        assert_allclose(first.sum, total, rtol=0, atol=3e-6 if dtype == np.float32 else 1e-7)
        for name, view in layouts(array) if np.prod(shape) < 10**6 else [("C", array)]:
            for threads in (1, 2, 3):
                found = clip_and_sum(view, 0.7, dtype=dtype, threads=threads)
                assert_array_equal(found.sum, first.sum, err_msg=name)
                assert_array_equal(found.private.norms, first.private.norms, err_msg=name)


def test_lists_share_a_norm():
    parts = [
        rows(9, (3, 4), np.float32),
        rows(9, (5000,), np.float16, 1),
        rows(9, (), np.float64, 2),
    ]
    norms, totals = expected(parts, 0.5)
    found = clip_and_sum(parts, 0.5, threads=2)
    assert isinstance(found.sum, list)
    assert [a.shape for a in found.sum] == [(3, 4), (5000,), ()]
    assert {a.dtype for a in found.sum} == {np.dtype(np.float64)}
    assert_allclose(found.private.norms, norms, rtol=1e-12)
    for array, total in zip(found.sum, totals, strict=True):
        assert_allclose(array, total, atol=1e-7)
    assert_allclose(per_sample_norms(parts), norms, rtol=1e-12)
    each = per_sample_norms(parts, per_layer=True)
    assert each.shape == (9, 3)
    assert_allclose(np.sqrt((each**2).sum(axis=1)), norms, rtol=1e-12)
    mixed = clip_and_sum([parts[0], np.asfortranarray(parts[1]), parts[2]], 0.5, threads=3)
    for array, other in zip(found.sum, mixed.sum, strict=True):
        assert_array_equal(array, other)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (0, 2, 2)])
def test_empty_batches_give_zeros(shape):
    found = clip_and_sum(np.empty(shape, np.float32), 1.0)
    assert found.sum.shape == shape[1:]
    assert not found.sum.any()
    assert found.sensitivity == 1.0
    assert found.private.batch_size == 0
    assert found.private.clipped_fraction == 0.0


def test_rows_without_elements_and_zero_rows():
    assert clip_and_sum(np.empty((4, 0)), 1.0).sum.shape == (0,)
    assert_array_equal(per_sample_norms(np.empty((4, 0))), np.zeros(4))
    for kind in KINDS:
        found = clip_and_sum(np.zeros((4, 3), kind), 1.0)
        assert not found.sum.any()
        assert found.private.unclipped_count == 4


def test_default_dtype():
    for kind in KINDS:
        assert clip_and_sum(np.ones((2, 2), kind), 1.0).sum.dtype == np.float64
        out = np.ones(2, np.float32)
        assert clip_and_sum(np.ones((2, 2), kind), 1.0, out=out).sum is out


def test_a_record_moves_a_sum_by_its_norm_although_it_is_rounded():
    """Where a partial sum crosses a power of two: in single precision it would move by 2."""
    small = np.full((8192, 1), 2.0**-13 * (1 + 2.0**-12), np.float32)
    before = np.full((1, 1), 2.0**11, np.float32)
    for extra in (0.0, 1.0):
        rows = np.concatenate([before - 1.0, np.full((1, 1), extra, np.float32), small])
        total = clip_and_sum(rows, 2.0**12).sum[0]
        lattice = 2.0 ** (12 - 28)
        assert total == float((np.rint(rows.astype(float) / lattice) * lattice).sum())


def test_broadcast_input_is_read():
    array = np.broadcast_to(np.float32([3.0, 4.0]), (5, 2))
    assert_allclose(clip_and_sum(array, 5.0).sum, [15.0, 20.0], rtol=1e-6)
    column = np.broadcast_to(np.float32([[1.0], [2.0]]), (2, 4))
    assert_array_equal(per_sample_norms(column), [2.0, 4.0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_contribute_zero(kind, bad):
    array = rows(10, (300,), kind)
    array[3, 7] = bad
    array[8, 299] = bad
    kept = np.delete(array, [3, 8], axis=0)
    for view in (array, np.asfortranarray(array)):
        found = clip_and_sum(view, 0.5)
        assert_allclose(found.sum, expected([kept], 0.5)[1][0], atol=1e-6)
        assert found.private.nonfinite_count == 2
        assert_array_equal(np.flatnonzero(np.isnan(found.private.norms)), [3, 8])
        assert_array_equal(np.flatnonzero(found.private.factors == 0.0), [3, 8])
    alone = np.zeros((3, 3), kind)
    np.fill_diagonal(alone, bad)
    assert clip_and_sum(alone, 1.0).private.nonfinite_count == 3
    with pytest.raises(ValueError, match="grads must be finite, got 2 rows"):
        clip_and_sum(array, 0.5, nonfinite="raise")
    out = np.full(300, 7.0, np.result_type(kind, np.float32))
    with pytest.raises(ValueError, match="finite"):
        clip_and_sum(array, 0.5, nonfinite="raise", out=out)
    assert (out == 7.0).all()


def test_weights():
    array = rows(20, (77,), np.float32)
    weights = np.random.default_rng(1).uniform(-3, 3, 20)
    want = np.tensordot(weights, array.astype(float), 1)
    assert_allclose(weighted_sum(array, weights, dtype=np.float64), want, rtol=1e-12, atol=1e-14)
    assert_allclose(weighted_sum(array, weights, threads=2), want, atol=1e-5)
    array[4] = np.nan
    weights[4] = 0.0
    assert np.isfinite(weighted_sum(array, weights)).all()
    tiny = weighted_sum(np.full((1, 2), 1e30, np.float32), [1e-60])  # no float32 is that small
    assert_allclose(tiny, 1e-30, rtol=1e-6)


def test_sums_are_associative():
    array = rows(60, (30,), np.float64)
    whole = clip_and_sum(array, 0.4)
    parts = [clip_and_sum(array[i : i + 20], 0.4) for i in (0, 20, 40)]
    total = parts[0] + pickle.loads(pickle.dumps(parts[1])) + parts[2]
    assert isinstance(total, ClippedSum)
    assert total.sensitivity == 0.4
    assert_allclose(total.sum, whole.sum, rtol=1e-12)
    assert_array_equal(total.private.norms, whole.private.norms)
    with pytest.raises(ValueError, match="max_grad_norm must be the same"):
        whole + clip_and_sum(array, 0.5)
    with pytest.raises(ValueError, match="sum must have the same shapes"):
        whole + clip_and_sum(array[:, :3], 0.4)


def test_private_numbers_are_not_shown():
    found = clip_and_sum(np.array([[3.0, 4.0]]), 1.0)
    assert "private" not in repr(found)
    assert repr(found.private) == "PrivateDiagnostics(...)"


@pytest.mark.skipif(not GIL_ENABLED, reason="there is no GIL")
def test_the_gil_is_free():
    array = rows(200, (2000,), np.float32)
    assert runs_beside(lambda: clip_and_sum(array, 1.0, threads=1))


def test_memory_stays_small():
    code = """
import resource, numpy as np
from renyi.sgd import clip_and_sum
array = np.ones((64, 1_000_000), np.float32)
clip_and_sum(array[:, :1000], 1.0, threads=2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for view in (array, array.reshape(640, 100_000), array.reshape(1_000_000, 64).T):
    clip_and_sum(view, 1.0, threads=2)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert int(result.stdout) * 1024 < 3 * 4_000_000 + 12_000_000  # of 256,000,000
