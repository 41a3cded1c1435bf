"""Piecewise linear trade-off functions, given by their vertices."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi.tradeoff._arguments import SLACK, Floats, plain, within

__all__ = ["beta_at", "convexified", "delta_from_tradeoff", "symmetrised", "vertices"]


def delta_from_tradeoff(epsilon: npt.ArrayLike, alpha: npt.ArrayLike, beta: npt.ArrayLike) -> Any:
    """Return the privacy curve of a piecewise linear trade-off function.

    ``delta = 1 + f*(-exp(epsilon)) = max over the vertices of 1 - beta - exp(epsilon) * alpha``.

    Parameters
    ----------
    epsilon : array_like
        Any number.
    alpha, beta : array_like
        Vertices of the trade-off function.

    Returns
    -------
    ndarray or float
        Of the shape of ``epsilon``, in [0, 1], rounded up.

    Raises
    ------
    ValueError
        If the vertices are not those of a trade-off function.

    References
    ----------
    Dong, Roth, Su 2022, arXiv 1905.02383, Proposition 2.12.

    Examples
    --------
    >>> round(delta_from_tradeoff(0.5, [0.0, 0.25, 1.0], [1.0, 0.25, 0.0]), 6)
    0.33782
    """
    a, b = vertices(alpha, beta)
    e = np.asarray(epsilon, dtype=np.float64)
    if np.isnan(e).any():
        raise ValueError("epsilon must be a number, got nan")
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(a == 0.0, 0.0, np.exp(e)[..., None] * a)
        gain = (1.0 - b) * (1.0 + SLACK) - steep * (1.0 - SLACK)
    return plain(np.clip(gain.max(axis=-1), 0.0, 1.0))


def beta_at(at: npt.ArrayLike, alpha: npt.ArrayLike, beta: npt.ArrayLike) -> Any:
    """Evaluate the piecewise linear function with the given vertices, rounded down.

    Where ``alpha`` repeats, the last value counts.

    Examples
    --------
    >>> round(beta_at(0.125, [0.0, 0.25, 1.0], [1.0, 0.25, 0.0]), 12)
    0.625
    """
    a, b = vertices(alpha, beta)
    x = within(at, "at", 0.0, 1.0)
    i = np.minimum(np.searchsorted(a, x, side="right"), len(a) - 1)
    left = np.maximum(i - 1, 0)
    width = np.where(a[i] > a[left], a[i] - a[left], 1.0)
    share = np.clip((x - a[left]) / width, 0.0, 1.0)
    # (1 - share) is formed from the other end: it keeps its digits next to alpha = 1
    rest = np.clip((a[i] - x) / width, 0.0, 1.0)
    value = b[left] * rest + b[i] * np.where(rest == 0.0, 1.0, share)
    return plain(np.maximum(value * (1.0 - SLACK), 0.0))


def convexified(alpha: npt.ArrayLike, beta: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the vertices of the largest convex function below the given one.

    Parameters
    ----------
    alpha, beta : array_like
        Vertices of a trade-off function, convex or not.

    Returns
    -------
    alpha, beta : ndarray
        Some of the vertices given; which ones is decided exactly.

    Examples
    --------
    >>> convexified([0.0, 0.2, 0.5, 1.0], [1.0, 0.7, 0.1, 0.0])
    (array([0. , 0.5, 1. ]), array([1. , 0.1, 0. ]))
    """
    return hull(*vertices(alpha, beta))


def symmetrised(alpha: npt.ArrayLike, beta: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the vertices of the largest convex function below ``f`` and its inverse.

    ``min(f, f^-1)**``: if ``f`` holds for a record removed, ``f^-1`` holds for it added, and this
    holds for both.

    Parameters
    ----------
    alpha, beta : array_like
        Vertices of a trade-off function.

    Returns
    -------
    alpha, beta : ndarray
        Vertices of a symmetric trade-off function.

    References
    ----------
    Dong, Roth, Su 2022, arXiv 1905.02383, Theorem 4.2.

    Examples
    --------
    >>> symmetrised([0.0, 0.1, 1.0], [1.0, 0.5, 0.0])
    (array([0. , 0.1, 0.5, 1. ]), array([1. , 0.5, 0.1, 0. ]))
    """
    a, b = vertices(alpha, beta)
    return hull(np.concatenate([a, b]), np.concatenate([b, a]))


def vertices(alpha: npt.ArrayLike, beta: npt.ArrayLike) -> tuple[Floats, Floats]:
    a, b = within(alpha, "alpha", 0.0, 1.0), within(beta, "beta", 0.0, 1.0)
    if a.ndim != 1 or len(a) < 2 or a[0] != 0.0 or a[-1] != 1.0 or np.any(np.diff(a) < 0.0):
        raise ValueError(f"alpha must be an array rising from 0 to 1, got {alpha!r}")
    if b.shape != a.shape or b[-1] != 0.0 or np.any(np.diff(b) > 0.0):
        raise ValueError(f"beta must be an array as long as alpha, falling to 0, got {beta!r}")
    return a, b


def hull(alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Lower convex hull of points (Andrew 1979)."""
    order = np.lexsort((beta, alpha))
    hull: list[tuple[float, float]] = []
    for point in zip(alpha[order].tolist(), beta[order].tolist(), strict=True):
        if hull and hull[-1][0] == point[0]:
            continue  # above the last one
        while len(hull) > 1 and not _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    a, b = np.array(hull).T
    return a, b


def _turns_left(p: tuple[float, float], q: tuple[float, float], r: tuple[float, float]) -> bool:
    """Whether q lies below the line from p to r, decided exactly where rounding could matter."""
    left = (q[0] - p[0]) * (r[1] - p[1])
    right = (q[1] - p[1]) * (r[0] - p[0])
    if abs(left - right) > 2.0**-50 * (abs(left) + abs(right)):
        return left > right
    (px, py), (qx, qy), (rx, ry) = ((Fraction(x), Fraction(y)) for x, y in (p, q, r))
    return (qx - px) * (ry - py) > (qy - py) * (rx - px)
