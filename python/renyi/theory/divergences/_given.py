"""Rényi divergences of two distributions that the user gives: finite ones, or densities.

Those of finite distributions are rounded up. Of densities they are integrals by quadrature with an
estimate of the error: numbers to look at, no bounds. For hockey-stick divergences of either, with
bounds, there is `renyi.theory.classic.hockey_stick`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._validation import numbers_of, real_of

__all__ = ["Integral", "density_divergence", "finite_divergence"]

Array = npt.NDArray[np.float64]
Density = Callable[[Array], npt.ArrayLike]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_PANELS = (32, 64)  # between neighbouring breaks


class Integral(NamedTuple):
    """A value by quadrature, and by how much half the panels differ from it."""

    value: float
    error: float


def finite_divergence(p: npt.ArrayLike, q: npt.ArrayLike, alpha: float) -> float:
    """Return the Rényi divergence D_alpha(p || q) of two finite distributions.

    Parameters
    ----------
    p, q : array_like of shape (n,)
        Probabilities, of sum 1 to 1e-9; p by q[k] for the same outcome.
    alpha : float
        In (0, inf]; at 1 the Kullback-Leibler divergence, at inf the largest log(p/q).

    Returns
    -------
    float
        Rounded up, of the numbers given, without dividing them by their sum, by about
        1e-14/|alpha - 1| next to 1; infinite where for alpha >= 1 an outcome of p has no
        probability in q, for alpha < 1 if they share none.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> round(finite_divergence([0.9, 0.1], [0.1, 0.9], 2.0), 4)
    2.0932
    """
    first, second = _two(p, q)
    order = real_of(alpha, "alpha", "a number in (0, inf]")
    if not order > 0.0:
        raise ValueError(f"alpha must be a number in (0, inf], got {alpha!r}")
    if order >= 1.0 and bool(np.any((first > 0.0) & (second == 0.0))):
        return math.inf
    shared = (first > 0.0) & (second > 0.0)
    if not shared.any():
        return math.inf
    log_p, log_q = np.log(first[shared]), np.log(second[shared])
    loss = log_p - log_q
    # each logarithm is right to an ulp of itself
    slack = 2.0**-50 * float(np.max(np.abs(log_p) + np.abs(log_q))) + 5e-324
    if order == math.inf:
        return float(np.max(loss)) + slack
    if order == 1.0:
        terms = first[shared] * loss
        return (
            math.fsum(terms) + math.fsum(first[shared]) * slack + 2.0**-50 * math.fsum(abs(terms))
        )
    exponents = log_q + order * loss if order > 1.0 else order * log_p + (1.0 - order) * log_q
    top = float(np.max(exponents))
    total = top + math.log(math.fsum(np.exp(exponents - top)))
    wide = (order + 1.0) * slack + 2.0**-48 * (1.0 + abs(top) + float(np.max(abs(exponents))))
    value = total / (order - 1.0)
    return value + (wide + 2.0**-48 * abs(total)) / abs(order - 1.0)


def density_divergence(
    log_p: Density, log_q: Density, alpha: float, *, breaks: Sequence[float]
) -> Integral:
    """Integrate the Rényi divergence of two densities of one variable.

    Parameters
    ----------
    log_p, log_q : callable
        Logarithms of the densities, of arrays; -inf where a density is 0.
    alpha : float
        In (0, inf), not 1.
    breaks : sequence of float
        Rising; from where to where there is anything to integrate, and where the densities are not
        smooth in between.

    Returns
    -------
    Integral
        D_alpha(p || q), and an estimate of its error.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> def laplace(mean):
    ...     return lambda x: -np.abs(x - mean) - np.log(2.0)
    >>> found = density_divergence(laplace(1.0), laplace(0.0), 2.0, breaks=[-40, 0, 1, 40])
    >>> print(f"{found.value:.12f}", found.error < 1e-12)
    0.619123629999 True
    """
    order = real_of(alpha, "alpha", "a number in (0, inf), not 1")
    if not 0.0 < order < math.inf or order == 1.0:
        raise ValueError(f"alpha must be a number in (0, inf), not 1, got {alpha!r}")

    def log_moment(panels: int) -> float:
        x, weight = _grid(breaks, panels)
        first, second = _logs(log_p, x), _logs(log_q, x)
        with np.errstate(invalid="ignore"):
            exponents = order * first + (1.0 - order) * second
        exponents = np.where(first == -math.inf, -math.inf, exponents)
        top = float(np.max(exponents))
        if not math.isfinite(top):
            return top
        return top + math.log(math.fsum(weight * np.exp(exponents - top)))

    rough, fine = (log_moment(panels) / (order - 1.0) for panels in _PANELS)
    return Integral(fine, abs(fine - rough) if math.isfinite(fine) else 0.0)


def _two(p: npt.ArrayLike, q: npt.ArrayLike) -> tuple[Array, Array]:
    found = []
    for name, given in (("p", p), ("q", q)):
        flat, shape = numbers_of(given, name, 0.0, 1.0, "of numbers in [0, 1]")
        if len(shape) != 1 or abs(math.fsum(flat) - 1.0) > 1e-9:
            raise ValueError(f"{name} must be a row of numbers of sum 1, got {given!r}")
        found.append(flat)
    if found[0].shape != found[1].shape:
        raise ValueError(f"q must be as long as p, got {len(found[1])} and {len(found[0])}")
    return found[0], found[1]


def _grid(breaks: Sequence[float], panels: int) -> tuple[Array, Array]:
    ends, shape = numbers_of(breaks, "breaks", -math.inf, math.inf, "of rising numbers")
    if (
        len(shape) != 1
        or len(ends) < 2
        or not np.isfinite(ends).all()
        or (np.diff(ends) <= 0).any()
    ):
        raise ValueError(f"breaks must be at least two rising finite numbers, got {breaks!r}")
    edges = np.concatenate(
        [np.linspace(a, b, panels + 1)[:-1] for a, b in pairwise(ends)] + [ends[-1:]]
    )
    half, middle = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    x = middle[:, None] + half[:, None] * _NODES
    return x.ravel(), (half[:, None] * _WEIGHTS).ravel()


def _logs(log_density: Density, x: Array) -> Array:
    with np.errstate(divide="ignore"):
        found = np.asarray(log_density(x), dtype=np.float64)
    if found.shape != x.shape or np.isnan(found).any():
        raise ValueError("a log density must give a number for each of its arguments, got others")
    return found
