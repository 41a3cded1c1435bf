"""Attacks on a training loop: two steps on a draw, two draws in a step, two branches of a run."""

import contextlib
import copy
import ctypes
import os
import pickle
import sys
import threading
from functools import partial

import numpy as np
import pytest
from interruptions import each_place, in_threads
from sampled_runs import most

from renyi import BudgetExceededError, PLDAccountant, RDPAccountant
from renyi.matrix import BandedToeplitz
from renyi.noise import SecureGenerator
from renyi.samplers import PoissonSampler
from renyi.sgd import (
    DPSGD,
    SGD,
    Adam,
    ClipAccumulator,
    QuantileClipNorm,
    Schedule,
    TrainingPlan,
    clip_and_sum,
)
from renyi.sgd import rules as threads


def planned(batch_size=4, **settings):
    return TrainingPlan(100, batch_size, steps=100, noise_multiplier=1.0, **settings)


def made(plan=None, **settings):
    plan = plan or planned()
    sampler = plan.sampler(generator=SecureGenerator(insecure_reproducible=1))
    return DPSGD(np.zeros(2), plan, SGD(0.1), sampler=sampler, **settings), sampler


def plain(**settings):
    return DPSGD(np.zeros(2), planned(), SGD(0.1), **settings)


def rows(count):
    return np.ones((count, 2))


# --- one draw, one step


def test_a_sampler_has_one_optimiser():
    _, sampler = made()
    with pytest.raises(ValueError, match="sampler must be that of one DPSGD only"):
        DPSGD(np.zeros(2), planned(), SGD(0.1), sampler=sampler)


def test_a_refused_optimiser_leaves_the_sampler_free():
    sampler = planned().sampler()
    with pytest.raises(ValueError, match="budget epsilon"):
        plain(sampler=sampler, budget=(-1.0, 1e-6))
    plain(sampler=sampler)


def test_a_step_is_not_of_two_draws():
    for _ in range(200):
        optimizer, sampler = made(planned(1))
        first = sampler.sample()
        optimizer.accumulate(rows(len(first)))
        second = sampler.sample()
        with pytest.raises(RuntimeError, match="discard must be called first: parts are of batch"):
            optimizer.step(rows(len(second)))
        assert optimizer.accountant.mechanisms == ()
        optimizer.discard()
        optimizer.step(rows(len(second)))


@pytest.mark.parametrize("before", [0, 3])
def test_nobody_chooses_among_draws(before):
    optimizer, sampler = made()
    for _ in range(before):
        optimizer.step(rows(len(sampler.sample())))
    liked = max((sampler.sample() for _ in range(50)), key=len)
    for act in (optimizer.step, optimizer.accumulate):
        with pytest.raises(RuntimeError, match="discard must be called first: batches drawn after"):
            act(rows(len(liked)))
    assert len(optimizer.accountant.mechanisms) == min(before, 1)
    optimizer.discard()
    optimizer.step(rows(len(sampler.sample())))
    optimizer.step(rows(len(sampler.sample())))
    sampler.sample()
    sampler.sample()
    with pytest.raises(RuntimeError, match="discard must be called first: batches drawn after"):
        optimizer.step()


@pytest.mark.parametrize(
    ("name", "value"),
    [("sample_rate", 1.0), ("population", 7), ("generator", None), ("drawn", 0), ("sample", list)],
)
def test_settings_of_a_sampler_in_use_are_fixed(name, value):
    _, sampler = made()
    before = getattr(sampler, name)
    with pytest.raises(AttributeError):
        setattr(sampler, name, value)
    assert getattr(sampler, name) == before


def test_a_sampler_in_use_is_not_wound_back():
    optimizer, sampler = made()
    state = sampler.state_dict(secrets=True)
    optimizer.step(rows(len(sampler.sample())))
    with pytest.raises(RuntimeError, match="load_state_dict must be that of the DPSGD"):
        sampler.load_state_dict(state)


def test_a_sampler_with_its_own_drawing_is_refused():
    class Everyone(PoissonSampler):
        def _draw(self):
            return np.arange(self.population)

    with pytest.raises(TypeError, match=r"sampler must be one of plan\.sampler"):
        plain(sampler=Everyone(100, 0.04))


