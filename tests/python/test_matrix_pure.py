"""Streams as pure functions, for NumPy, PyTorch and JAX."""

import pickle
import threading

import numpy as np
import pytest

from renyi.matrix import BLT, BandedToeplitz, Tree, noise_functions
from renyi.noise import SecureGenerator

STRATEGIES = [BandedToeplitz.optimal(9, 3), BLT.optimal(9, 2), Tree(9, restart=4)]


def seeded():
    return SecureGenerator(insecure_reproducible=4)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_they_are_the_stream(strategy, library):
    module = pytest.importorskip("jax.numpy" if library == "jax" else library)
    make = module.as_tensor if library == "torch" else module.asarray
    sums = make(np.arange(50, dtype=np.float32))
    init, step = noise_functions(strategy, 3.0, library=library, generator=seeded())
    state = init(sums)
    released = []
    for _ in range(9):
        noisy, state = step(state, sums)
        assert type(noisy) is type(sums)
        released.append(np.asarray(noisy))
    stream = strategy.noise(50, seeded(), scale=3.0, dtype=np.float32)
    expected = [stream.add(np.arange(50, dtype=np.float32)) for _ in range(9)]
    assert np.array_equal(released, expected)
    assert np.array_equal(np.asarray(sums), np.arange(50))
    with pytest.raises(RuntimeError, match="end after the 9 steps"):
        step(state, sums)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_nothing_given_is_changed(strategy):
    init, step = noise_functions(strategy, 1.0, generator=seeded())
    sums = [np.zeros(4), np.zeros((2, 3))]
    _, first = step(init(sums), sums)
    held = [{name: array.copy() for name, array in buffers.items()} for buffers in first.buffers]
    step(first, sums)
    for buffers, before in zip(first.buffers, held, strict=True):
        assert all(np.array_equal(buffers[name], before[name]) for name in before)
    assert not sums[0].any()


def test_other_sums_are_refused():
    init, step = noise_functions(STRATEGIES[0], 1.0)
    state = init([np.zeros(4)])
    with pytest.raises(ValueError, match="sums must be 1 arrays"):
        step(state, [np.zeros(4), np.zeros(4)])
    with pytest.raises(ValueError, match="shapes and dtypes that init was given"):
        step(state, [np.zeros(5)])
    with pytest.raises(ValueError, match="library must be one of"):
        noise_functions(STRATEGIES[0], 1.0, library="keras")


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_a_state_has_the_buffers_of_its_step(strategy):
    init, step = noise_functions(strategy, 1.0, generator=seeded())
    sums = [np.zeros(4), np.zeros((2, 3))]
    _, first = step(init(sums), sums)
    _, second = step(first, sums)
    others = (
        second._replace(step=0),
        second._replace(step=1),
        second._replace(buffers=first.buffers),
        second._replace(buffers=second.buffers[::-1]),
    )
    for other in others:
        with pytest.raises(ValueError, match="state must be one that was returned"):
            step(other, sums)
    _, third = step(pickle.loads(pickle.dumps(second)), sums)
    assert third.step == 3


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_not_finite_is_refused(value):
    init, step = noise_functions(STRATEGIES[0], 1.0, generator=seeded())
    sums = [np.zeros(4), np.zeros(3)]
    with pytest.raises(ValueError, match="sums must have finite entries"):
        step(init(sums), [np.zeros(4), np.array([0.0, value, 0.0])])


def test_threads_may_share_the_functions():
    """Each goes on from a state of its own, of sums of one shape."""
    init, step = noise_functions(STRATEGIES[0], 1.0, threads=1)
    ends = []

    def run():
        state = init(np.zeros(1000))
        for _ in range(9):
            released, state = step(state, np.zeros(1000))
            ends.append(np.array_equal(released, state.buffers[0]["noise"][(state.step - 1) % 2]))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ends) == 36
    assert all(ends)
