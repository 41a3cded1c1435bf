"""Noise: laws, tails, rounding, threads, layouts of memory, and what is refused."""

import math
from fractions import Fraction
from functools import cache

import mpmath
import noise_alone
import numpy as np
import pytest
from chacha20_reference import blocks, group, ratchet
from each import refused
from flint import arb, ctx
from sgd_states import seeded

from renyi import noise, sgd
from renyi._training import ChaCha20
from renyi.noise import SecureGenerator, add_gaussian_noise, noise_lattice
from renyi.sgd import clip_and_sum, noisy_clipped_sum, noisy_sums

N = 1 << 20


def test_neighbours_in_the_stream_are_independent():
    x = noise_alone.gaussian_noise(N, 1.0, dtype=np.float32, generator=seeded(6)).astype(np.float64)
    near = (1, 2, 3, 16, 128, 255, 256, 257, 512, 1024)  # the pair of a number is 256 on
    for lag in (*near, N // 4, N // 2):  # as far as threads are
        for a, b in ((x, x), (x**2 - 1, (x**2 - 1) / 2), (abs(x), x)):
            product = (a[:-lag] - a.mean()) * b[lag:]
            assert abs(product.mean()) < 5 * product.std() / math.sqrt(len(product)), lag


@pytest.mark.parametrize(
    ("noise", "log_mass", "tail"),
    [
        (noise_alone.discrete_gaussian_noise, lambda z: -z * z / 2, 4.2),
        (noise_alone.discrete_laplace_noise, lambda z: -abs(z), 9.0),
    ],
    ids=["gaussian", "laplace"],
)
@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5, 7.0, 40.0])
def test_integers_by_chi_square(noise, log_mass, tail, scale):
    y = noise(100_000, scale, generator=seeded(9))
    reach = math.ceil(tail * scale)
    inside = np.arange(-reach, reach + 1)
    with mpmath.workdps(30):
        total = mpmath.nsum(lambda k: mpmath.exp(log_mass(k / scale)), [-900, 900])
        mass = [float(mpmath.exp(log_mass(k / scale)) / total) for k in map(float, inside)]
    expected = len(y) * np.array([*mass, 1 - sum(mass)])
    seen = np.array([*(np.count_nonzero(y == k) for k in inside), sum(abs(y) > reach)])
    assert noise_alone.chi_square(seen, expected) > 1e-5


def test_added_in_place_whatever_the_layout():
    shape = (37, 53, 11)
    flat = noise_alone.gaussian_noise(math.prod(shape), 2.0, dtype=np.float32, generator=seeded())
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


def test_integers_are_added_whatever_the_layout():
    for add, draw in (
        (noise.add_discrete_gaussian_noise, noise_alone.discrete_gaussian_noise),
        (noise.add_discrete_laplace_noise, noise_alone.discrete_laplace_noise),
    ):
        integers = np.zeros((6, 4), np.int64)[:, ::2]
        assert add(integers, 100.0, generator=seeded()) is integers
        assert np.array_equal(integers, draw((6, 2), 100.0, generator=seeded()))
        assert np.array_equal(integers, draw((6, 2), 100.0, generator=seeded(), threads=3))


def test_scale_zero_is_no_noise():
    assert not noise_alone.gaussian_noise(10, 0.0).any()
    assert not noise_alone.laplace_noise(10, 0).any()
    array = np.array([0.1, np.pi])
    assert np.array_equal(noise.add_gaussian_noise(array.copy(), 0.0), array)


BROADCAST = np.lib.stride_tricks.as_strided(np.zeros(1), (5,), (0,))
READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False


def drawn(scale, **settings):
    return lambda: noise_alone.gaussian_noise(3, scale, **settings)


def added(array, add=noise.add_gaussian_noise):
    return lambda: add(array, 1.0)


def generator(**settings):
    return lambda: SecureGenerator(**settings)


