r"""Many runs: exact intervals of a test's error rates, what they prove, and a figure of them.

Intervals of a probability are exact (Clopper, Pearson 1934, doi 10.1093/biomet/26.4.404).

If two neighbouring data sets differ by one record and a test tells their runs apart with true and
false positive rates (t, f), no epsilon below :math:`\log((t - \delta) / f)` can be right
(Kairouz, Oh, Viswanath 2015, arXiv 1311.0776, Theorem 2.1), nor one below that of the opposite
verdicts, :math:`\log((1 - f - \delta) / (1 - t))`. The rates are measured, so they are replaced by
the ends of exact confidence intervals, as in Jagielski, Ullman, Oprea 2020, arXiv 2006.07709, or
both are tested together by order statistics.

A mechanism that is mu-Gaussian has :math:`\mu \ge \Phi^{-1}(t) - \Phi^{-1}(f)` (Dong, Roth, Su
2022, arXiv 1905.02383, Definition 2.6); Nasr et al. 2023, arXiv 2302.07956, audit by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
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

Claim = Callable[[float, Scores], Scores]
"""The largest true positive rates that a value allows at false positive rates, rounded up."""


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
    runs of either kind are ordered, and those of the other kind counted beyond the n/2-th, n/4-th,
    ... down to the 4th of the highest and of the lowest: all errors are tested together, exactly.
    Each of several tests has an equal share of the probability to fail (Bonferroni's inequality),
    and the best counts.

    Parameters
    ----------
    present, absent : array of shape (n,)
        A score of each independent run, at least 4: the higher, the more it looks as if the record
        were there. Best is the log-likelihood ratio of what was released.
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
    >>> bool(0.85 * truth < bound < truth)
    True
    """
    share = probability_of(delta, "delta")
    if threshold is None:
        return _joint(present, absent, confidence, partial(_allowed_by_epsilon, delta=share))
    value = partial(_epsilon, delta=share)
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
    if threshold is None:
        return _joint(present, absent, confidence, _allowed_by_mu)
    return _best(present, absent, threshold, confidence, _mu)


def _best(
    present: Any, absent: Any, threshold: npt.ArrayLike, confidence: float, value: Value
) -> float:
    first, second = scores_of(present, "present"), scores_of(absent, "absent")
    failing, limits = failing_of(confidence), _thresholds(threshold)
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


# A joint test of both errors. The k-th highest of n absent scores is beaten by another one with a
# probability F whose law is Beta(k, n + 1 - k), or smaller where scores are equal. Given F, each
# present score beats it with a probability of at most 1 - f(F), f the trade-off function claimed.
# So the probability that x of N present scores or more do is at most E P[Bin(N, 1 - f(F)) >= x]: no
# other unknown is left, and no threshold was chosen.

FEWEST = 4  # scores beyond a threshold
DEVIATES = np.linspace(-7.0, 7.0, 127)  # of the law of F, in about standard deviations
LARGEST = 700.0  # epsilon or mu


class _Order:
    """How many of some scores lie beyond the k-th of the others, and the law of how likely that is.

    Parameters
    ----------
    scores, others : array
        Of either kind of runs.
    k : int
        At least 1, below the number of the others.
    """

    def __init__(self, scores: Scores, others: Scores, k: int) -> None:
        self._trials, self._n, self._k = scores.size, others.size, k
        self._beaten = int(np.count_nonzero(scores > np.sort(others)[self._n - k]))
        self._middle = k / (self._n + 1.0)

    @cached_property
    def _law(self) -> tuple[Scores, Scores]:
        """Ascending rates up to 1, and the probabilities that F is larger, rounded up."""
        odds = self._middle / (1.0 - self._middle)
        spread = 1.0 / math.sqrt((self._n + 1.0) * self._middle * (1.0 - self._middle))
        inner = 1.0 / (1.0 + np.exp(-DEVIATES * spread) / odds)
        rates = np.append(inner, 1.0)
        # F > a if fewer than k of n are below a.
        kept = np.nextafter(1.0 - rates, 2.0).clip(0.0, 1.0)
        beyond = [tail_bounds(self._n, a, self._n - self._k + 1)[1] for a in kept.tolist()]
        return rates, np.array(beyond)

    def _tails(self, rates: Scores) -> Scores:
        return np.array([tail_bounds(self._trials, r, self._beaten)[1] for r in rates.tolist()])

    def refutes(self, claim: Claim, value: float, failing: float) -> bool:
        """Return whether so many are rarer than that where a value is claimed."""
        if 0.25 * self._tails(claim(value, np.array([self._middle])))[0] > failing:
            return False  # about half of the law lies beyond the middle
        rates, beyond = self._law
        tails = np.maximum.accumulate(self._tails(claim(value, rates)))
        # A step function above: from its least value up, where F is beyond the cell before.
        bound = float(tails[0] + np.diff(tails) @ beyond[:-1])
        return bound * (1.0 + 2.0**-40) < failing


def _joint(present: Any, absent: Any, confidence: float, claim: Claim) -> float:
    """Return a value next to the largest that some order refutes."""
    first, second = scores_of(present, "present"), scores_of(absent, "absent")
    kinds = [(first, second), (-second, -first), (second, first), (-first, -second)]
    tests = [
        (scores, others, others.size >> shift)
        for scores, others in kinds
        for shift in range(1, max((others.size // FEWEST).bit_length(), 2))
    ]
    each = failing_of(confidence) / len(tests) * (1.0 - 2.0**-52)
    best = 0.0
    for test in tests:
        order = _Order(*test)
        if order.refutes(claim, best, each):
            best = _largest_refuted(order, claim, best, each)
    return best


def _largest_refuted(order: _Order, claim: Claim, low: float, failing: float) -> float:
    high = 2.0 * low + 1.0
    while high < LARGEST and order.refutes(claim, high, failing):
        low, high = high, 2.0 * high
    return bisected(lambda value: not order.refutes(claim, value, failing), low, high, 1e-5)[0]


def _allowed_by_epsilon(epsilon: float, rates: Scores, *, delta: float) -> Scores:
    # Three roundings, upward.
    most = (math.exp(min(epsilon, LARGEST)) * rates + delta) * (1.0 + 2.0**-50)
    return np.asarray(np.minimum(most, 1.0))


def _allowed_by_mu(mu: float, rates: Scores) -> Scores:
    most = np.nextafter(1.0 - special.gaussian_tradeoff_lower(mu, rates), 2.0)
    return np.asarray(np.minimum(most, 1.0))


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
