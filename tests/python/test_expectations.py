"""What "Great but Manageable Expectations" leaves open: constants, inversions, pairs, means."""

import itertools
import math
import re
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from each import slow

from renyi import Gaussian, PLDAccountant, PoissonSampled, special
from renyi.theory.f_divergences import (
    density_divergence,
    f_contraction,
    f_divergence,
    finite_divergence,
)
from renyi.theory.moments import moments_theorem_constant
from renyi.theory.noise import mean_noise_multiplier
from renyi.theory.routes import moment_bound

PAGE = (Path(__file__).parents[2] / "docs" / "expectations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["halved", *slow("direct")])
def test_the_noise_of_the_moment_bound(form):
    for rate, steps, epsilon, delta in ((0.01, 1000, 1.0, 1e-5),):
        found = moment_bound(rate, None, steps, epsilon=epsilon, delta=delta, form=form)
        noise = found.noise_multiplier
        again = moment_bound(rate, noise, steps, epsilon=epsilon, form=form)
        assert again == found
        assert again.delta <= delta
        less = moment_bound(rate, noise * (1 - 1e-8), steps, epsilon=epsilon, form=form)
        assert less.delta > delta
        if form == "halved":  # the closed form, at its own c2
            assert noise**2 >= 2 / found.c2 * (1 + math.log(1 / delta) / epsilon) * (1 - 1e-9)
        exact = PLDAccountant().compose(PoissonSampled(Gaussian(noise), rate), steps)
        assert exact.get_delta(epsilon) <= delta


@pytest.mark.parametrize(("c1", "depth", "slack"), [(1.0, 50.0, 1e-3), *slow((0.01, 1.0, 1e-3))])
def test_the_constants_of_the_moments_theorem_are_needed(c1, depth, slack):
    """Where no order has an exponent large enough, delta is too large after many steps (Cramer)."""
    smaller = moments_theorem_constant(c1, depth=depth) / (1.0 + slack)
    orders = np.geomspace(1.01, 8.0 * depth + 20.0, 4000)
    for x in depth * np.geomspace(1.0, 10.0, 30):
        noise = smaller * math.sqrt(x / c1)
        for rate in (1 / 16 / noise, 1e-3 / noise):
            moments = special.log_a_lower(rate, noise, orders)
            if (moments > c1 * rate**2 * (orders - 1.0 - x)).all():
                return
    pytest.fail("a smaller constant has an exponent everywhere")


@pytest.mark.slow
def test_the_constants_of_the_moments_theorem_for_small_rates_and_large_depths():
    assert moments_theorem_constant(1e-6, depth=1e4) == pytest.approx(math.sqrt(2), abs=3e-4)


@pytest.mark.parametrize("c1", [1.0, *slow(0.05, 3.0)])
def test_the_constants_of_the_moments_theorem_are_enough_at_the_largest_rate(c1):
    constant = moments_theorem_constant(c1)
    noise = constant / math.sqrt(c1)
    rate = 1 / 16 / noise
    largest = 0.0
    for epsilon in (0.1, 5.0, 60.0, 600.0):
        steps = max(round(epsilon / (c1 * rate**2)), 1)
        epsilon = c1 * rate**2 * steps
        exact = PLDAccountant().compose(PoissonSampled(Gaussian(noise), rate), steps)
        largest = max(largest, exact.get_epsilon(math.exp(-epsilon)) / epsilon)
    assert 0.98 < largest <= 1.0


def test_the_constants_of_the_moments_theorem_are_enough():
    rng, count, largest = np.random.default_rng(0), 0, 0.0
    while count < 4:
        c1, rate = 10 ** rng.uniform(-2, 0.5), 10 ** rng.uniform(-4.5, -1.5)
        steps = int(10 ** rng.uniform(2, 6.5))
        epsilon, x = c1 * rate**2 * steps * rng.uniform(0.1, 1), 10 ** rng.uniform(0, 1.5)
        if not 1e-2 < epsilon < 60 or x * epsilon > 600:
            continue
        delta = math.exp(-x * epsilon)
        constant = moments_theorem_constant(c1)
        noise = constant * rate * math.sqrt(steps * -math.log(delta)) / epsilon
        if rate * noise > 1 / 16:
            continue
        count += 1
        exact = PLDAccountant().compose(PoissonSampled(Gaussian(noise), rate), steps)
        largest = max(largest, exact.get_epsilon(delta) / epsilon)
    assert largest <= 1.0


def test_what_the_proof_of_the_constants_says_of_the_moments():
    """(A-1)/r^2 rises with the rate, (A-1)/p with p = 1/s^2, from order 2 on."""
    rates, shares = np.geomspace(1e-6, 1.0, 200), np.geomspace(1e-6, 0.8, 200)
    for order in (2.0, 2.3, 3.4, 17.0, 40.5):
        for fixed in (0.01, 0.3, 0.8):
            by_rate = np.expm1(special.log_a(rates, fixed**-0.5, order)) / rates**2
            by_share = np.expm1(special.log_a(fixed, shares**-0.5, order)) / shares
            for found in (by_rate, by_share):
                assert (np.diff(found) >= -1e-12 * found[1:]).all()

    def skew(z):  # what the derivative by the rate is least at: order 2, rate 1
        x = mp.exp(z - mp.mpf("0.5"))
        return (x - 1) ** 3 / x * mp.npdf(z)

    with mp.workdps(25):
        assert abs(mp.quad(skew, mp.linspace(-14, 14, 15))) < 1e-15


def relaxed(d, sigma):
    """log G_l at l = sigma^2 and r = 0.3 sigma^-d."""
    return float(special.log_a_upper(min(0.3 * sigma**-d, 1.0), sigma, math.floor(sigma**2)))


def test_relaxed_rates():
    for d, sigma in itertools.product((0.0, 0.5, 0.9), (3.0, 30.0, 300.0)):
        rate, order = min(0.3 * sigma**-d, 1.0), math.floor(sigma**2)
        assert rate**2 * order * (order - 1) / (2 * sigma**2) <= relaxed(d, sigma)  # Jensen
    moments = [relaxed(0.5, s) for s in (5.0, 10.0, 30.0, 100.0, 300.0)]
    assert moments == pytest.approx([0.25, 0.49, 1.42, 4.64, 13.7], rel=0.02)
    # the steps that the moment permits at epsilon 1 have nearly the same T r^2 for every d
    for d in (0.5, 1.0):
        squared = (0.3 * 300.0**-d) ** 2
        assert 300.0**2 / (2 * relaxed(d, 300.0)) * squared == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 0.999, 1.0, 1.5, 2.0, 40.0, math.inf])
