"""Groups of arrays, clipped together: norms, noise and what they cost, in exact rationals."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from renyi.sgd import (
    DPSGD,
    SGD,
    ClipAccumulator,
    ClipGroups,
    Grid,
    QuantileClipNorm,
    TrainingPlan,
    clip_and_sum,
    per_sample_norms,
)

RNG = np.random.default_rng(4)
SHAPES = [(3,), (2, 2), (5,)]
GROUPS = ClipGroups((0, 1, 0), shares=(3.0, 4.0))


def grads(count=7, scale=3.0):
    return [scale * RNG.normal(size=(count, *shape)) for shape in SHAPES]


def proportions(count):
    return tuple(np.exp2(RNG.uniform(-20, 20, count)).tolist())


def test_norms_of_groups_make_that_of_all_and_no_more():
    for _ in range(300):
        count = int(RNG.integers(1, 9))
        total = float(np.exp2(RNG.uniform(-70, 70)))
        groups = ClipGroups(tuple(range(count)), shares=proportions(count))
        square = sum(Fraction(bound) ** 2 for bound in groups.bounds(total))
        assert square <= Fraction(total) ** 2
        assert square >= Fraction(total) ** 2 * (1 - Fraction(1, 2**46))


def test_noise_of_groups_costs_what_one_multiplier_does():
    for _ in range(300):
        count = int(RNG.integers(1, 9))
        noise = proportions(count) if RNG.random() < 0.8 else None
        groups = ClipGroups(tuple(range(count)), shares=proportions(count), noise=noise)
        bounds, factors = groups.bounds(1.0), groups.noise_factors()
        cost = sum((Fraction(c) / Fraction(f)) ** 2 for c, f in zip(bounds, factors, strict=True))
        assert 1 - Fraction(1, 2**44) <= cost <= 1
        if noise is not None:
            ratios = np.array(factors) / noise
            assert np.allclose(ratios, ratios[0], rtol=1e-14)


def test_every_group_is_clipped_by_its_norm():
    rows = grads()
    clipped = clip_and_sum(rows, 2.0, clipping=GROUPS)
    assert clipped.sensitivity == 2.0
    for members, bound in (((0, 2), 1.2), ((1,), 1.6)):
        group = [rows[k] for k in members]
        wanted = clip_and_sum(group, bound).sum
        for k, array in zip(members, wanted, strict=True):
            assert np.allclose(clipped.sum[k], array, rtol=0, atol=1e-7)
    norms = np.stack([per_sample_norms([rows[0], rows[2]]), per_sample_norms(rows[1])], axis=1)
    assert np.array_equal(clipped.private.norms, norms)
    parts = ClipAccumulator(SHAPES, 2.0, clipping=GROUPS)
    parts.add([a[:3] for a in rows]).add(clip_and_sum([a[3:] for a in rows], 2.0, clipping=GROUPS))
    total = parts.take()
    assert all(np.array_equal(a, b) for a, b in zip(total.sum, clipped.sum, strict=True))
    assert parts.take().private.norms.shape == (0, 2)


def test_one_row_is_never_longer_than_its_share():
    for _ in range(200):
        rows = [np.exp2(RNG.uniform(-5, 5)) * row for row in grads(1)]
        clipped = clip_and_sum(rows, 1.0, clipping=GROUPS)
        squares = [sum(Fraction(float(x)) ** 2 for x in array.ravel()) for array in clipped.sum]
        first, second = (Fraction(bound) ** 2 for bound in GROUPS.bounds(1.0))
        assert squares[0] + squares[2] <= first
        assert squares[1] <= second


def test_the_noise_of_each_group_and_one_guarantee():
    size = 100_000
    plan = TrainingPlan(100, 4, steps=9, noise_multiplier=1.5, max_grad_norm=2.0)
    groups = ClipGroups((0, 1), shares=(3.0, 4.0), noise=(1.0, 5.0))
    weights = [np.zeros(size), np.zeros(size)]
    optimizer = DPSGD(weights, plan, SGD(0.1), clipping=groups)
    noisy = optimizer.step([np.zeros((0, size))] * 2)
    deviations = [4.0 * array.std() for array in noisy]
    assert abs(deviations[1] / deviations[0] / 5.0 - 1) < 0.03
    found = sum((c / s) ** 2 for c, s in zip((1.2, 1.6), deviations, strict=True)) ** -0.5
    assert abs(found / 1.5 - 1) < 5 / math.sqrt(2 * size)
    assert optimizer.accountant.mechanisms == ((plan.step_mechanism, 1),)


def test_one_group_is_flat_and_a_group_each_is_per_layer():
    rows = grads()
    for groups, name in ((ClipGroups((0, 0, 0)), "flat"), (ClipGroups((0, 1, 2)), "per_layer")):
        one = clip_and_sum(rows, 1.0, clipping=groups)
        two = clip_and_sum(rows, 1.0, clipping=name)
        assert all(np.allclose(a, b, atol=1e-7) for a, b in zip(one.sum, two.sum, strict=True))


def test_states_hold_the_groups():
    plan = TrainingPlan(100, 4, steps=9, noise_multiplier=1.5)

    def make(clipping):
        return DPSGD([np.zeros(s) for s in SHAPES], plan, SGD(0.1), clipping=clipping)

    optimizer = make(GROUPS)
    optimizer.step(grads())
    state = pickle.loads(pickle.dumps(optimizer.state_dict(secrets=True)))
    for other in ("flat", ClipGroups((0, 1, 1), shares=(3.0, 4.0)), ClipGroups((0, 1, 0))):
        with pytest.raises(ValueError, match="state must hold the clipping"):
            make(other).load_state_dict(state)
    make(GROUPS).load_state_dict(state)


def test_groups_on_a_grid_share_the_norm_alone():
    settings = {"steps": 9, "noise_multiplier": 1.5, "grid_spacing": 2.0**-20, "dimension": 12}
    plan = TrainingPlan(100, 4, **settings)
    weights = [np.zeros(s) for s in SHAPES]
    DPSGD(weights, plan, SGD(0.1), clipping=GROUPS).step(grads())
    noisy = ClipGroups((0, 1, 0), noise=(1.0, 2.0))
    with pytest.raises(ValueError, match="same noise on a grid"):
        DPSGD(weights, plan, SGD(0.1), clipping=noisy)
    on_grid = ClipAccumulator(SHAPES, 1.0, clipping=GROUPS, grid=Grid(2.0**-20)).add(grads(1))
    squares = [Fraction(int(x), 2**20) ** 2 for a in on_grid.take().sum for x in a.ravel()]
    assert sum(squares) <= Fraction(Grid(2.0**-20).sensitivity(1.0, 12)) ** 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((),), "of must hold each number"),
        (((0, 2),), "of must hold each number"),
        (((0, 1), (1.0,)), "shares must be one number for each of 2 groups"),
        (((0, 1), (1.0, 0.0)), r"shares must be numbers in \[2\^-20, 2\^20\]"),
        (((0, 1), None, (1.0, 2.0**21)), r"noise must be numbers in"),
    ],
)
def test_bad_groups(arguments, message):
    with pytest.raises(ValueError, match=message):
        ClipGroups(*arguments)


def test_groups_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="clipping must have a group for each of 2 arrays"):
        clip_and_sum([np.ones((2, 3)), np.ones((2, 1))], 1.0, clipping=GROUPS)
    plan = TrainingPlan(100, 4, steps=9, noise_multiplier=1.5)
    norm = QuantileClipNorm(1.0, expected_batch_size=4)
    with pytest.raises(ValueError, match="clipping must be 'flat' for a clip_norm"):
        DPSGD([np.zeros(s) for s in SHAPES], plan, SGD(0.1), clipping=GROUPS, clip_norm=norm)
    with pytest.raises(ValueError, match="max_grad_norm must be the same in sums"):
        clip_and_sum(grads(), 1.0, clipping=GROUPS) + clip_and_sum(grads(), 1.0)
