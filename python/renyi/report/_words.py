"""The assumptions in plain words, and numbers rounded up."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from renyi.accountants import Adjacency

__all__ = ["ADJACENT", "NAMES", "POISSON", "RELEASE", "UNSAMPLED", "down", "up"]

DIGITS = 4

NAMES = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}

ADJACENT: dict[Adjacency, str] = {
    "add_remove": "Neighbouring data sets: one has one record more than the other. Where a person "
    "has several records, the guarantee is for each record by itself.",
    "replace_one": "Neighbouring data sets: one record is replaced by any other; their number is "
    "public. Where a person has several records, the guarantee is for each record by itself.",
    "zero_out": "Neighbouring data sets: one record is replaced by one that contributes nothing.",
}
POISSON = (
    "Sampling: for each step every record was drawn by a coin of its own with the stated "
    "probability, and nobody learns which were drawn."
)
UNSAMPLED = "Sampling: none is taken into account; every record may take part in every release."
RELEASE = (
    "Release: everything computed on the way may be seen by anybody, not only the last result. "
    "Noise is relative to the largest contribution of one record, which was enforced."
)


def up(value: Any) -> str:
    """Return a number rounded up to four digits.

    Examples
    --------
    >>> up(2.29537), up(9.6347e-7), up(0.0)
    ('2.296', '9.635e-7', '0')
    """
    return _rounded(float(value), ROUND_CEILING)


def down(value: Any) -> str:
    """Return a number rounded down to four digits."""
    return _rounded(float(value), ROUND_FLOOR)


def _rounded(number: float, direction: str) -> str:
    if number == 0.0 or not math.isfinite(number):
        return f"{number:g}"
    exact = Decimal(number)
    exact = exact.quantize(Decimal(1).scaleb(exact.adjusted() - DIGITS + 1), direction)
    if 1e-3 <= abs(number) < 1e7:
        return f"{exact:f}"
    return f"{exact:e}".replace("e+", "e")
