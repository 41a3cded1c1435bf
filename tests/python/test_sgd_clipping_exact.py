"""The clipped row's norm is at most max_grad_norm, with exact rationals; and not much below."""

from fractions import Fraction

import numpy as np
import pytest

from renyi.sgd import clip_and_sum, per_sample_norms

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
    for _ in range(60):
        row = (RNG.standard_normal(size) * 10.0 ** RNG.uniform(-3, 3)).astype(kind)
        check(row, float(10.0 ** RNG.uniform(-2, 2)), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_whose_norm_is_near_the_bound(kind, dtype):
    for size in (1, 2, 7, 100):
        for _ in range(60):
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
def test_extremes_of_single_precision(dtype):
    info = np.finfo(np.float32)
    for row in (
        np.full(50, info.max, np.float32),
        np.full(50, info.smallest_subnormal, np.float32),
        np.full(3, 3 * info.smallest_subnormal, np.float32),
        np.array([info.max, info.tiny, 1.0, info.smallest_subnormal], np.float32),
        np.array([info.max], np.float32),
        np.array([info.tiny] * 9, np.float32),
    ):
        for bound in (2.0**-96, 1e-20, 1e-3, 1.0, 2.0**96):
            check(row, bound, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_of_double_precision(dtype):
    info = np.finfo(np.float64)
    for row in (
        np.full(40, info.max),
        np.array([info.max, -info.max / 3, 1.0, info.tiny]),
        np.full(40, info.smallest_subnormal),
        np.array([1e160, 1e-160, 3e153]),
        np.array([1e-170, 2e-165]),
        np.array([1e-154, 3e-154]),
        np.array([info.max]),
    ):
        for bound in (2.0**-96, 1e-3, 1.0, 2.0**96):
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
