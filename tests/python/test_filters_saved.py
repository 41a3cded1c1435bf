"""Filters by Gaussian and zero-concentrated privacy, as JSON, and copied."""

import copy
import json
import math
import pickle
import threading
from functools import partial

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interruptions import each_place

from renyi import (
    ZCDP,
    ApproxDP,
    BudgetExceededError,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    GDPFilter,
    Laplace,
    MatrixMechanism,
    PLDAccountant,
    PoissonSampled,
    PrivacyFilter,
    PrivacyOdometer,
    PureDP,
    RandomizedResponse,
    RDPAccountant,
    RenyiFilter,
    UnsupportedMechanismError,
    ZCDPFilter,
    reference,
)
from renyi.filters._single_number import mu_squared
from renyi.matrix import Tree

BURST = PoissonSampled(Gaussian(0.8), 0.001)


@given(
    st.floats(0.05, 8.0),
    st.floats(-12.0, -2.0),
    st.lists(st.tuples(st.floats(1.0, 100.0), st.integers(0, 30)), max_size=12),
)
@settings(max_examples=40)
def test_what_was_taken_is_within_the_budget_by_the_reference(epsilon, exponent, offers):
    delta = 10.0**exponent
    budget, square = GDPFilter(epsilon, delta), mpmath.mpf(0)
    for noise, count in offers:
        if budget.fits(Gaussian(noise), count):
            budget.spend(Gaussian(noise), count)
            square += count / mpmath.mpf(noise) ** 2
    if square > 0.02 * budget.mu**2:  # deltas far below take as many digits as they have zeros
        assert reference.gaussian_delta(float(mpmath.sqrt(square)), epsilon) <= delta


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
@pytest.mark.parametrize("noise", [5.0, 50.0])
def test_adaptivity_costs_gaussian_noise_nothing(adjacency, noise):
    budget, taken = GDPFilter(1.0, 1e-6, adjacency), 0
    while budget.fits(Gaussian(noise)):
        budget.spend(Gaussian(noise))
        taken += 1

    def planned(count):
        return PLDAccountant(adjacency=adjacency).compose(Gaussian(noise), count).get_epsilon(1e-6)

    assert planned(taken) <= 1.0 < planned(taken + 1)


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 1.0, 4.0, 20.0])
def test_pure_privacy_has_the_parameter_of_its_kink(epsilon):
    with mpmath.workdps(40):
        fixed = 1 / (1 + mpmath.exp(epsilon))
        mu = -2 * mpmath.sqrt(2) * mpmath.erfinv(2 * fixed - 1)
        assert (
            float(mu) ** 2
            <= mu_squared(PureDP(epsilon), "add_remove")
            <= float(mu) ** 2 * (1 + 1e-6)
        )
    for alpha in 1e-9, 0.01, 0.2, 0.5, 0.9:
        pure = max(1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha), 0.0)
        assert pure >= reference.gaussian_tradeoff(float(mu), alpha) * (1 - 1e-12)


def test_the_first_call_has_its_exact_curve_and_the_rest_what_it_leaves():
    budget = GDPFilter(1.0, 1e-6)
    budget.spend(BURST, 3000)
    taken = 0
    while budget.fits(Gaussian(40.0)):
        budget.spend(Gaussian(40.0))
        taken += 1
    together = PLDAccountant().compose(BURST, 3000)
    assert together.compose(Gaussian(40.0), taken).get_epsilon(1e-6) <= 1.0
    assert together.compose(Gaussian(40.0)).get_epsilon(1e-6) > 1.0
    assert taken > 20
    with pytest.raises(UnsupportedMechanismError, match="only the first call"):
        budget.spend(BURST)
    assert not GDPFilter(1.0, 1e-6).fits(BURST, 20_000)


