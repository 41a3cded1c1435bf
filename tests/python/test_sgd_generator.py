"""The generator: ChaCha20, streams, states, forks, threads, NumPy."""

import copy
import ctypes
import gc
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import warnings
from functools import partial

import noise_alone
import numpy as np
import pytest
from chacha20_reference import group, ratchet
from each import slow
from interruptions import in_threads
from sgd_states import seeded

from renyi import _states, noise, samplers, sgd
from renyi.noise import InsecureGeneratorWarning, SecureGenerator

N = 1 << 20


def key_in(generator):
    return words_of(bytes.fromhex(generator.state_dict(secrets=True)["secrets"]["key"]))


def words_of(text):
    return np.frombuffer(text, "<u4").tolist()


def test_every_draw_has_a_key_of_its_own_and_the_next_does_not_tell_it():
    """Of a block of the key, the first half is the next key and the second that of the draw."""
    generator = seeded()
    key = key_in(generator)
    for _ in range(5):
        key, own = ratchet(key)
        assert words_of(generator.bytes(1024)) == group(own)
        assert key_in(generator) == key


def test_noise_and_samples_are_draws_with_keys_of_their_own():
    generator = seeded()
    noise_alone.gaussian_noise(3000, 1.0, generator=generator)
    noise_alone.discrete_gaussian_noise(10, 3.0, generator=generator)
    samplers.PoissonSampler(100, 0.1, generator=generator).sample()
    key = key_in(seeded())
    for _ in range(3):
        key, _ = ratchet(key)
    assert key_in(generator) == key
    drawn = noise_alone.laplace_noise(256, 1.0, generator=generator)
    words = group(ratchet(key)[1])  # whose leading bits are the signs
    assert [number < 0.0 for number in drawn] == [word >> 31 == 1 for word in words]


def test_a_buffer_begins_with_the_next_key_and_forgets_what_it_has_handed_out():
    generator = seeded()
    words = group(key_in(generator))
    numbers = generator.numpy_generator()
    drawn = numbers.integers(1 << 32, size=100, dtype=np.uint32).tolist()
    assert drawn == words[8:108]
    state = generator.state_dict(secrets=True)["secrets"]
    assert key_in(generator) == words[:8]
    assert words_of(bytes.fromhex(state["buffer"])) == words[108:]


SEEDED = """
import sys

import numpy as np

from renyi import noise, samplers, sgd
from renyi.matrix import BandedToeplitz, Tree
from renyi.samplers import PoissonSampler

generator = noise.SecureGenerator(insecure_reproducible=7)
threads = int(sys.argv[1])
for count in (10, 3000, 200_000):
    drawn = {"generator": generator, "threads": threads}
    noise.add_gaussian_noise(np.zeros(count), 1.0, **drawn)
    noise.add_laplace_noise(np.zeros(count, "f4"), 1.0, **drawn)
    noise.add_discrete_gaussian_noise(np.zeros(count // 10, np.int64), 3.0, **drawn)
    PoissonSampler(count, 0.1, generator=generator).sample()
    samplers.FixedSizeSampler(count, 5, generator=generator).sample()
    samplers.ShuffledSampler(count, 2, generator=generator).sample()
    samplers.BallsInBinsSampler(count, 2, generator=generator).sample()
    generator.bytes(100)
    for strategy in (BandedToeplitz(2, [1.0, 0.5]), Tree(2)):
        next(strategy.noise(count, generator, threads=threads))
print("drawn", flush=True)
sys.stdin.read()
"""
DRAWS = 3 * 10


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a child")
@pytest.mark.parametrize("threads", [3, *slow(1)])
def test_memory_tells_no_key_that_was_used(threads):
    """Nothing but the present key is in the memory of a process that has drawn."""
    child = subprocess.Popen(
        [sys.executable, "-c", SEEDED, str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "drawn\n"
        memory = writable_memory(child.pid)
    finally:
        child.communicate("")
    key, used = key_in(seeded(7)), []
    for _ in range(DRAWS):
        key, own = ratchet(key)
        used += [own, key]
    used.pop()
    assert pairs_in(memory, key)  # it would be found
    assert pairs_in(memory, [word for old in used for word in old]) == 0


def pairs_in(memory, words):
    """How often two neighbours are among words: as a key has them, or a vector register."""
    found = 0
    for region in memory:
        among = np.isin(np.frombuffer(region, "<u4"), np.array(words, "<u4"), kind="sort")
        found += np.count_nonzero(among[:-1] & among[1:])
    return found


def writable_memory(process):
    regions = []
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as memory:
        for line in maps:
            place, rights = line.split()[:2]
            if not rights.startswith("rw"):
                continue
            first, last = (int(end, 16) for end in place.split("-"))
            try:
                memory.seek(first)
                regions.append(memory.read(last - first))
            except OSError:  # pages of the kernel's own
                continue
    return regions


def test_calls_never_take_the_same():
    once, twice = seeded(), seeded()
    assert once.bytes(2048)[:1024] == twice.bytes(1024)
    assert len({twice.bytes(8) for _ in range(100)}) == 100
    assert len(SecureGenerator().bytes(1025)) == 1025
    assert SecureGenerator().bytes(0) == b""


def test_seeds_give_streams_of_their_own():
    assert seeded(1).bytes(64) == seeded(1).bytes(64)
    assert len({seeded(s).bytes(64) for s in (0, 1, 2, 2**64, 10**40)}) == 5


def test_spawned_generators_differ():
    children = seeded().spawn(3)
    assert len({g.bytes(32) for g in [seeded(), *children]}) == 4
    assert [g.bytes(32) for g in seeded().spawn(3)] == [g.bytes(32) for g in seeded().spawn(3)]
    assert all(g.secure for g in SecureGenerator().spawn(2))


def test_a_secure_generator_is_neither_copied_nor_pickled():
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="same noise"):
            attempt(SecureGenerator())
    for attempt in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="same noise"):
            attempt(SecureGenerator().numpy_generator())
    with pytest.raises(TypeError, match="same numbers"):
        pickle.dumps(SecureGenerator().core)


