"""Composition against brute force: every product of outcomes, every adaptive strategy."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from renyi import special
from renyi.theory.composition import (
    advanced_composition,
    basic_composition,
    best_split,
    mean_loss_bound,
    optimal_composition,
)

FORMS = ("independent", "adaptive", "sharp")


def worst_pair(epsilon, delta=0.0):
    """The pair that every (epsilon, delta)-private one is dominated by: atoms (p, q)."""
    e, d = mp.mpf(epsilon), mp.mpf(delta)
    likely = (1 - d) / (1 + mp.exp(-e))
    return [(d, mp.mpf(0)), (likely, likely * mp.exp(-e)), (likely * mp.exp(-e), likely), (0, d)]


def composed(pairs):
    """All products of outcomes."""
    atoms = [(mp.mpf(1), mp.mpf(1))]
    for pair in pairs:
        atoms = [(a * p, b * q) for a, b in atoms for p, q in pair if p or q]
    return atoms


def exact_delta(atoms, epsilon):
    factor = mp.exp(mp.mpf(epsilon))
    return mp.fsum(max(p - factor * q, 0) for p, q in atoms)


def repeated(epsilon, count, target, delta=0.0):
    """Delta of ``count`` copies of the worst pair by the convolution of its losses."""
    with mp.workdps(40):
        e, masses = mp.mpf(epsilon), {0: mp.mpf(1)}
        likely = 1 / (1 + mp.exp(-e))
        for _ in range(count):
            following = {}
            for at, mass in masses.items():
                for step, share in ((1, likely), (-1, 1 - likely)):
                    following[at + step] = following.get(at + step, 0) + mass * share
            masses = following
        finite = mp.fsum(m * max(1 - mp.exp(target - j * e), 0) for j, m in masses.items())
        return 1 - (1 - mp.mpf(delta)) ** count * (1 - finite)


# Basic composition.


def test_sums():
    found = basic_composition([0.5, 1.0, 0.25], [1e-3, 0.0, 1e-6], [1, 2, 0])
    assert found.epsilon == pytest.approx(2.5)
    assert found.epsilon >= 2.5
    assert found.delta == pytest.approx(1e-3)
    assert basic_composition(0.1, 0.1, 20) == (pytest.approx(2.0), 1.0)
    assert basic_composition([], []) == (0.0, 0.0)
    assert basic_composition(math.inf).epsilon == math.inf


def test_basic_composition_holds_for_unequal_mechanisms():
    steps = [(0.3, 0.01), (0.7, 0.0), (0.1, 0.05), (1.1, 0.002)]
    atoms = composed([worst_pair(*step) for step in steps])
    total = basic_composition(*zip(*steps, strict=True))
    assert exact_delta(atoms, total.epsilon) <= total.delta
    assert exact_delta(atoms, total.epsilon) >= 0.9 * total.delta


# The mean of the loss.


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 0.5, math.log(2.0), 0.7, 3.0, 40.0])
def test_the_mean_loss(epsilon):
    with mp.workdps(40):
        mean = mp.mpf(epsilon) * mp.tanh(mp.mpf(epsilon) / 2)
    sharp, stated = (mean_loss_bound(epsilon, sharp=s) for s in (True, False))
    assert mean <= sharp <= mean * (1 + mp.mpf(1e-13))
    assert sharp <= stated
    # continuous where the two branches meet
    assert mean_loss_bound(math.log(2.0), sharp=False) == pytest.approx(math.log(2.0))
    assert mean_loss_bound(0.7, sharp=False) == 0.7
    assert stated <= epsilon**2 / math.log(2.0) * (1 + 1e-12)  # (6.98)
    assert mean_loss_bound(epsilon, both=True) == 2.0 * sharp
    assert mean_loss_bound(epsilon, sharp=False, both=True) >= 2.0 * sharp


def test_the_mean_loss_bounds_every_private_pair():
    rng = np.random.default_rng(5)
    for _ in range(300):
        q = rng.dirichlet(np.ones(4))
        p = q * np.exp(rng.uniform(-1.0, 1.0, 4))
        p /= p.sum()
        losses = np.log(p / q)
        largest = float(np.abs(losses).max())
        assert (p * losses).sum() <= mean_loss_bound(largest)
        for sharp in (True, False):  # Claim 11: the sum of both orders
            assert ((p - q) * losses).sum() <= mean_loss_bound(largest, sharp=sharp, both=True)
    assert mean_loss_bound(0.0) == 0.0
    assert mean_loss_bound(math.inf) == math.inf


# Advanced composition.


def test_the_numbers_of_the_text():
    found = [advanced_composition(0.1, 1e-6, count=100, form=form) for form in FORMS]
    assert [round(one.epsilon, 3) for one in found] == [6.308, 6.861, 5.756]
    assert all(one.delta == pytest.approx(1e-6) for one in found)
    with mp.workdps(40):
        truth = [repeated(0.1, 100, one.epsilon) for one in found]
    assert [f"{float(value):.0e}" for value in truth] == ["9e-11", "1e-12", "4e-09"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_advanced_composition_is_an_upper_bound(form, epsilon, delta):
    for count in (1, 7, 60):
        for slack in (0.3, 1e-3, 1e-8):
            found = advanced_composition(epsilon, slack, delta=delta, count=count, form=form)
            assert repeated(epsilon, count, mp.mpf(found.epsilon), delta) <= found.delta
            back = advanced_composition(
                epsilon, target_epsilon=found.epsilon, delta=delta, count=count, form=form
            ).delta
            assert back == pytest.approx(found.delta, rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_unequal_mechanisms(form):
    epsilons, deltas = [0.2, 0.5, 0.05, 0.9, 0.4], [0.0, 1e-3, 0.0, 1e-5, 0.01]
    atoms = composed([worst_pair(e, d) for e, d in zip(epsilons, deltas, strict=True)])
    for slack in (0.5, 0.05, 1e-4):
        found = advanced_composition(epsilons, slack, delta=deltas, form=form)
        assert exact_delta(atoms, found.epsilon) <= found.delta
    twice = advanced_composition([0.2, 0.5], 0.01, count=[2, 1], form=form)
    listed = advanced_composition([0.2, 0.2, 0.5], 0.01, form=form)
    assert twice == pytest.approx(listed, rel=1e-12)


def best_adaptive_delta(choices, steps, target):
    """The largest delta over all ways to choose each pair by the losses so far."""

    def value(loss, left):
        if left == 0:
            return max(1.0 - math.exp(target - loss), 0.0)
        return max(
            sum(p * value(loss + math.log(p / q), left - 1) for p, q in pair) for pair in choices
        )

    return value(0.0, steps)


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_adaptive_choices_gain_nothing_over_the_worst_pair(epsilon):
    def boundary(q, factor):  # pairs on two outcomes whose losses stay within epsilon
        p = min(q * math.exp(epsilon), 1.0 - (1.0 - q) * math.exp(-epsilon)) * factor
        p = max(p, q * math.exp(-epsilon), 1.0 - (1.0 - q) * math.exp(epsilon))
        return [(p, q), (1.0 - p, 1.0 - q)]

    choices = [boundary(q, factor) for q in (0.1, 0.27, 0.5, 0.8) for factor in (1.0, 0.7)]
    choices.append([(float(p), float(q)) for p, q in worst_pair(epsilon) if p and q])
    for target in (0.0, 0.5 * epsilon, 1.4 * epsilon, 3.0 * epsilon):
        found = best_adaptive_delta(choices, 4, target)
        optimal = optimal_composition(epsilon, 4, target_epsilon=target).delta
        assert found <= optimal * (1 + 1e-9) + 1e-15
        assert found >= optimal * (1 - 1e-9)  # the worst pair is among the choices
        for form in ("adaptive", "sharp"):
            assert (
                found
                <= advanced_composition(epsilon, target_epsilon=target, count=4, form=form).delta
            )


def test_no_slack_is_left_at_epsilon_0():
    assert advanced_composition(0.1, target_epsilon=0.0, count=10).delta == 1.0
    assert advanced_composition(0.1, target_epsilon=math.inf, delta=0.1, count=2).delta > 0.2
    assert advanced_composition(0.0, target_epsilon=0.5, count=9).delta <= 1e-300
    assert advanced_composition(0.0, 0.5).epsilon <= 1e-300


# The division of delta.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("mu", "count", "delta"), [(0.02, 100, 1e-5), (0.005, 5000, 1e-8)])
def test_the_best_split_is_best_and_holds(form, mu, count, delta):
    def curve(each):
        return float(special.gaussian_epsilon_upper(mu, each))

    best = best_split(curve, delta, count, form=form)
    assert best.slack + count * best.step_delta <= delta
    assert best.step_epsilon == curve(best.step_delta)
    exact = float(special.gaussian_epsilon(mu * math.sqrt(count), delta))
    assert exact <= best.epsilon
    for share in np.geomspace(1e-5, 0.99, 25):
        each = delta * share / count
        other = advanced_composition(curve(each), delta * (1 - share), count=count, form=form)
        assert best.epsilon <= other.epsilon * (1 + 1e-9)


def test_a_mechanism_that_never_answers():
    assert best_split(lambda delta: math.inf, 0.1, 3).epsilon == math.inf


# Optimal composition.


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 5.0, 60.0])
@pytest.mark.parametrize("delta", [0.0, 1e-7, 0.05])
def test_optimal_composition_is_that_of_the_worst_pair(epsilon, delta):
    for count in (1, 2, 5, 40):
        for share in (0.0, 0.1, 0.5, 0.99):
            target = share * count * epsilon
            exact = repeated(epsilon, count, mp.mpf(target), delta)
            found = optimal_composition(epsilon, count, target_epsilon=target, delta=delta).delta
            assert exact <= found <= exact * (1 + mp.mpf(1e-8)) + mp.mpf(1e-300)


def test_the_worst_pair_by_enumeration():
    pair = worst_pair(0.8, 0.03)
    atoms = composed([pair] * 4)
    for target in (0.0, 0.8, 1.7, 3.1):
        exact = exact_delta(atoms, target)
        found = optimal_composition(0.8, 4, target_epsilon=target, delta=0.03).delta
        assert exact <= found * (1 + mp.mpf(1e-14))
        assert found <= exact * (1 + mp.mpf(1e-10))


def test_the_published_corners():
    # ((k - 2i) epsilon, 1 - (1-delta)^k (1 - delta_i)), i = 0 ... k/2
    epsilon, delta, count = 0.4, 1e-3, 9
    for i in range(count // 2 + 1):
        inner = (
            mp.fsum(
                mp.binomial(count, j)
                * (mp.exp((count - j) * epsilon) - mp.exp((count - 2 * i + j) * epsilon))
                for j in range(i)
            )
            / (1 + mp.exp(epsilon)) ** count
        )
        stated = 1 - (1 - mp.mpf(delta)) ** count * (1 - inner)
        target = (count - 2 * i) * epsilon
        found = optimal_composition(epsilon, count, target_epsilon=target, delta=delta).delta
        assert found == pytest.approx(float(stated), rel=1e-9)


@pytest.mark.parametrize("near_zero", [False, True])  # between the first losses above 0
@pytest.mark.parametrize(("epsilon", "count"), [(1e-3, 10**5), (0.01, 20_000), (2.0, 5000)])
def test_many_mechanisms(epsilon, count, near_zero):
    with mp.workdps(60):
        e = mp.mpf(epsilon)
        unlikely = 1 / (1 + mp.exp(e))
        mean = float(count * epsilon * math.tanh(epsilon / 2))
        target = 2.5 * epsilon if near_zero else mean + 3.0 * epsilon * math.sqrt(count)
        last = math.floor((count - target / epsilon) / 2)
        mass, total, fallen = mp.binomial(count, last), mp.mpf(0), last
        mass *= unlikely**last * (1 - unlikely) ** (count - last)
        while fallen >= 0 and mass > mp.mpf(10) ** -40 * total:
            total += mass * max(1 - mp.exp(target - (count - 2 * fallen) * e), 0)
            mass *= fallen * (1 - unlikely) / ((count - fallen + 1) * unlikely)
            fallen -= 1
    found = optimal_composition(epsilon, count, target_epsilon=target).delta
    assert total <= found <= total * (1 + mp.mpf(1e-8))


@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 100), (1.0, 3), (1e-3, 10**6), (30.0, 5)])
def test_epsilon_is_the_inverse(epsilon, count, delta):
    for target in (0.2, 1e-2, 1e-6):
        if target <= -math.expm1(count * math.log1p(-delta)):
            continue
        found = optimal_composition(epsilon, count, target_delta=target, delta=delta).epsilon
        at = optimal_composition(epsilon, count, target_epsilon=found, delta=delta).delta
        assert at <= target
        if found > 0.0:
            less = found * (1 - 1e-9)
            assert (
                optimal_composition(epsilon, count, target_epsilon=less, delta=delta).delta > target
            )
        # what basic and advanced composition promise is never below
        assert found <= epsilon * count * (1 + 1e-12)
        if delta == 0.0:
            assert found <= advanced_composition(epsilon, target, count=count, form="sharp").epsilon


def test_optimal_edges():
    assert optimal_composition(1.0, 0, target_epsilon=0.0).delta == 0.0
    assert optimal_composition(0.0, 10, target_epsilon=0.0).delta == 0.0
    assert optimal_composition(1.0, 10, target_epsilon=10.1).delta == 0.0
    assert optimal_composition(1.0, 10, target_epsilon=math.inf, delta=1.0).delta == 1.0
    assert optimal_composition(800.0, 2, target_epsilon=1.0).delta == pytest.approx(1.0)
    assert optimal_composition(0.5, 4, target_delta=0.0).epsilon == pytest.approx(2.0)
    assert optimal_composition(0.5, 4, target_delta=1.0).epsilon == 0.0
    assert optimal_composition(0.5, 4, target_delta=1e-3, delta=1e-3).epsilon == math.inf
    assert optimal_composition(0.0, 4, target_delta=0.0).epsilon == 0.0
    assert 0.0 < optimal_composition(1e-3, 10**6, target_epsilon=900.0).delta < 1e-300


def test_nothing_beats_the_optimum():
    # with a binary pair all products of which are enumerated
    for p, q in ((0.6, 0.4), (0.9, 0.75), (0.2, 0.05)):
        epsilon = max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))
        pair = [(mp.mpf(p), mp.mpf(q)), (1 - mp.mpf(p), 1 - mp.mpf(q))]
        atoms = composed([pair] * 6)
        for target in itertools.accumulate([0.1] * 10):
            found = optimal_composition(epsilon * (1 + 1e-12), 6, target_epsilon=target).delta
            assert exact_delta(atoms, target) <= found
