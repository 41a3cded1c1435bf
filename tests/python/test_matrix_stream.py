"""Streams of correlated noise: what is added, their states, rounding and refusals."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from interruptions import each_place, in_threads
from sgd_states import seeded

from renyi.matrix import (
    BLT,
    BandedInverse,
    BandedToeplitz,
    Dense,
    SquareRoot,
    Tree,
    noise_functions,
)
from renyi.noise import noise_lattice

STEPS = 12
SQUARE = [
    BandedToeplitz(STEPS, [1.0]),
    BandedToeplitz.optimal(STEPS, 4),
    BandedToeplitz.optimal(STEPS, 4, normalised=True),
    SquareRoot(STEPS),
    BLT.optimal(STEPS, 2),
    Dense.optimal(STEPS),
    Dense.optimal(STEPS, bands=3),
    BandedInverse.root(STEPS, 4),
    BandedInverse.optimal(STEPS, 2),
]
TREES = [Tree(STEPS), Tree(STEPS, False), Tree(STEPS, restart=5), Tree(STEPS, False, restart=3)]
EVERY = [*SQUARE, *TREES]


def independent(scale, size, dtype):
    """The noise of each step by itself, from the keys that a stream takes."""
    source = seeded()
    for deviation in scale:
        z = np.zeros(size, dtype)
        source.core.add_noise(True, z, deviation, 1)
        yield z


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("strategy", SQUARE, ids=repr)
def test_it_is_the_inverse_of_the_matrix(strategy, dtype):
    """C times the stream is the independent noise, but for the rounding of every step."""
    stream = strategy.noise(3000, seeded(), scale=5.0, dtype=dtype)
    streamed = np.array(list(stream)).astype(float)
    c = strategy.matrix()
    own = 5.0 / np.diag(c)
    expected = np.array(list(independent(own, 3000, dtype))) * np.diag(c)[:, None]
    apart = np.abs(c @ streamed - expected).max(axis=1)
    # Rounding does not add up: each step knows what those before were rounded to.
    assert (apart <= np.array([1.01 * noise_lattice(s) for s in own]) * np.diag(c) + 1e-4).all()


@pytest.mark.parametrize("strategy", TREES, ids=repr)  # that of the others is known bit for bit
def test_errors_are_the_variances(strategy):
    noise = np.cumsum(np.array(list(strategy.noise(200_000, seeded(7)))), axis=0)
    # Six deviations of a sample variance.
    assert np.allclose(noise.var(axis=1), strategy.errors(), rtol=6 * (2 / 200_000) ** 0.5)


@pytest.mark.parametrize("strategy", EVERY, ids=repr)
def test_the_same_bits_for_any_number_of_threads(strategy):
    shape = (3, 30_011)
    one, many = (
        np.array(list(strategy.noise(shape, seeded(), dtype=np.float32, threads=threads)))
        for threads in (1, 3)
    )
    assert np.array_equal(one, many)


@pytest.mark.parametrize("strategy", EVERY, ids=repr)
@pytest.mark.parametrize("done", [0, 3, 7])
def test_a_state_goes_on_where_it_was(strategy, done):
    stream = strategy.noise(100, seeded())
    for _ in range(done):
        next(stream)
    state = stream.state_dict(secrets=True)
    expected = np.array(list(stream))
    again = strategy.noise(100, seeded(5))
    again.load_state_dict(state)
    assert again.step == done
    assert np.array_equal(np.array(list(again)), expected)


@pytest.mark.parametrize("strategy", SQUARE, ids=repr)
def test_what_is_released_is_on_the_lattice_of_its_step(strategy):
    stream = strategy.noise(1000, seeded(), scale=3.0)
    sums = np.random.default_rng(1).normal(size=(STEPS, 1000))
    diagonal = np.diag(strategy.matrix())
    for step in range(STEPS):
        released = stream.add(sums[step].copy())
        assert not (released % noise_lattice(3.0 / diagonal[step])).any()


@pytest.mark.parametrize("strategy", EVERY, ids=repr)
def test_sums_are_moved_by_noise_that_does_not_depend_on_them(strategy):
    """What is added is the same as to zeros, but for rounding to the lattice."""
    sums = np.random.default_rng(1).integers(-50, 50, size=(STEPS, 500)).astype(float)
    alone = np.array(list(strategy.noise(500, seeded())))
    stream = strategy.noise(500, seeded())
    added = np.array([stream.add(row.copy()) for row in sums]) - sums
    assert np.allclose(added, alone, atol=1e-9)


def test_interrupted_rounding_is_known_exactly():
    """The noise kept is what was released less the sum, rounding included."""
    stream = SquareRoot(3).noise(1000, seeded())
    total = np.random.default_rng(1).normal(size=1000)
    released = stream.add(total.copy())
    assert np.array_equal(
        stream.state_dict(secrets=True)["secrets"]["buffers"]["noise"][0], released - total
    )


@pytest.mark.parametrize("strategy", EVERY, ids=repr)
def test_past_the_last_step_there_is_no_noise(strategy):
    stream = strategy.noise(4)
    assert len(list(stream)) == STEPS
    with pytest.raises(RuntimeError, match="end after the 12 steps"):
        stream.add(np.zeros(4))


@pytest.mark.parametrize("strategy", EVERY, ids=repr)
def test_rounding_is_within_its_bound(strategy):
    """Of two runs with the same releases, one record apart, by arithmetic with more digits."""
    rng = np.random.default_rng(3)
    sums = rng.normal(size=(STEPS, 200))
    stream = strategy.noise(200, seeded(), scale=2.0)
    bound = stream.rounding_error(float(np.linalg.norm(sums, axis=1).max()))
    assert 0.0 <= bound < 1e-8
    single = strategy.noise(200, seeded(), scale=2.0, dtype=np.float32)
    assert single.rounding_error(15.0) > 1e5 * bound or strategy.bands == 1


def test_a_norm_that_chance_does_not_reach():
    for strategy in EVERY:
        stream = strategy.noise(50, seeded(), scale=2.0)
        largest = max(float(np.linalg.norm(noise)) for noise in stream)
        assert largest < stream.largest_norm(0.0) < 40.0 * largest


def test_memory_is_that_of_the_buffers():
    assert BandedToeplitz.optimal(100, 10).noise(1000).nbytes == 9 * 8000
    assert BandedToeplitz.optimal(100, 10).noise(1000, dtype=np.float32).nbytes == 9 * 4000
    assert BLT.optimal(100, 3).noise(1000).nbytes == 3 * 8000
    assert Tree(100).noise(1000).nbytes == 7 * 8000


def test_other_states_are_refused():
    stream = SquareRoot(12).noise(5, seeded())
    next(stream)
    state = stream.state_dict(secrets=True)
    with pytest.raises(ValueError, match="stream with shape"):
        SquareRoot(12).noise(6).load_state_dict(state)
    with pytest.raises(ValueError, match="stream with strategy"):
        Dense.optimal(12).noise(5).load_state_dict(state)
    with pytest.raises(ValueError, match="stream with scale"):
        SquareRoot(12).noise(5, scale=2.0).load_state_dict(state)
    for name, value, message in (
        ("buffers", {}, "state must hold buffers"),
        ("buffers", 1, "state must hold buffers"),
        ("step", 2, "state must hold the secrets of 1 steps, got those of 2"),
    ):
        others = {**state["secrets"], name: value}
        with pytest.raises(ValueError, match=message):
            SquareRoot(12).noise(5, seeded()).load_state_dict({**state, "secrets": others})
    with pytest.raises(ValueError, match="state must have"):
        SquareRoot(12).noise(5).load_state_dict({})


@pytest.mark.parametrize(
    "array",
    [np.zeros(5, np.float32), np.zeros(6), np.zeros((5, 1)), np.zeros(10)[::2], [0.0] * 5],
    ids=repr,
)
def test_other_arrays_are_refused(array):
    stream = SquareRoot(12).noise(5)
    with pytest.raises((TypeError, ValueError), match="array must be"):
        stream.add(array)
    assert stream.step == 0


def test_noise_of_scale_zero_is_none():
    for strategy in EVERY:
        assert not np.array(list(strategy.noise(5, scale=0.0))).any()


# --- noise goes on from one step to the next, whatever happens


def released(stream, sums):
    return [stream.add(row.copy()) for row in sums[stream.step :]]


@pytest.mark.parametrize("strategy", EVERY, ids=repr)
@pytest.mark.parametrize("event", ["line", "opcode"])
def test_a_step_that_is_interrupted_was_taken_or_not(strategy, event):
    """What follows is what would have followed: buffers are those of as many steps."""
    sums = np.random.default_rng(1).normal(size=(STEPS, 4))
    straight = strategy.noise(4, seeded(), scale=2.0)
    straight_released = released(straight, sums)
    taken = set()
    for interrupted in each_place(1 if event == "line" else 5, event=event):
        stream = strategy.noise(4, seeded(), scale=2.0)
        for row in sums[:4]:
            stream.add(row.copy())
        array = sums[4].copy()
        interrupted(partial(stream.add, array))
        taken.add(stream.step)
        assert np.array_equal(array, sums[4]) == (stream.step == 4)
        if stream.step == 5:
            assert np.array_equal(array, straight_released[4])
        wanted = straight_released[stream.step :]
        assert np.array_equal(released(stream, sums), wanted)
    assert taken == {4, 5}


def test_a_stream_is_not_rewound():
    stream = BandedToeplitz.optimal(STEPS, 4).noise(4)
    next(stream)
    with pytest.raises(AttributeError):
        stream.step = 0
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="must not be copied or pickled"):
            attempt(stream)


@pytest.mark.parametrize("strategy", EVERY, ids=repr)
def test_a_state_without_secrets_holds_no_noise(strategy):
    stream = strategy.noise((2, 3), seeded())
    fresh = stream.state_dict()
    next(stream)
    state, whole = stream.state_dict(), stream.state_dict(secrets=True)
    assert not any(isinstance(value, np.ndarray) for value in state.values())
    assert state == {name: value for name, value in whole.items() if name != "secrets"}
    with pytest.raises(ValueError, match=r"the noise of steps before, which state_dict\(secrets=T"):
        strategy.noise((2, 3), seeded()).load_state_dict(state)
    with pytest.raises(ValueError, match="secrets of a reproducible generator"):
        stream.load_state_dict(fresh)  # of step 0, where there is no noise yet
    strategy.noise((2, 3)).load_state_dict(strategy.noise((2, 3)).state_dict())


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1.7e308])
@pytest.mark.parametrize("strategy", EVERY, ids=repr)
def test_what_is_not_finite_is_refused_and_leaves_no_trace(strategy, value):
    stream, straight = (strategy.noise(3, seeded()) for _ in range(2))
    next(stream), next(straight)
    array = np.array([0.0, value, 0.0])
    with pytest.raises(ValueError, match="array must have finite entries"):
        stream.add(array)
    assert np.array_equal(array, [0.0, value, 0.0], equal_nan=True)
    assert np.array_equal(list(stream), list(straight))


# --- pure functions, for NumPy, PyTorch and JAX


STRATEGIES = [BandedToeplitz.optimal(9, 3), BLT.optimal(9, 2), Tree(9, restart=4)]


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

    in_threads([run] * 4)
    assert len(ends) == 36
    assert all(ends)
