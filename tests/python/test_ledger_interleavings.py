"""Any order of charges, reservations and settlements, beside multi-precision arithmetic.

What is counted as spent stays within the budget and covers all that was released, and every
decision is the one that follows from the history by `renyi.reference`.
"""

import json
import tempfile
from fractions import Fraction
from pathlib import Path

import mpmath
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from renyi import BudgetExceededError, Gaussian, Ledger, PrivacyFilter, reference

NOISES = st.sampled_from([3.0, 5.0, 8.0, 13.0, 40.0])
COUNTS = st.integers(1, 60)
EPSILON, DELTA, RHO = 1.0, 1e-6, 0.1
FILTER = json.loads(PrivacyFilter(EPSILON, DELTA).to_json())
TIGHT = 1e-13
MU = reference.gaussian_mu(EPSILON, DELTA)


def concentrated(uses):
    """Sum of 1/(2 sigma^2), as exact fractions."""
    return sum((Fraction(count) / (2 * Fraction(noise) ** 2) for noise, count in uses), Fraction(0))


def largest_share(kind, uses):
    """What uses take of a budget, by the definition of its filter."""
    rho = concentrated(uses)
    total = mpmath.mpf(rho.numerator) / rho.denominator
    if kind == "zcdp":
        return total / RHO
    if kind == "gdp":
        return 2 * total / MU**2
    orders = zip(FILTER["orders"], FILTER["budgets"], strict=True)
    return min(order * total / budget for order, budget in orders)


def basic_epsilon(calls):
    """Sum of the epsilons of calls, each by its exact curve at its share of delta."""
    total, delta = mpmath.mpf(0), FILTER["basic"]["delta"]
    for n, (noise, count) in enumerate(calls, 1):
        mu = float(mpmath.sqrt(count) / noise)
        total += reference.gaussian_epsilon(mu, 3 * mpmath.mpf(delta) / 4**n)
    return total


class Interleavings(RuleBasedStateMachine):
    @initialize(kind=st.sampled_from(["zcdp", "gdp", "renyi"]))
    def begin(self, kind):
        self.folder = tempfile.TemporaryDirectory()
        self.kind, self.ledger = kind, Ledger(Path(self.folder.name) / "privacy.db")
        if kind == "zcdp":
            self.ledger.create("data", rho=RHO)
        else:
            self.ledger.create("data", epsilon=EPSILON, delta=DELTA, accountant=kind)
        self.charged, self.running, self.calls, self.released = [], {}, [], []

    def would_fit(self, noise, count):
        """Decide by the reference, from what the history says."""
        uses = [*self.charged, *self.running.values(), (noise, count)]
        share = largest_share(self.kind, uses)
        if share <= 1 - TIGHT:
            return True
        calls = [*self.calls, (noise, count)]
        if self.kind == "renyi" and len(calls) <= 16 and basic_epsilon(calls) <= EPSILON:
            return True
        return None if share <= 1 else False  # used up to the last digit: sums are rounded up

    @rule(noise=NOISES, count=COUNTS)
    def charge(self, noise, count):
        expected = self.would_fit(noise, count)
        try:
            self.ledger.charge("data", Gaussian(noise), count)
        except BudgetExceededError:
            assert expected is not True
        else:
            assert expected is not False
            self.charged.append((noise, count))
            self.calls.append((noise, count))
            self.released.append((noise, count))

    @rule(noise=NOISES, count=COUNTS)
    def reserve(self, noise, count):
        expected = self.would_fit(noise, count)
        try:
            run = self.ledger.reserve("data", Gaussian(noise), count)
        except BudgetExceededError:
            assert expected is not True
        else:
            assert expected is not False
            self.running[run.number] = (noise, count)
            self.calls.append((noise, count))
            self.released.append((noise, count // 2))  # half of it has been run

    @precondition(lambda self: self.running)
    @rule(used=st.floats(0.5, 1.0))
    def settle(self, used):
        number, (noise, count) = next(iter(self.running.items()))
        times = max(count // 2, int(used * count))
        self.ledger.settle("data", number, times)
        del self.running[number]
        self.charged.append((noise, times))
        self.released += [(noise, times - count // 2)]

    @rule()
    def reopen(self):
        path = self.ledger._store.path
        self.ledger.close()
        self.ledger = Ledger(path)

    @invariant()
    def spent_covers_what_was_released_and_stays_within_the_budget(self):
        spent = 1.0 - self.ledger.status("data").remaining
        released = largest_share(self.kind, self.released)
        assert spent <= 1.0
        assert min(released, 1) <= spent * (1 + 1e-12)
        if released > 1:
            assert basic_epsilon(self.calls) <= EPSILON

    def teardown(self):
        if hasattr(self, "ledger"):
            assert self.ledger.verify() == []
            self.ledger.close()
            self.folder.cleanup()


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=15, stateful_step_count=20, deadline=None)
