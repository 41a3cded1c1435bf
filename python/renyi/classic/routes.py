"""Three routes to the privacy of DP-SGD, as one author laid them beside each other.

T steps of Gaussian noise on a random sample of rate r, k = T r epochs:

1. privacy of a step by the tail of its loss, the subsampling theorem, advanced composition;
2. moments of the loss over k steps with all of the data: no sampling at all;
3. moments of the sampled mechanism, bounded by a constant.

The noise multiplier is the standard deviation over the sensitivity of the adjacency of each: route
1 holds for samples of fixed size where one record is replaced and for Poisson samples where one is
added or removed, route 2 for any adjacency, route 3 for Poisson samples where one is added or
removed. A record replaced moves a sum of clipped contributions by twice the clipping norm. The post
multiplies the clipped mean by a learning rate a but not the noise, of standard deviation s times
the clipping norm: there the sensitivity holds a, and the multiplier is s/a.

The second is here, the first in `renyi.classic.advanced_route`, the third in
`renyi.classic.moments`.

"Great but Manageable Expectations", the comparison in its last part, with the exponents corrected.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from renyi._validation import delta_of, epsilon_of
from renyi.classic._rounding import above, count_above, exp_above, loss_deviations
from renyi.mechanisms._arguments import FINITE_POSITIVE, number_in

__all__ = ["Route", "full_batch_route_delta", "full_batch_route_epsilon"]


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
