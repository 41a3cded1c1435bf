"""Budgets for adaptive composition: never overspent, whatever is tried."""

import json
import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from each import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from interruptions import in_threads
from sampled_runs import most

from renyi import (
    ZCDP,
    ApproxDP,
    BudgetExceededError,
    Gaussian,
    GDPFilter,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PrivacyFilter,
    PrivacyOdometer,
    RDPAccountant,
    RDPCurve,
    RenyiFilter,
    UnsupportedMechanismError,
    ZCDPFilter,
)

STEP = PoissonSampled(Gaussian(1.0), 0.01)


class TestFilter:
    @pytest.mark.parametrize("order", [None, 9.0, 12.0, 60.0])
    def test_what_was_spent_stays_within_the_guarantee(self, order):
        budget = PrivacyFilter(2.0, 1e-6, order)
        choices = np.random.default_rng(5)
        spent = RDPAccountant(orders=None if order is None else (order,))
        for _ in range(600):
            mechanism = Gaussian(float(choices.uniform(8.0, 200.0)))
            count = int(choices.integers(1, 4))
            if budget.fits(mechanism, count):
                budget.spend(mechanism, count)
                spent.compose(mechanism, count)
            else:
                with pytest.raises(BudgetExceededError, match="mechanism must fit in the budget"):
                    budget.spend(mechanism, count)
        while budget.fits(Gaussian(200.0)):
            budget.spend(Gaussian(200.0))
            spent.compose(Gaussian(200.0))
        assert spent.get_epsilon(1e-6) <= 2.0
        assert budget.remaining < 0.001

    @pytest.mark.parametrize(
        ("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-5), (1.0, 1e-12), (8.0, 1e-6)]
    )
    @pytest.mark.parametrize("calls", [1, 40])
    def test_the_default_orders_spend_nearly_all_that_gaussian_noise_allows(
        self, epsilon, delta, calls
    ):
        step, budget = Gaussian(500.0), PrivacyFilter(epsilon, delta)
        by_rdp, exact = (
            most(lambda n, k=kind: k().compose(step, n).get_epsilon(delta) <= epsilon)
            for kind in (RDPAccountant, PLDAccountant)
        )
        for _ in range(calls):
            budget.spend(step, math.floor(0.95 * by_rdp / calls))
        assert not budget.fits(step, exact // 10)

    @pytest.mark.parametrize(
        ("epsilon", "delta", "mechanism", "count"),
        [
            (1.0, 1e-6, PoissonSampled(Gaussian(1.0), 0.02), 1),
            (1.0, 1e-6, PoissonSampled(Gaussian(0.8), 0.001), 500),
            (0.3, 1e-6, PoissonSampled(Gaussian(0.8), 0.001), 1),
            (1.0, 1e-6, Laplace(3.0), 3),
            (0.1, 1e-6, Laplace(100.0), 10),
        ],
    )
    def test_small_budgets_take_what_is_small_by_its_exact_curve(
        self, epsilon, delta, mechanism, count
    ):
        budget = PrivacyFilter(epsilon, delta)
        budget.spend(mechanism, count)
        assert PLDAccountant().compose(mechanism, count).get_epsilon(delta) <= epsilon

    @given(
        st.floats(0.05, 10.0),
        st.floats(-12.0, -2.0),
        st.lists(
            st.tuples(
                st.one_of(
                    st.builds(Gaussian, st.floats(1.0, 200.0)),
                    st.builds(Laplace, st.floats(1.0, 200.0)),
                    st.builds(
                        PoissonSampled,
                        st.builds(Gaussian, st.floats(0.5, 4.0)),
                        st.floats(1e-4, 0.2),
                    ),
                ),
                st.integers(0, 300),
            ),
            max_size=12,
        ),
    )
    @settings(max_examples=20)
    def test_it_never_takes_more_than_accounting_allows(self, epsilon, exponent, offers):
        delta = 10.0**exponent
        budget, taken = PrivacyFilter(epsilon, delta), []
        for mechanism, count in offers:
            if budget.fits(mechanism, count):
                budget.spend(mechanism, count)
                taken.append((mechanism, count))
        by_rdp = RDPAccountant()
        for mechanism, count in taken:
            by_rdp.compose(mechanism, count)
        if by_rdp.get_epsilon(delta) <= epsilon:
            return
        exact = PLDAccountant()
        for mechanism, count in taken:
            exact.compose(mechanism, count)
        assert exact.get_epsilon_bounds(delta)[0] <= epsilon

    def test_exact_curves_have_a_delta_of_their_own(self):
        """Routes may serve in turn, and never add up to more than the budget."""
        burst, noise = PoissonSampled(Gaussian(0.8), 0.001), Gaussian(60.0)
        budget, exact = PrivacyFilter(1.0, 1e-6), PLDAccountant()
        for mechanism in [burst, noise] * 30:
            count = 200
            while count and not budget.fits(mechanism, count):
                count //= 2
            budget.spend(mechanism, count)
            exact.compose(mechanism, count)
        assert not budget.fits(burst)
        assert 0.5 < exact.get_epsilon(1e-6) <= 1.0
        assert budget.fits(burst, 0)

    def test_a_refusal_changes_nothing(self):
        budget = PrivacyFilter(1.0, 1e-5)
        budget.spend(Gaussian(10.0))
        before = budget.remaining
        for bad, error in [
            ((Gaussian(0.1),), BudgetExceededError),
            ((Gaussian(0.0),), UnsupportedMechanismError),
            ((RDPCurve([1.5], [1.0]),), UnsupportedMechanismError),
            ((Gaussian(10.0), -1), ValueError),
            (("noise",), TypeError),
        ]:
            with pytest.raises(error):
                budget.spend(*bad)
            assert budget.remaining == before
        assert budget.fits(Gaussian(10.0), 0)

    def test_many_threads_never_overspend(self):
        budget = PrivacyFilter(1.0, 1e-5, 20.0)
        taken = []

        def spend():
            for _ in range(300):
                try:
                    budget.spend(STEP, 7)
                except BudgetExceededError:
                    return
                taken.append(7)

        in_threads([spend] * 8)
        total = RDPAccountant(orders=(20.0,)).compose(STEP, sum(taken))
        assert total.get_epsilon(1e-5) <= 1.0
        assert not budget.fits(STEP, 7) or sum(taken) == 8 * 300 * 7


class TestFailures:
    def test_they_have_a_budget_of_their_own(self):
        budget = PrivacyFilter(1.0, 1e-5, failure_delta=1e-6)
        spent = RDPAccountant()
        failing = ApproxDP(0.01, 3e-7)
        for _ in range(3):
            budget.spend(failing)
            spent.compose(failing)
        assert not budget.fits(failing)
        with pytest.raises(
            BudgetExceededError,
            match=r"got .* failure_delta 1.2.* left .* failure_delta 9.999e-8; 0 would",
        ):
            budget.spend(failing)
        while budget.fits(Gaussian(50.0)):
            budget.spend(Gaussian(50.0))
            spent.compose(Gaussian(50.0))
        assert spent.get_epsilon(1e-5) <= 1.0

    def test_none_is_set_aside_by_default(self):
        alone = PrivacyFilter(1.0, 1e-5, 20.0)
        assert not alone.fits(ApproxDP(0.1, 1e-9))
        assert PrivacyFilter(1.0, 1e-5).fits(ApproxDP(0.1, 1e-9))  # by its exact curve
        assert not PrivacyFilter(1.0, 1e-5).fits(ApproxDP(0.1, 1e-5))


class TestRenyiFilter:
    def test_it_holds_the_divergence(self):
        budget, spent = RenyiFilter(5.0, 0.3), RDPAccountant()
        while budget.fits(STEP, 10):
            budget.spend(STEP, 10)
            spent.compose(STEP, 10)
        assert 0.29 < spent.get_rdp([5.0])[0] <= 0.3


class TestOdometer:
    def test_it_starts_at_nothing_and_rises(self):
        odometer = PrivacyOdometer(1e-6)
        assert odometer.get_epsilon() == 0.0
        last = 0.0
        for mechanism in [Gaussian(20.0), STEP, Laplace(5.0), STEP * 100]:
            odometer.spend(mechanism)
            assert odometer.get_epsilon() > last
            last = odometer.get_epsilon()

    def test_it_is_above_what_a_fixed_composition_costs(self):
        odometer = PrivacyOdometer(1e-6)
        odometer.spend(STEP, 1000)
        exact = RDPAccountant(conversion="mironov").compose(STEP, 1000).get_epsilon(1e-6)
        assert exact < odometer.get_epsilon() < 1.6 * exact
        one = PrivacyOdometer(1e-6, orders=[12.0])
        one.spend(STEP, 1000)
        fixed = RDPAccountant(orders=[12.0], conversion="mironov").compose(STEP, 1000)
        fixed = fixed.get_epsilon(1e-6)
        assert one.get_epsilon() == pytest.approx(fixed, rel=1e-12)

    @pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
    @pytest.mark.parametrize("mechanism", [Gaussian(1000.0), Laplace(2000.0)])
    def test_the_default_orders_serve_small_and_large_epsilons(self, epsilon, mechanism):
        def fixed(count):
            uses = RDPAccountant(conversion="mironov").compose(mechanism, count)
            return uses.get_epsilon(1e-6)

        count = most(lambda n: fixed(n) <= epsilon)
        odometer = PrivacyOdometer(1e-6)
        odometer.spend(mechanism, count)
        assert fixed(count) <= odometer.get_epsilon() <= 1.2 * fixed(count)

    def test_orders_together_are_never_worse_than_delta_shared_out(self):
        orders = [2.0, 5.0, 12.0, 30.0]
        for mechanism in Gaussian(3.0), STEP * 500, Laplace(2.0):
            together = PrivacyOdometer(1e-6, orders)
            together.spend(mechanism)
            alone = []
            for order in orders:
                one = PrivacyOdometer(1e-6 / len(orders), [order])
                one.spend(mechanism)
                alone.append(one.get_epsilon())
            best = RDPAccountant(orders=orders, conversion="mironov").compose(mechanism)
            assert best.get_epsilon(1e-6) < together.get_epsilon() <= min(alone) * (1.0 + 1e-12)

    def test_the_loss_stays_below_at_all_times(self):
        """Gaussian losses of adaptively chosen noise, simulated: the bound fails rarely enough."""
        delta, runs, steps = 0.05, 400, 60
        choices = np.random.default_rng(3)
        exceeded = 0
        for _ in range(runs):
            odometer = PrivacyOdometer(delta, orders=[3.0])
            loss, failed = 0.0, False
            for _ in range(steps):
                noise = 3.0 if loss > 0.5 else 6.0  # goes on harder when it went badly
                odometer.spend(Gaussian(noise))
                loss += choices.normal(0.5 / noise**2, 1.0 / noise)
                failed = failed or loss > odometer.get_epsilon()
            exceeded += failed
        assert exceeded / runs <= delta
        assert exceeded > 0  # not so loose that it says nothing


AMOUNT = r"(?:inf|[0-9.]+(?:e-?[0-9]+)?)"


def amounts(text):
    """Return what a part of a refusal says, by unit."""
    pair = rf"epsilon ({AMOUNT}) at this delta \(delta ({AMOUNT}) at this epsilon\)"
    found = re.search(pair, text)
    if found:
        return dict(zip(("epsilon", "delta"), map(Decimal, found.groups()), strict=True))
    name, amount = re.search(rf"(rho|pure epsilon|divergence of order 8) ({AMOUNT})", text).groups()
    return {name: Decimal(amount)}


REFUSING = {
    "routes": (PrivacyFilter(1.0, 1e-6), {"epsilon": 1.0, "delta": 1e-6}),
    "order": (PrivacyFilter(1.0, 1e-6, order=20.0), {"epsilon": 1.0, "delta": 1e-6}),
    "failing": (PrivacyFilter(1.0, 1e-6, failure_delta=1e-7), {"epsilon": 1.0, "delta": 1e-6}),
    "pure": (PrivacyFilter(1.0, 0.0), {"pure epsilon": 1.0}),
    "gaussian": (GDPFilter(1.0, 1e-6), {"epsilon": 1.0, "delta": 1e-6}),
    "zcdp": (ZCDPFilter(0.05), {"rho": 0.05}),
    "divergence": (RenyiFilter(8.0, 0.5), {"divergence of order 8": 0.5}),
}


@pytest.mark.parametrize("kind", REFUSING)
@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_a_refusal_says_amounts_that_are_certified(kind, adjacency):
    """What was asked for does not fit, what would does, and what is left is no more than that."""
    budget, limits = REFUSING[kind]
    data = json.loads(budget.to_json())
    settings = {name: data[name] for name in budget._ARGUMENTS} | {"adjacency": adjacency}
    budget, exact = type(budget)(**settings), PLDAccountant(adjacency=adjacency)
    step = Laplace(30.0) if kind == "pure" else Gaussian(40.0)
    limits = {name: Decimal(repr(limit)) for name, limit in limits.items()}
    for count in (100_000, 1, 3, 100_000, 5, 900, 2, 1, 700):
        if budget.fits(step, count):
            budget.spend(step, count)
            exact.compose(step, count)
            continue
        with pytest.raises(BudgetExceededError) as refused:
            budget.spend(step, count)
        before, now, fitting = str(refused.value).split("; ")
        assert f"used {count} times" in before
        assert fitting.startswith(f"{refused.value.fits} would fit")
        asked = amounts(before.split(", got ")[1])
        spent, left = map(amounts, now.split(", left "))
        for name, limit in limits.items():
            assert asked[name] > limit or (name, asked[name]) == ("delta", 1)
            assert 0 <= left[name] <= limit - spent[name] * (1 - Decimal("1e-3"))
            assert not refused.value.fits or spent[name] < amounts(fitting)[name] <= limit
        if exact.mechanisms:
            known = {
                "epsilon": exact.get_epsilon_bounds(1e-6)[0],
                "delta": exact.get_delta_bounds(1.0)[0],
                "pure epsilon": exact.get_epsilon(0.0) * (1 - 1e-15),
            }
            assert all(known.get(name, 0.0) <= spent[name] for name in limits)
        if budget.fits(step):
            budget.reserve(step, 1)  # counts as spent
            exact.compose(step)


def test_a_first_call_that_is_refused_is_told_by_its_exact_curve():
    step = PoissonSampled(Gaussian(1.0), 0.01)
    for budget in GDPFilter(1.0, 1e-6), PrivacyFilter(1.0, 1e-6):
        with pytest.raises(BudgetExceededError) as refused:
            budget.spend(step, 1000)
        before, _, fitting = str(refused.value).split("; ")
        uses, exact = (PLDAccountant().compose(step, n) for n in (1000, refused.value.fits))
        assert amounts(before.split(", got ")[1])["epsilon"] >= uses.get_epsilon_bounds(1e-6)[0]
        assert 1 >= amounts(fitting)["epsilon"] >= exact.get_epsilon_bounds(1e-6)[0]
    assert amounts(before.split(", got ")[1])["epsilon"] < 3  # divergences say 16


def test_a_refusal_never_contradicts_itself():
    """Amounts that differ in the last digit of a double differ as they are printed, too."""
    budget = ZCDPFilter(0.1)
    budget.spend(Gaussian(5.0), 5)  # all of it, to the last digit
    with pytest.raises(BudgetExceededError) as refused:
        budget.spend(Gaussian(1e9))
    assert str(refused.value) == (
        "mechanism must fit in the budget, rho 0.1, got Gaussian(noise_multiplier=1000000000.0) "
        "used 1 times, rho 0.1001 with them; spent is rho 0.1000, left rho 0; 0 would fit"
    )
    alone = ZCDPFilter(0.1)
    for _ in range(5):
        alone.spend(Gaussian(5.0))
    assert alone.remaining == 0.0


class TestPure:
    """A budget with delta 0: largest losses are added up."""

    def test_losses_that_add_up_exactly_fit_exactly(self):
        budget = PrivacyFilter(epsilon=1.0, delta=0.0)
        budget.spend(Laplace(2.0))
        assert budget.remaining == 0.5
        budget.spend(Laplace(8.0), 4)
        assert budget.remaining == 0.0
        with pytest.raises(BudgetExceededError):
            budget.spend(Laplace(1e9))

    def test_sums_are_never_below_the_exact_one(self):
        budget, exact = PrivacyFilter(epsilon=1.0, delta=0.0), Fraction(0)
        while budget.fits(Laplace(7.3)):
            budget.spend(Laplace(7.3))
            exact += 1 / Fraction(7.3)
        assert exact <= 1 < exact + 1 / Fraction(7.3)

    def test_losses_without_a_bound_are_refused(self):
        budget = PrivacyFilter(epsilon=1.0, delta=0.0)
        for mechanism in Gaussian(50.0), ApproxDP(0.1, 1e-9), Laplace(4.0) + Gaussian(50.0):
            with pytest.raises(UnsupportedMechanismError, match="delta 0"):
                budget.spend(mechanism)
        assert budget.remaining == 1.0

    def test_reservations_and_saved_states(self):
        budget = PrivacyFilter(epsilon=2.0, delta=0.0)
        run = budget.reserve(PoissonSampled(Laplace(1.0), 0.5), 3)
        again = PrivacyFilter.from_json(budget.to_json())
        assert again == budget
        again.settle(run, 1)
        assert again.remaining == pytest.approx(1 - math.log1p(0.5 * math.expm1(1)) / 2)


IN_POSITIVE = r"must be a number in \(0, inf\)"


REFUSED = {
    ValueError: [
        (lambda: PrivacyFilter(0.0, 1e-5), rf"epsilon {IN_POSITIVE}, got 0.0"),
        (lambda: PrivacyFilter(math.inf, 1e-5), rf"epsilon {IN_POSITIVE}, got inf"),
        (lambda: PrivacyFilter(1.0, 1.0), r"delta must be a number in \[0, 1\), got 1.0"),
        (lambda: PrivacyFilter(1.0, 1e-5, 1.0), "orders must be"),
        (lambda: PrivacyFilter(1.0, 1e-5, None, "swap"), "adjacency must be one of"),
        (lambda: PrivacyFilter(1.0, 1e-5, failure_delta=1e-5), "failure_delta must be below delta"),
        (lambda: PrivacyFilter(1.0, 0.0, order=8.0), "order must be None with a delta of 0"),
        (lambda: PrivacyFilter(1.0, 0.0, failure_delta=1e-9), "failure_delta must be below delta"),
        *((lambda x=x: RenyiFilter(2.0, x), rf"budget {IN_POSITIVE}") for x in (0, -1.0, math.inf)),
        (lambda: RenyiFilter(1.0, 1.0), "orders must be"),
        *((lambda x=x: ZCDPFilter(x), "rho must be") for x in (0.0, -1.0, math.inf)),
        (lambda: PrivacyOdometer(0.0), r"delta must be a number in \(0, 1\)"),
        (lambda: PrivacyOdometer(0.1, orders=[]), "orders must be"),
    ],
    UnsupportedMechanismError: [
        *(
            (lambda x=x: ZCDPFilter(1.0).fits(x), "no rho")
            for x in (
                PoissonSampled(Gaussian(0.8), 1e-3),
                ZCDP(0.1, 0.1),
                ApproxDP(0.1, 1e-9),
            )
        ),
        (lambda: PrivacyOdometer(1e-5).spend(ApproxDP(0.1, 1e-9)), "it may fail"),
    ],
    TypeError: [
        (lambda: PrivacyOdometer(0.1).spend(1.0), "mechanism must be a renyi mechanism"),
    ],
}
test_bad_arguments = refused(REFUSED)
