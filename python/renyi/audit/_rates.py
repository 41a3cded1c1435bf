r"""Many runs: exact intervals of a test's error rates, what they prove, and a figure of them.

Intervals of a probability are exact (Clopper, Pearson 1934, doi 10.1093/biomet/26.4.404).

If two neighbouring data sets differ by one record and a test tells their runs apart with true and
false positive rates (t, f), no epsilon below :math:`\log((t - \delta) / f)` can be right
(Kairouz, Oh, Viswanath 2015, arXiv 1311.0776, Theorem 2.1), nor one below that of the opposite
verdicts, :math:`\log((1 - f - \delta) / (1 - t))`. The rates are measured, so they are replaced by
the ends of exact confidence intervals, as in Jagielski, Ullman, Oprea 2020, arXiv 2006.07709.

A mechanism that is mu-Gaussian has :math:`\mu \ge \Phi^{-1}(t) - \Phi^{-1}(f)` (Dong, Roth, Su
2022, arXiv 1905.02383, Definition 2.6); Nasr et al. 2023, arXiv 2302.07956, audit by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi._engine import tail_bounds
from renyi._search import bisected
from renyi._validation import Range, count_of, integer_of, number_in, probability_of
from renyi.plot import Accountant, plot_tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scores = npt.NDArray[np.float64]
POINTS = 1001  # type I errors at which the band is drawn


def scores_of(values: Any, name: str) -> Scores:
    """Return at least four scores."""
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or scores.size < 4 or np.isnan(scores).any():
        raise ValueError(
            f"{name} must be a one-dimensional array of at least 4 numbers, got {values!r}"
        )
    return scores


def failing_of(confidence: Any) -> float:
    """Return the probability, rounded down, with which a bound may be wrong."""
    number = number_in(confidence, "confidence", Range(0.0, 1.0, "()"))
    return (1.0 - number) * (1.0 - 2.0**-52)  # two roundings


def binomial_interval(
    successes: int, trials: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return an interval that holds a probability, from how often it came true.

    Parameters
    ----------
    successes, trials : int
        Successes in [0, trials], trials in [1, 1e8].
    confidence : float
        In (0, 1): either end fails with probability at most (1 - confidence) / 2.

    Returns
    -------
    tuple of float
        Clopper and Pearson's, rounded outward.

    Raises
    ------
    TypeError, ValueError
        If a number is not as above.

    Examples
    --------
    >>> low, high = binomial_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4439, 0.9748)
    """
    total = integer_of(trials, "trials", 1)
    count = count_of(successes, "successes")
    if total > 10**8:
        raise ValueError(f"trials must be an integer in [1, 1e8], got {trials!r}")
    if count > total:
        raise ValueError(f"successes must be an integer in [0, {total}], got {successes!r}")
    return interval(count, total, failing_of(confidence))


def interval(successes: int, trials: int, failing: float) -> tuple[float, float]:
    """Return an interval of which either end fails with probability at most failing / 2."""
    low = _least_probability(successes, trials, 0.5 * failing)
    missed = _least_probability(trials - successes, trials, 0.5 * failing)
    return low, min(math.nextafter(1.0 - missed, 2.0), 1.0)


def _least_probability(successes: int, trials: int, failing: float) -> float:
    """Return a p, next to the largest, for which P[Bin(trials, p) >= successes] <= failing."""
    if successes == 0:
        return 0.0

    def likely(p: float) -> bool:
        return tail_bounds(trials, p, successes)[1] > failing

    return bisected(likely, 0.0, successes / trials, 2.0**-50)[0]


Value = Callable[[Any, Any], Scores]
"""What true positive rates, from below, and false ones, from above, prove."""

CANDIDATES = 1000  # thresholds among which the first half of the runs chooses


