"""One run with many canaries: the theorem's bound, its confidence, and what is done with scores."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from renyi import special
from renyi.audit import (
    dirac_gradients,
    draw_canaries,
    mislabelled,
    one_run_epsilon_lower_bound,
    one_run_p_value,
)
from renyi.noise import SecureGenerator


def seeded(seed=1):
    return SecureGenerator(insecure_reproducible=seed).numpy_generator()


def right(epsilon):
    return 1 / (1 + math.exp(-epsilon))


# --- the theorem


def by_sums(epsilon, delta, m, r, v):
    """Theorem 5.2, term by term."""
    below = [binom.pmf(v - i, r, right(epsilon)) for i in range(1, v + 1)]
    mean = max(np.cumsum(below) / np.arange(1, v + 1), default=0.0)
    return min(binom.sf(v - 1, r, right(epsilon)) + 2 * m * delta * mean, 1.0)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize(
    ("epsilon", "m", "r", "v"),
    [(0.1, 50, 50, 31), (1.0, 1000, 200, 170), (1.0, 1000, 1000, 760), (3.0, 400, 40, 40)],
)
def test_the_p_value_is_that_of_the_theorem(epsilon, delta, m, r, v):
    found = one_run_p_value(epsilon, delta, canaries=m, guesses=r, correct=v)
    truth = by_sums(epsilon, delta, m, r, v)
    assert truth * (1 - 1e-10) <= found <= truth * (1 + 1e-10)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.01])
def test_private_mechanisms_are_refuted_as_rarely_as_it_says(epsilon, delta):
    """Each coin by randomized response, told outright with probability delta; or all at once."""
    m, v = 80, np.arange(81)
    told = binom.sf(v - 1, m, delta + (1 - delta) * right(epsilon))
    at_once = delta + (1 - delta) * binom.sf(v - 1, m, right(epsilon))
    bound = np.array(
        [one_run_p_value(epsilon, delta, canaries=m, guesses=m, correct=int(k)) for k in v]
    )
    assert (np.maximum(told, at_once) <= bound * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("numbers", "message"),
    [((4, 5, 3), "ascending"), ((9, 3, 4), "ascending"), ((10**9, 3, 3), "at most 1e8")],
)
def test_counts_that_are_none_are_refused(numbers, message):
    m, r, v = numbers
    with pytest.raises(ValueError, match=message):
        one_run_p_value(1.0, 0.0, canaries=m, guesses=r, correct=v)


# --- scores


@pytest.mark.parametrize("guesses", [None, 400, [400, 100]])
@pytest.mark.parametrize("audits", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_bound_is_refuted_as_rarely_as_it_says(guesses, audits):
    """Randomized response of every canary, with epsilon 1, at confidence 0.8."""
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(audits):
        inside = draw_canaries(400, rng)
        scores = np.where(rng.random(400) < right(1.0), inside, ~inside).astype(float)
        scores += 1e-3 * rng.random(400)  # in any order
        bound = one_run_epsilon_lower_bound(scores, inside, 0.0, guesses=guesses, confidence=0.8)
        wrong += bound > 1.0
    assert wrong < 0.2 * audits + 4 * math.sqrt(0.16 * audits)


def test_many_canaries_come_near_the_truth():
    rng, delta = np.random.default_rng(1), 1e-5
    inside = draw_canaries(20_000, rng)
    bound = one_run_epsilon_lower_bound(inside + rng.normal(0.0, 1.0, 20_000), inside, delta)
    assert 1.5 < bound < special.gaussian_epsilon(1.0, delta)
    assert one_run_epsilon_lower_bound(rng.normal(size=20_000), inside, delta) < 0.1


def test_equal_scores_tell_nothing_whatever_their_order():
    inside = np.arange(1000) < 500
    for order in (inside, inside[::-1]):
        assert one_run_epsilon_lower_bound(np.zeros(1000), order, 0.0) == 0.0
    clear = np.where(inside, 1.0, 0.0)
    assert one_run_epsilon_lower_bound(clear, inside, 0.0) > 4.0
    assert one_run_epsilon_lower_bound(clear, ~inside, 0.0) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0] * 4, [True] * 3, 0.0), "included must be booleans"),
        (([1.0] * 4, [1, 0, 1, 0], 0.0), "included must be booleans"),
        (([math.nan] * 4, [True] * 4, 0.0), "scores must be"),
        (([1.0] * 3, [True] * 3, 0.0), "scores must be"),
        (([1.0] * 4, [True] * 4, 2.0), "delta must be"),
    ],
)
def test_scores_that_are_none_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        one_run_epsilon_lower_bound(*arguments)


@pytest.mark.parametrize("guesses", [0, 5, [], [2, 9]])
def test_guesses_that_are_none_are_refused(guesses):
    with pytest.raises(ValueError, match="guesses must be"):
        one_run_epsilon_lower_bound([1.0] * 4, [True] * 4, 0.0, guesses=guesses)


# --- canaries


def test_coins_are_fair_and_secret():
    heads = int(draw_canaries(100_000).sum())
    assert abs(heads - 50_000) < 5 * math.sqrt(25_000)
    assert (draw_canaries(64) != draw_canaries(64)).any()


def test_dirac_gradients_are_orthogonal():
    rows = dirac_gradients(20, 50, norm=0.25, dtype=np.float32, generator=seeded())
    assert rows.dtype == np.float32
    assert np.array_equal(rows @ rows.T, 0.0625 * np.eye(20))
    with pytest.raises(ValueError, match="count must be"):
        dirac_gradients(51, 50)


def test_mislabelled_records_have_any_other_label():
    labels = np.repeat(np.arange(4), 1000)
    wrong = mislabelled(labels, 4, seeded())
    assert (wrong != labels).all()
    counts = np.array([np.bincount(wrong[labels == k], minlength=4) for k in range(4)])
    assert (abs(counts[~np.eye(4, dtype=bool)] - 1000 / 3) < 100).all()
    for bad in ([0.5], [4], [-1]):
        with pytest.raises(ValueError, match="labels must be"):
            mislabelled(bad, 4)
