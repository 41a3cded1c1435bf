"""What a run costs: epsilon or delta by the accountant asked for, and by Renyi-DP beside it."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from renyi.cli.output import round_down
from renyi.cli.settings import curve_accountant, renyi_accountant

__all__ = ["headline", "price", "saving"]


def price(
    options: argparse.Namespace, run: Mapping[str, Any], given: str, value: float
) -> dict[str, Any]:
    """Price one run: the number, the bracket of its exact value, and where it comes from."""
    if options.accountant == "rdp":
        return _by_renyi(options, run, given, value)
    wanted = "epsilon" if given == "delta" else "delta"
    record = _by_curve(options, run, given, value)
    number, order = None, None
    if options.adjacency != "replace_one":
        beside = _by_renyi(options, run, given, value)
        number, order = beside[wanted], beside["order"]
    return {**record, f"{wanted}_rdp": number, "order": order}


def _by_curve(
    options: argparse.Namespace, run: Mapping[str, Any], given: str, value: float
) -> dict[str, Any]:
    account = curve_accountant(options, run)
    query: Callable[..., float]
    bounds: Callable[[float], tuple[float, float]]
    if given == "delta":
        wanted, query, bounds = "epsilon", account.get_epsilon, account.get_epsilon_bounds
    else:
        wanted, query, bounds = "delta", account.get_delta, account.get_delta_bounds
    lower, upper = bounds(value)
    number, direction = upper, None
    if options.adjacency != "replace_one":
        remove, add = query(value, direction="remove"), query(value, direction="add")
        number = max(remove, add)
        direction = "both" if remove == add else "remove" if remove > add else "add"
    return {
        wanted: number,
        f"{wanted}_lower": lower,
        f"{wanted}_upper": upper,
        "direction": direction,
    }


def _by_renyi(
    options: argparse.Namespace, run: Mapping[str, Any], given: str, value: float
) -> dict[str, Any]:
    account = renyi_accountant(options, run)
    if given == "delta":
        wanted = "epsilon"
        number, order = account.get_epsilon_and_order(value)
        lower, upper = account.get_epsilon_bounds(value)
    else:
        wanted = "delta"
        number, order = account.get_delta_and_order(value)
        lower, upper = account.get_delta_bounds(value)
    return {
        wanted: float(number),
        f"{wanted}_lower": float(lower),
        f"{wanted}_upper": float(upper),
        "order": float(order) if math.isfinite(order) else None,
    }


def headline(record: Mapping[str, Any], wanted: str) -> float:
    """Return the number to publish: never below the certified upper end."""
    return float(max(record[wanted], record[f"{wanted}_upper"]))


def saving(number: float, other: float | None) -> str | None:
    """Say how much ``number`` is below ``other``, rounded down; None where it is not below.

    Examples
    --------
    >>> saving(2.295, 2.503), saving(1e-8, 3.5e-7), saving(2.0, 2.0)
    ('8.3 %', 'factor 35', None)
    """
    if other is None or not 0.0 < number < other < math.inf:
        return None
    ratio = Decimal(other) / Decimal(number)
    if ratio >= 2:
        return f"factor {round_down(float(ratio), 2)}"
    percent = ((1 - 1 / ratio) * 100).quantize(Decimal("0.1"), ROUND_FLOOR)
    return f"{percent} %" if percent else None
