"""Three routes to the privacy of DP-SGD, as compared by one author.

T steps of Gaussian noise on a random sample of rate r, k = T r epochs:

1. `advanced_route`: privacy of a step by the tail of its loss, the subsampling theorem, advanced
   composition;
2. `full_batch_route`: moments of the loss over k steps with all of the data, without sampling; 3.
`moment_bound`: moments of the sampled mechanism, bounded by a constant.

The noise multiplier is the standard deviation over the sensitivity of the adjacency of each: route
1 holds for samples of fixed size where one record is replaced and for Poisson samples where one is
added or removed, route 2 for any adjacency, route 3 for Poisson samples where one is added or
removed. A record replaced moves a sum of clipped contributions by twice the clipping norm. The post
multiplies the clipped mean by a learning rate a but not the noise, of standard deviation s times
the clipping norm: there the sensitivity holds a, and the multiplier is s/a.

"Great but Manageable Expectations", the comparison in its last part, with the exponents corrected.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from renyi import special
from renyi._adjacency import one_of
from renyi._rounding import MARGIN, above, below, count_above, exp_above, loss_deviations
from renyi._search import largest_count, least_argument, least_value
from renyi._validation import (
    BETWEEN,
    FINITE_POSITIVE,
    RATE,
    check_one_missing,
    delta_of,
    epsilon_of,
    integer_of,
    number_in,
    uses_of,
)
from renyi.theory.composition import Form, advanced_composition, optimal_composition
from renyi.theory.moments import LEAST_C2, log_moment_constant
from renyi.theory.subsampling import subsampled

__all__ = ["advanced_route", "full_batch_route", "moment_bound"]
__dir__ = __all__.copy

Composition = Literal["adaptive", "independent", "sharp", "optimal"]
Step = Literal["tail", "exact"]
MomentForm = Literal["halved", "direct"]

_LOWEST, _HIGHEST = 1e-300, 100.0  # epsilon of one sampled step
_APART = 8.0
_LARGEST_C2 = 13.0
_LARGEST_ORDER = 10**6
_LEAST, _MOST, _TOLERANCE = 0.05, 1e5, 1e-9  # range and accuracy of noise multipliers


class Route(NamedTuple):
    """The guarantee of a route, and epsilon and delta of one sampled (or full) step."""

    epsilon: float
    delta: float
    step_epsilon: float
    step_delta: float


def full_batch_route(
    noise_multiplier: float,
    epochs: int,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Route:
    """Return delta or epsilon by route 2: exp(-k kappa*(epsilon/k)) for k steps with all the data.

    Args:
        noise_multiplier: Standard deviation s of the noise over the sensitivity, in (0, inf).
        epochs: k, at least 1.
        epsilon, delta: In [0, inf] and [0, 1]. Either of them has to be given.

    Returns:
        ``delta`` = exp(-k (s epsilon/k - 1/(2 s))^2 / 2), 1 for epsilon <= k/(2 s^2), or
        ``epsilon`` = k/(2 s^2) + sqrt(2 k log(1/delta))/s; rounded up.

    >>> round(full_batch_route(4.0, 1, delta=1e-5).epsilon, 4)
    1.2309
    """
    check_one_missing(epsilon=epsilon, delta=delta)
    noise = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
    root = math.sqrt(count_above(epochs, "epochs"))
    if epsilon is not None:
        target = epsilon_of(epsilon)
        if target == math.inf:
            return Route(target, 0.0, target, 0.0)
        t = max(loss_deviations(target, root, noise), 0.0)
        return Route(target, exp_above(-0.5 * t * t), target, 0.0)
    mu, chance = root / noise, delta_of(delta)
    if chance in (0.0, 1.0):
        return Route(0.0 if chance else math.inf, chance, 0.0, chance)
    found = above(0.5 * mu * mu + mu * math.sqrt(-2.0 * math.log(chance)))
    return Route(found, chance, found, chance)


def advanced_route(
    sample_rate: float,
    noise_multiplier: float,
    steps: int,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    step: Step = "tail",
    composition: Composition = "adaptive",
) -> Route:
    """Return delta or epsilon by route 1, the least over the epsilon of one step.

    Args:
        sample_rate: r, in (0, 1].
        noise_multiplier: Standard deviation of the noise over the sensitivity, in (0, inf).
        steps: T, at least 1; at most 1e9 with "optimal".
        epsilon, delta: In [0, inf] and [0, 1]. Either of them has to be given.
        step ({"tail", "exact"}): How delta of Gaussian noise is computed: by the tail of the loss,
            (6.8), as stated, or by the exact curve.
        composition ({"adaptive", "independent", "sharp", "optimal"}): The form of
            `advanced_composition`, of which the first is stated; or `optimal_composition`.

    Returns:
        The guarantee, rounded up; delta 1 or epsilon infinity where the route gives nothing.

    >>> round(advanced_route(0.01, 4.0, 100, delta=1e-5).epsilon, 4)
    1.331
    """
    check_one_missing(epsilon=epsilon, delta=delta)
    at_step, count = _step_curve(noise_multiplier, sample_rate, steps, step, composition)
    if epsilon is not None:
        return _advanced_delta(at_step, count, composition, epsilon_of(epsilon))
    return _advanced_epsilon(at_step, count, composition, delta_of(delta))


def _advanced_delta(
    at_step: Callable[[float], float], count: int, composition: Composition, epsilon: float
) -> Route:
    def delta_with(step_epsilon: float) -> float:
        each = at_step(step_epsilon)
        if composition == "optimal":
            found = optimal_composition(step_epsilon, count, delta=each, target_epsilon=epsilon)
        else:
            found = advanced_composition(
                step_epsilon, target_epsilon=epsilon, delta=each, count=count, form=composition
            )
        return found.delta

    if epsilon < _LOWEST or epsilon == math.inf:
        return Route(epsilon, 1.0 if epsilon < _LOWEST else 0.0, epsilon, 0.0)
    low = max(1e-3 * min(epsilon, 1.0) / count, 1e-3 * _LOWEST)
    found, delta = least_value(delta_with, low, min(epsilon, _HIGHEST))
    return Route(epsilon, delta, found, at_step(found))


def _advanced_epsilon(
    at_step: Callable[[float], float], count: int, composition: Composition, delta: float
) -> Route:
    def optimal_with(step_epsilon: float) -> float:
        each = at_step(step_epsilon)
        return optimal_composition(step_epsilon, count, delta=each, target_delta=delta).epsilon

    def epsilon_with(step_epsilon: float) -> float:
        form: Form = "sharp" if composition == "optimal" else composition
        slack = below(delta - above(count * at_step(step_epsilon)))
        if not 0.0 < slack < 1.0:
            return math.inf
        return advanced_composition(step_epsilon, slack, count=count, form=form).epsilon

    if delta in (0.0, 1.0):
        epsilon = 0.0 if delta else math.inf
        return Route(epsilon, delta, epsilon, 0.0)
    found, epsilon = least_value(epsilon_with, 1e-6 / math.sqrt(count), _HIGHEST)
    if composition == "optimal" and epsilon < math.inf:  # its best is near that of the other
        found, epsilon = least_value(optimal_with, found / _APART, found * _APART, places=25)
    return Route(epsilon, delta, found, at_step(found))


def _step_curve(
    noise_multiplier: float, sample_rate: float, steps: int, step: Step, composition: Composition
) -> tuple[Callable[[float], float], int]:
    """Return delta against epsilon of one sampled step, and the number of steps."""
    noise = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
    rate = number_in(sample_rate, "sample_rate", RATE)
    count = integer_of(steps, "steps", 1)
    count_above(steps, "steps")
    one_of(step, "step", get_args(Step))
    one_of(composition, "composition", get_args(Composition))
    if composition == "optimal":
        uses_of(steps, "steps", 1)
    mu = above(1.0 / noise)

    def delta_at(epsilon: float) -> float:
        base = subsampled(epsilon, 0.0, rate, inverse=True).epsilon
        if step == "exact":
            return min(above(rate * float(special.gaussian_delta_upper(mu, base))), 1.0)
        return min(above(rate * full_batch_route(noise, 1, epsilon=base).delta), 1.0)

    return delta_at, count


class MomentBound(NamedTuple):
    """The moment bound with its order l, c2 and log C(c1, c2); order 0 is no bound."""

    epsilon: float
    delta: float
    order: int
    c2: float
    log_constant: float
    noise_multiplier: float


def moment_bound(
    sample_rate: float,
    noise_multiplier: float | None,
    steps: int,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    form: MomentForm = "halved",
) -> MomentBound:
    """Return delta, epsilon or noise of the sampled Gaussian mechanism by the constant C(c1, c2).

    With c1 = r s, l = c2 s^2 a whole number and T steps, delta = exp(T log C - (l-1) epsilon).

    Args:
        sample_rate: Rate of Poisson samples, in (0, 1].
        noise_multiplier: Standard deviation s of the noise over the sensitivity, in (0, inf). None
            to search for one for which the bound proves both epsilon and delta.
        steps: T, at least 1.
        epsilon: In [0, inf]; in (0, inf) without a noise multiplier.
        delta: In [0, 1]; in (0, 1) without a noise multiplier.
        form ({"halved", "direct"}): "halved" is the statement: delta = exp(-(l/2 - 1) epsilon)
            while T log C <= l epsilon / 2. "direct" keeps the constant, and is never above it.

    Returns:
        ``epsilon`` and ``delta``, the least over the orders with c2 <= 13, rounded up, delta 1 or
        epsilon infinity where none is admissible; ``order``, ``c2`` and ``log_constant``, at which
        it is reached; ``noise_multiplier``. One that was searched for proves the target, and one
        smaller by a relative 1e-9 does not; it is infinity if none up to 10^5 suffices. Orders are
        whole, so that delta falls in steps as the noise grows.

    Source: "Great but Manageable Expectations", Claim 28, with exp(T log C - (l-1) epsilon) in
    place of exp(k C - l epsilon) in its proof; after it s >= sqrt(2/c2) sqrt(log(1/delta)/epsilon),
    which omits the 1 that the order loses.

    >>> round(moment_bound(0.01, 4.0, 100, delta=1e-5).epsilon, 4)
    0.2476
    >>> found = moment_bound(0.01, None, 1000, epsilon=1.0, delta=1e-5)
    >>> round(found.noise_multiplier, 4), found.order
    (2.3262, 26)
    """
    one_of(form, "form", get_args(MomentForm))
    if noise_multiplier is None:
        return _moment_noise(sample_rate, steps, epsilon, delta, form)
    check_one_missing(epsilon=epsilon, delta=delta)
    bound = _Constants(noise_multiplier, sample_rate, steps)
    if epsilon is not None:
        return _moment_delta(bound, epsilon_of(epsilon), form)
    return _moment_epsilon(bound, delta_of(delta), form)


def _moment_delta(bound: _Constants, epsilon: float, form: MomentForm) -> MomentBound:
    if epsilon in (0.0, math.inf):
        return bound.at(0, epsilon, 1.0 if epsilon == 0.0 else 0.0)
    if form == "halved":

        def holds(order: int) -> bool:
            return bound.total(order) <= below(0.5 * order * epsilon)

        order = largest_count(holds, 2, bound.last + 1) if bound.last >= 2 and holds(2) else 0
        exponent = -(0.5 * order - 1.0) * epsilon
    else:
        order = _lowest(lambda order: bound.total(order) - (order - 1.0) * epsilon, 2, bound.last)
        total = bound.total(order)
        exponent = total - (order - 1.0) * epsilon + MARGIN * total
    if not order or not exponent < 0.0:
        return bound.at(0, epsilon, 1.0)
    return bound.at(order, epsilon, exp_above(exponent, order * epsilon))


def _moment_epsilon(bound: _Constants, delta: float, form: MomentForm) -> MomentBound:
    if delta in (0.0, 1.0):
        return bound.at(0, 0.0 if delta else math.inf, delta)
    depth = -math.log(delta)

    def halved(order: int) -> float:
        return max(depth / (0.5 * order - 1.0), 2.0 * bound.total(order) / order)

    def direct(order: int) -> float:
        return (bound.total(order) + depth) / (order - 1.0)

    epsilon_at, least = (halved, 3) if form == "halved" else (direct, 2)
    order = _lowest(epsilon_at, least, bound.last)
    return bound.at(order, above(epsilon_at(order)) if order else math.inf, delta)


def _moment_noise(
    sample_rate: float, steps: int, epsilon: float | None, delta: float | None, form: MomentForm
) -> MomentBound:
    target = number_in(epsilon, "epsilon", FINITE_POSITIVE)
    chance = number_in(delta, "delta", BETWEEN)

    def bound(noise: float) -> MomentBound:
        return moment_bound(sample_rate, noise, steps, epsilon=target, form=form)

    noise = least_argument(lambda s: bound(s).delta <= chance, _LEAST, _MOST, _TOLERANCE)
    if math.isinf(noise):
        return MomentBound(target, 1.0, 0, 0.0, 0.0, math.inf)
    return bound(noise)


class _Constants:
    """The constants of one run, by order."""

    def __init__(self, noise_multiplier: float, sample_rate: float, steps: int) -> None:
        noise = number_in(noise_multiplier, "noise_multiplier", FINITE_POSITIVE)
        rate = number_in(sample_rate, "sample_rate", RATE)
        self.noise = noise
        self._square = below(noise * noise)
        self._steps = count_above(steps, "steps")
        self._c1 = above(rate * noise)
        self.last = int(min(_LARGEST_C2 * self._square, float(_LARGEST_ORDER)))

    def at(self, order: int, epsilon: float, delta: float) -> MomentBound:
        """Return a bound at an order; order 0: none is admissible, or needed."""
        if not order:
            return MomentBound(epsilon, delta, 0, 0.0, 0.0, self.noise)
        constants = self.c2(order), self.log_constant(order)
        return MomentBound(epsilon, delta, order, *constants, self.noise)

    def c2(self, order: int) -> float:
        return max(above(order / self._square), LEAST_C2)  # C rises with c2

    def log_constant(self, order: int) -> float:
        try:
            return log_moment_constant(self._c1, self.c2(order))
        except ValueError:  # beyond what is proven
            return math.inf

    def total(self, order: int) -> float:
        return above(self._steps * self.log_constant(order))


def _lowest(value: Callable[[int], float], first: int, last: int) -> int:
    """Return the minimiser of a quasi-convex function; 0 if the function is nowhere finite."""
    if last < first:
        return 0
    rises = bisect_left(range(first, last), True, key=lambda n: value(n) <= value(n + 1))
    return first + rises if value(first + rises) < math.inf else 0
