"""Quantiles, the exponential mechanism and noisy maxima are drawn exactly by the law charged."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from each import slow
from noise_alone import chi_square
from test_release import ADJACENCIES, GAMBLES, ample

from renyi import Exponential, PLDAccountant
from renyi.noise import SecureGenerator
from renyi.release import Release
from renyi.release import _draws as choice


def assert_drawn(releases, law, times):
    """Check that the values of releases are those of a law, as often as it says."""
    seen = Counter(release.value for release in releases)
    assert seen.keys() <= law.keys()
    expected = [float(times * p) for p in law.values()]
    assert chi_square([seen[k] for k in law], expected, least=10.0) > GAMBLES


# The laws, from their definitions.


def softmax(exponents):
    best = max(exponents.values())
    weights = {
        k: mp.exp(mp.mpf((x - best).numerator) / (x - best).denominator)
        for k, x in exponents.items()
    }
    total = sum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def quantile_law(records, q, candidates, epsilon, adjacency):
    """Smith 2011, the rank of a candidate being any that its ties allow."""
    q, n = Fraction(q), len(records)
    reach = 1 if adjacency == "replace_one" else max(q, 1 - q)
    exponents = {}
    for c in candidates:
        low, high = sum(x < c for x in records), sum(x <= c for x in records)
        off = max(low - q * n, q * n - high, 0)
        exponents[c] = -Fraction(epsilon) * off / (2 * reach)
    return softmax(exponents)


def most_common_law(records, categories, epsilon, adjacency):
    rate = Fraction(epsilon) / (2 if adjacency == "replace_one" else 1)
    return softmax({c: rate * records.count(c) for c in categories})


CASES = [
    ([1, 1, 2, 5], 0.5, 1.0),
    ([0, 3, 3, 3, 7, 9], 0.25, 0.3),
    ([2], 0.9, 2.0),
    ([], 0.1, 1.0),
    ([8] * 40, 1.0, 0.5),
    ([-math.inf, 4, math.inf], 0.0, 4.0),
]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_quantiles_are_drawn_by_their_law(case, adjacency):
    records, q, epsilon = case
    candidates, times = list(range(9)), 600
    releases = ample(adjacency)
    drawn = [
        releases.quantile(records, q, candidates=candidates, epsilon=epsilon) for _ in range(times)
    ]
    law = quantile_law(records, q, candidates, drawn[0].mechanism.epsilon, adjacency)
    assert_drawn(drawn, law, times)
    assert all(type(release.value) is int for release in drawn[:10])


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_most_common_category_is_drawn_by_its_law(adjacency):
    records, categories, times = ["a"] * 5 + ["b"] * 3 + ["z"], ["a", "b", "c"], 1000
    releases = ample(adjacency)
    drawn = [releases.noisy_max(records, categories=categories, epsilon=0.6) for _ in range(times)]
    law = most_common_law(records, categories, drawn[0].mechanism.epsilon, adjacency)
    assert_drawn(drawn, law, times)


@pytest.mark.parametrize("one_way", [False, True])
def test_the_exponential_mechanism_is_drawn_by_its_law(one_way):
    utilities, times, names = [0.1, 2.5, -3.25, 2.4, -1e300], 1000, ["a", "b", "c", "d", "e"]
    releases = ample()
    how = {"sensitivity": 0.5, "epsilon": 0.7, "one_way": one_way, "candidates": names}
    drawn = [releases.exponential(utilities, **how) for _ in range(times)]
    rate = Fraction(drawn[0].mechanism.epsilon) / (Fraction(1, 2) * (1 if one_way else 2))
    law = softmax({n: rate * Fraction(u) for n, u in zip(names, utilities, strict=True)})
    assert_drawn(drawn, law, times)
    assert drawn[0].mechanism == Exponential(drawn[0].mechanism.epsilon)


def neighbours(records, values, adjacency):
    for k in range(len(records)):
        rest = records[:k] + records[k + 1 :]
        if adjacency == "add_remove":
            yield rest
        else:
            yield from ([*rest, value] for value in values)
    if adjacency == "add_remove":
        yield from ([*records, value] for value in values)


def check_losses(one, other, account, epsilon):
    """The losses are in an interval of the charged length, and the curve is below the charged."""
    losses = [mp.log(one[k] / other[k]) for k in one]
    assert max(losses) - min(losses) <= epsilon * (1 + mp.mpf(10) ** -12)
    for at in (0.0, 0.3 * epsilon, 0.8 * epsilon):
        delta = sum(max(mp.mpf(0), one[k] - mp.exp(at) * other[k]) for k in one)
        assert delta <= account.get_delta(at) * (1 + 1e-12) + 1e-15
    return max(losses) - min(losses)


def widest(law_of, values, most, adjacency, epsilon):
    """Check all neighbours of so many records at most, and return how far apart losses are."""
    account = PLDAccountant(adjacency=adjacency).compose(Exponential(epsilon))
    apart = []
    for size in range(most + 1):
        for records in map(list, itertools.combinations_with_replacement(values, size)):
            others = map(law_of, neighbours(records, values, adjacency))
            law = law_of(records)
            apart += [check_losses(law, other, account, epsilon) for other in others]
    return max(apart)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("q", [0.25, 0.9, *slow(0.0, 0.5)])
@pytest.mark.parametrize("most", [2, *slow(3)])
def test_neighbouring_quantiles_are_within_the_charge(q, adjacency, most):
    def law(records):
        return quantile_law(records, q, [0, 1, 2, 3], 1.0, adjacency)

    assert widest(law, [-1, 0, 1, 2.5, 3], most, adjacency, 1.0) > 0.49


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_neighbouring_most_common_categories_are_within_the_charge(adjacency):
    def law(records):
        return most_common_law(records, ["a", "b", "c"], 0.8, adjacency)

    assert widest(law, ["a", "b", "c", "z"], 3, adjacency, 0.8) == pytest.approx(0.8)


# The sampler.


def test_candidates_are_accepted_with_their_exact_probability(monkeypatch):
    """All that a proposal depends on is compared with brackets, which are narrow enough."""
    for x in (
        Fraction(0),
        Fraction(-1, 8),
        Fraction(1, 3),
        Fraction(63),
        Fraction(10**6),
        Fraction(1, 2**1070),
    ):
        for bits in (64, 128, 512):
            low, high = choice._exp_bracket(x, bits)
            with mp.workprec(4 * bits + 100):
                exact = mp.exp(-mp.mpf(x.numerator) / x.denominator)
                assert mp.mpf(low.numerator) / low.denominator <= exact
                assert exact <= mp.mpf(high.numerator) / high.denominator
            assert high - low <= Fraction(2, 2**bits)
    uniform = iter([])
    monkeypatch.setattr(choice, "_bits", lambda count, generator: next(uniform))
    with mp.workprec(1000):  # a uniform number that agrees with e^-1 for 512 bits takes them all
        for more, accepted in ((-1, True), (1, False)):
            edge = int(mp.floor(mp.exp(-1) * 2**512)) + more
            pieces = [edge >> 448, (edge >> 384) % 2**64, (edge >> 256) % 2**128, edge % 2**256]
            uniform = iter(pieces)
            assert choice._accepted(Fraction(1), 0, 1, None) is accepted
            assert next(uniform, None) is None


def test_no_weight_is_below_its_candidate():
    """A proposal with a weight that is too small would be accepted too seldom."""
    generator = SecureGenerator(insecure_reproducible=3)
    source = generator.numpy_generator()
    for _ in range(200):
        size = int(source.integers(1, 40))
        scale = 10.0 ** source.uniform(-3, 6)
        utilities = source.normal(size=size) * scale
        rate = Fraction(float(10.0 ** source.uniform(-6, 3)))
        exponents = choice.of_utilities(utilities, rate)
        check_bounds(exponents, size)
        below = np.sort(source.integers(0, 10**9, size=size))
        upto = below + source.integers(0, 5, size=size)
        target = Fraction(float(source.uniform())) * int(source.integers(1, 10**9))
        check_bounds(choice.of_ranks(below, upto, target, rate), size)


def check_bounds(exponents, size):
    exact = [exponents.at(k) for k in range(size)]
    assert all(Fraction(b) <= x for b, x in zip(exponents.below.tolist(), exact, strict=True))
    assert (exponents.below >= -1.0).all()
    assert -1e-2 <= float(min(exact)) <= 0.0
    close = [float(x) - b for b, x in zip(exponents.below.tolist(), exact, strict=True) if x < 30]
    assert max(close) < 0.1


def test_a_million_candidates_and_extremes():
    releases = ample()
    points = np.linspace(-5, 5, 10**6)
    assert abs(releases.quantile(points[::9], 0.5, candidates=points, epsilon=1.0).value) < 1e-2
    far = releases.quantile([1e300] * 1000, 0.5, candidates=[0.0, 1.0, 2.0], epsilon=1.0)
    assert far.value in {0.0, 1.0, 2.0}
    best = [
        releases.exponential([-1e308, 1e308], sensitivity=1e-100, epsilon=1e3).value
        for _ in range(9)
    ]
    assert set(best) == {1}
    assert releases.exponential([5.0], sensitivity=1.0, epsilon=1.0).value == 0
    assert releases.noisy_max([], categories=[True], epsilon=1.0).value is True


def test_utilities_are_exact_and_candidates_plain_numbers():
    for numbers in ([2**60, 0], [Fraction(1, 4), Decimal("0.5")], np.longdouble([1, 2])):
        assert ample().exponential(numbers, sensitivity=1, epsilon=1.0).value in {0, 1}
    for dtype in (np.float32, np.longdouble, np.int8):
        release = ample().quantile([1], 0.5, candidates=np.array([1, 2], dtype), epsilon=1.0)
        assert type(release.value) is (int if dtype is np.int8 else float)
        assert Release.from_json(release.to_json()) == release
