"""Trade-off functions of guarantees that are two numbers or one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi.tradeoff._arguments import SLACK, plain, within

__all__ = ["beta_from_epsilon_delta", "beta_from_mu", "compose_mu"]


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
    a = within(alpha, "alpha", 0.0, 1.0)[..., None]
    e = np.atleast_1d(within(epsilon, "epsilon", 0.0, math.inf))
    d = np.atleast_1d(within(delta, "delta", 0.0, 1.0))
    if e.ndim != 1 or e.shape != d.shape:
        raise ValueError(f"delta must be of the shape of epsilon, {e.shape}, got {d.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(a == 0.0, 0.0, np.exp(e) * a)
        first = (1.0 - d) * (1.0 - SLACK) - steep * (1.0 + SLACK)
    second = np.exp(-e) * ((1.0 - d - a) - SLACK * (1.0 + a))
    return plain(np.maximum(np.maximum(first, second), 0.0).max(axis=-1))


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
    a, m = within(alpha, "alpha", 0.0, 1.0), within(mu, "mu", 0.0, math.inf)
    return plain(special.gaussian_tradeoff_lower(m, a))


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
    m = within(mu, "mu", 0.0, math.inf)
    n = within(counts, "counts", 0.0, math.inf)
    terms = np.where(n == 0.0, 0.0, np.sqrt(n) * np.where(n == 0.0, 0.0, m))
    return math.hypot(*terms.ravel().tolist()) * (1.0 + SLACK)