def test_what_has_no_parameter_is_refused():
    budget = GDPFilter(1.0, 1e-6)
    budget.spend(Gaussian(40.0))
    for mechanism in BURST, ZCDP(0.1), ApproxDP(0.1, 1e-9), DiscreteGaussian(40.0):
        with pytest.raises(UnsupportedMechanismError):
            budget.fits(mechanism)
    for mechanism in Laplace(90.0), RandomizedResponse(0.49, 2), Gaussian(90.0) + PureDP(0.01):
        assert budget.fits(mechanism)
    trees = GDPFilter(1.0, 1e-6, "replace_one")
    assert trees.fits(MatrixMechanism(Tree(100), 60.0))


class TestConcentrated:
    @pytest.mark.parametrize(
        ("mechanism", "adjacency", "rho"),
        [
            (Gaussian(3.0), "add_remove", 1 / 18),
            (Gaussian(3.0), "replace_one", 4 / 18),
            (DiscreteGaussian(3.0, 2), "add_remove", 4 / 18),
            (ZCDP(0.3), "zero_out", 0.3),
            (PureDP(0.5), "add_remove", 0.125),
            (Laplace(4.0), "add_remove", 1 / 32),
            (Exponential(0.5), "replace_one", 0.25 / 8),
            (Gaussian(3.0) * 2 + PureDP(0.5), "add_remove", 2 / 18 + 0.125),
        ],
    )
    def test_costs(self, mechanism, adjacency, rho):
        budget = ZCDPFilter(10.0, adjacency)
        budget.spend(mechanism, 3)
        assert 1.0 - budget.remaining == pytest.approx(0.3 * rho, rel=0.2)  # pure: at most
        assert 10.0 * (1.0 - budget.remaining) <= 3.0 * rho * (1 + 1e-6)
        orders = [1.0, 1.5, 2.0, 10.0, 1e3]
        spent = RDPAccountant(adjacency=adjacency).compose(mechanism, 3).get_rdp(orders)
        for order, divergence in zip(orders, spent, strict=True):
            assert divergence <= 10.0 * (1.0 - budget.remaining) * order * (1 + 1e-6)


# --- as JSON and beside each other


STEP = PoissonSampled(Gaussian(1.0), 0.01)
KINDS = {
    "privacy": PrivacyFilter(1.0, 1e-6, failure_delta=1e-8),
    "order": PrivacyFilter(1.0, 1e-6, 20, "zero_out"),
    "renyi": RenyiFilter(8.0, 0.5),
    "gdp": GDPFilter(2.0, 1e-5),
    "zcdp": ZCDPFilter(0.5, "replace_one"),
}


def fresh(name):
    return type(KINDS[name]).from_json(KINDS[name].to_json())


actions = st.lists(
    st.tuples(
        st.sampled_from(["spend", "reserve", "settle"]),
        st.sampled_from([Gaussian(20.0), Gaussian(30.0), Gaussian(7.0) * 2]),
        st.integers(0, 40),
    ),
    max_size=12,
)


def act(budget, actions):
    for action, mechanism, count in actions:
        try:
            if action == "settle":
                for held in budget.reservations[:1]:
                    budget.settle(held, min(count, held.count))
            else:
                getattr(budget, action)(mechanism, count)
        except BudgetExceededError:
            assert budget.count_that_fits(mechanism, count) < count


@given(st.sampled_from(sorted(KINDS)), actions, actions)
@settings(max_examples=20)
def test_what_was_written_goes_on_alike(name, before, after):
    budget = fresh(name)
    act(budget, before)
    twin = type(budget).from_json(budget.to_json())
    assert twin == budget
    act(budget, after)
    act(twin, after)
    assert twin == budget
    assert twin.remaining == budget.remaining
    assert twin.to_json(2) == budget.to_json(2)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_copy_would_be_a_second_budget(name):
    for keep in copy.copy, copy.deepcopy, pickle.dumps:
        with pytest.raises(TypeError, match=r"a second budget.*to_json\(\).*renyi\.Ledger"):
            keep(KINDS[name])