def test_finite_divergences(alpha):
    rng = np.random.default_rng(4)
    for size in (1, 2, 7, 300):
        p, q = rng.dirichlet(np.full(size, 0.5)), rng.dirichlet(np.full(size, 0.5))
        p, q = (np.maximum(law, 1e-200) for law in (p, q))
        with mp.workdps(40):
            a, b = [mp.mpf(float(x)) for x in p], [mp.mpf(float(x)) for x in q]
            pairs = list(zip(a, b, strict=True))
            if alpha == 1.0:
                exact = mp.fsum(x * mp.log(x / y) for x, y in pairs)
            elif alpha == math.inf:
                exact = max(mp.log(x / y) for x, y in pairs)
            else:
                moment = mp.fsum(x ** mp.mpf(alpha) * y ** (1 - mp.mpf(alpha)) for x, y in pairs)
                exact = mp.log(moment) / (mp.mpf(alpha) - 1)
        found = finite_divergence(p, q, alpha)
        assert exact <= found <= exact + 1e-10 * (1 + abs(exact))
    assert finite_divergence([0.5, 0.5], [1.0, 0.0], 2.0) == math.inf
    assert finite_divergence([1.0, 0.0], [0.5, 0.5], 2.0) == pytest.approx(math.log(2.0))
    assert finite_divergence([1.0, 0.0], [0.0, 1.0], 0.5) == math.inf
    assert finite_divergence([0.5, 0.5], [1.0, 0.0], 0.5) == pytest.approx(math.log(2.0))


