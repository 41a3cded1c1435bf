"""Exact intervals of a probability (Clopper, Pearson 1934, doi 10.1093/biomet/26.4.404)."""

from __future__ import annotations

import math

from renyi._binomial import tail_bounds
from renyi._search import bisected
from renyi._validation import count_of, integer_of
from renyi.audit._arguments import failing_of

__all__ = ["binomial_interval", "interval"]


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
