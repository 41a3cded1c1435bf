"""Never a release that was not recorded, no bins used again, no run that cannot go on."""

import copy
import os
import pickle
import random
import signal
import sys
import threading
from collections import Counter
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from each import slow
from interruptions import at_line, by_signals, each_place, in_a_thread, interrupts

from renyi import Gaussian, PoissonSampled
from renyi.matrix import BandedToeplitz
from renyi.noise import SecureGenerator
from renyi.samplers import (
    BallsInBinsSampler,
    FixedOrderSampler,
    FixedSizeSampler,
    MinSeparationSampler,
    PoissonSampler,
    ShuffledSampler,
)
from renyi.sgd import (
    DPSGD,
    SGD,
    ClipAccumulator,
    Grid,
    QuantileClipNorm,
    Schedule,
    TrainingPlan,
)

pytestmark = pytest.mark.usefixtures("without_collector")
NOISES = Schedule((1, 2, 3, 4), (2.0, 1.5, 1.2, 1.0))  # of each step another, at first
PLAN = TrainingPlan(100, 4, steps=10**6, noise_multiplier=1.0, noise_schedule=NOISES)
QUICK = 80  # of each kind; the slow test does ten times as many and more


def rows(count):
    return np.ones((count, 2))


def elsewhere(work):
    seen = []

    def run():
        try:
            seen.append(work())
        except BaseException as error:
            seen.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(60.0)
    assert not worker.is_alive(), "another thread waits without end"
    if isinstance(seen[0], BaseException):
        raise seen[0]
    return seen[0]


def here(work):
    return work()


