"""Samplers: laws, resuming, threads, padding, what they tell accountants, what they refuse."""

import math
import pickle
import re
from functools import partial

import numpy as np
import pytest
from each import refused
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
    FixedSizeSampler,
    MinSeparationSampler,
    PoissonSampler,
    ShuffledSampler,
    UserRows,
    pad_batch,
)
from renyi.sgd import DPSGD, SGD, QuantileClipNorm, TrainingPlan, clip_and_sum

BASE = Gaussian(1.1)


MAKERS = {
    "poisson": lambda g, **k: PoissonSampler(1000, 0.05, generator=g, **k),
    "fixed": lambda g, **k: FixedSizeSampler(1000, 50, generator=g, **k),
    "replacement": lambda g, **k: FixedSizeSampler(1000, 50, replacement=True, generator=g, **k),
    "shuffled": lambda g, **k: ShuffledSampler(1000, 20, generator=g),
    "balls in bins": lambda g, **k: BallsInBinsSampler(1000, 20, generator=g),
    "cyclic, cut": lambda g, **k: PoissonSampler(
        1000, 0.5, cycle_length=4, batch_limit=100, generator=g, **k
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
test_refused = refused(REFUSED, literally=True)


def test_the_state_of_another_sampler_is_refused():
    state = PoissonSampler(100, 0.1, generator=seeded()).state_dict(secrets=True)
    for other in (PoissonSampler(100, 0.2), FixedSizeSampler(100, 10), ShuffledSampler(100, 5)):
        with pytest.raises(ValueError, match="state must be that of"):
            other.load_state_dict(state)
    for settings in (np.ma.masked, np.zeros(2)):  # comparisons that are not True or False
        with pytest.raises(ValueError, match="state must be that of"):
            PoissonSampler(100, 0.1).load_state_dict({**state, "sampler": settings})


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


def test_every_record_is_in_each_batch_as_often_and_independent_of_others():
    epochs, n, t = 3000, 30, 4
    drawn = sampler(n, t, epochs=epochs)
    bins = np.full((epochs, n), -1)
    for k, batch in enumerate(drawn):
        assert (bins[k // t, batch] == -1).all()
        bins[k // t, batch] = k % t
    assert (bins >= 0).all()
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


def test_what_accountants_are_told():
    """Of one step if nothing is said, and of an epoch when it begins."""
    assert PoissonSampler(100, 0.25).mechanism(BASE) == PoissonSampled(BASE, 0.25)
    repeated = FixedSizeSampler(100, 5, replacement=True)
    assert repeated.mechanism(BASE, 2) == FixedSizeSampled(BASE, 5, 100, True) * 2
    for dealt, kind in ((sampler(), RandomAllocation), (ShuffledSampler(200, 8), ShuffledBatches)):
        told = [dealt.mechanism(BASE, steps) for steps in (1, 8, 9, 16)]
        assert told == [kind(BASE, 8)] * 2 + [kind(BASE, 8) * 2] * 2
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


# --- truncated and cyclic samples, and users


TRUNCATED = {"sampling": "truncated_poisson", "batch_limit": 6}
CYCLIC = {"sampling": "cyclic_poisson", "cycle_length": 5}
RNG = np.random.default_rng(8)


def plan(**settings):
    return TrainingPlan(100, 4, **{"steps": 50, "noise_multiplier": 1.0, **settings})


def binomial(n, q, k):
    return math.comb(n, k) * q**k * (1 - q) ** (n - k)


# --- truncated


def test_truncated_sizes_are_binomial_up_to_the_limit():
    n, q, limit, draws = 12, 0.3, 4, 20_000
    sampler = PoissonSampler(n, q, batch_limit=limit, generator=seeded())
    sizes, seen = np.zeros(limit + 1), np.zeros(n)
    for _ in range(draws):
        batch = sampler.sample()
        assert np.all(np.diff(batch) > 0)
        sizes[len(batch)] += 1
        seen[batch] += 1
    law = np.array([binomial(n, q, k) for k in range(limit)])
    law = draws * np.append(law, 1.0 - law.sum())
    assert ((sizes - law) ** 2 / law).sum() < 25  # 4 degrees of freedom
    rate = sum(min(k, limit) * binomial(n, q, k) for k in range(n + 1)) / n
    deviations = (seen - draws * rate) / math.sqrt(draws * rate * (1 - rate))
    assert (deviations**2).sum() < 45


def test_which_records_are_cut_is_uniform_given_the_sample():
    """Of pairs kept from full samples of three records each is as likely."""
    sampler = PoissonSampler(3, 1.0, batch_limit=2, generator=seeded())
    pairs = [tuple(sampler.sample()) for _ in range(6000)]
    counts = [pairs.count(pair) for pair in ((0, 1), (0, 2), (1, 2))]
    assert sum(counts) == 6000
    assert sum((c - 2000) ** 2 / 2000 for c in counts) < 20


def test_padded_batches_train_as_those_without():
    x = RNG.normal(size=(100, 3))
    results = []
    for padded in (False, True):
        made, w = plan(**TRUNCATED), np.zeros(3)
        sampler = made.sampler(generator=seeded(4))
        optimizer = DPSGD(w, made, SGD(0.1), sampler=sampler, generator=seeded(5))
        for batch in sampler:
            if padded:
                indices, mask = pad_batch(batch, made.batch_limit)
                assert indices.shape == mask.shape == (6,)
                grads = x[indices]
                grads[~mask] = np.nan  # is not read
                optimizer.step(grads, mask=mask)
            else:
                optimizer.step(x[batch])
            assert optimizer.private.batch_size == len(batch)
        results.append(w)
    assert np.array_equal(*results)


def test_a_mask_is_of_rows_and_leaves_those_that_were_drawn():
    made = plan(**TRUNCATED)
    sampler = made.sampler(generator=seeded(4))
    optimizer = DPSGD(np.zeros(3), made, SGD(0.1), sampler=sampler)
    batch = sampler.sample()
    assert 0 < len(batch) < 6
    _, mask = pad_batch(batch, 6)
    for bad in (mask[:5], mask.astype(int), mask[:, np.newaxis]):
        with pytest.raises(ValueError, match="mask must be 6 of True and False"):
            optimizer.step(np.ones((6, 3)), mask=bad)
    with pytest.raises(ValueError, match="got more: take gradients"):
        optimizer.step(np.ones((6, 3)), mask=np.ones(6, bool))
    optimizer.accumulate(np.ones((2, 3)), mask=mask[[5, 0]])
    optimizer.step(np.ones((6, 3)), mask=np.append(mask[1:], False))
    with pytest.raises(ValueError, match="size must be at least that of the batch"):
        pad_batch(np.arange(4), 3)


def test_a_norm_that_moves_goes_with_truncated_samples():
    made = plan(**TRUNCATED)
    norm = QuantileClipNorm(1.0, expected_batch_size=4.0, count_noise=2.0)
    sampler = made.sampler()
    optimizer = DPSGD(np.zeros(3), made, SGD(0.1), sampler=sampler, clip_norm=norm)
    optimizer.step(np.ones((len(sampler.sample()), 3)))
    assert norm.value != 1.0


# --- cyclic


def test_cyclic_batches_are_poisson_samples_of_groups_in_turn():
    n, q, length, cycles = 60, 0.4, 3, 2000
    sampler = PoissonSampler(n, q, cycle_length=length, generator=seeded())
    seen = np.zeros((length, n))
    for _ in range(cycles):
        for turn in range(length):
            batch = sampler.sample()
            assert len(set(batch.tolist())) == len(batch)
            seen[turn, batch] += 1
    group_of = seen.argmax(axis=0)
    for turn in range(length):
        assert not seen[turn, group_of != turn].any()
    taken = seen.max(axis=0)
    deviations = (taken - cycles * q) / math.sqrt(cycles * q * (1 - q))
    assert (deviations**2).sum() < 60 + 5 * math.sqrt(120)


def test_groups_are_uniform_and_independent():
    counts = np.zeros((3, 3))
    for seed in range(3000):
        sampler = PoissonSampler(2, 1.0, cycle_length=3, generator=seeded(seed))
        batches = [set(sampler.sample().tolist()) for _ in range(3)]
        groups = [next(k for k, batch in enumerate(batches) if i in batch) for i in range(2)]
        counts[tuple(groups)] += 1
    expected = 3000 / 9
    assert ((counts - expected) ** 2 / expected).sum() < 35  # 8 degrees of freedom


def test_groups_without_records_have_empty_batches():
    sampler = PoissonSampler(1, 1.0, cycle_length=4, generator=seeded())
    assert sorted(len(sampler.sample()) for _ in range(4)) == [0, 0, 0, 1]


@pytest.mark.parametrize("secure", [False, True])
def test_groups_outlive_a_state(secure):
    def make():
        return PoissonSampler(50, 1.0, cycle_length=4, generator=None if secure else seeded())

    one, two = make(), make()
    first = [set(one.sample().tolist()) for _ in range(4)]
    two.load_state_dict(pickle.loads(pickle.dumps(one.state_dict(secrets=True))))
    assert [set(two.sample().tolist()) for _ in range(4)] == first
    fresh = make().state_dict(secrets=True)
    make().load_state_dict(fresh)
    for groups in (np.zeros(49, int), np.full(50, 4), np.zeros(50), np.empty(0, int)):
        with pytest.raises(ValueError, match="state must hold groups of 50 records"):
            two.load_state_dict({**one.state_dict(secrets=True), "groups": groups})


# --- users


def test_the_gradient_of_a_user_is_of_its_rows_alone():
    names = np.array(["b", "a", "c", "a", "b", "a"])
    users = UserRows(names)
    assert users.population == 3
    assert users.names.tolist() == ["a", "b", "c"]
    grads = RNG.normal(size=(6, 2, 3))
    for chosen in ([], [0], [2, 0], [0, 1, 2]):
        mine = users.batch(np.array(chosen, int))
        for how in ("sum", "mean"):
            found = mine.gradients([grads[mine.rows]], how)[0]
            wanted = [getattr(grads[names == users.names[u]], how)(axis=0) for u in chosen]
            assert np.allclose(found, np.array(wanted).reshape(-1, 2, 3), rtol=1e-14)
            assert found.dtype == np.float64


def test_a_user_moves_the_sum_by_the_norm_and_no_more():
    names = RNG.integers(0, 20, 500)
    grads = 10.0 * RNG.normal(size=(500, 4))
    users = UserRows(names)
    everyone, without = np.arange(20), np.delete(np.arange(20), 7)
    sums = []
    for chosen in (everyone, without):
        mine = users.batch(chosen)
        sums.append(clip_and_sum(mine.gradients(grads[mine.rows], "sum"), 0.5).sum)
    assert np.linalg.norm(sums[0] - sums[1]) <= 0.5
    assert np.linalg.norm(sums[0] - sums[1]) > 0.499


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 40])
def test_the_gradient_of_a_user_has_the_same_bits_among_any_others(kind, width):
    names = np.sort(RNG.integers(0, 60, 30_000))
    names[:9000] = 0
    users = UserRows(names)
    grads = RNG.normal(size=(30_000, width)).astype(kind)
    grads = grads * np.exp2(RNG.integers(-9, 9, (30_000, 1))).astype(kind)
    chosen = np.arange(users.population)
    for how in ("sum", "mean"):
        mine = users.batch(chosen)
        together = mine.gradients(grads[mine.rows], how)
        for user in (0, 1, 7, users.population - 1):
            alone = users.batch(np.array([user]))
            assert np.array_equal(alone.gradients(grads[alone.rows], how)[0], together[user])


def test_half_precision_is_summed_in_double():
    users = UserRows(np.zeros(5000, int))
    mine = users.batch(np.array([0]))
    ones = np.ones((5000, 1), np.float16)
    assert mine.gradients(ones, "sum").item() == 5000.0


USERS = {
    ValueError: [
        (lambda: UserRows([]), "user_of must name the user of each row"),
        (lambda: UserRows([[1, 2]]), "user_of must name the user of each row"),
        (lambda: UserRows([1, 1]).batch([0]).gradients(np.ones((3, 1))), "grads must have a row"),
        (lambda: UserRows([1]).batch([0]).gradients(np.ones((1, 1)), "max"), "how must be one of"),
    ]
}
test_bad_users = refused(USERS)
