"""Poisson samples that are hardly ever cut: the curve without a limit, and how far it is off.

A step whose batch exceeds its limit with probability tau at most differs from one without a limit
by so much in total variation, for either neighbour and whatever was seen before. With T of them

    |delta(epsilon) - delta_Poisson(epsilon)| <= T tau (1 + e^epsilon)

(Chua and others 2024, arXiv 2411.04205, for the upper side), where neighbours that attain the curve
of Poisson samples give the lower one. With N ~ Bin(n, q), tau = P[N > B] is at most
exp(-n KL((B+1)/n || q)), Chernoff's bound.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from renyi.accountants._brackets import Array, Curve
from renyi.mechanisms import TruncatedPoissonSampled

__all__ = ["NearlyPoissonCurve", "overflow"]

NARROW = 1e-3  # of delta; beyond, lattices are asked, too
MARGIN = 0.5  # by which epsilon may exceed that of Poisson samples at first


def overflow(mechanism: TruncatedPoissonSampled) -> float:
    """Return the probability that a batch is cut, rounded up."""
    limit, records, rate = mechanism.batch_limit, mechanism.population, mechanism.sample_rate
    if limit >= records or rate == 0.0:
        return 0.0
    share = (limit + 1) / records
    if not share > rate or rate == 1.0:
        return 1.0
    rest = (records - limit - 1) / records
    taken = share * math.log(share / rate)
    left = rest * math.log(rest / (1.0 - rate)) if rest > 0.0 else 0.0
    # Both terms to a few u of what they are made of.
    exponent = records * (taken + left) - records * 2.0**-48 * (abs(taken) + abs(left))
    return min(math.exp(-exponent), 1.0)


class NearlyPoissonCurve:
    """The curve of truncated samples.

    Parameters
    ----------
    poisson : Curve
        Without limits.
    slack : float
        T tau, or the sum of them.
    otherwise : Curve
        What to intersect with where that is not narrow.
    """

    def __init__(self, poisson: Curve, slack: float, otherwise: Curve) -> None:
        self._poisson, self._slack, self._otherwise = poisson, slack * (1.0 + 2.0**-48), otherwise

    def delta_brackets(self, epsilons: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        off = self._off(epsilons)
        low, high = self._poisson.delta_brackets(epsilons)
        result = np.array([np.maximum(down(low - off), 0.0), np.minimum(up(high + off), 1.0)])
        far = np.flatnonzero(~(off <= NARROW * result[0]))
        if far.size:
            _intersect(result, far, self._otherwise.delta_brackets(epsilons[far]))
        return result

    def epsilon_brackets(self, deltas: Array) -> Array:
        """Return lower and upper ends, of shape (2, n)."""
        # Up to this epsilon delta is off by no more than at it.
        most = self._poisson.epsilon_brackets(deltas)[1] + MARGIN
        low = self._poisson.epsilon_brackets(np.minimum(up(deltas + self._off(most)), 1.0))[0]
        high = self._least(deltas, most)
        high = self._least(deltas, high)  # less is off there
        result = np.array([low, high])
        far = np.flatnonzero(~(self._off(high) <= NARROW * deltas))
        if far.size:
            _intersect(result, far, self._otherwise.epsilon_brackets(deltas[far]))
        return result

    def _least(self, deltas: Array, most: Array) -> Array:
        """Return an upper end of epsilon, infinite where it is not below ``most``."""
        left = down(deltas - self._off(most))
        found = self._poisson.epsilon_brackets(np.maximum(left, 0.0))[1]
        return np.where((left >= 0.0) & (found <= most), found, math.inf)

    def _off(self, epsilons: Array) -> Array:
        if not self._slack:  # nothing is cut, and 0 times e^epsilon may be NaN
            return np.zeros(np.shape(epsilons))
        with np.errstate(over="ignore"):
            return np.asarray(self._slack * (1.0 + np.exp(epsilons)) * (1.0 + 2.0**-48))


def up(values: Array) -> Array:
    return np.nextafter(values, math.inf)


def down(values: Array) -> Array:
    return np.nextafter(values, -math.inf)


def _intersect(brackets: Array, places: npt.NDArray[np.intp], others: Array) -> None:
    brackets[0, places] = np.maximum(brackets[0, places], others[0])
    brackets[1, places] = np.minimum(brackets[1, places], others[1])
