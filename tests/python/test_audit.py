"""Lower bounds from runs: sound by themselves, below what is reported, and not far below."""

import importlib
import math
from pathlib import Path
from statistics import NormalDist

import mpmath
import numpy as np
import pytest
from each import refused
from examples import audit as program
from scipy.stats import binom
from sgd_states import seeded

from renyi import Gaussian, Laplace, PLDAccountant, RDPAccountant, special
from renyi._engine import tail_bounds
from renyi._search import bisected
from renyi.audit import (
    ManyRuns,
    OneRun,
    SequentialRuns,
    binomial_interval,
    dirac_gradients,
    draw_canaries,
    mislabelled,
    plot_attack,
    plot_power,
)
from renyi.audit._claims import Curve
from renyi.audit._figures import attack_band, attack_errors
from renyi.audit._many_runs import _Order, looks
from renyi.audit._one_run import _Guesses
from renyi.noise import SecureGenerator
from renyi.sgd import TrainingPlan

# --- the statistics


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
    assert binomial_interval(0, n, confidence=confidence)[0] == 0.0
    assert high < 1.0 if k < n else high == 1.0
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


# --- what is true is refuted as rarely as it says: rows of bench/audit.py


BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


@pytest.mark.parametrize("row", range(10))
@pytest.mark.parametrize("audits", [8, pytest.param(2000, marks=pytest.mark.slow)])
def test_what_is_true_is_refuted_as_rarely_as_it_says(bench, row, audits):
    program = bench("audit")
    assert len(program.NULLS) == 10
    assert program.wrong(program.NULLS[row], audits) <= program.most(audits)


def test_opposite_verdicts_count_too():
    """Nine in ten runs without the record show something that no run with it shows."""
    present, absent = np.ones(2000), np.where(np.arange(2000) % 10 < 9, 0.0, 1.0)
    found = ManyRuns(present, absent, threshold=0.5).epsilon_lower_bound(0.01)
    assert found > math.log(0.8 / 0.01)


def test_a_gaussian_mechanism_is_known_at_any_delta():
    rng = np.random.default_rng(2)
    pair = rng.normal(2.0, 1.0, 4000), rng.normal(0.0, 1.0, 4000)
    audit = ManyRuns(*pair)
    mu = audit.mu_lower_bound()
    assert 1.75 < mu < 2.0
    assert audit.epsilon_lower_bound(1e-6) < 0.9 * special.gaussian_epsilon_lower(mu, 1e-6)


@pytest.mark.parametrize("threshold", [None, -1.0, 0.5, 2.0])
def test_rates_of_nothing_and_of_all_bound_nothing(threshold):
    nothing = np.zeros(100)
    assert ManyRuns(nothing, nothing, threshold=threshold).mu_lower_bound() == 0.0
    assert ManyRuns(np.ones(100), nothing, threshold=0.5).mu_lower_bound() > 3.0


def test_scores_that_say_nothing_bound_nothing():
    scores = np.random.default_rng(1).normal(size=1000)
    assert ManyRuns(scores, scores).epsilon_lower_bound(0.01) < 0.2
    assert ManyRuns(np.zeros(4), np.zeros(4)).epsilon_lower_bound(0.0) == 0.0
    assert ManyRuns(np.ones(100), np.zeros(100), threshold=0.5).epsilon_lower_bound(1.0) == 0.0


# --- the optimiser under attack


@pytest.mark.parametrize(
    ("records", "steps", "noise", "count_noise"),
    [
        pytest.param(1, 1, 0.7, None, marks=pytest.mark.slow),  # one Gaussian step
        pytest.param(1, 4, 1.4, None, marks=pytest.mark.slow),  # a loop on full batches
        (2, 4, 0.7, None),  # on Poisson batches
        (1, 3, 1.2, 3.0),  # with a clipping norm that moves
    ],
)
@pytest.mark.parametrize(
    ("runs", "share"), [(300, 0.2), pytest.param(4000, 0.6, marks=pytest.mark.slow)]
)
def test_the_guarantee_holds_and_is_tight(records, steps, noise, count_noise, runs, share):
    plan = TrainingPlan(records, 1, noise_multiplier=noise, steps=steps)
    found = program.audit(plan, 0.2, runs, count_noise=count_noise, generator=seeded())
    assert share * found.reported < found.lower_bound <= found.reported


