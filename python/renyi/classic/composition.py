"""Basic composition: guarantees add up.

Every mechanism may be chosen in the light of what the others released. The adjacency is that of the
guarantees put in.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._validation import numbers_of
from renyi.classic._rounding import above

__all__ = ["Guarantee", "basic_composition", "checked", "total"]


class Guarantee(NamedTuple):
    """An (epsilon, delta) guarantee."""

    epsilon: float
    delta: float


def basic_composition(
    epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0, count: npt.ArrayLike = 1
) -> Guarantee:
    """Add up: mechanisms that are (epsilon_i, delta_i)-private together have the sums.

    Parameters
    ----------
    epsilon : array_like of float
        In [0, inf].
    delta : array_like of float
        In [0, 1].
    count : array_like of int
        How often each is used; the three broadcast.

    Returns
    -------
    Guarantee
        Both rounded up, delta at most 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", Claim 10; Dwork, Roth 2014, Theorem 3.16.

    Examples
    --------
    >>> total = basic_composition([0.5, 0.25], [1e-6, 0.0], [2, 4])
    >>> round(total.epsilon, 12), round(total.delta, 12)
    (2.0, 2e-06)
    """
    epsilons, deltas, counts = checked(epsilon, delta, count)
    return Guarantee(total(counts, epsilons), min(total(counts, deltas), 1.0))


def checked(*values: npt.ArrayLike) -> tuple[list[float], list[float], list[float]]:
    """Return epsilons, deltas and counts as equally long lists of permitted numbers."""
    epsilon, _ = numbers_of(values[0], "epsilon", 0.0, math.inf, "numbers in [0, inf]")
    delta, _ = numbers_of(values[1], "delta", 0.0, 1.0, "numbers in [0, 1]")
    count, _ = numbers_of(values[2], "count", 0.0, 2.0**53, "integers from 0 to 2^53")
    if np.any(count != np.floor(count)):
        raise ValueError(f"count must be integers from 0 to 2^53, got {values[2]!r}")
    e, d, n = np.broadcast_arrays(epsilon, delta, count)
    used = n > 0.0
    return e[used].tolist(), d[used].tolist(), n[used].tolist()


def total(counts: list[float], values: list[float]) -> float:
    """Return the sum of all values, each as often as its count says, rounded up."""
    try:
        found = math.fsum(n * x for n, x in zip(counts, values, strict=True))
    except OverflowError:  # of finite numbers
        return math.inf
    return above(found) if found else 0.0