def test_tied_weights_are_refused():
    w = np.zeros((2, 3))
    for tied in (w, w.T, w[:1], np.from_dlpack(w)):
        with pytest.raises(ValueError, match=r"parameters\[1\] must not overlap another parameter"):
            DPSGD([w, tied], planned(), SGD(0.1))


# --- branches


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("raw", [False, True])
def test_a_fork_is_no_second_optimiser(raw):
    if raw and sys.platform != "linux":
        pytest.skip("needs the C library's fork without handlers")
    optimizer = plain()
    for _ in range(10):
        optimizer.step(rows(4))
    state = optimizer.state_dict(secrets=True)
    child = ctypes.CDLL(None)._Fork() if raw else os.fork()
    if child == 0:
        answers = 0
        try:
            optimizer.step(rows(4))
        except RuntimeError as error:
            answers += "got a fork of it" in str(error)
        try:
            plain().load_state_dict(state)
        except ValueError as error:
            answers += "branch=True" in str(error)
        branch = plain()
        branch.load_state_dict(state, branch=True)
        branch.step(rows(4))
        answers += branch.accountant.mechanisms[0][1] == 11
        os._exit(answers)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    optimizer.step(rows(4))


def test_a_state_from_which_the_run_has_gone_on_is_a_branch():
    plan = TrainingPlan(
        100, 25, steps=8, noise_multiplier=1.0, sampling="shuffled", adjacency="zero_out"
    )
    optimizer, sampler = made(plan)
    optimizer.step(rows(len(sampler.sample())))
    state = optimizer.state_dict(secrets=True)
    optimizer.step(rows(len(sampler.sample())))  # of the same epoch: no release more
    other, _ = made(plan)
    for loads in (optimizer, other):
        with pytest.raises(ValueError, match="got number 1 after 2 were begun"):
            loads.load_state_dict(state)
    with pytest.raises(ValueError, match="branch must be False where DPSGD has released"):
        optimizer.load_state_dict(state, branch=True)
    other.load_state_dict(state, branch=True)


def test_an_optimiser_is_not_sent_to_another_process():
    sampler = planned().sampler()
    optimizer = plain(sampler=sampler)
    for thing in (optimizer, sampler):
        for copied in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=r"(can|must )not be copied or pickled"):
                copied(thing)


def test_a_shallow_copy_is_the_same_optimiser():
    optimizer, sampler = made()
    for one in (optimizer, copy.copy(optimizer)):
        batch = sampler.sample()
        one.step(rows(len(batch)))
        with pytest.raises(RuntimeError, match="a batch must be drawn"):
            optimizer.step(rows(len(batch)))
    assert optimizer.accountant.mechanisms[0][1] == 2


# --- availability


def test_no_interruption_leaves_an_optimiser_locked():
    alone = threads.OneAtATime("a test")

    def use():
        with alone:
            pass

    for interrupted in each_place():
        interrupted(use)
        seen = []
        with alone:
            worker = threading.Thread(target=lambda seen=seen: refused(alone, seen))
            worker.start()
            worker.join()
        assert seen == [True]


def test_a_thread_that_has_ended_locks_nothing():
    alone = threads.OneAtATime("a test")
    worker = threading.Thread(target=alone.__enter__)
    worker.start()
    worker.join()
    with alone:
        seen = []
        refused(alone, seen)
    assert seen == [False]


def refused(alone, seen):
    try:
        with alone:
            seen.append(False)
    except RuntimeError:
        seen.append(True)


def test_private_counts_are_in_no_message():
    optimizer = plain().accumulate(rows(37))
    for act in (optimizer.state_dict, lambda: optimizer.load_state_dict({})):
        with pytest.raises(RuntimeError, match="state_dict must be called between") as caught:
            act()
        assert "37" not in str(caught.value)


# --- groups of parameters


