"""Releases: what is charged is what is drawn, the statistics are exact, budgets hold."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import partial

import mpmath as mp
import numpy as np
import pytest
from each import slow
from hypothesis import given
from hypothesis import strategies as st
from interruptions import each_place
from noise_alone import chi_square

from renyi import (
    BudgetExceededError,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Ledger,
    PLDAccountant,
    PrivacyFilter,
    RenyiFilter,
    ZCDPFilter,
)
from renyi.noise import InsecureGeneratorWarning, SecureGenerator
from renyi.release import Release, Releases
from renyi.release._draws import Noise

ADJACENCIES = ("add_remove", "replace_one")
GAMBLES = 1e-9  # how often a right sampler fails a test


def ample(adjacency="add_remove", seed=None):
    """Return releases under a budget that is never used up."""
    generator = None if seed is None else SecureGenerator(insecure_reproducible=seed)
    return Releases(ZCDPFilter(1e9, adjacency), generator=generator)


@pytest.fixture
def noiseless(monkeypatch):
    """Release what the noise would have been added to."""
    monkeypatch.setattr(Noise, "add_to_sum", lambda self, total, step, generator: total * step)
    monkeypatch.setattr(Noise, "add_to_counts", lambda self, counts, generator: counts)


# The law of what is released, by formulas of its own.


def below(law, scale, x):
    """Return P(noise < x) of ideal noise."""
    x = mp.mpf(x) / mp.mpf(scale)
    if law == "gaussian":
        return mp.ncdf(x)
    return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2


def mass(release, k, at=0):
    """Return P(count + noise = k) where the exact count is ``at``."""
    k -= at
    if release.noise == "discrete_laplace":
        ratio = mp.exp(-1 / mp.mpf(release.scale))
        return (1 - ratio) / (1 + ratio) * ratio ** abs(k)
    return below(release.noise, release.scale, k + mp.mpf(0.5)) - below(
        release.noise, release.scale, k - mp.mpf(0.5)
    )


NOISES = [
    {"epsilon": 0.7},
    {"rho": 0.2},
    {"noise": Laplace(1.3)},
    {"noise": Gaussian(2.5)},
    {"noise": DiscreteLaplace(1.7)},
]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("how", NOISES, ids=str)
def test_counts_are_drawn_by_their_law(how, adjacency):
    cells = 50_000
    release = ample(adjacency).histogram([], categories=range(cells), **how)
    reach = 60
    drawn = np.bincount(np.clip(np.array(release.value), -reach, reach) + reach)
    law = [cells * mass(release, k) for k in range(-reach, reach + 1)]
    drawn = np.pad(drawn, (0, 2 * reach + 1 - len(drawn)))
    assert chi_square(drawn, law) > GAMBLES
    deviation = math.sqrt(sum(k * k * mass(release, k) for k in range(-400, 401)))
    assert release.standard_deviation == pytest.approx(deviation, rel=0.02)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("how", NOISES, ids=str)
def test_the_law_of_a_count_costs_no_more_than_was_charged(how, adjacency):
    release = ample(adjacency).count([True], **how)
    account = PLDAccountant(adjacency=adjacency).compose(release.mechanism)
    for epsilon in (0.0, 0.3, 1.0):
        delta = sum(
            max(mp.mpf(0), mass(release, k) - mp.exp(epsilon) * mass(release, k, at=1))
            for k in range(-200, 201)
        )
        charged = account.get_delta(epsilon)
        assert delta <= charged * (1 + 1e-9) + 1e-15
        if release.noise == "discrete_laplace":  # there is no more noise than that
            assert delta >= charged * (1 - 1e-9) - 1e-15


@pytest.mark.parametrize("how", NOISES, ids=str)
def test_a_replaced_record_in_a_histogram_costs_no_more_than_was_charged(how):
    release = ample("replace_one").histogram(["a"], categories=["a", "b"], **how)
    account = PLDAccountant(adjacency="replace_one").compose(release.mechanism)
    ks = range(-40, 41)
    one = [(mass(release, k), mass(release, k, at=1)) for k in ks]
    for epsilon in (0.0, 0.2, 0.7):
        factor = mp.exp(epsilon)
        delta = sum(max(mp.mpf(0), p * q - factor * q2 * p2) for p, q2 in one for q, p2 in one)
        charged = account.get_delta(epsilon)
        assert delta <= charged * (1 + 1e-9) + 1e-15
        if release.noise == "discrete_laplace":
            assert delta >= charged * (1 - 1e-5)


@pytest.mark.parametrize("how", [{"epsilon": 1.0}, {"rho": 0.5}, {"noise": Laplace(3.0)}], ids=str)
def test_sums_are_drawn_by_their_law(how):
    releases, records = ample(), [0.3, 2.5, -1.0]
    drawn = [releases.sum(records, lower=-1, upper=2, **how) for _ in range(1200)]
    release = drawn[0]
    exact = Fraction(round(0.3 * 2**34), 2**34) + 1  # 3 = 2^34 2^-34 .. clipped: 0.3 + 2 - 1
    values = np.array([found.value for found in drawn])
    assert (values % release.spacing == 0).all()
    edges = float(exact) + release.scale * np.linspace(-6, 6, 61) + release.spacing / 2
    edges -= np.fmod(edges, release.spacing)
    edges += release.spacing / 2  # in the middle between two multiples
    law = [below(release.noise, release.scale, float(e) - float(exact)) for e in edges]
    law = np.diff([0, *law, 1]) * len(values)
    observed = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)
    assert chi_square(observed, law.astype(float)) > GAMBLES


# Sensitivities in exact arithmetic.


def multiplier_of(release, adjacency):
    """Return how far the charge lets neighbours be apart, over the scale of the noise."""
    mechanism = release.mechanism
    half = 2 if adjacency == "replace_one" else 1
    if hasattr(mechanism, "epsilon"):
        return Fraction(mechanism.epsilon)
    return half / Fraction(mechanism.noise_multiplier)


NUMBERS = st.one_of(
    st.floats(allow_nan=False),
    st.sampled_from([1e308, -1e308, 5e-324, 2.0**53, 0.1, math.inf, -math.inf, 2**62, -(2**63)]),
)
BOUNDS = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda b: (b[0], b[0] + b[1]))


NEIGHBOURS = st.tuples(
    st.lists(NUMBERS, max_size=8),
    NUMBERS,
    NUMBERS,
    BOUNDS,
    st.sampled_from([{"epsilon": 0.3}, {"rho": 0.7}, {"noise": Laplace(7.1)}]),
    st.sampled_from(ADJACENCIES),
)


def released(query, records, one, other, bounds, how, adjacency):
    """Releases of two neighbours, the sums before their noise, and the first column."""
    first, exact = [*records, one], []
    second = [*records, other][::-1] if adjacency == "replace_one" else records[::-1]
    query_of = partial(getattr(ample(adjacency), query), lower=bounds[0], upper=bounds[1], **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Noise, "add_to_sum", lambda self, k, step, _: exact.append(k * step) or k)
        return [query_of(x) for x in (first, second) if x or query == "sum"], exact, first


@given(NEIGHBOURS)
def test_neighbouring_sums_are_no_further_apart_than_charged(drawn):
    sums, exact, first = released("sum", *drawn)
    (lower, upper), _, adjacency = drawn[3:]
    distance = abs(exact[0] - exact[1])
    assert distance <= multiplier_of(sums[0], adjacency) * Fraction(sums[0].scale)
    clipped = sum(Fraction(min(max(float(x), lower), upper)) for x in first)
    step = Fraction(max(-lower, upper)) / 2**35
    assert abs(exact[0] - clipped) <= len(first) * step


@given(NEIGHBOURS)
def test_neighbouring_means_are_no_further_apart_than_charged(drawn):
    """Of two sums together, in the norm that is that of the noise."""
    means, exact, first = released("mean", *drawn)
    how, adjacency = drawn[4:]
    if len(means) == 2:
        half = len(exact) // 2
        moved = [abs(x - y) for x, y in zip(exact[:half], exact[half:], strict=True)]
        most = multiplier_of(means[0], adjacency) * Fraction(means[0].scale)
        most *= len(first) if adjacency == "replace_one" else 1
        most *= 1 + Fraction(1, 2**50)  # the scale of a mean is that of the sum over n, rounded
        if "rho" in how:
            assert sum(x * x for x in moved) <= most**2
        else:
            assert sum(moved) <= most


@pytest.mark.usefixtures("noiseless")
def test_whole_numbers_are_added_exactly_in_any_order_and_type():
    records = np.arange(-1000, 3000)
    for dtype in ("int16", "int64", "float32", "float64", "object"):
        for column in (records, records[::-1], records[::2]):
            found = ample().sum(column.astype(dtype), lower=-500, upper=2500, rho=1.0)
            assert found.value == np.clip(column, -500, 2500).sum()
    small = np.arange(256).astype(np.uint8)
    assert ample().sum(small, lower=0, upper=300, rho=1.0).value == small.astype(int).sum()
    signed = np.full(300, -128, np.int8)
    assert ample().sum(signed, lower=-200, upper=0, rho=1.0).value == -128 * 300
    large = np.array([2**63 - 1, -(2**63)])
    assert ample().sum(large, lower=-5, upper=4, rho=1.0).value == -1
    assert ample().sum(np.array([2**64 - 1], np.uint64), lower=0, upper=4, rho=1.0).value == 4


@pytest.mark.usefixtures("noiseless")
def test_a_column_in_several_pieces_is_one_column():
    records = np.full(5 * 2**19 + 3, 0.1, np.float32)
    total = ample().sum(records, lower=0, upper=1, rho=1.0).value
    assert total == pytest.approx(len(records) * float(np.float32(0.1)), rel=1e-9)
    found = ample().histogram(records, bins=[0, 0.05, 0.2], rho=1.0).value
    assert found == (0, len(records))
    assert ample().histogram(records > 1, categories=[False], rho=1.0).value == (len(records),)


@pytest.mark.usefixtures("noiseless")
def test_statistics_without_noise_are_right():
    values = [1.0, 2.0, 4.0, 100.0, -math.inf]
    assert ample().mean(values, lower=0, upper=8, epsilon=1.0).value == 3.0
    assert ample("replace_one").mean(values, lower=0, upper=8, epsilon=1.0).value == 3.0
    filled = ample().sum([1.0, math.nan, None], lower=0, upper=8, epsilon=1.0, missing=2.5)
    assert filled.value == 6.0
    bins = ample().histogram([0, 1, 1.5, 2, 3, math.nan, -1, math.inf], bins=[0, 1, 2, 3], rho=1.0)
    assert bins.value == (1, 2, 2)
    assert bins.labels == ((0.0, 1.0), (1.0, 2.0), (2.0, 3.0))
    open_ = ample().histogram([-5, 0, 7, math.inf], bins=[-math.inf, 0, math.inf], rho=1.0)
    assert open_.value == (1, 3)
    words = ["b", "a", None, "b", "other"]
    assert ample().histogram(words, categories=["a", "b", "c"], rho=1.0).value == (1, 2, 0)
    assert ample().histogram(np.array(["x", "y"]), categories=["y"], rho=1.0).value == (1,)
    assert ample().count(np.array([True, False, True]), rho=1.0).value == 2


class Column:
    """A column of another library."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


