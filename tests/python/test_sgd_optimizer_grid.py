"""DP-SGD on a grid: integers until the noise is in, accounted, resumed, and what is refused."""

import copy
import json
import math
import re

import numpy as np
import pytest
from sgd_states import same

from renyi import Gaussian, PLDAccountant, RDPAccountant
from renyi.accountants import UnsupportedMechanismError
from renyi.filters import BudgetExceededError
from renyi.noise import SecureGenerator
from renyi.sgd import (
    DPSGD,
    SGD,
    Adam,
    ClipAccumulator,
    Grid,
    QuantileClipNorm,
    TrainingPlan,
    clip_and_sum,
)

SHAPES = [(3,), (2, 2)]
SPACING = 2.0**-12
FIXED = {"sampling": "fixed_size", "adjacency": "replace_one"}
SHUFFLED = {"sampling": "shuffled", "adjacency": "zero_out", "batch_size": 300}
DELTA = 1e-5


def plan(population=1024, batch_size=16, **settings):
    grid = {"grid_spacing": SPACING, "dimension": 7}
    usual = {"steps": 20, "noise_multiplier": 1.0, "max_grad_norm": 0.5, **grid}
    return TrainingPlan(population, batch_size, **{**usual, **settings})


def rows(seed, count=16, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(count, *shape)).astype(dtype) for shape in SHAPES]


def made(planned=None, rule=None, **settings):
    weights = [np.zeros(shape) for shape in SHAPES]
    settings = {"generator": SecureGenerator(insecure_reproducible=1), **settings}
    return DPSGD(weights, planned or plan(), rule or SGD(0.1), **settings), weights


