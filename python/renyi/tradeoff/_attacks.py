"""What attackers achieve: advantage, Bayes risk, and the posterior of membership."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from renyi import special
from renyi._validation import probability_of
from renyi.tradeoff._arguments import SLACK, plain, within
from renyi.tradeoff._vertices import delta_from_tradeoff, vertices

__all__ = [
    "advantage",
    "advantage_from_mu",
    "bayes_risk",
    "bayes_risk_from_delta",
    "bayes_risk_from_mu",
    "membership_posterior",
]


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
    return plain(special.gaussian_delta_upper(within(mu, "mu", 0.0, math.inf), 0.0))


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
    a, b = vertices(alpha, beta)
    p = probability_of(prior, "prior")
    return float(np.min(p * a + (1.0 - p) * b)) * (1.0 - SLACK)


def bayes_risk_from_delta(delta: npt.ArrayLike, prior: float = 0.5) -> Any:
    """Return the Bayes risk from the privacy curve: ``(1-prior) * (1-delta)``, rounded down.

    ``delta`` is that at ``epsilon = log(prior / (1 - prior))``, which is 0 for even odds and
    negative where the null hypothesis is the less likely one.

    Examples
    --------
    >>> round(bayes_risk_from_delta(0.382925), 5)
    0.30854
    """
    d = within(delta, "delta", 0.0, 1.0)
    return plain((1.0 - probability_of(prior, "prior")) * (1.0 - d) * (1.0 - SLACK))


def bayes_risk_from_mu(mu: npt.ArrayLike, prior: float = 0.5) -> Any:
    """Return the Bayes risk under mu-Gaussian privacy, rounded down.

    Examples
    --------
    >>> round(bayes_risk_from_mu(1.0), 6)
    0.308538
    """
    m, p = within(mu, "mu", 0.0, math.inf), probability_of(prior, "prior")
    if p in (0.0, 1.0):
        return plain(np.zeros_like(m))
    # f is symmetric: both hypotheses may be exchanged, and epsilon >= 0 keeps all digits.
    rare = min(p, 1.0 - p)
    odds = math.log1p(-rare) - math.log(rare)
    epsilon = odds - SLACK * (2.0 + odds)  # delta rises to the left
    return plain(rare * (1.0 - special.gaussian_delta_upper(m, epsilon)) * (1.0 - SLACK))


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
    >>> from renyi.tradeoff import beta_from_mu
    >>> round(membership_posterior(0.01, beta_from_mu(0.01, 1.0), prior=0.1), 6)
    0.506477
    """
    fpr = within(false_positive_rate, "false_positive_rate", 0.0, 1.0)
    missed = within(beta, "beta", 0.0, 1.0)
    p = probability_of(prior, "prior")
    hit, false_alarm = p * (1.0 - missed), (1.0 - p) * fpr
    total = hit + false_alarm
    share = np.where(total > 0.0, hit / np.where(total > 0.0, total, 1.0), p)
    return plain(np.minimum(share * (1.0 + SLACK), 1.0))
