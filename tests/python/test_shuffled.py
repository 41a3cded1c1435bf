"""The shuffle model against enumeration of all outputs in exact fractions, and known numbers."""

import itertools
import math
import re
import runpy
from collections import Counter
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st

from renyi import (
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RDPAccountant,
    Shuffled,
    UnsupportedMechanismError,
    calibrate,
)
from renyi.mechanisms import (
    HadamardResponse,
    LaplaceResponse,
    LocalHashing,
    ResponseTable,
    SubsetSelection,
    UnaryEncoding,
)
from renyi.mechanisms._shuffled_sum import Reports, delta_of

BITS = 256


def exact_exp(x):
    """Return e^x as a fraction, to 70 digits."""
    with mpmath.workprec(BITS):
        return Fraction(int(mpmath.floor(mpmath.exp(x) * 2**BITS)), 2**BITS)


def response(p, choices):
    rest = (1 - p) / (choices - 1)
    return [[p if i == j else rest for j in range(choices)] for i in range(choices)]


def pure(epsilon, choices):
    e = exact_exp(epsilon)
    return response(e / (e + choices - 1), choices)


def two_levels(epsilon, sets, outputs):
    """Rows of reports that are e^epsilon times as likely within a set."""
    e = exact_exp(epsilon)
    rows = [[e if y in inside else Fraction(1) for y in outputs] for inside in sets]
    return [[x / sum(row) for x in row] for row in rows]


def hadamard(epsilon, choices):
    columns = HadamardResponse(epsilon, choices).columns
    sets = [
        {c for c in range(columns) if (c & (x + 1)).bit_count() % 2 == 0} for x in range(choices)
    ]
    return two_levels(epsilon, sets, range(columns))


def subsets(epsilon, choices, size):
    outputs = list(itertools.combinations(range(choices), size))
    return two_levels(epsilon, [{s for s in outputs if x in s} for x in range(choices)], outputs)


def bits(p, q, choices):
    rows = []
    for x in range(choices):
        chances = [p if i == x else q for i in range(choices)]
        rows.append(
            [
                math.prod(c if bit else 1 - c for c, bit in zip(chances, y, strict=True))
                for y in itertools.product((0, 1), repeat=choices)
            ]
        )
    return rows


def symmetric_bits(epsilon, choices):
    keep = 1 / (1 + 1 / exact_exp(0.5 * epsilon))
    return bits(keep, 1 - keep, choices)


def optimized_bits(epsilon, choices):
    return bits(Fraction(1, 2), 1 / (exact_exp(epsilon) + 1), choices)


def hashed(epsilon, choices, buckets):
    """Rows over the hash function and the bucket, each function as likely."""
    e = exact_exp(epsilon)
    functions = list(itertools.product(range(buckets), repeat=choices))
    return [
        [
            (e if h[x] == y else 1) / ((e + buckets - 1) * len(functions))
            for h in functions
            for y in range(buckets)
        ]
        for x in range(choices)
    ]


def merged(rows):
    """Reports of equal chances for all inputs as one."""
    columns = Counter(zip(*rows, strict=True))
    return [[row[i] * n for row, n in columns.items()] for i in range(len(rows))]


def followed(known, row):
    """Return the law of counts after one more report."""
    found = Counter()
    for counts, mass in known.items():
        for j, chance in enumerate(row):
            if chance:
                found[(*counts[:j], counts[j] + 1, *counts[j + 1 :])] += mass * chance
    return found


def truth(rows, users, t):
    """Return the largest delta over all data sets and replaced inputs, and of equal others."""
    scale = math.lcm(*(x.denominator for row in rows for x in row))
    rows = [[int(x * scale) for x in row] for row in rows]  # whole numbers, for speed
    found = {True: 0, False: 0}
    inputs = range(len(rows))
    for others in itertools.combinations_with_replacement(inputs, users - 1):
        known = {(0,) * len(rows[0]): 1}
        for x in others:
            known = followed(known, rows[x])
        outputs = [followed(known, row) for row in rows]
        for p, q in itertools.permutations(outputs, 2):
            value = sum(
                max(mass * t.denominator - t.numerator * q[key], 0) for key, mass in p.items()
            )
            equal = len(set(others)) <= 1
            found[equal] = max(found[equal], value)
    unit = scale**users * t.denominator
    return Fraction(max(found.values()), unit), Fraction(found[True], unit)


