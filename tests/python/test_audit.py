"""Lower bounds from runs: sound by themselves, below what is reported, and not far below."""

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from renyi import Gaussian, PLDAccountant
from renyi.audit import binomial_interval, epsilon_lower_bound
from renyi.examples import audit as program
from renyi.sgd import SecureGenerator, TrainingPlan


def seeded(seed=1):
    return SecureGenerator(insecure_reproducible=seed)


# --- the statistics


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999])
@pytest.mark.parametrize(
    ("k", "n"), [(0, 1), (1, 1), (0, 10), (3, 10), (1, 10**6), (10**6 - 1, 10**6), (4321, 98765)]
)
def test_the_interval_is_that_of_clopper_and_pearson(k, n, confidence):
    low, high = binomial_interval(k, n, confidence=confidence)
    part = (1 - confidence) / 2
    assert low == pytest.approx(beta.ppf(part, k, n - k + 1) if k else 0.0, rel=1e-8)
    assert high == pytest.approx(beta.isf(part, k + 1, n - k) if k < n else 1.0, rel=1e-8)


def test_the_interval_holds_the_probability_as_often_as_it_says():
    for p in (0.003, 0.2, 0.5):
        counts = np.arange(61)
        ends = np.array([binomial_interval(int(k), 60, confidence=0.9) for k in counts])
        misses = binom.pmf(counts, 60, p)[(ends[:, 0] > p) | (ends[:, 1] < p)].sum()
        assert misses <= 0.1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, 0), ValueError, "trials must be"),
        ((-1, 3), ValueError, "successes must be"),
        ((4, 3), ValueError, "successes must be an integer in"),
        ((1.5, 3), TypeError, "successes must be"),
        ((1, 10**9), ValueError, "trials must be"),
    ],
)
def test_counts_that_are_none_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        binomial_interval(*arguments)
    with pytest.raises(ValueError, match="confidence must be"):
        binomial_interval(1, 2, confidence=1.0)


@pytest.mark.parametrize("threshold", [None, 1.0])
def test_a_bound_is_refuted_as_rarely_as_it_says(threshold):
    """Audits of randomized response, whose epsilon 1 is exact, at confidence 0.9."""
    rng, true = np.random.default_rng(1), math.e / (1 + math.e)
    wrong = 0
    for _ in range(250):
        yes, no = (np.where(rng.random(50) < p, 1.0, -1.0) for p in (true, 1 - true))
        wrong += epsilon_lower_bound(yes, no, 0.0, threshold=threshold, confidence=0.9) > 1.0
    assert wrong < 25 + 4 * math.sqrt(22.5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_sense_of_a_score_is_found(sign, swapped):
    rng = np.random.default_rng(3)
    pair = [sign * rng.normal(1.0, 1.0, 40_000), sign * rng.normal(0.0, 1.0, 40_000)]
    truth = PLDAccountant().compose(Gaussian(1.0)).get_epsilon(0.1)
    assert 0.8 * truth < epsilon_lower_bound(*(pair[::-1] if swapped else pair), 0.1) < truth


def test_scores_that_say_nothing_bound_nothing():
    scores = np.random.default_rng(1).normal(size=1000)
    assert epsilon_lower_bound(scores, scores, 0.01) < 0.2
    assert epsilon_lower_bound(np.zeros(4), np.zeros(4), 0.0) == 0.0
    assert epsilon_lower_bound(np.ones(100), np.zeros(100), 1.0, threshold=0.5) == 0.0


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((4, 1)), np.array([1, 2, 3, math.nan])])
def test_scores_that_are_none_are_refused(bad):
    for name, pair in (("present", (bad, np.zeros(4))), ("absent", (np.zeros(4), bad))):
        with pytest.raises(ValueError, match=f"{name} must be"):
            epsilon_lower_bound(*pair, 0.1)


# --- the optimiser under attack


@pytest.mark.parametrize(
    ("records", "steps", "noise", "runs", "count_noise"),
    [
        (1, 1, 0.7, 4000, None),  # one Gaussian step
        (1, 4, 1.4, 3000, None),  # a loop on full batches
        (2, 4, 0.7, 4000, None),  # on Poisson batches
        (1, 3, 1.2, 3000, 3.0),  # with a clipping norm that moves
    ],
)
def test_the_guarantee_holds_and_is_tight(records, steps, noise, runs, count_noise):
    plan = TrainingPlan(records, 1, noise_multiplier=noise, steps=steps)
    found = program.audit(plan, 0.2, runs, count_noise=count_noise, generator=seeded())
    assert 0.75 * found.reported < found.lower_bound <= found.reported


def test_an_optimiser_with_too_little_noise_is_caught():
    """The scores are those of a run with less noise than the plan reports."""
    plan = TrainingPlan(1, 1, noise_multiplier=1.4, steps=4)
    less = TrainingPlan(1, 1, noise_multiplier=1.0, steps=4)
    pair = [program.scores(less, there, 3000, generator=seeded(5)) for there in (True, False)]
    assert epsilon_lower_bound(*pair, 0.2) > plan.get_epsilon(0.2)


def test_the_program(capsys):
    assert program.main(["--runs", "300", "--steps", "2", "--sample-rate", "1"]) == 0
    out = capsys.readouterr().out
    assert "reported    epsilon = " in out
    assert "600 runs" in out
    for bad in (["--sample-rate", "0"], ["--delta", "2"], ["--runs", "3"], ["--steps", "0"]):
        assert program.main(bad) == 2
        assert "must be" in capsys.readouterr().err