REFUSED = {
    ValueError: [
        (drawn(-1.0), "scale must be 0 or a number in [9.11e-305, 1.1e+304]"),
        (drawn(math.inf), "got inf"),
        (drawn(math.nan), "got nan"),
        (drawn(1e39, dtype="f4"), "[2.41e-35, 4.15e+34], got 1e+39"),
        (drawn(1.0, threads=0), "threads must be an integer >= 1"),
        (added(READ_ONLY), "read-only"),
        (added(BROADCAST), "broadcast view"),
        (lambda: noise_alone.discrete_gaussian_noise(3, 0.0), "sigma must be a number in [2^-20"),
        (lambda: noise_alone.discrete_gaussian_noise(3, 2.0**41), "2^40], got 2199023255552.0"),
        (lambda: noise_alone.discrete_laplace_noise(3, 0.0), "scale must be a number in [2^-"),
        (generator(insecure_reproducible=-1), "insecure_reproducible must"),
        (lambda: SecureGenerator().bytes(-1), "length must be an integer >= 0"),
    ],
    TypeError: [
        (drawn("1"), "got '1'"),
        (drawn(1.0, generator=5), "generator must be a Secure"),
        (added(np.zeros(3, ">f8")), "array must be an array of float32"),
        (added([1.0]), "array must be an array of float32"),
        (added(np.zeros(3, int)), "got one of int64"),
        (added(np.zeros(3), noise.add_discrete_gaussian_noise), "array of int64"),
        (added(np.zeros(3), noise.add_discrete_laplace_noise), "array of int64"),
        (generator(insecure_reproducible=1.5), "insecure_reproducible must"),
        (lambda: SecureGenerator(7), "positional"),
        (generator(seed=7), "seed"),
    ],
}
test_refused = refused(REFUSED, literally=True)


# --- clipping, summing and noising in one call


