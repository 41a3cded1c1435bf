"""Trade-off functions: what a test for one record's presence can achieve.

A trade-off function ``f`` gives the least type II error of all tests with a type I error of at most
``alpha`` (Dong, Roth, Su 2022, arXiv 1905.02383). Every function here rounds towards less privacy:
errors of an attacker down, its success up. Arrays broadcast. A piecewise linear trade-off function
is given by its vertices: two arrays ``alpha``, from 0 to 1 and not falling, and ``beta``, not
rising and ending in 0.

>>> import numpy as np
>>> beta_from_epsilon_delta(np.array([0.0, 0.1, 0.5]), 1.0, 1e-5).round(6)
array([0.99999 , 0.728162, 0.183936])
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi._central_limit import GaussianLimit, central_limit
from renyi._validation import probability_of

__all__ = [
    "GaussianLimit",
    "advantage",
    "advantage_from_mu",
    "bayes_risk",
    "bayes_risk_from_delta",
    "bayes_risk_from_mu",
    "beta_at",
    "beta_from_epsilon_delta",
    "beta_from_mu",
    "central_limit",
    "compose_mu",
    "convexified",
    "delta_from_tradeoff",
    "membership_posterior",
    "symmetrised",
]

Floats = npt.NDArray[np.float64]

_SLACK = 2.0**-49  # 16 units: more than the roundings of any formula here


def beta_from_epsilon_delta(
    alpha: npt.ArrayLike, epsilon: npt.ArrayLike, delta: npt.ArrayLike
) -> Any:
    """Return the type II error that (epsilon, delta)-privacy guarantees.

    ``max(0, 1 - delta - exp(epsilon)*alpha, exp(-epsilon)*(1 - delta - alpha))``, the largest of it
    over all pairs where several are given: a mechanism that satisfies all of them satisfies that.

    Parameters
    ----------
    alpha : array_like
        Type I error, in [0, 1].
    epsilon, delta : float or sequence of float
        One pair, or sequences of equal length; epsilon >= 0, delta in [0, 1].

    Returns
    -------
    ndarray or float
        Of the shape of ``alpha``, rounded down.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Wasserman, Zhou 2010; Dong, Roth, Su 2022, arXiv 1905.02383, Proposition 2.5.

    Examples
    --------
    >>> round(beta_from_epsilon_delta(0.05, [0.5, 2.0], [1e-2, 1e-6]), 6)
    0.907564
    """
    a = _within(alpha, "alpha", 0.0, 1.0)[..., None]
    e = np.atleast_1d(_within(epsilon, "epsilon", 0.0, math.inf))
    d = np.atleast_1d(_within(delta, "delta", 0.0, 1.0))
    if e.ndim != 1 or e.shape != d.shape:
        raise ValueError(f"delta must be of the shape of epsilon, {e.shape}, got {d.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(a == 0.0, 0.0, np.exp(e) * a)
        first = (1.0 - d) * (1.0 - _SLACK) - steep * (1.0 + _SLACK)
    second = np.exp(-e) * ((1.0 - d - a) - _SLACK * (1.0 + a))
    return _plain(np.maximum(np.maximum(first, second), 0.0).max(axis=-1))


def beta_from_mu(alpha: npt.ArrayLike, mu: npt.ArrayLike) -> Any:
    """Return the type II error that mu-Gaussian privacy guarantees, rounded down.

    Parameters
    ----------
    alpha : array_like
        Type I error, in [0, 1].
    mu : array_like
        Gaussian-privacy parameter, in [0, inf].

    Returns
    -------
    ndarray or float
        ``Phi(Phi^-1(1 - alpha) - mu)``, to the last digit.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(beta_from_mu(0.05, 1.0), 6)
    0.740489
    """
    a, m = _within(alpha, "alpha", 0.0, 1.0), _within(mu, "mu", 0.0, math.inf)
    return _plain(special.gaussian_tradeoff_lower(m, a))


def compose_mu(mu: npt.ArrayLike, counts: npt.ArrayLike = 1) -> float:
    """Return ``sqrt(sum(counts * mu**2))``: Gaussian mechanisms compose to one, exactly.

    Parameters
    ----------
    mu : array_like
        Sensitivity over noise of each mechanism, in [0, inf].
    counts : array_like
        How often each is used.

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Dong, Roth, Su 2022, arXiv 1905.02383, Corollary 3.3.

    Examples
    --------
    >>> round(compose_mu([0.3, 0.4]), 12)
    0.5
    """
    m = _within(mu, "mu", 0.0, math.inf)
    n = _within(counts, "counts", 0.0, math.inf)
    terms = np.where(n == 0.0, 0.0, np.sqrt(n) * np.where(n == 0.0, 0.0, m))
    return math.hypot(*terms.ravel().tolist()) * (1.0 + _SLACK)


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
    a, b = _vertices(alpha, beta)
    e = np.asarray(epsilon, dtype=np.float64)
    if np.isnan(e).any():
        raise ValueError("epsilon must be a number, got nan")
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(a == 0.0, 0.0, np.exp(e)[..., None] * a)
        gain = (1.0 - b) * (1.0 + _SLACK) - steep * (1.0 - _SLACK)
    return _plain(np.clip(gain.max(axis=-1), 0.0, 1.0))


def beta_at(at: npt.ArrayLike, alpha: npt.ArrayLike, beta: npt.ArrayLike) -> Any:
    """Evaluate the piecewise linear function with the given vertices, rounded down.

    Where ``alpha`` repeats, the last value counts.

    Examples
    --------
    >>> round(beta_at(0.125, [0.0, 0.25, 1.0], [1.0, 0.25, 0.0]), 12)
    0.625
    """
    a, b = _vertices(alpha, beta)
    x = _within(at, "at", 0.0, 1.0)
    i = np.minimum(np.searchsorted(a, x, side="right"), len(a) - 1)
    left = np.maximum(i - 1, 0)
    width = np.where(a[i] > a[left], a[i] - a[left], 1.0)
    share = np.clip((x - a[left]) / width, 0.0, 1.0)
    # (1 - share) is formed from the other end: it keeps its digits next to alpha = 1
    rest = np.clip((a[i] - x) / width, 0.0, 1.0)
    value = b[left] * rest + b[i] * np.where(rest == 0.0, 1.0, share)
    return _plain(np.maximum(value * (1.0 - _SLACK), 0.0))


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
    return _hull(*_vertices(alpha, beta))


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
    a, b = _vertices(alpha, beta)
    return _hull(np.concatenate([a, b]), np.concatenate([b, a]))


def advantage(alpha: npt.ArrayLike, beta: npt.ArrayLike) -> float:
    """Return the largest ``1 - alpha - beta`` over the vertices: true minus false positive rate.

    It is ``delta`` at ``epsilon = 0``, the total variation between both hypotheses; rounded up.

    Examples
    --------
    >>> round(advantage([0.0, 0.25, 1.0], [1.0, 0.25, 0.0]), 12)
    0.5
    """
    return float(delta_from_tradeoff(0.0, alpha, beta))


def advantage_from_mu(mu: npt.ArrayLike) -> Any:
    """Return the advantage under mu-Gaussian privacy, ``2*Phi(mu/2) - 1``, rounded up.

    Examples
    --------
    >>> round(advantage_from_mu(1.0), 6)
    0.382925
    """
    return _plain(special.gaussian_delta_upper(_within(mu, "mu", 0.0, math.inf), 0.0))


def bayes_risk(alpha: npt.ArrayLike, beta: npt.ArrayLike, prior: float = 0.5) -> float:
    """Return the least probability of a wrong verdict, ``prior*alpha + (1-prior)*beta``.

    Parameters
    ----------
    alpha, beta : array_like
        Vertices of the trade-off function.
    prior : float
        Probability of the null hypothesis, whose rejection is the type I error, in [0, 1].

    Returns
    -------
    float
        The minimum over all tests, rounded down.

    Examples
    --------
    >>> round(bayes_risk([0.0, 0.25, 1.0], [1.0, 0.25, 0.0]), 12)
    0.25
    """
    a, b = _vertices(alpha, beta)
    p = probability_of(prior, "prior")
    return float(np.min(p * a + (1.0 - p) * b)) * (1.0 - _SLACK)


def bayes_risk_from_delta(delta: npt.ArrayLike, prior: float = 0.5) -> Any:
    """Return the Bayes risk from the privacy curve: ``(1-prior) * (1-delta)``, rounded down.

    ``delta`` is that at ``epsilon = log(prior / (1 - prior))``, which is 0 for even odds and
    negative where the null hypothesis is the less likely one.

    Examples
    --------
    >>> round(bayes_risk_from_delta(0.382925), 5)
    0.30854
    """
    d = _within(delta, "delta", 0.0, 1.0)
    return _plain((1.0 - probability_of(prior, "prior")) * (1.0 - d) * (1.0 - _SLACK))


def bayes_risk_from_mu(mu: npt.ArrayLike, prior: float = 0.5) -> Any:
    """Return the Bayes risk under mu-Gaussian privacy, rounded down.

    Examples
    --------
    >>> round(bayes_risk_from_mu(1.0), 6)
    0.308538
    """
    m, p = _within(mu, "mu", 0.0, math.inf), probability_of(prior, "prior")
    if p in (0.0, 1.0):
        return _plain(np.zeros_like(m))
    # f is symmetric: both hypotheses may be exchanged, and epsilon >= 0 keeps all digits.
    rare = min(p, 1.0 - p)
    odds = math.log1p(-rare) - math.log(rare)
    epsilon = odds - _SLACK * (2.0 + odds)  # delta rises to the left
    return _plain(rare * (1.0 - special.gaussian_delta_upper(m, epsilon)) * (1.0 - _SLACK))


def membership_posterior(
    false_positive_rate: npt.ArrayLike, beta: npt.ArrayLike, prior: float = 0.5
) -> Any:
    """Return the probability that a record an attack accuses is a member.

    Parameters
    ----------
    false_positive_rate : array_like
        Type I error of the attack, in [0, 1].
    beta : array_like
        Trade-off function there; ``1 - beta`` bounds the true positive rate.
    prior : float
        Probability of membership before the attack, in [0, 1].

    Returns
    -------
    ndarray or float
        ``prior*tpr / (prior*tpr + (1-prior)*fpr)`` at the largest true positive rate, rounded up.

    Examples
    --------
    >>> round(membership_posterior(0.01, beta_from_mu(0.01, 1.0), prior=0.1), 6)
    0.506477
    """
    fpr = _within(false_positive_rate, "false_positive_rate", 0.0, 1.0)
    missed = _within(beta, "beta", 0.0, 1.0)
    p = probability_of(prior, "prior")
    hit, false_alarm = p * (1.0 - missed), (1.0 - p) * fpr
    total = hit + false_alarm
    share = np.where(total > 0.0, hit / np.where(total > 0.0, total, 1.0), p)
    return _plain(np.minimum(share * (1.0 + _SLACK), 1.0))


def _within(values: npt.ArrayLike, name: str, low: float, high: float) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be a number in [{low:g}, {high:g}], got {values!r}")
    array = array.astype(np.float64)
    wrong = ~((array >= low) & (array <= high))
    if wrong.any():
        first = float(array[wrong].flat[0])
        raise ValueError(f"{name} must be a number in [{low:g}, {high:g}], got {first!r}")
    return array


def _plain(values: Any) -> Any:
    """Return a float for a zero-dimensional result."""
    array = np.asarray(values)
    return float(array) if array.ndim == 0 else array


def _vertices(alpha: npt.ArrayLike, beta: npt.ArrayLike) -> tuple[Floats, Floats]:
    a, b = _within(alpha, "alpha", 0.0, 1.0), _within(beta, "beta", 0.0, 1.0)
    if a.ndim != 1 or len(a) < 2 or a[0] != 0.0 or a[-1] != 1.0 or np.any(np.diff(a) < 0.0):
        raise ValueError(f"alpha must be an array rising from 0 to 1, got {alpha!r}")
    if b.shape != a.shape or b[-1] != 0.0 or np.any(np.diff(b) > 0.0):
        raise ValueError(f"beta must be an array as long as alpha, falling to 0, got {beta!r}")
    return a, b


def _hull(alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
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