def test_an_optimiser_with_too_little_noise_is_caught():
    """The scores are those of a run with less noise than the plan reports."""
    plan = TrainingPlan(1, 1, noise_multiplier=1.4, steps=2)
    less = TrainingPlan(1, 1, noise_multiplier=0.7, steps=2)
    pair = [program.scores(less, there, 500, generator=seeded(5)) for there in (True, False)]
    assert ManyRuns(*pair).epsilon_lower_bound(0.2) > plan.get_epsilon(0.2)


def test_the_program(capsys, tmp_path):
    plot = tmp_path / "audit.png"
    few = ["--runs", "300", "--steps", "2", "--sample-rate", "1", "--plot", str(plot)]
    assert program.main(few) == 0
    assert plot.stat().st_size > 5000
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
        assert np.all(low <= high)
        outside += bool(np.any((truth < low - 1e-12) | (truth > high + 1e-12)))
    assert outside <= (1.0 - confidence) * tries
    rng = np.random.default_rng(0)
    widths = []
    for runs in (1000, 100_000):
        _, low, high = attack_band(rng.normal(1.0, 1.0, runs), rng.normal(0.0, 1.0, runs), 0.95)
        widths.append(float(np.mean(high - low)))
    assert widths[1] < 0.03
    assert 8.0 < widths[0] / widths[1] < 12.0  # as the root of the number of runs


@pytest.mark.parametrize("values", [1, 2, 5])
def test_the_band_of_equal_scores_refutes_nothing_that_is_true(values):
    rng = np.random.default_rng(1)
    for runs in (100, 100_000):
        alpha, low, high = attack_band(*rng.integers(0, values, (2, runs)), 0.95)
        assert np.all(low <= high)
        assert np.all(1.0 - alpha <= high)  # the trade-off function of runs that are all alike


def test_a_figure_of_an_attack_shows_how_sure_it_is():
    pytest.importorskip("matplotlib").use("agg")
    rng = np.random.default_rng(1)
    scores = rng.normal(1.0, 1.0, 999), rng.normal(0.0, 1.0, 999)
    axes = plot_attack(*scores, PLDAccountant().compose(Gaussian(1.0)), confidence=0.9)
    assert "attack, 90 % confidence" in [t.get_text() for t in axes.get_legend().get_texts()]
    (band,) = axes.collections
    assert band.get_paths()[0].vertices.shape[0] > 1000


# --- arguments that are none

SECRET = np.arange(100_000) % 3 == 0
CLAIM = PLDAccountant().compose(Gaussian(1.0))
FOUR, COLUMN, HOLED = np.zeros(4), np.zeros((4, 1)), np.array([1, 2, 3, math.nan])


def counts(*arguments, **settings):
    return lambda _: binomial_interval(*arguments, **settings)


def many(present=FOUR, absent=FOUR, **settings):
    return lambda _: ManyRuns(present, absent, **settings)


def bounding(*between):
    return lambda audit: audit.parameter_bound(Gaussian, between)


def one(scores=(1.0,) * 4, included=(True,) * 4, **settings):
    return lambda _: OneRun(scores, included, **settings)