class Run:
    """An optimiser with its sampler, and the sums it was about to give noise, by their steps."""

    def __init__(self, sampled=True, moving=True):
        sampler = PLAN.sampler() if sampled else None
        norm = QuantileClipNorm(1.0, expected_batch_size=4, count_noise=5.0) if moving else None
        self.sampler, self.released = sampler, Counter()
        self.optimizer = DPSGD(np.zeros(2), PLAN, SGD(0.1), sampler=sampler, clip_norm=norm)
        release = self.optimizer._sum.release

        def counted(clipped, step):
            self.released[PoissonSampled(Gaussian(NOISES.at(step)), 0.04)] += 1
            return release(clipped, step)

        self.optimizer._sum.release = counted

    @property
    def recorded(self):
        return sum(count for _, count in self.optimizer.accountant.mechanisms)

    def check(self):
        held = dict(self.optimizer.accountant.mechanisms)
        assert all(held.get(step, 0) >= count for step, count in self.released.items())

    def drawn(self, unsampled=4):
        return unsampled if self.sampler is None else len(self.sampler.sample())

    def work(self):
        """Three batches, the second in two parts."""
        self.optimizer.step(rows(self.drawn()))
        count = self.drawn()
        self.optimizer.accumulate(rows(count // 2)).step(rows(count - count // 2))
        self.optimizer.step(rows(self.drawn()))

    def goes_on(self, somewhere=elsewhere):
        """Check what must hold after an interruption, from another thread by default."""
        self.check()
        before = self.recorded
        self.optimizer.discard()
        count = self.drawn(3)
        somewhere(partial(self.optimizer.step, rows(count)))
        assert self.optimizer.private.batch_size == count
        self.check()
        assert self.recorded >= before


# --- each line


def test_every_line_of_a_step_with_a_sampler_may_be_interrupted():
    for interrupted in each_place(lambda place: 7 if place > 40 else 1, least=60):
        run = Run()
        interrupted(partial(run.optimizer.step, rows(run.drawn())))
        run.goes_on(here)
        assert run.recorded <= 3  # one too many at most


def saved(steps=3):
    run = Run(sampled=False)
    for _ in range(steps):
        run.optimizer.step(rows(4))
    return run.optimizer.state_dict()


def test_every_line_of_a_load_may_be_interrupted():
    """Whoever goes on after it, with the state or without, records its own releases."""
    for interrupted in each_place(lambda place: 97 if place < 1100 else 3):
        first, second = Run(sampled=False), Run(sampled=False)
        state = saved()
        interrupted(partial(first.optimizer.load_state_dict, state))
        before = first.recorded
        for _ in range(4):
            first.goes_on(here)
        assert first.recorded >= before + 4
        state = saved()
        interrupted(partial(second.optimizer.load_state_dict, state))
        second.optimizer.load_state_dict(state)
        second.goes_on(here)
        assert second.recorded >= 4
        assert second.optimizer.steps == 4


# --- time-outs: the error that whoever tries again has seen

PARTS = {
    "rows": lambda grid: np.full((3, 2), 0.5),
    "a sum": lambda grid: ClipAccumulator((2,), 1.0, grid=grid).add(np.full((3, 2), 0.5)).take(),
    "no rows": lambda grid: np.empty((0, 2)),
}


def once_or_not_at_all(act, total, size, **places):
    """Try again what a time-out ended, at each place of it: nothing is added a second time."""
    for timed_out in each_place(error=TimeoutError, **places):
        holder, add, end = act()
        try:
            if timed_out(add):
                add()
            found = end()
        except (RuntimeError, ValueError) as error:
            said, refused = str(error), ("discard must be called first", "has been added before")
            if not any(words in said for words in refused):
                raise
            holder.discard()
        else:
            assert found.private.batch_size == size
            assert np.allclose(found.sum, total, rtol=1e-6)


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("grid", [None, Grid(2.0**-20)], ids=["doubles", "grid"])
@pytest.mark.parametrize("event", ["opcode", *slow("line")])
def test_a_part_is_added_once_whatever_times_out(kind, grid, event):
    def act():
        parts, given = ClipAccumulator((2,), 1.0, grid=grid), PARTS[kind](grid)
        parts.add(np.full((1, 2), 0.25))
        return parts, partial(parts.add, given), parts.take

    size = 1 if kind == "no rows" else 4
    total = (0.25 + 0.5 * (size - 1)) * (1 if grid is None else 2**20)
    once_or_not_at_all(act, total, size, event=event, least=10)


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("event", ["opcode", *slow("line")])
def test_accumulate_adds_once_whatever_times_out(kind, event):
    plan = TrainingPlan(100, 50, steps=10, noise_multiplier=1.0)

    def act():
        optimizer = DPSGD(np.zeros(2), plan, SGD(0.1))
        given = PARTS[kind](None)
        optimizer.accumulate(np.full((1, 2), 0.25))
        return optimizer, partial(optimizer.accumulate, given), optimizer._sum.parts.take

    size = 1 if kind == "no rows" else 4
    step = 1 if event == "line" else 3
    once_or_not_at_all(act, 0.25 + 0.5 * (size - 1), size, event=event, step=step, least=30)


@pytest.mark.parametrize("event", ["line", "opcode"])
def test_a_sum_is_taken_once_whatever_times_out(event):
    """Whoever tries again is given all of it, or refused, and never an empty sum."""
    for timed_out in each_place(error=TimeoutError, event=event):
        parts = ClipAccumulator((2,), 1.0).add(np.full((3, 2), 0.5))
        if timed_out(parts.take):
            try:
                assert parts.take().private.batch_size == 3
            except RuntimeError:
                parts.discard()


# --- twice


@pytest.mark.parametrize(("released", "where"), [(0, "_ledger.record"), (1, "_trained.update")])
def test_interrupted_twice_a_step_mixes_nothing_and_stays_recorded(monkeypatch, released, where):
    run = Run(sampled=False)
    optimizer = run.optimizer.accumulate(rows(3))
    part, name = where.split(".")
    with monkeypatch.context() as patch:
        patch.setattr(getattr(optimizer, part), name, interrupts)
        patch.setattr(optimizer._sum.parts, "discard", interrupts)
        with pytest.raises(KeyboardInterrupt):
            optimizer.step(rows(2))
    optimizer.step(rows(1))
    assert optimizer.private.batch_size == 1
    assert run.recorded == run.released.total() == 1 + released


def test_interrupted_twice_a_part_spoils_the_batch(monkeypatch):
    optimizer = Run(sampled=False).optimizer
    add, spoil = optimizer._sum.parts.add_checked, optimizer._sum.parts.spoil
    first = iter([interrupts])

    def then_interrupts(part):
        add(part)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(optimizer._sum.parts, "add_checked", then_interrupts)
        patch.setattr(optimizer._sum.parts, "spoil", lambda: next(first, spoil)())
        with pytest.raises(KeyboardInterrupt):
            optimizer.accumulate(rows(3))
    with pytest.raises(RuntimeError, match="discard must be called first"):
        optimizer.step(rows(2))
    optimizer.discard()
    optimizer.step(rows(2))
    assert optimizer.private.batch_size == 2


def test_every_line_of_a_discard_may_be_interrupted():
    """Sums and counts are of the same rows, or nothing is taken."""
    for interrupted in each_place(least=2):
        parts = ClipAccumulator((2,), 1.0).add(rows(3))
        interrupted(parts.discard)
        try:
            clipped = parts.add(rows(1)).take()
        except RuntimeError:
            parts.discard()
        else:
            size = clipped.private.batch_size
            assert np.allclose(clipped.sum, size * np.sqrt(0.5), rtol=0.02)


# --- at random


def storm(kind, tries, seed):
    """Interrupt a run so often; it is made anew now and then."""
    chance, run, hits = random.Random(seed), None, 0
    for k in range(tries):
        if k % 40 == 0:
            run = Run(sampled=chance.random() < 0.7, moving=chance.random() < 0.5)
        if kind == "line":
            hits += at_line(run.work, chance.randrange(1, 900))
        else:
            times = 1 + (kind != "signal" and chance.random() < 0.5)
            way = in_a_thread if kind == "thread" else by_signals
            hits += way(run.work, 10 ** chance.uniform(-5.0, -2.7), 2e-5, times)
        run.goes_on(here if kind == "line" else elsewhere)
    return hits


def reloads(tries, seed):
    """Interrupt what saves and loads, once or twice; then load again."""
    chance = random.Random(seed)
    for _ in range(tries):
        state, run = saved(2), Run(sampled=False)
        delay, times = 10 ** chance.uniform(-5.0, -3.0), chance.choice((1, 2))
        by_signals(partial(run.optimizer.load_state_dict, state), delay, 2e-5, times)
        if chance.random() < 0.5:
            run.optimizer.load_state_dict(state)
            assert run.optimizer.steps == 2
        by_signals(run.optimizer.state_dict, delay, 2e-5, times)
        before = run.recorded
        run.goes_on()
        assert run.recorded > before


def forks(tries, seed):
    """Fork in the middle of steps of another thread: neither waits, and the child is refused."""
    chance, run, ended = random.Random(seed), Run(), threading.Event()

    def steps():
        while not ended.is_set():
            run.optimizer.step(rows(run.drawn()))

    worker = threading.Thread(target=steps)
    worker.start()
    try:
        for _ in range(tries):
            ended.wait(chance.uniform(0.0, 1e-3))
            child = os.fork()
            if child == 0:
                in_the_child(run)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    finally:
        ended.set()
        worker.join()
    run.goes_on()


def in_the_child(run):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(30)  # ends a child that waits
    answers = 0
    for act in (lambda: run.optimizer.step(rows(1)), lambda: run.optimizer.accumulate(rows(1))):
        try:
            act()
        except RuntimeError:
            answers = 2 * answers + 1
    other = Run()
    other.optimizer.step(rows(other.drawn()))
    os._exit(2 * answers + (other.recorded == 1))


KINDS = ["line", "signal", "two signals", "thread"]


@pytest.mark.parametrize("kind", KINDS)
def test_interruptions_at_random(kind):
    hits = storm(kind, QUICK, seed=1)
    assert hits > 0 or kind != "line"  # how many signals hit depends on the machine


def test_reloads_at_random():
    reloads(QUICK, seed=1)


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forks_at_random():
    forks(QUICK // 8, seed=1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_five_thousand_interruptions():
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    hits = {kind: storm(kind, 2000, seed) for kind in KINDS}
    print(hits)
    assert sum(hits.values()) > 5000
    reloads(1000, seed)
    forks(300, seed)


# --- draws: no bins are used again


N, EACH, EPOCHS = 400, 4, 3  # a batch is of about 100 records: none is empty but by a defect
MAKERS = {
    "poisson": lambda: PoissonSampler(N, 0.25),
    "truncated": lambda: PoissonSampler(N, 0.25, batch_limit=90),
    "cyclic": lambda: PoissonSampler(N, 0.9, cycle_length=EACH),
    "fixed size": lambda: FixedSizeSampler(N, 100),
    "shuffled": lambda: ShuffledSampler(N, EACH),
    "balls in bins": lambda: BallsInBinsSampler(N, EACH),
    "fixed order": lambda: FixedOrderSampler(N, EACH),
    "cyclic, cut": lambda: PoissonSampler(N, 0.9, cycle_length=EACH, batch_limit=80),
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
    for interrupted in each_place(event=event):
        sampler, batches = MAKERS[name](), {}
        for number in range(1, before + 1):
            batches[number] = sampler.sample()
        interrupted(sampler.sample)
        rest_of(sampler, batches)
        check_batches(name, batches)


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
    for interrupted in each_place(1 if event == "line" else 3, event=event):
        plan = planned(sampling)
        sampler, batches = plan.sampler(), {}
        optimizer = DPSGD(np.zeros(1), plan, SGD(0.1), sampler=sampler)
        train(optimizer, sampler, before, batches)
        interrupted(sampler.sample)
        optimizer.discard()
        train(optimizer, sampler, EACH * EPOCHS - sampler.drawn, batches)
        check_batches(sampling.replace("_", " "), batches)
        assert sum(count for _, count in optimizer.accountant.mechanisms) == EPOCHS


def storm_of_draws(tries, seed, records):
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
    storm_of_draws(60, 1, 50_000)  # checks every batch; how many signals hit depends on the machine


@pytest.mark.slow
def test_a_thousand_signals_in_a_draw():
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    hits = storm_of_draws(1000, seed, 200_000)
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


RUNS = {
    "sampler": (partial(BallsInBinsSampler, N, EACH), "drawn", lambda one: one.sample()),
    "stream": (lambda: BandedToeplitz.optimal(9, 4).noise(4), "step", next),
    "optimiser": (lambda: DPSGD(np.zeros(2), PLAN, SGD(0.1)), "steps", lambda one: one.step()),
}


@pytest.mark.parametrize("kind", RUNS)
def test_a_state_is_loaded_once(kind):
    make, done, go_on = RUNS[kind]
    first, second, third = make(), make(), make()
    go_on(first)
    older = first.state_dict(secrets=True)
    go_on(first)
    words = "state must be loaded once and be the last of its run, got number"
    for one in (first, second):
        with pytest.raises(ValueError, match=f"{words} 1 after 2 |hold at least 2 releases, got 1"):
            one.load_state_dict(older)
    state = first.state_dict(secrets=True)
    for _ in range(2):  # again, after an interruption say
        second.load_state_dict(state)
    for one in (third, first):
        with pytest.raises(ValueError, match=words):
            one.load_state_dict(state)
    with pytest.raises(RuntimeError, match=r"another has taken over|where its state was loaded"):
        go_on(first)
    go_on(second)
    assert [getattr(one, done) for one in (first, second, third)] == [2, 3, 0]


@pytest.mark.parametrize("event", ["line", "opcode"])
def test_every_place_of_a_load_may_be_interrupted(event):
    for interrupted in each_place(1 if event == "line" else 7, event=event):
        one, two, batches = BallsInBinsSampler(N, EACH), BallsInBinsSampler(N, EACH), {}
        batches[1] = one.sample()
        state = one.state_dict(secrets=True)
        interrupted(partial(two.load_state_dict, state))
        two.load_state_dict(state)
        rest_of(two, batches)
        check_batches("balls in bins", batches)


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