def test_equality_is_of_the_budget_and_of_what_was_spent():
    one, other = fresh("renyi"), fresh("renyi")
    assert one == other
    one.spend(STEP, 10)
    assert one != other
    other.spend(STEP, 10)
    assert one == other
    assert fresh("privacy") != fresh("order")
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_an_odometer_is_copied_with_its_reading():
    odometer = PrivacyOdometer(1e-6)
    odometer.spend(STEP, 100)
    reading = odometer.get_epsilon()
    for twin in copy.copy(odometer), copy.deepcopy(odometer), pickle.loads(pickle.dumps(odometer)):
        assert twin == odometer
        assert twin.get_epsilon() == reading
        twin.spend(STEP)
        assert twin != odometer
    assert odometer.get_epsilon() == reading


HELD = {
    "number": 1,
    "mechanism": Gaussian(9.0).to_dict(),
    "count": 1,
    "amounts": [0.1],
    "failing": 0.0,
    "additive": True,
}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"version": 2}, ValueError, "version must be 1"),
        ({"type": "GDPFilter"}, ValueError, "type must be 'RenyiFilter'"),
        ({"spent": [0.0, 0.0]}, ValueError, "spent must hold sums"),
        ({"spent": ["-0x1p0", "0x0p0"]}, ValueError, "spent must hold sums"),
        ({"spent": ["0x1p9999", "0x0p0"]}, ValueError, "spent must hold exponents"),
        ({"spent": ["0x0p0"]}, ValueError, "spent must hold 2 sums"),
        ({"spent": "none"}, TypeError, "spent must be a list"),
        ({"order": 1.0}, ValueError, "orders must be"),
        ({"adjacency": "swap"}, ValueError, "adjacency must be one of"),
        ({"reserved": [{}]}, ValueError, "reserved must have the fields"),
        ({"extra": 1}, ValueError, "has unknown 'extra'"),
        ({"last": 1, "reserved": [HELD, HELD]}, ValueError, "reserved must hold each number once"),
        ({"last": 1, "reserved": [HELD]}, ValueError, "spent must be at least what is reserved"),
    ],
)
def test_what_is_not_a_filter(change, error, words):
    data = json.loads(RenyiFilter(8.0, 0.5).to_json()) | change
    with pytest.raises(error, match=words):
        RenyiFilter.from_json(json.dumps(data))


def test_a_filter_that_has_spent_has_begun():
    filter = GDPFilter(1.0, 1e-6)
    filter.spend(Gaussian(20.0), 10)
    data = json.loads(filter.to_json()) | {"begun": False}  # more would fit
    assert GDPFilter.from_json(json.dumps(data)) == filter


def test_weights_of_an_odometer_that_are_none_are_refused():
    odometer = PrivacyOdometer(1e-6)
    odometer.spend(Gaussian(2.0), 10)
    data = json.loads(odometer.to_json())
    data["log_weights"] = [0.0] * len(data["log_weights"])  # epsilon would be 9.56 for 10.36
    with pytest.raises(ValueError, match="weights that sum to at most 1"):
        PrivacyOdometer.from_json(json.dumps(data))
    for wrong in (None, 3, [-1.0], [None, *data["log_weights"][1:]]):
        with pytest.raises((TypeError, ValueError), match="log_weights must be a list of"):
            PrivacyOdometer.from_json(json.dumps(data | {"log_weights": wrong}))


def test_a_filter_without_orders_is_refused():
    data = json.loads(PrivacyFilter(1.0, 1e-6).to_json()) | {"orders": None}
    with pytest.raises(TypeError, match="orders must be"):
        PrivacyFilter.from_json(json.dumps(data))


