"""Questions that once failed, hung or were answered wide: each has a certificate now."""

from __future__ import annotations

import math
import warnings

import pytest

from renyi import Gaussian, PLDAccountant, PoissonSampled, RDPAccountant


def composed(*steps, adjacency="add_remove"):
    ledger = PLDAccountant(adjacency)
    for q, sigma, count in steps:
        ledger.compose(PoissonSampled(Gaussian(sigma), q), count)
    return ledger


FIVE = (0.00033443252703029057, 0.021605486105687875, 0.011120674344864204, 0.004446161017283897)


@pytest.mark.parametrize(
    ("step", "epsilon", "truth"),
    [
        ((0.000261028946053477, 5.122157028097081, 2), FIVE[0], 4.22599707352271e-9),
        ((0.0011726739825827406, 3.6332482766178984, 2), FIVE[1], 4.62311638443575e-31),
        ((0.0044887152429683545, 6.114481026257149, 12), FIVE[2], 2.52003871771983e-8),
        ((0.0003065990528861243, 3.925810494847076, 15), FIVE[3], 9.12432654352743e-28),
        (
            (0.0015852365444544423, 3.5138435059815416, 2),
            0.018769441049015737,
            5.72630294997361e-23,
        ),
    ],
)
def test_delta_of_few_steps(step, epsilon, truth):
    """The truths come from tests/reference/few_steps.py and agree with nested quadrature."""
    ledger = composed(step)
    low, high = ledger.get_delta_bounds(epsilon)
    assert low <= truth * (1 + 1e-14)
    assert high >= truth * (1 - 1e-14)
    assert high <= low * (1 + 1e-6)
    assert ledger.get_delta(epsilon) >= truth * (1 - 1e-14)


@pytest.mark.parametrize(
    ("steps", "delta", "direction", "truth"),
    [
        ([(9.041569614924136e-6, 2.229845075212392, 2)], 4.50017490284313e-9, None, 2.9693e-5),
        (
            [
                (1.5966510547895e-6, 3.030953112630703, 1),
                (1.589215956183917e-6, 2.637242620717913, 1),
            ],
            2.3342551311151944e-28,
            None,
            5.80e-5,
        ),
        ([(8.663460884596202e-6, 1.1225958559021478, 2)], 4.6355361e-12, "remove", 7.929e-4),
        ([(1e-5, 0.8, 30_000)], 1e-9, None, 0.0225911),
    ],
)
def test_epsilon_of_heavy_tails(steps, delta, direction, truth):
    low, high = composed(*steps).get_epsilon_bounds(delta, direction=direction)
    assert high <= low * (1 + 1e-8)
    assert low == pytest.approx(truth, rel=2e-3)
    assert composed(*steps).get_epsilon(delta, direction=direction) >= low


@pytest.mark.parametrize(
    "ask",
    [
        lambda: composed((0.5, 0.01, 10**9)).get_delta_bounds(0.0),
        lambda: composed((1 - 1e-12, 0.01, 10**9)).get_delta_bounds(0.0),
        lambda: composed(
            (1.7290541450041614e-06, 0.6791850013108811, 38_799_143)
        ).get_epsilon_bounds(2.1393930913893366e-11),
        lambda: composed((1e-300, 1e-5, 1000)).get_epsilon_bounds(1e-300),
        lambda: composed((0.5, 10.0, 1)).get_delta_bounds(1e308),
        lambda: composed((0.5, 10.0, 7)).get_delta_bounds(1e308),
    ],
)
def test_extremes_answer_in_silence(ask):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = ask()
    assert low <= high


def test_no_noise_beside_little():
    ledger = composed((1e-3, 0.1, 10)).compose(Gaussian(0.0))
    assert ledger.get_delta(1.0) == 1.0
    assert ledger.get_epsilon(1e-5) == math.inf
    assert RDPAccountant().compose(Gaussian(0.0)).get_epsilon(1e-5) == math.inf


def test_replaced_records_on_samples_are_answered_at_once():
    low, high = composed((0.01, 1.0, 1000), adjacency="replace_one").get_epsilon_bounds(1e-5)
    assert high <= low * (1 + 1e-10)
