"""Lower bounds from runs: sound by themselves, below what is reported, and not far below."""

import importlib
import math
from functools import partial
from pathlib import Path
from statistics import NormalDist

import mpmath
import numpy as np
import pytest
from examples import audit as program
from scipy.stats import beta, binom
from sgd_states import seeded

from renyi import Gaussian, Laplace, PLDAccountant, special
from renyi._engine import largest_mean_upper, tail_bounds
from renyi.audit import (
    binomial_interval,
    dirac_gradients,
    draw_canaries,
    epsilon_lower_bound,
    mislabelled,
    mu_lower_bound,
    one_run_curve_p_value,
    one_run_epsilon_lower_bound,
    one_run_mu_lower_bound,
    one_run_p_value,
    one_run_parameter_bound,
    plot_attack,
)
from renyi.audit._rates import _allowed_by_epsilon, _Order, attack_band, attack_errors
from renyi.noise import SecureGenerator
from renyi.sgd import TrainingPlan

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


def exact_tail(n, p, k):
    """P[Bin(n, p) >= k] for a double p, to 50 digits."""
    with mpmath.workdps(60):
        p = mpmath.mpf(p)
        term = total = mpmath.binomial(n, k) * p**k * (1 - p) ** (n - k)
        for j in range(k, n):
            term = term * (n - j) / (j + 1) * p / (1 - p)
            total += term
            if term < total * mpmath.mpf(10) ** -50 and j > n * p:
                break
        return total


@pytest.mark.parametrize(
    ("k", "n"), [(1, 1), (3, 10), (10, 10), (50, 100), (999, 1000), (4321, 98765), (123, 10**7)]
)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999])
def test_the_interval_is_rounded_outward(k, n, confidence):
    low, high = binomial_interval(k, n, confidence=confidence)
    part = (1 - mpmath.mpf(confidence)) / 2
    assert exact_tail(n, low, k) <= part <= exact_tail(n, low * (1 + 1e-12), k)
    if k < n:
        assert 1 - exact_tail(n, high, k + 1) <= part <= 1 - exact_tail(n, high - 1e-12, k + 1)


@pytest.mark.parametrize(("n", "q"), [(1, 0.5), (60, 0.3), (1000, 0.9), (20_000, 0.731)])
def test_tails_hold_exact_ones(n, q):
    spread = math.sqrt(n * q * (1 - q))
    for deviations in (-8, -1, 0, 2, 20):
        k = min(max(round(n * q + deviations * spread), 1), n)
        low, high = tail_bounds(n, q, k)
        with mpmath.workdps(50):
            truth = exact_tail(n, q, k)
            slack = truth * mpmath.mpf(10) ** -45
            assert low - slack <= truth <= high + slack
        assert high <= low * (1 + 1e-12)


@pytest.mark.parametrize(("n", "q"), [(1, 0.5), (60, 0.3), (300, 0.1)])
def test_largest_means_hold_exact_ones(n, q):
    tails = [exact_tail(n, q, k) for k in range(min(n, 60) + 1)]
    for k in range(1, len(tails)):
        mean = max((tails[k - i] - tails[k]) / i for i in range(1, k + 1))
        assert mean <= largest_mean_upper(n, q, k) <= mean * (1 + 1e-12)


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


@pytest.mark.parametrize("threshold", [None, 1.0, [1.0, 0.0, 5.0]])
def test_a_bound_is_refuted_as_rarely_as_it_says(threshold):
    """Audits of randomized response, whose epsilon 1 is exact, at confidence 0.9."""
    rng, true = np.random.default_rng(1), math.e / (1 + math.e)
    wrong = 0
    for _ in range(100):
        yes, no = (np.where(rng.random(50) < p, 1.0, -1.0) for p in (true, 1 - true))
        wrong += epsilon_lower_bound(yes, no, 0.0, threshold=threshold, confidence=0.9) > 1.0
    assert wrong < 10 + 4 * math.sqrt(9)


