"""Clipped sums against NumPy and exact rationals: types, strides, threads, norms, memory."""

import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_threads import GIL_ENABLED, runs_beside

from renyi.samplers import UserRows
from renyi.sgd import (
    DPSGD,
    SGD,
    ClipAccumulator,
    ClippedSum,
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
        pytest.param(18, (2_200_000,), marks=pytest.mark.slow),
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


# --- norms in exact rationals


DTYPES = [np.float32, np.float64]
RNG = np.random.default_rng(11)


def exact_square(row):
    return sum((Fraction(float(x)) ** 2 for x in row), Fraction(0))


def check(row, bound, dtype, tight=True, **options):
    """One row's contribution is the sum of a batch of one."""
    out = clip_and_sum(row[np.newaxis], bound, dtype=dtype, **options).sum
    square, before = exact_square(out), exact_square(row)
    assert square <= Fraction(bound) ** 2
    if before == 0:
        assert square == 0
    elif tight and before > Fraction(bound) ** 2:
        assert square >= Fraction(bound) ** 2 * (1 - Fraction(1, 2**20))
    elif options.get("clipping", "flat") == "flat" and before <= Fraction(bound) ** 2 * (
        1 - Fraction(1, 2**20)
    ):
        whole = row.astype(dtype)  # in double precision each entry rounded to the lattice
        assert (abs(out - whole) <= (0.0 if dtype == np.float32 else bound * 2.0**-29)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 3, 33, 400])
