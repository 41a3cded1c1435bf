"""Samples of a fixed size and several releases on one: enumeration, and what lies beside."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import mpmath as mp
import pytest
from pair_reference import bounds

from renyi._engine import Pair
from renyi.pairs import (
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    DominatingPair,
    GaussianPair,
    LaplacePair,
    PoissonSampledPair,
    RandomizedResponsePair,
    delta_bounds,
    poisson_sampled_pair,
)


def fraction(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


def hockey_stick(p: Sequence[Fraction], q: Sequence[Fraction], epsilon: float) -> mp.mpf:
    e = mp.exp(epsilon)
    return mp.fsum(max(fraction(a) - e * fraction(b), 0) for a, b in zip(p, q, strict=True))


def gaussian_delta(mu: mp.mpf, epsilon: mp.mpf) -> mp.mpf:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def spliced(base: Pair, rate: float) -> Pair:
    return Pair.spliced(base, rate, base.sampled(rate))


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
        pair = spliced(Pair.randomized_response(0.625, 3), size / population)
        for x, y in itertools.permutations(laws, 2):
            for epsilon in (-0.5, -0.1, 0.0, 0.1, 0.5, 1.0):
                with mp.workdps(30):
                    exact = hockey_stick(laws[x], laws[y], epsilon)
                assert exact <= bounds(pair, epsilon)[1]


def test_the_splice_is_attained_without_a_common_output() -> None:
    # mu_0, mu_1, mu_1' of the proof with D(mu_1 || mu_0) = D(mu_1 || mu_1'): the bound is sharp.
    g, a = Fraction(1, 4), Fraction(3, 4)
    one = [a, Fraction(1, 8), Fraction(1, 8)]
    two = [Fraction(1, 8), a, Fraction(1, 8)]
    none = [Fraction(1, 8), Fraction(1, 8), a]
    p = [(1 - g) * z + g * x for z, x in zip(none, one, strict=True)]
    q = [(1 - g) * z + g * x for z, x in zip(none, two, strict=True)]
    pair = spliced(Pair.randomized_response(0.75, 3), 0.25)
    for epsilon in (0.0, 0.1, 0.3):
        with mp.workdps(30):
            exact = hockey_stick(p, q, epsilon)
        lower, upper = bounds(pair, epsilon)
        assert exact <= upper
        assert lower <= exact * (1 + 1e-12) or epsilon > 0.0


@pytest.mark.parametrize("count", [2, 6])
def test_splices_compose(count: int) -> None:
    # Randomized response: the spliced pair has five losses at most, so outcomes are enumerated.
    pair = spliced(Pair.randomized_response(0.75, 2), 0.25)
    losses, masses, _ = pair.atoms()
    atoms = list(zip(losses.tolist(), masses.tolist(), strict=True))
    with mp.workdps(30):
        exact = mp.fsum(
            mp.fprod(m for _, m in word) * max(-mp.expm1(0.3 - mp.fsum(x for x, _ in word)), 0)
            for word in itertools.product(atoms, repeat=count)
        )
    upper = bounds(pair, 0.3, count)[1]
    assert exact * (1 - mp.mpf("1e-12")) <= upper <= exact * (1 + mp.mpf("1e-6"))


def test_a_splice_lies_between_its_neighbours() -> None:
    for base, count in itertools.product(
        (LaplacePair(0.7), GaussianPair(1.0), DiscreteGaussianPair(1.5)), (1, 20)
    ):
        found = bounds(spliced(base.compiled, 0.1), 0.2, count)
        for direction in ("remove", "add"):
            one = [(poisson_sampled_pair(base, 0.1, direction), count)]
            assert delta_bounds(one, 0.2, rtol=1e-4, max_points=2**16)[0] <= found[1]
        assert found[0] <= delta_bounds([(base, count)], 0.2, rtol=1e-4)[1]


def test_batches_that_are_hardly_cut() -> None:
    whole = bounds(Pair.gaussian(1.0).sampled(0.01), 0.2)
    for limit in (10**9, 10**7 + 60_000):
        pair = Pair.truncated_poisson(Pair.gaussian(1.0).sampled, 0.01, limit, 10**9)
        assert bounds(pair, 0.2)[1] == pytest.approx(whole[1], rel=1e-9)
    # Mean at the limit: the batch is full with probability about 1/2.
    pair = Pair.truncated_poisson(Pair.gaussian(1.0).sampled, 0.01, 10**7, 10**9)
    assert bounds(pair, 0.2)[1] > 2.0 * whole[1]


@pytest.mark.parametrize(
    ("draws", "population"), [(1, 10), (7, 3), (100, 10_000), (50, 50), (3, 10**9)]
)
def test_sampling_with_replacement_in_closed_form(draws: int, population: int) -> None:
    pair = Pair.sampled_with_replacement(lambda k: Pair.gaussian(0.3 * k), draws, population)
    with mp.workdps(40):
        q = mp.mpf(1) / population
        g = 1 - (1 - q) ** draws
        for epsilon in (0.0, 0.05, 0.6):
            base = mp.log1p(mp.expm1(epsilon) / g)
            exact = mp.fsum(
                mp.binomial(draws, k)
                * q**k
                * (1 - q) ** (draws - k)
                * gaussian_delta(mp.mpf(0.3 * k), base)
                for k in range(1, draws + 1)
            )
            lower, upper = bounds(pair, epsilon)
            assert lower <= exact <= upper
            # Rare numbers of appearances are grouped.
            assert upper <= exact * (1 + mp.mpf("1e-6")) or exact < 1e-15


@pytest.mark.parametrize(
    "parts",
    [
        ((LaplacePair(2.0), 2), (LaplacePair(1.0), 1)),
        ((GaussianPair(1.0), 1), (LaplacePair(1.0), 3)),
        ((RandomizedResponsePair(0.6), 10), (DiscreteLaplacePair(3.0, 2), 5)),
        ((LaplacePair(50.0), 300),),
    ],
)
def test_products_enclose_their_composition(
    parts: tuple[tuple[DominatingPair, int], ...],
) -> None:
    product = Pair.product([(pair.compiled, count) for pair, count in parts])
    for epsilon in (-1.0, 0.0, 0.5, 2.0):
        lower, upper = bounds(product, epsilon)
        exact = delta_bounds(parts, epsilon, max_points=2**18)
        assert lower <= exact[1]
        assert upper >= exact[0]
        assert upper - lower <= 2e-4 * upper + 1e-12


def test_a_product_is_sampled_as_one() -> None:
    # Two answers of one sample: the pair of four outcomes, sampled, in multi-precision.
    q, p = 0.125, 0.75
    product = Pair.product([(Pair.randomized_response(p, 2), 2)])
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
                pair = product.sampled(q)
                lower, upper = bounds(pair if direction == "remove" else pair.reversed(), epsilon)
                assert lower <= exact <= upper
                assert upper - lower <= 1e-3 * upper + 1e-14


def test_a_product_of_gaussians_is_a_gaussian() -> None:
    product = Pair.product([(Pair.gaussian(0.3), 4), (Pair.gaussian(0.8), 1)])
    for q, epsilon, count in ((1.0, 1.0, 1), (0.1, 0.3, 1), (0.1, 1.0, 20)):
        exact = delta_bounds(
            [(PoissonSampledPair(GaussianPair(1.0), q), count)], epsilon, max_points=2**18
        )
        found = bounds(product.sampled(q), epsilon, count)
        assert found[0] <= exact[1]
        assert found[1] >= exact[0]
        assert found[1] - found[0] <= 1e-2 * found[1]