RNG = np.random.default_rng(7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("clipping", ["flat", "automatic", "per_layer"])
def test_without_noise_it_is_the_clipped_sum(dtype, clipping):
    grads = [RNG.normal(size=(9, 5)).astype(dtype), RNG.normal(size=(9, 2, 3)).astype(dtype)]
    found = noisy_clipped_sum(grads, 0.4, 0.0, clipping=clipping)
    wanted = clip_and_sum(grads, 0.4, clipping=clipping).sum
    assert all(
        np.array_equal(a, b) and a.dtype == np.float64 for a, b in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize(
    ("bounds", "norm", "clipping"), [(0.25, 0.25, "flat"), ([3.0, 4.0], 5.0, "per_layer")]
)
def test_the_noise_is_that_of_the_joint_norm_and_of_the_generator(bounds, norm, clipping):
    grads = [RNG.normal(size=(4, 50)), RNG.normal(size=(4, 2, 3)).astype(np.float32)]
    clipped, generator = clip_and_sum(grads, bounds, clipping=clipping), seeded()
    assert clipped.sensitivity == pytest.approx(norm, rel=1e-14)
    for array in clipped.sum:
        scale = math.nextafter(1.5 * clipped.sensitivity, math.inf)
        add_gaussian_noise(array, scale, generator=generator)
    out = [np.full(50, math.nan), np.full((2, 3), math.nan)]
    settings = {"clipping": clipping, "generator": seeded(), "out": out}
    found = noisy_clipped_sum(grads, bounds, 1.5, **settings)
    for array, target, wanted in zip(found, out, clipped.sum, strict=True):
        assert array is target
        assert np.array_equal(array, wanted)


@pytest.mark.parametrize(
    "settings",
    [
        *({"noise_multiplier": bad} for bad in (-1.0, math.nan, math.inf, "1", 1e300)),
        *({"generator": 5}, {"threads": 0}, {"clipping": "none"}, {"nonfinite": "skip"}),
    ],
)
def test_bad_settings_leave_the_output_alone(settings):
    out = np.full(3, 7.0, np.float32)
    given = {"noise_multiplier": 1.0, **settings}
    with pytest.raises((TypeError, ValueError), match=f"({next(iter(settings))}|scale) must be"):
        noisy_clipped_sum(np.ones((2, 3), np.float32), 1.0, out=out, **given)
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


# --- rounded noise


KEY = bytes(range(32))


class Words:
    """The random words of numbers, read from the streams that the documentation names."""

    def __init__(self, gaussian, count):
        _, self.key = ratchet(np.frombuffer(KEY, "<u4"))  # of the first draw
        self.gaussian = gaussian
        groups = range(2 * -(-count // 512))
        self.words = np.array([group(self.key, number) for number in groups]).reshape(-1, 512)

    def uniforms(self, i, more):
        """Numerators and bits of the radial and the angular number, and sign or coordinate."""
        chunk, place = self.words[i // 512], i % (256 if self.gaussian else 512)
        extra = blocks(self.key, [0], i // 512 * 2 * 256 + place + 1)[0].tolist()
        wide = [extra[2 * k] | extra[2 * k + 1] << 32 for k in range(8)]
        radial, angular = int(chunk[place]), int(chunk[256 + place]) if self.gaussian else 0
        bits = 32
        negative = False
        if not self.gaussian:
            negative, radial, bits = radial >> 31, radial & 0x7FFFFFFF, 31
        step = 2 if self.gaussian else 1
        for k in range(more):
            radial = radial << 64 | wide[step * k]
            angular = angular << 64 | wide[step * k + 1]
        return radial, bits + 64 * more, angular, 32 + 64 * more, negative


def ideal(words, i, more=3):
    """Return the ideal variable to the last of `more` additional words."""
    radial, radial_bits, angular, angular_bits, negative = words.uniforms(i, more)
    u = mpmath.ldexp(mpmath.mpf(2 * radial + 1), -radial_bits - 1)
    if not words.gaussian:
        return mpmath.log(u) if negative else -mpmath.log(u)
    mirrored, swapped = angular >> (angular_bits - 1), angular >> (angular_bits - 2) & 1
    rest = angular & ((1 << (angular_bits - 2)) - 1)
    if rest >> (angular_bits - 3):
        rest -= 1 << (angular_bits - 2)
    t = mpmath.ldexp(mpmath.mpf(2 * rest + 1), 1 - angular_bits) * mpmath.pi / 2
    cosine, sine = mpmath.cos(t), mpmath.sin(t)
    if mirrored:
        cosine = -cosine
    second = i % 512 >= 256
    return mpmath.sqrt(-2 * mpmath.log(u)) * (sine if second != bool(swapped) else cosine)


@cache
def ideals(gaussian, count):
    with mpmath.workprec(240):
        words = Words(gaussian, count)
        return [ideal(words, i) for i in range(count)]


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_rounding_is_that_of_mpmath_from_the_same_words(gaussian, dtype):
    count, scale = 256, 1.3
    numbers = np.resize([0.0, 1.0 / 3.0, -1e-5, 777.77, 1e-30, -12345.6], count).astype(dtype)
    noisy = numbers.copy()
    undecided, exact = ChaCha20(KEY).add_noise(gaussian, noisy, scale, 2)
    assert 0 < undecided < 0.01 * count
    assert exact == 0
    spacing = Fraction(noise_lattice(scale))
    with mpmath.workprec(240):
        for i, variable in enumerate(ideals(gaussian, count)):
            x = mpmath.mpf(float(numbers[i])) + mpmath.mpf(scale) * variable
            nearest = int(mpmath.nint(x / mpmath.mpf(float(spacing))))
            assert float(noisy[i]) == float(dtype(float(nearest * spacing)))


@pytest.mark.parametrize("gaussian", [True, False])
def test_a_small_grid_of_numbers_by_mpmath(gaussian):
    """All numbers of a grid finer than the lattice, each with the same 512 variables."""
    words, scale = Words(gaussian, 512), 1.0
    spacing = noise_lattice(scale)
    with mpmath.workprec(240):
        noise = [ideal(words, i) / mpmath.mpf(spacing) for i in range(0, 512, 5)]
        for sixteenth in range(-16, 17):
            numbers = np.full(512, sixteenth / 16 * spacing)
            ChaCha20(KEY).add_noise(gaussian, numbers, scale, 1)
            wanted = [int(mpmath.nint(z + mpmath.mpf(sixteenth) / 16)) * spacing for z in noise]
            assert numbers[::5].tolist() == wanted


def cell_mass(gaussian, k, spacing, shift):
    """The exact probability of lattice point k, by ball arithmetic."""

    def below(x):
        if gaussian:
            return (-x / arb(2).sqrt()).erfc() / 2
        return x.exp() / 2 if x < 0 else 1 - (-x).exp() / 2

    low, high = ((arb(2 * k + sign) / 2) * arb(spacing) - arb(shift) for sign in (-1, 1))
    if low > 0:
        low, high = -high, -low
    return float(below(high) - below(low))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gaussian", [True, False])
def test_cells_and_tails_by_chi_square(gaussian, dtype):
    """Every cell of the lattice, not only of a histogram: the low bits are tested with the rest."""
    count, shift = 1 << 22, 0.123
    add = noise.add_gaussian_noise if gaussian else noise.add_laplace_noise
    number = dtype(shift)
    x = add(np.full(count, number), 1.0, generator=SecureGenerator(insecure_reproducible=5))
    spacing = noise_lattice(1.0)
    k = np.rint(x.astype(np.float64) / spacing).astype(int)
    assert np.array_equal(k * spacing, x)
    reach = 6 * 512
    inside = np.arange(-reach, reach + 1)
    with ctx.workprec(128):
        mass = np.array([cell_mass(gaussian, int(c), spacing, float(number)) for c in inside])
    seen = np.bincount(np.clip(k, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    expected = count * mass
    keep = expected > 25
    merged = np.array([*seen[1:-1][keep], seen[0] + seen[-1] + seen[1:-1][~keep].sum()])
    wanted = np.array([*expected[keep], count - expected[keep].sum()])
    chi_square, freedom = float(((merged - wanted) ** 2 / wanted).sum()), len(wanted) - 1
    assert abs(chi_square - freedom) < 5.0 * math.sqrt(2.0 * freedom)
    for tail in (2.0, 3.0, 4.0):
        beyond = np.abs(inside * spacing) > tail
        mean = count - expected[~beyond].sum()
        assert abs(np.count_nonzero(abs(x) > tail) - mean) < 5.0 * math.sqrt(mean) + 3


def test_low_bits_tell_no_neighbours_apart():
    """An empty batch, and one record of norm 1 spread over all entries, noise of multiplier 4.

    By the low bits, floating-point sums of these were told apart every time. Everything that an
    entry can show beyond its value is whether it is on the lattice, and that it always is.
    """
    d, sigma = 10_000, 4.0
    spacing = noise_lattice(math.nextafter(sigma, 5.0))
    empty, one = np.empty((0, d)), np.full((1, d), 1.0 / math.sqrt(d))
    hits = 0
    for _ in range(40):
        for rows, present in ((empty, False), (one, True)):
            noisy = sgd.noisy_clipped_sum(rows, 1.0, sigma)
            units = noisy / spacing
            assert np.array_equal(units, np.rint(units))
            ulp = math.ulp(1.0 / math.sqrt(d))
            off = np.count_nonzero(noisy % ulp)  # the attack: multiples of the record's last bit
            hits += (off > 0) == present
    assert hits == 40  # always the same answer


@pytest.mark.parametrize("clipping", ["flat", "automatic", "per_layer"])
def test_neighbouring_sums_differ_by_one_row_of_the_norm(clipping):
    rng = np.random.default_rng(3)

    def summed(rows):
        return clip_and_sum(np.split(rows, [40], axis=1), 0.7, clipping=clipping)

    for kind in (np.float16, np.float32, np.float64):
        rows = (rng.standard_normal((257, 61)) * rng.lognormal(0, 2, (257, 1))).astype(kind)
        whole = np.concatenate(summed(rows).sum)
        for left_out in (0, 100, 256):
            part = np.concatenate(summed(np.delete(rows, left_out, axis=0)).sum)
            moved = [
                Fraction(float(a)) - Fraction(float(b)) for a, b in zip(whole, part, strict=True)
            ]
            assert sum(x * x for x in moved) <= Fraction(summed(rows).sensitivity) ** 2
        order = rng.permutation(257)
        assert np.array_equal(np.concatenate(summed(rows[order]).sum), whole)
        parts = sum(summed(part) for part in np.array_split(rows[order], 9))
        assert np.array_equal(np.concatenate(parts.sum), whole)


def test_single_precision_sums_promise_nothing():
    assert sgd.clip_and_sum(np.ones((3, 2)), 1.0, dtype=np.float32).sensitivity == math.inf
    noisy = sgd.noisy_clipped_sum(np.ones((3, 2)), 1.0, 2.0, dtype=np.float32)
    assert noisy.dtype == np.float32
    spacing = noise_lattice(2.0)
    assert np.array_equal(noisy / spacing, np.rint(noisy / spacing))
