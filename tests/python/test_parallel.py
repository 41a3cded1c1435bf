"""`Parallel` by its parts, and `share`: certified brackets of the parts bound what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from renyi import (
    ApproxDP,
    Composed,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Parallel,
    PLDAccountant,
    PoissonSampled,
    PrivacyFilter,
    PureDP,
    RandomizedResponse,
    RDPAccountant,
    UnsupportedMechanismError,
)
from renyi.calibration import share
from renyi.mechanisms import Mechanism

SAMPLED = PoissonSampled(Gaussian(1.0), 0.2)
EPSILONS = np.array([0.0, 0.05, 0.3, 1.0, 2.0, 4.0])
SETS = [
    [Gaussian(2.0), Gaussian(1.5)],
    [Laplace(2.0), Gaussian(2.0)],
    [SAMPLED, Laplace(1.0)],
    [SAMPLED * 3, Laplace(3.0), DiscreteLaplace(2.0)],
    [RandomizedResponse(0.7), PureDP(0.9)],
    [ApproxDP(0.5, 1e-4), Gaussian(3.0)],
]


@pytest.mark.parametrize("parts", SETS, ids=str)
@pytest.mark.parametrize("adjacency", ["add_remove", "zero_out"])
def test_as_much_as_the_costliest(parts, adjacency):
    def deltas(mechanism, direction):
        accountant = PLDAccountant(adjacency=adjacency).compose(mechanism)
        return accountant.get_delta_bounds(EPSILONS, direction=direction)

    for direction in "remove", "add":
        found = deltas(Parallel(parts), direction)[1]
        lows, highs = np.transpose([deltas(part, direction) for part in parts], (1, 0, 2))
        assert (found >= lows.max(axis=0)).all()
        assert (found <= highs.max(axis=0) * 1.05 + 1e-12).all()


@pytest.mark.parametrize("parts", SETS[:5], ids=str)
def test_renyi_divergences_are_the_largest(parts):
    orders = [1.5, 2.0, 8.0, 64.0]
    found = RDPAccountant().compose(Parallel(parts), 3).get_rdp(orders)
    each = [RDPAccountant().compose(part, 3).get_rdp(orders) for part in parts]
    assert (found >= np.max(each, axis=0) * (1.0 - 2.0**-51)).all()  # both are rounded up
    assert (found <= np.max(each, axis=0) * (1.0 + 1e-12)).all()


def test_used_several_times_in_a_composition():
    """Not below one part used each time, nor above the sum of both."""
    parts = [SAMPLED, Laplace(2.0)]
    found = PLDAccountant().compose(Parallel(parts), 10).compose(Gaussian(4.0)).get_epsilon(1e-6)
    alone = [
        PLDAccountant().compose(part, 10).compose(Gaussian(4.0)).get_epsilon_bounds(1e-6)[0]
        for part in parts
    ]
    both = PLDAccountant().compose(SAMPLED, 10).compose(Laplace(2.0), 10).compose(Gaussian(4.0))
    assert max(alone) <= found < both.get_epsilon(1e-6)


def test_pure_parts_stay_pure():
    regions = Parallel([Laplace(1.0), Laplace(4.0), RandomizedResponse(0.6)])
    assert PLDAccountant().compose(regions, 2).get_epsilon(0.0) == 2.0


def test_a_value_with_a_form_in_json():
    made = Parallel([Laplace(1.0), SAMPLED * 2, Laplace(1.0)])
    assert made == Parallel((Laplace(1.0), SAMPLED * 2))
    assert hash(made) == hash(Parallel((Laplace(1.0), SAMPLED * 2)))
    assert Mechanism.from_json(made.to_json()) == made
    assert made.describe().splitlines()[:2] == [
        "On disjoint parts, one of each",
        "  Laplace noise, multiplier 1",
    ]
    assert Parallel([Gaussian(2.0)]).dominating_pair().symmetric
    for wrong in [], [1.0], 3:
        with pytest.raises((TypeError, ValueError), match="mechanism"):
            Parallel(wrong)


def test_replaced_records_are_refused():
    """The record may move from one part to another: two parts change."""
    for accountant in PLDAccountant, RDPAccountant:
        with pytest.raises(UnsupportedMechanismError, match="'add_remove' or 'zero_out' only"):
            accountant(adjacency="replace_one").compose(Parallel([Laplace(1.0)]))


def test_in_a_filter_and_a_sample():
    budget = PrivacyFilter(1.0, 1e-6)
    budget.spend(Parallel([Gaussian(20.0), Gaussian(30.0)]), 5)
    same = PrivacyFilter(1.0, 1e-6)
    same.spend(Gaussian(20.0), 5)
    assert budget.remaining == pytest.approx(same.remaining, rel=1e-12)
    sampled = PoissonSampled(Parallel([Gaussian(1.0), Gaussian(3.0)]), 0.1)
    assert PLDAccountant().compose(sampled).get_epsilon(1e-6) == pytest.approx(
        PLDAccountant().compose(PoissonSampled(Gaussian(1.0), 0.1)).get_epsilon(1e-6), rel=1e-4
    )


TARGET = {"target_epsilon": 1.0, "target_delta": 1e-6}


class TestShare:
    def test_the_target_is_just_met(self):
        def run(noise):
            return PoissonSampled(Gaussian(noise), 0.05) * 50

        made = share([Gaussian, Laplace, run], [4, 1, 2], **TARGET)
        together = PLDAccountant().compose(Composed(*made))
        assert 0.9999 < together.get_epsilon(1e-6) <= 1.0

    def test_noise_goes_with_the_roots_of_weights(self):
        light, heavy = share([Gaussian, Gaussian], [1, 9], **TARGET)
        assert light.noise_multiplier / heavy.noise_multiplier == pytest.approx(3.0)
        alone = share([Gaussian], **TARGET)[0].noise_multiplier
        assert light.noise_multiplier == pytest.approx(alone * 10.0**0.5, rel=1e-5)
        equal = share([Gaussian, Gaussian], **TARGET)
        assert equal[0] == equal[1]

    def test_arguments(self):
        for makers, weights in (([], None), ([Gaussian], [1, 2])):
            with pytest.raises(ValueError, match="weights must be one for each"):
                share(makers, weights, **TARGET)
        with pytest.raises(ValueError, match="weights must be"):
            share([Gaussian, Gaussian], [1.0, 0.0], **TARGET)