class TestReservations:
    @pytest.mark.parametrize("name", sorted(KINDS))
    def test_what_is_set_aside_counts_as_spent_until_it_is_settled(self, name):
        budget, plain = fresh(name), fresh(name)
        if name != "order":
            budget.spend(Gaussian(50.0))
            plain.spend(Gaussian(50.0))
        most = budget.count_that_fits(Gaussian(30.0), 10**6)
        held = budget.reserve(Gaussian(30.0), most)
        assert not budget.fits(Gaussian(30.0))
        budget.settle(held, most // 2)
        plain.spend(Gaussian(30.0), most // 2)
        assert budget.remaining == pytest.approx(plain.remaining, rel=1e-12)
        with pytest.raises(ValueError, match=r"reservation must be an open one \(none\), got 1"):
            budget.settle(1, 0)

    def test_no_more_can_be_used_than_was_set_aside(self):
        budget = fresh("renyi")
        held = budget.reserve(STEP, 10)
        with pytest.raises(ValueError, match=r"used must be an integer in \[0, 10\], got 11"):
            budget.settle(held, 11)
        assert budget.reservations == (held,)

    def test_an_exact_curve_is_that_of_all_uses_however_many_there_were(self):
        """When a run stopped may depend on what it released, which exact curves do not allow."""
        burst = PoissonSampled(Gaussian(0.8), 0.001)
        for budget in PrivacyFilter(1.0, 1e-6), GDPFilter(1.0, 1e-6):
            twin = type(budget).from_json(budget.to_json())
            twin.spend(burst, 5000)
            budget.settle(budget.reserve(burst, 5000), 10)
            for other in burst, Gaussian(20.0):
                try:
                    assert budget.count_that_fits(other, 5000) >= twin.count_that_fits(other, 5000)
                except TypeError:
                    assert isinstance(budget, GDPFilter)
        assert budget.remaining == twin.remaining
        assert not PrivacyFilter(1.0, 1e-6, 30.0).fits(burst, 5000)

    @pytest.mark.parametrize("event", ["line", "opcode"])
    @pytest.mark.parametrize("what", ["reserve", "settle"])
    def test_an_interruption_gives_nothing_back_twice(self, what, event):
        """What was spent and not given back remains spent, wherever it was."""
        spent = ZCDPFilter(1.0)
        spent.spend(Gaussian(5.0), 3)
        for interrupted in each_place(event=event, within="renyi/filters"):
            budget = ZCDPFilter(1.0)
            budget.spend(Gaussian(5.0), 3)
            run = budget.reserve(Gaussian(4.0), 2)
            act = {
                "reserve": partial(budget.reserve, Gaussian(3.0), 1),
                "settle": partial(budget.settle, run, 0),
            }[what]
            interrupted(act)
            budget._lock = threading.Lock()  # a line of a trace may leave the old one held
            for held in budget.reservations:
                budget.settle(held, 0)
            assert budget.remaining <= spent.remaining
        assert budget.remaining == spent.remaining

    def test_failures_are_given_back(self):
        budget = RenyiFilter(8.0, 0.5, failure_delta=1e-8)
        held = budget.reserve(ApproxDP(0.01, 1e-9), 9)
        assert not budget.fits(ApproxDP(0.01, 9e-9))
        budget.settle(held, 0)
        assert budget.fits(ApproxDP(0.01, 9e-9))


@pytest.mark.parametrize(
    "budget",
    [
        ZCDPFilter(0.5),
        GDPFilter(1.0, 1e-6),
        RenyiFilter(8.0, 0.5),
        PrivacyFilter(1.0, 1e-6),
        PrivacyFilter(1.0, 1e-6, order=20.0, failure_delta=1e-7),
    ],
)
def test_no_budget_is_larger_than_its_settings_say(budget):
    data = json.loads(budget.to_json())
    assert type(budget).from_json(json.dumps(data)) == budget
    larger = [data | {"budgets": [1e6 * number for number in data["budgets"]]}]
    if data.get("basic"):
        larger += [data | {"basic": data["basic"] | {name: 0.9}} for name in ("epsilon", "delta")]
        larger[1]["basic"]["epsilon"] = 9.0
        larger.append(data | {"orders": [0.5 + 0.5 * order for order in data["orders"]]})
        larger.append(data | {"order": 20.0})
        rounded = {name: math.nextafter(data["basic"][name], 9.0) for name in ("epsilon", "delta")}
        state = json.dumps(data | {"basic": data["basic"] | rounded})
        assert json.loads(type(budget).from_json(state).to_json()) == data
    for other in larger:
        with pytest.raises(ValueError, match="must be"):
            type(budget).from_json(json.dumps(other))
