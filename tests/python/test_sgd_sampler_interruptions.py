"""Draws that are interrupted, copied, forked or loaded twice: no bins are used again."""

import copy
import os
import pickle
import random
import signal
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from each import slow
from interruptions import at_line, by_signals

from renyi.noise import SecureGenerator
from renyi.samplers import (
    BallsInBinsSampler,
    CyclicPoissonSampler,
    FixedOrderSampler,
    FixedSizeSampler,
    MinSeparationSampler,
    PoissonSampler,
    ShuffledSampler,
)
from renyi.sgd import DPSGD, SGD, TrainingPlan

pytestmark = pytest.mark.usefixtures("without_collector")
N, EACH, EPOCHS = 400, 4, 3  # a batch is of about 100 records: none is empty but by a defect
MAKERS = {
    "poisson": lambda: PoissonSampler(N, 0.25),
    "truncated": lambda: PoissonSampler(N, 0.25, batch_limit=90),
    "cyclic": lambda: CyclicPoissonSampler(N, 0.9, EACH),
    "fixed size": lambda: FixedSizeSampler(N, 100),
    "shuffled": lambda: ShuffledSampler(N, EACH),
    "balls in bins": lambda: BallsInBinsSampler(N, EACH),
    "fixed order": lambda: FixedOrderSampler(N, EACH),
    "cyclic, cut": lambda: CyclicPoissonSampler(N, 0.9, EACH, batch_limit=80),
    "min separation": lambda: MinSeparationSampler(N, 100, EACH),
}
DEALT = {"shuffled", "balls in bins"}  # anew for every epoch
every_sampler = pytest.mark.parametrize("name", MAKERS)


def check_batches(name, batches):
    """Batches by their number: none empty, disjoint within an epoch, dealt anew for each."""
    assert all(len(batch) for batch in batches.values())
    if name not in {*DEALT, "fixed order"}:
        return
    bins = np.full((EPOCHS, N), -1)
    for number, batch in batches.items():
        epoch, turn = divmod(number - 1, EACH)
        assert (bins[epoch, batch] == -1).all()
        bins[epoch, batch] = turn
    for before, after in pairwise(bins):
        both = (before >= 0) & (after >= 0)
        assert name not in DEALT or not both.any() or (before[both] != after[both]).any()


def rest_of(sampler, batches):
    while sampler.drawn < EACH * EPOCHS:
        batch = sampler.sample()
        batches[sampler.drawn] = batch


# --- interruptions


@every_sampler
@pytest.mark.parametrize("event", ["line", "opcode"])
@pytest.mark.parametrize("before", [0, EACH, *slow(1, EACH - 1)])
def test_every_place_of_a_draw_may_be_interrupted(name, event, before):
    place, alive = 1, True
    while alive:
        sampler, batches = MAKERS[name](), {}
        for number in range(1, before + 1):
            batches[number] = sampler.sample()
        alive = at_line(sampler.sample, place, event=event)
        rest_of(sampler, batches)
        check_batches(name, batches)
        place += 1
    assert place > 5


def planned(sampling):
    settings = {"adjacency": "replace_one"} if sampling == "shuffled" else {}
    return TrainingPlan(N, 100, noise_multiplier=0.8, epochs=EPOCHS, sampling=sampling, **settings)


def train(optimizer, sampler, steps, batches):
    for _ in range(steps):
        batch = sampler.sample()
        optimizer.step(np.ones((len(batch), 1)))
        batches[sampler.drawn] = batch


@pytest.mark.parametrize("sampling", ["shuffled", "balls_in_bins"])
@pytest.mark.parametrize("event", ["line", "opcode"])
@pytest.mark.parametrize("before", [EACH, *slow(0)])
def test_an_interrupted_draw_is_discarded_and_every_epoch_is_recorded(sampling, event, before):
    """As the documentation has it: discard, and draw the next batch."""
    place, alive = 1, True
    while alive:
        plan = planned(sampling)
        sampler, batches = plan.sampler(), {}
        optimizer = DPSGD(np.zeros(1), plan, SGD(0.1), sampler=sampler)

        train(optimizer, sampler, before, batches)
        alive = at_line(sampler.sample, place, event=event)
        optimizer.discard()
        train(optimizer, sampler, EACH * EPOCHS - sampler.drawn, batches)
        check_batches(sampling.replace("_", " "), batches)
        assert sum(count for _, count in optimizer.accountant.mechanisms) == EPOCHS
        place += 1 if event == "line" else 3
    assert place > 5


def storm(tries, seed, records):
    """Signals in the first draw of the second epoch, which takes long enough for them."""
    chance, hits = random.Random(seed), 0
    for _ in range(tries):
        sampler, first = BallsInBinsSampler(records, 2), []
        first.extend(sampler.sample() for _ in range(2))
        hits += by_signals(sampler.sample, 10 ** chance.uniform(-5.0, -2.0), 1e-3, 1)
        bins = np.zeros(records, bool)
        bins[first[0]] = True
        while sampler.drawn < 4:
            batch = sampler.sample()
            share = bins[batch].mean()  # of the bin before: 1 or 0 where bins are used again
            assert len(batch)
            assert 0.3 < share < 0.7
    return hits


def test_signals_in_a_draw():
    storm(60, 1, 50_000)  # checks every batch; how many signals hit depends on the machine


