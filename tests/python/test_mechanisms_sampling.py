"""Samples: which mechanism may stand in which, and the refusals name the reason."""

import math

import numpy as np
import pytest

from renyi import pairs
from renyi.mechanisms import (
    ApproxDP,
    Composed,
    FixedAllocation,
    FixedSizeSampled,
    Gaussian,
    Laplace,
    PoissonSampled,
    PrivacyLoss,
    RandomAllocation,
    RepeatAndSelect,
    ShuffledBatches,
    TreeAggregation,
    TruncatedPoissonSampled,
)

G = Gaussian(1.0)
STEP = PoissonSampled(G, 0.01)
FIXED = FixedSizeSampled(G, 10, 100)
TRUNCATED = TruncatedPoissonSampled(G, 0.1, 20, 100)
SHUFFLED = ShuffledBatches(G, 10)
ALLOCATED = RandomAllocation(G, 10)


@pytest.mark.parametrize(
    "inner",
    [
        G,
        G * 3 + Laplace(2.0),
        STEP,
        STEP * 2,
        STEP + G,
        Composed(),
        ApproxDP(1.0, 1e-5),
        PrivacyLoss(pairs.LaplacePair(1.0)),
        TreeAggregation(1.0, 8),
        RepeatAndSelect(STEP, 3.0, 1.0),
    ],
)
def test_anything_that_needs_no_size_is_sampled(inner):
    poisson = PoissonSampled(inner, 0.5)
    assert (poisson.mechanism, poisson.sample_rate) == (inner, 0.5)
    assert FixedSizeSampled(inner, 10, 100).mechanism == inner
    assert FixedSizeSampled(inner, 10, 100, replacement=True).mechanism == inner


@pytest.mark.parametrize("inner", [FIXED, TRUNCATED, SHUFFLED])
@pytest.mark.parametrize(
    "wrap", [lambda m: m, lambda m: m * 2 + G, lambda m: RepeatAndSelect(m, 2.0, 1.0)]
)
def test_a_random_sample_has_no_size(inner, wrap):
    for sampled in (PoissonSampled, RandomAllocation, lambda m, _: FixedAllocation(m, 3, 2)):
        with pytest.raises(ValueError, match="must not fix the size of its data, which is random"):
            sampled(wrap(inner), 1)


@pytest.mark.parametrize("inner", [G * 2 + Laplace(1.0), STEP, ALLOCATED, Composed()])
def test_anything_that_needs_no_size_is_allocated(inner):
    assert RandomAllocation(inner, 10, 3).mechanism == inner
    assert FixedAllocation(inner, 10, 3).mechanism == inner
    for bad in (3, None):
        with pytest.raises(TypeError, match=f"^mechanism must be a Mechanism, got {bad}"):
            RandomAllocation(bad, 10)


def test_picks_are_of_the_steps():
    assert RandomAllocation(G, np.int64(5), np.int64(5)).picks == 5
    for bad in (0, 6):
        with pytest.raises(ValueError, match=r"^picks must be an integer (>= 1|in \[1, 5\])"):
            RandomAllocation(G, 5, bad)
    written = RandomAllocation(G, 5).to_dict()
    assert RandomAllocation.from_dict(written) == RandomAllocation(G, 5, 1)
    del written["picks"]  # as it was written when there was one pick only
    assert RandomAllocation.from_dict(written) == RandomAllocation(G, 5)
    text = RandomAllocation(Laplace(2.0), 5, 3).to_json()
    assert RandomAllocation.from_json(text).picks == 3


def test_what_is_written_is_kept():
    twice = PoissonSampled(PoissonSampled(G, 0.1), 0.2)
    assert twice.mechanism == PoissonSampled(G, 0.1)
    assert twice != PoissonSampled(G, 0.1 * 0.2)
    assert PoissonSampled(G, 1.0) != G


def test_samples_of_fixed_size_nest_where_sizes_fit():
    assert FixedSizeSampled(FIXED, 100, 1000).mechanism == FIXED
    assert FixedSizeSampled(FIXED * 3 + FIXED + STEP, 100, 1000).sample_rate == 0.1
    assert FixedSizeSampled(SHUFFLED, 100, 1000).mechanism == SHUFFLED
    again = FixedSizeSampled(G, 10, 100, replacement=True)
    assert FixedSizeSampled(again, 100, 1000).mechanism == again
    for size in (99, 101):
        with pytest.raises(ValueError, match=f"must have the population {size}, the sample_size"):
            FixedSizeSampled(G + FIXED, size, 1000)
    assert FixedSizeSampled(ALLOCATED, 100, 1000).mechanism == ALLOCATED
    for inner in (TRUNCATED, TRUNCATED + G):
        with pytest.raises(ValueError, match="must hold where one record is replaced"):
            FixedSizeSampled(inner, 100, 1000)
    for inner in (FIXED, SHUFFLED):
        with pytest.raises(ValueError, match="must not need distinct records"):
            FixedSizeSampled(inner, 100, 1000, replacement=True)