REFUSED = {
    ValueError: [
        (counts(1, 0), "trials must be"),
        (counts(1, 10**9), "trials must be"),
        (counts(-1, 3), "successes must be"),
        (counts(4, 3), "successes must be an integer in"),
        (counts(1, 2, confidence=1.0), "confidence must be"),
        *((many(threshold=bad), "threshold must be") for bad in (math.nan, [], [[1.0]])),
        *((bounding(*bad), "between must be two") for bad in ((5.0,), (1.0, math.nan))),
        (lambda a: a.parameter_bound(Gaussian, 5.0), "between must be two"),
        *((many(present=bad), "present must be") for bad in (np.zeros(3), COLUMN, HOLED)),
        *((many(absent=bad), "absent must be") for bad in (np.zeros(3), COLUMN, HOLED)),
        (many([[1], [2, 3]], [1] * 4), "of unequal length"),
        (one(included=[True] * 3), "included must be booleans"),
        (one(included=[1, 0, 1, 0]), "included must be booleans"),
        (one([math.nan] * 4), "scores must be"),
        (one([1.0], [True]), "scores must be"),
        (one(["a"] * 4), "scores must be"),
        (one({1: 1.0}, [True]), "included must have the identifiers"),
        (one(dict.fromkeys(range(4), 1.0), dict.fromkeys(range(5), True)), "got 4 once"),
        *((one(guesses=guesses), "guesses must be") for guesses in (0, 5, [], [2, 9])),
        (one(sides="out"), "sides must be"),
        *((lambda _, x=x: mislabelled(x, 4), "labels must be") for x in ([0.5], [4], [-1])),
        (lambda _: dirac_gradients(2, 3, math.inf), "norm must be"),
        (lambda _: dirac_gradients(2, 3, -1.0), "norm must be"),
        (lambda _: dirac_gradients(51, 50), "count must be"),
    ],
    TypeError: [
        (counts(1.5, 3), "successes must be"),
        (lambda a: a.p_value([1.0, 1e-5]), "claim must be an accountant, or a tuple"),
        (lambda a: a.p_value((1.0,)), "claim must be an accountant, or a tuple"),
        (lambda a: a.refutes((1.0, 1e-5, 3)), "claim must be an accountant, or a tuple"),
        (lambda a: a.times_refuted(CLAIM, 1.0, 2), "truth must be an accountant"),
        (lambda a: a.times_refuted(CLAIM, CLAIM, 2, generator=5), "generator must be"),
        (many(threshold="x"), "threshold must be"),
        (bounding(1.0, [2, 3]), "between must be two"),
        (lambda a: plot_power(a, CLAIM, [], 0.1), "truths, at least one, must be"),
        (lambda a: plot_power(a, CLAIM, [(1.0, 0.1)], 0.1), "must be PLDAccountant"),
        (lambda a: plot_power(a, (1.0, 0.1), [CLAIM], 0.1), "must be PLDAccountant"),
        (lambda _: draw_canaries(10, 5), "generator must be .* got 5"),
        (lambda _: mislabelled([0, 1], 2, 7), "generator must be .* got 7"),
        (lambda _: dirac_gradients(2, 3, 0.5, dtype=int), "dtype must be"),
    ],
}
AUDIT = ManyRuns(np.ones(8), np.zeros(8))
test_arguments_that_are_none_are_named = refused(REFUSED, lambda call: call(AUDIT))


@pytest.mark.parametrize(
    ("scores", "included"),
    [
        ([math.nan, *range(99_999)], SECRET),
        (SECRET, SECRET.tolist() * 2),
        (dict(enumerate(SECRET)), SECRET.tolist()),
    ],
)
def test_messages_are_short_and_tell_no_coin(scores, included):
    with pytest.raises(ValueError, match=r"must .* got") as raised:
        OneRun(scores, included)
    assert len(str(raised.value)) < 200
    assert "True" not in str(raised.value)


def test_generators_of_either_kind_and_truths_of_any_iterable():
    pytest.importorskip("matplotlib").use("agg")
    coins = draw_canaries(50, SecureGenerator(insecure_reproducible=1))
    assert np.array_equal(coins, draw_canaries(50, seeded_of_one_run()))
    made = ManyRuns(np.ones(8), np.zeros(8))
    axes = plot_power(
        made, CLAIM, iter([CLAIM, CLAIM]), 0.1, repeats=2, generator=SecureGenerator()
    )
    assert len(axes.get_lines()[0].get_xdata()) == 2


# --- one run with many canaries


def seeded_of_one_run(seed=1):
    return SecureGenerator(insecure_reproducible=seed).numpy_generator()


