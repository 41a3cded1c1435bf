"""One protocol: the same questions, in the same words, of every accountant."""

import inspect
import math

import numpy as np
import pytest
from each import slow
from mpmath import mp

from renyi import (
    Gaussian,
    PLDAccountant,
    PoissonSampled,
    RandomizedResponse,
    RDPAccountant,
)
from renyi.accountants import Accountant

KINDS = [PLDAccountant, RDPAccountant]
RUN = PoissonSampled(Gaussian(1.1), 0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_settings_have_names(kind):
    with pytest.raises(TypeError, match="positional"):
        kind("replace_one")


@pytest.mark.parametrize("kind", KINDS)
def test_questions_are_those_of_the_protocol(kind):
    assert issubclass(kind, Accountant)
    for name in (
        *["compose", "supports", "get_epsilon", "get_delta", "get_epsilon_bounds"],
        *["get_delta_bounds", "get_epsilon_after", "get_beta", "get_advantage", "get_bayes_risk"],
    ):
        asked, promised = (inspect.signature(getattr(of, name)) for of in (kind, Accountant))
        assert asked == promised


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_have_the_shape_of_the_question(kind):
    accountant = kind().compose(RUN, 100)
    deltas = np.array([[1e-3, 1e-6], [1e-9, 0.0], [0.5, 1.0]])
    found = accountant.get_epsilon(deltas)
    assert found.shape == (3, 2)
    for delta, epsilon in zip(deltas.flat, found.flat, strict=True):
        assert accountant.get_epsilon(delta) == pytest.approx(epsilon, rel=1e-5)
    low, high = accountant.get_delta_bounds([0.0, 1.0, math.inf])
    assert (low <= high).all()
    assert (high == accountant.get_delta([0.0, 1.0, math.inf])).all()
    assert isinstance(accountant.get_delta(1.0), float)
    assert accountant.get_delta([]).shape == (0,)
    assert accountant.get_epsilon_after(1e-5, RUN, [[0, 5], [10, 100]]).shape == (2, 2)
    masked = np.ma.masked_array([0.5, 0.1], [True, False])
    for ask in (accountant.get_epsilon, accountant.get_delta_bounds, accountant.get_beta):
        with pytest.raises(TypeError, match="must be without a mask"):
            ask(masked)


def test_renyi_accountant_goes_on_like_one_that_has_gone_on():
    accountant = RDPAccountant(orders=[4.0, 8.0]).compose(RUN, 10)
    found = accountant.get_epsilon_after(1e-5, RUN, [0, 90])
    for extra, epsilon in zip((0, 90), found, strict=True):
        later = RDPAccountant(orders=[4.0, 8.0]).compose(RUN, 10 + extra)
        assert epsilon == later.get_epsilon(1e-5)


def test_directions_that_an_accountant_does_not_tell_apart():
    rdp = RDPAccountant().compose(RUN)
    for ask in (rdp.get_epsilon, rdp.get_delta_bounds, rdp.get_beta):
        with pytest.raises(ValueError, match="direction must be None with RDPAccountant"):
            ask(0.5, direction="remove")
    replaced = PLDAccountant(adjacency="replace_one").compose(RUN)
    with pytest.raises(ValueError, match="direction must be None where records are replaced"):
        replaced.get_delta(1.0, direction="add")
    with pytest.raises(ValueError, match="direction must be 'remove', 'add' or None, got 'up'"):
        PLDAccountant().get_beta(0.5, direction="up")


@pytest.mark.parametrize("value", [0.0, 1.0, math.nan, 1e-9])
@pytest.mark.parametrize("kind", KINDS)
def test_widths_that_are_refused(kind, value):
    with pytest.raises(ValueError, match=r"rtol must be a number in \[1e-8, 0.5\]"):
        kind().get_epsilon(0.1, rtol=value)


def test_lines_of_the_renyi_accountant_support_its_beta():
    accountant = RDPAccountant().compose(Gaussian(1.0))
    alpha = np.array([0.001, 0.05, 0.4])
    epsilon = np.linspace(0.0, 8.0, 4001)
    delta = accountant.get_delta(epsilon)
    above = 1.0 - delta - np.exp(epsilon) * alpha[:, np.newaxis]
    below = np.exp(-epsilon) * (1.0 - delta - alpha[:, np.newaxis])
    best = np.maximum(above.max(axis=1), below.max(axis=1))
    assert accountant.get_beta(alpha) == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize(
    ("q", "sigma", "count", "delta"),
    [
        (0.00035440755258060865, 0.6247469426083361, 1348, 1.370978316845051e-137),
        (1.2626983085339213e-12, 0.31541438530222143, 1184863, 2.0169126981018801e-143),
        (1.8069876606161515e-13, 0.2479720937712775, 36657979, 4.524809848567267e-64),
        (3.110186252245199e-05, 4.061338895123698, 9829, 7.043230193612883e-257),
        (4.7e-12, 123_047.0, 134_894, 8.9e-233),
    ],
)
def test_wide_brackets_end_where_the_renyi_accountant_does(q, sigma, count, delta):
    exact, bound = (kind().compose(PoissonSampled(Gaussian(sigma), q), count) for kind in KINDS)
    low, high = exact.get_epsilon_bounds(delta)
    assert low <= high <= bound.get_epsilon(delta)
    after = PLDAccountant().get_epsilon_after(delta, PoissonSampled(Gaussian(sigma), q), [count])
    assert after[0] <= bound.get_epsilon(delta)


ANSWERS = ((0.6, 12), (0.7, 9))  # losses of which no lattice holds all


def truth_of_answers(epsilon):
    """delta of two kinds of coins, summed over how often each tells the truth."""
    with mp.workdps(40):
        laws = []
        for p, count in ANSWERS:
            p = mp.mpf(p)
            odds = mp.log(p / (1 - p))
            law = [
                ((2 * k - count) * odds, mp.binomial(count, k) * p**k * (1 - p) ** (count - k))
                for k in range(count + 1)
            ]
            laws.append(law)
        return mp.fsum(
            m * n * max(-mp.expm1(epsilon - a - b), 0) for a, m in laws[0] for b, n in laws[1]
        )


@pytest.mark.parametrize("epsilon", [0.3, *slow(5.0)])
def test_single_numbers_from_lattices_are_as_near_as_stated(epsilon):
    accountant = PLDAccountant()
    for p, count in ANSWERS:
        accountant.compose(RandomizedResponse(p, 2), count)
    truth = truth_of_answers(epsilon)
    for rtol in (1e-3, 2e-6):
        found = accountant.get_delta(epsilon, rtol=rtol)
        assert truth <= found <= truth * (1 + rtol)
        low, high = accountant.get_delta_bounds(epsilon, rtol=rtol)
        assert low <= truth
        assert found == high
        near = accountant.get_epsilon(float(truth * (1 + 1e-15)), rtol=rtol)
        assert near >= epsilon * (1 - 1e-12)
        assert truth_of_answers(near) >= truth * (1 - 2 * rtol)