table = [[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.375, 0.375]]
holes = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.5, 0.25]]
CASES = [
    (RandomizedResponse(0.75), response(Fraction(3, 4), 2), (1, 2, 3, 8)),
    (RandomizedResponse(0.25), response(Fraction(1, 4), 2), (4,)),
    (RandomizedResponse(0.625, 3), response(Fraction(5, 8), 3), (2, 5, 8)),
    (RandomizedResponse(0.125, 3), response(Fraction(1, 8), 3), (5,)),
    (RandomizedResponse(0.5, 5), response(Fraction(1, 2), 5), (4,)),
    (PureDP(1.0), pure(1.0, 2), (1, 3, 8)),
    (PureDP(2.0), pure(2.0, 3), (3, 8)),
    (PureDP(2.0), pure(2.0, 4), (4,)),
    (HadamardResponse(1.0, 2), hadamard(1.0, 2), (2, 8)),
    (HadamardResponse(1.0, 3), hadamard(1.0, 3), (2, 5)),
    (HadamardResponse(1.5, 5), hadamard(1.5, 5), (3,)),
    (SubsetSelection(1.0, 2, 1), pure(1.0, 2), (3,)),
    (SubsetSelection(1.0, 4, 2), subsets(1.0, 4, 2), (2, 4)),
    (SubsetSelection(2.0, 4, 3), subsets(2.0, 4, 3), (4,)),
    (UnaryEncoding(1.0, 2), symmetric_bits(1.0, 2), (2, 8)),
    (UnaryEncoding(2.0, 3), symmetric_bits(2.0, 3), (2, 3)),
    (UnaryEncoding(1.0, 3, True), optimized_bits(1.0, 3), (2, 3)),
    (LocalHashing(1.0, 3, 2), merged(hashed(1.0, 3, 2)), (2, 4)),
    (LocalHashing(2.0, 2, 3), merged(hashed(2.0, 2, 3)), (3, 8)),
    (ResponseTable(table), [[Fraction(x) for x in row] for row in table], (1, 2, 5, 8)),
    (ResponseTable(holes), [[Fraction(x) for x in row] for row in holes], (1, 5, 8)),
]


@each("randomizer, rows, users", [(r, rows, n) for r, rows, sizes in CASES for n in sizes])
def test_all_outputs(randomizer, rows, users):
    accountant = PLDAccountant(adjacency="replace_one").compose(Shuffled(randomizer, users))
    for epsilon in (0.0, 0.3, 1.1):
        every, equal = truth(rows, users, exact_exp(epsilon))
        low, high = accountant.get_delta_bounds(epsilon)
        assert every <= high
        if isinstance(randomizer, PureDP):  # whose lower end is another randomizer's
            continue
        assert low <= every
        assert low >= 0.99 * equal - 1e-12


@each("epsilon, users", [(1.0, 5), (2.0, 3)])
def test_any_randomizer_is_as_bad_as_randomized_response(epsilon, users):
    low, high = (
        PLDAccountant(adjacency="replace_one")
        .compose(Shuffled(PureDP(epsilon), users))
        .get_delta_bounds(0.3)
    )
    worst = max(truth(pure(epsilon, k), users, exact_exp(0.3))[1] for k in (2, 3))
    assert 0.99 * worst <= low <= worst <= high


def of(randomizer, users, count=1):
    return PLDAccountant(adjacency="replace_one").compose(Shuffled(randomizer, users), count)


def p_of(epsilon, choices):
    return math.exp(epsilon) / (math.exp(epsilon) + choices - 1)


# Lower and upper ends at delta = 1e-6; upper ones by direct sums over binomials, in 16 digits.
NUMBERS = [
    (PureDP(1.0), 10**4, None, 0.043206158),
    (PureDP(1.0), 10**6, None, 0.003513521),
    (PureDP(2.0), 10**3, None, 0.397087059),
    (PureDP(2.0), 10**5, None, 0.033187249),
    (RandomizedResponse(p_of(2.0, 10), 10), 10**3, 0.27264697, 0.27276621),
    (RandomizedResponse(p_of(3.0, 100), 100), 10**3, 0.29959424, 0.29961294),
    (UnaryEncoding(2.0, 10), 10**4, None, 0.087518),
    (LaplaceResponse(2.0), 10**4, None, 0.0946),
]