@pytest.mark.slow
def test_a_thousand_signals_in_a_draw():
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    hits = storm(1000, seed, 200_000)
    print(hits)
    assert hits > 300


@every_sampler
def test_a_draw_within_a_draw_is_refused(name):
    """A handler of signals draws in the midst of a draw: one of both gives no batch."""
    sampler, batches = MAKERS[name](), {}
    draw = sampler._draw

    def interrupted(number, layout):
        drawn = draw(number, layout)
        sampler._draw = draw
        batches[number] = sampler.sample()
        return drawn

    sampler._draw = interrupted
    with pytest.raises(RuntimeError, match="got a draw within one"):
        sampler.sample()
    assert sampler.drawn == 1
    rest_of(sampler, batches)
    check_batches(name, batches)


# --- copies


@every_sampler
@pytest.mark.parametrize("generator", [None, SecureGenerator(insecure_reproducible=1)])
def test_a_sampler_is_neither_copied_nor_pickled(name, generator):
    sampler = MAKERS[name]()
    sampler.generator = generator or sampler.generator
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="must not be copied or pickled"):
            attempt(sampler)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_does_not_go_on_with_the_bins():
    sampler = BallsInBinsSampler(N, EACH)
    sampler.sample()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            sampler.sample()
        except RuntimeError as error:
            own = BallsInBinsSampler(N, EACH)
            rest_of(own, {})
            os._exit(7 if "got a fork of it" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    rest_of(sampler, {})


def test_a_state_in_an_epoch_is_loaded_once():
    first, second, third = (BallsInBinsSampler(N, EACH) for _ in range(3))
    batches = {1: first.sample()}
    older = first.state_dict(secrets=True)
    batches[2] = first.sample()
    state = first.state_dict(secrets=True)
    with pytest.raises(ValueError, match="state must be loaded once and be the last of its run"):
        second.load_state_dict(older)
    assert second.drawn == 0
    second.load_state_dict(state)
    second.load_state_dict(state)  # again, after an interruption say
    for sampler in (third, first):
        with pytest.raises(ValueError, match="state must be loaded once"):
            sampler.load_state_dict(state)
    with pytest.raises(RuntimeError, match="another has taken over"):
        first.sample()
    rest_of(second, batches)
    check_batches("balls in bins", batches)
    third.load_state_dict(second.state_dict())  # between epochs there is nothing to be used again


@pytest.mark.parametrize("event", ["line", "opcode"])
def test_every_place_of_a_load_may_be_interrupted(event):
    place, alive = 1, True
    while alive:
        one, two, batches = BallsInBinsSampler(N, EACH), BallsInBinsSampler(N, EACH), {}
        batches[1] = one.sample()
        state = one.state_dict(secrets=True)
        alive = at_line(partial(two.load_state_dict, state), place, event=event)
        two.load_state_dict(state)
        rest_of(two, batches)
        check_batches("balls in bins", batches)
        place += 1 if event == "line" else 7


# --- what a state without secrets holds


def arrays_in(value):
    if isinstance(value, dict):
        return [array for entry in value.values() for array in arrays_in(entry)]
    if isinstance(value, list | tuple):
        return [array for entry in value for array in arrays_in(entry)]
    return [value] if isinstance(value, np.ndarray) else []


def test_bins_are_in_the_secrets_alone():
    plan = planned("balls_in_bins")
    sampler = plan.sampler()
    optimizer = DPSGD(np.zeros(1), plan, SGD(0.1), sampler=sampler)
    batch = sampler.sample()
    optimizer.step(np.ones((len(batch), 1)))
    public, whole = optimizer.state_dict(), optimizer.state_dict(secrets=True)
    assert "secrets" not in public
    assert public.keys() | {"secrets"} == whole.keys()
    assert all(array.size < N for array in arrays_in(public))
    bins = whole["secrets"]["sampler"]["bins"]
    assert np.flatnonzero(bins == 0).tolist() == batch.tolist()
    assert [array.size for array in arrays_in(sampler.state_dict())] == []

    other = plan.sampler()
    resumed = DPSGD(np.zeros(1), plan, SGD(0.1), sampler=other)
    with pytest.raises(ValueError, match=r"the present epoch's bins, which state_dict\(secrets=Tr"):
        resumed.load_state_dict(public)
    assert (resumed.steps, other.drawn) == (0, 0)
    wrong = {**whole["secrets"], "begun": 2}
    with pytest.raises(ValueError, match="state must hold its own secrets"):
        resumed.load_state_dict({**public, "secrets": wrong})
    resumed.load_state_dict({**public, "secrets": whole["secrets"]})
    batches = {1: batch}
    rest_of(other, batches)
    check_batches("balls in bins", batches)


def test_between_epochs_there_are_no_bins_to_keep():
    plan = planned("balls_in_bins")
    sampler = plan.sampler()
    optimizer = DPSGD(np.zeros(1), plan, SGD(0.1), sampler=sampler)
    for _ in range(EACH):
        optimizer.step(np.ones((len(sampler.sample()), 1)))
    assert arrays_in(optimizer.state_dict(secrets=True)["secrets"]) == []
    other = plan.sampler()
    resumed = DPSGD(np.zeros(1), plan, SGD(0.1), sampler=other)
    resumed.load_state_dict(optimizer.state_dict())
    resumed.step(np.ones((len(other.sample()), 1)))
    assert resumed.accountant.mechanisms[0][1] == 2