@pytest.mark.parametrize("words", [0, 1, 255, 256, 257])
def test_a_reproducible_generator_goes_on_where_it_was(words):
    generator = seeded()
    noise_alone.gaussian_noise(1000, 1.0, generator=generator)
    numbers = generator.numpy_generator()
    numbers.integers(1 << 32, size=words, dtype=np.uint32)
    other = seeded(2)
    other.load_state_dict(generator.state_dict(secrets=True))
    copied = pickle.loads(pickle.dumps(generator))
    following = numbers.random(300)
    assert np.array_equal(other.numpy_generator().random(300), following)
    assert np.array_equal(copied.numpy_generator().random(300), following)
    assert generator.bytes(10) == other.bytes(10) == copied.bytes(10)


def test_loading_a_secure_state_takes_a_new_key():
    generator = SecureGenerator()
    before = generator.core.state()[0]
    state = generator.state_dict(secrets=True)
    assert "key" not in state
    generator.load_state_dict(state)
    assert generator.core.state()[0] != before
    with pytest.raises(ValueError, match="secure generator"):
        generator.load_state_dict(seeded().state_dict(secrets=True))
    with pytest.raises(ValueError, match="reproducible generator"):
        seeded().load_state_dict(state)
    with pytest.raises(ValueError, match="state must be a state_dict"):
        seeded().load_state_dict({"generator": "PCG64", "insecure_reproducible": True})


ENTRIES = seeded().state_dict(secrets=True)


@pytest.mark.parametrize("name", [*ENTRIES, *ENTRIES["secrets"]])
@pytest.mark.parametrize("value", [None, "missing", -1, "xyz"])
def test_an_incomplete_state_is_refused_and_changes_nothing(name, value):
    state = seeded(3).state_dict(secrets=True)
    within = state if name in state else state["secrets"]
    if value == "missing":
        del within[name]
    else:
        within[name] = value
    generator = seeded()
    before = generator.state_dict(secrets=True)
    with pytest.raises(
        ValueError, match=rf"state must .*{name if value is None else ''}"
    ) as caught:
        generator.load_state_dict(state)
    assert generator.state_dict(secrets=True) == before
    assert seeded(3).state_dict(secrets=True)["secrets"]["key"] not in str(caught.value)


@pytest.mark.parametrize("generator", [seeded(), SecureGenerator()])
@pytest.mark.parametrize("state", [None, {}, 3, []])
def test_what_is_no_state_is_refused(generator, state):
    with pytest.raises(ValueError, match=r"state must .*hold.* generator, insecure_reproducible"):
        generator.load_state_dict(state)


def draw_in_child(generator, numbers, queue):
    drawn = noise_alone.gaussian_noise(4, 1.0, generator=generator)
    queue.put(
        (drawn.tolist(), numbers.random(4).tolist(), noise_alone.laplace_noise(4, 1.0).tolist())
    )


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_no_child_repeats_its_parent_or_its_siblings():
    generator = SecureGenerator()
    numbers = generator.numpy_generator()
    numbers.random()  # a buffer that children inherit half used
    noise_alone.gaussian_noise(4, 1.0)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    results = []
    for _ in range(3):
        child = context.Process(target=draw_in_child, args=(generator, numbers, queue))
        child.start()
        results.append(queue.get())
        child.join()
    draw_in_child(generator, numbers, type("Here", (), {"put": staticmethod(results.append)}))
    for kind in zip(*results, strict=True):
        assert len({tuple(draw) for draw in kind}) == 4


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_has_a_key_of_its_own_before_it_draws():
    generator = SecureGenerator()
    parent = generator.core.state()[0]
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write_end, generator.core.state()[0])
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read_end, 32) != parent
    os.close(read_end)
    os.close(write_end)