def test_random_rows(kind, dtype, size):
    for _ in range(20):
        row = (RNG.standard_normal(size) * 10.0 ** RNG.uniform(-3, 3)).astype(kind)
        check(row, float(10.0 ** RNG.uniform(-2, 2)), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_whose_norm_is_near_the_bound(kind, dtype):
    for size in (1, 2, 7, 100):
        for _ in range(5):
            row = RNG.standard_normal(size).astype(kind)
            norm = float(per_sample_norms(row[np.newaxis])[0])
            for ulps in (-3, -1, 0, 1, 3, 64):
                check(row, norm * (1.0 + ulps * 2.0**-53), dtype)
                check(row, norm * (1.0 + ulps * 2.0**-24), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_elements_round_up(dtype):
    """Equal elements whose products all round in the same direction."""
    for mantissa in range(40):
        row = np.full(64, 1.0 + mantissa * 2.0**-20, np.float32)
        for bound in (0.1, 1.0 / 3.0, 0.7, 2.0**-40, 5.0):
            check(row, bound, dtype)
            check(row.astype(np.float64), bound, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes(dtype):
    single, double = np.finfo(np.float32), np.finfo(np.float64)
    for row in (
        np.full(50, single.max, np.float32),
        np.full(50, single.smallest_subnormal, np.float32),
        np.full(3, 3 * single.smallest_subnormal, np.float32),
        np.array([single.max, single.tiny, 1.0, single.smallest_subnormal], np.float32),
        np.array([single.max], np.float32),
        np.array([single.tiny] * 9, np.float32),
        np.full(40, double.max),
        np.array([double.max, -double.max / 3, 1.0, double.tiny]),
        np.full(40, double.smallest_subnormal),
        np.array([1e160, 1e-160, 3e153]),
        np.array([1e-170, 2e-165]),
        np.array([1e-154, 3e-154]),
        np.array([double.max]),
    ):
        for bound in (2.0**-96, 1e-20, 1e-3, 1.0, 2.0**96):
            check(row, bound, dtype)


def test_products_that_underflow_in_single_precision():
    """Rounding up to the smallest number, element by element, is part of the bound."""
    row = np.full(5000, 1.0, np.float64)
    row[1:] = 2.0**-53 * 1.1  # times 2^-96 that is half of the smallest number, and a bit
    check(row, 2.0**-96, np.float32, tight=False)
    many = np.full(4000, 0.51 * 2.0**-149)  # each rounds up to the smallest number of the sum
    check(many, float(np.sqrt(4000)) * 0.52 * 2.0**-53, np.float32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stability", [0.0, 1e-300, 1e-6, 0.01, 3.0])
def test_automatic_clipping(dtype, stability):
    sizes = [1, 5, 60]
    scales = [1e-30, 1e-3, 1.0, 1e30]
    for size in sizes:
        for scale in scales:
            row = (RNG.standard_normal(size) * scale).astype(np.float32)
            for bound in (1e-3, 1.0, 7.0):
                options = {"clipping": "automatic", "stability": stability}
                check(row, bound, dtype, tight=False, **options)
                norm = per_sample_norms(row[np.newaxis])[0]
                out = clip_and_sum(row[np.newaxis], bound, dtype=dtype, **options).sum
                want = row.astype(float) * (bound / (norm + stability))
                np.testing.assert_allclose(
                    out, want, rtol=1e-6, atol=1e-44 if dtype == np.float32 else bound * 2.0**-28
                )
    for tiny in (np.array([5e-324, 1e-323]), np.array([1e-200, 1e-210]), np.array([1e300, 1e308])):
        check(tiny, 1.0, dtype, tight=False, clipping="automatic", stability=stability)


def test_normalised_rows_without_stability_have_the_norm():
    for scale in (1e-320, 1e-250, 1e-5, 1e5, 1e250, 1e307):
        row = np.array([3.0, 4.0]) * scale
        out = clip_and_sum(row[np.newaxis], 1.0, clipping="automatic", stability=0.0).sum
        direction = row / np.abs(row).max()
        np.testing.assert_allclose(out, direction / np.hypot(*direction), rtol=1e-8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_joint_and_per_layer_norms(dtype):
    for _ in range(40):
        parts = [
            RNG.standard_normal((1, 5)).astype(np.float32),
            RNG.standard_normal((1, 3)).astype(np.float16),
            RNG.standard_normal((1, 2, 2)) * 10.0,
        ]
        out = clip_and_sum(parts, 0.3, dtype=dtype).sum
        assert sum(exact_square(a.reshape(-1)) for a in out) <= Fraction(0.3) ** 2
        bounds = [0.1, 0.7, 1.0 / 3.0]
        layered = clip_and_sum(parts, bounds, dtype=dtype, clipping="per_layer")
        for array, bound in zip(layered.sum, bounds, strict=True):
            assert exact_square(array.reshape(-1)) <= Fraction(bound) ** 2
        if dtype == np.float64:  # otherwise nothing bounds it
            assert Fraction(layered.sensitivity) ** 2 >= sum(Fraction(b) ** 2 for b in bounds)
            assert layered.sensitivity == pytest.approx(np.linalg.norm(bounds), rel=1e-14)
        shared = clip_and_sum(parts, 0.3, dtype=dtype, clipping="per_layer")
        assert shared.sensitivity == (0.3 if dtype == np.float64 else np.inf)
        assert sum(Fraction(b) ** 2 for b in shared.max_grad_norm) <= Fraction(0.3) ** 2


def test_norms_are_right_to_rounding():
    for kind in (np.float16, np.float32, np.float64):
        for size in (1, 9, 700):
            row = RNG.standard_normal(size).astype(kind)
            square = exact_square(row)
            norm = Fraction(float(per_sample_norms(row[np.newaxis])[0]))
            assert abs(norm**2 - square) <= square * Fraction(1, 2**47)
    assert per_sample_norms(np.array([[3e-300, 4e-300]]))[0] == pytest.approx(5e-300, rel=1e-15)
    assert per_sample_norms(np.array([[3e300, 4e300]]))[0] == pytest.approx(5e300, rel=1e-15)
    assert per_sample_norms(np.full((1, 4), 1e308))[0] == np.inf  # 2e308, and the row is finite


# --- half precision and bfloat16


RNG_OF_BFLOAT16 = np.random.default_rng(6)
BITS = RNG_OF_BFLOAT16.integers(0, 2**16, (300, 41)).astype(np.uint16)
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