@pytest.mark.usefixtures("noiseless")
def test_columns_of_other_libraries_are_taken():
    assert ample().sum(Column([1, 2]), lower=0, upper=9, rho=1.0).value == 3
    assert ample().count(Column([True, False]), rho=1.0).value == 1


class Masked:
    """A column whose array has a mask, as variables of netCDF4 have."""

    def __array__(self, dtype=None, copy=None):
        return np.ma.masked_array([True, True], [True, False])


@pytest.mark.parametrize("query", [lambda r: r.count, lambda r: r.histogram])
def test_a_mask_that_only_the_array_of_a_column_has_is_seen(query):
    how = {"categories": [True]} if query(ample()).__name__ == "histogram" else {}
    with pytest.raises(TypeError, match="without a mask"):
        query(ample())(Masked(), rho=1.0, **how)


@pytest.mark.parametrize("column", [iter([1, 2]), {1, 2}, {1: 2}.values(), 5, np.int64(5)])
def test_what_is_no_column_is_named(column):
    with pytest.raises(TypeError, match=f"one for each record, got {type(column).__name__}"):
        ample().sum(column, lower=0, upper=9, rho=1.0)


@pytest.mark.usefixtures("noiseless")
def test_numbers_beyond_doubles_are_clipped():
    huge = [10**400, -(10**400), Fraction(10**400, 3), Decimal("1e400"), np.longdouble("1e400")]
    for column in (huge, [0.5, None, *huge], np.array(huge, object)):
        missing = 7.0 if None in list(column) else None
        rest = 7.5 if missing else 0.0
        found = ample().sum(column, lower=-9, upper=8, rho=1.0, missing=missing)
        assert found.value == rest + 4 * 8 - 9
        mean = ample("replace_one").mean(column, lower=-9, upper=8, rho=1.0, missing=missing)
        assert mean.value == pytest.approx(found.value / len(column))
        assert ample().histogram(column, bins=[8, math.inf], rho=1.0).value == (4,)
    between = [*huge[:2], 1, 1, 1]
    assert ample().quantile(between, 0.5, candidates=[0, 1, 2], epsilon=1000.0).value == 1