@each("randomizer, users, lower, upper", NUMBERS)
def test_known_numbers(randomizer, users, lower, upper):
    digits = len(repr(upper)) - 2
    low, high = of(randomizer, users).get_epsilon_bounds(1e-6)
    assert low <= high
    assert -(10.0**-digits) <= high - upper <= 3e-6 * upper + 10.0**-digits
    if lower is not None:
        assert -3e-6 * lower - 1e-8 <= low - lower <= 1e-8


def test_one_user_hides_among_nobody():
    for epsilon in (0.0, 0.5, 1.5):
        low, high = of(LaplaceResponse(2.0), 1).get_delta_bounds(epsilon)
        exact = -math.expm1(0.5 * (epsilon - 2.0))
        assert low <= exact <= high <= exact + 1e-3
    assert of(ResponseTable([[1.0, 0.0], [0.0, 1.0]]), 1).get_delta(3.0) == 1.0
    assert of(RandomizedResponse(0.5), 10).get_epsilon_bounds(1e-6) == (0.0, 0.0)
    assert of(RandomizedResponse(0.5, 1), 10).get_delta(0.0) == 0.0
    assert of(PureDP(2.0), 1000).get_epsilon(0.0) == 2.0


def test_a_table_is_what_it_lists():
    rows = [[float(x) for x in row] for row in subsets(1.0, 4, 2)]
    for users in (5, 10**6):
        named = of(SubsetSelection(1.0, 4, 2), users).get_delta_bounds(0.002)
        listed = of(ResponseTable(rows), users).get_delta_bounds(0.002)
        assert listed == pytest.approx(named, rel=1e-4)


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("users", [1, 10, 10**9])
def test_reports_that_reveal_the_input(users, rounds):
    """A report that others never send, or hardly ever, hides among nobody."""
    for rows, revealed in (([[1, 0], [0, 1]], 1.0), ([[0.5, 0.5, 0], [0.25, 0.25, 0.5]], 0.5)):
        reports = Shuffled(ResponseTable(rows), users) * rounds
        accountant = PLDAccountant(adjacency="replace_one").compose(reports)
        assert accountant.get_epsilon(1e-5) == math.inf
        low, high = accountant.get_delta_bounds(50.0)
        assert low <= 1.0 - (1.0 - revealed) ** rounds <= high
        assert high - low < 1e-9
    for tiny in (1e-310, 1e-200, 1e-80):
        reports = Shuffled(ResponseTable([[tiny, 1.0], [1.0, tiny]]), users) * rounds
        accountant = PLDAccountant(adjacency="replace_one").compose(reports)
        low, high = accountant.get_epsilon_bounds(1e-5)
        assert low <= -rounds * math.log(tiny) * (1.0 + 1e-12)
        assert high >= -math.log(tiny) - 1e-4
        assert accountant.get_delta(0.0) == 1.0


def test_next_to_no_loss_has_an_answer():
    once = Shuffled(PureDP(1e-200), 5)
    accountant = PLDAccountant(adjacency="replace_one").compose(once)
    assert accountant.get_epsilon(1e-300) == 1e-200
    assert accountant.compose(once).get_epsilon(0.0) == 2e-200


def test_rounds_compose_and_the_pair_agrees_with_one():
    one, ten = of(PureDP(1.0), 10**4), of(PureDP(1.0), 10**4, 10)
    low, high = ten.get_epsilon_bounds(1e-6)
    assert 0.12 < low < 0.148 < high < 0.148558  # which is an upper end, by a grid of 1e-3
    nothing = Gaussian(math.inf)
    by_pair = of(PureDP(1.0), 10**4).compose(nothing).compose(Laplace(1e9)).get_epsilon_bounds(1e-6)
    alone = one.get_epsilon_bounds(1e-6)
    assert by_pair == pytest.approx(alone, rel=6e-3)
    assert by_pair[0] <= alone[0] * (1 + 1e-6)
    assert by_pair[1] >= alone[1] * (1 - 1e-6)
    renyi = RDPAccountant(adjacency="replace_one").compose(Shuffled(PureDP(1.0), 10**4), 10)
    assert high < renyi.get_epsilon(1e-6) < 1.2 * high