def refuted(bound, truth, audits, seed=1):
    """How often the truth, of Gaussian scores one deviation apart, is below a lower bound."""
    rng = np.random.default_rng(seed)
    pairs = ((rng.normal(1.0, 1.0, 60), rng.normal(0.0, 1.0, 60)) for _ in range(audits))
    return sum(bound(*pair) > truth for pair in pairs)


def of_epsilon(threshold):
    truth = float(special.gaussian_epsilon(1.0, 0.2))
    return partial(epsilon_lower_bound, delta=0.2, threshold=threshold, confidence=0.8), truth


def of_mu(threshold):
    return partial(mu_lower_bound, threshold=threshold, confidence=0.8), 1.0


KINDS = [of_epsilon(None), of_epsilon([0.0, 0.5, 1.0]), of_mu(None), of_mu(0.5)]


@pytest.mark.parametrize(("bound", "truth"), KINDS)
@pytest.mark.parametrize("audits", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_chosen_thresholds_cost_no_confidence(bound, truth, audits):
    assert refuted(bound, truth, audits) < 0.2 * audits + 4 * math.sqrt(0.16 * audits)


def test_the_best_threshold_of_the_same_runs_would_cost_confidence():
    def best(present, absent):
        thresholds = np.unique(present)
        return max(
            epsilon_lower_bound(present, absent, 0.2, threshold=t, confidence=0.8)
            for t in thresholds[::10]
        )

    truth = float(special.gaussian_epsilon(1.0, 0.2))
    assert refuted(best, truth, 60) > 2 * refuted(of_epsilon([0.0, 0.5, 1.0])[0], truth, 60)


def test_opposite_verdicts_count_too():
    """Nine in ten runs without the record show something that no run with it shows."""
    present, absent = np.ones(2000), np.where(np.arange(2000) % 10 < 9, 0.0, 1.0)
    found = epsilon_lower_bound(present, absent, 0.01, threshold=0.5)
    assert found > math.log(0.8 / 0.01)


def test_a_gaussian_mechanism_is_known_at_any_delta():
    rng = np.random.default_rng(2)
    pair = rng.normal(2.0, 1.0, 4000), rng.normal(0.0, 1.0, 4000)
    mu = mu_lower_bound(*pair)
    assert 1.75 < mu < 2.0
    assert epsilon_lower_bound(*pair, 1e-6) < 0.9 * special.gaussian_epsilon_lower(mu, 1e-6)


@pytest.mark.parametrize("threshold", [None, -1.0, 0.5, 2.0])
def test_rates_of_nothing_and_of_all_bound_nothing(threshold):
    nothing = np.zeros(100)
    assert mu_lower_bound(nothing, nothing, threshold=threshold) == 0.0
    assert mu_lower_bound(np.ones(100), nothing, threshold=0.5) > 3.0


@pytest.mark.parametrize("bad", [math.nan, [], [[1.0]]])
def test_thresholds_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="threshold must be"):
        mu_lower_bound(np.zeros(4), np.zeros(4), threshold=bad)


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
        (1, 1, 0.7, 1500, None),  # one Gaussian step
        pytest.param(1, 4, 1.4, 3000, None, marks=pytest.mark.slow),  # a loop on full batches
        (2, 4, 0.7, 1500, None),  # on Poisson batches
        (1, 3, 1.2, 1200, 3.0),  # with a clipping norm that moves
    ],
)
def test_the_guarantee_holds_and_is_tight(records, steps, noise, runs, count_noise):
    plan = TrainingPlan(records, 1, noise_multiplier=noise, steps=steps)
    found = program.audit(plan, 0.2, runs, count_noise=count_noise, generator=seeded())
    assert 0.6 * found.reported < found.lower_bound <= found.reported


def test_an_optimiser_with_too_little_noise_is_caught():
    """The scores are those of a run with less noise than the plan reports."""
    plan = TrainingPlan(1, 1, noise_multiplier=1.4, steps=4)
    less = TrainingPlan(1, 1, noise_multiplier=0.8, steps=4)
    pair = [program.scores(less, there, 1000, generator=seeded(5)) for there in (True, False)]
    assert epsilon_lower_bound(*pair, 0.2) > plan.get_epsilon(0.2)


