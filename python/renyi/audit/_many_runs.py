r"""Many runs, with a record and without it: exact tests for any number of runs.

Intervals of a probability are exact (Clopper, Pearson 1934, doi 10.1093/biomet/26.4.404). If a test
tells runs with a record from runs without it with true and false positive rates (t, f), then t is
at most what the claimed trade-off function allows at f (Kairouz, Oh, Viswanath 2015, arXiv
1311.0776, Theorem 2.1; Dong, Roth, Su 2022, arXiv 1905.02383). The rates are measured: at a
threshold that was chosen beforehand each is replaced by the end of an exact interval, as in
Jagielski, Ullman, Oprea 2020, arXiv 2006.07709; without a threshold both are tested together.

Order statistics. The k-th highest of n absent scores is beaten by another one with a probability F
whose law is Beta(k, n + 1 - k), or smaller where scores are equal. Given F, each present score
beats it with a probability of at most 1 - f(F), f the trade-off function claimed. So the
probability that x of N present scores or more do is at most E P[Bin(N, 1 - f(F)) >= x]: no other
unknown is left, and no threshold was chosen.

Several looks. The j-th look has 1 / (j (j + 1)) of the probability to fail. These shares add up to
1: by Bonferroni's inequality all looks together keep the confidence, for any rule to stop (as in
the spending of Lan, DeMets 1983, doi 10.1093/biomet/70.3.659).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._engine import tail_bounds
from renyi._search import bisected
from renyi._validation import count_of, integer_of, numbers_of
from renyi.audit._claims import Audit, Curve, Scores, Test, failing_of, scores_of


def binomial_interval(
    successes: int, trials: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return Clopper and Pearson's interval for a probability, from a number of successes.

    Args:
        successes, trials: Number of successes in [0, trials], and of trials in [1, 1e8].
        confidence: In (0, 1): either end fails with probability at most (1 - confidence) / 2.

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


FEWEST = 4  # the fewest scores beyond a threshold
DEVIATES = np.linspace(-7.0, 7.0, 127)  # points of the law of F, in about deviations
FIRST_LOOK = 16  # runs of either kind; each look has sqrt(2) times as many as the last one


class ManyRuns(Audit):
    """Independent runs, told apart by a score of each.

    A run counts as one with the record if its score is at least the threshold. Without a threshold,
    runs of either kind are ordered, and those of the other kind counted beyond the n/2-th, n/4-th,
    ... down to the 4th of the highest and of the lowest: all errors are tested together, exactly.
    Each of several tests has an equal share of the probability to fail (Bonferroni's inequality),
    and the best counts.

    Args:
        present, absent (array of shape (n,)): A score of each run with the record, and without it;
            at least 4 of either, not as many of both: a higher score indicates that the record is
            there. The log-likelihood ratio of the release is the best score.
        threshold: A threshold that was chosen before the runs. For log-likelihood ratios the best
            one is the epsilon that is believed to be the smallest.

    >>> rng = np.random.default_rng(1)
    >>> audit = ManyRuns(rng.normal(1.0, 1.0, 100_000), rng.normal(0.0, 1.0, 100_000))
    >>> from renyi import Gaussian, PLDAccountant
    >>> truth = PLDAccountant().compose(Gaussian(1.0))
    >>> bound = audit.epsilon_lower_bound(1e-2)
    >>> bool(0.85 * truth.get_epsilon(1e-2) < bound < truth.get_epsilon(1e-2))
    True
    >>> audit.p_value(truth) > 0.05  # the truth is not refuted; more noise is
    True
    """

    def __init__(
        self, present: Any, absent: Any, *, threshold: npt.ArrayLike | None = None
    ) -> None:
        first, second = scores_of(present, "present"), scores_of(absent, "absent")
        if threshold is None:
            tests = _orders(first, second)
        else:
            tests = [_Threshold.of(first, second, limit) for limit in _thresholds(threshold)]
        super().__init__([(test, _part(len(tests))) for test in tests])
        self._sizes = first.size, second.size

    def _like(self, curve: Curve, generator: np.random.Generator) -> ManyRuns:
        return ManyRuns(*_drawn(curve, self._sizes, generator))


class SequentialRuns(Audit):
    """Runs that may stop early, when the bound is good enough; the bound is valid at any time.

    The tests of `ManyRuns` look at the first 16 runs of either kind, then at 23, 32, 46, ..., each
    time at sqrt(2) times as many. Fewer than 16 of either kind prove nothing, and bounds are 0. The
    j-th look has 1 / (j (j + 1)) of the probability to fail, so that all looks together keep the
    confidence for any rule to stop: this is the probability that no bound, at any number of runs,
    exceeds the truth.

    Args:
        present, absent (array of shape (n,)): Scores so far, as for `ManyRuns`, in the order of the
            runs. Create a new audit for more runs; its bounds are never below those of fewer runs.

    Source: Lan, DeMets 1983, doi 10.1093/biomet/70.3.659 (spending of the probability to fail).

    >>> rng = np.random.default_rng(1)
    >>> present, absent = rng.normal(2.0, 1.0, 5000), rng.normal(0.0, 1.0, 5000)
    >>> claim = 1.0, 1e-2  # epsilon and delta; the truth is 5.2
    >>> runs = next(
    ...     n for n in range(50, 5000, 50)
    ...     if SequentialRuns(present[:n], absent[:n]).p_value(claim) < 0.01
    ... )
    >>> 50 < runs < 500
    True
    """

    def __init__(self, present: Any, absent: Any) -> None:
        first, second = scores_of(present, "present"), scores_of(absent, "absent")
        tests: list[tuple[Test, float]] = []
        for j, runs in enumerate(looks(min(first.size, second.size)), 1):
            each = _orders(first[:runs], second[:runs])
            tests += [(test, _part(j * (j + 1) * len(each))) for test in each]
        super().__init__(tests)
        self._sizes = first.size, second.size

    def _like(self, curve: Curve, generator: np.random.Generator) -> SequentialRuns:
        return SequentialRuns(*_drawn(curve, self._sizes, generator))


def _drawn(
    curve: Curve, sizes: tuple[int, int], generator: np.random.Generator
) -> tuple[Scores, Scores]:
    present, absent = (np.full(size, kind) for size, kind in zip(sizes, (True, False), strict=True))
    return curve.drawn(present, generator), curve.drawn(absent, generator)


def looks(runs: int) -> list[int]:
    """Return the numbers of runs of either kind at which `SequentialRuns` looks, up to ``runs``.

    >>> looks(100)
    [16, 23, 32, 46, 64, 91]
    """
    numbers, j = [], 0
    while (size := math.ceil(FIRST_LOOK * 2.0 ** (0.5 * j))) <= runs:
        numbers.append(size)
        j += 1
    return numbers


def _part(tests: int) -> float:
    return (1.0 - 2.0**-50) / tests


def _orders(first: Scores, second: Scores) -> list[Test]:
    kinds = [(first, second), (-second, -first), (second, first), (-first, -second)]
    return [
        _Order(scores, others, others.size >> shift)
        for scores, others in kinds
        for shift in range(1, max((others.size // FEWEST).bit_length(), 2))
    ]


class _Threshold(NamedTuple):
    """Numbers of runs with and without the record whose score was at least the threshold."""

    hits: int
    present: int
    alarms: int
    absent: int

    @classmethod
    def of(cls, first: Scores, second: Scores, limit: float) -> Test:
        hits, alarms = (int(np.count_nonzero(scores >= limit)) for scores in (first, second))
        return cls(hits, first.size, alarms, second.size)

    def refutes(self, curve: Curve, failing: float) -> bool:
        """Return whether the ends of both intervals contradict a claim."""
        true = interval(self.hits, self.present, failing)[0]
        false = interval(self.alarms, self.absent, failing)[1]
        return bool(true > curve.allowed(np.array([false]))[0])


class _Order:
    """The number of scores beyond the k-th of the other kind, and its law.

    Args:
        scores, others: Scores of either kind of runs.
        k: At least 1, below the number of the others.
    """

    def __init__(self, scores: Scores, others: Scores, k: int) -> None:
        self._trials, self._n, self._k = scores.size, others.size, k
        self._beaten = int(np.count_nonzero(scores > np.sort(others)[self._n - k]))
        self._middle = k / (self._n + 1.0)

    @cached_property
    def _law(self) -> tuple[Scores, Scores]:
        """Return ascending rates up to 1, and the probabilities that F is larger, rounded up."""
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

    def refutes(self, curve: Curve, failing: float) -> bool:
        """Return whether so many scores have a probability of at most ``failing`` by the claim."""
        if 0.25 * self._tails(curve.allowed(np.array([self._middle])))[0] > failing:
            return False  # about half of the law lies beyond the middle
        rates, beyond = self._law
        tails = np.maximum.accumulate(self._tails(curve.allowed(rates)))
        # A step function above: from its least value up, where F is beyond the cell before.
        bound = float(tails[0] + np.diff(tails) @ beyond[:-1])
        return bound * (1.0 + 2.0**-40) < failing


def _thresholds(value: npt.ArrayLike) -> Scores:
    allowed = "a number, or a list of them"
    limits, shape = numbers_of(value, "threshold", -math.inf, math.inf, allowed)
    if len(shape) > 1 or limits.size == 0:
        raise ValueError(f"threshold must be {allowed}, got {value!r}")
    return limits