def test_groups_have_rules_of_their_own_and_one_guarantee():
    plan = TrainingPlan(100, 4, steps=9, noise_multiplier=0.0)
    body, head = np.zeros(2), np.zeros(3)
    optimizer = DPSGD([body, head], plan, [SGD(0.5), Adam(0.01)])
    mean = optimizer.step([np.full((4, 2), 0.01), np.full((4, 3), -0.01)])
    assert np.allclose(body, -0.5 * mean[0])
    assert np.allclose(head, 0.01, rtol=1e-4)
    state = optimizer.state_dict(secrets=True)
    other = DPSGD([np.zeros(2), np.zeros(3)], plan, [SGD(0.1), Adam(0.1)])
    other.load_state_dict(state)
    assert list(other.rule) == [SGD(0.5), Adam(0.01)]
    with pytest.raises(ValueError, match="rule must be one for each of 2 parameters, got 1"):
        DPSGD([body, head], plan, [SGD(0.5)])
    with pytest.raises(ValueError, match="rule must be"):
        other.rule = [Adam(0.1), SGD(0.1)]


# --- a budget that threads share


THREADS = 8
BUDGET = (0.6, 1e-5)


def all_at_once(work):
    """Run work(k) in so many threads that begin together, and return what was raised."""
    errors, gate = [], threading.Barrier(THREADS)

    def run(k):
        gate.wait()
        try:
            work(k)
        except Exception as error:
            errors.append(error)

    in_threads(partial(run, k) for k in range(THREADS))
    return errors


def waits_for_the_others(accountant, monkeypatch):
    """Let threads check at the same time, if they can: each waits for the others to do so."""
    copied, together = accountant.copy, threading.Barrier(THREADS)

    def waiting():
        with contextlib.suppress(threading.BrokenBarrierError):
            together.wait(0.2)
        return copied()

    monkeypatch.setattr(accountant, "copy", waiting)


def noisier(noise_multiplier):
    return TrainingPlan(100, 10, steps=100, noise_multiplier=noise_multiplier)


def most_steps(kind, step):
    return most(lambda n: kind().compose(step, n).get_epsilon(BUDGET[1]) <= BUDGET[0])


@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
@pytest.mark.parametrize("charged", [False, True])
def test_optimisers_that_check_at_the_same_time_do_not_overspend(kind, charged, monkeypatch):
    accountant, plan, charges = kind(), noisier(2.0), []
    waits_for_the_others(accountant, monkeypatch)
    charge = (lambda mechanism, count, **where: charges.append(count)) if charged else None
    optimizers = [
        DPSGD(np.zeros(2), plan, SGD(0.1), accountant=accountant, budget=BUDGET, charge=charge)
        for _ in range(THREADS)
    ]
    errors = all_at_once(lambda k: optimizers[k].step(rows(2)))
    fits = min(most_steps(kind, plan.step_mechanism), THREADS)
    assert 0 < fits < THREADS
    assert [type(error) for error in errors] == [BudgetExceededError] * (THREADS - fits)
    assert accountant.get_epsilon(BUDGET[1]) <= BUDGET[0]
    assert sum(optimizer.steps for optimizer in optimizers) == fits
    assert len(charges) == (fits if charged else 0)


@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
def test_threads_spend_a_budget_exactly(kind):
    plan = noisier(4.0)
    fits = most_steps(kind, plan.step_mechanism)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(6):
            accountant = kind()
            optimizers = [
                DPSGD(np.zeros(2), plan, SGD(0.1), accountant=accountant, budget=BUDGET)
                for _ in range(THREADS)
            ]

            def run(k, optimizers=optimizers):
                while True:
                    optimizers[k].step(rows(2))

            errors = all_at_once(run)
            assert [type(error) for error in errors] == [BudgetExceededError] * THREADS
            assert sum(optimizer.steps for optimizer in optimizers) == fits
            assert accountant.mechanisms == ((plan.step_mechanism, fits),)
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("kind", [PLDAccountant, RDPAccountant])
def test_accountants_check_and_record_in_one(kind, monkeypatch):
    accountant, step, taken = kind(), noisier(2.0).step_mechanism, []
    waits_for_the_others(accountant, monkeypatch)
    epsilon, delta = BUDGET
    errors = all_at_once(
        lambda k: taken.append(accountant.spend_if_fits(step, epsilon=epsilon, delta=delta))
    )
    assert errors == []
    assert sum(taken) == most_steps(kind, step) < THREADS == len(taken)
    assert accountant.get_epsilon(delta) <= epsilon
    before = accountant.mechanisms
    for wrong in ({"count": -1}, {"epsilon": -1.0}, {"delta": 2.0}, {"mechanism": "noise"}):
        arguments = {"mechanism": step, "epsilon": epsilon, "delta": delta} | wrong
        with pytest.raises((TypeError, ValueError), match=f"{next(iter(wrong))} must be"):
            accountant.spend_if_fits(**arguments)
    assert accountant.mechanisms == before