STRANGE = np.array([1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, -0.0, 2.0**60])
QUIET = [
    lambda r, x: r.sum(x, lower=-1, upper=2, missing=0, epsilon=1.0),
    lambda r, x: r.sum(x, lower=-(2.0**900), upper=2.0**900, missing=0, rho=1.0),
    lambda r, x: r.sum(x, lower=0, upper=2.0**-899, missing=0, rho=1.0),
    lambda r, x: r.mean(x, lower=-(2.0**900), upper=2.0**900, missing=0, epsilon=1.0).interval(),
    lambda r, x: r.histogram(x, bins=[-math.inf, 0, 5e-324, 1], rho=1.0),
    lambda r, x: r.histogram(x, categories=[0, 5e-324], epsilon=1.0),
    lambda r, x: r.quantile(x, 0.5, candidates=[-1e308, 0, 5e-324, 1e308], missing=0, epsilon=1e3),
    lambda r, x: r.noisy_max(x, categories=[0, 5e-324], epsilon=1e3),
    lambda r, x: r.exponential(x[:3], sensitivity=2.0**500, epsilon=2.0**-20),
    lambda r, x: r.exponential(x[:3], sensitivity=2.0**-500, epsilon=1e3),
]


@pytest.mark.parametrize("number", range(len(QUIET)))
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.filterwarnings("error")
def test_no_record_makes_arithmetic_warn_or_fail(number, adjacency):
    signalling = np.array([0x7FA00000, 0x3F800000], np.uint32).view(np.float32)
    extended = np.append(STRANGE, 0.0).astype(np.longdouble)
    extended[-1] = np.longdouble("1e4000")
    for column in (STRANGE, STRANGE.astype(object), list(STRANGE), extended, signalling):
        if number >= 8 and column is signalling:
            continue
        with np.errstate(all="raise"):
            QUIET[number](ample(adjacency), column)


