"""The message if a budget would be exceeded: amounts, rounded conservatively."""

import math
from collections.abc import Mapping
from fractions import Fraction

from renyi._rounding import round_double, round_down, round_up
from renyi._validation import decimal_of

LIMITS = "epsilon {epsilon} at delta {delta}"
PAIR = "epsilon {epsilon} at this delta (delta {delta} at this epsilon)"


def refusal(
    subject: str,
    asked: str,
    limits: Mapping[str, float],
    fits: int,
    spent: Mapping[str, float],
    with_all: Mapping[str, float],
    with_fitting: Mapping[str, float],
) -> str:
    r"""Return the message of a refusal.

    Args:
        subject, asked: The thing that must fit, and the request.
        limits: The budget: epsilon and delta, or the amount of another unit.
        fits: The number of uses that would fit.
        spent, with_all, with_fitting: Upper bounds on the spent budget: now, with the whole
            request, and with the uses that fit. Each has epsilon at the delta of the budget and
            delta at its epsilon, or the amount of that unit.

    >>> budget, *spent = [{"rho": amount} for amount in (0.1, 0.0625, 0.125, 0.09375)]
    >>> print(refusal("noise", "4 uses", budget, 2, *spent).replace("; ", "\n"))
    noise must fit in the budget, rho 0.1, got 4 uses, rho 0.1250 with them
    spent is rho 0.06250, left rho 0.03750
    2 would fit, rho 0.09375 with them
    """
    if all(with_all[name] <= limit for name, limit in limits.items()):  # a filter may round more
        with_all = {name: math.nextafter(limit, math.inf) for name, limit in limits.items()}
    spent, with_all, with_fitting = (
        {name: amounts[name] for name in limits} for amounts in (spent, with_all, with_fitting)
    )
    whole = {name: decimal_of(limit) for name, limit in limits.items()}
    left = {name: _less(limit, spent[name]) for name, limit in limits.items()}
    return (
        f"{subject} must fit in the budget, {_words(whole, LIMITS)}, got {asked}, "
        f"{_upper(with_all)} with them; spent is {_upper(spent)}, left {_words(left)}; "
        f"{fits} would fit" + (f", {_upper(with_fitting)} with them" if fits else "")
    )


def _upper(amounts: Mapping[str, float]) -> str:
    return _words({name: round_double(amount, 4, round_up) for name, amount in amounts.items()})


def _less(limit: float, spent: float) -> str:
    if spent == 0.0:
        return decimal_of(limit)
    exact, less = Fraction(limit) - Fraction(min(spent, limit)), limit - min(spent, limit)
    return round_down(less if less <= exact else math.nextafter(less, 0.0), 4)


def _words(words: Mapping[str, str], pair: str = PAIR) -> str:
    """Return names and amounts; epsilon and delta describe the same amount."""
    both = [pair.format(**words)] if "delta" in words else []
    rest = [name for name in words if not both or name not in ("epsilon", "delta")]
    return ", ".join(both + [f"{name} {words[name]}" for name in rest])