def test_the_pair_of_a_data_set_against_all_outputs():
    rows = pure(1.0, 3)
    scheme = Shuffled(RandomizedResponse(p_of(1.0, 3), 3), 4)
    pair, error = scheme.attained_pair("replace_one", "remove")
    p, q = pair.atoms()[1:]
    assert error < 1e-10
    for t in (0.7, 1.0, 1.3, 2.0):
        lower = np.maximum(p - t * q, 0.0).sum()
        worst = truth(rows, 4, Fraction(t))[1]
        assert 0.8 * float(worst) - 1e-9 <= lower <= float(worst) + 1e-10


def test_only_replaced_records():
    scheme = Shuffled(PureDP(1.0), 100)
    for accountant in (PLDAccountant(), RDPAccountant(adjacency="zero_out")):
        with pytest.raises(UnsupportedMechanismError, match="the number of reports is public"):
            accountant.compose(scheme)


def test_samples_have_as_many_records_as_there_are_reports():
    scheme = Shuffled(PureDP(1.0), 1000)
    for make in (
        lambda: FixedSizeSampled(scheme, 10, 100_000),
        lambda: FixedSizeSampled(scheme, 1000, 100_000, True),
        lambda: PoissonSampled(scheme, 0.1),
        lambda: RandomAllocation(scheme, 10),
    ):
        with pytest.raises(ValueError, match="mechanism must"):
            make()
    drawn = PLDAccountant(adjacency="replace_one")
    drawn.compose(FixedSizeSampled(scheme, 1000, 100_000))
    assert drawn.get_epsilon(1e-6) < 0.01 < of(PureDP(1.0), 1000).get_epsilon(1e-6)


@each(
    "message, make",
    [
        (
            r"users must be an integer in \[1, 10\^9\], got 1000000001",
            lambda: of(PureDP(1), 10**9 + 1),
        ),
        (r"users must be an integer in \[1, 10\^9\], got 0", lambda: of(PureDP(1), 0)),
        ("randomizer must be a PureDP, Rand", lambda: Shuffled(Laplace(1.0), 10)),
        ("randomizer must have an epsilon of at most 30", lambda: Shuffled(PureDP(31.0), 10)),
        ("size must be below choices, 4, got 4", lambda: SubsetSelection(1.0, 4, 4)),
        (r"buckets must be an integer in \[2, 10\^9\]", lambda: LocalHashing(1.0, 5, 10**400)),
        (r"epsilon must be a number in \(0, 30\], got 0", lambda: LaplaceResponse(0)),
        ("rows must be of sum 1", lambda: ResponseTable([[0.5, 0.4], [0.5, 0.5]])),
        ("rows must be 2 to 64 of one length", lambda: ResponseTable([[1.0]])),
    ],
)
def test_refused(message, make):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_calibration_of_the_local_epsilon_and_of_users():
    local = calibrate(
        lambda e: Shuffled(PureDP(e), 100_000),
        (0.1, 8.0),
        target_epsilon=0.1,
        target_delta=1e-6,
        adjacency="replace_one",
    )
    assert of(PureDP(local), 100_000).get_epsilon(1e-6) <= 0.1
    assert of(PureDP(local * 1.001), 100_000).get_epsilon(1e-6) > 0.1
    users = calibrate(
        lambda n: Shuffled(PureDP(2.0), math.ceil(n)),
        (1.0, 1e9),
        target_epsilon=0.05,
        target_delta=1e-6,
        adjacency="replace_one",
    )
    assert of(PureDP(2.0), math.ceil(users)).get_epsilon(1e-6) <= 0.05
    assert of(PureDP(2.0), math.ceil(0.999 * users)).get_epsilon(1e-6) > 0.05