def test_an_epoch_is_of_anything():
    for inner in (G, STEP, FIXED, TRUNCATED, SHUFFLED, ALLOCATED, G + STEP * 2):
        assert ShuffledBatches(inner, 10).mechanism == inner


@pytest.mark.parametrize("inner", [G * 2, STEP, Laplace(1.0), 3, None])
def test_bounds_of_the_gaussian_only(inner):
    with pytest.raises(TypeError, match="mechanism must be a Gaussian, the only one"):
        TruncatedPoissonSampled(inner, 0.1, 10, 100)


def test_rate_of_a_sample_of_fixed_size():
    assert FixedSizeSampled(G, 1, 3).sample_rate == 1 / 3
    assert FixedSizeSampled(G, 3, 3).sample_rate == 1.0
    drawn = FixedSizeSampled(G, 4, 3, replacement=True)
    assert drawn.sample_rate == pytest.approx(1 - (2 / 3) ** 4, rel=1e-15)
    assert FixedSizeSampled(G, 5, 1, replacement=True).sample_rate == 1.0
    assert FixedSizeSampled(G, 1, 10**30, True).sample_rate == pytest.approx(1e-30, rel=1e-15)
    assert FixedSizeSampled(G, 10**400, 10**401).sample_rate == 0.1


def test_sizes_of_numpy_become_integers():
    fixed = FixedSizeSampled(G, np.int32(10), np.int64(100), np.True_)
    assert fixed == FixedSizeSampled(G, 10, 100, True)
    assert [type(v) for v in (fixed.sample_size, fixed.replacement)] == [int, bool]


@pytest.mark.parametrize(
    ("message", "kind", "arguments"),
    [
        (r"sample_size must be an integer >= 1", FixedSizeSampled, (G, 0, 10)),
        (r"population must be an integer >= 1", FixedSizeSampled, (G, 1, 0)),
        (r"sample_size must be an integer in \[1, 10\]", FixedSizeSampled, (G, 11, 10)),
        (r"sample_rate must be a number in \[0, 1\]", TruncatedPoissonSampled, (G, 1.1, 1, 1)),
        (r"batch_limit must be an integer >= 1", TruncatedPoissonSampled, (G, 0.1, 0, 1)),
        (r"population must be an integer >= 1", TruncatedPoissonSampled, (G, 0.1, 1, 0)),
        (r"batches must be an integer >= 1", ShuffledBatches, (G, 0)),
        (r"steps must be an integer >= 1", RandomAllocation, (G, -1)),
        (r"epochs must be an integer >= 1", FixedAllocation, (G, 5, 0)),
        (r"sample_rate must be a number in \[0, 1\]", PoissonSampled, (G, 1.1)),
        (r"sample_rate must be a number in \[0, 1\]", PoissonSampled, (G, math.nan)),
    ],
)
def test_arguments_outside_their_range(message, kind, arguments):
    with pytest.raises(ValueError, match=f"^{message}"):
        kind(*arguments)


@pytest.mark.parametrize("bad", [1.5, "3", None, True])
def test_sizes_of_a_wrong_type(bad):
    for message, kind, arguments in [
        ("sample_size must be", FixedSizeSampled, (G, bad, 10)),
        ("population must be", FixedSizeSampled, (G, 1, bad)),
        ("batch_limit must be", TruncatedPoissonSampled, (G, 0.1, bad, 10)),
        ("batches must be", ShuffledBatches, (G, bad)),
        ("steps must be", RandomAllocation, (G, bad)),
    ]:
        with pytest.raises(TypeError, match=f"^{message}"):
            kind(*arguments)


@pytest.mark.parametrize("bad", [1, 0, None, "yes"])
def test_replacement_is_a_truth_value(bad):
    with pytest.raises(TypeError, match="replacement must be True or False"):
        FixedSizeSampled(G, 1, 10, bad)


@pytest.mark.parametrize("kind", [FixedSizeSampled, ShuffledBatches])
def test_what_is_sampled_is_a_mechanism(kind):
    with pytest.raises(TypeError, match="mechanism must be a Mechanism"):
        kind(3, 1, *([10] if kind is FixedSizeSampled else []))
