"""Samples other than Poisson's: enumeration of subsets, closed formulas, the other way round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from renyi.pld._binomial import RELATIVE_ERROR, binomial_masses, likely_range

from renyi.pld import (
    NOTHING,
    Discrete,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    PoissonSampled,
    PrivacyLossDistribution,
    Product,
    RandomizedResponse,
    Reversed,
    Spliced,
    delta_bounds,
    poisson_sampled,
    sampled_with_replacement,
    truncated_poisson_sampled,
)


def fraction(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


def hockey_stick(p: Sequence[Fraction], q: Sequence[Fraction], epsilon: float) -> mp.mpf:
    e = mp.exp(epsilon)
    return mp.fsum(max(fraction(a) - e * fraction(b), 0) for a, b in zip(p, q, strict=True))


def laplace_delta(top: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    if epsilon <= -top:
        return -mp.expm1(epsilon)
    return max(-mp.expm1((epsilon - top) / 2), mp.mpf(0))


def gaussian_delta(mu: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("rate", [1e-6, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("epsilon", [-0.7, -0.05, 0.0, 0.05, 0.4])
def test_replacing_one_in_a_sample_in_closed_form(rate: float, epsilon: float) -> None:
    with mp.workdps(50):
        for pair, profile in (
            (Laplace(1.0), lambda e: laplace_delta(mp.mpf(1), e)),
            (Gaussian(1.5), lambda e: gaussian_delta(mp.mpf("1.5"), e)),
        ):
            g, e = mp.mpf(rate), abs(mp.mpf(epsilon))
            exact = g * profile(mp.log1p(mp.expm1(e) / g))
            if epsilon < 0:
                exact = -mp.expm1(epsilon) + mp.exp(epsilon) * exact
            lower, upper = delta_bounds([(Spliced(pair, rate), 1)], epsilon)
            assert lower <= exact <= upper
            assert upper - lower <= 1e-12 * upper + 1e-300


def sample_outputs(
    likelihood: dict[str, dict[int, Fraction]], record: str, population: int, size: int
) -> list[Fraction]:
    """Law of the noisy sum of a uniform subset of 0, ..., 0, record, as letters with values."""
    outputs: dict[int, Fraction] = {}
    letters = ["0"] * (population - 1) + [record]
    subsets = list(itertools.combinations(range(population), size))
    for subset in subsets:
        word = record if population - 1 in subset else "0"
        assert letters[population - 1] == record
        for output, mass in likelihood[word].items():
            outputs[output] = outputs.get(output, Fraction(0)) + mass / len(subsets)
    return [outputs[key] for key in sorted(outputs)]


def test_fixed_size_samples_by_enumeration() -> None:
    # Three answers to three records: the record chosen answers truthfully with probability 5/8.
    # The pair of the splice dominates every data set, and is reached by none with few answers.
    answers = {
        true: {i: Fraction(5, 8) if i == k else Fraction(3, 16) for i in range(3)}
        for k, true in enumerate(("0", "+", "-"))
    }
    for population, size in ((4, 1), (5, 2), (3, 3)):
        laws = {x: sample_outputs(answers, x, population, size) for x in ("0", "+", "-")}
        pair = Spliced(RandomizedResponse(0.625, 3), size / population)
        for x, y in itertools.permutations(laws, 2):
            for epsilon in (-0.5, -0.1, 0.0, 0.1, 0.5, 1.0):
                with mp.workdps(30):
                    exact = hockey_stick(laws[x], laws[y], epsilon)
                assert exact <= delta_bounds([(pair, 1)], epsilon)[1]


def test_the_splice_is_attained_without_a_common_output() -> None:
    # mu_0, mu_1, mu_1' of the proof with D(mu_1 || mu_0) = D(mu_1 || mu_1'): the bound is sharp.
    g, a = Fraction(1, 4), Fraction(3, 4)
    one = [a, Fraction(1, 8), Fraction(1, 8)]
    two = [Fraction(1, 8), a, Fraction(1, 8)]
    none = [Fraction(1, 8), Fraction(1, 8), a]
    p = [(1 - g) * z + g * x for z, x in zip(none, one, strict=True)]
    q = [(1 - g) * z + g * x for z, x in zip(none, two, strict=True)]
    pair = Spliced(RandomizedResponse(0.75, 3), 0.25)
    for epsilon in (0.0, 0.1, 0.3):
        with mp.workdps(30):
            exact = hockey_stick(p, q, epsilon)
        lower, upper = delta_bounds([(pair, 1)], epsilon)
        assert exact <= upper
        assert lower <= exact * (1 + 1e-12) or epsilon > 0.0


@pytest.mark.parametrize("count", [2, 6])
def test_splices_compose(count: int) -> None:
    # Randomized response: the spliced pair has five losses at most, so outcomes are enumerated.
    pair = Spliced(RandomizedResponse(0.75), 0.25)
    atoms = [(a.loss, a.mass) for a in pair.atoms()]
    with mp.workdps(30):
        exact = mp.fsum(
            mp.fprod(m for _, m in word) * max(-mp.expm1(0.3 - mp.fsum(x for x, _ in word)), 0)
            for word in itertools.product(atoms, repeat=count)
        )
    lower, upper = delta_bounds([(pair, count)], 0.3)
    assert lower <= exact * (1 + mp.mpf("1e-12"))
    assert upper >= exact * (1 - mp.mpf("1e-12"))
    assert upper - lower <= 1e-9 * upper


def test_a_splice_lies_between_its_neighbours() -> None:
    for base, count in itertools.product(
        (Laplace(0.7), Gaussian(1.0), DiscreteGaussian(1.5)), (1, 20)
    ):
        spliced = delta_bounds([(Spliced(base, 0.1), count)], 0.2, rtol=1e-4, max_points=2**16)
        for direction in ("remove", "add"):
            one = [(poisson_sampled(base, 0.1, direction), count)]
            assert delta_bounds(one, 0.2, rtol=1e-4, max_points=2**16)[0] <= spliced[1]
        assert spliced[0] <= delta_bounds([(base, count)], 0.2, rtol=1e-4)[1]


def test_bases_that_cannot_be_spliced() -> None:
    with pytest.raises(ValueError, match=r"^base must "):
        Spliced(Discrete((0.9, 0.1), (0.8, 0.2)), 0.5)
    with pytest.raises(ValueError, match=r"^sample_rate must "):
        Spliced(Laplace(1.0), 0.0)


@pytest.mark.parametrize(
    ("n", "q"),
    [(10, 0.3), (1000, 0.01), (10**6, 1e-3), (10**9, 0.37), (10**9, 1e-9), (50, 1e-12), (1, 0.5)],
)
def test_binomial_masses(n: int, q: float) -> None:
    low, high = likely_range(n, q)
    masses = binomial_masses(n, q, low, high)
    with mp.workdps(40):
        for i in np.unique(np.linspace(0, masses.size - 1, 30).astype(int)):
            x = low + int(i)
            log = mp.loggamma(n + 1) - mp.loggamma(x + 1) - mp.loggamma(n - x + 1)
            exact = mp.exp(log + x * mp.log(mp.mpf(q)) + (n - x) * mp.log1p(-mp.mpf(q)))
            if exact > 1e-300:
                assert abs(masses[i] / exact - 1) <= RELATIVE_ERROR
    assert math.fsum(masses) == pytest.approx(1.0, rel=1e-12)


def truncated_by_enumeration(
    p: Sequence[float], q: Sequence[float], rate: float, limit: int, n: int, epsilon: float
) -> tuple[mp.mpf, mp.mpf]:
    """Both directions of the pair that shows the other records of the batch, over all samples."""
    r, with_record = Fraction(rate), 0
    given: dict[tuple[int, ...], list[Fraction]] = {}
    for sampled in itertools.product((False, True), repeat=n):
        members = [i for i in range(n) if sampled[i]]
        mass = math.prod((r if s else 1 - r for s in sampled), start=Fraction(1))
        batches = (
            [tuple(members)]
            if len(members) <= limit
            else list(itertools.combinations(members, limit))
        )
        for batch in batches:
            others = tuple(i for i in batch if i != with_record)
            masses = given.setdefault(others, [Fraction(0), Fraction(0)])
            masses[with_record not in batch] += mass / len(batches)
    ins = [
        a * Fraction(x) + b * Fraction(y)
        for a, b in given.values()
        for x, y in zip(p, q, strict=True)
    ]
    outs = [(a + b) * Fraction(y) for a, b in given.values() for y in q]
    return hockey_stick(ins, outs, epsilon), hockey_stick(outs, ins, epsilon)


@pytest.mark.parametrize(
    ("rate", "limit", "n"),
    [(0.5, 1, 3), (0.5, 2, 5), (0.25, 3, 6), (0.75, 2, 6), (0.25, 5, 6), (0.25, 6, 6), (1.0, 2, 5)],
)
def test_truncated_poisson_by_enumeration(rate: float, limit: int, n: int) -> None:
    p, q = (0.75, 0.25), (0.25, 0.75)
    pair = truncated_poisson_sampled(Discrete(p, q), rate, limit, n)
    for epsilon in (-0.1, 0.0, 0.05, 0.3):
        with mp.workdps(40):
            exact = truncated_by_enumeration(p, q, rate, limit, n, epsilon)
        for side, value in zip((pair, Reversed(pair)), exact, strict=True):
            lower, upper = delta_bounds([(side, 1)], epsilon)
            assert lower <= value <= upper
            assert upper - lower <= 1e-9 * upper + 1e-300


def test_truncated_poisson_limits() -> None:
    base = Gaussian(1.0)
    assert truncated_poisson_sampled(base, 0.0, 5, 10) == NOTHING
    whole = delta_bounds([(PoissonSampled(base, 0.01), 1)], 0.2)
    for limit in (10**9, 10**7 + 60_000):
        cut = delta_bounds([(truncated_poisson_sampled(base, 0.01, limit, 10**9), 1)], 0.2)
        assert cut == pytest.approx(whole, rel=1e-9)
    # Mean at the limit: the batch is full with probability about 1/2.
    cut = delta_bounds([(truncated_poisson_sampled(base, 0.01, 10**7, 10**9), 1)], 0.2)
    assert cut[0] < cut[1] < cut[0] * (1 + 1e-9)
    for name, arguments in {
        "sample_rate": (base, 1.5, 1, 1),
        "batch_limit": (base, 0.5, 0, 1),
        "population": (base, 0.5, 1, 0),
    }.items():
        with pytest.raises(ValueError, match=f"^{name} must be "):
            truncated_poisson_sampled(*arguments)


@pytest.mark.parametrize(
    ("draws", "population"), [(1, 10), (7, 3), (100, 10_000), (50, 50), (3, 10**9)]
)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_sampling_with_replacement_in_closed_form(draws: int, population: int, noise: str) -> None:
    scale = 0.3

    def group(k: int) -> PrivacyLossDistribution:
        return Gaussian(scale * k) if noise == "gaussian" else Laplace(1.0 / (scale * k))

    def profile(k: int, e: mp.mpf) -> mp.mpf:
        mu = mp.mpf(scale * k) if noise == "gaussian" else 1 / mp.mpf(1.0 / (scale * k))
        return gaussian_delta(mu, e) if noise == "gaussian" else laplace_delta(mu, e)

    pair = sampled_with_replacement(group, draws, population)
    with mp.workdps(40):
        q = mp.mpf(1) / population
        g = 1 - (1 - q) ** draws
        for epsilon in (0.0, 0.05, 0.6):
            base = mp.log1p(mp.expm1(epsilon) / g)
            exact = mp.fsum(
                mp.binomial(draws, k) * q**k * (1 - q) ** (draws - k) * profile(k, base)
                for k in range(1, draws + 1)
            )
            lower, upper = delta_bounds([(pair, 1)], epsilon)
            assert lower <= exact <= upper
            # Rare numbers of appearances are grouped.
            assert upper - lower <= 1e-7 * upper or exact < 1e-15


def test_sampling_with_replacement_limits() -> None:
    assert sampled_with_replacement(lambda k: Gaussian(float(k)), 3, 1) == Gaussian(3.0)
    # So many draws that numbers of appearances are grouped: the bracket is wide, and holds.
    pair = sampled_with_replacement(lambda k: Gaussian(0.01 * k), 5000, 50)
    lower, upper = delta_bounds([(pair, 1)], 0.5)
    with mp.workdps(30):
        q = mp.mpf(1) / 50
        exact = mp.fsum(
            mp.binomial(5000, k)
            * q**k
            * (1 - q) ** (5000 - k)
            * gaussian_delta(mp.mpf("0.01") * k, mp.mpf("0.5"))
            for k in range(1, 300)
        )
    assert lower < exact < upper < 1.25 * lower


@pytest.mark.parametrize(
    "parts",
    [
        ((Laplace(2.0), 2), (Laplace(1.0), 1)),
        ((Gaussian(1.0), 1), (Laplace(1.0), 3)),
        ((RandomizedResponse(0.6), 10), (DiscreteLaplace(3.0, 2), 5)),
        ((Laplace(50.0), 300),),
    ],
)
def test_products_enclose_their_composition(
    parts: tuple[tuple[PrivacyLossDistribution, int], ...],
) -> None:
    product = Product(parts)
    for epsilon in (-1.0, 0.0, 0.5, 2.0):
        lower, upper = delta_bounds([(product, 1)], epsilon)
        exact = delta_bounds(parts, epsilon, max_points=2**18)
        assert lower <= exact[1]
        assert upper >= exact[0]
        assert upper - lower <= 2e-4 * upper + 1e-12


def test_a_product_is_sampled_as_one() -> None:
    # Two answers of one sample: the pair of four outcomes, sampled, in multi-precision.
    q, p = 0.125, 0.75
    product = Product(((RandomizedResponse(p), 2),))
    with mp.workdps(30):
        a, b = Fraction(p), 1 - Fraction(p)
        with_record, without = [a * a, a * b, b * a, b * b], [b * b, a * b, b * a, a * a]
        sampled = [
            (1 - Fraction(q)) * y + Fraction(q) * x
            for x, y in zip(with_record, without, strict=True)
        ]
        for epsilon in (-0.05, 0.0, 0.1, 0.4):
            remove, add = (
                hockey_stick(sampled, without, epsilon),
                hockey_stick(without, sampled, epsilon),
            )
            for direction, exact in (("remove", remove), ("add", add)):
                lower, upper = delta_bounds([(poisson_sampled(product, q, direction), 1)], epsilon)
                assert lower <= exact <= upper
                assert upper - lower <= 1e-3 * upper + 1e-14


def test_a_product_of_gaussians_is_a_gaussian() -> None:
    product = Product(((Gaussian(0.3), 4), (Gaussian(0.8), 1)))
    for q, epsilon, count in ((1.0, 1.0, 1), (0.1, 0.3, 1), (0.1, 1.0, 20)):
        exact = delta_bounds([(PoissonSampled(Gaussian(1.0), q), count)], epsilon, max_points=2**18)
        found = delta_bounds([(PoissonSampled(product, q), count)], epsilon, max_points=2**17)
        assert found[0] <= exact[1]
        assert found[1] >= exact[0]
        assert found[1] - found[0] <= 1e-2 * found[1]


def test_product_arguments() -> None:
    for error, name, build in [
        (TypeError, "parts", lambda: Product(3)),
        (TypeError, "parts", lambda: Product(((1, 1),))),
        (ValueError, "parts", lambda: Product(())),
        (ValueError, "parts", lambda: Product(((Laplace(1.0), 10**6),))),
        (ValueError, "points", lambda: Product(((Laplace(1.0), 1),), 1)),
    ]:
        with pytest.raises(error, match=f"^{name} must be "):
            build()
    assert Product([(Laplace(1.0), 2)]) == Product(((Laplace(1.0), 2), (Laplace(2.0), 0)))