def epsilon_lower_bound(
    present: Any,
    absent: Any,
    delta: float,
    *,
    threshold: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> float:
    """Bound epsilon from below by how well scores tell runs with a record from runs without it.

    A run counts as one with the record if its score is at least the threshold. Without a threshold,
    the first half of the runs decides on one and on which data set scores higher, and the second
    half measures: the choice costs no confidence. Of several thresholds each has an equal share of
    the probability to fail (Bonferroni's inequality), and the best counts.

    Parameters
    ----------
    present, absent : array of shape (n,)
        A score of each independent run, at least 4, in the order of the runs: the higher, the more
        it looks as if the record were there. Best is the log-likelihood ratio of what was released.
    delta : float
        In [0, 1].
    threshold : float or array_like, optional
        Chosen before the runs. For log-likelihood ratios, the epsilon at ``delta`` that is believed
        to be the smallest is the best.
    confidence : float
        In (0, 1), of the bound.

    Returns
    -------
    float
        At least 0. An epsilon at ``delta`` that is smaller is refuted.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> with_it, without = rng.normal(1.0, 1.0, 100_000), rng.normal(0.0, 1.0, 100_000)
    >>> from renyi import Gaussian, PLDAccountant
    >>> truth = PLDAccountant().compose(Gaussian(1.0)).get_epsilon(1e-2)
    >>> bound = epsilon_lower_bound(with_it, without, 1e-2)
    >>> bool(0.75 * truth < bound < truth)
    True
    """
    value = partial(_epsilon, delta=probability_of(delta, "delta"))
    return _best(present, absent, threshold, confidence, value)


def mu_lower_bound(
    present: Any,
    absent: Any,
    *,
    threshold: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> float:
    """Bound the mu of Gaussian differential privacy from below by the same scores.

    For mechanisms that are mu-Gaussian for some mu: Gaussian noise, composed, without sampling.
    Then ``special.gaussian_epsilon_lower(mu, delta)`` bounds epsilon at any delta, also where
    ``delta`` times the number of runs is far below 1, where `epsilon_lower_bound` sees nothing. Of
    other mechanisms it refutes mu, and says nothing about epsilon.

    Parameters
    ----------
    present, absent, threshold, confidence
        As for `epsilon_lower_bound`.

    Returns
    -------
    float
        At least 0. A smaller mu is refuted.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> mu = mu_lower_bound(rng.normal(1.0, 1.0, 2000), rng.normal(0.0, 1.0, 2000), threshold=0.5)
    >>> bool(0.85 < mu < 1.0)
    True
    >>> float(special.gaussian_epsilon_lower(mu, 1e-6)) > 3.8
    True
    """
    return _best(present, absent, threshold, confidence, _mu)


def _best(
    present: Any, absent: Any, threshold: npt.ArrayLike | None, confidence: float, value: Value
) -> float:
    first, second = scores_of(present, "present"), scores_of(absent, "absent")
    failing = failing_of(confidence)
    if threshold is None:
        first, second, limits = _chosen_test(first, second, value)
    else:
        limits = _thresholds(threshold)
    each = failing / limits.size * (1.0 - 2.0**-52)
    return max(float(value(*_measured(first, second, limit, each))) for limit in limits)


def _measured(first: Scores, second: Scores, limit: float, failing: float) -> tuple[float, float]:
    """Return a true positive rate from below and a false positive rate from above."""
    hits, alarms = (int(np.count_nonzero(scores >= limit)) for scores in (first, second))
    return interval(hits, first.size, failing)[0], interval(alarms, second.size, failing)[1]


def _epsilon(true: Any, false: Any, *, delta: float) -> Scores:
    # Each numerator has two roundings of numbers up to 1, each ratio two, a logarithm a few.
    slack = 2.0**-52
    ratios = (
        np.maximum(true - delta - slack, slack) / false,
        np.maximum(1.0 - false - delta - slack, slack) / (1.0 - true),
    )
    best = np.log(np.maximum(*ratios))
    return np.asarray(np.maximum(best - 2.0**-49 * (1.0 + np.abs(best)), 0.0))


def _mu(true: Any, false: Any) -> Scores:
    """Return a mu next to the largest for which every test with these false alarms misses more."""
    missed = np.nextafter(1.0 - np.asarray(true), 2.0)
    inner = (np.clip(rate, 1e-300, 1.0 - 2.0**-53) for rate in (true, false))
    mu = np.subtract(*map(_quantile, inner)) * (1.0 - 1e-9) - 1e-9
    # Certified: the least type II error, f(alpha), falls with mu, so smaller ones miss still more.
    refuted = special.gaussian_tradeoff_lower(np.maximum(mu, 0.0), false) > missed
    return np.asarray(np.where(refuted & (mu > 0.0), mu, 0.0))


_quantile = np.vectorize(NormalDist().inv_cdf, otypes=[np.float64])


def _chosen_test(first: Scores, second: Scores, value: Value) -> tuple[Scores, Scores, Scores]:
    """Return the second halves, first those with the higher scores, and the best threshold."""
    tests = [(first, second), (second, first)]
    halves = [[np.array_split(scores, 2) for scores in test] for test in tests]
    found = [_best_threshold(a[0], b[0], value) for a, b in halves]
    best = max(range(len(tests)), key=lambda k: found[k][0])
    (_, positives), (_, negatives) = halves[best]
    return positives, negatives, np.array([found[best][1]])


def _best_threshold(positives: Scores, negatives: Scores, value: Value) -> tuple[float, float]:
    """Return the expectation less two standard errors, and the best threshold."""
    thresholds = np.unique(np.concatenate([positives, negatives]))
    picked = np.linspace(0, thresholds.size - 1, min(thresholds.size, CANDIDATES))
    # The tails decide where delta is small: all of the highest and lowest are candidates too.
    ends = np.arange(min(thresholds.size, CANDIDATES))
    thresholds = thresholds[np.unique(np.concatenate([picked.astype(int), ends, -1 - ends]))]
    hits = positives.size - np.searchsorted(np.sort(positives), thresholds)
    alarms = negatives.size - np.searchsorted(np.sort(negatives), thresholds)
    missed, quiet = positives.size - hits, negatives.size - alarms
    spread_of_hits = 2.0 * np.sqrt(np.minimum(hits, missed)) + 3.0 * (missed == 0)
    spread_of_alarms = 2.0 * np.sqrt(np.minimum(alarms, quiet)) + 3.0
    true = np.maximum(hits - spread_of_hits, 1e-9) / positives.size
    false = np.minimum(alarms + spread_of_alarms, negatives.size * (1.0 - 1e-9)) / negatives.size
    expected = value(true, false)
    best = int(np.argmax(expected))
    return float(expected[best]), float(thresholds[best])


def _thresholds(value: npt.ArrayLike) -> Scores:
    limits = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if limits.ndim != 1 or limits.size == 0 or np.isnan(limits).any():
        raise ValueError(f"threshold must be a number, or a list of them, got {value!r}")
    return limits


def plot_attack(
    present: Any,
    absent: Any,
    accountant: Accountant,
    *,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the errors of an attack at every threshold above the least that a guarantee allows.

    The attack is a line of measured rates within a band. Both errors of the attack at every
    threshold lie in the band together, with the confidence that is asked for; only a guarantee
    that lies above the band somewhere is refuted, not one above the line.

    Parameters
    ----------
    present, absent : array of shape (n,)
        Scores of independent runs, as for `epsilon_lower_bound`. Those of the canaries of one run
        depend on each other: their line may be drawn, and proves nothing.
    accountant : PLDAccountant or RDPAccountant
        What was reported.
    confidence : float
        In (0, 1), of the whole band, by the inequality of Dvoretzky, Kiefer and Wolfowitz for
        either kind of runs (with the constant of Massart 1990, doi 10.1214/aop/1176990746). Where
        few runs decide, near both ends, `epsilon_lower_bound` sees more.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        With the lines in it.

    Raises
    ------
    ImportError
        Without matplotlib.

    Examples
    --------
    >>> from renyi import Gaussian, PLDAccountant
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.normal(1.0, 1.0, 999), rng.normal(0.0, 1.0, 999)
    >>> plot_attack(*scores, PLDAccountant().compose(Gaussian(1.0)))  # doctest: +SKIP
    """
    first, second = scores_of(present, "present"), scores_of(absent, "absent")
    axes = plot_tradeoff(accountant, labels=["guarantee"], ax=ax)
    alpha, missed = attack_errors(first, second)
    axes.plot(alpha, missed / first.size, color="#D55E00", linewidth=1.2, label="attack")
    axes.fill_between(
        *attack_band(first, second, confidence),
        color="#D55E00",
        alpha=0.2,
        linewidth=0.0,
        label=f"attack, {100.0 * confidence:g} % confidence",
    )
    axes.legend(frameon=False, loc="upper right")
    return axes


def attack_errors(
    present: npt.NDArray[np.float64], absent: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the type I error and the number of missed records at every threshold."""
    limits = np.unique(np.concatenate([present, absent]))[::-1]
    quiet = np.searchsorted(np.sort(absent), limits)
    missed = np.searchsorted(np.sort(present), limits)
    alpha = np.concatenate([[0.0], 1.0 - quiet / absent.size])
    return alpha, np.concatenate([[present.size], missed])


def attack_band(
    present: npt.NDArray[np.float64], absent: npt.NDArray[np.float64], confidence: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return type I errors, and between which numbers the type II error lies at all of them.

    Each empirical distribution is off by more than sqrt(log(2/f) / (2n)) anywhere with probability
    at most f, half of what may fail. Then a threshold of type I error a has a measured one within
    a -+ w, and as one falls where the other rises, the type II errors measured there, of least and
    of largest, widened by their own w.
    """
    depth = math.log(4.0 / failing_of(confidence))
    off_alpha, off_beta = (math.sqrt(0.5 * depth / runs.size) for runs in (absent, present))
    alpha, missed = attack_errors(present, absent)
    beta = missed / present.size
    at = np.linspace(0.0, 1.0, POINTS)
    first = np.searchsorted(alpha, at - off_alpha)  # the smallest measured type I error
    last = np.searchsorted(alpha, at + off_alpha, side="right") - 1
    low = np.maximum(beta[last] - off_beta, 0.0)
    high = np.minimum(beta[np.minimum(first, beta.size - 1)] + off_beta, 1.0)
    return at, low, high