# What a record counts for does not depend on the others.


MANY = 2**53 - 1
MIXED = [
    (1, "unknown", [1, 2]),
    (True, "unknown", [True, False]),
    (0.5, "unknown", [0.5]),
    (MANY, 0.5, [MANY, MANY - 1]),
    ("1", 1, ["1", "2"]),
    (b"a", "b", ["a"]),
    (np.int64(MANY), np.float32(0.5), [MANY, MANY - 1]),
    (MANY, 2**127, [MANY, MANY - 1]),
]


@pytest.mark.usefixtures("noiseless")
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("record", "one", "categories"), MIXED, ids=str)
def test_a_record_of_another_type_moves_no_other(record, one, categories, adjacency):
    records = [record] * 50
    columns = [records, [one, *records], [*records, one], (*records, one)]
    columns.append(np.fromiter([one, *records], object))
    found = []
    for column in columns:
        try:
            release = ample(adjacency).histogram(column, categories=categories, epsilon=1.0)
        except TypeError:  # bytes, which are refused
            continue
        found.append(np.array(release.value))
    for cells in found:
        assert abs(cells - found[0]).sum() <= 1


class Nullable(Column):
    """A column of whole numbers, doubles as soon as one is missing: so do pandas and Arrow."""

    def __array__(self, dtype=None, copy=None):
        missing = None in self.values
        return np.array(self.values, np.float64 if missing else np.int64)


