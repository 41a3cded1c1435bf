"""DP-SGD by the subsampling theorem and advanced composition: the first of `renyi.classic.routes`.

It holds for samples of fixed size where one record is replaced and for Poisson samples where one is
added or removed; the noise multiplier is relative to the sensitivity of that adjacency.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

from renyi import special
from renyi._validation import delta_of, epsilon_of, integer_of, one_of, uses_of
from renyi.classic._minimum import smallest
from renyi.classic._rounding import above, below, count_above
from renyi.classic.advanced_composition import (
    Form,
    advanced_composition,
    advanced_composition_delta,
)
from renyi.classic.amplification import before_subsampling
from renyi.classic.optimal_composition import (
    optimal_composition_delta,
    optimal_composition_epsilon,
)
from renyi.classic.routes import Route, full_batch_route_delta
from renyi.mechanisms._arguments import FINITE_POSITIVE, Range, number_in

__all__ = ["advanced_route_delta", "advanced_route_epsilon"]

Composition = Literal["adaptive", "independent", "sharp", "optimal"]
Step = Literal["tail", "exact"]

_RATE = Range(0.0, 1.0, "(]")
_LOWEST, _HIGHEST = 1e-300, 100.0  # epsilon of one sampled step
_APART = 8.0


def advanced_route_delta(
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    epsilon: float,
    *,
    step: Step = "tail",
    composition: Composition = "adaptive",
) -> Route:
    """Return delta by route 1, the least over the epsilon of one step.

    Parameters
    ----------
    noise_multiplier : float
        Standard deviation of the noise over the sensitivity, in (0, inf).
    sample_rate : float
        r, in (0, 1].
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
    >>> f"{advanced_route_delta(4.0, 0.01, 100, 1.0).delta:.2e}"
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
    found, delta = smallest(delta_with, low, min(epsilon, _HIGHEST))
    return Route(epsilon, delta, found, at_step(found))


def advanced_route_epsilon(
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    *,
    step: Step = "tail",
    composition: Composition = "adaptive",
) -> Route:
    """Return epsilon by route 1, the least over the epsilon of one step.

    Parameters
    ----------
    noise_multiplier, sample_rate, steps, step, composition
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
    >>> round(advanced_route_epsilon(4.0, 0.01, 100, 1e-5).epsilon, 4)
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
    found, epsilon = smallest(epsilon_with, 1e-6 / math.sqrt(count), _HIGHEST)
    if composition == "optimal" and epsilon < math.inf:  # best near to where the other is
        found, epsilon = smallest(optimal_with, found / _APART, found * _APART, places=25)
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