def test_one_run_bounds_epsilon_and_catches_too_little_noise():
    plans = [TrainingPlan(500, 500, noise_multiplier=z, steps=1) for z in (2.0, 0.2)]
    honest, careless = (program.one_run(plan, 1e-5, generator=seeded()) for plan in plans)
    assert 0.0 < honest.lower_bound <= honest.reported
    assert careless.lower_bound > honest.reported


def test_the_program_draws_and_takes_canaries(capsys, tmp_path):
    plot = str(tmp_path / "audit.png")
    assert program.main(["--canaries", "200", "--steps", "2", "--plot", plot]) == 0
    assert "200 canaries" in capsys.readouterr().out
    assert (tmp_path / "audit.png").stat().st_size > 5000


def test_the_program(capsys):
    assert program.main(["--runs", "300", "--steps", "2", "--sample-rate", "1"]) == 0
    out = capsys.readouterr().out
    assert "reported    epsilon = " in out
    assert "600 runs" in out
    for bad in (["--sample-rate", "0"], ["--delta", "2"], ["--runs", "3"], ["--steps", "0"]):
        assert program.main(bad) == 2
        assert "must be" in capsys.readouterr().err


def test_the_band_of_a_figure_holds_every_error_of_the_attack_as_often_as_it_says():
    at = np.linspace(0.0, 1.0, 1001)
    truth = special.gaussian_tradeoff(1.0, at)
    outside, tries, confidence = 0, 400, 0.8
    for seed in range(tries):
        rng = np.random.default_rng(seed)
        scores = rng.normal(1.0, 1.0, 150), rng.normal(0.0, 1.0, 200)
        alpha, low, high = attack_band(*scores, confidence)
        assert np.array_equal(alpha, at)
        measured, missed = attack_errors(*scores)
        assert np.all(np.interp(measured, at, high) + 1e-2 >= missed / 150)
        outside += bool(np.any((truth < low - 1e-12) | (truth > high + 1e-12)))
    assert outside <= (1.0 - confidence) * tries
    rng = np.random.default_rng(0)
    widths = []
    for runs in (1000, 100_000):
        _, low, high = attack_band(rng.normal(1.0, 1.0, runs), rng.normal(0.0, 1.0, runs), 0.95)
        widths.append(float(np.mean(high - low)))
    assert widths[1] < 0.03
    assert 8.0 < widths[0] / widths[1] < 12.0  # as the root of the number of runs


def test_a_figure_of_an_attack_shows_how_sure_it_is():
    pytest.importorskip("matplotlib").use("agg")
    rng = np.random.default_rng(1)
    scores = rng.normal(1.0, 1.0, 999), rng.normal(0.0, 1.0, 999)
    axes = plot_attack(*scores, PLDAccountant().compose(Gaussian(1.0)), confidence=0.9)
    assert "attack, 90 % confidence" in [t.get_text() for t in axes.get_legend().get_texts()]
    (band,) = axes.collections
    assert band.get_paths()[0].vertices.shape[0] > 1000


# --- one run with many canaries


def seeded_of_one_run(seed=1):
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
def test_counts_that_are_none_are_refused_of_one_run(numbers, message):
    m, r, v = numbers
    with pytest.raises(ValueError, match=message):
        one_run_p_value(1.0, 0.0, canaries=m, guesses=r, correct=v)


# --- scores


