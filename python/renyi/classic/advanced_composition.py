"""Advanced composition: the privacy loss of many mechanisms stays near its mean.

Every mechanism may be chosen in the light of what the others released unless "independent" is said.
The adjacency is that of the guarantees put in. `renyi.classic.optimal_composition` is what these
bounds are measured by.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy.typing as npt

from renyi._validation import epsilon_of, one_of
from renyi.classic._rounding import MARGIN, above, exp_above
from renyi.classic.composition import Guarantee, checked, total
from renyi.mechanisms._arguments import Range, number_in

__all__ = [
    "Form",
    "advanced_composition",
    "advanced_composition_delta",
    "mean_loss_bound",
]

Form = Literal["independent", "adaptive", "sharp"]

_OPEN = Range(0.0, 1.0, "()")
_LOG_2 = math.log(2.0)


class _Steps(NamedTuple):
    """What the bounds need: sums of the mean losses, of the squared deviations, and of deltas."""

    mean: float
    deviation: float
    delta: float


def mean_loss_bound(epsilon: float, *, sharp: bool = True) -> float:
    """Bound the mean of the privacy loss of an epsilon-private mechanism.

    Parameters
    ----------
    epsilon : float
        In [0, inf].
    sharp : bool
        The least bound, epsilon tanh(epsilon/2), which randomized response attains; or
        a(epsilon) = epsilon (exp(epsilon) - 1) up to log 2 and epsilon beyond.

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    TypeError, ValueError
        If ``epsilon`` is not permitted.

    References
    ----------
    "A Tail of Two Densities", Claims 11 and 12; the sharp one is the divergence of the two-point
    pair that dominates all others (Kairouz, Oh, Viswanath 2015).

    Examples
    --------
    >>> round(mean_loss_bound(0.5), 4), round(mean_loss_bound(0.5, sharp=False), 4)
    (0.1225, 0.3244)
    """
    epsilon = epsilon_of(epsilon)
    if epsilon == math.inf:
        return math.inf
    if sharp:
        return min(above(epsilon * math.tanh(0.5 * epsilon)), epsilon)
    return min(above(epsilon * math.expm1(epsilon)), epsilon) if epsilon <= _LOG_2 else epsilon


def advanced_composition(
    epsilon: npt.ArrayLike,
    slack: float,
    *,
    delta: npt.ArrayLike = 0.0,
    count: npt.ArrayLike = 1,
    form: Form = "adaptive",
) -> Guarantee:
    """Compose by the concentration of the privacy loss around its mean.

    Parameters
    ----------
    epsilon : array_like of float
        In [0, inf).
    slack : float
        The probability beta, in (0, 1), with which the loss may exceed the new epsilon.
    delta : array_like of float
        In [0, 1].
    count : array_like of int
        How often each is used; broadcasts with ``epsilon`` and ``delta``.
    form : {"adaptive", "independent", "sharp"}
        With a = `mean_loss_bound` without ``sharp``: sum a_i + sqrt(2 log(1/beta) sum w_i^2) where
        w = epsilon + a for "adaptive" and w = epsilon for "independent", which is stated for
        mechanisms chosen beforehand. "sharp" is the latter with the sharp a, and holds for adaptive
        choices too: a loss given the past lies in an interval of length 2 epsilon.

    Returns
    -------
    Guarantee
        Rounded up: that epsilon, and beta + sum delta_i, at most 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", Claims 14 and 17 (independent), 16 and 18 (adaptive).

    Examples
    --------
    >>> for form in "independent", "adaptive", "sharp":
    ...     print(f"{advanced_composition(0.1, 1e-6, count=100, form=form).epsilon:.3f}")
    6.308
    6.861
    5.756
    """
    steps = _steps(epsilon, delta, count, form)
    slack = number_in(slack, "slack", _OPEN)
    return Guarantee(_epsilon_at(steps, slack), min(above(slack + steps.delta), 1.0))


def advanced_composition_delta(
    epsilon: npt.ArrayLike,
    target_epsilon: float,
    *,
    delta: npt.ArrayLike = 0.0,
    count: npt.ArrayLike = 1,
    form: Form = "adaptive",
) -> float:
    """Return the delta that `advanced_composition` gives at a chosen epsilon.

    Parameters
    ----------
    epsilon, delta, count, form
        As in `advanced_composition`.
    target_epsilon : float
        Of the composition, in [0, inf].

    Returns
    -------
    float
        exp(-(target - sum a_i)^2 / (2 sum w_i^2)) + sum delta_i, rounded up; 1 where the target is
        below the mean.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    References
    ----------
    "A Tail of Two Densities", (6.99).

    Examples
    --------
    >>> f"{advanced_composition_delta(0.1, 6.862, count=100):.2e}"
    '9.96e-07'
    """
    steps = _steps(epsilon, delta, count, form)
    target = epsilon_of(target_epsilon, "target_epsilon")
    return min(above(_tail_at(steps, target) + steps.delta), 1.0)


def _steps(
    epsilon: npt.ArrayLike, delta: npt.ArrayLike, count: npt.ArrayLike, form: Form
) -> _Steps:
    one_of(form, "form", get_args(Form))
    epsilons, deltas, counts = checked(epsilon, delta, count)
    means = [mean_loss_bound(e, sharp=form == "sharp") for e in epsilons]
    widths = [e + a for e, a in zip(epsilons, means, strict=True)]
    if form != "adaptive":
        widths = epsilons
    roots = [math.sqrt(n) * w for n, w in zip(counts, widths, strict=True)]
    deviation = math.hypot(*roots)
    deviation = above(deviation) if deviation else 0.0
    return _Steps(total(counts, means), deviation, total(counts, deltas))


def _epsilon_at(steps: _Steps, slack: float) -> float:
    return above(steps.mean + steps.deviation * math.sqrt(-2.0 * math.log(slack)))


def _tail_at(steps: _Steps, target: float) -> float:
    excess = target - steps.mean - MARGIN * (target + steps.mean)
    if target == math.inf or (excess > 0.0 and steps.deviation == 0.0):
        return 0.0
    if not excess > 0.0:
        return 0.0 if steps.deviation == 0.0 and steps.mean == 0.0 else 1.0
    deviations = excess / steps.deviation
    return exp_above(-0.5 * deviations * deviations)
