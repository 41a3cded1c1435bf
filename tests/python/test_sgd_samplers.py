"""Samplers: laws, resuming, threads, what they say to accountants, and what they refuse."""

import math
import re
from functools import partial

import numpy as np
import pytest
from each import refusals
from interruptions import in_threads
from sgd_states import same, seeded

from renyi import (
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    RandomAllocation,
    ShuffledBatches,
)
from renyi.noise import SecureGenerator
from renyi.samplers import (
    BallsInBinsSampler,
    CyclicPoissonSampler,
    FixedSizeSampler,
    MinSeparationSampler,
    PoissonSampler,
    ShuffledSampler,
)

BASE = Gaussian(1.1)


MAKERS = {
    "poisson": lambda g, **k: PoissonSampler(1000, 0.05, generator=g, **k),
    "fixed": lambda g, **k: FixedSizeSampler(1000, 50, generator=g, **k),
    "replacement": lambda g, **k: FixedSizeSampler(1000, 50, replacement=True, generator=g, **k),
    "shuffled": lambda g, **k: ShuffledSampler(1000, 20, generator=g),
    "balls in bins": lambda g, **k: BallsInBinsSampler(1000, 20, generator=g),
    "cyclic, cut": lambda g, **k: CyclicPoissonSampler(
        1000, 0.5, 4, batch_limit=100, generator=g, **k
    ),
    "min separation": lambda g, **k: MinSeparationSampler(1000, 50, 20, generator=g, **k),
}
every_sampler = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def test_every_record_is_as_likely_and_independent():
    n, q, batches = 400, 0.1, 4000
    sampler = PoissonSampler(n, q, steps=batches, generator=seeded(2))
    members = np.zeros((batches, n), bool)
    for k, batch in enumerate(sampler):
        assert np.all(np.diff(batch) > 0)
        members[k, batch] = True
    counts = members.sum(axis=0)
    z = (counts - batches * q) / math.sqrt(batches * q * (1 - q))
    assert np.max(abs(z)) < 5.5
    assert abs((z**2).sum() - n) < 5 * math.sqrt(2 * n)
    sizes = members.sum(axis=1)
    assert abs(sizes.var() - n * q * (1 - q)) < 5 * n * q * (1 - q) * math.sqrt(2 / batches)
    for lag in (1, 2, 50):
        both = np.count_nonzero(members[:, :-lag] & members[:, lag:])
        expected = batches * (n - lag) * q * q
        assert abs(both - expected) < 5 * math.sqrt(expected)
    later = np.count_nonzero(members[:-1] & members[1:])
    assert abs(later - (batches - 1) * n * q * q) < 5 * math.sqrt(batches * n * q * q)


def test_poisson_ends():
    assert PoissonSampler(1000, 0.0).sample().size == 0
    assert PoissonSampler(1000, 1e-300).sample().size == 0
    assert PoissonSampler(1000, 1.0).sample().tolist() == list(range(1000))
    assert PoissonSampler(1, 0.5).sample().size <= 1
    assert PoissonSampler(2**53, 2.0**-43, generator=seeded()).sample().max() < 2**53


def test_the_cost_is_that_of_the_batch():
    """Whatever looks at each of 10^15 records does not end."""
    sizes = [PoissonSampler(10**15, 1e-13, generator=seeded(k)).sample().size for k in range(20)]
    assert 1700 < sum(sizes) < 2300


def test_fixed_sizes():
    whole = FixedSizeSampler(30, 30).sample()
    assert whole.tolist() == list(range(30))
    counts = np.zeros(20)
    sampler = FixedSizeSampler(20, 5, steps=8000, generator=seeded(3))
    for batch in sampler:
        assert np.all(np.diff(batch) > 0)
        assert len(batch) == 5
        counts[batch] += 1
    assert np.max(abs(counts - 2000)) < 5.5 * math.sqrt(8000 * 0.25 * 0.75)
    repeated = FixedSizeSampler(3, 3000, replacement=True, generator=seeded()).sample()
    assert np.max(abs(np.bincount(repeated) - 1000)) < 5 * math.sqrt(1000)