@pytest.mark.usefixtures("noiseless")
def test_a_missing_record_moves_no_other():
    largest, beyond = 2**53 - 1, [2**53 + k for k in range(5)]
    for record in (largest, *beyond, *(-number for number in beyond)):
        columns = [Nullable([record] * 50), Nullable([record] * 50 + [None])]
        found = [
            ample().histogram(column, categories=[largest, -largest], epsilon=1.0).value
            for column in columns
        ]
        assert found[0] == found[1] == (50 * (record == largest), 0)
        if record != largest:  # rounded in one of them
            for column in columns:
                with pytest.raises(ValueError, match="categories must be below 2"):
                    ample().noisy_max(column, categories=["a", record], epsilon=1.0)
    with pytest.raises(ValueError, match="categories must be below 2"):
        ample().histogram([1], categories=[2.0**53], epsilon=1.0)


class Chameleon:
    """A record that is equal to any, but not twice in a row."""

    def __init__(self):
        self.asked = 0

    def __hash__(self):
        return hash("a")

    def __eq__(self, other):
        self.asked += 1
        return self.asked % 2 == 1


@pytest.mark.usefixtures("noiseless")
def test_a_record_that_is_equal_to_others_hides_none_of_them():
    records = np.array([Chameleon(), *["a"] * 50], object)
    cells = ample().histogram(records, categories=["a", "b"], epsilon=1.0).value
    assert cells[0] in {50, 51}
    assert cells[1] == 0


def test_a_record_of_another_type_moves_no_choice():
    for column in ([1] * 60 + ["x"], ["x"] + [1] * 60):
        found = {ample().noisy_max(column, categories=[2, 1], epsilon=1.0).value for _ in range(20)}
        assert found == {1}


# Noise beside what was stated of it.


@pytest.mark.parametrize("adjacency", ["add_remove", *slow("replace_one")])
@pytest.mark.parametrize("how", [{"epsilon": 0.5}, {"rho": 0.1}], ids=str)
@pytest.mark.parametrize("times", [200, *slow(2000)])
def test_intervals_hold_as_often_as_they_say(how, adjacency, times):
    releases = ample(adjacency, seed=5)
    records = np.array([0.0, 1.0, 3.0, 10.0] * 20)
    confidence = 0.8
    held = {"sum": 0, "mean": 0, "count": 0}
    for _ in range(times):
        for query, truth in (("sum", 280.0), ("mean", 3.5)):
            found = getattr(releases, query)(records, lower=0, upper=10, **how)
            low, high = found.interval(confidence)
            assert low <= found.value <= high
            held[query] += low <= truth <= high
        low, high = releases.count(records > 2, **how).interval(confidence)
        held["count"] += low <= 40 <= high
    for query, count in held.items():
        assert count >= confidence * times - 6 * math.sqrt(0.16 * times), query
        if query != "count":  # whole numbers hold a little more often
            assert count <= confidence * times + 6 * math.sqrt(0.16 * times), query


def test_intervals_of_counts_are_the_least_that_hold():
    for how in NOISES:
        release = ample().count([], **how)
        for confidence in (0.5, 0.95, 0.999):
            low, high = release.interval(confidence)
            reach = (high - low) // 2

            def within(reach, release=release):
                return sum(mass(release, k) for k in range(-reach, reach + 1))

            assert within(reach) >= confidence
            assert reach == 0 or within(reach - 1) < confidence + 2e-3


