"""Truncated and cyclic Poisson samples, and samples of users: laws, padding, accounting, states."""

import math
import pickle

import numpy as np
import pytest
from sgd_states import seeded

from renyi.mechanisms import Gaussian, PoissonSampled
from renyi.samplers import (
    CyclicPoissonSampler,
    TruncatedPoissonSampler,
    UserRows,
    pad_batch,
)
from renyi.sgd import DPSGD, SGD, QuantileClipNorm, TrainingPlan, clip_and_sum

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
    sampler = TruncatedPoissonSampler(n, q, limit, generator=seeded())
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
    sampler = TruncatedPoissonSampler(3, 1.0, 2, generator=seeded())
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
    sampler = CyclicPoissonSampler(n, q, length, generator=seeded())
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
        sampler = CyclicPoissonSampler(2, 1.0, 3, generator=seeded(seed))
        batches = [set(sampler.sample().tolist()) for _ in range(3)]
        groups = [next(k for k, batch in enumerate(batches) if i in batch) for i in range(2)]
        counts[tuple(groups)] += 1
    expected = 3000 / 9
    assert ((counts - expected) ** 2 / expected).sum() < 35  # 8 degrees of freedom


def test_groups_without_records_have_empty_batches():
    sampler = CyclicPoissonSampler(1, 1.0, 4, generator=seeded())
    assert sorted(len(sampler.sample()) for _ in range(4)) == [0, 0, 0, 1]


@pytest.mark.parametrize("adjacency", ["add_remove", "zero_out", "replace_one"])
def test_a_cyclic_plan_is_accounted_by_the_cycle(adjacency):
    made = plan(adjacency=adjacency, steps=52, **CYCLIC)
    assert made.sample_rate == 0.2
    assert (made.steps_per_release, made.releases) == (5, 11)
    step = PoissonSampled(Gaussian(1.0), 0.2)
    assert made.mechanism == step * 11
    sampler = made.sampler()
    optimizer = DPSGD(np.zeros(2), made, SGD(0.1), sampler=sampler)
    for number, batch in enumerate(sampler):
        optimizer.step(np.ones((len(batch), 2)))
        assert optimizer.accountant.mechanisms == ((step, number // 5 + 1),)
    assert optimizer.get_epsilon(1e-6) == made.get_epsilon(1e-6)


@pytest.mark.parametrize("secure", [False, True])
def test_groups_outlive_a_state(secure):
    def make():
        return CyclicPoissonSampler(50, 1.0, 4, generator=None if secure else seeded())

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


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: UserRows([]), "user_of must name the user of each row"),
        (lambda: UserRows([[1, 2]]), "user_of must name the user of each row"),
        (lambda: UserRows([1, 1]).batch([0]).gradients(np.ones((3, 1))), "grads must have a row"),
        (lambda: UserRows([1]).batch([0]).gradients(np.ones((1, 1)), "max"), "how must be one of"),
    ],
)
def test_bad_users(act, message):
    with pytest.raises(ValueError, match=message):
        act()


def test_steps_are_of_the_users_that_were_drawn():
    users = UserRows(RNG.integers(0, 100, 1000))
    made = plan()
    sampler = made.sampler(generator=seeded(3))
    optimizer = DPSGD(np.zeros(2), made, SGD(0.1), sampler=sampler)
    mine = users.batch(sampler.sample())
    with pytest.raises(ValueError, match="got more: take gradients"):
        optimizer.step(np.ones((len(mine.rows), 2)))
    optimizer.step(mine.gradients(np.ones((len(mine.rows), 2))))