@pytest.mark.parametrize("guesses", [None, 400, [400, 100]])
@pytest.mark.parametrize("audits", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_bound_is_refuted_as_rarely_as_it_says_of_one_run(guesses, audits):
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
def test_scores_that_are_none_are_refused_of_one_run(arguments, message):
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
    rows = dirac_gradients(20, 50, norm=0.25, dtype=np.float32, generator=seeded_of_one_run())
    assert rows.dtype == np.float32
    assert np.array_equal(rows @ rows.T, 0.0625 * np.eye(20))
    with pytest.raises(ValueError, match="count must be"):
        dirac_gradients(51, 50)


def test_mislabelled_records_have_any_other_label():
    labels = np.repeat(np.arange(4), 1000)
    wrong = mislabelled(labels, 4, seeded_of_one_run())
    assert (wrong != labels).all()
    counts = np.array([np.bincount(wrong[labels == k], minlength=4) for k in range(4)])
    assert (abs(counts[~np.eye(4, dtype=bool)] - 1000 / 3) < 100).all()
    for bad in ([0.5], [4], [-1]):
        with pytest.raises(ValueError, match="labels must be"):
            mislabelled(bad, 4)


# --- the last bits of noisy sums


BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("low_bits")


def test_the_attack_works_on_floating_point_and_not_here(bench):
    reported = special.gaussian_epsilon_upper(1.0 / bench.SIGMA, bench.DELTA)
    found = {
        release: bench.bounds(*bench.scores(release, 10_000, 150))
        for release in (bench.floating, bench.rounded)
    }
    assert max(epsilon for epsilon, _ in found[bench.floating].values()) > 2 * reported
    for epsilon, mu in found[bench.rounded].values():
        assert epsilon <= reported
        assert mu <= 1.0 / bench.SIGMA


def test_every_entry_is_on_the_lattice_in_both_worlds(bench):
    spacing = bench.noise_lattice(bench.SIGMA)
    for rows in bench.worlds(10_000):
        assert (bench.rounded(rows) % spacing == 0.0).all()


# --- one run and a whole trade-off function


def quantiles(count):
    return np.array([NormalDist().inv_cdf((j + 0.5) / count) for j in range(count)])


@pytest.mark.parametrize(
    ("shift", "published"), [(1.0, 2.447454), (2.0, 5.300008), (4.0, 9.749234)]
)
def test_deterministic_scores_prove_the_known_mu(shift, published):
    """Forty numbers of guesses fixed beforehand, with the exact inverse in closed form."""
    scores = np.concatenate([quantiles(10_000) + shift, quantiles(10_000)])
    inside = np.arange(20_000) < 10_000
    guesses = np.unique(np.geomspace(10, 10_000, 40).astype(int))
    mu = one_run_mu_lower_bound(scores, inside, guesses=guesses, sides="in")
    assert 0.997 * published < special.gaussian_epsilon_lower(mu, 1e-6) < published


def test_the_recursion_is_that_of_the_theorem():
    """In 50 digits, with the trade-off function of a Gaussian in closed form."""

    def refuted(tau, mu, m, guesses, correct):
        right, wrong = tau * correct / m, tau * mpmath.mpf(guesses - correct) / m
        for i in range(correct - 1, -1, -1):
            if right + wrong > mpmath.mpf(guesses) / m:
                return True  # both only grow
            quantile = mpmath.sqrt(2) * mpmath.erfinv(2 * right - 1)
            least = max(wrong, mpmath.ncdf(quantile - mu))
            right += mpmath.mpf(i) / (guesses - i) * (least - wrong)
            wrong = least
        return right + wrong > mpmath.mpf(guesses) / m

    with mpmath.workdps(50):
        for mu, guesses, correct in ((0.5, 40, 36), (1.0, 30, 30), (2.0, 60, 59)):
            claim = PLDAccountant().compose(Gaussian(1.0 / mu))
            p = one_run_curve_p_value(claim, canaries=100, guesses=guesses, correct=correct)
            exact = (mpmath.mpf(p), mpmath.mpf(mu), 100, guesses, correct)
            assert refuted(*exact) or p == 1.0
            assert p == 1.0 or not refuted(exact[0] * 0.85, *exact[1:])


@pytest.mark.parametrize("sides", ["both", pytest.param("in", marks=pytest.mark.slow)])
@pytest.mark.parametrize("audits", [12, pytest.param(2000, marks=pytest.mark.slow)])
def test_the_true_mu_is_refuted_as_rarely_as_it_says(sides, audits):
    rng, wrong = np.random.default_rng(4), 0
    for _ in range(audits):
        inside = rng.random(100) < 0.5
        scores = rng.normal(0.0, 1.0, 100) + inside
        found = one_run_mu_lower_bound(
            scores, inside, guesses=[10, 30], sides=sides, confidence=0.8
        )
        wrong += found > 1.0
    assert wrong < 0.2 * audits + 4 * math.sqrt(0.16 * audits)


def test_a_curve_proves_more_than_one_point_of_it():
    rng = np.random.default_rng(3)
    inside = rng.random(300) < 0.5
    scores = rng.normal(0.0, 1.0, 300) + inside
    mu = one_run_mu_lower_bound(scores, inside)
    bound = special.gaussian_epsilon_lower(mu, 1e-5)
    assert one_run_epsilon_lower_bound(scores, inside, 1e-5) < bound < 4.377
    # The same by a family of mechanisms, and of one that is not Gaussian.
    noise = one_run_parameter_bound(scores, inside, Gaussian, (0.1, 100.0))
    assert noise == pytest.approx(1.0 / mu, rel=0.1)
    assert noise > 1.0
    noise = one_run_parameter_bound(scores, inside, lambda b: Laplace(b) * 4, (1.0, 100.0))
    assert 2.0 < noise < 100.0
    assert one_run_parameter_bound(scores, inside, Gaussian, (0.1, 0.2)) is None
    assert one_run_parameter_bound(scores, ~inside, Gaussian, (1.0, 2.0)) is None
    assert one_run_parameter_bound(inside * 1.0, inside, Gaussian, (9.0, 10.0)) == 9.0


def test_what_is_refused_of_one_run():
    with pytest.raises(ValueError, match="sides must be"):
        one_run_mu_lower_bound(np.ones(8), np.ones(8, bool), sides="out")
    replaced = PLDAccountant(adjacency="replace_one").compose(Gaussian(1.0))
    with pytest.raises(ValueError, match="accountant must have the adjacency"):
        one_run_curve_p_value(replaced, canaries=10, guesses=5, correct=5)
    assert one_run_mu_lower_bound(np.zeros(100), np.arange(100) < 50) == 0.0
    for between in ((5.0,), (1.0, math.nan), 5.0):
        with pytest.raises(ValueError, match="between must be two numbers"):
            one_run_parameter_bound(np.ones(8), np.ones(8, bool), Gaussian, between)


def test_a_search_ends_where_only_the_end_of_the_range_is_refuted():
    inside, asked = np.arange(200) < 100, []

    def mechanism(value):
        asked.append(value)
        return Gaussian(100.0 if value == 2.0 else 0.01)

    found = one_run_parameter_bound(inside * 1.0, inside, mechanism, (1.0, 2.0))
    assert found == pytest.approx(2.0)
    assert len(asked) < 30


# --- many runs, both errors together


def test_orders_of_the_same_law_are_refuted_as_the_hypergeometric_law_says():
    """At epsilon 0 ranks of all runs are equally likely, whatever the scores."""
    rng = np.random.default_rng(8)
    scores, others = rng.normal(0.5, 1.0, 40), rng.normal(size=30)
    for k in (4, 7, 15):
        order = _Order(scores, others, k)
        beaten = int((scores > np.sort(others)[-k]).sum())
        # So many of 40 beat the k-th of 30: k - 1 of the others are among those before it.
        exact = sum(
            math.comb(x + k - 1, x) * math.comb(40 - x + 30 - k, 40 - x) for x in range(beaten, 41)
        ) / math.comb(70, 30)
        claim = partial(_allowed_by_epsilon, delta=0.0)
        assert not order.refutes(claim, 0.0, exact)
        assert order.refutes(claim, 0.0, 1.3 * exact)


@pytest.mark.parametrize(("runs", "delta", "least"), [(1000, 0.01, 1.1), (10_000, 0.01, 1.7)])
def test_few_runs_prove_much(runs, delta, least):
    rng = np.random.default_rng(2)
    present, absent = rng.normal(1.0, 1.0, runs), rng.normal(0.0, 1.0, runs)
    truth = float(special.gaussian_epsilon_upper(1.0, delta))
    assert least < epsilon_lower_bound(present, absent, delta) < truth
    assert epsilon_lower_bound(-absent, -present, delta) > least
    assert epsilon_lower_bound(absent, present, delta) > least
