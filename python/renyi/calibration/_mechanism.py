"""The loosest value of whatever number a mechanism depends on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from renyi._validation import integer_of, real_of
from renyi.accountants import Accountant, Adjacency, Conversion
from renyi.calibration._accounting import AccountantName, accounting_of, tolerance_of
from renyi.calibration._search import search
from renyi.calibration._targets import Target, target_of
from renyi.calibration._unknowns import Number
from renyi.mechanisms import Mechanism

__all__ = ["calibrate"]

PROBES = (0.25, 0.5, 0.75)  # of a range in which all is to meet the target, or to miss it
LARGEST_EXCESS = 20.0

Account = Callable[[float], Accountant[Any]]


def calibrate(
    mechanism: Callable[[Any], Mechanism],
    between: tuple[float, float],
    *,
    target_epsilon: float | None = None,
    target_delta: float | None = None,
    target_alpha: float | None = None,
    target_beta: float | None = None,
    target_advantage: float | None = None,
    integer: bool = False,
    tolerance: float = 1e-6,
    accountant: AccountantName = "pld",
    adjacency: Adjacency = "add_remove",
    orders: Iterable[float] | None = None,
    conversion: Conversion | None = None,
) -> float:
    """Return the value at which a mechanism that depends on one number just meets the target.

    Parameters
    ----------
    mechanism : callable
        Returns the mechanism for a value: of one release or a whole composition. From one end of
        the range to the other it must reveal more and more, or less and less.
    between : tuple of two float
        The range of values, both finite.
    target_epsilon, target_delta, target_alpha, target_beta, target_advantage : float
        One kind of target, as for `calibrate_noise_multiplier`. A ``target_delta`` of 0 is met by
        mechanisms whose losses have a bound.
    integer : bool
        Whether values are integers, such as numbers of uses.
    tolerance : float
        In [1e-12, 0.1]: relative where both ends are positive, else in units of the range. Has no
        meaning for integers, which are told apart.
    accountant, adjacency, orders, conversion
        As for `calibrate_noise_multiplier`.

    Returns
    -------
    float
        In the range, an int with ``integer``. It meets the target; one tolerance further towards
        the end where more is revealed misses it, unless the value is that end.

    Raises
    ------
    TypeError
        If not exactly one kind of target is given, or an argument is of the wrong type.
    UnsupportedMechanismError
        If the accountant does not take the mechanism.
    ValueError
        For arguments outside these ranges, where neither end of the range meets the target, and
        where a value between does and does not in turn. Only a few values are tried for that.

    Examples
    --------
    >>> from renyi import Laplace, RandomizedResponse
    >>> target = {"target_epsilon": 1.0, "target_delta": 1e-6}
    >>> round(calibrate(lambda b: Laplace(b) * 10, (0.1, 1000.0), **target), 3)
    9.99
    >>> calibrate(lambda k: Laplace(50.0) * k, (1, 10_000), integer=True, **target)
    144
    >>> round(calibrate(lambda p: RandomizedResponse(p, 2), (0.5, 1.0), target_advantage=0.2), 4)
    0.6
    """
    if not callable(mechanism):
        raise TypeError(
            f"mechanism must be a function of one number that returns one, got {mechanism!r}"
        )
    low, high = _range_of(between, integer)
    target = target_of(
        target_epsilon, target_delta, target_alpha, target_beta, target_advantage, pure=True
    )
    accounting = accounting_of(target, accountant, adjacency, orders, conversion)
    width = tolerance_of(tolerance)

    def account(value: float) -> Accountant[Any]:
        return accounting.blank().compose(mechanism(value))

    excesses = [_excess(target, account(end)) for end in (low, high)]
    ends = (low, high) if excesses[0] <= excesses[1] else (high, low)
    unknown = Number(*ends, min(excesses), max(excesses), integer, width)
    if not target.is_met(account(unknown.strictest)):
        _check_between(unknown, target, account, *ends, False)
        if target_delta == 0.0 and account(unknown.strictest).get_epsilon(0.0) == math.inf:
            raise ValueError(
                "target_delta must be above 0 for a mechanism whose losses have no bound, got "
                f"{target_delta!r}"
            )
        raise ValueError(
            f"{target.name} must be reachable with {unknown.words}, got {target.limit!r}"
        )
    if target.is_met(account(unknown.loosest)):
        result = unknown.loosest
    else:
        result = search(unknown, target, account, accounting.direction, start=0.0)
        _check_between(unknown, target, account, result, unknown.loosest, False)
    _check_between(unknown, target, account, unknown.strictest, result, True)
    return result


def _check_between(
    unknown: Number,
    target: Target,
    account: Account,
    first: float,
    last: float,
    expected: bool,
) -> None:
    """Raise unless some values in a range all meet the target, or all miss it."""
    for share in PROBES:
        value = unknown.beside(first, last, share)
        if value not in (first, last) and target.is_met(account(value)) != expected:
            raise ValueError(
                "mechanism must reveal more and more from one end of between to the other, got "
                f"one that {'misses' if expected else 'meets'} {target.name} at {value!r}, "
                f"between {first!r} and {last!r}, which do not"
            )


def _excess(target: Target, accountant: Accountant[Any]) -> float:
    excess = target.excess(accountant, None)
    return min(max(excess, -LARGEST_EXCESS), LARGEST_EXCESS)


def _range_of(between: Any, integer: bool) -> tuple[float, float]:
    allowed = f"two finite {'integers' if integer else 'numbers'}, the first below the second"
    try:
        low, high = between
    except (TypeError, ValueError):
        raise TypeError(f"between must be {allowed}, got {between!r}") from None
    if integer:
        least = -(2**53)
        low, high = integer_of(low, "between", least), integer_of(high, "between", least)
    else:
        low, high = (real_of(end, "between", allowed) for end in (low, high))
    if not -math.inf < low < high < math.inf:
        raise ValueError(f"between must be {allowed}, got {between!r}")
    return low, high
