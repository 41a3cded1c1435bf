"""The functions of other libraries' scripts: their numbers, and containment of the exact ones."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from renyi import Gaussian, PLDAccountant, PoissonSampled, RDPAccountant, special
from renyi.compat import (
    compute_dp_sgd_privacy_statement,
    compute_rdp,
    get_privacy_spent,
)

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


# The five statements that TensorFlow Privacy's tests hold its function to: the kind of accounting,
# the examples of a user, and their numbers, which are rounded to the nearest; ours are rounded up.
GOLDEN = [
    ("RDP", None, [13.376, 1.616]),
    ("RDP", 3, [13.376, 1.616, 56.224, 6.425]),
    ("RDP", 10, [13.376, 1.616, 366.374, math.inf]),
    ("PLD", None, [12.595, 1.199]),
    ("PLD", 2, [12.595, 1.199, 30.579, 2.532]),
]


@pytest.mark.parametrize(("kind", "examples", "numbers"), GOLDEN)
def test_statement(kind, examples, numbers):
    text = compute_dp_sgd_privacy_statement(
        number_of_examples=10_000,
        batch_size=64,
        num_epochs=5.0,
        noise_multiplier=2.0,
        delta=1e-6,
        max_examples_per_user=examples,
        accountant_type=kind,
    )
    found = [float(number) for number in re.findall(r"^    Epsilon .*: +(\S+)", text, re.M)]
    assert len(found) == len(numbers)
    for ours, theirs in zip(found, numbers, strict=True):
        assert ours == theirs or theirs <= ours <= theirs + 0.0011
    assert ("(**)" in text) is (math.inf in numbers)
    assert max(map(len, text.splitlines())) <= 80


def test_statement_without_microbatching():
    text = compute_dp_sgd_privacy_statement(
        10_000, 64, 5.0, 2.0, 1e-6, False, accountant_type="PLD"
    )
    step = PoissonSampled(Gaussian(2.0), 0.0064)
    exact = PLDAccountant().compose(step, 782).get_epsilon(1e-6)
    shown = float(re.search(r"Poisson sampling \(\*\): +(\S+)", text)[1])
    assert exact <= shown <= exact + 0.001


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 0}, {"delta": 0.0}, {"num_epochs": -1.0}, {"accountant_type": "GDP"}]
)
def test_statement_of_wrong_arguments(wrong):
    given = {"number_of_examples": 100, "batch_size": 10, "num_epochs": 1.0, "delta": 1e-5, **wrong}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        compute_dp_sgd_privacy_statement(noise_multiplier=1.0, **given)
