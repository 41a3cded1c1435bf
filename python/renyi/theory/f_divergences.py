"""f-divergences of given distributions: finite ones, densities, mixtures, kernels.

Divergences of finite distributions are rounded up. Divergences of densities are integrals by
quadrature with an error estimate, not bounds. `renyi.pairs.Composition` bounds hockey-stick
divergences of either kind.

>>> round(finite_divergence([0.9, 0.1], [0.1, 0.9], 2.0), 4)
2.0932
"""

import math
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renyi._adjacency import one_of
from renyi._validation import POSITIVE, Range, number_in, numbers_of, real_of

__all__ = [
    "density_divergence",
    "f_contraction",
    "f_divergence",
    "finite_divergence",
    "kernel_contraction",
    "mixture_bound",
]
__dir__ = __all__.copy

Array = npt.NDArray[np.float64]
Density = Callable[[Array], npt.ArrayLike]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_PANELS = (32, 64)  # between neighbouring breaks


def finite_divergence(p: npt.ArrayLike, q: npt.ArrayLike, alpha: float) -> float:
    """Return the Rényi divergence D_alpha(p || q) of two finite distributions.

    Args:
        p, q (array_like of shape (n,)): Probabilities, of sum 1 to 1e-9; p by q[k] for the same
            outcome.
        alpha: In (0, inf]; at 1 the Kullback-Leibler divergence, at inf the largest log(p/q).

    Returns:
        The divergence of the given numbers, which are not divided by their sum, rounded up, by
        about 1e-14/|alpha - 1| next to 1. It is infinite for alpha >= 1 if an outcome of p has no
        probability in q, for alpha < 1 if p and q share no outcome.

    >>> round(finite_divergence([0.9, 0.1], [0.1, 0.9], 2.0), 4)
    2.0932
    """
    first, second = _two(p, q)
    order = number_in(alpha, "alpha", POSITIVE)
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
        wide = math.fsum(first[shared]) * slack + 2.0**-50 * math.fsum(abs(terms))
        return math.fsum(terms) + wide
    exponents = log_q + order * loss if order > 1.0 else order * log_p + (1.0 - order) * log_q
    top = float(np.max(exponents))
    total = top + math.log(math.fsum(np.exp(exponents - top)))
    wide = (order + 1.0) * slack + 2.0**-48 * (1.0 + abs(top) + float(np.max(abs(exponents))))
    value = total / (order - 1.0)
    return value + (wide + 2.0**-48 * abs(total)) / abs(order - 1.0)


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


class Integral(NamedTuple):
    """A value by quadrature, and its difference from that with half the panels."""

    value: float
    error: float