def test_many_canaries_come_near_the_truth():
    rng, delta = np.random.default_rng(1), 1e-5
    inside = draw_canaries(20_000, rng)
    audit = OneRun(inside + rng.normal(0.0, 1.0, 20_000), inside)
    bound = audit.epsilon_lower_bound(delta)
    assert 2.1 < bound < special.gaussian_epsilon(1.0, delta)
    assert OneRun(rng.normal(size=20_000), inside).epsilon_lower_bound(delta) < 0.1


def test_equal_scores_tell_nothing_whatever_their_order():
    inside = np.arange(1000) < 500
    for order in (inside, inside[::-1]):
        assert OneRun(np.zeros(1000), order).epsilon_lower_bound(0.0) == 0.0
    clear = np.where(inside, 1.0, 0.0)
    assert OneRun(clear, inside).epsilon_lower_bound(0.0) > 4.0
    assert OneRun(clear, ~inside).epsilon_lower_bound(0.0) == 0.0


def test_canaries_are_joined_by_their_identifiers():
    rng = np.random.default_rng(1)
    inside = rng.random(200) < 0.5
    scores = rng.normal(size=200) + 3.0 * inside
    names = [f"canary {k}" for k in rng.permutation(200)]
    told = dict(sorted(zip(names, inside, strict=True)))
    found = OneRun(dict(zip(names, scores, strict=True)), told).mu_lower_bound()
    assert found == OneRun(scores, inside).mu_lower_bound() > 0.5


@pytest.mark.parametrize("kind", [ManyRuns, OneRun])
def test_scores_of_any_kind(kind):
    """Infinite scores, few distinct ones, lists, integers and single precision; extreme levels."""
    rng = np.random.default_rng(1)
    there = np.arange(200) < 100
    scores = rng.integers(0, 4, 200) + 3 * there
    scored = [scores, scores.astype(np.float32), scores.tolist()]
    scored.append(np.where(scores == 6, math.inf, np.where(scores == 0, -math.inf, scores)))

    def audit(each):
        each = np.array(each) if kind is ManyRuns else each
        return OneRun(each, there) if kind is OneRun else ManyRuns(each[there], each[~there])

    found = {audit(each).epsilon_lower_bound(1e-5) for each in scored}
    assert len(found) == 1
    made = audit(scores)
    assert made.epsilon_lower_bound(0.0) <= made.epsilon_lower_bound(1e-300) + 1e-9
    assert made.epsilon_lower_bound(1e-300) < math.inf
    sure, doubtful = (made.mu_lower_bound(confidence=c) for c in (1.0 - 1e-12, 0.5))
    assert 0.0 <= sure < doubtful
    assert made.p_value((0.0, 1.0)) == made.p_value((700.0, 0.0)) == 1.0


def test_all_canaries_or_none_included():
    rng = np.random.default_rng(1)
    for inside in (np.ones(40, bool), np.zeros(40, bool)):
        assert OneRun(rng.normal(size=40), inside).mu_lower_bound() == 0.0


# --- canaries


def test_coins_are_fair_and_secret():
    heads = int(draw_canaries(100_000).sum())
    assert abs(heads - 50_000) < 5 * math.sqrt(25_000)
    assert (draw_canaries(64) != draw_canaries(64)).any()


def test_dirac_gradients_are_orthogonal():
    rows = dirac_gradients(20, 50, norm=0.25, dtype=np.float32, generator=seeded_of_one_run())
    assert rows.dtype == np.float32
    assert np.array_equal(rows @ rows.T, 0.0625 * np.eye(20))


def test_mislabelled_records_have_any_other_label():
    labels = np.repeat(np.arange(4), 1000)
    wrong = mislabelled(labels, 4, seeded_of_one_run())
    assert (wrong != labels).all()
    counts = np.array([np.bincount(wrong[labels == k], minlength=4) for k in range(4)])
    assert (abs(counts[~np.eye(4, dtype=bool)] - 1000 / 3) < 100).all()


# --- the last bits of noisy sums


