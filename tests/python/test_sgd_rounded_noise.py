"""Rounded noise: against mpmath from the same random words, against the law, attacked."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from chacha20_reference import blocks, group, ratchet
from flint import arb, ctx

from renyi import noise, sgd
from renyi._noise import ChaCha20
from renyi.noise import SecureGenerator, noise_lattice

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


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_rounding_is_that_of_mpmath_from_the_same_words(gaussian, dtype):
    count, scale = 3000, 1.3
    numbers = np.resize([0.0, 1.0 / 3.0, -1e-5, 777.77, 1e-30, -12345.6], count).astype(dtype)
    noisy = numbers.copy()
    undecided, exact = ChaCha20(KEY).add_noise(gaussian, noisy, scale, 2)
    assert 0 < undecided < 0.01 * count
    assert exact == 0
    words, spacing = Words(gaussian, count), Fraction(noise_lattice(scale))
    with mpmath.workprec(240):
        for i in range(count):
            x = mpmath.mpf(float(numbers[i])) + mpmath.mpf(scale) * ideal(words, i)
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
    ctx.prec = 128
    inside = np.arange(-reach, reach + 1)
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


def test_few_draws_need_more_words():
    core = ChaCha20(KEY)
    for gaussian in (True, False):
        for scale in (1.0, 1.999):  # the finest and the coarsest lattice
            undecided, exact = core.add_noise(gaussian, np.zeros(1 << 20), scale, 2)
            assert 2e-4 < undecided / (1 << 20) < 4e-3
            assert exact == 0


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


@pytest.mark.parametrize("seed", range(3))
def test_no_statistic_beats_the_guarantee(seed):
    """The likelihood ratio, the best there is, and parities of the lattice points."""
    d, sigma, runs = 100, 2.0, 4000
    rng = np.random.default_rng(seed)
    row = rng.standard_normal(d)
    row /= np.linalg.norm(row) * (1.0 + 1e-12)
    scale = math.nextafter(sigma, 5.0)
    out = np.array(
        [
            [sgd.noisy_clipped_sum(r, 1.0, sigma) for _ in range(runs)]
            for r in (np.empty((0, d)), row[np.newaxis])
        ]
    )
    delta = 0.5 * (math.erf(0.5 / sigma / math.sqrt(2)) + 1) - 0.5 * (
        math.erf(-0.5 / sigma / math.sqrt(2)) + 1
    )  # total variation: the advantage of the best test at epsilon 0
    slack = 5.0 * math.sqrt(0.5 / runs)
    parity = np.rint(out / noise_lattice(scale)).astype(int) & 1
    tests = [out @ row > 0.5, parity[..., 0] == 1, parity.sum(axis=-1) > d / 2]
    tests += [(parity @ np.sign(row)) > 0, np.abs(out).max(axis=-1) > 3.0 * sigma]
    for answer in tests:
        advantage = abs(answer[1].mean() - answer[0].mean())
        assert advantage < delta + slack
    assert abs(tests[0][1].mean() - tests[0][0].mean()) > delta - slack  # not needlessly noisy


def test_neighbouring_sums_differ_by_one_row_of_the_norm():
    rng = np.random.default_rng(3)
    for kind in (np.float16, np.float32, np.float64):
        rows = (rng.standard_normal((257, 61)) * rng.lognormal(0, 2, (257, 1))).astype(kind)
        bound = 0.7
        whole = sgd.clip_and_sum(rows, bound).sum
        for left_out in (0, 100, 256):
            part = sgd.clip_and_sum(np.delete(rows, left_out, axis=0), bound).sum
            moved = [
                Fraction(float(a)) - Fraction(float(b)) for a, b in zip(whole, part, strict=True)
            ]
            assert sum(x * x for x in moved) <= Fraction(bound) ** 2
        order = rng.permutation(257)
        assert np.array_equal(sgd.clip_and_sum(rows[order], bound).sum, whole)
        parts = [sgd.clip_and_sum(part, bound) for part in np.array_split(rows[order], 9)]
        assert np.array_equal(sum(parts).sum, whole)


def test_single_precision_sums_promise_nothing():
    assert sgd.clip_and_sum(np.ones((3, 2)), 1.0, dtype=np.float32).sensitivity == math.inf
    noisy = sgd.noisy_clipped_sum(np.ones((3, 2)), 1.0, 2.0, dtype=np.float32)
    assert noisy.dtype == np.float32
    spacing = noise_lattice(2.0)
    assert np.array_equal(noisy / spacing, np.rint(noisy / spacing))
