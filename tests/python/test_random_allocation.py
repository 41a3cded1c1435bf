"""One epoch of random allocation, several, and what they are composed with, against other methods.

Values with many digits are from a quadrature (tests/reference/make_allocation.py) and an inversion
(make_allocation_inversion.py), those with fewer from a contour and a lattice (both without
windows), brackets of epochs from lattices of the curve.
"""

import json
import math
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from each import slow

from renyi import (
    FixedAllocation,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    RandomAllocation,
    RDPAccountant,
    ShuffledBatches,
)
from renyi._engine import LossComposition
from renyi.calibration import calibrate
from renyi.mechanisms.algebra import AllocatedEpoch

REFERENCE = Path(__file__).parents[1] / "reference"


def epoch(noise, steps, count=1, **settings):
    return PLDAccountant(**settings).compose(RandomAllocation(Gaussian(noise), steps), count)


def rows_of(name):
    return json.loads((REFERENCE / name).read_text())


@pytest.mark.parametrize(
    ("row", "digits"),
    [
        *((row, 1e-14) for row in rows_of("allocation.json")),
        *((row, 1e-12) for row in rows_of("allocation_inversion.json")),
    ],
    ids=str,
)
def test_encloses_the_quadrature_and_the_inversion(row, digits):
    t, noise, epsilon, *truths = row
    for direction, truth in zip(("remove", "add"), map(float, truths), strict=True):
        low, high = epoch(float(noise), t).get_delta_bounds(float(epsilon), direction=direction)
        assert low * (1.0 - digits) <= truth <= high * (1.0 + digits)
        assert high - low <= (1e-9 if t >= 10 else 1e-8) * high or high < 1e-50


@pytest.mark.parametrize(
    ("steps", "noise", "epsilon"),
    [
        (100, 0.5, 6.3936404),
        (100, 0.7, 2.8283711),
        (100, 1.0, 0.8579860),
        (100, 2.0, 0.2049304),
        (1000, 0.5, 4.1060159),
        (1000, 1.0, 0.1717287),
    ],
)
def test_epsilon_of_one_epoch(steps, noise, epsilon):
    low, high = epoch(noise, steps).get_epsilon_bounds(1e-6)
    assert low - 1e-7 <= epsilon <= high + 1e-7
    assert high - low <= 1e-9 * high


@pytest.mark.parametrize(
    ("noise", "steps", "count", "low", "high"),
    [
        (2.0, 100, 100, 2.41857857, 2.41857955),
        (1.0, 1000, 100, 1.84427819, 1.84427896),
        (0.7, 1000, 100, 4.06844325, 4.06844473),
        (1.0, 100, 10, 1.96426921, 1.96426983),
        (1.0, 1000, 10, 0.54005038, 0.54005057),
        (1.0, 10, 10, 6.9003372, 6.9003397),
        (1.0, 100, 100, 6.72521295, 6.72521580),
    ],
)
def test_epochs_enclose_known_brackets(noise, steps, count, low, high):
    found = epoch(noise, steps, count).get_epsilon_bounds(1e-6)
    assert found[0] <= high
    assert low <= found[1]
    assert found[1] - found[0] <= 1e-5 * found[1]


@pytest.mark.parametrize(("noise", "count"), [(0.665, 10), (0.8, 2)])
def test_epochs_of_many_steps_are_narrow(noise, count):
    low, high = epoch(noise, 10_000, count).get_epsilon_bounds(1e-6)
    assert epoch(noise, 10_000).get_epsilon_bounds(1e-6)[0] <= low <= high <= low * (1.0 + 1e-4)
    assert high <= RDPAccountant().compose(
        RandomAllocation(Gaussian(noise), 10_000), count
    ).get_epsilon(1e-6)


@pytest.mark.parametrize(
    ("noise", "steps", "count", "delta"), [(25.0, 10**5, 100, 1e-10), (300.0, 1000, 1000, 1e-8)]
)
def test_epochs_of_much_noise_are_near_the_central_limit(noise, steps, count, delta):
    low, high = epoch(noise, steps, count).get_epsilon_bounds(delta)
    limit = PLDAccountant().compose(Gaussian(noise * steps**0.5), count).get_epsilon(delta)
    assert low <= high <= low * (1.0 + 1e-4)
    assert limit * (1.0 - 1e-3) <= low
    assert high <= limit * (1.0 + 1e-3)


def test_sampled_epoch():
    for rate, steps, epsilon, known in (
        (0.3, 10, 0.3, 0.0024200425657),
        (0.1, 100, 0.05, 1.54905509e-5),
    ):
        part = PoissonSampled(RandomAllocation(Gaussian(1.0), steps), rate)
        low, high = PLDAccountant().compose(part).get_delta_bounds(epsilon, direction="remove")
        assert low <= known * (1.0 + 1e-8)
        assert high >= known * (1.0 - 1e-8)
        composed = PLDAccountant().compose(part).compose(Laplace(1e6))
        around = composed.get_delta_bounds(epsilon, direction="remove")
        assert around[0] <= high + 1e-6
        assert around[1] >= low


