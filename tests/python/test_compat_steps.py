"""`StepCallback`: budgets, charges and states, without a framework."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import pytest

from renyi import (
    BudgetExceededError,
    Gaussian,
    Ledger,
    PLDAccountant,
    PoissonSampled,
    RDPAccountant,
    calibrate_steps,
)
from renyi.compat import StepCallback

STEP = PoissonSampled(Gaussian(1.0), 0.01)
BUDGET = {"epsilon": 1.0, "delta": 1e-5}


def run_to_the_end(steps):
    while not steps.would_exceed():
        steps.compose()
    return steps


@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
def test_as_many_steps_as_the_budget_has(kind):
    steps = run_to_the_end(StepCallback(STEP, **BUDGET, accountant=kind()))
    one_more = kind().compose(STEP, len(steps) + 1)
    assert steps.get_epsilon() <= 1.0 < one_more.get_epsilon(1e-5)
    assert steps.accountant.mechanisms == ((STEP, len(steps)),)
    with pytest.raises(BudgetExceededError, match="1e-5, got PoissonSampled") as error:
        steps.compose()
    assert error.value.fits == 0
    if kind is PLDAccountant:
        assert len(steps) == calibrate_steps(
            target_epsilon=1.0, target_delta=1e-5, sample_rate=0.01, noise_multiplier=1.0
        )


def test_several_at_once_or_none():
    steps = StepCallback(STEP, **BUDGET)
    with pytest.raises(BudgetExceededError) as error:
        steps.compose(count=1000)
    assert len(steps) == 0
    assert not steps.would_exceed(count=error.value.fits)
    assert steps.would_exceed(count=error.value.fits + 1)
    assert steps.compose(count=0).get_epsilon() == 0.0


def test_a_budget_that_is_lowered_holds_at_once():
    steps = StepCallback(STEP, **BUDGET)
    for _ in range(40):  # by now some more are known to fit
        steps.compose()
    steps.epsilon = 1.01 * steps.get_epsilon()
    run_to_the_end(steps)
    assert steps.get_epsilon() <= steps.epsilon


def test_noise_that_changes():
    steps = StepCallback(**BUDGET)
    with pytest.raises(TypeError, match="mechanism must be what a step releases, got None"):
        steps.would_exceed()
    noises = [20.0, 20.0, 30.0, 10.0, 10.0]
    for noise in noises:
        steps.compose(Gaussian(noise))
    assert steps.get_epsilon() == PLDAccountant().compose(Gaussian(20.0), 2).compose(
        Gaussian(30.0)
    ).compose(Gaussian(10.0), 2).get_epsilon(1e-5)
    assert steps.would_exceed(Gaussian(1.0))
    assert not steps.would_exceed(Gaussian(50.0))
    assert "ε = " in steps.report().headline


def test_what_the_accountant_holds_counts():
    shared = PLDAccountant().compose(Gaussian(6.0))
    first = StepCallback(STEP, **BUDGET, accountant=shared)
    second = StepCallback(STEP, **BUDGET, accountant=shared)
    while not (first.would_exceed() and second.would_exceed()):
        first.compose()
        if not second.would_exceed():
            second.compose()
    assert shared.get_epsilon(1e-5) <= 1.0
    assert len(first) + len(second) == shared.mechanisms[1][1] < 254


def test_logs_and_metrics():
    said = []
    steps = StepCallback(STEP, **BUDGET, log=said.append, every=10)
    for _ in range(35):
        steps.compose()
    assert len(said) == 3
    assert said[0] == {
        "epsilon": PLDAccountant().compose(STEP, 10).get_epsilon(1e-5),
        "delta": 1e-5,
    }
    assert steps.get_privacy_spent(1e-6) == (steps.get_epsilon(1e-6), 1e-6)
    assert steps.get_delta() == steps.accountant.get_delta(1.0)


def test_states_are_json_and_go_on():
    steps = StepCallback(STEP, **BUDGET)
    for _ in range(50):
        steps.compose()
    state = json.loads(json.dumps(steps.state_dict()))
    resumed = StepCallback(STEP, **BUDGET)
    resumed.load_state_dict(state)
    assert len(resumed) == 50
    assert len(run_to_the_end(resumed)) == len(run_to_the_end(steps))
    with pytest.raises(ValueError, match="adjacency 'replace_one', got 'add_remove'"):
        StepCallback(**BUDGET, accountant=PLDAccountant(adjacency="replace_one")).load_state_dict(
            state
        )
    with pytest.raises(ValueError, match="type must be 'RDPAccountant'"):
        StepCallback(**BUDGET, accountant=RDPAccountant()).load_state_dict(state)
    with pytest.raises(ValueError, match="must have the fields"):
        resumed.load_state_dict({"version": 1, "steps": 3})
    with pytest.raises(ValueError, match="version must be 1"):
        resumed.load_state_dict({**state, "version": 2})
    for wrong in ({}, 3, None, []):
        with pytest.raises(ValueError, match="mapping with the field 'version', got"):
            resumed.load_state_dict(wrong)


def test_a_ledger_is_charged_and_refuses_an_old_state(tmp_path):
    with Ledger(tmp_path / "privacy.db") as ledger:
        ledger.create("rows", epsilon=0.9, delta=1e-5)
        charge = functools.partial(ledger.charge, "rows")

        def made():
            return StepCallback(Gaussian(20.0), **BUDGET, charge=charge, run="model 1")

        steps = made()
        steps.compose(count=3)
        state = steps.state_dict()
        steps.compose()
        late = made()
        late.load_state_dict(state)
        with pytest.raises(ValueError, match="step must be 4"):
            late.compose()
        assert len(late) == 3  # nothing was recorded
        with pytest.raises(BudgetExceededError):
            run_to_the_end(steps)
        charged = sum(entry.count * entry.repeats for entry in ledger.history("rows")[1:])
        assert charged == len(steps) > 4


def test_arguments():
    for wrong in ({"epsilon": 0.0}, {"delta": 2.0}, {"every": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            StepCallback(STEP, **BUDGET | wrong)
    with pytest.raises(ValueError, match="run must come with a charge"):
        StepCallback(STEP, **BUDGET, run="a")
    with pytest.raises(TypeError, match="accountant must be"):
        StepCallback(STEP, **BUDGET, accountant=1)
    with pytest.raises(TypeError, match="mechanism must be"):
        StepCallback(1, **BUDGET)


def test_no_framework_is_loaded_unasked():
    code = (
        "import sys, renyi, renyi.compat; others = {'torch', 'lightning', 'transformers', 'flwr', "
        "'pfl', 'jax', 'opacus', 'dp_accounting', 'sklearn'}; assert not others & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