def test_an_epoch_is_a_partition_in_a_new_order():
    sampler = ShuffledSampler(103, 10, epochs=3, generator=seeded())
    assert len(sampler) == 30
    batches = list(sampler)
    assert len(batches) == 30
    assert {len(batch) for batch in batches} == {10, 11}
    epochs = [np.concatenate(batches[10 * k : 10 * k + 10]) for k in range(3)]
    for epoch in epochs:
        assert sorted(epoch.tolist()) == list(range(103))
    assert not np.array_equal(epochs[0], epochs[1])
    assert list(sampler) == []
    places = np.array([ShuffledSampler(4, 1, generator=seeded(k)).sample() for k in range(2000)])
    for place in places.T:
        assert np.max(abs(np.bincount(place) - 500)) < 5 * math.sqrt(500)


def test_what_accountants_are_told():
    assert PoissonSampler(100, 0.25).mechanism(BASE) == PoissonSampled(BASE, 0.25)
    assert PoissonSampler(100, 0.25).mechanism(BASE, 7) == PoissonSampled(BASE, 0.25) * 7
    assert FixedSizeSampler(100, 5).mechanism(BASE) == FixedSizeSampled(BASE, 5, 100, False)
    repeated = FixedSizeSampler(100, 5, replacement=True)
    assert repeated.mechanism(BASE, 2) == FixedSizeSampled(BASE, 5, 100, True) * 2
    shuffled = ShuffledSampler(100, 10)
    epoch = ShuffledBatches(BASE, 10)
    assert shuffled.mechanism(BASE, 10) == shuffled.mechanism(BASE, 1) == epoch
    assert shuffled.mechanism(BASE, 11) == shuffled.mechanism(BASE, 20) == epoch * 2


@every_sampler
@pytest.mark.parametrize("before", [0, 1, 7, 20, 33])
def test_a_reproducible_sampler_resumes_bit_for_bit(make, before):
    sampler = make(seeded())
    for _ in range(before):
        sampler.sample()
    state = sampler.state_dict(secrets=True)
    following = [sampler.sample() for _ in range(45)]
    resumed = make(seeded(2))
    resumed.sample()
    resumed.load_state_dict(state)
    assert resumed.drawn == before
    for expected in following:
        assert np.array_equal(resumed.sample(), expected)


@pytest.mark.parametrize("name", ["poisson", "fixed", "replacement"])
def test_a_secure_sampler_never_repeats(name):
    sampler = MAKERS[name](SecureGenerator())
    state = sampler.state_dict(secrets=True)
    first = [sampler.sample().tolist() for _ in range(5)]
    sampler.load_state_dict(state)
    assert sampler.drawn == 0
    again = [sampler.sample().tolist() for _ in range(5)]
    assert not any(batch in first for batch in again)


def test_a_secure_epoch_under_way_is_finished_disjointly():
    sampler = ShuffledSampler(100, 10, generator=SecureGenerator())
    seen = [sampler.sample() for _ in range(4)]
    resumed = ShuffledSampler(100, 10, epochs=1, generator=SecureGenerator())
    resumed.load_state_dict(sampler.state_dict(secrets=True))
    seen.extend(resumed)
    assert sorted(np.concatenate(seen).tolist()) == list(range(100))


def test_iterating_goes_on_where_it_stopped():
    sampler = PoissonSampler(100, 0.1, steps=10, generator=seeded())
    whole = list(PoissonSampler(100, 0.1, steps=10, generator=seeded()))
    parts = [batch for batch, _ in zip(sampler, range(4), strict=False)]
    assert sampler.drawn == 5  # zip asked for one more
    parts.extend(sampler)
    assert len(sampler) == 10
    assert len(parts) == 9
    assert np.array_equal(parts[-1], whole[-1])
    endless = iter(PoissonSampler(100, 0.1))
    assert len([next(endless) for _ in range(50)]) == 50
    with pytest.raises(TypeError, match="no length"):
        len(PoissonSampler(100, 0.1))


def test_threads_share_an_epoch():
    sampler = ShuffledSampler(10_000, 200, epochs=1)
    parts = [[] for _ in range(4)]
    in_threads(partial(part.extend, sampler) for part in parts)
    members = np.concatenate([batch for part in parts for batch in part])
    assert sorted(members.tolist()) == list(range(10_000))


