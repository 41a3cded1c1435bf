"""Training that charges a ledger as it goes: every release once, and no old state goes on."""

import contextlib
import gc
import pickle
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest
from each import slow
from interruptions import each_place, in_threads

from renyi import BudgetExceededError, Ledger, RDPAccountant
from renyi.matrix import SquareRoot
from renyi.sgd import DPSGD, SGD, TrainingPlan

PLANS = {
    "each step": {},
    "epochs": {"sampling": "shuffled", "adjacency": "zero_out"},
    "a run": {"sampling": "fixed_order", "adjacency": "zero_out", "strategy": SquareRoot(12)},
}


def planned(kind="each step"):
    return TrainingPlan(40, 10, noise_multiplier=20.0, steps=12, **PLANS[kind])


@pytest.fixture(params=PLANS)
def plan(request):
    return planned(request.param)


def in_processes(first, *others):
    """Run a test with the first kind of plan; with the others, each with processes, if slow."""
    return pytest.mark.parametrize("plan", [first, *slow(*others)], indirect=True)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "privacy.db") as opened:
        opened.create("data", epsilon=100.0, delta=1e-6, adjacency="add_remove")
        opened.create("zeros", epsilon=100.0, delta=1e-6, adjacency="zero_out")
        yield opened


def dataset(plan):
    return "data" if plan.adjacency == "add_remove" else "zeros"


def made(plan, ledger, **settings):
    charge = partial(ledger.charge, dataset(plan))
    return DPSGD(np.zeros(2), plan, SGD(0.1), sampler=plan.sampler(), charge=charge, **settings)


def stepped(optimizer, count=1):
    for _ in range(count):
        optimizer.discard()  # what an interruption has left
        batch = optimizer._ledger._sampler.sample()
        optimizer.step(np.ones((len(batch), 2)))
    return optimizer


def uses(ledger, plan):
    """Return how many releases were charged, whatever for."""
    history = ledger.history(dataset(plan))[1:]
    return sum(entry.count * entry.repeats for entry in history)


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


# --- old states


def test_releases_are_charged_once_however_often_the_run_is_saved(plan, ledger):
    optimizer = made(plan, ledger)
    for _ in range(plan.steps):
        optimizer.state_dict(secrets=True)
        stepped(optimizer)
    assert uses(ledger, plan) == plan.releases
    assert ledger.verify() == []


GOES_ON = """
import functools, pickle, sys
import numpy as np
from renyi import Ledger
from renyi.sgd import DPSGD, SGD
path, dataset, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
plan, state = pickle.load(sys.stdin.buffer)
with Ledger(path) as ledger:
    sampler = plan.sampler()
    charge = functools.partial(ledger.charge, dataset)
    optimizer = DPSGD(np.zeros(2), plan, SGD(0.1), sampler=sampler, charge=charge)
    optimizer.load_state_dict(state)
    try:
        for _ in range(steps):
            optimizer.step(np.ones((len(sampler.sample()), 2)))
    except ValueError as error:
        print(str(error).partition(",")[0])
    print(optimizer.steps)
"""