def test_a_mean_of_hardly_any_records_says_that_nothing_is_known():
    for seed in range(50):
        empty = ample(seed=seed).mean([], lower=2, upper=5, epsilon=1.0)
        assert 2 <= empty.value <= 5
        low, high = empty.interval(0.99)
        assert low <= empty.value <= high


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_releases_are_json(adjacency):
    releases = ample(adjacency)
    made = [
        releases.count([True], epsilon=1.0, note="people"),
        releases.sum([1.0], lower=0, upper=1, rho=0.1),
        releases.mean([1.0], lower=0, upper=1, epsilon=0.1),
        releases.histogram(["a"], categories=["a", "inf", "é"], epsilon=0.1),
        releases.histogram([1], bins=[-math.inf, 0, math.inf], rho=0.1),
    ]
    for release in made:
        again = Release.from_json(release.to_json())
        assert again == release
        assert again.interval(0.9) == release.interval(0.9)
        assert str(again).startswith(release.note or release.query)
    for query in CHOICES:
        release = ask(releases, query)
        assert release.standard_deviation is None
        assert Release.from_json(release.to_json()) == release
        with pytest.raises(ValueError, match="interval must"):
            release.interval()


SUM, CELLS = {"query": "sum"}, {"query": "histogram", "value": [1]}
NOISELESS = {"query": "quantile", "noise": None, "scale": None, "spacing": None, "value": [1]}
FORGED = [
    *({"query": query} for query in ("variance", None, "sum", "histogram", "quantile")),
    *({"value": 1.5}, {"value": True}, {"note": 1}, {"labels": ["a"]}),
    *({"bounds": [0, 1]}, {"ends": [0, 1]}, {"noise": None}, {"noise": "cauchy"}),
    *({"scale": 0}, {"scale": "inf"}, {"scale": None}, {"spacing": None}, {"spacing": 1.0}),
    *({**SUM, "bounds": bounds} for bounds in ([1, 0], [1], ["a", "b"])),
    {**SUM, "bounds": [0, 1], "value": "1"},
    {"query": "mean", "bounds": [0, 1], "ends": [1, 10**400]},
    {**CELLS, "value": [1, 2], "labels": [1]},
    {"adjacency": "x"},
    *({**CELLS, "labels": labels} for labels in (None, [None], [[0]], [["a", 0]], [[0, 10**400]])),
    NOISELESS,
]


@pytest.mark.parametrize("wrong", FORGED, ids=str)
def test_what_no_release_is_made_of_is_refused(wrong):
    data = json.loads(ample().count([True], epsilon=1.0).to_json())
    with pytest.raises((TypeError, ValueError), match="must"):
        Release.from_json(json.dumps({**data, **wrong}))
    with pytest.raises(ValueError, match="must"):
        Release.from_json("{}")


def test_deviations_do_not_overflow():
    release = ample().mean([0.0] * 9, lower=-(2.0**900), upper=2.0**900, epsilon=1.0)
    assert 0.0 < release.standard_deviation <= math.inf


def test_a_release_is_shown_on_one_line():
    release = ample().count([True], epsilon=1.0, note="a\nb\x1b[2J")
    assert str(release).startswith(r"a\nb\x1b[2J: ")
    for how, shown in (
        (
            {"bins": [-math.inf, 0, 1.5, math.inf]},
            r"\[-inf, 0\): \S+, \[0, 1.5\): \S+, \[1.5, inf\): ",
        ),
        ({"categories": ["a\n", 1, True + 1]}, r"a\\n: \S+, 1: \S+, 2: "),
        ({"categories": range(99)}, "99 cells"),
    ):
        text = str(ample().histogram([], rho=1.0, **how))
        assert re.match(rf"histogram: {shown}.*, noise of standard deviation", text)


# Budgets.


@pytest.mark.parametrize(
    ("budget", "how", "times"),
    [
        (lambda a: ZCDPFilter(0.1, a), {"rho": 0.01}, 10),
        (lambda a: PrivacyFilter(1.0, 1e-6, adjacency=a), {"epsilon": 0.1}, 10),
        (lambda a: RenyiFilter(4.0, 1.0, a), {"rho": 0.025}, 10),
    ],
)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_shares_of_a_budget_fit_in_it(budget, how, times, adjacency):
    for query in ("count", "sum", "mean", "histogram"):
        releases = Releases(budget(adjacency))
        for _ in range(times):
            ask(releases, query, **how)
        assert releases.remaining < 0.5


def ask(releases, query, **how):
    data = np.array([1.0, 2.0, 3.0])
    if query in CHOICES:
        return CHOICES[query](releases)
    if query == "count":
        return releases.count(data > 1, **how)
    if query == "histogram":
        return releases.histogram(data, categories=[1, 2], **how)
    return getattr(releases, query)(data, lower=0, upper=4, **how)


