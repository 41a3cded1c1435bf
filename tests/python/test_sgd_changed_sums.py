"""Clipped sums whose memory is written to after they were clipped: refused wherever they count."""

import copy
import pickle

import numpy as np
import pytest

from renyi._training import fingerprint
from renyi.sgd import (
    DPSGD,
    SGD,
    ClipAccumulator,
    Grid,
    QuantileClipNorm,
    TrainingPlan,
    clip_and_sum,
)

REFUSED = "must be as it was clipped, got a sum that was changed since"


def plan(**settings):
    return TrainingPlan(100, 4, steps=100, noise_multiplier=0.0, **settings)


def made(**settings):
    return DPSGD(np.zeros(3), plan(**settings), SGD(1.0))


def one_row(**settings):
    return clip_and_sum(np.ones((1, 3)), 1.0, **settings)


def scaled(clipped):
    clipped.sum[...] *= 100.0


def negated(clipped):
    np.negative(clipped.sum, out=clipped.sum)


def swapped(clipped):
    clipped.sum[:] = clipped.sum[::-1] + np.arange(3)


def counted_otherwise(clipped):
    clipped.private.factors[...] = 1.0


@pytest.mark.parametrize("change", [scaled, negated, swapped, counted_otherwise])
def test_a_changed_sum_releases_nothing(change):
    optimizer = made()
    clipped = one_row()
    change(clipped)
    for act in (optimizer.step, optimizer.accumulate):
        with pytest.raises(ValueError, match=f"per_sample_grads {REFUSED}"):
            act(clipped)
    for use in (lambda: clipped + one_row(), clipped.without_diagnostics):
        with pytest.raises(ValueError, match=REFUSED):
            use()
    assert optimizer.accountant.mechanisms == ()


def test_a_sum_changed_after_it_was_accumulated_changes_nothing():
    norm = QuantileClipNorm(1.0, expected_batch_size=4, count_noise=0.75)
    planned = TrainingPlan(100, 4, steps=100, noise_multiplier=1.0)
    w = np.zeros(3)
    optimizer = DPSGD(w, planned, SGD(1.0), clip_norm=norm)
    clipped = one_row()
    optimizer.accumulate(clipped)
    scaled(clipped)
    counted_otherwise(clipped)
    part = optimizer._sum.parts.take()
    assert np.array_equal(part.sum, one_row().sum)
    assert np.array_equal(part.private.factors, one_row().private.factors)


def test_memory_used_again_for_the_next_part_is_not_counted_twice():
    memory = np.empty(3)
    first = one_row(out=memory)
    second = clip_and_sum(-np.ones((1, 3)), 1.0, out=memory)
    with pytest.raises(ValueError, match=REFUSED):
        first + second
    assert np.array_equal(made().step(second), -one_row().sum / 4)


def test_sums_that_travel_are_the_same():
    for sums in (one_row(), one_row().without_diagnostics(), one_row(dtype="f4")):
        for other in (pickle.loads(pickle.dumps(sums)), copy.deepcopy(sums)):
            assert np.array_equal(other.unchanged().sum, sums.sum)
            scaled(other)
            with pytest.raises(ValueError, match=REFUSED):
                other.unchanged()


def test_sums_on_a_grid_and_in_lists_are_watched_too():
    on_grid = ClipAccumulator((3,), 1.0, grid=Grid(2.0**-10)).add(np.ones((2, 3))).take()
    on_grid.sum[0] += 1
    listed = clip_and_sum([np.ones((2, 3)), np.ones((2, 1))], 1.0)
    listed.sum[1] = listed.sum[1] * 2.0
    for sums in (on_grid, listed):
        with pytest.raises(ValueError, match=REFUSED):
            sums.unchanged()


def test_a_fingerprint_sees_every_bit_and_every_exchange():
    rng = np.random.default_rng(1)
    for size in (1, 7, 8, 9, 64, 65):
        array = rng.normal(size=size)
        seen = {fingerprint(array, 0), fingerprint(array, 1)}
        for index in range(size):
            for bit in range(64):
                changed = array.view(np.uint64).copy()
                changed[index] ^= np.uint64(1 << bit)
                seen.add(fingerprint(changed, 0))
        for index in range(size - 1):
            changed = array.copy()
            changed[[index, index + 1]] = changed[[index + 1, index]]
            seen.add(fingerprint(changed, 0))
        assert len(seen) == 2 + 64 * size + size - 1
        assert fingerprint(np.append(array, 0.0), 0) not in seen