def elsewhere(plan, ledger, state, steps=1):
    """Go on from a state in another process, and return what that says."""
    done = subprocess.run(
        [sys.executable, "-c", GOES_ON, str(ledger._store.path), dataset(plan), str(steps)],
        input=pickle.dumps((plan, state)),
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().split("\n")[:-1]


@in_processes("each step", "epochs", "a run")
def test_of_the_processes_that_load_a_state_one_goes_on(plan, ledger):
    state = stepped(made(plan, ledger), 2).state_dict(secrets=True)
    before = uses(ledger, plan)
    assert elsewhere(plan, ledger, state, steps=0) == ["2"]  # which ended before its first step
    assert elsewhere(plan, ledger, state) == ["3"]
    refusal, steps = elsewhere(plan, ledger, state)
    assert refusal.startswith("step must be")
    assert steps == "2"
    assert uses(ledger, plan) - before == (1 if plan.steps_per_release == 1 else 0)


@in_processes("epochs", "each step", "a run")
def test_whoever_saved_a_state_goes_on_or_another_does(plan, ledger):
    first = stepped(made(plan, ledger), 2)
    state = first.state_dict(secrets=True)
    stepped(first)
    assert elsewhere(plan, ledger, state)[-1] == "2"
    state = first.state_dict(secrets=True)
    assert elsewhere(plan, ledger, state) == ["4"]
    for _ in range(3):  # also when it is tried again
        with pytest.raises(ValueError, match=r"step must be .*: the state is an old one"):
            stepped(first)
    assert first.steps == 3


def test_a_branch_is_charged_what_was_charged_for_the_release_under_way(plan, ledger):
    first = stepped(made(plan, ledger), 2)
    state, before = first.state_dict(secrets=True), uses(ledger, plan)
    branch = made(plan, ledger)
    branch.load_state_dict(state, branch=True)
    again = branch.state_dict(secrets=True)
    stepped(first)
    own = 1 if plan.steps_per_release == 1 else 0
    assert uses(ledger, plan) == before + own
    stepped(branch)
    assert uses(ledger, plan) == before + own + 1
    assert elsewhere(plan, ledger, again)[-1] == "2"  # a state of the branch, which has gone on


def test_two_threads_do_not_both_load_a_state(monkeypatch):
    plan = planned()

    def fresh():
        return DPSGD(np.zeros(2), plan, SGD(0.1), accountant=RDPAccountant())

    for _ in range(5):
        first = fresh()
        first.step(np.ones((3, 2)))
        state, both, errors = first.state_dict(secrets=True), [fresh(), fresh()], []
        together = threading.Barrier(2)

        def load(k, state=state, both=both, errors=errors, together=together):
            run = both[k]._ledger._run
            check = run.check_load

            def checked(*args):
                check(*args)
                with contextlib.suppress(threading.BrokenBarrierError):
                    together.wait(0.1)

            monkeypatch.setattr(run, "check_load", checked)
            try:
                both[k].load_state_dict(state)
            except ValueError as error:
                errors.append(error)

        in_threads(partial(load, k) for k in range(2))
        assert len(errors) == 1
        assert "state must be loaded once" in str(errors[0])


def test_a_run_that_is_taken_over_in_the_middle_of_a_step_releases_nothing(monkeypatch):
    plan = planned()
    first, second = (DPSGD(np.zeros(2), plan, SGD(0.1)) for _ in range(2))
    first.step(np.ones((3, 2)))
    state, record = first.state_dict(secrets=True), first._ledger.record

    def then_another_loads(steps):
        record(steps)
        second.load_state_dict(state)

    monkeypatch.setattr(first._ledger, "record", then_another_loads)
    with pytest.raises(RuntimeError, match="DPSGD must go on where its state was loaded last"):
        first.step(np.ones((3, 2)))
    assert first.steps == 1
    second.step(np.ones((3, 2)))


def test_a_state_of_too_many_releases_changes_nothing():
    plan = planned()
    state = stepped(uncharged(plan)).state_dict(secrets=True) | {"releases": 10**10}
    optimizer = uncharged(plan)
    sampler = optimizer._ledger._sampler
    with pytest.raises(ValueError, match="count must be an integer in"):
        optimizer.load_state_dict(state)
    assert sampler.drawn == optimizer.steps == 0
    assert optimizer.accountant.mechanisms == ()


def uncharged(plan):
    return DPSGD(np.zeros(2), plan, SGD(0.1), sampler=plan.sampler())


# --- interruptions


@pytest.mark.parametrize("budget", [None, *slow(((50.0, 1e-5),))])
@pytest.mark.parametrize("stride", [331, *slow(71)])
def test_every_line_of_a_charged_step_may_be_interrupted(plan, ledger, budget, stride):
    """No release without a charge, and the run goes on."""
    gc.disable()
    for interrupted in each_place(stride, least=710 / stride):
        optimizer = made(plan, ledger, budget=budget)
        before, released = uses(ledger, plan), []
        release = optimizer._sum.release

        def counted(clipped, step, released=released, release=release):
            released.append(step)
            return release(clipped, step)

        optimizer._sum.release = counted
        optimizer.state_dict(secrets=True)
        batch = optimizer._ledger._sampler.sample()
        interrupted(partial(optimizer.step, np.ones((len(batch), 2))))
        each = plan.steps_per_release
        assert uses(ledger, plan) - before >= -(-len(released) // each)
        recorded = sum(n for _, n in optimizer.accountant.mechanisms)
        assert recorded >= -(-len(released) // each)
        stepped(optimizer)
        assert uses(ledger, plan) - before >= -(-len(released) // each)
    gc.enable()
    assert ledger.verify() == []


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("stops", [KeyboardInterrupt, TimeoutError])
def test_a_charge_that_is_interrupted_may_be_recorded_or_not(plan, ledger, saved, recorded, stops):
    optimizer = stepped(made(plan, ledger))
    optimizer.state_dict(secrets=True)
    charge = optimizer._ledger._charges._charge

    def interrupted(*args, **kwargs):
        if recorded:
            charge(*args, **kwargs)
        raise stops

    for _ in range(2):
        optimizer._ledger._charges._charge = interrupted
        with pytest.raises(stops):
            stepped(optimizer)
        optimizer._ledger._charges._charge = charge
        if saved:
            state, optimizer = optimizer.state_dict(secrets=True), made(plan, ledger)
            optimizer.load_state_dict(state)
        before = optimizer.steps
        stepped(optimizer, 2)
        assert optimizer.steps == before + 2
        optimizer.state_dict(secrets=True)
    # A claim that may be somebody else's is charged in full.
    each = plan.steps_per_release
    due = -(-optimizer.steps // each)
    assert uses(ledger, plan) == due + (2 if recorded else 0)
    assert ledger.verify() == []
