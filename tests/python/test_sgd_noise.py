"""Noise: laws, tails, independence, threads, layouts of memory, and what is refused."""

import math
import re

import mpmath
import numpy as np
import pytest

from renyi import noise
from renyi.noise import SecureGenerator

N = 1 << 20


def seeded(seed=1):
    return SecureGenerator(insecure_reproducible=seed)


def normal_cdf(x):
    return np.array([0.5 * math.erfc(-float(v) / math.sqrt(2)) for v in x])


def laplace_cdf(x):
    return np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1 - 0.5 * np.exp(-np.maximum(x, 0)))


def kolmogorov(sample, cdf):
    """Return the statistic sqrt(n) D, which exceeds 2.5 with probability 2 e^(-12.5) = 7e-6."""
    ordered = np.sort(sample.astype(np.float64))
    n = len(ordered)
    values = cdf(ordered)
    steps = np.arange(n) / n
    return math.sqrt(n) * max(np.max(values - steps), np.max(steps + 1 / n - values))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussian_law(dtype):
    x = noise.gaussian_noise(N, 1.0, dtype=dtype, generator=seeded(3)).astype(np.float64)
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        assert abs((x**power).mean() - moment) < 5 * math.sqrt(variance / N), power
    assert kolmogorov(x[: N // 8], normal_cdf) < 2.5
    for sigmas in (1.0, 2.0, 3.0, 4.0, 4.5):
        expected = N * math.erfc(sigmas / math.sqrt(2))
        seen = np.count_nonzero(abs(x) > sigmas)
        assert abs(seen - expected) < 5 * math.sqrt(expected) + 3, sigmas


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_laplace_law(dtype):
    x = noise.laplace_noise(N, 1.0, dtype=dtype, generator=seeded(4)).astype(np.float64)
    assert abs(x.mean()) < 5 * math.sqrt(2 / N)
    assert abs((x**2).mean() - 2) < 5 * math.sqrt(20 / N)
    assert kolmogorov(x[: N // 8], laplace_cdf) < 2.5
    for reach in (1.0, 3.0, 6.0, 9.0, 12.0):
        expected = N * math.exp(-reach)
        assert abs(np.count_nonzero(abs(x) > reach) - expected) < 5 * math.sqrt(expected) + 3


def test_neighbours_in_the_stream_are_independent():
    x = noise.gaussian_noise(N, 1.0, dtype=np.float32, generator=seeded(6)).astype(np.float64)
    for lag in (1, 2, 3, 16, 128, 255, 256, 257, 512, 1024):  # the pair of a number is 256 on
        for a, b in ((x, x), (x**2 - 1, (x**2 - 1) / 2), (abs(x), x)):
            product = (a[:-lag] - a.mean()) * b[lag:]
            assert abs(product.mean()) < 5 * product.std() / math.sqrt(len(product)), lag
    cells = np.floor(4 * (x[: N // 2] > 0) + 2 * (x[N // 2 :] > 0) + (x[: N // 2] > 1))
    assert kolmogorov(x[:256], normal_cdf) < 2.5
    assert len(np.unique(cells)) == 6


def test_streams_and_threads_are_independent():
    parts = [
        noise.gaussian_noise(N // 4, 1.0, generator=g) for g in [seeded(7), *seeded(7).spawn(3)]
    ]
    correlation = np.corrcoef(parts) - np.eye(4)
    assert np.max(abs(correlation)) < 5.2 / math.sqrt(N // 4)
    whole = noise.gaussian_noise(N, 1.0, generator=seeded(8), threads=4).reshape(4, -1)
    assert np.max(abs(np.corrcoef(whole) - np.eye(4))) < 5.2 / math.sqrt(N // 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("noise", [noise.gaussian_noise, noise.laplace_noise])
def test_the_number_of_threads_changes_nothing(noise, dtype):
    one, three, default = (
        noise(200_001, 2.5, dtype=dtype, generator=seeded(), threads=threads)
        for threads in (1, 3, None)
    )
    assert one.tobytes() == three.tobytes() == default.tobytes()
    assert one.dtype == dtype


@pytest.mark.parametrize(
    ("noise", "log_mass", "tail"),
    [
        (noise.discrete_gaussian_noise, lambda z: -z * z / 2, 4.2),
        (noise.discrete_laplace_noise, lambda z: -abs(z), 9.0),
    ],
    ids=["gaussian", "laplace"],
)
@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5, 7.0])
def test_integers_by_chi_square(noise, log_mass, tail, scale):
    y = noise(100_000, scale, generator=seeded(9))
    reach = math.ceil(tail * scale)
    inside = np.arange(-reach, reach + 1)
    with mpmath.workdps(30):
        total = mpmath.nsum(lambda k: mpmath.exp(log_mass(k / scale)), [-900, 900])
        mass = [float(mpmath.exp(log_mass(k / scale)) / total) for k in map(float, inside)]
    expected = len(y) * np.array([*mass, 1 - sum(mass)])
    seen = np.array([*(np.count_nonzero(y == k) for k in inside), sum(abs(y) > reach)])
    keep = expected > 5
    chi_square = float((((seen - expected) ** 2 / expected)[keep]).sum())
    freedom = int(keep.sum()) - 1
    cube_root = (chi_square / freedom) ** (1 / 3) - 1 + 2 / (9 * freedom)
    assert cube_root / math.sqrt(2 / (9 * freedom)) < 4.3


def test_added_in_place_whatever_the_layout():
    shape = (37, 53, 11)
    flat = noise.gaussian_noise(math.prod(shape), 2.0, dtype=np.float32, generator=seeded())
    for order in "CF":
        array = np.zeros(shape, np.float32, order=order)
        assert noise.add_gaussian_noise(array, 2.0, generator=seeded()) is array
        assert np.array_equal(array.ravel(order="K"), flat)
    for view in (np.s_[::2, :, 1:], np.s_[::-1, ::3], np.s_[3, :, 4]):
        array = np.full(shape, 7.0, np.float32)
        part = array[view]
        noise.add_gaussian_noise(part, 2.0, generator=seeded())
        expected = flat[: part.size].reshape(part.shape)
        assert np.array_equal(part, np.float32(7.0) + expected)  # 7 is on the lattice
        assert np.count_nonzero(array != 7.0) <= part.size
    assert noise.add_gaussian_noise(np.zeros(()), 1.0, generator=seeded()) != 0.0
    assert noise.add_gaussian_noise(np.zeros((0, 3)), 1.0).shape == (0, 3)


def test_out_is_filled_whatever_its_layout():
    reference = noise.laplace_noise((20, 30), 1.0, generator=seeded())
    out = np.empty((40, 30))[::2]
    assert noise.laplace_noise((20, 30), 1.0, generator=seeded(), out=out) is out
    assert np.array_equal(out, reference)
    for add, draw in (
        (noise.add_discrete_gaussian_noise, noise.discrete_gaussian_noise),
        (noise.add_discrete_laplace_noise, noise.discrete_laplace_noise),
    ):
        integers = np.zeros((6, 4), np.int64)[:, ::2]
        assert add(integers, 100.0, generator=seeded()) is integers
        assert np.array_equal(integers, draw((6, 2), 100.0, generator=seeded()))
        assert np.array_equal(integers, draw((6, 2), 100.0, generator=seeded(), threads=3))


def test_scale_zero_is_no_noise():
    assert not noise.gaussian_noise(10, 0.0).any()
    assert not noise.laplace_noise(10, 0).any()
    array = np.array([0.1, np.pi])
    assert np.array_equal(noise.add_gaussian_noise(array.copy(), 0.0), array)


BROADCAST = np.lib.stride_tricks.as_strided(np.zeros(1), (5,), (0,))
READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: noise.gaussian_noise(3, -1.0),
            ValueError,
            "scale must be 0 or a number in [9.11e-305, 1.1e+304]",
        ),
        (lambda: noise.gaussian_noise(3, math.inf), ValueError, "got inf"),
        (lambda: noise.gaussian_noise(3, math.nan), ValueError, "got nan"),
        (lambda: noise.gaussian_noise(3, "1"), TypeError, "got '1'"),
        (
            lambda: noise.gaussian_noise(3, 1e39, dtype="f4"),
            ValueError,
            "[2.41e-35, 4.15e+34], got 1e+39",
        ),
        (
            lambda: noise.gaussian_noise(3, 1.0, dtype=np.int64),
            TypeError,
            "dtype must be float32 or",
        ),
        (lambda: noise.gaussian_noise(3, 1.0, dtype=">f8"), TypeError, "dtype must be float32 or"),
        (
            lambda: noise.gaussian_noise(3, 1.0, out=np.zeros(4)),
            ValueError,
            "out must have the shape",
        ),
        (
            lambda: noise.gaussian_noise(3, 1.0, threads=0),
            ValueError,
            "threads must be an integer >= 1",
        ),
        (
            lambda: noise.gaussian_noise(3, 1.0, generator=5),
            TypeError,
            "generator must be a Secure",
        ),
        (
            lambda: noise.add_gaussian_noise([1.0], 1.0),
            TypeError,
            "array must be an array of float32",
        ),
        (lambda: noise.add_gaussian_noise(np.zeros(3, int), 1.0), TypeError, "got one of int64"),
        (lambda: noise.add_gaussian_noise(READ_ONLY, 1.0), ValueError, "read-only"),
        (lambda: noise.add_gaussian_noise(BROADCAST, 1.0), ValueError, "broadcast view"),
        (
            lambda: noise.discrete_gaussian_noise(3, 0.0),
            ValueError,
            "sigma must be a number in [2^-20",
        ),
        (
            lambda: noise.discrete_gaussian_noise(3, 2.0**41),
            ValueError,
            "2^40], got 2199023255552.0",
        ),
        (lambda: noise.add_discrete_gaussian_noise(np.zeros(3), 1.0), TypeError, "array of int64"),
        (
            lambda: noise.discrete_laplace_noise(3, 0.0),
            ValueError,
            "scale must be a number in [2^-",
        ),
        (lambda: noise.add_discrete_laplace_noise(np.zeros(3), 1.0), TypeError, "array of int64"),
        (
            lambda: SecureGenerator(insecure_reproducible=-1),
            ValueError,
            "insecure_reproducible must",
        ),
        (
            lambda: SecureGenerator(insecure_reproducible=1.5),
            TypeError,
            "insecure_reproducible must",
        ),
        (lambda: SecureGenerator(7), TypeError, "positional"),
        (lambda: SecureGenerator(seed=7), TypeError, "seed"),
        (lambda: SecureGenerator().bytes(-1), ValueError, "length must be an integer >= 0"),
    ],
)
def test_refused(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()
