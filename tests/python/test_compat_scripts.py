"""The functions of other libraries' scripts: their numbers, and containment of the exact ones."""

from __future__ import annotations

import numpy as np
import pytest

from renyi import Gaussian, PLDAccountant, PoissonSampled, RDPAccountant, special
from renyi.compat import compute_rdp, get_privacy_spent

ORDERS = [1.5, 2.5, 5, 50, 100]


def test_compute_rdp():
    """The exact values of the 50 steps are those of test_dp_accounting_parity.py."""
    found = compute_rdp(0.01, 2.5, 50, ORDERS)
    exact = [6.50070897188e-4, 1.08541805692e-3, 2.18075656231e-3, 2.38460375387e-2]
    np.testing.assert_allclose(found[:4], exact, rtol=1e-11)
    assert (found >= 50 * special.rdp_sampled_gaussian_lower(0.01, 2.5, np.array(ORDERS))).all()
    assert compute_rdp(q=0.01, noise_multiplier=2.5, steps=50, orders=5) == found[2]


def test_get_privacy_spent_in_both_ways():
    rdp = compute_rdp(0.01, 1.0, 1000, ORDERS)
    epsilon, delta, order = get_privacy_spent(ORDERS, rdp, target_delta=1e-5)
    assert (epsilon, order) == get_privacy_spent(orders=ORDERS, rdp=rdp, delta=1e-5)
    assert delta == 1e-5
    assert get_privacy_spent(ORDERS, rdp, target_eps=epsilon)[1] <= 1e-5 * (1 + 1e-9)
    step = PoissonSampled(Gaussian(1.0), 0.01)
    assert epsilon == pytest.approx(
        RDPAccountant(orders=ORDERS).compose(step, 1000).get_epsilon(1e-5), rel=1e-12
    )
    assert epsilon > PLDAccountant().compose(step, 1000).get_epsilon(1e-5)
    with pytest.raises(ValueError, match="exactly one of"):
        get_privacy_spent(ORDERS, rdp)