def test_the_attack_works_on_floating_point_and_not_here(bench):
    bench = bench("low_bits")
    reported = special.gaussian_epsilon_upper(1.0 / bench.SIGMA, bench.DELTA)
    found = {
        release: bench.bounds(*bench.scores(release, 10_000, 150))
        for release in (bench.floating, bench.rounded)
    }
    assert max(epsilon for epsilon, _ in found[bench.floating].values()) > 2 * reported
    for epsilon, mu in found[bench.rounded].values():
        assert epsilon <= reported
        assert mu <= 1.0 / bench.SIGMA


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
    mu = OneRun(scores, inside, guesses=guesses, sides="in").mu_lower_bound()
    assert 0.9995 * published < special.gaussian_epsilon_lower(mu, 1e-6) < published


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
            curve, found = Curve.of(claim), _Guesses(100, guesses, correct)
            p = bisected(lambda tau, c=curve, f=found: f.refutes(c, tau), 1e-12, 1.0, 1e-9)[1]
            exact = (mpmath.mpf(p), mpmath.mpf(mu), 100, guesses, correct)
            assert refuted(*exact)
            assert not refuted(exact[0] * 0.99, *exact[1:])


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.01])
def test_the_recursion_holds_what_private_mechanisms_do(epsilon, delta):
    """Each coin by randomized response, told outright with probability delta; or all at once."""
    m, v, right = 80, np.arange(81), 1.0 / (1.0 + math.exp(-epsilon))
    told = binom.sf(v - 1, m, delta + (1.0 - delta) * right)
    at_once = delta + (1.0 - delta) * binom.sf(v - 1, m, right)
    curve = Curve.of_pair(epsilon, delta)
    for correct, tail in enumerate(np.maximum(told, at_once) * (1.0 - 1e-9)):
        assert not _Guesses(m, m, correct).refutes(curve, tail)


def test_a_curve_proves_more_than_one_point_of_it():
    rng = np.random.default_rng(3)
    inside = rng.random(1000) < 0.5
    audit = OneRun(rng.normal(0.0, 1.0, 1000) + inside, inside)
    mu = audit.mu_lower_bound()
    bound = special.gaussian_epsilon_lower(mu, 1e-5)
    assert audit.epsilon_lower_bound(1e-5) < bound < 4.377
    # The same by a family of mechanisms, and of one that is not Gaussian.
    noise = audit.parameter_bound(Gaussian, (0.5, 8.0))
    assert noise == pytest.approx(1.0 / mu, rel=0.005)
    noise = audit.parameter_bound(Laplace, (0.1, 10.0))
    assert 0.5 < noise < 10.0
    assert audit.parameter_bound(Gaussian, (0.1, 0.2)) is None
    clear = OneRun(inside * 1.0, inside)
    assert clear.parameter_bound(Gaussian, (9.0, 10.0)) == 9.0


@pytest.mark.parametrize("accountant", [PLDAccountant, RDPAccountant])
def test_p_values_are_of_the_whole_curve(accountant):
    rng = np.random.default_rng(3)
    inside = rng.random(1000) < 0.5
    scores = rng.normal(0.0, 1.0, 1000) + 2.0 * inside  # the noise multiplier is 1/2
    truth, noisier = (accountant().compose(Gaussian(sigma)) for sigma in (0.5, 2.0))
    audits = [OneRun(scores, inside), ManyRuns(scores[inside], scores[~inside])]
    for audit in audits[: 1 if accountant is RDPAccountant else 2]:
        assert audit.p_value(truth) == 1.0
        found = audit.p_value(noisier)
        assert found < 1e-5
        assert found < audit.p_value((noisier.get_epsilon(1e-5), 1e-5))
        assert audit.refutes((1.0, 1e-5))
    replaced = accountant(adjacency="replace_one").compose(Gaussian(1.0))
    with pytest.raises(ValueError, match="claim must have the adjacency"):
        audits[0].p_value(replaced)