REFUSED = {
    ValueError: [
        (lambda: PoissonSampler(0, 0.1), "population must be an integer >= 1, got 0"),
        (lambda: PoissonSampler(2**53 + 1, 0.1), "population must be at most 2^53"),
        (lambda: PoissonSampler(10, 1.1), "sample_rate must be a number in [0, 1]"),
        (lambda: PoissonSampler(10, math.nan), "sample_rate must be"),
        (lambda: PoissonSampler(10, 0.1, steps=-1), "steps must be an integer >= 0"),
        (lambda: FixedSizeSampler(10, 11), "batch_size must be an integer in [1, 10]"),
        (lambda: FixedSizeSampler(10, 0), "batch_size must be an integer >= 1"),
        (lambda: ShuffledSampler(10, 11), "batches must be an integer in [1, 10]"),
        (lambda: ShuffledSampler(10, 5, epochs=-1), "epochs must be an integer >= 0"),
        (lambda: PoissonSampler(10, 0.1).mechanism(BASE, -1), "steps must be"),
    ],
    TypeError: [
        (lambda: PoissonSampler(10.5, 0.1), "population must be an integer"),
        (lambda: PoissonSampler(10, 0.1, generator=3), "generator must be"),
        (lambda: FixedSizeSampler(10, 5, replacement=1), "replacement must be True or"),
        (lambda: PoissonSampler(10, 0.1).mechanism(3), "mechanism must be a Mechanism"),
    ],
}


@pytest.mark.parametrize(("call", "error", "words"), refusals(REFUSED))
def test_refused(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_the_state_of_another_sampler_is_refused():
    state = PoissonSampler(100, 0.1, generator=seeded()).state_dict(secrets=True)
    for other in (PoissonSampler(100, 0.2), FixedSizeSampler(100, 10), ShuffledSampler(100, 5)):
        with pytest.raises(ValueError, match="state must be that of"):
            other.load_state_dict(state)


@every_sampler
@pytest.mark.parametrize("value", [None, "missing", {}])
def test_an_incomplete_state_is_refused_and_changes_nothing(make, value):
    saved = make(seeded(2))
    saved.sample()
    names = list(saved.state_dict(secrets=True))
    assert {"sampler", "drawn", "generator"} <= set(names)
    for name in names:
        state = saved.state_dict(secrets=True)
        if value == "missing":
            del state[name]
        else:
            state[name] = value
        sampler = make(seeded())
        sampler.sample()
        before = sampler.state_dict(secrets=True)
        with pytest.raises((TypeError, ValueError), match=rf"(state|{name}) must") as caught:
            sampler.load_state_dict(state)
        if value != {}:
            assert isinstance(caught.value, ValueError)
            assert re.search(rf"got one without( .*{name})?", str(caught.value))
        assert same(sampler.state_dict(secrets=True), before)
    for state in (None, [], 3):
        with pytest.raises(ValueError, match="state must be a mapping that holds sampler"):
            sampler.load_state_dict(state)


@pytest.mark.parametrize(
    "order",
    [
        np.zeros(10, np.int64),
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 999],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, -1],
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 8],
        [0, 1, 2, 3, 4, 5, 6, 7, 8],
        [],
        np.arange(10.0),
        np.arange(10).reshape(2, 5),
        "0123456789",
    ],
)
def test_an_order_that_is_no_permutation_is_refused(order):
    saved = ShuffledSampler(10, 2, generator=seeded())
    saved.sample()
    sampler = ShuffledSampler(10, 2, generator=seeded(2))
    sampler.sample()
    before = sampler.state_dict(secrets=True)
    with pytest.raises(ValueError, match="state must hold an order with each of 10 records once"):
        sampler.load_state_dict({**saved.state_dict(secrets=True), "order": order})
    assert same(sampler.state_dict(secrets=True), before)


@pytest.mark.parametrize("drawn", [0, 2, 4])
def test_between_epochs_no_order_is_needed(drawn):
    saved = ShuffledSampler(10, 2, generator=seeded())
    for _ in range(drawn):
        saved.sample()
    state = saved.state_dict(secrets=True)
    sampler = ShuffledSampler(10, 2, generator=seeded(2))
    sampler.load_state_dict({**state, "order": []})
    assert np.array_equal(sampler.sample(), saved.sample())
    sampler.load_state_dict({**state, "order": list(range(10))})
    assert sampler.drawn == drawn
    with pytest.raises(ValueError, match="or none between epochs, got an array of int64"):
        sampler.load_state_dict({**state, "order": np.zeros(10, np.int64)})


def test_describes_itself():
    assert repr(PoissonSampler(10, 0.5)) == "PoissonSampler(population=10, sample_rate=0.5)"


# --- balls in bins


def sampler(population=200, batches=8, seed=1, **settings):
    generator = SecureGenerator(insecure_reproducible=seed)
    return BallsInBinsSampler(population, batches, generator=generator, **settings)


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