class Refusing(SecureGenerator):
    """A generator that must not be asked."""

    @property
    def core(self):
        raise AssertionError("something was drawn")

    @core.setter
    def core(self, value):
        pass


QUERIES = ["count", "sum", "mean", "histogram"]
CHOICES = {
    "quantile": lambda r: r.quantile([1, 2], 0.5, candidates=[1, 2, 3], epsilon=0.1),
    "noisy_max": lambda r: r.noisy_max([1, 2], categories=[1, 2], epsilon=0.1),
    "exponential": lambda r: r.exponential([1, 2], sensitivity=1, epsilon=0.1),
}


@pytest.mark.parametrize("query", [*QUERIES, *CHOICES])
def test_what_exceeds_the_budget_is_refused_and_nothing_is_drawn(query):
    budget = ZCDPFilter(0.001)
    before = budget.to_json()
    with pytest.raises(BudgetExceededError):
        ask(Releases(budget, generator=Refusing()), query, rho=0.02)
    assert budget.to_json() == before
    with pytest.raises(AssertionError, match="something was drawn"):
        ask(Releases(ZCDPFilter(0.1), generator=Refusing()), query, rho=0.001)


class TwoFaced(Gaussian):
    """Noise that says another multiplier each time it is asked."""

    asked = 0

    def __getattribute__(self, name):
        if name == "noise_multiplier":
            TwoFaced.asked += 1
            return (1e-3, 1e3)[TwoFaced.asked % 2]
        return super().__getattribute__(name)


def counting(records=(True,), **how):
    return lambda r: r.count(list(records), **how)


def summing(records=(1.0,), lower=0, upper=1, **how):
    return lambda r: r.sum(records, lower=lower, upper=upper, **how)


def binning(records=(1,), **how):
    return lambda r: r.histogram(list(records), rho=1.0, **how)


def ranking(records=(1,), q=0.5, candidates=(1,), epsilon=1.0):
    return lambda r: r.quantile(list(records), q, candidates=list(candidates), epsilon=epsilon)


def choosing(utilities=(1,), sensitivity=1, **how):
    return lambda r: r.exponential(utilities, sensitivity=sensitivity, epsilon=1.0, **how)