@pytest.mark.skipif(sys.platform != "linux", reason="needs the C library's fork without handlers")
def test_neither_draws_nor_buffered_words_are_repeated_after_a_fork_without_handlers():
    generator = SecureGenerator()
    numbers = generator.numpy_generator()
    numbers.random()
    read_end, write_end = os.pipe()
    child = ctypes.CDLL(None)._Fork()
    if child == 0:
        os.write(write_end, generator.bytes(64) + numbers.bytes(64))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read_end, 64) != generator.bytes(64)
    assert os.read(read_end, 64) != numbers.bytes(64)
    os.close(read_end)
    os.close(write_end)


FORKING = """
import os
import signal
import threading

from renyi.noise import SecureGenerator
from renyi.samplers import ShuffledSampler

generator = SecureGenerator()
numbers = generator.numpy_generator()
sampler = ShuffledSampler(2_000_000, 1, generator=generator)

def draw():
    while True:
        {draw}

threading.Thread(target=draw, daemon=True).start()
for _ in range(5):
    while {lock}.acquire(blocking=False):
        {lock}.release()
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # ends the child if it waits
        numbers.random()
        generator.state_dict(secrets=True)
        with generator.lock:
            sampler.sample()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("draw", "lock"),
    [("numbers.random(3_000_000)", "generator.lock"), ("sampler.sample()", "sampler._lock")],
)
def test_a_child_does_not_wait_for_a_thread_of_its_parent(draw, lock):
    script = FORKING.format(draw=draw, lock=lock)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, timeout=60, text=True
    )
    assert done.returncode == 0, done.stderr


def test_locks_are_forgotten_with_their_owners():
    gc.collect()
    before = len(_states._LOCKS)
    owners = [seeded(k) for k in range(10)]
    assert len(_states._LOCKS) >= before + 10
    del owners
    gc.collect()
    assert len(_states._LOCKS) <= before


def test_threads_never_draw_the_same_numbers():
    generator = seeded()
    numbers = generator.numpy_generator()
    drawn = [[] for _ in range(4)]

    def draw(mine):
        for _ in range(50):
            mine.append(noise_alone.gaussian_noise(300, 1.0, generator=generator).tobytes())
            mine.append(numbers.bytes(64))
            mine.append(generator.bytes(64))

    in_threads(partial(draw, mine) for mine in drawn)
    everything = [draw for mine in drawn for draw in mine]
    assert len(set(everything)) == len(everything) == 600


def test_numpy_draws_from_the_stream():
    words = np.array(group(key_in(seeded()))[8:], "<u4")
    numbers = np.random.Generator(seeded())
    assert numbers.integers(1 << 32, size=6, dtype=np.uint32).tolist() == words[:6].tolist()
    doubles = np.random.Generator(seeded()).random(5)
    pairs = words[:10].astype(np.uint64)
    whole = pairs[::2] | pairs[1::2] << np.uint64(32)
    assert doubles.tolist() == ((whole >> np.uint64(11)) * 2.0**-53).tolist()
    many = seeded(5).numpy_generator().standard_normal(N)
    assert abs(many.mean()) < 5 / math.sqrt(N)
    assert abs(many.var() - 1) < 5 * math.sqrt(2 / N)


def test_a_numpy_generator_serves_with_a_warning():
    def draw(seed):
        with pytest.warns(InsecureGeneratorWarning, match="PCG64 is not a cryptographic"):
            return noise_alone.gaussian_noise(100, 1.0, generator=np.random.default_rng(seed))

    assert np.array_equal(draw(1), draw(1))
    assert not np.array_equal(draw(1), draw(2))
    generator = np.random.default_rng(1)
    with pytest.warns(InsecureGeneratorWarning):
        first = noise_alone.laplace_noise(100, 1.0, generator=generator)
    with pytest.warns(InsecureGeneratorWarning):
        assert not np.array_equal(first, noise_alone.laplace_noise(100, 1.0, generator=generator))


def test_a_numpy_generator_over_ours_needs_no_warning():
    ours = seeded()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = noise_alone.gaussian_noise(10, 1.0, generator=ours.numpy_generator())
    assert np.array_equal(drawn, noise_alone.gaussian_noise(10, 1.0, generator=seeded()))


def test_the_warning_points_at_the_line_outside_the_package():
    def called(what, *args, **kwargs):
        with pytest.warns(InsecureGeneratorWarning, match="a forked child repeats it") as caught:
            what(*args, **kwargs, generator=np.random.default_rng(1))
        return [(warning.filename, warning.lineno) for warning in caught]

    line = called.__code__.co_firstlineno + 2
    plan = sgd.TrainingPlan(100, 10, noise_multiplier=1.0, steps=3)
    assert called(noise.add_gaussian_noise, np.zeros(3), 1.0) == [(__file__, line)]
    assert called(sgd.noisy_clipped_sum, np.ones((2, 3)), 1.0, 1.0) == [(__file__, line)]
    assert called(samplers.PoissonSampler, 10, 0.5) == [(__file__, line)]
    assert called(samplers.ShuffledSampler, 10, 2) == [(__file__, line)]
    assert called(sgd.DPSGD, np.zeros(3), plan, sgd.SGD(0.1)) == [(__file__, line)]
