"""Noise for one release: Gaussian and Laplace, and the mean of clipped numbers.

Each function takes two of noise, epsilon and delta and returns the third, rounded to the safe side.
The adjacency is that of the sensitivity.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal, get_args

from renyi import special
from renyi._adjacency import one_of
from renyi._rounding import MARGIN, above, count_above, exp_above, loss_deviations
from renyi._validation import (
    BELOW_ONE,
    BETWEEN,
    FINITE_POSITIVE,
    check_one_missing,
    delta_of,
    epsilon_of,
    integer_of,
    number_in,
)

__all__ = ["gaussian_calibration", "laplace_calibration", "mean_noise_multiplier"]
__dir__ = __all__.copy


# Gaussian noise N(0, sigma^2) on a query of L2 sensitivity S is exactly (epsilon, delta)-private
# where Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m) <= delta, m = S/sigma, e = epsilon (Balle, Wang
# 2018). The other calibrations follow from tails of the privacy loss and ask for more noise.

Calibration = Literal[
    "exact",
    "chernoff_exact",
    "chernoff",
    "mills",
    "chernoff_concave",
    "mills_concave",
    "dwork_roth",
]


def gaussian_calibration(
    *,
    sigma: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    sensitivity: float = 1.0,
    count: int = 1,
    calibration: Calibration = "exact",
) -> float:
    """Return sigma, epsilon or delta of Gaussian noise from the other two, rounded up.

    Args:
        sigma: Standard deviation of the noise, in (0, inf).
        epsilon: In [0, inf]; in (0, inf) where sigma is asked for, and in (0, 1) with "dwork_roth".
        delta: In [0, 1]; in (0, 1) where sigma is asked for.
        sensitivity: L2 sensitivity S of the query, in (0, inf).
        count: Number of such releases, at least 1, that are (epsilon, delta)-private together: they
            equal one release of sensitivity sqrt(count) S.
        calibration: With l = log(1/delta) and k = log(1/(2 pi delta^2)), sigma in the unit of S:

                "exact"             the least that suffices (Balle, Wang 2018, Theorem 8)
                "chernoff_exact"    the least with epsilon sigma - 1/(2 sigma) >= sqrt(2 l)
                "chernoff"          sqrt(2 l)/epsilon + 1/sqrt(2 epsilon)               (6.81)
                "mills"             max(1, sqrt(k_+))/epsilon + 1/sqrt(2 epsilon)       (6.82)
                "chernoff_concave"  sqrt(epsilon + 2 l)/epsilon                         (6.83)
                "mills_concave"     max(sqrt(1 + epsilon), sqrt((epsilon + k)_+))/epsilon (6.84)
                "dwork_roth"        max(3/2, sqrt(2 log(5/(4 delta))))/epsilon, epsilon < 1

            For delta, "exact" is the exact curve and "chernoff" is exp(-(epsilon sigma/S - S/(2
            sigma))^2 / 2), (6.8), which holds for sigma > S/sqrt(2 epsilon) only; for epsilon, only
            "exact" is available.

    Source: "A Tail of Two Densities", Claim 9. Balle, Wang 2018, arXiv 1805.06530. Dwork, Roth
    2014, "The Algorithmic Foundations of Differential Privacy", Theorem A.1.

    >>> for calibration in "exact", "mills_concave", "mills", "chernoff":
    ...     sigma = gaussian_calibration(epsilon=1.0, delta=1e-5, calibration=calibration)
    ...     print(f"{calibration:14}{sigma:.4f}")
    exact         3.7306
    mills_concave 4.7104
    mills         5.3101
    chernoff      5.5056
    """
    one_of(calibration, "calibration", get_args(Calibration))
    check_one_missing(sigma=sigma, epsilon=epsilon, delta=delta)
    distance = number_in(sensitivity, "sensitivity", FINITE_POSITIVE)
    distance *= math.sqrt(count_above(count, "count"))
    if sigma is None:
        allowed = BETWEEN if calibration == "dwork_roth" else FINITE_POSITIVE
        of_one = _MULTIPLIERS[calibration](
            number_in(epsilon, "epsilon", allowed), number_in(delta, "delta", BETWEEN)
        )
        return above(of_one * distance)
    one_of(calibration, "calibration", ("exact", "chernoff") if delta is None else ("exact",))
    noise = number_in(sigma, "sigma", FINITE_POSITIVE)
    mu = distance / noise
    if epsilon is None:
        return max(float(special.gaussian_epsilon_upper(above(mu), delta_of(delta))), 0.0)
    target = epsilon_of(epsilon)
    if calibration == "exact":
        return float(special.gaussian_delta_upper(above(mu), target))
    if target == math.inf:
        return 0.0
    if not 2.0 * target > mu * mu:
        least = distance / math.sqrt(2.0 * target) if target else math.inf
        raise ValueError(
            "sigma must be above sqrt(count) sensitivity / sqrt(2 epsilon) = "
            f"{least:.6g} for the bound 'chernoff', got {sigma!r}"
        )
    t = max(loss_deviations(target, distance, noise), 0.0)
    return exp_above(-0.5 * t * t)


def _depth(delta: float) -> float:
    """Return sqrt(2 log(1/delta))."""
    return math.sqrt(-2.0 * math.log(delta))


def _mills_square(delta: float) -> float:
    """Return log(1/(2 pi delta^2)), rounded up."""
    return -math.log(2.0 * math.pi) - 2.0 * math.log(delta) + MARGIN


_MULTIPLIERS: dict[str, Callable[[float, float], float]] = {
    "exact": lambda e, d: 1.0 / float(special.gaussian_mu_lower(e, d)),
    # the positive root of epsilon s^2 - t s - 1/2, without cancellation
    "chernoff_exact": lambda e, d: (
        0.5 * (_depth(d) + math.hypot(_depth(d), math.sqrt(2.0) * math.sqrt(e))) / e
    ),
    "chernoff": lambda e, d: _depth(d) / e + math.sqrt(0.5) / math.sqrt(e),
    "mills": lambda e, d: math.sqrt(max(1.0, _mills_square(d))) / e + math.sqrt(0.5) / math.sqrt(e),
    "chernoff_concave": lambda e, d: math.sqrt(e - 2.0 * math.log(d)) / e,
    "mills_concave": lambda e, d: math.sqrt(max(1.0 + e, e + _mills_square(d))) / e,
    "dwork_roth": lambda e, d: max(1.5, math.sqrt(2.0 * math.log(1.25 / d))) / e,
}


# Laplace noise of density exp(-|x|/b) / (2 b) on a query of L1 sensitivity S: the privacy loss is
# at most S/b, so b = S/epsilon gives pure privacy. For one number the exact curve is delta(epsilon)
# = (1 - exp((epsilon - S/b)/2))_+.


def laplace_calibration(
    *,
    scale: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    sensitivity: float = 1.0,
) -> float:
    """Return scale, epsilon or delta = 1 - exp((epsilon - S/b)/2) of Laplace noise, rounded up.

    Args:
        scale: Scale b of the noise, in (0, inf).
        epsilon: In [0, inf]; in (0, inf) where the scale is asked for.
        delta: In [0, 1]; in [0, 1) where the scale is asked for.
        sensitivity: L1 sensitivity S of the query, in (0, inf); unless delta is 0 the query must be
            a single number.

    Source: "A Tail of Two Densities", (1.5); Dwork, McSherry, Nissim, Smith 2006.

    >>> [round(laplace_calibration(epsilon=0.5, delta=delta), 6) for delta in (0.0, 0.1)]
    [2.0, 1.407022]
    >>> round(laplace_calibration(scale=1.0, epsilon=0.5), 6)
    0.221199
    """
    check_one_missing(scale=scale, epsilon=epsilon, delta=delta)
    width = number_in(sensitivity, "sensitivity", FINITE_POSITIVE)
    if scale is None:
        target = number_in(epsilon, "epsilon", FINITE_POSITIVE)
        chance = number_in(delta, "delta", BELOW_ONE)
        if chance == 0.0:
            return math.nextafter(width / target, math.inf)
        return above(width / (target - 2.0 * math.log1p(-chance)))
    largest = math.nextafter(width / number_in(scale, "scale", FINITE_POSITIVE), math.inf)
    if delta is None:
        excess = largest - epsilon_of(epsilon)
        return min(above(-math.expm1(-0.5 * excess)), 1.0) if excess > 0.0 else 0.0
    chance = delta_of(delta)
    if chance in (0.0, 1.0):
        return 0.0 if chance else largest
    spared = 2.0 * math.log1p(-chance)
    return max(largest + spared + MARGIN * (largest - spared), 0.0)


# Accountants count noise in units of what a record can change. Two means clipped to norm C/2 are at
# most C apart, whatever the batches. With rows clipped to C a record more moves the mean of n rows
# by |x - mean| / (n + 1) <= 2C / (n + 1), that of none, taken as 0, by C; a replaced one by 2C / n.
# Where a record is replaced and may be left out, the old one, the new one and none give three means
# pairwise C apart, while the known pair has the third halfway between the others.


def mean_noise_multiplier(
    noise: float,
    clip_norm: float,
    *,
    clipped: Literal["mean", "rows"],
    adjacency: Literal["add_remove", "replace_one"] = "add_remove",
    learning_rate: float = 1.0,
    least_size: int = 0,
) -> float:
    """Return the multiplier by which a noisy mean over a batch of random size is accounted.

    Args:
        noise: Standard deviation of the noise added to the update, in (0, inf).
        clip_norm: C, in (0, inf).
        clipped ({"mean", "rows"}): "mean": the mean is clipped to norm C/2. "rows": each row is
            clipped to norm C, and their sum divided by the true number of rows; the mean of no row
            is 0.
        adjacency ({"add_remove", "replace_one"}): Which data sets are neighbours.
        learning_rate: Factor of the mean before the noise is added, in (0, inf).
        least_size: A certain lower bound of the batch size: 0 for Poisson samples, the size of
            samples of fixed size, which "replace_one" needs. It is not checked.

    Returns:
        The noise over the sensitivity, rounded down, in the units of the accountants: pass it to
        `Gaussian`, and that to the sampling. For "replace_one", where `Gaussian` counts twice the
        sensitivity of adding a record, it is twice that ratio.

    Source: "A Tail of Two Densities" adds noise of deviation sigma C to a mean clipped to C/2 that
    it multiplies by the learning rate.

    >>> mean_noise_multiplier(4.0, 2.0, clipped="mean")
    2.0
    >>> mean_noise_multiplier(4.0, 2.0, clipped="rows")
    2.0
    >>> mean_noise_multiplier(4.0, 2.0, clipped="rows", adjacency="replace_one", least_size=100)
    200.0
    """
    deviation = number_in(noise, "noise", FINITE_POSITIVE)
    norm = number_in(clip_norm, "clip_norm", FINITE_POSITIVE)
    one_of(clipped, "clipped", ("mean", "rows"))
    one_of(adjacency, "adjacency", ("add_remove", "replace_one"))
    rate = number_in(learning_rate, "learning_rate", FINITE_POSITIVE)
    size = integer_of(least_size, "least_size", 0)
    replaced = adjacency == "replace_one"
    if replaced and size == 0:
        raise ValueError(
            "least_size must be the fixed size of the samples where a record is replaced: with a "
            "random size no pair of distributions is known for a noisy mean, got 0"
        )
    share = Fraction(1)
    if clipped == "rows":
        share = Fraction(2, size) if replaced else Fraction(2, max(size + 1, 2))
    units = 2 if replaced else 1
    exact = units * Fraction(deviation) / (Fraction(norm) * Fraction(rate) * share)
    found = float(exact)
    return found if Fraction(found) <= exact else math.nextafter(found, 0.0)