@pytest.mark.parametrize("noise", [0.5, 1.0, 3.0])
def test_one_step_is_the_gaussian(noise):
    whole = PLDAccountant().compose(Gaussian(noise))
    assert epoch(noise, 1).get_epsilon(1e-6) == whole.get_epsilon(1e-6)


def test_one_choice_for_all_epochs_is_one_epoch_of_less_noise():
    exact = PLDAccountant().compose(FixedAllocation(Gaussian(2.0), 100, 4))
    for direction in ("remove", "add"):
        found = exact.get_epsilon_bounds(1e-6, direction=direction)
        known = epoch(1.0, 100).get_epsilon_bounds(1e-6, direction=direction)
        assert found == pytest.approx(known, rel=1e-9)
    assert exact.get_epsilon(1e-6) > epoch(2.0, 100, 4).get_epsilon(1e-6)
    whole = PLDAccountant().compose(Gaussian(2.0), 4)
    one_group = PLDAccountant().compose(FixedAllocation(Gaussian(2.0), 1, 4))
    assert one_group.get_epsilon(1e-6) == pytest.approx(whole.get_epsilon(1e-6), rel=1e-12)


def test_approaches_poisson_from_below():
    gaps = []
    for steps in (100, 1000, 10_000):
        poisson = PLDAccountant().compose(PoissonSampled(Gaussian(1.0), 1.0 / steps), steps)
        gaps.append(poisson.get_epsilon(1e-6) / epoch(1.0, steps).get_epsilon(1e-6) - 1.0)
    assert gaps[0] > gaps[1] > gaps[2] > 0.0


def test_far_tail():
    accountant = epoch(1.0, 100)
    epsilon = accountant.get_epsilon(1e-100)
    low, high = accountant.get_delta_bounds(epsilon)
    assert low <= 1e-100 * (1.0 + 1e-6)
    assert 0.99e-100 <= high <= 1e-100 * (1.0 + 1e-6)


@pytest.mark.parametrize(
    ("noise", "steps", "delta"), [(10.0, 100, 1e-30), *slow((1.0, 100, 1e-40))]
)
def test_tails_are_narrow_in_both_directions(noise, steps, delta):
    accountant = epoch(noise, steps)
    for direction in ("remove", "add"):
        low, high = accountant.get_epsilon_bounds(delta, direction=direction)
        assert 0.0 < low <= high <= 1.01 * low
        below, above = accountant.get_delta_bounds(high, direction=direction)
        assert below <= delta
        assert above >= 0.5 * delta


@pytest.mark.parametrize(
    ("noise", "steps", "epsilon"),
    [(0.05, 1000, 285.0), (0.05, 1000, 750.0), (0.08, 10**5, 125.0), (0.12, 1000, 66.6)],
)
def test_little_noise(noise, steps, epsilon):
    """The ratio is about that of the record's batch; others add as much as Markov allows."""
    mp.mp.dps = 40
    c, log_t, share = 1 / mp.mpf(noise), mp.log(steps), mp.mpf("1e-12")

    def single(e):  # the curve of one batch
        return mp.ncdf(c / 2 - e / c) - mp.exp(e) * mp.ncdf(-c / 2 - e / c)

    rest = steps / (share * steps * mp.exp(epsilon))
    truth = single(epsilon + log_t), single(epsilon + log_t + mp.log1p(-share)) + rest
    low, high = epoch(noise, steps).get_delta_bounds(epsilon, direction="remove")
    assert low <= truth[1]
    assert high >= truth[0]
    assert high <= truth[0] * (1.0001 if epsilon < 250.0 else 2.0 * steps**2)
    # Added: the ratio is at most the largest of all steps, hence small where that is.
    for e in (0.25 * epsilon, 0.5 * epsilon):
        below = [mp.ncdf(c / 2 - (e + a) / c) ** steps * -mp.expm1(-a) for a in (0.1, 1.0, 3.0)]
        assert epoch(noise, steps).get_delta_bounds(e, direction="add")[1] >= max(below)


@pytest.mark.parametrize(("noise", "steps"), [(0.08, 1000), (0.25, 1000), (0.3151, 10**5)])
def test_little_noise_agrees_with_the_law_of_the_ratio(noise, steps):
    pair = AllocatedEpoch(noise, steps, 1.0).pair_by_law("remove")
    below, above = LossComposition([(pair, 1)], 1e-3, 2**20).epsilon_bounds(1e-6)
    low, high = epoch(noise, steps).get_epsilon_bounds(1e-6, direction="remove", rtol=0.5)
    assert low <= above
    assert high >= below
    assert high - low <= 1e-6


def test_epochs_of_little_noise_agree_with_the_law_of_the_ratio():
    for direction in ("remove", "add"):
        pair = AllocatedEpoch(0.33, 10_000, 1.0).pair_by_law(direction)
        below, above = LossComposition([(pair, 10)], 1e-3, 2**20).epsilon_bounds(1e-6)
        low, high = epoch(0.33, 10_000, 10).get_epsilon_bounds(1e-6, direction=direction)
        assert low <= above
        assert below <= high <= low * (1.0 + 1e-4)


