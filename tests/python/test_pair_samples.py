"""Sampling schemes against every sample of small data sets, in both directions and twice.

No data set's delta may lie above the upper end, nor all of them below the lower one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import mpmath as mp
import numpy as np
import pytest
from pair_reference import (
    Law,
    bounds,
    drawn,
    fixed_size,
    hockey_stick,
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
            replaced,
            Pair.truncated_poisson(poisson_replaced, q, limit, population),
            ordered=False,
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


def test_many_draws() -> None:
    # P[K > 0] of a record, and never less than one draw more rarely.
    few, many = (
        Pair.sampled_with_replacement(lambda k: Pair.gaussian(0.01 * k), draws, 10**6)
        for draws in (10**6, 10**8)
    )
    for epsilon in (0.0, 0.1):
        assert 0.0 < bounds(few, epsilon)[0] <= bounds(few, epsilon)[1] <= bounds(many, epsilon)[1]


@pytest.mark.parametrize("rate", [1e-6, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.4])
def test_one_splice_in_closed_form(rate: float, epsilon: float) -> None:
    with mp.workdps(50):
        g, e = mp.mpf(rate), mp.log1p(mp.expm1(epsilon) / mp.mpf(rate))
        mu = mp.mpf("1.5")
        laplace_delta = max(-mp.expm1((e - 1) / 2), mp.mpf(0))
        gaussian_delta = mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)
        for base, delta in (
            (Pair.laplace(1.0), laplace_delta),
            (Pair.gaussian(1.5), gaussian_delta),
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


def test_gumbel_like_lower_ends_are_attained() -> None:
    # Two uses of b = 4 sqrt(6)/pi at epsilon 1 give .0223065 and not what the splice gives.
    t = np.pi / (4.0 * np.sqrt(6.0))
    # Gumbel noise merged into intervals: e^-x is exponential, and moving x multiplies it by e^-t.
    ends = np.linspace(0.0, 30.0, 4001)
    p, q = (-np.diff(np.append(np.exp(-ends * rate), 0.0)) for rate in (np.exp(t), 1.0))
    forward, back = Pair.discrete(p, q), Pair.discrete(q, p)
    larger = max((forward, back), key=lambda pair: bounds(pair, 0.3)[0])
    splice = Pair.spliced(larger, 1.0, larger)
    lower, upper = bounds(splice, 1.0, 2)
    assert lower <= 0.0223066
    assert upper >= 0.02229
    assert splice.symmetric is False
