"""Subsampling, and the routes of DP-SGD that compose what it gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from renyi import special
from renyi._rounding import MARGIN, above, below, count_above, exp_above, loss_deviations
from renyi._search import least_value
from renyi._validation import (
    FINITE_POSITIVE,
    Range,
    delta_of,
    epsilon_of,
    integer_of,
    number_in,
    one_of,
    uses_of,
)
from renyi.theory.classic._composition import (
    Form,
    Guarantee,
    advanced_composition,
    advanced_composition_delta,
)
from renyi.theory.classic._optimal_composition import (
    optimal_composition_delta,
    optimal_composition_epsilon,
)

__all__ = [
    "Route",
    "advanced_route_delta",
    "advanced_route_epsilon",
    "before_subsampling",
    "full_batch_route_delta",
    "full_batch_route_epsilon",
    "subsampled",
]


# The subsampling theorem: a private mechanism on a random sample is more private.
#
# It holds in the same form for a uniform sample of fixed size, neighbours differing in one replaced
# record and the rate being sample size over data set size, and for a Poisson sample, neighbours
# differing by one record more or less. What is put in and what comes out refer to that adjacency.


_RATE = Range(0.0, 1.0, "(]")


def subsampled(epsilon: float, delta: float, sample_rate: float) -> Guarantee:
    """Return what an (epsilon, delta)-private mechanism guarantees on a random sample.

    Parameters
    ----------
    epsilon : float
        In [0, inf].
    delta : float
        In [0, 1].
    sample_rate : float
        The probability r that a record is in the sample, in (0, 1].

    Returns
    -------
    Guarantee
        (log(1 + r (exp(epsilon) - 1)), r delta), rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", Claim 19 (fixed size); Balle, Barthe, Gaboardi 2018, arXiv
    1807.01647, Theorems 8 (Poisson) and 9 (fixed size).

    Examples
    --------
    >>> amplified = subsampled(1.0, 1e-5, 0.01)
    >>> round(amplified.epsilon, 6), round(amplified.delta, 12)
    (0.017037, 1e-07)
    """
    epsilon, delta, r = (
        epsilon_of(epsilon),
        delta_of(delta),
        number_in(sample_rate, "sample_rate", _RATE),
    )
    if r == 1.0:
        return Guarantee(epsilon, delta)
    return Guarantee(_log_mixture(epsilon, r), above(r * delta) if delta else 0.0)


def before_subsampling(epsilon: float, delta: float, sample_rate: float) -> Guarantee:
    """Return what a mechanism must satisfy so that it is (epsilon, delta)-private on a sample.

    Parameters
    ----------
    epsilon : float
        In [0, inf].
    delta : float
        In [0, 1].
    sample_rate : float
        The probability r that a record is in the sample, in (0, 1].

    Returns
    -------
    Guarantee
        (log(1 + (exp(epsilon) - 1)/r), min(1, delta/r)), rounded down: `subsampled` takes it back
        to no more than what was asked for.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", Claim 19, inverted.

    Examples
    --------
    >>> base = before_subsampling(0.017, 1e-7, 0.01)
    >>> round(base.epsilon, 6), round(base.delta, 12)
    (0.99862, 1e-05)
    """
    epsilon, delta, r = (
        epsilon_of(epsilon),
        delta_of(delta),
        number_in(sample_rate, "sample_rate", _RATE),
    )
    if r == 1.0:
        return Guarantee(epsilon, delta)
    base_epsilon, base_delta = _log_share(epsilon, r), min(delta / r, 1.0)
    margin = MARGIN
    while True:
        again = subsampled(base_epsilon, base_delta, r)
        if again.epsilon <= epsilon and again.delta <= delta:
            return Guarantee(base_epsilon, base_delta)
        if again.epsilon > epsilon:
            base_epsilon *= 1.0 - margin
        if again.delta > delta:
            base_delta *= 1.0 - margin
        margin = min(2.0 * margin, 1.0)


def _log_share(epsilon: float, r: float) -> float:
    """Return log(1 + (e^epsilon - 1)/r), nearly."""
    if epsilon < 1.0:
        odds = math.expm1(epsilon) / r
        return math.log1p(odds) if odds < math.inf else math.log(math.expm1(epsilon)) - math.log(r)
    # e^epsilon may overflow
    return epsilon - math.log(r) + math.log1p(-(1.0 - r) * math.exp(-epsilon))


def _log_mixture(epsilon: float, r: float) -> float:
    """Return log(1 + r (e^epsilon - 1)), rounded up."""
    if epsilon < 700.0:
        return above(math.log1p(r * math.expm1(epsilon))) if epsilon else 0.0
    # log(1 + e^(epsilon + log r) - r) where e^epsilon overflows; epsilon and log r may cancel
    x = epsilon + math.log(r) + MARGIN * (epsilon - math.log(r))
    return above(max(x, 0.0) + math.log1p(math.exp(-abs(x))))


# Three routes to the privacy of DP-SGD, as one author laid them beside each other.
#
# T steps of Gaussian noise on a random sample of rate r, k = T r epochs:
#
# 1. privacy of a step by the tail of its loss, the subsampling theorem, advanced composition;
# 2. moments of the loss over k steps with all of the data: no sampling at all;
# 3. moments of the sampled mechanism, bounded by a constant.
#
# The noise multiplier is the standard deviation over the sensitivity of the adjacency of each:
# route 1 holds for samples of fixed size where one record is replaced and for Poisson samples where
# one is added or removed, route 2 for any adjacency, route 3 for Poisson samples where one is added
# or removed. A record replaced moves a sum of clipped contributions by twice the clipping norm. The
# post multiplies the clipped mean by a learning rate a but not the noise, of standard deviation s
# times the clipping norm: there the sensitivity holds a, and the multiplier is s/a.
#
# The second is here, the first in `renyi.theory.classic._routes`, the third in
# `renyi.theory.classic._moments`.
#
# "Great but Manageable Expectations", the comparison in its last part, with the exponents
# corrected.


class Route(NamedTuple):
    """What a route gives, and epsilon and delta of one sampled step (or of one full step)."""

    epsilon: float
    delta: float
    step_epsilon: float
    step_delta: float


def full_batch_route_delta(noise_multiplier: float, epochs: int, epsilon: float) -> Route:
    """Return delta by route 2: exp(-k kappa*(epsilon/k)) for k steps with all of the data.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity, in (0, inf).
    epochs : int
        k, at least 1.
    epsilon : float
        In [0, inf].

    Returns
    -------
    Route
        delta = exp(-k (s epsilon/k - 1/(2 s))^2 / 2), rounded up; 1 for epsilon <= k/(2 s^2).

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> f"{full_batch_route_delta(4.0, 1, 1.0).delta:.2e}"
    '5.49e-04'
    """
    noise = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
    root = math.sqrt(count_above(epochs, "epochs"))
    epsilon = epsilon_of(epsilon)
    if epsilon == math.inf:
        return Route(epsilon, 0.0, epsilon, 0.0)
    t = max(loss_deviations(epsilon, root, noise), 0.0)
    return Route(epsilon, exp_above(-0.5 * t * t), epsilon, 0.0)


def full_batch_route_epsilon(noise_multiplier: float, epochs: int, delta: float) -> Route:
    """Return epsilon by route 2: k/(2 s^2) + sqrt(2 k log(1/delta))/s.

    Parameters
    ----------
    noise_multiplier, epochs
        As in `full_batch_route_delta`.
    delta : float
        In [0, 1].

    Returns
    -------
    Route
        epsilon is rounded up.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> round(full_batch_route_epsilon(4.0, 1, 1e-5).epsilon, 4)
    1.2309
    """
    noise = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
    mu = math.sqrt(count_above(epochs, "epochs")) / noise
    delta = delta_of(delta)
    if delta in (0.0, 1.0):
        return Route(0.0 if delta else math.inf, delta, 0.0, delta)
    epsilon = above(0.5 * mu * mu + mu * math.sqrt(-2.0 * math.log(delta)))
    return Route(epsilon, delta, epsilon, delta)


# DP-SGD by the subsampling theorem and advanced composition: the first of
# `renyi.theory.classic._routes`.
#
# It holds for samples of fixed size where one record is replaced and for Poisson samples where one
# is added or removed; the noise multiplier is relative to the sensitivity of that adjacency.


Composition = Literal["adaptive", "independent", "sharp", "optimal"]


Step = Literal["tail", "exact"]


_LOWEST, _HIGHEST = 1e-300, 100.0  # epsilon of one sampled step


_APART = 8.0


def advanced_route_delta(
    sample_rate: float,
    noise_multiplier: float,
    steps: int,
    epsilon: float,
    *,
    step: Step = "tail",
    composition: Composition = "adaptive",
) -> Route:
    """Return delta by route 1, the least over the epsilon of one step.

    Parameters
    ----------
    sample_rate : float
        r, in (0, 1].
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity, in (0, inf).
    steps : int
        T, at least 1; at most 1e9 with "optimal".
    epsilon : float
        In [0, inf].
    step : {"tail", "exact"}
        The delta of Gaussian noise: by the tail of the loss, (6.8), as stated, or the exact curve.
    composition : {"adaptive", "independent", "sharp", "optimal"}
        As in `advanced_composition`, of which the first is stated; or `optimal_composition_delta`.

    Returns
    -------
    Route
        delta is rounded up, and 1 where the route gives nothing.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> f"{advanced_route_delta(0.01, 4.0, 100, 1.0).delta:.2e}"
    '1.01e-04'
    """
    at_step, count = _step_curve(noise_multiplier, sample_rate, steps, step, composition)
    epsilon = epsilon_of(epsilon)

    def delta_with(step_epsilon: float) -> float:
        each = at_step(step_epsilon)
        if composition == "optimal":
            return optimal_composition_delta(step_epsilon, epsilon, count, delta=each)
        return advanced_composition_delta(
            step_epsilon, epsilon, delta=each, count=count, form=composition
        )

    if epsilon < _LOWEST or epsilon == math.inf:
        return Route(epsilon, 1.0 if epsilon < _LOWEST else 0.0, epsilon, 0.0)
    low = max(1e-3 * min(epsilon, 1.0) / count, 1e-3 * _LOWEST)
    found, delta = least_value(delta_with, low, min(epsilon, _HIGHEST))
    return Route(epsilon, delta, found, at_step(found))


def advanced_route_epsilon(
    sample_rate: float,
    noise_multiplier: float,
    steps: int,
    delta: float,
    *,
    step: Step = "tail",
    composition: Composition = "adaptive",
) -> Route:
    """Return epsilon by route 1, the least over the epsilon of one step.

    Parameters
    ----------
    sample_rate, noise_multiplier, steps, step, composition
        As in `advanced_route_delta`.
    delta : float
        In [0, 1].

    Returns
    -------
    Route
        epsilon is rounded up, and infinity where the route gives nothing.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> round(advanced_route_epsilon(0.01, 4.0, 100, 1e-5).epsilon, 4)
    1.331
    """
    at_step, count = _step_curve(noise_multiplier, sample_rate, steps, step, composition)
    delta = delta_of(delta)

    def optimal_with(step_epsilon: float) -> float:
        each = at_step(step_epsilon)
        return optimal_composition_epsilon(step_epsilon, delta, count, delta=each)

    def epsilon_with(step_epsilon: float) -> float:
        form: Form = "sharp" if composition == "optimal" else composition
        each = at_step(step_epsilon)
        slack = below(delta - above(count * each))
        if not 0.0 < slack < 1.0:
            return math.inf
        return advanced_composition(step_epsilon, slack, count=count, form=form).epsilon

    if delta in (0.0, 1.0):
        epsilon = 0.0 if delta else math.inf
        return Route(epsilon, delta, epsilon, 0.0)
    found, epsilon = least_value(epsilon_with, 1e-6 / math.sqrt(count), _HIGHEST)
    if composition == "optimal" and epsilon < math.inf:  # best near to where the other is
        found, epsilon = least_value(optimal_with, found / _APART, found * _APART, places=25)
    return Route(epsilon, delta, found, at_step(found))


def _step_curve(
    noise_multiplier: float, sample_rate: float, steps: int, step: Step, composition: Composition
) -> tuple[Callable[[float], float], int]:
    """Return delta against epsilon of one sampled step, and the number of steps."""
    noise = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
    rate = number_in(sample_rate, "sample_rate", _RATE)
    count = integer_of(steps, "steps", 1)
    count_above(steps, "steps")
    one_of(step, "step", get_args(Step))
    one_of(composition, "composition", get_args(Composition))
    if composition == "optimal":
        uses_of(steps, "steps", 1)
    mu = above(1.0 / noise)

    def delta_at(epsilon: float) -> float:
        base = before_subsampling(epsilon, 0.0, rate).epsilon
        if step == "exact":
            return min(above(rate * float(special.gaussian_delta_upper(mu, base))), 1.0)
        return min(above(rate * full_batch_route_delta(noise, 1, base).delta), 1.0)

    return delta_at, count