@pytest.mark.parametrize("mu", [1e-6, 0.3, 2.0, 8.0])
def test_lines_of_a_claim_lie_on_the_right_side_of_it(mu):
    """Against the closed form in 50 digits, and near it."""
    curve = Curve.of_gaussian(mu)
    with mpmath.workdps(50):
        for rate in (1e-9, 1e-4, 0.03, 0.5, 0.9, 1.0 - 1e-6):
            quantile = mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(rate) - 1)
            missed, allowed = mpmath.ncdf(quantile - mu), mpmath.ncdf(quantile + mu)
            assert missed * 0.99 - 1e-12 <= curve.missed(rate) <= missed
            assert allowed <= float(curve.allowed(np.array([rate]))[0]) <= allowed * 1.01


def test_a_search_ends_where_only_the_end_of_the_range_is_refuted():
    inside, asked = np.arange(200) < 100, []

    def mechanism(value):
        asked.append(value)
        return Laplace(100.0 if value == 2.0 else 0.01)

    found = OneRun(inside * 1.0, inside).parameter_bound(mechanism, (1.0, 2.0))
    assert found == pytest.approx(2.0)
    assert len(asked) < 30


# --- runs that may stop early


def test_looks_at_more_runs_never_prove_less():
    rng = np.random.default_rng(5)
    present, absent = rng.normal(2.0, 1.0, 300), rng.normal(0.0, 1.0, 300)
    bounds = [SequentialRuns(present[:n], absent[:n]).mu_lower_bound() for n in (15, 22, 23, 91)]
    assert bounds[0] == 0.0
    assert bounds == sorted(bounds)
    assert bounds[1] == SequentialRuns(present[:16], absent[:16]).mu_lower_bound()
    assert 0.7 < bounds[-1] < 2.0
    assert looks(91) == [16, 23, 32, 46, 64, 91]


# --- how large a violation would have been found


def test_the_power_is_that_of_audits_of_the_same_size():
    rng = np.random.default_rng(7)
    claim, truth = (PLDAccountant().compose(Gaussian(sigma)) for sigma in (2.0, 1.0))
    inside = rng.random(400) < 0.5
    audit = OneRun(inside * 1.0, inside, guesses=[100, 200])
    powers = [audit.times_refuted(claim, real, 150, generator=rng) / 150 for real in (claim, truth)]
    assert powers[0] < 0.1
    found = 0
    for _ in range(150):  # drawn as Gaussian scores
        inside = rng.random(400) < 0.5
        scores = rng.normal(size=400) + inside
        found += OneRun(scores, inside, guesses=[100, 200]).refutes(claim)
    assert abs(found / 150 - powers[1]) < 4 * math.sqrt(2 * 0.25 / 150)


def test_a_figure_of_power(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    rng = np.random.default_rng(1)
    audit = ManyRuns(rng.normal(1.0, 1.0, 99), rng.normal(0.0, 1.0, 99))
    claim, *truths = (PLDAccountant().compose(Gaussian(s)) for s in (1.0, 0.5, 0.3))
    axes = plot_power(audit, claim, [claim, *truths], 1e-2, repeats=10, confidence=0.9)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[1:] == ["90 % confidence", "lower bound of ε found", "reported ε"]
    (band,) = axes.collections
    assert axes.get_lines()[0].get_ydata()[-1] > axes.get_lines()[0].get_ydata()[0]
    assert len(band.get_paths()) == 1


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
        assert not order.refutes(Curve.of_pair(0.0, 0.0), exact)
        assert order.refutes(Curve.of_pair(0.0, 0.0), 1.3 * exact)


@pytest.mark.parametrize(("runs", "delta", "least"), [(1000, 0.01, 1.1), (4000, 0.01, 1.4)])
def test_few_runs_prove_much(runs, delta, least):
    rng = np.random.default_rng(2)
    present, absent = rng.normal(1.0, 1.0, runs), rng.normal(0.0, 1.0, runs)
    truth = float(special.gaussian_epsilon_upper(1.0, delta))
    for pair in ((present, absent), (-absent, -present), (absent, present)):
        assert least < ManyRuns(*pair).epsilon_lower_bound(delta) < truth