def density_divergence(
    log_p: Density, log_q: Density, alpha: float, *, breaks: Sequence[float]
) -> Integral:
    """Integrate the Rényi divergence of two densities of one variable, and estimate the error.

    Args:
        log_p, log_q: Functions of arrays, the logarithms of the densities; -inf where a density is
            0.
        alpha: In (0, inf), not 1.
        breaks: Increasing numbers: the ends of the range of integration, and the places in between
            where the densities are not smooth.

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


def _grid(breaks: Sequence[float], panels: int) -> tuple[Array, Array]:
    ends, shape = numbers_of(breaks, "breaks", -math.inf, math.inf, "of rising numbers")
    if (
        len(shape) != 1
        or len(ends) < 2
        or not (np.isfinite(ends).all() and (np.diff(ends) > 0).all())
    ):
        raise ValueError(f"breaks must be at least two rising finite numbers, got {breaks!r}")
    inner = [np.linspace(a, b, panels + 1)[:-1] for a, b in pairwise(ends)]
    edges = np.concatenate([*inner, ends[-1:]])
    half, middle = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    x = middle[:, None] + half[:, None] * _NODES
    return x.ravel(), (half[:, None] * _WEIGHTS).ravel()


def _logs(log_density: Density, x: Array) -> Array:
    with np.errstate(divide="ignore"):
        found = np.asarray(log_density(x), dtype=np.float64)
    if found.shape != x.shape or np.isnan(found).any():
        raise ValueError("a log density must give a number for each of its arguments, got others")
    return found


# Mixtures. That divergences of components bound those of the means is false in general, and true of
# sampled Gaussian noise: docs/expectations.md has both.


def mixture_bound(divergences: npt.ArrayLike, weights: npt.ArrayLike, alpha: float) -> float:
    """Bound the divergence of two mixtures with the same weights by those of the components.

    Args:
        divergences (array_like of shape (n,)): Upper bounds of D_alpha(p_i || q_i), in [0, inf].
        weights (array_like of shape (n,)): Non-negative weights of sum 1.
        alpha: In (0, 1e12].

    Returns:
        log(sum_i w_i e^((alpha-1) D_i)) / (alpha-1), at 1 the mean of the D_i, rounded up: an upper
        bound of D_alpha(sum_i w_i p_i || sum_i w_i q_i), attained if the component can be told from
        the outcome. It is at most the largest D_i, which bounds the divergence as well.

    Source: van Erven, Harremoës 2014, arXiv 1206.2459, Theorems 9 (data processing) and 13 (joint
    quasi-convexity).

    The means of (0.9, 0.1), (0.1, 0.9) and of (0.1, 0.9), (0.9, 0.1) are equal; the components are
    not, and no bound can tell from their divergences alone which components are meant.

    >>> from math import log
    >>> apart = log(0.9**2 / 0.1 + 0.1**2 / 0.9)
    >>> round(mixture_bound([apart, apart], [0.5, 0.5], 2.0), 4)
    2.0932
    """
    found, shape = numbers_of(divergences, "divergences", 0.0, math.inf, "of numbers in [0, inf]")
    shares, other = numbers_of(weights, "weights", 0.0, 1.0, "of numbers in [0, 1]")
    if len(shape) != 1 or shape != other or not shape[0]:
        raise ValueError(f"weights must be as many as divergences, got shapes {shape} and {other}")
    if abs(math.fsum(shares) - 1.0) > 1e-12:
        raise ValueError(f"weights must be of sum 1, got {math.fsum(shares)!r}")
    order = number_in(alpha, "alpha", Range(0.0, 1e12, "(]"))
    found, shares = found[shares > 0.0], shares[shares > 0.0]
    beta, largest = order - 1.0, float(found.max())
    if (beta >= 0.0 and largest == math.inf) or float(found.min()) == math.inf:
        return math.inf
    anchor = largest if beta > 0.0 else float(found.min())
    if beta == 0.0:
        value = anchor + math.fsum(shares * (found - anchor))
    else:
        value = anchor + _log_mean_exp(beta * (found - anchor), shares) / beta
    # The sum of the weights is 1 up to 1e-12; it divides them.
    return min(value + 4e-12 * abs(value - anchor) + 2.0**-48 * value, largest)


def _log_mean_exp(exponents: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> float:
    """Return the log of the weighted mean of e^x, x <= 0, to a relative 1e-12."""
    total = math.fsum(weights)
    with np.errstate(under="ignore"):
        excess = math.fsum(weights * np.expm1(exponents)) / total
        if excess > -0.5:
            return math.log1p(excess)
        # the mean is far below 1: sum the terms, not their distance from 1
        return math.log(math.fsum(weights * np.exp(exponents)) / total)


def kernel_contraction(kernel: npt.ArrayLike, epsilon: float) -> float:
    """Return the contraction coefficient of E_g of a Markov kernel on a finite set, rounded up.

    It is ``max E_g(kernel[i], kernel[j])`` over pairs of rows; for ``epsilon = 0`` it is
    Dobrushin's coefficient.

    Args:
        kernel: Square or not; rows of non-negative numbers that add up to 1 (to 1e-9).
        epsilon: In [0, 700].

    Source: Asoodeh, Diaz, Calmon 2020, arXiv 2001.06546, Theorem 2.

    >>> round(kernel_contraction([[0.75, 0.25], [0.25, 0.75]], math.log(2.0)), 6)
    0.25
    """
    rows = _kernel_of(kernel)
    exponent = number_in(epsilon, "epsilon", Range(0.0, 700.0))
    g = math.exp(exponent) * (1.0 - 2.0**-51)
    largest = max(float(np.maximum(row - g * rows, 0.0).sum(axis=1).max()) for row in rows)
    return min(largest * (1.0 + 2.0**-50 * len(rows[0])), 1.0)


def _kernel_of(kernel: Any) -> npt.NDArray[np.float64]:
    allowed = "rows of numbers in [0, 1] that add up to 1"
    flat, shape = numbers_of(kernel, "kernel", 0.0, 1.0, allowed)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"kernel must be {allowed}, got an array of shape {shape}")
    rows = flat.reshape(shape)
    off = float(np.abs(rows.sum(axis=1) - 1.0).max())
    if off > 1e-9:
        raise ValueError(f"kernel must be {allowed}, got a row whose sum is off by {off:.3g}")
    return rows


# Divergences of any convex f, and their contraction by a kernel.

Convex = Callable[[float], float]
# f with f(1) = 0, and the slope f(t)/t for large t
_CONVEX: dict[str, tuple[Convex, float]] = {
    "kl": (lambda t: t * math.log(t) if t else 0.0, math.inf),
    "total_variation": (lambda t: 0.5 * abs(t - 1.0), 0.5),
    "chi_squared": (lambda t: (t - 1.0) ** 2, math.inf),
    "squared_hellinger": (lambda t: (math.sqrt(t) - 1.0) ** 2, 1.0),
}


def f_divergence(
    p: npt.ArrayLike, q: npt.ArrayLike, f: str | Convex, *, slope: float = math.inf
) -> float:
    """Return the f-divergence sum of q f(p/q) of two finite distributions.

    Args:
        p, q (array_like of shape (n,)): Probabilities, of sum 1 to 1e-9; p by q[k] for the same
            outcome.
        f ({"kl", "total_variation", "chi_squared", "squared_hellinger"} or callable): t log t, |t -
            1|/2, (t - 1)^2, (sqrt(t) - 1)^2; or a convex function of t in [0, inf) with f(1) = 0.
            ``lambda t: max(t - g, 0)`` is the hockey-stick divergence, of slope 1.
        slope: The limit of f(t)/t for a callable, the weight of outcomes without probability in q.

    Returns:
        The divergence, as accurate as f; infinite where the slope is and q lacks an outcome of p.

    >>> round(f_divergence([0.9, 0.1], [0.5, 0.5], "total_variation"), 12)
    0.4
    """
    first, second = _two(p, q)
    function, steepest = _convex_of(f, slope)
    shared = second > 0.0
    found = math.fsum(
        b * float(function(a / b)) for a, b in zip(first[shared], second[shared], strict=True)
    )
    lost = math.fsum(first[~shared])
    return found + lost * steepest if lost else found


def f_contraction(
    kernel: npt.ArrayLike, f: str | Convex, *, slope: float = math.inf
) -> tuple[float, float]:
    """Return bounds on eta_f, the largest D_f(P K || Q K) / D_f(P || Q) of a finite kernel K.

    By the data-processing inequality it is at most 1.

    Args:
        kernel: As in `kernel_contraction`.
        f, slope: As in `f_divergence`.

    Returns:
        lower, upper: The largest ratio found between laws on two points, and Dobrushin's
            coefficient, that of the total variation, which no other f exceeds. They agree for the
            total variation; a binary symmetric channel has 1 - 2 r above and (1 - 2 r)^2 below for
            Kullback-Leibler, chi-squared and Hellinger divergences. For the hockey-stick divergence
            `kernel_contraction` is the exact value.

    Source: Asoodeh, Diaz, Calmon 2020, arXiv 2001.06546; Cohen, Kemperman, Zbăganu 1998,
    "Comparisons of Stochastic Matrices" (total variation is the largest).

    >>> lower, upper = f_contraction([[0.9, 0.1], [0.1, 0.9]], "kl")
    >>> round(lower, 3), round(upper, 3)
    (0.64, 0.8)
    """
    rows = _kernel_of(kernel)
    _convex_of(f, slope)
    upper, lower = kernel_contraction(rows, 0.0), 0.0
    shares = (0.0, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 1.0)
    steps = (1e-3, 0.1, 0.5, 1.0)
    for i, j in combinations(range(len(rows)), 2):
        for base in shares:
            for other in (base + step * (end - base) for step in steps for end in (0.0, 1.0)):
                p, q = np.array([other, 1.0 - other]), np.array([base, 1.0 - base])
                before = f_divergence(p, q, f, slope=slope)
                if not 1e-9 < before < math.inf:
                    continue
                after = f_divergence(p @ rows[[i, j]], q @ rows[[i, j]], f, slope=slope)
                lower = max(lower, after / before * (1.0 - 1e-6))
    return min(lower, upper), upper


def _convex_of(f: str | Convex, slope: float) -> tuple[Convex, float]:
    if isinstance(f, str):
        return _CONVEX[one_of(f, "f", _CONVEX)]
    if not callable(f):
        raise TypeError(f"f must be one of {', '.join(map(repr, _CONVEX))} or callable, got {f!r}")
    return f, real_of(slope, "slope", "a number or inf")
