"""What must hold for every composition: order, grouping, monotone bounds, arrays, bounded cost."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np
import pytest
from each import slow
from sampled_runs import composed

import renyi

DIRECTIONS = ("remove", "add")


def random_run(rng):
    q = 10 ** rng.uniform(-3, -0.5)
    return q, rng.uniform(0.7, 5), round(10 ** rng.uniform(1.5, 4.5))


SWEEPS = {
    "sigma": np.arange(1.2, 0.05, -0.046),
    "q": np.geomspace(1e-3, 0.4, 20),
    "count": np.unique(np.geomspace(1, 1e5, 20).astype(int)),
}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("swept", SWEEPS)
@pytest.mark.parametrize(
    ("q", "sigma", "count", "delta"),
    [(0.05, 0.3, 30, 1e-3), (0.02, 0.7, 1000, 1e-8), *slow((0.01, 0.15, 100, 1e-5))],
)
def test_upper_ends_are_monotone_in_sweeps(q, sigma, count, delta, swept, direction):
    """More steps, a larger rate or less noise never seem safer, whatever route answers."""
    base = {"q": q, "sigma": sigma, "count": count}
    runs = [composed(tuple((base | {swept: x}).values())) for x in SWEEPS[swept]]
    epsilon = composed((q, sigma, count)).get_epsilon(delta)
    assert (np.diff([run.get_epsilon(delta, direction=direction) for run in runs]) >= 0.0).all()
    assert (np.diff([run.get_delta(epsilon, direction=direction) for run in runs]) >= 0.0).all()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_epsilon_is_monotone_in_delta(direction):
    deltas = np.sort(10 ** np.random.default_rng(2).uniform(-11, -1, 30))
    rng = random.Random(7)
    for run in [random_run(rng) for _ in range(4)]:
        epsilons = np.asarray(composed(run).get_epsilon(deltas, direction=direction))
        assert (np.diff(epsilons) <= 0).all(), run


def test_order_and_grouping_do_not_matter():
    """Bit for bit: the same steps in any order, one by one or counted."""
    steps = [(0.01, 1.0, 300), (0.05, 2.0, 40), (1.0, 8.0, 3), (0.002, 0.7, 500)]
    single = [(q, sigma, 1) for q, sigma, count in steps for _ in range(min(count, 40))]
    short = [(q, sigma, min(count, 40)) for q, sigma, count in steps]
    reference = composed(*short)
    for seed in range(3):
        mixed = single[:]
        random.Random(seed).shuffle(mixed)
        ledger = composed(*mixed)
        assert ledger.get_epsilon(1e-6) == reference.get_epsilon(1e-6)
        assert ledger.get_delta(0.5) == reference.get_delta(0.5)
        assert ledger.get_delta_bounds(0.5) == reference.get_delta_bounds(0.5)
    assert composed(*reversed(steps)).get_delta(0.8) == composed(*steps).get_delta(0.8)


def test_epsilon_along_training():
    counts = np.arange(100, 5001, 100)
    step = renyi.PoissonSampled(renyi.Gaussian(1.0), 0.01)
    values = renyi.PLDAccountant().get_epsilon_after(1e-5, step, counts)
    assert (np.diff(values) > 0).all()
    chosen = [0, 20, 49]
    single = [composed((0.01, 1.0, int(counts[i]))).get_epsilon(1e-5) for i in chosen]
    np.testing.assert_allclose(values[chosen], single, rtol=1e-9)


def test_a_thousand_distinct_steps():
    ledger = composed(*((0.01, 0.8 + 0.001 * i, 1) for i in range(1000)))
    lower, upper = ledger.get_epsilon_bounds(1e-5)
    assert composed((0.01, 1.799, 1000)).get_epsilon(1e-5) < lower
    assert upper < composed((0.01, 0.8, 1000)).get_epsilon(1e-5)


@pytest.mark.parametrize(
    ("run", "ask", "at"),
    [
        ((0.01, 0.1, 10_000), "get_epsilon_bounds", 1e-5),
        ((0.01, 0.1, 1_000_000), "get_epsilon_bounds", 1e-5),
        ((0.01, 50.0, 1000), "get_delta_bounds", 0.01),
    ],
)
def test_bounded_memory(run, ask, at):
    """A grid for the whole range of losses with little noise would take tens of gigabytes."""
    tracemalloc.start()
    try:
        lower, upper = getattr(composed(run), ask)(at)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0 < lower <= upper < 1.001 * lower
    assert peak < 500e6


def test_no_floor_from_an_absolute_grid():
    """Nearly nothing is learned: epsilon is far below the 0.01 that a coarse grid reports."""
    few = composed((1e-7, 1.0, 1000))
    assert few.get_delta(0.0) < 1e-4
    assert few.get_epsilon(few.get_delta(1e-6)) < 1.1e-6


def test_no_jump_near_1e_minus_18():
    """Two values of delta 3 % apart: epsilon barely moves."""
    ledger = composed((0.00033, 4.0, 10_000))
    first, second = ledger.get_epsilon(np.array([1.1e-18, 1.13e-18]))
    assert 0.05 < second < first < 0.1
    assert first / second < 1.01


def test_losses_that_rise_to_the_limit():
    """Tilted laws with a peak beyond the limit: a direct sum of convolutions gives 7.8e-85."""
    lower, upper = composed((0.01, 4.0, 316)).get_delta_bounds(1.0)
    assert lower <= 7.8e-85 * 1.05
    assert upper >= 7.8e-85 * 0.95
    assert upper <= composed((0.01, 4.0, 400)).get_delta_bounds(1.0)[1]


@pytest.mark.parametrize("rate", [1e-14, 1e-20, 1e-100])
def test_next_to_no_sampling_costs_nothing(rate):
    ledger = composed((rate, 4.0, 10))
    assert ledger.get_epsilon(1e-5) == 0.0
    assert ledger.get_epsilon_bounds(1e-5) == (0.0, 0.0)
    assert ledger.get_delta(0.0) <= 10 * rate


@pytest.mark.parametrize("direction", [None, *DIRECTIONS])
@pytest.mark.parametrize(
    "run", [(0.1, 0.4, 5), (1e-3, 0.6, 800), (0.3, 0.8, 3), (0.01, 1.0, 2000)], ids=str
)
def test_many_questions_share_lines_and_agree_with_single_ones(run, direction):
    accountant = composed(run)
    epsilons = np.geomspace(1e-3, 6.0, 200)
    deltas = accountant.get_delta(epsilons, direction=direction)
    epsilons_back = accountant.get_epsilon(deltas, direction=direction)
    for i in range(7, 200, 24):
        low, high = accountant.get_delta_bounds(float(epsilons[i]), direction=direction)
        assert low <= deltas[i] <= high * (1 + 2e-9)
        low, high = accountant.get_epsilon_bounds(float(deltas[i]), direction=direction)
        assert low <= epsilons_back[i] <= high * (1 + 1e-8) + 1e-9
