"""How to divide delta between the mechanisms and the concentration of their loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from renyi._validation import real_of
from renyi.classic._minimum import smallest
from renyi.classic._rounding import above, below, count_above
from renyi.classic.advanced_composition import Form, advanced_composition
from renyi.mechanisms._arguments import Range, number_in

__all__ = ["Split", "best_split"]

_OPEN = Range(0.0, 1.0, "()")


class Split(NamedTuple):
    """How `best_split` divides delta: what holds together, and what each mechanism may use."""

    epsilon: float
    delta: float
    slack: float
    step_epsilon: float
    step_delta: float


def best_split(
    epsilon_at: Callable[[float], float],
    delta: float,
    count: int,
    *,
    form: Form = "adaptive",
) -> Split:
    """Divide delta between the mechanisms and the concentration of their loss, at least epsilon.

    Parameters
    ----------
    epsilon_at : callable
        The epsilon of one mechanism at a given delta in (0, 1): its privacy curve, or an upper
        bound.
    delta : float
        Of the composition, in (0, 1).
    count : int
        Number of uses, at least 1.
    form : {"adaptive", "independent", "sharp"}
        As in `advanced_composition`.

    Returns
    -------
    Split
        Each mechanism may use ``step_delta`` = (delta - slack)/count, rounded down. The search may
        miss the best division by a little; what it returns is a guarantee.

    Raises
    ------
    TypeError, ValueError
        If an argument is not permitted.

    Examples
    --------
    >>> from renyi import special
    >>> curve = lambda delta: float(special.gaussian_epsilon_upper(0.02, delta))
    >>> best = best_split(curve, 1e-5, 100)
    >>> round(best.epsilon, 3), round(best.slack / best.delta, 3)
    (5.29, 0.352)
    """
    delta = number_in(delta, "delta", _OPEN)
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

    share, _ = smallest(lambda share: split(share).epsilon, 1e-6, 0.999)
    return split(share)
