"""Reports of local randomizers: their frequencies, coins at the last bit, unbiased estimates."""

from fractions import Fraction

import numpy as np
import pytest
from each import each
from test_shuffled import hadamard, hashed, optimized_bits, pure, subsets, symmetric_bits

from renyi import PureDP, RandomizedResponse
from renyi.mechanisms import (
    HadamardResponse,
    LaplaceResponse,
    LocalHashing,
    ResponseTable,
    SubsetSelection,
    UnaryEncoding,
)
from renyi.noise import SecureGenerator
from renyi.release import _reports, estimate, randomize

SOURCE = SecureGenerator(insecure_reproducible=7)
USERS = 200_000
TABLE = ((0.5, 0.25, 0.25, 0.0), (0.125, 0.75, 0.0, 0.125), (0.25, 0.375, 0.375, 0.0))
ALL = [
    (RandomizedResponse(0.625, 3), [[Fraction(5, 8), Fraction(3, 16), Fraction(3, 16)]]),
    (HadamardResponse(1.0, 3), hadamard(1.0, 3)),
    (HadamardResponse(2.0, 5), hadamard(2.0, 5)),
    (SubsetSelection(1.0, 4, 2), subsets(1.0, 4, 2)),
    (SubsetSelection(1.0, 3, 1), pure(1.0, 3)),
    (UnaryEncoding(1.0, 3), symmetric_bits(1.0, 3)),
    (UnaryEncoding(2.0, 3, True), optimized_bits(2.0, 3)),
    (ResponseTable(TABLE), TABLE),
]


def keys(randomizer, reports):
    """Return the outcome that each report is, in the order of the exact rows."""
    if reports.ndim == 1:
        return reports
    if isinstance(randomizer, SubsetSelection):
        codes = [sum(1 << i for i in np.flatnonzero(row)) for row in _subset_rows(randomizer)]
        weights = 1 << np.arange(reports.shape[1])
        order = {code: i for i, code in enumerate(codes)}
        return np.array([order[int(code)] for code in reports @ weights])
    return reports @ (1 << np.arange(reports.shape[1])[::-1])


def _subset_rows(randomizer):
    from itertools import combinations

    for chosen in combinations(range(randomizer.choices), randomizer.size):
        row = np.zeros(randomizer.choices, dtype=bool)
        row[list(chosen)] = True
        yield row


@each("randomizer, rows", ALL)
def test_frequencies(randomizer, rows):
    for value, row in enumerate(rows):
        reports = randomize(randomizer, np.full(USERS, value), generator=SOURCE)
        seen = np.bincount(keys(randomizer, reports), minlength=len(row))
        expected = np.array([float(x) for x in row])
        deviation = np.sqrt(USERS * expected * (1.0 - expected))
        assert np.all(abs(seen - USERS * expected) <= 5.0 * deviation + 1e-9)


def test_hashed_reports_are_the_sets_of_inputs_in_the_bucket():
    reports = randomize(LocalHashing(1.0, 2, 3), np.zeros(USERS, int), generator=SOURCE)
    both = float(
        sum(
            p
            for p, (h, y) in zip(hashed(1.0, 2, 3)[0], _hashes(), strict=True)
            if h[0] == h[1] == y
        )
    )
    assert abs(np.all(reports, axis=1).mean() - both) < 5.0 * (both / USERS) ** 0.5


def _hashes():
    from itertools import product

    return [(h, y) for h in product(range(3), repeat=2) for y in range(3)]


@each("randomizer", [randomizer for randomizer, _ in ALL] + [LocalHashing(1.0, 4, 3)])
def test_estimates_are_unbiased_and_as_spread_as_they_say(randomizer):
    truth = np.array([500, 300, 200, 0, 0])[: len(TABLE)]
    if getattr(randomizer, "choices", 3) != 3:
        truth = np.append(truth, np.zeros(randomizer.choices - 3, int))
    held = np.repeat(np.arange(truth.size), truth)
    found = [
        estimate(randomizer, randomize(randomizer, held, generator=SOURCE)) for _ in range(400)
    ]
    counts = np.array([estimate.value for estimate in found])
    variance = np.mean([estimate.variance for estimate in found], axis=0)
    assert np.all(abs(counts.mean(axis=0) - truth) < 5.0 * np.sqrt(variance / 400))
    assert np.all(abs(counts.var(axis=0) / variance - 1.0) < 0.4)


def test_a_mean():
    held = np.linspace(0.0, 1.0, USERS)
    randomizer = LaplaceResponse(2.0)
    mean, variance = estimate(randomizer, randomize(randomizer, held, generator=SOURCE))
    assert variance == pytest.approx(2.0 / 4.0 / USERS)
    assert abs(mean - 0.5) < 5.0 * variance**0.5


def test_a_coin_takes_the_bits_that_it_needs():
    third = _reports._known(Fraction(1, 3))
    first = 2**64 // 3
    found = [_reports._is_below(first, third, SOURCE) for _ in range(4000)]
    assert abs(np.mean(found) - (2**64 / 3 - first)) < 0.05 or 0.2 < np.mean(found) < 0.5
    assert not _reports._is_below(2**63, _reports._known(Fraction(1, 2)), SOURCE)
    law = _reports._logistic(Fraction(3), Fraction(-2))
    low, high = law(64)
    assert 0 < high - low < Fraction(1, 2**64)
    assert float(low) == pytest.approx(1.0 / (1.0 + 3.0 * np.exp(2.0)))


@each(
    "message, make",
    [
        (
            r"values must be a 1-d array of whole numbers in \[0, 3\)",
            lambda: randomize(RandomizedResponse(0.5, 3), [3]),
        ),
        (
            r"values must be a 1-d array of numbers in \[0, 1\]",
            lambda: randomize(LaplaceResponse(1.0), [1.5]),
        ),
        ("randomizer must be a Rand", lambda: randomize(PureDP(1.0), [0])),
        ("randomizer must depend", lambda: estimate(RandomizedResponse(0.5), [0])),
        (
            "reports must be without a mask",
            lambda: estimate(RandomizedResponse(0.5, 3), np.ma.masked_array([1, 2], [True, False])),
        ),
        (
            "values must be without a mask",
            lambda: randomize(RandomizedResponse(0.5, 3), np.ma.masked_array([1], [True])),
        ),
        ("reports must be of at least one", lambda: estimate(LaplaceResponse(1.0), [])),
        ("array of finite numbers", lambda: estimate(LaplaceResponse(1.0), [np.nan])),
        ("array of integers below 3", lambda: estimate(RandomizedResponse(0.5, 3), [1, 3])),
        ("array of integers below 4", lambda: estimate(HadamardResponse(1.0, 3), [0.5])),
        ("rows of 3 bits", lambda: estimate(UnaryEncoding(1.0, 3), [[1, 0, 2]])),
        ("independent rows", lambda: estimate(ResponseTable([[1.0], [1.0]]), [0])),
    ],
)
def test_refused(message, make):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
