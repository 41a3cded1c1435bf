r"""What an attack on many runs proves about epsilon: a lower bound for the reported one.

If two neighbouring data sets differ by one record and a test tells their runs apart with true and
false positive rates (t, f), no epsilon below :math:`\log((t - \delta) / f)` can be right
(Kairouz, Oh, Viswanath 2015, arXiv 1311.0776, Theorem 2.1). The rates are measured, so they are
replaced by the ends of exact confidence intervals (Clopper, Pearson 1934, doi
10.1093/biomet/26.4.404), as in Jagielski, Ullman, Oprea 2020, arXiv 2006.07709.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import count_of, integer_of, probability_of, real_of

__all__ = ["binomial_interval", "epsilon_lower_bound"]

Scores = npt.NDArray[np.float64]


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
        Clopper and Pearson's, within 1e-8 relatively of the exact ends.

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
    share = _confidence_of(confidence)
    failing = math.log((1.0 - share) / 2.0)
    # The lower end is the p for which `successes` or more have the probability that may fail.
    low = _least_probability(count, total, failing)
    return low, 1.0 - _least_probability(total - count, total, failing)


def epsilon_lower_bound(
    present: Any,
    absent: Any,
    delta: float,
    *,
    threshold: float | None = None,
    confidence: float = 0.95,
) -> float:
    """Bound epsilon from below by how well scores tell runs with a record from runs without it.

    A run counts as one with the record if its score is at least the threshold. Without a threshold,
    the first half of the runs decides on one, on its sense and on which data set is to be
    recognised, and the second half measures: the choice costs no confidence.

    Parameters
    ----------
    present, absent : array of shape (n,)
        A score of each independent run, at least 4: the higher, the more it looks as if the record
        were there. Best is the log-likelihood ratio of what was released.
    delta : float
        In [0, 1].
    threshold : float, optional
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
    first, second = _scores_of(present, "present"), _scores_of(absent, "absent")
    share = probability_of(delta, "delta")
    level = _confidence_of(confidence)
    if threshold is None:
        first, second, limit = _chosen_test(first, second, share)
    else:
        limit = real_of(threshold, "threshold", "a number")
    hits, alarms = (int(np.count_nonzero(scores >= limit)) for scores in (first, second))
    true_rate, _ = binomial_interval(hits, first.size, confidence=level)
    _, false_rate = binomial_interval(alarms, second.size, confidence=level)
    return max(0.0, math.log((true_rate - share) / false_rate)) if true_rate > share else 0.0


def _chosen_test(first: Scores, second: Scores, delta: float) -> tuple[Scores, Scores, float]:
    """Return the second halves, first those to be recognised, and the best threshold for them."""
    tests = [(first, second), (second, first), (-first, -second), (-second, -first)]
    halves = [[np.array_split(scores, 2) for scores in test] for test in tests]
    found = [_best_threshold(a[0], b[0], delta) for a, b in halves]
    best = max(range(len(tests)), key=lambda k: found[k][0])
    (_, positives), (_, negatives) = halves[best]
    return positives, negatives, found[best][1]


def _best_threshold(positives: Scores, negatives: Scores, delta: float) -> tuple[float, float]:
    """Return the bound to be expected, two standard errors below, and the best threshold."""
    thresholds = np.unique(positives)
    hits = positives.size - np.searchsorted(np.sort(positives), thresholds)
    alarms = negatives.size - np.searchsorted(np.sort(negatives), thresholds)
    true_rate = (hits - 2.0 * np.sqrt(hits)) / positives.size - delta
    false_rate = (alarms + 2.0 * np.sqrt(alarms) + 3.0) / negatives.size
    value = np.where(true_rate > 0.0, np.maximum(true_rate, 1e-300) / false_rate, 0.0)
    best = int(np.argmax(value))
    return float(value[best]), float(thresholds[best])


def _least_probability(successes: int, trials: int, log_tail: float) -> float:
    """Return the p for which log P(Bin(trials, p) >= successes) is `log_tail`, rounded down."""
    if successes == 0:
        return 0.0
    low, high = 0.0, successes / trials
    logs = _log_binomials(successes, trials)
    for _ in range(100):  # until no double is left in between
        middle = 0.5 * (low + high)
        if _log_upper_tail(successes, trials, middle, logs) <= log_tail:
            low = middle
        else:
            high = middle
    return low


def _log_binomials(successes: int, trials: int) -> Scores:
    """Return log C(trials, k) for k from successes on, as far as terms can count."""
    last = min(trials, successes + 60 + 60 * math.isqrt(trials))
    k = np.arange(successes, last, dtype=float)
    steps = np.log((trials - k) / (k + 1.0))
    start = (
        math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    )
    return start + np.concatenate([[0.0], np.cumsum(steps)])


def _log_upper_tail(successes: int, trials: int, p: float, logs: Scores) -> float:
    k = np.arange(successes, successes + logs.size, dtype=float)
    terms = logs + k * math.log(p) + (trials - k) * math.log1p(-p) if p < 1.0 else np.zeros(1)
    most = float(terms.max())
    return most + math.log(float(np.exp(terms - most).sum()))


def _scores_of(values: Any, name: str) -> Scores:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or scores.size < 4 or np.isnan(scores).any():
        raise ValueError(
            f"{name} must be a one-dimensional array of at least 4 numbers, got {values!r}"
        )
    return scores


def _confidence_of(value: Any) -> float:
    allowed = "a number in (0, 1)"
    number = real_of(value, "confidence", allowed)
    if not 0.0 < number < 1.0:
        raise ValueError(f"confidence must be {allowed}, got {value!r}")
    return number
