"""Balls in bins: the batches of an epoch, what accountants are told of them, and plans."""

import math

import numpy as np
import pytest

from renyi import FixedSizeSampled, Gaussian, Laplace, PLDAccountant, RandomAllocation
from renyi.noise import SecureGenerator
from renyi.samplers import BallsInBinsSampler
from renyi.sgd import DPSGD, SGD, TrainingPlan

BASE = Gaussian(1.1)


def sampler(population=200, batches=8, seed=1, **settings):
    generator = SecureGenerator(insecure_reproducible=seed)
    return BallsInBinsSampler(population, batches, generator=generator, **settings)


def plan(**settings):
    given = {"noise_multiplier": 1.1, "epochs": 3, "sampling": "balls_in_bins", **settings}
    return TrainingPlan(1000, 64, **given)


def test_an_epoch_is_a_partition_drawn_anew_each_time():
    drawn = list(sampler(epochs=3))
    assert len(drawn) == 24
    for epoch in (drawn[:8], drawn[8:16], drawn[16:]):
        assert sorted(np.concatenate(epoch).tolist()) == list(range(200))
    assert not all(np.array_equal(a, b) for a, b in zip(drawn[:8], drawn[8:16], strict=True))


def test_every_record_is_in_each_batch_as_often_and_independent_of_others():
    epochs, n, t = 3000, 30, 4
    drawn = sampler(n, t, epochs=epochs)
    bins = np.empty((epochs, n), np.int64)
    for k, batch in enumerate(drawn):
        bins[k // t, batch] = k % t
    for record in bins.T:
        assert np.max(abs(np.bincount(record, minlength=t) - epochs / t)) < 5 * math.sqrt(
            epochs / t
        )
    sizes = (bins == 0).sum(axis=1)  # binomial: what depends on others would narrow it
    expected = n * (1 / t) * (1 - 1 / t)
    assert abs(sizes.var() - expected) < 5 * expected * math.sqrt(2 / epochs)
    later = np.count_nonzero(bins[:-1] == bins[1:])
    assert abs(later - (epochs - 1) * n / t) < 5 * math.sqrt(epochs * n / t)


def test_more_batches_than_records():
    drawn = list(sampler(2, 5, epochs=1))
    assert [len(batch) for batch in drawn].count(0) >= 3
    assert sorted(np.concatenate(drawn).tolist()) == [0, 1]


def test_an_epoch_is_charged_when_it_begins():
    epoch = RandomAllocation(BASE, 8)
    assert sampler().mechanism(BASE, 1) == sampler().mechanism(BASE, 8) == epoch
    assert sampler().mechanism(BASE, 9) == sampler().mechanism(BASE, 16) == epoch * 2
    assert sampler().mechanism(Laplace(2.0), 9) == RandomAllocation(Laplace(2.0), 8) * 2
    with pytest.raises(ValueError, match="mechanism must not fix the size of its data"):
        sampler().mechanism(FixedSizeSampled(BASE, 1, 2))


@pytest.mark.parametrize(
    "bins", [np.zeros(3, np.int64), np.full(200, 8), np.full(200, -1), np.zeros(200)]
)
def test_states_hold_a_bin_of_each_record(bins):
    saved = sampler()
    saved.sample()
    state = saved.state_dict(secrets=True)
    state["secrets"]["bins"] = bins
    with pytest.raises(ValueError, match="state must hold bins of 200 records"):
        sampler(seed=2).load_state_dict(state)


def test_plans():
    made = plan()
    assert made.steps == 48
    assert made.steps_per_release == 16
    assert made.expected_batch_size == 62.5
    assert made.largest_batch == 1000
    assert made.mechanism == RandomAllocation(BASE, 16) * 3
    assert plan(steps=17, epochs=None).mechanism == RandomAllocation(BASE, 16) * 2
    assert type(made.sampler()) is BallsInBinsSampler
    for adjacency in ("add_remove", "zero_out", "replace_one"):
        assert plan(adjacency=adjacency).adjacency == adjacency
    exact = PLDAccountant().compose(RandomAllocation(BASE, 16), 3)
    assert made.get_epsilon(1e-5) == exact.get_epsilon(1e-5)
    assert made.get_epsilon(1e-5) < plan(sampling="poisson").get_epsilon(1e-5)


def test_plans_refuse_what_is_not_known():
    with pytest.raises(ValueError, match="sampling must not be 'balls_in_bins'"):
        _ = plan().sample_rate
    with pytest.raises(ValueError, match="grid_spacing must be None with sampling 'balls_in_bins'"):
        plan(grid_spacing=2.0**-20, dimension=100)
    with pytest.raises(TypeError, match="epochs must be an integer"):
        plan(epochs=1.5)


def test_calibrated_noise_meets_its_target():
    settings = {"population": 1000, "batch_size": 100, "epochs": 2, "sampling": "balls_in_bins"}
    found = TrainingPlan.calibrated(2.0, 1e-5, **settings)
    assert found.get_epsilon(1e-5) <= 2.0
    less = TrainingPlan(noise_multiplier=found.noise_multiplier * (1.0 - 2e-4), **settings)
    assert less.get_epsilon(1e-5) > 2.0


def test_training_is_charged_by_the_epoch():
    made = plan(epochs=2)
    batches = made.sampler()
    run = DPSGD(np.zeros(3), made, SGD(0.1), sampler=batches)
    for batch in batches:
        run.step(np.ones((len(batch), 3)))
    assert run.accountant.mechanisms == ((RandomAllocation(BASE, 16), 2),)