WRONG = [
    *((counting(noise=noise), TypeError) for noise in (TwoFaced(2.0), DiscreteLaplace(1.0, 2))),
    *((counting(noise=Gaussian(noise)), ValueError) for noise in (0.0, math.inf)),
    *((counting(**how), ValueError) for how in ({}, {"epsilon": 1.0, "rho": 1.0}, {"rho": -1.0})),
    *((counting(epsilon=epsilon), ValueError) for epsilon in (0.0, math.inf)),
    (counting([1, 0], epsilon=1.0), TypeError),
    (counting([[True]], epsilon=1.0), ValueError),
    (counting(epsilon=1.0, note=3), TypeError),
    (lambda r: r.count(np.ma.masked_array([True]), epsilon=1.0), TypeError),
    *((summing(records, rho=1.0), ValueError) for records in ([1.0, math.nan], [None])),
    *((summing(x, rho=1.0), TypeError) for x in (["1"], ["1", None], [1j], [object()], "12")),
    *((summing(lower=lower, rho=1.0), ValueError) for lower in (1, 2, -math.inf)),
    (summing(rho=1.0, missing=math.nan), ValueError),
    (summing(noise=DiscreteLaplace(1.0)), TypeError),
    (lambda r: r.mean([1.0], lower=1e9, upper=1e9 + 1e-5, rho=1.0), ValueError),
    (binning(), ValueError),
    (binning(bins=10), TypeError),
    *((binning(bins=bins), ValueError) for bins in ([1], [1, 1], [0, math.nan])),
    (binning(["a"], bins=[0, 1]), TypeError),
    *((binning(categories=cells), ValueError) for cells in ([], [1, 1], [1, math.inf])),
    *((binning(categories=cells), TypeError) for cells in ("ab", [1, None])),
    (binning([[1]], categories=[1]), ValueError),
    (binning([{}], categories=[1]), TypeError),
    (ranking(q=1.5), ValueError),
    *((ranking(candidates=x), ValueError) for x in ([2, 1], [1, math.inf], [], ["a"])),
    (ranking([math.nan]), ValueError),
    *((ranking(epsilon=epsilon), ValueError) for epsilon in (1e-9, 1e9)),
    *(
        (lambda r, x=x: r.noisy_max([1], categories=x, epsilon=1.0), ValueError)
        for x in ([], [1, 1])
    ),
    *((choosing([x]), ValueError) for x in (math.inf, 2**53 + 1, 10**400, Fraction(1, 3), [1])),
    *((choosing(x), ValueError) for x in ([], [2**64 + 1, 0], [2**63 + 1, -1], [0.5, 2**53 + 1])),
    *((choosing(x), ValueError) for x in ([Decimal("0.1")], np.longdouble([1]) / 3, [None, 1])),
    (choosing(["1"]), TypeError),
    (choosing(sensitivity=0), ValueError),
    *((choosing(candidates=x), ValueError) for x in ([1, 2], [-math.inf])),
    (choosing(candidates=[None]), TypeError),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_bad_input_is_refused_and_nothing_is_charged(number):
    wrong, error = WRONG[number]
    budget = ZCDPFilter(5.0)
    with pytest.raises(error, match="must"):
        wrong(Releases(budget, generator=Refusing()))
    assert budget.remaining == 1.0


def test_errors_do_not_show_the_records():
    secret = "1234567.25"
    for column in ([float(secret), None], [float(secret), "x"], [[float(secret)]]):
        with pytest.raises((TypeError, ValueError)) as caught:
            ample().sum(column, lower=0, upper=1, rho=1.0)
        assert secret not in str(caught.value)


def test_what_binds_is_checked():
    with pytest.raises(TypeError, match="budget must be"):
        Releases(PLDAccountant())
    with pytest.raises(ValueError, match="zero_out"):
        Releases(ZCDPFilter(1.0, "zero_out"))
    with pytest.raises(ValueError, match="dataset must"):
        Releases(ZCDPFilter(1.0), "census")
    with pytest.warns(InsecureGeneratorWarning):
        Releases(ZCDPFilter(1.0), generator=np.random.default_rng(1))


def test_a_ledger_is_charged_with_what_was_drawn(tmp_path):
    with Ledger(tmp_path / "privacy.db") as ledger:
        ledger.create("census", epsilon=1.0, delta=1e-6, adjacency="replace_one")
        with pytest.raises(ValueError, match="dataset must"):
            Releases(ledger)
        releases = Releases(ledger, "census")
        assert releases.adjacency == "replace_one"
        made = [ask(releases, query, epsilon=0.1, note=query) for query in QUERIES]
        entries = ledger.history("census")[1:]
        assert [(e.mechanism, e.note) for e in entries] == [(m.mechanism, m.note) for m in made]
        assert 0 < releases.remaining == ledger.status("census").remaining < 1
        with pytest.raises(BudgetExceededError):
            ask(releases, "mean", epsilon=2.0)
        assert len(ledger.history("census")) == 5


@pytest.mark.parametrize("query", [*QUERIES, *CHOICES])
def test_nothing_is_drawn_that_was_not_charged_wherever_it_is_interrupted(query):
    drawn = []

    class Counted(SecureGenerator):
        """A generator that knows how often it was asked."""

        @property
        def core(self):
            drawn.append(query)
            return self.__dict__["core"]

        @core.setter
        def core(self, value):
            self.__dict__["core"] = value

    generator, seen = Counted(), set()
    ask(Releases(ZCDPFilter(1.0)), query, rho=1e-3)  # what is computed once is, then
    for interrupted in each_place():
        budget, before = ZCDPFilter(1.0), len(drawn)
        interrupted(partial(ask, Releases(budget, generator=generator), query, rho=1e-3))
        charged = bool(budget._total.amounts[0] > 0.0)  # its lock may be held by the interrupted
        assert charged or len(drawn) == before
        seen.add((charged, len(drawn) > before))
    assert seen == {(False, False), (True, False), (True, True)}
