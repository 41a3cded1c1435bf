"""The Gaussian mechanism, with every calibration of its noise and the range in which each holds.

Noise N(0, sigma^2) on a query of L2 sensitivity S is exactly (epsilon, delta)-private where
Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m) <= delta, m = S/sigma, e = epsilon (Balle, Wang 2018). The
others follow from tails of the privacy loss and ask for more noise. Neighbours are what the
sensitivity was computed for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

from renyi import special
from renyi._validation import epsilon_of, one_of
from renyi.classic._rounding import MARGIN, above, count_above, exp_above, loss_deviations
from renyi.mechanisms._arguments import FINITE_POSITIVE, Range, number_in

__all__ = ["Calibration", "gaussian_delta", "gaussian_sigma"]

Calibration = Literal[
    "exact",
    "chernoff_exact",
    "chernoff",
    "mills",
    "chernoff_concave",
    "mills_concave",
    "dwork_roth",
]
Bound = Literal["exact", "chernoff"]

_OPEN = Range(0.0, 1.0, "()")


def gaussian_sigma(
    epsilon: float,
    delta: float,
    sensitivity: float = 1.0,
    *,
    count: int = 1,
    calibration: Calibration = "exact",
) -> float:
    """Return a standard deviation with which Gaussian noise is (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        In (0, inf); with "dwork_roth" in (0, 1).
    delta : float
        In (0, 1).
    sensitivity : float
        L2 sensitivity S of the query, in (0, inf).
    count : int
        Number of such releases, at least 1, that shall be (epsilon, delta)-private together: they
        are one of sensitivity sqrt(count) S.
    calibration : str
        With l = log(1/delta) and k = log(1/(2 pi delta^2)), in the unit of S:

        ==================  =========================================================
        "exact"             the least that suffices (Balle, Wang 2018, Theorem 8)
        "chernoff_exact"    the least with epsilon sigma - 1/(2 sigma) >= sqrt(2 l)
        "chernoff"          sqrt(2 l)/epsilon + 1/sqrt(2 epsilon)               (6.81)
        "mills"             max(1, sqrt(k_+))/epsilon + 1/sqrt(2 epsilon)       (6.82)
        "chernoff_concave"  sqrt(epsilon + 2 l)/epsilon                         (6.83)
        "mills_concave"     max(sqrt(1 + epsilon), sqrt((epsilon + k)_+))/epsilon (6.84)
        "dwork_roth"        max(3/2, sqrt(2 log(5/(4 delta))))/epsilon, epsilon < 1
        ==================  =========================================================

    Returns
    -------
    float
        In the unit of ``sensitivity``, rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted, or outside the range of the calibration.

    References
    ----------
    "A Tail of Two Densities", Claim 9. Balle, Wang 2018, arXiv 1805.06530. Dwork, Roth 2014, "The
    Algorithmic Foundations of Differential Privacy", Theorem A.1.

    Examples
    --------
    >>> for calibration in "exact", "mills_concave", "mills", "chernoff":
    ...     print(f"{calibration:14}{gaussian_sigma(1.0, 1e-5, calibration=calibration):.4f}")
    exact         3.7306
    mills_concave 4.7104
    mills         5.3101
    chernoff      5.5056
    >>> round(gaussian_sigma(1.0, 1e-5, count=100, calibration="chernoff"), 3)
    55.056
    """
    one_of(calibration, "calibration", get_args(Calibration))
    epsilon = number_in(
        epsilon, "epsilon", _OPEN if calibration == "dwork_roth" else FINITE_POSITIVE
    )
    delta = number_in(delta, "delta", _OPEN)
    sensitivity = number_in(sensitivity, "sensitivity", FINITE_POSITIVE)
    distance = sensitivity * math.sqrt(count_above(count, "count"))
    return above(_MULTIPLIERS[calibration](epsilon, delta) * distance)


def gaussian_delta(
    sigma: float,
    epsilon: float,
    sensitivity: float = 1.0,
    *,
    count: int = 1,
    bound: Bound = "exact",
) -> float:
    """Return a delta with which Gaussian noise is (epsilon, delta)-private.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in (0, inf).
    epsilon : float
        In [0, inf]; with "chernoff" above count S^2 / (2 sigma^2).
    sensitivity : float
        L2 sensitivity S of the query, in (0, inf).
    count : int
        Number of such releases, at least 1: they are one of sensitivity sqrt(count) S.
    bound : {"exact", "chernoff"}
        The exact curve, or exp(-(epsilon sigma/S - S/(2 sigma))^2 / 2), (6.8), which holds for
        sigma > S/sqrt(2 epsilon) only. The same comes from the moments of the loss by
        `delta_from_moments`.

    Returns
    -------
    float
        In [0, 1], rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted, or outside the range of (6.8).

    References
    ----------
    "A Tail of Two Densities", Claim 9. Balle, Wang 2018, arXiv 1805.06530, Theorem 8.

    Examples
    --------
    >>> [f"{gaussian_delta(2.0, 1.0, bound=bound):.6f}" for bound in ("exact", "chernoff")]
    ['0.006830', '0.216265']
    >>> gaussian_delta(0.1, 1.0, bound="chernoff")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: sigma must be above sqrt(count) sensitivity / sqrt(2 epsilon) = 0.707107 for ...
    """
    sigma = number_in(sigma, "sigma", FINITE_POSITIVE)
    epsilon = epsilon_of(epsilon)
    distance = number_in(sensitivity, "sensitivity", FINITE_POSITIVE)
    distance *= math.sqrt(count_above(count, "count"))
    mu = distance / sigma
    if one_of(bound, "bound", get_args(Bound)) == "exact":
        return float(special.gaussian_delta_upper(above(mu), epsilon))
    if epsilon == math.inf:
        return 0.0
    if not 2.0 * epsilon > mu * mu:
        least = distance / math.sqrt(2.0 * epsilon) if epsilon else math.inf
        raise ValueError(
            "sigma must be above sqrt(count) sensitivity / sqrt(2 epsilon) = "
            f"{least:.6g} for the bound 'chernoff', got {sigma!r}"
        )
    t = max(loss_deviations(epsilon, distance, sigma), 0.0)
    return exp_above(-0.5 * t * t)


def _exact(epsilon: float, delta: float) -> float:
    return 1.0 / float(special.gaussian_mu_lower(epsilon, delta))


def _chernoff_exact(epsilon: float, delta: float) -> float:
    # the positive root of epsilon s^2 - t s - 1/2, without cancellation
    t = math.sqrt(-2.0 * math.log(delta))
    return 0.5 * (t + math.hypot(t, math.sqrt(2.0) * math.sqrt(epsilon))) / epsilon


def _chernoff(epsilon: float, delta: float) -> float:
    return math.sqrt(-2.0 * math.log(delta)) / epsilon + math.sqrt(0.5) / math.sqrt(epsilon)


def _mills(epsilon: float, delta: float) -> float:
    first = max(1.0, math.sqrt(_mills_square(delta))) / epsilon
    return first + math.sqrt(0.5) / math.sqrt(epsilon)


def _chernoff_concave(epsilon: float, delta: float) -> float:
    return math.sqrt(epsilon - 2.0 * math.log(delta)) / epsilon


def _mills_concave(epsilon: float, delta: float) -> float:
    rest = max(epsilon - math.log(2.0 * math.pi) - 2.0 * math.log(delta), 0.0)
    return math.sqrt(max(1.0 + epsilon, rest + MARGIN)) / epsilon


def _dwork_roth(epsilon: float, delta: float) -> float:
    return max(1.5, math.sqrt(2.0 * math.log(1.25 / delta))) / epsilon


def _mills_square(delta: float) -> float:
    """Return log(1/(2 pi delta^2))_+, rounded up."""
    return max(-math.log(2.0 * math.pi) - 2.0 * math.log(delta) + MARGIN, 0.0)


_MULTIPLIERS: dict[str, Callable[[float, float], float]] = {
    "exact": _exact,
    "chernoff_exact": _chernoff_exact,
    "chernoff": _chernoff,
    "mills": _mills,
    "chernoff_concave": _chernoff_concave,
    "mills_concave": _mills_concave,
    "dwork_roth": _dwork_roth,
}
