"""Sampling schemes and products against every sample of small data sets, sums and closed forms."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import mpmath as mp
import numpy as np
import pytest
from each import slow
from pair_reference import (
    Law,
    bounds,
    delta_bounds,
    drawn,
    fixed_size,
    gaussian_delta,
    hockey_stick,
    mixture,
    noisy_sum,
    squared,
    truncated_poisson,
)

from renyi._engine import Pair

SCALE, REACH = 1.5, 7
EPSILONS = (-0.4, 0.0, 0.3)
RECORDS = (-1, 0, 1)
SLACK = mp.mpf("1e-25")  # of the arithmetic here


def laplace(shift: int) -> Pair:
    return Pair.discrete_laplace(SCALE, shift)


def spliced(base: Pair, rate: float, attained: Pair | None = None) -> Pair:
    return Pair.spliced(base, rate, (attained or base).sampled(rate))


def poisson_replaced(rate: float) -> Pair:
    """A record replaced in a Poisson sample: by one that counts for nothing from below."""
    return spliced(laplace(2), rate, laplace(1))


def contained(neighbours: Iterable[tuple[Law, Law]], pair: Pair, *, ordered: bool) -> None:
    """Check a pair against laws (with the record, without it), or those of any two neighbours."""
    found = list(neighbours)
    for one, backwards in ((pair, False), (pair.reversed(), True)):
        for epsilon, uses in itertools.product(EPSILONS, (1, 2)):
            deltas = []
            for p, q in found if uses == 1 else found[:2]:
                first, second = (q, p) if backwards else (p, q)
                if uses == 2:
                    first, second = squared(first), squared(second)
                deltas.append(hockey_stick(first, second, epsilon))
                if not ordered:
                    deltas.append(hockey_stick(second, first, epsilon))
            lower, upper = bounds(one, epsilon, uses)
            assert max(deltas) <= upper + SLACK
            assert lower <= max(deltas) + SLACK


def others_of(count: int) -> list[tuple[int, ...]]:
    """Other records; those that reach the lower end in two uses come first."""
    found = list(itertools.combinations_with_replacement(RECORDS, count))
    return sorted(found, key=lambda x: (any(r != 0 for r in x), x != (-1,) * count))


@pytest.mark.parametrize(
    ("q", "limit", "population"),
    [(0.3, 1, 1), (0.3, 1, 3), (0.9, 1, 3), (0.3, 2, 3), (1.0, 2, 3), (0.9, 3, 3), (0.3, 2, 4)],
)
def test_truncated_poisson(q: float, limit: int, population: int) -> None:
    release = noisy_sum(SCALE, REACH)
    with mp.workdps(40):

        def law(records: tuple[int, ...]) -> Law:
            return truncated_poisson(records, q, limit, release)

        others = others_of(population - 1)
        zeroed = [(law((*x, 1)), law((*x, 0))) for x in others]
        removed = [(law((*x, 1)), law(x)) for x in others]
        replaced = [(law((*x, 1)), law((*x, -1))) for x in others]
        replaced = [zeroed[0], *replaced]
        contained(
            zeroed, Pair.truncated_poisson(laplace(1).sampled, q, limit, population), ordered=True
        )
        contained(
            removed,
            Pair.truncated_poisson_removal(laplace(1), laplace(2), q, limit, population),
            ordered=True,
        )
        contained(
            replaced, Pair.truncated_poisson(poisson_replaced, q, limit, population), ordered=False
        )


@pytest.mark.parametrize(("population", "size"), [(1, 1), (3, 1), (3, 2), (4, 2), (4, 4)])
def test_fixed_size(population: int, size: int) -> None:
    release = noisy_sum(SCALE, REACH)
    with mp.workdps(40):
        others = [(-1,) * (population - 1), *others_of(population - 1)]
        found = [tuple(fixed_size((*x, r), size, release) for r in (1, -1)) for x in others]
        contained(found, spliced(laplace(2), size / population), ordered=False)


@pytest.mark.parametrize(("population", "draws"), [(2, 1), (2, 3), (3, 2), (4, 3)])
def test_with_replacement(population: int, draws: int) -> None:
    release = noisy_sum(SCALE, REACH)
    pair = Pair.sampled_with_replacement(lambda k: laplace(2 * k), draws, population)
    with mp.workdps(40):
        others = [(-1,) * (population - 1), *others_of(population - 1)]
        found = [tuple(drawn((*x, r), draws, release) for r in (1, -1)) for x in others]
        contained(found, pair, ordered=False)


def test_one_record_drawn_very_often() -> None:
    # It appears 10^6 +- 10^3 times: one Gaussian, about.
    pair = Pair.sampled_with_replacement(lambda k: Pair.gaussian(1e-6 * k), 10**9, 10**3)
    lower, upper = bounds(pair, 0.5)
    assert 0.98 * upper <= lower <= upper
    with mp.workdps(30):
        exact = mp.ncdf(mp.mpf(0)) - mp.exp(0.5) * mp.ncdf(-1)
        assert lower <= exact * mp.mpf("1.01")
        assert upper >= exact * mp.mpf("0.99")


@pytest.mark.parametrize("rate", [1e-6, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.4])
def test_one_splice_in_closed_form(rate: float, epsilon: float) -> None:
    with mp.workdps(50):
        g, e = mp.mpf(rate), mp.log1p(mp.expm1(epsilon) / mp.mpf(rate))
        mu = mp.mpf("1.5")
        laplace_delta = max(-mp.expm1((e - 1) / 2), mp.mpf(0))
        for base, delta in (
            (Pair.laplace(1.0), laplace_delta),
            (Pair.gaussian(1.5), gaussian_delta(mu, e)),
        ):
            lower, upper = bounds(spliced(base, rate), epsilon)
            assert lower <= g * delta <= upper
            assert upper - lower <= 1e-6 * upper + 1e-300


def test_splices_of_an_asymmetric_base_are_one_pair_above_both_orders() -> None:
    # The larger losses are those of (P, Q); one use is tight, two lie between the orders and it.
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.4, 0.5])
    p, q = q.copy(), p.copy()
    base = Pair.discrete(p, q)
    with mp.workdps(40):
        one: Law = {i: mp.mpf(x) for i, x in enumerate(p)}
        two: Law = {i: mp.mpf(x) for i, x in enumerate(q)}
        for epsilon in (0.0, 0.3, 0.9):
            exact = hockey_stick(squared(one), squared(two), epsilon)
            back = hockey_stick(squared(two), squared(one), epsilon)
            if hockey_stick(one, two, epsilon) >= hockey_stick(two, one, epsilon):
                lower, upper = bounds(Pair.spliced(base, 1.0, base), epsilon, 2)
                assert lower <= exact
                assert max(exact, back) <= upper


# --- many records, many uses


def test_the_splice_is_attained_without_a_common_output() -> None:
    # mu_0, mu_1, mu_1' of the proof with D(mu_1 || mu_0) = D(mu_1 || mu_1'): the bound is sharp.
    g, a = mp.mpf("0.25"), mp.mpf("0.75")
    one, two, none = ({i: a if i == k else mp.mpf("0.125") for i in range(3)} for k in range(3))
    p, q = mixture([(1 - g, none), (g, one)]), mixture([(1 - g, none), (g, two)])
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
        ((Pair.laplace(2.0), 2), (Pair.laplace(1.0), 1)),
        ((Pair.gaussian(1.0), 1), (Pair.laplace(1.0), 3)),
        ((Pair.randomized_response(0.6, 2), 10), (Pair.discrete_laplace(3.0, 2), 5)),
        ((Pair.laplace(50.0), 300),),
    ],
)
def test_products_enclose_their_composition(parts: tuple[tuple[Pair, int], ...]) -> None:
    product = Pair.product(parts)
    for epsilon in (-1.0, 0.0, 0.5, 2.0):
        lower, upper = bounds(product, epsilon)
        exact = delta_bounds(parts, epsilon, max_points=2**18)
        assert lower <= exact[1]
        assert upper >= exact[0]
        assert upper - lower <= 2e-4 * upper + 1e-12


# --- several releases on one sample


POINTS = (0.0, 0.02, 0.3, 1.0)


def sampled(profile: object, rate: float, epsilon: float) -> mp.mpf:
    """delta of ((1-s) Q + s P, Q) from that of (P, Q) as a function of E."""
    s, e = mp.mpf(rate), mp.exp(epsilon)
    return s * profile((e - 1 + s) / s)  # type: ignore[operator]


def sampled_add(profile: object, rate: float, epsilon: float) -> mp.mpf:
    """delta of (Q, (1-s) Q + s P): 1 - E + E H(1/E)."""
    s, e = mp.mpf(rate), mp.exp(epsilon)
    if 1 / e <= 1 - s:
        return mp.mpf(0)
    return 1 - e + e * s * profile((1 / e - 1 + s) / s)  # type: ignore[operator]


def enclosed(product: Pair, profile: object, width: float) -> None:
    with mp.workdps(60):
        for rate in (1e-3, 0.3, 1.0):
            one = product.sampled(rate)
            for epsilon in POINTS:
                for pair, exact in (
                    (one, sampled(profile, rate, epsilon)),
                    (one.reversed(), sampled_add(profile, rate, epsilon)),
                ):
                    lower, upper = bounds(pair, epsilon)
                    assert lower <= exact * (1 + mp.mpf("1e-40")) + mp.mpf("1e-50")
                    assert exact * (1 - mp.mpf("1e-40")) - mp.mpf("1e-50") <= upper
                    assert upper - lower <= width * upper + 1e-140


@pytest.mark.parametrize("uses", [1, 2, 5, 64, 1000])
def test_responses(uses: int) -> None:
    with mp.workdps(60):
        a = mp.mpf("0.75") if uses < 10 else mp.mpf("0.53125")
        masses = [mp.binomial(uses, j) * a**j * (1 - a) ** (uses - j) for j in range(uses + 1)]

        def profile(e: mp.mpf) -> mp.mpf:
            pairs = zip(masses, reversed(masses), strict=True)
            return mp.fsum(max(p - e * q, 0) for p, q in pairs)

        product = Pair.product([(Pair.randomized_response(float(a), 2), uses)])
        assert product.symmetric
        enclosed(product, profile, 2e-4)


@pytest.mark.parametrize(("mu", "uses"), [(0.3, 9), *slow((0.05, 1000), (2.0, 2))])
def test_gaussians_are_one(mu: float, uses: int) -> None:
    with mp.workdps(30):
        total = mp.mpf(mu) * mp.sqrt(uses)

        def profile(e: mp.mpf) -> mp.mpf:
            return gaussian_delta(total, mp.log(e))

        enclosed(Pair.product([(Pair.gaussian(mu), uses)]), profile, 3e-3)


def test_different_parts() -> None:
    # A response and a pair that reveals, both once: four outcomes and what shows.
    with mp.workdps(60):
        p, d, e1 = mp.mpf("0.625"), mp.mpf(2) ** -20, mp.exp(1)
        first = [(p, 1 - p), (1 - p, p)]
        second = [(x * (1 - d) / (1 + e1), y * (1 - d) / (1 + e1)) for x, y in ((e1, 1), (1, e1))]

        def profile(e: mp.mpf) -> mp.mpf:
            both = [(a * c, b * f) for a, b in first for c, f in second]
            return d + mp.fsum(max(a - e * b, 0) for a, b in both)

        parts = [
            (Pair.randomized_response(0.625, 2), 1),
            (Pair.approximate_privacy(1.0, 2.0**-20), 1),
        ]
        enclosed(Pair.product(parts), profile, 2e-4)


def test_a_pair_and_its_reverse_are_not_taken_for_symmetric() -> None:
    pair = Pair.discrete(np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6]))
    assert not Pair.product([(pair, 1), (pair.reversed(), 1)]).symmetric


def test_losses_so_large_that_masses_vanish() -> None:
    # Q lies where P has nothing to speak of: half of it must not be lost.
    product = Pair.product([(Pair.gaussian(40.0), 2)])
    for one in (product.sampled(0.5), product.sampled(0.5).reversed()):
        lower, upper = bounds(one, 0.1)
        assert 0.0 <= lower <= upper <= 1.0
    assert bounds(product.sampled(0.5), 0.1)[1] >= 0.5 - 1e-9