def test_a_million_steps():
    low, high = epoch(1.0, 10**6).get_epsilon_bounds(1e-6)
    assert high - low <= 1e-9 * high
    poisson = PLDAccountant().compose(PoissonSampled(Gaussian(1.0), 1e-6), 10**6)
    assert 0.9 * poisson.get_epsilon(1e-6) <= high <= poisson.get_epsilon(1e-6)


def test_replaced_records_lie_between_removal_and_removal_with_addition():
    removal = epoch(1.0, 1000)
    replaced = epoch(1.0, 1000, adjacency="replace_one")
    low, high = replaced.get_epsilon_bounds(1e-6)
    assert low <= removal.get_epsilon(1e-6) < high
    assert replaced.get_epsilon(1e-6) == high
    # delta_remove(e) + e^e delta_add(epsilon - e) is above for every e, and near for some.
    shares = [
        removal.get_delta(e, direction="remove")
        + math.exp(e) * removal.get_delta(high - e, direction="add")
        for e in np.linspace(0.05, high - 0.05, 40).tolist()
    ]
    assert 0.8e-6 <= min(shares) <= 1.2e-6
    whole = PLDAccountant(adjacency="replace_one").compose(Gaussian(1.0))
    assert high < 0.1 * whole.get_epsilon(1e-6)


def test_replaced_records_cost_no_more_than_one_release():
    high = epoch(0.3, 3, adjacency="replace_one").get_epsilon(1e-6)
    whole = PLDAccountant(adjacency="replace_one").compose(Gaussian(0.3))
    assert high <= whole.get_epsilon(1e-6) * (1.0 + 1e-9)


@pytest.mark.parametrize("order", [1.05, 1.5, 2.0, 2.5, 3.7, 8.0])
def test_renyi_divergences_at_real_orders(order):
    """Two batches: r = e^(c m - c^2/2) cosh(c d), m and d normal of variance 1/2."""
    v = np.linspace(-14.0, 14.0, 4001)
    weight = np.exp(-0.5 * v * v) * (v[1] - v[0]) / math.sqrt(2.0 * math.pi)

    def log_moment(power):
        mean = (weight * np.cosh(v * math.sqrt(0.5)) ** power).sum()
        return math.log(mean) - 0.5 * power + 0.25 * power**2

    truth = max(log_moment(order), log_moment(1.0 - order)) / (order - 1.0)
    accountant = RDPAccountant().compose(RandomAllocation(Gaussian(1.0), 2))
    (found,) = accountant.get_rdp([order])
    assert truth * (1.0 - 1e-9) <= found <= truth * (1.0 + 1e-3)


def test_noise_and_epochs_are_calibrated():
    def with_noise(noise):
        return RandomAllocation(Gaussian(noise), 100)

    noise = calibrate(with_noise, (0.3, 20.0), target_epsilon=1.0, target_delta=1e-6)
    assert epoch(noise, 100).get_epsilon(1e-6) <= 1.0
    assert epoch(noise * (1.0 - 1e-4), 100).get_epsilon(1e-6) > 1.0

    def with_epochs(epochs):
        return RandomAllocation(Gaussian(1.0), 1000) * epochs

    epochs = calibrate(with_epochs, (1, 40), target_epsilon=1.0, target_delta=1e-6, integer=True)
    assert epoch(1.0, 1000, epochs).get_epsilon(1e-6) <= 1.0
    assert epoch(1.0, 1000, epochs + 1).get_epsilon(1e-6) > 1.0


@pytest.mark.parametrize(
    ("noise", "batches", "epsilon", "attained"),
    [
        (0.5, 100, 4.0, 0.0834907911),
        (0.4, 1000, 2.0, 0.509164246),
        (1.0, 100, 1.0, 0.0167057961),
        (0.5, 1000, 8.0, 4.91632934e-4),
    ],
)
def test_shuffled_batches_reach_the_published_lower_bound(noise, batches, epsilon, attained):
    accountant = PLDAccountant(adjacency="zero_out")
    accountant.compose(ShuffledBatches(Gaussian(noise), batches))
    low, high = accountant.get_delta_bounds(epsilon)
    assert attained * (1.0 - 1e-3) <= low <= attained * (1.0 + 1e-8)
    assert high >= PLDAccountant().compose(Gaussian(noise)).get_delta_bounds(epsilon)[0]


def test_shuffled_epochs():
    accountant = PLDAccountant(adjacency="zero_out")
    accountant.compose(ShuffledBatches(Gaussian(1.0), 100), 10)
    low, high = accountant.get_epsilon_bounds(1e-6)
    assert 1.0 < low < high
    assert high == accountant.get_epsilon(1e-6)


@pytest.mark.parametrize("delta", [1e-6, 1e-50, 1e-300])
def test_epochs_cost_no_more_than_their_renyi_divergences(delta):
    epochs = RandomAllocation(Gaussian(1.0), 100) * 3
    exact, renyi = (kind().compose(epochs) for kind in (PLDAccountant, RDPAccountant))
    assert exact.get_epsilon(delta) <= renyi.get_epsilon(delta)
    assert exact.get_delta(20.0) <= renyi.get_delta(20.0)