KINDS = {  # from the definitions, on outcomes of positive probability
    "kl": lambda p, q: (p * np.log(p / q)).sum(),
    "total_variation": lambda p, q: abs(p - q).sum() / 2,
    "chi_squared": lambda p, q: ((p - q) ** 2 / q).sum(),
    "squared_hellinger": lambda p, q: ((np.sqrt(p) - np.sqrt(q)) ** 2).sum(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_data_processing(kind):
    """No kernel raises an f-divergence, none contracts it less than its bounds say."""
    rng = np.random.default_rng(12)
    for _ in range(6):
        kernel = rng.dirichlet(np.full(4, rng.choice([0.2, 2.0])), 3) + 1e-9
        kernel /= kernel.sum(axis=1, keepdims=True)
        lower, upper = f_contraction(kernel, kind)
        assert 0.0 <= lower <= upper <= 1.0
        for _ in range(30):
            p, q = rng.dirichlet(np.ones(3), 2)
            before, after = f_divergence(p, q, kind), f_divergence(p @ kernel, q @ kernel, kind)
            assert before == pytest.approx(KINDS[kind](p, q), rel=1e-12)
            assert after <= upper * before * (1 + 1e-12)
    same = [[0.3, 0.7]] * 2
    assert f_contraction(same, kind) == pytest.approx((0.0, 0.0), abs=1e-15)
    assert f_contraction(np.eye(3), kind) == pytest.approx((1.0, 1.0), rel=2e-6)
    for r in (0.05, 0.3):  # equality cases: a binary symmetric channel, erasure
        lower, upper = f_contraction([[1 - r, r], [r, 1 - r]], kind)
        exact = 1 - 2 * r if kind == "total_variation" else (1 - 2 * r) ** 2
        assert lower == pytest.approx(exact, rel=2e-3)
        assert upper == pytest.approx(1 - 2 * r, rel=1e-12)
        erased = f_contraction([[1 - r, 0, r], [0, 1 - r, r]], kind)
        assert erased == pytest.approx((1 - r, 1 - r), rel=2e-6)


def test_f_divergences_of_outcomes_that_one_lacks():
    p, q = [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]
    found = [f_divergence(p, q, kind) for kind in KINDS]
    assert found == [math.inf, 0.5, math.inf, pytest.approx(1.0)]
    assert f_divergence(p, q, lambda t: max(t - 2.0, 0.0), slope=1.0) == 0.5
    with pytest.raises(ValueError, match="f must be one of 'kl'"):
        f_divergence(p, q, "renyi")
    with pytest.raises(TypeError, match=r"f must be one of 'kl'.* or callable, got 3"):
        f_divergence(p, q, 3)


def test_densities_of_the_user():
    def normal(mean, deviation):
        return lambda x: (
            -0.5 * ((x - mean) / deviation) ** 2 - np.log(deviation * np.sqrt(2.0 * np.pi))
        )

    found = density_divergence(normal(1.0, 2.0), normal(0.0, 2.0), 3.0, breaks=[-30, 0, 32])
    assert found.value == pytest.approx(3.0 / 8.0, abs=1e-12)
    assert found.error < 1e-11

    def uniform(low, high):
        return lambda x: np.where((x >= low) & (x <= high), -np.log(high - low), -np.inf)

    wide, narrow = uniform(0.0, 2.0), uniform(0.0, 1.0)
    assert density_divergence(narrow, wide, 2.0, breaks=[0, 1, 2]).value == pytest.approx(
        math.log(2)
    )
    assert density_divergence(wide, narrow, 2.0, breaks=[0, 1, 2]).value == math.inf
    with pytest.raises(ValueError, match="breaks must be"):
        density_divergence(wide, narrow, 2.0, breaks=[1.0, 0.0])
    with pytest.raises(ValueError, match="a log density must"):
        density_divergence(lambda x: np.nan * x, narrow, 2.0, breaks=[0.0, 1.0])


def test_means_of_batches_of_every_size():
    rng = np.random.default_rng(6)
    norm = 2.0

    def clipped(rows, largest):
        lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
        return rows * np.minimum(1.0, largest / np.maximum(lengths, 1e-300))

    def mean(rows):
        return rows.mean(axis=0) if len(rows) else np.zeros(2)

    worst = dict.fromkeys(("mean", "rows", "replaced"), 0.0)
    for _ in range(3000):
        size = int(rng.integers(0, 6))
        rows = rng.normal(size=(size, 2)) * 10 ** rng.uniform(-1, 2)
        rows = rows if rng.random() < 0.5 else np.repeat(rows[:1], size, axis=0)
        more = np.vstack([rows, -rows[:1] if size else rng.normal(size=(1, 2)) * 10])
        ends = [clipped(mean(part), norm / 2) for part in (rows, more)]
        worst["mean"] = max(worst["mean"], np.linalg.norm(ends[0] - ends[1]))
        ends = [mean(clipped(part, norm)) for part in (rows, more)]
        worst["rows"] = max(worst["rows"], np.linalg.norm(ends[0] - ends[1]))
        other = np.vstack([more[:-1], -more[-1:]])
        ends = [mean(clipped(part, norm)) for part in (more, other)]
        if len(more) == 4:
            worst["replaced"] = max(worst["replaced"], np.linalg.norm(ends[0] - ends[1]))
    for kind, counted in (("mean", {}), ("rows", {})):
        ratio = 8.0 / mean_noise_multiplier(8.0, norm, clipped=kind, **counted)
        assert 0.999 * ratio <= worst[kind] <= ratio * (1 + 1e-12)
    replaced = mean_noise_multiplier(
        8.0, norm, clipped="rows", adjacency="replace_one", least_size=4
    )
    assert 0.99 * 2 * 8.0 / replaced <= worst["replaced"] <= 2 * 8.0 / replaced * (1 + 1e-12)


def test_what_a_noisy_mean_is_accounted_as():
    multiplier = mean_noise_multiplier
    assert multiplier(3.0, 1.0, clipped="mean", learning_rate=0.5) == 6.0
    assert multiplier(3.0, 1.0, clipped="rows", least_size=9) == 15.0
    assert multiplier(1.0, 3.0, clipped="mean") * 3.0 <= 1.0
    with pytest.raises(ValueError, match="no pair of distributions is known"):
        multiplier(3.0, 1.0, clipped="mean", adjacency="replace_one")
    with pytest.raises(ValueError, match="clipped must be"):
        multiplier(3.0, 1.0, clipped="sum")


@pytest.mark.parametrize("rows", [slice(2, 5, 2), *slow(slice(2, None))], ids=["some", "all"])
def test_the_page(rows):
    apart = finite_divergence([0.9, 0.1], [0.1, 0.9], 2.0)
    assert f"{apart:.4f}" in PAGE
    half = [0.5, 0.5]
    assert finite_divergence(half, half, 2.0) < 1e-12
    (table,) = re.findall(r"\| c₁ \|.*?\n\n", PAGE, re.DOTALL)
    for line in table.strip().splitlines()[rows]:
        cells = [float(cell) for cell in line.strip("|").split("|")]
        for depth, cell in zip((1.0, 10.0, 100.0), cells[1:], strict=True):
            assert 0.0 <= cell - moments_theorem_constant(cells[0], depth=depth) < 1e-3
    rates = PAGE[PAGE.index("| σ | log G") :]
    for s, cell in re.findall(r"\| (\d+) \| (\S+) \| \S+ \|", rates):
        assert 0.0 <= float(cell) - relaxed(0.5, float(s)) < 0.01
