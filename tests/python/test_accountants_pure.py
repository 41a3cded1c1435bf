"""Pure differential privacy on the exact curve: at delta 0 epsilon is the largest loss, summed."""

import math

import numpy as np
import pytest

from renyi import (
    ApproxDP,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    PLDAccountant,
    PoissonSampled,
    PureDP,
    RandomizedResponse,
)

LOSSES = [
    (Laplace(0.7), 1 / 0.7),
    (PureDP(0.3), 0.3),
    (RandomizedResponse(0.8), math.log(4.0)),
    (DiscreteLaplace(2.0), 0.5),
    (Exponential(1.0), 1.0),
    (PoissonSampled(Laplace(1.0), 0.1), math.log1p(0.1 * math.expm1(1.0))),
]


@pytest.mark.parametrize(("mechanism", "loss"), LOSSES, ids=[str(m) for m, _ in LOSSES])
@pytest.mark.parametrize("count", [1, 2, 30])
def test_losses_add_up(mechanism, loss, count):
    accountant = PLDAccountant().compose(mechanism, count)
    most = count * loss
    assert most * (1 - 1e-14) <= accountant.get_epsilon(0.0) <= most * (1 + 1e-11)
    low, high = accountant.get_epsilon_bounds(0.0)
    assert low <= most * (1 + 1e-14)
    assert high == accountant.get_epsilon(0.0)
    assert accountant.get_epsilon(1e-300) <= high * (1 + 1e-14)
    beyond = accountant.get_delta(high * (1 + 1e-9))
    assert beyond == 0.0
    assert math.copysign(1.0, beyond) == 1.0


def test_all_losses_count_and_infinite_ones_stay():
    accountant = PLDAccountant()
    for mechanism, _ in LOSSES:
        accountant.compose(mechanism, 2)
    most = 2 * sum(loss for _, loss in LOSSES)
    found = accountant.get_epsilon(np.array([0.0, 1e-9]))
    assert found[1] < most <= found[0] <= most * (1 + 1e-11)
    assert accountant.compose(ApproxDP(0.1, 1e-6)).get_epsilon(1e-7) == math.inf
    assert PLDAccountant().compose(Laplace(1.0)).compose(Gaussian(1.0)).get_epsilon(0.0) == math.inf