# --- the same sum twice, and classes of one's own


def clipped_rows(count=3):
    return clip_and_sum(rows(count), 1.0)


def test_the_same_sum_is_not_added_twice():
    one, two = clipped_rows(), clipped_rows()
    again = (
        one,
        copy.copy(one),
        pickle.loads(pickle.dumps(one)),
        one.without_diagnostics(),
        one + two,
        two + one,
    )
    for other in again:
        parts = ClipAccumulator((2,), 1.0).add(one)
        with pytest.raises(ValueError, match="grads must be of records that are in one part only"):
            parts.add(other)
        assert parts.add(two).take().private.batch_size == 6
        with pytest.raises(ValueError, match="sum must be of records that are in one part only"):
            one + other
    with pytest.raises(ValueError, match="sum must be of records"):
        sum([one, two, one])
    whole = ClipAccumulator((2,), 1.0).add(one).add(two).take()
    with pytest.raises(ValueError, match="sum must be of records"):
        whole + one


def test_an_optimiser_takes_no_sum_twice_and_none_of_the_batch_before():
    optimizer, clipped = plain(), clipped_rows(2)
    optimizer.accumulate(clipped)
    for act in (optimizer.accumulate, optimizer.step):
        with pytest.raises(ValueError, match="per_sample_grads must be of records that are in one"):
            act(clipped)
    optimizer.step()
    with pytest.raises(ValueError, match="per_sample_grads must be of records that are in one"):
        optimizer.step(clipped)
    assert optimizer.private.batch_size == 2
    assert optimizer.accountant.mechanisms[0][1] == 1


def test_a_sum_of_a_batch_that_was_discarded_may_be_used():
    optimizer, clipped = plain(), clipped_rows(2)
    optimizer.accumulate(clipped)
    optimizer.discard()
    optimizer.step(clipped)
    assert optimizer.private.batch_size == 2


def test_classes_of_ones_own_are_refused():
    """They are accounted as what they are derived from, and may do something else."""

    class Silent(TrainingPlan):
        def at(self, step):
            return super().at(step)._replace(noise_scale=0.0)

    class Less(TrainingPlan):
        def at(self, step):
            return super().at(step)._replace(noise_scale=0.9 * super().at(step).noise_scale)

    class Falling(Schedule):
        def at(self, step):
            return 0.5 * super().at(step)

    class Still(QuantileClipNorm):
        def private_count(self, clipped):
            return 1e6

    class Insensitive(BandedToeplitz):
        def sensitivity(self, participation=None):
            return 1e-6

    settings = {"noise_multiplier": 1.0, "steps": 5}
    for kind in (Silent, Less):
        with pytest.raises(TypeError, match="plan must be a TrainingPlan, of no class of its own"):
            DPSGD(np.zeros(2), kind(100, 4, **settings), SGD(0.1))
    for name in ("noise_schedule", "clip_schedule"):
        with pytest.raises(TypeError, match=f"{name} must be a Schedule, of no class of its own"):
            TrainingPlan(100, 4, **settings, **{name: Falling((1,), (1.0,))})
    with pytest.raises(TypeError, match="clip_norm must be a QuantileClipNorm, of no class"):
        plain(clip_norm=Still(1.0, expected_batch_size=4, count_noise=5.0))
    with pytest.raises(TypeError, match=r"strategy must be one of renyi\.matrix, of no class"):
        TrainingPlan(
            100,
            20,
            **settings,
            sampling="fixed_order",
            adjacency="replace_one",
            strategy=Insensitive(5, [1.0]),
        )