@pytest.mark.parametrize("clipping", ["flat", "per_layer", "automatic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_releases_whole_spacings(dtype, clipping):
    optimizer, weights = made(clipping=clipping)
    before = copy.deepcopy(weights)
    released = optimizer.step(rows(1, dtype=dtype))
    for mean, weight, old in zip(released, weights, before, strict=True):
        spacings = mean * 16 / SPACING  # the divisor is a power of two: exact
        assert mean.dtype == np.float64
        assert np.array_equal(spacings, np.rint(spacings))
        assert np.array_equal(weight, old - 0.1 * mean)
    assert (np.concatenate([mean.ravel() for mean in released]) != 0.0).all()


def test_the_noise_is_that_of_the_plan():
    planned = plan(dimension=200_000, noise_multiplier=1.5)
    optimizer = DPSGD(np.zeros(200_000), planned, SGD(0.1))
    noise = optimizer.step(np.zeros((0, 200_000))) * 16 / planned.noise_scale
    assert planned.noise_scale > 1.5 * (0.5 + math.sqrt(200_000) * SPACING / 2)
    assert abs(noise.mean()) < 5 / math.sqrt(noise.size)
    assert abs((noise**2).mean() - 1) < 5 * math.sqrt(2 / noise.size)


def test_the_sum_under_the_noise_is_that_of_the_rounded_rows():
    grads = rows(1)
    (one, _), (two, _) = made(), made()
    clipped = ClipAccumulator(SHAPES, 0.5, grid=Grid(SPACING)).add(grads).take()
    both = zip(one.step(grads), two.step(), clipped.arrays, strict=True)
    for noisy, noise, total in both:
        assert np.array_equal((noisy - noise) * 16, total * SPACING)


@pytest.mark.parametrize("scheme", [{}, {**FIXED}, {**SHUFFLED}])
def test_micro_batches_and_machines_change_no_bit(scheme):
    optimizers = [made(plan(**scheme), Adam(0.01)) for _ in range(3)]
    (one, a), (two, b), (three, c) = optimizers
    adjacency = one.plan.adjacency
    for seed in range(4):
        grads = rows(seed)
        halves = [[array[part] for array in grads] for part in (slice(5, None), slice(0, 5))]
        one.step(grads)
        two.accumulate(halves[0]).accumulate(rows(9, 0)).step(halves[1])
        elsewhere = [
            ClipAccumulator(SHAPES, 0.5, grid=Grid(SPACING), adjacency=adjacency).add(half).take()
            for half in halves
        ]
        three.step(elsewhere[1] + elsewhere[0])
    assert same(a, b)
    assert same(a, c)


@pytest.mark.parametrize("scheme", [{}, FIXED, SHUFFLED])
def test_accounting(scheme):
    planned = plan(**scheme)
    optimizer, _ = made(planned)
    assert isinstance(optimizer.accountant, RDPAccountant)
    for seed in range(planned.steps):
        optimizer.step(rows(seed))
    assert optimizer.accountant.mechanisms == ((planned.step_mechanism, planned.releases),)
    assert optimizer.get_epsilon(DELTA) == planned.get_epsilon(DELTA)


def test_a_budget_stops_the_run():
    budget = plan(steps=5).get_epsilon(DELTA) * (1 + 1e-9)
    optimizer, _ = made(budget=(budget, DELTA))
    for seed in range(5):
        optimizer.step(rows(seed))
    with pytest.raises(BudgetExceededError):
        optimizer.step(rows(5))
    assert optimizer.steps == 5
    shared = RDPAccountant().compose(Gaussian(10.0))
    made(accountant=shared)[0].step(rows(1))
    assert shared.mechanisms == ((Gaussian(10.0), 1), (plan().step_mechanism, 1))


@pytest.mark.parametrize("rule", [SGD(0.1, momentum=0.9), Adam(0.01)])
@pytest.mark.parametrize("stop", [0, 3])
def test_resumes_bit_for_bit(rule, stop):
    (straight, a), (before, _), (after, b) = (made(rule=rule) for _ in range(3))
    for seed in range(6):
        straight.step(rows(seed))
        if seed < stop:
            before.step(rows(seed))
    state = json.loads(
        json.dumps(before.state_dict(secrets=True), default=lambda array: array.tolist())
    )
    after.load_state_dict(state)
    for seed in range(stop, 6):
        after.step(rows(seed))
    assert same(a, b)
    assert straight.accountant.mechanisms == after.accountant.mechanisms


@pytest.mark.parametrize("other", [{"grid_spacing": 2.0**-11}, {"grid_spacing": None}])
def test_a_state_of_another_grid_is_refused(other):
    if other["grid_spacing"] is None:
        other = {**other, "dimension": None}
    optimizer, weights = made(plan(**other))
    optimizer.step(rows(1))
    mine, kept = made()
    with pytest.raises(ValueError, match="state must hold the plan"):
        mine.load_state_dict(optimizer.state_dict(secrets=True))
    assert not any(weight.any() for weight in kept)
    assert weights[0].any()


WRONG = [
    (
        lambda: clip_and_sum(rows(1), 0.5),
        "grid=Grid(spacing=0.000244140625)), got a sum with grid=None",
    ),
    (
        lambda: ClipAccumulator(SHAPES, 0.5, grid=Grid(0.5)).take(),
        "must be rows, or sums of ClipAcc",
    ),
    (
        lambda: [array[:, :2] for array in rows(1)],
        "must be a list of arrays [(B, 3), (B, 2, 2)], got",
    ),
]


@pytest.mark.parametrize(("grads", "words"), WRONG)
def test_what_is_refused_leaves_everything_as_it_was(grads, words):
    optimizer, weights = made()
    optimizer.step(rows(0))
    before, spent = (
        copy.deepcopy(optimizer.state_dict(secrets=True)),
        optimizer.accountant.mechanisms,
    )
    for act in (optimizer.step, optimizer.accumulate):
        with pytest.raises(ValueError, match=re.escape(words)):
            act(grads())
    assert same(optimizer.state_dict(secrets=True), before)
    assert optimizer.accountant.mechanisms == spent
    assert same(weights, before["parameters"])


def test_combinations_refused():
    norm = QuantileClipNorm(0.5, expected_batch_size=16)
    with pytest.raises(ValueError, match="clip_norm must be None on a grid"):
        made(clip_norm=norm)
    with pytest.raises(UnsupportedMechanismError, match="RDPAccountant takes it"):
        made(accountant=PLDAccountant())
    with pytest.raises(ValueError, match="parameters must have 8 entries, the dimension of the"):
        made(plan(dimension=8))
    for noise in (1e-10, 1e12):
        with pytest.raises(ValueError, match=re.escape("sigma is in [2^-20, 2^40] spacings")):
            made(plan(noise_multiplier=noise))


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_one_array_of_any_shape(shape):
    weight = np.ones(shape, np.float32)
    optimizer = DPSGD(weight, plan(dimension=math.prod(shape)), SGD(1.0))
    released = optimizer.step(np.ones((5, *shape), np.float32))
    assert isinstance(released, np.ndarray)
    assert released.shape == shape
    assert np.array_equal(weight, (np.float32(1.0) - released).astype(np.float32))