def binomial_delta(epsilon, users, loss):
    """Return delta of the stronger clones, by the sum over clones and binomials in mpmath."""
    with mpmath.workdps(30):
        p, t = mpmath.exp(loss), mpmath.exp(epsilon)
        r = 1 / (p + 1)
        a, b = p - t, 1 - t * p
        total = mpmath.mpf(0)
        for m in range(1, users + 1):
            chance = mpmath.binomial(users, m) * (2 * r) ** m * (1 - 2 * r) ** (users - m)
            inner = (
                sum(mpmath.binomial(m, i) * max(i * a + (m - i) * b, 0) for i in range(m + 1))
                / mpmath.mpf(2) ** m
            )
            total += chance * inner
        return total / users


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 8.0), st.integers(1, 40), st.floats(0.0, 0.999))
def test_upper_ends_of_any_randomizer_by_direct_sums(loss, users, share):
    exact = binomial_delta(share * loss, users, loss)
    high = of(PureDP(loss), users).get_delta(share * loss)
    assert exact <= high <= 1.02 * exact + 1e-4


randomizers = st.one_of(
    st.builds(PureDP, st.floats(1e-3, 10.0)),
    st.builds(RandomizedResponse, st.floats(0.0, 1.0), st.integers(1, 1000)),
    st.builds(HadamardResponse, st.floats(1e-3, 10.0), st.integers(2, 1000)),
    st.builds(UnaryEncoding, st.floats(1e-3, 10.0), st.integers(2, 1000), st.booleans()),
    st.builds(LocalHashing, st.floats(1e-3, 10.0), st.integers(2, 100), st.integers(2, 100)),
    st.builds(LaplaceResponse, st.floats(1e-3, 10.0)),
    st.integers(2, 1000).flatmap(
        lambda d: st.builds(
            SubsetSelection, st.floats(1e-3, 10.0), st.just(d), st.integers(1, d - 1)
        )
    ),
)


@settings(max_examples=30, deadline=None)
@given(randomizers, st.floats(0.0, 9.0), st.floats(-12.0, -0.1))
def test_brackets_of_any_setting(randomizer, log_users, log_delta):
    users, delta = math.ceil(10.0**log_users), 10.0**log_delta
    accountant = of(randomizer, users)
    low, high = accountant.get_epsilon_bounds(delta)
    largest = accountant.get_epsilon(0.0)
    assert 0.0 <= low <= high <= largest
    if high < largest:
        assert accountant.get_delta(high) <= delta * (1 + 1e-9)
    few, many = (
        of(randomizer, (users + 1) // 2).get_delta(0.1),
        of(randomizer, users).get_delta(0.1),
    )
    assert many <= few * (1 + 1e-3) or users < 100


def test_the_published_variation_ratio_is_no_upper_bound():
    p = exact_exp(2.0)
    one, other = p / (p + 3), 1 / (p + 3)
    laws = [[float(x) for x in law] for law in ((one, other, 2 * other), (other, one, 2 * other))]
    r = float(other)  # beta p / ((p - 1) q), with q = p
    published = Reports(*map(np.array, (*laws, [r, r, 1 - 2 * r])))
    low, high = delta_of(published, 1000, 0.3)
    assert low <= 1.007471e-5 + 1e-11
    assert high >= 1.007471e-5 - 1e-11
    bracket = of(RandomizedResponse(p_of(2.0, 4), 4), 1000).get_delta_bounds(0.3)
    assert high < 1.0127e-5 < bracket[0] < 1.012742e-5 + 1e-10


PAGE = (Path(__file__).parents[2] / "docs" / "tasks" / "shuffle.md").read_text(encoding="utf-8")
EXAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "shuffle.py"))


def test_the_table_of_the_page():
    rows = re.findall(r"^\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 5
    for users, local, shuffled, alone in rows[:2]:
        found = EXAMPLE["errors"](int(users.replace(",", "")))
        assert [f"{x:.{d}f}" for x, d in zip(found, (3, 1, 1), strict=True)] == [
            local,
            shuffled,
            alone,
        ]
    assert f"{EXAMPLE['central']():.2f}" == "4.23"


def test_the_figure_is_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(EXAMPLE["draw"].__globals__, "USERS", (100, 1000))
    EXAMPLE["draw"](str(tmp_path / "figure.png"))
    assert (tmp_path / "figure.png").stat().st_size > 10_000
