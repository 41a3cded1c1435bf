"""Never a release that was not recorded, never a run that cannot go on: whatever interrupts it."""

import os
import random
import sys
import threading
from functools import partial

import numpy as np
import pytest
from each import slow
from interruptions import at_line, by_signals, in_a_thread, interrupts

from renyi.sgd import DPSGD, SGD, ClipAccumulator, Grid, QuantileClipNorm, TrainingPlan

pytestmark = pytest.mark.usefixtures("without_collector")
PLAN = TrainingPlan(100, 4, steps=10**6, noise_multiplier=1.0)
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
    """An optimiser with its sampler, and how many sums it was about to give noise."""

    def __init__(self, sampled=True, moving=True):
        sampler = PLAN.sampler() if sampled else None
        norm = QuantileClipNorm(1.0, expected_batch_size=4, count_noise=5.0) if moving else None
        self.sampler, self.released = sampler, 0
        self.optimizer = DPSGD(np.zeros(2), PLAN, SGD(0.1), sampler=sampler, clip_norm=norm)
        release = self.optimizer._sum.release

        def counted(clipped, step):
            self.released += 1
            return release(clipped, step)

        self.optimizer._sum.release = counted

    @property
    def recorded(self):
        return sum(count for _, count in self.optimizer.accountant.mechanisms)

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
        assert self.recorded >= self.released
        before = self.recorded
        self.optimizer.discard()
        count = self.drawn(3)
        somewhere(partial(self.optimizer.step, rows(count)))
        assert self.optimizer.private.batch_size == count
        assert self.recorded >= max(self.released, before)


# --- each line


def test_every_line_of_a_step_with_a_sampler_may_be_interrupted():
    count, alive = 1, True
    while alive:
        run = Run()
        part = run.drawn()
        alive = at_line(partial(run.optimizer.step, rows(part)), count)
        run.goes_on(here)
        count += 7 if count > 40 else 1


def test_every_line_of_a_draw_may_be_interrupted():
    count, sampler = 1, PLAN.sampler()
    while at_line(sampler.sample, count):
        assert sampler._lock.acquire(timeout=1.0)
        sampler._lock.release()
        count += 1
    assert count > 5


def saved(steps=3):
    run = Run(sampled=False)
    for _ in range(steps):
        run.optimizer.step(rows(4))
    return run.optimizer.state_dict()


def test_every_line_of_a_load_may_be_interrupted():
    """Whoever goes on after it, with the state or without, records its own releases."""
    count, alive = 1, True
    while alive:
        first, second = Run(sampled=False), Run(sampled=False)
        state = saved()
        alive = at_line(partial(first.optimizer.load_state_dict, state), count)
        before = first.recorded
        for _ in range(4):
            first.goes_on(here)
        assert first.recorded >= before + 4
        state = saved()
        at_line(partial(second.optimizer.load_state_dict, state), count)
        second.optimizer.load_state_dict(state)
        second.goes_on(here)
        assert second.recorded >= 4
        assert second.optimizer.steps == 4
        count += 97 if count < 500 else 3


def test_a_load_that_was_interrupted_is_no_branch():
    state, other = saved(), Run(sampled=False).optimizer
    optimizer = Run(sampled=False).optimizer
    optimizer.load_state_dict(state)
    optimizer.load_state_dict(state)  # the same again, and nothing was released between
    with pytest.raises(ValueError, match="state must be loaded once"):
        other.load_state_dict(state)
    optimizer.step(rows(4))
    with pytest.raises(ValueError, match="state must hold at least 4 releases"):
        optimizer.load_state_dict(state)


# --- time-outs: the error that whoever tries again has seen

PARTS = {
    "rows": lambda grid: np.full((3, 2), 0.5),
    "a sum": lambda grid: ClipAccumulator((2,), 1.0, grid=grid).add(np.full((3, 2), 0.5)).take(),
    "no rows": lambda grid: np.empty((0, 2)),
}


def once_or_not_at_all(act, total, size, event, step=1):
    """Try again what a time-out ended, at each place of it: nothing is added a second time."""
    place, alive, places = 1, True, 0
    while alive:
        holder, add, end = act()
        alive = at_line(add, place, error=TimeoutError, event=event)
        places += alive
        try:
            if alive:
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
        place += step
    return places


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
    assert once_or_not_at_all(act, total, size, event) > 10


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
    assert once_or_not_at_all(act, 0.25 + 0.5 * (size - 1), size, event, step) > 30


@pytest.mark.parametrize("event", ["line", "opcode"])
def test_a_sum_is_taken_once_whatever_times_out(event):
    """Whoever tries again is given all of it, or refused, and never an empty sum."""
    place, alive = 1, True
    while alive:
        parts = ClipAccumulator((2,), 1.0).add(np.full((3, 2), 0.5))
        alive = at_line(parts.take, place, error=TimeoutError, event=event)
        if alive:
            try:
                assert parts.take().private.batch_size == 3
            except RuntimeError:
                parts.discard()
        place += 1


# --- twice


def test_interrupted_twice_a_step_mixes_nothing(monkeypatch):
    optimizer = Run(sampled=False).optimizer
    optimizer.accumulate(rows(3))
    with monkeypatch.context() as patch:
        patch.setattr(optimizer._ledger, "record", interrupts)
        patch.setattr(optimizer._sum.parts, "discard", interrupts)
        with pytest.raises(KeyboardInterrupt):
            optimizer.step(rows(2))
    optimizer.step(rows(1))
    assert optimizer.private.batch_size == 1


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
    count, alive = 1, True
    while alive:
        parts = ClipAccumulator((2,), 1.0).add(rows(3))
        alive = at_line(parts.discard, count)
        try:
            clipped = parts.add(rows(1)).take()
        except RuntimeError:
            parts.discard()
        else:
            size = clipped.private.batch_size
            assert np.allclose(clipped.sum, size * np.sqrt(0.5), rtol=0.02)
        count += 1
    assert count > 3


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
    signal_after(30)
    answers = 0
    for act in (lambda: run.optimizer.step(rows(1)), lambda: run.optimizer.accumulate(rows(1))):
        try:
            act()
        except RuntimeError:
            answers = 2 * answers + 1
    other = Run()
    other.optimizer.step(rows(other.drawn()))
    os._exit(2 * answers + (other.recorded == 1))


def signal_after(seconds):
    import signal

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)  # ends a child that waits


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
