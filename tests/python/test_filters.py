"""Budgets for adaptive composition: never overspent, whatever is tried."""

import math
import re
import threading

import numpy as np
import pytest

from renyi import (
    ApproxDP,
    BudgetExceededError,
    Gaussian,
    Laplace,
    PoissonSampled,
    PrivacyFilter,
    PrivacyOdometer,
    RDPAccountant,
    RDPCurve,
    RenyiFilter,
    UnsupportedMechanismError,
)

STEP = PoissonSampled(Gaussian(1.0), 0.01)


class TestFilter:
    @pytest.mark.parametrize("order", [None, 9.0, 12.0, 60.0])
    def test_what_was_spent_stays_within_the_guarantee(self, order):
        budget = PrivacyFilter(2.0, 1e-6, order)
        choices = np.random.default_rng(5)
        spent = RDPAccountant(orders=(budget.order,))
        for _ in range(2000):
            mechanism = Gaussian(float(choices.uniform(8.0, 200.0)))
            count = int(choices.integers(1, 4))
            if budget.fits(mechanism, count):
                budget.spend(mechanism, count)
                spent.compose(mechanism, count)
            else:
                with pytest.raises(BudgetExceededError, match="mechanism must fit in what remains"):
                    budget.spend(mechanism, count)
        while budget.fits(Gaussian(200.0)):
            budget.spend(Gaussian(200.0))
            spent.compose(Gaussian(200.0))
        assert spent.get_epsilon(1e-6) <= 2.0
        assert budget.remaining < 0.001

    @pytest.mark.parametrize(
        ("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-5), (1.0, 1e-12), (8.0, 1e-6)]
    )
    def test_the_default_order_spends_nearly_all_that_gaussian_noise_allows(self, epsilon, delta):
        budget = PrivacyFilter(epsilon, delta)

        def holds(count):
            return RDPAccountant().compose(Gaussian(500.0), count).get_epsilon(delta) <= epsilon

        low, high = 1, 10**9
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        assert budget.fits(Gaussian(500.0), math.floor(0.99 * low))
        assert not budget.fits(Gaussian(500.0), low + 1)

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

        threads = [threading.Thread(target=spend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = RDPAccountant(orders=(20.0,)).compose(STEP, sum(taken))
        assert total.get_epsilon(1e-5) <= 1.0
        assert not budget.fits(STEP, 7) or sum(taken) == 8 * 300 * 7

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ((0.0, 1e-5), "epsilon must be a number in (0, inf), got 0.0"),
            ((math.inf, 1e-5), "epsilon must be a number in (0, inf), got inf"),
            ((1.0, 0.0), "delta must be a number in (0, 1), got 0.0"),
            ((1.0, 1.0), "delta must be a number in (0, 1), got 1.0"),
            ((1.0, 1e-5, 1.0), "orders must be"),
            ((1.0, 1e-5, None, "swap"), "adjacency must be one of"),
        ],
    )
    def test_bad_arguments(self, arguments, words):
        with pytest.raises(ValueError, match=re.escape(words)):
            PrivacyFilter(*arguments)


class TestFailures:
    def test_they_have_a_budget_of_their_own(self):
        budget = PrivacyFilter(1.0, 1e-5, failure_delta=1e-6)
        spent = RDPAccountant(orders=(budget.order,))
        failing = ApproxDP(0.01, 3e-7)
        for _ in range(3):
            budget.spend(failing)
            spent.compose(failing)
        assert not budget.fits(failing)
        with pytest.raises(BudgetExceededError, match="of failure_delta"):
            budget.spend(failing)
        while budget.fits(Gaussian(50.0)):
            budget.spend(Gaussian(50.0))
            spent.compose(Gaussian(50.0))
        assert spent.get_epsilon(1e-5) <= 1.0

    def test_none_is_set_aside_by_default(self):
        assert not PrivacyFilter(1.0, 1e-5).fits(ApproxDP(0.1, 1e-9))
        with pytest.raises(UnsupportedMechanismError, match="it may fail"):
            PrivacyOdometer(1e-5).spend(ApproxDP(0.1, 1e-9))
        with pytest.raises(ValueError, match="failure_delta must be below delta"):
            PrivacyFilter(1.0, 1e-5, failure_delta=1e-5)


class TestRenyiFilter:
    def test_it_holds_the_divergence(self):
        budget, spent = RenyiFilter(5.0, 0.3), RDPAccountant()
        while budget.fits(STEP, 10):
            budget.spend(STEP, 10)
            spent.compose(STEP, 10)
        assert 0.29 < spent.get_rdp([5.0])[0] <= 0.3

    def test_bad_arguments(self):
        for bad in 0.0, -1.0, math.inf:
            with pytest.raises(ValueError, match=r"budget must be a number in \(0, inf\)"):
                RenyiFilter(2.0, bad)
        with pytest.raises(ValueError, match="orders must be"):
            RenyiFilter(1.0, 1.0)


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

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match=r"delta must be a number in \(0, 1\)"):
            PrivacyOdometer(0.0)
        with pytest.raises(ValueError, match="orders must be"):
            PrivacyOdometer(0.1, orders=[])
        odometer = PrivacyOdometer(0.1)
        with pytest.raises(TypeError, match="mechanism must be a renyi mechanism"):
            odometer.spend(1.0)
        assert odometer.get_epsilon() == 0.0
