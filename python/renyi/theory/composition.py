"""Composition of (epsilon, delta) guarantees: basic, advanced and optimal.

Every mechanism may be chosen with knowledge of the earlier releases unless "independent" is stated.
The adjacency is that of the given guarantees. Results are rounded to the safe side.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from renyi._adjacency import one_of
from renyi._rounding import MARGIN, above, below, count_above, exp_above
from renyi._search import least_value
from renyi._validation import (
    BETWEEN,
    FINITE_NON_NEGATIVE,
    check_one_missing,
    delta_of,
    epsilon_of,
    number_in,
    numbers_of,
    real_of,
    uses_of,
)
from renyi.accountants import PLDAccountant
from renyi.mechanisms import ApproxDP, PureDP
from renyi.theory.indistinguishability import Guarantee

__all__ = [
    "advanced_composition",
    "basic_composition",
    "best_split",
    "mean_loss_bound",
    "optimal_composition",
]
__dir__ = __all__.copy

Form = Literal["independent", "adaptive", "sharp"]
_LOG_2 = math.log(2.0)
_RTOL = 1e-8  # the least relative accuracy of the accountant


def basic_composition(
    epsilon: npt.ArrayLike, delta: npt.ArrayLike = 0.0, count: npt.ArrayLike = 1
) -> Guarantee:
    """Return the sums of epsilons and deltas, which the composition satisfies, rounded up.

    Args:
        epsilon, delta: In [0, inf] and [0, 1].
        count: Number of uses of each; the three arguments broadcast.

    Source: "A Tail of Two Densities", Claim 10; Dwork, Roth 2014, Theorem 3.16.

    >>> total = basic_composition([0.5, 0.25], [1e-6, 0.0], [2, 4])
    >>> round(total.epsilon, 12), round(total.delta, 12)
    (2.0, 2e-06)
    """
    epsilons, deltas, counts = _checked(epsilon, delta, count)
    return Guarantee(_total(counts, epsilons), min(_total(counts, deltas), 1.0))


def _checked(*values: npt.ArrayLike) -> tuple[list[float], list[float], list[float]]:
    """Return epsilons, deltas and counts as equally long lists of permitted numbers."""
    epsilon, _ = numbers_of(values[0], "epsilon", 0.0, math.inf, "numbers in [0, inf]")
    delta, _ = numbers_of(values[1], "delta", 0.0, 1.0, "numbers in [0, 1]")
    count, _ = numbers_of(values[2], "count", 0.0, 2.0**53, "integers from 0 to 2^53")
    if np.any(count != np.floor(count)):
        raise ValueError(f"count must be integers from 0 to 2^53, got {values[2]!r}")
    e, d, n = np.broadcast_arrays(epsilon, delta, count)
    used = n > 0.0
    return e[used].tolist(), d[used].tolist(), n[used].tolist()


def _total(counts: list[float], values: list[float]) -> float:
    """Return the sum of all values, each as often as its count says, rounded up."""
    try:
        found = math.fsum(n * x for n, x in zip(counts, values, strict=True))
    except OverflowError:  # the sum of finite numbers overflows
        return math.inf
    return above(found) if found else 0.0


def mean_loss_bound(epsilon: float, *, sharp: bool = True, both: bool = False) -> float:
    """Bound the mean of the privacy loss of an epsilon-private mechanism, rounded up.

    Args:
        epsilon: In [0, inf].
        sharp: Whether to return the least bound, epsilon tanh(epsilon/2), which randomized response
            attains; otherwise a(epsilon) = epsilon (exp(epsilon) - 1) up to log 2 and epsilon
            beyond, which is at most epsilon^2 / log 2.
        both: Whether to bound the sum of both orders, D(p||q) + D(q||p): by twice the sharp bound,
            or by epsilon times exp(epsilon) - 1.

    Source: "A Tail of Two Densities", Claims 11 and 12; the sharp bound is the divergence of the
    two-point pair that dominates all others (Kairouz, Oh, Viswanath 2015).

    >>> round(mean_loss_bound(0.5), 4), round(mean_loss_bound(0.5, sharp=False), 4)
    (0.1225, 0.3244)
    """
    epsilon = epsilon_of(epsilon)
    if epsilon == math.inf:
        return math.inf
    if sharp:
        return (2.0 if both else 1.0) * min(above(epsilon * math.tanh(0.5 * epsilon)), epsilon)
    if both:
        return above(epsilon * math.expm1(epsilon)) if epsilon < 700.0 else math.inf
    return min(above(epsilon * math.expm1(epsilon)), epsilon) if epsilon <= _LOG_2 else epsilon


class _Steps(NamedTuple):
    """Sums of the mean losses, of the squared deviations, and of deltas."""

    mean: float
    deviation: float
    delta: float


def advanced_composition(
    epsilon: npt.ArrayLike,
    slack: float | None = None,
    *,
    target_epsilon: float | None = None,
    delta: npt.ArrayLike = 0.0,
    count: npt.ArrayLike = 1,
    form: Form = "adaptive",
) -> Guarantee:
    """Compose by the concentration of the privacy loss around its mean.

    Args:
        epsilon: In [0, inf).
        slack: The probability beta, in (0, 1), with which the loss may exceed the new epsilon.
        target_epsilon: The new epsilon itself, in [0, inf]. Either this or ``slack`` has to be
            given.
        delta: In [0, 1].
        count: Number of uses of each; broadcasts with ``epsilon`` and ``delta``.
        form ({"adaptive", "independent", "sharp"}): With a = `mean_loss_bound` without ``sharp``:
            sum a_i + sqrt(2 log(1/beta) sum w_i^2) where w = epsilon + a for "adaptive" and w =
            epsilon for "independent", which is stated for mechanisms chosen beforehand. "sharp" is
            the latter with the sharp a, and holds for adaptive choices too: a loss given the past
            lies in an interval of length 2 epsilon.

    Returns:
        The new epsilon, and delta = beta + sum delta_i, at most 1; rounded up. With a target beta
        is exp(-(target - sum a_i)^2 / (2 sum w_i^2)), and 1 where the target is below the mean.

    Source: "A Tail of Two Densities", Claims 14 and 17 (independent), 16 and 18 (adaptive); (6.99).

    >>> for form in "independent", "adaptive", "sharp":
    ...     print(f"{advanced_composition(0.1, 1e-6, count=100, form=form).epsilon:.3f}")
    6.308
    6.861
    5.756
    """
    check_one_missing(slack=slack, target_epsilon=target_epsilon)
    steps = _steps(epsilon, delta, count, form)
    if slack is not None:
        beta = number_in(slack, "slack", BETWEEN)
        target = above(steps.mean + steps.deviation * math.sqrt(-2.0 * math.log(beta)))
    else:
        target = epsilon_of(target_epsilon, "target_epsilon")
        beta = _tail_at(steps, target)
    return Guarantee(target, min(above(beta + steps.delta), 1.0))


def _steps(
    epsilon: npt.ArrayLike, delta: npt.ArrayLike, count: npt.ArrayLike, form: Form
) -> _Steps:
    one_of(form, "form", get_args(Form))
    epsilons, deltas, counts = _checked(epsilon, delta, count)
    means = [mean_loss_bound(e, sharp=form == "sharp") for e in epsilons]
    widths = [e + a for e, a in zip(epsilons, means, strict=True)]
    if form != "adaptive":
        widths = epsilons
    roots = [math.sqrt(n) * w for n, w in zip(counts, widths, strict=True)]
    deviation = math.hypot(*roots)
    deviation = above(deviation) if deviation else 0.0
    return _Steps(_total(counts, means), deviation, _total(counts, deltas))


def _tail_at(steps: _Steps, target: float) -> float:
    excess = target - steps.mean - MARGIN * (target + steps.mean)
    if target == math.inf or (excess > 0.0 and steps.deviation == 0.0):
        return 0.0
    if not excess > 0.0:
        return 0.0 if steps.deviation == 0.0 and steps.mean == 0.0 else 1.0
    deviations = excess / steps.deviation
    return exp_above(-0.5 * deviations * deviations)


class Split(NamedTuple):
    """The division of delta by `best_split`: the joint guarantee and the share of a mechanism."""

    epsilon: float
    delta: float
    slack: float
    step_epsilon: float
    step_delta: float


def best_split(
    epsilon_at: Callable[[float], float], delta: float, count: int, *, form: Form = "adaptive"
) -> Split:
    """Divide delta between mechanisms and the concentration of their loss, for least epsilon.

    Args:
        epsilon_at: The epsilon of one mechanism at a given delta in (0, 1): its privacy curve, or
            an upper bound.
        delta: Of the composition, in (0, 1).
        count: Number of uses, at least 1.
        form ({"adaptive", "independent", "sharp"}): As in `advanced_composition`.

    Returns:
        Each mechanism may use ``step_delta`` = (delta - slack)/count, rounded down. The search may
        miss the best division by a little; the result is a guarantee in any case.

    >>> from renyi import special
    >>> curve = lambda delta: float(special.gaussian_epsilon_upper(0.02, delta))
    >>> best = best_split(curve, 1e-5, 100)
    >>> round(best.epsilon, 3), round(best.slack / best.delta, 3)
    (5.29, 0.352)
    """
    delta = number_in(delta, "delta", BETWEEN)
    uses = count_above(count, "count")

    def split(share: float) -> Split:
        step_delta = max(below(below(delta * share) / uses), 0.0)
        slack = below(delta - above(step_delta * uses))
        if not (step_delta > 0.0 and slack > 0.0):
            return Split(math.inf, delta, slack, math.inf, step_delta)
        step = real_of(epsilon_at(step_delta), "epsilon_at", "a function with values in [0, inf]")
        if step == math.inf:
            return Split(math.inf, delta, slack, step, step_delta)
        found = advanced_composition(step, slack, count=count, form=form)
        return Split(found.epsilon, delta, slack, step, step_delta)

    share, _ = least_value(lambda share: split(share).epsilon, 1e-6, 0.999)
    return split(share)


def optimal_composition(
    epsilon: float,
    count: int,
    *,
    delta: float = 0.0,
    target_epsilon: float | None = None,
    target_delta: float | None = None,
) -> Guarantee:
    """Return the least guarantee of ``count`` mechanisms, each (epsilon, delta)-private.

    No bound from epsilon and delta alone is smaller.

    Args:
        epsilon: Epsilon of each mechanism, in [0, inf).
        count: Number of mechanisms, from 0 to 1e9.
        delta: Delta of each mechanism, in [0, 1].
        target_epsilon: Epsilon of the composition, in [0, inf].
        target_delta: Delta of the composition, in [0, 1]. Either this or ``target_epsilon`` has to
            be given.

    Returns:
        The other number, rounded up: delta by a relative 1e-8 for up to 10^5 mechanisms, by more
        for more mechanisms and where the target is next to the largest loss or ``epsilon`` next to
        0. Epsilon is infinite where the probability that a mechanism fails exceeds the target.

    The worst case is ``count`` coins of bias exp(epsilon)/(1 + exp(epsilon)), revealed outright
    with probability delta each. It covers adaptive choices, and `renyi.PLDAccountant` composes it.

    Source: Kairouz, Oh, Viswanath 2015, "The Composition Theorem for Differential Privacy", Theorem
    3.3.

    >>> round(optimal_composition(0.1, 100, target_delta=1e-6).epsilon, 4)
    4.7746
    """
    check_one_missing(target_epsilon=target_epsilon, target_delta=target_delta)
    each, failing = number_in(epsilon, "epsilon", FINITE_NON_NEGATIVE), delta_of(delta)
    worst = ApproxDP(each, failing) if failing else PureDP(each)
    together = PLDAccountant().compose(worst, uses_of(count))
    if target_epsilon is not None:
        place = epsilon_of(target_epsilon, "target_epsilon")
        return Guarantee(place, together.get_delta(place, rtol=_RTOL))
    target = delta_of(target_delta, "target_delta")
    return Guarantee(together.get_epsilon(target, rtol=_RTOL), target)
