"""The Rényi divergence of two distributions of one family, from Kullback-Leibler divergences.

With M the normalised P^alpha Q^(1 - alpha), whenever it exists,

    D_alpha(P || Q) = KL(P || Q) + KL(P || M) / (alpha - 1)             alpha >= 1
    D_alpha(P || Q) = KL(M || Q) + KL(M || P) alpha / (1 - alpha)       alpha < 1

(van Erven and Harremoës 2014, arXiv 1206.2459, Theorem 30, at its minimiser, and the same
computation for alpha > 1). In an exponential family M belongs to the family, and all terms are
non-negative: where each Kullback-Leibler divergence is accurate, nothing cancels, neither near
alpha = 1 nor between close parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi._validation import Range, number_in, numbers_of
from renyi.theory.divergences._stable import Array

__all__ = ["Distribution", "by_order", "finite_of", "positive_of", "renyi_divergence", "sure"]

ORDERS = "numbers in (0, 1e12]"
_TINY = 2.0**-1074


class Distribution:
    """A distribution whose Rényi divergence from another of its family has a closed form."""

    __slots__ = ()

    @property
    def _pulled_back(self) -> tuple[Hashable, Distribution]:
        """An invertible map, named, and the distribution of the mapped variable."""
        return type(self).__name__, self

    def _divergence(self, other: Any, alpha: Array) -> Array:
        """Return the divergence of orders ``alpha`` from ``other``, of the same class."""
        return self._pulled_back[1]._divergence(other._pulled_back[1], alpha)


def renyi_divergence(
    p: Distribution, q: Distribution, alpha: npt.ArrayLike
) -> npt.NDArray[np.float64] | np.float64:
    """Return the Rényi divergence of order alpha of p from q, log E_q[(p/q)^alpha] / (alpha - 1).

    Parameters
    ----------
    p, q : Distribution
        Of one family, such as two `Gaussian`. Those that one invertible map takes into one family
        count as such: `Rayleigh` and `HalfNormal` are both chi distributions.
    alpha : array_like
        Orders in (0, 1e12]; at 1 the Kullback-Leibler divergence, the limit.

    Returns
    -------
    ndarray or numpy.float64
        Of the shape of alpha, in nats; inf where it is infinite.

    Raises
    ------
    TypeError
        If p or q is no distribution, or alpha not of real numbers.
    ValueError
        If p and q are of different families, or an order is not in (0, 1e12].

    Notes
    -----
    A nearest value, not a bound. Over 55,000 random pairs and orders, near 1 and for parameters
    equal but for 1e-12 of themselves too, the relative error against 80-digit arithmetic was below
    5e-12 (1 + c), c the change of the divergence for a change of a parameter, both relative; c is
    large next to the order at which the divergence becomes infinite. For the beta distribution it
    was below 1e-10, the largest beside parameters of 0.001.

    References
    ----------
    Gil, Alajaji, Linder 2013, Information Sciences 249 (the closed forms). van Erven, Harremoës
    2014, arXiv 1206.2459, Theorem 30 (the form used).

    Examples
    --------
    >>> from renyi.theory.divergences import ExponentialDistribution, GaussianDistribution
    >>> float(renyi_divergence(GaussianDistribution(1.0, 2.0), GaussianDistribution(0.0, 2.0), 4.0))
    0.5
    >>> p, q = ExponentialDistribution(1.0), ExponentialDistribution(2.0)
    >>> renyi_divergence(p, q, [0.5, 1.0, 2.0, 3.0])
    array([0.11778304, 0.30685282,        inf,        inf])
    """
    for name, value in (("p", p), ("q", q)):
        if not isinstance(value, Distribution):
            raise TypeError(
                f"{name} must be a distribution of renyi.theory.divergences, got {value!r}"
            )
    orders, shape = numbers_of(alpha, "alpha", _TINY, 1e12, ORDERS)
    kind, first = p._pulled_back
    kind_q, second = q._pulled_back
    if kind != kind_q or type(first) is not type(second):
        raise ValueError(f"q must be of the family of {p!r}, got {q!r}")
    if first == second:
        found = np.zeros(orders.size)
    else:
        with np.errstate(over="ignore", under="ignore"):
            found = first._divergence(second, orders)
    # What is zero but for rounding is not negative.
    return np.maximum(found, 0.0).reshape(shape)[()]


def by_order(
    alpha: Array, above: Callable[[Array], Array], below: Callable[[Array], Array]
) -> Array:
    """Return ``above`` for orders of at least 1 and ``below`` for the others."""
    found = np.empty(alpha.size)
    high = alpha >= 1.0
    for where, branch in ((high, above), (~high, below)):
        if where.any():
            found[where] = branch(alpha[where])
    return found


def sure(finite: npt.NDArray[np.bool_], alpha: Array, value: Callable[[Array], Array]) -> Array:
    """Return ``value(alpha)`` where finite, else infinity."""
    found = np.full(alpha.size, np.inf)
    if finite.any():
        found[finite] = value(alpha[finite])
    return found


def finite_of(value: object, name: str) -> float:
    """Return a number within 1e100 of 0."""
    return number_in(value, name, Range(-1e100, 1e100))


def positive_of(value: object, name: str) -> float:
    """Return a number in [1e-100, 1e100], where no product of a few overflows."""
    return number_in(value, name, Range(1e-100, 1e100))
