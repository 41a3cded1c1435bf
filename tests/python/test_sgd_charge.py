"""Training that charges a ledger as it goes."""

from functools import partial

import numpy as np
import pytest

from renyi import BudgetExceededError, Ledger
from renyi.sgd import DPSGD, SGD, TrainingPlan


def test_every_step_is_charged_before_it_is_released(tmp_path):
    data = np.random.default_rng(1).normal(size=(1000, 2))
    plan = TrainingPlan(len(data), 50, noise_multiplier=2.0, steps=20, max_grad_norm=3.0)
    with Ledger(tmp_path / "privacy.db") as ledger:
        ledger.create("data", epsilon=0.75, delta=1e-6)
        most = ledger.count_that_fits("data", plan.step_mechanism, 20)
        w, sampler = np.zeros(2), plan.sampler()
        sampler_steps = iter(sampler)
        optimizer = DPSGD(
            w, plan, SGD(0.2), sampler=sampler, charge=partial(ledger.charge, "data", note="run 1")
        )
        while optimizer.steps < ledger.count_that_fits("data", plan.step_mechanism, 1) * 20:
            optimizer.step(w - data[next(sampler_steps)])
        before = w.copy()
        with pytest.raises(BudgetExceededError):
            optimizer.step(w - data[next(sampler_steps)])
        assert (w == before).all()
        assert 0 < optimizer.steps == ledger.status("data").charges <= most
        uses = [(e.mechanism, e.repeats, e.note) for e in ledger.history("data")[1:]]
        assert uses == [(plan.step_mechanism, optimizer.steps, "run 1")]


def test_it_must_be_callable():
    plan = TrainingPlan(1000, 50, noise_multiplier=2.0, steps=20, max_grad_norm=3.0)
    with pytest.raises(TypeError, match="charge must be called with a mechanism and a count"):
        DPSGD(np.zeros(2), plan, SGD(0.2), charge="data")
